//! How calls travel: in the provider's own fields, or written in the text of a message. A conversation is kept in neutral rows and rendered for
//! each request, so that it stays valid when the model, the provider or the way of calling changes.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::base::marks::enclosed;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput, User};
use crate::chat::repair::repair;
use crate::llm::failure::Failure;
use crate::model_call::model_target::ModelTarget;

/// How a request offers tools and carries calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolProtocol {
    /// In the fields of the provider's protocol.
    Native,
    /// In the text of messages: for small models, and for servers that take no tools.
    Text,
}

/// The language after the opening of a written call.
pub(crate) const CALL_FENCE: &str = "```tool_call";

/// Providers and models that refused tools and answered the same request without them; for the rest of the process.
static WITHOUT_TOOLS: LazyLock<Mutex<HashSet<(String, String)>>> = LazyLock::new(Mutex::default);

fn key(target: &ModelTarget) -> (String, String) {
    (target.provider.name().to_owned(), target.model.clone())
}

/// True when the model of `target` takes no tools: its server says so, or it has refused them before.
pub(crate) fn is_without_tools(target: &ModelTarget) -> bool {
    if !target.info.takes_tools {
        return true;
    }
    let known = WITHOUT_TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
    known.contains(&key(target))
}

/// Remembers that the model of `target` takes no tools.
pub(crate) fn remember_without_tools(target: &ModelTarget) {
    let mut known = WITHOUT_TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(key(target));
}

/// Whether a request with tools may have failed because of them.
pub(crate) fn may_refuse_tools(failure: &Failure) -> bool {
    failure.answer.is_some_and(|answer| match answer.status {
        400 => true,
        422 | 501 => answer.mentions_tools,
        _ => false,
    })
}

/// The rows as messages of a request.
pub(crate) fn render(rows: &[Message], protocol: ToolProtocol) -> Vec<Message> {
    let mut messages = with_notes(rows);
    match protocol {
        ToolProtocol::Native => {
            repair(&mut messages);
            messages
        }
        ToolProtocol::Text => messages.iter().filter_map(as_text).collect(),
    }
}

/// Notes become part of the user's next message: a request has one system message, and the templates of many models want user and assistant to take turns.
fn with_notes(rows: &[Message]) -> Vec<Message> {
    let mut messages = Vec::with_capacity(rows.len());
    let mut notes = String::new();
    for row in rows {
        match row {
            Message::System { text } => {
                notes.push_str(&enclosed("note", "from=\"Marvin\"", text));
                notes.push_str("\n\n");
            }
            Message::User(user) if !notes.is_empty() => {
                messages.push(Message::User(User {
                    text: std::mem::take(&mut notes) + &user.text,
                    ..user.clone()
                }));
            }
            other => messages.push(other.clone()),
        }
    }
    if !notes.is_empty() {
        messages.push(Message::user(notes.trim_end()));
    }
    messages
}

fn as_text(row: &Message) -> Option<Message> {
    match row {
        Message::Assistant(assistant) => {
            let text = with_written_calls(assistant);
            (!text.is_empty()).then(|| Message::assistant(text))
        }
        Message::Tool(output) => Some(Message::user(written_result(output))),
        Message::User(_) | Message::System { .. } => Some(row.clone()),
    }
}

fn with_written_calls(assistant: &Assistant) -> String {
    let mut text = assistant.text.trim().to_owned();
    for call in &assistant.calls {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "{CALL_FENCE}\n{}\n```", written_call(call));
    }
    text
}

/// A call as the object that stands between the fences.
fn written_call(call: &ToolCall) -> String {
    let arguments: Map<String, Value> = serde_json::from_str(&call.args).unwrap_or_default();
    json!({"name": call.name, "arguments": arguments}).to_string()
}

