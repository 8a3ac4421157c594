//! Writes the conversation to the chat log. An entry that cannot be written is retried with the next one and when the session ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use jiff::Timestamp;

use crate::base::problem::{Outcome, Problem};
use crate::store::chat_log::{ChatLog, LogRole};
use crate::tools::engine::context::SessionContext;

/// Entries that are not on disk yet. Clones share the same entries.
#[derive(Clone, Default)]
pub(super) struct LogWriter(Arc<Mutex<UnsavedEntries>>);

#[derive(Default)]
struct UnsavedEntries {
    entries: Vec<PendingEntry>,
    /// Why the last attempt failed; `None` when everything is on disk.
    failure: Option<String>,
}

/// An entry to be written.
pub(super) struct PendingEntry {
    pub(super) profile: String,
    pub(super) role: LogRole,
    pub(super) text: String,
    /// When it was said, if it is to become memory.
    pub(super) at: Option<Timestamp>,
    /// Gets an item when the entry was written, or could not be.
    pub(super) told: Option<Sender<()>>,
}

impl LogWriter {
    /// Appends an entry, after the pending ones. Of several failures in a row only the first is reported, and that writing works again.
    pub(super) fn append(
        &self,
        context: &SessionContext,
        entry: PendingEntry,
        warn: &mut dyn FnMut(String),
    ) {
        let mut unsaved = self.lock();
        unsaved.entries.push(entry);
        let reported = unsaved.failure.is_some();
        match (unsaved.write(context, warn), reported) {
            (Err(problem), false) => warn(format!(
                "The conversation is not saved: {} The next message tries again.",
                problem.one_line()
            )),
            (Ok(()), true) => warn("The conversation is saved again.".to_owned()),
            (Err(_), true) | (Ok(()), false) => {}
        }
    }

    /// Retries the pending entries.
    pub(super) fn flush(&self, context: &SessionContext) {
        let mut unsaved = self.lock();
        if !unsaved.entries.is_empty() {
            // What still cannot be written is reported by `unsaved_notice`.
            let _ = unsaved.write(context, &mut |_| {});
        }
    }

    /// Removes the last message of `profile` and everything after it from the pending entries, provided that its text is `message`.
    pub(super) fn take_back(&self, profile: &str, message: &str) -> bool {
        let mut unsaved = self.lock();
        let of_user = |entry: &PendingEntry| entry.profile == profile && entry.role == LogRole::You;
        let last = unsaved.entries.iter().rposition(of_user);
        let Some(last) = last.filter(|at| {
            let entry = unsaved.entries.get(*at);
            entry.is_some_and(|entry| entry.text == message)
        }) else {
            return false;
        };
        let mut at = 0;
        unsaved.entries.retain(|entry| {
            at += 1;
            at <= last || entry.profile != profile
        });
        true
    }

    /// A message for the user when something is not on disk.
    pub(super) fn unsaved_notice(&self) -> Option<String> {
        let unsaved = self.lock();
        let what = match unsaved.entries.len() {
            1 => "The last entry".to_owned(),
            more => format!("The last {more} entries"),
        };
        let reason = unsaved.failure.as_ref()?;
        Some(format!(
            "{what} of the conversation could not be saved: {reason}"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, UnsavedEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnsavedEntries {
    /// Writes everything pending, grouped by profile, in order.
    fn write(&mut self, context: &SessionContext, warn: &mut dyn FnMut(String)) -> Outcome<()> {
        while let Some(first) = self.entries.first() {
            let profile = first.profile.clone();
            let entries: Vec<(LogRole, &str, Option<Timestamp>)> = self
                .entries
                .iter()
                .filter(|entry| entry.profile == profile)
                .map(|entry| (entry.role, entry.text.as_str(), entry.at))
                .collect();
            let written = open(context, &profile).and_then(|log| log.append_dated(&entries, warn));
            if let Err(problem) = written {
                return Err(self.failed(problem));
            }
            self.entries.retain(|entry| entry.profile != profile);
        }
        self.failure = None;
        Ok(())
    }

    fn failed(&mut self, problem: Problem) -> Problem {
        self.failure = Some(problem.one_line());
        problem
    }
}

pub(super) fn open(context: &SessionContext, profile: &str) -> Outcome<ChatLog> {
    let file = context.paths.profile(profile)?.chat_log();
    Ok(ChatLog::new(file, &context.clock))
}
