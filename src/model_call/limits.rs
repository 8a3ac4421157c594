//! Limits that are known before a request is sent: what the run may cost, and what the model's window holds.

use super::model_target::ModelTarget;
use crate::base::problem::Problem;
use crate::base::text::thousands;
use crate::chat::usage::exact_dollars;
use crate::llm::catalog::{self, Wire};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::models::ModelInfo;
use crate::tools::engine::context::ToolContext;

/// Words of the message when no more may be spent.
pub(crate) const COST_LIMIT_WORDS: &str = "cost limit";
/// Words of the message when a request does not fit into the window.
pub(crate) const TOO_LARGE_WORDS: &str = "was not sent";

/// Refuses a request when what was spent has reached the user's limit.
pub(super) fn check_cost(ctx: &ToolContext, max: Option<f64>) -> Result<(), Failure> {
    let Some(max) = max else { return Ok(()) };
    let totals = ctx.session.ledger.process_totals();
    if totals.cost < max {
        return Ok(());
    }
    let spent = exact_dollars(totals.cost, totals.cost_estimated());
    let problem = Problem::limit(format!(
        "The {COST_LIMIT_WORDS} of ${max} is reached ({spent} spent)."
    ))
    .next("Raise --max-cost to continue.");
    Err(Failure::new(FailureKind::Budget, problem))
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSize {
    /// About how many it has.
    pub about: u64,
    /// How many it has at least.
    pub at_least: u64,
    /// Those of the tool schemas.
    pub schemas: usize,
}

/// Refuses a request that the model's window cannot hold: nothing but the user's message and what goes with every request is left of it.
pub(crate) fn check_window(target: &ModelTarget, request: RequestSize) -> Result<(), Failure> {
    let limit = target.prompt_limit();
    if request.at_least <= limit
        || !target.info.known
        || !has_known_window(target.provider.name(), &target.info)
    {
        return Ok(());
    }
    let model = &target.model;
    let (size, window) = (thousands(request.about), thousands(limit));
    let mut what = format!(
        "This message and what goes with it have about {size} tokens, more than the {window} that {model} takes, so it {TOO_LARGE_WORDS}."
    );
    let schemas = u64::try_from(request.schemas).unwrap_or(u64::MAX);
    let mut ways = "Send less, for example the name of a file to read,".to_owned();
    if schemas > 0 {
        what.push_str(&format!(
            " The tool schemas are about {} of them.",
            thousands(schemas)
        ));
        ways.push_str(" offer fewer tools with --tools GROUP,");
    }
    ways.push_str(" or choose a model with a larger window: --model NAME.");
    Err(Failure::new(
        FailureKind::TooLong,
        Problem::limit(what).next(ways),
    ))
}

/// The most tokens that a request may have after one with `used` of them was refused as too long, with these `words`.
pub(crate) fn limit_after(used: u64, words: &str) -> u64 {
    // The server may count other tokens than Marvin.
    let stated = stated_limit(words).filter(|limit| *limit < used);
    stated.unwrap_or(used / 2).min(used / 4 * 3)
}

/// The limit that a refusal names.
fn stated_limit(words: &str) -> Option<u64> {
    let words = words.to_ascii_lowercase();
    STATED_LIMITS.iter().find_map(|before| {
        let (_, rest) = words.split_once(before)?;
        let digits = rest.chars().filter(|c| !matches!(c, ',' | '_'));
        let digits: String = digits.take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|limit| *limit > 0)
    })
}

/// What stands before the limit in the refusals of OpenAI, Anthropic, Gemini, xAI, llama.cpp, vLLM and Groq.
const STATED_LIMITS: [&str; 9] = [
    "maximum context length is ",
    "maximum context length of ",
    "maximum prompt length is ",
    "available context size (",
    "context window of ",
    "context length is ",
    "tokens allowed (",
    "tokens > ",
    "limit ",
];

/// False for a server of local models that does not say how long a window it was started with; Ollama's is set by each request.
fn has_known_window(provider: &str, info: &ModelInfo) -> bool {
    let row = catalog::row(provider);
    row.is_some_and(|row| !row.local || row.wire == Wire::Ollama || info.window_told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::models::{ModelRegistry, ServedFacts};

    #[test]
    fn the_window_of_a_local_server_is_known_where_it_was_told() {
        let told = ServedFacts {
            window: Some(8_192),
            ..ServedFacts::default()
        };
        let loads_later = ServedFacts {
            max_window: Some(131_072),
            ..ServedFacts::default()
        };
        for (provider, served, is_known) in [
            ("llama-server", told, true),
            ("lmstudio", told, true),
            ("lmstudio", loads_later, false),
            ("llama-server", ServedFacts::default(), false),
            ("ollama", ServedFacts::default(), true),
            ("openai", ServedFacts::default(), true),
        ] {
            let info = ModelRegistry::default().facts_told(provider, "m", &served);
            assert_eq!(has_known_window(provider, &info), is_known, "{provider}");
        }
    }

    #[test]
    fn a_refusal_names_its_limit() {
        for (words, limit) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10240 tokens.",
                Some(8_192),
            ),
            (
                "prompt is too long: 213462 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                "The input token count (1,084,671) exceeds the maximum number of tokens allowed (1,048,575).",
                Some(1_048_575),
            ),
            (
                "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
                Some(4_096),
            ),
            (
                "Request too large: Limit 6000, Used 0, Requested 7895",
                Some(6_000),
            ),
            ("The conversation is too long.", None),
        ] {
            assert_eq!(stated_limit(words), limit, "{words}");
        }
        assert_eq!(limit_after(10_000, "maximum context length is 6000"), 6_000);
        assert_eq!(limit_after(10_000, "maximum context length is 9999"), 7_500);
        assert_eq!(
            limit_after(10_000, "maximum context length is 32000"),
            5_000
        );
    }
}
