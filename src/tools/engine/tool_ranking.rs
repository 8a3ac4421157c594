//! Which tools fit what somebody wants: BM25 over the words of their names, summaries, modules, phrases and parameters, and the everyday words for them.
//! The only such ranking: the reply flow picks tools by it, and a search for tools finds by it.

use std::collections::HashMap;

use super::everyday_words;
use super::owned_tool::ToolRef;
use crate::base::bm25::{Bm25, each_term};
use crate::base::words::{self, WordBeginning};

/// How often a word of each part counts.
const NAME_WEIGHT: u32 = 3;
const SUMMARY_WEIGHT: u32 = 2;
const MODULE_WEIGHT: u32 = 2;
const EVERYDAY_WEIGHT: u32 = 2;
const PHRASE_WEIGHT: u32 = 1;
const PARAMETER_WEIGHT: u32 = 1;

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

/// Tools that have a word, by position, each with the weighted count.
type Postings = Vec<(usize, u32)>;

#[derive(Debug)]
pub(crate) struct ToolIndex {
    names: Vec<String>,
    terms: HashMap<String, Postings>,
    everyday: Vec<(WordBeginning, Postings)>,
    /// Weighted number of words of each tool.
    lengths: Vec<u32>,
    bm25: Bm25,
}

impl ToolIndex {
    pub(crate) fn new(tools: &[ToolRef]) -> Self {
        let mut terms: HashMap<String, Postings> = HashMap::new();
        let mut lengths = vec![0; tools.len()];
        for (at, (tool, length)) in tools.iter().zip(&mut lengths).enumerate() {
            let mut add = |text: &str, weight: u32| {
                each_term(text, |term| {
                    *length += weight;
                    let postings = match terms.get_mut(term) {
                        Some(postings) => postings,
                        None => terms.entry(term.to_owned()).or_default(),
                    };
                    count(postings, at, weight);
                });
            };
            add(&name_words(tool.name()), NAME_WEIGHT);
            add(tool.about(), SUMMARY_WEIGHT);
            add(&name_words(tool.module()), MODULE_WEIGHT);
            for phrase in tool.offered().phrases.iter() {
                add(&without_slots(phrase), PHRASE_WEIGHT);
            }
            for parameter in tool.parameters() {
                add(&name_words(&parameter.name), PARAMETER_WEIGHT);
                add(&parameter.about, PARAMETER_WEIGHT);
            }
        }
        let positions: HashMap<&str, usize> = tools.iter().map(ToolRef::name).zip(0..).collect();
        let mut everyday = Vec::new();
        for (word, names) in everyday_words::all() {
            let mut postings = Postings::new();
            for at in names.iter().filter_map(|name| positions.get(name)) {
                count(&mut postings, *at, EVERYDAY_WEIGHT);
                if let Some(length) = lengths.get_mut(*at) {
                    *length += EVERYDAY_WEIGHT;
                }
            }
            if !postings.is_empty() {
                everyday.push((word, postings));
            }
        }
        Self {
            names: tools.iter().map(|tool| tool.name().to_owned()).collect(),
            terms,
            everyday,
            bm25: Bm25::new(&lengths),
            lengths,
        }
    }

    /// The names of the tools that fit `query`, the best first, at most `most`: one that is called just so, then by score, equal ones by name.
    pub(crate) fn rank(&self, query: &str, most: usize) -> Vec<&str> {
        let mut scores = vec![0.0; self.names.len()];
        for term in query_terms(query) {
            if let Some(postings) = self.terms.get(&term) {
                self.add_scores(postings, &mut scores);
            }
        }
        let folded = words::fold(query);
        for (word, postings) in &self.everyday {
            if word.is_in(&folded) {
                self.add_scores(postings, &mut scores);
            }
        }
        let query = query.trim();
        let found = self.names.iter().zip(scores);
        let found = found.map(|(name, score)| (name.as_str(), is_called(name, query), score));
        let found = found.filter(|(_, is_exact, score)| *is_exact || *score > 0.0);
        // Only so many are kept in order: a word may be in thousands of tools.
        let mut best: Vec<(&str, bool, f64)> = Vec::new();
        for tool in found {
            let at = best.partition_point(|own| is_better(own, &tool));
            if at < most {
                best.truncate(most - 1);
                best.insert(at, tool);
            }
        }
        best.into_iter().map(|(name, ..)| name).collect()
    }

    /// Adds what a word is worth to each tool that has it.
    fn add_scores(&self, postings: &Postings, scores: &mut [f64]) {
        let rarity = self.bm25.rarity(postings.len());
        for (at, times) in postings {
            if let (Some(score), Some(length)) = (scores.get_mut(*at), self.lengths.get(*at)) {
                *score += self.bm25.score(rarity, *times, *length);
            }
        }
    }
}

/// Whether a tool is called just so: by its name here, or by the one that its server gave it.
fn is_called(name: &str, query: &str) -> bool {
    let own = name.strip_suffix(query).filter(|_| !query.is_empty());
    own.is_some_and(|before| before.is_empty() || before.ends_with("__"))
}

