//! Where the JSON is in a model's answer: models surround it with fences and remarks.

/// From the first `{` to the last `}`.
pub(crate) fn object(text: &str) -> Option<&str> {
    span(text, '{', '}')
}

/// From the first `[` to the last `]`.
pub(crate) fn array(text: &str) -> Option<&str> {
    span(text, '[', ']')
}

fn span(text: &str, open: char, close: char) -> Option<&str> {
    let start = text.find(open)?;
    // A closing bracket before the opening one encloses nothing.
    let end = text.rfind(close).filter(|end| *end > start)?;
    text.get(start..=end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_span_is_found_between_remarks() {
        for (text, want) in [
            (
                "```json\n{\"a\": {\"b\": 1}}\n```",
                Some("{\"a\": {\"b\": 1}}"),
            ),
            ("Sure! {} Done.", Some("{}")),
            ("{", None),
            ("} {", None),
            ("", None),
            ("null", None),
        ] {
            assert_eq!(object(text), want, "{text}");
        }
        assert_eq!(array("Facts: [1, [2]]."), Some("[1, [2]]"));
        assert_eq!(array("none"), None);
    }

    proptest! {
        #[test]
        fn a_span_begins_and_ends_with_its_brackets(text in "[^{}]{0,8}[{}]{0,3}\\PC{0,20}[{}]{0,3}") {
            if let Some(span) = object(&text) {
                let is_span = span.len() >= 2 && span.starts_with('{') && span.ends_with('}');
                prop_assert!(is_span);
            }
        }
    }
}
