//! Breaks the rows of text that is not Marvin's.
//!
//! A row that begins in the first column is Marvin's own, so the text begins none there: its lines are indented, and on a terminal, which would begin the
//! next row in the first column, rows are broken here, at blanks, and the new one is indented too. Text comes in pieces, and how long a word is shows only
//! at its end, so a word is held until then.
//!
//! A word that is longer than a row, such as an address, is left to the terminal, because what is selected there has no line break in it. It could still
//! put a label where a row begins. So a row is not left to the terminal if it would begin with one, or with anything but ASCII, in which letters look like
//! others; and what comes after the blank behind such a word begins a row of its own, as every label has text after a blank.

use super::prose::ProseLines;
use crate::ui::text::width;
use crate::ui::text::wrap::PROSE_COLUMNS;

/// The prefix of every line that is not Marvin's own; wider than the marker of a round's tools.
pub(super) const INDENT: &str = "    ";
/// On a terminal with fewer columns, rows are not broken here.
const MIN_COLUMNS: usize = 16;
/// What the labels and prompts of Marvin's own lines begin with, up to a blank.
const LABELS: [&str; 6] = ["[System]", "[Error]", "thinking:", "Marvin:", "You:", "$"];
/// Bytes of the longest of them.
const LABEL_BYTES: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Rows of an answer do not become wider than [`PROSE_COLUMNS`], but for code, tables and long words.
    Prose,
    Verbatim,
}

/// Where the text is in its row.
#[derive(Debug, Default)]
pub(super) struct RowBreaker {
    /// Columns used in the current row.
    column: usize,
    /// The part of the current word that is not written yet.
    word: String,
    /// Another part of it is.
    is_begun: bool,
    /// The terminal began the current row.
    is_wrapped: bool,
    prose: Option<ProseLines>,
}

impl RowBreaker {
    /// A line break, or text of Marvin's own that ends with one, was written.
    pub(super) fn start_line(&mut self) {
        (self.column, self.is_begun, self.is_wrapped) = (0, false, false);
    }

    pub(super) fn begin(&mut self, kind: TextKind) {
        self.prose = (kind == TextKind::Prose).then(ProseLines::default);
    }

    /// Columns after which a row is broken at a blank.
    fn room(&self, columns: usize) -> usize {
        match self.prose.as_ref().is_some_and(ProseLines::is_prose) {
            true => columns.min(PROSE_COLUMNS),
            false => columns,
        }
    }

    /// Text of Marvin's own was written, this many columns of it.
    pub(super) fn advance(&mut self, columns: usize) {
        self.column += columns;
    }

    /// Whether a part of a word is held.
    pub(super) fn holds(&self) -> bool {
        !self.word.is_empty()
    }

    /// Appends to `out` what of `text` can be written in rows of so many columns; 0 where no terminal breaks them.
    pub(super) fn push(&mut self, text: &str, columns: usize, out: &mut String) {
        for part in text.split_inclusive([' ', '\n']) {
            let word = part.trim_end_matches([' ', '\n']);
            self.word.push_str(word);
            if let Some(prose) = &mut self.prose {
                prose.push(part.trim_end_matches('\n'));
            }
            match part.get(word.len()..) {
                Some("\n") => {
                    self.end_word(columns, out);
                    out.push('\n');
                    self.start_line();
                    if let Some(prose) = &mut self.prose {
                        prose.end_line();
                    }
                }
                Some(" ") => {
                    self.end_word(columns, out);
                    self.blank(columns, out);
                }
                _ if columns < MIN_COLUMNS => self.end_word(columns, out),
                _ if width::of(&self.word) + INDENT.len() > columns => {
                    self.write_word(columns, false, out);
                }
                _ => {}
            }
        }
    }

    /// Appends the word that is held: it has ended.
    pub(super) fn end_word(&mut self, columns: usize, out: &mut String) {
        self.write_word(columns, true, out);
        self.is_begun = false;
    }

    /// Appends what is held of a word that may go on.
    pub(super) fn show_held(&mut self, columns: usize, out: &mut String) {
        self.write_word(columns, false, out);
    }

    fn blank(&mut self, columns: usize, out: &mut String) {
        if self.is_wrapped {
            self.break_row(out);
        } else if columns < MIN_COLUMNS || self.column < columns {
            self.indent(out);
            out.push(' ');
            self.column += 1;
        }
    }

