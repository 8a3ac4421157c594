//! `ntfy_subscriptions.json`: a list, or an object of topics as in older versions. The last seen messages are merged into the current entries.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock::{self, Lock};

const MAX_FILE_BYTES: u64 = 4 << 20;
/// How long to wait for another process's write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How far back a poll looks when no message was seen yet, in minutes: as long as servers keep messages.
const LONGEST_LOOK: i64 = 12 * 60;
/// How far the local clock may be ahead of the server's, in seconds.
const SKEW: i64 = 300;
/// For this many seconds a list still treats messages that a session has shown as unread.
const RECENT: i64 = 3_600;
/// The last message that the session's polls have seen: its id, and the server's time of it, as the clocks may differ.
const SEEN: [&str; 2] = ["lastMessageId", "lastMessageTime"];
/// The last message that was listed on request.
const LISTED: [&str; 2] = ["lastListedId", "lastListedTime"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) topic: String,
    pub(crate) label: String,
    pub(crate) seen: LastSeen,
    /// The last message that was listed on request, not just shown by a session.
    listed: LastSeen,
    /// When the topic was last polled or else subscribed to, in Unix seconds.
    checked: Option<i64>,
    /// When the file was read.
    now: i64,
}

/// The last message seen of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LastSeen {
    pub(crate) id: Option<String>,
    /// Unix seconds; 0 when none was seen.
    pub(crate) time: i64,
}

impl Subscription {
    fn new(topic: &str, entry: &Map<String, Value>, now: i64) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::trim);
        let seconds = |key: &str| entry.get(key).and_then(seconds);
        is_name(topic).then(|| {
            let checked = seconds("lastChecked");
            let mark = |[id, time]: [&str; 2]| {
                let id = text(id).filter(|id| is_name(id));
                // If the server no longer has the id and its time is unknown, the time of the last poll is the best bound.
                let bound = id.and(checked).map(|time| time - SKEW);
                LastSeen {
                    id: id.map(str::to_owned),
                    time: seconds(time).or(bound).unwrap_or_default(),
                }
            };
            Self {
                topic: topic.to_owned(),
                label: text("label")
                    .filter(|label| !label.is_empty())
                    .unwrap_or(topic)
                    .to_owned(),
                seen: mark(SEEN),
                listed: mark(LISTED),
                checked: checked.or_else(|| seconds("subscribedAt")),
                now,
            }
        })
    }

    /// The `since` parameter of a poll: the last message, else a duration, which does not require synchronized clocks.
    pub(crate) fn since(&self) -> String {
        if let Some(id) = &self.seen.id {
            return id.clone();
        }
        let passed = self.checked.map(|time| (self.now - time).max(0) / 60 + 1);
        match passed {
            Some(minutes) if minutes < LONGEST_LOOK => format!("{minutes}m"),
            _ => format!("{}h", LONGEST_LOOK / 60),
        }
    }

    /// The subscription for a list: messages that a session has shown within the last hour count as unread.
    #[must_use]
    pub(crate) fn for_list(mut self) -> Self {
        let hour = self.now - RECENT - SKEW;
        if self.seen.id.is_none() || self.seen == self.listed || self.seen.time < hour {
            return self;
        }
        if self.listed.id.is_some() && self.listed.time >= hour {
            self.seen = self.listed.clone();
            return self;
        }
        self.checked = Some(self.now - RECENT);
        self.seen = LastSeen {
            id: None,
            time: hour,
        };
        self
    }
}

/// True for topic names and message ids that are safe unquoted in a URL.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
}

/// A time as found in files: Unix seconds or milliseconds, or RFC 3339.
fn seconds(value: &Value) -> Option<i64> {
    let number = match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            #[allow(clippy::cast_possible_truncation)]
            number.as_f64().map(|number| number as i64)
        })?,
        Value::String(text) => match text.parse::<Timestamp>() {
            Ok(time) => time.as_second(),
            Err(_) => text.parse().ok()?,
        },
        _ => return None,
    };
    let seconds = if number > 100_000_000_000 {
        number / 1_000
    } else {
        number
    };
    (seconds > 0).then_some(seconds)
}

/// Reads the subscriptions. An unreadable file is set aside, with a message to `warn`.
pub(crate) fn read(path: &Path, clock: &Clock, warn: &mut dyn FnMut(String)) -> Vec<Subscription> {
    let parsed = || {
        let bytes = atomic::read(path, MAX_FILE_BYTES).ok()??;
        Some(serde_json::from_slice::<Value>(&bytes).ok().filter(is_form))
    };
    let value = match parsed() {
        None => return Vec::new(),
        Some(Some(value)) => value,
        Some(None) => {
            // Again, under the lock: another program may be writing in place.
            let lock = Lock::take(path, LOCK_TIMEOUT, &Cancel::new());
            match (lock, parsed()) {
                (Ok(_lock), Some(None)) => {
                    let what = format!("{} cannot be understood.", path.display());
                    atomic::set_aside(path, clock, &what)
                        .into_iter()
                        .for_each(&mut *warn);
                    return Vec::new();
                }
                (_, Some(Some(value))) => value,
                _ => return Vec::new(),
            }
        }
    };
    let mut found: Vec<Subscription> = Vec::new();
    let now = clock.now().timestamp().as_second();
    let mut add = |topic: &str, entry: &Map<String, Value>| {
        if let Some(new) = Subscription::new(topic, entry, now)
            && !found.iter().any(|old| old.topic == new.topic)
        {
            found.push(new);
        }
    };
    match &value {
        Value::Array(entries) => {
            for entry in entries.iter().filter_map(Value::as_object) {
                add(topic(entry), entry);
            }
        }
        Value::Object(topics) => {
            for (topic, entry) in topics {
                add(topic, entry.as_object().unwrap_or(&Map::new()));
            }
        }
        _ => {}
    }
    found
}

