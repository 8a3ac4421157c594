//! Writes to a terminal and tracks its cursor position and style: shortest cursor movement, no repeated style.

use std::io::Write as _;

use ratatui::style::{Color, Modifier};

use crate::ui::text::cell_mark;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellStyle {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
    /// The number of the link, 0 without one.
    pub(super) link: u32,
}

impl CellStyle {
    pub(super) const PLAIN: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
        link: 0,
    };

    const ON_BLANKS: Modifier = Modifier::REVERSED
        .union(Modifier::UNDERLINED)
        .union(Modifier::CROSSED_OUT);

    /// The part of this style that is visible on a blank cell; everything if it is reversed.
    pub(super) fn of_blank(self) -> Self {
        if self.modifier.contains(Modifier::REVERSED) {
            return self;
        }
        let modifier = self.modifier & Self::ON_BLANKS;
        let fg = if modifier.is_empty() {
            Color::Reset
        } else {
            self.fg
        };
        Self {
            fg,
            modifier,
            ..self
        }
    }
}

/// Writes to the terminal and tracks its state. Positions count from 0.
#[derive(Debug, Clone)]
pub(super) struct AnsiWriter {
    bytes: Vec<u8>,
    /// `None` when unknown: before the first move, after the last column, after a character of doubtful width.
    at: Option<(u16, u16)>,
    style_now: CellStyle,
    width: u16,
    /// The row whose last column was written just now: what is written next begins the row below.
    full_row: Option<u16>,
    /// The cursor gets to where it is only with the next character: the terminal wraps.
    is_wrapping: bool,
}

