//! The schema of a tool's parameters as models are offered it: an object without references, of a bearable size, whatever the server sent.

use serde_json::{Map, Value, json};

use super::text::{clean, clipped};
use crate::formats::address;

/// References written out within one another.
const MAX_REFERENCES: usize = 5;
/// Bytes of one that is written out.
const MAX_WRITTEN_OUT: usize = 32 << 10;
/// Schemas in a schema, and their depth: a larger one says only that there are parameters.
const MAX_SCHEMAS: usize = 500;
const MAX_DEPTH: usize = 20;

/// Characters of a description.
const MAX_DESCRIPTION: usize = 1_024;

/// Members whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 15] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "additionalItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "anyOf",
    "oneOf",
    "allOf",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Members whose value is an object of schemas.
const MAPS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Members that name properties, or are patterns: they mean something to the server as they are.
const AS_THEY_ARE: [&str; 4] = ["required", "dependentRequired", "pattern", "$anchor"];
/// Members that nothing refers to any more.
const DEFINITIONS: [&str; 4] = ["$defs", "definitions", "$schema", "$id"];

/// Prepares a schema. What is none becomes an object of which nothing is known.
pub(super) fn prepared(schema: &Value) -> Value {
    let mut preparation = Preparation {
        whole: schema,
        schemas: 0,
        open: Vec::new(),
        is_too_large: false,
    };
    let prepared = preparation.schema(schema, 0);
    match prepared {
        Value::Object(object) if !preparation.is_too_large => Value::Object(as_object(object)),
        _ => json!({"type": "object"}),
    }
}

struct Preparation<'a> {
    whole: &'a Value,
    schemas: usize,
    /// The references that are being written out.
    open: Vec<String>,
    is_too_large: bool,
}

impl Preparation<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        self.schemas += 1;
        self.is_too_large |= self.schemas > MAX_SCHEMAS || depth > MAX_DEPTH;
        let Value::Object(object) = schema else {
            // true and false are schemas too.
            return schema.clone();
        };
        if self.is_too_large {
            return Value::Object(Map::new());
        }
        if let Some(Value::String(reference)) = object.get("$ref") {
            return self.written_out(object, reference, depth);
        }
        let mut prepared = Map::new();
        for (key, value) in object {
            let value = match value {
                _ if DEFINITIONS.contains(&key.as_str()) => continue,
                Value::Array(items) if SCHEMAS.contains(&key.as_str()) => items
                    .iter()
                    .map(|item| self.schema(item, depth + 1))
                    .collect(),
                value if SCHEMAS.contains(&key.as_str()) => self.schema(value, depth + 1),
                Value::Object(map) if MAPS.contains(&key.as_str()) => {
                    let map = map.iter();
                    map.map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)))
                        .collect()
                }
                value => member(key, value),
            };
            prepared.insert(key.clone(), value);
        }
        Value::Object(prepared)
    }

    /// What a reference means, with what stands beside it; anything goes where that is nothing of this document, a loop, or too much.
    fn written_out(&mut self, beside: &Map<String, Value>, reference: &str, depth: usize) -> Value {
        let is_loop = self.open.iter().any(|open| open == reference);
        let target = match is_loop || self.open.len() >= MAX_REFERENCES {
            true => None,
            false => target(self.whole, reference),
        };
        let mut written = Map::new();
        if let Some(target) = target {
            self.open.push(reference.to_owned());
            let schema = self.schema(target, depth + 1);
            self.open.pop();
            match schema {
                Value::Object(object) if size(&object) <= MAX_WRITTEN_OUT => written = object,
                _ => {}
            }
        }
        let said = beside.iter();
        let said = said.filter(|(key, _)| matches!(key.as_str(), "description" | "default"));
        written.extend(said.map(|(key, value)| (key.clone(), member(key, value))));
        Value::Object(written)
    }
}

/// The place of this document that a reference names.
fn target<'a>(whole: &'a Value, reference: &str) -> Option<&'a Value> {
    match reference.strip_prefix('#')? {
        "" => Some(whole),
        // A fragment of a URI has its characters percent-encoded (RFC 6901 section 6), which not everybody does.
        pointer => {
            (whole.pointer(pointer)).or_else(|| whole.pointer(&address::decoded_whole(pointer)?))
        }
    }
}

/// A member that is no schema: its texts without what cannot be seen.
fn member(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if key == "description" => Value::from(clipped(text, MAX_DESCRIPTION)),
        value if AS_THEY_ARE.contains(&key) => value.clone(),
        value => cleaned(value),
    }
}

fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(clean(text)),
        Value::Array(items) => items.iter().map(cleaned).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| (key.clone(), cleaned(value)))
                .collect()
        }
        other => other.clone(),
    }
}

fn size(object: &Map<String, Value>) -> usize {
    serde_json::to_string(object).map_or(usize::MAX, |text| text.len())
}

/// A schema whose top is an object: alternatives there are merged, since providers take none.
fn as_object(mut schema: Map<String, Value>) -> Map<String, Value> {
    let mut required_by_all: Option<Vec<Value>> = None;
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(parts)) = schema.shift_remove(key) else {
            continue;
        };
        for part in parts.iter().filter_map(Value::as_object) {
            let required = list(part.get("required"));
            required_by_all = Some(match (required_by_all.take(), key) {
                (None, _) => required,
                (Some(mut all), "allOf") => {
                    all.extend(required);
                    all
                }
                (Some(all), _) => all
                    .into_iter()
                    .filter(|one| required.contains(one))
                    .collect(),
            });
            let Some(Value::Object(properties)) = part.get("properties") else {
                continue;
            };
            let own = schema
                .entry("properties")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(own) = own {
                for (name, property) in properties {
                    own.entry(name.as_str()).or_insert_with(|| property.clone());
                }
            }
        }
    }
    if let Some(more) = required_by_all {
        let mut required = list(schema.get("required"));
        required.extend(more);
        let mut all: Vec<Value> = Vec::new();
        for name in required {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        schema.insert("required".to_owned(), Value::Array(all));
    }
    schema.insert("type".to_owned(), Value::from("object"));
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), Value::Object(Map::new()));
    }
    if !schema.get("required").is_none_or(Value::is_array) {
        schema.shift_remove("required");
    }
    schema
}

