//! Questions about calls to the client, with what they would change.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::client::{Client, error_words};
use super::tool_call::{self, ShownCall, set};
use super::updates::Updates;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{breaks_shown, escape_controls};
use crate::chat::event::NullSink;
use crate::chat::message::ToolCall;
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::permission::call_approver::{
    CallAnswer, CallApproval, CallApprover, CallQuestion,
};
use crate::tools::engine::permission::gate::known_tools;
use crate::tools::engine::permission::rule::Rule;
use crate::tools::engine::preview::preview;

/// Asks the client.
pub(super) struct ClientApprover {
    pub(super) client: Arc<Client>,
    pub(super) session: Arc<str>,
    pub(super) context: Arc<SessionContext>,
    pub(super) updates: Arc<Updates>,
    /// Commands that run from now on and that no rule says exactly.
    pub(super) always: Mutex<HashSet<String>>,
}

impl CallApprover for ClientApprover {
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer> {
        let shown = self.shown(question);
        // Where the arguments read differently once more, a rule made of them would be about another call.
        let is_shown = shown.has_input(&question.input);
        let rule = is_shown.then(|| self.rule(&shown)).flatten();
        let command = shown.command.as_ref().filter(|_| is_shown);
        if command.is_some_and(|command| self.always().contains(command)) {
            return Ok(CallAnswer::Allow(CallApproval::default()));
        }
        let mut options =
            vec![json!({"optionId": "once", "name": "Allow once", "kind": "allow_once"})];
        if rule.is_some() || command.is_some() {
            let name = match shown.command {
                Some(_) => "Always allow this command".to_owned(),
                None => format!("Always allow {}", shown.tool),
            };
            options.push(json!({"optionId": "always", "name": name, "kind": "allow_always"}));
        }
        options.push(json!({"optionId": "no", "name": "Reject", "kind": "reject_once"}));
        let fields = self.fields(&shown, question, stop)?;
        let (kind, option) = self.selected(&question.call, fields, &json!(options), stop)?;
        Ok(match (kind.as_deref(), option.as_deref(), rule) {
            (Some("selected"), Some("once"), _) => CallAnswer::Allow(CallApproval::default()),
            (Some("selected"), Some("always"), Some(rule)) => CallAnswer::Allow(CallApproval {
                allow: vec![rule],
                ..CallApproval::default()
            }),
            (Some("selected"), Some("always"), None) if command.is_some() => {
                self.always().extend(command.cloned());
                CallAnswer::Allow(CallApproval::default())
            }
            (kind, ..) => denied(kind),
        })
    }

    /// In a conversation a command is asked about, or it is fenced.
    fn wants_fenced_commands(&self) -> bool {
        false
    }

    fn ask_outside(
        &self,
        call: &str,
        request: &ApprovalRequest,
        stop: &Cancel,
    ) -> Option<Outcome<CallAnswer>> {
        let known = self.updates.call(call);
        let id = known.map_or_else(|| call.to_owned(), |known| known.id);
        let command = request.shown_subject();
        let title = format!("Run outside the sandbox: {}", breaks_shown(&command));
        let mut content = vec![tool_call::verbatim("sh", &command)];
        if let Some(reason) = request.reason() {
            content.push(tool_call::text("The model's reason:"));
            content.push(tool_call::verbatim("", reason));
        }
        let fields = json!({
            "toolCallId": id,
            "title": title,
            "kind": "execute",
            "rawInput": {"command": command},
            "content": content,
        });
        let options = json!([
            {"optionId": "once", "name": "Run outside the sandbox once", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]);
        let answer = self.selected(call, fields, &options, stop);
        Some(answer.map(
            |(kind, option)| match (kind.as_deref(), option.as_deref()) {
                (Some("selected"), Some("once")) => CallAnswer::Allow(CallApproval::default()),
                (kind, _) => denied(kind),
            },
        ))
    }
}

/// What an answer means that allows nothing.
fn denied(kind: Option<&str>) -> CallAnswer {
    match kind {
        Some("cancelled") => CallAnswer::Deny {
            message: "The user stopped the turn.".to_owned(),
            interrupt: true,
        },
        _ => CallAnswer::Deny {
            message: "The user declined.".to_owned(),
            interrupt: false,
        },
    }
}

impl ClientApprover {
    fn always(&self) -> MutexGuard<'_, HashSet<String>> {
        self.always.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks about the call with the provider's id `call`, and returns the kind of the outcome with the option.
    fn selected(
        &self,
        call: &str,
        fields: Value,
        options: &Value,
        stop: &Cancel,
    ) -> Outcome<(Option<String>, Option<String>)> {
        self.updates.asked(call, &fields);
        let method = "session/request_permission";
        let params = json!({"sessionId": &*self.session, "toolCall": fields, "options": options});
        let answer = self.client.ask(&self.session, method, &params, stop)?;
        let outcome = answer.map_err(|error| {
            Problem::refused(format!(
                "The editor could not ask about the call: {}",
                error_words(&error)
            ))
        })?;
        let outcome = outcome.get("outcome").unwrap_or(&Value::Null);
        let text = |key: &str| outcome.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok((text("outcome"), text("optionId")))
    }

