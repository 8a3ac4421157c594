//! The cost line at the end of standard error.

use serde_json::{Map, Value};

/// The parsed `MARVIN_COST:` line.
#[derive(Debug)]
pub struct Cost {
    pub session_cost: f64,
    pub llm_turns: u64,
    pub model_turns: Map<String, Value>,
    pub model_cost: Map<String, Value>,
}

impl Cost {
    /// Takes the cost line off the end of `errors`; fails the test unless it appears once, at the end, with exactly its keys.
    pub fn last_line(errors: &str) -> Self {
        let mark = "MARVIN_COST:";
        let count = errors.lines().filter(|l| l.starts_with(mark)).count();
        assert_eq!(count, 1, "not exactly one cost line in:\n{errors}");
        assert!(
            errors.ends_with('\n'),
            "the last line is not ended:\n{errors}"
        );
        let last = errors.lines().last().and_then(|l| l.strip_prefix(mark));
        let last = last.unwrap_or_else(|| panic!("the cost line is not the last in:\n{errors}"));
        let value: Value = serde_json::from_str(last).expect("JSON after MARVIN_COST:");
        let mut keys: Vec<_> = value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        keys.sort();
        assert_eq!(
            keys,
            ["llm_turns", "model_cost", "model_turns", "session_cost"]
        );
        let map = |key: &str| value[key].as_object().expect("a map").clone();
        Self {
            session_cost: value["session_cost"].as_f64().expect("a number"),
            llm_turns: value["llm_turns"].as_u64().expect("a whole number"),
            model_turns: map("model_turns"),
            model_cost: map("model_cost"),
        }
    }
}
