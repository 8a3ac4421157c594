//! What a hook answers: a JSON object, read leniently in what it leaves out and strictly in what it says.

use serde_json::{Map, Value};

use super::event::HookEvent;
use super::hook_set::HookOrigin;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// Characters of a hook's text that reach a model or the user.
const MAX_TEXT: usize = 10_000;

/// What a hook says of a call. The order is that of precedence among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HookDecision {
    Allow,
    Ask,
    Deny,
}

/// The answer of one hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookOutput {
    /// Whose hook it is.
    pub origin: HookOrigin,
    /// The turn ends, for this reason.
    pub end: Option<String>,
    /// For the user.
    pub notice: Option<String>,
    /// What was about to happen does not, for this reason.
    pub block: Option<String>,
    /// What becomes of the call, and why.
    pub decision: Option<(HookDecision, String)>,
    /// The arguments that the call gets instead of its own.
    pub updated_input: Option<Map<String, Value>>,
    /// For the model.
    pub context: Option<String>,
}

impl HookOutput {
    /// Reads the answer to an event. One that objects does so whatever else is in it.
    ///
    /// # Errors
    /// It is no object, or one of its members is nothing that it may be.
    pub(crate) fn read(event: HookEvent, answer: &Value) -> Outcome<Self> {
        Self::whole(event, answer)
            .or_else(|problem| Self::objection(event, answer, &problem).ok_or(problem))
    }

    /// What an answer that cannot be used whole objects to, if it does.
    fn objection(event: HookEvent, answer: &Value, problem: &Problem) -> Option<Self> {
        let answer = answer.as_object()?;
        let says = |of: &Map<String, Value>, key: &str, word: &str| {
            of.get(key).and_then(Value::as_str) == Some(word)
        };
        let reason = |of: &Map<String, Value>, key: &str| {
            let reason = text(of, key).ok().flatten();
            reason.unwrap_or_default()
        };
        let is_call = event == HookEvent::PreToolUse;
        let own = answer.get("hookSpecificOutput").and_then(Value::as_object);
        let denial = own.filter(|own| is_call && says(own, "permissionDecision", "deny"));
        let denial = denial.map(|own| reason(own, "permissionDecisionReason"));
        let block = says(answer, "decision", "block").then(|| reason(answer, "reason"));
        let end = answer.get("continue") == Some(&Value::Bool(false));
        let output = Self {
            end: end.then(|| reason(answer, "stopReason")),
            block: block.clone().filter(|_| !is_call),
            decision: denial
                .or(block)
                .filter(|_| is_call)
                .map(|reason| (HookDecision::Deny, reason)),
            notice: Some(format!(
                "Of a hook's answer to {} only the objection counts: {}",
                event.name(),
                problem.one_line()
            )),
            ..Self::default()
        };
        let objects = output.end.is_some() || output.block.is_some() || output.decision.is_some();
        objects.then_some(output)
    }

    fn whole(event: HookEvent, answer: &Value) -> Outcome<Self> {
        let answer = match answer {
            Value::Null => return Ok(Self::default()),
            Value::Object(answer) => answer,
            _ => return Err(nonsense("it is no JSON object")),
        };
        let reason = text(answer, "reason")?.unwrap_or_default();
        let mut output = Self {
            end: match answer.get("continue") {
                Some(Value::Bool(false)) => Some(text(answer, "stopReason")?.unwrap_or_default()),
                None | Some(Value::Null | Value::Bool(true)) => None,
                Some(_) => return Err(nonsense("continue is neither true nor false")),
            },
            notice: text(answer, "systemMessage")?,
            ..Self::default()
        };
        match text(answer, "decision")?.as_deref() {
            None => {}
            Some("block") if event == HookEvent::PreToolUse => {
                output.decision = Some((HookDecision::Deny, reason));
            }
            Some("block") => output.block = Some(reason),
            Some("approve") if event == HookEvent::PreToolUse => {
                output.decision = Some((HookDecision::Allow, reason));
            }
            Some("approve") => {}
            Some(other) => return Err(no_word("decision", other)),
        }
        match answer.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(own)) => output.specific(event, own)?,
            Some(_) => return Err(nonsense("hookSpecificOutput is no object")),
        }
        Ok(output)
    }

    /// What only answers to one event have.
    fn specific(&mut self, event: HookEvent, own: &Map<String, Value>) -> Outcome<()> {
        if let Some(name) = text(own, "hookEventName")?
            && name != event.name()
        {
            return Err(nonsense(&format!(
                "its hookSpecificOutput is for {}",
                escape_controls(&clip(&name, 40))
            )));
        }
        self.context = text(own, "additionalContext")?;
        if event != HookEvent::PreToolUse {
            return Ok(());
        }
        let reason = text(own, "permissionDecisionReason")?.unwrap_or_default();
        let decision = match text(own, "permissionDecision")?.as_deref() {
            None => None,
            Some("allow") => Some(HookDecision::Allow),
            Some("ask") => Some(HookDecision::Ask),
            Some("deny") => Some(HookDecision::Deny),
            Some(other) => return Err(no_word("permissionDecision", other)),
        };
        // Of two words the stricter one counts.
        if let Some(decision) = decision
            && (self.decision.as_ref()).is_none_or(|(earlier, _)| *earlier <= decision)
        {
            self.decision = Some((decision, reason));
        }
        self.updated_input = match own.get("updatedInput") {
            None | Some(Value::Null) => None,
            Some(Value::Object(input)) => Some(input.clone()),
            Some(_) => return Err(nonsense("updatedInput is no object")),
        };
        Ok(())
    }
}