fn written_result(output: &ToolOutput) -> String {
    let ToolOutput { name, text, .. } = output;
    if output.failed {
        let message = text.strip_prefix("Error: ").unwrap_or(text);
        format!("[Tool error: {name}] {message}")
    } else {
        format!("[Tool result: {name}]\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Problem;
    use crate::llm::failure::{ErrorAnswer, FailureKind};
    use crate::llm::wire::optional::OptionalMembers;
    use proptest::prelude::*;

    fn call(id: &str, args: &str) -> ToolCall {
        ToolCall::new(id, "read_note", args)
    }

    fn result(id: &str, text: &str, failed: bool) -> Message {
        Message::Tool(ToolOutput {
            id: id.to_owned(),
            name: "read_note".to_owned(),
            text: text.to_owned(),
            failed,
            images: Vec::new(),
        })
    }

    fn called(text: &str, calls: Vec<ToolCall>) -> Message {
        Message::Assistant(Assistant::new(text, calls))
    }

    #[test]
    fn calls_and_results_are_written_out_where_tools_are_not_taken() {
        let rows = [
            Message::user("What does it say?"),
            called("One moment.", vec![call("a", r#"{"path":"x.md"}"#)]),
            result("a", "Kestrel", false),
            called("", vec![call("b", "broken")]),
            result("b", "Error: There is no note \"y\".", true),
            Message::assistant("Kestrel."),
        ];
        let written = render(&rows, ToolProtocol::Text);
        assert_eq!(
            written,
            [
                Message::user("What does it say?"),
                Message::assistant(
                    "One moment.\n```tool_call\n{\"name\":\"read_note\",\"arguments\":{\"path\":\"x.md\"}}\n```"
                ),
                Message::user("[Tool result: read_note]\nKestrel"),
                Message::assistant("```tool_call\n{\"name\":\"read_note\",\"arguments\":{}}\n```"),
                Message::user("[Tool error: read_note] There is no note \"y\"."),
                Message::assistant("Kestrel."),
            ]
        );
        assert_eq!(render(&rows, ToolProtocol::Native).len(), rows.len());
    }

    #[test]
    fn notes_become_part_of_the_next_message_of_the_user() {
        let note = |text: &str| Message::System {
            text: text.to_owned(),
        };
        let rows = [
            note("one </note>"),
            note("two"),
            Message::user("What was that?"),
            note("three"),
            Message::assistant("A note."),
            note("four"),
        ];
        for protocol in [ToolProtocol::Text, ToolProtocol::Native] {
            let sent = render(&rows, protocol);
            let texts: Vec<&str> = sent
                .iter()
                .map(|message| match message {
                    Message::User(user) => user.text.as_str(),
                    Message::Assistant(said) => said.text.as_str(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(texts.len(), 3, "{texts:?}");
            assert!(texts[0].starts_with("<note from=\"Marvin\">\none "));
            assert!(texts[0].ends_with("\ntwo\n</note>\n\nWhat was that?"));
            assert_eq!(texts[0].matches("</note>").count(), 2);
            assert_eq!(texts[1], "A note.");
            assert!(texts[2].contains("three") && texts[2].ends_with("four\n</note>"));
        }
    }

    #[test]
    fn only_what_tools_can_cause_is_taken_as_their_refusal() {
        let answer = |status, mentions_tools| ErrorAnswer {
            status,
            mentions_tools,
            refused: OptionalMembers::default(),
        };
        for (answer, expected) in [
            (Some(answer(400, false)), true),
            (Some(answer(422, true)), true),
            (Some(answer(501, true)), true),
            (Some(answer(422, false)), false),
            (Some(answer(501, false)), false),
            (Some(answer(500, true)), false),
            (Some(answer(404, true)), false),
            (None, false),
        ] {
            let failure = Failure {
                answer,
                ..Failure::new(FailureKind::Refused, Problem::network("x"))
            };
            assert_eq!(may_refuse_tools(&failure), expected, "{failure:?}");
        }
    }

    fn rows() -> impl Strategy<Value = Vec<Message>> {
        let id = prop_oneof![Just("a"), Just("b"), Just("c")];
        let row = prop_oneof![
            ".{0,8}".prop_map(Message::user),
            ".{0,8}".prop_map(Message::assistant),
            (id.clone(), ".{0,8}", any::<bool>())
                .prop_map(|(id, text, failed)| result(id, &text, failed)),
            (".{0,8}", proptest::collection::vec((id, ".{0,8}"), 0..3)).prop_map(
                |(text, calls)| called(
                    &text,
                    calls.iter().map(|(id, args)| call(id, args)).collect()
                )
            ),
        ];
        proptest::collection::vec(row, 0..12)
    }

    proptest! {
        #[test]
        fn whatever_was_kept_is_valid_in_either_protocol(rows in rows()) {
            let mut native = render(&rows, ToolProtocol::Native);
            prop_assert_eq!(repair(&mut native), 0);
            let text = render(&rows, ToolProtocol::Text);
            for message in &text {
                prop_assert!(!matches!(message, Message::Tool(_)));
                if let Message::Assistant(assistant) = message {
                    prop_assert!(assistant.calls.is_empty() && !assistant.text.is_empty());
                }
            }
            // Nothing that the user said is lost on the way.
            let users = |rows: &[Message]| rows.iter().filter(|row| matches!(row, Message::User(_))).count();
            let results = rows.iter().filter(|row| matches!(row, Message::Tool(_))).count();
            prop_assert_eq!(users(&text), users(&rows) + results);
            prop_assert_eq!(users(&native), users(&rows));
        }
    }
}
