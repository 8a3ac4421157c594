//! The settings of the flow as a table: one row a key.

use std::time::Duration;

use serde_json::Value;

use crate::reply::settings::{
    FlowMode, MemorySource, ReplySettings, SizeSetting, ToolStrategy, TraceLevel,
};

/// How the environment variable of a key begins.
pub(crate) const PREFIX: &str = "MARVIN_REPLY_";

/// A key of `reply.json`, of the profile's `reply` section, and of the environment.
pub(crate) struct SettingRow {
    pub key: &'static str,
    /// Its description, with the default.
    pub doc: &'static str,
    /// What a value may be.
    pub allowed: &'static str,
    /// Takes a value over; `None` when it is not allowed.
    pub set: fn(&mut ReplySettings, &Value) -> Option<()>,
}

impl SettingRow {
    /// Its environment variable.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.to_uppercase())
    }
}

pub(crate) fn row(key: &str) -> Option<&'static SettingRow> {
    ROWS.iter().find(|row| row.key == key)
}

macro_rules! rows {
    ($( $key:literal, $doc:literal, $allowed:literal, |$settings:ident, $value:ident| $field:expr, $read:expr; )*) => {
        /// Every key, in the order of the help.
        pub(crate) static ROWS: &[SettingRow] = &[$(
            SettingRow {
                key: $key,
                doc: $doc,
                allowed: $allowed,
                set: |$settings, $value| {
                    $field = $read?;
                    Some(())
                },
            },
        )*];
    };
}

