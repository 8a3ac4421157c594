//! What a command changed of what git runs, what became of it, and what is said of that.

use std::path::{Path, PathBuf};

use crate::base::text::escape_controls;
use crate::proc::sandbox::noted_files::{NotedFiles, difference};

/// Most paths that are shown.
const MAX_SHOWN: usize = 100;

/// What a command changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchedChanges {
    /// What git runs.
    pub git: Vec<PathBuf>,
    /// What is there instead; of what was removed, nothing.
    pub(super) found: NotedFiles,
    /// What others run or obey.
    pub told: Vec<PathBuf>,
    /// More was made than is searched for repositories.
    pub is_cut: bool,
    /// Folders that nobody could list any more, which is mended.
    pub given_back: Vec<PathBuf>,
    /// Folders that still nobody can list: what git runs may be there.
    pub closed: Vec<PathBuf>,
}

/// What became of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PutBack {
    /// They could not be put back.
    pub failed: Vec<PathBuf>,
    /// What folders are called now that were in the place of files.
    pub aside: Vec<PathBuf>,
    /// Where the other versions are.
    pub kept: Option<PathBuf>,
}

impl WatchedChanges {
    /// Whether `later`, a second look, found the same at the same paths.
    pub(crate) fn is_as_in(&self, later: &Self) -> bool {
        self.git == later.git && difference(&self.found, &later.found).is_empty()
    }

    /// What git would run now, as it is shown: at most `max_chars` of a file.
    pub(crate) fn shown(&self, max_chars: usize) -> String {
        let words = |path: &PathBuf| {
            let found = self.found.get(path);
            let words = found.map_or_else(|| " removed".to_owned(), |found| found.shown(max_chars));
            format!("\n\n{}:{words}", path.display())
        };
        self.git.iter().map(words).collect()
    }

    /// What tells it from anything else at the same paths; none where not everything was read.
    pub(crate) fn version(&self) -> Option<Vec<u8>> {
        let mut version = Vec::new();
        for path in &self.git {
            let found = match self.found.get(path) {
                Some(found) => found.version()?,
                None => Vec::new(),
            };
            for part in [path.as_os_str().as_encoded_bytes(), &found] {
                version.extend_from_slice(&(part.len() as u64).to_le_bytes());
                version.extend_from_slice(part);
            }
        }
        Some(version)
    }

    /// What is said of folders that `who` did not leave as they were.
    pub(crate) fn folder_words(&self, who: &str) -> Vec<String> {
        let mut words = Vec::new();
        if !self.given_back.is_empty() {
            words.push(format!(
                "{who} took the right to list {} away, where git looks: given back.",
                list(&self.given_back)
            ));
        }
        if !self.closed.is_empty() {
            words.push(format!(
                "What git runs cannot be looked for in {}: it cannot be listed, or holds too much. Tell the user, before they use git there.",
                list(&self.closed)
            ));
        }
        if self.is_cut {
            words.push(format!(
                "{who} made more folders than are looked through for repositories of git."
            ));
        }
        words
    }
}

impl PutBack {
    /// Where things are that were in the place of what was put back, to be said behind other words.
    pub(crate) fn where_words(&self) -> String {
        let mut words = String::new();
        if !self.aside.is_empty() {
            words.push_str(&format!(
                " The folder that was in its place is {} now.",
                list(&self.aside)
            ));
        }
        if let Some(kept) = &self.kept {
            let kept = escape_controls(&kept.display().to_string());
            words.push_str(&format!(" The other version is in {kept}."));
        }
        words
    }
}

/// Paths as they are shown.
pub(crate) fn list(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(MAX_SHOWN);
    let shown = shown.map(|path| match path == Path::new("") {
        true => ".".to_owned(),
        false => path.display().to_string(),
    });
    let mut shown: Vec<String> = shown.collect();
    if paths.len() > MAX_SHOWN {
        shown.push(format!("{} more", paths.len() - MAX_SHOWN));
    }
    escape_controls(&shown.join(", "))
}
