//! Notes that a model wrote about a part of a longer text, and the parts.

use crate::base::text;
use crate::formats::model_text;

/// How models say that there is nothing to note.
const NOTHING: [&str; 5] = ["none", "(none)", "[none]", "n/a", "nil"];

/// A note without quotes, of at most `max` characters and `…`; `None` when it says that there is nothing.
pub(crate) fn kept(note: &str, max: usize) -> Option<String> {
    let note = model_text::without_thoughts(note);
    let note = unquoted(unfenced(note.trim()));
    let is_markup =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*' | '_' | '“' | '”');
    let bare = note.trim_matches(is_markup);
    let bare = bare
        .strip_suffix(['.', '!'])
        .unwrap_or(bare)
        .trim_matches(is_markup);
    let is_nothing = bare.is_empty() || NOTHING.iter().any(|word| bare.eq_ignore_ascii_case(word));
    (!is_nothing).then(|| text::clip(note, max))
}

/// The inside of a fence around the whole text; half a fence counts.
pub(crate) fn unfenced(text: &str) -> &str {
    let Some(opened) = text.strip_prefix("```") else {
        return text;
    };
    // The rest of the first line is the language.
    let inside = opened.split_once('\n').map_or(opened, |(_, inside)| inside);
    let inside = inside.trim_end();
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// The inside of a pair of quotes around the whole text.
pub(crate) fn unquoted(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')] {
        if let Some(inside) = text
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
        {
            return inside.trim();
        }
    }
    text
}

/// Whole entries, packed line by line into batches of at most `max` characters. An entry that is longer is a batch itself.
pub(crate) fn batches<S: AsRef<str>>(
    entries: impl IntoIterator<Item = S>,
    max: usize,
) -> Vec<String> {
    pack(entries, "\n", max)
}

/// `text`, cut between paragraphs into chunks of at most `max` characters. A paragraph that is longer is a chunk itself.
pub(crate) fn chunks(text: &str, max: usize) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        match paragraphs.last_mut().filter(|_| is_open) {
            Some(paragraph) => {
                paragraph.push('\n');
                paragraph.push_str(line);
            }
            None => paragraphs.push(line.to_owned()),
        }
        is_open = true;
    }
    pack(paragraphs, "\n\n", max)
}

fn pack<S: AsRef<str>>(
    entries: impl IntoIterator<Item = S>,
    separator: &str,
    max: usize,
) -> Vec<String> {
    let mut packed: Vec<String> = Vec::new();
    let mut room = 0;
    for entry in entries {
        let entry = entry.as_ref();
        let needs = entry.chars().count();
        match packed.last_mut() {
            Some(batch) if needs + separator.len() <= room => {
                batch.push_str(separator);
                batch.push_str(entry);
                room -= needs + separator.len();
            }
            _ => {
                packed.push(entry.to_owned());
                room = max.saturating_sub(needs);
            }
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_understood_in_any_form() {
        for note in [
            "NONE",
            "none.",
            " (None) ",
            "[NONE].",
            "N/A",
            "n/a.",
            "nil",
            "\"NONE\"",
            "'None.'",
            "**NONE**",
            "`NONE`",
            "```\nNONE\n```",
            "```\nNONE",
            "<think>well</think>\nNONE",
            "NONE!",
            "",
            " \n",
            "\"\"",
        ] {
            assert_eq!(kept(note, 500), None, "{note:?}");
        }
        for (note, want) in [
            ("None of the boats left.", "None of the boats left."),
            ("\"They keep bees.\"", "They keep bees."),
            ("Nil desperandum", "Nil desperandum"),
            ("```text\nThey keep bees.\n```", "They keep bees."),
        ] {
            assert_eq!(kept(note, 500).as_deref(), Some(want));
        }
        assert_eq!(kept("ééééé", 3).as_deref(), Some("ééé…"));
    }

    #[test]
    fn entries_are_packed_whole() {
        assert_eq!(
            batches(["aa", "bb", "cccccc", "d"], 5),
            ["aa\nbb", "cccccc", "d"]
        );
        assert_eq!(batches(Vec::<String>::new(), 5), Vec::<String>::new());
        assert_eq!(chunks("a\nb\n\n \n\nc\n", 6), ["a\nb\n\nc"]);
        assert_eq!(chunks("a\nb\n\nc", 5), ["a\nb", "c"]);
    }

    proptest! {
        #[test]
        fn batches_lose_nothing_and_stay_within_the_limit(entries in proptest::collection::vec("[a-zé]{0,12}", 0..20), max in 1usize..30) {
            let packed = batches(&entries, max);
            prop_assert_eq!(packed.join("\n"), entries.join("\n"));
            for batch in packed {
                prop_assert!(batch.chars().count() <= max || !batch.contains('\n'));
            }
        }
    }
}
