//! The provider trait, with its input and output.

use std::time::Duration;

use super::failure::Failure;
use super::models::{ModelInfo, ReasoningEffort, ServedFacts};
pub(crate) use super::offer::{Offer, Offered, Phrases, object_schema};
pub(crate) use super::reply::{FinishReason, Reply};
use crate::base::cancel::Cancel;
use crate::base::embedding::Embedding;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::chat::event::Level;
use crate::chat::message::Message;
use crate::chat::wait::Wait;
use crate::net::transport::ConnectHook;

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

    /// True when the provider keeps the conversation itself and gets only what is new of it: it also shortens it, so Marvin does not.
    fn keeps_conversation(&self) -> bool {
        false
    }

    /// False when its use is not counted in dollars.
    fn bills_dollars(&self) -> bool {
        true
    }

    /// Whether a request for the model of `info` may have tools and forbid to call them. Providers cache the tools before everything else, so a
    /// request without them finds nothing in the cache.
    fn can_forbid_calls(&self, info: &ModelInfo) -> bool {
        let _ = info;
        false
    }

    /// What the server of local models says of `model`; nothing when it says nothing soon.
    fn served_facts(&self, model: &str, stop: &Cancel) -> Option<ServedFacts> {
        let _ = (model, stop);
        None
    }

    /// Whether the model of `info` is told the effort of the mode when the user chose none; otherwise it thinks as its maker set it up.
    fn tells_effort_of_mode(&self, info: &ModelInfo) -> bool {
        let _ = info;
        false
    }

    /// What a request waits for before it can be sent; `None` when nothing has to be opened for it.
    fn before_sending(&self) -> Option<Wait> {
        None
    }

    /// One vector for each text.
    ///
    /// # Errors
    /// The provider has no embeddings, or what went wrong.
    fn embed(&self, model: &str, texts: &[String], stop: &Cancel) -> Outcome<Embeddings> {
        let _ = (model, texts, stop);
        Err(Problem::refused(format!(
            "{} gives no embeddings.",
            self.name()
        )))
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

/// Texts as vectors.
#[derive(Debug)]
pub(crate) struct Embeddings {
    /// One for each text, in their order.
    pub vectors: Vec<Embedding>,
    /// Tokens of the texts, if the server says.
    pub tokens: Option<u64>,
}

pub(crate) struct Request<'a> {
    /// Model's name at the provider.
    pub model: &'a str,
    /// Empty for none.
    pub system: &'a str,
    /// In order, and repaired.
    pub messages: &'a [Message],
    /// The tools.
    pub offer: &'a Offer,
    /// Whether the model may call them: not in the last request of a turn.
    pub may_call: bool,
    /// Reasoning effort, where the provider supports it.
    pub effort: Effort,
    /// What is known about the model.
    pub info: &'a ModelInfo,
    /// The user chose that effort; it is not only the mode's.
    pub effort_chosen: bool,
    /// Names the conversation to the provider's prompt cache: the same for every request of a session, at most 64 characters; empty for none.
    pub cache_key: &'a str,
    /// How the call is made.
    pub options: CallOptions,
    /// Called when what [`Provider::before_sending`] names is there.
    pub on_connect: Option<&'a ConnectHook>,
}

impl<'a> Request<'a> {
    /// A request of no particular conversation, with tools that may be called and an effort that nobody chose.
    pub(crate) fn new(
        model: &'a str,
        info: &'a ModelInfo,
        messages: &'a [Message],
        offer: &'a Offer,
    ) -> Self {
        Self {
            model,
            system: "",
            messages,
            offer,
            may_call: true,
            effort: Effort::Low,
            info,
            effort_chosen: false,
            cache_key: "",
            options: CallOptions::default(),
            on_connect: None,
        }
    }
}

/// How a call is made, beyond what it says. The default is what a conversation needs: a streamed reply with the provider's own sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CallOptions {
    /// The reply arrives in pieces.
    pub stream: bool,
    /// Sampling temperature, where the model takes one; `None` for the provider's own.
    pub temperature: Option<f64>,
    /// Whether the model may think; only Ollama has a switch for it.
    pub think: Option<bool>,
    /// Context window to load the model with, in tokens, instead of the model's; only Ollama.
    pub window: Option<u64>,
    /// How long a reply in one piece may take: it has no first byte before its last one.
    pub limit: Option<Duration>,
    /// How long a whole turn with its tool calls may take, at a provider that drives it.
    pub turn_limit: Duration,
    /// How long the calls of the turn have waited for the user since the last request, which does not count against that.
    pub waited: Duration,
}

/// How long a turn may take at a provider that drives it, and the same of work on code.
pub(crate) const TURN_LIMIT: Duration = Duration::from_secs(180);
pub(crate) const CODING_TURN_LIMIT: Duration = Duration::from_secs(900);

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            stream: true,
            temperature: None,
            think: None,
            window: None,
            limit: None,
            turn_limit: TURN_LIMIT,
            waited: Duration::ZERO,
        }
    }
}

/// Reasoning effort; unless the user chose one, it is high in coding mode and low otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// No thoughts, where the model can do without.
    None,
    /// A quick answer.
    Low,
    /// Between the two.
    Medium,
    /// Work on code.
    High,
    /// More than high, where the model has it.
    XHigh,
    /// As much as the model can.
    Max,
}

impl From<Effort> for ReasoningEffort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::None => Self::None,
            Effort::Low => Self::Low,
            Effort::Medium => Self::Medium,
            Effort::High => Self::High,
            Effort::XHigh => Self::XHigh,
            Effort::Max => Self::Max,
        }
    }
}

impl Effort {
    /// Each of them, from the least.
    pub(crate) const ALL: [Self; 6] = [
        Self::None,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Its word, the same for users and providers.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
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
        let problem = Problem::input(format!("There is no effort \"{shown}\"."))
            .near(&word.trim().to_lowercase(), words);
        Err(problem.next(format!("Efforts: {}.", words.join(", "))))
    }
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Visible text.
    Text(&'a str),
    /// Thinking, kept apart from the answer.
    Thinking(&'a str),
    /// A piece of the provider's signature of that thinking.
    Signature(&'a str),
    /// Why it takes longer, for the user.
    Notice(Level, &'a str),
}
