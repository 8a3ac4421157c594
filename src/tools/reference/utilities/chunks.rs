//! Splits long text into chunks that a service accepts: between sentences, else between words, never inside a character.

use unicode_segmentation::UnicodeSegmentation as _;

/// A chunk of a text, and the white space after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextChunk<'a> {
    pub(crate) text: &'a str,
    pub(crate) gap: &'a str,
}

/// The chunks of a text, each of at most `max` bytes of UTF-8 (8 or more). Joined with their gaps they are the text again, without its leading white space.
pub(crate) fn chunks(text: &str, max: usize) -> Vec<TextChunk<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = match rest.trim_end().len() <= max {
            true => rest.len(),
            false => cut(rest, max),
        };
        let (chunk, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let body = chunk.trim_end();
        let next = later.trim_start();
        let gap = rest.get(body.len()..rest.len() - next.len());
        found.push(TextChunk {
            text: body,
            gap: gap.unwrap_or_default(),
        });
        rest = next;
    }
    found
}

/// Where to split a text that is too long: after the last paragraph, sentence or word that fits, and not too early.
fn cut(text: &str, max: usize) -> usize {
    let window = text.get(..text.floor_char_boundary(max)).unwrap_or(text);
    // A cut in the first third would make many small chunks.
    let late = |at: &usize| *at * 3 >= max;
    let paragraph = window.rfind("\n\n").filter(late);
    let sentence = || sentence_end(text, window).filter(late);
    let words = || window.rfind(char::is_whitespace).filter(|at| *at > 0);
    paragraph
        .or_else(sentence)
        .or_else(words)
        .unwrap_or_else(|| whole_characters(text, window.len()))
}

/// After the last sentence that ends in the window.
fn sentence_end(text: &str, window: &str) -> Option<usize> {
    let mut found = None;
    for (at, c) in window.char_indices() {
        let end = at + c.len_utf8();
        let after = text.get(end..)?;
        let ends = match c {
            '。' | '！' | '？' | '｡' | '\n' | '।' | '۔' | '؟' => true,
            '.' | '!' | '?' | '…' => {
                let after = after.trim_start_matches(['"', '\'', ')', ']', '»', '”', '’']);
                after.is_empty() || after.starts_with(char::is_whitespace)
            }
            _ => false,
        };
        if ends {
            let closing = after.len()
                - after
                    .trim_start_matches(['"', '\'', ')', ']', '»', '”', '’', '」', '』'])
                    .len();
            found = Some(end + closing)
                .filter(|end| *end <= window.len())
                .or(found);
        }
    }
    found
}

/// The last grapheme boundary; inside a cluster longer than the window, the last character boundary.
fn whole_characters(text: &str, max: usize) -> usize {
    let mut end = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        if at + cluster.len() > max {
            break;
        }
        end = at + cluster.len();
    }
    if end == 0 { max } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str, max: usize) -> Vec<&str> {
        chunks(text, max).iter().map(|chunk| chunk.text).collect()
    }

    #[test]
    fn cuts_are_between_sentences_or_words() {
        assert_eq!(
            texts("One. Two! Three? Four.", 10),
            ["One. Two!", "Three?", "Four."]
        );
        assert_eq!(
            texts("He said \"No.\" Then 3.5 more.", 18),
            ["He said \"No.\"", "Then 3.5 more."]
        );
        assert_eq!(texts("一つ。二つ。三つ。", 20), ["一つ。二つ。", "三つ。"]);
        assert_eq!(texts("aaaa bbbb cccc", 10), ["aaaa bbbb", "cccc"]);
        assert_eq!(texts("aaaaaaaaaaaa", 8), ["aaaaaaaa", "aaaa"]);
        assert_eq!(texts("éééééé", 9), ["éééé", "éé"]);
        assert_eq!(texts("👩‍👩‍👧👩‍👩‍👧", 20), ["👩‍👩‍👧", "👩‍👩‍👧"]);
        assert_eq!(
            texts("One one one.\n\nTwo. Three three.", 22),
            ["One one one.", "Two. Three three."]
        );
        assert_eq!(texts("short text", 500), ["short text"]);
        assert!(texts("  \n ", 500).is_empty());
        let gaps = chunks("One one.\n\n  Two two.", 10);
        assert_eq!(gaps[0].gap, "\n\n  ");
    }

    proptest! {
        #[test]
        fn the_joined_chunks_are_the_text(text in "([a-z]{1,12}[ .!?。\n]{1,3}|\\PC{0,10}|é{1,20}){0,60}", max in 8usize..120) {
            let found = chunks(&text, max);
            let joined: String = found.iter().map(|chunk| format!("{}{}", chunk.text, chunk.gap)).collect();
            prop_assert_eq!(joined, text.trim_start());
            for chunk in &found {
                prop_assert!(chunk.text.len() <= max && !chunk.text.is_empty(), "{:?}", chunk);
                prop_assert!(chunk.gap.chars().all(char::is_whitespace));
            }
        }
    }
}
