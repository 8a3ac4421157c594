//! Declarations, the schema generated from them, and malformed calls.

use serde_json::{Value, json};

use super::{Field, Param, Type, choice, params, schema};
use crate::base::problem::Problem;

params! {
    struct Sample {
        /// relative path
        path: String, example: "src/main.rs";
        /// first line
        start_line: Option<u64>, min: 1;
        /// how many
        count: u32 = 20, min: 1, max: 50, alias: &["limit"];
        /// names
        tags: Vec<String> = [];
        /// everything
        all: bool = false;
    }
}

choice! {
    enum Rank { Fame = "FAME", Near = "near" }
}

#[test]
fn words_are_known_in_any_case() {
    let read = |text: &str| Rank::read(&Value::from(text));
    assert_eq!(
        (read("fame"), read(" NEAR "), read("FAME"), read("far")),
        (Some(Rank::Fame), Some(Rank::Near), Some(Rank::Fame), None)
    );
}

fn decode(value: Value) -> Result<Sample, Problem> {
    Sample::decode("sample", value.as_object().unwrap())
}

choice! {
    enum Order { New = "newestFirst", Old = "oldestFirst" }
}

#[test]
fn choices_ignore_case() {
    for word in ["newestFirst", " newestfirst ", "NEWESTFIRST"] {
        assert_eq!(Order::read(&json!(word)), Some(Order::New), "{word}");
    }
    assert_eq!(Order::read(&json!("oldestFirst")), Some(Order::Old));
    assert_eq!(Order::read(&json!("newest")), None);
}

#[test]
fn imprecise_calls_are_decoded() {
    let got =
        decode(json!({"path": 5, "startLine": "0", "limit": 5.0, "tags": "one", "all": "TRUE"}))
            .unwrap();
    assert_eq!(
        (got.path.as_str(), got.start_line, got.count, got.all),
        ("5", Some(1), 5, true)
    );
    assert_eq!(got.tags, ["one"]);
    let got = decode(json!({"path": "a", "start_line": null, "count": 999})).unwrap();
    assert_eq!((got.start_line, got.count), (None, 50));
}

#[test]
fn all_wrong_fields_are_named_with_a_correct_call() {
    let text = decode(json!({"pth": "a", "start_line": [], "all": "perhaps"}))
        .unwrap_err()
        .one_line();
    for part in [
        "path: required",
        "Parameters: path (text, required); start_line (a whole number, optional); count (a whole number, default 20); tags (a list, each item text, default []); all (true or false, default false).",
        "A correct call: sample ",
        "start_line: wanted a whole number, got []",
        "all: wanted true or false",
        "\"pth\"; did you mean \"path\"?",
        "{\"path\":\"src/main.rs\"}",
    ] {
        assert!(text.contains(part), "{part} not in {text}");
    }
}

#[test]
fn the_schema_keeps_the_declared_order() {
    let schema = Sample::SCHEMA;
    assert!(schema.starts_with(r#"{"type":"object","properties":{"path":{"type":"string","description":"relative path"},"start_line":"#), "{schema}");
    assert!(schema.ends_with(r#""required":["path"]}"#), "{schema}");
    assert!(schema.contains(r#""count":{"type":"integer","description":"how many","default":20,"minimum":1,"maximum":50}"#), "{schema}");
}

#[test]
fn the_generated_schema_is_valid_json() {
    const FIELDS: &[Field] = &[
        Field::new("a", " say \"hi\" to \\ and\nécole ", Type::Object, true)
            .min(-10)
            .max(0),
        Field::new("b", "", Type::List(&Type::Whole), true)
            .min(i64::MIN)
            .max(i64::MAX),
        Field::new("c", "", Type::Choice(&["", "x"]), false).default("\"x\""),
        Field::new("d", "", Type::Number, false).default("5000.0"),
    ];
    const TEXT: [u8; schema::length(FIELDS)] = schema::text(FIELDS);
    let read: Value = serde_json::from_str(schema::checked(&TEXT)).unwrap();
    assert_eq!(
        read,
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "object", "description": "say \"hi\" to \\ and\nécole", "minimum": -10, "maximum": 0},
                "b": {"type": "array", "description": "", "items": {"type": "integer"}, "minimum": i64::MIN, "maximum": i64::MAX},
                "c": {"type": "string", "description": "", "enum": ["", "x"], "default": "x"},
                "d": {"type": "number", "description": "", "default": 5000.0},
            },
            "required": ["a", "b"],
        })
    );
    const NONE: [u8; schema::length(&[])] = schema::text(&[]);
    assert_eq!(
        schema::checked(&NONE),
        r#"{"type":"object","properties":{},"required":[]}"#
    );
}
