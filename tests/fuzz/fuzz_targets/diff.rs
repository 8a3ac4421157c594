//! Unified diffs and line commands on any text: applied or explained; a real diff leads from one text to the other and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::patch::{apply_commands, apply_hunks, is_commands, is_hunks};
use similar::TextDiff;

/// The unified diff from one text to another.
fn diff(old: &str, new: &str, context: usize) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff()
        .context_radius(context)
        .header("a/f", "b/f")
        .to_string()
}

fuzz_target!(|input: (&str, &str)| {
    let (old, patch) = input;
    for apply in [apply_hunks, apply_commands] {
        let first = apply(old, patch, "file").map(|done| done.text).ok();
        assert_eq!(first, apply(old, patch, "file").map(|done| done.text).ok());
        if let Some(text) = first {
            // A patch cannot make a text much longer than the two of them.
            assert!(text.len() <= old.len() + 2 * patch.len() + 2);
            assert!(text.starts_with('\u{feff}') || !old.starts_with('\u{feff}'));
        }
    }
    let _ = (is_hunks(patch), is_commands(patch));

    // The format cannot express a carriage return, and a byte-order mark is never changed.
    let (one, two) = (old, patch);
    if one != two && ![one, two].concat().contains(['\r', '\u{feff}']) {
        for context in [0, 1, 3] {
            for (from, to) in [(one, two), (two, one)] {
                let patch = diff(from, to, context);
                assert!(is_hunks(&patch));
                let done = apply_hunks(from, &patch, "file").map(|done| done.text);
                assert_eq!(done.ok().as_deref(), Some(to), "{patch}");
            }
        }
    }
});
