//! Known models: windows, prices, limits; a table with a date, and a file that overrides its prices.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::problem::{Outcome, Problem};
use crate::chat::usage::Tokens;

/// How many tools a request may have when the model's own limit is unknown: OpenAI, and Copilot behind it, refuse more (`array_above_max_length`).
const MAX_TOOLS: usize = 128;

/// Known or assumed facts about a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ModelInfo {
    /// Tokens that request and reply may have together.
    pub window: u64,
    /// Tokens that a reply may have.
    pub output: u64,
    /// Its price.
    pub price: TokenPrice,
    /// Tools that a request may hold.
    pub tools: usize,
    /// False when the model is not in the table and everything is a cautious guess.
    pub known: bool,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenPrice {
    /// Tokens of requests.
    pub input: f64,
    /// Tokens of replies.
    pub output: f64,
}

/// A table line: for every model whose name begins with it, unless a longer line matches.
struct ModelRow {
    prefix: &'static str,
    window: u64,
    output: u64,
    price: TokenPrice,
}

const fn line(
    begins: &'static str,
    window_k: u64,
    output_k: u64,
    input_price: f64,
    output_price: f64,
) -> ModelRow {
    ModelRow {
        prefix: begins,
        window: window_k * 1000,
        output: output_k * 1000,
        price: TokenPrice {
            input: input_price,
            output: output_price,
        },
    }
}