rows! {
    "flow", "when the reply flow answers: for Ollama and small models (auto), on, off", "auto, on or off",
        |s, v| s.flow, word(v, &[("auto", FlowMode::Auto), ("on", FlowMode::On), ("off", FlowMode::Off)]);
    "assistant_name", "name of the assistant (Marvin)", "a text",
        |s, v| s.assistant_name, text(v).filter(|name| !name.is_empty());
    "model_size", "class of the model: auto, small, large", "auto, small or large",
        |s, v| s.model_size, word(v, &[("auto", SizeSetting::Auto), ("small", SizeSetting::Small), ("large", SizeSetting::Large)]);
    "router_model", "model that picks tools (the chat model)", "the name of a model", |s, v| s.router_model, text(v);
    "judge_model", "model for small decisions (the chat model)", "the name of a model", |s, v| s.judge_model, text(v);
    "planner_model", "model that plans (the chat model)", "the name of a model", |s, v| s.planner_model, text(v);
    "embed_model", "model for embeddings of tools and of the diary (none)", "the name of a model", |s, v| s.embed_model, text(v);
    "thinking_enabled", "the chat model may think (false)", "true or false", |s, v| s.thinking_enabled, flag(v);
    "num_ctx", "context window with Ollama, in tokens (8192)", "a whole number from 1024 to 1048576",
        |s, v| s.num_ctx, whole(v, 1_024, 1 << 20);
    "max_turns", "passes of a reply (8)", "a whole number from 1 to 50", |s, v| s.max_turns, count(v, 1, 50);
    "tool_selection_strategy", "how tools are picked: all, keyword, embedding, both, llm (llm)", "all, keyword, embedding, both or llm",
        |s, v| s.tool_selection_strategy, word(v, &[
            ("all", ToolStrategy::All), ("keyword", ToolStrategy::Keyword),
            ("embedding", ToolStrategy::Embedding), ("both", ToolStrategy::Both), ("llm", ToolStrategy::Llm),
        ]);
    "tool_search_max_calls", "searches for further tools in a reply; 0 hides the tool (3)", "a whole number from 0 to 50",
        |s, v| s.tool_search_max_calls, count(v, 0, 50);
    "same_tool_cap", "runs of one tool in a reply (4)", "a whole number from 1 to 50", |s, v| s.same_tool_cap, count(v, 1, 50);
    "tool_advertise_max", "tools shown to a small model when none could be picked (24)", "a whole number from 4 to 500",
        |s, v| s.tool_advertise_max, count(v, 4, 500);
    "planner_enabled", "a plan is made first (true)", "true or false", |s, v| s.planner_enabled, flag(v);
    "direct_exec", "planned steps run without the chat model where that is safe: auto, off", "auto or off",
        |s, v| s.direct_exec, word(v, &[("auto", true), ("off", false)]);
    "dialogue_window_sec", "seconds for which what was said is sent again (300)", "a number of seconds from 1 to 86400",
        |s, v| s.dialogue_window, seconds(v, 86_400);
    "dialogue_max_messages", "latest messages sent (20)", "a whole number from 2 to 200", |s, v| s.dialogue_max_messages, count(v, 2, 200);
    "tool_carryover_max_turns", "replies whose tool results are sent again (2)", "a whole number from 0 to 16",
        |s, v| s.tool_carryover_max_turns, count(v, 0, 16);
    "tool_carryover_per_entry_chars", "characters of each of them (1200)", "a whole number from 100 to 100000",
        |s, v| s.tool_carryover_per_entry_chars, count(v, 100, 100_000);
    "memory_enabled", "conversations are remembered and recalled (true)", "true or false", |s, v| s.memory_enabled, flag(v);
    "memory_source", "what is searched: all, diary, graph", "all, diary or graph",
        |s, v| s.memory_source, word(v, &[("all", MemorySource::All), ("diary", MemorySource::Diary), ("graph", MemorySource::Graph)]);
    "memory_max_results", "diary entries recalled (3)", "a whole number from 1 to 50", |s, v| s.memory_max_results, count(v, 1, 50);
    "memory_digest_enabled", "memories are condensed first (for small models)", "true, false or null",
        |s, v| s.memory_digest_enabled, flag_or_null(v);
    "tool_result_digest_enabled", "tool results are condensed first (for small models)", "true, false or null",
        |s, v| s.tool_result_digest_enabled, flag_or_null(v);
    "llm_chat_timeout_sec", "seconds for an answer (180)", "a number of seconds from 1 to 3600", |s, v| s.chat_limit, seconds(v, 3_600);
    "llm_tools_timeout_sec", "seconds to find what to recall, and at most to pick tools (30)", "a number of seconds from 1 to 3600",
        |s, v| s.tools_limit, seconds(v, 3_600);
    "planner_timeout_sec", "seconds to pick tools, for a plan, and for each of its steps (6)", "a number of seconds from 1 to 3600",
        |s, v| s.planner_limit, seconds(v, 3_600);
    "llm_digest_timeout_sec", "seconds to condense (8)", "a number of seconds from 1 to 3600", |s, v| s.digest_limit, seconds(v, 3_600);
    "llm_embed_timeout_sec", "seconds for embeddings (10)", "a number of seconds from 1 to 3600", |s, v| s.embed_limit, seconds(v, 3_600);
    "summariser_timeout_sec", "seconds for a diary entry (30)", "a number of seconds from 1 to 3600",
        |s, v| s.summariser_limit, seconds(v, 3_600);
    "diary_check_sec", "seconds between looks for something to remember (60)", "a number of seconds from 1 to 86400",
        |s, v| s.diary_check, seconds(v, 86_400);
    "exit_timeout_sec", "seconds that the end of a session waits to be remembered (45)", "a number of seconds from 1 to 3600",
        |s, v| s.exit_limit, seconds(v, 3_600);
    "location_enabled", "the model is told where the user is (true)", "true or false", |s, v| s.location_enabled, flag(v);
    "location", "where the user is (the saved place called home, or what get_my_location found)", "a text",
        |s, v| s.location, text(v);
    "cloud_fallback", "a cloud model may answer when the local one fails (false)", "true or false", |s, v| s.cloud_fallback, flag(v);
    "trace", "lines about what happens: off, brief, full (brief)", "off, brief or full",
        |s, v| s.trace, word(v, &[("off", TraceLevel::Off), ("brief", TraceLevel::Brief), ("full", TraceLevel::Full)]);
    "prompt_dump", "chat requests are written to memory/prompts of the profile (false)", "true or false",
        |s, v| s.prompt_dump, flag(v);
}

/// One of a few words. On and off may also be written as a truth value: some YAML means that by them.
fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Option<T> {
    let text = match value {
        Value::String(text) => text.trim().to_lowercase(),
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        _ => return None,
    };
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_u64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A truth value, or none: then the size of the model decides.
fn flag_or_null(value: &Value) -> Option<Option<bool>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) if matches!(text.trim(), "" | "null" | "auto") => Some(None),
        other => flag(other).map(Some),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn whole(value: &Value, min: u64, max: u64) -> Option<u64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_u64()?,
    };
    (min..=max).contains(&number).then_some(number)
}

fn count(value: &Value, min: u64, max: u64) -> Option<usize> {
    usize::try_from(whole(value, min, max)?).ok()
}

fn seconds(value: &Value, max: u64) -> Option<Duration> {
    let seconds = number(value).filter(|seconds| *seconds >= 1.0)?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (time <= Duration::from_secs(max)).then_some(time)
}
