//! Wraps styled text to a width, so that a mouse selection contains the text and nothing else.
//!
//! Rows are broken between grapheme clusters as the buffer places them, never inside a wide one. No row gets a decoration of its own; the prefix
//! ([`HangingIndent`]) is the caller's choice.

use super::{cell_mark, width};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Columns of a row of prose where the screen has more: from the end of a longer one the eye does not find the next.
pub(crate) const PROSE_COLUMNS: usize = 120;

/// The prefix of the first row and of the following ones: a bullet, then blanks of the same width.
#[derive(Clone, Debug, Default)]
pub(crate) struct HangingIndent {
    /// Before the first row.
    pub first: Vec<Span<'static>>,
    /// Before the following rows.
    pub rest: Vec<Span<'static>>,
}

impl HangingIndent {
    /// `columns` blanks before every row.
    pub(crate) fn blanks(columns: usize) -> Self {
        let blanks = match columns {
            0 => Vec::new(),
            _ => vec![Span::raw(" ".repeat(columns))],
        };
        Self {
            first: blanks.clone(),
            rest: blanks,
        }
    }
}

/// Wraps at blanks and between wide characters; a word longer than a row is broken where the row ends. Blanks at a soft break and at the end of a line are
/// dropped, newlines begin rows. Returns at least one row. An indent that leaves less than two columns is dropped.
pub(crate) fn words(spans: &[Span<'_>], width: usize, hang: &HangingIndent) -> Vec<Line<'static>> {
    wrap(spans, width, hang, Break::Words)
}

/// Like [`words`], in rows of [`PROSE_COLUMNS`] at most after the indent. With a longer word, such as an address, rows take the whole width, where the terminal
/// itself wraps it and copies it in one piece.
pub(crate) fn prose(spans: &[Span<'_>], width: usize, hang: &HangingIndent) -> Vec<Line<'static>> {
    let indent = width::of_spans(&hang.first).max(width::of_spans(&hang.rest));
    let narrow = width.min(PROSE_COLUMNS + indent);
    let width = match narrow < width && longest_word(spans) > PROSE_COLUMNS {
        true => width,
        false => narrow,
    };
    words(spans, width, hang)
}

/// Columns of the longest part of the text that has neither a blank nor a wide character, between which rows may end.
fn longest_word(spans: &[Span<'_>]) -> usize {
    let (mut longest, mut word) = (0, 0);
    for cell in cells(spans, usize::MAX) {
        word = match cell.kind {
            ClusterKind::Blank | ClusterKind::Newline => 0,
            _ if cell.columns > 1 => 0,
            _ => word + cell.columns,
        };
        longest = longest.max(word);
    }
    longest
}

/// [`words`] of a text in one style, all rows indented by `indent` columns.
pub(crate) fn text(
    text: impl Into<String>,
    style: Style,
    width: usize,
    indent: usize,
) -> Vec<Line<'static>> {
    let span = Span::styled(text.into(), style);
    words(&[span], width, &HangingIndent::blanks(indent))
}

/// Wraps as [`words`], but keeps every blank, at the end of the row: for commands that somebody reads.
pub(crate) fn command(
    spans: &[Span<'_>],
    width: usize,
    hang: &HangingIndent,
) -> Vec<Line<'static>> {
    wrap(spans, width, hang, Break::AfterBlanks)
}

/// Breaks where the row ends and keeps every blank: for code.
pub(crate) fn hard(spans: &[Span<'_>], width: usize, hang: &HangingIndent) -> Vec<Line<'static>> {
    wrap(spans, width, hang, Break::Anywhere)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Break {
    Words,
    AfterBlanks,
    Anywhere,
}

/// One cluster: its position in the spans and its width.
#[derive(Clone, Copy)]
struct Cluster {
    span: usize,
    start: usize,
    end: usize,
    columns: usize,
    kind: ClusterKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClusterKind {
    Blank,
    Newline,
    /// Closing punctuation: does not begin a row.
    Closing,
    Letter,
}

fn wrap(spans: &[Span<'_>], width: usize, hang: &HangingIndent, mode: Break) -> Vec<Line<'static>> {
    let room = |hang: &[Span<'static>]| {
        let taken = width::of_spans(hang);
        match width.checked_sub(taken) {
            Some(room) if room >= 2 || taken == 0 => (room.max(1), true),
            _ => (width.max(1), false),
        }
    };
    let (first, rest) = (room(&hang.first), room(&hang.rest));
    let cells = cells(spans, first.0.min(rest.0));
    let mut out = Vec::new();
    for line in cells.split(|cell| cell.kind == ClusterKind::Newline) {
        let mut from = match mode {
            Break::Words => excess(line, first.0.min(rest.0)),
            Break::AfterBlanks | Break::Anywhere => 0,
        };
        loop {
            let ((columns, fits), before) = match out.is_empty() {
                true => (first, &hang.first),
                false => (rest, &hang.rest),
            };
            let left = line.get(from..).unwrap_or_default();
            let (end, next) = row(left, columns, mode);
            let before = if fits { before.as_slice() } else { &[] };
            let mut built = build_line(before, left.get(..end).unwrap_or_default(), spans);
            from += next;
            // Nothing of the text is between this row and the next one.
            let has_prefix = rest.1 && !hang.rest.is_empty();
            if end == next && from < line.len() && !has_prefix {
                set_continued(&mut built, true);
            }
            out.push(built);
            if from >= line.len() {
                break;
            }
        }
    }
    out
}

/// Says whether a row goes on in the next one, so that the two are copied without a line break where the row fills the screen.
pub(crate) fn set_continued(row: &mut Line<'_>, continues: bool) {
    if let Some(last) = row.spans.last_mut() {
        last.style = cell_mark::continued(last.style, continues);
    }
}

/// Leading blanks beyond half the width: an indent must leave room for the text.
fn excess(line: &[Cluster], room: usize) -> usize {
    let blanks = line
        .iter()
        .take_while(|cell| cell.kind == ClusterKind::Blank);
    let wide: usize = blanks.clone().map(|cell| cell.columns).sum();
    let over = wide.saturating_sub(room / 2);
    over.min(blanks.count())
}

/// How many cells fit into the row, and where the next row begins; past the last cell when there is none.
fn row(cells: &[Cluster], room: usize, mode: Break) -> (usize, usize) {
    let mut used = 0;
    let mut seen = false;
    let mut best: Option<(usize, usize)> = None;
    let mut blanks_from = None;
    for (index, cell) in cells.iter().enumerate() {
        let is_blank = cell.kind == ClusterKind::Blank;
        if mode == Break::Words && is_blank {
            blanks_from.get_or_insert(index);
            used += cell.columns;
            continue;
        }
        if mode != Break::Anywhere && seen && !is_blank {
            let before = cells.get(index.wrapping_sub(1));
            let is_after_blank = before.is_some_and(|cell| cell.kind == ClusterKind::Blank);
            if let Some(end) = blanks_from {
                best = Some((end, index));
            } else if is_after_blank || may_break_between(before, cell) {
                best = Some((index, index));
            }
        }
        if used + cell.columns > room {
            return match best.filter(|_| !is_blank) {
                Some(best) => best,
                None if index == 0 => (1, 1),
                None => (index, index),
            };
        }
        blanks_from = None;
        seen |= !is_blank;
        used += cell.columns;
    }
    (blanks_from.unwrap_or(cells.len()), cells.len())
}

/// Whether a row may end between two clusters that no blank separates: beside a wide one, but not before punctuation.
fn may_break_between(before: Option<&Cluster>, cell: &Cluster) -> bool {
    let wide = cell.columns > 1 || before.is_some_and(|before| before.columns > 1);
    wide && cell.columns > 0 && cell.kind != ClusterKind::Closing
}

/// The clusters of the spans; one wider than `room` is split into its characters.
fn cells(spans: &[Span<'_>], room: usize) -> Vec<Cluster> {
    let mut out = Vec::with_capacity(spans.iter().map(|span| span.content.len()).sum());
    for (span, text) in spans.iter().enumerate() {
        for (start, cluster) in text.content.grapheme_indices(true) {
            let columns = width::of_cluster(cluster);
            if columns > room.max(2) {
                let characters = cluster.char_indices().map(|(at, character)| {
                    let end = at + character.len_utf8();
                    cell(span, start + at, cluster.get(at..end).unwrap_or_default())
                });
                out.extend(characters);
            } else {
                out.push(Cluster {
                    columns,
                    ..cell(span, start, cluster)
                });
            }
        }
    }
    out
}

fn cell(span: usize, start: usize, cluster: &str) -> Cluster {
    Cluster {
        span,
        start,
        end: start + cluster.len(),
        columns: width::of_cluster(cluster),
        kind: match cluster {
            "\n" | "\r\n" => ClusterKind::Newline,
            " " | "\u{3000}" => ClusterKind::Blank,
            "." | "," | ";" | ":" | "!" | "?" | ")" | "]" | "}" | "、" | "。" | "，" | "．"
            | "！" | "？" | "：" | "；" | "）" | "」" | "』" | "】" | "》" | "〉" | "ー" | "…" => {
                ClusterKind::Closing
            }
            _ => ClusterKind::Letter,
        },
    }
}

/// The row of these cells; adjacent cells of a span are joined again.
fn build_line(before: &[Span<'static>], cells: &[Cluster], spans: &[Span<'_>]) -> Line<'static> {
    if cells.is_empty() && before.iter().all(|span| span.content.trim().is_empty()) {
        return Line::default();
    }
    let mut row = before.to_vec();
    for run in cells.chunk_by(|left, right| left.span == right.span) {
        if let (Some(first), Some(last)) = (run.first(), run.last())
            && let Some(span) = spans.get(first.span)
            && let Some(text) = span.content.get(first.start..last.end)
        {
            row.push(Span::styled(text.to_owned(), span.style));
        }
    }
    Line::from(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::style::{Color, Style};

    fn rows(text: &str, width: usize) -> Vec<String> {
        shown(&words(
            &[Span::raw(text.to_owned())],
            width,
            &HangingIndent::default(),
        ))
    }

    fn shown(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn breaks_at_blanks_and_drops_them() {
        assert_eq!(rows("the quick  brown fox ", 9), ["the quick", "brown fox"]);
        assert_eq!(rows("  indented text", 10), ["  indented", "text"]);
        assert_eq!(rows("a\n\nb", 10), ["a", "", "b"]);
        assert_eq!(rows("", 10), [""]);
        assert_eq!(rows("a  b", 10), ["a  b"]);
    }

    #[test]
    fn long_words_and_wide_ones_break_where_they_must() {
        assert_eq!(rows("see abcdefghij", 4), ["see", "abcd", "efgh", "ij"]);
        assert_eq!(rows("日本語です。", 5), ["日本", "語で", "す。"]);
        assert_eq!(rows("日本", 1), ["日", "本"]);
        let lone = words(
            &[Span::raw("ab   "), Span::raw("\u{c4a}")],
            2,
            &HangingIndent::default(),
        );
        assert_eq!(shown(&lone), ["ab", "\u{c4a}"]);
        assert_eq!(rows("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3), ["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]);
        assert_eq!(
            rows("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
        assert_eq!(rows("שלום עולם", 5), ["שלום", "עולם"]);
    }

    #[test]
    fn styles_and_hanging_indents_stay() {
        let red = Style::new().fg(Color::Red);
        let hang = HangingIndent {
            first: vec![Span::raw("- ")],
            rest: vec![Span::raw("  ")],
        };
        let lines = words(&[Span::raw("ab "), Span::styled("cd ef", red)], 5, &hang);
        assert_eq!(shown(&lines), ["- ab", "  cd", "  ef"]);
        assert_eq!(lines[1].spans[1].style, red);
        let lines = words(&[Span::raw("abc")], 3, &hang);
        assert_eq!(shown(&lines), ["abc"], "no room for the hang");
    }

    #[test]
    fn code_keeps_its_blanks() {
        let lines = hard(&[Span::raw("a    b  ")], 3, &HangingIndent::default());
        assert_eq!(shown(&lines), ["a  ", "  b", "  "]);
    }

    #[test]
    fn a_command_breaks_between_words_and_loses_no_blank() {
        for (text, rows) in [
            ("rm -r  x; echo", &["rm -r  ", "x; echo"][..]),
            ("  ab cdefghijk", &["  ab ", "cdefghi", "jk"]),
            ("abcdefg  hi", &["abcdefg", "  hi"]),
            ("abcdefghi j", &["abcdefg", "hi j"]),
            ("          ab", &["       ", "   ab"]),
            ("日本語です。a", &["日本語", "です。a"]),
            ("", &[""]),
        ] {
            let lines = command(&[Span::raw(text)], 7, &HangingIndent::default());
            assert_eq!(shown(&lines), rows, "{text}");
            assert_eq!(shown(&lines).concat(), text);
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("word ".to_owned()),
            Just("  ".to_owned()),
            Just("\n".to_owned()),
            Just("日本語".to_owned()),
            Just("👩‍👩‍👧‍👦".to_owned()),
            Just("e\u{301}\u{302}".to_owned()),
            Just("ｶﾞﾞﾞ".to_owned()),
            Just("שלום".to_owned()),
            "\\PC{0,6}",
        ];
        proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn rows_fit_and_no_visible_text_is_lost(
            texts in proptest::collection::vec(any_text(), 1..4),
            width in 2usize..40,
            indent in 0usize..6,
        ) {
            let spans: Vec<Span<'_>> = texts.iter().map(|text| Span::raw(text.clone())).collect();
            let bare = |text: &str| text.replace([' ', '\n', '\u{3000}'], "");
            let hang = HangingIndent::blanks(indent);
            for wrap in [words, command, hard] {
                let lines = wrap(&spans, width, &hang);
                for line in &lines {
                    prop_assert!(width::of_spans(&line.spans) <= width, "{line:?}");
                }
                prop_assert_eq!(bare(&shown(&lines).concat()), bare(&texts.concat()));
            }
        }
    }
}