/// Window and output in thousands of tokens, prices in dollars per million. Names are without the vendor prefix that some services add.
static MODELS: &[ModelRow] = &[
    line("gemini-3-pro", 1048, 64, 1.25, 10.0),
    line("llama-3.3-70b", 131, 32, 0.59, 0.79),
    line("gpt-5.1", 400, 128, 2.0, 8.0),
    line("gpt-5.2", 400, 128, 2.5, 10.0),
    line("gpt-5.3-codex", 400, 128, 3.0, 12.0),
    line("claude-haiku-4", 200, 32, 0.8, 4.0),
    line("claude-sonnet-4", 200, 32, 3.0, 15.0),
    line("claude-opus-4", 200, 32, 15.0, 75.0),
    line("qwen3-32b", 131, 32, 0.2, 0.2),
    // Others, from the services' own price lists.
    line("gpt-6.1-sol", 1050, 128, 2.0, 10.0),
    line("gpt-6.1-terra", 1050, 128, 1.0, 5.0),
    line("gpt-6-sol", 1050, 128, 2.0, 10.0),
    line("gpt-6-luna", 1050, 128, 0.1, 0.5),
    line("gpt-5.6-sol", 1050, 128, 5.0, 30.0),
    line("gpt-5.6-terra", 1050, 128, 2.0, 12.0),
    line("gpt-5.6-luna", 1050, 128, 0.2, 1.2),
    line("gpt-5.5", 1050, 128, 5.0, 30.0),
    line("gpt-5.4", 1050, 128, 2.5, 15.0),
    line("gpt-5.4-mini", 400, 128, 0.75, 4.5),
    line("gpt-5.4-nano", 400, 128, 0.2, 1.25),
    line("gpt-5.2-pro", 400, 128, 21.0, 168.0),
    line("gpt-5", 400, 128, 1.25, 10.0),
    line("gpt-5-pro", 400, 128, 15.0, 120.0),
    line("gpt-5-mini", 400, 128, 0.25, 2.0),
    line("gpt-5-nano", 400, 128, 0.05, 0.4),
    line("gpt-4.1", 1047, 32, 2.0, 8.0),
    line("gpt-4.1-mini", 1047, 32, 0.4, 1.6),
    line("gpt-4.1-nano", 1047, 32, 0.1, 0.4),
    line("gpt-4o", 128, 16, 2.5, 10.0),
    line("gpt-4o-mini", 128, 16, 0.15, 0.6),
    line("o3", 200, 100, 2.0, 8.0),
    line("o3-pro", 200, 100, 20.0, 80.0),
    line("o3-mini", 200, 100, 1.1, 4.4),
    line("o4-mini", 200, 100, 1.1, 4.4),
    line("gpt-oss-120b", 131, 32, 0.35, 0.75),
    line("gpt-oss-20b", 131, 32, 0.075, 0.3),
    line("gemini-3.8-flash", 1048, 64, 0.75, 3.75),
    line("gemini-3.7-flash", 1048, 64, 0.75, 3.75),
    line("gemini-3.6-flash", 1048, 64, 0.75, 3.75),
    line("gemini-3.1-pro", 1048, 64, 2.0, 12.0),
    line("gemini-3-flash", 1048, 64, 0.5, 3.0),
    line("gemini-2.5-pro", 1048, 64, 1.25, 10.0),
    line("gemini-2.5-flash", 1048, 64, 0.3, 2.5),
    line("gemini-2.5-flash-lite", 1048, 64, 0.1, 0.4),
    line("gemini-2.0-flash", 1048, 8, 0.1, 0.4),
    line("claude-opus-5-5", 1000, 128, 4.0, 20.0),
    line("claude-opus-5", 1000, 128, 5.0, 25.0),
    line("claude-opus-4-8", 1000, 128, 5.0, 25.0),
    line("claude-opus-4-7", 1000, 128, 5.0, 25.0),
    line("claude-opus-4-5", 200, 64, 5.0, 25.0),
    line("claude-sonnet-5", 1000, 128, 2.0, 10.0),
    line("claude-haiku-5-5", 1000, 128, 0.1, 0.5),
    line("claude-3-5-haiku", 200, 8, 0.8, 4.0),
    line("claude-3-7-sonnet", 200, 64, 3.0, 15.0),
    line("llama-3.1-8b", 131, 8, 0.05, 0.08),
    line("llama-4", 131, 8, 0.2, 0.6),
    line("llama-4-scout", 131, 8, 0.11, 0.34),
    line("qwen3-coder-480b", 262, 32, 2.0, 2.0),
    line("qwen3-coder", 262, 32, 0.3, 1.8),
    line("qwen3.8-27b", 131, 16, 0.8, 4.0),
    line("qwen-3.8-27b", 65, 32, 0.99, 1.49),
    line("deepseek-flash", 1000, 384, 0.3, 1.2),
    line("deepseek-v4", 1000, 384, 0.3, 1.2),
    line("deepseek-chat", 128, 8, 0.28, 0.42),
    line("deepseek-reasoner", 128, 64, 0.28, 0.42),
    line("deepseek-v3", 128, 32, 0.28, 0.42),
    line("mistral-medium", 262, 32, 1.5, 7.5),
    line("mistral-medium-2508", 262, 32, 0.4, 2.0),
    line("mistral-small", 256, 32, 0.15, 0.6),
    line("mistral-large", 262, 32, 0.5, 1.5),
    line("codestral", 256, 4, 0.3, 0.9),
    line("devstral", 262, 32, 0.4, 2.0),
    line("devstral-small", 128, 32, 0.1, 0.3),
    line("grok-4.7", 500, 200, 2.0, 6.0),
    line("grok-4.6", 500, 200, 2.0, 6.0),
    line("grok-4.5", 500, 200, 2.0, 6.0),
    line("grok-4.3", 1000, 30, 1.25, 2.5),
    line("grok-4.20", 1000, 30, 1.25, 2.5),
    line("grok-4.1-fast", 2000, 30, 0.2, 0.5),
    line("grok-4-fast", 2000, 30, 0.2, 0.5),
    line("grok-4", 256, 8, 3.0, 15.0),
    line("grok-code-fast", 256, 10, 0.2, 1.5),
    line("kimi-k3.1-pro", 1000, 128, 2.0, 10.0),
    line("kimi-k3", 262, 131, 3.0, 15.0),
    line("kimi-k2.7", 262, 32, 0.95, 4.0),
    line("kimi-k2.6", 262, 32, 0.95, 4.0),
    line("kimi-k2.5", 262, 32, 0.6, 3.0),
    line("kimi-k2", 262, 32, 0.6, 2.5),
    line("glm-5.3", 1000, 131, 1.4, 4.4),
    line("glm-5.2", 1000, 131, 1.4, 4.4),
    line("glm-5.1", 205, 131, 1.4, 4.4),
    line("glm-5", 205, 131, 1.0, 3.2),
    line("glm-4.7", 204, 64, 0.6, 2.2),
    line("glm-4.6", 200, 64, 0.6, 2.2),
];

/// Facts about `model`; `local` when it runs on this machine.
pub(crate) fn facts(local: bool, model: &str) -> ModelInfo {
    if local {
        // This is what `num_ctx` is set to, whatever the model could do.
        return ModelInfo {
            window: 32_768,
            output: 8192,
            price: FREE,
            tools: MAX_TOOLS,
            known: true,
        };
    }
    let found = find(model);
    ModelInfo {
        window: found.map_or(128_000, |line| line.window),
        output: found.map_or(8192, |line| line.output),
        price: found.map_or(UNKNOWN, |line| line.price),
        tools: MAX_TOOLS,
        known: found.is_some(),
    }
}

