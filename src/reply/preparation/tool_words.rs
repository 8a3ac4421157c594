//! Tools by their words: how many words of a message occur in the name and the description of a tool.

use std::collections::HashSet;

use crate::base::words;
use crate::reply::tools::catalogue::Catalogue;

/// English words that say nothing about a subject.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "been", "before", "but", "by", "can", "could", "did", "do", "does", "don", "every",
    "find", "for", "from", "get", "give", "had", "has", "have", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "know", "let", "ll", "make", "many",
    "may", "me", "might", "more", "most", "much", "must", "my", "need", "no", "not", "now", "of",
    "off", "on", "one", "only", "or", "other", "our", "out", "over", "please", "s", "shall", "she",
    "should", "show", "so", "some", "t", "tell", "than", "thank", "thanks", "that", "the", "their",
    "them", "then", "there", "these", "they", "think", "this", "those", "to", "too", "up", "us",
    "use", "ve", "very", "want", "was", "we", "were", "what", "when", "where", "which", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// The words of a message that may name a subject.
fn query_words(query: &str) -> HashSet<String> {
    let words = words::runs(query).filter(|word| STOP_WORDS.binary_search(&word.as_str()).is_err());
    words.collect()
}

/// The tools that share words with `query`, in catalogue order, each with the number of shared words.
pub(crate) fn scores<'c>(query: &str, catalogue: &'c Catalogue) -> Vec<(&'c str, usize)> {
    let query = query_words(query);
    if query.is_empty() {
        return Vec::new();
    }
    let scored = catalogue.names().map(|name| {
        let text = format!("{} {}", humps(name), catalogue.about(name));
        let words: HashSet<String> = words::runs(&text).collect();
        (
            name,
            query.iter().filter(|word| words.contains(*word)).count(),
        )
    });
    scored.filter(|(_, score)| *score > 0).collect()
}

/// A name with spaces between its parts: `toolSearch` and `tool_search` have two.
pub(crate) fn humps(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for c in name.chars() {
        if c == '_' || c == '-' {
            out.push(' ');
        } else {
            if c.is_uppercase() && was_small {
                out.push(' ');
            }
            out.push(c);
        }
        was_small = c.is_lowercase() || c.is_numeric();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::testing::catalogue;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn tools_are_found_by_the_words_of_name_and_description() {
        let catalogue = catalogue(None);
        let found = |query: &str| -> Vec<&str> {
            scores(query, &catalogue)
                .iter()
                .map(|(name, _)| *name)
                .collect()
        };
        let units = found("Convert units, please");
        assert!(
            units.contains(&"convert_units") && !units.contains(&"wiki_full"),
            "{units:?}"
        );
        assert_eq!(found("what is this and that to you?"), [] as [&str; 0]);
        assert_eq!(found("zzyzx qwortle"), [] as [&str; 0]);
        let best = scores("convert units", &catalogue);
        let best = best.iter().max_by_key(|(_, score)| *score).unwrap();
        assert_eq!(*best, ("convert_units", 2));
        assert_eq!(humps("toolSearch-by_nameX2Y"), "tool Search by name X2 Y");
    }
}
