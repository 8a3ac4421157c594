//! Tables: aligned columns that shrink and wrap to the width, or a list of fields where that would be too narrow.

use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap::{HangingIndent, words};
use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

/// Columns below which a cell is not narrowed.
const MIN_CELL_COLUMNS: usize = 6;
/// Columns between two cells. No bars: a row selected by mouse should contain only text.
const CELL_GAP: usize = 2;

/// Styled text of a cell.
pub(super) type TableCell = Vec<Span<'static>>;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The head, then the rows.
    pub(super) rows: Vec<Vec<TableCell>>,
    /// The head is in an earlier block.
    pub(super) continued: bool,
}

impl Table {
    pub(super) fn lay_out(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let natural_widths = self.natural_widths();
        let gaps = CELL_GAP * natural_widths.len().saturating_sub(1);
        let room = width.saturating_sub(gaps);
        match shrink(&natural_widths, room) {
            Some(columns) => self.grid(&columns, theme),
            None => self.list(width, theme),
        }
    }

    fn natural_widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| natural(cell)).max().unwrap_or_default()
        };
        (0..count).map(|at| widest(at).max(1)).collect()
    }

    fn grid(&self, columns: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 || !self.continued {
                out.extend(self.row(row, columns));
            }
            if number == 0 && !self.continued {
                let rule: Vec<String> =
                    columns.iter().map(|columns| "─".repeat(*columns)).collect();
                out.push(Line::from(Span::styled(rule.join("  "), theme.dim)));
            }
        }
        out
    }

    /// One row of the table: as many lines as its tallest cell.
    fn row(&self, row: &[TableCell], columns: &[usize]) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Line<'static>>> = columns
            .iter()
            .enumerate()
            .map(|(index, columns)| {
                let cell = row.get(index).map_or(&[][..], Vec::as_slice);
                words(cell, *columns, &HangingIndent::default())
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        (0..height)
            .map(|line| {
                let mut spans: Vec<Span<'static>> = Vec::new();
                // Pending blanks: written only if something follows them.
                let mut pending_blanks = 0;
                for (index, (cell, columns)) in cells.iter().zip(columns).enumerate() {
                    let text = cell.get(line).map_or(&[][..], |line| line.spans.as_slice());
                    let used = width::of_spans(text);
                    let free = columns.saturating_sub(used);
                    let left = match self.alignments.get(index) {
                        Some(Alignment::Right) => free,
                        Some(Alignment::Center) => free / 2,
                        Some(Alignment::Left | Alignment::None) | None => 0,
                    };
                    pending_blanks += left;
                    if used > 0 {
                        if pending_blanks > 0 {
                            spans.push(Span::raw(" ".repeat(pending_blanks)));
                        }
                        spans.extend(text.iter().cloned());
                        pending_blanks = 0;
                    }
                    pending_blanks += free - left + CELL_GAP;
                }
                Line::from(spans)
            })
            .collect()
    }

    /// Every row as a list of its fields, each with the name of its column.
    fn list(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else {
            return out;
        };
        if rows.is_empty() && !self.continued {
            for cell in head {
                out.extend(words(cell, width, &HangingIndent::default()));
            }
        }
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                out.push(Line::default());
            }
            for (index, cell) in row.iter().enumerate() {
                let mut spans = head.get(index).cloned().unwrap_or_default();
                if natural(&spans) > 0 {
                    spans.push(Span::styled(": ", theme.dim));
                }
                spans.extend(cell.iter().cloned());
                let hang = HangingIndent {
                    rest: HangingIndent::blanks(2).rest,
                    ..HangingIndent::default()
                };
                out.extend(words(&spans, width, &hang));
            }
        }
        out
    }
}

/// Columns of the longest line of a cell.
fn natural(cell: &[Span<'static>]) -> usize {
    let text: String = cell.iter().map(|span| span.content.as_ref()).collect();
    text.split('\n').map(width::of).max().unwrap_or_default()
}

/// The widths that fit into `room`: the widest columns shrink first. `None` when some would become too narrow to read.
fn shrink(natural_widths: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural_widths.iter().sum::<usize>() <= room {
        return Some(natural_widths.to_vec());
    }
    let used_columns = |cap: usize| {
        natural_widths
            .iter()
            .map(|wide| *wide.min(&cap))
            .sum::<usize>()
    };
    let cap = (MIN_CELL_COLUMNS..=room)
        .take_while(|cap| used_columns(*cap) <= room)
        .last()?;
    let mut left = room - used_columns(cap);
    let widths = natural_widths.iter().map(|wide| {
        let extra = usize::from(*wide > cap && left > 0);
        left -= extra;
        *wide.min(&cap) + extra
    });
    Some(widths.collect())
}
