//! Calls and results of earlier replies in the form in which they are kept and sent again: without secrets, short, and never half a pair.

use serde_json::{Map, Value};

use crate::base::redact::{is_secret_field, scrub};
use crate::base::text::clip;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};
use crate::tools::output::untrusted::clip_fenced;

/// `messages` of a reply without what must not be kept: secrets, which `scrub` takes out, and fields that only their provider understands.
pub(crate) fn scrubbed(messages: Vec<Message>, scrub: &dyn Fn(&str) -> String) -> Vec<Message> {
    let scrubbed = messages.into_iter().filter_map(|message| match message {
        Message::Assistant(assistant) => Some(Message::Assistant(Assistant::new(
            scrub(&assistant.text),
            assistant
                .calls
                .into_iter()
                .map(|call| scrubbed_call(call, scrub))
                .collect(),
        ))),
        Message::Tool(output) => Some(Message::Tool(ToolOutput {
            text: scrub(&output.text),
            ..output
        })),
        Message::System { .. } | Message::User(_) => None,
    });
    scrubbed.collect()
}

fn scrubbed_call(call: ToolCall, scrub: &dyn Fn(&str) -> String) -> ToolCall {
    ToolCall {
        args: changed_arguments(&call.args, &|name, text| scrubbed_text(name, text, scrub)),
        provider_state: None,
        ..call
    }
}

/// A JSON value whose texts hold no secrets.
pub(crate) fn scrubbed_value(value: Value) -> Value {
    changed(value, None, &|name, text| scrubbed_text(name, text, &scrub))
}

/// A text without secrets. A value may say what it is only together with its name.
fn scrubbed_text(name: Option<&str>, text: &str, scrub: &dyn Fn(&str) -> String) -> String {
    if name.is_some_and(|name| is_secret_field(name, text)) {
        return "[REDACTED]".to_owned();
    }
    scrub(text)
}

/// `messages` with every long text cut to `max` characters.
pub(crate) fn shortened(messages: &[Message], max: usize) -> Vec<Message> {
    let shortened = messages.iter().map(|message| match message {
        Message::Assistant(assistant) => {
            let short = |call: &ToolCall| ToolCall {
                args: changed_arguments(&call.args, &|_, text| cut(text, max)),
                ..call.clone()
            };
            Message::Assistant(Assistant::new(
                cut(&assistant.text, max),
                assistant.calls.iter().map(short).collect(),
            ))
        }
        Message::Tool(output) => Message::Tool(ToolOutput {
            text: cut(&output.text, max),
            ..output.clone()
        }),
        other => other.clone(),
    });
    shortened.collect()
}

/// The first `max` characters. Where the cut removed the end of text from outside, that end is put back: what follows is no part of it.
pub(crate) fn cut(text: &str, max: usize) -> String {
    clip_fenced(text, max).unwrap_or_else(|| text.to_owned())
}

/// Raw arguments with `change` applied to every text in them; it gets the name of the value, if it has one.
fn changed_arguments(args: &str, change: &dyn Fn(Option<&str>, &str) -> String) -> String {
    match serde_json::from_str(args) {
        Ok(value) => changed(value, None, change).to_string(),
        Err(_) if args.trim().is_empty() => args.to_owned(),
        // Not sent as it is: what is no JSON is replaced by an empty object.
        Err(_) => change(None, args),
    }
}

fn changed(
    value: Value,
    key: Option<&str>,
    change: &dyn Fn(Option<&str>, &str) -> String,
) -> Value {
    match value {
        Value::String(text) => {
            Value::String(match serde_json::from_str::<Map<String, Value>>(&text) {
                // Some models write the arguments as a text that holds an object.
                Ok(inner) => changed(Value::Object(inner), None, change).to_string(),
                Err(_) => change(key, &text),
            })
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| changed(item, key, change));
            Value::Array(items.collect())
        }
        Value::Object(map) => {
            let entries = map.into_iter().map(|(name, value)| {
                let value = changed(value, Some(&name), change);
                (name, value)
            });
            Value::Object(entries.collect())
        }
        other => other,
    }
}

/// The tools whose last result since the user's latest message is a failure: the user may be about to correct the call. A call without a result says
/// nothing.
pub(crate) fn failed_tools(history: &[Message]) -> Vec<String> {
    let since_user = history
        .iter()
        .rposition(|message| matches!(message, Message::User(_)))
        .map_or(history, |at| history.get(at..).unwrap_or_default());
    let mut failed: Vec<String> = Vec::new();
    for message in since_user {
        if let Message::Tool(output) = message {
            failed.retain(|name| *name != output.name);
            if output.failed {
                failed.push(output.name.clone());
            }
        }
    }
    failed
}

/// What auxiliary stages see of the conversation: lines, and characters of each.
const DIALOGUE_LINES: usize = 6;
const DIALOGUE_CHARS: usize = 200;

