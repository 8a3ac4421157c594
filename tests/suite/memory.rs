//! `marvin memory` through the real binary: shown, searched, exported, merged and erased; many writers at once, kill -9, corrupt files.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::downloads::files;
use crate::support::conversation::{playing, says};
use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::stages::{ollama_by_stage, ollama_says};
use crate::support::wait::until;
use crate::support::words::TextAssertions;

const DIARY: &str = "config/profiles/main/memory/diary.json";
const GRAPH: &str = "config/profiles/main/memory/graph.json";
const MEMORY: &str = "config/profiles/main/memory";

fn memory(home: &Home, words: &str) -> Marvin {
    home.marvin()
        .arg("memory")
        .args(words.split(' '))
        .limit(Duration::from_secs(60))
}

fn run(home: &Home, words: &str) -> Done {
    memory(home, words).run()
}

fn row(date: &str, summary: &str, topics: &[&str]) -> Value {
    json!({"date": date, "source": "text", "summary": summary, "topics": topics, "created": "2026-01-20T20:00:00Z", "updated": "2026-01-20T20:00:00Z"})
}

fn node(id: &str, parent: Option<&str>, name: &str, data: &str) -> Value {
    json!({"id": id, "parent": parent, "name": name, "description": "", "data": data, "tokens": 0, "accesses": 0, "last_access": "2026-01-10T08:00:00Z", "created": "2026-01-10T08:00:00Z", "updated": "2026-01-10T08:00:00Z"})
}

/// A home in which something is remembered.
fn filled() -> Home {
    let home = Home::new();
    let rows = [
        row("2026-01-20", "The user bought a kayak.", &["boats"]),
        row(
            "2026-02-11",
            "They paddled round Ulva\u{1b}[31m.",
            &["boats", "trips"],
        ),
    ];
    home.write(DIARY, json!({"version": 1, "rows": rows}).to_string());
    let nodes = [
        node("root", None, "Root", ""),
        node("user", Some("root"), "User", "The user lives in Oban"),
        node(
            "directives",
            Some("root"),
            "Directives",
            "Always answer in metric",
        ),
        node("world", Some("root"), "World", ""),
        node(
            "b1",
            Some("user"),
            "Boats",
            "The kayak is called Selkie\nIt leaks",
        ),
    ];
    home.write(GRAPH, json!({"version": 1, "nodes": nodes}).to_string());
    home
}

/// The bytes of all files below a folder, and their names.
fn bytes_below(dir: &Path) -> String {
    let mut out = String::new();
    for path in files(dir) {
        out.push_str(&path.display().to_string());
        out.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
    }
    out.to_lowercase()
}

#[test]
fn the_memory_is_shown_and_searched() {
    let home = filled();
    let shown = run(&home, "show").expect(0).text().to_owned();
    shown.assert_has(&[
        "2026-01-20  The user bought a kayak. [boats]",
        "User (user, changed 2026-01-10)\n  - The user lives in Oban\n  Boats (b1, changed 2026-01-10)\n    - The kayak is called Selkie\n    - It leaks\n",
        "2 diary entries and 4 facts, in ",
    ]);
    assert!(!shown.contains('\u{1b}'));
    let shown: Value = serde_json::from_str(run(&home, "show --json").expect(0).text()).unwrap();
    assert_eq!(
        (
            shown["rows"][1]["date"].as_str(),
            shown["nodes"][4]["name"].as_str()
        ),
        (Some("2026-02-11"), Some("Boats"))
    );
    let found = run(&home, "search kayaks selkie")
        .expect(0)
        .text()
        .to_owned();
    found.assert_has(&["2026-01-20"]);
    found.assert_lacks(&["2026-02-11"]);
    found.assert_has(&["User > Boats (b1)\n  - The kayak is called Selkie\n"]);
    assert_eq!(
        run(&home, "search zebra").expect(0).text(),
        "Nothing is remembered about zebra.\n"
    );
    // Looking changes nothing.
    assert!(!home.has(&format!("{MEMORY}/lock")));
    let empty = Home::new();
    assert_eq!(
        run(&empty, "show").expect(0).text(),
        "Nothing is remembered in the profile \"main\".\n"
    );
    assert!(!empty.has("config/profiles"));
}

