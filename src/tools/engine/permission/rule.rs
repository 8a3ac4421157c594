//! A rule of `--allowed-tools` and `--disallowed-tools`: the name of a tool, and what of its calls.

use super::call_facts::{CallFacts, CallPath, CallSubject, KnownTool, SubjectKind};
use super::command::pattern::CommandPattern;
use super::path_glob::PathGlob;
use super::second_names;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

const MAX_LIST_BYTES: usize = 256 * 1024;
/// Separates the name of a server from that of its tool. Servers come and go, so such names are not checked.
const SERVER_MARK: &str = "__";
/// What other programs write before the name of a server.
const SERVER_PREFIX: &str = "mcp__";

/// `read_file`, `git_*`, `run_command(cargo test:*)`, `create_file(docs/**)`.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// As it was written.
    text: String,
    tools: ToolNames,
    content: Option<Content>,
}

#[derive(Debug, Clone)]
enum ToolNames {
    These(Vec<String>),
    /// A name with `*`.
    Wildcard(String),
}

#[derive(Debug, Clone)]
enum Content {
    Command(CommandPattern),
    Path(PathGlob),
    Name(String),
}

/// Whether this is a name of tools of a server, which nobody knows before the server is asked.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.contains(SERVER_MARK)
}

impl Rule {
    /// Parses rules separated by commas or white space outside of parentheses.
    ///
    /// # Errors
    /// A parenthesis is not closed, a name fits no tool, or a content is none.
    pub(crate) fn parse_list(list: &str, known: &[KnownTool]) -> Outcome<Vec<Self>> {
        if list.len() > MAX_LIST_BYTES {
            return Err(Problem::input(format!(
                "The list of rules is longer than {} KiB.",
                MAX_LIST_BYTES / 1024
            )));
        }
        items(list)?
            .into_iter()
            .map(|(name, content)| Self::new(name, content, known))
            .collect()
    }

    /// A rule about the tool `name` and, if given, the part of its calls that `content` says.
    ///
    /// # Errors
    /// The name fits no tool, or the tool takes no such content.
    pub(crate) fn new(name: &str, content: Option<&str>, known: &[KnownTool]) -> Outcome<Self> {
        let content = content.map(str::trim);
        // A script whose variable is empty means no command, and surely not all of them.
        if let Some(content @ ("" | ":*")) = content {
            let shown = clip(&escape_controls(name), 100);
            return Err(Problem::input(format!(
                "The rule {shown}({content}) names nothing that it could be about."
            ))
            .next(format!("For all calls of it give {shown} alone.")));
        }
        let content = content.filter(|content| *content != "*");
        let text = match content {
            Some(content) => format!("{name}({content})"),
            None => name.to_owned(),
        };
        let shown = clip(&escape_controls(&text), 100);
        if content.is_some_and(|content| content.contains('\0')) {
            return Err(Problem::input(format!("The rule {shown} has a NUL in it.")));
        }
        let tools = ToolNames::parse(name, known)?;
        let Some(content) = content else {
            return Ok(Self {
                text,
                tools,
                content: None,
            });
        };
        let kind = tools.subject(known).ok_or_else(|| {
            Problem::input(format!(
                "The rule {shown} has parentheses, but {name} has no command, path or name that they could be about."
            ))
            .next(format!("Give {name} alone."))
        })?;
        let wrong = |reason: String| {
            let reason = clip(&escape_controls(&reason), 300);
            Problem::input(format!("The rule {shown} cannot be used: {reason}."))
                .next("For example: run_command(cargo test:*), create_file(docs/**).")
        };
        let content = match kind {
            SubjectKind::Command => Content::Command(CommandPattern::new(content).map_err(wrong)?),
            SubjectKind::Path => Content::Path(PathGlob::new(content).map_err(wrong)?),
            SubjectKind::Name => Content::Name(content.to_owned()),
        };
        Ok(Self {
            text,
            tools,
            content: Some(content),
        })
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about calls of this tool.
    pub(super) fn is_about(&self, tool: &str) -> bool {
        self.tools.include(tool)
    }

    /// Whether it is about every call of this tool.
    pub(crate) fn is_about_all_of(&self, tool: &str) -> bool {
        self.content.is_none() && self.tools.include(tool)
    }

    /// Whether it allows the call, as one of `--allowed-tools`: only what it is certainly about.
    pub(crate) fn allows(&self, call: &CallFacts<'_>) -> bool {
        if !self.tools.include(call.tool) {
            return false;
        }
        match (&self.content, &call.subject) {
            (None, _) => true,
            (Some(Content::Command(pattern)), CallSubject::Command(command)) => {
                pattern.allows(command)
            }
            (Some(Content::Path(glob)), CallSubject::Paths(paths)) => {
                let fits = |path: &CallPath| {
                    let relative = path.relative.as_ref().filter(|_| path.is_direct);
                    relative.is_some_and(|relative| glob.matches(relative))
                };
                !paths.is_empty() && paths.iter().all(fits)
            }
            (Some(Content::Name(name)), CallSubject::Name(named)) => name == named,
            _ => false,
        }
    }

    /// Whether it denies the call, as one of `--disallowed-tools`: also what it may be about.
    pub(crate) fn denies(&self, call: &CallFacts<'_>) -> bool {
        if !self.tools.include(call.tool) {
            return false;
        }
        match (&self.content, &call.subject) {
            (None, _) | (Some(_), CallSubject::Unknown) => true,
            (Some(Content::Command(pattern)), CallSubject::Command(command)) => {
                pattern.denies(command)
            }
            (Some(Content::Path(glob)), CallSubject::Paths(paths)) => {
                paths.is_empty()
                    || paths.iter().any(|path| {
                        let mut forms = path.relative.iter().chain(&path.others);
                        path.relative.is_none() || forms.any(|form| glob.matches(form))
                    })
            }
            (Some(Content::Name(name)), CallSubject::Name(named)) => name == named,
            _ => false,
        }
    }
}

impl ToolNames {
    fn parse(name: &str, known: &[KnownTool]) -> Outcome<Self> {
        let shown = || clip(&escape_controls(name), 100);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(Problem::input(format!(
                "\"{}\" cannot be the name of a tool in a rule.",
                shown()
            ))
            .next("For example: read_file, git_*, run_command(cargo test:*)."));
        }
        if let Some(tools) = second_names::meant(name) {
            let tools = tools.iter().map(|tool| (*tool).to_owned());
            return Ok(Self::These(tools.collect()));
        }
        let own = match name.strip_prefix(SERVER_PREFIX) {
            // A server alone means all its tools.
            Some(server) if !server.contains(SERVER_MARK) => format!("{server}{SERVER_MARK}*"),
            Some(tool) => tool.to_owned(),
            None => name.to_owned(),
        };
        let tools = match own.contains('*') {
            true => Self::Wildcard(own),
            false => Self::These(vec![own]),
        };
        let fits = name.contains(SERVER_MARK)
            || name == second_names::SKILL_TOOL
            || known.iter().any(|tool| tools.include(&tool.name));
        if fits {
            return Ok(tools);
        }
        let names = known.iter().map(|tool| tool.name.as_str());
        let names = names.chain(second_names::all().map(|name| -> &str { name }));
        Err(Problem::input(format!(
            "There is no tool \"{}\" that a rule could be about.",
            shown()
        ))
        .near_or(name, names, "marvin tools lists them."))
    }

