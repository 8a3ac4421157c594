//! What a user sees while something runs: the last lines of a program, what a wait waits for, the model's thinking, where the session works.

use std::time::Duration;

use serde_json::json;

use crate::confirm::LIVE;
use crate::stage::{
    LIMIT, SIZE, calls, command, find, full, full_sized, playing, quit, rows, says, unasked,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai::Stream;

/// Writes five lines, then waits until the file is there.
fn lines_until(file: &str) -> String {
    format!("for n in 1 2 3 4 5; do echo \"line $n\"; done; until [ -e {file} ]; do sleep 0.02; done; echo over")
}

#[test]
fn a_running_command_shows_its_last_lines_until_it_ends() {
    let home = Home::new();
    let server = playing([
        calls("run_command", json!({"command": lines_until("go")})),
        says("That was it."),
    ]);
    let pty = full(&home, &server);
    pty.send("do it\r");
    pty.wait_text(LIVE);
    pty.send("y");
    pty.wait_for("the last three lines", |screen| {
        rows(screen).iter().any(|row| row == "   line 5")
    });
    let seen = pty.with(rows);
    let at = seen.iter().position(|row| row == "   line 3").expect("line 3");
    assert_eq!(seen[at + 1..at + 3], ["   line 4", "   line 5"]);
    assert!(seen[at - 1].contains("🔧 run_command") && seen[at - 1].ends_with("Esc to stop"));
    assert!(!seen.iter().any(|row| row == "   line 2"), "{seen:#?}");
    let dim = pty.with(|screen| {
        let (row, column) = find(screen, "line 4").unwrap();
        screen.cell(row, column).unwrap().dim()
    });
    assert!(dim);
    home.write("work/go", "");
    pty.wait_text("That was it.");
    assert!(!pty.screen().contains("   line 5"), "{}", pty.screen());
    // The result has all of it.
    pty.send("\t");
    pty.wait_text("   line 1");
    quit(pty, &home);
}

#[test]
fn a_command_of_the_user_shows_its_last_lines_and_the_key_that_stops_it() {
    let home = Home::new();
    let server = unasked();
    let pty = full(&home, &server);
    pty.send(format!("!{}\r", lines_until("go")));
    pty.wait_text("   line 5");
    pty.wait_text("· Esc to stop ·");
    assert!(!pty.screen().contains("   line 2"), "{}", pty.screen());
    home.write("work/go", "");
    pty.wait_text("over");
    pty.wait_for("the end", |screen| {
        !screen.contents().contains("Esc to stop")
    });
    quit(pty, &home);
}

#[test]
fn a_wait_says_what_for_from_its_first_second() {
    let home = Home::new();
    let (head, thought) = (Latch::new(), Latch::new());
    let thinking = Stream::new().reasoning(&["Let me see.\nAnd again."]).frames();
    let rest = Stream::new().text(&["Here it is."]).end();
    let mut answer = Answer::stream("text/event-stream", thinking)
        .head_after(&head)
        .pause(&thought);
    for frame in rest {
        answer = answer.send(frame);
    }
    let server = playing([answer]);
    let pty = full(&home, &server);
    pty.send("think about it\r");
    pty.wait_text("waiting for openai-compat 0s  Esc to stop");
    head.open();
    pty.wait_text("Esc to stop  Alt-T shows it");
    assert!(pty.screen().contains(" thinking "));
    assert!(!pty.screen().contains("Let me see."), "{}", pty.screen());
    // Alt-T shows it, also while it arrives, and hides it again.
    pty.send("\x1bt");
    pty.wait_text("  And again.");
    pty.send("\x1bt");
    pty.wait_for("no thinking", |screen| !screen.contents().contains("And again."));
    thought.open();
    pty.wait_text("Here it is.");
    pty.send("\x1bt");
    pty.wait_text("  Let me see.");
    let seen = pty.with(rows);
    let row = |text: &str| seen.iter().position(|row| row.contains(text)).expect("a row");
    assert!(row("think about it") < row("Let me see.") && row("And again.") < row("Here it is."));
    quit(pty, &home);
}

#[test]
fn a_rate_limit_counts_down_and_escape_ends_it() {
    let home = Home::new();
    let limited = Answer::status(429).header("retry-after", "30");
    let server = Server::with([Exchange::post("/chat/completions").answer(limited)]);
    let pty = full(&home, &server);
    pty.send("go\r");
    pty.wait_text("rate limited by openai-compat, next try in 30s  Esc to stop");
    pty.wait_text("next try in 29s");
    pty.send("\x1b");
    pty.wait_text("stopped");
    quit(pty, &home);
}

#[test]
fn the_status_line_names_the_folder_and_its_branch() {
    let home = Home::new();
    home.write("work/.git/HEAD", "ref: refs/heads/retry-fix\n");
    let server = playing([says("First.")]);
    let pty = full_sized(&home, &server, (120, 24));
    pty.wait_text("work (retry-fix)");
    // Another branch is noticed when a turn ends.
    home.write("work/.git/HEAD", "ref: refs/heads/main\n");
    pty.send("go\r");
    pty.wait_text("work (main)");
    // Narrow, it goes before the cost and the profile do.
    pty.resize(40, 12);
    pty.wait_for("a narrow line", |screen| {
        let status = rows(screen)[10].clone();
        status.contains("test-model") && !status.contains("work (")
    });
    quit(pty, &home);
}