/// One that is called just so is better, then one of a higher score, then one that comes first by name.
fn is_better(one: &(&str, bool, f64), other: &(&str, bool, f64)) -> bool {
    let best_first = (other.1.cmp(&one.1)).then(other.2.total_cmp(&one.2));
    best_first.then(one.0.cmp(other.0)).is_lt()
}

fn count(postings: &mut Postings, at: usize, weight: u32) {
    match postings.last_mut() {
        Some((last, times)) if *last == at => *times += weight,
        _ => postings.push((at, weight)),
    }
}

/// The words of a query that may name a subject, each once, as they are indexed.
fn query_terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    // A name that was written in full is looked for as it is, and by its parts.
    let parts = name_words(query);
    let words = words::runs(query).chain(words::runs(&parts));
    let words = words.filter(|word| STOP_WORDS.binary_search(&word.as_str()).is_err());
    for word in words {
        each_term(&word, |term| {
            if !terms.iter().any(|known| known == term) {
                terms.push(term.to_owned());
            }
        });
    }
    terms
}

/// A phrase without what it leaves open: `wake me at {time}` is `wake me at `.
fn without_slots(phrase: &str) -> String {
    let parts = phrase.split('{').enumerate();
    let outside = parts.map(|(at, part)| match part.split_once('}') {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    outside.collect()
}

/// A name with spaces between its parts: `toolSearch` and `tool_search` have two, `getHTTPStatus` has three.
pub(crate) fn name_words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let (mut was_small, mut was_capital) = (false, false);
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        if matches!(c, '_' | '-' | '.') {
            out.push(' ');
        } else {
            // The last capital of several begins a word, unless what follows makes a plural of them: `listPRs`.
            let begins_word = || {
                let mut after = chars.clone();
                let next = after.next().filter(|next| next.is_lowercase());
                let is_plural = next == Some('s') && !after.next().is_some_and(char::is_lowercase);
                next.is_some() && !is_plural
            };
            if c.is_uppercase() && (was_small || was_capital && begins_word()) {
                out.push(' ');
            }
            out.push(c);
        }
        was_small = c.is_lowercase() || c.is_numeric();
        was_capital = c.is_uppercase();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::engine::policy::ToolPolicy;
    use crate::tools::engine::registry::Registry;

    fn rank(query: &str, most: usize) -> Vec<String> {
        let index = ToolIndex::new(&Registry::default().allowed(&ToolPolicy::default()));
        let found = index.rank(query, most);
        found.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_tool_is_found_by_its_own_words() {
        for (query, best) in [
            ("Convert units, please", "convert_units"),
            ("list the branches", "git_branch"),
            ("tk", "tk"),
            ("git_log", "git_log"),
            ("ISBN of a RAWG id", "get_game_details"),
        ] {
            assert_eq!(rank(query, 1), [best], "{query}");
        }
        assert!(!rank("convert units", 8).contains(&"wiki_full".to_owned()));
        for nothing in ["what is this and that to you?", "zzyzx qwortle", "", " \n"] {
            assert_eq!(rank(nothing, 8), [""; 0], "{nothing}");
        }
        assert_eq!(rank("git", 3).len(), 3);
    }

    #[test]
    fn a_tool_is_found_by_everyday_words_in_several_languages() {
        for (query, tool) in [
            ("wake me up at seven", "set_alarm"),
            ("Weck mich um sieben", "set_alarm"),
            ("明日の朝七時に起こして", "set_alarm"),
            ("Сколько будет идти дождь?", "weather_forecast"),
            ("附近有药店吗", "places_nearby_search"),
            ("Dodaj to do zakładek", "bookmark_save"),
        ] {
            assert!(rank(query, 5).contains(&tool.to_owned()), "{query}");
        }
    }

    #[test]
    fn equal_tools_come_by_name() {
        let found = rank("alarms", 8);
        let alarms: Vec<_> = found.iter().filter(|name| name.contains("alarm")).collect();
        assert_eq!(alarms.len(), 3, "{found:?}");
        assert_eq!(rank("steam", 8), rank("steam", 8));
    }

    #[test]
    fn names_and_phrases_are_cut_into_words() {
        assert_eq!(
            name_words("toolSearch-by_nameX2Y"),
            "tool Search by name X2 Y"
        );
        assert_eq!(name_words("server__tool.run"), "server  tool run");
        assert_eq!(name_words("getHTTPStatus"), "get HTTP Status");
        assert_eq!(name_words("listPRs_byURL"), "list PRs by URL");
        let terms = query_terms("mergePullRequests");
        assert_eq!(terms, ["mergepullrequest", "merg", "pull", "request"]);
        for (name, query, is_it) in [
            ("git_log", "git_log", true),
            ("gh__getHTTPStatus", "getHTTPStatus", true),
            ("gh__getHTTPStatus", "HTTPStatus", false),
            ("gh__a", "", false),
        ] {
            assert_eq!(is_called(name, query), is_it, "{name} {query}");
        }
        assert_eq!(
            without_slots("wake me at {time} for {message}"),
            "wake me at  for "
        );
        assert_eq!(without_slots("papers{sort=new}"), "papers");
        assert_eq!(without_slots("a } b"), "a } b");
    }
}
