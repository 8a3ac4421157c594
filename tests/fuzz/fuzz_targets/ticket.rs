//! Ticket files of any bytes: read, changed, noted on; only what was meant changes, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::front_matter::{FrontMatter, NewTicket, lines, with_note};

/// The lines of a file but those that say `key`.
fn others<'a>(doc: &FrontMatter<'_>, bytes: &'a [u8], key: &str) -> Vec<&'a [u8]> {
    let said = doc
        .fields
        .iter()
        .filter(|field| field.key == key.as_bytes())
        .count();
    let start = format!("{key}:");
    let mut left = said;
    let marker = |line: &[u8]| line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) == b"---";
    // The front matter comes before anything that looks like it, except for text before the first marker.
    let open = lines(bytes).position(|(_, line)| marker(line));
    let kept = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(at, line)| {
            let own = Some(*at) > open && left > 0 && line.starts_with(start.as_bytes());
            left -= usize::from(own);
            !own
        });
    kept.map(|(_, line)| line).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let doc = FrontMatter::parse(bytes);
    let title = doc.title();
    assert!(!title.contains('\n'));
    let _ = (doc.list("deps"), doc.get("id"));
    for key in ["status", "deps", "links", "parent"] {
        let Some(new) = doc.set(key, "closed") else {
            continue;
        };
        let again = FrontMatter::parse(&new);
        assert_eq!(again.get(key).as_deref(), Some("closed"));
        assert_eq!(again.title(), title);
        assert_eq!(again.set(key, "closed").as_deref(), Some(new.as_slice()));
        assert!(new.len() <= bytes.len() + (key.len() + 16) * (1 + doc.fields.len()));
        // An opening line that ends the file gets its own end.
        if ![&b"---"[..], b"---\r"]
            .iter()
            .any(|end| bytes.ends_with(end))
        {
            assert_eq!(others(&again, &new, key), others(&doc, bytes, key));
        }
        let rest = |doc: &FrontMatter<'_>| {
            let rest = doc
                .fields
                .iter()
                .filter(|field| field.key != key.as_bytes());
            rest.map(|field| (field.key.to_vec(), field.value().into_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(rest(&again), rest(&doc));
    }

    let words = String::from_utf8_lossy(bytes);
    let noted = with_note(bytes, "now", &words);
    assert!(noted.starts_with(bytes));
    assert!(noted.len() <= 8 * bytes.len() + 64);
    if doc.is_settled() {
        let again = FrontMatter::parse(&noted);
        assert_eq!(again.get("status"), doc.get("status"));
        assert!(again.title() == title || !bytes.ends_with(b"\n"));
    }

    // A new ticket contains what it was given, whatever the text.
    let (one, two) = words.split_at(words.floor_char_boundary(words.len() / 2));
    let new = NewTicket {
        title: one.to_owned(),
        description: words.clone().into_owned(),
        acceptance: two.to_owned(),
        assignee: two.to_owned(),
        external_ref: one.to_owned(),
        tags: vec![one.to_owned(), two.to_owned()],
        ..NewTicket::default()
    };
    let file = new.text("id-1", "now").into_bytes();
    let made = FrontMatter::parse(&file);
    assert_eq!(made.get("id").as_deref(), Some("id-1"));
    assert_eq!(made.get("status").as_deref(), Some("open"));
    assert!(!made.title().is_empty());
    let known = [
        "id",
        "status",
        "deps",
        "links",
        "created",
        "type",
        "priority",
        "assignee",
        "external-ref",
        "tags",
    ];
    assert!(
        made.fields
            .iter()
            .all(|field| known.iter().any(|key| key.as_bytes() == field.key))
    );
    assert_eq!(lines(&file).filter(|(_, line)| *line == b"---").count(), 2);
});
