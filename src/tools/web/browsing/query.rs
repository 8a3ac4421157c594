//! Search queries, in the syntax of each service.

use crate::base::problem::{Outcome, Problem};
use crate::base::text::thousands;

/// Characters that DuckDuckGo takes.
const MAX_QUERY_CHARS: usize = 499;
/// Characters that GNews takes.
const MOST_GNEWS: usize = 200;

/// A query on one line.
///
/// # Errors
/// `Input` for one that is empty or too long for every search engine.
pub(super) fn checked(query: &str) -> Outcome<String> {
    let words = query.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Err(Problem::input("The query is empty.").next("Say what to search for."));
    }
    short(words.join(" "))
}

/// The same for DuckDuckGo, where a word that begins with `!` or `\` leads to another site: it is quoted.
///
/// # Errors
/// As [`checked`].
pub(super) fn for_duckduckgo(query: &str) -> Outcome<String> {
    let query = checked(query)?;
    let last = query.matches('"').count();
    let plain = |at: usize| at.is_multiple_of(2) || at == last;
    let parts: Vec<String> = query
        .split('"')
        .enumerate()
        .map(|(at, part)| match plain(at) {
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

/// The same for GNews, which refuses special characters outside quotes.
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
            false => part.split([' ', '(', ')']).map(word).collect(),
        };
        made.extend(words.into_iter().filter(|word| !word.is_empty()));
    }
    let made = made.join(" ");
    if made.is_empty() {
        return Err(Problem::input("It searches for letters and digits only."));
    }
    if made.chars().count() > MOST_GNEWS {
        let what = format!("It takes queries of {MOST_GNEWS} characters at most.");
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

fn tamed(word: &str) -> String {
    match word.starts_with(['!', '\\']) {
        true => format!("\"{word}\""),
        false => word.to_owned(),
    }
}

/// A word outside quotes as GNews takes it.
fn word(word: &str) -> String {
    if word.chars().all(char::is_alphanumeric) {
        return word.to_owned();
    }
    match word.strip_prefix('-').map(quoted) {
        Some(unwanted) if !unwanted.is_empty() => format!("NOT {unwanted}"),
        _ => quoted(word),
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
    fn queries_are_one_line_of_some_words() {
        assert_eq!(checked("  tidal\n\tpower ").unwrap(), "tidal power");
        assert_eq!(checked("潮汐 приливы ☂").unwrap(), "潮汐 приливы ☂");
        for empty in ["", " \n", "\u{0}\u{7}"] {
            assert_eq!(checked(empty).unwrap_err().what, "The query is empty.");
        }
        assert!(checked(&"ä".repeat(499)).is_ok());
        assert_eq!(
            checked(&"a".repeat(1_000_000)).unwrap_err().what,
            "The query has 1,000,000 characters; a search takes 499 at most."
        );
    }

    #[test]
    fn words_that_lead_elsewhere_are_quoted() {
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