/// The latest things that user and assistant said, the oldest first: `- role: text`, on one line each.
pub(crate) fn dialogue_lines(history: &[Message]) -> Vec<String> {
    let said = history.iter().rev().filter_map(|message| match message {
        Message::User(user) => Some(("user", &user.text)),
        Message::Assistant(assistant) => Some(("assistant", &assistant.text)),
        Message::System { .. } | Message::Tool(_) => None,
    });
    let lines = said
        .filter(|(_, text)| !text.trim().is_empty())
        .take(DIALOGUE_LINES)
        .map(|(role, text)| {
            format!(
                "- {role}: {}",
                clip(
                    &text.split_whitespace().collect::<Vec<_>>().join(" "),
                    DIALOGUE_CHARS
                )
            )
        });
    let mut lines: Vec<String> = lines.collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::output::untrusted::{self, BEGIN_EXTRACT, END_EXTRACT};
    use serde_json::json;

    pub(crate) fn call(id: &str, name: &str, args: &str) -> Message {
        Message::Assistant(Assistant::new("", vec![ToolCall::new(id, name, args)]))
    }

    pub(crate) fn result(id: &str, name: &str, text: &str, failed: bool) -> Message {
        Message::Tool(ToolOutput {
            id: id.into(),
            name: name.into(),
            text: text.into(),
            failed,
            images: Vec::new(),
        })
    }

    #[test]
    fn secrets_leave_results_and_every_kind_of_argument() {
        let kept = |args: &str| match scrubbed(vec![call("1", "x", args)], &scrub).remove(0) {
            Message::Assistant(assistant) => assistant.calls[0].args.clone(),
            other => panic!("{other:?}"),
        };
        let nested =
            json!({"to": ["mail ada@example.org"], "login": {"password": "hunter2", "n": 3}});
        assert_eq!(
            kept(&nested.to_string()),
            json!({"to": ["mail [REDACTED_EMAIL]"], "login": {"password": "[REDACTED]", "n": 3}})
                .to_string()
        );
        assert_eq!(
            kept(r#""{\"to\":\"ada@example.org\"}""#),
            r#""{\"to\":\"[REDACTED_EMAIL]\"}""#
        );
        assert_eq!(kept("to ada@example.org"), "to [REDACTED_EMAIL]");
        assert_eq!(kept(""), "");
        let kept = scrubbed(
            vec![
                result("1", "x", "Ada: ada@example.org\n2", true),
                Message::user("no"),
            ],
            &scrub,
        );
        assert_eq!(kept, [result("1", "x", "Ada: [REDACTED_EMAIL]\n2", true)]);
    }

    #[test]
    fn a_cut_closes_what_it_opened() {
        let fenced = format!("{BEGIN_EXTRACT}\nherons wade\n{END_EXTRACT}\nafter");
        assert_eq!(
            cut(&fenced, 40),
            format!("{BEGIN_EXTRACT}\nherons…\n{END_EXTRACT}")
        );
        assert_eq!(cut(&fenced, 20), "…");
        assert_eq!(
            cut(&fenced, 60),
            format!("{BEGIN_EXTRACT}\nherons wade…\n{END_EXTRACT}")
        );
        assert_eq!(cut(&fenced, 1_000), fenced);
        assert_eq!(cut("größe und mehr", 6), "größe…");
        let fenced = untrusted::fenced("https://x.test", &"word ".repeat(50));
        let closing = fenced.lines().last().unwrap();
        assert!(cut(&fenced, 200).ends_with(&format!("…\n{closing}")));
    }

    #[test]
    fn only_a_failure_that_was_not_made_up_for_is_carried_over() {
        let history = [
            Message::user("a"),
            call("0", "old", "{}"),
            result("0", "old", "no", true),
            Message::user("b"),
            call("1", "read_note", "{}"),
            result("1", "read_note", "Error: none", true),
            call("2", "web_search", "{}"),
            result("2", "web_search", "Error: it said", false),
            call("3", "notes_ls", "{}"),
            result("3", "notes_ls", "x", true),
            result("4", "notes_ls", "y", false),
            call("5", "pending", "{}"),
            Message::assistant("Hm?"),
        ];
        assert_eq!(failed_tools(&history), ["read_note"]);
        assert_eq!(failed_tools(&history[1..3]), ["old"]);
        assert_eq!(failed_tools(&[]), [] as [&str; 0]);
    }

    #[test]
    fn dialogue_lines_are_what_was_said_last() {
        let history = [
            Message::user("one"),
            Message::assistant("two\nlines"),
            call("1", "x", "{}"),
            result("1", "x", "data", false),
            Message::user("abc"),
        ];
        assert_eq!(
            dialogue_lines(&history),
            ["- user: one", "- assistant: two lines", "- user: abc"]
        );
        let long = "x".repeat(300);
        let many: Vec<Message> = (0..9)
            .map(|number| Message::user(format!("{number}{long}")))
            .collect();
        let lines = dialogue_lines(&many);
        assert_eq!(lines.len(), 6);
        assert!(lines[0].starts_with("- user: 3x"), "{}", lines[0]);
        assert!(lines[0].ends_with("x…") && lines[0].chars().count() == 8 + 201);
    }
}
