//! Bytes of a terminal as keys, pastes and reports: an answer for any of them, none that waits for ever, a marked paste is one wherever
//! it was cut, and where all pastes are marked nothing else is one but a single long line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::terminal::{Input, Parser, UnmarkedPastes};

fn inputs(pieces: &[impl AsRef<[u8]>], unmarked: UnmarkedPastes) -> Vec<Input> {
    let mut parser = Parser::new(unmarked);
    let mut out = Vec::new();
    for piece in pieces {
        parser.feed(piece.as_ref(), &mut out);
    }
    parser.give_up(&mut out);
    assert!(parser.pending_timeout().is_none());
    out
}

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let whole = pieces.concat();
    assert!(inputs(&pieces, UnmarkedPastes::Possible).len() <= 2 * whole.len());
    let has_mark = whole.windows(5).any(|bytes| bytes == b"\x1b[200");
    for input in inputs(&pieces, UnmarkedPastes::Never) {
        match input {
            Input::Paste(text) if !has_mark => assert!(!text.contains('\n')),
            Input::Resize(_) | Input::Signal(_) | Input::Gone => {
                panic!("{input:?} is not in bytes")
            }
            _ => {}
        }
    }
    if !whole.windows(6).any(|bytes| bytes == b"\x1b[201~") {
        let marked = [&b"\x1b[200~"[..], &whole, b"\x1b[201~"].concat();
        let once = inputs(&[&marked], UnmarkedPastes::Possible);
        assert!(matches!(once.as_slice(), [Input::Paste(_)]), "{once:?}");
        let mut cut: Vec<Vec<u8>> = vec![b"\x1b[200~".to_vec()];
        cut.extend(pieces);
        cut.extend([b"\x1b[20".to_vec(), b"1~".to_vec()]);
        assert_eq!(
            format!("{once:?}"),
            format!("{:?}", inputs(&cut, UnmarkedPastes::Possible))
        );
    }
});
