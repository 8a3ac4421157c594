//! Tests of the parser.

use super::*;
use crate::base::cpu_time::CpuTime;
use proptest::prelude::*;

use ratatui::crossterm::event::KeyEventKind;

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
        (b"\x1b[<0;10;5m\x1b[<35;1;1Mc", "Char('c')"),
        (b"\x1b[<0;10;5Ma\x1b[M !!b", "Char('a') Char('b')"),
        (b"\x1b[?62;4ca\x1b[24;80Rb", "Char('a') Char('b')"),
        (
            b"\x1b]10;rgb:0/0/0\x07a\x1b]11;x\x1b\\b",
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

/// Keys as kitty sends them with the flags 1 and 4, and as xterm does with modifyOtherKeys.
#[test]
fn keys_of_the_keyboard_protocols_are_the_same_keys() {
    let cases: &[(&[u8], &str)] = &[
        (b"\x1b[13;2u\x1b[13;3u\x1b[13;5u", "S-Enter A-Enter C-Enter"),
        (b"\x1b[27;2;13~\x1b[27;3;13~", "S-Enter A-Enter"),
        (b"\x1b[27u\x1b[27;1u\x1b[27;1:1u", "Esc Esc Esc"),
        (
            b"\x1b[97;5u\x1b[99;5:1u\x1b[122;5u",
            "C-Char('a') C-Char('c') C-Char('z')",
        ),
        (b"\x1b[27;5;99~\x1b[27;5;59~", "C-Char('c') C-Char(';')"),
        (b"\x1b[120;3u\x1b[120:88;4u", "A-Char('x') A-S-Char('X')"),
        (b"\x1b[104;7u", "C-A-Char('h')"),
        (
            b"\x1b[32;5u\x1b[47;5u\x1b[95;5u",
            "C-Char(' ') C-Char('/') C-Char('_')",
        ),
        (
            b"\x1b[9;2u\x1b[127;2u\x1b[127;3u\x1b[127;5u",
            "S-BackTab S-Backspace A-Backspace C-Backspace",
        ),
        // Ctrl-C on a Greek keyboard, and on one where the key is not known.
        (
            b"\x1b[968::99;5u\x1b[1089;5u",
            "C-Char('c') C-Char('\u{441}')",
        ),
        // Num Lock and Caps Lock count as modifiers there.
        (
            b"\x1b[99;133u\x1b[13;129u\x1b[1;129A",
            "C-Char('c') Enter Up",
        ),
        (
            b"\x1b[57414u\x1b[57419u\x1b[57423u\x1b[57400u",
            "Enter Up Home Char('1')",
        ),
        (b"\x1b[57421;2u\x1b[57376u", "S-PageUp F(13)"),
        (b"\x1b[A\x1b[1;2A\x1b[5;2~\x1b[13~", "Up S-Up S-PageUp F(3)"),
        // Keys that are let go do nothing, nor do modifiers and media keys.
        (b"\x1b[99;5:3u\x1b[1;1:3A\x1b[5;1:3~a", "Char('a')"),
        (b"\x1b[57441;2u\x1b[57430ua", "Char('a')"),
        // One that is held repeats.
        (b"\x1b[1;1:2B\x1b[120;3:2u", "Down A-Char('x')"),
        // The answer to a question about the protocol.
        (b"\x1b[?5ua", "Char('a')"),
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
fn reports_of_the_terminal_are_no_keys() {
    let background = Input::Background(crate::ui::term::Rgb(30, 30, 46));
    for end in ["\x07", "\x1b\\"] {
        let bytes = format!("\x1b[I\x1b]11;rgb:1e1e/1e1e/2e2e{end}\x1b[O");
        let expected = [Input::Focus(true), background.clone(), Input::Focus(false)];
        assert_eq!(all(&[bytes.as_bytes()]), expected);
        for cut in 1..bytes.len() {
            let (first, rest) = bytes.as_bytes().split_at(cut);
            assert_eq!(all(&[first, rest]), expected, "{cut}");
        }
    }
}

#[test]
fn where_pastes_are_marked_lines_that_arrive_at_once_are_typed() {
    let typed = |text: &str, unmarked| {
        let mut out = Vec::new();
        Parser::new(unmarked).feed(text.as_bytes(), &mut out);
        let enter = Input::Key(character('\r'));
        let sent = out.iter().filter(|input| **input == enter).count();
        let pastes = out
            .iter()
            .filter(|input| matches!(input, Input::Paste(_)))
            .count();
        (sent, pastes)
    };
    let two = "the first of two messages\rand the second one\r";
    assert_eq!(typed(two, UnmarkedPastes::Never), (2, 0));
    assert_eq!(typed(two, UnmarkedPastes::Possible), (0, 1));
    let long = format!("{}\rshort\r", "x".repeat(MIN_PASTE_CHARS));
    assert_eq!(typed(&long, UnmarkedPastes::Never), (2, 1));
    // A terminal that has marked one paste marks them all.
    let marked = format!("\x1b[200~a paste\x1b[201~{two}");
    assert_eq!(typed(&marked, UnmarkedPastes::Possible), (2, 1));
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
    let start = CpuTime::now();
    let pieces: Vec<&[u8]> = bytes.chunks(4096).collect();
    assert_eq!(all(&pieces), [Input::Paste(text)]);
    assert!(start.elapsed() < Duration::from_secs(10));
}

proptest! {
    #[test]
    fn every_code_and_modifier_of_the_keyboard_protocol_is_parsed_as_one_sequence(
        numbers in prop::collection::vec(prop::option::of(0u32..70_000), 1..8),
        separators in prop::collection::vec(prop_oneof![Just(';'), Just(':')], 8),
        end in prop_oneof![Just('u'), Just('~'), Just('A'), Just('R')],
    ) {
        let mut text = "\u{1b}[".to_owned();
        for (number, separator) in numbers.iter().zip(&separators) {
            text.extend(number.map(|number| number.to_string()));
            text.push(*separator);
        }
        prop_assume!(!text.starts_with("\u{1b}[200"));
        text.pop();
        text.push(end);
        text.push('z');
        let found = all(&[text.as_bytes()]);
        prop_assert!(found.len() <= 2, "{:?}", found);
        prop_assert_eq!(found.last(), Some(&Input::Key(character('z'))));
        if let [Input::Key(key), _] = found.as_slice() {
            prop_assert!(key.kind != KeyEventKind::Release);
        }
    }

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
