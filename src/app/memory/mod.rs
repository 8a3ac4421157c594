//! What the user can do with the memory of a profile: `marvin memory …` and `/memory …`.
//!
//! [`command`] reads the words, [`report`] writes what is remembered, [`maintain`] has a model clean it up. What is on disk, and how, is known to
//! [`crate::store::memory`] alone.

pub(crate) mod command;
pub(crate) mod maintain;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::command::MemoryCommand;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, one_line, plural};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::{Paths, ProfilePaths};
use crate::store::memory::{
    DiaryRow, EraseTarget, Erasure, MemoryExport, MemoryStore, Node, file_has_word,
};
use crate::store::sessions::SessionStore;

/// Entries and nodes that a search shows.
const MAX_HITS: usize = 10;
/// Largest file that is imported, in bytes.
const MAX_IMPORT_BYTES: u64 = 64 << 20;

/// The memory of one profile.
pub(crate) struct ProfileMemory {
    pub store: MemoryStore,
    sessions: SessionStore,
    profile: ProfilePaths,
    name: String,
}

impl ProfileMemory {
    /// # Errors
    /// The name is not one of a profile; `HOME` is not set.
    pub(crate) fn open(paths: &Paths, name: &str, clock: &Clock) -> Outcome<Self> {
        let profile = paths.profile(name)?;
        Ok(Self {
            store: MemoryStore::open(&profile, clock),
            sessions: SessionStore::new(profile.sessions(), clock),
            profile,
            name: name.to_owned(),
        })
    }

    /// Runs a command that needs no model and no answer of the user; the names of files are relative to `dir`.
    ///
    /// # Errors
    /// The memory or a file cannot be read or written; [`MemoryCommand::Forget`] without a yes, which erases nothing.
    pub(crate) fn run(&self, command: &MemoryCommand, dir: &Path) -> Outcome<String> {
        let text = match command {
            MemoryCommand::Show { json: false } => self.show(),
            MemoryCommand::Show { json: true } => self.show_json(),
            MemoryCommand::Search { words, json } => self.search(words, *json),
            MemoryCommand::Forget { target, yes: true } => self.forget(target),
            MemoryCommand::Forget { target, yes: false } => {
                Err(Problem::refused("Nothing was erased: it needs a yes.")
                    .next("Add --yes.")
                    .facts(self.preview(target)?))
            }
            MemoryCommand::Export { file: None } => json(&self.store.export()?),
            MemoryCommand::Export { file: Some(file) } => self.export(&dir.join(file)),
            MemoryCommand::Import { file } => self.import(&dir.join(file)),
            MemoryCommand::Clean | MemoryCommand::Topics => {
                Err(Problem::internal("This needs a model."))
            }
        }?;
        Ok(text)
    }

    fn show(&self) -> Outcome<String> {
        let (rows, nodes) = (self.store.diary_all()?, self.store.nodes()?);
        let mut out = report::diary(&rows);
        out.push_str(&report::graph(&self.store)?);
        if out.is_empty() {
            out.push_str(&format!(
                "Nothing is remembered in the profile \"{}\".\n",
                self.name
            ));
        } else {
            let facts: usize = nodes.iter().map(|node| node.facts().count()).sum();
            out.push_str(&format!(
                "\n{} and {}, in {}.\n",
                entries(rows.len()),
                plural(facts, "fact"),
                self.profile.memory().display()
            ));
        }
        let all = self.store.preview(&EraseTarget::All)?;
        if !all.files.is_empty() || !all.foreign.is_empty() {
            out.push_str("\nOther files there:\n");
            for path in all.files.iter().chain(&all.foreign) {
                out.push_str(&format!("  {}\n", report::file_name(path)));
            }
        }
        Ok(out)
    }

