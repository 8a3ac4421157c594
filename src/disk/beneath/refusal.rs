//! The fence's refusals and failures as messages, with the directory and its listing.

use std::path::Path;

use rustix::io::Errno;

use super::open_beneath::AccessError;
use super::root::{Root, WORKING};
use crate::base::problem::{Problem, ProblemKind};
use crate::base::text::{clip, escape_controls, nearest};
use crate::disk::beneath::listing::ListingOptions;
use crate::disk::beneath::rel_path::{GuardedPart, RelPath, RelPathError, lands_in_tickets};

const TICKETS: &str = "Use the ticket tools to read and change tickets.";

impl Root {
    pub(super) fn refusal(&self, text: &str, bad: RelPathError) -> Problem {
        let shown = clip(&escape_controls(text), 200);
        match bad {
            RelPathError::Absolute => {
                let problem = Problem::refused(format!("Absolute paths not allowed: \"{shown}\"."));
                match self.as_inside(text) {
                    Some(inside) => problem.next(format!("Use \"{inside}\" for it.")),
                    None => problem.next(self.only_inside()),
                }
            }
            RelPathError::Parent => {
                let problem = Problem::refused(format!(
                    "Path traversal not allowed: \"{shown}\" contains \"..\"."
                ));
                if lands_in_tickets(text) {
                    return problem.next(TICKETS);
                }
                problem.next(format!(
                    "Write the path from the {} down, without \"..\".",
                    self.called
                ))
            }
            RelPathError::Nul => {
                Problem::refused(format!("The path \"{shown}\" contains a NUL character."))
            }
            RelPathError::Tickets => self.guarded("", &shown, GuardedPart::Tickets),
            RelPathError::Empty => Problem::input("The path is empty.").next(format!(
                "Give a path relative to the {}, such as \"README.md\".",
                self.called
            )),
        }
    }

    /// The relative form of an absolute path that lies inside.
    fn as_inside(&self, text: &str) -> Option<String> {
        let inside = Path::new(text).strip_prefix(&self.path).ok()?;
        let rel = RelPath::parse(inside.to_str()?).ok()?;
        Some(rel.as_str().to_owned())
    }

    fn guarded(&self, act: &str, shown: &str, guard: GuardedPart) -> Problem {
        match guard {
            GuardedPart::Tickets => Problem::refused(format!(
                "\"{shown}\" belongs to the tickets, which files tools do not touch."
            ))
            .next(TICKETS),
            GuardedPart::Git => Problem::refused(format!(
                "Will not {act} \"{shown}\": a repository's own files are changed by git alone."
            ))
            .next("Use the git tools."),
            GuardedPart::Upstream => Problem::refused(format!(
                "Will not {act} \"{shown}\": the upstream documents are read-only."
            ))
            .next("Write to another file below .marvin instead."),
        }
    }

    /// The message for a refusal or failure, with the directory and its listing.
    pub(super) fn problem(&self, act: &str, rel: &RelPath, stop: AccessError) -> Problem {
        let shown = clip(&escape_controls(rel.as_str()), 200);
        let problem = match stop {
            AccessError::Outside => Problem::refused(format!(
                "\"{shown}\" leads outside the {} through a symbolic link.",
                self.called
            ))
            .next(self.only_inside()),
            AccessError::Loop => {
                Problem::refused(format!("\"{shown}\" goes through too many symbolic links."))
            }
            AccessError::Guard(guard) => self.guarded(act, &shown, guard),
            AccessError::Kind(kind) => {
                let problem = Problem::refused(format!("Cannot {act} \"{shown}\": it is {kind}."));
                if kind == "a folder" {
                    problem.next("Name a file in it, or use tree to see what it contains.")
                } else {
                    problem.next("Only ordinary files can be used.")
                }
            }
            AccessError::Unsteady => Problem::new(
                ProblemKind::System,
                format!(
                    "Cannot {act} \"{shown}\": something else keeps changing it at the same time."
                ),
            )
            .next("Try again."),
            AccessError::TooLong { cap } => Problem::limit(format!(
                "\"{shown}\" is larger than {} bytes, which is the limit for one read.",
                crate::base::text::thousands(cap)
            ))
            .next("Read a range of lines."),
            AccessError::Os(Errno::NOENT) if !self.is_gone() => {
                let mut problem = Problem::missing(format!("There is no \"{shown}\"."));
                if let Some(near) = self.near(rel) {
                    problem = problem.next(format!("Did you mean \"{near}\"?"));
                }
                problem
            }
            AccessError::Os(Errno::NOTDIR) => Problem::missing(format!(
                "Cannot {act} \"{shown}\": a part of the path is a file, not a folder."
            )),
            AccessError::Os(Errno::EXIST) => {
                Problem::new(ProblemKind::Input, format!("\"{shown}\" exists already."))
            }
            AccessError::Os(Errno::NAMETOOLONG) => Problem::input(format!(
                "Cannot {act} \"{shown}\": the name is too long for the file system."
            )),
            AccessError::Os(errno) => {
                Problem::system(format!("Cannot {act} \"{shown}\""), errno.into())
            }
        };
        self.with_listing(problem)
    }

    /// Adds the working directory and its short listing, so that a model can find its way.
    pub(super) fn with_listing(&self, problem: Problem) -> Problem {
        if self.is_gone() {
            return Problem::missing(format!(
                "The {} {} does not exist any more.",
                self.called,
                self.path.display()
            ))
            .next(if self.called == WORKING {
                "Choose another with set_working_dir, or make it again and start over."
            } else {
                "Make it again."
            });
        }
        let facts = self
            .tree(&RelPath::here(), &ListingOptions::SHORT)
            .unwrap_or_default();
        problem
            .next(format!(
                "The {} is {}; paths are relative to it.",
                self.called,
                self.path.display()
            ))
            .facts(facts)
    }

    fn only_inside(&self) -> String {
        format!("Only files inside the {} can be used.", self.called)
    }

    /// The entry whose name is most similar to the missing one.
    fn near(&self, rel: &RelPath) -> Option<String> {
        let parent = rel.parent();
        let entries = self.entries(&parent, 2_000).ok()?;
        let names = entries.iter().map(|entry| entry.name.as_str());
        let name = *nearest(rel.name()?, names).first()?;
        Some(if parent.is_here() {
            name.to_owned()
        } else {
            format!("{parent}/{name}")
        })
    }
}
