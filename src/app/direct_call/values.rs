//! Turns `key=value` words into a JSON object of arguments, using the types of the parameters.

use serde_json::{Map, Value};

use crate::base::params::Type;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::tools::engine::parameter::Parameter;

/// Parses `key=value` words. Lists are separated by commas or repeat the key; `key=` is the empty string.
///
/// # Errors
/// An unknown parameter, a word that is not a pair, or `json` that is not an object.
pub(crate) fn object(
    parameters: &[Parameter],
    words: &[String],
    json: Option<&str>,
) -> Outcome<Map<String, Value>> {
    let mut map = match json {
        Some(json) => serde_json::from_str(json).map_err(|error| {
            Problem::input(format!("--json is not a JSON object: {error}."))
                .next("For example: --json '{\"path\": \"src\"}'")
        })?,
        None => Map::new(),
    };
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            Problem::input(format!(
                "\"{}\" is not of the form key=value.",
                text::escape_controls(&text::clip(word, 60))
            ))
        })?;
        let parameter = parameters
            .iter()
            .find(|parameter| parameter.is_called(key))
            .ok_or_else(|| unknown(parameters, key))?;
        let value = convert(parameter.kind, value);
        match (map.get_mut(&*parameter.name), value) {
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (_, value) => {
                map.insert(parameter.name.clone().into_owned(), value);
            }
        }
    }
    Ok(map)
}

fn unknown(parameters: &[Parameter], key: &str) -> Problem {
    let problem = Problem::input(format!(
        "There is no parameter \"{}\".",
        text::escape_controls(&text::clip(key, 40))
    ));
    let names: Vec<&str> = parameters.iter().map(|one| &*one.name).collect();
    let all = format!("Parameters: {}.", names.join(", "));
    problem.near_or(key, names, all)
}

/// Converts `value` to `kind`. An invalid value stays a string, and the tool's own decoder reports it.
fn convert(kind: Type, value: &str) -> Value {
    match kind {
        Type::Text | Type::Choice(_) => Value::from(value),
        Type::List(_) if value.trim_start().starts_with('[') => {
            serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
        }
        Type::List(of) => value
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| convert(*of, item))
            .collect(),
        Type::Whole | Type::Number | Type::Flag | Type::Object => {
            serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::params::Field;
    use crate::base::testing::assert_has;
    use serde_json::json;

    #[test]
    fn words_become_typed_values() {
        const FIELDS: &[Field] = &[
            Field::new("path", "p", Type::Text, true),
            Field::new("count", "c", Type::Whole, false),
            Field::new("tags", "t", Type::List(&Type::Text), false),
        ];
        let read = |words: &[&str], json| {
            let parameters: Vec<Parameter> = FIELDS.iter().map(Parameter::from).collect();
            object(
                &parameters,
                &words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(),
                json,
            )
            .map(Value::Object)
        };
        assert_eq!(
            read(&["path=5", "count=5", "tags=a,b", "tags=c"], None).unwrap(),
            json!({"path": "5", "count": 5, "tags": ["a", "b", "c"]})
        );
        assert_eq!(
            read(&["path="], Some("{\"count\": 1}")).unwrap(),
            json!({"count": 1, "path": ""})
        );
        assert_has(
            &read(&["pth=a"], None).unwrap_err().one_line(),
            &["\"path\""],
        );
        assert_has(
            &read(&["path"], None).unwrap_err().one_line(),
            &["key=value"],
        );
    }
}
