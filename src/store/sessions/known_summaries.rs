//! What was read of the sessions before, so that a list that is asked for again reads only what has changed.

use std::collections::HashMap;
use std::time::SystemTime;

use super::id::SessionId;
use super::on_disk::SessionOnDisk;
use super::summary::SessionSummary;

/// The summaries of sessions, each with the time and the length of the file that it was read from.
#[derive(Debug, Default)]
pub(crate) struct KnownSummaries {
    of: HashMap<SessionId, (SystemTime, u64, SessionSummary)>,
}

impl KnownSummaries {
    /// The summaries of these files. What is known of others is forgotten.
    pub(super) fn bring_up_to_date(&mut self, files: Vec<SessionOnDisk>) -> Vec<SessionSummary> {
        let mut before = std::mem::take(&mut self.of);
        for file in files {
            let state = (file.modified, file.length);
            let known = before.remove(&file.id);
            let summary = match known {
                Some((modified, length, summary)) if (modified, length) == state => summary,
                _ => match SessionSummary::read(&file) {
                    Some(summary) => summary,
                    None => continue,
                },
            };
            self.of.insert(file.id, (state.0, state.1, summary));
        }
        let known = self.of.values();
        known.map(|(_, _, summary)| summary.clone()).collect()
    }
}
