//! Tool calls on the full screen: how they ended, what they changed, and the end of a session.

use serde_json::{Value, json};

use crate::stage::{
    calls, conversation, full, log, messages, playing, quit, rows, says, trimmed, until,
};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::Server;
use crate::support::words::TextAssertions;
use crate::terminal::restored;

/// Waits until the line of the call ends so.
fn ends(pty: &Pty, text: &str) {
    pty.wait_for(text, |screen| {
        rows(screen)
            .iter()
            .any(|row| row.contains('🔧') && row.contains(text))
    });
}

/// A session in which a command was requested and answered with `key`.
fn ran(args: Value, key: &str) -> (Home, Pty) {
    let (home, _server, pty) = conversation([calls("run_command", args), says("That was it.")]);
    pty.enter("do it", "Run this command?");
    ends(&pty, "waiting for you");
    pty.wait_text(crate::confirm::LIVE);
    pty.send(key);
    pty.wait_text("That was it.");
    (home, pty)
}

#[test]
fn a_command_that_fails_has_no_check_mark() {
    let command = "seq 1 40; echo 'no such file' >&2; exit 3";
    let (home, pty) = ran(json!({"command": command}), "y");
    ends(&pty, "✗ exit 3 ");
    // What went wrong is at the end of what it wrote.
    pty.wait_for("its last lines", |screen| {
        let screen = trimmed(screen);
        screen.contains("… 38 more lines, Ctrl-O unfolds\n   39\n   40\n   no such file")
            && !screen.contains("exit code: 3")
    });
    quit(pty, &home);
}

#[test]
fn a_timed_out_command_says_so() {
    let (home, pty) = ran(json!({"command": "sleep 20", "timeout": 1}), "y");
    ends(&pty, "✗ timeout 1.");
    quit(pty, &home);
}

#[test]
fn a_key_unfolds_the_result_in_view_and_then_all() {
    let home = Home::new();
    for name in ["one", "two"] {
        home.write(
            &format!("work/{name}.txt"),
            format!("{name} first\n{name} last\n"),
        );
    }
    let read = |name: &str| calls("read_file", json!({"path": format!("{name}.txt")}));
    let server = playing([read("one"), read("two"), says("Both read.")]);
    let pty = full(&home, &server);
    pty.control('o');
    pty.wait_text("There is no tool result to unfold.");
    pty.enter("read them", "Both read.");
    let shows = |one: bool, two: bool| {
        pty.wait_for(&format!("one: {one}, two: {two}"), |screen| {
            let screen = screen.contents();
            screen.contains("one last") == one && screen.contains("two last") == two
        });
    };
    // While something is typed too.
    pty.send("x");
    for (one, two) in [(false, true), (true, true), (false, false), (true, true)] {
        pty.control('o');
        shows(one, two);
    }
    // After another key it is one again.
    pty.send("\x7f");
    pty.control('o');
    shows(true, false);
    pty.control('o');
    shows(false, false);
    // Not the last one is in view, but the one before.
    pty.resize(80, 6);
    pty.wait_for("the end", |screen| {
        let screen = screen.contents();
        screen.contains("Both read.") && !screen.contains("one.txt")
    });
    // What the screen shows may be from before the resize, and so may the key arrive.
    until("the beginning", || {
        pty.send("\x1b[1;5H");
        pty.screen().contains("more below")
    });
    pty.send("\x1b[1;2B".repeat(3));
    pty.wait_for("the first call alone", |screen| {
        let screen = screen.contents();
        screen.contains("one.txt") && !screen.contains("two.txt")
    });
    pty.control('o');
    pty.send("\x1b[1;2B");
    pty.wait_text("one first");
    pty.resize(80, 24);
    shows(true, false);
    quit(pty, &home);
    // Calls are no part of the log.
    assert_eq!(
        log(&home),
        messages(&[("you", "read them"), ("assistant", "Both read.")])
    );
}

#[test]
fn the_farewell_is_on_the_shells_screen() {
    let (home, _server, mut pty) = conversation([
        calls(
            "exit_app",
            json!({"message": "So long, \u{1b}[31mand thanks."}),
        ),
        says("Leaving now."),
    ]);
    pty.send("leave\r");
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
    pty.screen().assert_has(&["So long, ", "and thanks."]);
    String::from_utf8_lossy(&pty.raw()).assert_lacks(&["So long, \x1b[31m"]);
}

#[test]
fn the_gauge_counts_the_answer_that_is_on_the_screen() {
    let home = Home::new();
    // A hundred thousand tokens and more, before any request reported usage.
    let answer = "word ".repeat(100_000);
    let server = playing([says(&answer)]);
    let pty = full(&home, &server);
    pty.send("go\r");
    pty.wait_for("a gauge that has risen", |screen| {
        percent(screen).is_some_and(|percent| percent > 40)
    });
    // The gauge rises before the turn is over, and undo is not possible in the middle of one.
    pty.wait_text("2 msgs");
    pty.send("!undo\r");
    pty.wait_for("a gauge that has fallen", |screen| {
        percent(screen).is_some_and(|percent| percent < 20)
    });
    quit(pty, &home);
}

#[test]
fn the_gauge_counts_the_tools_from_the_first_exchange_on() {
    let (home, _server, pty) = conversation([says("First."), says("Second.")]);
    pty.enter("one", "2 msgs");
    let first = pty.with(percent).expect("a gauge");
    pty.enter("two", "4 msgs");
    let second = pty.with(percent).expect("a gauge");
    assert!(first > 0 && second - first <= 1, "{first} then {second}");
    quit(pty, &home);
}

/// How full the context is by the status line.
fn percent(screen: &vt100::Screen) -> Option<u64> {
    let contents = screen.contents();
    let (_, after) = contents.rsplit_once("ctx ")?;
    after.split('%').next()?.parse().ok()
}

#[test]
fn a_turn_that_runs_out_of_rounds_names_the_mode_with_more() {
    let home = Home::new();
    let server = Server::always(calls("tree", json!({})));
    let pty = full(&home, &server);
    pty.enter("read everything", "y yes");
    pty.send("n");
    pty.wait_text("after 10 rounds");
    pty.wait_text("/code, a turn has more rounds.");
    quit(pty, &home);
}

#[test]
fn what_is_folded_while_its_middle_is_in_view_shows_its_beginning() {
    let home = Home::new();
    let lines: String = (1..=80).map(|n| format!("entry {n} of it\n")).collect();
    home.write("work/long.txt", lines);
    let server = playing([
        calls("read_file", json!({"path": "long.txt"})),
        says("Read."),
        says("More."),
    ]);
    let pty = full(&home, &server);
    pty.enter("read it", "Read.");
    pty.control('o');
    // It stays in view from its beginning.
    pty.wait_for("the beginning", |screen| {
        let screen = screen.contents();
        screen.contains("long.txt") && screen.contains("entry 3 of it")
    });
    pty.enter("and more", "More.");
    pty.send("\x1b[5;2~");
    pty.wait_for("the middle", |screen| {
        let screen = screen.contents();
        screen.contains("entry 70 of it") && !screen.contains("long.txt")
    });
    pty.control('o');
    pty.wait_for("its line, above what follows", |screen| {
        let rows = rows(screen);
        let line = rows.iter().position(|row| row.contains("long.txt"));
        line.is_some_and(|at| rows.iter().skip(at).any(|row| row.contains("Read.")))
    });
    // Each key still moves.
    pty.send("\x1b[1;2A");
    pty.wait_text("read it");
    quit(pty, &home);
}
