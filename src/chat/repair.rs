//! Repairs a conversation before it is sent: every call has one result, every result its call.

use std::collections::HashSet;

use super::message::{Message, ToolOutput};

/// The result given to a call whose own was lost.
const LOST_RESULT: &str =
    "Error: this call was interrupted and has no result. Call the tool again if you still need it.";

/// Makes a conversation acceptable to providers: drops results without a call, repeated results for one id and empty assistant messages, answers
/// calls whose result was lost, and replaces argument text that is not JSON by `{}`. One such row in the history makes every later request fail.
///
/// Returns how many repairs were made; a conversation in order costs one pass and no allocation for its messages.
pub(crate) fn repair(messages: &mut Vec<Message>) -> usize {
    if in_order(messages) {
        return 0;
    }
    let mut repairs = 0;
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut rest = std::mem::take(messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Tool(_) => repairs += 1,
            Message::Assistant(mut assistant) => {
                let mut seen = HashSet::new();
                let before = assistant.calls.len();
                assistant.calls.retain(|call| seen.insert(call.id.clone()));
                repairs += before - assistant.calls.len();
                for call in &mut assistant.calls {
                    if !is_json(&call.args) {
                        call.args = "{}".to_owned();
                        repairs += 1;
                    }
                }
                let mut results: Vec<ToolOutput> = Vec::new();
                while let Some(Message::Tool(output)) =
                    rest.next_if(|next| matches!(next, Message::Tool(_)))
                {
                    let wanted =
                        seen.contains(&output.id) && !results.iter().any(|r| r.id == output.id);
                    if wanted {
                        results.push(output);
                    } else {
                        repairs += 1;
                    }
                }
                if assistant.text.is_empty() && assistant.calls.is_empty() {
                    repairs += 1;
                    continue;
                }
                let calls: Vec<(String, String)> = assistant
                    .calls
                    .iter()
                    .map(|c| (c.id.clone(), c.name.clone()))
                    .collect();
                out.push(Message::Assistant(assistant));
                for (id, name) in calls {
                    let result = results
                        .iter()
                        .position(|r| r.id == id)
                        .map(|at| results.swap_remove(at));
                    out.push(Message::Tool(result.unwrap_or_else(|| {
                        repairs += 1;
                        ToolOutput::failed(id, name, LOST_RESULT.to_owned())
                    })));
                }
            }
            other => out.push(other),
        }
    }
    *messages = out;
    repairs
}

/// True when nothing needs repair.
fn in_order(messages: &[Message]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(output) => match open.first() {
                Some(id) if *id == output.id => {
                    open.remove(0);
                }
                _ => return false,
            },
            _ if !open.is_empty() => return false,
            Message::Assistant(assistant) => {
                if assistant.text.is_empty() && assistant.calls.is_empty()
                    || assistant.calls.iter().any(|c| !is_json(&c.args))
                {
                    return false;
                }
                open = assistant
                    .calls
                    .iter()
                    .map(|call| call.id.as_str())
                    .collect();
                let unique: HashSet<&&str> = open.iter().collect();
                if unique.len() != open.len() {
                    return false;
                }
            }
            Message::System { .. } | Message::User(_) => {}
        }
    }
    open.is_empty()
}

fn is_json(text: &str) -> bool {
    text == "{}" || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Where a conversation of more than `cap` messages can be cut so that at most `cap` remain: at a user message, never between a call and its
/// result. Calls and their results do not count: a turn of many rounds is one answer. `None` when it is short enough or has no such place.
pub(crate) fn cut_for_cap(messages: &[Message], cap: usize) -> Option<usize> {
    let counts = |message: &Message| match message {
        Message::Tool(_) => false,
        Message::Assistant(assistant) => assistant.calls.is_empty(),
        Message::System { .. } | Message::User(_) => true,
    };
    let counted = messages.iter().enumerate();
    let counted: Vec<usize> = counted
        .filter(|(_, message)| counts(message))
        .map(|(at, _)| at)
        .collect();
    let least = counted.len().checked_sub(cap).filter(|over| *over > 0)?;
    let user_from = |from: usize| {
        let mut later = counted.iter().skip(from).copied();
        later.find(|at| matches!(messages.get(*at), Some(Message::User(_))))
    };
    // More than necessary: each cut costs what the provider has cached of the conversation.
    user_from(least + cap / 4).or_else(|| user_from(least))
}

/// A tool name that every provider accepts: letters, digits, `_` and `-`, at most 64. A model may invent any name, and an invalid one in the history
/// would make every later request fail.
pub(crate) fn sendable_name(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    name.chars().take(64).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolCall};

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "tree", "{}")
    }

    fn asks(ids: &[&str]) -> Message {
        Message::Assistant(Assistant::new("", ids.iter().map(|id| call(id)).collect()))
    }

    fn answer(id: &str) -> Message {
        Message::Tool(ToolOutput::ok(id, "tree", "ok"))
    }

    #[test]
    fn a_conversation_in_order_is_left_alone() {
        let mut talk = vec![
            Message::user("a"),
            asks(&["1", "2"]),
            answer("1"),
            answer("2"),
            Message::assistant("b"),
        ];
        let before = talk.clone();
        assert_eq!(repair(&mut talk), 0);
        assert_eq!(talk, before);
    }

    #[test]
    fn orphans_and_duplicates_are_dropped_and_lost_results_filled() {
        let mut talk = vec![
            answer("0"),
            asks(&["1", "2", "2"]),
            answer("2"),
            answer("2"),
            answer("9"),
            Message::assistant(""),
        ];
        assert!(repair(&mut talk) > 0);
        assert!(in_order(&talk), "{talk:?}");
        assert_eq!(talk.len(), 3);
        assert!(
            matches!(&talk[1], Message::Tool(r) if r.id == "1" && r.failed && r.text == LOST_RESULT)
        );
        assert!(matches!(&talk[2], Message::Tool(r) if r.id == "2" && !r.failed));
    }

    #[test]
    fn invalid_arguments_are_never_sent_back() {
        let mut broken = call("1");
        broken.args = "{\"a\":".into();
        let mut talk = vec![
            Message::Assistant(Assistant::new("", vec![broken])),
            answer("1"),
        ];
        repair(&mut talk);
        assert!(matches!(&talk[0], Message::Assistant(a) if a.calls[0].args == "{}"));
    }

    #[test]
    fn a_cap_cuts_at_a_user_message() {
        let talk = vec![
            Message::user("a"),
            asks(&["1"]),
            answer("1"),
            Message::user("b"),
            Message::assistant("c"),
        ];
        assert_eq!(cut_for_cap(&talk, 3), None, "a round does not count");
        assert_eq!(cut_for_cap(&talk, 2), Some(3));
        assert_eq!(
            cut_for_cap(&talk, 1),
            None,
            "no user message among the last one"
        );
        let round = [asks(&["1"]), answer("1")];
        let long: Vec<Message> = std::iter::once(Message::user("a"))
            .chain(std::iter::repeat_n(round, 50).flatten())
            .chain([Message::assistant("b"), Message::user("go on")])
            .collect();
        assert_eq!(cut_for_cap(&long, 40), None, "a long turn stays whole");
    }

    #[test]
    fn q39_made_up_names_go_back_in_a_form_that_providers_take() {
        for (name, want) in [
            ("read_file", "read_file"),
            ("functions.read-file", "functions_read-file"),
            ("näme\n", "n_me_"),
        ] {
            assert_eq!(sendable_name(name), want);
        }
        assert_eq!(sendable_name(&"x".repeat(300)).len(), 64);
    }
}
