//! The Rust types that a parameter can have, and how each reads a value from a model.

use serde_json::{Map, Value};

use super::Type;

/// A type that a parameter can have.
pub(crate) trait Param: Sized {
    const TYPE: Type;
    /// False when absence has a meaning of its own.
    const REQUIRED: bool = true;
    /// Reads a value that is present and not null; `None` if it is not of the type.
    fn read(value: &Value) -> Option<Self>;
    /// The value of an absent parameter without a default.
    fn absent() -> Option<Self> {
        None
    }
}

impl Param for String {
    const TYPE: Type = Type::Text;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }
}

impl Param for bool {
    const TYPE: Type = Type::Flag;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => match number.as_f64() {
                Some(0.0) => Some(false),
                Some(1.0) => Some(true),
                _ => None,
            },
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(true),
                "false" | "no" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Param for f64 {
    const TYPE: Type = Type::Number;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
        .filter(|n: &Self| n.is_finite())
    }
}

impl Param for i64 {
    const TYPE: Type = Type::Whole;
    fn read(value: &Value) -> Option<Self> {
        if let Some(whole) = value.as_i64() {
            return Some(whole);
        }
        if let Some(whole) = value.as_str().and_then(|text| text.trim().parse().ok()) {
            return Some(whole);
        }
        // 5.0 and 1e3 are whole; beyond 2^53 an f64 cannot represent every integer.
        let number = f64::read(value)?;
        #[allow(clippy::cast_possible_truncation)]
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as Self)
    }
}

macro_rules! narrower {
    ($($ty:ty),*) => {$(
        impl Param for $ty {
            const TYPE: Type = Type::Whole;
            fn read(value: &Value) -> Option<Self> {
                i64::read(value).and_then(|n| n.try_into().ok())
            }
        }
    )*};
}
narrower!(u32, u64, usize, i32);

impl<T: Param> Param for Option<T> {
    const TYPE: Type = T::TYPE;
    const REQUIRED: bool = false;
    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Param> Param for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.iter().map(T::read).collect(),
            Value::String(text) if text.trim_start().starts_with('[') => {
                match serde_json::from_str(text) {
                    Ok(Value::Array(items)) => items.iter().map(T::read).collect(),
                    _ => T::read(value).map(|one| vec![one]),
                }
            }
            Value::Object(_) | Value::Null => None,
            one => T::read(one).map(|one| vec![one]),
        }
    }
}

impl Param for Map<String, Value> {
    const TYPE: Type = Type::Object;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(map.clone()),
            Value::String(text) => serde_json::from_str(text).ok(),
            _ => None,
        }
    }
}
