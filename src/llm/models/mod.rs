//! What Marvin knows about models: limits, prices, efforts, ends. The user's files come before the table that Marvin brings along.
//!
//! `table.txt` and `endings.txt` are the facts, with the day they are of; `live` asks a provider for its own list, `served` a local server for what it has
//! loaded, `near` finds the name that was meant. Nothing here knows a conversation.

pub(crate) mod effort;
pub(crate) mod endings;
pub(crate) mod list;
pub(crate) mod live;
mod models_file;
pub(crate) mod names;
pub(crate) mod near;
mod price;
mod prices_file;
pub(crate) mod served;
pub(crate) mod table;

pub(crate) use effort::{EffortControl, Efforts, ReasoningEffort};
pub(crate) use models_file::ModelsFile;
pub(crate) use price::TokenPrice;
pub(crate) use prices_file::Prices as UserPrices;
pub(crate) use served::ServedFacts;

use super::catalog::{self, Wire};
use crate::base::clock::Clock;
use crate::chat::usage::Tokens;

/// How many tools a request may have when the model's own limit is unknown: OpenAI, and Copilot behind it, refuse more (`array_above_max_length`).
const MAX_TOOLS: usize = 128;

/// Known or assumed facts about a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelInfo {
    /// Tokens that request and reply may have together.
    pub window: u64,
    /// Its server or the user's file said how long its window is, as the model is set up there.
    pub window_told: bool,
    /// Tokens that a request may have.
    pub input: u64,
    /// Tokens that a reply may have, reasoning included.
    pub output: u64,
    /// Its price; `None` when it is not known.
    pub price: Option<TokenPrice>,
    /// Tools that a request may hold.
    pub tools: usize,
    /// False when its server says that it takes no tools.
    pub takes_tools: bool,
    /// Reasoning efforts that it takes.
    pub efforts: Efforts,
    /// It reasons before it answers.
    pub thinks: bool,
    /// Its server or the user's file said whether it does.
    pub thinks_told: bool,
    /// It takes images.
    pub images: bool,
    /// Its server said whether it does, so that nobody has to guess by its name.
    pub images_told: bool,
    /// The wires that it can be reached over.
    pub wire: WireRule,
    /// False when nothing is known of the model and everything is a cautious guess.
    pub known: bool,
}

/// OpenAI serves some models over one of its two interfaces only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireRule {
    /// Either.
    Any,
    /// Chat completions.
    CompletionsOnly,
    /// The Responses API.
    ResponsesOnly,
}

impl ModelInfo {
    /// Tokens that a request may have: with some models less than the window.
    pub(crate) fn prompt_limit(&self) -> u64 {
        self.input.min(self.window)
    }

    /// Tools that a request for it may have.
    pub(crate) fn max_tools(&self) -> usize {
        if self.takes_tools { self.tools } else { 0 }
    }

    /// The same with a window of so many tokens.
    fn with_window(self, window: u64) -> Self {
        Self {
            window,
            input: window,
            output: self.output.min(window),
            ..self
        }
    }

    /// A model on this machine.
    fn local(model: &str) -> Self {
        let efforts = effort::of_local(model);
        Self {
            efforts,
            thinks: !efforts.is_empty(),
            // This is what `num_ctx` is set to where nobody says otherwise.
            window: 32_768,
            input: 32_768,
            price: Some(TokenPrice::FREE),
            known: true,
            ..Self::unknown("")
        }
    }

    /// A cautious guess about a model that nothing is known of.
    fn unknown(model: &str) -> Self {
        let thinks = effort::thinks_by_name(model);
        Self {
            window: 128_000,
            window_told: false,
            input: 128_000,
            output: 8192,
            price: None,
            tools: MAX_TOOLS,
            takes_tools: true,
            efforts: if thinks {
                Efforts::usual()
            } else {
                Efforts::default()
            },
            thinks,
            thinks_told: false,
            images: false,
            images_told: false,
            wire: WireRule::Any,
            known: false,
        }
    }
}

/// What is known about models: the files of the user, and the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelRegistry {
    prices: UserPrices,
    file: ModelsFile,
    /// The window that the user set for Ollama's models, in tokens.
    ollama_window: Option<u64>,
    /// For prices that change on a day.
    clock: Clock,
}

