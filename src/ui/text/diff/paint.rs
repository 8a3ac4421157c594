//! Paints the rows of a diff: numbers, signs, tints and marks; of too many rows the beginning and the end.

use super::{DiffFrame, DiffRow, DiffRowKind, changed_words};
use crate::base::text::{head, plural};
use crate::ui::text::clean::clean;
use crate::ui::text::width;
use crate::ui::text::wrap::{self, HangingIndent, hard};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::ops::Range;

/// Rows of a frame that shows the end of a long change too.
const ROOM_FOR_BOTH_ENDS: usize = 20;
/// Maximum bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 1000;

/// What all rows of a diff share.
struct Painter<'a> {
    frame: DiffFrame<'a>,
    /// Digits of the highest line number.
    digits: usize,
    /// Comparisons of words that are left.
    budget: usize,
}

/// The rows, as many as the frame has room for; `unknown` are lines of the change that there are no rows of.
pub(super) fn draw(
    rows: &[DiffRow<'_>],
    unknown: usize,
    frame: DiffFrame<'_>,
) -> Vec<Line<'static>> {
    // What is removed comes before what takes its place: the end of a long change is as telling as its beginning.
    let back = match frame.rows {
        ROOM_FOR_BOTH_ENDS.. => frame.rows / 4,
        _ => 0,
    };
    let near_start = rows.iter().take(frame.rows);
    let highest = near_start.chain(rows.iter().rev().take(back));
    let highest = highest.filter_map(|row| row.number).max();
    let mut painter = Painter {
        frame,
        digits: highest.map_or(0, |number| number.to_string().len()),
        budget: changed_words::MAX_COMPARISONS,
    };
    if rows.len() > frame.rows || unknown > 0 {
        return painter.draw_ends(rows, unknown, back);
    }
    let mut out: Vec<Line<'static>> = Vec::new();
    for row in rows {
        out.extend(painter.row(row));
        if out.len() > frame.rows {
            return painter.draw_ends(rows, unknown, back);
        }
    }
    out
}

impl Painter<'_> {
    /// The beginning, a count of what is left out, and the end in at most `back` rows.
    fn draw_ends(
        &mut self,
        rows: &[DiffRow<'_>],
        unknown: usize,
        back: usize,
    ) -> Vec<Line<'static>> {
        let frame = self.frame;
        let mut end: Vec<Vec<Line<'static>>> = Vec::new();
        let mut room = back;
        for row in rows.iter().rev().take_while(|_| unknown == 0) {
            let lines = self.row(row);
            let Some(left) = room.checked_sub(lines.len()) else {
                break;
            };
            room = left;
            end.push(lines);
        }
        let mut out: Vec<Line<'static>> = Vec::new();
        let mut room = frame.rows.saturating_sub(1 + back - room);
        let mut whole = 0;
        for row in rows {
            let lines = self.row(row);
            let left = room.checked_sub(lines.len());
            out.extend(lines.into_iter().take(room));
            let Some(left) = left else { break };
            room = left;
            whole += 1;
        }
        let left = rows.len().saturating_sub(whole + end.len());
        let left = plural(left.saturating_add(unknown), "more line");
        let left = width::clip(&format!("… {left}{}", frame.hint), frame.width);
        out.push(Line::from(Span::styled(left, frame.theme.dim)));
        out.extend(end.into_iter().rev().flatten());
        out.truncate(frame.rows);
        out
    }

    fn row(&mut self, row: &DiffRow<'_>) -> Vec<Line<'static>> {
        let Painter { frame, digits, .. } = *self;
        let theme = frame.theme;
        let text = shown(row.text);
        let (sign, style, part, tint) = match row.kind {
            DiffRowKind::File => {
                let style = theme.text.add_modifier(Modifier::BOLD);
                return wrap::text(text, style, frame.width, 0);
            }
            DiffRowKind::Note => return wrap::text(text, theme.dim, frame.width, 0),
            DiffRowKind::Same => (' ', theme.text, theme.text, Style::new()),
            DiffRowKind::Added => ('+', theme.added, theme.added_part, theme.added_row),
            DiffRowKind::Removed => ('-', theme.removed, theme.removed_part, theme.removed_row),
        };
        let number = match (digits, row.number) {
            (0, _) => String::new(),
            (_, Some(number)) => format!("{number:>digits$}  "),
            (_, None) => " ".repeat(digits + 2),
        };
        let gutter = if sign == ' ' { theme.dim } else { style };
        let hang = HangingIndent {
            first: vec![Span::styled(format!("{sign} {number}"), gutter)],
            rest: vec![Span::raw(" ".repeat(2 + number.len()))],
        };
        let changed = self.changed_words(row, &text);
        let mut spans = marked(&text, &changed, style, part);
        if width::of_spans(&hang.first) + 2 > frame.width {
            spans.insert(0, Span::styled(sign.to_string(), gutter));
        }
        let mut lines = hard(&spans, frame.width, &hang);
        for line in &mut lines {
            line.style = tint;
        }
        lines
    }

    /// The ranges of a line that its counterpart does not have; `text` is the line as it is shown.
    fn changed_words(&mut self, row: &DiffRow<'_>, text: &str) -> Vec<Range<usize>> {
        let Some(other) = row.counterpart.map(shown) else {
            return Vec::new();
        };
        let found = match row.kind {
            DiffRowKind::Removed => {
                changed_words::ranges(text, &other, &mut self.budget).map(|(old, _)| old)
            }
            _ => changed_words::ranges(&other, text, &mut self.budget).map(|(_, new)| new),
        };
        found.unwrap_or_default()
    }
}

/// The line with these ranges in the style `part`.
fn marked<'a>(text: &'a str, ranges: &[Range<usize>], style: Style, part: Style) -> Vec<Span<'a>> {
    let piece = |range: Range<usize>, style| {
        let text = text.get(range).unwrap_or_default();
        Span::styled(text, style)
    };
    let mut spans = Vec::new();
    let mut at = 0;
    for range in ranges {
        spans.push(piece(at..range.start, style));
        spans.push(piece(range.clone(), part));
        at = range.end;
    }
    spans.push(piece(at..text.len(), style));
    spans
}

pub(super) fn shown_part(line: &str) -> &str {
    head(line, MAX_LINE_BYTES)
}

/// The beginning of a line, safe to show.
fn shown(line: &str) -> String {
    let kept = shown_part(line);
    let more = if kept.len() < line.len() { "…" } else { "" };
    format!("{}{more}", clean(kept).replace('\n', "\u{2424}"))
}
