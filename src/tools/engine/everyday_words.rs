//! Words by which people ask for built-in tools: what a tool's own summary says in a programmer's English, in the words of a kitchen and in other languages.

use std::collections::BTreeMap;

use crate::base::words::WordBeginning;

const TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/everyday_words.txt"));

/// The words, in order, each with the names of the tools that it speaks for.
pub(super) fn all() -> impl Iterator<Item = (WordBeginning, Vec<&'static str>)> {
    let mut tools_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tools, word) in rows() {
        let known = tools_of.entry(word).or_default();
        known.extend(tools.split_whitespace());
        known.sort_unstable();
        known.dedup();
    }
    let words = tools_of.into_iter();
    words.map(|(word, tools)| (WordBeginning::new(word), tools))
}

/// Each word with the line of tools above it.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut tools = "";
    TABLE.lines().flat_map(move |line| {
        let words = line.strip_prefix("  ");
        if words.is_none() {
            tools = line;
        }
        let tools = tools;
        // The language comes first.
        let words = words.unwrap_or_default().split_whitespace().skip(1);
        words.map(move |word| (tools, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[test]
    fn every_row_names_tools_and_says_its_language() {
        let mut subjects = Vec::new();
        for line in TABLE.lines() {
            let Some(words) = line.strip_prefix("  ") else {
                let unknown = |name: &&str| tools::find_tool(name).is_none();
                assert_eq!(line.split_whitespace().find(unknown), None, "{line}");
                assert!(!subjects.contains(&line), "{line} twice");
                subjects.push(line);
                continue;
            };
            let mut words = words.split_whitespace();
            let language = words.next().unwrap();
            assert!(language.len() == 2 && words.next().is_some(), "{line}");
        }
        assert!(subjects.len() > 40);
    }

    #[test]
    fn a_word_speaks_for_the_tools_of_all_its_rows() {
        let tools = |word: &str| {
            let found = all().find(|(own, _)| *own == WordBeginning::new(word));
            found.map(|(_, tools)| tools).unwrap_or_default()
        };
        assert_eq!(tools("wake"), ["cancel_alarm", "list_alarms", "set_alarm"]);
        assert!(tools("adres").contains(&"osm_search") && tools("adres").contains(&"save_place"));
        assert_eq!(tools("zzyzx"), [""; 0]);
    }
}
