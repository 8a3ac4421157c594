//! Parts of request bodies that the dialects share: opaque members that are sent back, arguments as objects.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::chat::message::ProviderState;
use crate::llm::catalog::ProviderSpec;

/// The members of a JSON object, with unchanged values.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// The members to send back to `row`; `None` if they came from another provider, which may refuse them as unknown.
    pub(super) fn for_row(kept: Option<&'a ProviderState>, row: &ProviderSpec) -> Self {
        kept.filter(|kept| kept.provider == row.name)
            .and_then(|kept| serde_json::from_str(&kept.json).ok())
            .unwrap_or_default()
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find_map(|(key, value)| (key == name).then_some(*value))
    }

    /// Writes them into `map`, except those named like one of `own`.
    pub(super) fn write<S: SerializeMap>(&self, map: &mut S, own: &[&str]) -> Result<(), S::Error> {
        for (name, value) in &self.0 {
            if !own.contains(&name.as_ref()) {
                map.serialize_entry(name, value)?;
            }
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Take)
    }
}

/// Argument text as an object: unchanged, unwrapped from a JSON string, or empty.
pub(super) fn arguments(text: &str) -> Cow<'_, RawValue> {
    let object = |text: &str| {
        let text = text.trim();
        text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    };
    if object(text)
        && let Ok(raw) = serde_json::from_str::<&RawValue>(text)
    {
        return Cow::Borrowed(raw);
    }
    let inner: Option<String> = serde_json::from_str(text).ok();
    let inner = inner.filter(|inner| object(inner));
    Cow::Owned(
        inner
            .and_then(|inner| RawValue::from_string(inner).ok())
            .or_else(|| RawValue::from_string("{}".to_owned()).ok())
            .unwrap_or_else(|| RawValue::NULL.to_owned()),
    )
}
