//! Parses a server's messages on a topic, and turns them into notices (<https://docs.ntfy.sh/subscribe/api/>).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::text::clip;
use crate::store::subscriptions::LastSeen;

const NOTICE_PREFIX: &str = "🔔 ";
/// Maximum characters of a title and of a message.
const MAX_TITLE_CHARS: usize = 200;
const MESSAGE: usize = 2_000;

/// New messages of one topic, oldest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TopicMessages(Vec<NtfyMessage>);

#[derive(Debug, PartialEq, Eq)]
struct NtfyMessage {
    /// Title and message in one.
    text: String,
    /// The position to remember once it was shown; `None` for an id that cannot be sent back.
    mark: Option<LastSeen>,
}

/// The messages that are shown, and the position to remember: never past one that was not shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownMessages {
    /// One line or more for each.
    pub(crate) notices: Vec<String>,
    pub(crate) last: Option<LastSeen>,
    /// Number of messages left for the next time.
    pub(crate) left: usize,
}

/// Parses a response line by line. `seen` and everything before it is dropped: a server that no longer knows the last id sends all that it has.
pub(crate) fn read(body: &[u8], seen: &LastSeen) -> TopicMessages {
    let messages: Vec<Map<String, Value>> = body
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(|line: &Map<String, Value>| word(line, "event") == "message")
        .collect();
    let known = |line: &Map<String, Value>| seen.id.as_deref() == Some(word(line, "id"));
    let new: Vec<&Map<String, Value>> = match messages.iter().rposition(known) {
        Some(index) => messages.iter().skip(index + 1).collect(),
        None => {
            let everything = messages.iter().any(|line| time(line) < seen.time);
            let fresh = |line: &&Map<String, Value>| {
                time(line) > seen.time || (time(line) == seen.time && !everything)
            };
            messages.iter().filter(fresh).collect()
        }
    };
    let message = |line: &Map<String, Value>| NtfyMessage {
        text: said(line),
        mark: crate::store::subscriptions::is_name(word(line, "id")).then(|| LastSeen {
            id: Some(word(line, "id").to_owned()),
            time: time(line),
        }),
    };
    TopicMessages(new.into_iter().map(message).collect())
}

impl TopicMessages {
    /// The first messages, at most `max` and about `chars` characters, but at least one. Messages whose ids cannot be sent back are shown with the
    /// next one that has an id; otherwise they would be repeated forever.
    pub(crate) fn shown(&self, label: &str, max: usize, characters: usize) -> ShownMessages {
        let mut shown = ShownMessages::default();
        let mut length = 0;
        for (number, message) in self.0.iter().enumerate() {
            length += message.text.chars().count();
            let full = number >= max || length > characters;
            if number > 0 && full && shown.last.is_some() {
                break;
            }
            shown
                .notices
                .push(format!("{NOTICE_PREFIX}{label}: {}", message.text));
            shown.last = message.mark.clone().or(shown.last.take());
        }
        shown.left = self.0.len() - shown.notices.len();
        shown
    }
}

/// True for the notice of a message; others are about the list of subscriptions.
pub(crate) fn is_message(notice: &str) -> bool {
    notice.starts_with(NOTICE_PREFIX)
}

fn said(line: &Map<String, Value>) -> String {
    let title = clip(word(line, "title").trim(), MAX_TITLE_CHARS);
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
        (true, Some(name)) => format!("(attachment {})", clip(name, MAX_TITLE_CHARS)),
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
    fn a_message_with_an_invalid_id_hides_no_earlier_one() {
        let body = [
            r#"{"id":"a1","time":5,"event":"message","message":"first"}"#,
            r#"{"id":"../x","time":"soon","event":"message","message":"odd"}"#,
        ]
        .join("\n");
        let news = read(body.as_bytes(), &LastSeen::default()).shown("t", 9, 900);
        assert_eq!(news.notices, ["🔔 t: first", "🔔 t: odd"]);
        let seen = news.last.unwrap();
        assert_eq!((seen.id.as_deref(), seen.time), (Some("a1"), 5));
    }

    #[test]
    fn an_unshown_message_is_not_marked_as_seen() {
        let line = |id: &str, n: i64| {
            format!(r#"{{"id":"{id}","time":{n},"event":"message","message":"m{n}"}}"#) + "\n"
        };
        let body: String = (1..=12).map(|n| line(&format!("i{n}"), n)).collect();
        let news = read(body.as_bytes(), &LastSeen::default());
        let first = news.shown("t", 5, 900);
        assert_eq!((first.notices.len(), first.left), (5, 7));
        assert_eq!(first.notices[4], "🔔 t: m5");
        let rest = read(body.as_bytes(), &first.last.unwrap()).shown("t", 9, 900);
        assert_eq!((rest.notices.len(), rest.left), (7, 0));
        assert_eq!(rest.notices[0], "🔔 t: m6");
        assert_eq!(news.shown("t", 9, 5).notices.len(), 2, "two letters each");
        assert_eq!(news.shown("t", 9, 0).notices.len(), 1);
        let odd = line("../x", 1).repeat(3) + &line("a", 2) + &line("b", 3);
        let odd = read(odd.as_bytes(), &LastSeen::default()).shown("t", 1, 900);
        assert_eq!((odd.notices.len(), odd.left), (4, 1));
    }
}
