//! `Root`: the working directory as a handle, and the messages of its refusals.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, fstat, openat};
use rustix::io::Errno;

use super::engine::{Engine, FOLDER, Stop};
use crate::base::problem::{Kind, Outcome, Problem};
use crate::base::text::{clip, nearest, visible};
use crate::disk::beneath::listing::Look;
use crate::disk::beneath::located::{Id, id};
use crate::disk::beneath::rel_path::{Bad, Guarded, Rel, lands_in_tickets};

/// A working directory. Clones share the handle; it stays the same folder when its path is renamed.
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) path: PathBuf,
    pub(super) engine: Engine,
    pub(super) id: Id,
    /// Its name in messages.
    called: Cow<'static, str>,
    /// It lies in Marvin's own folder, whose files are for their owner alone.
    private: bool,
    /// The directory whose closed parts stay closed: these may lie below this one as well.
    pub(super) kept: Option<Arc<Root>>,
}

/// The default name of the directory in messages.
const WORKING: &str = "working directory";
/// Marvin's own folder of a project; conversations are stored there.
const OWN_FOLDER: &str = ".marvin";

impl Root {
    /// Opens a folder as working directory.
    ///
    /// # Errors
    /// The folder is missing, is not a folder, or may not be entered.
    pub fn open(dir: &Path) -> Outcome<Self> {
        let engine = if cfg!(target_os = "linux") {
            Engine::Kernel
        } else {
            Engine::Walk
        };
        Self::open_with(dir, engine)
    }

    pub(super) fn open_with(dir: &Path, engine: Engine) -> Outcome<Self> {
        let fail = |why: std::io::Error| {
            let kind = if why.kind() == std::io::ErrorKind::NotFound {
                Kind::Missing
            } else {
                Kind::System
            };
            let mut problem = Problem::system(
                format!("Cannot use {} as working directory", dir.display()),
                why,
            )
            .next("Name an existing folder.");
            problem.kind = kind;
            problem
        };
        let path = dir.canonicalize().map_err(fail)?;
        let handle =
            openat(CWD, &path, FOLDER, Mode::empty()).map_err(|errno| fail(errno.into()))?;
        let id = id(&fstat(&handle).map_err(|errno| fail(errno.into()))?);
        let private = path.iter().any(|part| part == OWN_FOLDER);
        Ok(Self {
            handle: Arc::new(handle),
            path,
            engine,
            id,
            called: Cow::Borrowed(WORKING),
            private,
            kept: None,
        })
    }

    /// The same folder under another name in messages: "notes folder".
    #[must_use]
    pub fn called(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.called = name.into();
        self
    }

    /// The same folder, in which what `first` closes stays closed: a process that moves to the folder above its project does not
    /// get at the project's tickets by that.
    #[must_use]
    pub fn keeping_closed(mut self, first: &Arc<Self>) -> Self {
        self.kept = Some(Arc::clone(first));
        self
    }

    /// The folder `rel` as a fence of its own, opened through this one.
    ///
    /// # Errors
    /// It is missing, not a folder, leads outside, or lies, perhaps through a symlink, in a part with a fence of its own, which the new one would
    /// not know.
    pub fn inner(&self, rel: &Rel) -> Outcome<Self> {
        let open = || -> Result<Self, Stop> {
            let handle = self.open_folder(rel)?;
            if let Some(guard) = self.guard(handle.as_fd(), None)? {
                return Err(Stop::Guard(guard));
            }
            let id = id(&fstat(&handle)?);
            Ok(Self {
                handle: Arc::new(handle),
                path: self.path.join(rel.as_str()),
                engine: self.engine,
                id,
                called: self.called.clone(),
                private: self.is_private(rel),
                kept: self.kept.clone(),
            })
        };
        open().map_err(|stop| self.problem("open", rel, stop))
    }

    /// True for what lies in Marvin's own folder of a project.
    pub(super) fn is_private(&self, rel: &Rel) -> bool {
        self.private || rel.parts().any(|part| part == OWN_FOLDER)
    }

    /// The directory's absolute path without links, as it was when opened: for messages and for programs started there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the text of a path. The disk is not touched before the path is used.
    ///
    /// # Errors
    /// `Refused` for an absolute path, `..`, NUL and `.tickets`; `Input` for an empty path. Each shows the directory.
    pub fn check(&self, text: &str) -> Outcome<Rel> {
        Rel::parse(text).map_err(|bad| self.orient(self.refusal(text, bad)))
    }

    /// [`Root::check`] for a path that is to be written, with a look at the disk: the nearest existing folder must lie inside and outside the
    /// guarded parts. Nothing is changed.
    ///
    /// # Errors
    /// As [`Root::check`], and those of the write itself.
    pub fn check_write(&self, text: &str) -> Outcome<Rel> {
        let rel = self.check(text)?;
        self.may_write(&rel)
            .map_err(|stop| self.problem("write", &rel, stop))?;
        Ok(rel)
    }

