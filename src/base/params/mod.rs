//! Parameters declared once: the `params!` macro turns one block of text into a struct, its JSON Schema, its help and its decoder.
//!
//! Models make small mistakes in calls, so decoding is lenient where no meaning is lost: a number written as text, `"true"`, null for absent, one value where a
//! list is expected, `startLine` for `start_line`, a number outside its range. The remaining mistakes are reported all at once, with an example of a correct
//! call.
//!
//! The tools declare theirs with it, and the interface reads [`Type`] to word a call. It knows neither tools nor providers: a schema is a constant text.

pub(crate) mod schema;

mod decode;
mod values;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use decode::{FieldDecoder, example_call, given, with_signature};
pub(crate) use values::Param;

/// The JSON type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Text,
    Whole,
    /// Any finite number.
    Number,
    /// True or false.
    Flag,
    List(&'static Type),
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// An object of any shape.
    Object,
}

impl Type {
    /// The type's name in JSON Schema.
    pub const fn schema_name(self) -> &'static str {
        match self {
            Self::Text | Self::Choice(_) => "string",
            Self::Whole => "integer",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::List(_) => "array",
            Self::Object => "object",
        }
    }

    /// The type as shown in messages and the help.
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
#[must_use]
pub struct Field {
    pub name: &'static str,
    doc: &'static str,
    pub kind: Type,
    /// Must be given.
    pub required: bool,
    /// The value if absent, as JSON.
    pub default: Option<&'static str>,
    /// Smallest number; smaller ones are raised to it.
    pub min: Option<i64>,
    /// Largest number; larger ones are lowered to it.
    pub max: Option<i64>,
    /// Other spellings that are accepted and never published.
    pub aliases: &'static [&'static str],
    /// A plausible value, shown in the example of a correct call.
    pub example: Option<&'static str>,
    /// It is not offered to every caller, so that no mistake's explanation lists it.
    pub unlisted: bool,
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
            unlisted: false,
        }
    }

    /// Uses `json` when the caller gives no value; the field is then optional.
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self.required = false;
        self
    }

    /// Publishes the field under another name than the struct's (for Rust keywords).
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Smallest number.
    pub const fn min(mut self, min: i64) -> Self {
        self.min = Some(min);
        self
    }

    /// Largest number.
    pub const fn max(mut self, max: i64) -> Self {
        self.max = Some(max);
        self
    }

    /// Other accepted spellings.
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// A plausible value for the example of a correct call.
    pub const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// Left out where the parameters are listed for a caller who made a mistake.
    pub const fn unlisted(mut self, unlisted: bool) -> Self {
        self.unlisted = unlisted;
        self
    }

    /// The field's description, one sentence.
    pub const fn doc(&self) -> &'static str {
        self.doc.trim_ascii()
    }

    /// The value if absent.
    pub fn default_value(&self) -> Option<Value> {
        self.default
            .and_then(|json| serde_json::from_str(json).ok())
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

    /// A value of the right type for the example of a correct call.
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

/// Declares a struct of parameters, its `fields`, their `SCHEMA` and its `decode`. A default is a literal that is JSON too.
///
/// The fields are a function, because most runs need those of no tool: as a table they are pointers by the thousand, which every start of
/// a position-independent program writes anew. It is constant, so that the compiler can write the schema from them.
///
/// ```text
/// params! {
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
            pub const fn fields() -> [$crate::base::params::Field; <[&str]>::len(&[$(stringify!($field)),*])] {
                [ $(
                    $crate::base::params::Field::new(
                        stringify!($field), concat!($($doc),*),
                        <$ty as $crate::base::params::Param>::TYPE, <$ty as $crate::base::params::Param>::REQUIRED,
                    ) $( .default(stringify!($default)) )? $( .$key($val) )*
                ),* ]
            }

            /// Their JSON Schema.
            pub const SCHEMA: &'static str = {
                const FIELDS: &[$crate::base::params::Field] = &$name::fields();
                const TEXT: [u8; $crate::base::params::schema::length(FIELDS)] =
                    $crate::base::params::schema::text(FIELDS);
                $crate::base::params::schema::checked(&TEXT)
            };

            /// Reads the arguments of a call of `name`.
            pub fn decode(
                name: &str, args: &serde_json::Map<String, serde_json::Value>,
            ) -> Result<Self, $crate::base::problem::Problem> {
                #[allow(unused_mut)]
                let mut decoder = $crate::base::params::FieldDecoder::new(name, Self::fields().to_vec(), args);
                $( let $field = decoder.take::<$ty>(); )*
                decoder.finish()?;
                #[allow(irrefutable_let_patterns)]
                if let ($(Some($field),)*) = ($($field,)*) {
                    return Ok(Self { $($field),* });
                }
                Err($crate::base::problem::Problem::internal(format!("The parameters of {name} could not be read.")))
            }
        }
    };
}
pub(crate) use params;

/// Declares an enum whose values are words in JSON: `choice! { pub enum Sort { Newest = "newest", Oldest = "oldest" } }`.
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $( $(#[$doc:meta])* $variant:ident = $word:literal ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $( $(#[$doc])* $variant ),* }
        impl $name {
            /// The word that stands for it.
            #[allow(dead_code, reason = "not every choice is sent on by its word")]
            $vis const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word ),* }
            }
        }
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
pub(crate) use choice;
