//! Hooks of the calling program: what it registers with `initialize`, and the questions to it when their events come.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::caller::Caller;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::hook_set::{DEFAULT_LIMIT, Hook, HookRunner};
use crate::tools::engine::hooks::matcher::Matcher;

/// Callbacks that a caller may register.
const MAX_CALLBACKS: usize = 1_000;

/// Asks the calling program.
struct CallbackRunner {
    caller: Arc<Caller>,
    id: String,
}

impl HookRunner for CallbackRunner {
    fn run(&self, input: &Value, limit: Duration, stop: &Cancel) -> Outcome<Value> {
        let request = json!({
            "subtype": "hook_callback",
            "callback_id": self.id,
            "input": input,
            "tool_use_id": input.get("tool_use_id"),
        });
        self.caller.ask(&request, Some(limit), stop)
    }

    fn name(&self) -> String {
        format!(
            "the callback {} of the calling program",
            escape_controls(&clip(&self.id, 60))
        )
    }
}

/// Reads `hooks` of `initialize`: `{EVENT: [{matcher, hookCallbackIds, timeout, onFailure}]}`. Events that there are none of are told and left out.
///
/// # Errors
/// It has another form, or too many callbacks.
pub(super) fn read(caller: &Arc<Caller>, hooks: &Value) -> Outcome<Vec<Hook>> {
    let mut all = Vec::new();
    let events = hooks.as_object().ok_or_else(|| no_form("is no object"))?;
    for (name, matchers) in events {
        let Some(event) = HookEvent::parse(name) else {
            say(&format!(
                "Hooks for \"{}\" are never asked: this version has no such event.",
                escape_controls(&clip(name, 60))
            ));
            continue;
        };
        let matchers = matchers.as_array();
        for matcher in matchers.ok_or_else(|| no_form("has an event without a list"))? {
            let matcher = matcher
                .as_object()
                .ok_or_else(|| no_form("has a matcher that is no object"))?;
            read_matcher(caller, event, matcher, &mut all)?;
        }
    }
    Ok(all)
}

fn read_matcher(
    caller: &Arc<Caller>,
    event: HookEvent,
    given: &Map<String, Value>,
    all: &mut Vec<Hook>,
) -> Outcome<()> {
    let matcher = match given.get("matcher") {
        None | Some(Value::Null) => Matcher::All,
        Some(Value::String(text)) => Matcher::parse(text)?,
        Some(_) => return Err(no_form("has a matcher that is no text")),
    };
    let limit = match given.get("timeout") {
        None | Some(Value::Null) => DEFAULT_LIMIT,
        Some(seconds) => (seconds.as_f64())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| no_form("has a timeout that is no number of seconds"))?,
    };
    let blocks = given.get("onFailure").and_then(Value::as_str) == Some("block");
    let ids = given.get("hookCallbackIds").and_then(Value::as_array);
    for id in ids.ok_or_else(|| no_form("has no hookCallbackIds"))? {
        let id = id.as_str();
        let id = id.ok_or_else(|| no_form("has an id of a callback that is no text"))?;
        if all.len() == MAX_CALLBACKS {
            return Err(Problem::limit(format!(
                "hooks of initialize has more than {MAX_CALLBACKS} callbacks."
            )));
        }
        let runner = CallbackRunner {
            caller: Arc::clone(caller),
            id: id.to_owned(),
        };
        let hook = Hook::new(event, matcher.clone(), Box::new(runner));
        all.push(hook.limit(limit).blocking_on_failure(blocks));
    }
    Ok(())
}

fn no_form(what: &str) -> Problem {
    Problem::input(format!("hooks of initialize {what}."))
}
