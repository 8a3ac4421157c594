//! Argument texts of calls: understood or explained, and always storable as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::tools::args::{for_history, understand};
use marvin::tools::registry::named;

fuzz_target!(|raw: &str| {
    for name in ["apply_patch", "read_file"] {
        if let Some(tool) = named(name) {
            let _ = understand(tool, raw);
        }
    }
    assert!(
        serde_json::from_str::<serde_json::Value>(&for_history(raw))
            .is_ok_and(|value| value.is_object())
    );
});
