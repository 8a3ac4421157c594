//! English definitions from <https://dictionaryapi.dev>.

use std::fmt::Write as _;

use serde_json::Value;

use super::DictionaryLookup;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, one_line, plural};
use crate::net::services::DICTIONARYAPI;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Maximum characters of a word; the longest in a dictionary have fifty.
const MAX_WORD_CHARS: usize = 100;
/// Definitions shown for each part of speech.
const MAX_DEFINITIONS: usize = 3;
/// Synonyms shown for each part of speech.
const MAX_SYNONYMS: usize = 12;

pub(super) fn lookup(ctx: &ToolContext, args: DictionaryLookup) -> Outcome<String> {
    let word = one_line(&args.word);
    if word.is_empty() || word.chars().count() > MAX_WORD_CHARS {
        return Err(Problem::input(match word.is_empty() {
            true => "The word is missing.".to_owned(),
            false => format!("\"{}\" is not a word.", clip(&word, 60)),
        })
        .next("Give one English word, for example serendipity."));
    }
    let answer = ctx
        .service(&DICTIONARYAPI)
        .path("/api/v2/entries/en")
        .segment(&word)
        .get()?;
    let value = answer.value();
    let title = value.as_ref().and_then(|value| value.text("title"));
    // Other bodies with status 404 do not come from the dictionary.
    let message = value.as_ref().and_then(|value| value.text("message"));
    if answer.status == 404 && title.or(message).is_some() {
        return Err(unknown(&word));
    }
    let value = answer.json(|_| title.or(message).map(str::to_owned))?;
    let Some(entries) = value.as_array() else {
        return Err(match title {
            Some(title) if title.to_lowercase().contains("no definition") => unknown(&word),
            Some(title) => answer.refused(Some(title)),
            None => answer.unreadable(),
        });
    };
    let lists = |entry: &Value| entry.at("meanings").is_some_and(Value::is_array);
    match format_entries(entries, args.include_synonyms) {
        Some(text) => Ok(fenced("the dictionary", &text)),
        None if entries.is_empty() || entries.iter().any(lists) => Err(unknown(&word)),
        None => Err(answer.unreadable()),
    }
}

fn unknown(word: &str) -> Problem {
    Problem::missing(format!("No definition found for '{word}'."))
        .next("Check its spelling, or give its base form; only English words are known.")
}

/// The entries as text; `None` when they contain no definition.
fn format_entries(entries: &[Value], synonyms: bool) -> Option<String> {
    let texts: Vec<String> = entries
        .iter()
        .filter_map(|entry| meanings(entry, synonyms))
        .collect();
    let first = entries.first()?;
    if texts.is_empty() {
        return None;
    }
    let mut out = first.text("word").map(one_line).unwrap_or_default();
    if let Some(sound) = entries.iter().find_map(pronunciation) {
        let gap = if out.is_empty() { "" } else { "  " };
        let _ = write!(out, "{gap}{sound}");
    }
    if let Some(audio) = entries.iter().find_map(audio) {
        let _ = write!(out, "\nAudio: {audio}");
    }
    let several = texts.len() > 1;
    for (n, text) in texts.iter().enumerate() {
        out.push('\n');
        if several {
            let _ = write!(out, "\n[{} of {}]", n + 1, texts.len());
        }
        out.push_str(text);
    }
    if let Some(source) = entries.iter().find_map(source) {
        let _ = write!(out, "\n\n{source}");
    }
    Some(out.trim_start().to_owned())
}

