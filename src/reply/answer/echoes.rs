//! Lines of the prompt that a model repeats in its answer: small models do.

use crate::reply::prompts;

/// Shorter lines could be an answer.
const MIN_CHARS: usize = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnLines {
    lines: Vec<String>,
}

impl OwnLines {
    /// The lines of the fixed prompts, for an assistant of this name, and the steps of the plan. Neither what is known of the user nor the list of tools:
    /// that may be the answer.
    pub(crate) fn new(assistant_name: &str, of_reply: impl IntoIterator<Item = String>) -> Self {
        let fixed = prompts::SYSTEM.iter().flat_map(|prompt| prompt.lines());
        let fixed = fixed.map(|line| line.replace("{{name}}", assistant_name));
        let mut lines = Vec::new();
        for text in fixed.chain(of_reply) {
            let own = text.lines().map(bare);
            let is_own = |line: &&str| line.chars().count() >= MIN_CHARS && !line.contains("{{");
            lines.extend(own.filter(is_own).map(str::to_owned));
        }
        Self { lines }
    }

    /// The lines, as they begin in an answer.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn without(&self, text: &str) -> String {
        let is_own = |line: &str| self.lines.iter().any(|own| own == bare(line));
        if !text.lines().any(is_own) {
            return text.to_owned();
        }
        let kept: Vec<&str> = text.lines().filter(|line| !is_own(line)).collect();
        kept.join("\n").trim().to_owned()
    }
}

/// A line without what Markdown puts before it.
fn bare(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['-', '*', '#', '>', ' '])
        .trim_end_matches('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_prompt_go_and_those_of_the_answer_stay() {
        let steps = vec!["1. web_search query='Glass Harbor'".to_owned()];
        let own = OwnLines::new("Marvin", steps);
        for (text, want) in [
            (
                "- Say the answer first. One dry remark may follow it, never more than one, and none where something is serious, painful or has gone wrong.\nIt is Wick.",
                "It is Wick.",
            ),
            (
                "1. web_search query='Glass Harbor'\nIt is Wick.",
                "It is Wick.",
            ),
            (
                "Answer in the language of the user's message.\n\n  It is Wick.\n",
                "It is Wick.",
            ),
            ("## Tools\nIt is Wick.", "## Tools\nIt is Wick."),
            ("It is Wick.\nNot far.", "It is Wick.\nNot far."),
        ] {
            assert_eq!(own.without(text), want);
        }
    }
}
