//! The labels of one conversation: which address or number of the user's each of them stands for.
//!
//! A model reads only labels. Where it passes one on to a tool, the tool needs what the user has written: [`ConversationLabels::restored`] puts it back. That
//! goes for addresses, cards and codes that the user gave in this conversation; keys, tokens and passwords are never put back, and neither is a label that
//! somebody typed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::cards::CARD;
use super::codes::OTP;
use super::labels::{redact_with, scrub_with};
use super::rules::EMAIL;

/// Labels of values that a tool may need.
const RESTORABLE: [&str; 3] = [EMAIL, CARD, OTP];
/// More values are not told apart.
const MAX_LABELS: usize = 500;

/// The labels of a conversation: the first value of a kind has the plain one (`[REDACTED_EMAIL]`), each further one a number (`[REDACTED_EMAIL_2]`).
#[derive(Debug, Default)]
pub struct ConversationLabels(Mutex<Vec<Entry>>);

/// A label that occurs in the conversation.
#[derive(Debug)]
struct Entry {
    label: String,
    kind: &'static str,
    /// What the user has written. `None` for what others wrote, for what was said before this process began, and for a label that somebody typed.
    value: Option<String>,
}

impl ConversationLabels {
    /// Another conversation begins.
    pub fn clear(&self) {
        self.entries().clear();
    }

    /// What the user said, as [`super::redact`] does it.
    pub fn redact_said(&self, text: &str) -> String {
        self.note_typed(text);
        let shown = redact_with(text, &mut |label, value| self.label_of_said(label, value));
        self.without_known(shown)
    }

    /// The same, as [`super::scrub`] does it.
    pub fn scrub_said(&self, text: &str) -> String {
        self.note_typed(text);
        let shown = scrub_with(text, &mut |label, value| self.label_of_said(label, value));
        self.without_known(shown)
    }

    /// What somebody else said: a tool, the model, a program. Values of the user have the same label in it, and no other value has.
    pub fn scrub(&self, text: &str) -> String {
        let shown = scrub_with(text, &mut |label, value| self.label_of_other(label, value));
        self.without_known(shown)
    }

    /// Notes the labels in a text that was said before: they stand for something that is not known here.
    pub(crate) fn note(&self, text: &str) {
        let mut entries = self.entries();
        for (label, kind) in typed_labels(text) {
            if entries.len() < MAX_LABELS && entries.iter().all(|entry| entry.label != label) {
                entries.push(Entry {
                    label: label.to_owned(),
                    kind,
                    value: None,
                });
            }
        }
    }

    /// The arguments of a call with what the user has written in the place of its label.
    pub fn restored(&self, args: &str) -> String {
        let entries = self.entries();
        let known = entries.iter().filter_map(|entry| {
            let value = entry.value.as_ref()?;
            args.contains(&entry.label).then_some((entry, value))
        });
        known.fold(args.to_owned(), |args, (entry, value)| {
            // The arguments are JSON.
            let json = Value::from(value.as_str()).to_string();
            args.replace(&entry.label, json.trim_matches('"'))
        })
    }

    /// `text` without the user's numbers, also where nothing beside them says what they are: a tool repeats what it was called with.
    fn without_known(&self, text: String) -> String {
        let entries = self.entries();
        let numbers = entries.iter().filter_map(|entry| {
            let value = entry.value.as_deref().filter(|_| entry.kind != EMAIL)?;
            Some((value, entry.label.as_str()))
        });
        numbers.fold(text, |text, (value, label)| match text.contains(value) {
            true => with_label(&text, value, label),
            false => text,
        })
    }

    /// A label that the user typed stands for itself from now on.
    fn note_typed(&self, text: &str) {
        self.note(text);
        let mut entries = self.entries();
        for (label, _) in typed_labels(text) {
            let typed = entries.iter_mut().filter(|entry| entry.label == label);
            typed.for_each(|entry| entry.value = None);
        }
    }

    fn label_of_said(&self, label: &str, value: &str) -> Option<String> {
        let kind = kind(label)?;
        let mut entries = self.entries();
        if let Some(entry) = entries.iter().find(|entry| entry.is_of(kind, value)) {
            return Some(entry.label.clone());
        }
        Some(match entries.len() < MAX_LABELS {
            true => add(&mut entries, kind, Some(value.to_owned())),
            false => other(&mut entries, kind),
        })
    }

    fn label_of_other(&self, label: &str, value: &str) -> Option<String> {
        let kind = kind(label)?;
        let mut entries = self.entries();
        let known = entries.iter().find(|entry| entry.is_of(kind, value));
        let known = known.map(|entry| entry.label.clone());
        Some(known.unwrap_or_else(|| other(&mut entries, kind)))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_of(&self, kind: &str, value: &str) -> bool {
        self.kind == kind && self.value.as_deref() == Some(value)
    }
}

/// `text` with `label` for every `value` that is not a part of a longer number.
fn with_label(text: &str, value: &str, label: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(value) {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + value.len()..).unwrap_or_default();
        let is_part = before.ends_with(|c: char| c.is_ascii_alphanumeric())
            || after.starts_with(|c: char| c.is_ascii_alphanumeric());
        if let Some(between) = text.get(from..at).filter(|_| !is_part) {
            out.push_str(between);
            out.push_str(label);
            from = at + value.len();
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// The label of a kind for all values that nobody may have put back.
fn other(entries: &mut Vec<Entry>, kind: &'static str) -> String {
    let unknown = entries
        .iter()
        .find(|entry| entry.kind == kind && entry.value.is_none());
    let unknown = unknown.map(|entry| entry.label.clone());
    unknown.unwrap_or_else(|| add(entries, kind, None))
}

fn add(entries: &mut Vec<Entry>, kind: &'static str, value: Option<String>) -> String {
    let is_free = |label: &String| entries.iter().all(|entry| entry.label != *label);
    let numbered = (2..).map(|number| format!("{}_{number}]", kind.trim_end_matches(']')));
    let label = std::iter::once(kind.to_owned())
        .chain(numbered)
        .find(is_free)
        .unwrap_or_default();
    entries.push(Entry {
        label: label.clone(),
        kind,
        value,
    });
    label
}

fn kind(label: &str) -> Option<&'static str> {
    RESTORABLE.into_iter().find(|kind| *kind == label)
}

/// The labels of restorable kinds that stand in `text` as they are, and their kinds.
fn typed_labels(text: &str) -> impl Iterator<Item = (&str, &'static str)> {
    RESTORABLE.into_iter().flat_map(move |kind| {
        let start = kind.trim_end_matches(']');
        text.match_indices(start).filter_map(move |(at, _)| {
            let rest = text.get(at..)?;
            let number = rest.get(start.len()..rest.find(']')?)?;
            let is_number = |number: &str| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            };
            let is_label = number.is_empty() || number.strip_prefix('_').is_some_and(is_number);
            let label = rest.get(..start.len() + number.len() + 1)?;
            is_label.then_some((label, kind))
        })
    })
}