const FREE: TokenPrice = TokenPrice {
    input: 0.0,
    output: 0.0,
};
const UNKNOWN: TokenPrice = TokenPrice {
    input: 0.5,
    output: 1.5,
};

/// The longest line that `model` begins with, ignoring the vendor and dots in versions.
fn find(model: &str) -> Option<&'static ModelRow> {
    let name = bare_name(model);
    MODELS
        .iter()
        .filter(|line| begins(&name, line.prefix))
        .max_by_key(|line| line.prefix.len())
}

/// `grok-4-1-fast` is `grok-4.1-fast` to some; `gpt-4-1106` is not a `gpt-4.1`.
fn begins(name: &str, line: &str) -> bool {
    let same = |(one, other): (u8, u8)| {
        one == other || matches!((one, other), (b'-', b'.') | (b'.', b'-'))
    };
    let goes_on = name
        .as_bytes()
        .get(line.len())
        .is_some_and(u8::is_ascii_digit);
    name.len() >= line.len()
        && name.bytes().zip(line.bytes()).all(same)
        && !(goes_on && line.ends_with(|c: char| c.is_ascii_digit()))
}

/// `anthropic/claude-haiku-4.5:free` as `claude-haiku-4.5`, in lower case; a bare `haiku-4.5` as Claude's.
fn bare_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    let name = name.split(':').next().unwrap_or(&name);
    let claude = ["haiku-", "sonnet-", "opus-"]
        .iter()
        .any(|family| name.starts_with(family));
    if claude {
        format!("claude-{name}")
    } else {
        name.to_owned()
    }
}

/// True for models of the GPT family that accept a reasoning effort.
pub(crate) fn takes_effort(model: &str) -> bool {
    let name = bare_name(model);
    let thinks = name.starts_with("gpt-5") && !name.contains("chat")
        || ["o1", "o3", "o4"]
            .iter()
            .any(|series| name == *series || name.starts_with(&format!("{series}-")));
    thinks
        && !name.contains("codex")
        && !name.starts_with("o1-mini")
        && !name.starts_with("o1-preview")
}

/// True for models that are served over chat completions only.
pub(crate) fn completions_only(model: &str) -> bool {
    let name = bare_name(model);
    let exact = [
        "gpt-4o-search-preview",
        "gpt-4o-mini-search-preview",
        "gpt-5-search-api",
        "gpt-3.5-turbo-16k",
    ];
    let families = [
        "gpt-4o-audio-preview",
        "gpt-4o-mini-audio-preview",
        "gpt-audio",
    ];
    exact.contains(&name.as_str()) || families.iter().any(|family| name.starts_with(family))
}

/// True for models of OpenAI that take instructions in the middle of a conversation as the developer's: from GPT-5.4 on.
pub(crate) fn takes_developer(model: &str) -> bool {
    let name = bare_name(model);
    let version = name.strip_prefix("gpt-").unwrap_or_default();
    let number: String = version
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number.parse::<f64>().is_ok_and(|number| number >= 5.4)
}

/// Prices of the user, above those of the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prices(BTreeMap<String, TokenPrice>);

