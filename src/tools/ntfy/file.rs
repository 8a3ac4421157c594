//! `ntfy_subscriptions.json`: a list, or the older object of topics; what was seen is added to the entries as they are then
//! (contract/interfaces.md 10.1).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Outcome, Problem};
use crate::disk::atomic;
use crate::disk::lock::{self, Lock};

/// Bytes of the file at most.
const CAP: u64 = 4 << 20;
/// How long another process's writing is waited for.
const WAIT: Duration = Duration::from_secs(2);
/// How far a first poll looks back (contract/services/ntfy.md: a duration, not everything).
const FIRST: &str = "12h";
/// Seconds by which the clock here may be ahead of the server's.
const SKEW: i64 = 300;
/// The server's time of the last message, beside the keys of the contract: the clock here and there may differ.
const TIME_KEY: &str = "lastMessageTime";
/// The same two of the last message that `ntfy_list` gave.
const LISTED_ID_KEY: &str = "lastListedId";
const LISTED_TIME_KEY: &str = "lastListedTime";

/// One subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) topic: String,
    pub(crate) label: String,
    pub(crate) seen: Seen,
    /// The last message that `ntfy_list` gave; what came after it was only shown.
    listed: Seen,
    /// When the file was last polled or subscribed to, in Unix seconds.
    since: Option<i64>,
}

/// The last message seen of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: Option<String>,
    /// In Unix seconds; 0 when nothing was seen.
    pub(crate) time: i64,
}

impl Subscription {
    fn new(topic: &str, entry: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::trim);
        let seconds = |key: &str| entry.get(key).and_then(seconds);
        is_name(topic).then(|| {
            let id = text("lastMessageId").filter(|id| is_name(id));
            let checked = seconds("lastChecked").map(|time| time - SKEW);
            Self {
                topic: topic.to_owned(),
                label: text("label")
                    .filter(|label| !label.is_empty())
                    .unwrap_or(topic)
                    .to_owned(),
                seen: Seen {
                    id: id.map(str::to_owned),
                    // Without the server's time, the time of the last poll is the best bound for an id that is gone.
                    time: seconds(TIME_KEY).or(id.and(checked)).unwrap_or_default(),
                },
                listed: Seen {
                    id: text(LISTED_ID_KEY)
                        .filter(|id| is_name(id))
                        .map(str::to_owned),
                    time: seconds(LISTED_TIME_KEY).unwrap_or_default(),
                },
                since: checked.or_else(|| seconds("subscribedAt")),
            }
        })
    }

    /// The subscription as it was before messages were shown that nobody listed, `hour_ago` at the earliest.
    pub(crate) fn unlisted(&self, hour_ago: i64) -> Self {
        let mut all = self.clone();
        if self.seen.time <= self.listed.time.max(hour_ago) {
            return all;
        }
        all.seen = if self.listed.time >= hour_ago {
            self.listed.clone()
        } else {
            all.since = Some(hour_ago);
            Seen {
                id: None,
                time: hour_ago,
            }
        };
        all
    }

    /// The `since` of a poll.
    pub(crate) fn since(&self) -> String {
        match (&self.seen.id, self.since) {
            (Some(id), _) => id.clone(),
            (None, Some(time)) => time.to_string(),
            (None, None) => FIRST.to_owned(),
        }
    }
}

/// What may stand in an address unquoted: names of topics and ids of messages.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
}

/// A time as files have it: Unix seconds or milliseconds, or RFC 3339.
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

