//! The visible rows of the input, the cursor in them, and vertical movement.
//!
//! The last column is reserved for the cursor and for the blank at the end of a full row.

use unicode_segmentation::UnicodeSegmentation;

use super::cells::EditorCell;
use super::layout::{LogicalLine, VisualRow};

/// Hidden rows are counted only up to this number.
pub(crate) const COUNTED: usize = 99;
/// How many bytes are laid out for that; longer text counts as [`COUNTED`] rows.
const COUNTED_BYTES: usize = 8 << 10;

/// The rows to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Rows without control characters, none wider than requested.
    pub rows: Vec<String>,
    /// Column and row of the cursor, always inside.
    pub cursor: (usize, usize),
    /// Rows hidden above; [`COUNTED`] means at least that many.
    pub above: usize,
    /// Rows hidden below; [`COUNTED`] means at least that many.
    pub below: usize,
}

/// Columns for text in a view of `width`.
fn columns(width: usize) -> usize {
    width.saturating_sub(1).max(1)
}

/// A row with what is needed to reach the adjacent ones.
#[derive(Clone)]
struct RowPosition<'a> {
    text: &'a str,
    columns: usize,
    block: LogicalLine,
    rows: Vec<VisualRow>,
    index: usize,
}

impl<'a> RowPosition<'a> {
    /// The row that contains the cursor position `offset`.
    fn at(text: &'a str, offset: usize, columns: usize) -> Self {
        let block = LogicalLine::at(text, offset.min(text.len()));
        let rows = block.rows(text, columns);
        let index = rows
            .iter()
            .rposition(|row| row.start <= offset)
            .unwrap_or(0);
        Self {
            text,
            columns,
            block,
            rows,
            index,
        }
    }

    fn row(&self) -> VisualRow {
        let end = VisualRow {
            start: self.block.end,
            end: self.block.end,
            last: true,
        };
        self.rows.get(self.index).copied().unwrap_or(end)
    }

    fn up(&mut self) -> bool {
        if self.index == 0 {
            let Some(block) = self.block.before(self.text) else {
                return false;
            };
            self.enter(block);
            self.index = self.rows.len();
        }
        self.index = self.index.saturating_sub(1);
        true
    }

    fn down(&mut self) -> bool {
        if self.index + 1 < self.rows.len() {
            self.index += 1;
            return true;
        }
        let Some(block) = self.block.after(self.text) else {
            return false;
        };
        self.enter(block);
        self.index = 0;
        true
    }

    fn enter(&mut self, block: LogicalLine) {
        self.rows = block.rows(self.text, self.columns);
        self.block = block;
    }

    /// The cells of the row: position, cell, and the column it begins in.
    fn cells(&self) -> impl Iterator<Item = (usize, EditorCell<'a>, usize)> {
        let row = self.row();
        let columns = self.columns;
        let shown = self.text.get(row.start..row.end).unwrap_or_default();
        shown
            .grapheme_indices(true)
            .scan(0, move |x, (offset, grapheme)| {
                let cell = EditorCell::of(grapheme, *x, columns);
                let column = *x;
                *x += cell.width;
                Some((row.start + offset, cell, column))
            })
    }

    fn drawn(&self) -> String {
        self.cells()
            .filter(|(_, cell, x)| x + cell.width <= self.columns)
            .map(|(_, cell, _)| cell.text)
            .collect()
    }

    fn column(&self, offset: usize) -> usize {
        self.cells()
            .take_while(|(start, ..)| *start < offset)
            .last()
            .map_or(0, |(_, cell, x)| x + cell.width)
    }

    /// The position in this row nearest to column `x`, but not after it.
    fn place(&self, x: usize) -> usize {
        let row = self.row();
        let end = self.cells().last().map_or(0, |(_, cell, x)| x + cell.width);
        if row.last && end <= x {
            return row.end;
        }
        self.cells()
            .take_while(|(_, _, column)| *column <= x)
            .last()
            .map_or(row.start, |(offset, ..)| offset)
    }
}

/// At most `max_rows` rows of `text` at `width` columns, including the row of the cursor. `top` is where the view began; it moves no further than the cursor
/// requires.
pub(super) fn view(
    text: &str,
    cursor: usize,
    top: &mut usize,
    (width, max_rows): (usize, usize),
) -> View {
    if width == 0 || max_rows == 0 {
        return View::default();
    }
    let at_cursor = RowPosition::at(text, cursor, columns(width));
    let mut first = RowPosition::at(text, (*top).min(text.len()), columns(width));
    let target = at_cursor.row().start;
    if first.row().start > target {
        first = at_cursor.clone();
    } else {
        let mut seeker = first.clone();
        let mut steps = 1;
        while seeker.row().start < target && steps < max_rows && seeker.down() {
            steps += 1;
        }
        if seeker.row().start != target {
            first = at_cursor.clone();
            for _ in 1..max_rows {
                first.up();
            }
        }
    }
    // A text that became shorter leaves no gap at the bottom.
    let mut last = first.clone();
    let below_first = (1..max_rows).take_while(|_| last.down()).count();
    for _ in below_first + 1..max_rows {
        first.up();
    }
    *top = first.row().start;

    let mut view = View {
        above: count(first.clone(), RowPosition::up),
        below: count(last, RowPosition::down),
        ..View::default()
    };
    let mut position = first;
    loop {
        if position.row().start == target {
            view.cursor = (at_cursor.column(cursor).min(width - 1), view.rows.len());
        }
        view.rows.push(position.drawn());
        if view.rows.len() >= max_rows || !position.down() {
            return view;
        }
    }
}

/// Number of rows from here to the edge of the text, up to [`COUNTED`].
fn count<'a>(mut from: RowPosition<'a>, step: fn(&mut RowPosition<'a>) -> bool) -> usize {
    let start = from.row().start;
    for rows in 0..COUNTED {
        if !step(&mut from) {
            return rows;
        }
        if from.row().start.abs_diff(start) > COUNTED_BYTES {
            break;
        }
    }
    COUNTED
}

/// The direction of a motion from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vertical {
    Up,
    Down,
}

/// Where the cursor ends up one row up or down, near column `goal` (its own column if not given), and that column; `None` at the edge of the text.
pub(super) fn vertical(
    text: &str,
    cursor: usize,
    width: usize,
    goal: Option<usize>,
    direction: Vertical,
) -> Option<(usize, usize)> {
    let mut position = RowPosition::at(text, cursor, columns(width));
    let goal = goal.unwrap_or_else(|| position.column(cursor));
    let moved = match direction {
        Vertical::Up => position.up(),
        Vertical::Down => position.down(),
    };
    moved.then(|| (position.place(goal), goal))
}
