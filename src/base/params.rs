//! Parameters declared once: the `params!` macro turns one block of text into a struct, its JSON Schema, its help and its decoder.
//!
//! Models are sloppy callers, so decoding is lenient where no meaning is lost: a number written as text, `"true"`, null for
//! absent, one value where a list is wanted, `startLine` for `start_line`, a number outside its range. What remains wrong is
//! reported all at once, with an example of a right call.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::error::Problem;
use super::text;

/// The JSON type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// A whole number.
    Whole,
    /// Any finite number.
    Number,
    /// True or false.
    Flag,
    /// A list of one of the other types.
    List(&'static Type),
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// An object of any shape.
    Object,
}

impl Type {
    /// The type's name in JSON Schema.
    pub fn schema_name(self) -> &'static str {
        match self {
            Self::Text | Self::Choice(_) => "string",
            Self::Whole => "integer",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::List(_) => "array",
            Self::Object => "object",
        }
    }

    /// What a person or a model is told to give.
    pub fn wanted(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::List(of) => format!("a list, each item {}", of.wanted()),
            Self::Choice(words) => {
                let shown = |word: &&'static str| if word.is_empty() { "\"\"" } else { *word };
                let words: Vec<&str> = words.iter().map(shown).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Object => "an object".to_owned(),
        }
    }
}

/// One declared parameter.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name as published.
    pub name: &'static str,
    doc: &'static str,
    /// JSON type.
    pub kind: Type,
    /// Must be given.
    pub required: bool,
    /// Value taken when absent.
    pub default: Option<fn() -> Value>,
    /// Smallest number; smaller ones are raised to it.
    pub min: Option<i64>,
    /// Largest number; larger ones are lowered to it.
    pub max: Option<i64>,
    /// Other spellings that are accepted and never published.
    pub aliases: &'static [&'static str],
    /// A plausible value, shown in the example of a right call.
    pub example: Option<&'static str>,
}

impl Field {
    /// A field as the macro starts it; the methods below refine it.
    pub const fn new(name: &'static str, doc: &'static str, kind: Type, required: bool) -> Self {
        Self {
            name,
            doc,
            kind,
            required,
            default: None,
            min: None,
            max: None,
            aliases: &[],
            example: None,
        }
    }

    /// Takes `value` when the caller gives none; the field is then optional.
    #[must_use]
    pub const fn default(mut self, value: fn() -> Value) -> Self {
        self.default = Some(value);
        self.required = false;
        self
    }

    /// Publishes the field under another name than the struct's (for Rust keywords).
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Smallest number.
    #[must_use]
    pub const fn min(mut self, min: i64) -> Self {
        self.min = Some(min);
        self
    }

    /// Largest number.
    #[must_use]
    pub const fn max(mut self, max: i64) -> Self {
        self.max = Some(max);
        self
    }

    /// Other accepted spellings.
    #[must_use]
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// A plausible value for the example of a right call.
    #[must_use]
    pub const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// What the field means, one sentence.
    pub fn doc(&self) -> &'static str {
        self.doc.trim()
    }

    fn answers_to(&self, key: &str) -> bool {
        let plain = |s: &str| {
            s.chars()
                .filter(|c| *c != '_' && *c != '-')
                .flat_map(char::to_lowercase)
                .collect::<String>()
        };
        self.name == key || self.aliases.contains(&key) || plain(self.name) == plain(key)
    }

    /// A value of the right type for the example of a right call.
    fn sample(&self) -> Value {
        match (self.example, self.kind) {
            (Some(text), Type::Text | Type::Choice(_)) => Value::from(text),
            (Some(text), _) => serde_json::from_str(text).unwrap_or(Value::Null),
            (None, Type::Text | Type::Object) => Value::from("…"),
            (None, Type::Whole | Type::Number) => Value::from(self.min.unwrap_or(1)),
            (None, Type::Flag) => Value::from(true),
            (None, Type::List(_)) => Value::from(vec!["…"]),
            (None, Type::Choice(words)) => words.first().copied().map_or(Value::Null, Value::from),
        }
    }
}

/// Serialises fields as the JSON Schema of an object, properties in declared order.
#[derive(Debug, Clone, Copy)]
pub struct Schema(pub &'static [Field]);

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        struct Properties(&'static [Field]);
        impl Serialize for Properties {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_map(self.0.iter().map(|f| (f.name, Property(f))))
            }
        }
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(self.0))?;
        let required: Vec<&str> = self
            .0
            .iter()
            .filter(|f| f.required)
            .map(|f| f.name)
            .collect();
        map.serialize_entry("required", &required)?;
        map.end()
    }
}

