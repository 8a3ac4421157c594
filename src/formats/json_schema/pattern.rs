//! `pattern`: regular expressions of ECMA-262, of which the crate `regex` reads those that take time in proportion to the text.

use regex::{Regex, RegexBuilder};

use crate::base::patterns::{MAX_REGEX_DEPTH, regex_excess};

/// Maximum bytes of a compiled expression.
const MAX_COMPILED_BYTES: usize = 512 * 1024;

/// # Errors
/// It is none, is too large, or needs what cannot be done in linear time (looking around, references to groups).
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(reason) = regex_excess(pattern) {
        return Err(reason);
    }
    RegexBuilder::new(&translated(pattern))
        .size_limit(MAX_COMPILED_BYTES)
        .nest_limit(MAX_REGEX_DEPTH)
        .build()
        .map_err(|error| match error {
            regex::Error::Syntax(words) => {
                let last = words.lines().last().unwrap_or_default();
                last.trim_start_matches("error: ")
                    .trim_end_matches('.')
                    .to_owned()
            }
            error => error.to_string().trim_end_matches('.').to_owned(),
        })
}

/// Where the two languages differ and both would take it: classes of ASCII alone, and characters that mean nothing within brackets.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match (chars.next(), in_class) {
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('d'), true) => out.push_str("0-9"),
                (Some('D'), false) => out.push_str("[^0-9]"),
                (Some('D'), true) => out.push_str("[^0-9]"),
                (Some('w'), false) => out.push_str("[A-Za-z0-9_]"),
                (Some('w'), true) => out.push_str("A-Za-z0-9_"),
                (Some('W'), _) => out.push_str("[^A-Za-z0-9_]"),
                (Some(other), _) => out.extend(['\\', other]),
                (None, _) => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_mean_in_ecmascript() {
        for (pattern, text, matches) in [
            ("^a+$", "aaa", true),
            ("b", "abc", true),
            ("^\\d$", "٣", false),
            ("^[\\d.]+$", "1.5", true),
            ("^\\w$", "é", false),
            ("^[\\W]$", "é", true),
            ("^[[a]$", "[", true),
            ("^[a&&b]$", "&", true),
            ("^\\/\\u0041$", "/A", true),
            ("^\\p{Letter}+$", "é", true),
        ] {
            assert_eq!(
                compile(pattern).unwrap().is_match(text),
                matches,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_done_in_linear_time_is_an_error() {
        for pattern in [
            "a(?=b)",
            "(a)\\1",
            "(",
            "(?<!a)b",
            "((a{99}){99}){99}",
            &"(".repeat(500),
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        let slow = compile("^(a+)+$").unwrap();
        assert!(!slow.is_match(&("a".repeat(50_000) + "!")));
    }
}