/// Ollama loads no model with a smaller window that could still answer.
const MIN_WINDOW: u64 = 512;

impl ModelRegistry {
    /// With the user's prices (`MARVIN_PRICES`) and file of models (`MARVIN_MODELS`).
    pub(crate) fn new(prices: UserPrices, file: ModelsFile, clock: Clock) -> Self {
        Self {
            prices,
            file,
            ollama_window: None,
            clock,
        }
    }

    /// The same with a window of so many tokens for Ollama's models (`OLLAMA_CONTEXT`).
    pub(crate) fn with_ollama_window(self, tokens: Option<u64>) -> Self {
        Self {
            ollama_window: tokens.map(|tokens| tokens.max(MIN_WINDOW)),
            ..self
        }
    }

    /// Facts about `model` at `provider`: the user's file, then the table, then a cautious guess.
    pub(crate) fn facts(&self, provider: &str, model: &str) -> ModelInfo {
        self.facts_told(provider, model, &ServedFacts::default())
    }

    /// The same where the server of a local model told `served`. Of the window the user decides, then how the model is set up there; no window is larger
    /// than the model's.
    pub(crate) fn facts_told(
        &self,
        provider: &str,
        model: &str,
        served: &ServedFacts,
    ) -> ModelInfo {
        let local =
            provider == catalog::OFFLINE || catalog::row(provider).is_some_and(|row| row.local);
        let info = if local {
            served.over(ModelInfo::local(model))
        } else {
            table_facts(provider, model, &self.clock)
        };
        let info = self.file.over(info, provider, model);
        let is_ollama = catalog::row(provider).is_some_and(|row| row.wire == Wire::Ollama);
        let info = match self.ollama_window.filter(|_| is_ollama) {
            Some(window) => info.with_window(window),
            None => info,
        };
        match served.max_window.filter(|max| *max < info.window) {
            Some(max) => info.with_window(max),
            None => info,
        }
    }

    /// US dollars of one call of `model`, of which `info` is known, and whether that is an estimate, because the model's price or its tokens are not
    /// known. The user's price comes first, then what the provider says it charges (`billed`), then the file of models and the table.
    pub(crate) fn call_cost(
        &self,
        model: &str,
        info: &ModelInfo,
        tokens: Tokens,
        billed: Option<f64>,
    ) -> (f64, bool) {
        if let Some(price) = self.prices.get(model) {
            return (price.cost(tokens), tokens.estimated);
        }
        if let Some(billed) = billed.filter(|dollars| dollars.is_finite() && *dollars >= 0.0) {
            return (billed, false);
        }
        match &info.price {
            Some(price) => (price.cost(tokens), tokens.estimated),
            None => (TokenPrice::GUESS.cost(tokens), true),
        }
    }

    /// A word about a model that has ended or ends soon.
    pub(crate) fn warning(&self, provider: &str, model: &str) -> Option<String> {
        endings::warning(provider, model, self.clock.now().date())
    }

    /// The user's own price of the model of exactly this name.
    pub(crate) fn user_price(&self, model: &str) -> Option<TokenPrice> {
        self.prices.get(model).cloned()
    }

    /// The user's file of models.
    pub(crate) fn file(&self) -> &ModelsFile {
        &self.file
    }
}

/// True for models of OpenAI that take instructions in the middle of a conversation as the developer's: from GPT-5.4 on.
pub(crate) fn takes_developer(model: &str) -> bool {
    let name = names::bare_name(model);
    let version = name.strip_prefix("gpt-").unwrap_or_default();
    let number: String = version
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number.parse::<f64>().is_ok_and(|number| number >= 5.4)
}

fn table_facts(provider: &str, model: &str, clock: &Clock) -> ModelInfo {
    // OpenRouter is what openai-compat is unless told otherwise.
    let provider = if provider == "openai-compat" {
        "openrouter"
    } else {
        provider
    };
    let today = || clock.now().date();
    table::find(provider, model, &today).unwrap_or_else(|| ModelInfo::unknown(model))
}

#[cfg(test)]
mod tests;
