//! Conversations on disk through the binary: going on with one, copies, lists, export, the lock, and kills at any moment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use marvin::testing::Clock;
use marvin::testing::sessions::{SessionId, SessionStore};
use serde_json::{Value, json};

use crate::support::conversation::{pairs, playing, says, sent};
use crate::support::home::Home;
use crate::support::run::{Marvin, Running};
use crate::support::server::{Answer, Server};
use crate::support::stages::{StageAnswer, StageServer, content};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(20);
const SESSIONS: &str = "config/profiles/main/sessions";

/// The ids of the sessions on disk.
fn ids(home: &Home) -> Vec<String> {
    let Ok(entries) = fs::read_dir(home.path().join(SESSIONS)) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned()))
        .collect()
}

/// The only session on disk.
fn only(home: &Home) -> String {
    let ids = ids(home);
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids[0].clone()
}

fn text_of(home: &Home, id: &str) -> String {
    home.read(&format!("{SESSIONS}/{id}.jsonl"))
}

#[test]
fn the_latest_session_of_the_folder_goes_on() {
    let home = Home::new();
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    let server = playing(["One.", "Other.", "Two."].map(says));
    home.chat(&server).stdin("first\n").run().expect(0);
    let before = only(&home);
    home.chat(&server)
        .dir(&other)
        .stdin("elsewhere\n")
        .run()
        .expect(0);
    let done = home
        .chat(&server)
        .arg("-c")
        .stdin("second\n")
        .run()
        .expect(0);
    // Neither what was said in the other folder nor what the chat log repeats.
    let expected = pairs(&[("user", "first"), ("assistant", "One."), ("user", "second")]);
    assert_eq!(sent(&server, 2), expected);
    assert_eq!(ids(&home).len(), 2);
    assert_eq!(
        text_of(&home, &before).matches("\"role\":\"user\"").count(),
        2
    );
    let text = done.text();
    text.assert_has(&["You: first", "Marvin: One."]);
    text.assert_lacks(&["elsewhere"]);
    let go_on = format!("To go on: marvin --resume {}\n", &before[..8]);
    assert!(text.ends_with(&go_on) && done.errors().is_empty(), "{text}");
    let file = home.path().join(SESSIONS).join(format!("{before}.jsonl"));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn calls_and_results_are_sent_again() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha line\n");
    let call = Answer::sse(openai::call(
        "call_1",
        "read_file",
        json!({"path": "notes.txt"}),
    ));
    let server = playing([call, says("It says alpha."), says("Yes.")]);
    home.chat(&server)
        .stdin("what is in it? @notes.txt\n")
        .run()
        .expect(0);
    let id = only(&home);
    home.chat(&server)
        .args(["--resume", &id[..8]])
        .stdin("really?\n")
        .run()
        .expect(0);
    let before = server.request(1).json()["messages"]
        .as_array()
        .unwrap()
        .clone();
    let after = server.request(2).json()["messages"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        after[1..before.len()],
        before[1..],
        "what the model saw before"
    );
    after[1]["content"]
        .as_str()
        .unwrap()
        .assert_has(&["<file name=\"notes.txt\">"]);
    assert_eq!(after[2]["tool_calls"][0]["function"]["name"], "read_file");
    assert_eq!(after[after.len() - 2]["content"], "It says alpha.");
    // People see what was typed, not the file.
    let markdown = home.marvin().args(["export", &id]).run().expect(0);
    let text = markdown.text();
    assert!(text.starts_with("# what is in it? @notes.txt\n"), "{text}");
    assert!(
        text.contains("<summary>🔧 read_file <code>{&quot;")
            || text.contains("<summary>🔧 read_file <code>{\""),
        "{text}"
    );
    text.assert_has(&["alpha line", "## Marvin · "]);
    text.assert_lacks(&["<file name"]);
}