fn list(value: Option<&Value>) -> Vec<Value> {
    let list = value.and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_written_out_and_loops_end() {
        let schema = json!({
            "$schema": "x", "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/name", "description": "The a."},
                "tree": {"$ref": "#/$defs/node"},
                "far": {"$ref": "https://example.com/schema", "description": "Far."},
                "none": {"$ref": "#/$defs/missing"},
                "plain": {"enum": [{"$ref": "#/$defs/name"}]},
            },
            "required": ["a"],
            "$defs": {"name": {"type": "string"}, "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        });
        assert_eq!(
            prepared(&schema),
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "The a."},
                    "tree": {"type": "object", "properties": {"next": {}}},
                    "far": {"description": "Far."},
                    "none": {},
                    "plain": {"enum": [{"$ref": "#/$defs/name"}]},
                },
                "required": ["a"],
            })
        );
        let itself = json!({"$ref": "#"});
        assert_eq!(
            prepared(&itself),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn texts_are_cleaned_and_cut_and_an_encoded_reference_is_followed() {
        let hidden = "hid\u{e0049}\u{202e}\u{200b}\u{1b}[31mden ";
        let schema = json!({
            "title": hidden,
            "properties": {
                "b": {"type": "string", "description": format!("{hidden}{}", "x".repeat(5_000)), "pattern": "^\u{200b}?$"},
                "c": {"enum": ["u\u{202e}v", 3], "default": {"d": "\u{200b}"}},
                "a": {"$ref": "#/definitions/Rec%3Cstring%2Cany%3E", "description": hidden},
                "p": {"$ref": "#/definitions/100%25"},
                "q": {"$ref": "#/definitions/100%"},
            },
            "required": ["b\u{200b}"],
            "definitions": {"Rec<string,any>": {"properties": {"z": {"type": "integer"}}}, "100%": {"const": 1}},
        });
        let prepared = prepared(&schema);
        let about = prepared["properties"]["b"]["description"].as_str().unwrap();
        assert!(about.starts_with("hidden xxx") && about.ends_with("x…"));
        assert_eq!(about.chars().count(), MAX_DESCRIPTION + 1);
        let of = |name: &str| prepared["properties"][name].clone();
        assert_eq!(prepared["title"], "hidden ");
        assert_eq!(of("b")["pattern"], "^\u{200b}?$");
        assert_eq!(of("c"), json!({"enum": ["uv", 3], "default": {"d": ""}}));
        assert_eq!(
            of("a"),
            json!({"properties": {"z": {"type": "integer"}}, "description": "hidden"})
        );
        assert_eq!(
            (of("p"), of("q")),
            (json!({"const": 1}), json!({"const": 1}))
        );
        assert_eq!(prepared["required"], json!(["b\u{200b}"]));
    }

    #[test]
    fn what_is_no_object_or_too_large_says_only_that_there_are_parameters() {
        let mut deep = json!({});
        for _ in 0..40 {
            deep = json!({"type": "array", "items": deep});
        }
        let wide: Map<String, Value> = (0..600).map(|n| (n.to_string(), json!({}))).collect();
        for schema in [
            json!(null),
            json!([1]),
            json!("object"),
            json!({"properties": {"a": deep}}),
            json!({ "properties": wide }),
        ] {
            assert_eq!(prepared(&schema), json!({"type": "object"}), "{schema}");
        }
        // References that double with each step.
        let mut defs = Map::new();
        for n in 0..30 {
            let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
            defs.insert(n.to_string(), json!({"properties": {"a": next, "b": next}}));
        }
        let bomb = json!({"properties": {"x": {"$ref": "#/$defs/0"}}, "$defs": defs});
        assert!(prepared(&bomb).to_string().len() < 40_000);
    }

    #[test]
    fn alternatives_at_the_top_are_merged() {
        let one = json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
        let other = json!({"properties": {"a": {}, "c": {}}, "required": ["a"]});
        let merged = prepared(&json!({"anyOf": [one, other], "required": 7}));
        assert_eq!(
            merged,
            json!({"required": ["a"], "properties": {"a": {}, "b": {}, "c": {}}, "type": "object"})
        );
        let all = prepared(&json!({"allOf": [one, other], "type": "null", "properties": 3}));
        assert_eq!(all["required"], json!(["a", "b"]));
        assert_eq!(all["type"], "object");
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!({"$ref": "#"})),
            Just(json!({"$ref": "#/properties/a"})),
            Just(json!({"type": 3})),
            Just(json!(true)),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({ "anyOf": all })),
                inner.clone().prop_map(|one| json!({"items": one})),
                (inner.clone(), inner)
                    .prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}, "required": ["a"]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_is_an_object_without_references(schema in any_schema()) {
            let prepared = prepared(&schema);
            prop_assert_eq!(&prepared["type"], "object");
            prop_assert!(!prepared.to_string().contains("$ref"));
        }
    }
}
