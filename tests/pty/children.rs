//! Commands of the user and of the model: they have no terminal, and output before cancellation is kept.

use serde_json::json;

use crate::confirm::LIVE;
use crate::sessions::on_disk;
use crate::stage::{calls, conversation, full, last_sent, log, playing, quit, says, sent, until};
use crate::support::home::Home;
use crate::support::words::TextAssertions;

/// Paints over the screen and waits for a key, where there is a terminal.
const TERMINAL: &str =
    "printf '\\033[2JPAINTED' > /dev/tty; read -r x < /dev/tty; echo read: \"$x\"; echo over";

#[test]
fn a_command_has_no_terminal() {
    let (home, server, pty) = conversation([
        calls("run_command", json!({"command": TERMINAL})),
        says("It has none."),
    ]);
    pty.send(format!("!{TERMINAL}\r"));
    pty.wait_text("exit code: 0");
    pty.enter("try it", LIVE);
    pty.send("y");
    pty.wait_text("It has none.");
    last_sent(&server, 1).assert_has(&["/dev/tty", "over"]);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!raw.contains("\x1b[2JPAINTED"), "painted over the screen");
    quit(pty, &home);
    assert!(log(&home)[0].1.contains("read: \nover"), "{:?}", log(&home));
}

#[test]
fn a_stopped_command_of_the_user_keeps_what_it_printed() {
    let (home, server, pty) = conversation([says("It said so.")]);
    pty.send("!echo the first part; touch begun; sleep 300\r");
    until("it runs", || home.has("work/begun"));
    pty.wait_text(" 0s echo the first part");
    pty.send("\x1b");
    pty.wait_text("[stopped]");
    // The model learns of it too.
    pty.enter("what did it say?", "It said so.");
    let heard: Vec<String> = sent(&server, 0).into_iter().map(|(_, text)| text).collect();
    heard
        .join("\n")
        .assert_has(&["\nthe first part\n[stopped]"]);
    quit(pty, &home);
    let log = log(&home);
    assert!(log[0].1.contains("\nthe first part\n[stopped]"), "{log:?}");
}

#[test]
fn a_stopped_command_of_the_model_keeps_what_it_printed() {
    let home = Home::new();
    let script = "echo the first part; touch begun; sleep 300";
    let server = playing([
        calls("run_command", json!({"command": script})),
        says("It said so."),
    ]);
    let pty = full(&home, &server);
    pty.enter("run it", LIVE);
    pty.send("y");
    until("it runs", || home.has("work/begun"));
    pty.send("\x1b");
    pty.wait_for("the mark of the stop", |screen| {
        let rows = crate::stage::rows(screen);
        rows.iter().any(|row| row.trim() == "stopped")
    });
    // On a slow machine a turn ends after its mark.
    until("what came of the call is kept", || {
        on_disk(&home).contains(r"the first part\n[stopped]")
    });
    pty.enter("what did it say?", "It said so.");
    let heard: Vec<String> = sent(&server, 1).into_iter().map(|(_, text)| text).collect();
    heard.join("\n").assert_has(&["the first part\n[stopped]"]);
    quit(pty, &home);
}
