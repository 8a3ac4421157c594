//! Both formats of the file, and responses as servers send them.

use super::*;
use crate::alerts::ntfy::answer::{TopicMessages as Answer, read};
use proptest::prelude::*;

fn line(id: &str, time: i64, more: &str) -> String {
    format!(r#"{{"id":"{id}","time":{time},"event":"message","topic":"t"{more}}}"#) + "\n"
}

fn seen(id: &str, time: i64) -> LastSeen {
    LastSeen {
        id: Some(id.to_owned()),
        time,
    }
}

#[test]
fn only_messages_become_notices() {
    let mut body = String::from("{\"event\":\"open\"}\n\nnot json\n[1]\n");
    body += &line("a1", 10, r#","message":"Disk full""#);
    body += &line("a2", 11, r#","title":"Hi","message":"there\nyou""#);
    body += &line("a3", 11, r#","message":"aMO2","encoding":"base64""#);
    body += &line("a4", 12, r#","message":"/w==","encoding":"base64""#);
    body += &line("a5", 13, r#","attachment":{"name":"cam.jpg"}"#);
    body += "{\"event\":\"keepalive\",\"id\":\"k\",\"time\":99}\n{\"event\":\"mess";
    let news = read(body.as_bytes(), &LastSeen::default());
    assert_eq!(
        news.shown("Server", 9, 9_000).notices,
        [
            "🔔 Server: Disk full",
            "🔔 Server: Hi — there\nyou",
            "🔔 Server: hö",
            "🔔 Server: (binary message)",
            "🔔 Server: (attachment cam.jpg)",
        ]
    );
    assert_eq!(news.shown("", 9, 9_000).last, Some(seen("a5", 13)));
    assert_eq!(read(b"", &seen("a5", 13)), Answer::default());
}

#[test]
fn a_seen_message_is_not_shown_again() {
    let mut body = String::new();
    for (id, time) in [("a", 10), ("b", 11), ("c", 11), ("d", 12)] {
        body += &line(id, time, &format!(r#","message":"{id}""#));
    }
    let news = |id, time| {
        read(body.as_bytes(), &seen(id, time))
            .shown("t", 9, 900)
            .notices
    };
    assert_eq!(
        news("b", 11),
        ["🔔 t: c", "🔔 t: d"],
        "the id is among them"
    );
    assert_eq!(news("gone", 11), ["🔔 t: d"], "the server sent everything");
    assert_eq!(
        news("older", 10).len(),
        4,
        "nothing older came: the id was known"
    );
    assert_eq!(news("d", 12), [] as [&str; 0]);
}

#[test]
fn both_file_formats_are_read_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ntfy_subscriptions.json");
    let clock = Clock::new(&Env::from([(
        "MARVIN_NOW",
        "2026-11-21T00:10:00+00:00[UTC]",
    )]));
    let list = r#"[{"topic":"a","label":"A","subscribedAt":"2026-11-21T00:00:00Z","x":[1]},
        {"topic":"b","lastMessageId":"m1","lastChecked":1795210000000},{"topic":"../c"},{"topic":"a"},7]"#;
    let object = r#"{"a":{"label":"A","url":"https://n/a"},"b":{"lastMessageId":"m1","lastChecked":1795210000}}"#;
    for (text, since) in [(list, "11m"), (object, "12h")] {
        fs::write(&path, text).unwrap();
        let found = subscriptions::read(&path, &clock, &mut |w| panic!("{w}"));
        let got: Vec<_> = found
            .iter()
            .map(|s| (s.topic.as_str(), s.label.as_str(), s.since(), s.seen.time))
            .collect();
        assert_eq!(
            got,
            [
                ("a", "A", since.to_owned(), 0),
                ("b", "b", "m1".to_owned(), 1_795_209_700)
            ]
        );
        let seen = BTreeMap::from([("a".to_owned(), seen("n1", 1_795_220_000))]);
        subscriptions::remember(
            &path,
            &seen,
            MessageReader::Session,
            "2026-11-21T12:00:00.000Z",
        )
        .unwrap();
        let after: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let mut before: serde_json::Value = serde_json::from_str(text).unwrap();
        let entry = |value: &mut serde_json::Value| {
            for (key, new) in [
                ("lastMessageId", serde_json::json!("n1")),
                ("lastMessageTime", serde_json::json!(1_795_220_000)),
                ("lastChecked", serde_json::json!("2026-11-21T12:00:00.000Z")),
            ] {
                value[key] = new;
            }
        };
        match &mut before {
            serde_json::Value::Array(items) => {
                entry(&mut items[0]);
                entry(&mut items[3]);
            }
            other => entry(&mut other["a"]),
        }
        assert_eq!(after, before);
    }
    fs::write(&path, "[{\"topic\": ").unwrap();
    let mut warned = Vec::new();
    assert_eq!(
        subscriptions::read(&path, &clock, &mut |w| warned.push(w)),
        []
    );
    assert!(warned[0].contains("was moved to"), "{warned:?}");
}

proptest! {
    #[test]
    fn any_response_is_parsed(
        lines in proptest::collection::vec("[{}\\[\\]\",:0-9a-z\u{e9}]{0,30}|\\{\"event\":\"message\",\"time\":-?[0-9]{1,25}\\}", 0..6),
        time: i64,
    ) {
        let news = read(lines.join("\n").as_bytes(), &seen("x", time));
        prop_assert!(news.shown("t", 5, 900).notices.len() <= 6);
    }
}