#[test]
fn a_copy_leaves_the_session_as_it_is() {
    let home = Home::new();
    let server = playing(["One.", "Two."].map(says));
    home.chat(&server).stdin("first\n").run().expect(0);
    let id = only(&home);
    let before = text_of(&home, &id);
    home.chat(&server)
        .args(["-c", "--fork-session"])
        .stdin("second\n")
        .run()
        .expect(0);
    assert_eq!(text_of(&home, &id), before);
    let copy = ids(&home).into_iter().find(|other| *other != id).unwrap();
    let text = text_of(&home, &copy);
    text.assert_has(&[&format!("\"parent\":\"{id}\"")]);
    assert_eq!(sent(&server, 1)[0].1, "first");
    assert_eq!(text.matches("\"role\":\"user\"").count(), 2, "{text}");
}

#[test]
fn a_list_into_a_pipe_ends_with_status_0() {
    let home = Home::new();
    let empty = home.marvin().arg("--resume").run().expect(0);
    assert_eq!(empty.text(), "There are no sessions yet.\n");
    let server = playing(["One.", "Two."].map(says));
    home.chat(&server)
        .stdin("fix the retry test\n!name flaky tests\n")
        .run()
        .expect(0);
    home.chat(&server).stdin("\u{1b}[31mred\n").run().expect(0);
    for args in [&["--resume"][..], &["-r", "--plain"], &["sessions"]] {
        let done = home.marvin().args(args.iter().copied()).run().expect(0);
        let lines: Vec<&str> = done.text().lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].ends_with("  \\x1b[31mred") && lines[0].contains("2 messages  ~/work"),
            "{lines:?}"
        );
        assert!(
            lines[1].ends_with("  flaky tests: fix the retry test"),
            "{lines:?}"
        );
    }
    let filtered = home.marvin().args(["sessions", "FLAKY"]).run().expect(0);
    assert_eq!(filtered.text().lines().count(), 1);
    let json: Value = serde_json::from_str(
        home.marvin()
            .args(["sessions", "--json"])
            .run()
            .expect(0)
            .text(),
    )
    .unwrap();
    assert_eq!(json[1]["name"], "flaky tests");
    assert_eq!(json[1]["first"], "fix the retry test");
    assert_eq!(json[1]["messages"], 2);
    assert_eq!(json[0]["model"], "test-model");
    home.marvin()
        .args(["sessions", "--jsno"])
        .fails(&["has no flag \"--jsno\""]);
    // By name too.
    let export = home
        .marvin()
        .args(["export", "flaky", "tests", "--json"])
        .run()
        .expect(0);
    let lines: Vec<Value> = export
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["type"], "session");
    home.marvin()
        .args(["export", "nobody"])
        .fails(&["There is no session \"nobody\". marvin sessions lists them."]);
}

#[test]
fn a_second_marvin_is_told_which_process_has_the_session() {
    let home = Home::new();
    let server = playing(["One.", "Two.", "Three."].map(says));
    let mut first = home.chat(&server).stdin_open().spawn();
    first.write(b"first\n");
    first.wait_stdout("One.", LIMIT);
    let pid = first.pid().as_raw_nonzero();
    home.chat(&server).arg("-c").stdin("x\n").fails(&[
        &format!("is open in another Marvin (process {pid})"),
        "--fork-session",
    ]);
    home.chat(&server)
        .args(["-c", "--fork-session"])
        .stdin("second\n")
        .run()
        .expect(0);
    // From within a conversation: an error, and the conversation goes on.
    let id = ids(&home)
        .into_iter()
        .find(|id| !text_of(&home, id).contains("\"parent\""))
        .unwrap();
    home.chat(&server)
        .stdin(format!("!resume {id}\nthird\n"))
        .prints(&[&format!("(process {pid})"), "Three."]);
    first.wait().expect(0);
}

