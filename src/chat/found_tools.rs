//! What a conversation has found of the tools that wait: read from its messages, so that one that is resumed knows it too.

use std::collections::HashSet;

use super::message::Message;

/// Finds tools that wait.
pub(crate) const TOOL_SEARCH: &str = "tool_search";
/// What stands between the name of a tool and what it is for.
const DASH: &str = " — ";

/// A found tool as an answer lists it.
pub(crate) fn line(name: &str, summary: &str) -> String {
    format!("{name}{DASH}{summary}")
}

/// The names that an answer begins with, one on each line.
pub(crate) fn listed(answer: &str) -> impl Iterator<Item = &str> {
    let names = answer
        .lines()
        .map(|line| line.split_once(DASH).map(|(name, _)| name));
    names.map_while(|name| name.filter(|name| is_name(name)))
}

/// What the message lists if it is the answer to a search.
pub(crate) fn answered(message: &Message) -> impl Iterator<Item = &str> {
    let answer = match message {
        Message::Tool(output) if output.name == TOOL_SEARCH && !output.failed => &*output.text,
        _ => "",
    };
    listed(answer)
}

/// The tools that a conversation has searched for or called, each once, in the order in which that happened.
pub(crate) fn found(messages: &[Message]) -> Vec<&str> {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    for message in messages {
        let calls = match message {
            Message::Assistant(assistant) => assistant.calls.as_slice(),
            _ => &[],
        };
        let called = calls.iter().map(|call| call.name.as_str());
        names.extend(
            called
                .chain(answered(message))
                .filter(|name| seen.insert(*name)),
        );
    }
    names
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolCall, ToolOutput};

    #[test]
    fn a_conversation_has_found_what_it_called_and_what_its_searches_list() {
        let called = |name: &str| {
            let calls = vec![ToolCall::new("a", name, "{}")];
            Message::Assistant(Assistant::new("", calls))
        };
        let answer = "git_stash — Stash.\nfiles__copy — Copy a — b.\n\n{\"x — y\": 1}\nz — z";
        let failed = ToolOutput::failed("c", TOOL_SEARCH, "no_tool — No.");
        let messages = [
            called("rhyme"),
            Message::Tool(ToolOutput::ok("b", TOOL_SEARCH, answer)),
            Message::Tool(ToolOutput::ok("b", "scrape_page", "evil — A page.")),
            Message::Tool(failed),
            called("git_stash"),
            called("git_tag"),
        ];
        assert_eq!(
            found(&messages),
            ["rhyme", "git_stash", "files__copy", "git_tag"]
        );
        assert_eq!(listed(&line("a-b", "C.")).collect::<Vec<_>>(), ["a-b"]);
        for other in ["", "No tool fits.", "a b — c", "Modules — 3", " — x"] {
            let names: Vec<_> = listed(other).collect();
            assert!(names.is_empty() || names == ["Modules"], "{other}");
        }
    }
}
