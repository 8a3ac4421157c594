//! Calls that are not run, and what the model is told instead.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use crate::base::shared_sort::SharedSort as _;
use crate::base::text::clip;
use crate::chat::message::ToolCall;
use crate::reply::settings::ReplySettings;
use crate::reply::tools::catalogue::TOOL_SEARCH;
use crate::reply::tools::tool_set::ToolSet;

/// Successful calls that are compared with a new one.
const RECENT: usize = 5;
/// A failed call may be repeated once.
const MAX_FAILURES: usize = 2;
/// Tools named to a model that called one it does not have.
const MAX_NAMES: usize = 5;

/// The calls of one reply, so that none is made in vain.
#[derive(Debug, Default)]
pub(crate) struct CallLedger {
    /// The latest successful ones.
    successes: VecDeque<String>,
    /// How often a call has failed.
    failures: HashMap<String, usize>,
    /// How often a tool was run.
    runs: HashMap<String, usize>,
    searches: usize,
}

impl CallLedger {
    /// Why `call` is not run, for the model; `None` when it is.
    pub(crate) fn refusal(
        &self,
        call: &ToolCall,
        tools: &ToolSet,
        settings: &ReplySettings,
    ) -> Option<String> {
        let name = call.name.as_str();
        if !tools.allows(name) {
            return Some(not_allowed(name, tools));
        }
        if name == TOOL_SEARCH {
            let most = settings.tool_search_max_calls;
            return (self.searches >= most).then(|| {
                format!("Error: {TOOL_SEARCH} was already used as often as one reply may. Decide with the tools you have, or answer without one.")
            });
        }
        let signature = signature(call);
        if self.successes.contains(&signature) {
            return Some(format!(
                "{name} was already called with exactly these arguments. Use that result; it is above."
            ));
        }
        if self.failures.get(&signature).copied().unwrap_or_default() >= MAX_FAILURES {
            return Some(format!(
                "{name} has failed twice with exactly these arguments. Change them, use another tool, or tell the user what did not work."
            ));
        }
        let runs = self.runs.get(name).copied().unwrap_or_default();
        (runs >= settings.same_tool_cap).then(|| {
            format!("{name} was already run {runs} times for this reply. Answer with the results you have.")
        })
    }

    /// Counts a call that is about to run.
    pub(crate) fn start(&mut self, call: &ToolCall) {
        if call.name == TOOL_SEARCH {
            self.searches += 1;
        } else {
            *self.runs.entry(call.name.clone()).or_default() += 1;
            // Of two equal calls in one answer only the first runs.
            self.remember(signature(call));
        }
    }

    /// Takes note of how a call ended.
    pub(crate) fn finish(&mut self, call: &ToolCall, failed: bool) {
        if failed {
            let signature = signature(call);
            self.successes.retain(|recent| *recent != signature);
            *self.failures.entry(signature).or_default() += 1;
        }
    }

    fn remember(&mut self, signature: String) {
        self.successes.retain(|recent| *recent != signature);
        self.successes.push_back(signature);
        while self.successes.len() > RECENT {
            self.successes.pop_front();
        }
    }
}

fn not_allowed(name: &str, tools: &ToolSet) -> String {
    let names = tools.advertised();
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    let search = if tools.allows(TOOL_SEARCH) {
        format!(" {TOOL_SEARCH} finds others.")
    } else {
        String::new()
    };
    format!(
        "Error: \"{}\" is not among the tools for this question. There are: {}.{search}",
        clip(name, 64),
        shown.join(", ")
    )
}

