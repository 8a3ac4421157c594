//! Help by topic: one text for `marvin help TOPIC`, the manual page and `/help TOPIC`.
//!
//! A topic is a file in `topics`. Its first line is `% NAME: what it is about`; the syntax of the rest is in [`markup`]. What the program has a table of
//! is never listed in a text: a line `{{name}}` stands for the rows of [`tables`].

pub(crate) mod layout;
pub(crate) mod markup;
pub(crate) mod roff;
pub(crate) mod search;
mod tables;

use std::fmt::Write as _;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use layout::Style;
use markup::Block;
pub(crate) use tables::{DescribedTerms, HelpTables};

/// All topics as one text, so that a start of the program has no table of them to relocate.
const SOURCES: &str = concat!(
    include_str!("topics/providers.md"),
    include_str!("topics/models.md"),
    include_str!("topics/tools.md"),
    include_str!("topics/services.md"),
    include_str!("topics/sessions.md"),
    include_str!("topics/pipeline.md"),
    include_str!("topics/flow.md"),
    include_str!("topics/memory.md"),
    include_str!("topics/voice.md"),
    include_str!("topics/privacy.md"),
    include_str!("topics/permissions.md"),
    include_str!("topics/trust.md"),
    include_str!("topics/hooks.md"),
    include_str!("topics/skills.md"),
    include_str!("topics/fence.md"),
    include_str!("topics/sandbox.md"),
    include_str!("topics/scripts.md"),
    include_str!("topics/json.md"),
    include_str!("topics/acp.md"),
    include_str!("topics/mcp.md"),
    include_str!("topics/keys.md"),
    include_str!("topics/files.md"),
    include_str!("topics/flags.md"),
    include_str!("topics/variables.md"),
);

/// The mark of a topic's first line.
const MARK: &str = "% ";

/// Columns of a text where no terminal says how many there are.
pub(crate) const DEFAULT_COLUMNS: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Topic {
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    source: &'static str,
}

impl Topic {
    /// Its text with the tables filled in.
    pub(crate) fn blocks(&self, tables: &HelpTables) -> Vec<Block> {
        markup::parse(self.source, &|name| tables.rows(name))
    }
}

/// All topics, in the order of the manual page.
pub(crate) fn topics() -> impl Iterator<Item = Topic> {
    let begins_line = |at: usize| at == 0 || SOURCES.get(..at).is_some_and(|s| s.ends_with('\n'));
    let starts = SOURCES.match_indices(MARK).map(|(at, _)| at);
    starts.filter(move |at| begins_line(*at)).filter_map(|at| {
        let text = SOURCES.get(at + MARK.len()..)?;
        let text = text.split_once("\n% ").map_or(text, |(text, _)| text);
        let (title, source) = text.split_once('\n')?;
        let (name, about) = title.split_once(": ")?;
        Some(Topic {
            name,
            about,
            source,
        })
    })
}

pub(crate) fn find(name: &str) -> Option<Topic> {
    topics().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The text of the topic called `name` for a conversation; empty when there is none.
pub(crate) fn plain(name: &str, tables: &HelpTables) -> String {
    find(name).map_or_else(String::new, |topic| {
        layout::text(&topic.blocks(tables), DEFAULT_COLUMNS - 2, &Style::PLAIN)
    })
}

/// One line for each topic.
pub(crate) fn index() -> String {
    let widest = topics().map(|topic| topic.name.len()).max();
    let width = widest.unwrap_or_default() + 2;
    topics().fold(String::new(), |mut out, topic| {
        let _ = writeln!(out, "  {:<width$}{}", topic.name, topic.about);
        out
    })
}

/// What to answer when `word` names no topic, nor one of `others`.
pub(crate) fn unknown<'a>(word: &str, others: impl IntoIterator<Item = &'a str>) -> Problem {
    let names: Vec<&str> = topics().map(|topic| topic.name).collect();
    let problem = Problem::missing(format!(
        "There is no help topic \"{}\".",
        one_line(&clip(word, 60))
    ));
    let others = others.into_iter().filter(|other| !names.contains(other));
    let all = format!("Topics: {}.", names.join(", "));
    problem.near_or(word, names.iter().copied().chain(others), all)
}

/// The name of the topic that `word` names, for `/help`.
///
/// # Errors
/// There is none; the nearest is named.
pub(crate) fn named(word: &str) -> Outcome<&'static str> {
    find(word)
        .map(|topic| topic.name)
        .ok_or_else(|| unknown(word, []))
}

#[cfg(test)]
mod tests;
