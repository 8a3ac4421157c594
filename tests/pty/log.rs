//! The conversation on a full disk: written entries stay intact, and unwritten ones are reported and retried.

use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::stage::{full, log, messages, playing, quit, says, until};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

const LOG: &str = "config/profiles/main/chat_log.json";

/// A conversation of two entries and some length, as Marvin writes it.
fn conversation(home: &Home) -> String {
    let entry =
        |role: &str, text: &str| json!({"role": role, "text": text, "time": "08:00"}).to_string();
    let long = "An answer of an earlier day. ".repeat(150);
    let text = format!(
        "[\n{},\n{}\n]\n",
        entry("you", "An earlier day."),
        entry("assistant", &long)
    );
    home.write(LOG, &text);
    text
}

/// No file of the process may be longer than this from now on.
fn limit(pty: &Pty, bytes: Option<usize>) {
    let limit = Rlimit {
        current: bytes.map(|bytes| bytes as u64),
        maximum: None,
    };
    prlimit(Some(pty.pid()), Resource::Fsize, limit).expect("a limit of one's own process");
}

#[test]
fn a_log_that_cannot_grow_stays_whole_and_grows_later() {
    let home = Home::new();
    let before = conversation(&home);
    let server = playing([says("First answer."), says("Second answer.")]);
    let pty = full(&home, &server);
    // In the middle of the next entry.
    limit(&pty, Some(before.len() + 20));
    pty.enter("one", "First answer.");
    pty.wait_text("The conversation is not saved: Cannot write");
    pty.wait_text("4 msgs");
    assert_eq!(home.read(LOG), before);
    limit(&pty, None);
    pty.enter("two", "The conversation is saved again.");
    pty.wait_text("Second answer.");
    quit(pty, &home);
    let entries = log(&home);
    assert_eq!(
        entries[2..],
        messages(&[
            ("you", "one"),
            ("assistant", "First answer."),
            ("you", "two"),
            ("assistant", "Second answer."),
        ])
    );
}

#[test]
fn unsaved_messages_are_reported_on_exit() {
    let home = Home::new();
    let before = conversation(&home);
    let server = playing([says("First answer.")]);
    let mut pty = full(&home, &server);
    // Shorter than the log is: not even its end could be written again.
    limit(&pty, Some(before.len() / 2));
    pty.enter("one", "First answer.");
    pty.wait_text("4 msgs");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    let text = "The last 2 entries of the conversation could not be saved: Cannot write";
    assert!(
        pty.screen().replace('\n', "").contains(text),
        "{}",
        pty.screen()
    );
    assert_eq!(home.read(LOG), before);
}

#[test]
fn an_unsaved_exchange_can_be_undone() {
    let home = Home::new();
    let before = conversation(&home);
    let server = playing([says("First answer."), says("Second answer.")]);
    let pty = full(&home, &server);
    limit(&pty, Some(before.len()));
    pty.enter("one", "First answer.");
    pty.wait_text("The conversation is not saved");
    pty.enter("!undo", "Undone.");
    limit(&pty, None);
    pty.enter("\x15two", "Second answer.");
    quit(pty, &home);
    let entries = log(&home);
    assert_eq!(
        entries[2..],
        messages(&[("you", "two"), ("assistant", "Second answer.")])
    );
}

#[test]
fn a_refused_undo_removes_nothing() {
    let home = Home::new();
    let server = playing([says("First answer."), says("Second answer.")]);
    let pty = full(&home, &server);
    pty.enter("one", "First answer.");
    until("the log", || log(&home).len() == 2);
    // Another Marvin writes to the same log.
    let mut entries: Vec<Value> = serde_json::from_str(&home.read(LOG)).unwrap();
    entries.push(json!({"role": "you", "text": "from elsewhere", "time": "09:05"}));
    home.write(LOG, serde_json::to_vec(&entries).unwrap());
    pty.enter("!undo", "is not of this session");
    let screen = pty.screen();
    screen.assert_lacks(&["Undone."]);
    screen.assert_has(&["First answer."]);
    pty.enter("two", "Second answer.");
    server.request(1).json()["messages"]
        .to_string()
        .assert_has(&["First answer."]);
    quit(pty, &home);
}
