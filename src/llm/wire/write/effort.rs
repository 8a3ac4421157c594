//! How hard the model thinks, in the members of each wire. Which efforts a model takes is in the table of models, how a provider is told in the
//! catalogue.

use serde::Serialize;

use crate::llm::catalog::EffortForm;
use crate::llm::models::{EffortControl, Efforts, ModelInfo, ReasoningEffort};
use crate::llm::provider::{Effort, Request};
use crate::llm::remarks;
use crate::llm::wire::optional::OptionalMember;
use crate::llm::wire::{Dialect, Wire};

/// The least that Anthropic takes (<https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking>).
const MIN_BUDGET_TOKENS: u64 = 1024;

/// What a model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// How hard.
    Word(ReasoningEffort),
    /// How many tokens it may take, for an effort.
    Budget(Effort),
    /// To do so, or not to.
    Switch(bool),
}

impl Thinking {
    /// What a request tells its model; `None` when it tells it nothing.
    ///
    /// An effort that nobody chose is only told where models need one in every request; anywhere else they think as their makers set them up.
    pub(crate) fn of(dialect: Dialect, request: &Request<'_>) -> Option<Self> {
        if dialect.without.has(OptionalMember::Effort) {
            return None;
        }
        let words_only = !request.effort_chosen;
        if words_only && !needs_effort(dialect) {
            return None;
        }
        let efforts = request.info.efforts;
        if efforts.is_empty() {
            return unknown(dialect, request).filter(|_| !words_only);
        }
        // Its wire has a word of its own for no thoughts; the least effort would be the wish for some.
        let is_off = request.effort == Effort::None && !words_only;
        if is_off && dialect.wire == Wire::Anthropic && efforts.control() == EffortControl::Word {
            return Some(Self::Word(ReasoningEffort::None));
        }
        let nearest = efforts.nearest(request.effort.into())?;
        match efforts.control() {
            EffortControl::Word => Some(Self::Word(nearest)),
            EffortControl::Budget if !words_only => Some(Self::Budget(request.effort)),
            EffortControl::Switch if !words_only => {
                Some(Self::Switch(nearest != ReasoningEffort::None))
            }
            EffortControl::Budget | EffortControl::Switch => None,
        }
    }

    /// The word for it where there are only words.
    fn word(self) -> &'static str {
        match self {
            Self::Word(effort) => effort.word(),
            Self::Budget(effort) => effort.word(),
            Self::Switch(true) => ReasoningEffort::High.word(),
            Self::Switch(false) => ReasoningEffort::None.word(),
        }
    }
}

/// Whether a request names an effort even when the user chose none.
fn needs_effort(dialect: Dialect) -> bool {
    dialect.wire == Wire::Responses || dialect.quirks.always_effort
}

/// Whether the model of `info` is told an effort that nobody chose.
pub(crate) fn is_told_unchosen(dialect: Dialect, info: &ModelInfo) -> bool {
    let efforts = info.efforts;
    needs_effort(dialect) && efforts.control() == EffortControl::Word && !efforts.is_empty()
}

/// What is told to a model that nothing is known of, because the user asks for it: it may take it, and the server says when it does not.
fn unknown(dialect: Dialect, request: &Request<'_>) -> Option<Thinking> {
    let local = dialect.row.local;
    match dialect.wire {
        Wire::Ollama => Some(Thinking::Switch(!matches!(
            request.effort,
            Effort::None | Effort::Low
        ))),
        // The names of OpenAI's models say whether they think.
        Wire::Responses => None,
        Wire::Completions | Wire::Anthropic
            if dialect.row.name != "openai" && (local || !request.info.known) =>
        {
            Some(Thinking::Word(request.effort.into()))
        }
        Wire::Completions | Wire::Anthropic => None,
    }
}

