//! Ticket files of any bytes: read, changed, noted on; only what was meant changes, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::tools::tickets::format::{Doc, with_note};

fuzz_target!(|bytes: &[u8]| {
    let doc = Doc::parse(bytes);
    let title = doc.title();
    let _ = (doc.list("deps"), doc.get("id"));
    if let Some(new) = doc.set("status", "closed") {
        let again = Doc::parse(&new);
        assert_eq!(again.get("status").as_deref(), Some("closed"));
        assert_eq!(again.title(), title);
        assert_eq!(again.set("status", "closed").as_deref(), Some(new.as_slice()));
    }
    assert!(with_note(bytes, "now", &title).starts_with(bytes));
});
