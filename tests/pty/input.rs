//! Typing on the full screen: several lines, huge and hostile pastes, wide letters, search, completion, the queue.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::{
    LIMIT, begin, conversation, end, find, full, input, last_sent, playing, quit, rows, says, sent,
    wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::{Answer, Exchange};
use crate::support::words::TextAssertions;

#[test]
fn a_megabyte_is_pasted_at_once_and_sent_whole() {
    let (home, server, pty) = conversation([says("Long.")]);
    let text = format!("{}the last line", "a line of a paste\n".repeat(60_000));
    let before = pty.raw().len();
    let start = Instant::now();
    pty.paste(&text);
    wait_input(&pty, "> [pasted 60,001 lines]");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let painted = pty.raw().len() - before;
    assert!(painted < 20_000, "{painted} bytes to show a paste");
    pty.enter("!", "Long.");
    assert!(last_sent(&server, 0) == format!("{text}!"), "another text");
    // In the conversation it is as short, and the history brings it back as one unit.
    assert!(pty.with(|screen| rows(screen).contains(&"[pasted 60,001 lines]!".to_owned())));
    pty.send("\x1b[A");
    wait_input(&pty, "> [pasted 60,001 lines]!");
    pty.send("\x7f\x7f");
    wait_input(&pty, ">");
    quit(pty, &home);
}

#[test]
fn commands_names_and_files_are_completed_and_files_attached() {
    let home = Home::new();
    home.write("work/notes.txt", "the secret ingredient\n");
    home.write("work/other.txt", "nothing\n");
    home.write("config/profiles/winter/preferences.yaml", "budget: any\n");
    let server = playing([says("Thyme.")]);
    let pty = full(&home, &server);
    pty.send("!prof\t");
    pty.wait_for("the command", |screen| {
        input(screen).starts_with("> !profile")
    });
    pty.send("\x15!profile w\t");
    pty.wait_for("the profile", |screen| {
        input(screen).starts_with("> !profile winter")
    });
    // It asks for the models of the provider that answers too.
    let none = Answer::json(&json!({"data": []}));
    server.expect(Exchange::get("/v1/models").answer(none));
    pty.send("\x15!model gro\t");
    pty.wait_for("the provider", |screen| {
        input(screen).starts_with("> !model groq")
    });
    server.wait_requests(1, LIMIT);
    pty.send("\x15what is in @no\t");
    pty.wait_for("the file", |screen| {
        input(screen).starts_with("> what is in @notes.txt")
    });
    pty.send("\r");
    pty.wait_text("Thyme.");
    let sent = last_sent(&server, 1);
    assert!(sent.starts_with("what is in @notes.txt"), "{sent}");
    sent.assert_has(&["the secret ingredient"]);
    // The user's words are shown and kept, not the file's.
    pty.screen().assert_lacks(&["secret"]);
    quit(pty, &home);
    home.read("config/profiles/main/chat_log.json")
        .assert_lacks(&["secret"]);
}

#[test]
fn messages_are_queued_and_sent_in_order() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([
        end(begin("Slowly").pause(&latch)),
        says("Answer two."),
        says("Answer three."),
    ]);
    let pty = full(&home, &server);
    pty.enter("first", "Slowly");
    pty.enter("second\rthird\rfourth", "queued  fourth");
    pty.screen().assert_has(&["queued  second"]);
    // Up takes the last one back.
    pty.send("\x1b[A");
    pty.wait_for("the last message back in the input", |screen| {
        input(screen) == "> fourth" && !screen.contents().contains("queued  fourth")
    });
    assert_eq!(server.requests().len(), 1);
    latch.open();
    pty.wait_text("Answer three.");
    pty.wait_text("6 msgs");
    assert_eq!(last_sent(&server, 1), "second");
    assert_eq!(last_sent(&server, 2), "third");
    assert_eq!(sent(&server, 2).len(), 5);
    assert!(pty.with(|screen| input(screen) == "> fourth"));
    quit(pty, &home);
}

#[test]
fn queued_messages_come_back_to_the_input_when_an_answer_is_stopped() {
    for key in ["\x1b", "\x03"] {
        let (home, server, pty) = conversation([begin("Endless").stall(), says("Now.")]);
        pty.enter("first", "Endless");
        pty.enter("second", "queued  second");
        let long = "a line of a paste\n".repeat(60);
        pty.paste(&long);
        pty.enter("and?", "queued  a line of a paste");
        pty.send("a draft ");
        pty.paste(&long.replace("line", "row"));
        pty.send(key);
        let pasted = "[pasted 60 lines]and?";
        pty.wait_for("both before the draft", |screen| {
            let shown = format!("> second\n\n  {pasted}\n\n  a draft [pasted 60 lines]");
            input(screen) == shown && !screen.contents().contains("queued")
        });
        server.wait_closed(0, LIMIT);
        assert_eq!(server.requests().len(), 1, "nothing is sent by itself");
        pty.send("\r");
        pty.wait_text("Now.");
        let draft = long.replace("line", "row");
        let whole = format!("second\n\n{long}and?\n\na draft {}", draft.trim_end());
        assert_eq!(last_sent(&server, 1), whole);
        quit(pty, &home);
    }
}

#[test]
fn a_queued_message_comes_back_with_its_attachment() {
    let home = Home::new();
    home.write("work/notes.txt", "the words of the file");
    let server = playing([begin("Endless").stall(), says("Read.")]);
    let pty = full(&home, &server);
    pty.enter("first", "Endless");
    pty.enter("read @notes.txt ", "queued  read");
    pty.send("\x1b");
    wait_input(&pty, "> read @notes.txt");
    pty.send("\r");
    pty.wait_text("Read.");
    last_sent(&server, 1).assert_has(&["the words of the file"]);
    quit(pty, &home);
}

#[test]
fn the_help_opens_and_closes() {
    let (home, _server, pty) = conversation([]);
    for key in ["?", "\x1bOP"] {
        pty.send(key);
        pty.wait_text("Alt-Enter");
        assert!(pty.with(|screen| find(screen, "Help: Esc closes").is_some()));
        pty.send("\x1b");
        pty.wait_gone("Alt-Enter");
    }
    // In a text it is a letter; what is typed over the help closes it and is kept.
    pty.send("?");
    pty.wait_text("Alt-Enter");
    pty.send("why?");
    wait_input(&pty, "> why?");
    quit(pty, &home);
}
