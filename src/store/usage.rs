//! `usage.json`: lifetime totals. They are merged with the file under a lock, because two processes may end at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::cost_log;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::json::{count, number};
use crate::base::problem::{Outcome, Problem};
use crate::chat::ledger::Ledger;
use crate::chat::usage::{Tokens, Totals};
use crate::disk::atomic::{self, STATE_CAP};
use crate::disk::lock::Lock;
use crate::disk::paths::Paths;
use crate::disk::swap;

/// How long to wait for another process's write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Saves the ledger's unsaved usage in both files; returns a notice for the user if there is one.
pub(crate) fn save(ledger: &Ledger, paths: &Paths, clock: &Clock, profile: &str) -> Option<String> {
    let book = ledger.take_unsaved();
    let logged = cost_log::append(paths, profile, &book.turns);
    let saved = add(paths, clock, &book.totals);
    let lines: Vec<String> = [logged.map(|()| None), saved]
        .into_iter()
        .filter_map(|outcome| {
            outcome.unwrap_or_else(|problem| Some(format!("Usage was not recorded: {problem}")))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Totals of all sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LifetimeUsage {
    /// In US dollars.
    pub(crate) cost: f64,
    /// Model calls.
    pub(crate) turns: u64,
    /// A part of the dollars is an estimate.
    pub(crate) cost_estimated: bool,
    pub(crate) tokens: Tokens,
    /// AI credits.
    pub(crate) credits: f64,
    /// Calls and cost per model.
    pub(crate) models: BTreeMap<String, ModelSum>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ModelSum {
    /// Calls.
    pub(crate) turns: u64,
    /// US dollars.
    pub(crate) cost: f64,
    /// A part of the dollars is an estimate.
    pub(crate) cost_estimated: bool,
}

/// The totals of the file and of what the ledger has not saved yet. `None` when nothing was ever used.
///
/// # Errors
/// The file cannot be read or is not understood.
pub(crate) fn lifetime(paths: &Paths, ledger: &Ledger) -> Outcome<Option<LifetimeUsage>> {
    let path = paths.usage()?;
    let bytes = swap::read(&path, STATE_CAP)?.unwrap_or_default();
    let unsaved = ledger.unsaved().totals;
    if bytes.trim_ascii().is_empty() && unsaved == Totals::default() {
        return Ok(None);
    }
    let mut map = parsed(&bytes).ok_or_else(|| {
        Problem::config(format!("{} cannot be understood.", path.display()))
            .next("Fix it; otherwise the next use of a model moves it aside and starts at zero.")
    })?;
    merge(&mut map, &unsaved);
    let object = |key: &str| {
        map.get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    };
    let mut models: BTreeMap<String, ModelSum> = BTreeMap::new();
    let mut sum = |model: &String, change: &dyn Fn(&mut ModelSum)| {
        change(models.entry(model.clone()).or_default());
    };
    for (model, turns) in object("total_model_turns") {
        sum(model, &|sum| sum.turns = count(turns).unwrap_or_default());
    }
    for (model, cost) in object("total_model_cost") {
        sum(model, &|sum| sum.cost = number(cost).unwrap_or_default());
    }
    for (model, cost) in object("total_model_estimated_cost") {
        sum(model, &|sum| sum.cost_estimated = number(cost).is_some());
    }
    let tokens = object("total_provider_tokens").map(|(_, used)| {
        let tokens = |key: &str| used.get(key).and_then(count).unwrap_or_default();
        Tokens {
            input: tokens("input"),
            output: tokens("output"),
            cached: tokens("cached"),
            written: tokens("written"),
            reasoning: tokens("reasoning"),
            estimated: used.get("estimated") == Some(&Value::Bool(true)),
            ..Tokens::default()
        }
    });
    Ok(Some(LifetimeUsage {
        cost: map.get("total_cost").and_then(number).unwrap_or_default(),
        turns: map
            .get("total_llm_turns")
            .and_then(count)
            .unwrap_or_default(),
        cost_estimated: object("total_model_estimated_cost").next().is_some(),
        tokens: Tokens::sum(tokens),
        credits: map
            .get("total_ai_credits")
            .and_then(number)
            .unwrap_or_default(),
        models,
    }))
}

/// Adds this run's totals to the file. A corrupt file is set aside, and the new one starts with this run.
fn add(paths: &Paths, clock: &Clock, totals: &Totals) -> Outcome<Option<String>> {
    if totals == &Totals::default() {
        return Ok(None);
    }
    let path = paths.usage()?;
    let mut notice = None;
    let _lock = Lock::take(&path, LOCK_TIMEOUT, &Cancel::new())?;
    let before = atomic::read(&path, STATE_CAP)?.unwrap_or_default();
    let mut map = match parsed(&before) {
        Some(map) => map,
        None => {
            let what = format!("{} cannot be understood.", path.display());
            notice = Some(atomic::set_aside(&path, clock, &what)?);
            Map::new()
        }
    };
    merge(&mut map, totals);
    let mut bytes = serde_json::to_vec_pretty(&map)
        .map_err(|error| Problem::internal(format!("Usage cannot be written: {error}.")))?;
    bytes.push(b'\n');
    swap::write(&path, &bytes)?;
    Ok(notice)
}

/// The keys of the file; `None` when it cannot be parsed. An empty file, as left by a power failure, contains nothing that could be lost.
fn parsed(bytes: &[u8]) -> Option<Map<String, Value>> {
    if bytes.trim_ascii().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_slice(bytes).ok().filter(can_add)
}

/// Adds to the known keys; every other key stays as it is.
fn merge(map: &mut Map<String, Value>, totals: &Totals) {
    add_number(map, "total_cost", totals.cost);
    add_count(map, "total_llm_turns", totals.turns);
    add_count(map, "total_ollama_turns", totals.local_turns);
    if totals.credits > 0.0 {
        add_number(map, "total_ai_credits", totals.credits);
    }
    in_object(map, "total_provider_tokens", |providers| {
        for (provider, used) in &totals.provider_tokens {
            in_object(providers, provider, |entry| {
                add_count(entry, "input", used.input);
                add_count(entry, "output", used.output);
                add_count(entry, "cached", used.cached);
                add_count(entry, "written", used.written);
                add_count(entry, "reasoning", used.reasoning);
                if used.estimated {
                    entry.insert("estimated".to_owned(), Value::Bool(true));
                }
            });
        }
    });
    in_object(map, "total_calls", |calls| {
        totals
            .tool_calls
            .iter()
            .for_each(|(tool, count)| add_count(calls, tool, *count));
    });
    in_object(map, "total_model_turns", |turns| {
        totals
            .model_turns
            .iter()
            .for_each(|(model, count)| add_count(turns, model, *count));
    });
    let mut add_costs = |key: &str, costs: &BTreeMap<String, f64>| {
        in_object(map, key, |sums| {
            costs
                .iter()
                .for_each(|(model, cost)| add_number(sums, model, *cost));
        });
    };
    add_costs("total_model_cost", &totals.model_cost);
    if totals.cost_estimated() {
        add_costs("total_model_estimated_cost", &totals.model_estimated_cost);
    }
}

/// False when a field that should be a count or a sum has another type: adding to it would destroy it.
fn can_add(map: &Map<String, Value>) -> bool {
    let fits = |key: &str, fits: &dyn Fn(&Value) -> bool| {
        map.get(key)
            .is_none_or(|value| value.is_null() || fits(value))
    };
    let each = |value: &Value, fits: &dyn Fn(&Value) -> bool| {
        value
            .as_object()
            .is_some_and(|map| map.values().all(|value| value.is_null() || fits(value)))
    };
    let is_number = |value: &Value| number(value).is_some();
    [
        "total_cost",
        "total_llm_turns",
        "total_ollama_turns",
        "total_ai_credits",
    ]
    .iter()
    .all(|key| fits(key, &is_number))
        && [
            "total_calls",
            "total_model_turns",
            "total_model_cost",
            "total_model_estimated_cost",
        ]
        .iter()
        .all(|key| fits(key, &|value| each(value, &is_number)))
        && fits("total_provider_tokens", &|value| {
            each(value, &Value::is_object)
        })
}

/// Changes the object under `key`; any other value there is replaced by an object.
fn in_object(
    map: &mut Map<String, Value>,
    key: &str,
    change: impl FnOnce(&mut Map<String, Value>),
) {
    let mut inner = match map.remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    };
    change(&mut inner);
    map.insert(key.to_owned(), Value::Object(inner));
}

fn add_count(map: &mut Map<String, Value>, key: &str, by: u64) {
    let before = map.get(key).and_then(count).unwrap_or_default();
    map.insert(key.to_owned(), Value::from(before.saturating_add(by)));
}

fn add_number(map: &mut Map<String, Value>, key: &str, by: f64) {
    let before = map.get(key).and_then(number).unwrap_or_default();
    // JSON has no infinity.
    let sum = (before + by).clamp(f64::MIN, f64::MAX);
    map.insert(key.to_owned(), json!(sum));
}

#[cfg(test)]
mod tests {
    use super::super::cost_log::calls_since;
    use super::*;
    use crate::base::testing::assert_has;
    use crate::chat::usage::TurnUsage;
    use crate::store::home;

    /// A turn of half a dollar.
    fn turn(tokens: Tokens) -> TurnUsage {
        TurnUsage {
            provider: "p".into(),
            model: "m".into(),
            tokens,
            cost: 0.5,
            cost_estimated: false,
            plan: None,
        }
    }

    fn totals() -> Totals {
        let mut totals = Totals::default();
        let tokens = Tokens {
            input: 3,
            cached: 2,
            written: 1,
            output: 4,
            reasoning: 3,
            ..Tokens::default()
        };
        totals.add_turn(&turn(tokens), false);
        totals
    }

    fn saved(paths: &Paths) -> Value {
        serde_json::from_slice(&std::fs::read(paths.usage().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn totals_are_added_and_unknown_keys_survive() {
        let (_home, paths) = home();
        std::fs::write(
            paths.usage().unwrap(),
            r#"{"total_cost": 1.0, "theirs": [1], "total_calls": {"tree": 2}}"#,
        )
        .unwrap();
        add(&paths, &Clock::default(), &totals()).unwrap();
        add(&paths, &Clock::default(), &totals()).unwrap();
        let got = saved(&paths);
        assert_eq!(
            (
                got["total_cost"].as_f64(),
                &got["theirs"],
                got["total_llm_turns"].as_u64()
            ),
            (Some(2.0), &json!([1]), Some(2))
        );
        assert_eq!(
            got["total_provider_tokens"]["p"],
            json!({"input": 6, "output": 8, "cached": 4, "written": 2, "reasoning": 6})
        );
        assert_eq!(got.get("total_model_estimated_cost"), None);
    }

    #[test]
    fn numbers_in_other_forms_are_added_to_and_other_things_never_replaced() {
        let (_home, paths) = home();
        let file = paths.usage().unwrap();
        let odd = r#"{"total_cost": "1.5", "total_llm_turns": 7.0, "total_ollama_turns": null, "total_model_cost": {"m": "2"}}"#;
        std::fs::write(&file, odd).unwrap();
        assert_eq!(add(&paths, &Clock::default(), &totals()).unwrap(), None);
        let got = saved(&paths);
        assert_eq!(
            (&got["total_cost"], &got["total_llm_turns"]),
            (&json!(2.0), &json!(8))
        );
        assert_eq!(got["total_model_cost"]["m"], json!(2.5));
        for other in [
            r#"{"total_cost": "much"}"#,
            r#"{"total_calls": [1]}"#,
            r#"{"total_model_turns": {"m": {}}}"#,
            r#"{"total_provider_tokens": {"p": 5}}"#,
            r#"{"total_model_estimated_cost": {"m": "some"}}"#,
        ] {
            std::fs::write(&file, other).unwrap();
            let notice = add(&paths, &Clock::default(), &totals()).unwrap();
            assert!(notice.is_some_and(|n| n.contains("moved")), "{other}");
        }
    }

    #[test]
    fn estimates_stay_marked_over_a_lifetime() {
        let (_home, paths) = home();
        let mut estimated = totals();
        estimated.model_estimated_cost.insert("m".into(), 0.5);
        estimated
            .provider_tokens
            .entry("p".into())
            .or_default()
            .estimated = true;
        let ledger = Ledger::default();
        let all = || lifetime(&paths, &ledger).unwrap().unwrap();
        let flags = |all: LifetimeUsage| {
            let model = all.models["m"].cost_estimated;
            (all.cost_estimated, all.tokens.estimated, model)
        };
        add(&paths, &Clock::default(), &totals()).unwrap();
        assert_eq!(flags(all()), (false, false, false));
        add(&paths, &Clock::default(), &estimated).unwrap();
        add(&paths, &Clock::default(), &totals()).unwrap();
        assert_eq!(flags(all()), (true, true, true));
        assert_eq!((all().tokens.cached, all().tokens.reasoning), (6, 9));
    }

    #[test]
    fn calls_of_this_run_count_once_before_and_after_they_are_saved() {
        let (_home, paths) = home();
        let (ledger, clock) = (Ledger::default(), Clock::default());
        assert_eq!(lifetime(&paths, &ledger).unwrap(), None);
        std::fs::write(
            paths.usage().unwrap(),
            r#"{"total_cost": "1.5", "total_llm_turns": 7.0, "total_model_turns": {"m": "7"}, "total_model_cost": {"m": "1.5"}}"#,
        )
        .unwrap();
        let call = |ledger: &Ledger, ts: &str| {
            let tokens = Tokens {
                input: 3,
                output: 4,
                ..Tokens::default()
            };
            ledger.add_turn(turn(tokens), false, ts.to_owned());
        };
        call(&ledger, "2026-03-01T00:00:00Z");
        assert_eq!(save(&ledger, &paths, &clock, "main"), None);
        call(&ledger, "2026-03-02T00:00:00Z");
        for _ in 0..2 {
            let all = lifetime(&paths, &ledger).unwrap().unwrap();
            assert_eq!((all.models["m"].turns, all.models["m"].cost), (9, 2.5));
            assert_eq!((all.turns, all.cost, all.tokens.total()), (9, 2.5, 14));
            let since = |ts: &str| {
                let calls = calls_since(&paths, "main", &ledger, ts.parse().unwrap()).unwrap();
                Tokens::sum(calls.iter().map(|call| call.tokens)).total()
            };
            assert_eq!(
                (since("2026-03-01T00:00:00Z"), since("2026-03-01T01:00:00Z")),
                (14, 7)
            );
            assert_eq!(save(&ledger, &paths, &clock, "main"), None);
        }
    }

    #[test]
    fn a_corrupt_file_is_set_aside_and_many_writers_lose_nothing() {
        let (home, paths) = home();
        std::fs::write(paths.usage().unwrap(), "{half").unwrap();
        assert_has(
            &add(&paths, &Clock::default(), &totals()).unwrap().unwrap(),
            &["was moved to"],
        );
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    (0..5).for_each(|_| drop(add(&paths, &Clock::default(), &totals()).unwrap()));
                });
            }
        });
        let got = saved(&paths);
        assert_eq!(got["total_llm_turns"].as_u64(), Some(41));
        let kept = std::fs::read_dir(home.path())
            .unwrap()
            .filter_map(Result::ok)
            .find(|e| e.file_name().to_string_lossy().contains("corrupt"))
            .unwrap();
        assert_eq!(std::fs::read_to_string(kept.path()).unwrap(), "{half");
    }
}
