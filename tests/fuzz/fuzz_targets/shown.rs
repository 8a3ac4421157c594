//! Text of a model, sanitized, split into blocks and laid out: no control characters, no row too wide.

#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::markdown::{BlockSplitter, lay_out, lay_out_open};
use marvin::testing::text::{Cleaner, ColorMode, Theme};
use marvin::testing::width;

fuzz_target!(|data: (Vec<String>, u8)| {
    let (pieces, wide) = data;
    let wide = usize::from(wide).max(2);
    let theme = Theme::new(ColorMode::Ansi16);
    let (mut cleaner, mut splitter) = (Cleaner::default(), BlockSplitter::default());
    let mut done = Vec::new();
    for piece in &pieces {
        let mut safe = String::new();
        cleaner.push(piece, &mut safe);
        assert!(
            !safe.chars().any(|c| c.is_control() && c != '\n'),
            "{safe:?}"
        );
        splitter.push(&safe, &mut done);
        if let Some(open) = splitter.open() {
            lay_out_open(&open, wide, &theme);
        }
    }
    splitter.finish(&mut done);
    for row in done.iter().flat_map(|block| lay_out(block, wide, &theme)) {
        assert!(width::of_spans(&row.spans) <= wide, "{row:?}");
    }
});