/// A remark about an effort that the user chose and the model does not take; `None` when it does.
pub(crate) fn remark(dialect: Dialect, request: &Request<'_>) -> Option<String> {
    if !request.effort_chosen || dialect.without.has(OptionalMember::Effort) {
        return None;
    }
    let (model, provider) = (request.model, dialect.row.name);
    let wanted = request.effort.word();
    let efforts: Efforts = request.info.efforts;
    match Thinking::of(dialect, request) {
        // A model that never thinks does what was asked.
        None if request.effort == Effort::None && !request.info.thinks => None,
        None => Some(remarks::no_effort(provider, request)),
        Some(Thinking::Word(effort)) if effort != request.effort.into() => Some(format!(
            "{model} at {provider} does not take effort \"{wanted}\"; it is told \"{}\".",
            effort.word()
        )),
        Some(Thinking::Switch(false)) if request.effort == Effort::None => None,
        Some(Thinking::Switch(on)) if efforts.control() == EffortControl::Switch => Some(format!(
            "{model} at {provider} can only think or not; at effort \"{wanted}\" it {}.",
            if on { "thinks" } else { "does not" }
        )),
        Some(_) => None,
    }
}

/// The members of a chat completion.
#[derive(Debug, Default, Serialize)]
pub(super) struct EffortMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_body: Option<Gemini>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReasoningMember {
    Effort(&'static str),
    Enabled(bool),
}

#[derive(Debug, Serialize)]
struct ThinkingType {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Gemini {
    google: GoogleExtra,
}

#[derive(Debug, Serialize)]
struct GoogleExtra {
    thinking_config: ThinkingConfig,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum ThinkingConfig {
    ThinkingLevel(&'static str),
    ThinkingBudget(u64),
}

impl EffortMembers {
    pub(super) fn of(dialect: Dialect, request: &Request<'_>) -> Self {
        let form = dialect.quirks.effort;
        if form == EffortForm::Gemini {
            return Self {
                extra_body: gemini(dialect, request),
                ..Self::default()
            };
        }
        let Some(thinking) = Thinking::of(dialect, request) else {
            return Self::default();
        };
        let word = || Self {
            reasoning_effort: Some(thinking.word()),
            ..Self::default()
        };
        let reasoning = |member| Self {
            reasoning: Some(member),
            ..Self::default()
        };
        match (form, thinking) {
            (EffortForm::Groq, Thinking::Switch(true)) => Self {
                reasoning_effort: Some("default"),
                ..Self::default()
            },
            (EffortForm::OpenRouter | EffortForm::Together, Thinking::Switch(on)) => {
                reasoning(ReasoningMember::Enabled(on))
            }
            (EffortForm::OpenRouter, _) => reasoning(ReasoningMember::Effort(thinking.word())),
            (EffortForm::Moonshot, Thinking::Switch(on)) => Self {
                thinking: Some(ThinkingType {
                    kind: if on { "enabled" } else { "disabled" },
                }),
                ..Self::default()
            },
            _ => word(),
        }
    }
}

/// Gemini's thinking options. Without tools the model is told to be quick unless the user chose an effort; with tools it thinks by itself.
fn gemini(dialect: Dialect, request: &Request<'_>) -> Option<Gemini> {
    let chosen = Some(request.effort).filter(|_| request.effort_chosen);
    if dialect.without.has(OptionalMember::Effort)
        || chosen.is_none() && !request.offer.tools.is_empty()
    {
        return None;
    }
    let effort = chosen.unwrap_or(Effort::Low);
    let told = Thinking::of(
        dialect,
        &Request {
            effort,
            effort_chosen: true,
            ..*request
        },
    );
    let thinking_config = if request.model.contains("gemini-2.5") {
        ThinkingConfig::ThinkingBudget(gemini_budget(request.model, effort))
    } else {
        match told {
            Some(Thinking::Word(word)) if chosen.is_some() || gemini_3(request.model) => {
                ThinkingConfig::ThinkingLevel(word.word())
            }
            Some(Thinking::Budget(effort)) => {
                ThinkingConfig::ThinkingBudget(gemini_budget(request.model, effort))
            }
            _ => return None,
        }
    };
    Some(Gemini {
        google: GoogleExtra { thinking_config },
    })
}

/// The same for a model of Google: 2.5 Pro cannot do without thoughts, and 128 is the least that it takes (<https://ai.google.dev/gemini-api/docs/thinking>).
fn gemini_budget(model: &str, effort: Effort) -> u64 {
    match effort {
        Effort::None if model.contains("pro") => 128,
        effort => budget_tokens(effort),
    }
}

/// True for models of the third generation.
pub(super) fn gemini_3(model: &str) -> bool {
    model.contains("gemini-3")
}

/// Tokens that thoughts may take. Medium and high are what Google gives these words (<https://ai.google.dev/gemini-api/docs/openai#thinking>).
fn budget_tokens(effort: Effort) -> u64 {
    match effort {
        Effort::None => 0,
        Effort::Low => 2048,
        Effort::Medium => 8192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    }
}

/// The members of Anthropic's messages: models since Claude 4.6 decide themselves when to think, and take a word
/// (<https://platform.claude.com/docs/en/build-with-claude/effort>); older ones take a number of tokens.
#[derive(Debug, Default, Serialize)]
pub(super) struct AnthropicThinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicMode {
    Adaptive,
    Enabled {
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
    },
    Disabled,
}

#[derive(Debug, Serialize)]
struct OutputConfig {
    effort: &'static str,
}

impl AnthropicThinking {
    /// `resumes` is true when the reply goes on after calls whose message has no thoughts: with a budget the server refuses such a message.
    pub(super) fn of(dialect: Dialect, request: &Request<'_>, resumes: bool) -> Self {
        let mode = |mode| Self {
            thinking: Some(mode),
            output_config: None,
        };
        match Thinking::of(dialect, request) {
            None => Self::default(),
            Some(Thinking::Word(ReasoningEffort::None) | Thinking::Budget(Effort::None)) => {
                mode(AnthropicMode::Disabled)
            }
            Some(Thinking::Word(effort)) => Self {
                thinking: Some(AnthropicMode::Adaptive),
                output_config: Some(OutputConfig {
                    effort: effort.word(),
                }),
            },
            Some(Thinking::Budget(_)) if resumes => Self::default(),
            Some(Thinking::Budget(effort)) => {
                // The thoughts are part of the reply, whose limit has to be larger.
                let tokens = budget_tokens(effort).min(request.info.output / 2);
                if tokens < MIN_BUDGET_TOKENS {
                    return Self::default();
                }
                mode(AnthropicMode::Enabled {
                    budget_tokens: Some(tokens),
                })
            }
            Some(Thinking::Switch(true)) => mode(AnthropicMode::Enabled {
                budget_tokens: None,
            }),
            Some(Thinking::Switch(false)) => mode(AnthropicMode::Disabled),
        }
    }

    /// True when the model is told to think, which excludes a temperature.
    pub(super) fn thinks(&self) -> bool {
        !matches!(self.thinking, None | Some(AnthropicMode::Disabled))
    }
}

/// Ollama's `think` (<https://docs.ollama.com/capabilities/thinking>).
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Think {
    Switch(bool),
    Level(&'static str),
}

impl Think {
    pub(super) fn of(dialect: Dialect, request: &Request<'_>) -> Option<Self> {
        if dialect.without.has(OptionalMember::Effort) {
            return None;
        }
        let asked = request.options.think.map(Self::Switch);
        match Thinking::of(dialect, request) {
            Some(Thinking::Word(ReasoningEffort::None)) => Some(Self::Switch(false)),
            Some(Thinking::Word(effort)) => Some(Self::Level(effort.word())),
            Some(Thinking::Budget(effort)) => Some(Self::Switch(effort != Effort::None)),
            Some(Thinking::Switch(on)) => Some(Self::Switch(on)),
            None => asked,
        }
    }
}

pub(super) fn responses(dialect: Dialect, request: &Request<'_>) -> Option<&'static str> {
    Thinking::of(dialect, request).map(Thinking::word)
}