#[test]
fn an_export_is_merged_into_another_memory() {
    let home = filled();
    let said = run(&home, "export kept.json").expect(0).text().to_owned();
    said.assert_has(&["kept.json"]);
    run(&home, "export kept.json")
        .expect(1)
        .stderr_has(&["exists already"]);
    let printed: Value = serde_json::from_str(run(&home, "export").expect(0).text()).unwrap();
    let kept = home.read("work/kept.json");
    assert_eq!(
        serde_json::from_str::<Value>(&kept).unwrap()["rows"],
        printed["rows"]
    );

    let other = Home::new();
    other.write(
        DIARY,
        json!({"version": 1, "rows": [row("2026-01-20", "They slept.", &["sleep"])]}).to_string(),
    );
    other.write("work/kept.json", &kept);
    assert_eq!(
        run(&other, "import kept.json").expect(0).text(),
        "Added 1 day, 4 facts and 1 node; 1 day said more than before.\n"
    );
    assert_eq!(
        run(&other, "import kept.json").expect(0).text(),
        "Added 0 days, 0 facts and 0 nodes; 0 days said more than before.\n"
    );
    other
        .read(DIARY)
        .assert_has(&["They slept. The user bought a kayak."]);
    other.read(GRAPH).assert_has(&["Selkie"]);
    other.write("work/wrong.json", "{\"version\": 9}");
    run(&other, "import wrong.json")
        .expect(1)
        .stderr_has(&["version 9"]);
}

#[test]
fn nothing_of_a_forgotten_word_is_left_below_the_memory() {
    let home = filled();
    home.write(
        &format!("{MEMORY}/diary.json.bad-20260101_000000"),
        "{\"x\": \"KAYAK",
    );
    home.write(&format!("{MEMORY}/.graph.jsonXyZ.tmp"), "the kayak");
    home.write(&format!("{MEMORY}/prompts/turn-1.json"), "a kayak");
    home.write(&format!("{MEMORY}/vectors.json"), "{\"kayak\":[1]}");
    home.write(
        "config/profiles/main/chat_log.json",
        "[{\"role\":\"you\",\"text\":\"my kayak\"}]",
    );
    let before = bytes_below(&home.path().join(MEMORY));
    let refused = run(&home, "forget kayak").expect(1);
    refused.stderr_has(&["--yes"]);
    refused.text().assert_has(&[
        "diary  2026-01-20",
        "fact   User > Boats: The kayak",
        "file   diary.json.bad-",
        "chat_log.json",
    ]);
    assert_eq!(bytes_below(&home.path().join(MEMORY)), before);
    let done = run(&home, "forget kayak --yes").expect(0).text().to_owned();
    assert!(
        done.starts_with("Erased: 1 diary entry, 1 fact, 4 other files.\n"),
        "{done}"
    );
    done.assert_has(&["chat_log.json"]);
    let left = bytes_below(&home.path().join(MEMORY));
    left.assert_has(&["it leaks"]);
    left.assert_lacks(&["kayak"]);
    run(&home, "forget kayak")
        .expect(0)
        .stdout_starts_with("There is nothing to erase.\n");
    run(&home, "forget all --yes").expect(0);
    bytes_below(&home.path().join(MEMORY)).assert_lacks(&["oban", "ulva"]);
}

#[test]
fn everywhere_means_log_sessions_and_history_too() {
    const PROFILE: &str = "config/profiles/main";
    let home = filled();
    home.write(
        &format!("{PROFILE}/history"),
        "where is my kayak\nlist files\n",
    );
    home.write(
        &format!("{PROFILE}/chat_log.json.backup.20260101_000000"),
        "[{\"role\":\"you\",\"text\":\"my kayak\"},{\"role\":\"you\",\"text\":\"tea\"}]",
    );
    home.write(
        &format!("{PROFILE}/logs/context-backup-1.json"),
        "[\"a kayak\"]",
    );
    let server = playing(["A kayak is a boat.", "Tea.", "Rain."].map(says));
    home.chat(&server)
        .stdin("tell me of my kayak\nand tea?\n")
        .run()
        .expect(0);
    let profile = home.path().join(PROFILE);
    let before = bytes_below(&profile);
    let refused = run(&home, "forget kayak --everywhere").expect(1);
    refused.stderr_has(&["Nothing was erased", "--yes"]);
    refused.text().assert_has(&[
        "  diary  2026-01-20",
        "you: tell me of my kayak\n",
        "you: my kayak (chat_log.json.backup.20260101_000000)\n",
        ": A kayak is a boat.\n",
        "  input  where is my kayak\n",
        "  file   context-backup-1.json\n",
        "Out of reach: what the provider",
    ]);
    assert_eq!(bytes_below(&profile), before);
    let done = run(&home, "forget kayak --everywhere --yes")
        .expect(0)
        .text()
        .to_owned();
    done.assert_has(&[
        "Erased: 1 diary entry, 1 fact, 3 entries of the chat log, ",
        " in 1 session, ",
        "1 backup.\n",
    ]);
    let left = bytes_below(&profile);
    left.assert_has(&["it leaks", "and tea?", "list files", "tea."]);
    left.assert_lacks(&["kayak"]);
    run(&home, "forget kayak --everywhere")
        .expect(0)
        .stdout_starts_with("There is nothing to erase.\n");
    // The session goes on, and what was before it is as it was.
    let again = home.chat(&server).arg("-c").stdin("and rain?\n").run();
    again.expect(0).stdout_has(&["[forgotten]"]);
    let sent = server.request(2).json().to_string();
    sent.assert_has(&["[forgotten]", "and tea?", "Tea.", "and rain?"]);
    sent.assert_lacks(&["kayak"]);
    run(&home, "forget all --everywhere --yes").expect(0);
    bytes_below(&profile).assert_lacks(&["tea", "rain", "list files"]);
}

