//! Overpass queries: adds the settings that a query lacks, and escapes text.

use crate::base::problem::{Outcome, Problem};

/// How long the server may work on a query that does not say so itself, in seconds.
const TIMEOUT: u32 = 25;

/// Escapes `text` for double quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Escapes `text` for a regular expression; the result still has to be [`escaped`].
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '_' | '-' | ':' | ' ') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The query with JSON output and a timeout, unless it sets a timeout itself.
///
/// # Errors
/// `Input` for an output that is not a list of elements, and for shortcuts that only a web page understands.
pub(crate) fn with_settings(query: &str) -> Outcome<String> {
    let query = query.trim();
    if query.contains("{{") {
        return Err(Problem::input(
            "The query holds {{…}}, a shortcut that only the Overpass Turbo page understands.",
        )
        .next("Write the bounding box or the place itself: (50.6,7.0,50.8,7.3) or (around:1000,50.73,7.1)."));
    }
    // In XML the settings are part of the first element.
    if query.starts_with('<') {
        return Ok(query.to_owned());
    }
    let (lead, rest) = query.split_at(comments(query));
    let Some((settings, body)) = settings(rest) else {
        return Ok(format!("{lead}[out:json][timeout:{TIMEOUT}];{rest}"));
    };
    let (mut own, mut timed) = (String::new(), false);
    for setting in settings {
        let (key, value) = setting.split_once(':').unwrap_or((setting, ""));
        let value = value.trim();
        match key.trim() {
            "out" if matches!(value, "json" | "xml") => {}
            "out" => {
                return Err(Problem::input(format!(
                    "The output of the query is {}; only a list of elements can be shown.",
                    crate::base::text::clip(value, 40)
                ))
                .next("Leave out [out:…]."));
            }
            key => {
                timed |= key == "timeout";
                own.push_str(&format!("[{setting}]"));
            }
        }
    }
    if !timed {
        own.push_str(&format!("[timeout:{TIMEOUT}]"));
    }
    Ok(format!("{lead}[out:json]{own};{body}"))
}

/// Length of leading comments and white space.
fn comments(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let after = if let Some(line) = rest.strip_prefix("//") {
            line.split_once('\n').map(|(_, after)| after)
        } else if let Some(block) = rest.strip_prefix("/*") {
            block.split_once("*/").map(|(_, after)| after)
        } else {
            return text.len() - rest.len();
        };
        let Some(after) = after else {
            return text.len() - rest.len();
        };
        rest = after;
    }
}

/// The leading settings, and the text after their semicolon.
fn settings(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(inner) = rest.trim_start().strip_prefix('[') {
        let (setting, after) = inner.split_once(']')?;
        found.push(setting.trim());
        rest = after;
    }
    let body = rest.trim_start().strip_prefix(';')?;
    (!found.is_empty()).then_some((found, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn settings_are_added_where_they_are_missing() {
        for (given, wanted) in [
            ("node(1);out;", "[out:json][timeout:25];node(1);out;"),
            (
                "[out:json];node(1);out;",
                "[out:json][timeout:25];node(1);out;",
            ),
            (
                "[timeout:9];node(1);out;",
                "[out:json][timeout:9];node(1);out;",
            ),
            (
                " [out:json] [timeout:5]\n[bbox:1,2,3,4] ; out;",
                "[out:json][timeout:5][bbox:1,2,3,4]; out;",
            ),
            (
                "[out:xml][maxsize:1000];out;",
                "[out:json][maxsize:1000][timeout:25];out;",
            ),
            (
                "// cafes\n/* all */node(1);out;",
                "// cafes\n/* all */[out:json][timeout:25];node(1);out;",
            ),
            ("// only words", "[out:json][timeout:25];// only words"),
            (
                "<osm-script output=\"json\"/>",
                "<osm-script output=\"json\"/>",
            ),
        ] {
            assert_eq!(with_settings(given).unwrap(), wanted, "{given}");
        }
        for wrong in ["[out:csv(name)];out;", "node({{bbox}});out;"] {
            assert!(with_settings(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        assert_eq!(escaped("a\"];node(1);//\\\n"), "a\\\"];node(1);//\\\\ ");
        assert_eq!(
            escaped(&literal("a.b|c_d(e)")),
            "a\\\\.b\\\\|c_d\\\\(e\\\\)"
        );
    }

    proptest! {
        #[test]
        fn any_query_keeps_its_body(
            lead in "( |//[a-z ]{0,5}\n|/\\*[a-z ]{0,5}\\*/){0,3}",
            own in "(\\[[a-z]{1,7}:[0-9a-z]{0,4}\\]){0,3}",
            body in "(node|way)\\([0-9]{1,4}\\);out( center)?;",
        ) {
            let end = if own.is_empty() { "" } else { ";" };
            let made = with_settings(&format!("{lead}{own}{end}{body}"));
            if let Ok(made) = made {
                prop_assert!(made.ends_with(&body), "{made}");
                prop_assert_eq!(made.matches("[out:json]").count(), 1);
                prop_assert!(made.contains("[timeout:"));
            } else {
                prop_assert!(own.contains("[out:"));
            }
        }

        #[test]
        fn anything_is_read_without_harm(text in "([\\[\\];:/*\n{}]|out|timeout|.){0,40}") {
            let _ = with_settings(&text);
        }

        #[test]
        fn a_quote_is_never_bare(text in ".{0,40}") {
            let safe = escaped(&text);
            let mut chars = safe.chars();
            while let Some(c) = chars.next() {
                prop_assert!(c != '"' && !c.is_control());
                if c == '\\' {
                    prop_assert!(matches!(chars.next(), Some('"' | '\\')));
                }
            }
        }
    }
}
