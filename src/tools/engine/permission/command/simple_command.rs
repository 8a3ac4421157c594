//! A simple command of a shell script: its words.

/// A command with its arguments, without assignments and redirections.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub words: Vec<Word>,
    /// Words may follow that are not in the text.
    pub is_open: bool,
}

/// A word after quotes were removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub is_known: bool,
}
