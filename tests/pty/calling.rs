//! Calling the user back: only while they are away or after a long wait, in the way that they chose, and with a title that is taken back.

use std::time::Duration;

use serde_json::json;

use crate::stage::{
    SIZE, begin, calls, command, conversation, end, find, full, lines, playing, quit, says, started,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::wait::side_by_side;

const AWAY: &str = "\x1b[O";
const BACK: &str = "\x1b[I";
/// Longer than the wait after which Marvin calls anyway.
const LONG: Duration = Duration::from_millis(10_300);

fn raw(pty: &Pty) -> String {
    String::from_utf8_lossy(&pty.raw()).into_owned()
}

#[test]
fn an_answer_calls_while_the_window_is_not_in_front() {
    for (way, signal) in [
        ("bell", "\x07"),
        ("osc9", "\x1b]9;Marvin has answered\x1b\\"),
        ("osc777", "\x1b]777;notify;Marvin;Marvin has answered\x1b\\"),
    ] {
        let home = Home::new();
        let server = playing([says("Here."), says("Away."), says("Back.")]);
        let mut command = command(&home, &server);
        command.env("MARVIN_NOTIFY", way);
        let pty = started(&command);
        pty.enter("one", "Here.");
        pty.wait_text("2 msgs");
        assert!(!raw(&pty).contains(signal), "{way}: called in front");
        pty.send(format!("two\r{AWAY}"));
        pty.wait_text("Away.");
        pty.wait_raw(signal.as_bytes(), 1);
        pty.wait_raw(b"\x1b]2;Marvin has answered\x1b\\", 1);
        pty.send(BACK);
        pty.wait_raw(b"\x1b]2;Marvin\x1b\\", 1);
        pty.enter("three", "Back.");
        pty.wait_text("6 msgs");
        assert_eq!(raw(&pty).matches(signal).count(), 1, "{way}");
        if way != "bell" {
            assert!(!raw(&pty).contains('\x07'), "{way} beeps");
        }
        quit(pty, &home);
    }
}

#[test]
fn a_question_calls_too_and_off_means_off() {
    for (way, expected) in [("osc9", 1), ("off", 0)] {
        let home = Home::new();
        let server = playing([
            calls("run_command", json!({"command": "echo done"})),
            says("Finished."),
        ]);
        let mut command = command(&home, &server);
        command.env("MARVIN_NOTIFY", way);
        let pty = started(&command);
        pty.send(AWAY);
        pty.enter("do it", "echo done");
        pty.wait_text("y once");
        let asked = "\x1b]9;Marvin has a question\x1b\\";
        if expected > 0 {
            pty.wait_raw(asked.as_bytes(), expected);
        }
        pty.wait_for("a question that takes keys", |screen| {
            screen.contents().contains("y once")
        });
        // Keys count after the pause that keeps those in transit from answering.
        std::thread::sleep(Duration::from_millis(700));
        pty.send("y");
        pty.wait_text("Finished.");
        pty.wait_text("msgs");
        assert_eq!(raw(&pty).matches(asked).count(), expected, "{way}");
        assert_eq!(raw(&pty).contains("\x1b]2;"), expected > 0, "{way}");
        assert!(!raw(&pty).contains('\x07'), "{way} beeps");
        quit(pty, &home);
    }
}

#[test]
fn after_a_long_wait_and_no_other_the_bell_rings_wherever_the_window_is_and_in_lines() {
    side_by_side([on_the_full_screen, in_lines], |rings: fn()| rings());
}

fn on_the_full_screen() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([end(begin("Slowly").pause(&latch))]);
    let pty = full(&home, &server);
    pty.send(BACK);
    pty.enter("take your time", "Slowly");
    std::thread::sleep(LONG);
    assert!(!raw(&pty).contains('\x07'));
    latch.open();
    pty.wait_raw(b"\x07", 1);
    quit(pty, &home);
}

fn in_lines() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([says("Quick."), end(begin("Slowly").pause(&latch))]);
    let pty = lines(&home, &server);
    pty.enter("one", "Quick.");
    pty.enter("two", "Slowly");
    assert!(!raw(&pty).contains('\x07'));
    std::thread::sleep(LONG);
    latch.open();
    pty.wait_raw(b"\x07", 1);
    assert!(!raw(&pty).contains("\x1b]"), "a title in line mode");
}

#[test]
fn what_is_wrong_at_the_start_stands_below_the_conversation_so_far() {
    let (home, server, pty) = conversation([says("Of the past.")]);
    pty.enter("one", "Of the past.");
    pty.wait_text("2 msgs");
    quit(pty, &home);
    for plain in [false, true] {
        let mut command = command(&home, &server);
        command.env("MARVIN_NOTIFY", "osc99").arg("--continue");
        if plain {
            command.arg("--plain");
        }
        let pty = Pty::spawn(&command, SIZE);
        pty.wait_text("Of the past.");
        pty.wait_text("MARVIN_NOTIFY is one of");
        pty.with(|screen| {
            let row = |text: &str| find(screen, text).map(|(row, _)| row);
            assert!(
                row("Of the past.") < row("MARVIN_NOTIFY is one of"),
                "plain: {plain}"
            );
        });
    }
}
