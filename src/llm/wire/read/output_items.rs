//! The output items of a streamed reply over the Responses wire: messages, reasoning and calls in the model's order.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How an event identifies its item. `output_index` is the key: behind some gateways item ids change with every event, and llama.cpp sends no index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemKey<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    /// Without an index and with an unknown id, the newest item that is not final is meant.
    pub(super) or_newest: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputItem {
    index: Option<u64>,
    id: String,
    pub(super) content: ItemContent,
    /// The item is final (`output_item.done`).
    pub(super) done: bool,
}

/// What an item is and what of it has come.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ItemContent {
    Message(MessageItem),
    Reasoning(ReasoningItem),
    /// The call's position in the reply's calls.
    Call(usize),
    /// Of a tool that the provider runs itself; it is neither shown nor sent back.
    Other,
}

/// A message: a range of the reply's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MessageItem {
    /// Start of its text.
    pub(super) from: usize,
    /// Length of its text in bytes.
    pub(super) len: usize,
    /// Content parts that have received text.
    pub(super) parts: Vec<u64>,
    /// Part of a refusal was received.
    pub(super) refused: bool,
    /// `commentary` or `final_answer`.
    pub(super) phase: Option<String>,
}

/// Reasoning: shown as thinking, and sent back unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReasoningItem {
    /// True for the model's own words, false for a summary; whichever comes first is shown.
    pub(super) raw: Option<bool>,
    /// Parts that have received text.
    pub(super) parts: Vec<u64>,
    /// What the next request sends back.
    pub(super) replay: Option<String>,
}

/// The items so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OutputItems {
    list: Vec<OutputItem>,
    /// A message received more text after the next one had started, so ranges of the text do not identify messages.
    pub(super) interleaved: bool,
}

impl OutputItems {
    /// The position of the item that an event refers to.
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

    /// The position of the item that an event refers to. Opens `new` if there is no such item of that kind: events may refer to items that were never
    /// opened, and two items may share an index.
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

    /// The position of the message that received text last.
    pub(super) fn newest_text(&self) -> Option<usize> {
        let has_text = |item: &OutputItem| matches!(&item.content, ItemContent::Message(message) if message.len > 0);
        self.list.iter().rposition(has_text)
    }

    /// Whether this part has text, or cannot receive any more.
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

    /// The message at `at`, unless it is final.
    pub(super) fn open_message(&mut self, at: usize) -> Option<&mut MessageItem> {
        match self.unsettled(at)? {
            ItemContent::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The reasoning at `at`, unless it is final.
    pub(super) fn open_reasoning(&mut self, at: usize) -> Option<&mut ReasoningItem> {
        match self.unsettled(at)? {
            ItemContent::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        }
    }

    /// The position in the reply's calls of the call at `at`, unless it is final.
    pub(super) fn open_call(&mut self, at: usize) -> Option<usize> {
        match self.unsettled(at)? {
            ItemContent::Call(call) => Some(*call),
            _ => None,
        }
    }

    /// Marks the item as final. Reasoning keeps what goes back; Azure sends the encrypted part only with the last event.
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

    /// Adds text to the message that received text last; false if that is final.
    pub(super) fn grow_newest(&mut self, len: usize) -> bool {
        let message = self.newest_text().and_then(|at| self.open_message(at));
        message.is_some_and(|message| {
            message.len += len;
            true
        })
    }

    /// The items for the next request; `id` returns the id of a call.
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

    /// What to keep of a reply for the next request; `None` if its text and calls are enough.
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
        // Text after calls, or in several messages, is an order worth keeping too.
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

/// What the next request needs to send a reply back unchanged, in addition to its text and calls.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::llm::wire) struct SavedOutput {
    /// Another model can neither read encrypted reasoning nor use the phases.
    pub(in crate::llm::wire) model: String,
    /// In the model's order.
    pub(in crate::llm::wire) items: Vec<SavedItem>,
}

/// One item of a saved reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::llm::wire) enum SavedItem {
    Reasoning(Box<RawValue>),
    /// The next part of the text.
    Message {
        /// Length of the message's text in bytes; a blank line separates it from the next one.
        bytes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    /// The call with this id.
    Call(String),
}
