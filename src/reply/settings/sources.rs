//! Where the settings of the flow come from: `reply.json`, then the profile, then the environment. Read when the first message may take the flow.

use serde_json::{Map, Value};

use super::rows::{PREFIX, ROWS, row};
use crate::base::env::Env;
use crate::base::text::{clip, did_you_mean, escape_controls};
use crate::disk::atomic;
use crate::disk::paths::{Paths, ProfilePaths};
use crate::reply::settings::{ReplySettings, ToolStrategy};
use crate::store::preferences;

/// The largest `reply.json`, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The key of the preferences that holds the settings of a profile.
pub(crate) const SECTION: &str = "reply";

/// The settings for a profile. What is wrong with a value is told once, and the value before it stays.
pub(crate) fn load(
    env: &Env,
    paths: &Paths,
    profile: Option<&ProfilePaths>,
    warn: &mut dyn FnMut(String),
) -> ReplySettings {
    let mut settings = ReplySettings::default();
    if let Some(keys) = file(paths, warn) {
        apply(&mut settings, "reply.json", &keys, warn);
    }
    match profile.and_then(|profile| preferences::value(profile, SECTION)) {
        Some(Value::Object(keys)) => {
            apply(&mut settings, "preferences.yaml, reply", &keys, warn);
        }
        Some(_) => warn(
            "preferences.yaml: \"reply\" must hold settings, one \"key: value\" line each."
                .to_owned(),
        ),
        None => {}
    }
    environment(&mut settings, env, warn);
    let embeds = matches!(
        settings.tool_selection_strategy,
        ToolStrategy::Embedding | ToolStrategy::Both
    );
    if embeds && settings.embed_model.is_empty() {
        warn(
            "Reply flow: tools cannot be picked by embeddings without embed_model; they are picked by keyword."
                .to_owned(),
        );
        settings.tool_selection_strategy = ToolStrategy::Keyword;
    }
    settings
}

/// The keys of `reply.json`. People write it, so a broken one is left for them to fix.
fn file(paths: &Paths, warn: &mut dyn FnMut(String)) -> Option<Map<String, Value>> {
    let path = paths.reply_settings().ok()?;
    let text = match atomic::read_text(&path, MAX_FILE_BYTES) {
        Ok(text) => text?,
        Err(problem) => {
            warn(problem.one_line());
            return None;
        }
    };
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(keys)) => Some(keys),
        Ok(_) => {
            warn("reply.json must be one JSON object; none of it is used.".to_owned());
            None
        }
        Err(_) if text.trim().is_empty() => None,
        Err(error) => {
            warn(format!(
                "reply.json is not valid JSON (line {}, column {}); none of it is used.",
                error.line(),
                error.column()
            ));
            None
        }
    }
}

fn environment(settings: &mut ReplySettings, env: &Env, warn: &mut dyn FnMut(String)) {
    for row in ROWS {
        let name = row.variable();
        if let Some(text) = env.get(&name)
            && (row.set)(settings, &Value::from(text)).is_none()
        {
            warn(refused(&name, text, row.allowed));
        }
    }
    let names: Vec<String> = ROWS.iter().map(|row| row.variable()).collect();
    let unknown = env.all().filter(|(name, value)| {
        name.starts_with(PREFIX) && !value.is_empty() && !names.iter().any(|own| own == name)
    });
    for (name, _) in unknown {
        warn(unknown_key(
            "the environment",
            name,
            names.iter().map(String::as_str),
        ));
    }
}

fn apply(
    settings: &mut ReplySettings,
    source: &str,
    keys: &Map<String, Value>,
    warn: &mut dyn FnMut(String),
) {
    for (key, value) in keys {
        match row(key) {
            Some(row) => {
                if (row.set)(settings, value).is_none() && !value.is_null() {
                    let shown = match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    warn(format!("{source}: {}", refused(key, &shown, row.allowed)));
                }
            }
            None if key.contains("evaluator") => warn(format!(
                "{source}: \"{}\" has no effect: answers are not judged by a second model.",
                shown(key)
            )),
            None => warn(unknown_key(source, key, ROWS.iter().map(|row| row.key))),
        }
    }
}

fn refused(name: &str, value: &str, allowed: &str) -> String {
    format!(
        "{name} is \"{}\", but must be {allowed}; it is not used.",
        shown(value)
    )
}

fn unknown_key<'a>(source: &str, key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = did_you_mean(key, known).map_or_else(|| ".".to_owned(), |near| format!("; {near}"));
    format!("{source}: there is no setting \"{}\"{near}", shown(key))
}

