//! Bookmarks, places, preferences and units through the real binary: existing files are kept, many writers lose nothing.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::words::TextAssertions;

const BOOKMARKS: &str = "config/profiles/main/bookmarks.json";
const PLACES: &str = "config/profiles/main/saved_places.json";

fn list(home: &Home, file: &str) -> Vec<Value> {
    serde_json::from_str(&home.read(file)).unwrap()
}

#[test]
fn bookmarks_are_saved_listed_and_found() {
    let home = Home::new();
    assert_eq!(
        home.said("bookmark_list", json!({})),
        "There are no bookmarks.\n"
    );
    let first = json!({"url": "https://example.org/a", "title": "A page", "tags": "rust, Reading", "notes": "two\nlines"});
    assert_eq!(
        home.said("bookmark_save", first),
        "Bookmarked A page (1 in all).\n"
    );
    home.said(
        "bookmark_save",
        json!({"url": "example.net", "tags": ["é"]}),
    );
    let stored = list(&home, BOOKMARKS);
    assert_eq!(stored[0]["tags"], json!(["rust", "Reading"]));
    assert_eq!(stored[1]["url"], "https://example.net");
    assert_eq!(stored[1]["title"], "https://example.net");
    assert!(stored[1]["saved_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        home.said("bookmark_list", json!({})),
        "https://example.net [é]\nA page [rust, Reading]\n  https://example.org/a\n  two\n  lines\n2 bookmarks.\n"
    );
    assert_eq!(
        home.said("bookmark_list", json!({"limit": 1}))
            .lines()
            .last(),
        Some("1 of 2 bookmarks, the newest first.")
    );
    for (name, args, found) in [
        ("bookmark_list", json!({"tag": "RUST"}), true),
        ("bookmark_list", json!({"tag": "rus"}), false),
        ("bookmark_search", json!({"query": "a PAGE"}), true),
        ("bookmark_search", json!({"query": "lines"}), true),
        ("bookmark_search", json!({"query": "reading"}), true),
        ("bookmark_search", json!({"query": "example.org"}), true),
        ("bookmark_search", json!({"query": "saved_at"}), false),
        ("bookmark_search", json!({"query": "title"}), false),
        ("bookmark_search", json!({"query": "two\nlines"}), true),
    ] {
        let text = home.said(name, args.clone());
        assert_eq!(
            text.contains("https://example.org/a"),
            found,
            "{args}: {text}"
        );
    }
    home.said("bookmark_search", json!({"query": "É"}))
        .assert_has(&["example.net"]);
    for url in ["https://EXAMPLE.org/a/", "example.org/a"] {
        home.refused("bookmark_save", json!({"url": url}))
            .assert_has(&["bookmarked already", "A page"]);
    }
    for url in [
        "",
        "two words",
        "word",
        "https://a.org/\u{0}",
        &"x.".repeat(9_000),
    ] {
        home.refused("bookmark_save", json!({"url": url}));
    }
    assert_eq!(list(&home, BOOKMARKS).len(), 2);
}

#[test]
fn old_bookmarks_are_imported_once_without_loss() {
    let home = Home::new();
    let shared = r#"[{"url": "https://old.org", "title": "Old \u0065ntry", "tags": [], "notes": "", "created": "2024-01-02T03:04:05", "stars": 1.50, "big": 123456789012345678901}]"#;
    home.write("config/bookmarks.json", shared);
    home.said("bookmark_list", json!({}))
        .assert_has(&["https://old.org"]);
    home.said("bookmark_search", json!({"query": "old entry"}))
        .assert_has(&["https://old.org"]);
    assert!(!home.has(BOOKMARKS), "reading writes nothing");
    let expected = home.refused("bookmark_save", json!({"url": "https://old.org"}));
    expected.assert_has(&["since 2024-01-02"]);
    home.said("bookmark_save", json!({"url": "https://new.org"}));
    home.write("config/bookmarks.json", r#"[{"url": "https://later.org"}]"#);
    home.said("bookmark_save", json!({"url": "https://newer.org"}));
    let text = home.read(BOOKMARKS);
    text.assert_has(&[r#""stars": 1.50, "big": 123456789012345678901"#]);
    text.assert_lacks(&["later.org"]);
    let urls: Vec<Value> = list(&home, BOOKMARKS)
        .iter()
        .map(|one| one["url"].clone())
        .collect();
    assert_eq!(
        urls,
        ["https://old.org", "https://new.org", "https://newer.org"]
    );
}

#[test]
fn a_corrupt_file_is_moved_aside_and_reported() {
    for (file, name, args, reader) in [
        (
            BOOKMARKS,
            "bookmark_save",
            json!({"url": "https://a.org"}),
            "bookmark_list",
        ),
        (
            PLACES,
            "save_place",
            json!({"label": "home"}),
            "list_places",
        ),
    ] {
        let home = Home::new();
        home.write(file, "[{\"label\": \"x\",}]");
        home.refused(reader, json!({}))
            .assert_has(&["cannot be understood", "line 1"]);
        assert_eq!(home.read(file), "[{\"label\": \"x\",}]");
        home.said(name, args).assert_has(&["It was moved to"]);
        assert_eq!(list(&home, file).len(), 1);
        let dir = home.config().join("profiles/main");
        let aside = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let aside: Vec<_> = aside
            .filter(|path| path.to_string_lossy().contains(".corrupt-"))
            .collect();
        assert_eq!(
            fs::read_to_string(&aside[0]).unwrap(),
            "[{\"label\": \"x\",}]"
        );
    }
}

#[test]
fn a_bookmark_without_a_date_is_as_old_as_the_one_before_it_also_in_a_search() {
    let home = Home::new();
    let all = json!([
        {"url": "https://unlike.net", "title": "unlike", "saved_at": "2026-03-01T10:00:00.000Z"},
        {"url": "https://undated.org", "title": "undated"},
        {"url": "https://dated.org", "title": "dated", "saved_at": "2026-02-01T10:00:00.000Z"},
    ]);
    home.write(BOOKMARKS, all.to_string());
    let found = home.said("bookmark_search", json!({"query": ".org"}));
    assert!(found.starts_with("undated\n"), "{found}");
}

#[test]
fn unknown_records_are_kept_but_not_shown() {
    let home = Home::new();
    let marks = r#"[7, "s", {}, {"url": "https://a.org"}, {"title": "No address"}]"#;
    home.write(BOOKMARKS, marks);
    assert_eq!(
        home.said("bookmark_list", json!({})),
        "No address\nhttps://a.org\n2 bookmarks.\n"
    );
    home.refused("bookmark_save", json!({"url": "https://"}));
    assert_eq!(home.read(BOOKMARKS), marks);
    home.write(
        PLACES,
        r#"[3, {"label": "Work"}, {"name": "No label"}, {"notes": "x"}]"#,
    );
    assert_eq!(
        home.said("list_places", json!({})),
        "WORK\nNo label\n2 places.\n"
    );
    home.said("save_place", json!({"label": "work", "phone": "1"}));
    assert_eq!(list(&home, PLACES).len(), 4);
}

#[test]
fn places_are_updated_field_by_field() {
    let home = Home::new();
    let at = |moment: &str, args: Value| {
        let run = home.tool("save_place", &args).env("MARVIN_NOW", moment);
        run.run().expect(0).text().to_owned()
    };
    let text = at(
        "2026-01-01T10:00:00+00:00[UTC]",
        json!({"label": " Home ", "name": "Flat", "address": "5 Main St", "lat": 41.15, "lng": -8.61}),
    );
    assert_eq!(text, "Saved home (1 place).\n");
    home.write(
        PLACES,
        home.read(PLACES)
            .replace("\"Flat\"", "\"Flat\", \"floor\": 3"),
    );
    let text = at(
        "2026-01-02T10:00:00+00:00[UTC]",
        json!({"label": "HOME", "phone": "123", "lat": 0, "lng": 0}),
    );
    assert_eq!(text, "Updated home (1 place).\n");
    assert_eq!(
        list(&home, PLACES)[0],
        json!({"label": "home", "name": "Flat", "floor": 3, "address": "5 Main St", "lat": 41.15, "lng": -8.61,
            "phone": "123", "updated_at": "2026-01-02T10:00:00.000Z"})
    );
    home.said(
        "save_place",
        json!({"label": "greenwich", "lat": 51.48, "lng": 0.0, "notes": "tea 🫖"}),
    );
    home.said("save_place", json!({"label": "greenwich", "lat": 51.5}));
    assert_eq!(list(&home, PLACES)[1]["lng"], 0.0);
    assert_eq!(
        home.said("list_places", json!({})),
        "HOME  Flat\n  5 Main St\n  123\n  41.15, -8.61\nGREENWICH\n  tea 🫖\n  51.5, 0\n2 places.\n"
    );
    for args in [
        json!({"label": " "}),
        json!({"label": "a\u{0}b"}),
        json!({"label": "x", "lat": 91.0, "lng": 1.0}),
        json!({}),
    ] {
        home.refused("save_place", args);
    }
    home.refused("remove_place", json!({"label": "hme"}))
        .assert_has(&["Did you mean \"home\"?"]);
    assert_eq!(
        home.said("remove_place", json!({"label": "Home "})),
        "Removed home (1 place left).\n"
    );
    home.refused("remove_place", json!({"label": "home"}));
    for label in ["../../x", "a/b", &"n".repeat(300), "🏠"] {
        home.said("save_place", json!({"label": label}));
        home.said("remove_place", json!({"label": label}));
    }
    assert_eq!(list(&home, PLACES).len(), 1);
}

#[test]
fn concurrent_processes_lose_nothing() {
    let home = Home::new();
    let mut running = Vec::new();
    for n in 0..8 {
        running.push(
            home.tool(
                "bookmark_save",
                &json!({"url": format!("https://a.org/{n}")}),
            )
            .spawn(),
        );
        running.push(
            home.tool("save_place", &json!({"label": format!("place {n}")}))
                .spawn(),
        );
        running.push(
            home.tool(
                "save_place",
                &json!({"label": "one", "notes": n.to_string()}),
            )
            .spawn(),
        );
        let preference = json!({"key": "dietary", "action": "add", "value": format!("d{n}")});
        running.push(home.tool("update_preferences", &preference).spawn());
    }
    for one in running {
        one.wait().expect(0);
    }
    assert_eq!(list(&home, BOOKMARKS).len(), 8);
    assert_eq!(list(&home, PLACES).len(), 9);
    let preferences = home.read("config/profiles/main/preferences.yaml");
    for n in 0..8 {
        preferences.assert_has(&[&format!("d{n}")]);
    }
}

#[test]
fn kill_9_leaves_a_whole_file() {
    let home = Home::new();
    let many: Vec<Value> = (0..20_000)
        .map(|n| json!({"url": format!("https://a.org/{n}"), "title": "t"}))
        .collect();
    home.write(BOOKMARKS, serde_json::to_string(&many).unwrap());
    for n in 0..8u64 {
        let args = json!({"url": format!("https://b.org/{n}")});
        let running = home.tool("bookmark_save", &args).spawn();
        std::thread::sleep(Duration::from_millis(n * 8));
        // It may have exited by itself.
        let _ = kill_process(running.pid(), Signal::KILL);
        let told = running.wait().text().contains("Bookmarked");
        let urls: Vec<Value> = list(&home, BOOKMARKS);
        assert!(urls.len() >= 20_000);
        if told {
            assert_eq!(urls.last().unwrap()["url"], format!("https://b.org/{n}"));
        }
    }
    home.said("bookmark_save", json!({"url": "https://c.org"}));
}

#[test]
fn units_are_converted_by_phrase() {
    let home = Home::new();
    for (prompt, answer) in [
        ("convert 5 miles to km", "5 mi = 8.04672 km\n"),
        ("Convert 5 ft 3 in to cm.", "5 ft 3 in = 160.02 cm\n"),
        ("convert 20 °C to °F", "20 °C = 68 °F\n"),
        ("convert 3 GiB into MB", "3 GiB = 3221.225472 MB\n"),
    ] {
        let run = home.marvin().args([
            "--non-interactive",
            "--provider",
            "offline",
            "--prompt",
            prompt,
        ]);
        let output = run.run().expect(0);
        assert!(
            output.text().ends_with(answer),
            "{prompt}: {}",
            output.text()
        );
    }
}