struct Property(&'static Field);

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let field = self.0;
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("type", field.kind.schema_name())?;
        map.serialize_entry("description", field.doc())?;
        match field.kind {
            Type::List(of) => {
                map.serialize_entry("items", &serde_json::json!({ "type": of.schema_name() }))?;
            }
            Type::Choice(words) => {
                map.serialize_entry("enum", words)?;
            }
            _ => {}
        }
        if let Some(default) = field.default {
            map.serialize_entry("default", &default())?;
        }
        if let Some(min) = field.min {
            map.serialize_entry("minimum", &min)?;
        }
        if let Some(max) = field.max {
            map.serialize_entry("maximum", &max)?;
        }
        map.end()
    }
}

/// A type that a parameter can have.
pub trait Param: Sized {
    /// Its JSON type.
    const TYPE: Type;
    /// False when absence has a meaning of its own.
    const REQUIRED: bool = true;
    /// Reads a value that is present and not null; `None` when it cannot be one.
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
        // 5.0 and 1e3 are whole; 2^53 is where f64 stops telling neighbours apart.
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

/// Reads declared fields out of an argument object in order, and collects everything that is wrong with it.
#[derive(Debug)]
pub struct Decoder<'a> {
    name: &'a str,
    args: &'a Map<String, Value>,
    all: &'static [Field],
    left: std::slice::Iter<'static, Field>,
    wrong: Vec<String>,
}

impl<'a> Decoder<'a> {
    /// A decoder for a call of `name` (a tool) with `args`.
    pub fn new(name: &'a str, fields: &'static [Field], args: &'a Map<String, Value>) -> Self {
        Self {
            name,
            args,
            all: fields,
            left: fields.iter(),
            wrong: Vec::new(),
        }
    }

    /// The next declared field; `None` was recorded as wrong.
    pub fn take<T: Param>(&mut self) -> Option<T> {
        let field = self.left.next()?;
        let given = self.args.get(field.name).or_else(|| {
            self.args
                .iter()
                .find(|(key, _)| field.answers_to(key))
                .map(|(_, value)| value)
        });
        let Some(given) = given.filter(|v| !v.is_null()) else {
            // An `Option` with a default publishes it and still knows that nothing was given.
            let value = T::absent().or_else(|| T::read(&field.default?()));
            if value.is_none() {
                self.wrong.push(format!(
                    "{}: missing; {} ({})",
                    field.name,
                    field.kind.wanted(),
                    field.doc()
                ));
            }
            return value;
        };
        let value = T::read(&clamp(field, given));
        if value.is_none() {
            let got = text::clip(&given.to_string(), 80);
            self.wrong.push(format!(
                "{}: wanted {}, got {got}",
                field.name,
                field.kind.wanted()
            ));
        }
        value
    }

    /// Fails when anything was wrong, naming all of it.
    pub fn finish(self) -> Result<(), Problem> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        let mut what = format!(
            "Wrong arguments for {}: {}.",
            self.name,
            self.wrong.join("; ")
        );
        for key in self
            .args
            .keys()
            .filter(|key| !self.all.iter().any(|f| f.answers_to(key)))
        {
            what.push_str(&format!(
                " There is no parameter \"{}\"",
                text::clip(key, 40)
            ));
            what.push_str(
                &text::did_you_mean(key, self.all.iter().map(|f| f.name))
                    .map_or_else(|| ".".to_owned(), |s| format!("; {s}")),
            );
        }
        Err(Problem::input(what).next(format!(
            "A right call: {} {}",
            self.name,
            right_call(self.all)
        )))
    }
}

fn clamp(field: &Field, value: &Value) -> Value {
    if field.kind != Type::Whole || (field.min.is_none() && field.max.is_none()) {
        return value.clone();
    }
    let Some(mut number) = i64::read(value) else {
        return value.clone();
    };
    if let Some(max) = field.max {
        number = number.min(max);
    }
    if let Some(min) = field.min {
        number = number.max(min);
    }
    Value::from(number)
}

/// The example of a right call: every required field, and optional ones that declare an example.
pub fn right_call(fields: &[Field]) -> String {
    let shown = fields.iter().filter(|f| f.required || f.example.is_some());
    let map: Map<String, Value> = shown.map(|f| (f.name.to_owned(), f.sample())).collect();
    Value::Object(map).to_string()
}

