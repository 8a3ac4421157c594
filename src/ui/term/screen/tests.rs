//! A terminal emulator reads the bytes; its screen must equal the frame, cell by cell.

use std::num::NonZero;

use proptest::prelude::*;
use ratatui::style::Style;

use super::differences::widest;
use super::*;
use crate::ui::term::ansi_writer::NAMED;
use crate::ui::text::cell_mark;

fn screen(width: u16, height: u16) -> Screen<Vec<u8>> {
    Screen::new(Vec::new(), Size::new(width, height), Colours::On)
}

fn some(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

/// A screen, and the emulated terminal it is drawn on.
struct Pair {
    screen: Screen<Vec<u8>>,
    terminal: vt100::Parser,
}

impl Pair {
    fn new(width: u16, height: u16) -> Self {
        Self {
            screen: screen(width, height),
            terminal: vt100::Parser::new(some(height), some(width), 0),
        }
    }

    fn flush(&mut self, cursor: Option<Position>, scroll: Option<&Scroll>) -> usize {
        let count = self.screen.flush(cursor, scroll).unwrap();
        let bytes = std::mem::take(&mut self.screen.out);
        assert_eq!(bytes.len(), count);
        self.terminal.process(&bytes);
        count
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.screen.resize(Size::new(width, height));
        self.terminal
            .screen_mut()
            .set_size(some(height), some(width));
    }

    /// Differences between the terminal and the last flushed frame.
    fn fault(&self) -> Option<String> {
        let shown = &self.screen.shown;
        for y in 0..shown.area.height {
            for x in 0..shown.area.width {
                let (cell, real) = (&shown[(x, y)], self.terminal.screen().cell(y, x)?);
                let symbol = cell.symbol();
                if symbol == COVERED {
                    continue;
                }
                let contents = if real.has_contents() {
                    real.contents()
                } else {
                    " "
                };
                // The emulator does not join the parts of a cluster: the first is enough.
                let doubtful = widest(symbol, 1).is_some();
                let text = contents == symbol
                    || (doubtful && symbol.starts_with(contents.chars().next().unwrap_or(' ')));
                let look = look(cell);
                let mut known: Modifier =
                    EMULATED_MODIFIERS.map(|(one, _)| one).into_iter().collect();
                if look.modifier.contains(WEIGHT) {
                    // The emulator supports only one of bold and dim at a time.
                    known = known.difference(WEIGHT);
                }
                let only = |look: CellStyle| CellStyle {
                    modifier: look.modifier & known,
                    ..look
                };
                let (expected, emulated) = (only(look), only(emulated(real)));
                let styled = if symbol == " " {
                    emulated.of_blank() == expected.of_blank()
                } else {
                    emulated == expected
                };
                if !text || !styled {
                    return Some(format!(
                        "({x}, {y}) shows {contents:?} {emulated:?}, not {symbol:?} {expected:?}"
                    ));
                }
            }
        }
        None
    }
}

const WEIGHT: Modifier = Modifier::BOLD.union(Modifier::DIM);

type CellTest = fn(&vt100::Cell) -> bool;
/// The modifiers that the emulator knows, and whether a cell has them.
const EMULATED_MODIFIERS: [(Modifier, CellTest); 5] = [
    (Modifier::BOLD, vt100::Cell::bold),
    (Modifier::DIM, vt100::Cell::dim),
    (Modifier::ITALIC, vt100::Cell::italic),
    (Modifier::UNDERLINED, vt100::Cell::underline),
    (Modifier::REVERSED, vt100::Cell::inverse),
];

fn emulated(cell: &vt100::Cell) -> CellStyle {
    let known = EMULATED_MODIFIERS.into_iter();
    let modifier = known
        .filter(|(_, has)| has(cell))
        .map(|(one, _)| one)
        .collect();
    CellStyle {
        fg: colour(cell.fgcolor()),
        bg: colour(cell.bgcolor()),
        modifier,
        link: 0,
    }
}

fn colour(colour: vt100::Color) -> Color {
    match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(n) => NAMED
            .get(usize::from(n))
            .copied()
            .unwrap_or(Color::Indexed(n)),
        vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}

fn any_style() -> impl Strategy<Value = Style> {
    let colours = prop_oneof![
        4 => Just(Color::Reset),
        1 => Just(Color::Red),
        1 => Just(Color::LightCyan),
        1 => Just(Color::Indexed(200)),
        1 => Just(Color::Rgb(1, 20, 255)),
    ];
    let modifiers = prop_oneof![
        4 => Just(Modifier::empty()),
        1 => Just(Modifier::BOLD),
        1 => Just(Modifier::DIM | Modifier::ITALIC),
        1 => Just(Modifier::UNDERLINED),
        1 => Just(Modifier::REVERSED),
    ];
    (
        colours.clone(),
        colours,
        modifiers,
        prop::bool::weighted(0.3),
    )
        .prop_map(|(fg, bg, modifier, continues)| {
            let style = Style::new().fg(fg).bg(bg).add_modifier(modifier);
            cell_mark::continued(style, continues)
        })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c ]{1,20}",
        1 => Just("日本語".to_owned()),
        1 => Just("e\u{301}x".to_owned()),
        1 => Just("a👨‍👩‍👧b".to_owned()),
        1 => Just("❤\u{fe0f}.".to_owned()),
        1 => Just("🇩🇪!".to_owned()),
        1 => Just("          ".to_owned()),
    ]
}

