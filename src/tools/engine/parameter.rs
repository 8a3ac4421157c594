//! Parameters of a tool of either kind, as interfaces show and fill them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::base::params::{Field, Type};

/// One parameter: declared in a table, or read from a JSON Schema.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub name: Cow<'static, str>,
    /// Other accepted spellings.
    pub aliases: &'static [&'static str],
    pub about: Cow<'static, str>,
    /// JSON type; for a foreign schema the nearest one.
    pub kind: Type,
    /// Description of the type.
    pub wanted: String,
    pub required: bool,
    /// The default, as JSON.
    pub default: Option<String>,
    pub min: Option<i64>,
    pub max: Option<i64>,
}

impl From<&Field> for Parameter {
    fn from(field: &Field) -> Self {
        Self {
            name: field.name.into(),
            aliases: field.aliases,
            about: field.doc().into(),
            kind: field.kind,
            wanted: field.kind.wanted(),
            required: field.required,
            default: field.default.map(str::to_owned),
            min: field.min,
            max: field.max,
        }
    }
}

impl Parameter {
    /// True when `key` is its name or an alias.
    pub(crate) fn is_called(&self, key: &str) -> bool {
        self.name == key || self.aliases.contains(&key)
    }

    fn sample(&self) -> Value {
        match self.kind {
            Type::Text | Type::Choice(_) | Type::Object => Value::from("…"),
            Type::Whole | Type::Number => Value::from(self.min.unwrap_or(1)),
            Type::Flag => Value::from(true),
            Type::List(_) => Value::from(vec!["…"]),
        }
    }
}

/// Reads the properties of a JSON Schema. Anyone may have written it, so missing or invalid parts are skipped.
pub(super) fn of_schema(schema: &str) -> Vec<Parameter> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|own| own.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, property)| {
            let number = |key| property.get(key).and_then(Value::as_i64);
            let about = property.get("description").and_then(Value::as_str);
            let kind = kind(property);
            Parameter {
                name: name.clone().into(),
                aliases: &[],
                about: about.unwrap_or_default().to_owned().into(),
                kind,
                wanted: choice(property).unwrap_or_else(|| kind.wanted()),
                required: is_required(name),
                default: property.get("default").map(Value::to_string),
                min: number("minimum"),
                max: number("maximum"),
            }
        })
        .collect()
}

/// The nearest type; a choice of several counts as text.
fn kind(property: &Value) -> Type {
    match property.get("type").and_then(Value::as_str) {
        Some("integer") => Type::Whole,
        Some("number") => Type::Number,
        Some("boolean") => Type::Flag,
        Some("object") => Type::Object,
        Some("array") => match property.get("items").map(kind) {
            Some(Type::Whole) => Type::List(&Type::Whole),
            Some(Type::Number) => Type::List(&Type::Number),
            Some(Type::Flag) => Type::List(&Type::Flag),
            Some(Type::Object) => Type::List(&Type::Object),
            _ => Type::List(&Type::Text),
        },
        _ => Type::Text,
    }
}

fn choice(property: &Value) -> Option<String> {
    let words = property.get("enum")?.as_array()?;
    let words: Vec<String> = words.iter().map(Value::to_string).collect();
    Some(format!("one of {}", words.join(", ")))
}

/// An example call with every required parameter.
pub(super) fn example_call(parameters: &[Parameter]) -> String {
    let required = parameters.iter().filter(|one| one.required);
    let map: Map<String, Value> = required
        .map(|one| (one.name.clone().into_owned(), one.sample()))
        .collect();
    Value::Object(map).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_schema_becomes_parameters_as_far_as_it_is_one() {
        let schema = r#"{"properties": {
            "level": {"type": "integer", "description": "how bright", "minimum": 0, "maximum": 9, "default": 5},
            "rooms": {"type": "array", "items": {"type": "integer"}},
            "mode": {"enum": ["day", "night"]},
            "odd": 3
        }, "required": ["mode", 7]}"#;
        let found = of_schema(schema);
        let named = |name: &str| found.iter().find(|one| one.name == name).unwrap();
        let level = named("level");
        assert_eq!(
            (level.kind, level.min, level.max, level.default.as_deref()),
            (Type::Whole, Some(0), Some(9), Some("5"))
        );
        assert!(level.about == "how bright" && !level.required);
        assert_eq!(named("rooms").kind, Type::List(&Type::Whole));
        assert_eq!(named("mode").wanted, r#"one of "day", "night""#);
        assert!(named("mode").required);
        assert_eq!(named("odd").kind, Type::Text);
        assert_eq!(example_call(&found), r#"{"mode":"…"}"#);
        for broken in ["", "[]", "{\"properties\": 3}", "\u{1b}"] {
            assert!(of_schema(broken).is_empty(), "{broken}");
        }
    }
}
