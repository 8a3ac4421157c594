//! Anthropic's cache breakpoints, on its own wire and in chat completions
//! (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>, <https://openrouter.ai/docs/features/prompt-caching>).

use serde::Serialize;

use crate::chat::message::Message;
use crate::llm::wire::Dialect;
use crate::llm::wire::optional::OptionalMember;

/// The end of a cacheable prefix. Servers take at most four of them.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CacheMark {
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(super) const MARK: CacheMark = CacheMark { kind: "ephemeral" };

/// What is marked for a model that is reached over chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheMarks {
    /// The last tool, the system prompt, and the ends of the conversation: Claude.
    All,
    /// The same without the tool, which has no such member there: Qwen at Alibaba.
    Messages,
    /// The system prompt alone: of several marks OpenRouter uses the last one for Gemini, and a cache that is written anew in every round costs more than
    /// it saves.
    System,
}

impl CacheMarks {
    /// Those for `model`; `None` where the server takes none, or caches by itself.
    pub(super) fn of(dialect: Dialect, model: &str) -> Option<Self> {
        if !dialect.quirks.cache_marks || dialect.without.has(OptionalMember::CacheMarks) {
            return None;
        }
        let name = model.trim_start_matches('~').to_lowercase();
        let (vendor, model) = name.split_once('/').unwrap_or(("", &name));
        match vendor {
            "anthropic" => Some(Self::All),
            "qwen" | "alibaba" => Some(Self::Messages),
            "google" if model.contains("gemini") => Some(Self::System),
            _ => None,
        }
    }

    /// The messages that end with a mark: the last ones of this request and of the one before, since a server looks back only 20 blocks from a mark, and
    /// a round of parallel calls may have more.
    pub(super) fn places(self, messages: &[Message]) -> [Option<usize>; 2] {
        if self == Self::System {
            return [None, None];
        }
        let mut places = [None; 2];
        let mut free = places.iter_mut();
        let mut run_is_marked = false;
        for (at, message) in messages.iter().enumerate().rev() {
            let text = match message {
                Message::Assistant(_) => {
                    run_is_marked = false;
                    continue;
                }
                Message::System { text } => text,
                Message::User(user) => &user.text,
                Message::Tool(output) => &output.text,
            };
            // Blank text cannot be marked.
            if run_is_marked || text.trim().is_empty() {
                continue;
            }
            let Some(place) = free.next() else {
                break;
            };
            *place = Some(at);
            run_is_marked = true;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolOutput};
    use crate::llm::catalog::row;

    fn marks(provider: &str, base: &str, model: &str) -> Option<CacheMarks> {
        CacheMarks::of(Dialect::of(row(provider).unwrap(), base), model)
    }

    #[test]
    fn models_that_cache_only_what_is_marked_get_marks_at_openrouter_alone() {
        for (model, want) in [
            ("anthropic/claude-sonnet-5.5", Some(CacheMarks::All)),
            ("~anthropic/claude-sonnet-latest", Some(CacheMarks::All)),
            ("qwen/qwen3.8-27b", Some(CacheMarks::Messages)),
            ("google/gemini-3.8-flash", Some(CacheMarks::System)),
            ("google/gemma-4-31b-it", None),
            ("openai/gpt-6-sol", None),
            ("claude-sonnet-5-5", None),
        ] {
            assert_eq!(marks("openrouter", "", model), want, "{model}");
            let base = "https://openrouter.ai/api/v1";
            assert_eq!(marks("openai-compat", base, model), want, "{model}");
            for (provider, base) in [
                ("openai-compat", "https://litellm.example/v1"),
                ("together", "https://api.together.xyz/v1"),
            ] {
                assert_eq!(marks(provider, base, model), None, "{provider} {model}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_last_two_runs_are_marked() {
        let tool = |text: &str| Message::Tool(ToolOutput::ok("a", "tree", text));
        let said = || Message::Assistant(Assistant::default());
        let talk = [
            Message::user("one"),
            said(),
            tool("x"),
            tool("y"),
            said(),
            tool("z"),
            tool(" "),
        ];
        assert_eq!(CacheMarks::All.places(&talk), [Some(5), Some(3)]);
        assert_eq!(CacheMarks::All.places(&talk[..1]), [Some(0), None]);
        assert_eq!(CacheMarks::System.places(&talk), [None, None]);
    }
}
