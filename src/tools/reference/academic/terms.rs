//! Turns a user's query into arXiv's query language: every word with a field, phrases kept.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::problem::{Outcome, Problem};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SearchTerms {
    /// Papers by id, separated by commas.
    Ids(String),
    /// In the query language.
    Query(String),
}

/// A field prefix of the query language.
static FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|[\s(])(?:ti|au|abs|co|jr|cat|rn|id|all):\S"#).ok());
/// Ids since 2007 and before, with or without a version.
static ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:arxiv:)?(\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?)$")
        .ok()
});
/// Operators; only in capitals.
const OPERATORS: [&str; 3] = ["AND", "OR", "ANDNOT"];
/// Words that would be read as operators but are filler.
const FILLER: [&str; 4] = ["and", "or", "not", "andnot"];

/// The terms of a query. A query with a field prefix is passed unchanged; one of ids only is requested by id.
///
/// # Errors
/// `Input` when it contains no word.
pub(super) fn terms(query: &str) -> Outcome<SearchTerms> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let whole = words.join(" ");
    let ids: Option<Vec<&str>> = words
        .iter()
        .flat_map(|word| word.split(','))
        .filter(|word| !word.is_empty())
        .map(id)
        .collect();
    if let Some(ids) = ids.filter(|ids| !ids.is_empty()) {
        return Ok(SearchTerms::Ids(ids.join(",")));
    }
    if FIELD.as_ref().is_some_and(|field| field.is_match(&whole)) {
        return Ok(SearchTerms::Query(whole));
    }
    let query = with_fields(&whole);
    if query.is_empty() {
        return Err(
            Problem::input("There is nothing to search arXiv for.").next(
                "Give words, for example \"attention mechanism\", or an id such as 2202.12139.",
            ),
        );
    }
    Ok(SearchTerms::Query(query))
}

fn id(word: &str) -> Option<&str> {
    let found = ID.as_ref()?.captures(word)?;
    found.get(1).map(|id| id.as_str())
}

/// Words and phrases, each in all fields, joined by AND or the operator between them.
fn with_fields(query: &str) -> String {
    let mut out = String::new();
    let mut operator = "AND";
    let mut add = |term: &str, operator: &mut &str| {
        if !out.is_empty() {
            out.push_str(&format!(" {operator} "));
        }
        out.push_str(&format!("all:{term}"));
        *operator = "AND";
    };
    // Every second part is quoted; an unpaired last quote is ignored.
    let parts: Vec<&str> = query.split('"').collect();
    let closed = parts.len() % 2 == 1;
    for (n, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.split(is_gap).filter(|word| says(word)).collect();
        if n % 2 == 1 && (closed || n + 1 < parts.len()) {
            if !words.is_empty() {
                add(&format!("\"{}\"", words.join(" ")), &mut operator);
            }
            continue;
        }
        for word in words {
            if let Some(own) = OPERATORS.iter().find(|own| **own == word) {
                operator = own;
            } else if !FILLER.contains(&word.to_lowercase().as_str()) {
                add(word, &mut operator);
            }
        }
    }
    out
}

/// Characters with a special meaning in the query language.
fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ':' | '"' | ',' | ';')
}

fn says(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_word_is_bound_and_prefixes_are_respected() {
        for (query, wanted) in [
            ("deep learning", "all:deep AND all:learning"),
            ("\"deep learning\"", "all:\"deep learning\""),
            (
                "\"deep  learning\" robots",
                "all:\"deep learning\" AND all:robots",
            ),
            (
                "au:del_maestro AND ti:checkerboard",
                "au:del_maestro AND ti:checkerboard",
            ),
            (
                "(ti:a OR ti:b)\n AND cat:cs.SE",
                "(ti:a OR ti:b) AND cat:cs.SE",
            ),
            ("cats OR dogs", "all:cats OR all:dogs"),
            ("cats ANDNOT dogs", "all:cats ANDNOT all:dogs"),
            ("AND cats AND", "all:cats"),
            ("search and rescue", "all:search AND all:rescue"),
            (
                "BERT: a model (2018)",
                "all:BERT AND all:a AND all:model AND all:2018",
            ),
            (
                "semi-supervised, robust",
                "all:semi-supervised AND all:robust",
            ),
            ("say \"open", "all:say AND all:open"),
            ("\"\" x \" : \"", "all:x"),
            ("пространство 空間", "all:пространство AND all:空間"),
            ("ratio 1:2", "all:ratio AND all:1 AND all:2"),
            ("quantum call: it", "all:quantum AND all:call AND all:it"),
        ] {
            assert_eq!(
                terms(query).unwrap(),
                SearchTerms::Query(wanted.to_owned()),
                "{query}"
            );
        }
    }

    #[test]
    fn ids_are_requested_by_id() {
        for (query, wanted) in [
            ("2202.12139", "2202.12139"),
            ("arXiv:2202.12139v1", "2202.12139v1"),
            ("hep-th/9901001, 2202.12139", "hep-th/9901001,2202.12139"),
            ("math.GT/0309136v2", "math.GT/0309136v2"),
        ] {
            assert_eq!(
                terms(query).unwrap(),
                SearchTerms::Ids(wanted.to_owned()),
                "{query}"
            );
        }
        assert!(matches!(
            terms("2202.12139 testing"),
            Ok(SearchTerms::Query(_))
        ));
    }

    #[test]
    fn a_query_without_words_is_refused() {
        for query in ["", " \n", "()", "\"\"", "and", ",", "AND OR"] {
            assert!(terms(query).is_err(), "{query:?}");
        }
    }

    proptest! {
        #[test]
        fn every_built_query_is_well_formed(query in "([a-zA-Z\\u{e9}\\u{7a7a}0-9\\-]{0,6}|[ \"():,]|AND|OR|ANDNOT){0,30}") {
            if let Ok(SearchTerms::Query(built)) = terms(&query) {
                prop_assert_eq!(built.matches('"').count() % 2, 0, "{}", built);
                if !FIELD.as_ref().unwrap().is_match(&query) {
                    prop_assert!(built.starts_with("all:"), "{}", built);
                    prop_assert!(!built.contains(['(', ')']), "{}", built);
                    let ends = OPERATORS.iter().any(|own| built.ends_with(&format!(" {own}")));
                    prop_assert!(!ends, "{}", built);
                }
            }
        }
    }
}
