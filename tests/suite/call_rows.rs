//! The rows that plain lines show of calls: short, with diffs and reasons, and named again when others came between.

use serde_json::{Value, json};

use crate::hooks::{command, user_hooks};
use crate::plain_chat::LIMIT;
use crate::support::conversation::{calls, playing, says};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// A conversation of one message, whose rounds are `rounds`, on standard output.
fn talk(home: &Home, rounds: Vec<Vec<(&str, Value)>>) -> String {
    let rounds = rounds.into_iter().map(|round| {
        let ids: Vec<String> = (0..round.len()).map(|n| format!("call_{n}")).collect();
        let calls = ids.iter().zip(round);
        let calls: Vec<(&str, &str, Value)> = calls
            .map(|(id, (name, args))| (id.as_str(), name, args))
            .collect();
        Answer::sse(openai::calls(&calls))
    });
    let server = playing(rounds.chain([says("Done.")]));
    let done = home.chat(&server).stdin("go\n").run().expect(0);
    assert_eq!(done.errors(), "");
    let text = done.text().to_owned();
    let controls = text.chars().filter(|c| c.is_control() && *c != '\n');
    assert_eq!(controls.count(), 0, "{text:?}");
    text
}

/// The rows that say how a call ended, without its time.
fn ends(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("  \u{1f527} ") && line.contains(['✓', '✗']))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect()
}

/// The rows below the call that begins with `start`, up to the next one of Marvin's own.
fn below<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let mut lines = text.lines();
    let row = lines.find(|line| line.starts_with(start));
    assert!(row.is_some(), "no {start} in\n{text}");
    lines.take_while(|line| line.starts_with("    ")).collect()
}

#[test]
fn each_call_of_a_round_is_one_short_row() {
    let home = Home::new();
    let lines: String = (1..=900).map(|n| format!("number {n}\n")).collect();
    for n in 0..10 {
        home.write(&format!("work/f{n}.txt"), &lines);
    }
    let name = |n| ("read_file", json!({"path": format!("f{n}.txt")}));
    let text = talk(&home, vec![(0..10).map(name).collect()]);
    let mut ended = ends(&text);
    ended.sort_unstable();
    let expected: Vec<String> = (0..10)
        .map(|n| format!("  \u{1f527} read_file  f{n}.txt  ✓"))
        .collect();
    assert_eq!(ended, expected, "{text}");
    text.assert_lacks(&["number"]);
    text.assert_has(&["Marvin: Done.\n"]);
}

#[test]
fn an_edit_is_a_numbered_diff_and_a_failed_call_says_why() {
    let home = Home::new();
    let long = "a long line ".repeat(60);
    home.write(
        "work/notes.txt",
        format!("one\ntwo\n{}\nfour\n", long.trim_end()),
    );
    let file: String = (1..=200).map(|n| format!("line {n}\n")).collect();
    let text = talk(
        &home,
        vec![
            vec![(
                "apply_patch",
                json!({"path": "notes.txt", "old_str": "two\n", "new_str": "2\n2b\n"}),
            )],
            vec![("read_file", json!({"path": "missing.txt"}))],
            vec![("create_file", json!({"path": "new.txt", "content": file}))],
        ],
    );
    let rows = ends(&text);
    assert_eq!(
        rows,
        [
            "  \u{1f527} apply_patch  notes.txt  ✓ +2 −1",
            "  \u{1f527} read_file  missing.txt  ✗ failed",
            "  \u{1f527} create_file  new.txt  ✓ +200 −0",
        ],
        "{text}"
    );
    // Lines are not wrapped.
    let same = format!("      4  {}", long.trim_end());
    let diff = [
        "      1  one",
        "    - 2  two",
        "    + 2  2",
        "    + 3  2b",
        &same,
        "      5  four",
    ];
    assert_eq!(below(&text, rows[0]), diff);
    let reason = below(&text, rows[1]);
    assert_eq!(reason, ["    Error: There is no \"missing.txt\"."]);
    let created = below(&text, rows[2]);
    assert_eq!(created.len(), 40, "{text}");
    assert!(created.contains(&"    … 161 more lines"), "{text}");
}

#[test]
fn a_call_that_a_hook_changes_is_shown_as_it_runs() {
    let home = Home::new();
    home.write("work/b.txt", "two\n");
    let changed = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"path": "b.txt"}}});
    user_hooks(
        &home,
        &json!({"PreToolUse": command(&format!("echo '{changed}'"))}),
    );
    let text = talk(&home, vec![vec![("read_file", json!({"path": "a.txt"}))]]);
    assert_eq!(ends(&text), ["  \u{1f527} read_file  b.txt  ✓"], "{text}");
}

#[test]
fn a_slow_call_is_announced_and_its_end_names_it_when_others_are_open() {
    let home = Home::new();
    let (first, second) = (Latch::new(), Latch::new());
    let slow = |latch: &Latch| {
        let latch = latch.clone();
        let found = json!({"query": {"search": []}, "items": []});
        Server::always(Answer::json(&found).head_after(&latch))
    };
    let (wiki, stack) = (slow(&first), slow(&second));
    let server = playing([
        Answer::sse(openai::calls(&[
            ("call_1", "wiki_search", json!({"query": "retry"})),
            ("call_2", "stack_search", json!({"query": "tokio"})),
        ])),
        says("Done."),
    ]);
    let mut running = home
        .chat(&server)
        .env("MARVIN_URL_WIKIPEDIA", wiki.url(""))
        .env("MARVIN_URL_STACKEXCHANGE", stack.url(""))
        .stdin_open()
        .spawn();
    running.write(b"go\n");
    running.wait_stdout("  \u{1f527} wiki_search  retry\n", LIMIT);
    running.wait_stdout("  \u{1f527} stack_search  tokio\n", LIMIT);
    first.open();
    running.wait_stdout("  \u{1f527} wiki_search  retry  ", LIMIT);
    second.open();
    running.wait_stdout("Marvin: Done.\n", LIMIT);
    let text = running.wait().expect(0).text().to_owned();
    let rows = ends(&text);
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].starts_with("  \u{1f527} wiki_search  retry  "));
    assert!(rows[1].starts_with("  \u{1f527} stack_search  tokio  "));
}

#[test]
fn the_end_of_a_slow_call_is_below_its_row() {
    let home = Home::new();
    let latch = Latch::new();
    let waits = latch.clone();
    let found = json!({"query": {"search": []}});
    let wiki = Server::always(Answer::json(&found).head_after(&waits));
    let server = playing([
        calls("wiki_search", json!({"query": "retry"})),
        says("Done."),
    ]);
    let mut running = home
        .chat(&server)
        .env("MARVIN_URL_WIKIPEDIA", wiki.url(""))
        .stdin_open()
        .spawn();
    running.write(b"go\n");
    running.wait_stdout("  \u{1f527} wiki_search  retry\n", LIMIT);
    latch.open();
    running.wait_stdout("Marvin: Done.\n", LIMIT);
    let text = running.wait().expect(0).text().to_owned();
    let (_, end) = text.split_once("wiki_search  retry\n  ").unwrap();
    assert!(end.starts_with(['✓', '✗']), "{text}");
    assert_eq!(text.matches("retry").count(), 1, "{text}");
}
