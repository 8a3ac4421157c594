//! What hands do: the wheel, Shift-Enter, Esc, several messages at once, and a terminal that is given back as it was.

use std::time::Duration;

use crate::stage::{
    SIZE, begin, command, conversation, end, full, input, last_sent, playing, quit, says, started,
    unasked, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::Answer;

/// A conversation of more rows than the screen has.
fn long_answer() -> Answer {
    let lines: Vec<String> = (1..=60)
        .map(|n| format!("row {n:02} of the answer\n\n"))
        .collect();
    says(&lines.concat())
}

/// Asks for it, and waits until it is there.
fn ask_for_rows(pty: &Pty) {
    pty.enter("tell me", "row 60");
    pty.wait_text("2 msgs");
}

#[test]
fn the_wheel_scrolls_the_conversation_and_leaves_the_history_alone() {
    for (up, down) in [("\x1b[A", "\x1b[B"), ("\x1bOA", "\x1bOB")] {
        let (home, _server, pty) = conversation([long_answer()]);
        ask_for_rows(&pty);
        for _ in 0..4 {
            pty.send(up.repeat(3));
            // A notch of a wheel, then the next.
            std::thread::sleep(Duration::from_millis(20));
        }
        pty.wait_for("twelve rows up", |screen| {
            screen.contents().contains("more below") && !screen.contents().contains("row 60")
        });
        assert_eq!(pty.with(input), ">");
        for _ in 0..6 {
            pty.send(down.repeat(5));
        }
        pty.wait_text("row 60");
        assert_eq!(pty.with(input), ">");
        // A key alone, which comes after a pause, still walks through the history.
        std::thread::sleep(Duration::from_millis(100));
        pty.send(up);
        wait_input(&pty, "> tell me");
        // In a draft the wheel moves the conversation too, and not the cursor.
        pty.send(up.repeat(10));
        pty.wait_gone("row 60");
        assert_eq!(pty.with(input), "> tell me");
        pty.send("\x15");
        quit(pty, &home);
    }
}

#[test]
fn the_wheel_scrolls_the_help() {
    let (home, _server, pty) = conversation([]);
    pty.send("?");
    pty.wait_text("Help: Esc closes");
    pty.send("\x1b[B".repeat(5));
    pty.wait_gone("Help: Esc closes");
    pty.send("\x1b[A".repeat(5));
    pty.wait_text("Help: Esc closes");
    pty.send("\x1b");
    pty.wait_gone("Help: Esc");
    quit(pty, &home);
}

#[test]
fn shift_enter_and_alt_enter_are_new_lines_in_every_encoding() {
    let (home, server, pty) = conversation([says("All of it.")]);
    // kitty's protocol, xterm's modifyOtherKeys, and what every terminal sends for Alt-Enter.
    pty.send("one\x1b[13;2utwo\x1b[27;2;13~three\x1b[13;3ufour\x1b\rfive");
    wait_input(&pty, "> one\n  two\n  three\n  four\n  five");
    pty.send("\r");
    pty.wait_text("All of it.");
    assert_eq!(last_sent(&server, 0), "one\ntwo\nthree\nfour\nfive");
    quit(pty, &home);
}

#[test]
fn every_key_works_under_the_keyboard_protocol() {
    let (home, _server, pty) = conversation([begin("Endless").stall()]);
    let shows = |line: &'static str| pty.wait_for(line, move |screen| input(screen) == line);
    pty.send("alpha beta gamma");
    // Ctrl-W, Ctrl-A, Alt-D, Ctrl-E; with Num Lock, and with the keys let go.
    pty.send("\x1b[119;5u\x1b[119;5:3u");
    shows("> alpha beta");
    pty.send("\x1b[97;133u\x1b[100;3u\x1b[101;5u!");
    shows(">  beta !");
    // Ctrl-U, then the history search and Esc.
    pty.send("\x1b[117;5u");
    shows(">");
    pty.enter("go", "Endless");
    pty.send("\x1b[27u");
    pty.wait_text("stopped");
    // F1, which kitty sends as before, and Esc.
    pty.send("\x1b[P");
    pty.wait_text("Help: Esc closes");
    pty.send("\x1b[27;1:1u\x1b[27;1:3u");
    pty.wait_gone("Help: Esc");
    // Ctrl-Q.
    let mut pty = pty;
    pty.send("\x1b[113;5u");
    assert_eq!(pty.wait().code(), Some(0));
    crate::terminal::restored(&pty, &home);
}

/// Lets the time pass in which an Esc may still be the beginning of another key.
fn settle() {
    std::thread::sleep(Duration::from_millis(150));
}

#[test]
fn esc_twice_clears_and_never_leaves() {
    let (home, _server, pty) = conversation([begin("Endless").stall(), says("Still here.")]);
    for escape in ["\x1b\x1b", "\x1b[27u\x1b[27u"] {
        pty.send("a draft");
        wait_input(&pty, "> a draft");
        pty.send(escape);
        wait_input(&pty, ">");
        settle();
    }
    pty.enter("go", "Endless");
    pty.send("\x1b\x1b");
    pty.wait_text("stopped");
    settle();
    pty.send("\x1b\x1b");
    settle();
    pty.enter("there?", "Still here.");
    quit(pty, &home);
}

#[test]
fn two_messages_in_one_read_are_two_messages() {
    let (home, server, pty) = conversation([says("To the first."), says("To the second.")]);
    pty.enter(
        "the first of two long messages\rand the second one after it",
        "To the second.",
    );
    assert_eq!(last_sent(&server, 0), "the first of two long messages");
    assert_eq!(last_sent(&server, 1), "and the second one after it");
    // A marked paste is one text, and is not sent.
    pty.paste("line one of a paste that is long\nline two of it");
    pty.wait_for("the paste", |screen| {
        input(screen).ends_with("line two of it")
    });
    pty.send("\x15\x15\x15");
    quit(pty, &home);
}

#[test]
fn where_pastes_have_no_marks_lines_at_once_are_one() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("TERM", "linux");
    let pty = started(&command);
    pty.send("the first line of a pasted text\rand the second one of it\r");
    pty.wait_for("both lines", |screen| {
        input(screen).contains("the second one of it")
    });
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    for unknown in ["\x1b[>", "\x1b[?1007", "\x1b[?1004", "\x1b]"] {
        assert!(!raw.contains(unknown), "{unknown:?} was sent to a console");
    }
}

