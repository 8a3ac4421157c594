//! The planner's answer as steps.

use crate::base::text;
use crate::formats::model_text;
use crate::reply::tools::step::{leading_name, pairs};

const MAX_STEPS: usize = 5;
const MAX_STEP_CHARS: usize = 200;
/// Of each step in the trace.
const TRACE_CHARS: usize = 50;
/// The step that asks for memory; it is no tool.
const MEMORY: [&str; 2] = ["searchmemory", "search_memory"];

/// The steps of a reply. Empty: the planner failed. One: nothing is needed but a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<String>,
}

impl Plan {
    /// One step a line, without what models put around it.
    pub fn parse(answer: &str) -> Self {
        let answer = model_text::without_thoughts(answer);
        let steps = answer.lines().filter_map(step).take(MAX_STEPS).collect();
        Self { steps }
    }

    /// In order; at most five.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// What to look for in memory; empty when a step only asks for memory, `None` when none does.
    pub fn memory_topic(&self) -> Option<String> {
        let step = self.steps.iter().find(|step| is_memory(step))?;
        let (_, arguments) = leading_name(step)?;
        let mut pairs = pairs(arguments).found.into_iter();
        let topic = pairs.find(|(key, _)| key.eq_ignore_ascii_case("topic"));
        Some(
            topic
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default(),
        )
    }

    /// The steps without those that ask for memory.
    pub(crate) fn without_memory(&self) -> Vec<&str> {
        let steps = self.steps.iter().map(String::as_str);
        steps.filter(|step| !is_memory(step)).collect()
    }

    /// The steps that call a tool: all but the last, which replies.
    pub fn tool_steps(&self) -> Vec<&str> {
        let mut steps = self.without_memory();
        steps.pop();
        steps
    }

    /// The tools that the steps name, each once; `known` maps a name to that of a tool.
    pub(crate) fn names(&self, known: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for step in self.tool_steps() {
            let name = leading_name(step).and_then(|(name, _)| known(name));
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }

    /// True when tools are needed and no step says which.
    pub(crate) fn is_under_specified(&self, known: &dyn Fn(&str) -> Option<String>) -> bool {
        !self.tool_steps().is_empty() && self.names(known).is_empty()
    }

    /// The line of the trace; `None` for an empty plan.
    pub(crate) fn trace(&self) -> Option<String> {
        let starts = self
            .steps
            .iter()
            .map(|step| step.chars().take(TRACE_CHARS).collect::<String>());
        let starts = starts.collect::<Vec<String>>().join(" | ");
        let count = self.steps.len();
        (count > 0).then(|| format!("🗺️ Plan: {count} step(s) — {starts}"))
    }
}

/// True for a step that asks for memory.
pub(crate) fn is_memory(step: &str) -> bool {
    let is_word = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    MEMORY.iter().any(|word| {
        let (start, rest) = step.split_at_checked(word.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(word) && !is_word(rest)
    })
}

/// A line as a step; `None` for blank lines, fences and rules.
fn step(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") {
        return None;
    }
    let line = unquoted(without_marker(line));
    line.contains(char::is_alphanumeric)
        .then(|| text::clip(line, MAX_STEP_CHARS))
}

/// `line` without one bullet or number at its start.
fn without_marker(line: &str) -> &str {
    if let Some(rest) = line.strip_prefix(['-', '*', '•', '–']) {
        let is_marker = !rest.starts_with(|c: char| c == '*' || c == '-' || c.is_ascii_digit());
        return if is_marker { rest.trim_start() } else { line };
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = line.get(digits..).unwrap_or_default();
    match after.strip_prefix(['.', ')']) {
        // A decimal number is no number of a step.
        Some(rest)
            if (1..=3).contains(&digits) && !rest.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            rest.trim_start()
        }
        _ => line,
    }
}

fn unquoted(line: &str) -> &str {
    for quote in ['"', '\'', '`'] {
        if let Some(inside) = line
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inside.trim();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(answer: &str) -> Vec<String> {
        Plan::parse(answer).steps
    }

    fn known(name: &str) -> Option<String> {
        ["web_search", "browse_web"]
            .contains(&name)
            .then(|| name.to_owned())
    }

    #[test]
    fn steps_are_read_without_what_surrounds_them() {
        for (answer, want) in [
            (
                "1. web_search query='owls'\n\n2) Reply to the user.",
                vec!["web_search query='owls'", "Reply to the user."],
            ),
            ("```text\n- a\n* b\n•c\n```", vec!["a", "b", "c"]),
            (
                "'a step'\n\"b step\"\n`c step`\n\"d",
                vec!["a step", "b step", "c step", "\"d"],
            ),
            ("<think>1. no</think>1. yes", vec!["yes"]),
            ("<think>1. no\n2. no", vec![]),
            (
                "1.5 km walk\n-3 degrees\n**bold**",
                vec!["1.5 km walk", "-3 degrees", "**bold**"],
            ),
            ("---\n…\n\u{0}\n", vec![]),
            ("- - a", vec!["- a"]),
            ("一、检索\n答复用户。", vec!["一、检索", "答复用户。"]),
            ("", vec![]),
        ] {
            assert_eq!(steps(answer), want, "{answer:?}");
        }
        assert_eq!(steps(&"x\n".repeat(9)).len(), 5);
        assert_eq!(steps(&"é".repeat(201)), [format!("{}…", "é".repeat(200))]);
    }

    #[test]
    fn memory_is_a_step_of_its_own() {
        for (answer, topic) in [
            (
                "searchMemory topic='books they like'\nReply.",
                Some("books they like"),
            ),
            (
                "SEARCH_MEMORY: topic=\"the dog's name\"\nReply.",
                Some("the dog's name"),
            ),
            ("searchMemory topic=dogs\nReply.", Some("dogs")),
            ("searchmemory\nReply.", Some("")),
            ("searchMemoryless things\nReply.", None),
            ("Reply.", None),
            ("", None),
        ] {
            assert_eq!(
                Plan::parse(answer).memory_topic().as_deref(),
                topic,
                "{answer}"
            );
        }
    }

    #[test]
    fn all_but_the_last_step_are_for_tools() {
        let plan = Plan::parse(
            "searchMemory topic='x'\nweb_search query='a'\nbrowse_web: url=<first link>\nweb_search query='b'\nReply.",
        );
        assert_eq!(plan.without_memory().len(), 4);
        assert_eq!(plan.tool_steps().len(), 3);
        assert_eq!(plan.names(&known), ["web_search", "browse_web"]);
        assert!(!plan.is_under_specified(&known));
        assert!(
            plan.trace()
                .unwrap()
                .starts_with("🗺️ Plan: 5 step(s) — searchMemory topic='x' | web_search")
        );
        for answer in [
            "",
            "Reply.",
            "searchMemory topic='x'",
            "searchMemory topic='x'\nReply.",
        ] {
            let plan = Plan::parse(answer);
            assert!(
                plan.tool_steps().is_empty() && !plan.is_under_specified(&known),
                "{answer}"
            );
        }
        assert!(Plan::parse("look around\nReply.").is_under_specified(&known));
        assert_eq!(Plan::default().trace(), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_a_plan_of_few_short_steps(answer in "(\n|[-*•] |1[.)]|['\"`]|searchMemory|topic=|<think>|</think>|\\PC{0,9}){0,20}") {
            let plan = Plan::parse(&answer);
            prop_assert!(plan.steps().len() <= MAX_STEPS);
            for step in plan.steps() {
                prop_assert!(step.chars().count() <= MAX_STEP_CHARS + 1 && !step.trim().is_empty());
            }
            plan.memory_topic();
            plan.names(&known);
        }
    }
}
