//! The providers as a table: one row adds one.

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat completions, as OpenAI and everyone compatible with it speak it.
    Completions,
    /// OpenAI's Responses, without state at the server (<https://platform.openai.com/docs/api-reference/responses>).
    Responses,
    /// Ollama's own `/api/chat`.
    Ollama,
    /// Anthropic's messages.
    Anthropic,
}

/// One provider.
#[derive(Debug)]
pub struct ProviderSpec {
    /// Name that `--provider` takes.
    pub name: &'static str,
    /// Its dialect.
    pub wire: Wire,
    /// Default base address, as `marvin services` prints it.
    pub base: &'static str,
    /// Variable with the key; `None` when no key is needed.
    pub key: Option<&'static str>,
    /// The key may also be in a file named like the variable under `~/.ssh/`.
    pub key_file: bool,
    /// Default model.
    pub model: &'static str,
    /// Runs on this machine: no cost.
    pub local: bool,
    /// Seconds that the first byte of an answer may take.
    pub first_byte_secs: u64,
    /// Deviations from its dialect.
    pub quirks: Quirks,
}

/// Differences between servers of one dialect.
#[derive(Debug, Clone, Copy)]
pub struct Quirks {
    /// Takes `stream_options: {"include_usage": true}`; some servers refuse it as unknown.
    pub usage_option: bool,
    /// `reasoning_effort` may be sent to its GPT models.
    pub effort: bool,
    /// Gemini's thinking options may be sent, and only without tools.
    pub gemini_thinking: bool,
    /// DeepSeek: an assistant message that called tools must go back with its `reasoning_content`, or the request fails with 400.
    pub returns_reasoning: bool,
    /// The tool call ids it accepts.
    pub call_ids: CallIds,
    /// Takes `prompt_cache_key`, and finds the conversation's cache by it; others may refuse it as unknown.
    pub cache_key: bool,
    /// Serves both of OpenAI's wires, and some models over Responses only.
    pub both_wires: bool,
    /// OpenAI itself: tools need `"strict": false`, padding of the stream can be left out, later instructions may be the developer's.
    pub openai_options: bool,
}

/// Tool call ids that a server accepts. It accepts its own; those of another provider, from earlier in the conversation, may have to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// Any text.
    Any,
    /// At most 40 characters (OpenAI).
    Forty,
    /// Nine letters or digits (Mistral).
    Nine,
    /// Letters, digits, `_` and `-` (Anthropic).
    Plain,
}

const PLAIN: Quirks = Quirks {
    usage_option: true,
    effort: false,
    gemini_thinking: false,
    returns_reasoning: false,
    call_ids: CallIds::Any,
    cache_key: false,
    both_wires: false,
    openai_options: false,
};

const fn keyed(
    name: &'static str,
    base: &'static str,
    key: &'static str,
    model: &'static str,
) -> ProviderSpec {
    ProviderSpec {
        name,
        wire: Wire::Completions,
        base,
        key: Some(key),
        key_file: false,
        model,
        local: false,
        first_byte_secs: 60,
        quirks: PLAIN,
    }
}

const fn local(name: &'static str, base: &'static str, model: &'static str) -> ProviderSpec {
    ProviderSpec {
        name,
        wire: Wire::Completions,
        base,
        key: None,
        key_file: false,
        model,
        local: true,
        // It loads the model and reads the whole prompt before it answers.
        first_byte_secs: 300,
        quirks: PLAIN,
    }
}

/// Every provider reached over HTTP, in the order in which the first usable one is chosen.
pub(crate) static ROWS: &[ProviderSpec] = &[
    ProviderSpec {
        key_file: true,
        quirks: Quirks {
            gemini_thinking: true,
            ..PLAIN
        },
        ..keyed(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            "gemini-3.1-pro-preview",
        )
    },
    ProviderSpec {
        key_file: true,
        ..keyed(
            "groq",
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            "openai/gpt-oss-120b",
        )
    },
    ProviderSpec {
        wire: Wire::Responses,
        quirks: Quirks {
            effort: true,
            call_ids: CallIds::Forty,
            cache_key: true,
            both_wires: true,
            openai_options: true,
            ..PLAIN
        },
        ..keyed(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "gpt-6.1-terra",
        )
    },
    ProviderSpec {
        wire: Wire::Anthropic,
        quirks: Quirks {
            call_ids: CallIds::Plain,
            ..PLAIN
        },
        ..keyed(
            "anthropic",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            "claude-sonnet-5-5",
        )
    },
    ProviderSpec {
        // Azure, Bedrock and others serve OpenAI's models as OpenAI does.
        quirks: Quirks {
            both_wires: true,
            ..PLAIN
        },
        ..keyed(
            "openai-compat",
            "https://openrouter.ai/api/v1",
            "OPENAI_COMPAT_API_KEY",
            "qwen/qwen3.8-27b",
        )
    },
    keyed(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "qwen/qwen3.8-27b",
    ),
    ProviderSpec {
        quirks: Quirks {
            returns_reasoning: true,
            ..PLAIN
        },
        ..keyed(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            "deepseek-flash",
        )
    },
    ProviderSpec {
        quirks: Quirks {
            usage_option: false,
            call_ids: CallIds::Nine,
            cache_key: true,
            ..PLAIN
        },
        ..keyed(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            "mistral-medium-latest",
        )
    },
    ProviderSpec {
        wire: Wire::Responses,
        // Its models may think for minutes before the first byte.
        first_byte_secs: 900,
        quirks: Quirks {
            cache_key: true,
            ..PLAIN
        },
        ..keyed("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7")
    },
    keyed(
        "together",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        "openai/gpt-oss-120b",
    ),
    keyed(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        "gpt-oss-120b",
    ),
    ProviderSpec {
        quirks: Quirks {
            returns_reasoning: true,
            ..PLAIN
        },
        ..keyed(
            "moonshot",
            "https://api.moonshot.ai/v1",
            "MOONSHOT_API_KEY",
            "kimi-k2.6",
        )
    },
    ProviderSpec {
        wire: Wire::Ollama,
        ..local("ollama", "http://localhost:11434", "qwen3-coder:30b")
    },
    local("llama-server", "http://localhost:8080/v1", "default"),
    local("lmstudio", "http://localhost:1234/v1", "default"),
];

/// Name of the embedded provider, which answers without a model and so has no row.
pub(crate) const OFFLINE: &str = "offline";

/// Name of the provider that is reached through a program instead of over HTTP, and so has no row.
pub(crate) const COPILOT: &str = "copilot";

/// The row called `name`.
pub fn row(name: &str) -> Option<&'static ProviderSpec> {
    ROWS.iter().find(|row| row.name == name)
}

/// `NAME_SUFFIX` in capitals with underscores: `openai-compat`, `MODEL` give `OPENAI_COMPAT_MODEL`.
pub(crate) fn variable(name: &str, suffix: &str) -> String {
    format!("{}_{suffix}", name.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for (i, row) in ROWS.iter().enumerate() {
            assert!(
                ROWS.iter().skip(i + 1).all(|other| other.name != row.name),
                "{} twice",
                row.name
            );
            assert!(!row.base.ends_with('/'), "{}", row.name);
            assert_eq!(row.key.is_none(), row.local, "{}", row.name);
        }
        assert_eq!(variable("openai-compat", "MODEL"), "OPENAI_COMPAT_MODEL");
    }
}
