//! The output items of a reply over the Responses wire while they arrive: messages, reasoning and calls in the model's order.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How an event names its item. `output_index` is the key; item ids change with every event behind some gateways, and llama.cpp sends no index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemKey<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    /// Without an index and with an unknown id it is the newest item that is not final.
    pub(super) or_newest: bool,
}

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputItem {
    index: Option<u64>,
    id: String,
    pub(super) content: ItemContent,
    /// Its `output_item.done` came: the item is final.
    pub(super) done: bool,
}

/// What an item is and what of it has come.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ItemContent {
    Message(MessageItem),
    Reasoning(ReasoningItem),
    /// The call's position in the reply's calls.
    Call(usize),
    /// Of a tool that the provider runs itself; nothing of it is shown or sent back.
    Other,
}

/// A message: a range of the reply's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MessageItem {
    /// Where its text begins.
    pub(super) from: usize,
    /// Bytes of its text.
    pub(super) len: usize,
    /// Content parts of which a piece came.
    pub(super) parts: Vec<u64>,
    /// A piece of a refusal came.
    pub(super) refused: bool,
    /// `commentary` or `final_answer`.
    pub(super) phase: Option<String>,
}

/// Reasoning: shown as thinking, and sent back as it came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReasoningItem {
    /// True for the model's own words, false for a summary of them; the first that comes decides which is shown.
    pub(super) raw: Option<bool>,
    /// Parts of which a piece came.
    pub(super) parts: Vec<u64>,
    /// What goes back in the next request.
    pub(super) replay: Option<String>,
}

/// The items so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OutputItems {
    list: Vec<OutputItem>,
    /// A message got more text after the next one had begun, so ranges of the text do not tell whose it is.
    pub(super) interleaved: bool,
}

impl OutputItems {
    /// The position of the item that an event means.
    fn find(&self, key: ItemKey<'_>) -> Option<usize> {
        if key.index.is_some() {
            return self.list.iter().rposition(|item| item.index == key.index);
        }
        let by_id = key
            .id
            .and_then(|id| self.list.iter().rposition(|item| item.id == id));
        by_id.or_else(|| {
            self.list
                .iter()
                .rposition(|item| key.or_newest && !item.done)
        })
    }

    /// The position of the item that an event means, opened as `new` if there is none of that kind: events may come for items never opened, and
    /// two items under one index.
    pub(super) fn find_or_open(
        &mut self,
        key: ItemKey<'_>,
        is_kind: fn(&ItemContent) -> bool,
        new: impl FnOnce() -> ItemContent,
    ) -> usize {
        let known = self.find(key).filter(|at| {
            let item = self.list.get(*at);
            item.is_some_and(|item| is_kind(&item.content))
        });
        known.unwrap_or_else(|| {
            self.list.push(OutputItem {
                index: key.index,
                id: key.id.unwrap_or_default().to_owned(),
                content: new(),
                done: false,
            });
            self.list.len() - 1
        })
    }

    /// The position of the `nth` item of a kind.
    pub(super) fn nth(&self, nth: usize, is_kind: fn(&ItemContent) -> bool) -> Option<usize> {
        let all = self.list.iter().enumerate();
        all.filter(|(_, item)| is_kind(&item.content))
            .map(|(at, _)| at)
            .nth(nth)
    }

    /// The position of the message that text came for last.
    pub(super) fn newest_text(&self) -> Option<usize> {
        let has_text = |item: &OutputItem| matches!(&item.content, ItemContent::Message(message) if message.len > 0);
        self.list.iter().rposition(has_text)
    }

    /// True when text of this part came, or nothing may come any more.
    pub(super) fn has_text(&self, at: usize, part: u64) -> bool {
        match self.list.get(at).map(|item| (&item.content, item.done)) {
            Some((ItemContent::Message(message), done)) => done || message.parts.contains(&part),
            _ => true,
        }
    }