    fn include(&self, tool: &str) -> bool {
        match self {
            Self::These(names) => names.iter().any(|name| name == tool),
            Self::Wildcard(pattern) => fits(pattern, tool),
        }
    }

    /// What a content is about: the same for all tools that are named, none for a wildcard.
    fn subject(&self, known: &[KnownTool]) -> Option<SubjectKind> {
        let Self::These(names) = self else {
            return None;
        };
        let kind = |name: &String| match known.iter().find(|tool| tool.name == *name) {
            Some(tool) => tool.subject,
            None if name == second_names::SKILL_TOOL => Some(SubjectKind::Name),
            None => None,
        };
        let mut kinds = names.iter().map(kind);
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }
}

/// Whether a name fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The names and contents in a list.
fn items(list: &str) -> Outcome<Vec<(&str, Option<&str>)>> {
    let mut items = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        if rest.is_empty() {
            return Ok(items);
        }
        let place = |rest: &str| list.chars().count() - rest.chars().count() + 1;
        let end = rest.find(|c: char| c == ',' || c.is_whitespace() || matches!(c, '(' | ')'));
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let wrong = |what: String, at: usize| {
            let shown = clip(&escape_controls(rest), 60);
            Problem::input(format!(
                "{what} at character {at} of the rules: \"{shown}\"."
            ))
            .next("For example: run_command(git status), create_file(docs/**).")
        };
        if after.starts_with(')') {
            return Err(wrong(
                "A parenthesis closes that was not opened".to_owned(),
                place(after),
            ));
        }
        let Some(inside) = after.strip_prefix('(') else {
            items.push((name, None));
            rest = after;
            continue;
        };
        if name.is_empty() {
            return Err(wrong(
                "The name of a tool is missing".to_owned(),
                place(after),
            ));
        }
        let Some(end) = closing(inside) else {
            return Err(wrong(
                "The parenthesis is not closed".to_owned(),
                place(after),
            ));
        };
        items.push((name, inside.get(..end)));
        rest = inside.get(end + 1..).unwrap_or_default();
        if !(rest.is_empty() || rest.starts_with(|c: char| c == ',' || c.is_whitespace())) {
            return Err(wrong(
                "A comma is missing behind the parenthesis".to_owned(),
                place(rest),
            ));
        }
    }
}

/// Where the parenthesis closes that was opened before `text`. One behind a backslash does not count.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
