//! Which cells of two frames differ, and how a row is brought up to date with few bytes.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;
use unicode_width::UnicodeWidthChar as _;

use super::{COVERED, continues, fill, is_filled, look, same};
use crate::ui::term::ansi_writer::{AnsiWriter, CellStyle};

/// Number of unchanged cells that are rewritten rather than skipped.
const MAX_REWRITTEN_CELLS: usize = 3;
/// Zero-width joiner: joins emoji into one.
const JOINER: char = '\u{200d}';

/// Writes the cells of `new` that differ from `old`; `fills` says whether the terminal erases with the background.
pub(super) fn differences(pen: &mut AnsiWriter, old: &Buffer, new: &Buffer, fills: bool) {
    let width = usize::from(new.area.width).max(1);
    let rows: Vec<_> = old
        .content
        .chunks(width)
        .zip(new.content.chunks(width))
        .collect();
    // Before anything is written: the cursor must not move between a row and the one that it wraps into.
    for (y, row) in (0..new.area.height).zip(&rows) {
        if stops_wrapping(*row) {
            RowDiff::new(pen, y, *row, fills).erase(0);
        }
    }
    let mut wraps = false;
    for (y, (old, new)) in (0..new.area.height).zip(&rows) {
        let next = rows.get(usize::from(y) + 1);
        let wrapped = std::mem::replace(
            &mut wraps,
            next.is_some_and(|next| wraps_anew((old, new), *next)),
        );
        if wrapped {
            pen.wrap_from(y - 1);
        }
        if wrapped || wraps || old.iter().zip(*new).any(|(old, new)| !same(old, new)) {
            let mut row = RowDiff::new(pen, y, (old, new), fills);
            (row.rewrites_first, row.rewrites_last) = (wrapped, wraps);
            if stops_wrapping((old, new)) {
                row.erased = 0;
            }
            row.write();
        }
    }
}

/// Whether the terminal has to wrap from a row into the `next` one: the rows are one line, and one of the two cells where they meet is written. Both are the
/// old and the new row.
fn wraps_anew((old, new): (&[Cell], &[Cell]), next: (&[Cell], &[Cell])) -> bool {
    let changes = |old: Option<&Cell>, new: Option<&Cell>| match (old, new) {
        (Some(old), Some(new)) => !same(old, new),
        _ => false,
    };
    new.last().is_some_and(continues)
        && (changes(old.last(), new.last()) || changes(next.0.first(), next.1.first()))
}

/// The terminal wrapped behind the old row, and the new one ends. All of it is erased then: tmux forgets only with that that it went on, and would join
/// it with the next row in what is copied.
fn stops_wrapping((old, new): (&[Cell], &[Cell])) -> bool {
    old.last().is_some_and(continues) && !new.last().is_some_and(continues)
}

struct RowDiff<'a> {
    pen: &'a mut AnsiWriter,
    y: u16,
    old: &'a [Cell],
    new: &'a [Cell],
    /// From here on the old row is as its end is to be: it was erased.
    erased: usize,
    /// Up to here the terminal's contents are unknown: a character before has a width on which terminals differ.
    doubtful: usize,
    /// From here on the new row is blank, with this background.
    tail: usize,
    fill: CellStyle,
    /// The first cell is written even if it is the same: the terminal wraps into it.
    rewrites_first: bool,
    /// The last cell is written even if it is the same: the terminal wraps behind it.
    rewrites_last: bool,
}

impl<'a> RowDiff<'a> {
    fn new(
        pen: &'a mut AnsiWriter,
        y: u16,
        (old, new): (&'a [Cell], &'a [Cell]),
        fills: bool,
    ) -> Self {
        let fill = new.last().filter(|_| fills).map_or(CellStyle::PLAIN, fill);
        let tail = new.iter().rposition(|cell| !is_filled(cell, fill));
        Self {
            pen,
            y,
            old,
            new,
            erased: usize::MAX,
            doubtful: 0,
            tail: tail.map_or(0, |last| last + 1),
            fill,
            rewrites_first: false,
            rewrites_last: false,
        }
    }

