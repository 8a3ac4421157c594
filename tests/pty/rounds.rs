//! A turn whose rounds are used up, and a message that no window holds: what the user is asked, and what returns to them.

use std::time::Duration;

use serde_json::json;

use crate::stage::{
    calls, command, full, input, last_sent, lines, playing, quit, says, started, wait_input,
};
use crate::support::home::Home;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

/// Longer than the pause after which a key answers.
const PAUSE: Duration = Duration::from_millis(900);
const LIVE: &str = "y yes";

/// Looks around so often, then says that it is done.
fn looks(times: usize) -> Server {
    let look = |_| calls("tree", json!({"path": "."}));
    playing((0..times).map(look).chain([says("That was it.")]))
}

#[test]
fn when_the_rounds_are_used_up_the_user_may_allow_as_many_again() {
    let home = Home::new();
    let server = looks(13);
    let pty = full(&home, &server);
    pty.enter("look around", "Go on?");
    pty.screen().assert_has(&["has used 10 rounds"]);
    pty.wait_text(LIVE);
    assert_eq!(server.requests().len(), 10);
    // The next question would be about other rounds.
    pty.screen().assert_lacks(&["always"]);
    pty.send("a");
    pty.wait_text("There is no always for this question");
    pty.send("y");
    pty.wait_text("That was it.");
    last_sent(&server, 13).assert_lacks(&["are used up"]);
    quit(pty, &home);
}

#[test]
fn no_lets_the_model_answer_with_what_it_has_and_hear_why() {
    let home = Home::new();
    let server = looks(10);
    let pty = full(&home, &server);
    pty.enter("look around", LIVE);
    pty.send("e");
    pty.wait_text("Enter sends");
    pty.enter("the rest is for tomorrow", "That was it.");
    last_sent(&server, 10).assert_has(&["are used up", "They say: the rest is for tomorrow"]);
    quit(pty, &home);
}

#[test]
fn in_plain_lines_the_question_is_answered_by_a_line() {
    let home = Home::new();
    let server = looks(12);
    let mut pty = lines(&home, &server);
    pty.enter("look around", "has used 10 rounds");
    // Keys that come at once were meant for something else.
    std::thread::sleep(PAUSE);
    pty.enter("a", "Please answer y, n or e.");
    pty.enter("y", "That was it.");
    pty.control('d');
    pty.wait();
    assert_eq!(server.requests().len(), 13);
}

#[test]
fn a_message_that_no_window_holds_returns_to_the_input() {
    let home = Home::new();
    let models = json!({"openai-compat": {"models": {"test-model": {"limit": {"context": 20_000, "output": 4_000}}}}});
    let models = home.write("models.json", models.to_string());
    let server = playing([says("Noted."), says("Here.")]);
    let mut command = command(&home, &server);
    command.env("MARVIN_MODELS", models);
    let pty = started(&command);
    pty.enter("remember the heron", "Noted.");
    let paste: String = (0..6_000)
        .map(|n| format!("row {n:05} of a log "))
        .collect();
    pty.paste(&paste);
    pty.wait_for("the paste", |screen| {
        input(screen).contains("[pasted 114,000")
    });
    pty.send("\r");
    pty.wait_text("was not sent");
    pty.wait_for("the message in the input", |screen| input(screen) != ">");
    assert_eq!(server.requests().len(), 1);
    pty.control('u');
    wait_input(&pty, ">");
    pty.enter("are you there?", "Here.");
    let last = crate::stage::sent(&server, 1);
    let said: Vec<&str> = last.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(said, ["remember the heron", "Noted.", "are you there?"]);
    quit(pty, &home);
}
