//! A secret that was found in a text, and the groups of the pattern that found it.

use std::borrow::Cow;
use std::ops::Range;

use regex::Captures;

/// What takes the place of a secret that has no more telling label.
pub(super) const SECRET: &str = "[REDACTED]";

pub(super) struct Hit {
    /// What a label takes the place of.
    pub range: Range<usize>,
    /// The part of it that is secret.
    pub secret: Range<usize>,
    pub label: Cow<'static, str>,
}

impl Hit {
    /// A secret that its label replaces as it stands.
    pub(super) fn whole(range: Range<usize>, label: &'static str) -> Self {
        Self {
            secret: range.clone(),
            range,
            label: Cow::Borrowed(label),
        }
    }
}

/// The group that is the secret.
pub(super) fn value_group<'t>(found: &Captures<'t>) -> Option<regex::Match<'t>> {
    ["value", "value_b", "value_c", "value_d"]
        .into_iter()
        .find_map(|name| found.name(name))
}

/// The secret that a pattern has found.
pub(super) fn value<'t>(found: &Captures<'t>) -> &'t str {
    let value = value_group(found).or_else(|| found.get(0));
    value.map_or("", |value| value.as_str())
}

/// True when nothing stands between the separator and the value.
pub(super) fn is_tight<const N: usize>(
    text: &str,
    found: &Captures<'_>,
    separators: [char; N],
) -> bool {
    let start = value_group(found).map_or(0, |value| value.start());
    text.get(..start)
        .is_some_and(|before| before.ends_with(separators))
}
