//! Schemas as models get them, bad ones, and the cases of the official test suite where it is at hand.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::schema::Schema;
use crate::base::testing::assert_has;
use crate::base::word_list::WordList;

fn schema(schema: &Value) -> Schema {
    Schema::parse(&schema.to_string()).unwrap()
}

/// The misfits, each as `PLACE: WORDS`.
fn misfits(own: &Value, value: &Value) -> Vec<String> {
    let misfits = schema(own).check(value);
    let line = |misfit: &super::check::Misfit| format!("{}: {}", misfit.place, misfit.words);
    misfits.iter().map(line).collect()
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let own = json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1, "uniqueItems": true},
            "kind": {"enum": ["a", "b"]},
            "note": {"type": ["string", "null"], "maxLength": 3, "pattern": "^x"},
            "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "multipleOf": 0.1},
            "version": {"const": 2},
        },
        "required": ["items", "kind"],
        "additionalProperties": false,
        "$defs": {"item": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    });
    for (value, expected) in [
        (
            json!({"items": [{"n": 1}, {"n": 2.0}], "kind": "a", "note": null, "share": 0.3, "version": 2.0}),
            &[][..],
        ),
        (
            json!({"items": [{"n": "1"}], "kind": "a"}),
            &["/items/0/n: expected integer, got string"],
        ),
        (
            json!({"items": [{}], "kind": "a"}),
            &["/items/0: the required property \"n\" is missing"],
        ),
        (
            json!({"items": [], "kind": "c"}),
            &[
                "/items: expected at least 1 item, got 0",
                "/kind: expected one of \"a\", \"b\", got \"c\"",
            ],
        ),
        (
            json!({"items": [{"n": 1}, {"n": 1.0}], "kind": "a"}),
            &["/items: expected items that differ, got an object twice"],
        ),
        (json!([]), &[": expected object, got array"]),
        (
            json!({"items": [{"n": 1}], "kind": "a", "note": "yyyy", "share": 0, "version": 1}),
            &[
                "/note: expected at most 3 characters, got 4",
                "/share: expected more than 0, got 0",
                "/version: expected 2, got 1",
            ],
        ),
        (
            json!({"items": [{"n": 1}], "kind": "a", "note": "yy", "share": 0.35, "a/b~c": 1}),
            &[
                "/note: expected text that matches ^x, got \"yy\"",
                "/share: expected a multiple of 0.1, got 0.35",
                "/a~1b~0c: there is no such property; known are \"items\", \"kind\", \"note\", \"share\", \"version\"",
            ],
        ),
    ] {
        assert_eq!(misfits(&own, &value), expected, "{value}");
    }
    let many = json!({"items": [{}, {"n": null}, {"n": []}, {"n": 1.5}, {"n": true}, {"n": {}}], "kind": "a"});
    assert_eq!(misfits(&own, &many).len(), 5);
}

#[test]
fn alternatives_tell_of_the_one_that_is_nearest() {
    let own = json!({"anyOf": [
        {"type": "null"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    ]});
    assert!(misfits(&own, &json!(null)).is_empty());
    assert_eq!(
        misfits(&own, &json!(1)),
        [": expected null or object, got integer"]
    );
    assert_eq!(
        misfits(&own, &json!({"a": 1})),
        ["/a: expected string, got integer (in the nearest of 2 alternatives of its whole)"]
    );
    assert_eq!(
        misfits(&own, &json!({})),
        [": fits none of 2 alternatives: the required property \"a\" is missing"]
    );
    let one = json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]});
    assert_eq!(
        misfits(&one, &json!(3)),
        [": expected to fit exactly one of the alternatives, fits several"]
    );
    assert_eq!(
        misfits(&json!({"not": {"type": "null"}}), &json!(null)),
        [": null is excluded by \"not\""]
    );
    assert_eq!(
        misfits(&json!(false), &json!(1)),
        [": no value is allowed here"]
    );
}

#[test]
fn references_reach_everything_in_the_document_and_nothing_else() {
    let tree = json!({
        "$id": "https://example.com/tree",
        "type": "object",
        "properties": {
            "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            "here": {"$ref": "#/properties/a%25~1b"},
            "named": {"$ref": "#name"},
            "whole": {"$ref": "https://example.com/tree#/$defs/n"},
            "a%/b": {"type": "integer"},
        },
        "$defs": {"n": {"$anchor": "name", "type": "string"}},
    });
    assert!(
        misfits(
            &tree,
            &json!({"next": {"next": null, "here": 1}, "named": "x"})
        )
        .is_empty()
    );
    assert_eq!(
        misfits(&tree, &json!({"here": "x"})),
        ["/here: expected integer, got string"]
    );
    assert_eq!(
        misfits(&tree, &json!({"whole": 1, "named": 2})),
        [
            "/whole: expected string, got integer",
            "/named: expected string, got integer",
        ]
    );
    assert_eq!(
        misfits(&tree, &json!({"next": {"next": {"here": "x"}}})).len(),
        1
    );
}

