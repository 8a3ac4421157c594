//! Assembles tool calls from the pieces of a stream.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use crate::base::ids;
use crate::chat::message::{ProviderState, ToolCall};
use crate::llm::provider::FinishReason;

/// One piece of a call; absent and empty mean the same.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CallFragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) args: CallArguments<'a>,
    /// `extra_content` as JSON: Gemini's thought signature, which has to go back with the call.
    pub(super) extra: Option<&'a str>,
}

/// Arguments of a piece.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum CallArguments<'a> {
    #[default]
    None,
    /// Text to append.
    Text(&'a str),
    /// A complete value that is not a string: an object.
    Whole(&'a str),
}

/// A call so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallSlot {
    index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: String,
    /// The arguments were sent as an object.
    pub(super) object: bool,
    pub(super) extra: Option<String>,
}

/// The calls so far, in the order in which they first appeared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Calls {
    slots: Vec<CallSlot>,
    /// Bytes received so far.
    bytes: usize,
}

impl CallFragment<'_> {
    /// Approximate size in memory; even an empty call takes some.
    fn size(&self) -> usize {
        let args = match self.args {
            CallArguments::None => 0,
            CallArguments::Text(text) | CallArguments::Whole(text) => text.len(),
        };
        let named = [self.id, self.name, self.extra].into_iter().flatten();
        args + named.map(|text| text.len() + 64).sum::<usize>()
    }
}