/// A text that is there and says something, cut and without control characters.
fn text(of: &Map<String, Value>, key: &str) -> Outcome<Option<String>> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(escape_controls(clip(text, MAX_TEXT).trim()))),
        Some(_) => Err(nonsense(&format!("{key} is no text"))),
    }
}

fn no_word(key: &str, word: &str) -> Problem {
    let word = escape_controls(&clip(word, 40));
    nonsense(&format!("{key} cannot be \"{word}\""))
}

fn nonsense(why: &str) -> Problem {
    Problem::input(format!("The answer cannot be used: {why}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(answer: Value) -> Outcome<HookOutput> {
        HookOutput::read(HookEvent::PreToolUse, &answer)
    }

    #[test]
    fn an_answer_is_read_member_by_member() {
        let whole = json!({"continue": false, "stopReason": "Enough.", "systemMessage": "Look\u{1b}!", "suppressOutput": true,
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "No rm.",
            "updatedInput": {"command": "ls"}, "additionalContext": " Mind the gap. "}});
        let output = read(whole).unwrap();
        assert_eq!(output.end.as_deref(), Some("Enough."));
        assert_eq!(output.notice.as_deref(), Some("Look\\x1b!"));
        assert_eq!(
            output.decision,
            Some((HookDecision::Deny, "No rm.".to_owned()))
        );
        assert_eq!(output.updated_input.unwrap()["command"], Value::from("ls"));
        assert_eq!(output.context.as_deref(), Some("Mind the gap."));
        for nothing in [
            json!({}),
            json!(null),
            json!({"continue": true}),
            json!({"async": true}),
            json!({"systemMessage": ""}),
        ] {
            assert_eq!(read(nothing).unwrap(), HookOutput::default());
        }
        let long = read(json!({"systemMessage": "é".repeat(20_000)})).unwrap();
        assert!(long.notice.unwrap().chars().count() <= MAX_TEXT + 1);
    }

    #[test]
    fn the_older_words_mean_the_same() {
        let answer = json!({"decision": "block", "reason": "No."});
        let denied = read(answer.clone()).unwrap();
        assert_eq!(
            denied.decision,
            Some((HookDecision::Deny, "No.".to_owned()))
        );
        let blocked = HookOutput::read(HookEvent::Stop, &answer).unwrap();
        assert_eq!(blocked.block.as_deref(), Some("No."));
        assert_eq!(blocked.decision, None);
        let allowed = read(json!({"decision": "approve"})).unwrap();
        assert_eq!(allowed.decision, Some((HookDecision::Allow, String::new())));
    }

    #[test]
    fn of_an_older_and_a_newer_word_the_stricter_one_counts() {
        use HookDecision::{Allow, Ask, Deny};
        for (older, newer, expected) in [
            ("block", "allow", (Deny, "older")),
            ("block", "ask", (Deny, "older")),
            ("block", "deny", (Deny, "newer")),
            ("approve", "deny", (Deny, "newer")),
            ("approve", "ask", (Ask, "newer")),
            ("approve", "allow", (Allow, "newer")),
        ] {
            let answer = json!({"decision": older, "reason": "older",
                "hookSpecificOutput": {"permissionDecision": newer, "permissionDecisionReason": "newer"}});
            let (decision, reason) = read(answer).unwrap().decision.unwrap();
            assert_eq!((decision, reason.as_str()), expected, "{older} {newer}");
        }
    }

    #[test]
    fn an_objection_counts_beside_nonsense() {
        for answer in [
            json!({"decision": "block", "reason": "No.", "systemMessage": 5}),
            json!({"decision": "block", "reason": "No.", "hookSpecificOutput": []}),
            json!({"systemMessage": 5, "hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "No."}}),
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "No.", "updatedInput": 5}}),
        ] {
            let output = read(answer.clone()).unwrap();
            let denial = Some((HookDecision::Deny, "No.".to_owned()));
            assert_eq!(output.decision, denial, "{answer}");
            assert!(output.notice.is_some() && output.block.is_none());
        }
        let answer = json!({"decision": "block", "reason": 7, "systemMessage": 5});
        let blocked = HookOutput::read(HookEvent::Stop, &answer).unwrap();
        assert_eq!(blocked.block.as_deref(), Some(""));
        let ended = read(json!({"continue": false, "stopReason": 5})).unwrap();
        assert_eq!(ended.end.as_deref(), Some(""));
        // What agrees is not taken from nonsense.
        assert!(read(json!({"decision": "approve", "systemMessage": 5})).is_err());
    }

    #[test]
    fn nonsense_is_said_to_be_nonsense() {
        for (answer, words) in [
            (json!([1]), "no JSON object"),
            (json!("deny"), "no JSON object"),
            (json!({"continue": "no"}), "continue"),
            (json!({"decision": "perhaps"}), "\"perhaps\""),
            (json!({"decision": 3}), "no text"),
            (json!({"hookSpecificOutput": []}), "no object"),
            (
                json!({"hookSpecificOutput": {"hookEventName": "Stop"}}),
                "for Stop",
            ),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "defer"}}),
                "\"defer\"",
            ),
            (
                json!({"hookSpecificOutput": {"updatedInput": "ls"}}),
                "updatedInput",
            ),
        ] {
            let problem = read(answer.clone()).unwrap_err().one_line();
            assert!(problem.contains(words), "{answer}: {problem}");
        }
    }
}