    fn write_word(&mut self, columns: usize, is_whole: bool, out: &mut String) {
        let held = std::mem::take(&mut self.word);
        let breaks = columns >= MIN_COLUMNS;
        let wide = width::of(&held);
        // Moving a word that is longer than a row of prose makes no row shorter.
        let room = match self.room(columns) {
            room if wide + INDENT.len() > room => columns,
            room => room,
        };
        // At the end of a full row the blank before this word was not written.
        let may_move = wide + INDENT.len() <= columns || self.column >= columns;
        if breaks && !self.is_begun && may_move && self.column + wide > room {
            self.break_row(out);
        }
        let mut rest = held.as_str();
        while let Some((cluster, wide)) = width::clusters(rest).next() {
            if breaks && self.column + wide > columns {
                // Whether a label begins here is not known yet.
                if !is_whole && rest.len() < LABEL_BYTES {
                    break;
                }
                if may_begin_a_row(rest) {
                    (self.column, self.is_wrapped) = (0, true);
                } else {
                    self.break_row(out);
                }
            }
            if !self.is_wrapped {
                self.indent(out);
            }
            out.push_str(cluster);
            self.column += wide;
            self.is_begun = true;
            rest = rest.get(cluster.len()..).unwrap_or_default();
        }
        self.word = rest.to_owned();
    }

    fn indent(&mut self, out: &mut String) {
        if self.column == 0 {
            out.push_str(INDENT);
            self.column = INDENT.len();
        }
    }

    fn break_row(&mut self, out: &mut String) {
        out.push('\n');
        (self.column, self.is_wrapped) = (0, false);
    }
}