fn is_form(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn topic(entry: &Map<String, Value>) -> &str {
    entry
        .get("topic")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Who has read the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageReader {
    /// A session that showed them.
    Session,
    /// A list on request.
    List,
}

/// Merges the seen messages into the current entries of the file, in its current layout; everything else stays.
pub(crate) fn remember(
    path: &Path,
    seen: &BTreeMap<String, LastSeen>,
    reader: MessageReader,
    now: &str,
) -> Outcome<()> {
    lock::update_as(path, Access::Private, LOCK_TIMEOUT, |old| {
        let Some(mut value) = old.and_then(|old| serde_json::from_slice::<Value>(&old).ok()) else {
            return Ok(None);
        };
        match &mut value {
            Value::Array(entries) => {
                for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                    if let Some(seen) = seen.get(topic(entry)) {
                        note(entry, seen, reader, now);
                    }
                }
            }
            Value::Object(topics) => {
                for (topic, entry) in topics {
                    if let (Some(seen), Some(entry)) = (seen.get(topic), entry.as_object_mut()) {
                        note(entry, seen, reader, now);
                    }
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(format!("{value:#}\n").into_bytes()))
    })
}

fn note(entry: &mut Map<String, Value>, seen: &LastSeen, reader: MessageReader, now: &str) {
    let marks: &[[&str; 2]] = match reader {
        MessageReader::Session => &[SEEN],
        MessageReader::List => &[SEEN, LISTED],
    };
    for [id_key, time_key] in marks {
        // Another process may have seen later messages.
        let theirs = entry.get(*time_key).and_then(seconds).unwrap_or_default();
        if let Some(id) = &seen.id
            && seen.time >= theirs
        {
            entry.insert((*id_key).to_owned(), id.as_str().into());
            entry.insert((*time_key).to_owned(), seen.time.into());
        }
    }
    entry.insert("lastChecked".to_owned(), now.into());
}

/// Adds a subscription, or updates the label of an existing one; true when it is new.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn add(path: &Path, topic_name: &str, label: &str, clock: &Clock) -> Outcome<bool> {
    let mut new = true;
    change(path, clock, |value| {
        let mut entry = Map::new();
        if !label.is_empty() {
            entry.insert("label".to_owned(), label.into());
        }
        match value {
            Value::Object(topics) => {
                new = !topics.contains_key(topic_name);
                if new {
                    entry.insert("subscribedAt".to_owned(), clock.utc().into());
                }
                match topics.get_mut(topic_name).and_then(Value::as_object_mut) {
                    Some(old) => old.extend(entry),
                    None => drop(topics.insert(topic_name.to_owned(), entry.into())),
                }
            }
            Value::Array(entries) => {
                let mut old = entries.iter_mut().filter_map(Value::as_object_mut);
                if let Some(old) = old.find(|old| topic(old) == topic_name) {
                    new = false;
                    old.extend(entry);
                    return;
                }
                let mut whole = Map::new();
                whole.insert("topic".to_owned(), topic_name.into());
                whole.insert(
                    "label".to_owned(),
                    if label.is_empty() { topic_name } else { label }.into(),
                );
                whole.insert("subscribedAt".to_owned(), clock.utc().into());
                entries.push(whole.into());
            }
            _ => {}
        }
    })?;
    Ok(new)
}

/// Removes a subscription; true when there was one.
///
/// # Errors
/// As [`add`].
pub(crate) fn drop_topic(path: &Path, topic_name: &str, clock: &Clock) -> Outcome<bool> {
    let mut found = false;
    change(path, clock, |value| match value {
        Value::Object(topics) => found = topics.shift_remove(topic_name).is_some(),
        Value::Array(entries) => {
            let before = entries.len();
            entries.retain(|entry| {
                entry
                    .as_object()
                    .is_none_or(|entry| topic(entry) != topic_name)
            });
            found = entries.len() < before;
        }
        _ => {}
    })?;
    Ok(found)
}

/// Changes the file in its current layout. A file that cannot be parsed is set aside first.
fn change(path: &Path, clock: &Clock, edit: impl FnOnce(&mut Value)) -> Outcome<()> {
    // Sets a broken file aside.
    let _ = read(path, clock, &mut |_| {});
    lock::update_as(path, Access::Private, LOCK_TIMEOUT, |old| {
        let mut value = match old {
            None => Value::Array(Vec::new()),
            Some(bytes) if bytes.trim_ascii().is_empty() => Value::Array(Vec::new()),
            Some(bytes) => serde_json::from_slice(&bytes)
                .ok()
                .filter(is_form)
                .ok_or_else(|| {
                    Problem::config(format!("{} cannot be understood.", path.display()))
                        .next("Fix or move the file; it must be a JSON list of subscriptions.")
                })?,
        };
        edit(&mut value);
        Ok(Some(format!("{value:#}\n").into_bytes()))
    })
}
