//! Forgetting outside of the memory: in the chat log and its backups, in sessions, in the input history and in backups of contexts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{ProfileMemory, files_in, report};
use crate::base::text::{clip, one_line, plural};
use crate::disk::paths::CONTEXT_BACKUP;
use crate::store::chat_log::{ForgetEntries, LogEntry};
use crate::store::input_history::InputHistory;
use crate::store::memory::{EraseTarget, file_has_word, is_said_in_json};
use crate::store::sessions::{ForgetTexts, SessionId};

/// Lines of each kind that are listed.
const MAX_LINES: usize = 200;
const MAX_LINE_CHARS: usize = 160;

/// What was found outside of the memory, or taken out there.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Entries of the chat log, and the file that they are in.
    entries: Vec<(PathBuf, LogEntry)>,
    /// What is in sessions. Nothing of a session that goes whole.
    sessions: Vec<(SessionId, Vec<String>)>,
    inputs: Vec<String>,
    /// Copies that go whole.
    files: Vec<PathBuf>,
    /// What could not be changed, and why.
    pub left: Vec<String>,
}

impl ProfileMemory {
    /// What [`ProfileMemory::forget_elsewhere`] would take out.
    pub(super) fn find_elsewhere(&self, target: &EraseTarget) -> Elsewhere {
        self.go_through(target, false)
    }

    /// Takes what the target says out of the chat log, the sessions, the input history and backups. A place that cannot be changed does not keep the others.
    pub(super) fn forget_elsewhere(&self, target: &EraseTarget) -> Elsewhere {
        self.go_through(target, true)
    }

    fn go_through(&self, target: &EraseTarget, is_forgotten: bool) -> Elsewhere {
        let mut found = Elsewhere::default();
        let goes = target.matcher();
        let says = |path: &Path| match target {
            EraseTarget::All => true,
            EraseTarget::Word(word) => file_has_word(path, word),
            EraseTarget::Day(_) | EraseTarget::Node(_) => false,
        };
        let line = |text: &str| match target {
            EraseTarget::Word(_) => is_said_in_json(text.to_owned(), |text| goes(text, None)),
            _ => false,
        };
        let texts = ForgetTexts {
            text: &goes,
            line: &line,
        };
        let sessions = match target {
            EraseTarget::All => {
                let all = self.sessions.with_file(|_| true).into_iter();
                all.map(|id| (id, Vec::new())).collect()
            }
            _ => self.sessions.find_forgotten(texts),
        };
        for (id, gone) in sessions {
            let taken = match (is_forgotten, target) {
                (false, _) => Ok(gone),
                (true, EraseTarget::All) => self.sessions.delete(&id).map(|()| gone),
                (true, _) => self.sessions.forget(&id, texts),
            };
            match taken {
                Ok(gone) => found.sessions.push((id, gone)),
                Err(problem) => found.left.push(problem.one_line()),
            }
        }
        let wanted = ForgetEntries {
            entry: &|entry| goes(&entry.text, entry.at),
            file: &says,
        };
        let in_log = match is_forgotten {
            false => Ok(self.log.find_forgotten(&wanted)),
            true => self.log.forget(&wanted, &mut |told| found.left.push(told)),
        };
        match in_log {
            Ok(in_log) => {
                found.entries = in_log.entries;
                found.files = in_log.files;
            }
            Err(problem) => found.left.push(problem.one_line()),
        }
        let history = self.profile.history();
        let goes_input = |input: &str| !input.trim().is_empty() && goes(input, None);
        let inputs = match is_forgotten {
            false => InputHistory::find_forgotten(&history, &goes_input),
            true => InputHistory::forget(&history, &goes_input),
        };
        match inputs {
            Ok(inputs) => found.inputs = inputs,
            Err(problem) => found.left.push(problem.one_line()),
        }
        for path in files_in(&self.profile.logs()) {
            let is_backup = report::file_name(&path).starts_with(CONTEXT_BACKUP);
            if is_backup && path.is_file() && says(&path) {
                match is_forgotten.then(|| fs::remove_file(&path)) {
                    None | Some(Ok(())) => found.files.push(path),
                    Some(Err(error)) => {
                        found.left.push(format!("{}: {error}", path.display()));
                    }
                }
            }
        }
        found
    }
}

impl Elsewhere {
    pub(super) fn is_empty(&self) -> bool {
        self.counts().is_empty()
    }

    /// Such as `2 entries of the chat log`.
    pub(super) fn counts(&self) -> Vec<String> {
        let texts: usize = self.sessions.iter().map(|(_, gone)| gone.len()).sum();
        let sessions = plural(self.sessions.len(), "session");
        let counts = [
            (
                self.entries.len(),
                match self.entries.len() {
                    1 => "1 entry of the chat log".to_owned(),
                    count => format!("{count} entries of the chat log"),
                },
            ),
            (
                self.sessions.len(),
                match texts {
                    0 => sessions,
                    texts => format!("{} in {sessions}", plural(texts, "text")),
                },
            ),
            (self.inputs.len(), plural(self.inputs.len(), "input")),
            (self.files.len(), plural(self.files.len(), "backup")),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        counts.map(|(_, words)| words).collect()
    }

    pub(super) fn lines(&self, log: &Path) -> String {
        let entries = self.entries.iter().map(|(path, entry)| {
            let backup = match path == log {
                true => String::new(),
                false => format!(" ({})", report::file_name(path)),
            };
            format!(
                "{} {}: {}{backup}",
                entry.time,
                entry.role.word(),
                entry.text
            )
        });
        let texts = self.sessions.iter().flat_map(|(id, gone)| {
            let whole = gone.is_empty().then(|| id.short().to_owned());
            let parts = gone.iter().map(|text| format!("{}: {text}", id.short()));
            whole.into_iter().chain(parts)
        });
        let files = self.files.iter().map(|path| report::file_name(path));
        let mut out = String::new();
        list(&mut out, "log", entries);
        list(&mut out, "said", texts);
        list(&mut out, "input", self.inputs.iter().cloned());
        list(&mut out, "file", files);
        out
    }
}

fn list(out: &mut String, kind: &str, mut lines: impl Iterator<Item = String>) {
    for line in lines.by_ref().take(MAX_LINES) {
        let line = one_line(&clip(&line, MAX_LINE_CHARS));
        let _ = writeln!(out, "  {kind:<6} {line}");
    }
    match lines.count() {
        0 => {}
        more => {
            let _ = writeln!(out, "  {kind:<6} … and {more} more");
        }
    }
}
