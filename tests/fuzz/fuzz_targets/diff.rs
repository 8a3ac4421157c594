//! Unified diffs and line commands on any text: applied or explained, and what is applied twice is the same twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::tools::patch::{apply_commands, apply_hunks, is_commands, is_hunks};

fuzz_target!(|input: (&str, &str)| {
    let (old, patch) = input;
    for apply in [apply_hunks, apply_commands] {
        let first = apply(old, patch, "file").map(|done| done.text).ok();
        assert_eq!(first, apply(old, patch, "file").map(|done| done.text).ok());
        if let Some(text) = first {
            // A patch cannot make a text much longer than the two of them.
            assert!(text.len() <= old.len() + 2 * patch.len() + 2);
        }
    }
    let _ = (is_hunks(patch), is_commands(patch));
});
