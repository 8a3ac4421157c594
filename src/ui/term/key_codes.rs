//! The keys that control sequences stand for: those of xterm (its ctlseqs, "PC-Style Function Keys" and "modifyOtherKeys"), rxvt, the Linux console, and of
//! kitty's keyboard protocol (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>).

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A control sequence: its final byte, and its numbers with their sub-numbers (`5:2` in `1;5:2A`); what is missing is 0.
pub(super) struct Sequence {
    pub(super) end: u8,
    pub(super) numbers: [[u32; 3]; 3],
}

impl Sequence {
    /// The key; `None` for what is no key, and for a key that is let go.
    pub(super) fn key(&self) -> Option<KeyEvent> {
        let [[first, shifted, base], [modifier, event, _], [third, ..]] = self.numbers;
        let with = |code| KeyEvent::new(code, modifiers(modifier));
        let mut key = match self.end {
            // `R` with a row is a cursor position report, which was never requested.
            b'R' if first > 1 => None,
            b'A'..=b'F' | b'H' | b'P'..=b'S' => key_of_letter(self.end).map(with),
            b'a'..=b'd' => key_of_letter(self.end.to_ascii_uppercase())
                .map(|code| KeyEvent::new(code, KeyModifiers::SHIFT)),
            b'Z' => Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
            b'~' if first == 27 => key_of_code([third, 0, 0], modifier),
            b'u' => key_of_code([first, shifted, base], modifier),
            b'~' => key_of_number(first).map(with),
            b'^' => key_of_number(first).map(|code| KeyEvent::new(code, KeyModifiers::CONTROL)),
            b'$' => key_of_number(first).map(|code| KeyEvent::new(code, KeyModifiers::SHIFT)),
            b'@' => key_of_number(first)
                .map(|code| KeyEvent::new(code, KeyModifiers::SHIFT | KeyModifiers::CONTROL)),
            _ => None,
        }?;
        match event {
            2 => key.kind = KeyEventKind::Repeat,
            3 => return None,
            _ => {}
        }
        Some(key)
    }
}

/// Keys identified by a letter, after `ESC O` and `ESC [`.
pub(super) fn key_of_letter(letter: u8) -> Option<KeyCode> {
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

/// A key identified by its character's code, as newer terminals send those that had no sequence: the code, that with Shift, and that of the key at the same
/// place of a US keyboard.
fn key_of_code([code, shifted, base]: [u32; 3], modifier: u32) -> Option<KeyEvent> {
    let mut modifiers = modifiers(modifier);
    let code = match code {
        8 | 127 => KeyCode::Backspace,
        9 if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        9 => KeyCode::Tab,
        10 | 13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        57_344..=63_743 => functional(code)?,
        code => {
            let letter = |code| char::from_u32(code).filter(|c| !c.is_control());
            let mut c = letter(code)?;
            let is_command = modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            if is_command && !c.is_ascii() {
                // Ctrl-C stays Ctrl-C on a Greek keyboard.
                c = letter(base).filter(|_| base != 0).unwrap_or(c);
            }
            if modifiers.contains(KeyModifiers::SHIFT) {
                let typed = letter(shifted).filter(|_| shifted != 0);
                c = typed.unwrap_or_else(|| c.to_ascii_uppercase());
            }
            if c.is_uppercase() {
                modifiers.insert(KeyModifiers::SHIFT);
            }
            KeyCode::Char(c)
        }
    };
    Some(KeyEvent::new(code, modifiers))
}

/// Keys with a code of their own in kitty's protocol: the keypad's and the higher function keys. Media keys and modifiers do nothing here.
fn functional(code: u32) -> Option<KeyCode> {
    const KEYPAD: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
    Some(match code {
        57_376..=57_398 => KeyCode::F(u8::try_from(code - 57_376).ok()? + 13),
        57_399..=57_408 => KeyCode::Char(*KEYPAD.get(usize::try_from(code - 57_399).ok()?)?),
        57_409 => KeyCode::Char('.'),
        57_410 => KeyCode::Char('/'),
        57_411 => KeyCode::Char('*'),
        57_412 => KeyCode::Char('-'),
        57_413 => KeyCode::Char('+'),
        57_414 => KeyCode::Enter,
        57_415 => KeyCode::Char('='),
        57_416 => KeyCode::Char(','),
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_425 => KeyCode::Insert,
        57_426 => KeyCode::Delete,
        _ => return None,
    })
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

pub(super) fn character(c: char) -> KeyEvent {
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

pub(super) fn control(byte: u8) -> KeyEvent {
    let c = match byte {
        0 => ' ',
        0x1c..=0x1f => char::from(byte - 0x1c + b'4'),
        0x7f => return KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        byte => char::from((byte | 0x60).to_ascii_lowercase()),
    };
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

pub(super) fn alt(mut key: KeyEvent) -> KeyEvent {
    key.modifiers.insert(KeyModifiers::ALT);
    key
}
