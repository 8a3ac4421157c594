//! Parses terminal input into keys and pastes: pure, and never stuck on an unterminated sequence.
//!
//! Not crossterm's parser, because that one reads a kilobyte at a time, cannot be paused, and reads an unbracketed paste as keys. The key events are
//! crossterm's, by its conventions (a capital carries SHIFT, `0x1f` is Ctrl-7).

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::Input;

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// A longer bracketed paste is delivered in several parts.
const MAX_PASTE_PART_BYTES: usize = 16 << 20;
/// Characters arriving at once from which multi-line text counts as pasted, not typed.
const MIN_MULTILINE_PASTE_CHARS: usize = 32;
/// The same for a single line.
const MIN_PASTE_CHARS: usize = 256;
/// A longer control sequence is invalid.
const MAX_SEQUENCE_BYTES: usize = 128;

/// Parses bytes, however they are chunked.
#[derive(Debug, Default)]
pub struct Parser {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// What the input begins with.
enum KeyParse {
    /// An incomplete item.
    Incomplete,
    /// Skip this many bytes.
    Skip(usize),
    Key(usize, KeyEvent),
    /// This many bytes of text, including line breaks and tabs.
    Text(usize),
    /// The start marker of a paste, this many bytes long.
    Paste(usize),
}

impl Parser {
    /// Adds bytes, and appends the items they complete to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Input>) {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let used = if self.paste.is_some() {
                self.pasted(rest, out)
            } else {
                self.step(rest, out)
            };
            if used == 0 {
                break;
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        self.pending = rest.to_vec();
    }

    /// How long to wait for the rest of an incomplete sequence; `None` when there is none.
    pub fn pending_timeout(&self) -> Option<Duration> {
        match (&self.paste, self.pending.len()) {
            // A paste whose end got lost must not swallow what is typed forever.
            (Some(_), _) => Some(Duration::from_secs(2)),
            (None, 0) => None,
            // Either the Escape key, or a slow line that split a sequence after its first byte.
            (None, 1 | 2) => Some(Duration::from_millis(40)),
            (None, _) => Some(Duration::from_millis(400)),
        }
    }

    /// The rest is not coming: interprets what there is.
    pub fn give_up(&mut self, out: &mut Vec<Input>) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(mut paste) = self.paste.take() {
            paste.extend_from_slice(&pending);
            out.push(Input::Paste(lines(&paste)));
            return;
        }
        let key = match pending.as_slice() {
            [ESC] => Some(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)),
            [ESC, c @ (b'[' | b']')] => Some(alt(character(char::from(*c)))),
            [ESC, b'O'] => Some(alt(character('O'))),
            _ => None,
        };
        out.extend(key.map(Input::Key));
    }

    fn pasted(&mut self, bytes: &[u8], out: &mut Vec<Input>) -> usize {
        let paste = self.paste.get_or_insert_default();
        if let Some(end) = find(bytes, PASTE_END) {
            paste.extend_from_slice(bytes.get(..end).unwrap_or_default());
            out.push(Input::Paste(lines(paste)));
            self.paste = None;
            return end + PASTE_END.len();
        }
        // Part of the end marker may have arrived.
        let half = (1..PASTE_END.len())
            .rev()
            .find(|n| bytes.ends_with(PASTE_END.get(..*n).unwrap_or_default()))
            .unwrap_or(0);
        let sure = bytes.len() - half;
        paste.extend_from_slice(bytes.get(..sure).unwrap_or_default());
        if paste.len() >= MAX_PASTE_PART_BYTES {
            // Not within a character, nor within a CRLF.
            let whole = whole(paste);
            let rest = paste.split_off(whole);
            out.push(Input::Paste(lines(paste)));
            *paste = rest;
        }
        sure
    }

    fn step(&mut self, bytes: &[u8], out: &mut Vec<Input>) -> usize {
        match step(bytes) {
            KeyParse::Incomplete => 0,
            KeyParse::Skip(used) => used,
            KeyParse::Key(used, key) => {
                out.push(Input::Key(key));
                used
            }
            KeyParse::Text(used) => {
                typed(bytes.get(..used).unwrap_or_default(), out);
                used
            }
            KeyParse::Paste(used) => {
                self.paste = Some(Vec::new());
                used
            }
        }
    }
}

