//! Whole bodies through the decoder of each wire, cut where the first byte says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::llm::catalog::row;
use marvin::llm::wire::{Asked, Dialect};

fuzz_target!(|data: &[u8]| {
    let (Some(cut), body) = (data.first(), data.get(1..).unwrap_or_default()) else {
        return;
    };
    for name in ["openai", "ollama", "anthropic"] {
        let Some(row) = row(name) else { continue };
        let mut decoder = Dialect::of(row, row.base).decoder(Asked::new(row));
        let (head, tail) = body.split_at(usize::from(*cut).min(body.len()));
        if decoder.feed(head, &mut |_| {}).is_ok() && decoder.feed(tail, &mut |_| {}).is_ok() {
            let _ = decoder.finish(&mut |_| {});
        }
    }
});
