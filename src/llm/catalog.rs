//! The providers as a table: one row adds one.

use crate::base::variables::{OPENAI_ORG_ID, OPENAI_ORGANIZATION, OPENAI_PROJECT_ID, Text};

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
    /// Other names that people, and models.dev, call it by.
    pub aliases: &'static [&'static str],
    /// Its dialect.
    pub wire: Wire,
    /// Default base address, as `marvin services` prints it.
    pub base: &'static str,
    /// Variable with the key, and name of a file with it under `~/.ssh/`; `None` when no key is needed.
    pub key: Option<&'static str>,
    /// Variables of other programs that hold the same key; they count when [`Self::key`] is not set.
    pub other_keys: &'static [&'static str],
    /// Variable with a bearer token of a gateway.
    pub token: Option<&'static str>,
    /// Variables of other programs that hold the address; they count when Marvin's own are not set.
    pub other_urls: &'static [OtherUrl],
    /// Headers whose values are in variables (lower case), for this provider alone.
    pub account_headers: &'static [AccountHeader],
    /// Default model.
    pub model: &'static str,
    /// Runs on this machine: no cost.
    pub local: bool,
    /// Seconds that the first byte of an answer may take.
    pub first_byte_secs: u64,
    /// Deviations from its dialect.
    pub quirks: Quirks,
}

/// A header that says which of the user's accounts a request counts for.
#[derive(Debug, Clone, Copy)]
pub struct AccountHeader {
    pub name: &'static str,
    /// The variables with its value; the first that is set counts.
    pub(crate) variables: &'static [Text],
}

/// A variable by which other programs find a provider.
#[derive(Debug, Clone, Copy)]
pub struct OtherUrl {
    /// Its name.
    pub variable: &'static str,
    /// How its value is read.
    pub form: UrlForm,
}

/// What an address in a variable of other programs leads to.
#[derive(Debug, Clone, Copy)]
pub enum UrlForm {
    /// The base itself.
    Base,
    /// What comes before this path, which those programs add.
    Before(&'static str),
    /// A host, a port or both, as Ollama writes them.
    OllamaHost,
}

const fn base_in(variable: &'static str) -> OtherUrl {
    OtherUrl {
        variable,
        form: UrlForm::Base,
    }
}

const fn before(variable: &'static str, path: &'static str) -> OtherUrl {
    OtherUrl {
        variable,
        form: UrlForm::Before(path),
    }
}

/// Differences between servers of one dialect.
#[derive(Debug, Clone, Copy)]
pub struct Quirks {
    /// Takes `stream_options: {"include_usage": true}`; some servers refuse it as unknown.
    pub usage_option: bool,
    /// Its models are told how hard to think in every request; those of others only when the user chose an effort.
    pub always_effort: bool,
    /// How its models are told how hard to think over chat completions.
    pub effort: EffortForm,
    /// DeepSeek: an assistant message that called tools must go back with its `reasoning_content`, or the request fails with 400.
    pub returns_reasoning: bool,
    /// The tool call ids it accepts.
    pub call_ids: CallIds,
    /// Takes `prompt_cache_key`, and finds the conversation's cache by it; others may refuse it as unknown.
    pub cache_key: bool,
    /// Takes Anthropic's `cache_control` in chat completions, and passes it on to the models that cache only what is marked
    /// (<https://openrouter.ai/docs/features/prompt-caching>). Others may refuse it as unknown.
    pub cache_marks: bool,
    /// Serves both of OpenAI's wires, and some models over Responses only.
    pub both_wires: bool,
    /// Serves models of many families, and may hand their calls through as they wrote them, as text.
    pub written_calls: bool,
    /// Takes tools that the model does not see until a result refers to them
    /// (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool>).
    pub deferred_tools: bool,
    /// OpenAI itself: tools need `"strict": false`, padding of the stream can be left out, later instructions may be the developer's.
    pub openai_options: bool,
}

/// The members of a chat completion that say how hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortForm {
    /// `reasoning_effort` with the word, also "none" (<https://platform.openai.com/docs/api-reference/chat/create>): OpenAI, Cerebras, DeepSeek,
    /// Mistral, LiteLLM, Ollama's `/v1` and most others.
    Word,
    /// The same, but a model that can only think or not takes "default" and "none" (<https://console.groq.com/docs/reasoning>).
    Groq,
    /// `reasoning: {"effort"}` and `{"enabled"}` (<https://openrouter.ai/docs/use-cases/reasoning-tokens>).
    OpenRouter,
    /// `reasoning_effort`, and `reasoning: {"enabled"}` (<https://docs.together.ai/docs/inference/chat/reasoning>).
    Together,
    /// `reasoning_effort`, and `thinking: {"type"}` (<https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model>).
    Moonshot,
    /// Google's own options, where its compatible endpoint looks for them (<https://ai.google.dev/gemini-api/docs/openai#thinking>).
    Gemini,
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
    always_effort: false,
    effort: EffortForm::Word,
    returns_reasoning: false,
    call_ids: CallIds::Any,
    cache_key: false,
    cache_marks: false,
    both_wires: false,
    written_calls: true,
    deferred_tools: false,
    openai_options: false,
};