    fn refusal(&self, text: &str, bad: Bad) -> Problem {
        let shown = clip(&visible(text), 200);
        match bad {
            Bad::Absolute => {
                let problem = Problem::refused(format!("Absolute paths not allowed: \"{shown}\"."));
                match self.as_inside(text) {
                    Some(inside) => problem.next(format!("Use \"{inside}\" for it.")),
                    None => problem.next(self.only_inside()),
                }
            }
            Bad::Parent => {
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
            Bad::Nul => Problem::refused(format!("The path \"{shown}\" contains a NUL character.")),
            Bad::Tickets => self.guarded("", &shown, Guarded::Tickets),
            Bad::Empty => Problem::input("The path is empty.").next(format!(
                "Give a path relative to the {}, such as \"README.md\".",
                self.called
            )),
        }
    }

    /// An absolute path inside the directory, as the relative one.
    fn as_inside(&self, text: &str) -> Option<String> {
        let inside = Path::new(text).strip_prefix(&self.path).ok()?;
        let rel = Rel::parse(inside.to_str()?).ok()?;
        Some(rel.as_str().to_owned())
    }

    fn guarded(&self, act: &str, shown: &str, guard: Guarded) -> Problem {
        match guard {
            Guarded::Tickets => Problem::refused(format!(
                "\"{shown}\" belongs to the tickets, which files tools do not touch."
            ))
            .next(TICKETS),
            Guarded::Git => Problem::refused(format!(
                "Will not {act} \"{shown}\": a repository's own files are changed by git alone."
            ))
            .next("Use the git tools."),
            Guarded::Upstream => Problem::refused(format!(
                "Will not {act} \"{shown}\": the upstream documents are read-only."
            ))
            .next("Write to another file below .marvin instead."),
        }
    }

    /// The message for a refusal or failure, with the directory and its listing.
    pub(super) fn problem(&self, act: &str, rel: &Rel, stop: Stop) -> Problem {
        let shown = clip(&visible(rel.as_str()), 200);
        let problem = match stop {
            Stop::Outside => Problem::refused(format!(
                "\"{shown}\" leads outside the {} through a symbolic link.",
                self.called
            ))
            .next(self.only_inside()),
            Stop::Loop => {
                Problem::refused(format!("\"{shown}\" goes through too many symbolic links."))
            }
            Stop::Guard(guard) => self.guarded(act, &shown, guard),
            Stop::Kind(kind) => {
                let problem = Problem::refused(format!("Cannot {act} \"{shown}\": it is {kind}."));
                if kind == "a folder" {
                    problem.next("Name a file in it, or use tree to see what it holds.")
                } else {
                    problem.next("Only ordinary files can be used.")
                }
            }
            Stop::Unsteady => Problem::new(
                Kind::System,
                format!(
                    "Cannot {act} \"{shown}\": something else keeps changing it at the same time."
                ),
            )
            .next("Try again."),
            Stop::TooLong { cap } => Problem::limit(format!(
                "\"{shown}\" is larger than {} bytes, the most that is read at once.",
                crate::base::text::thousands(cap)
            ))
            .next("Read a range of lines."),
            Stop::Os(Errno::NOENT) if !self.is_gone() => {
                let mut problem = Problem::missing(format!("There is no \"{shown}\"."));
                if let Some(near) = self.near(rel) {
                    problem = problem.next(format!("Did you mean \"{near}\"?"));
                }
                problem
            }
            Stop::Os(Errno::NOTDIR) => Problem::missing(format!(
                "Cannot {act} \"{shown}\": a part of the path is a file, not a folder."
            )),
            Stop::Os(Errno::EXIST) => {
                Problem::new(Kind::Input, format!("\"{shown}\" exists already."))
            }
            Stop::Os(Errno::NAMETOOLONG) => Problem::input(format!(
                "Cannot {act} \"{shown}\": the name is too long for the file system."
            )),
            Stop::Os(errno) => Problem::system(format!("Cannot {act} \"{shown}\""), errno.into()),
        };
        self.orient(problem)
    }

    /// Adds the working directory and its short listing, so that a model can find its way.
    pub(super) fn orient(&self, problem: Problem) -> Problem {
        if self.is_gone() {
            return Problem::missing(format!(
                "The {} {} does not exist any more.",
                self.called,
                self.path.display()
            ))
            .next(if self.called == WORKING {
                "Choose another with set_working_dir, or create it again and restart Marvin."
            } else {
                "Make it again."
            });
        }
        let facts = self.tree(&Rel::here(), &Look::SHORT).unwrap_or_default();
        problem
            .next(format!(
                "The {} is {}; paths are relative to it.",
                self.called,
                self.path.display()
            ))
            .facts(facts)
    }

    /// True when the folder behind the handle was deleted.
    pub(super) fn is_gone(&self) -> bool {
        if fstat(&*self.handle).is_ok_and(|stat| stat.st_nlink == 0) {
            return true;
        }
        // File systems that count no links of folders: then no entry can be opened, not even the folder itself.
        openat(&*self.handle, ".", FOLDER, Mode::empty()).is_err()
    }

    fn only_inside(&self) -> String {
        format!("Only files inside the {} can be used.", self.called)
    }

    /// The entry whose name is nearest to the one that is missing.
    fn near(&self, rel: &Rel) -> Option<String> {
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

const TICKETS: &str = "Use the ticket tools to read and change tickets.";
