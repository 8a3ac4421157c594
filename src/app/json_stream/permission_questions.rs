//! Questions about calls to the calling program: `can_use_tool`, and what its answer changes for later calls.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::Caller;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::tools::engine::permission::call_approver::{
    CallAnswer, CallApproval, CallApprover, CallQuestion,
};
use crate::tools::engine::permission::call_facts::KnownTool;
use crate::tools::engine::permission::gate::known_tools;
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::engine::permission::rule::Rule;

/// Asks the calling program.
pub(super) struct CallerApprover(pub(super) Arc<Caller>);

impl CallApprover for CallerApprover {
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer> {
        let request = json!({
            "subtype": "can_use_tool",
            "tool_name": question.tool,
            "input": question.input,
            "tool_use_id": question.call,
            "permission_suggestions": [],
            "title": question.title,
            "description": question.description,
            "decision_reason": question.reason,
            "blocked_path": null,
        });
        let answer = self.0.ask(&request, None, stop)?;
        self.read(&answer)
    }
}

impl CallerApprover {
    fn read(&self, answer: &Value) -> Outcome<CallAnswer> {
        match answer.get("behavior").and_then(Value::as_str) {
            Some("allow") => {
                let updated_input = match answer.get("updatedInput") {
                    None | Some(Value::Null) => None,
                    Some(Value::Object(updated)) => Some(updated.clone()),
                    Some(_) => {
                        return Err(Problem::refused(
                            "The calling program allowed the call with an updatedInput that is no object, so it was not run.",
                        ));
                    }
                };
                let mut approval = CallApproval {
                    updated_input,
                    ..CallApproval::default()
                };
                let updates = answer.get("updatedPermissions").and_then(Value::as_array);
                for update in updates.into_iter().flatten() {
                    if let Err(problem) = self.update(update, &mut approval) {
                        say(&format!(
                            "A change of permissions is ignored: {}",
                            problem.one_line()
                        ));
                    }
                }
                Ok(CallAnswer::Allow(approval))
            }
            Some("deny") => Ok(CallAnswer::Deny {
                message: text(answer, "message").to_owned(),
                interrupt: answer.get("interrupt") == Some(&Value::Bool(true)),
            }),
            _ => Err(Problem::refused(
                "The calling program answered neither allow nor deny, so the call was not run.",
            )),
        }
    }

    /// One change of permissions, for the rest of the run.
    fn update(&self, update: &Value, approval: &mut CallApproval) -> Outcome<()> {
        let destination = text(update, "destination");
        if destination != "session" {
            return Err(Problem::input(format!(
                "its destination is \"{destination}\", and nothing is written for a caller but in the session."
            )));
        }
        match text(update, "type") {
            "setMode" => approval.mode = Some(PermissionMode::parse(text(update, "mode"))?),
            "addRules" => {
                let rules = self.rules(update.get("rules"))?;
                match text(update, "behavior") {
                    "allow" => approval.allow.extend(rules),
                    "deny" => approval.deny.extend(rules),
                    other => {
                        return Err(Problem::input(format!(
                            "rules of the behavior \"{other}\" cannot be added."
                        )));
                    }
                }
            }
            other => {
                return Err(Problem::input(format!(
                    "\"{other}\" is no change that is known."
                )));
            }
        }
        Ok(())
    }

    fn rules(&self, rules: Option<&Value>) -> Outcome<Vec<Rule>> {
        let known = known_tools(&self.0.session.registry().all());
        let rules = rules.and_then(Value::as_array).into_iter().flatten();
        rules.map(|rule| added_rule(rule, &known)).collect()
    }
}

/// A rule of the calling program. Its content may be a command that the model wrote, so it is taken whole and not read as a list of rules.
fn added_rule(rule: &Value, known: &[KnownTool]) -> Outcome<Rule> {
    let content = match rule.get("ruleContent") {
        None | Some(Value::Null) => None,
        Some(content) => Some(content.as_str().unwrap_or_default()),
    };
    if content.is_some_and(|content| content.trim().is_empty()) {
        return Err(Problem::input(
            "a rule with an empty ruleContent is about nothing; without ruleContent it is about every call of the tool.",
        ));
    }
    let rule = Rule::new(text(rule, "toolName"), content, known)?;
    // A Marvin that this one starts gets it in a list.
    match Rule::parse_list(rule.text(), known)?.as_slice() {
        [again] if again.text() == rule.text() => Ok(rule),
        _ => Err(Problem::input(
            "a rule whose ruleContent has parentheses that do not fit together cannot be kept.",
        )),
    }
}

/// Sets the permission mode from the next call on.
///
/// # Errors
/// There is none of that name, or it cannot be chosen here: the words for the caller.
pub(super) fn set_mode(
    caller: &Arc<Caller>,
    request: &Map<String, Value>,
) -> Result<Value, String> {
    let word = request.get("mode").and_then(Value::as_str);
    let mode = PermissionMode::parse(word.unwrap_or_default());
    let set = mode.and_then(|mode| caller.session.permissions.set_mode(mode));
    set.map(|()| json!({}))
        .map_err(|problem| problem.one_line())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::json_stream::control;
    use crate::app::json_stream::line_writer::LineWriter;
    use crate::base::env::Env;
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::permission::call_facts::SubjectKind;
    use crate::tools::engine::policy::ToolPolicy;

    #[test]
    fn a_change_of_permissions_is_kept_for_the_session_and_nowhere_else() {
        let writer = Arc::new(LineWriter::to(std::io::sink(), Cancel::new()));
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        let caller = Caller::new(writer, Arc::new(session), control::answer);
        let approver = CallerApprover(caller);
        for (destination, mode) in [
            (json!("session"), Some(PermissionMode::Plan)),
            (json!("userSettings"), None),
            (json!(""), None),
            (Value::Null, None),
        ] {
            let mut update = json!({"type": "setMode", "mode": "plan"});
            if !destination.is_null() {
                update["destination"] = destination.clone();
            }
            let answer = json!({"behavior": "allow", "updatedPermissions": [update]});
            let Ok(CallAnswer::Allow(approval)) = approver.read(&answer) else {
                panic!("{answer}");
            };
            assert_eq!(approval.mode, mode, "{destination}");
        }
    }

    #[test]
    fn a_rule_of_the_caller_is_one_rule_whatever_its_content_says() {
        let known = [KnownTool {
            name: "run_command".to_owned(),
            subject: Some(SubjectKind::Command),
        }];
        let read = |content: Value| {
            let rule = json!({"toolName": "Bash", "ruleContent": content});
            added_rule(&rule, &known).map(|rule| rule.text().to_owned())
        };
        for (content, text) in [
            (Value::Null, "Bash"),
            (json!("git status"), "Bash(git status)"),
            (json!("echo (a)"), "Bash(echo (a))"),
            (json!("git log:*"), "Bash(git log:*)"),
        ] {
            assert_eq!(read(content).unwrap(), text);
        }
        // What the model wrote must not become a second rule, and nothing is not everything.
        for content in [
            "echo a), run_command(curl:*",
            "echo a) Bash",
            "a)",
            "(a",
            "",
            " ",
        ] {
            assert!(read(json!(content)).is_err(), "{content}");
        }
    }
}
