//! Search queries, in the syntax of each service.

use crate::base::problem::{Outcome, Problem};
use crate::base::text::thousands;

/// Maximum characters that DuckDuckGo accepts.
const MAX_QUERY_CHARS: usize = 499;
/// Maximum characters that GNews accepts.
const MAX_GNEWS_CHARS: usize = 200;

/// A query on one line.
///
/// # Errors
/// `Input` for one that is empty or too long for every search engine.
pub(super) fn one_line_query(query: &str) -> Outcome<String> {
    let words = query.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|gnews_word| !gnews_word.is_empty()).collect();
    if words.is_empty() {
        return Err(Problem::input("The query is empty.").next("Say what to search for."));
    }
    short(words.join(" "))
}

/// The query for DuckDuckGo, where a word that begins with `!` or `\` leads to another site: it is quoted.
///
/// # Errors
/// As [`checked`].
pub(super) fn for_duckduckgo(query: &str) -> Outcome<String> {
    let query = one_line_query(query)?;
    let last = query.matches('"').count();
    let plain = |index: usize| index.is_multiple_of(2) || index == last;
    let parts: Vec<String> = query
        .split('"')
        .enumerate()
        .map(|(index, part)| match plain(index) {
            true => part
                .split(' ')
                .map(tamed)
                .collect::<Vec<String>>()
                .join(" "),
            false => part.to_owned(),
        })
        .collect();
    short(parts.join("\""))
}

/// The query for GNews, which refuses special characters outside quotes.
///
/// # Errors
/// `Input` for what GNews cannot search for.
pub(super) fn for_gnews(query: &str) -> Outcome<String> {
    let mut made: Vec<String> = Vec::new();
    let mut parts = query.split('"').enumerate().peekable();
    while let Some((at, part)) = parts.next() {
        let is_phrase = !at.is_multiple_of(2) && parts.peek().is_some();
        let words: Vec<String> = match is_phrase {
            true => vec![quoted(part)],
            false => part.split([' ', '(', ')']).map(gnews_word).collect(),
        };
        made.extend(
            words
                .into_iter()
                .filter(|gnews_word| !gnews_word.is_empty()),
        );
    }
    let made = made.join(" ");
    if made.is_empty() {
        return Err(Problem::input("It searches for letters and digits only."));
    }
    if made.chars().count() > MAX_GNEWS_CHARS {
        let what = format!("It takes queries of {MAX_GNEWS_CHARS} characters at most.");
        return Err(Problem::input(what));
    }
    Ok(made)
}

fn short(query: String) -> Outcome<String> {
    let count = query.chars().count();
    if count <= MAX_QUERY_CHARS {
        return Ok(query);
    }
    let what = format!(
        "The query has {} characters; a search takes {MAX_QUERY_CHARS} at most.",
        thousands(count as u64)
    );
    Err(Problem::input(what).next("Search for the few words that matter."))
}

fn tamed(gnews_word: &str) -> String {
    match gnews_word.starts_with(['!', '\\']) {
        true => format!("\"{gnews_word}\""),
        false => gnews_word.to_owned(),
    }
}

/// A word outside quotes in GNews syntax.
fn gnews_word(gnews_word: &str) -> String {
    if gnews_word.chars().all(char::is_alphanumeric) {
        return gnews_word.to_owned();
    }
    match gnews_word.strip_prefix('-').map(quoted) {
        Some(unwanted) if !unwanted.is_empty() => format!("NOT {unwanted}"),
        _ => quoted(gnews_word),
    }
}

/// A phrase in quotes; `None` for one without letters and digits.
fn quoted(phrase: &str) -> String {
    match phrase.chars().any(char::is_alphanumeric) {
        true => format!("\"{phrase}\""),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_query_is_one_non_empty_line() {
        assert_eq!(one_line_query("  tidal\n\tpower ").unwrap(), "tidal power");
        assert_eq!(one_line_query("潮汐 приливы ☂").unwrap(), "潮汐 приливы ☂");
        for empty in ["", " \n", "\u{0}\u{7}"] {
            assert_eq!(
                one_line_query(empty).unwrap_err().what,
                "The query is empty."
            );
        }
        assert!(one_line_query(&"ä".repeat(499)).is_ok());
        assert_eq!(
            one_line_query(&"a".repeat(1_000_000)).unwrap_err().what,
            "The query has 1,000,000 characters; a search takes 499 at most."
        );
    }

    #[test]
    fn bang_words_are_quoted() {
        for (query, wanted) in [
            ("!w tides", "\"!w\" tides"),
            ("tides !g \\x wow! a!b", "tides \"!g\" \"\\x\" wow! a!b"),
            ("\"say !now\" !now", "\"say !now\" \"!now\""),
            ("a \"b !c", "a \"b \"!c\""),
            ("!", "\"!\""),
        ] {
            assert_eq!(for_duckduckgo(query).unwrap(), wanted, "{query}");
        }
        assert!(for_duckduckgo(&"!a ".repeat(150)).is_err());
    }

    #[test]
    fn special_characters_are_quoted_for_gnews() {
        for (query, wanted) in [
            ("tidal power", "tidal power"),
            ("C++ covid-19", "\"C++\" \"covid-19\""),
            (
                "\"tidal power\" AND (wind OR 潮汐)",
                "\"tidal power\" AND wind OR 潮汐",
            ),
            ("apple -iphone -", "apple NOT \"iphone\""),
            ("it's \"unclosed & odd", "\"it's\" unclosed odd"),
        ] {
            assert_eq!(for_gnews(query).unwrap(), wanted, "{query}");
        }
        for (query, wanted) in [("& !", "letters and digits"), (&"é ".repeat(101), "200")] {
            let problem = for_gnews(query).unwrap_err();
            assert!(problem.what.contains(wanted), "{}", problem.what);
        }
        assert!(for_gnews(&"é ".repeat(100)).is_ok());
    }

    proptest! {
        #[test]
        fn quotes_are_closed_for_gnews(query in "[a-z\"!+ ()-]{0,60}") {
            let made = for_gnews(&query).unwrap_or_default();
            prop_assert!(made.matches('"').count().is_multiple_of(2));
            let outside: String = made.split('"').step_by(2).collect();
            prop_assert!(outside.chars().all(|c| c.is_alphanumeric() || c == ' '), "{}", made);
        }
    }
}
