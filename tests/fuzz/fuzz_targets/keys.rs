//! Bytes of a terminal as keys and pastes: an answer for any of them, and none that waits for ever.

#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::ui::term::keys::Parser;

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let mut parser = Parser::default();
    let mut out = Vec::new();
    for piece in &pieces {
        parser.feed(piece, &mut out);
    }
    parser.give_up(&mut out);
    assert!(parser.patience().is_none());
});