#[test]
fn a_session_that_is_open_is_named_and_loses_nothing() {
    let home = Home::new();
    let server = playing(["A kayak is a boat.", "Tea."].map(says));
    let mut open = home.chat(&server).stdin_open().spawn();
    open.write(b"tell me of my kayak\n");
    let limit = Duration::from_secs(30);
    open.wait_stdout("A kayak is a boat.", limit);
    let sessions = home.path().join("config/profiles/main/sessions");
    until("the end of the turn", || {
        bytes_below(&sessions).contains("\"type\":\"turn\"")
    });
    let told = run(&home, "forget kayak --everywhere --yes").expect(0);
    told.stdout_has(&[
        "Not changed; repeat it when that is possible:\n  Session ",
        " is open in another Marvin",
    ]);
    open.write(b"and tea?\n");
    open.wait_stdout("Tea.", limit);
    open.close_stdin();
    open.wait().expect(0);
    bytes_below(&sessions).assert_has(&["tell me of my kayak", "and tea?"]);
    run(&home, "forget kayak --everywhere --yes").expect(0);
    let left = bytes_below(&home.path().join("config/profiles/main"));
    left.assert_has(&["and tea?"]);
    left.assert_lacks(&["kayak"]);
}

#[test]
fn a_long_memory_is_shown_in_pages() {
    let home = Home::new();
    let rows: Vec<Value> = (0..120)
        .map(|n| {
            row(
                &format!("2026-{:02}-{:02}", n / 28 + 1, n % 28 + 1),
                &format!("Day {n}."),
                &[],
            )
        })
        .collect();
    home.write(DIARY, json!({"version": 1, "rows": rows}).to_string());
    let mut nodes = vec![node("user", Some("root"), "User", "Lives in Oban")];
    nodes.extend((0..70).map(|n| {
        node(
            &format!("n{n:02}"),
            Some("user"),
            &format!("Place {n:02}"),
            &format!("Fact {n}"),
        )
    }));
    home.write(GRAPH, json!({"version": 1, "nodes": nodes}).to_string());
    let first = run(&home, "show").expect(0).text().to_owned();
    first.assert_has(&[
        "  Day 70.\n",
        "  Day 119.\n",
        "User (user, changed 2026-01-10)\n  - Lives in Oban\n  Place 00 (n00",
        "\n120 diary entries and 71 facts, in ",
        "Page 1 of 3, the latest days first, with 50 days and places of the graph each. More: show --page 2.\n",
    ]);
    first.assert_lacks(&["  Day 69.\n", "Place 49"]);
    let second = run(&home, "show --page 2").expect(0).text().to_owned();
    second.assert_has(&["  Day 20.\n", "  Day 69.\n", "\nUser …\n  Place 49 (n49"]);
    second.assert_lacks(&["  Day 70.\n", "Oban"]);
    let last = run(&home, "show --limit 40 --page 3").expect(0);
    last.stdout_has(&["  Day 0.\n", "  Day 39.\n", "Page 3 of 3"]);
    last.stdout_lacks(&["  Day 40.\n", "Place", "More:"]);
    run(&home, "show --page 4")
        .expect(1)
        .stderr_has(&["There is no page 4. The last one is 3."]);
    let all: Value = serde_json::from_str(run(&home, "show --json").expect(0).text()).unwrap();
    assert_eq!(all["rows"].as_array().unwrap().len(), 120);
    let some = run(&home, "show --json --limit 3").expect(0);
    let some: Value = serde_json::from_str(some.text()).unwrap();
    assert_eq!(some["rows"][2]["summary"], "Day 119.");
    assert_eq!(some["nodes"].as_array().unwrap().len(), 3);
    // In a conversation the command alone shows the latest.
    let chat = home.marvin().args(["--plain", "--provider", "offline"]);
    let chat = chat.stdin("/memory\n").run().expect(0).text().to_owned();
    chat.assert_has(&["Day 119.", "Day 112.", "More: show --limit 8 --page 2."]);
    chat.assert_lacks(&["Day 111."]);
}

