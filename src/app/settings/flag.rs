//! A flag of the command line as a row: name, value, completion, and what it stores.

use std::ffi::OsString;

use super::CliArgs;
use crate::base::problem::{Outcome, Problem};
use crate::llm::choose;
use crate::llm::provider::Effort;
use crate::pipeline::approval;
use crate::pipeline::phase::PHASES;
use crate::proc::sandbox::policy::SandboxMode;
use crate::tools::engine::permission::mode::MODES;

/// Whether a flag takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueMode {
    Nothing,
    /// One value, under this name in the help.
    Value(&'static str),
    /// The same; it may be empty or begin with a dash, as programs write it.
    Any(&'static str),
    /// The next word, unless it starts with `-` or is missing.
    Maybe(&'static str),
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
    /// Phases of the pipeline.
    Phase,
    /// Where the pipeline waits for approval.
    Approval,
    PermissionMode,
    SandboxMode,
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
    Program,
}

impl FlagGroup {
    /// In the order of the help.
    pub(crate) const ALL: [Self; 7] = [
        Self::Prompt,
        Self::Model,
        Self::Permissions,
        Self::Session,
        Self::Pipeline,
        Self::Run,
        Self::Program,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Prompt => "Prompt",
            Self::Model => "Model and tools",
            Self::Permissions => "Permissions",
            Self::Session => "Session",
            Self::Pipeline => "Pipeline",
            Self::Run => "The run",
            Self::Program => "For programs",
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
    /// Callers of other programs give it; it is refused, because they rely on it.
    pub is_unbuilt: bool,
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
        is_unbuilt: false,
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
        Complete::Phase => PHASES.iter().map(|phase| phase.name).collect(),
        Complete::Approval => approval::POINTS.map(|(point, _)| point).to_vec(),
        Complete::PermissionMode => MODES.iter().map(|row| row.word).collect(),
        Complete::SandboxMode => SandboxMode::ALL.map(SandboxMode::word).to_vec(),
        Complete::Nothing | Complete::File | Complete::Folder | Complete::Session => Vec::new(),
    }
}

pub(crate) fn text(value: OsString, flag: &str) -> Outcome<String> {
    value.into_string().map_err(|value| {
        Problem::input(format!(
            "The value of {flag} is not UTF-8: {}",
            value.to_string_lossy()
        ))
        .next("Put it into a file in UTF-8 and give --prompt-file, or fix the terminal's encoding.")
    })
}
