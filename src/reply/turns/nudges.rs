//! What is said below a result to a model that writes its calls as text: how far the plan is, and whether to call again or to answer. Small models
//! stop after the first result otherwise.

use crate::base::template::fill;
use crate::base::text::clip;

const PLAN_OPEN: &str = include_str!("../../prompts/reply/nudge_plan_open.md");
const PLAN_DONE: &str = include_str!("../../prompts/reply/nudge_plan_done.md");
const PART_OPEN: &str = include_str!("../../prompts/reply/nudge_part_open.md");
const ANSWER_OR_CALL: &str = include_str!("../../prompts/reply/nudge_answer_or_call.md");

/// A part of the question that is repeated is cut to this many characters.
const MAX_PART_CHARS: usize = 300;

/// The lines below result number `done` of a reply, by its plan's steps that call tools, or else by the parts of its question.
pub(crate) fn nudge(tool_steps: &[String], parts: &[String], done: usize) -> String {
    let open = |template: &str, all: &[String], next: &str| {
        let slots = [
            ("done", done.to_string()),
            ("all", all.len().to_string()),
            ("next", clip(next, MAX_PART_CHARS)),
        ];
        let slots: Vec<(&str, &str)> = slots
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        fill(template, &slots)
    };
    if !tool_steps.is_empty() {
        return match tool_steps.get(done) {
            Some(next) => open(PLAN_OPEN, tool_steps, next),
            None => PLAN_DONE.trim_end().to_owned(),
        };
    }
    match parts.get(done) {
        Some(next) => open(PART_OPEN, parts, next),
        None => ANSWER_OR_CALL.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_nudge_names_the_next_step_or_asks_for_the_answer() {
        let steps = words(&["read_note path='film.md'", "read_note path='<director>.md'"]);
        let parts = words(&["who directed it", "what else they made"]);
        for (steps, parts, done, has, lacks) in [
            (
                &steps,
                &parts,
                1,
                vec![
                    "Plan progress: 1/2",
                    "\"read_note path='<director>.md'\"",
                    "no prose",
                ],
                "all tool steps executed",
            ),
            (
                &steps,
                &parts,
                2,
                vec!["all tool steps executed"],
                "Plan progress",
            ),
            (
                &steps,
                &parts,
                7,
                vec!["all tool steps executed"],
                "Plan progress",
            ),
            (
                &Vec::new(),
                &parts,
                1,
                vec!["answered 1 of 2 parts", "\"what else they made\""],
                "Plan",
            ),
            (&Vec::new(), &parts, 2, vec!["["], "answered"),
            (&Vec::new(), &Vec::new(), 1, vec!["["], "answered"),
        ] {
            let nudge = nudge(steps, parts, done);
            for has in has {
                assert!(nudge.contains(has), "{nudge}");
            }
            assert!(!nudge.contains(lacks), "{nudge}");
            assert!(!nudge.contains("{{"), "{nudge}");
        }
    }
}