/// Text that arrived at once: as keys, or as a paste if it is too much for typing.
fn typed(bytes: &[u8], out: &mut Vec<Input>) {
    let text = lines(bytes);
    let body = text.trim_end_matches('\n');
    if text.len() >= MIN_MULTILINE_PASTE_CHARS && body.contains('\n') {
        out.push(Input::Paste(text));
        return;
    }
    let mut keys = String::from_utf8_lossy(bytes).into_owned();
    if text.len() >= MIN_PASTE_CHARS {
        out.push(Input::Paste(body.to_owned()));
        // A program may well type a single line, however long, and mean it to be sent.
        keys = keys.chars().filter(|c| matches!(c, '\r' | '\n')).collect();
    }
    out.extend(keys.chars().map(|c| Input::Key(character(c))));
}

/// Pasted bytes as text with `\n` line breaks; terminals send carriage returns.
fn lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.into_owned()
    }
}

/// How many bytes can be split off without cutting a character or a CRLF.
fn whole(bytes: &[u8]) -> usize {
    let valid = match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => e.valid_up_to(),
        _ => bytes.len(),
    };
    let cr = bytes.get(..valid).is_some_and(|part| part.ends_with(b"\r"));
    valid - usize::from(cr)
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let pos = from + rest.iter().position(|b| *b == ESC)?;
        if bytes.get(pos..)?.starts_with(mark) {
            return Some(pos);
        }
        from = pos + 1;
    }
}

fn step(bytes: &[u8]) -> KeyParse {
    match bytes.split_first() {
        None => KeyParse::Incomplete,
        Some((&ESC, rest)) => escape(rest),
        Some((first, _)) if is_text(*first) => text(bytes),
        Some((first, _)) => KeyParse::Key(1, control(*first)),
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..)
}

/// The text at the beginning, without an incomplete character.
fn text(bytes: &[u8]) -> KeyParse {
    let len = bytes.iter().position(|b| !is_text(*b));
    let run = bytes.get(..len.unwrap_or(bytes.len())).unwrap_or_default();
    if len.is_some() {
        return KeyParse::Text(run.len());
    }
    match whole_characters(run) {
        0 => KeyParse::Incomplete,
        whole => KeyParse::Text(whole),
    }
}

fn whole_characters(bytes: &[u8]) -> usize {
    // A character's first byte is at most three before the end.
    let tail = bytes.len().saturating_sub(3);
    for at in (tail..bytes.len()).rev() {
        let Some(rest) = bytes.get(at..) else {
            continue;
        };
        match rest.first() {
            Some(0xc0..) => {
                let half = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_none());
                return if half { at } else { bytes.len() };
            }
            Some(0x80..) => {}
            _ => return bytes.len(),
        }
    }
    bytes.len()
}

/// Parses the bytes after an escape character.
fn escape(rest: &[u8]) -> KeyParse {
    match rest {
        [] | [b'[' | b'O' | b']'] => KeyParse::Incomplete,
        [b'[', rest @ ..] => csi(rest),
        [b'O', key, ..] => match key_of_letter(*key) {
            Some(code) => KeyParse::Key(3, KeyEvent::new(code, KeyModifiers::NONE)),
            None => KeyParse::Key(2, alt(character('O'))),
        },
        // The response to a query of another program.
        [b']', b'0'..=b'9', ..] => string(rest),
        [ESC, ..] => KeyParse::Key(1, KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)),
        [first, ..] if is_text(*first) => match first_character(rest) {
            Some((c, len)) => KeyParse::Key(1 + len, alt(character(c))),
            None if rest.len() < 4 => KeyParse::Incomplete,
            None => KeyParse::Skip(2),
        },
        [first, ..] => KeyParse::Key(2, alt(control(*first))),
    }
}

fn first_character(bytes: &[u8]) -> Option<(char, usize)> {
    (1..=4).find_map(|len| {
        let text = std::str::from_utf8(bytes.get(..len)?).ok()?;
        text.chars().next().map(|c| (c, len))
    })
}