fn shown(text: &str) -> String {
    escape_controls(&clip(text, 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::reply::settings::{FlowMode, SizeSetting, TraceLevel};
    use std::time::Duration;

    struct Loaded {
        settings: ReplySettings,
        warnings: Vec<String>,
    }

    fn loaded(file: &str, preferences: &str, vars: &[(&str, &str)]) -> Loaded {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap().to_owned();
        let mut all = vec![("MARVIN_CONFIG_DIR".into(), home.into())];
        all.extend(
            vars.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let env = Env::new(all);
        let paths = Paths::new(&env);
        let profile = paths.profile("main").unwrap();
        std::fs::create_dir_all(profile.dir()).unwrap();
        if !file.is_empty() {
            std::fs::write(paths.reply_settings().unwrap(), file).unwrap();
        }
        if !preferences.is_empty() {
            std::fs::write(profile.preferences(), preferences).unwrap();
        }
        let mut warnings = Vec::new();
        let settings = load(&env, &paths, Some(&profile), &mut |text| {
            warnings.push(text);
        });
        Loaded { settings, warnings }
    }

    #[test]
    fn nothing_set_is_the_default() {
        let loaded = loaded("", "", &[]);
        assert_eq!(loaded.settings, ReplySettings::default());
        assert_eq!(loaded.warnings, [] as [&str; 0]);
    }

    #[test]
    fn the_profile_beats_the_file_and_the_environment_beats_both() {
        let loaded = loaded(
            r#"{"flow": "on", "max_turns": 3, "num_ctx": 4096, "memory_digest_enabled": true, "location": "Oban", "trace": null}"#,
            "budget: any\nreply:\n  max_turns: 5\n  num_ctx: 2048\n  dialogue_window_sec: 1.5\n  flow: off\n",
            &[
                ("MARVIN_REPLY_NUM_CTX", "16384"),
                ("MARVIN_REPLY_MEMORY_DIGEST_ENABLED", "null"),
            ],
        );
        assert_eq!(loaded.warnings, [] as [&str; 0]);
        let settings = loaded.settings;
        assert_eq!(
            (
                settings.flow,
                settings.max_turns,
                settings.num_ctx,
                settings.memory_digest_enabled
            ),
            (FlowMode::Off, 5, 16_384, None)
        );
        assert_eq!(settings.dialogue_window, Duration::from_millis(1_500));
        assert_eq!(
            (settings.location.as_str(), settings.trace),
            ("Oban", TraceLevel::Brief)
        );
    }

    #[test]
    fn a_wrong_value_leaves_the_default_and_gives_one_warning() {
        let loaded = loaded(
            r#"{"flow": "maybe", "max_turns": -1, "planner_enabled": "x", "flwo": "on", "evaluator_enabled": true, "tool_selection_strategy": "magic"}"#,
            "reply: yes\n",
            &[
                ("MARVIN_REPLY_MODEL_SIZE", "huge"),
                (&format!("{PREFIX}TARCE"), "off"),
                ("MARVIN_REPLY_TRACE", ""),
            ],
        );
        assert_eq!(loaded.settings, ReplySettings::default());
        let all = loaded.warnings.join("\n");
        assert_eq!(loaded.warnings.len(), 9, "{all}");
        assert_has(
            &all,
            &[
                "reply.json: flow is \"maybe\", but must be auto, on or off",
                "max_turns is \"-1\"",
                "there is no setting \"flwo\"; did you mean \"flow\"?",
                "\"evaluator_enabled\" has no effect",
                "preferences.yaml: \"reply\"",
                "MARVIN_REPLY_MODEL_SIZE is \"huge\"",
                "\"MARVIN_REPLY_TRACE\"",
            ],
        );
    }

    #[test]
    fn embeddings_need_a_model() {
        let without = loaded(r#"{"tool_selection_strategy": "embedding"}"#, "", &[]);
        let all = without.warnings.join("\n");
        assert_eq!(
            without.settings.tool_selection_strategy,
            ToolStrategy::Keyword
        );
        assert!(all.contains("without embed_model"), "{all}");
        let with = loaded(
            r#"{"tool_selection_strategy": "embedding", "embed_model": "nomic"}"#,
            "",
            &[],
        );
        assert_eq!(
            with.settings.tool_selection_strategy,
            ToolStrategy::Embedding
        );
        assert_eq!(with.warnings, [""; 0]);
    }

    #[test]
    fn a_broken_file_is_named_and_left() {
        for (text, said) in [
            ("{\"flow\": ", "line 1"),
            ("[1]", "one JSON object"),
            (" \n", ""),
        ] {
            let loaded = loaded(text, "", &[("MARVIN_REPLY_FLOW", "ON")]);
            assert_eq!(loaded.settings.flow, FlowMode::On);
            assert_has(&loaded.warnings.concat(), &[said]);
            assert_eq!(loaded.warnings.is_empty(), said.is_empty());
        }
    }

    #[test]
    fn every_key_can_be_set_by_a_text_that_is_not_its_default() {
        let other = |key: &str| match key {
            "flow" => "on",
            "model_size" => "small",
            "tool_selection_strategy" => "keyword",
            "direct_exec" => "off",
            "memory_source" => "graph",
            "trace" => "full",
            key if key.ends_with("_model") || matches!(key, "location" | "assistant_name") => {
                "x:1b"
            }
            "thinking_enabled" | "cloud_fallback" | "prompt_dump" => "true",
            key if key.ends_with("_enabled") => "false",
            "num_ctx" | "tool_carryover_per_entry_chars" => "2000",
            _ => "7",
        };
        for row in ROWS {
            let mut settings = ReplySettings::default();
            let set = (row.set)(&mut settings, &Value::from(other(row.key)));
            assert!(
                set.is_some() && settings != ReplySettings::default(),
                "{}",
                row.key
            );
            assert!(
                (row.set)(&mut settings, &Value::from(vec![1])).is_none(),
                "{}",
                row.key
            );
        }
        let mut settings = ReplySettings::default();
        for (key, size) in [
            ("small", SizeSetting::Small),
            ("Large ", SizeSetting::Large),
        ] {
            (row("model_size").unwrap().set)(&mut settings, &Value::from(key)).unwrap();
            assert_eq!(settings.model_size, size);
        }
        assert_eq!(settings.tool_selection_strategy, ToolStrategy::Llm);
    }
}
