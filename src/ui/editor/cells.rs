//! The appearance of a character in terminal cells, measured like the screen buffer does.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use super::folded;
use crate::ui::text::width;

/// Columns between tab stops.
const TAB_COLUMNS: usize = 4;
/// Maximum bytes of a grapheme that are drawn: stacks of combining marks have no natural end.
const MAX_DRAWN_BYTES: usize = 128;

/// A character (grapheme cluster) as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditorCell<'a> {
    pub(super) text: Cow<'a, str>,
    /// Columns it takes.
    pub(super) width: usize,
    /// Whether a row may end after it.
    pub(super) blank: bool,
}

impl<'a> EditorCell<'a> {
    /// The cell of `grapheme` in column `x` of a row with `columns` for text.
    pub(super) fn of(grapheme: &'a str, x: usize, columns: usize) -> Self {
        let first = grapheme.chars().next().unwrap_or(' ');
        if first == folded::MARK
            && let Some(label) = folded::label(grapheme)
        {
            let label = width::clip(&label, columns);
            let width = width::of(&label);
            return Self::letter(label.into(), width);
        }
        match first {
            ' '..='~' if grapheme.len() == 1 => Self {
                blank: first == ' ',
                ..Self::letter(grapheme.into(), 1)
            },
            '\t' => {
                let width = (TAB_COLUMNS - x % TAB_COLUMNS)
                    .min(columns.saturating_sub(x))
                    .max(1);
                Self {
                    blank: true,
                    ..Self::letter(" ".repeat(width).into(), width)
                }
            }
            first if first.is_control() => Self::fitting(shown(first), columns),
            _ => {
                let drawn = grapheme
                    .get(..grapheme.floor_char_boundary(MAX_DRAWN_BYTES))
                    .unwrap_or_default();
                match usize::from(drawn.cell_width()) {
                    0 if !is_mark(first) => Self::fitting(shown(first), columns),
                    // A mark without a base character gets the dotted circle that fonts have for it.
                    0 => Self::letter(format!("\u{25cc}{drawn}").into(), 1),
                    width if width > columns => Self::letter("?".into(), 1),
                    width => Self::letter(drawn.into(), width),
                }
            }
        }
    }

    fn letter(text: Cow<'a, str>, width: usize) -> Self {
        Self {
            text,
            width,
            blank: false,
        }
    }

    fn fitting(text: String, columns: usize) -> Self {
        if text.len() > columns {
            Self::letter("?".into(), 1)
        } else {
            let width = text.len();
            Self::letter(text.into(), width)
        }
    }
}

/// A character that has no shape of its own, in ASCII: `^[` for Escape, `<200b>` for what takes no column.
fn shown(c: char) -> String {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(code + 0x40).map_or_else(String::new, |c| format!("^{c}")),
        0x7f => "^?".to_owned(),
        code => format!("<{code:02x}>"),
    }
}

/// Whether a character without width is drawn on the one before it: it extends a letter and is not a joiner.
fn is_mark(c: char) -> bool {
    c != '\u{200d}' && c != '\u{200c}' && format!("a{c}").graphemes(true).count() == 1
}