/// An operating system command up to its terminator; ignored.
fn string(rest: &[u8]) -> KeyParse {
    for (index, byte) in rest.iter().enumerate() {
        match byte {
            7 => return KeyParse::Skip(1 + index + 1),
            &ESC if rest.get(index + 1) == Some(&b'\\') => return KeyParse::Skip(1 + index + 2),
            &ESC if rest.len() > index + 1 => return KeyParse::Skip(1 + index),
            _ if index >= 4096 => return KeyParse::Skip(1 + index),
            _ => {}
        }
    }
    KeyParse::Incomplete
}

/// A control sequence; `rest` is what follows `ESC [`.
fn csi(rest: &[u8]) -> KeyParse {
    match rest {
        // The Linux console's F1 to F5.
        [b'[', key @ b'A'..=b'E', ..] => {
            return KeyParse::Key(
                4,
                KeyEvent::new(KeyCode::F(key - b'A' + 1), KeyModifiers::NONE),
            );
        }
        [b'['] => return KeyParse::Incomplete,
        // Mouse reports that another program left on.
        [b'M', ..] => {
            return if rest.len() < 4 {
                KeyParse::Incomplete
            } else {
                KeyParse::Skip(6)
            };
        }
        _ => {}
    }
    let parameters = rest
        .iter()
        .take_while(|byte| matches!(byte, b'0'..=b'?'))
        .count();
    let between = rest
        .iter()
        .skip(parameters)
        // In rxvt a dollar sign ends a sequence.
        .take_while(|byte| matches!(byte, b' '..=b'#' | b'%'..=b'/'))
        .count();
    let len = parameters + between;
    let Some(end) = rest.get(len) else {
        return if len > MAX_SEQUENCE_BYTES {
            KeyParse::Skip(2 + len)
        } else {
            KeyParse::Incomplete
        };
    };
    if !matches!(end, b'@'..=b'~' | b'$') {
        return KeyParse::Skip(2 + len);
    }
    let used = 2 + len + 1;
    let parameters = rest.get(..parameters).unwrap_or_default();
    if between > 0 || parameters.first().is_some_and(|b| matches!(b, b'<'..=b'?')) {
        return KeyParse::Skip(used);
    }
    let numbers: Vec<u32> = parameters
        .split(|b| *b == b';')
        .map(|part| number(part.split(|b| *b == b':').next().unwrap_or_default()))
        .collect();
    let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
    if (*end, at(0)) == (b'~', 200) {
        return KeyParse::Paste(used);
    }
    sequence(*end, [at(0), at(1), at(2)])
        .map_or(KeyParse::Skip(used), |key| KeyParse::Key(used, key))
}

fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum: u32, digit| {
        sum.saturating_mul(10)
            .saturating_add(u32::from(digit.saturating_sub(b'0')))
    })
}

/// The key of a control sequence with this final byte and these numbers.
fn sequence(end: u8, numbers: [u32; 3]) -> Option<KeyEvent> {
    let [first, second, third] = numbers;
    let with = |code| KeyEvent::new(code, modifiers(second));
    match end {
        // `R` with a row is a cursor position report, which was never requested.
        b'R' if first > 1 => None,
        b'A'..=b'F' | b'H' | b'P'..=b'S' => key_of_letter(end).map(with),
        b'a'..=b'd' => key_of_letter(end.to_ascii_uppercase())
            .map(|code| KeyEvent::new(code, KeyModifiers::SHIFT)),
        b'Z' => Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        b'~' if first == 27 => key_of_code(third, second),
        b'u' => key_of_code(first, second),
        b'~' => key_of_number(first).map(with),
        b'^' => key_of_number(first).map(|code| KeyEvent::new(code, KeyModifiers::CONTROL)),
        b'$' => key_of_number(first).map(|code| KeyEvent::new(code, KeyModifiers::SHIFT)),
        b'@' => key_of_number(first)
            .map(|code| KeyEvent::new(code, KeyModifiers::SHIFT | KeyModifiers::CONTROL)),
        _ => None,
    }
}

/// Keys identified by a letter, after `ESC O` and `ESC [`.
fn key_of_letter(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

/// Keys identified by a number.
fn key_of_number(number: u32) -> Option<KeyCode> {
    let number = u8::try_from(number).ok()?;
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number - 10),
        17..=21 => KeyCode::F(number - 11),
        23..=26 => KeyCode::F(number - 12),
        28 | 29 => KeyCode::F(number - 13),
        31..=34 => KeyCode::F(number - 14),
        _ => return None,
    })
}