/// The parts of speech of an entry with their definitions.
fn meanings(entry: &Value, synonyms: bool) -> Option<String> {
    let mut out = String::new();
    for meaning in entry.list("meanings") {
        let definitions: Vec<&Value> = meaning
            .list("definitions")
            .iter()
            .filter(|own| own.text("definition").is_some())
            .collect();
        if definitions.is_empty() {
            continue;
        }
        let part = meaning.text("partOfSpeech").map(one_line);
        let _ = write!(out, "\n{}", part.as_deref().unwrap_or("other"));
        for (n, own) in definitions.iter().take(MAX_DEFINITIONS).enumerate() {
            let text = one_line(own.text("definition").unwrap_or_default());
            let _ = write!(out, "\n  {}. {text}", n + 1);
            if let Some(example) = own.text("example") {
                let _ = write!(out, "\n     Example: {}", one_line(example));
            }
        }
        let more = definitions.len().saturating_sub(MAX_DEFINITIONS);
        if more > 0 {
            let _ = write!(out, "\n  ({} more)", plural(more, "definition"));
        }
        if synonyms {
            for (label, key) in [("Synonyms", "synonyms"), ("Antonyms", "antonyms")] {
                let words = collect_words(meaning, key);
                if !words.is_empty() {
                    let _ = write!(out, "\n  {label}: {}", words.join(", "));
                }
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Synonyms or antonyms of a meaning and its definitions, in order, without duplicates.
fn collect_words(meaning: &Value, key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let definitions = meaning.list("definitions");
    for place in std::iter::once(meaning).chain(definitions) {
        for word in place.texts(key) {
            let word = one_line(word);
            if words.len() < MAX_SYNONYMS && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

fn pronunciation(entry: &Value) -> Option<String> {
    let others = entry.list("phonetics").iter();
    let mut all = std::iter::once(entry.text("phonetic"))
        .chain(others.map(|own| own.text("text")))
        .flatten();
    all.next().map(one_line)
}

/// The first recording; older addresses lack the scheme.
fn audio(entry: &Value) -> Option<String> {
    entry.list("phonetics").iter().find_map(|own| {
        let address = own.text("audio")?;
        let whole = match address.strip_prefix("//") {
            Some(rest) => format!("https://{rest}"),
            None => address.to_owned(),
        };
        let sound = !whole.contains(char::is_whitespace) && whole.starts_with("http");
        sound.then(|| escape_controls(&whole))
    })
}

fn source(entry: &Value) -> Option<String> {
    let address = one_line(entry.texts("sourceUrls").first()?);
    Some(match entry.text("license/name") {
        Some(license) => format!("Source: {address} ({})", one_line(license)),
        None => format!("Source: {address}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_of_every_shape_are_shown() {
        let both = json!([{"word": "tide", "phonetic": "", "phonetics": [{"audio": ""}, {"text": "/taɪd/", "audio": "//a.test/t.mp3"}],
            "meanings": [{"partOfSpeech": "noun", "synonyms": ["flow", "ebb"], "antonyms": [],
                "definitions": [{"definition": "Rise\nof the sea.", "example": "High tide.", "synonyms": ["ebb", "surge"], "antonyms": ["calm"]},
                    {"definition": "b"}, {"definition": "c"}, {"definition": "d"}, {"definition": null}]},
                {"partOfSpeech": "verb", "definitions": []}],
            "license": {"name": "CC BY-SA 3.0"}, "sourceUrls": ["https://w.test/tide"]}]);
        let text = format_entries(both.as_array().unwrap(), true).unwrap();
        assert_eq!(
            text,
            "tide  /taɪd/\nAudio: https://a.test/t.mp3\n\nnoun\n  1. Rise of the sea.\n     Example: High tide.\n  2. b\n  3. c\n  \
             (1 definition more)\n  Synonyms: flow, ebb, surge\n  Antonyms: calm\n\nSource: https://w.test/tide (CC BY-SA 3.0)"
        );
        let text = format_entries(both.as_array().unwrap(), false).unwrap();
        assert!(!text.contains("ynonyms"), "{text}");
        let two = json!([{"word": "b", "meanings": [{"definitions": [{"definition": "x"}]}]},
            {"word": "b", "meanings": [{"partOfSpeech": "verb", "definitions": [{"definition": "y"}]}]}, {"word": "b"}]);
        let text = format_entries(two.as_array().unwrap(), true).unwrap();
        assert_eq!(
            text,
            "b\n\n[1 of 2]\nother\n  1. x\n\n[2 of 2]\nverb\n  1. y"
        );
        for empty in [
            json!([]),
            json!([{"word": "b"}]),
            json!([null, 1, "x", {"meanings": {}}]),
        ] {
            assert_eq!(format_entries(empty.as_array().unwrap(), true), None);
        }
    }
}