#[test]
fn a_caller_keeps_a_session_only_when_it_asks() {
    let home = Home::new();
    let server = playing(["One.", "Two.", "Three.", "Four.", "Five."].map(says));
    let ask = |prompt: &str, args: &[&str]| {
        home.ask(&server.url("/v1"), prompt)
            .args(args.iter().copied())
            .run()
    };
    let done = ask("one", &[]).expect(0);
    assert_eq!(ids(&home), [] as [&str; 0]);
    assert_eq!(done.text(), "One.\n");
    let id = "3F2A91C4-5d17-4c0e-9a43-1b0c6d8e2f70";
    ask("two", &["--session-id", id]).expect(0);
    assert_eq!(only(&home), id.to_lowercase());
    let done = ask("three", &["--session-id", id]).expect(0);
    assert_eq!(done.text(), "Three.\n");
    assert_eq!(
        sent(&server, 2),
        pairs(&[("user", "two"), ("assistant", "Two."), ("user", "three")])
    );
    ask("four", &["--continue"]).expect(0);
    assert_eq!(sent(&server, 3).len(), 5);
    let new = "11111111-2222-4333-8444-555555555555";
    ask(
        "five",
        &["--resume", "3f2a", "--fork-session", "--session-id", new],
    )
    .expect(0);
    assert_eq!(sent(&server, 4).len(), 7);
    text_of(&home, new).assert_has(&["\"parent\":\"3f2a91c4"]);
    ask("six", &["-c", "--fork-session", "--session-id", new])
        .expect(1)
        .stderr_has(&["There is a session 11111111"]);
    ask("six", &["--resume", "77"])
        .expect(1)
        .stderr_has(&["There is no session \"77\"", "MARVIN_COST:"]);
    let turns = text_of(&home, &id.to_lowercase());
    assert_eq!(turns.matches("\"type\":\"turn\"").count(), 3, "{turns}");
}

#[test]
fn a_new_session_is_empty_and_the_chat_log_stays() {
    let home = Home::new();
    let server = playing(["One.", "Two.", "Three."].map(says));
    let input = "first\n!new\nsecond\n!undo\n!new\n";
    let done = home.chat(&server).stdin(input).run().expect(0);
    assert_eq!(sent(&server, 1), pairs(&[("user", "second")]));
    done.stdout_has(&["goes back to the one before"]);
    assert_eq!(ids(&home).len(), 2);
    let log = home.read("config/profiles/main/chat_log.json");
    log.assert_has(&["first"]);
    log.assert_lacks(&["second"]);
    let first = ids(&home)
        .into_iter()
        .find(|id| text_of(&home, id).contains("first"))
        .unwrap();
    // Taken back although the chat log ends otherwise.
    let input = format!("!resume {}\n!undo\nthird\n", &first[..8]);
    home.chat(&server).stdin(input).run().expect(0);
    assert_eq!(sent(&server, 2), pairs(&[("user", "third")]));
    home.read("config/profiles/main/chat_log.json")
        .assert_has(&["first"]);
    text_of(&home, &first).assert_has(&["\"type\":\"undo\""]);
}

#[test]
fn a_session_in_which_nothing_is_said_leaves_no_file() {
    let home = Home::new();
    let server = playing([]);
    let input = "!ls\n!name empty\n!tool convert_units value=5 from_unit=mi to_unit=km\nusage\n!new\n!resume\n";
    let done = home.chat(&server).stdin(input).run().expect(0);
    assert_eq!(ids(&home), [] as [&str; 0]);
    done.stdout_has(&["There is no other session yet."]);
    home.chat(&server)
        .arg("-c")
        .fails(&["There is no session of", "work yet."]);
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_at_any_moment() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha line\n");
    // Every other message makes a call first.
    let server = Server::answering(|request, _| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let user = messages
            .iter()
            .rfind(|message| message["role"] == "user")
            .unwrap();
        let text = user["content"].as_str().unwrap_or_default();
        match messages.last().unwrap()["role"].as_str() {
            Some("user") if text.ends_with("call") => {
                let args = json!({"path": "notes.txt"});
                Answer::sse(openai::call("call_1", "read_file", args))
            }
            _ => says(&format!("Answer to {text}.")),
        }
    });
    let store = SessionStore::new(home.path().join(SESSIONS), &Clock::default());
    let (mut acknowledged, mut id): (Vec<String>, Option<String>) = (Vec::new(), None);
    for round in 0..18usize {
        let marvin = home.chat(&server).stdin_open();
        let marvin = match &id {
            Some(id) => marvin.args(["--resume", id]),
            None => marvin,
        };
        let mut running = marvin.spawn();
        let text = format!("m{round}{}", if round % 2 == 0 { " call" } else { "" });
        running.write(format!("{text}\n").as_bytes());
        kill_when(&running, round, &text, &mut acknowledged);
        running.kill();
        assert_eq!(running.wait_open().signal(), Some(9));
        if id.is_none() {
            id = ids(&home).pop();
        }
        let Some(id) = &id else { continue };
        let replay = store.read(&SessionId::parse(id).unwrap()).unwrap();
        let texts = replay.user_texts();
        let missing: Vec<&String> = acknowledged
            .iter()
            .filter(|text| !texts.contains(text))
            .collect();
        assert!(
            missing.is_empty(),
            "round {round}: {missing:?} of {texts:?}"
        );
    }
    let id = id.unwrap();
    home.chat(&server)
        .args(["--resume", &id])
        .stdin("the end\n")
        .prints(&["Answer to the end."])
        .stdout_lacks(&["could not be read"]);
    let last = server.requests().len() - 1;
    let context = sent(&server, last);
    for text in &acknowledged {
        let at = context
            .iter()
            .position(|(role, said)| role == "user" && said == text);
        // Beyond the limit of messages the model does not see it any more.
        assert!(at.is_some() || context.len() >= 20, "{text}: {context:?}");
    }
}