/// Declares a struct of parameters, its `FIELDS` and its `decode`.
///
/// ```
/// marvin::params! {
///     /// Arguments of `read_file`.
///     pub struct ReadFile {
///         /// relative path
///         path: String, example: "src/main.rs";
///         /// first line, 1-based
///         start_line: Option<u64>, min: 1;
///         /// how many
///         count: u32 = 20, min: 1, max: 50, alias: &["limit"];
///     }
/// }
/// let args = serde_json::from_str(r#"{"path": "a", "startLine": "7", "limit": 99}"#).unwrap();
/// let got = ReadFile::decode("read_file", &args).unwrap();
/// assert_eq!((got.start_line, got.count), (Some(7), 50));
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $( $(#[doc = $doc:literal])* $field:ident : $ty:ty $(= $default:expr)? $(, $key:ident : $val:expr)* ; )*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        #[allow(unreachable_pub)]
        $vis struct $name { $( $(#[doc = $doc])* pub $field: $ty, )* }
        #[allow(unreachable_pub)]
        impl $name {
            /// The declared parameters, in published order.
            pub const FIELDS: &'static [$crate::base::params::Field] = &[ $(
                $crate::base::params::Field::new(
                    stringify!($field), concat!($($doc),*),
                    <$ty as $crate::base::params::Param>::TYPE, <$ty as $crate::base::params::Param>::REQUIRED,
                ) $( .default(|| serde_json::Value::from($default)) )? $( .$key($val) )*
            ),* ];

            /// Reads the arguments of a call of `name`.
            pub fn decode(
                name: &str, args: &serde_json::Map<String, serde_json::Value>,
            ) -> Result<Self, $crate::base::error::Problem> {
                #[allow(unused_mut)]
                let mut decoder = $crate::base::params::Decoder::new(name, Self::FIELDS, args);
                $( let $field = decoder.take::<$ty>(); )*
                decoder.finish()?;
                #[allow(irrefutable_let_patterns)]
                if let ($(Some($field),)*) = ($($field,)*) {
                    return Ok(Self { $($field),* });
                }
                Err($crate::base::error::Problem::internal(format!("The parameters of {name} could not be read.")))
            }
        }
    };
}

/// Declares an enum whose values are words in JSON: `choice! { pub enum Sort { Newest = "newest", Oldest = "oldest" } }`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $( $(#[$doc:meta])* $variant:ident = $word:literal ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $( $(#[$doc])* $variant ),* }
        impl $crate::base::params::Param for $name {
            const TYPE: $crate::base::params::Type = $crate::base::params::Type::Choice(&[$($word),*]);
            fn read(value: &serde_json::Value) -> Option<Self> {
                let given = value.as_str()?.trim();
                $( if given.eq_ignore_ascii_case($word) { return Some(Self::$variant); } )*
                None
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    params! {
        struct Sample {
            /// relative path
            path: String, example: "src/main.rs";
            /// first line
            start_line: Option<u64>, min: 1;
            /// how many
            count: u32 = 20, min: 1, max: 50, alias: &["limit"];
            /// names
            tags: Vec<String> = Vec::<String>::new();
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
    fn words_of_a_choice_are_read_in_any_case_also_those_that_hold_capitals() {
        for word in ["newestFirst", " newestfirst ", "NEWESTFIRST"] {
            assert_eq!(Order::read(&json!(word)), Some(Order::New), "{word}");
        }
        assert_eq!(Order::read(&json!("oldestFirst")), Some(Order::Old));
        assert_eq!(Order::read(&json!("newest")), None);
    }

    #[test]
    fn sloppy_calls_are_understood() {
        let got = decode(
            json!({"path": 5, "startLine": "0", "limit": 5.0, "tags": "one", "all": "TRUE"}),
        )
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
    fn every_wrong_field_is_named_at_once_with_a_right_call() {
        let text = decode(json!({"pth": "a", "start_line": [], "all": "perhaps"}))
            .unwrap_err()
            .one_line();
        for part in [
            "path: missing",
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
        let schema = serde_json::to_string(&Schema(Sample::FIELDS)).unwrap();
        assert!(schema.starts_with(r#"{"type":"object","properties":{"path":{"type":"string","description":"relative path"},"start_line":"#), "{schema}");
        assert!(schema.ends_with(r#""required":["path"]}"#), "{schema}");
        assert!(schema.contains(r#""count":{"type":"integer","description":"how many","default":20,"minimum":1,"maximum":50}"#), "{schema}");
    }
}