#[test]
fn a_schema_that_is_none_names_the_place() {
    let nested = |depth: usize| (0..depth).fold(json!(true), |inner, _| json!({"not": inner}));
    let chain: serde_json::Map<String, Value> = (0..100)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .chain([("d100".to_owned(), json!(true))])
        .collect();
    for (own, words) in [
        (json!(1), "at its top: a schema is an object, true or false"),
        (
            json!({"properties": {"a": {"type": "strnig"}}}),
            "at /properties/a/type: expected one of null",
        ),
        (json!({"items": [{}]}), "prefixItems"),
        (
            json!({"if": {}, "then": {}}),
            "at /if: this keyword restricts values and is not supported",
        ),
        (
            json!({"properties": {"a": {"unevaluatedProperties": false}}}),
            "at /properties/a/unevaluatedProperties",
        ),
        (json!({"dependentSchemas": {}}), "at /dependentSchemas"),
        (
            json!({"pattern": "a(?=b)"}),
            "at /pattern: the pattern cannot be used",
        ),
        (
            json!({"pattern": "(a{1000}){1000}"}),
            "at /pattern: the pattern cannot be used",
        ),
        (
            json!({"$ref": "https://example.com/other"}),
            "lies outside of the schema",
        ),
        (
            json!({"$ref": "other.json#/a"}),
            "lies outside of the schema",
        ),
        (
            json!({"$ref": "#/$defs/a"}),
            "at /$ref: there is nothing at \"#/$defs/a\"",
        ),
        (json!({"$ref": "#nothing"}), "there is nothing"),
        (json!({"$ref": "#"}), "the references lead in a circle"),
        (
            json!({"allOf": [{"anyOf": [{"not": {"$ref": "#"}}]}]}),
            "the references lead in a circle",
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            "the references lead in a circle",
        ),
        (
            json!({"$ref": "#/$defs/d0", "$defs": chain}),
            "more than 64 references in a row",
        ),
        (nested(64), "nested more than 64 deep"),
        (
            json!({"multipleOf": 0}),
            "at /multipleOf: expected a number above 0",
        ),
        (
            json!({"minLength": -1}),
            "at /minLength: expected a whole number",
        ),
        (
            json!({"$schema": "https://example.com/own"}),
            "at /$schema: only the drafts of json-schema.org",
        ),
        (
            json!({"required": [1]}),
            "at /required: expected a list of names",
        ),
        (
            json!({"properties": {"a": {"$id": "x"}}}),
            "at /properties/a/$id",
        ),
        (
            json!({"a": 1, "anyOf": []}),
            "at /anyOf: expected a list of schemas",
        ),
    ] {
        let problem = Schema::parse(&own.to_string()).unwrap_err().one_line();
        assert!(problem.contains(words), "{words}: {problem}");
    }
    assert_has(&Schema::parse("{").unwrap_err().one_line(), &["not JSON"]);
    let large = json!({"description": "x".repeat(300 * 1024)}).to_string();
    assert_has(&Schema::parse(&large).unwrap_err().one_line(), &["256 KiB"]);
    // Annotations and unknown words are no fault.
    assert!(
        Schema::parse(
            &json!({"format": "date", "title": "x", "x-own": 1, "nullable": true}).to_string()
        )
        .is_ok()
    );
    assert!(schema(&json!({"type": "object"})).is_about_objects());
    assert!(!schema(&json!({"type": ["object", "null"]})).is_about_objects());
}

#[test]
fn a_few_references_do_not_take_exponential_time() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let mut defs: serde_json::Map<String, Value> = (0..30)
            .map(|i| {
                let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
                (format!("d{i}"), json!({keyword: [next, next]}))
            })
            .collect();
        defs.insert("d30".to_owned(), json!({"type": "string"}));
        let own = schema(&json!({"$ref": "#/$defs/d0", "$defs": defs}));
        assert!(!own.check(&json!(1)).is_empty(), "{keyword}");
    }
    // More than anybody waits for is an answer too.
    let values: Vec<usize> = (0..20_000).collect();
    let own = schema(&json!({"items": {"enum": values}}));
    let misfits = own.check(&Value::from(vec![-1; 5_000]));
    assert_eq!(misfits.len(), 5);
    let own = schema(&json!({"items": {"allOf": [{"enum": values}, {"enum": values}]}}));
    let misfits = own.check(&Value::from(vec![19_999; 5_000]));
    assert!(misfits[0].words.contains("too large"), "{misfits:?}");
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert!(
        schema(&json!({"items": {"$ref": "#"}}))
            .check(&deep)
            .is_empty()
    );
}

