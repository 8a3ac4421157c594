//! Patch texts: unwrapped, parsed, explained; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::tools::patch::{explain_unified_diff, parse, replace_once, unwrap_patch_text};

fuzz_target!(|text: &str| {
    if let Some(bare) = unwrap_patch_text(text) {
        let _ = parse(&bare);
    }
    let _ = explain_unified_diff(text);
    let half = text.floor_char_boundary(text.len() / 2);
    let (old, new) = text.split_at(half);
    let _ = replace_once(text, old, new, "file");
});