#[test]
fn a_result_is_on_disk_before_the_other_calls_of_its_round_end() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha line\n");
    let server = Server::answering(|_, _| {
        Answer::sse(openai::calls(&[
            ("call_1", "read_file", json!({"path": "notes.txt"})),
            (
                "call_2",
                "run_command",
                json!({"command": "echo > begun; sleep 60"}),
            ),
        ]))
    });
    let id = "3f2a91c4-5d17-4c0e-9a43-1b0c6d8e2f70";
    let running = home
        .ask(&server.url("/v1"), "do both")
        .args(["--session-id", id])
        .spawn();
    let began = Instant::now();
    while !home.has("work/begun") {
        assert!(began.elapsed() < LIMIT, "the second call has not begun");
        thread::sleep(Duration::from_millis(5));
    }
    running.kill();
    assert_eq!(running.wait_open().signal(), Some(9));
    text_of(&home, id).assert_has(&["alpha line"]);
}

#[test]
fn an_export_shows_how_calls_ended_and_what_they_changed() {
    let home = Home::new();
    home.write("work/notes.txt", "one\nalpha line\n");
    let edit = json!({"path": "notes.txt", "old_str": "alpha", "new_str": "beta"});
    let server = playing([
        Answer::sse(openai::calls(&[
            ("call_1", "apply_patch", edit),
            (
                "call_2",
                "run_command",
                json!({"command": "sleep 0.2; exit 3"}),
            ),
        ])),
        says("Done."),
    ]);
    let id = "3f2a91c4-5d17-4c0e-9a43-1b0c6d8e2f70";
    home.ask(&server.url("/v1"), "do both")
        .args(["--session-id", id])
        .run()
        .expect(0);
    let markdown = home.marvin().args(["export", id]).run().expect(0);
    let text = markdown.text();
    let diff = "@@ -1,2 +1,2 @@\n one\n-alpha line\n+beta line\n```\n";
    assert!(text.contains(diff), "{text}");
    text.assert_has(&["</code> (exit code 3, 0."]);
    // Plain lines say what they say during an answer.
    let plain = home.chat(&server).args(["--resume", id]).stdin("").run();
    let text = plain.expect(0);
    let text = text.text();
    let run = "  \u{1f527} run_command  sleep 0.2; exit 3  ✗ exit 3 0.";
    let edit = "  \u{1f527} apply_patch  notes.txt  ✓ +1 −1 0.";
    assert!(text.contains(run) && text.contains(edit), "{text}");
    text.assert_has(&["\n      1  one\n    - 2  alpha line\n    + 2  beta line\n"]);
}

