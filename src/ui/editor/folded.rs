//! Long pastes, folded in the input: one character of the text stands for each, and is drawn as `[pasted 10,000 lines]`.
//!
//! The character is one that nobody types: the first of a block in the last private use plane of Unicode, followed by tag characters with the number of the
//! paste and its size. Together they are one grapheme cluster, so the cursor, deletion and undo treat a paste as one unit without knowing of it.

use std::borrow::Cow;
use std::ops::Range;

use crate::base::text::counted;

/// Begins the cluster of a folded paste; [`super::paste::clean`] removes it from everything that comes from outside.
pub(super) const MARK: char = '\u{10f000}';
/// The tag characters stand for ASCII ones, this far above them.
const TAGS: u32 = 0xe0000;
/// Pastes with more lines or more bytes are folded.
const MAX_LINES: usize = 10;
const MAX_BYTES: usize = 2_000;
/// Bytes of all folded pastes; beyond that they stay as they are.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// The pastes that were folded in this run: history and undo may bring them back.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldedPastes {
    texts: Vec<String>,
    bytes: usize,
}

impl FoldedPastes {
    /// The cluster that stands for `text`; `None` when it is short enough to be shown.
    pub(super) fn fold(&mut self, text: &str) -> Option<String> {
        let is_long = text.len() > MAX_BYTES || text.lines().nth(MAX_LINES).is_some();
        if !is_long || self.bytes + text.len() > MAX_KEPT_BYTES {
            return None;
        }
        Some(self.keep(text))
    }

    /// The cluster of a text that is kept for it.
    fn keep(&mut self, text: &str) -> String {
        let number = self.texts.iter().position(|known| known == text);
        let number = number.unwrap_or_else(|| {
            self.bytes += text.len();
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        cluster(number, text)
    }

    /// The text with every paste in full.
    pub(super) fn unfold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.replace(text, |number, _| {
            self.texts
                .get(number)
                .map(String::as_str)
                .unwrap_or_default()
                .into()
        })
    }

    /// Where a known paste is in full in the text: the longest around `cursor`, else the last.
    pub(super) fn shown_in_full(&self, text: &str, cursor: usize) -> Option<Range<usize>> {
        let found = self.texts.iter().flat_map(|known| {
            let starts = text.match_indices(known.as_str());
            starts.map(|(start, _)| start..start + known.len())
        });
        found.max_by_key(|range| {
            let is_near = (range.start..=range.end).contains(&cursor);
            match is_near {
                true => (true, range.len()),
                false => (false, range.start),
            }
        })
    }

    /// The text with the known pastes folded, for text that was sent or put aside and comes back.
    pub(super) fn refold<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for number in 0..self.texts.len() {
            let Some(known) = self.texts.get(number) else {
                continue;
            };
            // Blanks at the ends of a message are not sent.
            let trimmed = known.trim();
            if trimmed.is_empty() || out.len() < trimmed.len() || !out.contains(trimmed) {
                continue;
            }
            let known = match out.contains(known.as_str()) {
                true => known.clone(),
                false => trimmed.to_owned(),
            };
            let cluster = self.keep(&known);
            out = Cow::Owned(out.replace(&known, &cluster));
        }
        out
    }

    /// The text as it is shown outside of the input.
    pub(super) fn labelled<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        match self.refold(text) {
            Cow::Borrowed(text) => self.replace(text, |_, label| label.into()),
            Cow::Owned(text) => self
                .replace(&text, |_, label| label.into())
                .into_owned()
                .into(),
        }
    }

    fn replace<'t, 's>(
        &'s self,
        text: &'t str,
        with: impl Fn(usize, String) -> Cow<'s, str>,
    ) -> Cow<'t, str> {
        if !text.contains(MARK) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(MARK) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (paste, after) = split(from);
            match paste {
                Some((number, label)) => out.push_str(&with(number, label)),
                None => out.push_str(from.get(..MARK.len_utf8()).unwrap_or_default()),
            }
            rest = after;
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// What a cluster of the text is drawn as, if it stands for a paste.
pub(super) fn label(cluster: &str) -> Option<String> {
    let (paste, _) = split(cluster.starts_with(MARK).then_some(cluster)?);
    paste.map(|(_, label)| label)
}

fn cluster(number: usize, text: &str) -> String {
    let lines = text.lines().count();
    let size = match lines {
        0 | 1 => format!("c{}", text.chars().count()),
        lines => format!("l{lines}"),
    };
    let tags = format!("{number}{size}");
    let tag = |c: char| char::from_u32(TAGS + u32::from(c));
    std::iter::once(MARK)
        .chain(tags.chars().filter_map(tag))
        .collect()
}

