//! Lookups in JSON from other programs, where any value may be missing, null, empty or of another type.

use serde_json::Value;

/// Sets a field of an object; of anything else nothing.
pub(crate) fn put(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value.into());
    }
}

/// Access by path. A path is keys and indices separated by slashes: `current/temperature_2m`, `routes/0/legs`.
pub(crate) trait JsonExt {
    /// The value at the path; `None` if missing or null.
    fn at(&self, path: &str) -> Option<&Value>;

    /// A non-empty text, trimmed.
    fn text(&self, path: &str) -> Option<&str> {
        let text = self.at(path)?.as_str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// A text, or a number as text: ids come as either.
    fn word(&self, path: &str) -> Option<String> {
        match self.at(path)? {
            Value::Number(number) => Some(number.to_string()),
            _ => self.text(path).map(str::to_owned),
        }
    }

    /// A finite number, or one written as text.
    fn number(&self, path: &str) -> Option<f64> {
        let number = match self.at(path)? {
            Value::String(text) => text.trim().parse().ok()?,
            value => value.as_f64()?,
        };
        number.is_finite().then_some(number)
    }

    /// A whole number, also one written as text or with a fraction of zero.
    fn whole(&self, path: &str) -> Option<i64> {
        let value = self.at(path)?;
        #[allow(clippy::cast_possible_truncation)]
        let round =
            |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
        match value {
            Value::String(text) => text.trim().parse().ok(),
            _ => value.as_i64().or_else(|| round(value.as_f64()?)),
        }
    }

    /// True only for `true`.
    fn flag(&self, path: &str) -> bool {
        self.at(path).and_then(Value::as_bool) == Some(true)
    }

    /// The items of a list; a missing list is an empty one.
    fn list(&self, path: &str) -> &[Value] {
        self.at(path)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// The non-empty texts in a list.
    fn texts(&self, path: &str) -> Vec<&str> {
        let words = self.list(path).iter().filter_map(Value::as_str);
        words
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect()
    }
}

impl JsonExt for Value {
    fn at(&self, path: &str) -> Option<&Value> {
        let steps = path.split('/').filter(|step| !step.is_empty());
        let found = steps
            .into_iter()
            .try_fold(self, |value, step| match value {
                Value::Object(map) => map.get(step),
                Value::Array(list) => list.get(step.parse::<usize>().ok()?),
                _ => None,
            })?;
        (!found.is_null()).then_some(found)
    }
}

/// A number, also when written as a string.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
    .filter(|number: &f64| number.is_finite())
}

/// A count; other programs may have written 5.0 or "5" for 5.
pub(crate) fn count(value: &Value) -> Option<u64> {
    // `as` saturates.
    value.as_u64().or_else(|| number(value).map(|n| n as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_and_invalid_values_are_none() {
        let value = json!({"a": {"b": [1, "2", " x ", "", null, 3.0, 1.5]}, "t": true, "n": "nan"});
        assert_eq!(value.number("a/b/0"), Some(1.0));
        assert_eq!(value.number("a/b/1"), Some(2.0));
        assert_eq!(value.text("a/b/2"), Some("x"));
        assert_eq!((value.text("a/b/3"), value.at("a/b/4")), (None, None));
        assert_eq!(
            (value.whole("a/b/5"), value.whole("a/b/6")),
            (Some(3), None)
        );
        assert_eq!(
            (value.number("n"), value.number("a"), value.at("x/y")),
            (None, None, None)
        );
        assert_eq!(value.word("a/b/0").as_deref(), Some("1"));
        assert_eq!((value.list("a/b").len(), value.list("c").len()), (7, 0));
        assert_eq!(value.texts("a/b"), ["2", "x"]);
        assert!(value.flag("t") && !value.flag("n"));
        assert_eq!(value.at(""), Some(&value));
    }
}
