//! What a model thinks before it answers, written into the answer itself.

/// Tags around it.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// `text` without what was thought. A block that is not closed reaches to the end; one that is not opened, because the template had already done so,
/// begins at the start.
pub(crate) fn without(text: &str) -> String {
    let mut out = text.to_owned();
    for (open, close) in TAGS {
        out = without_tag(&out, open, close);
    }
    out
}

fn without_tag(text: &str, open: &str, close: &str) -> String {
    let mut rest = text;
    let opened = text.find(open).unwrap_or(text.len());
    if let Some((thought, after)) = text.split_once(close)
        && thought.len() < opened
    {
        rest = after;
    }
    let mut out = String::new();
    while let Some((before, block)) = rest.split_once(open) {
        out.push_str(before);
        rest = block.split_once(close).map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// What was thought at the start of an answer, and the answer.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let trimmed = text.trim_start();
    for (open, close) in TAGS {
        if let Some(block) = trimmed.strip_prefix(open) {
            let (thought, answer) = block.split_once(close).unwrap_or((block, ""));
            return (Some(thought.trim()), answer.trim_start());
        }
    }
    (None, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_removed_in_every_form() {
        for (text, want) in [
            ("<think>hm</think>Yes.", "Yes."),
            ("A<think>x</think>B<think>y</think>C", "ABC"),
            ("A<think>never closed", "A"),
            ("closed only</think>\nYes.", "\nYes."),
            ("<thinking>a</thinking>b", "b"),
            ("a < b", "a < b"),
            ("", ""),
        ] {
            assert_eq!(without(text), want, "{text}");
        }
    }

    #[test]
    fn a_thought_at_the_start_is_told_from_the_answer() {
        assert_eq!(split(" <think> hm </think>\nYes."), (Some("hm"), "Yes."));
        assert_eq!(split("<think>hm"), (Some("hm"), ""));
        assert_eq!(split("Yes. <think>"), (None, "Yes. <think>"));
    }
}
