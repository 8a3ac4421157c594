//! Prompts for models: Markdown files under `src/prompts`, built in, with `{{slot}}`s filled by name.

/// Personality and rules: the first section of the system prompt.
pub(crate) const IDENTITY: &str = include_str!("../prompts/identity.md");
/// The same for a child, which has a task and nobody to talk to.
pub(crate) const SUB_AGENT: &str = include_str!("../prompts/sub_agent.md");
/// Instructions for work on code.
pub(crate) const CODING: &str = include_str!("../prompts/coding.md");
/// Added to them for who may change files.
pub(crate) const CODING_WRITING: &str = include_str!("../prompts/coding_writing.md");
/// Added for who may run programs.
pub(crate) const CODING_RUNNING: &str = include_str!("../prompts/coding_running.md");
/// Added for who may commit.
pub(crate) const CODING_COMMITTING: &str = include_str!("../prompts/coding_committing.md");
/// Instructions for the permission mode in which the model plans.
pub(crate) const PLAN: &str = include_str!("../prompts/plan.md");
/// Instructions for shortening a stored conversation.
pub(crate) const SUMMARY: &str = include_str!("../prompts/summary.md");
/// Ends the conversation in the last request of a turn, in which no tool may be called.
pub(crate) const LAST_ROUND: &str = include_str!("../prompts/last_round.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::template::fill;

    #[test]
    fn every_slot_of_every_prompt_is_known() {
        let slots = ["dir", "writing", "running", "committing"].map(|slot| (slot, "x"));
        for prompt in [
            IDENTITY,
            SUB_AGENT,
            CODING,
            CODING_WRITING,
            CODING_RUNNING,
            CODING_COMMITTING,
            PLAN,
            SUMMARY,
            LAST_ROUND,
        ] {
            assert!(
                !fill(prompt, &slots).contains("{{"),
                "an unfilled slot in {prompt}"
            );
            assert!(!prompt.trim().is_empty());
        }
    }
}
