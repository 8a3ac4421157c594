//! Argument texts of calls: understood or explained, always storable as JSON, and what is stored means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::tools::engine::arguments::{Args, for_history, understand};
use marvin::tools::engine::registry::named;

fuzz_target!(|raw: &str| {
    let kept = for_history(raw);
    assert!(serde_json::from_str::<serde_json::Value>(&kept).is_ok_and(|value| value.is_object()));
    assert_eq!(for_history(&kept), kept);
    for name in ["apply_patch", "read_file"] {
        let tool = named(name).unwrap();
        if let Ok(Args::Named(args)) = understand(tool, raw) {
            assert_eq!(understand(tool, &kept).ok(), Some(Args::Named(args)));
        }
    }
});
