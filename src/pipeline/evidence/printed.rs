//! What a command printed says of the programs in it.

use super::commands::RunCommand;
use super::programs::{ENDINGS, ERRORS, MISSING_BEFORE, MISSING_BEHIND};

impl RunCommand<'_> {
    /// Whether the shell did not say that there is no such program.
    pub(super) fn is_installed(&self, name: &str) -> bool {
        let is_missing = |words| self.result.contains(&format!("{name}: {words}"));
        !["command not found", "not found"]
            .into_iter()
            .any(is_missing)
    }

    /// Whether it ended as what is not installed does when nobody sees the message.
    pub(super) fn failed_in_silence(&self) -> bool {
        matches!(self.status, Some(1 | 126 | 127)) && !self.has_printed()
    }

    /// What it printed, with what it printed as errors behind a line for those.
    fn printed(&self) -> impl Iterator<Item = &str> {
        let is_ending = |line: &&str| ENDINGS.iter().any(|words| line.starts_with(words));
        self.result.lines().take_while(move |line| !is_ending(line))
    }

    pub(super) fn has_printed(&self) -> bool {
        self.printed()
            .any(|line| line != ERRORS && !line.trim().is_empty())
    }

    /// Whether it printed more than numbers, as statuses and counts are, and what stands in the command.
    pub(super) fn has_told(&self) -> bool {
        let is_new = |part: &str| !self.text.contains(part.trim());
        self.printed()
            .take_while(|line| *line != ERRORS)
            .any(|line| line.split(|c: char| c.is_ascii_digit()).any(is_new))
    }

    /// Whether nothing was said about it not being there.
    pub(super) fn is_there(&self, name: &str) -> bool {
        let (name, result) = (name.to_lowercase(), self.result.to_lowercase());
        let is_said_before = |line: &str, words: &str| {
            line.split_once(words)
                .is_some_and(|(_, rest)| rest.contains(&name))
        };
        let is_missing = |line: &str| {
            MISSING_BEHIND
                .iter()
                .any(|words| line.contains(&format!("{name}{words}")))
                || MISSING_BEFORE
                    .iter()
                    .any(|words| is_said_before(line, words))
        };
        name.is_empty() || !result.lines().any(is_missing)
    }
}