impl Prices {
    /// Reads the text of the file that `MARVIN_PRICES` names: `{"model": {"input": 1.25, "output": 10}}`.
    ///
    /// # Errors
    /// When it is not such an object, or a price is negative.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let wanted = "Write it as {\"model\": {\"input\": 1.25, \"output\": 10}}, in US dollars for a million tokens.";
        let prices: BTreeMap<String, TokenPrice> = serde_json::from_str(text).map_err(|why| {
            Problem::config(format!("MARVIN_PRICES cannot be read: {why}."))
                .next(wanted)
                .because(why)
        })?;
        let wrong = prices
            .iter()
            .find(|(_, price)| price.input < 0.0 || price.output < 0.0);
        if let Some((model, _)) = wrong {
            return Err(Problem::config(format!(
                "MARVIN_PRICES has a negative price for {model}."
            ))
            .next(wanted));
        }
        Ok(Self(prices))
    }

    /// US dollars of one call, and whether that is an estimate. The user's price comes first, then what the provider says it charges (`billed`), then
    /// the table.
    pub(crate) fn call_cost(
        &self,
        provider: &str,
        model: &str,
        tokens: Tokens,
        billed: Option<f64>,
    ) -> (f64, bool) {
        let local = super::catalog::row(provider).is_some_and(|row| row.local);
        match billed {
            Some(billed) if !self.0.contains_key(model) => (billed, false),
            _ => self.cost(model, local, tokens),
        }
    }

    /// US dollars of one call, and whether that is an estimate: the model's price or its tokens are not known.
    pub(crate) fn cost(&self, model: &str, local: bool, tokens: Tokens) -> (f64, bool) {
        let own = self.0.get(model).copied();
        let facts = facts(local, model);
        let price = own.unwrap_or(facts.price);
        let cost = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        (
            cost(tokens.input, price.input) + cost(tokens.output, price.output),
            tokens.estimated || own.is_none() && !facts.known,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog::ROWS;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens {
            input,
            output,
            ..Tokens::default()
        }
    }

    #[test]
    fn the_longest_beginning_wins_and_vendors_do_not_matter() {
        for (model, input) in [
            ("gpt-5.1", 2.0),
            ("gpt-5.1-codex", 2.0),
            ("gpt-5-mini-2025-08-07", 0.25),
            ("gpt-5.9", 1.25),
            ("openai/gpt-4o-mini:free", 0.15),
            ("qwen/qwen3-32b", 0.2),
            ("claude-sonnet-4-5", 3.0),
            ("anthropic/claude-opus-4.6", 15.0),
            ("haiku-4.5", 0.8),
            ("claude-opus-4.8", 5.0),
            ("claude-opus-4-20250514", 15.0),
            ("claude-3.7-sonnet", 3.0),
            ("grok-4-1-fast-reasoning", 0.2),
            ("grok-4-0709", 3.0),
            ("moonshotai/kimi-k2.6", 0.95),
            ("gpt-4-1106-preview", 0.5),
        ] {
            assert_eq!(facts(false, model).price.input, input, "{model}");
        }
    }

    #[test]
    fn what_is_not_known_is_guessed_with_care() {
        let unknown = facts(false, "mystery-1");
        assert!(!unknown.known);
        assert_eq!((unknown.window, unknown.tools), (128_000, 128));
        assert_eq!(facts(true, "mystery-1").window, 32_768);
        let prices = Prices::default();
        assert_eq!(
            prices.cost("mystery-1", false, tokens(1_000_000, 1_000_000)),
            (2.0, true)
        );
        assert_eq!(prices.cost("mystery-1", true, tokens(5, 5)), (0.0, false));
    }

    #[test]
    fn every_default_model_of_a_keyed_provider_is_known() {
        for row in ROWS.iter().filter(|row| !row.local) {
            assert!(facts(false, row.model).known, "{}: {}", row.name, row.model);
        }
    }

    #[test]
    fn lines_are_unique_and_sane() {
        for (at, line) in MODELS.iter().enumerate() {
            assert!(
                MODELS[at + 1..]
                    .iter()
                    .all(|other| other.prefix != line.prefix),
                "{}",
                line.prefix
            );
            assert!(
                line.output <= line.window && line.price.input <= line.price.output,
                "{}",
                line.prefix
            );
            assert_eq!(bare_name(line.prefix), line.prefix);
        }
    }

    #[test]
    fn efforts_are_for_thinking_gpt_models_only() {
        let takes: Vec<&str> = [
            "gpt-5.1",
            "gpt-5-mini",
            "o3",
            "o4-mini",
            "gpt-5.3-codex",
            "gpt-5-chat-latest",
            "gpt-4o",
            "o1-mini",
            "olmo",
        ]
        .into_iter()
        .filter(|model| takes_effort(model))
        .collect();
        assert_eq!(takes, ["gpt-5.1", "gpt-5-mini", "o3", "o4-mini"]);
    }

    #[test]
    fn own_prices_come_first_and_junk_is_explained() {
        let prices = Prices::parse(r#"{"m": {"input": 1, "output": 2.5}}"#).unwrap();
        assert_eq!(
            prices.cost("m", false, tokens(1_000_000, 2_000_000)),
            (6.0, false)
        );
        for junk in [
            "",
            "[]",
            r#"{"m": 3}"#,
            r#"{"m": {"input": 1}}"#,
            r#"{"m": {"input": -1, "output": 1}}"#,
            r#"{"m": {"input": "1", "output": 1}}"#,
        ] {
            let line = Prices::parse(junk).unwrap_err().one_line();
            assert!(
                line.starts_with("MARVIN_PRICES ") && line.contains("Write it as"),
                "{line}"
            );
        }
    }
}
