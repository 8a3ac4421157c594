//! The provider trait, with its input and output.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::failure::Failure;
pub(crate) use super::reply::{FinishReason, Reply};
use crate::base::cancel::Cancel;
use crate::chat::message::Message;

/// Something that answers a conversation.
///
/// A provider that drives its own tool loop fits the same trait: `stream` returns when the model calls tools, the turn stays open in the provider,
/// and the tool messages at the end of the next request are the results.
pub(crate) trait Provider: Send + Sync {
    /// The name that `--provider` takes.
    fn name(&self) -> &'static str;

    /// False for the built-in provider, whose replies cost nothing and are not counted.
    fn is_model(&self) -> bool {
        true
    }

    /// Sends the request and passes the reply on as it arrives; returns when it is complete.
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

#[derive(Debug)]
pub struct Request<'a> {
    /// Model's name at the provider.
    pub model: &'a str,
    /// Empty for none.
    pub system: &'a str,
    /// In order, and repaired.
    pub messages: &'a [Message],
    /// Tools the model may call; empty in the last, text-only request of a turn.
    pub offer: &'a Offer,
    /// Reasoning effort, where the provider supports it.
    pub effort: Effort,
    /// Identifies the conversation to the provider's prompt cache: the same for every request of a session, at most 64 characters; empty for none.
    pub cache_key: &'a str,
}

/// Reasoning effort: high in coding mode, low otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A quick answer.
    Low,
    /// Work on code.
    High,
}

/// The tools of a request, rendered only once for each format, so that all requests of a session have the same bytes.
#[derive(Debug, Default)]
pub struct Offer {
    /// In published order.
    pub tools: Vec<Offered>,
    rendered: [OnceLock<Vec<u8>>; 4],
}

/// How a wire represents tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFormat {
    /// Chat completions and Ollama: an object under `function`.
    Functions,
    /// Responses: without nesting.
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

    /// Whether the names of the tools are the same.
    pub fn has_tools_of(&self, other: &Self) -> bool {
        let names = self.tools.iter().map(|tool| &tool.name);
        names.eq(other.tools.iter().map(|tool| &tool.name))
    }

    /// Estimated tokens of the rendered tools; 0 before they are rendered.
    pub fn tokens(&self) -> usize {
        let rendered = self.rendered.iter().find_map(OnceLock::get);
        rendered.map_or(0, |json| json.len() / 4)
    }

    /// The tools as JSON in `format`; `render` is called only once.
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
    /// One sentence, as a JSON string.
    pub about_json: Cow<'static, str>,
    pub params: Params,
    /// Phrases that call it without a model.
    pub phrases: Phrases,
}

/// Phrases that call a tool without a model.
#[derive(Debug, Clone)]
pub enum Phrases {
    /// Of a built-in tool.
    BuiltIn(&'static [&'static str]),
    /// Of a tool registered at run time.
    Owned(Arc<[String]>),
}

impl Phrases {
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

#[derive(Debug, Clone)]
pub enum Params {
    /// A JSON Schema generated at compile time.
    Declared(&'static str),
    /// A JSON Schema received at run time (MCP).
    Foreign(Box<RawValue>),
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Visible text.
    Text(&'a str),
    /// Thinking, kept apart from the answer.
    Thinking(&'a str),
}
