//! Texts of strangers that are read before anybody has agreed to them: hooks files and the front matter of skills.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::extensions::{hooks_file, imported_hooks, skill_file};

fuzz_target!(|text: &str| {
    if let Err(problem) = hooks_file(text) {
        assert!(!problem.is_empty());
    }
    // What is imported can be read.
    if let Some(file) = imported_hooks(text) {
        assert!(hooks_file(&file).is_ok(), "{file}");
    }
    let (description, body) = skill_file(text);
    assert!(description.chars().count() <= 1_024);
    assert!(text.is_char_boundary(body));
});
