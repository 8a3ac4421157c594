//! JSON fields as servers really send them: a string, number, list or null where another type was expected.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string, borrowed from the input unless it has escapes. Null, lists and objects count as absent; numbers become their digits.
#[derive(Debug, Default)]
pub(super) struct LenientText<'a>(pub(super) Option<Cow<'a, str>>);

impl LenientText<'_> {
    pub(super) fn filled(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

/// A count, also as a string or with a decimal point. Everything else counts as absent.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LenientCount(pub(super) Option<u64>);

/// A message's content: text, or a list of typed parts (Mistral's reasoning models).
#[derive(Debug, Default)]
pub(super) struct LenientContent<'a> {
    /// Visible text.
    pub(super) text: Cow<'a, str>,
    /// Text of the thinking parts.
    pub(super) thinking: Cow<'a, str>,
}

/// One part of a content list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    text: LenientText<'a>,
    thinking: Option<Box<LenientContent<'a>>>,
}

/// Visitor methods that ignore unwanted values.
macro_rules! absent {
    (scalars) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (numbers) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (nested) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = LenientText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(LenientText(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(LenientText(Some(Cow::Owned(text.to_owned()))))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(LenientText(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(LenientText(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(LenientText(Some(Cow::Owned(number.to_string()))))
            }

            absent!(scalars);
            absent!(nested);
        }
        from.deserialize_any(Take)
    }
}

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = LenientCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }

            fn visit_u64<E>(self, number: u64) -> Result<LenientCount, E> {
                Ok(LenientCount(Some(number)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<LenientCount, E> {
                Ok(LenientCount(u64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<LenientCount, E> {
                // `as` saturates, so no number can wrap around.
                Ok(LenientCount((number >= 0.0).then_some(number as u64)))
            }

            fn visit_str<E>(self, text: &str) -> Result<LenientCount, E> {
                Ok(LenientCount(text.trim().parse().ok()))
            }

            absent!(scalars);
            absent!(nested);
        }
        from.deserialize_any(Take)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientContent<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = LenientContent<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("content")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(LenientContent {
                    text: Cow::Borrowed(text),
                    ..LenientContent::default()
                })
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(LenientContent {
                    text: Cow::Owned(text.to_owned()),
                    ..LenientContent::default()
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut all = LenientContent::default();
                while let Some(part) = seq.next_element::<LenientContent<'de>>()? {
                    join(&mut all.text, part.text);
                    join(&mut all.thinking, part.thinking);
                }
                Ok(all)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let part =
                    ContentPart::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                let mut all = LenientContent::default();
                all.add(part);
                Ok(all)
            }

            absent!(scalars);
            absent!(numbers);
        }
        from.deserialize_any(Take)
    }
}

impl<'a> LenientContent<'a> {
    fn add(&mut self, part: ContentPart<'a>) {
        if let Some(thinking) = part.thinking {
            join(&mut self.thinking, thinking.text);
        }
        if let Some(text) = part.text.0 {
            let thinks = matches!(part.kind.filled(), Some("thinking" | "reasoning"));
            join(
                if thinks {
                    &mut self.thinking
                } else {
                    &mut self.text
                },
                text,
            );
        }
    }
}

fn join<'a>(all: &mut Cow<'a, str>, piece: Cow<'a, str>) {
    if all.is_empty() {
        *all = piece;
    } else {
        all.to_mut().push_str(&piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_borrow_and_forgive() {
        let text = |json| serde_json::from_str::<LenientText<'_>>(json).unwrap().0;
        assert!(matches!(text("\"plain\""), Some(Cow::Borrowed("plain"))));
        assert_eq!(text("\"a\\nb\"").as_deref(), Some("a\nb"));
        assert_eq!(text("17").as_deref(), Some("17"));
        for json in ["null", "[1,{}]", "{\"a\":[]}", "true"] {
            assert_eq!(text(json), None, "{json}");
        }
    }

    #[test]
    fn counts_forgive() {
        let count = |json| serde_json::from_str::<LenientCount>(json).unwrap().0;
        assert_eq!(
            ["7", "7.0", "\"7\"", "null", "-1", "{}"].map(count),
            [Some(7), Some(7), Some(7), None, None, None]
        );
    }

    #[test]
    fn q21_content_may_be_a_list_of_parts() {
        let content: LenientContent<'_> = serde_json::from_str(
            r#"[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"reference","reference_ids":[1]}]"#,
        )
        .unwrap();
        assert_eq!((&*content.text, &*content.thinking), ("ab", "hm"));
    }
}
