//! The provider trait, with its input and output.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::failure::Failure;
pub(crate) use super::reply::{FinishReason, Reply};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::chat::message::Message;

/// Something that answers a conversation.
///
/// A provider that drives its own tool loop fits the same trait: `stream` returns when the tools of a round are asked for,
/// the turn stays open in the provider, and the next request's trailing tool messages are its answers.
pub(crate) trait Provider: Send + Sync {
    /// Its name, as `--provider` takes it.
    fn name(&self) -> &'static str;

    /// False for the embedded provider, whose answers cost and count nothing.
    fn is_model(&self) -> bool {
        true
    }

    /// Sends the request and hands over the reply as it arrives; returns when it is complete.
    ///
    /// # Errors
    /// A [`Failure`] says what went wrong and what of the reply had come by then.
    fn stream(
        &self,
        request: &Request<'_>,
        on: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure>;
}

/// One request.
#[derive(Debug)]
pub struct Request<'a> {
    /// Model's name at the provider.
    pub model: &'a str,
    /// System prompt, built for this request; empty for none.
    pub system: &'a str,
    /// The conversation, in order and repaired.
    pub messages: &'a [Message],
    /// Tools the model may call; empty in the last, text-only request of a turn.
    pub offer: &'a Offer,
    /// How hard to think, where the provider can be told.
    pub effort: Effort,
    /// The user chose that effort; it is not only the mode's.
    pub effort_chosen: bool,
    /// Names the conversation to the provider's prompt cache: the same for every request of a session, at most 64 characters; empty for none.
    pub cache_key: &'a str,
}

/// Reasoning effort; unless the user chose one, it is high in coding mode and low otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A quick answer.
    Low,
    /// Between the two.
    Medium,
    /// Work on code.
    High,
}

impl Effort {
    /// Each of them, from the least.
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Its word, the same for users and providers.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The effort that is used when the user chose none.
    pub(crate) const fn of_mode(coding: bool) -> Self {
        if coding { Self::High } else { Self::Low }
    }

    /// The effort called `word`.
    ///
    /// # Errors
    /// There is none; the nearest is named.
    pub(crate) fn parse(word: &str) -> Outcome<Self> {
        let named = |effort: &Self| effort.word().eq_ignore_ascii_case(word.trim());
        if let Some(effort) = Self::ALL.into_iter().find(named) {
            return Ok(effort);
        }
        let words = Self::ALL.map(Self::word);
        let shown = text::clip(&text::escape_controls(word), 40);
        let mut problem = Problem::input(format!("There is no effort \"{shown}\"."));
        if let Some(hint) = text::did_you_mean(&word.trim().to_lowercase(), words) {
            problem = problem.next(text::capitalize(&hint));
        }
        Err(problem.next(format!("Efforts: {}.", words.join(", "))))
    }
}

/// The tools of a request, rendered for each form of the wire only once, so that all requests of a session have the same bytes.
#[derive(Debug, Default)]
pub struct Offer {
    /// The tools in published order.
    pub tools: Vec<Offered>,
    rendered: [OnceLock<Vec<u8>>; 4],
}

/// What a wire writes around the parts of a tool.
const BESIDE_BYTES: usize = 80;

/// How a wire writes tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFormat {
    /// Chat completions and Ollama: an object under `function`.
    Functions,
    /// Responses: flat.
    Flat,
    /// Responses, with `"strict": false`.
    FlatNotStrict,
    /// Anthropic.
    InputSchema,
}

impl Offer {
    /// An offer of `tools`.
    pub fn new(tools: Vec<Offered>) -> Self {
        Self {
            tools,
            rendered: Default::default(),
        }
    }

    /// No tools.
    pub fn none() -> Self {
        Self::default()
    }

    /// True when it holds the same tools as `other`, by name.
    pub fn has_tools_of(&self, other: &Self) -> bool {
        let names = self.tools.iter().map(|tool| &tool.name);
        names.eq(other.tools.iter().map(|tool| &tool.name))
    }

    /// About how many tokens the rendered tools take; 0 before they were rendered.
    pub fn tokens(&self) -> usize {
        let rendered = self.rendered.iter().find_map(OnceLock::get);
        rendered.map_or(0, |json| json.len() / 4)
    }

    /// The same, and a guess before they were rendered.
    pub fn estimated_tokens(&self) -> usize {
        let rendered = self.tokens();
        if rendered > 0 {
            return rendered;
        }
        let bytes = self.tools.iter().map(|tool| {
            tool.name.len() + tool.about_json.len() + tool.params.json().len() + BESIDE_BYTES
        });
        bytes.sum::<usize>() / 4
    }

    /// The tools as JSON in `format`; `render` runs once.
    pub fn rendered(
        &self,
        format: ToolFormat,
        render: impl FnOnce(&[Offered]) -> Vec<u8>,
    ) -> &[u8] {
        let [functions, flat, not_strict, input_schema] = &self.rendered;
        let slot = match format {
            ToolFormat::Functions => functions,
            ToolFormat::Flat => flat,
            ToolFormat::FlatNotStrict => not_strict,
            ToolFormat::InputSchema => input_schema,
        };
        slot.get_or_init(|| render(&self.tools))
    }
}

/// One tool as the model sees it.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Name that the provider accepts (`[A-Za-z0-9_-]`, at most 64 characters).
    pub name: Cow<'static, str>,
    /// What it does, one sentence, as a JSON string.
    pub about_json: Cow<'static, str>,
    /// Its parameters.
    pub params: Params,
    /// Phrases that call it without a model.
    pub phrases: Phrases,
}

/// Phrases that call a tool without a model.
#[derive(Debug, Clone)]
pub enum Phrases {
    /// Of a tool of the table.
    BuiltIn(&'static [&'static str]),
    /// Of a tool that came at run time.
    Owned(Arc<[String]>),
}

impl Phrases {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let (built_in, owned): (&[&str], &[String]) = match self {
            Self::BuiltIn(phrases) => (phrases, &[]),
            Self::Owned(phrases) => (&[], phrases),
        };
        built_in
            .iter()
            .copied()
            .chain(owned.iter().map(String::as_str))
    }
}

/// Parameters of an offered tool.
#[derive(Debug, Clone)]
pub enum Params {
    /// A JSON Schema that the compiler wrote.
    Declared(&'static str),
    /// A JSON Schema that came at run time (MCP).
    Foreign(Box<RawValue>),
}

impl Params {
    /// The schema.
    pub fn json(&self) -> &str {
        match self {
            Self::Declared(schema) => schema,
            Self::Foreign(schema) => schema.get(),
        }
    }
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Visible text.
    Text(&'a str),
    /// Thinking, kept apart from the answer.
    Thinking(&'a str),
}
