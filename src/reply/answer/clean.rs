//! An answer as it is printed.

use crate::formats::model_text;

/// How a line of a broken protocol begins.
const PROTOCOL: &str = "TOOL:";

/// `answer` without thoughts, calls that were not run and lines of a protocol. Empty when nothing else was said.
pub fn printed(answer: &str) -> String {
    let mut kept = model_text::read(answer, &|_| false).prose;
    if kept.contains(PROTOCOL) {
        let lines = kept
            .lines()
            .filter(|line| !line.trim_start().starts_with(PROTOCOL));
        kept = lines.collect::<Vec<&str>>().join("\n");
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_was_said_is_printed() {
        for (answer, want) in [
            ("  It is Wick.\n", "It is Wick."),
            ("TOOL: web_search\nIt is Wick.\n TOOL: done", "It is Wick."),
            ("<think>hm</think>It is Wick.", "It is Wick."),
            (
                "First.\n```tool_call\n{\"name\": \"a\"}\n```\nThen.",
                "First.\n\nThen.",
            ),
            (
                "```tool_call\n{\"name\": \"a\"}\nIt is Wick.",
                "It is Wick.",
            ),
            ("```tool_call\nbroken\n```\nIt is Wick.", "It is Wick."),
            (
                "<tool_call>{\"name\": \"a\"}</tool_call>\nIt is Wick.",
                "It is Wick.",
            ),
            ("It is Wick.\n<tool_call>{\"name\": ", "It is Wick."),
            ("Qwen writes <tool_call>.", "Qwen writes <tool_call>."),
            ("It is Wick.\n```tool_call\n{\"name\": ", "It is Wick."),
            (
                "```tool_call\n{\"name\": \"a\"}\n```\n```tool_call\n{\"name\": \"b\"}\n```",
                "",
            ),
            (
                "```rust\nlet tool_call = 1;\n```",
                "```rust\nlet tool_call = 1;\n```",
            ),
            ("<think>never closed", ""),
            ("", ""),
        ] {
            assert_eq!(printed(answer), want, "{answer}");
        }
        assert_eq!(printed(&"```tool_call\nx\n```\n".repeat(40)), "");
    }

    proptest! {
        #[test]
        fn prose_is_printed_as_it_is(text in "[\\p{L}0-9 .,!?*`#\n-]{0,60}") {
            prop_assert_eq!(printed(&text), text.trim());
        }

        #[test]
        fn anything_can_be_printed(text in "(```tool_call\n|```|\\{\"name\":|TOOL:|</?think>|\n|\\PC){0,20}") {
            let printed = printed(&text);
            prop_assert!(!printed.contains("```tool_call"), "{}", printed);
        }
    }
}