    fn show_json(&self) -> Outcome<String> {
        #[derive(Serialize)]
        struct Shown<'a> {
            profile: &'a str,
            folder: PathBuf,
            #[serde(flatten)]
            memory: MemoryExport,
        }
        json(&Shown {
            profile: &self.name,
            folder: self.profile.memory(),
            memory: self.store.export()?,
        })
    }

    fn search(&self, words: &[String], as_json: bool) -> Outcome<String> {
        #[derive(Serialize)]
        struct Found {
            rows: Vec<DiaryRow>,
            nodes: Vec<Node>,
        }
        let words: Vec<String> = words
            .iter()
            .flat_map(|words| words.split_whitespace())
            .map(ToOwned::to_owned)
            .collect();
        let found = Found {
            rows: self.store.diary_search(&words, None, None, MAX_HITS)?,
            nodes: self.store.find_nodes(&words, MAX_HITS)?,
        };
        if as_json {
            return json(&found);
        }
        let mut out = report::diary(&found.rows);
        out.push_str(&report::found_nodes(&self.store, &found.nodes, &words)?);
        if out.is_empty() {
            out = format!(
                "Nothing is remembered about {}.\n",
                one_line(&words.join(" "))
            );
        }
        Ok(out)
    }

    /// What would be erased, and what cannot be reached.
    ///
    /// # Errors
    /// There is no such node; the memory cannot be read.
    pub(crate) fn preview(&self, target: &EraseTarget) -> Outcome<String> {
        self.preview_or(target, "There is nothing to erase.")
    }

    /// [`ProfileMemory::preview`] with these words when nothing would be erased.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn preview_or(&self, target: &EraseTarget, nothing: &str) -> Outcome<String> {
        let erasure = self.store.preview(target)?;
        let mut out = report::erasure(&erasure);
        if erasure.is_empty() {
            out.push_str(nothing);
            out.push('\n');
        }
        out.push_str(&self.out_of_reach(target, &erasure));
        Ok(out)
    }

    /// Whether the target names anything that could be erased.
    ///
    /// # Errors
    /// As [`ProfileMemory::preview`].
    pub(crate) fn has(&self, target: &EraseTarget) -> Outcome<bool> {
        Ok(!self.store.preview(target)?.is_empty())
    }

    fn forget(&self, target: &EraseTarget) -> Outcome<String> {
        let erased = self.store.erase(target)?;
        let mut out = match erased.is_empty() {
            true => "There was nothing to erase.\n".to_owned(),
            false => format!("Erased: {}.\n", counts(&erased)),
        };
        out.push_str(&self.out_of_reach(target, &erased));
        Ok(out)
    }

    /// The files that say the same and are not part of the memory.
    fn out_of_reach(&self, target: &EraseTarget, erasure: &Erasure) -> String {
        // The chat log, its backups, and what was set aside or left half written of it.
        let of_log = |path: &PathBuf| {
            let log = self.profile.chat_log();
            let name = report::file_name(path);
            let plain = name.trim_start_matches('.');
            plain.starts_with(&report::file_name(&log)) && !name.ends_with(".lock")
        };
        let logs = files_in(self.profile.dir()).filter(of_log);
        let contexts = files_in(&self.profile.logs());
        let mut files: Vec<PathBuf> = logs
            .chain([self.profile.history()])
            .chain(contexts)
            .filter(|path| path.is_file())
            .filter(|path| match target {
                EraseTarget::Word(word) => file_has_word(path, word),
                _ => true,
            })
            .chain(erasure.foreign.iter().cloned())
            .collect();
        files.sort();
        let sessions = self.sessions.with_file(|path| match target {
            EraseTarget::Word(word) => file_has_word(path, word),
            _ => true,
        });
        let mut out = String::new();
        if !files.is_empty() || !sessions.is_empty() {
            out.push_str("\nNot part of the memory, and not changed by this:\n");
            for path in files {
                out.push_str(&format!("  {}\n", escape_controls(&path.to_string_lossy())));
            }
            if !sessions.is_empty() {
                out.push_str(&format!("  {}\n", report::sessions(&sessions)));
            }
            out.push_str("Edit or remove them yourself if they should not say it either");
            out.push_str(match sessions.is_empty() {
                true => ".\n",
                false => "; marvin sessions --delete ID… removes sessions.\n",
            });
        }
        out.push_str("Exports, backups, snapshots of the disk and conversations of another Marvin that runs now are out of reach.\n");
        out
    }

    fn export(&self, file: &Path) -> Outcome<String> {
        if file.symlink_metadata().is_ok() {
            return Err(
                Problem::refused(format!("{} exists already.", file.display()))
                    .next("Choose another name, or remove that file."),
            );
        }
        let text = json(&self.store.export()?)?;
        atomic::write(file, text.as_bytes(), Access::Private)?;
        Ok(format!("The memory was written to {}.\n", file.display()))
    }

    fn import(&self, file: &Path) -> Outcome<String> {
        let bytes = atomic::read(file, MAX_IMPORT_BYTES)?
            .ok_or_else(|| Problem::missing(format!("There is no file {}.", file.display())))?;
        let count = self.store.import(MemoryExport::parse(&bytes)?)?;
        Ok(format!(
            "Added {}, {} and {}; {} said more than before.\n",
            plural(count.new_rows, "day"),
            plural(count.new_facts, "fact"),
            plural(count.new_nodes, "node"),
            plural(count.changed_rows, "day"),
        ))
    }
}

/// What is in a folder.
fn files_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn counts(erased: &Erasure) -> String {
    let counts = [
        (erased.rows.len(), entries(erased.rows.len())),
        (erased.facts.len(), plural(erased.facts.len(), "fact")),
        (erased.nodes.len(), plural(erased.nodes.len(), "node")),
        (erased.files.len(), plural(erased.files.len(), "other file")),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts
        .map(|(_, words)| words)
        .collect::<Vec<_>>()
        .join(", ")
}

fn entries(count: usize) -> String {
    match count {
        1 => "1 diary entry".to_owned(),
        count => format!("{count} diary entries"),
    }
}

fn json(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Problem::internal("The memory is not JSON.").because(error))
}
