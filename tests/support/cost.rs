//! The cost line at the end of standard error.

use serde_json::{Map, Value};

/// The parsed `MARVIN_COST:` line.
#[derive(Debug)]
pub struct Cost {
    pub session_cost: f64,
    pub llm_turns: u64,
    pub model_turns: Map<String, Value>,
    pub model_cost: Map<String, Value>,
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub reasoning: u64,
    pub output: u64,
    pub estimated: bool,
}

/// The keys in their order.
const KEYS: [&str; 10] = [
    "session_cost",
    "llm_turns",
    "model_turns",
    "model_cost",
    "input_tokens",
    "cached_tokens",
    "written_tokens",
    "reasoning_tokens",
    "output_tokens",
    "estimated",
];

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
        let keys: Vec<_> = value.as_object().expect("an object").keys().collect();
        assert_eq!(keys, KEYS);
        let count = |key: &str| value[key].as_u64().expect("a whole number");
        let map = |key: &str| value[key].as_object().expect("a map").clone();
        Self {
            session_cost: value["session_cost"].as_f64().expect("a number"),
            llm_turns: count("llm_turns"),
            model_turns: map("model_turns"),
            model_cost: map("model_cost"),
            input: count("input_tokens"),
            cached: count("cached_tokens"),
            written: count("written_tokens"),
            reasoning: count("reasoning_tokens"),
            output: count("output_tokens"),
            estimated: value["estimated"].as_bool().expect("true or false"),
        }
    }
}
