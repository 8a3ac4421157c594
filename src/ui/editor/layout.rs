//! Finds lines and rows near a position, so that the work does not grow with the text.
//!
//! A long line is cut into blocks of some kilobytes, always between two grapheme clusters, and a block begins a row; only a single cluster of hundreds of bytes
//! (marks piled on marks) may be cut. So the position of a row depends on its block alone, and a line of megabytes costs what a short one does.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::cells::EditorCell;

/// Nominal block size in bytes.
const BLOCK_BYTES: usize = 4096;
/// How many bytes after a block's nominal end are searched for a better place to cut.
const CUT_SEARCH_BYTES: usize = 256;
/// Bytes on both sides that decide whether a position is between two clusters. Each flag emoji is two 4-byte characters: a multiple of 8 keeps the pairs of a
/// long row of them.
const CONTEXT_BYTES: usize = 512;

/// One row on the screen: the bytes it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VisualRow {
    /// First byte.
    pub(super) start: usize,
    /// After the last byte.
    pub(super) end: usize,
    /// Whether a line of the text ends here.
    pub(super) last: bool,
}

/// A line of the text, or a part of a long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogicalLine {
    line: usize,
    /// First byte.
    pub(super) start: usize,
    /// After the last byte.
    pub(super) end: usize,
    /// Whether a line of the text ends here.
    pub(super) last: bool,
}

impl LogicalLine {
    /// The block that contains the position `offset`; a position before a line break belongs to the line.
    pub(super) fn at(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset);
        Self::in_line(text, line_start(text, offset), offset)
    }

    fn in_line(text: &str, line: usize, offset: usize) -> Self {
        let (number, start) = (0..=offset.saturating_sub(line) / BLOCK_BYTES)
            .rev()
            .find_map(|number| {
                let start = cut(text, line, number)?;
                (start <= offset).then_some((number, start))
            })
            .unwrap_or((0, line));
        let nominal = text.ceil_char_boundary(line + (number + 1) * BLOCK_BYTES);
        let (end, last) = match text.get(start..nominal).and_then(|part| part.find('\n')) {
            Some(length) => (start + length, true),
            None => match cut(text, line, number + 1) {
                Some(next) => (next, false),
                None => (line_end(text, nominal), true),
            },
        };
        Self {
            line,
            start,
            end,
            last,
        }
    }

    /// The previous block.
    pub(super) fn before(&self, text: &str) -> Option<Self> {
        let offset = text.floor_char_boundary(self.start.checked_sub(1)?);
        Some(if self.start > self.line {
            Self::in_line(text, self.line, offset)
        } else {
            Self::at(text, offset)
        })
    }

    /// The next block.
    pub(super) fn after(&self, text: &str) -> Option<Self> {
        if !self.last {
            Some(Self::in_line(text, self.line, self.end))
        } else if self.end < text.len() {
            Some(Self::in_line(text, self.end + 1, self.end + 1))
        } else {
            None
        }
    }

    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Its grapheme clusters with their positions in the text.
    pub(super) fn graphemes<'a>(
        &self,
        text: &'a str,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a str)> {
        let start = self.start;
        self.text(text)
            .grapheme_indices(true)
            .map(move |(offset, grapheme)| (start + offset, grapheme))
    }

    /// Its rows at `columns`; one trailing blank may go into the next column.
    pub(super) fn rows(&self, text: &str, columns: usize) -> Vec<VisualRow> {
        let mut rows = Vec::new();
        let mut start = self.start;
        let mut x = 0;
        // After the last blank of this row, and the columns before it.
        let mut blank: Option<(usize, usize)> = None;
        let mut hangs = false;
        let mut finish = |start, end| {
            rows.push(VisualRow {
                start,
                end,
                last: false,
            });
        };
        for (offset, grapheme) in self.graphemes(text) {
            let mut cell = EditorCell::of(grapheme, x, columns);
            while hangs || (x > 0 && x + cell.width > columns && !cell.blank) {
                // The word that does not fit moves down, or a part of it when it fills the row alone.
                let (from, before) = blank.take().filter(|_| !hangs).unwrap_or((offset, x));
                finish(start, from);
                start = from;
                x -= before;
                hangs = false;
                cell = EditorCell::of(grapheme, x, columns);
            }
            if cell.blank {
                hangs = x >= columns;
                blank = Some((offset + grapheme.len(), x + cell.width));
            }
            x += cell.width;
        }
        finish(start, self.end);
        if hangs && self.last {
            finish(self.end, self.end);
        }
        if let Some(row) = rows.last_mut() {
            row.last = self.last;
        }
        rows
    }
}

pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

/// The end of the line that contains `offset`: its newline or the end of the text.
pub(super) fn line_end(text: &str, offset: usize) -> usize {
    text.get(offset..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |length| offset + length)
}

/// Where block `number` of the line at `line` begins: after a blank if one is near, else between two clusters; `None` when the line ends before.
fn cut(text: &str, line: usize, number: usize) -> Option<usize> {
    if number == 0 {
        return Some(line);
    }
    let from = text.ceil_char_boundary(line + number * BLOCK_BYTES);
    let to = text.floor_char_boundary(from + CUT_SEARCH_BYTES);
    let reach = text.get(from..to)?;
    let window = reach.split('\n').next().unwrap_or_default();
    let places = || window.char_indices().map(|(offset, _)| from + offset);
    let after_blank = |offset: &usize| text.as_bytes().get(offset - 1) == Some(&b' ');
    places()
        .filter(after_blank)
        .find(|offset| is_boundary(text, line, *offset))
        .or_else(|| places().find(|offset| is_boundary(text, line, *offset)))
        // A cluster longer than the reach is cut; where the line ends within it, the rest belongs to the block before.
        .or((window.len() + 4 > CUT_SEARCH_BYTES).then_some(from))
}

/// Whether `offset` is between two grapheme clusters, judged by the text nearby.
fn is_boundary(text: &str, line: usize, offset: usize) -> bool {
    let from = text.ceil_char_boundary(offset.saturating_sub(CONTEXT_BYTES).max(line));
    let to = text.floor_char_boundary(offset + CONTEXT_BYTES);
    let window = text.get(from..to).unwrap_or_default();
    GraphemeCursor::new(offset - from, window.len(), true)
        .is_boundary(window, 0)
        .unwrap_or(true)
}

/// The position after the cluster at `offset`; a line break counts as one.
pub(super) fn next(text: &str, offset: usize) -> usize {
    let block = LogicalLine::at(text, offset);
    if offset >= block.end {
        return if block.last {
            (offset + 1).min(text.len())
        } else {
            offset
        };
    }
    let rest = text.get(offset..block.end).unwrap_or_default();
    offset + rest.graphemes(true).next().map_or(0, str::len)
}

/// The position of the cluster before `offset`.
pub(super) fn previous(text: &str, offset: usize) -> usize {
    let block = LogicalLine::at(text, offset);
    if offset <= block.start {
        return match block.before(text) {
            Some(before) if before.last => before.end,
            Some(before) => last_before(text, &before, offset),
            None => 0,
        };
    }
    last_before(text, &block, offset)
}

fn last_before(text: &str, block: &LogicalLine, offset: usize) -> usize {
    block
        .graphemes(text)
        .map(|(start, _)| start)
        .take_while(|start| *start < offset)
        .last()
        .unwrap_or(block.start)
}

/// The nearest position between two clusters that is not before `offset`.
pub(super) fn settle(text: &str, offset: usize) -> usize {
    let offset = text.ceil_char_boundary(offset.min(text.len()));
    let block = LogicalLine::at(text, offset);
    block
        .graphemes(text)
        .map(|(start, _)| start)
        .chain([block.end])
        .find(|start| *start >= offset)
        .unwrap_or(offset)
}