/// OpenRouter, also where it is what `openai-compat` leads to.
pub(crate) const OPENROUTER_BASE: &str = "https://openrouter.ai/api/v1";
pub(crate) const OPENROUTER: Quirks = Quirks {
    effort: EffortForm::OpenRouter,
    cache_marks: true,
    ..PLAIN
};

const fn keyed(
    name: &'static str,
    base: &'static str,
    key: &'static str,
    model: &'static str,
) -> ProviderSpec {
    ProviderSpec {
        name,
        aliases: &[],
        wire: Wire::Completions,
        base,
        key: Some(key),
        other_keys: &[],
        token: None,
        other_urls: &[],
        account_headers: &[],
        model,
        local: false,
        first_byte_secs: 60,
        quirks: PLAIN,
    }
}

const fn local(name: &'static str, base: &'static str, model: &'static str) -> ProviderSpec {
    ProviderSpec {
        name,
        aliases: &[],
        wire: Wire::Completions,
        base,
        key: None,
        other_keys: &[],
        token: None,
        other_urls: &[],
        account_headers: &[],
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
        aliases: &["google"],
        // Google's own libraries read both, the Vercel AI SDK the last one.
        other_keys: &["GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        other_urls: &[before("GOOGLE_GEMINI_BASE_URL", "/v1beta/openai")],
        quirks: Quirks {
            effort: EffortForm::Gemini,
            written_calls: false,
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
        other_urls: &[before("GROQ_BASE_URL", "/openai/v1")],
        quirks: Quirks {
            effort: EffortForm::Groq,
            ..PLAIN
        },
        ..keyed(
            "groq",
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            "openai/gpt-oss-120b",
        )
    },
    ProviderSpec {
        wire: Wire::Responses,
        // The second is its name in the library's versions before 1.0, which others still read.
        other_urls: &[base_in("OPENAI_BASE_URL"), base_in("OPENAI_API_BASE")],
        // <https://platform.openai.com/docs/api-reference/authentication>
        account_headers: &[
            AccountHeader {
                name: "openai-organization",
                variables: &[OPENAI_ORG_ID, OPENAI_ORGANIZATION],
            },
            AccountHeader {
                name: "openai-project",
                variables: &[OPENAI_PROJECT_ID],
            },
        ],
        quirks: Quirks {
            always_effort: true,
            call_ids: CallIds::Forty,
            cache_key: true,
            both_wires: true,
            written_calls: false,
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
        aliases: &["claude"],
        wire: Wire::Anthropic,
        token: Some("ANTHROPIC_AUTH_TOKEN"),
        other_urls: &[base_in("ANTHROPIC_BASE_URL")],
        quirks: Quirks {
            deferred_tools: true,
            call_ids: CallIds::Plain,
            written_calls: false,
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
            OPENROUTER_BASE,
            "OPENAI_COMPAT_API_KEY",
            "qwen/qwen3.8-27b",
        )
    },
    ProviderSpec {
        other_urls: &[base_in("OPENROUTER_BASE_URL")],
        quirks: OPENROUTER,
        ..keyed(
            "openrouter",
            OPENROUTER_BASE,
            "OPENROUTER_API_KEY",
            "qwen/qwen3.8-27b",
        )
    },
    ProviderSpec {
        other_urls: &[base_in("DEEPSEEK_BASE_URL")],
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
        aliases: &["grok"],
        wire: Wire::Responses,
        other_keys: &["GROK_API_KEY"],
        other_urls: &[base_in("XAI_BASE_URL"), base_in("GROK_BASE_URL")],
        // Its models may think for minutes before the first byte.
        first_byte_secs: 900,
        quirks: Quirks {
            cache_key: true,
            written_calls: false,
            ..PLAIN
        },
        ..keyed("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7")
    },
    ProviderSpec {
        aliases: &["togetherai"],
        other_keys: &["TOGETHERAI_API_KEY"],
        other_urls: &[base_in("TOGETHER_BASE_URL")],
        quirks: Quirks {
            effort: EffortForm::Together,
            ..PLAIN
        },
        ..keyed(
            "together",
            "https://api.together.xyz/v1",
            "TOGETHER_API_KEY",
            "openai/gpt-oss-120b",
        )
    },
    ProviderSpec {
        other_urls: &[before("CEREBRAS_BASE_URL", "/v1")],
        ..keyed(
            "cerebras",
            "https://api.cerebras.ai/v1",
            "CEREBRAS_API_KEY",
            "gpt-oss-120b",
        )
    },
    ProviderSpec {
        aliases: &["kimi", "moonshotai"],
        other_urls: &[base_in("MOONSHOT_BASE_URL")],
        quirks: Quirks {
            returns_reasoning: true,
            effort: EffortForm::Moonshot,
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
        // For Ollama's own service; the program on this machine takes no notice of it (<https://docs.ollama.com/api/authentication>).
        other_keys: &["OLLAMA_API_KEY"],
        other_urls: &[
            OtherUrl {
                variable: "OLLAMA_HOST",
                form: UrlForm::OllamaHost,
            },
            base_in("OLLAMA_BASE_URL"),
            base_in("OLLAMA_API_BASE"),
        ],
        ..local("ollama", "http://localhost:11434", "qwen3-coder:30b")
    },
    ProviderSpec {
        aliases: &["llama.cpp", "llamacpp"],
        ..local("llama-server", "http://localhost:8080/v1", "default")
    },
    ProviderSpec {
        aliases: &["lm-studio"],
        ..local("lmstudio", "http://localhost:1234/v1", "default")
    },
];

/// Name of the embedded provider, which answers without a model and so has no row.
pub(crate) const OFFLINE: &str = "offline";

/// Name of the provider that is reached through a program instead of over HTTP, and so has no row.
pub(crate) const COPILOT: &str = "copilot";

/// The row called `name`.
pub fn row(name: &str) -> Option<&'static ProviderSpec> {
    ROWS.iter().find(|row| row.name == name)
}

/// The provider that `word` names, by its first name or another one, in letters of either case.
pub(crate) fn provider_named(word: &str) -> Option<&'static str> {
    let word = word.trim();
    let is = |name: &&str| name.eq_ignore_ascii_case(word);
    if let Some(name) = [COPILOT, OFFLINE].into_iter().find(|name| is(name)) {
        return Some(name);
    }
    let first = ROWS.iter().find(|row| is(&row.name));
    let other = || ROWS.iter().find(|row| row.aliases.iter().any(is));
    first.or_else(other).map(|row| row.name)
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

    #[test]
    fn a_provider_has_second_names_and_no_two_share_one() {
        for (word, name) in [
            ("google", Some("gemini")),
            ("Claude", Some("anthropic")),
            ("GROK", Some("xai")),
            (" kimi ", Some("moonshot")),
            ("OpenAI", Some("openai")),
            ("Copilot", Some("copilot")),
            ("offline", Some("offline")),
            ("gpt", None),
            ("", None),
        ] {
            assert_eq!(provider_named(word), name, "{word}");
        }
        let names = ROWS
            .iter()
            .flat_map(|row| row.aliases.iter().chain([&row.name]));
        let mut names: Vec<&str> = names.copied().chain([COPILOT, OFFLINE]).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
