//! Draws frames by their differences: widgets draw into a buffer, and only changed cells are written, in one piece.
//!
//! ratatui's own terminal writes the style and position of every changed run and does not scroll; over a slow line that costs several times the text. Here a
//! caller may hint that rows moved, blanks at the end of a row are erased, and the cursor moves by the shortest way.

mod differences;

use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::{Color, Modifier};

use crate::ui::term::ansi_writer::{AnsiWriter, CellStyle};
use crate::ui::text::cell_mark::CellMark;
use differences::differences;

/// Frames from this size in bytes are sent as a synchronized update with the cursor hidden; smaller ones cannot be seen half drawn.
const SYNC_FRAME_BYTES: usize = 512;
/// Style reset, full scroll region, auto-wrap, cursor home, clear screen.
const CLEAR: &[u8] = b"\x1b[m\x1b[r\x1b[?7h\x1b[H\x1b[2J";
/// Replaces characters that must not be written.
const REPLACEMENT: &str = "?";
/// The symbol of cells covered by a wide character.
const COVERED: &str = "";

/// Whether colours are written; without them bold, underline, reverse and the rest remain (`NO_COLOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// Written.
    On,
    /// Not written.
    Off,
}

/// A hint that whole rows moved since the last frame. It is used only if it makes the frame shorter, so a wrong one does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scroll {
    /// The rows that moved, as screen rows from 0.
    pub(crate) rows: Range<u16>,
    /// By how many rows upwards; negative when downwards.
    pub(crate) up: i16,
}

/// A terminal screen drawn by differences.
#[must_use]
pub(crate) struct Screen<W: Write> {
    out: W,
    colours: Colours,
    /// Whether the terminal knows links.
    links: bool,
    /// Whether it shows italics.
    italics: bool,
    /// Whether what it erases gets the current background.
    fills: bool,
    /// The terminal's contents, normalized (see [`normalize`]).
    shown: Buffer,
    /// The frame being drawn.
    frame: Buffer,
    /// False when the contents of the terminal are unknown.
    known: bool,
    at: Option<(u16, u16)>,
    look: CellStyle,
    /// Whether the cursor is visible; `None` when unknown.
    cursor: Option<bool>,
}

impl<W: Write> Screen<W> {
    /// A screen of this size with unknown contents: the first frame paints all of it.
    pub(crate) fn new(out: W, size: Size, colours: Colours) -> Self {
        let area = Rect::from((Position::ORIGIN, size));
        Self {
            out,
            colours,
            links: false,
            italics: true,
            fills: true,
            shown: Buffer::empty(area),
            frame: Buffer::empty(area),
            known: false,
            at: None,
            look: CellStyle::PLAIN,
            cursor: None,
        }
    }

    /// The same, for a terminal that knows links.
    pub(crate) fn with_links(mut self, links: bool) -> Self {
        self.links = links;
        self
    }

    /// The same, for a terminal that shows italics or something else in their place.
    pub(crate) fn with_italics(mut self, italics: bool) -> Self {
        self.italics = italics;
        self
    }

    /// The same, for a terminal that fills what it erases with the current background, or not.
    pub(crate) fn with_fills(mut self, fills: bool) -> Self {
        self.fills = fills;
        self
    }

    /// The whole screen; its corner is the origin.
    pub(crate) fn area(&self) -> Rect {
        self.frame.area
    }

    /// The next frame, blank after each [`Screen::flush`].
    pub(crate) fn frame(&mut self) -> &mut Buffer {
        &mut self.frame
    }

