//! Parses terminal input into keys and pastes: pure, and never stuck on an unterminated sequence.
//!
//! Not crossterm's parser, because that one reads a kilobyte at a time, cannot be paused, and reads an unbracketed paste as keys. The key events are
//! crossterm's, by its conventions (a capital carries SHIFT, `0x1f` is Ctrl-7).

use std::time::Duration;

use memchr::memmem;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::Input;
use super::colour_reply;
use super::key_codes::{Sequence, alt, character, control, key_of_letter};

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

/// Buttons of a mouse report, and the bits in them for Shift, Alt and Ctrl.
const WHEEL_UP: u32 = 64;
const WHEEL_DOWN: u32 = 65;
const MOUSE_MODIFIERS: u32 = 4 | 8 | 16;
/// Rows that one notch of the wheel scrolls, as most terminals have it.
const ROWS_OF_A_NOTCH: isize = 3;

/// Parses bytes, however they are chunked.
#[derive(Debug, Default)]
pub struct Parser {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
    unmarked: UnmarkedPastes,
}

/// Whether text that arrives at once may be a paste although the terminal does not mark it as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnmarkedPastes {
    /// Several lines at once are one: sending each of them as a message would be worse than a program that has to wait.
    #[default]
    Possible,
    /// The terminal marks pastes, so that lines which arrive at once were typed, by a program or over a slow connection.
    Never,
}

/// What the input begins with.
enum KeyParse {
    Incomplete,
    /// Skip this many bytes.
    Skip(usize),
    Key(usize, KeyEvent),
    /// This many bytes of text, including line breaks and tabs.
    Text(usize),
    /// The start marker of a paste, this many bytes long.
    Paste(usize),
    /// Something that the terminal reports, this many bytes long.
    Report(usize, Input),
}

impl Parser {
    /// A parser for a terminal that marks pastes, or may not.
    pub fn new(unmarked: UnmarkedPastes) -> Self {
        Self {
            unmarked,
            ..Self::default()
        }
    }

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
        if let Some(end) = memmem::find(bytes, PASTE_END) {
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
                typed(bytes.get(..used).unwrap_or_default(), self.unmarked, out);
                used
            }
            KeyParse::Report(used, report) => {
                out.push(report);
                used
            }
            KeyParse::Paste(used) => {
                self.paste = Some(Vec::new());
                // A terminal that marks one paste marks them all.
                self.unmarked = UnmarkedPastes::Never;
                used
            }
        }
    }
}

/// Text that arrived at once: as keys, or as a paste if it is too much for typing.
fn typed(bytes: &[u8], unmarked: UnmarkedPastes, out: &mut Vec<Input>) {
    let text = lines(bytes);
    let body = text.trim_end_matches('\n');
    let is_long = text.len() >= MIN_MULTILINE_PASTE_CHARS && body.contains('\n');
    if is_long && unmarked == UnmarkedPastes::Possible {
        out.push(Input::Paste(text));
        return;
    }
    for line in String::from_utf8_lossy(bytes).split_inclusive(['\r', '\n']) {
        let words = line.trim_end_matches(['\r', '\n']);
        let mut keys = line;
        if words.len() >= MIN_PASTE_CHARS {
            out.push(Input::Paste(words.to_owned()));
            // A program may well type a line, however long, and mean it to be sent.
            keys = line.get(words.len()..).unwrap_or_default();
        }
        out.extend(keys.chars().map(|c| Input::Key(character(c))));
    }
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

fn escape(rest: &[u8]) -> KeyParse {
    match rest {
        [] | [b'[' | b'O' | b']'] => KeyParse::Incomplete,
        [b'[', rest @ ..] => csi(rest),
        [b'O', key, ..] => match key_of_letter(*key) {
            Some(code) => KeyParse::Key(3, KeyEvent::new(code, KeyModifiers::NONE)),
            None => KeyParse::Key(2, alt(character('O'))),
        },
        // The response to a query.
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

/// An operating system command up to its terminator: the terminal's background colour, or something to ignore.
fn string(rest: &[u8]) -> KeyParse {
    let report = |used: usize, len: usize| {
        let colour = rest.get(1..len).and_then(colour_reply::background);
        colour.map_or(KeyParse::Skip(used), |colour| {
            KeyParse::Report(used, Input::Background(colour))
        })
    };
    for (index, byte) in rest.iter().enumerate() {
        match byte {
            7 => return report(1 + index + 1, index),
            &ESC if rest.get(index + 1) == Some(&b'\\') => return report(1 + index + 2, index),
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
        return match (between, parameters, *end) {
            (0, [b'<', report @ ..], b'M') => mouse(report, used),
            _ => KeyParse::Skip(used),
        };
    }
    let mut numbers = [[0; 3]; 3];
    for (part, row) in parameters.split(|b| *b == b';').zip(&mut numbers) {
        for (digits, place) in part.split(|b| *b == b':').zip(row) {
            *place = number(digits);
        }
    }
    match (*end, numbers) {
        (b'~', [[200, ..], ..]) => return KeyParse::Paste(used),
        (b'I', _) if parameters.is_empty() => return KeyParse::Report(used, Input::Focus(true)),
        (b'O', _) if parameters.is_empty() => return KeyParse::Report(used, Input::Focus(false)),
        _ => {}
    }
    let sequence = Sequence { end: *end, numbers };
    sequence
        .key()
        .map_or(KeyParse::Skip(used), |key| KeyParse::Key(used, key))
}

/// A mouse report (mode 1006 of xterm's ctlseqs): the wheel, or a button that does nothing here.
fn mouse(report: &[u8], used: usize) -> KeyParse {
    let button = report.split(|byte| *byte == b';').next();
    let button = number(button.unwrap_or_default()) & !MOUSE_MODIFIERS;
    match button {
        WHEEL_UP => KeyParse::Report(used, Input::Wheel(-ROWS_OF_A_NOTCH)),
        WHEEL_DOWN => KeyParse::Report(used, Input::Wheel(ROWS_OF_A_NOTCH)),
        _ => KeyParse::Skip(used),
    }
}

fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum: u32, digit| {
        sum.saturating_mul(10)
            .saturating_add(u32::from(digit.saturating_sub(b'0')))
    })
}

#[cfg(test)]
mod tests;
