//! Data between tags in a prompt: `<stdin>`, `<file>`, `<document>`. The enclosed text cannot close them.

/// Stands for a `<` that would make a tag.
const ESCAPED: &str = "&lt;";

/// `text` between `<name>` and `</name>`, on lines of their own, with `attributes` in the opening tag.
pub(crate) fn enclosed(name: &str, attributes: &str, text: &str) -> String {
    let space = if attributes.is_empty() { "" } else { " " };
    format!(
        "<{name}{space}{}>\n{}\n</{name}>",
        without_mark(attributes, name),
        without_mark(text.trim_end_matches('\n'), name)
    )
}

/// What is before the last `<name>` of `text`, which [`enclosed`] has ended, and what is in it, as it was.
pub(crate) fn unenclosed<'a>(name: &str, text: &'a str) -> Option<(&'a str, String)> {
    let (before, inner) = text.rsplit_once(&format!("\n<{name}>\n"))?;
    let inner = inner.strip_suffix(&format!("\n</{name}>"))?;
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, after)) = rest.split_once(ESCAPED) {
        out.push_str(plain);
        out.push_str(if is_mark(after, name) { "<" } else { ESCAPED });
        rest = after;
    }
    out.push_str(rest);
    Some((before, out))
}

/// `text` with `&lt;` where it would open or close the tag `name`: in any case, and with invisible characters in between.
fn without_mark(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(pos) = rest.find(['<', '\u{ff1c}']) {
        let (before, from) = rest.split_at(pos);
        out.push_str(before);
        let bracket = from.chars().next().map_or(1, char::len_utf8);
        let (bracket, after) = from.split_at(bracket);
        out.push_str(if is_mark(after, name) {
            ESCAPED
        } else {
            bracket
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether the text after a `<` makes it the tag `name` or its end.
fn is_mark(after: &str, name: &str) -> bool {
    let slash = |c: &char| matches!(c, '/' | '\\' | '\u{ff0f}' | '\u{2215}' | '\u{2044}');
    let mut rest = after.chars();
    let mut wanted = name.chars();
    let Some(mut next) = wanted.next() else {
        return false;
    };
    let mut begun = false;
    loop {
        match rest.next() {
            Some(c) if is_invisible(c) || (!begun && slash(&c)) => {}
            Some(c) if c.eq_ignore_ascii_case(&next) => {
                begun = true;
                match wanted.next() {
                    Some(c) => next = c,
                    // A longer name is another tag.
                    None => return rest.next().is_none_or(|c| !c.is_alphanumeric()),
                }
            }
            _ => return false,
        }
    }
}

/// White space, control characters, and zero-width characters.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_spelling_of_the_tag_gets_through() {
        for mark in [
            "</stdin>",
            "</STDIN>",
            "< / stdin >",
            "</stdin\n>",
            "<\t/\u{200b}std\u{ad}in foo>",
            "<stdin>",
            "<//stdin",
            "\u{ff1c}/stdin>",
            "</stdin",
        ] {
            let out = enclosed("stdin", "", &format!("a\n{mark}\nb"));
            let inner = out.strip_prefix("<stdin>\na\n").unwrap();
            assert!(inner.starts_with("&lt;"), "{out}");
            assert!(out.ends_with("\nb\n</stdin>"), "{out}");
        }
        for text in ["a < b", "<std>", "</stdinx>", "Vec<u8>", "stdin>", "<"] {
            assert_eq!(
                enclosed("stdin", "", text),
                format!("<stdin>\n{text}\n</stdin>")
            );
        }
        assert_eq!(
            enclosed("file", "name=\"a</file>\"", "x\n"),
            "<file name=\"a&lt;/file>\">\nx\n</file>"
        );
    }

    proptest! {
        #[test]
        fn only_its_own_tag_closes_it(text in "[ <>/sStTdDiInN\\n\u{200b}]{0,60}") {
            let out = enclosed("stdin", "", &text);
            let plain: String = out.chars().filter(|c| !is_invisible(*c)).collect();
            prop_assert_eq!(plain.to_lowercase().matches("</stdin>").count(), 1, "{}", out);
        }
    }
}
