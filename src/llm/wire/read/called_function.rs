//! The function of a tool call, as chat completions and Ollama send it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{CallArguments, CallFragment, Calls};
use super::lenient::LenientText;
use super::repair_json;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct CalledFunction<'a> {
    #[serde(borrow)]
    name: LenientText<'a>,
    /// JSON as a string, or the object itself.
    arguments: Option<&'a RawValue>,
}

impl CalledFunction<'_> {
    /// Whether its arguments contain half a surrogate pair.
    pub(super) fn has_lone_surrogate(&self) -> bool {
        self.arguments
            .is_some_and(|raw| repair_json::has_lone_surrogate(raw.get()))
    }
}

/// Adds a piece of a call to `calls`: name and arguments are those of `function`, the rest is that of `piece`.
pub(super) fn add_call(
    calls: &mut Calls,
    function: Option<&CalledFunction<'_>>,
    piece: CallFragment<'_>,
) {
    let raw = function
        .and_then(|function| function.arguments)
        .map(RawValue::get);
    let text = raw
        .filter(|raw| raw.starts_with('"'))
        .and_then(|raw| serde_json::from_str::<LenientText<'_>>(raw).ok())
        .unwrap_or_default();
    calls.add(CallFragment {
        name: function.and_then(|function| function.name.filled()),
        args: match (&text.0, raw) {
            (Some(text), _) => CallArguments::Text(text),
            (None, Some(raw)) if !raw.starts_with('"') => CallArguments::Whole(raw),
            (None, _) => CallArguments::None,
        },
        ..piece
    });
}