impl AnsiWriter {
    /// A writer for a screen of this width, whose cursor is at `at` and whose current style is `style_now`.
    pub(super) fn new(width: u16, at: Option<(u16, u16)>, style_now: CellStyle) -> Self {
        Self {
            bytes: Vec::new(),
            at,
            style_now,
            width,
            full_row: None,
            is_wrapping: false,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn at(&self) -> Option<(u16, u16)> {
        self.at
    }

    pub(super) fn style_now(&self) -> CellStyle {
        self.style_now
    }

    /// Raw bytes that do not move the cursor.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Sets the position of the cursor after raw bytes moved it.
    pub(super) fn set_position(&mut self, x: u16, y: u16) {
        self.at = Some((x, y));
    }

    /// Marks the cursor position as unknown.
    pub(super) fn forget_position(&mut self) {
        self.at = None;
    }

    /// Writes a cell's symbol, `columns` wide, at the cursor.
    pub(super) fn write(&mut self, symbol: &str, columns: u16) {
        self.put(symbol.as_bytes());
        // In the last column terminals differ on where the cursor is.
        let behind = self.at.map(|(x, y)| (x.saturating_add(columns), y));
        self.at = behind.filter(|(x, _)| *x < self.width);
        self.full_row = behind.filter(|(x, _)| *x == self.width).map(|(_, y)| y);
        self.is_wrapping = false;
    }

    /// Lets the terminal itself wrap from row `y` into the next one, if the end of that row was written just now. Terminals keep that the two are one line, and
    /// copy them without a line break.
    pub(super) fn wrap_from(&mut self, y: u16) {
        if self.full_row.take() == Some(y) {
            self.at = Some((0, y.saturating_add(1)));
            self.is_wrapping = true;
        }
    }

    /// The next bytes are no character, so nothing is wrapped.
    pub(super) fn stop_wrapping(&mut self) {
        if std::mem::take(&mut self.is_wrapping) {
            self.at = None;
        }
    }

    /// Moves to column `x` of row `y`.
    pub(super) fn go(&mut self, x: u16, y: u16) {
        if self.at == Some((x, y)) {
            return;
        }
        self.full_row = None;
        self.stop_wrapping();
        let absolute = absolute(x, y);
        let relative = self.at.and_then(|from| relative(from, (x, y)));
        match relative.filter(|bytes| bytes.len() < absolute.len()) {
            Some(bytes) => self.put(&bytes),
            None => self.put(&absolute),
        }
        self.at = Some((x, y));
    }

    /// Switches to a style, by the differences or by a reset, whichever is shorter.
    pub(super) fn style(&mut self, style_now: CellStyle) {
        if style_now.link != self.style_now.link {
            self.put(link(style_now.link).as_bytes());
            self.style_now.link = style_now.link;
        }
        if style_now == self.style_now {
            return;
        }
        let changes = sgr(&changes(self.style_now, style_now));
        let from_reset = sgr(&format!("0{}", prefixed(&changes_from_plain(style_now))));
        let is_plain = CellStyle {
            link: 0,
            ..style_now
        } == CellStyle::PLAIN;
        let shorter = if is_plain {
            "\x1b[m".to_owned()
        } else if from_reset.len() < changes.len() {
            from_reset
        } else {
            changes
        };
        self.put(shorter.as_bytes());
        self.style_now = style_now;
    }
}

/// The sequence that begins a link, or ends the one before (OSC 8). The number makes one link of its parts in several rows.
fn link(number: u32) -> String {
    match cell_mark::address(number) {
        Some(address) => format!("\x1b]8;id={number};{address}\x1b\\"),
        None => "\x1b]8;;\x1b\\".to_owned(),
    }
}

fn sgr(codes: &str) -> String {
    format!("\x1b[{codes}m")
}

fn prefixed(codes: &str) -> String {
    if codes.is_empty() {
        String::new()
    } else {
        format!(";{codes}")
    }
}

fn changes_from_plain(to: CellStyle) -> String {
    changes(CellStyle::PLAIN, to)
}

/// The SGR codes that change one style into another, separated by semicolons.
fn changes(from: CellStyle, to: CellStyle) -> String {
    let mut codes: Vec<String> = Vec::new();
    // Bold and dim share the code that switches them off.
    const WEIGHT: Modifier = Modifier::BOLD.union(Modifier::DIM);
    let mut on = from.modifier;
    if !(on & WEIGHT).difference(to.modifier).is_empty() {
        codes.push("22".to_owned());
        on = on.difference(WEIGHT);
    }
    const BLINKS: Modifier = Modifier::SLOW_BLINK.union(Modifier::RAPID_BLINK);
    if !(on & BLINKS).difference(to.modifier).is_empty() {
        codes.push("25".to_owned());
        on = on.difference(BLINKS);
    }
    for (modifier, set, clear) in [
        (Modifier::BOLD, "1", "22"),
        (Modifier::DIM, "2", "22"),
        (Modifier::ITALIC, "3", "23"),
        (Modifier::UNDERLINED, "4", "24"),
        (Modifier::SLOW_BLINK, "5", "25"),
        (Modifier::RAPID_BLINK, "6", "25"),
        (Modifier::REVERSED, "7", "27"),
        (Modifier::HIDDEN, "8", "28"),
        (Modifier::CROSSED_OUT, "9", "29"),
    ] {
        match (on.contains(modifier), to.modifier.contains(modifier)) {
            (false, true) => codes.push(set.to_owned()),
            (true, false) => codes.push(clear.to_owned()),
            _ => {}
        }
    }
    if from.fg != to.fg {
        codes.push(colour(to.fg, 30));
    }
    if from.bg != to.bg {
        codes.push(colour(to.bg, 40));
    }
    codes.join(";")
}

/// The colours that have names, in the order of their numbers.
pub(super) const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// The code of a colour: of the text when `base` is 30, of the background when it is 40.
pub(in crate::ui) fn colour(colour: Color, base: u8) -> String {
    match colour {
        Color::Indexed(n) => format!("{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        named => {
            let number = NAMED.iter().zip(0u8..).find(|(one, _)| **one == named);
            let code = match number {
                Some((_, number @ ..8)) => base + number,
                Some((_, number)) => base + 60 + number - 8,
                None => base + 9,
            };
            code.to_string()
        }
    }
}

fn absolute(x: u16, y: u16) -> Vec<u8> {
    let text = match (x, y) {
        (0, 0) => "\x1b[H".to_owned(),
        (0, _) => format!("\x1b[{}H", y.saturating_add(1)),
        (_, 0) => format!("\x1b[;{}H", x.saturating_add(1)),
        _ => format!("\x1b[{};{}H", y.saturating_add(1), x.saturating_add(1)),
    };
    text.into_bytes()
}

/// The shortest relative movement; `None` when an absolute one is as short.
fn relative(from: (u16, u16), to: (u16, u16)) -> Option<Vec<u8>> {
    let (fx, fy) = from;
    let (x, y) = to;
    let mut direct = vertical(fy, y)?;
    direct.extend(horizontal(fx, x));
    let mut returning = vec![b'\r'];
    returning.extend(vertical(fy, y)?);
    returning.extend(horizontal(0, x));
    Some(if returning.len() < direct.len() {
        returning
    } else {
        direct
    })
}

fn vertical(from: u16, to: u16) -> Option<Vec<u8>> {
    match to.checked_sub(from) {
        // The row exists, so a line feed never scrolls.
        Some(down) if down <= 4 => Some(vec![b'\n'; usize::from(down)]),
        Some(_) => None,
        None => Some(counted(from - to, b'A')),
    }
}

fn horizontal(from: u16, to: u16) -> Vec<u8> {
    match to.checked_sub(from) {
        Some(0) => Vec::new(),
        Some(right) => counted(right, b'C'),
        None if from - to <= 3 => vec![8; usize::from(from - to)],
        None => counted(from - to, b'D'),
    }
}

fn counted(count: u16, command: u8) -> Vec<u8> {
    let mut bytes = b"\x1b[".to_vec();
    if count > 1 {
        let _ = write!(bytes, "{count}");
    }
    bytes.push(command);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::cell_mark::CellMark;
    use ratatui::style::Style;

    fn moved(from: (u16, u16), to: (u16, u16)) -> String {
        let mut pen = AnsiWriter::new(80, Some(from), CellStyle::PLAIN);
        pen.go(to.0, to.1);
        String::from_utf8(pen.bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_cursor_moves_by_the_shortest_way() {
        for (from, to, bytes) in [
            ((5, 5), (5, 5), ""),
            ((0, 0), (0, 1), "\n"),
            ((70, 3), (0, 4), "\r\n"),
            ((10, 3), (11, 3), "\x1b[C"),
            ((10, 3), (8, 3), "\x08\x08"),
            ((10, 3), (60, 3), "\x1b[50C"),
            ((60, 20), (0, 0), "\x1b[H"),
            ((60, 20), (0, 3), "\x1b[4H"),
            ((60, 20), (9, 0), "\x1b[;10H"),
            ((10, 3), (10, 2), "\x1b[A"),
            ((3, 3), (44, 13), "\x1b[14;45H"),
        ] {
            assert_eq!(moved(from, to), bytes, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn a_link_begins_and_ends_between_the_styles() {
        let color = cell_mark::linked(Style::new(), "https://pen.example/x");
        let link = CellMark::of(color.underline_color.unwrap()).link;
        let linked = CellStyle {
            link,
            ..CellStyle::PLAIN
        };
        let mut pen = AnsiWriter::new(80, Some((0, 0)), CellStyle::PLAIN);
        for (style, text) in [(linked, "a"), (linked, "b"), (CellStyle::PLAIN, "c")] {
            pen.style(style);
            pen.write(text, 1);
        }
        let text = String::from_utf8(pen.bytes().to_vec()).unwrap();
        let expected = format!("\x1b]8;id={link};https://pen.example/x\x1b\\ab\x1b]8;;\x1b\\c");
        assert_eq!(text, expected);
    }

    #[test]
    fn only_what_follows_a_full_row_at_once_is_wrapped_by_the_terminal() {
        let mut pen = AnsiWriter::new(3, Some((0, 0)), CellStyle::PLAIN);
        pen.write("abc", 3);
        pen.wrap_from(0);
        pen.go(0, 1);
        assert_eq!(pen.bytes(), b"abc");
        pen.write("de", 2);
        pen.wrap_from(1);
        assert_eq!(pen.at(), Some((2, 1)));
        pen.write("f", 1);
        pen.wrap_from(1);
        pen.stop_wrapping();
        assert_eq!(pen.at(), None);
        pen.go(1, 0);
        pen.wrap_from(1);
        assert_eq!(pen.at(), Some((1, 0)));
    }

    #[test]
    fn a_style_is_written_as_changes() {
        let red = CellStyle {
            fg: Color::Red,
            ..CellStyle::PLAIN
        };
        let bold = CellStyle {
            modifier: Modifier::BOLD,
            ..red
        };
        let dim = CellStyle {
            modifier: Modifier::DIM,
            ..red
        };
        let mut pen = AnsiWriter::new(80, None, CellStyle::PLAIN);
        for style_now in [red, red, bold, dim, CellStyle::PLAIN] {
            pen.style(style_now);
        }
        let text = String::from_utf8(pen.bytes().to_vec()).unwrap();
        assert_eq!(text, "\x1b[31m\x1b[1m\x1b[22;2m\x1b[m");
    }
}
