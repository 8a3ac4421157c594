//! Error messages of lower floors mention command-line flags; in a conversation they mention the matching commands instead.

use crate::base::problem::Problem;

/// Phrases about the command line and their replacements. Longer phrases come first.
const WORDS: &[(&str, &str)] = &[
    (
        "--provider NAME (marvin help providers)",
        "/model PROVIDER (/model lists them)",
    ),
    ("--provider NAME", "/model PROVIDER"),
    ("--model NAME", "/model NAME"),
    (
        "go without tools: --tools none",
        "start Marvin again with --tools none",
    ),
    (
        "offer fewer tools with --tools GROUP",
        "start Marvin again with --tools GROUP for fewer tools",
    ),
    (
        "Raise --max-cost to continue.",
        "Start Marvin again with a higher --max-cost to continue; the conversation is kept.",
    ),
];

/// Replaces flags by commands of the conversation.
pub(super) fn in_chat(problem: &mut Problem) {
    let texts = std::iter::once(&mut problem.what).chain(&mut problem.next);
    for text in texts.filter(|text| text.contains("--")) {
        for (flag, command) in WORDS {
            if text.contains(flag) {
                *text = text.replace(flag, command);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::llm::choose;

    #[test]
    fn a_missing_key_is_answered_with_a_command() {
        let mut problem = choose::choose(&Env::default(), Some("groq")).err().unwrap();
        assert!(problem.one_line().contains("--provider"), "{problem}");
        in_chat(&mut problem);
        let text = problem.one_line();
        assert!(text.contains("/model PROVIDER"), "{text}");
        assert!(!text.contains("--") && !text.contains("doctor"), "{text}");
    }
}
