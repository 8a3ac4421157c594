//! Models and themes chosen from a list, with arrows and by typing.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::confirm::LIVE;
use crate::plain::pipe;
use crate::stage::{
    LIMIT, begin, command, conversation, end, full, input, more, playing, quit, rows, says,
    started, unasked,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange};
use crate::support::wire::openai::Stream;
use crate::support::words::TextAssertions;

/// Waits until the selected row has these words.
pub(crate) fn selects(pty: &Pty, words: &[&str]) {
    pty.wait_for(&format!("{words:?} selected"), |screen| {
        let rows = rows(screen);
        let mut selected = rows.iter().filter(|row| row.starts_with("› "));
        selected.any(|row| words.iter().all(|word| row.contains(word)))
    });
}

/// Closes the list, and waits for what was beneath it.
fn close(pty: &Pty) {
    pty.send("\x1b");
    pty.wait_gone("typing filters");
}

#[test]
fn a_model_is_chosen_with_arrows_and_by_typing() {
    let home = Home::new();
    let server = playing([says("From another.")]);
    let list =
        json!({"data": [{"id": "other-model"}, {"id": "small"}, {"id": "bad\u{1b}[2Jname"}]});
    let listing = Exchange::get("/v1/models").answer(Answer::json(&list));
    let pty = full(&home, &server);
    pty.enter(
        "/model",
        "Models: Enter chooses, typing filters, Esc closes",
    );
    selects(&pty, &["* openai-compat", "test-model", "in use"]);
    pty.wait_text("/model and Tab ask openai-compat for its models");
    // What would answer elsewhere, and what is missing for it.
    pty.send("groq");
    pty.wait_text("with \"groq\"");
    selects(&pty, &["groq", "set GROQ_API_KEY"]);
    close(&pty);
    pty.screen().assert_lacks(&["GROQ_API_KEY"]);
    assert_eq!(server.requests().len(), 0, "a list asks nobody");
    // What completion has learnt is in the list.
    server.expect(listing);
    pty.send("/model oth");
    let begun = Instant::now();
    while !pty.with(|screen| input(screen).contains("other-model")) {
        assert!(begun.elapsed() < LIMIT, "{}", pty.screen());
        pty.send("\t");
        // A key that comes before the answer to the last one would choose the next candidate.
        std::thread::sleep(Duration::from_millis(50));
    }
    pty.send("\x15/model\r");
    selects(&pty, &["test-model", "in use"]);
    pty.screen().assert_lacks(&["and Tab ask", "bad"]);
    pty.send("\x1b[B");
    selects(&pty, &["default"]);
    pty.send("\x1b[B");
    selects(&pty, &["other-model"]);
    // So terminals send a turn of the wheel.
    pty.send("\x1b[B".repeat(3));
    selects(&pty, &["llama-server"]);
    pty.send("\x1b[A".repeat(9));
    selects(&pty, &["test-model"]);
    pty.send("other");
    pty.wait_text(" with \"other\"");
    selects(&pty, &["openai-compat", "other-model"]);
    pty.send("\r");
    pty.wait_text("openai-compat answers, with other-model.");
    pty.enter("hello", "From another.");
    assert_eq!(server.request(1).json()["model"], "other-model");
    pty.send("!model\r");
    selects(&pty, &["* openai-compat", "other-model", "in use"]);
    // What is chosen there fails as it does by name.
    pty.enter("groq", "Error: groq needs a key.");
    pty.wait_text("🔮 other-model");
    quit(pty, &home);
}

#[test]
fn a_model_that_is_chosen_during_an_answer_gets_the_next_message() {
    let home = Home::new();
    let latch = Latch::new();
    let slow = end(more(begin("The first part, ").pause(&latch), "the end."));
    let server = playing([slow, says("From the second.")]);
    let mut command = command(&home, &server);
    command.env("OPENAI_COMPAT_MODEL", "second-model");
    let pty = started(&command);
    pty.enter("one", "The first part,");
    pty.send("/model\r");
    selects(&pty, &["test-model"]);
    pty.send("\x1b[B");
    selects(&pty, &["second-model", "default"]);
    pty.send("\r");
    pty.wait_text("openai-compat answers, with second-model.");
    latch.open();
    pty.wait_text("the end.");
    pty.wait_text("2 msgs");
    pty.enter("two", "From the second.");
    assert_eq!(server.request(0).json()["model"], "test-model");
    assert_eq!(server.request(1).json()["model"], "second-model");
    quit(pty, &home);
}

#[test]
fn no_key_in_a_list_answers_a_question_below_it() {
    let home = Home::new();
    let latch = Latch::new();
    let call = Stream::new().call(0, "call_1", "run_command", r#"{"command": "touch ran"}"#);
    let mut answer = begin("Let me see. ").pause(&latch);
    for frame in call.end() {
        answer = answer.send(frame);
    }
    let server = playing([answer, says("Done.")]);
    let pty = full(&home, &server);
    pty.enter("go", "Let me see.");
    pty.send("/model\r");
    selects(&pty, &["test-model"]);
    latch.open();
    pty.wait_text("touch ran");
    // Longer than the pause after which the question would take keys.
    std::thread::sleep(Duration::from_millis(700));
    assert!(!pty.screen().contains(LIVE), "{}", pty.screen());
    pty.send("y");
    pty.wait_text("with \"y\"");
    close(&pty);
    assert!(!home.path().join("work/ran").exists());
    pty.wait_text(LIVE);
    pty.send("y");
    pty.wait_text("Done.");
    assert!(home.path().join("work/ran").exists());
    quit(pty, &home);
}

#[test]
fn a_theme_is_chosen_from_a_list() {
    let (home, _server, pty) = conversation([]);
    pty.enter(
        "/theme",
        "Themes: Enter chooses, typing filters, Esc closes",
    );
    selects(&pty, &["* ", "auto", "dark or light"]);
    pty.enter("red green", "Theme: color-blind.");
    pty.send("/theme\r");
    selects(&pty, &["* ", "color-blind"]);
    pty.send("\x1b[A");
    selects(&pty, &["contrast"]);
    close(&pty);
    quit(pty, &home);
    assert_eq!(home.read("config/theme"), "color-blind\n");
}

#[test]
fn plain_lines_list_what_can_be_chosen_and_how() {
    let home = Home::new();
    let server = unasked();
    let done = pipe(&home, &server, "/model\n/theme\n").expect(0);
    let text = done.text();
    text.assert_has(&[
        "openai-compat answers, with test-model.",
        "set GROQ_API_KEY",
        "/model PROVIDER, /model MODEL or /model PROVIDER MODEL changes it",
        "* auto",
        "/theme NAME changes it",
    ]);
}
