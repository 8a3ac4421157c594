//! What language models write besides prose: calls of tools, thoughts, template tokens and results of tools, in the formats that their families publish.
//!
//! A provider reads most of it for us. What it hands through arrives here as text: [`read`] tells apart what is for a person, what is a call, and what is
//! machinery. [`families`] is the table of formats, each with the page that publishes it; [`reader`] goes through a text once ([`quoted`]: code
//! and JSON; [`steps`], [`harmony`]); [`body`] reads what stands inside a call in any of the ways; [`draft`] decides piece by piece what can be shown of an
//! answer that is still arriving.
//!
//! What is quoted as code is shown as it is: a page that explains these formats is an answer. Called by [`crate::reply`] and [`crate::agent`].

mod body;
pub(crate) mod draft;
mod families;
mod harmony;
mod quoted;
mod reader;
mod steps;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde_json::Value;

pub(crate) use reader::{read, without_thoughts};

/// What a text turned out to be.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ModelText {
    /// What is for a person.
    pub prose: String,
    /// Calls, in order.
    pub calls: Vec<RawCall>,
    /// Something was thought.
    pub has_thought: bool,
    /// A call was meant that cannot be read, because it is cut or broken.
    pub has_broken_call: bool,
}

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawCall {
    pub name: String,
    pub arguments: RawArguments,
    /// Where it stands in the text, with its marks.
    pub range: Range<usize>,
}

/// What was given to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawArguments {
    /// JSON: an object, or what stands for one.
    Json(Value),
    /// Keys with text, whose types only the tool knows.
    Texts(Vec<(String, String)>),
}

impl RawCall {
    fn json(name: &str, arguments: Value) -> Self {
        Self {
            name: name.to_owned(),
            arguments: RawArguments::Json(arguments),
            range: 0..0,
        }
    }

    fn texts(name: &str, pairs: Vec<(String, String)>) -> Self {
        Self {
            name: name.to_owned(),
            arguments: RawArguments::Texts(pairs),
            range: 0..0,
        }
    }
}

/// Shorter lines occur anywhere.
const MIN_QUOTED: usize = 20;

/// Whether a written call is a quotation: its longest line stands in a text that others wrote. A model that repeats what a page or a file says calls nothing.
pub(crate) fn is_quotation<'s>(call: &str, mut others: impl Iterator<Item = &'s str>) -> bool {
    let longest = call.lines().map(str::trim).max_by_key(|line| line.len());
    let longest = longest.filter(|line| line.len() >= MIN_QUOTED);
    longest.is_some_and(|line| others.any(|other| other.contains(line)))
}
