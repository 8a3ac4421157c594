//! What the user can do with the memory of a profile: `marvin memory …` and `/memory …`.
//!
//! [`command`] reads the words, [`report`] writes what is remembered, [`everywhere`] forgets outside of the memory too, [`maintain`] has a model clean it up.
//! What is on disk, and how, is known to [`crate::store::memory`] alone.

pub(crate) mod command;
mod everywhere;
pub(crate) mod maintain;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::command::{MemoryCommand, Page};
use self::everywhere::Elsewhere;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, one_line, plural};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::{Paths, ProfilePaths};
use crate::store::chat_log::ChatLog;
use crate::store::memory::{
    DiaryRow, EraseTarget, Erasure, MemoryExport, MemoryStore, Node, file_has_word,
};
use crate::store::sessions::SessionStore;

/// Entries and nodes that a search shows.
const MAX_HITS: usize = 10;
/// Largest file that is imported, in bytes.
const MAX_IMPORT_BYTES: u64 = 256 << 20;

pub(crate) struct ProfileMemory {
    pub store: MemoryStore,
    sessions: SessionStore,
    log: ChatLog,
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
            log: ChatLog::new(profile.chat_log(), clock),
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
            MemoryCommand::Show { page, json: false } => self.show(page.unwrap_or_default()),
            MemoryCommand::Show { page, json: true } => self.show_json(*page),
            MemoryCommand::Search { words, json } => self.search(words, *json),
            MemoryCommand::Forget {
                target,
                everywhere,
                yes: true,
            } => self.forget(target, *everywhere),
            MemoryCommand::Forget {
                target,
                everywhere,
                yes: false,
            } => Err(Problem::refused("Nothing was erased: it needs a yes.")
                .next("Add --yes.")
                .facts(self.preview(target, *everywhere)?)),
            MemoryCommand::Help => Ok(command::help()),
            MemoryCommand::Export { file: None } => json(&self.store.export()?),
            MemoryCommand::Export { file: Some(file) } => self.export(&dir.join(file)),
            MemoryCommand::Import { file } => self.import(&dir.join(file)),
            MemoryCommand::Clean | MemoryCommand::Topics => {
                Err(Problem::internal("This needs a model."))
            }
        }?;
        Ok(text)
    }

    fn show(&self, page: Page) -> Outcome<String> {
        let (days, rows) = self.store.diary_page(|count| page.latest(count))?;
        let places = report::places(&self.store)?;
        let pages = page.pages(days.max(places.len()));
        if page.number > pages {
            return Err(Problem::input(format!("There is no page {}.", page.number))
                .next(format!("The last one is {pages}.")));
        }
        let mut out = report::diary(&rows);
        out.push_str(&report::graph(&places, page));
        if days == 0 && places.is_empty() {
            out.push_str(&format!(
                "Nothing is remembered in the profile \"{}\".\n",
                self.name
            ));
        } else {
            let facts: usize = places.iter().map(|(_, node)| node.facts().count()).sum();
            out.push_str(&format!(
                "\n{} and {}, in {}.\n",
                entries(days),
                plural(facts, "fact"),
                self.profile.memory().display()
            ));
        }
        if pages > 1 {
            out.push_str(&format!(
                "Page {} of {pages}, the latest days first, with {} days and places of the graph each.",
                page.number, page.size
            ));
            if page.number < pages {
                out.push_str(&match page.size == Page::default().size {
                    true => format!(" More: show --page {}.", page.number + 1),
                    false => {
                        let next = page.number + 1;
                        format!(" More: show --limit {} --page {next}.", page.size)
                    }
                });
            }
            out.push('\n');
        }
        let others = self.store.other_files();
        if !others.is_empty() {
            out.push_str("\nOther files there:\n");
            for path in &others {
                out.push_str(&format!("  {}\n", report::file_name(path)));
            }
        }
        Ok(out)
    }

    fn show_json(&self, page: Option<Page>) -> Outcome<String> {
        #[derive(Serialize)]
        struct Shown<'a> {
            profile: &'a str,
            folder: PathBuf,
            #[serde(flatten)]
            memory: MemoryExport,
        }
        let mut memory = self.store.export()?;
        if let Some(page) = page {
            let days = page.latest(memory.rows.len());
            memory.rows = memory.rows.drain(days).collect();
            let nodes = page.of(memory.nodes.len());
            memory.nodes = memory.nodes.drain(nodes).collect();
        }
        json(&Shown {
            profile: &self.name,
            folder: self.profile.memory(),
            memory,
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
        // Diary and graph side by side.
        self.store.preload();
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
    pub(crate) fn preview(&self, target: &EraseTarget, everywhere: bool) -> Outcome<String> {
        self.preview_or(target, everywhere, "There is nothing to erase.")
    }

    /// [`ProfileMemory::preview`] with these words when nothing would be erased.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn preview_or(
        &self,
        target: &EraseTarget,
        everywhere: bool,
        nothing: &str,
    ) -> Outcome<String> {
        let erasure = self.store.preview(target)?;
        let mut out = report::erasure(&erasure);
        let mut is_empty = erasure.is_empty();
        if everywhere {
            let elsewhere = self.find_elsewhere(target);
            is_empty &= elsewhere.is_empty();
            out.push_str(&elsewhere.lines(self.log.path()));
            out.push_str(&left(&elsewhere.left));
        }
        if is_empty {
            out.push_str(nothing);
            out.push('\n');
        }
        out.push_str(&match everywhere {
            true => out_of_reach_everywhere(&erasure.foreign),
            false => self.out_of_reach(target, &erasure),
        });
        Ok(out)
    }

    /// Whether the target names anything that could be erased.
    ///
    /// # Errors
    /// As [`ProfileMemory::preview`].
    pub(crate) fn has(&self, target: &EraseTarget, everywhere: bool) -> Outcome<bool> {
        let is_in_memory = !self.store.preview(target)?.is_empty();
        Ok(is_in_memory || everywhere && !self.find_elsewhere(target).is_empty())
    }

    fn forget(&self, target: &EraseTarget, everywhere: bool) -> Outcome<String> {
        let erased = self.store.erase(target)?;
        let elsewhere = match everywhere {
            true => self.forget_elsewhere(target),
            false => Elsewhere::default(),
        };
        let mut counts = counts(&erased);
        counts.extend(elsewhere.counts());
        let mut out = match counts.is_empty() {
            true => "There was nothing to erase.\n".to_owned(),
            false => format!("Erased: {}.\n", counts.join(", ")),
        };
        out.push_str(&left(&elsewhere.left));
        out.push_str(&match everywhere {
            true => out_of_reach_everywhere(&erased.foreign),
            false => self.out_of_reach(target, &erased),
        });
        Ok(out)
    }

    /// The files that say the same and are not part of the memory.
    fn out_of_reach(&self, target: &EraseTarget, erasure: &Erasure) -> String {
        let logs = self.log.all_files().into_iter();
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
            if !matches!(target, EraseTarget::Node(_)) {
                out.push_str("With --everywhere it is taken out of chat log, sessions and input history too.\n");
            }
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

fn counts(erased: &Erasure) -> Vec<String> {
    let counts = [
        (erased.rows.len(), entries(erased.rows.len())),
        (erased.facts.len(), plural(erased.facts.len(), "fact")),
        (erased.nodes.len(), plural(erased.nodes.len(), "node")),
        (erased.files.len(), plural(erased.files.len(), "other file")),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(_, words)| words).collect()
}

/// What could not be changed, and why.
fn left(left: &[String]) -> String {
    let lines = left.iter().map(|why| format!("  {}\n", one_line(why)));
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\nNot changed; repeat it when that is possible:\n{lines}"),
    }
}

/// What nobody can erase here, after everything else was.
fn out_of_reach_everywhere(foreign: &[PathBuf]) -> String {
    let mut out = String::new();
    if !foreign.is_empty() {
        out.push_str("\nFiles of others, which stay:\n");
        for path in foreign {
            out.push_str(&format!("  {}\n", escape_controls(&path.to_string_lossy())));
        }
    }
    out.push_str(
        "Out of reach: what the provider of a model keeps, exports, backups, snapshots of the disk, notes and files of projects, the shell's history, and \
         conversations that are open now.\n",
    );
    out
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
