//! Bytes of a terminal as keys and pastes: an answer for any of them, none that waits for ever, and a marked paste is one wherever
//! it was cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::terminal::{Input, Parser};

fn inputs(pieces: &[impl AsRef<[u8]>]) -> Vec<Input> {
    let mut parser = Parser::default();
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
    assert!(inputs(&pieces).len() <= 2 * whole.len());
    if !whole.windows(6).any(|bytes| bytes == b"\x1b[201~") {
        let marked = [&b"\x1b[200~"[..], &whole, b"\x1b[201~"].concat();
        let once = inputs(&[&marked]);
        assert!(matches!(once.as_slice(), [Input::Paste(_)]), "{once:?}");
        let mut cut: Vec<Vec<u8>> = vec![b"\x1b[200~".to_vec()];
        cut.extend(pieces);
        cut.extend([b"\x1b[20".to_vec(), b"1~".to_vec()]);
        assert_eq!(format!("{once:?}"), format!("{:?}", inputs(&cut)));
    }
});