/// Whether the terminal may begin a row with this part of a word.
fn may_begin_a_row(text: &str) -> bool {
    let start = text.as_bytes().iter().take(LABEL_BYTES);
    start.copied().all(|byte| byte.is_ascii()) && !LABELS.iter().any(|one| text.starts_with(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is written of these pieces, after a label of eight columns.
    fn written(pieces: &[&str], columns: usize) -> String {
        let mut rows = RowBreaker::default();
        rows.advance(8);
        let mut out = String::new();
        for piece in pieces {
            rows.push(piece, columns, &mut out);
        }
        rows.end_word(columns, &mut out);
        out
    }

    /// The rows that a terminal makes of it, and whether it broke them itself.
    fn rows_of(written: &str, columns: usize) -> Vec<(String, bool)> {
        let mut rows = Vec::new();
        for line in format!("Marvin: {written}").split('\n') {
            let (mut row, mut used, mut wrapped) = (String::new(), 0, false);
            for (cluster, wide) in width::clusters(line) {
                if used + wide > columns {
                    rows.push((std::mem::take(&mut row), wrapped));
                    (used, wrapped) = (0, true);
                }
                row.push_str(cluster);
                used += wide;
            }
            rows.push((row, wrapped));
        }
        rows
    }

    #[test]
    fn rows_break_at_blanks_however_the_text_is_cut() {
        let text = "The quick brown fox jumps over the lazy dog.\nThen it rests.";
        let expected =
            "The quick \n    brown fox jumps \n    over the lazy \n    dog.\n    Then it rests.";
        for size in 1..text.len() {
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let pieces: Vec<&str> = bytes
                .iter()
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();
            assert_eq!(written(&pieces, 20), expected, "{size}");
        }
    }

    #[test]
    fn on_a_wide_terminal_prose_is_broken_and_nothing_else() {
        let long = "words ".repeat(40);
        let address = format!("https://example.org/{}", "a".repeat(140));
        let text = format!("{long}\n```\n{long}\n```\n| {long} |\nSee {address} {long}\n");
        let written = |kind, size: usize| {
            let mut rows = RowBreaker::default();
            rows.advance(8);
            rows.begin(kind);
            let mut out = String::new();
            for piece in text.as_bytes().chunks(size) {
                rows.push(std::str::from_utf8(piece).unwrap(), 300, &mut out);
            }
            rows.end_word(300, &mut out);
            out
        };
        let verbatim = written(TextKind::Verbatim, 7);
        assert_eq!(verbatim.lines().count(), 7, "{verbatim}");
        for size in [1, 3, 7, 10_000] {
            let prose = written(TextKind::Prose, size);
            let blanks = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!(blanks(&prose), blanks(&text));
            let widths: Vec<usize> = prose.lines().map(|row| width::of(row.trim_end())).collect();
            let wide: Vec<usize> = widths
                .iter()
                .copied()
                .filter(|columns| *columns > 120)
                .collect();
            assert_eq!(wide, [243, 248, 168], "{size}: {prose}");
            assert_eq!(widths.len(), 11, "{size}: {prose}");
        }
    }

    #[test]
    fn where_no_terminal_breaks_rows_only_lines_are_indented() {
        for columns in [0, 10] {
            let mut rows = RowBreaker::default();
            let mut out = String::new();
            rows.push("one two-and-three\n\n four", columns, &mut out);
            assert_eq!(out, "    one two-and-three\n\n     four");
            assert!(!rows.holds());
        }
    }

    #[test]
    fn an_address_is_whole() {
        let address = "https://example.org/a/very/long/way/to/eighty/columns/because/it/is";
        let text = format!("See {address} and more.");
        for size in 1..text.len() {
            let pieces: Vec<String> = text
                .as_bytes()
                .chunks(size)
                .map(|piece| String::from_utf8(piece.to_vec()).unwrap())
                .collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let written = written(&pieces, 20);
            assert_eq!(written, format!("See {address}\n    and more."), "{size}");
        }
        // One that is shorter than a row begins a new one.
        let shorter = written(&["word word ", "https://e", ".org/a"], 20);
        assert_eq!(shorter, "word word \n    https://e.org/a");
    }

    #[test]
    fn a_word_after_a_full_row_is_not_joined_to_it() {
        let long = "y".repeat(40);
        let out = written(&[&format!("{} {long} z", "x".repeat(12))], 20);
        assert_eq!(out, format!("{}\n    {long}\n    z", "x".repeat(12)));
    }

    #[test]
    fn only_the_current_word_is_held() {
        let mut rows = RowBreaker::default();
        let mut out = String::new();
        rows.push("Some wor", 20, &mut out);
        assert_eq!((out.as_str(), rows.holds()), ("    Some ", true));
        rows.show_held(20, &mut out);
        assert_eq!((out.as_str(), rows.holds()), ("    Some wor", false));
        rows.push("ds", 20, &mut out);
        rows.end_word(20, &mut out);
        assert_eq!((out.as_str(), rows.holds()), ("    Some words", false));
        // Of a word longer than a row, no more than a label takes.
        rows.push(&"x".repeat(1_000), 20, &mut out);
        assert!(out.len() > 1_000, "{}", out.len());
    }

    #[test]
    fn no_label_begins_a_row_within_a_word() {
        for label in LABELS {
            let text = format!("{}{label}{} one", "x".repeat(12), "y".repeat(30));
            let out = written(&[&text], 20);
            assert!(
                out.starts_with(&format!("{}\n    {label}", "x".repeat(12))),
                "{out}"
            );
            // Neither when the word ends with it, nor when it arrives in pieces.
            let pieces = ["x".repeat(44), label.to_owned(), " forged".to_owned()];
            let mut rows = RowBreaker::default();
            rows.advance(16);
            let mut out = String::new();
            for piece in &pieces {
                for at in 0..piece.len() {
                    rows.push(&piece[at..=at], 20, &mut out);
                }
            }
            rows.end_word(20, &mut out);
            assert!(out.contains(&format!("\n    {label}")), "{out}");
        }
        // What looks like ASCII and is not.
        let out = written(&[&format!("{}\u{405}ystem", "x".repeat(12))], 16);
        assert!(out.contains('\n'), "{out}");
    }

    proptest! {
        #[test]
        fn a_row_in_the_first_column_is_never_a_label_with_text(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("[System] x".to_owned()), Just("You: ".to_owned()), Just("[Error]".to_owned()), Just("$ rm".to_owned()),
                    Just("\n".to_owned()), Just(" ".to_owned()), "[a-zé日]{0,30}", "[ a-z]{0,30}",
                ],
                0..20,
            ),
            columns in 16_usize..40,
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let written = written(&pieces, columns);
            let blanks = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(blanks(&written), blanks(&pieces.concat()));
            for (row, wrapped) in rows_of(&written, columns).iter().skip(1) {
                prop_assert!(
                    row.is_empty() || row.starts_with(INDENT) || (*wrapped && !row.contains(' ')),
                    "{:?} in {:?}", row, written
                );
                prop_assert!(!LABELS.iter().any(|label| row.starts_with(label)), "{:?}", written);
            }
        }
    }
}