/// The folder with the tests of a draft in a checkout of JSON-Schema-Test-Suite.
fn official_tests() -> Option<PathBuf> {
    let folder = std::env::var_os("JSON_SCHEMA_TEST_SUITE");
    if folder.is_none() {
        eprintln!("SKIPPED: JSON_SCHEMA_TEST_SUITE names no folder with the official tests");
    }
    folder.map(|folder| Path::new(&folder).join("tests/draft2020-12"))
}

/// Every case of the official suite is decided as it says, or its schema is refused.
#[test]
fn the_official_cases_are_decided_alike() {
    let Some(folder) = official_tests() else {
        return;
    };
    // Files about keywords that are supported: there, only what the list names may be refused.
    let supported = WordList(
        "additionalProperties allOf anyOf boolean_schema const content default defs enum \
        exclusiveMaximum exclusiveMinimum format infinite-loop-detection items maxItems \
        maxLength maxProperties maximum minItems minLength minProperties minimum multipleOf not \
        oneOf pattern prefixItems properties ref required type uniqueItems anchor unknownKeyword",
    );
    let (mut decided, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut refusals = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    assert!(files.len() > 20);
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let groups: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for group in groups {
            let tests = group["tests"].as_array().unwrap();
            let own = match Schema::parse(&group["schema"].to_string()) {
                Ok(own) => own,
                Err(problem) => {
                    refused += tests.len();
                    if supported.has(&name) {
                        refusals.push(format!(
                            "{name}: {}: {}",
                            group["description"],
                            problem.one_line()
                        ));
                    }
                    continue;
                }
            };
            for test in tests {
                decided += 1;
                let misfits = own.check(&test["data"]);
                if misfits.is_empty() != test["valid"].as_bool().unwrap() {
                    wrong.push(format!(
                        "{name}: {}: {}: {misfits:?}",
                        group["description"], test["description"]
                    ));
                }
            }
        }
    }
    eprintln!(
        "{decided} cases decided, {refused} refused; of supported files:\n{}",
        refusals.join("\n")
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided > 500);
}

/// Any JSON, with the words of schemas among its names.
fn any_json() -> impl Strategy<Value = Value> {
    let words: Vec<&str> =
        "type properties required additionalProperties items prefixItems enum const anyOf oneOf \
        allOf not minLength maxItems minimum multipleOf pattern $ref $defs $anchor uniqueItems a \
        b"
        .split_ascii_whitespace()
        .collect();
    let texts = [
        "string",
        "integer",
        "object",
        "array",
        "#",
        "#/$defs/a",
        "#/properties/a",
        "#a",
        "a",
        "^a",
        "",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..30).prop_map(Value::from),
        (-1_000_i32..1_000).prop_map(|number| Value::from(f64::from(number) / 8.0)),
        proptest::sample::select(texts.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        let members = (proptest::sample::select(words.to_vec()), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..5).prop_map(Value::from),
            proptest::collection::vec(members, 0..5).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_value_make_it_fall_over(own in any_json(), value in any_json()) {
        if let Ok(own) = Schema::parse(&own.to_string()) {
            for misfit in own.check(&value) {
                prop_assert!(value.pointer(&misfit.place).is_some());
            }
            prop_assert!(own.check(&value).len() <= 5);
        }
    }

    #[test]
    fn a_value_fits_itself_as_constant_and_enum(value in any_json()) {
        prop_assume!(value.to_string().len() < 10_000);
        prop_assert_eq!(misfits(&json!({"const": value}), &value), Vec::<String>::new());
        prop_assert_eq!(misfits(&json!({"enum": [0, value]}), &value), Vec::<String>::new());
    }

    #[test]
    fn not_turns_every_verdict_round(own in any_json(), value in any_json()) {
        if let Ok(schema) = Schema::parse(&own.to_string()) && let Ok(not) = Schema::parse(&json!({"not": own}).to_string()) && !own.to_string().contains('#') {
            prop_assert_ne!(schema.check(&value).is_empty(), not.check(&value).is_empty());
        }
    }
}
