//! A flag of the command line as a row: name, value, completion, and what it stores.

use std::ffi::OsString;

use super::CliArgs;
use crate::base::problem::{Outcome, Problem};
use crate::llm::choose;
use crate::llm::provider::Effort;
use crate::tools::engine::permission::mode::MODES;

/// Whether a flag takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueMode {
    Nothing,
    /// One value, under this name in the help.
    Value(&'static str),
    /// The next word, unless it starts with `-` or is missing.
    Maybe(&'static str),
    /// One value, which may begin with `-` and may be empty: programs pass such ones.
    Any(&'static str),
}

/// The kind of completion for a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complete {
    Nothing,
    File,
    Folder,
    Provider,
    /// Reasoning efforts.
    Effort,
    /// Modules of tools.
    Group,
    /// Sessions of the profile.
    Session,
    /// Permission modes.
    PermissionMode,
}

/// Flags of one subject, as the help lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagGroup {
    Prompt,
    Model,
    Permissions,
    Session,
    Pipeline,
    Run,
}

impl FlagGroup {
    /// In the order of the help.
    pub(crate) const ALL: [Self; 6] = [
        Self::Prompt,
        Self::Model,
        Self::Permissions,
        Self::Session,
        Self::Pipeline,
        Self::Run,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Prompt => "Prompt",
            Self::Model => "Model and tools",
            Self::Permissions => "Permissions",
            Self::Session => "Session",
            Self::Pipeline => "Pipeline",
            Self::Run => "The run",
        }
    }
}

pub(crate) struct Flag {
    /// Without dashes.
    pub long: &'static str,
    /// A second spelling, without dashes, that other programs use; accepted and not listed.
    pub second: Option<&'static str>,
    pub group: FlagGroup,
    pub short: Option<char>,
    pub takes: ValueMode,
    pub complete: Complete,
    /// One sentence.
    pub doc: &'static str,
    /// A shorter sentence for the first screen of the help, which has only the flags that most people need.
    pub brief: Option<&'static str>,
    /// Accepted but not listed.
    pub hidden: bool,
    /// Stores the value.
    pub apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
}

pub(super) const fn flag(
    long: &'static str,
    group: FlagGroup,
    takes: ValueMode,
    doc: &'static str,
    apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
) -> Flag {
    Flag {
        long,
        second: None,
        group,
        short: None,
        takes,
        complete: Complete::Nothing,
        doc,
        brief: None,
        hidden: false,
        apply,
    }
}

impl Flag {
    pub(super) const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    pub(super) const fn second(mut self, name: &'static str) -> Self {
        self.second = Some(name);
        self
    }

    pub(super) const fn complete(mut self, complete: Complete) -> Self {
        self.complete = complete;
        self
    }

    pub(super) const fn brief(mut self, brief: &'static str) -> Self {
        self.brief = Some(brief);
        self
    }

    pub(super) const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// The fixed words that complete a value.
pub(crate) fn words(complete: Complete) -> Vec<&'static str> {
    match complete {
        Complete::Provider => choose::names().collect(),
        Complete::Effort => Effort::ALL.map(Effort::word).to_vec(),
        Complete::Group => crate::tools::groups()
            .into_iter()
            .chain(["all", "none"])
            .collect(),
        Complete::PermissionMode => MODES.iter().map(|row| row.word).collect(),
        Complete::Nothing | Complete::File | Complete::Folder | Complete::Session => Vec::new(),
    }
}

/// The value as text.
pub(crate) fn text(value: OsString, flag: &str) -> Outcome<String> {
    value.into_string().map_err(|value| {
        Problem::input(format!(
            "The value of {flag} is not UTF-8: {}",
            value.to_string_lossy()
        ))
        .next("Put it into a file in UTF-8 and give --prompt-file, or fix the terminal's encoding.")
    })
}