#[test]
fn help_is_shown_and_nothing_done_behind_every_command() {
    let home = filled();
    let before = bytes_below(&home.path().join(MEMORY));
    for command in [
        "show",
        "search tea",
        "forget all --yes",
        "export out.json",
        "import none.json",
        "clean",
        "topics",
    ] {
        for flag in ["--help", "-h"] {
            run(&home, &format!("{command} {flag}"))
                .expect(0)
                .stdout_has(&["marvin memory forget WORD… [--everywhere] [--yes]"]);
        }
        let chat = home.marvin().args(["--plain", "--provider", "offline"]);
        let chat = chat.stdin(format!("/memory {command} --help\n")).run();
        chat.expect(0)
            .stdout_has(&["/memory forget WORD… [--everywhere] [--yes]"]);
    }
    run(&home, "--help")
        .expect(0)
        .stdout_has(&["show [--limit N]"]);
    assert_eq!(bytes_below(&home.path().join(MEMORY)), before);
    assert!(!home.has("work/out.json"));
}

#[test]
fn a_conversation_forgets_what_was_typed_to_forget_it() {
    let home = filled();
    let chat = home.marvin().args(["--plain", "--provider", "offline"]);
    let chat = chat.stdin("/memory search kayak\n/memory forget kayak --everywhere\n/memory forget kayak --everywhere --yes\n");
    let said = chat.run().expect(0).text().to_owned();
    said.assert_has(&[
        "/memory forget kayak --everywhere --yes erases it",
        "Erased: ",
    ]);
    bytes_below(&home.path().join("config/profiles/main")).assert_lacks(&["kayak"]);
}

#[test]
fn a_corrupt_memory_is_set_aside_and_said_so() {
    let home = filled();
    home.write(DIARY, "{\"version\": 1, \"rows\": [");
    run(&home, "show")
        .expect(0)
        .stderr_has(&["cannot be understood", ".bad-"])
        .stdout_has(&["Other files there:\n  diary.json.bad-"]);
    assert_eq!(run(&home, "show").expect(0).errors(), "");
}

#[test]
fn maintenance_needs_a_model_and_tells_no_text() {
    let home = filled();
    run(&home, "clean")
        .expect(1)
        .stderr_has(&["needs a language model"]);
    let home = filled();
    let server = Server::answering(|request, _| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let system = body["messages"][0]["content"].as_str().unwrap();
        let answer = match system.lines().next().unwrap() {
            "Stage: diary_topics" => "{\"boats\":\"boating\"}",
            "Stage: diary_clean" => "The user bought a kayak.",
            other => panic!("{other}"),
        };
        Answer::json(&json!({"message": {"content": answer}, "done": true}))
    });
    let with_model = |words| {
        memory(&home, words)
            .env("LLM_PROVIDER", "ollama")
            .env("OLLAMA_URL", server.url(""))
            .env("OLLAMA_MODEL", "m")
            .run()
            .expect(0)
    };
    assert_eq!(
        with_model("topics").text(),
        "1/2  2026-01-20  changed\n2/2  2026-02-11  changed\n2 diary entries changed.\n"
    );
    home.read(DIARY).assert_has(&["boating"]);
    assert_eq!(
        with_model("clean").text(),
        "1/2  2026-01-20  unchanged\n2/2  2026-02-11  unchanged, error: not_verbatim\n0 diary entries changed, 1 entry left as it was after an error.\n"
    );
}

#[test]
fn a_cancelled_cleaning_keeps_what_is_done_and_what_is_not() {
    let home = Home::new();
    let day = |date: &str| {
        json!({"date": date, "source": "text", "summary": "Tea at five. The assistant did not know why.", "topics": ["tea"],
               "created": "2026-03-01T10:00:00Z", "updated": "2026-03-01T10:00:00Z"})
    };
    let rows = ["2026-03-01", "2026-03-02", "2026-03-03"].map(day);
    home.write(DIARY, json!({"version": 1, "rows": rows}).to_string());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server =
        ollama_by_stage(
            move |stage, body| match (stage, count.fetch_add(1, Ordering::SeqCst)) {
                ("diary_clean", 0) => ollama_says(body, "Tea at five."),
                _ => Answer::silence(),
            },
        );
    let mut running = home
        .marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .arg("--plain")
        .stdin_open()
        .spawn();
    running.write(b"!memory clean\n");
    let limit = Duration::from_secs(30);
    running.wait_stdout("1/3  2026-03-01  changed", limit);
    until("the second day", || asked.load(Ordering::SeqCst) >= 2);
    running.signal(Signal::INT);
    running.write(b"!memory search tea\n");
    running.wait_stdout("2026-03-03", limit);
    running.wait().expect(0).stdout_lacks(&["2/3"]);
    let diary: Value = serde_json::from_str(&home.read(DIARY)).unwrap();
    let summaries: Vec<&str> = diary["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["summary"].as_str().unwrap())
        .collect();
    let whole = "Tea at five. The assistant did not know why.";
    assert_eq!(summaries, ["Tea at five.", whole, whole]);
}
