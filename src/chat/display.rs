//! What a screen may show of a tool's result, in addition to the text that the model reads.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::change::FileChange;

/// A visual form of a call's result. Its content comes from outside like every text of a tool: the front end sanitizes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Display {
    /// The files that an edit changed.
    Changes {
        /// In the order in which they were changed.
        files: Vec<FileChange>,
    },
    /// In sessions of older versions: lines of a file that replaced others, with a few unchanged ones around them.
    Diff {
        /// The lines before.
        old: String,
        /// The lines after.
        new: String,
        /// The number of their first line, if known.
        first_line: Option<usize>,
    },
    /// In sessions of older versions: a patch as written.
    Patch {
        /// The patch.
        text: String,
    },
    /// In place of the text that the model reads, of which parts are for the model alone.
    Text {
        /// What is for people too.
        text: String,
    },
}

impl Display {
    /// The same without whole texts, for those who keep it.
    #[must_use]
    pub(crate) fn without_whole_texts(mut self) -> Self {
        if let Self::Changes { files } = &mut self {
            files.iter_mut().for_each(|file| file.whole = None);
        }
        self
    }

    /// The same of files in another folder than the working directory: their paths are whole.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        if let Self::Changes { files } = &mut self {
            let whole = |path: &str| folder.join(path).display().to_string();
            for file in files {
                file.path = whole(&file.path);
                file.moved_from = file.moved_from.as_deref().map(whole);
            }
        }
        self
    }

    /// The length of its texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Changes { files } => files.iter().map(FileChange::bytes).sum(),
            Self::Diff { old, new, .. } => old.len() + new.len(),
            Self::Patch { text } | Self::Text { text } => text.len(),
        }
    }
}
