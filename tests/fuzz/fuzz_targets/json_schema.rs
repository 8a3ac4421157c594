//! JSON Schema: no schema and no value make it fall over, and what is told of a value are at most five places that are in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::json_schema::Schema;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let (schema, value) = text.split_once('\n').unwrap_or((text, "null"));
    let Ok(schema) = Schema::parse(schema) else {
        return;
    };
    let Ok(value) = serde_json::from_str::<Value>(value) else {
        return;
    };
    let misfits = schema.check(&value);
    assert!(misfits.len() <= 5);
    for misfit in &misfits {
        assert!(value.pointer(&misfit.place).is_some(), "{misfit:?}");
        assert!(!misfit.words.is_empty());
    }
    assert_eq!(misfits, schema.check(&value));
});
