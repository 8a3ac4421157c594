//! The parameters of the tool that takes an answer: an object, whatever the schema of the answer is.

use serde_json::{Map, Value, json};

/// Members of the tool's arguments, where the schema is that of no object.
pub(super) const WRAPPED: &str = "value";

/// Keywords of the whole document: references lead to them from its top.
const OF_DOCUMENT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];
/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords whose members have names of their own.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];

/// The schema of an object with one member that fits `schema`, with references that lead where they did.
pub(super) fn wrapped(schema: &Value) -> Value {
    let mut inner = schema.clone();
    move_references(&mut inner);
    let mut outer = Map::new();
    if let Value::Object(inner) = &mut inner {
        for key in OF_DOCUMENT {
            if let Some(value) = inner.shift_remove(key) {
                outer.insert(key.to_owned(), value);
            }
        }
    }
    outer.insert("type".to_owned(), json!("object"));
    outer.insert("properties".to_owned(), json!({ WRAPPED: inner }));
    outer.insert("required".to_owned(), json!([WRAPPED]));
    Value::Object(outer)
}

fn move_references(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(move_references),
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    _ if DATA.contains(&key.as_str()) => {}
                    Value::String(reference) if key == "$ref" => *reference = moved(reference),
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values_mut().for_each(move_references);
                    }
                    value => move_references(value),
                }
            }
        }
        _ => {}
    }
}

/// Where a reference leads once the schema is that of a member.
fn moved(reference: &str) -> String {
    let stays = |path: &str| {
        let first = path
            .split('/')
            .nth(1)
            .unwrap_or_default()
            .replace("%24", "$");
        OF_DOCUMENT.contains(&first.as_str())
    };
    match reference.strip_prefix('#') {
        Some(path) if (path.is_empty() || path.starts_with('/')) && !stays(path) => {
            format!("#/properties/{WRAPPED}{path}")
        }
        _ => reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::json_schema::schema::Schema;

    #[test]
    fn references_lead_where_they_did() {
        let item =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let named = |top: Value| {
            let mut whole = json!({"$defs": {"I": item}});
            whole
                .as_object_mut()
                .unwrap()
                .extend(top.as_object().unwrap().clone());
            whole
        };
        for (schema, fits, misfits) in [
            (
                named(json!({"type": "array", "items": {"$ref": "#/$defs/I"}})),
                json!([{"n": 1}]),
                json!([{"n": "1"}]),
            ),
            (
                named(json!({"$ref": "#/$defs/I"})),
                json!({"n": 1}),
                json!({}),
            ),
            (
                json!({"$ref": "#/definitions/I", "definitions": {"I": item}}),
                json!({"n": 1}),
                json!(1),
            ),
            (
                json!({"type": "array", "items": {"$ref": "#"}}),
                json!([[], [[]]]),
                json!([[1]]),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"$ref": "#/prefixItems/0"}}),
                json!([1, 2]),
                json!([1, "2"]),
            ),
            (
                json!({"type": "array", "items": {"type": "object", "properties": {"$ref": {"type": "string"}, "enum": {"$ref": "#"}}, "const": {"$ref": "#", "enum": []}}}),
                json!([{"$ref": "#", "enum": []}]),
                json!([{"$ref": "#/x", "enum": []}]),
            ),
        ] {
            let whole = wrapped(&schema);
            let checked = Schema::parse(&whole.to_string())
                .unwrap_or_else(|error| panic!("{whole}: {error:?}"));
            let is_fit = |value: &Value| checked.check(&json!({ WRAPPED: value })).is_empty();
            assert!(is_fit(&fits) && !is_fit(&misfits), "{whole}");
        }
    }
}
