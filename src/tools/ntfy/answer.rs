//! What a server says of a topic, and the notices made of it (contract/services/ntfy.md).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::file::Seen;
use crate::base::text::clip;

/// What every notice begins with.
const BELL: &str = "🔔 ";
/// Notices of one topic at most.
const MOST: usize = 5;
/// Characters of a title and of a message at most.
const TITLE: usize = 200;
const MESSAGE: usize = 2_000;

/// New messages of one topic.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Title and message in one, oldest first.
    texts: Vec<String>,
    /// The last message, to be remembered.
    pub(crate) last: Option<Seen>,
}

/// Reads an answer line by line. `seen` is dropped, and everything before it: a server that no longer knows the last id sends all
/// that it has.
pub(crate) fn read(body: &[u8], seen: &Seen) -> News {
    let messages: Vec<Map<String, Value>> = body
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(|line: &Map<String, Value>| word(line, "event") == "message")
        .collect();
    let known = |line: &Map<String, Value>| seen.id.as_deref() == Some(word(line, "id"));
    let new: Vec<&Map<String, Value>> = match messages.iter().rposition(known) {
        Some(at) => messages.iter().skip(at + 1).collect(),
        None => {
            let everything = messages.iter().any(|line| time(line) < seen.time);
            let fresh = |line: &&Map<String, Value>| {
                time(line) > seen.time || (time(line) == seen.time && !everything)
            };
            messages.iter().filter(fresh).collect()
        }
    };
    // One whose id cannot be sent back must not hide those before it.
    let mut told = new.iter().rev();
    News {
        last: told
            .find(|line| super::file::is_name(word(line, "id")))
            .map(|line| Seen {
                id: Some(word(line, "id").to_owned()),
                time: time(line),
            }),
        texts: new.into_iter().map(said).collect(),
    }
}

impl News {
    /// The notices, oldest first, the newest when there are many.
    pub(crate) fn notices(&self, label: &str) -> Vec<String> {
        let skipped = self.texts.len().saturating_sub(MOST);
        let mut notices: Vec<String> = self
            .texts
            .iter()
            .skip(skipped)
            .map(|text| format!("{BELL}{label}: {text}"))
            .collect();
        if skipped > 0 {
            notices.push(format!("{BELL}{label}: … {skipped} more"));
        }
        notices
    }
}

/// True for a notice of a message; others are about the list of subscriptions.
pub fn is_message(notice: &str) -> bool {
    notice.starts_with(BELL)
}

fn said(line: &Map<String, Value>) -> String {
    let title = clip(word(line, "title").trim(), TITLE);
    let message = message(line);
    if title.is_empty() {
        message
    } else {
        format!("{title} — {message}")
    }
}

fn message(line: &Map<String, Value>) -> String {
    let text = word(line, "message").trim();
    let decoded = match word(line, "encoding") {
        "base64" => STANDARD
            .decode(text)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_else(|| "(binary message)".to_owned()),
        _ => text.to_owned(),
    };
    let attached = line
        .get("attachment")
        .and_then(Value::as_object)
        .map(|file| word(file, "name"));
    match (decoded.is_empty(), attached) {
        (true, Some(name)) => format!("(attachment {})", clip(name, TITLE)),
        (true, None) => "(no text)".to_owned(),
        (false, _) => clip(&decoded, MESSAGE),
    }
}

fn word<'a>(line: &'a Map<String, Value>, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn time(line: &Map<String, Value>) -> i64 {
    line.get("time").and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_an_odd_id_hides_none_before_it() {
        let body = [
            r#"{"id":"a1","time":5,"event":"message","message":"first"}"#,
            r#"{"id":"../x","time":"soon","event":"message","message":"odd"}"#,
        ]
        .join("\n");
        let news = read(body.as_bytes(), &Seen::default());
        assert_eq!(news.texts, ["first", "odd"]);
        let seen = news.last.unwrap();
        assert_eq!((seen.id.as_deref(), seen.time), (Some("a1"), 5));
    }
}
