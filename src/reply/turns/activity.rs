//! What happened in a reply, as a short log for the model that has to say what was found.

use crate::base::text::{clip, one_line};
use crate::chat::message::{Message, ToolCall};

/// The whole log; the newest lines are kept.
const MAX_LOG_CHARS: usize = 2_000;
const MAX_ARGUMENTS_CHARS: usize = 120;
const MAX_RESULT_CHARS: usize = 300;
const MAX_PROSE_CHARS: usize = 200;

/// The log of the rows of a reply; empty when nothing happened.
pub(crate) fn log(rows: &[Message]) -> String {
    let mut lines: Vec<String> = rows.iter().flat_map(lines).collect();
    let mut left = MAX_LOG_CHARS;
    let mut kept = lines.len();
    for (index, line) in lines.iter().enumerate().rev() {
        let needed = line.chars().count() + 1;
        if needed > left {
            break;
        }
        left -= needed;
        kept = index;
    }
    lines.drain(..kept);
    lines.join("\n")
}

fn lines(row: &Message) -> Vec<String> {
    match row {
        Message::Assistant(assistant) => {
            let prose = one_line(&assistant.text);
            let prose = (!prose.is_empty()).then(|| clip(&prose, MAX_PROSE_CHARS));
            let calls = assistant
                .calls
                .iter()
                .map(|call| format!("tool_call: {}", call_words(call, MAX_ARGUMENTS_CHARS)));
            prose.into_iter().chain(calls).collect()
        }
        Message::Tool(output) => vec![format!(
            "tool_result[{}]: {}",
            output.name,
            clip(&one_line(&output.text), MAX_RESULT_CHARS)
        )],
        Message::User(_) | Message::System { .. } => Vec::new(),
    }
}

/// `name(arguments)` on one line.
pub(crate) fn call_words(call: &ToolCall, max: usize) -> String {
    format!("{}({})", call.name, clip(&one_line(&call.args), max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolOutput};

    #[test]
    fn the_log_holds_prose_calls_and_results_and_the_newest_when_it_is_long() {
        let row = |n: usize| {
            [
                Message::Assistant(Assistant::new(
                    format!("Looking at\nnote {n}."),
                    vec![ToolCall::new(
                        n.to_string(),
                        "read_note",
                        format!("{{\"path\":\"{n}.md\"}}"),
                    )],
                )),
                Message::Tool(ToolOutput::ok(
                    n.to_string(),
                    "read_note",
                    format!("{n}: {}", "word ".repeat(100)),
                )),
            ]
        };
        let short = log(&row(1));
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines[0], "Looking at note 1.");
        assert_eq!(lines[1], "tool_call: read_note({\"path\":\"1.md\"})");
        assert!(lines[2].starts_with("tool_result[read_note]: 1: word"));
        let long: Vec<Message> = (0..50).flat_map(row).collect();
        let log = log(&long);
        assert!(
            log.chars().count() <= MAX_LOG_CHARS && log.contains("49:") && !log.contains(" 1:")
        );
        assert_eq!(super::log(&[]), "");
    }

    #[test]
    fn each_line_of_the_log_is_short() {
        let long = "x".repeat(1_000);
        let rows = [
            Message::Assistant(Assistant::new(
                long.clone(),
                vec![ToolCall::new("1", "t", long.clone())],
            )),
            Message::Tool(ToolOutput::ok("1", "t", long)),
        ];
        let xs: Vec<usize> = log(&rows)
            .lines()
            .map(|line| line.matches('x').count())
            .collect();
        assert_eq!(xs, [200, 120, 300]);
    }
}