/// A key identified by its character's code, as newer terminals send those that had no sequence.
fn key_of_code(code: u32, modifier: u32) -> Option<KeyEvent> {
    let mut modifiers = modifiers(modifier);
    let code = match code {
        8 | 127 => KeyCode::Backspace,
        9 if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        // Private use: keys of a keypad and the like.
        57_344..=63_743 => return None,
        code => {
            let c = char::from_u32(code).filter(|c| !c.is_control())?;
            let shifted = modifiers.contains(KeyModifiers::SHIFT) && c.is_ascii_lowercase();
            let c = if shifted { c.to_ascii_uppercase() } else { c };
            if c.is_uppercase() {
                modifiers.insert(KeyModifiers::SHIFT);
            }
            KeyCode::Char(c)
        }
    };
    Some(KeyEvent::new(code, modifiers))
}

fn modifiers(number: u32) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let mut found = KeyModifiers::NONE;
    for (bit, modifier) in [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ] {
        if bits & bit != 0 {
            found.insert(modifier);
        }
    }
    found
}

/// A typed character.
fn character(c: char) -> KeyEvent {
    let code = match c {
        '\r' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        // The Enter key sends a carriage return in raw mode; this is Ctrl-J.
        '\n' => return KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL),
        c if c.is_uppercase() => {
            return KeyEvent::new(KeyCode::Char(c), KeyModifiers::SHIFT);
        }
        c => KeyCode::Char(c),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// A control character.
fn control(byte: u8) -> KeyEvent {
    let c = match byte {
        0 => ' ',
        0x1c..=0x1f => char::from(byte - 0x1c + b'4'),
        0x7f => return KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        byte => char::from((byte | 0x60).to_ascii_lowercase()),
    };
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn alt(mut key: KeyEvent) -> KeyEvent {
    key.modifiers.insert(KeyModifiers::ALT);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(pieces: &[&[u8]]) -> Vec<Input> {
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut out);
        }
        while parser.pending_timeout().is_some() {
            parser.give_up(&mut out);
        }
        out
    }

    fn keys(bytes: &[u8]) -> String {
        all(&[bytes])
            .into_iter()
            .map(|input| match input {
                Input::Key(key) => {
                    let mut name = format!("{:?}", key.code);
                    for (modifier, letter) in [
                        (KeyModifiers::SHIFT, 'S'),
                        (KeyModifiers::ALT, 'A'),
                        (KeyModifiers::CONTROL, 'C'),
                    ] {
                        if key.modifiers.contains(modifier) {
                            name = format!("{letter}-{name}");
                        }
                    }
                    name
                }
                other => format!("{other:?}"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn every_key_is_parsed() {
        let cases: &[(&[u8], &str)] = &[
            (b"a", "Char('a')"),
            (b"A", "S-Char('A')"),
            ("é日".as_bytes(), "Char('é') Char('日')"),
            (b"\r\t\x7f", "Enter Tab Backspace"),
            (
                b"\n\x03\x11\0",
                "C-Char('j') C-Char('c') C-Char('q') C-Char(' ')",
            ),
            (b"\x1f\x08", "C-Char('7') C-Char('h')"),
            (b"\x1b", "Esc"),
            (b"\x1b\x1b", "Esc Esc"),
            (b"\x1b\r\x1b\x7f", "A-Enter A-Backspace"),
            (b"\x1bx\x1bX", "A-Char('x') A-S-Char('X')"),
            ("\x1bé".as_bytes(), "A-Char('é')"),
            (b"\x1b\x02", "C-A-Char('b')"),
            (b"\x1b[A\x1bOB\x1b[C\x1b[D", "Up Down Right Left"),
            (b"\x1b[1;2A\x1b[1;5C\x1b[1;3D", "S-Up C-Right A-Left"),
            (
                b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1bOH",
                "Home End Home End Home",
            ),
            (
                b"\x1b[5~\x1b[6~\x1b[2~\x1b[3~",
                "PageUp PageDown Insert Delete",
            ),
            (b"\x1b[3;5~\x1b[3^\x1b[7$", "C-Delete C-Delete S-Home"),
            (b"\x1bOP\x1b[[A\x1b[11~\x1b[24~", "F(1) F(1) F(1) F(12)"),
            (b"\x1b[Z", "S-BackTab"),
            (b"\x1b[13;2u\x1b[27;2;13~", "S-Enter S-Enter"),
            (b"\x1b[99;5u\x1b[27u", "C-Char('c') Esc"),
            (b"\x1b[", "A-Char('[')"),
            (b"\x1bO", "A-S-Char('O')"),
            // Responses to modes and queries of other programs are ignored.
            (b"\x1b[I\x1b[Oa", "Char('a')"),
            (b"\x1b[<0;10;5Ma\x1b[M !!b", "Char('a') Char('b')"),
            (b"\x1b[?62;4ca\x1b[24;80Rb", "Char('a') Char('b')"),
            (
                b"\x1b]11;rgb:0/0/0\x07a\x1b]11;x\x1b\\b",
                "Char('a') Char('b')",
            ),
            (b"\x1b[201~a", "Char('a')"),
            (b"\x1b[1;\x1b[A", "Up"),
            (b"\xff", "Char('\u{fffd}')"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                keys(bytes),
                *expected,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_bracketed_paste_is_one_event() {
        assert_eq!(
            all(&[b"x\x1b[200~one\rtwo\r\nthree\x1b[A\x1b[20", b"1~y"])[1..2],
            [Input::Paste("one\ntwo\nthree\u{1b}[A".to_owned())]
        );
        // The end of this paste got lost.
        assert_eq!(
            all(&[b"\x1b[200~half\x1b[2"]),
            [Input::Paste("half\u{1b}[2".to_owned())]
        );
    }

    #[test]
    fn an_unbracketed_paste_is_detected_by_lines_or_length() {
        let two = "first line of it\rand the second one\r";
        assert_eq!(
            all(&[two.as_bytes()]),
            [Input::Paste(
                "first line of it\nand the second one\n".to_owned()
            )]
        );
        let long = format!("{}\r", "x".repeat(300));
        let events = all(&[long.as_bytes()]);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0], Input::Paste("x".repeat(300)));
        assert_eq!(
            keys(b"a whole sentence that a program types\r")
                .split(' ')
                .next_back(),
            Some("Enter")
        );
        assert!(!keys(b"!help\r!quit\r").contains("Paste"));
    }

    #[test]
    fn a_megabyte_parses_quickly() {
        let text = "word ".repeat(400_000);
        let mut bytes = b"\x1b[200~".to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(PASTE_END);
        let start = std::time::Instant::now();
        let pieces: Vec<&[u8]> = bytes.chunks(4096).collect();
        assert_eq!(all(&pieces), [Input::Paste(text)]);
        assert!(start.elapsed() < Duration::from_secs(2));
    }

    proptest! {
        #[test]
        fn chunking_does_not_change_the_events(
            parts in prop::collection::vec(prop_oneof![
                Just("\u{1b}[1;5A".to_owned()), Just("\u{1b}[200~a\rb\u{1b}[201~".to_owned()),
                Just("é".to_owned()), Just("日本".to_owned()), Just("\u{1b}é".to_owned()), Just("\u{1b}OP".to_owned()),
                Just("\r".to_owned()), Just("\u{3}".to_owned()), "[a-z]{1,5}",
            ], 0..12),
            cuts in prop::collection::vec(0usize..80, 0..6),
        ) {
            // Short enough not to count as a paste, as one line and as several.
            let mut bytes = parts.concat().into_bytes();
            prop_assume!(bytes.len() < MIN_MULTILINE_PASTE_CHARS - 1 || !bytes.contains(&b'\r'));
            bytes.push(b'z');
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(all(&pieces), all(&[&bytes]));
        }

        #[test]
        fn any_bytes_are_parsed(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let mut parser = Parser::default();
            let mut out = Vec::new();
            for piece in pieces {
                parser.feed(piece, &mut out);
            }
            parser.give_up(&mut out);
            prop_assert!(parser.pending_timeout().is_none());
        }
    }
}
