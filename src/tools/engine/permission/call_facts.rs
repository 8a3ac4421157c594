//! What modes and rules look at in a call.

use crate::base::params::Field;
use crate::tools::engine::rules::SideEffect;

/// What the content of a rule about a tool is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    /// The command that it runs.
    Command,
    /// The paths that it reads or changes.
    Path,
    /// The name of what it loads.
    Name,
}

impl SubjectKind {
    /// The kind for a tool with these parameters, and the name of the parameter.
    pub(crate) fn of(fields: &[Field], effect: SideEffect) -> Option<(Self, Field)> {
        let find = |name: &str| fields.iter().find(|field| field.name == name).copied();
        let command = find("command").filter(|_| effect == SideEffect::Programs);
        let kinds = [
            (Self::Command, command),
            (Self::Path, find("path")),
            (Self::Name, find("name")),
        ];
        kinds
            .into_iter()
            .find_map(|(kind, field)| field.map(|field| (kind, field)))
    }
}

/// A tool as a rule may name it.
#[derive(Debug, Clone)]
pub(crate) struct KnownTool {
    pub name: String,
    pub subject: Option<SubjectKind>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallSubject {
    /// Its tool has none.
    None,
    /// The arguments do not tell: it may be anything.
    Unknown,
    Command(String),
    Paths(Vec<CallPath>),
    Name(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallPath {
    pub given: String,
    /// Relative to the working directory, normalised; none for one that is absolute or climbs.
    pub relative: Option<String>,
    /// It is one of the working directory, and no part of it is a symbolic link: it cannot lead to another file.
    pub is_direct: bool,
    /// What else it is called by: where symbolic links lead, relative to the working directory, or the name of a note among the notes.
    /// Only what denies reads it.
    pub others: Vec<String>,
}

/// A call as modes and rules see it.
#[derive(Debug, Clone)]
pub(crate) struct CallFacts<'a> {
    pub tool: &'a str,
    pub effect: SideEffect,
    pub subject: CallSubject,
}

impl CallFacts<'_> {
    /// A rule that would allow this call and little else, as the user would write it.
    pub(crate) fn suggested_rule(&self) -> String {
        let tool = self.tool;
        let content = match &self.subject {
            CallSubject::Command(command) => command.trim(),
            CallSubject::Paths(paths) => match paths.as_slice() {
                [
                    CallPath {
                        relative: Some(path),
                        is_direct: true,
                        ..
                    },
                ] => path,
                _ => "",
            },
            CallSubject::Name(name) => name,
            CallSubject::None | CallSubject::Unknown => "",
        };
        // One that reads at a glance and needs no quoting beyond single quotes.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-/:=@,+".contains(c);
        match (1..=60).contains(&content.len())
            && content.chars().all(is_plain)
            && !content.ends_with(':')
        {
            true => format!("{tool}({content})"),
            false => tool.to_owned(),
        }
    }
}