#[derive(Debug, Clone)]
enum Act {
    Text(u16, u16, String, Style),
    Symbol(u16, u16, &'static str),
    Fill(u16, Style),
    Up(u16, u16, i16, Option<i16>),
    Resize(u16, u16),
    Blank,
    Invalidate,
}

fn any_act() -> impl Strategy<Value = Act> {
    let symbols = ["\u{1b}", "日", "", "\u{202e}", "\n", "\u{200b}"];
    prop_oneof![
        12 => (0..30u16, 0..9u16, any_text(), any_style()).prop_map(|(x, y, t, s)| Act::Text(x, y, t, s)),
        2 => (0..30u16, 0..9u16, prop::sample::select(symbols.to_vec()))
            .prop_map(|(x, y, s)| Act::Symbol(x, y, s)),
        2 => (0..9u16, any_style()).prop_map(|(y, style)| Act::Fill(y, style)),
        3 => (0..9u16, 0..9u16, -4..5i16, prop::option::of(-4..5i16))
            .prop_map(|(a, b, n, hint)| Act::Up(a, b, n, hint)),
        1 => (1..30u16, 1..9u16).prop_map(|(w, h)| Act::Resize(w, h)),
        1 => Just(Act::Blank),
        1 => Just(Act::Invalidate),
    ]
}

fn play(pair: &mut Pair, canvas: &mut Buffer, act: Act) -> Option<Scroll> {
    let area = canvas.area;
    match act {
        Act::Text(x, y, text, style) if y < area.height && x < area.width => {
            canvas.set_string(x, y, text, style);
        }
        Act::Symbol(x, y, symbol) if y < area.height && x < area.width => {
            canvas[(x, y)].set_symbol(symbol);
        }
        Act::Fill(y, style) if y < area.height => {
            canvas.set_style(Rect::new(0, y, area.width, 1), style);
        }
        Act::Up(a, b, by, hint) => {
            let rows = a.min(b)..a.max(b).min(area.height);
            let moved = scrolled(
                canvas,
                &Scroll {
                    rows: rows.clone(),
                    up: by,
                },
            );
            *canvas = moved?;
            return Some(Scroll {
                rows,
                up: hint.unwrap_or(by),
            });
        }
        Act::Resize(width, height) => {
            pair.resize(width, height);
            *canvas = Buffer::empty(Rect::new(0, 0, width, height));
        }
        Act::Blank => canvas.reset(),
        Act::Invalidate => {
            pair.terminal.process(b"\x1b[3;5r\x1b[31mrubbish\x1b[?7l");
            pair.screen.invalidate();
        }
        Act::Text(..) | Act::Symbol(..) | Act::Fill(..) => {}
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_terminal_shows_the_frame(
        acts in prop::collection::vec((any_act(), any::<bool>(), prop::option::of((0..40u16, 0..12u16))), 1..40),
        fills: bool,
    ) {
        let mut pair = Pair::new(24, 8);
        pair.screen = screen(24, 8).with_fills(fills);
        let mut canvas = Buffer::empty(pair.screen.area());
        for (act, flush, cursor) in acts {
            let scroll = play(&mut pair, &mut canvas, act.clone());
            if !flush && scroll.is_none() {
                continue;
            }
            pair.screen.frame().clone_from(&canvas);
            let at = cursor.map(Position::from);
            pair.flush(at, scroll.as_ref());
            let fault = pair.fault();
            prop_assert!(fault.is_none(), "after {:?}: {}", act, fault.unwrap_or_default());
            let real = pair.terminal.screen();
            prop_assert_eq!(real.hide_cursor(), at.is_none());
            if let Some(at) = at {
                let area = canvas.area;
                let expected = (at.y.min(area.height - 1), at.x.min(area.width - 1));
                prop_assert_eq!(real.cursor_position(), expected);
            }
        }
    }
}

#[test]
fn an_unchanged_frame_writes_nothing() {
    let mut pair = Pair::new(20, 4);
    let cursor = Some(Position::new(3, 1));
    for _ in 0..2 {
        pair.screen.frame().set_string(0, 0, "same", Color::Red);
        pair.flush(cursor, None);
    }
    pair.screen.frame().set_string(0, 0, "same", Color::Red);
    assert_eq!(pair.flush(cursor, None), 0);
}

#[test]
fn a_shorter_row_is_erased_not_overwritten() {
    let mut pair = Pair::new(80, 4);
    pair.screen
        .frame()
        .set_string(0, 0, "x".repeat(80), Style::new());
    pair.flush(None, None);
    pair.screen.frame().set_string(0, 0, "x", Style::new());
    let count = pair.flush(None, None);
    assert!(count <= 9, "{count} bytes");
    assert_eq!(pair.fault(), None);
}

#[test]
fn a_filled_row_is_erased_with_its_background() {
    let band = Style::new().bg(Color::Indexed(238));
    let draw = |pair: &mut Pair, text: &str| {
        let row = Rect::new(0, 1, 200, 1);
        pair.screen.frame().set_style(row, band);
        pair.screen.frame().set_string(0, 1, text, band);
        let count = pair.flush(None, None);
        assert_eq!(pair.fault(), None);
        count
    };
    let mut pair = Pair::new(200, 4);
    // No blanks are written: a terminal copies those.
    assert!(draw(&mut pair, "hello") < 60);
    assert_eq!(draw(&mut pair, "hello"), 0, "nothing has changed");
    assert!(draw(&mut pair, "hullo") < 20, "one letter has");
    assert_eq!(pair.terminal.screen().contents().trim_start(), "hullo");
    let mut pair = Pair::new(200, 4);
    pair.screen = screen(200, 4).with_fills(false);
    assert!(draw(&mut pair, "hello") > 200);
}

#[test]
fn a_row_that_goes_on_is_wrapped_by_the_terminal_itself() {
    let mut pair = Pair::new(10, 4);
    let go_on = cell_mark::continued(Style::new(), true);
    let draw = |pair: &mut Pair, rows: [&str; 3], marked: bool| {
        for (y, row) in (0u16..).zip(rows) {
            pair.screen.frame().set_string(0, y, row, Style::new());
        }
        if marked {
            pair.screen.frame()[(9, 0)].set_style(go_on);
        }
        pair.flush(None, None);
        assert_eq!(pair.fault(), None);
        pair.terminal.screen().row_wrapped(0)
    };
    assert!(!draw(&mut pair, ["0123456789", "abc", "x"], false));
    assert!(draw(&mut pair, ["0123456789", "abc", "x"], true));
    // A change where the rows meet, on either side, and one elsewhere.
    assert!(draw(&mut pair, ["0123456789", "Abc", "x"], true));
    assert!(draw(&mut pair, ["012345678!", "Abc", "x"], true));
    assert!(draw(&mut pair, ["_12345678!", "Abd", "x"], true));
    // A blank at the end of the row belongs to the line.
    assert!(draw(&mut pair, ["_12345678 ", "Abd", "x"], true));
    pair.screen.invalidate();
    assert!(draw(&mut pair, ["_12345678 ", "Abd", "x"], true));
    // The next row may begin with what is not written as a character at all.
    draw(&mut pair, ["_123456789", "", "x"], true);
    draw(&mut pair, ["_123456780", "e\u{301}x", "x"], true);
}

#[test]
fn a_row_that_no_longer_goes_on_is_erased_whole() {
    let mut screen = screen(10, 3);
    let mut draw = |rows: [&str; 2], marked: bool| {
        for (y, row) in (0u16..).zip(rows) {
            screen.frame().set_string(0, y, row, Style::new());
        }
        if marked {
            let go_on = cell_mark::continued(Style::new(), true);
            screen.frame()[(9, 0)].set_style(go_on);
        }
        screen.flush(None, None).unwrap();
        String::from_utf8(std::mem::take(&mut screen.out)).unwrap()
    };
    draw(["0123456789", "abc"], true);
    // The beginning stayed the same, and is written again all the same.
    let bytes = draw(["01234", "abc"], false);
    assert!(bytes.contains("\x1b[K01234"), "{bytes:?}");
    assert!(!bytes.contains("abc"), "{bytes:?}");
}

#[test]
fn a_link_is_written_only_where_the_terminal_has_them_and_never_left_open() {
    let link = cell_mark::linked(Style::new(), "https://screen.example/");
    for has_links in [false, true] {
        let mut screen = screen(20, 2).with_links(has_links);
        screen.frame().set_string(0, 0, "here", link);
        screen.flush(Some(Position::new(0, 1)), None).unwrap();
        let bytes = String::from_utf8(std::mem::take(&mut screen.out)).unwrap();
        assert_eq!(
            bytes.contains(";https://screen.example/\x1b\\here\x1b]8;;\x1b\\"),
            has_links,
            "{bytes:?}"
        );
        assert_eq!(bytes.contains("\x1b]8"), has_links, "{bytes:?}");
    }
}

#[test]
fn a_scroll_hint_is_used_only_when_it_is_shorter() {
    let page = |pair: &mut Pair, first: usize| {
        for y in 0..22u16 {
            let line = format!(
                "line {} of a page that is full of text",
                first + usize::from(y)
            );
            pair.screen.frame().set_string(0, y, line, Style::new());
        }
        pair.screen.frame().set_string(0, 23, "input", Style::new());
    };
    let scroll = |up| Scroll { rows: 0..22, up };
    let mut pair = Pair::new(80, 24);
    page(&mut pair, 100);
    pair.flush(None, None);
    page(&mut pair, 101);
    let with = pair.flush(None, Some(&scroll(1)));
    assert_eq!(pair.fault(), None);
    assert!(with < 90, "{with} bytes");
    page(&mut pair, 104);
    // A wrong hint costs only time.
    pair.flush(None, Some(&scroll(-5)));
    assert_eq!(pair.fault(), None);
    page(&mut pair, 102);
    let back = pair.flush(None, Some(&scroll(-2)));
    assert!(back < 160, "{back} bytes");
    assert_eq!(pair.fault(), None);
}

#[test]
fn without_colours_modifiers_remain() {
    let mut screen = Screen::new(Vec::new(), Size::new(10, 2), Colours::Off);
    let style = Style::new()
        .fg(Color::Red)
        .bg(Color::Blue)
        .add_modifier(Modifier::BOLD);
    screen.frame().set_string(0, 0, "a", style);
    screen.flush(None, None).unwrap();
    let text = String::from_utf8(std::mem::take(&mut screen.out)).unwrap();
    assert!(
        text.contains("\x1b[1ma") || text.contains("\x1b[0;1ma"),
        "{text:?}"
    );
    assert!(!text.contains("31") && !text.contains("44"), "{text:?}");
}

#[test]
fn after_a_write_error_everything_is_repainted() {
    struct Broken(bool, Vec<u8>);
    impl Write for Broken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut screen = Screen::new(Broken(true, Vec::new()), Size::new(10, 2), Colours::On);
    screen.frame().set_string(0, 0, "text", Style::new());
    assert!(screen.flush(None, None).is_err());
    screen.out.0 = false;
    screen.frame().set_string(0, 0, "text", Style::new());
    screen.flush(None, None).unwrap();
    assert!(String::from_utf8_lossy(&screen.out.1).contains("text"));
}

/// A chat of 80x24 that follows its end: title, text, a line that counts, input.
fn chat(pair: &mut Pair, lines: &[String], frame: usize) {
    let buffer = pair.screen.frame();
    let bar = Style::new().add_modifier(Modifier::REVERSED);
    buffer.set_string(0, 0, format!("{:<80}", " model  profile  12 messages"), bar);
    let shown = lines.iter().skip(lines.len().saturating_sub(20));
    for (y, line) in (1..21u16).zip(shown) {
        let style = if line.starts_with('#') {
            Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)
        } else {
            Style::new().fg(Color::Green)
        };
        buffer.set_string(0, y, line, style);
    }
    let wheel = ["⠋", "⠙", "⠹", "⠸"][frame / 3 % 4];
    let seconds = frame / 30;
    buffer.set_string(
        0,
        22,
        format!("{wheel} answering {seconds}s"),
        Color::Yellow,
    );
    buffer.set_string(0, 23, "> ", Style::new());
}

#[test]
fn a_streamed_reply_writes_few_bytes() {
    let words = [
        "the ", "stream", "ing ", "reply ", "of ", "a ", "model, ", "token ", "by ",
    ];
    let mut pair = Pair::new(80, 24);
    let (mut lines, mut text, mut written) = (vec![String::new()], 0, 0);
    chat(&mut pair, &lines, 0);
    pair.flush(Some(Position::new(2, 23)), None);
    for frame in 0..1200 {
        let before = lines.len();
        for token in 0..3 {
            let word = words[(frame * 7 + token * 5) % words.len()];
            text += word.len();
            if frame % 100 == 50 && token == 0 {
                lines.extend([String::new(), "# A heading".to_owned(), String::new()]);
                text += "\n# A heading\n".len();
            }
            if lines.last().unwrap().len() + word.len() > 78 {
                lines.push(String::new());
            }
            lines.last_mut().unwrap().push_str(word);
        }
        let up = i16::try_from(lines.len().saturating_sub(20.max(before))).unwrap();
        chat(&mut pair, &lines, frame);
        let hint = Scroll { rows: 1..21, up };
        written += pair.flush(Some(Position::new(2, 23)), Some(&hint));
        if frame % 97 == 0 {
            assert_eq!(pair.fault(), None, "frame {frame}");
        }
    }
    let times = written as f64 / text as f64;
    assert!(times <= 12.0, "{times:.1} bytes for each of text");
    // Far below the limit today, so that growth is noticed.
    assert!(times <= 3.5, "{times:.1} bytes for each of text");
}
