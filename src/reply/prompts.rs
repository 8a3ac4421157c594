//! The prompts of the flow: Markdown files under `src/prompts/reply`, built in, with `{{slot}}`s filled by name.

pub(crate) const PERSONA: &str = include_str!("../prompts/reply/persona.md");
pub(crate) const INPUT_SPOKEN: &str = include_str!("../prompts/reply/input_spoken.md");
pub(crate) const INPUT_TYPED: &str = include_str!("../prompts/reply/input_typed.md");
pub(crate) const INFERENCE: &str = include_str!("../prompts/reply/inference.md");
pub(crate) const INCENTIVE_SMALL: &str = include_str!("../prompts/reply/incentive_small.md");
pub(crate) const INCENTIVE_LARGE: &str = include_str!("../prompts/reply/incentive_large.md");
pub(crate) const STYLE_SPOKEN: &str = include_str!("../prompts/reply/style_spoken.md");
pub(crate) const STYLE_TYPED: &str = include_str!("../prompts/reply/style_typed.md");
pub(crate) const GUIDANCE: &str = include_str!("../prompts/reply/guidance.md");
pub(crate) const CONSTRAINTS_SMALL: &str = include_str!("../prompts/reply/constraints_small.md");
pub(crate) const CONSTRAINTS_LARGE: &str = include_str!("../prompts/reply/constraints_large.md");
pub(crate) const LANGUAGE_FOLLOW: &str = include_str!("../prompts/reply/language_follow.md");
pub(crate) const LANGUAGE_FIXED: &str = include_str!("../prompts/reply/language_fixed.md");
pub(crate) const DIARY: &str = include_str!("../prompts/reply/diary.md");
pub(crate) const GRAPH: &str = include_str!("../prompts/reply/graph.md");
pub(crate) const MEMORY_NOTE: &str = include_str!("../prompts/reply/memory_note.md");
pub(crate) const ACTION_PLAN: &str = include_str!("../prompts/reply/action_plan.md");
pub(crate) const TEXT_TOOLS: &str = include_str!("../prompts/reply/text_tools.md");
pub(crate) const ROUTER: &str = include_str!("../prompts/reply/router.md");
pub(crate) const PLANNER: &str = include_str!("../prompts/reply/planner.md");
pub(crate) const EXTRACTOR: &str = include_str!("../prompts/reply/extractor.md");
pub(crate) const MEMORY_DIGEST: &str = include_str!("../prompts/reply/memory_digest.md");
pub(crate) const WARM_USER: &str = include_str!("../prompts/reply/warm_user.md");
pub(crate) const WARM_DIRECTIVES: &str = include_str!("../prompts/reply/warm_directives.md");

/// The prompts that the system message of the chat model is made of.
pub(crate) const SYSTEM: [&str; 17] = [
    PERSONA,
    INPUT_SPOKEN,
    INPUT_TYPED,
    INFERENCE,
    INCENTIVE_SMALL,
    INCENTIVE_LARGE,
    STYLE_SPOKEN,
    STYLE_TYPED,
    GUIDANCE,
    CONSTRAINTS_SMALL,
    CONSTRAINTS_LARGE,
    LANGUAGE_FOLLOW,
    DIARY,
    GRAPH,
    MEMORY_NOTE,
    ACTION_PLAN,
    TEXT_TOOLS,
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// More words than a small model keeps in mind, and why they are needed.
    const LONGER: [(&str, &str); 1] = [(
        "summariser.md",
        "what must not be written is understood by pairs of examples in several languages",
    )];
    const MAX_WORDS: usize = 200;

    #[test]
    fn each_prompt_is_short_and_its_examples_are_filled_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prompts/reply");
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let is_word = |word: &&str| word.contains(char::is_alphanumeric);
            let words = text.split_whitespace().filter(is_word).count();
            let is_argued = LONGER.iter().any(|(longer, _)| *longer == name);
            assert!(words <= MAX_WORDS || is_argued, "{name} has {words} words");
            for placeholder in ["\"…\"", "'…'", "\"tool name\"", "\"...\"", "{...}"] {
                assert!(!text.contains(placeholder), "{name}: {placeholder}");
            }
        }
    }
}