    fn write(&mut self) {
        for x in 0..self.new.len() {
            if !self.is_dirty(x) {
                continue;
            }
            if x >= self.tail
                && (x..self.new.len()).filter(|x| self.is_dirty(*x)).count() > MAX_REWRITTEN_CELLS
            {
                self.erase(x);
                return;
            }
            self.write_cell(x);
        }
    }

    fn is_dirty(&self, x: usize) -> bool {
        let Some(new) = self.new.get(x) else {
            return false;
        };
        let is_rewritten =
            x == 0 && self.rewrites_first || x + 1 == self.new.len() && self.rewrites_last;
        if x < self.doubtful || is_rewritten {
            return true;
        }
        if x >= self.erased {
            return !is_filled(new, self.fill);
        }
        self.old.get(x).is_none_or(|old| !same(old, new))
    }

    fn write_cell(&mut self, x: usize) {
        let Some(cell) = self.new.get(x).filter(|cell| cell.symbol() != COVERED) else {
            return;
        };
        let (new, symbol) = (self.new, cell.symbol());
        let columns = 1 + new
            .iter()
            .skip(x + 1)
            .take_while(|cell| cell.symbol() == COVERED)
            .count()
            .min(symbol.len());
        let max = widest(symbol, columns);
        if max.is_some() && (x < self.erased || x < self.doubtful) {
            self.erase(x);
            (self.erased, self.doubtful) = (self.erased.min(x), 0);
        }
        self.go(x);
        self.style_for(cell);
        let Some(max) = max else {
            self.pen.write(symbol, column(columns));
            return;
        };
        self.pen
            .write(fit_columns(symbol, new.len() - x), column(columns));
        self.pen.forget_position();
        self.doubtful = x + max.min(new.len() - x);
    }

    /// Moves to column `x`; rewrites the cells in between if they are few and of the same style.
    fn go(&mut self, x: usize) {
        if let Some((from, y)) = self.pen.at() {
            let gap = self.new.get(usize::from(from)..x).unwrap_or_default();
            let look = self.pen.style_now();
            let plain = |cell: &Cell| {
                cell.symbol().len() == 1 && (self::look(cell) == look || shows_as(cell, look))
            };
            if y == self.y && gap.len() <= MAX_REWRITTEN_CELLS && gap.iter().all(plain) {
                for cell in gap {
                    self.pen.write(cell.symbol(), 1);
                }
            }
        }
        self.pen.go(column(x), self.y);
    }

    fn style_for(&mut self, cell: &Cell) {
        if !shows_as(cell, self.pen.style_now()) {
            self.pen.style(look(cell));
        }
    }

    fn erase(&mut self, x: usize) {
        self.pen.stop_wrapping();
        self.go(x);
        if self.pen.style_now().of_blank() != self.fill {
            self.pen.style(self.fill);
        }
        self.pen.put(b"\x1b[K");
    }
}

/// A blank cell that looks the same in the current style.
fn shows_as(cell: &Cell, on: CellStyle) -> bool {
    look(cell) == on
        || (cell.symbol() == " "
            && !on.modifier.contains(Modifier::REVERSED)
            && look(cell) == on.of_blank())
}

fn column(x: usize) -> u16 {
    u16::try_from(x).unwrap_or(u16::MAX)
}

/// For a cluster on whose width terminals differ, the largest width that one may give it: the width without joining its parts, or without widening a character
/// for emoji presentation.
pub(super) fn widest(symbol: &str, columns: usize) -> Option<usize> {
    if symbol.len() == 1 {
        return None;
    }
    let widths = symbol.chars().map(|c| c.width().unwrap_or(0));
    let sum: usize = widths.clone().sum();
    let parts = widths.filter(|width| *width > 0).count();
    (parts > 1 || sum != columns).then(|| sum.max(columns))
}

/// As much of a cluster as fits into `room` columns even on a terminal that draws its parts separately, so that it cannot run into the next row.
fn fit_columns(symbol: &str, room: usize) -> &str {
    let mut used = 0;
    let end = symbol.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > room
    });
    end.map_or(symbol, |(at, _)| {
        symbol
            .get(..at)
            .unwrap_or_default()
            .trim_end_matches(JOINER)
    })
}
