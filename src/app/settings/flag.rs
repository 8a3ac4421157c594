//! A flag as a row: its name, its value, how it is completed, and what it stores.

use std::ffi::OsString;

use super::CliArgs;
use crate::base::problem::{Outcome, Problem};
use crate::llm::choose;
use crate::llm::provider::Effort;

/// Whether a flag takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueMode {
    /// None.
    Nothing,
    /// One, named so in the help.
    Value(&'static str),
    /// The next word, unless it begins with `-` or there is none.
    Maybe(&'static str),
}

/// The kind of completion for a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complete {
    /// No completion.
    Nothing,
    /// Names of files.
    File,
    /// Names of folders.
    Folder,
    /// Names of providers.
    Provider,
    /// Reasoning efforts.
    Effort,
    /// Modules of tools.
    Group,
}

/// One flag.
pub(crate) struct Flag {
    /// Long name, without dashes.
    pub long: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Its value.
    pub takes: ValueMode,
    /// How the value is completed.
    pub complete: Complete,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Accepted and not shown.
    pub hidden: bool,
    /// Stores the value.
    pub apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
}

pub(super) const fn flag(
    long: &'static str,
    takes: ValueMode,
    doc: &'static str,
    apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
) -> Flag {
    Flag {
        long,
        short: None,
        takes,
        complete: Complete::Nothing,
        doc,
        hidden: false,
        apply,
    }
}

impl Flag {
    pub(super) const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    pub(super) const fn complete(mut self, complete: Complete) -> Self {
        self.complete = complete;
        self
    }

    pub(super) const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// Words that complete a value.
pub(crate) fn words(complete: Complete) -> Vec<&'static str> {
    match complete {
        Complete::Provider => choose::names().collect(),
        Complete::Effort => Effort::ALL.map(Effort::word).to_vec(),
        Complete::Group => crate::tools::groups()
            .into_iter()
            .chain(["all", "none"])
            .collect(),
        Complete::Nothing | Complete::File | Complete::Folder => Vec::new(),
    }
}

/// A value that must be text.
pub(crate) fn text(value: OsString, flag: &str) -> Outcome<String> {
    value.into_string().map_err(|value| {
        Problem::input(format!(
            "The value of {flag} is not UTF-8: {}",
            value.to_string_lossy()
        ))
        .next("Put it into a file in UTF-8 and give --prompt-file, or fix the terminal's encoding.")
    })
}