    /// The call that would run, which is not always what the model wrote: a hook may have changed it, and a child's call may have the id of another.
    fn shown(&self, question: &CallQuestion) -> ShownCall {
        let known = self.updates.call(&question.call);
        let known = known.filter(|known| known.tool == question.tool);
        let id = known.map_or_else(|| question.call.clone(), |known| known.id);
        let args = Value::Object(question.input.clone()).to_string();
        let call = ToolCall::new(&question.call, &question.tool, args);
        ShownCall::new(&self.context, &self.updates.paths(), id, &call)
    }

    /// What is asked about, with the change of an edit, a whole command, and why a hook wants it asked.
    ///
    /// # Errors
    /// It would fail, as far as can be told without doing it: nobody need be asked about it.
    fn fields(&self, shown: &ShownCall, question: &CallQuestion, stop: &Cancel) -> Outcome<Value> {
        let mut fields = shown.fields();
        if !shown.has_input(&question.input) {
            set(&mut fields, "title", json!(question.title));
            set(&mut fields, "rawInput", json!(question.input));
            set(&mut fields, "locations", json!([]));
        }
        let listener = Arc::new(NullSink);
        let ctx = ToolContext::new(Arc::clone(&self.context), stop.clone(), listener);
        let mut content = Vec::new();
        if question.is_by_hook {
            let reason = escape_controls(&question.reason);
            content.push(tool_call::verbatim("", &reason));
        }
        match (
            preview(&ctx, &question.tool, &question.input)?,
            &shown.command,
        ) {
            (Some(change), _) => {
                content.extend(tool_call::diffs(&change, &self.updates.paths()));
            }
            // Its title says it too, but some clients cut that off, or render it as Markdown.
            (None, Some(command)) => {
                content.push(tool_call::verbatim("sh", &escape_controls(command)));
            }
            (None, None) => {}
        }
        if !content.is_empty() {
            set(&mut fields, "content", Value::Array(content));
        }
        Ok(fields)
    }

    /// The rule that lets such calls run from now on: exactly this command, or this tool. None where no rule says just that.
    fn rule(&self, shown: &ShownCall) -> Option<Rule> {
        let known = known_tools(&self.context.registry().all());
        let rule = Rule::new(&shown.tool, shown.command.as_deref(), &known).ok()?;
        let Some(command) = &shown.command else {
            return Some(rule);
        };
        // A star at the end would let other commands run too; and a child has to read the same in its environment.
        let is_exact = !command.trim_end().ends_with('*');
        let again = Rule::parse_list(rule.text(), &known).ok()?;
        let is_readable = matches!(again.as_slice(), [again] if again.text() == rule.text());
        (is_exact && is_readable).then_some(rule)
    }
}
