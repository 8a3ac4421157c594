//! What children are told besides their task: Markdown under `src/prompts/pipeline`.

/// Added to the prompt of an attempt after one that failed.
pub(super) const RETRY: &str = include_str!("../../prompts/pipeline/retry.md");
/// What such an attempt finds when everything of the earlier one is still there.
pub(super) const RETRY_KEPT: &str = include_str!("../../prompts/pipeline/retry_kept.md");
/// The same when nothing of it is.
pub(super) const RETRY_NOTHING: &str = include_str!("../../prompts/pipeline/retry_nothing.md");
/// Asks a read-only child to answer the questions of another.
pub(super) const ANSWER: &str = include_str!("../../prompts/pipeline/answer.md");
/// Added to the prompt of a child whose questions were answered.
pub(super) const ANSWERED: &str = include_str!("../../prompts/pipeline/answered.md");
/// Added after the last answers.
pub(super) const NO_MORE_QUESTIONS: &str =
    include_str!("../../prompts/pipeline/no_more_questions.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::template::fill;

    #[test]
    fn every_slot_of_every_prompt_is_known() {
        let slots = [
            "missing",
            "left",
            "output",
            "task",
            "documents",
            "questions",
            "answers",
        ]
        .map(|slot| (slot, "x"));
        for prompt in [
            RETRY,
            RETRY_KEPT,
            RETRY_NOTHING,
            ANSWER,
            ANSWERED,
            NO_MORE_QUESTIONS,
        ] {
            let filled = fill(prompt, &slots);
            assert!(!filled.contains("{{") && !filled.is_empty(), "{filled}");
        }
    }
}