#[test]
fn sessions_are_removed_by_their_ids() {
    let home = Home::new();
    let server = playing([says("First."), says("Second.")]);
    for text in ["one\n", "two\n"] {
        home.chat(&server).stdin(text).run().expect(0);
    }
    let mut before = ids(&home);
    before.sort();
    let marvin = |args: &[&str]| {
        home.marvin()
            .arg("sessions")
            .args(args.iter().copied())
            .run()
    };
    // One wrong word, and nothing is removed.
    marvin(&["--delete", &before[0], "nothing"])
        .expect(1)
        .stderr_has(&["There is no session \"nothing\""]);
    assert_eq!(ids(&home).len(), 2);
    let done = marvin(&["--delete", &before[0][..8]]).expect(0);
    assert_eq!(done.text(), format!("Removed session {}.\n", before[0]));
    assert_eq!(ids(&home), before[1..]);
    assert!(
        !home
            .path()
            .join(SESSIONS)
            .join(format!("locks/{}.lock", before[0]))
            .exists()
    );
    marvin(&["--delete"]).expect(1);
    marvin(&["--json", "--delete"]).expect(1);
}

#[test]
fn what_is_forgotten_may_be_in_a_session_still_and_that_is_said() {
    let home = Home::new();
    let server = playing([says("Noted."), says("Sunny.")]);
    for text in ["My cat is called Quibble.\n", "And the weather?\n"] {
        home.chat(&server).stdin(text).run().expect(0);
    }
    let mut with_word = ids(&home);
    // The second one begins with what is remembered of the first.
    with_word.retain(|id| text_of(&home, id).contains("Quibble"));
    assert_eq!(with_word.len(), 2);
    let done = home
        .marvin()
        .args(["memory", "forget", "Quibble", "--yes"])
        .run()
        .expect(0);
    let text = done.text();
    text.assert_has(&["  2 sessions: "]);
    assert!(with_word.iter().all(|id| text.contains(&id[..8])), "{text}");
    done.stdout_has(&["marvin sessions --delete"]);
    home.marvin()
        .args(["memory", "forget", "Zebra", "--yes"])
        .run()
        .expect(0)
        .stdout_lacks(&["sessions:"]);
}

/// Waits for a moment of the turn, another one in each round, and notes what the user has seen by then.
fn kill_when(running: &Running, round: usize, text: &str, acknowledged: &mut Vec<String>) {
    match round % 6 {
        0 | 1 => {
            running.wait_stdout(&format!("Answer to {text}."), LIMIT);
            acknowledged.push(text.to_owned());
        }
        2 | 3 => {
            running.wait_stdout(text, LIMIT);
        }
        _ => thread::sleep(Duration::from_millis(7 * round as u64)),
    }
}

#[test]
fn the_reply_flow_gets_what_was_said_in_the_session_that_goes_on() {
    let reply = |text: &str| {
        vec![
            StageAnswer::text("router", "none"),
            StageAnswer::text("planner", "Reply to the user."),
            StageAnswer::text("chat", text),
        ]
    };
    let home = Home::new();
    let script = ["Noted.", "Tea.", "The heron."].map(reply).concat();
    let server = StageServer::start(script);
    let marvin = || {
        home.marvin()
            .env("LLM_PROVIDER", "ollama")
            .env("OLLAMA_URL", server.url(""))
            .env("OLLAMA_MODEL", "gpt-oss:20b")
            .arg("--plain")
            .stdin_open()
    };
    let say = |marvin: Marvin, text: &str, answer: &str| {
        let mut running = marvin.spawn();
        running.write(format!("{text}\n").as_bytes());
        running.wait_stdout(answer, LIMIT);
        // Without the farewell, whose calls are not scripted.
        running.kill();
        running.wait_open();
    };
    say(marvin(), "I have a heron", "Noted.");
    let id = only(&home);
    say(
        marvin().args(["--resume", &id, "--fork-session"]),
        "!new",
        "A new session.",
    );
    say(marvin(), "tea please", "Tea.");
    say(
        marvin().args(["--resume", &id]),
        "what do I have?",
        "The heron.",
    );
    let chats: Vec<Vec<String>> = server
        .calls()
        .into_iter()
        .filter(|call| call.stage == "chat")
        .map(|call| {
            call.body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(content)
                .collect()
        })
        .collect();
    let last = chats.last().unwrap();
    assert!(last.iter().any(|text| text.contains("heron")), "{last:?}");
    assert!(
        !last.iter().skip(1).any(|text| text.contains("tea")),
        "{last:?}"
    );
    assert!(!ids(&home).is_empty());
}