    fn unsettled(&mut self, at: usize) -> Option<&mut ItemContent> {
        let item = self.list.get_mut(at).filter(|item| !item.done)?;
        Some(&mut item.content)
    }

    /// The message at `at`, until it is final.
    pub(super) fn open_message(&mut self, at: usize) -> Option<&mut MessageItem> {
        match self.unsettled(at)? {
            ItemContent::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The reasoning at `at`, until it is final.
    pub(super) fn open_reasoning(&mut self, at: usize) -> Option<&mut ReasoningItem> {
        match self.unsettled(at)? {
            ItemContent::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        }
    }

    /// The position in the reply's calls of the one at `at`, until it is final.
    pub(super) fn open_call(&mut self, at: usize) -> Option<usize> {
        match self.unsettled(at)? {
            ItemContent::Call(call) => Some(*call),
            _ => None,
        }
    }

    /// The item is final. Reasoning keeps what goes back; Azure sends the encrypted part only with the last event.
    pub(super) fn settle(&mut self, at: usize, replay: Option<String>, encrypted: bool) {
        let Some(item) = self.list.get_mut(at) else {
            return;
        };
        item.done = true;
        if let ItemContent::Reasoning(reasoning) = &mut item.content
            && replay.is_some()
            && (reasoning.replay.is_none() || encrypted)
        {
            reasoning.replay = replay;
        }
    }

    /// More text for the message that text came for last; false when it is final.
    pub(super) fn grow_newest(&mut self, len: usize) -> bool {
        let message = self.newest_text().and_then(|at| self.open_message(at));
        message.is_some_and(|message| {
            message.len += len;
            true
        })
    }

    /// The items as the next request repeats them; `id` gives the id of a call.
    pub(super) fn saved_items(&self, id: impl Fn(usize) -> Option<String>) -> Vec<SavedItem> {
        let item = |item: &OutputItem| match &item.content {
            ItemContent::Message(message) if message.len > 0 => Some(SavedItem::Message {
                bytes: if self.interleaved { 0 } else { message.len },
                phase: message.phase.clone(),
            }),
            ItemContent::Reasoning(reasoning) => {
                let json = reasoning.replay.clone()?;
                RawValue::from_string(json).ok().map(SavedItem::Reasoning)
            }
            ItemContent::Call(call) => id(*call).map(SavedItem::Call),
            ItemContent::Message(_) | ItemContent::Other => None,
        };
        self.list.iter().filter_map(item).collect()
    }

    /// What a reply leaves for the next request; `None` when its text and calls tell it all.
    pub(super) fn saved(
        &self,
        model: &str,
        id: impl Fn(usize) -> Option<String>,
    ) -> Option<SavedOutput> {
        let items = self.saved_items(id);
        let tells = items.iter().any(|item| {
            matches!(
                item,
                SavedItem::Reasoning(_) | SavedItem::Message { phase: Some(_), .. }
            )
        });
        // Text behind calls, or in several messages, is also an order that is worth keeping.
        let plain = matches!(items.first(), Some(SavedItem::Message { .. }))
            && items
                .iter()
                .skip(1)
                .all(|item| matches!(item, SavedItem::Call(_)))
            || items.iter().all(|item| matches!(item, SavedItem::Call(_)));
        (tells || !plain).then(|| SavedOutput {
            model: model.to_owned(),
            items,
        })
    }
}

/// What the next request needs to know to send a reply back as it came, besides its text and calls.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::llm::wire) struct SavedOutput {
    /// The model; another one can neither read encrypted reasoning nor use the phases.
    pub(in crate::llm::wire) model: String,
    /// The items in the model's order.
    pub(in crate::llm::wire) items: Vec<SavedItem>,
}

/// One item of a saved reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::llm::wire) enum SavedItem {
    /// Reasoning, whole.
    Reasoning(Box<RawValue>),
    /// The next so many bytes of the text.
    Message {
        /// Bytes of the message's text; a blank line parts it from the next one.
        bytes: usize,
        /// The phase, where the model gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    /// The call with this id.
    Call(String),
}