/// The subscriptions; a file that cannot be understood is set aside and `warn` told.
pub(crate) fn read(path: &Path, clock: &Clock, warn: &mut dyn FnMut(String)) -> Vec<Subscription> {
    let parsed = || {
        let bytes = atomic::read(path, CAP).ok()??;
        Some(serde_json::from_slice::<Value>(&bytes).ok().filter(is_form))
    };
    let value = match parsed() {
        None => return Vec::new(),
        Some(Some(value)) => value,
        Some(None) => {
            // Once more under the lock: another program may write in place.
            let lock = Lock::take(path, WAIT, &Cancel::new());
            match (lock, parsed()) {
                (Ok(_lock), Some(None)) => {
                    if let Ok(aside) = atomic::set_aside(path, clock) {
                        warn(format!(
                            "{} could not be read and was moved to {}.",
                            path.display(),
                            aside.display()
                        ));
                    }
                    return Vec::new();
                }
                (_, Some(Some(value))) => value,
                _ => return Vec::new(),
            }
        }
    };
    let mut found: Vec<Subscription> = Vec::new();
    let mut add = |topic: &str, entry: &Map<String, Value>| {
        if let Some(new) = Subscription::new(topic, entry)
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

/// Adds what was seen to the entries that the file has now, in the form that it has; everything else in it stays.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn remember(path: &Path, seen: &BTreeMap<String, Seen>, now: &str) -> Outcome<()> {
    put_seen(path, seen, now, false)
}

/// [`remember`], for what was listed and not only shown.
///
/// # Errors
/// As [`remember`].
pub(crate) fn remember_listed(
    path: &Path,
    seen: &BTreeMap<String, Seen>,
    now: &str,
) -> Outcome<()> {
    put_seen(path, seen, now, true)
}

fn put_seen(path: &Path, seen: &BTreeMap<String, Seen>, now: &str, listed: bool) -> Outcome<()> {
    lock::update(path, WAIT, |old| {
        let Some(mut value) = old.and_then(|old| serde_json::from_slice::<Value>(&old).ok()) else {
            return Ok(None);
        };
        match &mut value {
            Value::Array(entries) => {
                for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                    if let Some(seen) = seen.get(topic(entry)) {
                        note(entry, seen, now, listed);
                    }
                }
            }
            Value::Object(topics) => {
                for (topic, entry) in topics {
                    if let (Some(seen), Some(entry)) = (seen.get(topic), entry.as_object_mut()) {
                        note(entry, seen, now, listed);
                    }
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(format!("{value:#}\n").into_bytes()))
    })
}

fn note(entry: &mut Map<String, Value>, seen: &Seen, now: &str, listed: bool) {
    // Another process may have seen more meanwhile.
    let theirs = entry.get(TIME_KEY).and_then(seconds).unwrap_or_default();
    if let Some(id) = &seen.id
        && seen.time >= theirs
    {
        entry.insert("lastMessageId".to_owned(), id.as_str().into());
        entry.insert(TIME_KEY.to_owned(), seen.time.into());
    }
    if let Some(id) = seen.id.as_ref().filter(|_| listed) {
        entry.insert(LISTED_ID_KEY.to_owned(), id.as_str().into());
        entry.insert(LISTED_TIME_KEY.to_owned(), seen.time.into());
    }
    entry.insert("lastChecked".to_owned(), now.into());
}

/// Adds a subscription, or gives an existing one a new label; true when it is new.
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

/// Takes a subscription out; true when there was one.
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

/// Changes the file in the form that it has; one that cannot be understood is set aside before.
fn change(path: &Path, clock: &Clock, edit: impl FnOnce(&mut Value)) -> Outcome<()> {
    // Sets a broken file aside.
    let _ = read(path, clock, &mut |_| {});
    lock::update(path, WAIT, |old| {
        let mut value = match old {
            None => Value::Array(Vec::new()),
            Some(bytes) if bytes.trim_ascii().is_empty() => Value::Array(Vec::new()),
            Some(bytes) => serde_json::from_slice(&bytes)
                .ok()
                .filter(is_form)
                .ok_or_else(|| {
                    Problem::config(format!("{} cannot be understood.", path.display()))
                        .next("Mend or move the file; it is a list of subscriptions in JSON.")
                })?,
        };
        edit(&mut value);
        Ok(Some(format!("{value:#}\n").into_bytes()))
    })
}
