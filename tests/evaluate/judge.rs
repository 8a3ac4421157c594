//! Whether an answer is one.

/// What no answer may show: the marks of tool calls, templates and stages.
const MACHINERY: [&str; 26] = [
    "```tool_call",
    "<tool_call",
    "</tool_call",
    "tool_calls:",
    "[TOOL_CALLS]",
    "<|",
    "|>",
    "<｜",
    "<function=",
    "<function_calls",
    "<invoke",
    "<parameter name",
    "<think",
    "</think",
    "<unused",
    "<end_of_turn>",
    "<start_of_turn>",
    "[INST]",
    "[Tool result",
    "[Tool error",
    "Action Input:",
    "Stage: ",
    "UNTRUSTED WEB EXTRACT",
    "Plan progress:",
    "\"arguments\":",
    "\"parameters\":",
];

/// The flow's own words for an answer that it could not give.
const APOLOGIES: [&str; 2] = [
    "I had trouble understanding that request",
    "Sorry, something went wrong with that reply",
];

/// The machinery that an answer shows.
pub(crate) fn machinery(answer: &str) -> Vec<&'static str> {
    let seen = MACHINERY.iter().filter(|mark| answer.contains(**mark));
    seen.copied().collect()
}

pub(crate) fn is_answer(answer: &str) -> bool {
    !answer.trim().is_empty() && !APOLOGIES.iter().any(|apology| answer.contains(apology))
}

/// What an answer should have said, or should not.
pub(crate) fn wrong_words(answer: &str, has: &[String], lacks: &[String]) -> Option<String> {
    let folded = answer.to_lowercase();
    let has_any = |words: &[String]| {
        words
            .iter()
            .any(|word| folded.contains(&word.to_lowercase()))
    };
    if !has.is_empty() && !has_any(has) {
        return Some(format!("the answer lacks {}", has.join(" or ")));
    }
    has_any(lacks).then(|| format!("the answer has {}", lacks.join(" or ")))
}