/// The paste that `text`, which begins with [`MARK`], begins with: its number and its label; and the text after it.
fn split(text: &str) -> (Option<(usize, String)>, &str) {
    let after_mark = text.get(MARK.len_utf8()..).unwrap_or_default();
    let plain = |c: char| {
        char::from_u32(u32::from(c).checked_sub(TAGS)?).filter(char::is_ascii_alphanumeric)
    };
    let tags: String = after_mark.chars().map_while(plain).collect();
    let after = after_mark.get(tags.len() * 4..).unwrap_or_default();
    let paste = || {
        let at = tags.find(['c', 'l'])?;
        let (number, size) = tags.split_at(at);
        let count = size.get(1..)?.parse().ok()?;
        let noun = if size.starts_with('l') {
            "line"
        } else {
            "character"
        };
        Some((
            number.parse().ok()?,
            format!("[pasted {}]", counted(count, noun)),
        ))
    };
    (paste(), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::editor::Editor;
    use crate::ui::keys::Action;
    use proptest::prelude::*;

    fn lines(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    fn shown(editor: &mut Editor, width: usize) -> Vec<String> {
        editor.rows(width, 8).rows
    }

    fn press(editor: &mut Editor, action: Action) {
        editor.act(action, &());
    }

    #[test]
    fn a_long_paste_is_one_unit_of_the_input_and_whole_outside() {
        let mut editor = Editor::new();
        editor.insert("a");
        editor.paste_folded(&lines(10_000));
        editor.insert("b");
        assert_eq!(shown(&mut editor, 80), ["a[pasted 10,000 lines]b"]);
        let whole = format!("a{}b", lines(10_000));
        assert_eq!(editor.whole_text(), whole);
        // A step of the cursor over it, and one deletion.
        press(&mut editor, Action::Left);
        press(&mut editor, Action::Left);
        editor.insert("!");
        assert_eq!(shown(&mut editor, 80), ["a![pasted 10,000 lines]b"]);
        press(&mut editor, Action::EraseForward);
        assert_eq!(editor.whole_text(), "a!b");
        press(&mut editor, Action::Undo);
        press(&mut editor, Action::Right);
        press(&mut editor, Action::EraseBack);
        assert_eq!(editor.whole_text(), "a!b");
        press(&mut editor, Action::Undo);
        let sent = editor.act(Action::Send, &());
        assert_eq!(
            sent,
            crate::ui::editor::Outcome::Submit(whole.replacen('a', "a!", 1))
        );
    }

    #[test]
    fn a_key_shows_a_folded_paste_and_it_or_undo_folds_it_again() {
        for again in [Action::Undo, Action::UnfoldPaste] {
            let mut editor = Editor::new();
            editor.paste_folded(&lines(12));
            press(&mut editor, Action::UnfoldPaste);
            assert!(shown(&mut editor, 80).contains(&"line 12".to_owned()));
            assert_eq!(editor.whole_text(), lines(12));
            press(&mut editor, again);
            assert_eq!(shown(&mut editor, 80), ["[pasted 12 lines]"]);
            assert_eq!(editor.whole_text(), lines(12));
        }
    }

    #[test]
    fn the_paste_at_the_cursor_is_folded_first() {
        let mut editor = Editor::new();
        editor.paste_folded(&lines(12));
        editor.paste_folded(&lines(20));
        let whole = editor.whole_text();
        // The cursor is behind the second one.
        press(&mut editor, Action::UnfoldPaste);
        assert!(editor.text().ends_with("line 20\n"));
        press(&mut editor, Action::Up);
        press(&mut editor, Action::UnfoldPaste);
        let both = "[pasted 12 lines][pasted 20 lines]";
        assert_eq!(shown(&mut editor, 80), [both]);
        press(&mut editor, Action::Left);
        press(&mut editor, Action::UnfoldPaste);
        assert!(editor.text().starts_with("line 1\n"));
        // Away from both the key shows what is folded, and folds when all is shown.
        editor.insert("between");
        press(&mut editor, Action::LineEnd);
        press(&mut editor, Action::UnfoldPaste);
        let changed = whole.replacen("line 12\n", "line 12\nbetween", 1);
        assert_eq!(editor.text(), changed);
        editor.insert(" and then");
        press(&mut editor, Action::UnfoldPaste);
        assert!(editor.text().starts_with("line 1\n"), "{}", editor.text());
        assert!(shown(&mut editor, 80).contains(&"between[pasted 20 lines] and then".to_owned()));
        // What was changed is no longer the paste.
        editor.clear();
        editor.paste_folded(&"x".repeat(3_000));
        press(&mut editor, Action::UnfoldPaste);
        press(&mut editor, Action::EraseBack);
        press(&mut editor, Action::UnfoldPaste);
        assert_eq!(editor.text(), "x".repeat(2_999));
    }

    #[test]
    fn short_pastes_stay_and_known_ones_come_back_folded() {
        let mut editor = Editor::new();
        editor.paste_folded(&lines(3));
        assert_eq!(editor.text(), lines(3));
        editor.clear();
        let long = "x".repeat(5_000);
        editor.paste_folded(&long);
        assert_eq!(shown(&mut editor, 80), ["[pasted 5,000 characters]"]);
        editor.act(Action::Send, &());
        editor.set_text(&format!("again {long}"));
        assert_eq!(shown(&mut editor, 80), ["again [pasted 5,000 characters]"]);
        assert_eq!(editor.labelled(&long), "[pasted 5,000 characters]");
        // On a narrow screen the label is cut.
        assert!(shown(&mut editor, 12).iter().all(|row| row.len() <= 13));
    }

    #[test]
    fn the_mark_cannot_come_from_outside() {
        let mut editor = Editor::new();
        editor.paste_folded("a\u{10f000}\u{e0030}\u{e006c}\u{e0031}b");
        assert!(!editor.text().contains(MARK));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(texts in proptest::collection::vec("([a-c\n]{0,30}|\\PC{0,9})", 1..5), around in "[a-z]{0,5}") {
            let mut folded = FoldedPastes::default();
            let (mut text, mut whole) = (around.clone(), around.clone());
            for part in &texts {
                let part = part.replace(MARK, "");
                text.push_str(&folded.fold(&part).unwrap_or_else(|| part.clone()));
                text.push_str(&around);
                whole.push_str(&part);
                whole.push_str(&around);
            }
            let unfolded = folded.unfold(&text).into_owned();
            prop_assert_eq!(&unfolded, &whole);
            let again = folded.refold(&whole).into_owned();
            prop_assert_eq!(folded.unfold(&again).into_owned(), whole);
        }
    }
}
