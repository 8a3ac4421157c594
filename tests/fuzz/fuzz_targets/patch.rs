//! Patch texts: unwrapped, parsed, explained; never a panic. A passage that was replaced is the only thing that changed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::patch::{
    Section, explain_unified_diff, new_text, parse, replace_once, unwrap_patch_text,
};

fuzz_target!(|text: &str| {
    if let Some(bare) = unwrap_patch_text(text) {
        assert!(bare.len() <= text.len());
        if let Ok(patch) = parse(&bare) {
            for section in &patch.sections {
                if let Section::Update { chunks, .. } = section
                    && let Ok(new) = new_text(text, chunks, "file")
                {
                    assert!(new.len() <= 4 * text.len() + 2);
                }
            }
        }
    }
    let _ = explain_unified_diff(text);
    let cut = |at: usize| text.floor_char_boundary(text.len() * at / 4);
    let (old, new) = (&text[cut(1)..cut(2)], &text[cut(3)..]);
    if let Ok(done) = replace_once(text, old, new, "file") {
        // It is where it was cut out, unless only other line breaks made it unique.
        assert!(done.starts_with(&text[..cut(1)]) && done.ends_with(&text[cut(2)..]));
        let middle = &done[cut(1)..done.len() - (text.len() - cut(2))];
        assert_eq!(middle.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    }
});