    /// Writes the changes of the frame, with the cursor shown at `cursor` or hidden, and begins the next frame. Returns the number of bytes written, 0 when
    /// nothing differs.
    ///
    /// # Errors
    /// The terminal cannot be written to; the next frame is painted in full.
    pub(crate) fn flush(
        &mut self,
        cursor: Option<Position>,
        scroll: Option<&Scroll>,
    ) -> io::Result<usize> {
        normalize(&mut self.frame, self.colours, self.links);
        if !self.italics {
            let cells = &mut self.frame.content;
            (cells.iter_mut()).for_each(|cell| cell.modifier.remove(Modifier::ITALIC));
        }
        let size = self.area().as_size();
        let cursor = cursor.map(|at| {
            let inside = |at: u16, end: u16| at.min(end.saturating_sub(1));
            (inside(at.x, size.width), inside(at.y, size.height))
        });
        let mut pen = self.shortest(scroll);
        // Whatever is written after this frame, and by whom, is no part of a link.
        pen.style(CellStyle {
            link: 0,
            ..pen.style_now()
        });
        let large = pen.bytes().len() > SYNC_FRAME_BYTES;
        if let Some((x, y)) = cursor {
            pen.go(x, y);
        }
        let bytes = self.with_cursor_codes(&pen, large, cursor.is_some());
        let sent = if bytes.is_empty() {
            Ok(())
        } else {
            self.out.write_all(&bytes).and_then(|()| self.out.flush())
        };
        if sent.is_ok() {
            self.known = true;
            self.cursor = Some(cursor.is_some());
            (self.at, self.look) = (pen.at(), pen.style_now());
            std::mem::swap(&mut self.shown, &mut self.frame);
        } else {
            self.invalidate();
        }
        self.frame.reset();
        sent.map(|()| bytes.len())
    }

    /// The terminal was (or may have been) resized: the next frame is painted in full. Drawing since the last flush is lost.
    pub(crate) fn resize(&mut self, size: Size) {
        let area = Rect::from((Position::ORIGIN, size));
        self.shown = Buffer::empty(area);
        self.frame = Buffer::empty(area);
        self.invalidate();
    }

    /// Another program wrote to the terminal: the next frame is painted in full.
    pub(crate) fn invalidate(&mut self) {
        self.known = false;
        self.cursor = None;
    }
    fn pen(&self) -> AnsiWriter {
        AnsiWriter::new(self.area().width, self.at, self.look)
    }

    fn shortest(&self, scroll: Option<&Scroll>) -> AnsiWriter {
        if !self.known {
            return self.repaint();
        }
        let mut plain = self.pen();
        differences(&mut plain, &self.shown, &self.frame, self.fills);
        let scrolled = scroll.and_then(|scroll| self.scrolled(scroll));
        match scrolled {
            Some(scrolled) if scrolled.bytes().len() < plain.bytes().len() => scrolled,
            _ => plain,
        }
    }

    /// The bytes when rows are scrolled first; `None` when the hint makes no sense.
    fn scrolled(&self, scroll: &Scroll) -> Option<AnsiWriter> {
        let moved = scrolled(&self.shown, scroll)?;
        let mut pen = self.pen();
        move_rows(&mut pen, scroll, self.area().height);
        differences(&mut pen, &moved, &self.frame, self.fills);
        Some(pen)
    }

    /// The bytes of a frame, enclosed by those that hide and show the cursor.
    fn with_cursor_codes(&self, pen: &AnsiWriter, large: bool, cursor: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(pen.bytes().len() + 32);
        let mut shows = self.cursor;
        if large {
            bytes.extend_from_slice(b"\x1b[?2026h");
            if shows != Some(false) {
                bytes.extend_from_slice(b"\x1b[?25l");
                shows = Some(false);
            }
        }
        bytes.extend_from_slice(pen.bytes());
        if shows != Some(cursor) {
            let switch = if cursor { b"\x1b[?25h" } else { b"\x1b[?25l" };
            bytes.extend_from_slice(switch);
        }
        if large {
            bytes.extend_from_slice(b"\x1b[?2026l");
        }
        bytes
    }

    fn repaint(&self) -> AnsiWriter {
        let mut pen = AnsiWriter::new(self.area().width, None, CellStyle::PLAIN);
        pen.put(CLEAR);
        pen.set_position(0, 0);
        let blank = Buffer::empty(self.area());
        differences(&mut pen, &blank, &self.frame, self.fills);
        pen
    }
}

/// Normalizes every cell for comparing and writing: nothing that moves the cursor, no half of a wide character, no invisible style.
fn normalize(frame: &mut Buffer, colours: Colours, links: bool) {
    let width = usize::from(frame.area.width).max(1);
    for row in frame.content.chunks_mut(width) {
        let mut rest = row;
        while let Some((lead, behind)) = rest.split_first_mut() {
            let covers = normalize_symbol(lead, behind.len());
            if colours == Colours::Off {
                (lead.fg, lead.bg) = (Color::Reset, Color::Reset);
            }
            if !links && lead.underline_color != Color::Reset {
                let mark = CellMark {
                    link: 0,
                    ..CellMark::of(lead.underline_color)
                };
                lead.underline_color = mark.color();
            }
            if lead.symbol() == " " {
                let look = look(lead).of_blank();
                (lead.fg, lead.bg, lead.modifier) = (look.fg, look.bg, look.modifier);
            }
            let (covered, next) = behind.split_at_mut(covers.min(behind.len()));
            for cell in covered {
                cell.clone_from(lead);
                cell.set_symbol(COVERED);
            }
            rest = next;
        }
    }
}