#[test]
fn in_gnu_screen_within_tmux_lines_at_once_are_one() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command
        .env("TERM", "screen-256color")
        .env("TMUX", "/tmp/tmux-1000/default,4711,0")
        .env("STY", "4712.pts-1.host");
    let pty = started(&command);
    pty.send("the first line of a pasted text\rand the second one of it\r");
    pty.wait_for("both lines", |screen| {
        input(screen).contains("the second one of it")
    });
}

#[test]
fn in_tmux_the_wheel_comes_as_mouse_reports() {
    let home = Home::new();
    let server = playing([long_answer()]);
    let mut marvin = command(&home, &server);
    marvin.env("TMUX", "/tmp/tmux-0/default,1,0");
    marvin.env("TERM", "tmux-256color");
    let mut pty = Pty::spawn(&marvin, SIZE);
    pty.wait_raw(b"\x1b[?1000h\x1b[?1006h", 1);
    ask_for_rows(&pty);
    pty.send("\x1b[<64;10;5M".repeat(2));
    pty.wait_for("six rows up", |screen| {
        screen.contents().contains("more below") && !screen.contents().contains("row 60")
    });
    pty.send("\x1b[<0;10;5M\x1b[<0;10;5m");
    pty.send("\x1b[<65;10;5M".repeat(3));
    pty.wait_text("row 60");
    assert_eq!(pty.with(input), ">");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    let bytes = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(bytes.rfind("\x1b[?1000h") < bytes.rfind("\x1b[?1006l\x1b[?1000l"));
}

#[test]
fn a_queued_message_that_the_history_brings_back_is_not_sent_twice() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([end(begin("Slowly").pause(&latch)), says("To the second.")]);
    let pty = full(&home, &server);
    pty.enter("first", "Slowly");
    pty.enter("second", "queued  second");
    pty.send("half a draft");
    wait_input(&pty, "> half a draft");
    pty.send("\x1b[A");
    pty.wait_text("Taken back from the queue.");
    pty.wait_for("it alone", |screen| {
        input(screen) == "> second" && !screen.contents().contains("queued")
    });
    pty.enter(", changed", "queued  second, changed");
    latch.open();
    pty.wait_text("To the second.");
    pty.wait_text("4 msgs");
    assert_eq!(last_sent(&server, 1), "second, changed");
    quit(pty, &home);
}

#[test]
fn a_page_key_jumps_over_nothing_on_a_small_screen() {
    let home = Home::new();
    let server = playing([long_answer()]);
    let pty = Pty::spawn(&command(&home, &server), (60, 7));
    pty.wait_text("test-model");
    pty.enter("tell me", "row 60");
    pty.wait_text("ctx");
    // The rows of the answer are every second one.
    let first = |screen: &vt100::Screen| {
        let rows = crate::stage::rows(screen);
        let row = rows.iter().find(|row| row.starts_with("row "))?;
        row.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let before = pty.with(first).unwrap();
    pty.send("\x1b[5~");
    pty.wait_for("a page up", |screen| first(screen) < Some(before));
    let now = pty.with(first).unwrap();
    assert!(before - now <= 2, "{before} and then {now}");
    quit(pty, &home);
}