/// Name and arguments, equal for calls that differ in the order of keys only.
fn signature(call: &ToolCall) -> String {
    let arguments: Value =
        serde_json::from_str(&call.args).unwrap_or_else(|_| Value::from(call.args.trim()));
    format!("{} {}", call.name, sorted(arguments))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.shared_sort_by(|a, b| a.0.cmp(&b.0));
            let entries = entries.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Object(Map::from_iter(entries))
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::{assert_has, assert_lacks};

    fn call(name: &str, args: &str) -> ToolCall {
        ToolCall::new("a", name, args)
    }

    fn tools() -> ToolSet {
        let names = ["read_note", "convert_units"].map(str::to_owned).to_vec();
        ToolSet::new(names.clone(), names, true)
    }

    fn run(ledger: &mut CallLedger, call: &ToolCall, failed: bool) {
        ledger.start(call);
        ledger.finish(call, failed);
    }

    #[test]
    fn a_tool_that_is_not_there_is_answered_with_those_that_are() {
        let refusal = CallLedger::default()
            .refusal(&call("exit_app", "{}"), &tools(), &ReplySettings::default())
            .unwrap();
        assert_has(
            &refusal,
            &["exit_app", "read_note", "convert_units", "tool_search"],
        );
    }

    #[test]
    fn five_tools_are_named_to_a_model_that_invents_one() {
        let names: Vec<String> = (1..9).map(|number| format!("tool_{number}")).collect();
        let tools = ToolSet::new(names.clone(), names, false);
        let refusal = CallLedger::default()
            .refusal(&call("fly", "{}"), &tools, &ReplySettings::default())
            .unwrap();
        assert_has(&refusal, &["tool_5"]);
        assert_lacks(&refusal, &["tool_6"]);
    }

    #[test]
    fn the_order_of_keys_does_not_make_a_call_new() {
        let mut ledger = CallLedger::default();
        let first = call("read_note", r#"{"path":"a","more":{"x":1,"y":[2]}}"#);
        let same = call("read_note", r#"{ "more": {"y":[2],"x":1}, "path":"a" }"#);
        let other = call("read_note", r#"{"path":"b"}"#);
        run(&mut ledger, &first, false);
        let refusal = |call| ledger.refusal(call, &tools(), &ReplySettings::default());
        assert!(refusal(&same).unwrap().contains("already called"));
        assert_eq!(refusal(&other), None);
    }

    #[test]
    fn a_call_is_new_again_after_five_others() {
        let mut ledger = CallLedger::default();
        let settings = ReplySettings {
            same_tool_cap: 100,
            ..ReplySettings::default()
        };
        let numbered = |n: usize| call("read_note", &format!("{{\"n\":{n}}}"));
        for n in 0..6 {
            run(&mut ledger, &numbered(n), false);
        }
        assert_eq!(ledger.refusal(&numbered(0), &tools(), &settings), None);
        for n in 1..6 {
            assert!(ledger.refusal(&numbered(n), &tools(), &settings).is_some());
        }
    }

    #[test]
    fn a_failed_call_may_be_repeated_once() {
        let mut ledger = CallLedger::default();
        let settings = ReplySettings::default();
        let broken = call("read_note", r#"{"path":"x"}"#);
        run(&mut ledger, &broken, true);
        assert_eq!(ledger.refusal(&broken, &tools(), &settings), None);
        run(&mut ledger, &broken, true);
        let refusal = ledger.refusal(&broken, &tools(), &settings).unwrap();
        assert!(refusal.contains("failed twice"), "{refusal}");
    }

    #[test]
    fn one_tool_runs_only_so_often() {
        let mut ledger = CallLedger::default();
        let settings = ReplySettings::default();
        for n in 0..settings.same_tool_cap {
            let next = call("read_note", &format!("{{\"n\":{n}}}"));
            assert_eq!(ledger.refusal(&next, &tools(), &settings), None);
            run(&mut ledger, &next, n % 2 == 0);
        }
        let next = call("read_note", "{}");
        assert!(ledger.refusal(&next, &tools(), &settings).is_some());
        let next = call("convert_units", "{}");
        assert_eq!(ledger.refusal(&next, &tools(), &settings), None);
    }

    #[test]
    fn tools_are_searched_only_so_often() {
        let mut ledger = CallLedger::default();
        let settings = ReplySettings::default();
        for _ in 0..settings.tool_search_max_calls {
            let next = call(TOOL_SEARCH, r#"{"query":"the same"}"#);
            assert_eq!(ledger.refusal(&next, &tools(), &settings), None);
            run(&mut ledger, &next, false);
        }
        let next = call(TOOL_SEARCH, r#"{"query":"another"}"#);
        let refusal = ledger.refusal(&next, &tools(), &settings).unwrap();
        assert!(refusal.contains("Decide"), "{refusal}");
    }
}
