//! A simple command of a shell script: its words.

/// Words of the grammar that a command may follow.
pub(super) const KEYWORDS: [&str; 13] = [
    "!", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while", "{", "}",
];

/// A command with its arguments, without assignments and redirections.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub words: Vec<Word>,
    /// Words may follow that are not in the text.
    pub is_open: bool,
    /// What of the grammar stands behind it.
    pub mark: Mark,
}

/// The mark at the end of a command, as far as it says what becomes of the command's status.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The end of the text, or of a group.
    #[default]
    End,
    And,
    Or,
    Pipe,
    /// The shell does not wait for it.
    Background,
    /// A semicolon, or the end of a line.
    Next,
    /// It stands in a substitution.
    Inside,
}

/// A word after quotes were removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub is_known: bool,
    /// It is not known for a pattern (`src/*.rs`, `{a,b}.c`) alone: what the shell makes of it has its beginning and end.
    pub is_pattern: bool,
}

impl Word {
    /// What it begins with, whatever the shell makes of it.
    pub(super) fn start(&self) -> &str {
        let end = match (self.is_known, self.is_pattern) {
            (true, _) => Some(self.text.len()),
            (false, true) => self.text.find(['*', '?', '[', '{']),
            (false, false) => None,
        };
        self.text.get(..end.unwrap_or(0)).unwrap_or_default()
    }

    /// What it ends with.
    pub(super) fn end(&self) -> &str {
        let start = match (self.is_known, self.is_pattern) {
            (true, _) => Some(0),
            (false, true) => self
                .text
                .rfind(['*', '?', '[', ']', '{', '}'])
                .map(|at| at + 1),
            (false, false) => None,
        };
        self.text
            .get(start.unwrap_or(self.text.len())..)
            .unwrap_or_default()
    }
}

/// `NAME=…`, `NAME+=…`, `NAME[…]=…`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_letter) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}