/// Replaces a symbol that cannot be written; returns how many of the `room` cells after it the symbol covers.
fn normalize_symbol(cell: &mut Cell, room: usize) -> usize {
    let symbol = cell.symbol();
    if let [b' '..=b'~'] = symbol.as_bytes() {
        return 0;
    }
    if symbol.chars().any(is_unfit) {
        cell.set_symbol(REPLACEMENT);
        return 0;
    }
    let columns = usize::from(symbol.cell_width());
    if columns == 0 || columns > room + 1 {
        cell.set_symbol(" ");
        return 0;
    }
    columns - 1
}

/// Characters that do more than fill their cell: controls, direction changes, and the replacement character, which some terminals drop.
fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffd}')
}

fn look(cell: &Cell) -> CellStyle {
    CellStyle {
        fg: cell.fg,
        bg: cell.bg,
        modifier: cell.modifier,
        link: CellMark::of(cell.underline_color).link,
    }
}

fn same(a: &Cell, b: &Cell) -> bool {
    look(a) == look(b) && a.symbol() == b.symbol() && a.underline_color == b.underline_color
}

/// Whether erasing with the background of `fill` makes this of a cell.
fn is_filled(cell: &Cell, fill: CellStyle) -> bool {
    cell.symbol() == " " && look(cell) == fill && !continues(cell)
}

/// The style that a row is erased with, by its last cell: its background, if it is empty.
fn fill(last: &Cell) -> CellStyle {
    let background = CellStyle {
        bg: last.bg,
        ..CellStyle::PLAIN
    };
    match is_filled(last, background) {
        true => background,
        false => CellStyle::PLAIN,
    }
}

/// Whether the terminal is to wrap behind this cell.
fn continues(cell: &Cell) -> bool {
    CellMark::of(cell.underline_color).continues
}

/// The contents after the rows moved; `None` when the hint makes no sense here.
fn scrolled(shown: &Buffer, scroll: &Scroll) -> Option<Buffer> {
    let by = usize::from(scroll.up.unsigned_abs());
    let rows = usize::from(scroll.rows.start)..usize::from(scroll.rows.end);
    if by == 0 || by >= rows.len() || rows.end > usize::from(shown.area.height) {
        return None;
    }
    let mut moved = shown.clone();
    let width = usize::from(shown.area.width);
    let cells = moved
        .content
        .get_mut(rows.start * width..rows.end * width)?;
    if scroll.up > 0 {
        cells.rotate_left(by * width);
        let fresh = cells.len() - by * width;
        cells.get_mut(fresh..)?.fill(Cell::EMPTY);
    } else {
        cells.rotate_right(by * width);
        cells.get_mut(..by * width)?.fill(Cell::EMPTY);
    }
    Some(moved)
}

/// Scrolls with line feeds at the bottom of a scroll region, or reverse ones at its top: every terminal supports these.
fn move_rows(pen: &mut AnsiWriter, scroll: &Scroll, height: u16) {
    let Range { start, end } = scroll.rows;
    let region = !(start == 0 && end == height);
    // New rows get the current style.
    pen.style(CellStyle::PLAIN);
    if region {
        let rows = format!("\x1b[{};{end}r", start.saturating_add(1));
        pen.put(rows.as_bytes());
        // Most terminals move the cursor home, some to the top of the region.
        pen.forget_position();
    }
    let by = usize::from(scroll.up.unsigned_abs());
    if scroll.up > 0 {
        pen.go(0, end.saturating_sub(1));
        pen.put(&vec![b'\n'; by]);
    } else {
        pen.go(0, start);
        pen.put(&b"\x1bM".repeat(by));
    }
    if region {
        pen.put(b"\x1b[r");
        pen.set_position(0, 0);
    }
}

#[cfg(test)]
mod tests;
