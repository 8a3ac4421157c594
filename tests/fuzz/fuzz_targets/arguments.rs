//! Argument texts of calls: parsed or explained, always storable as JSON, and with the same meaning once stored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::arguments::{ParsedArguments, for_history, parse_arguments};
use marvin::testing::tools::find_tool;

fuzz_target!(|raw: &str| {
    let kept = for_history(raw);
    assert!(serde_json::from_str::<serde_json::Value>(&kept).is_ok_and(|value| value.is_object()));
    assert_eq!(for_history(&kept), kept);
    for name in ["apply_patch", "read_file"] {
        let tool = find_tool(name).unwrap();
        if let Ok(ParsedArguments::Named(args)) = parse_arguments(tool, raw) {
            assert_eq!(
                parse_arguments(tool, &kept).ok(),
                Some(ParsedArguments::Named(args))
            );
        }
    }
});