impl Calls {
    /// Bytes received, for a limit: unlike text, growing calls are not visible to the user.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn add(&mut self, piece: CallFragment<'_>) {
        self.bytes += piece.size();
        let known = match piece.index {
            Some(_) => self.slot_by_index(&piece),
            None => self.slot_without_index(&piece),
        };
        let at = known.unwrap_or_else(|| {
            self.slots.push(CallSlot {
                index: piece.index,
                ..CallSlot::default()
            });
            self.slots.len() - 1
        });
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        if let (true, Some(id)) = (slot.id.is_empty(), piece.id) {
            id.clone_into(&mut slot.id);
        }
        if let (true, Some(name)) = (slot.name.is_empty(), piece.name) {
            name.clone_into(&mut slot.name);
        }
        match piece.args {
            CallArguments::None => {}
            CallArguments::Text(text) => slot.args.push_str(text),
            CallArguments::Whole(json) => {
                json.clone_into(&mut slot.args);
                slot.object = true;
            }
        }
        if let Some(extra) = piece.extra {
            slot.extra = Some(extra.to_owned());
        }
    }

    /// Opens a call whose parts are addressed by the returned position.
    pub(super) fn open(&mut self) -> usize {
        self.bytes += 64;
        self.slots.push(CallSlot::default());
        self.slots.len() - 1
    }

    /// Adds a piece of the arguments of the call at `at`.
    pub(super) fn append_arguments(&mut self, at: usize, piece: &str) {
        self.bytes += piece.len();
        if let Some(slot) = self.slots.get_mut(at) {
            slot.args.push_str(piece);
        }
    }

    /// Sets the complete arguments of the call at `at`, as text or as an object.
    pub(super) fn set_arguments(&mut self, at: usize, json: &str, object: bool) {
        if let Some(slot) = self.slots.get_mut(at) {
            self.bytes += json.len().saturating_sub(slot.args.len());
            json.clone_into(&mut slot.args);
            slot.object = object;
        }
    }

    /// Sets the name of the call at `at`, where one is given.
    pub(super) fn set_name(&mut self, at: usize, name: Option<&str>) {
        if let (Some(slot), Some(name)) = (self.slots.get_mut(at), name) {
            name.clone_into(&mut slot.name);
        }
    }

    /// Sets the id of the call at `at`, where one is given.
    pub(super) fn set_id(&mut self, at: usize, id: Option<&str>) {
        if let (Some(slot), Some(id)) = (self.slots.get_mut(at), id) {
            id.clone_into(&mut slot.id);
        }
    }

    /// The index is a key: pieces continue the newest call with the same index, unless another id comes together with a name. Some servers number
    /// every parallel call 0.
    fn slot_by_index(&self, piece: &CallFragment<'_>) -> Option<usize> {
        let on_index = |slot: &CallSlot| slot.index == piece.index;
        if let Some(id) = piece.id {
            let same = self
                .slots
                .iter()
                .rposition(|slot| on_index(slot) && slot.id == id);
            if same.is_some() {
                return same;
            }
        }
        let newest = self.slots.iter().rposition(on_index)?;
        let slot = self.slots.get(newest)?;
        let other_id = piece.id.is_some() && !slot.id.is_empty();
        // Some bridges number every call 0 and send no ids: another name after complete arguments has to be another call.
        let other_name = piece.id.is_none()
            && piece
                .name
                .is_some_and(|name| name != slot.name && !slot.name.is_empty())
            && is_json(&slot.args);
        (!(other_id && piece.name.is_some() || other_name)).then_some(newest)
    }

    /// Without an index (Gemini's compatible endpoint, Mistral): a new id opens a call, a known one continues it, no id continues the last call
    /// unless that has a name and another name comes.
    fn slot_without_index(&self, piece: &CallFragment<'_>) -> Option<usize> {
        if let Some(id) = piece.id {
            return self.slots.iter().rposition(|slot| slot.id == id);
        }
        let last = self.slots.last()?;
        (piece.name.is_none() || last.name.is_empty()).then(|| self.slots.len() - 1)
    }

    /// The calls as on the wire, without generated ids and repairs.
    pub(super) fn slots(&self) -> &[CallSlot] {
        &self.slots
    }

    /// Whether the arguments of some call are incomplete.
    pub(super) fn any_broken(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| !slot.args.is_empty() && !is_json(&slot.args))
    }

    /// The calls to run, with ids and with `{}` for missing arguments, and those cut off with the reply, which get results but are never run. A
    /// call without a name still counts, because the model waits for a result. `provider` is who gets the extra content back.
    pub(super) fn finish(
        self,
        finish: &FinishReason,
        provider: &str,
    ) -> (Vec<ToolCall>, Vec<ToolCall>) {
        let limited = finish.is_early();
        let mut ids = HashSet::new();
        let (whole, cut): (Vec<CallSlot>, Vec<CallSlot>) = self
            .slots
            .into_iter()
            .filter(|slot| !(slot.name.is_empty() && slot.id.is_empty() && slot.args.is_empty()))
            .partition(|slot| !limited || !slot.name.is_empty() && is_object(&slot.args));
        let mut calls = |slots: Vec<CallSlot>| -> Vec<ToolCall> {
            let call = |slot: CallSlot| {
                let id = if slot.id.is_empty() || ids.contains(&slot.id) {
                    ids::call()
                } else {
                    slot.id
                };
                ids.insert(id.clone());
                let args = match slot.args.trim() {
                    "" | "null" => "{}".to_owned(),
                    _ => slot.args,
                };
                let keep = slot.extra.map(|extra| ProviderState {
                    provider: provider.to_owned(),
                    json: format!("{{\"extra_content\":{extra}}}"),
                });
                ToolCall {
                    id,
                    name: slot.name,
                    args,
                    provider_state: keep,
                }
            };
            slots.into_iter().map(call).collect()
        };
        let whole = calls(whole);
        (whole, calls(cut))
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && is_json(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as index, id, name, arguments; the calls as id, name, arguments.
    fn assemble(pieces: &[(Option<u64>, &str, &str, &str)]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for (index, id, name, args) in pieces {
            let filled = |text| Some(text).filter(|text: &&str| !text.is_empty());
            calls.add(CallFragment {
                index: *index,
                id: filled(*id),
                name: filled(*name),
                args: CallArguments::Text(args),
                extra: None,
            });
        }
        calls
            .slots
            .into_iter()
            .map(|slot| (slot.id, slot.name, slot.args))
            .collect()
    }

    fn call(id: &str, name: &str, args: &str) -> (String, String, String) {
        (id.into(), name.into(), args.into())
    }

    #[test]
    fn q23_without_index_a_new_id_opens_and_none_goes_on() {
        assert_eq!(
            assemble(&[
                (None, "a", "f", "{\"x\""),
                (None, "", "", ":1}"),
                (None, "b", "g", "{"),
                (None, "b", "g", "}"),
                (None, "a", "", " "),
            ]),
            [call("a", "f", "{\"x\":1} "), call("b", "g", "{}")]
        );
        assert_eq!(
            assemble(&[(None, "", "f", "{}"), (None, "", "g", "{}")]),
            [call("", "f", "{}"), call("", "g", "{}")]
        );
    }

    #[test]
    fn q24_every_call_numbered_0() {
        assert_eq!(
            assemble(&[
                (Some(0), "a", "f", "{"),
                (Some(0), "", "", "}"),
                (Some(0), "b", "f", "{"),
                (Some(0), "", "", "\"x\":1}"),
                (Some(0), "a", "", " "),
            ]),
            [call("a", "f", "{} "), call("b", "f", "{\"x\":1}")]
        );
        assert_eq!(
            assemble(&[(Some(0), "", "f", "{}"), (Some(0), "", "g", "{}")]),
            [call("", "f", "{}"), call("", "g", "{}")]
        );
    }

    #[test]
    fn q25_gaps_in_the_index() {
        assert_eq!(
            assemble(&[
                (Some(1), "a", "f", "{"),
                (Some(7), "b", "g", "{}"),
                (Some(1), "", "", "}")
            ]),
            [call("a", "f", "{}"), call("b", "g", "{}")]
        );
    }

    #[test]
    fn q26_an_empty_id_never_replaces_a_real_one() {
        assert_eq!(
            assemble(&[
                (Some(0), "a", "f", "{"),
                (Some(0), "", "", "}"),
                (Some(0), "z", "", "")
            ]),
            [call("a", "f", "{}")]
        );
        let mut calls = Calls::default();
        for name in ["f", "g"] {
            calls.add(CallFragment {
                name: Some(name),
                ..CallFragment::default()
            });
        }
        let done = calls.finish(&FinishReason::Done, "p").0;
        assert!(done.iter().all(|call| call.id.starts_with("call_")));
        assert_ne!(done[0].id, done[1].id);
    }

    #[test]
    fn q27_id_and_name_in_every_piece() {
        assert_eq!(
            assemble(&[
                (Some(0), "a", "f", "{"),
                (Some(0), "a", "f", "\"x\":1"),
                (Some(0), "a", "f", "}")
            ]),
            [call("a", "f", "{\"x\":1}")]
        );
        assert_eq!(
            assemble(&[(Some(0), "", "f", "{"), (Some(0), "", "f", "}")]),
            [call("", "f", "{}")]
        );
    }

    #[test]
    fn q28_an_object_is_the_whole_value() {
        let mut calls = Calls::default();
        calls.add(CallFragment {
            name: Some("f"),
            args: CallArguments::Whole("{\"x\":1}"),
            ..CallFragment::default()
        });
        assert!(calls.slots()[0].object);
        assert_eq!(
            calls.finish(&FinishReason::Done, "p").0[0].args,
            "{\"x\":1}"
        );
    }

    #[test]
    fn q29_no_arguments_are_an_empty_object_and_broken_ones_stay_broken() {
        for (sent, kept) in [("", "{}"), ("null", "{}"), ("{\"a\":", "{\"a\":")] {
            let mut calls = Calls::default();
            calls.add(CallFragment {
                name: Some("f"),
                args: CallArguments::Text(sent),
                ..CallFragment::default()
            });
            assert_eq!(calls.finish(&FinishReason::Done, "p").0[0].args, kept);
        }
    }

    #[test]
    fn q30_a_call_cut_by_the_limit_is_not_run() {
        let mut calls = Calls::default();
        for (id, args) in [("a", "{\"x\":1}"), ("b", "{\"x\":"), ("c", "")] {
            calls.add(CallFragment {
                id: Some(id),
                name: Some("f"),
                args: CallArguments::Text(args),
                ..CallFragment::default()
            });
        }
        let (run, cut) = calls.finish(&FinishReason::Length, "p");
        let ids = |calls: &[ToolCall]| -> Vec<String> {
            calls.iter().map(|call| call.id.clone()).collect()
        };
        assert_eq!(
            (ids(&run), ids(&cut)),
            (vec!["a".into()], vec!["b".into(), "c".into()])
        );
    }

    #[test]
    fn a_call_without_a_name_stays_and_one_that_says_nothing_goes() {
        let mut calls = Calls::default();
        for (id, args) in [(Some("a"), "{}"), (None, ""), (Some("b"), "")] {
            calls.add(CallFragment {
                index: Some(calls.slots().len() as u64),
                id,
                args: CallArguments::Text(args),
                ..CallFragment::default()
            });
        }
        let (run, cut) = calls.finish(&FinishReason::Done, "p");
        let ids: Vec<&str> = run.iter().map(|call| call.id.as_str()).collect();
        assert_eq!((ids, cut.len()), (vec!["a", "b"], 0));
    }
}
