//! What a user sees while something runs: the last lines of a program, what a wait waits for, the model's thinking, where the session works.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::confirm::LIVE;
use crate::stage::{
    begin, calls, command, conversation, find, full, full_sized, playing, quit, rows, says, started,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::Answer;
use crate::support::wire::openai::Stream;
use crate::support::words::TextAssertions;

/// Writes five lines, then waits until the file is there.
fn lines_until(file: &str) -> String {
    format!(
        "for n in 1 2 3 4 5; do echo \"line $n\"; done; until [ -e {file} ]; do sleep 0.02; done; echo over"
    )
}

#[test]
fn a_running_command_shows_its_last_lines_until_it_ends() {
    let (home, _server, pty) = conversation([
        calls("run_command", json!({"command": lines_until("go")})),
        says("That was it."),
    ]);
    pty.enter("do it", LIVE);
    pty.send("y");
    pty.wait_for("the last three lines", |screen| {
        rows(screen).iter().any(|row| row == "   line 5")
    });
    let seen = pty.with(rows);
    let at = seen
        .iter()
        .position(|row| row == "   line 3")
        .expect("line 3");
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
    // What was said counts, not the call and its result.
    pty.wait_text("2 msgs");
    pty.screen().assert_lacks(&["   line 5"]);
    // The result has all of it.
    pty.send("\t");
    pty.wait_text("   line 1");
    quit(pty, &home);
}

#[test]
fn a_command_of_the_user_shows_its_last_lines_and_the_key_that_stops_it() {
    let (home, _server, pty) = conversation([]);
    pty.send(format!("!{}\r", lines_until("go")));
    pty.wait_text("   line 5");
    pty.wait_text("· Esc to stop ·");
    pty.screen().assert_lacks(&["   line 2"]);
    home.write("work/go", "");
    pty.wait_text("over");
    pty.wait_gone("Esc to stop");
    quit(pty, &home);
}

#[test]
fn a_wait_says_what_for_from_its_first_second() {
    let home = Home::new();
    let (head, thought) = (Latch::new(), Latch::new());
    let thinking = Stream::new()
        .reasoning(&["Let me see.\nAnd again."])
        .frames();
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
    pty.wait_for("the wait", |screen| {
        let waits = |row: &String| {
            // Blanks may be left of a longer row before it.
            row.contains("waiting for openai-compat") && row.trim_end().ends_with("Esc to stop")
        };
        rows(screen).iter().any(waits)
    });
    head.open();
    pty.wait_text("Esc to stop  Alt-T shows it");
    pty.screen().assert_has(&[" thinking "]);
    pty.screen().assert_lacks(&["Let me see."]);
    // Alt-T shows it, also while it arrives, and hides it again.
    pty.send("\x1bt");
    pty.wait_text("  And again.");
    pty.send("\x1bt");
    pty.wait_gone("And again.");
    thought.open();
    pty.wait_text("Here it is.");
    pty.send("\x1bt");
    pty.wait_text("  Let me see.");
    let seen = pty.with(rows);
    let row = |text: &str| {
        seen.iter()
            .position(|row| row.contains(text))
            .expect("a row")
    };
    assert!(row("think about it") < row("Let me see.") && row("And again.") < row("Here it is."));
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
    pty.enter("go", "work (main)");
    // Narrow, it goes before the context and the profile do.
    pty.resize(40, 12);
    pty.wait_for("a narrow line", |screen| {
        let status = rows(screen)[11].clone();
        status.contains("test-model") && !status.contains("work (")
    });
    quit(pty, &home);
}

#[test]
fn code_is_marked_without_colours_and_copied_without_the_breaks_of_the_screen() {
    let home = Home::new();
    let long = format!("let path = \"{}\";", "abcdefghi/".repeat(12));
    let address = format!("https://example.org/{}", "segment/".repeat(15));
    let answer = format!("Look at {address}.\n\n```rust\n{long}\n```\n\nThat is all.");
    let server = playing([says(&answer)]);
    let mut command = command(&home, &server);
    command.env("NO_COLOR", "1");
    let pty = started(&command);
    pty.enter("show me", "That is all.");
    let seen = pty.with(rows);
    let at = |text: &str| {
        seen.iter()
            .position(|row| row.starts_with(text))
            .expect("a row")
    };
    assert_eq!(seen[at("let path") - 1], "── rust ────────────────");
    assert_eq!(seen[at("That is all.") - 2], "─".repeat(24));
    // The terminal knows that a row goes on, and copies it without a line break; not from the last row of the line.
    let first = u16::try_from(at("let path")).unwrap();
    let wrapped = pty.with(|screen| [0, 1].map(|more| screen.row_wrapped(first + more)));
    assert_eq!(wrapped, [true, false]);
    assert!(
        !String::from_utf8_lossy(&pty.raw()).contains("\x1b]8;"),
        "no link in a terminal that is not known to have them"
    );
    for (key, text) in [("\x1bk", format!("{long}\n")), ("\x1ba", address)] {
        pty.send(key);
        let copied = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
        pty.wait_raw(copied.as_bytes(), 1);
    }
    quit(pty, &home);
}

#[test]
fn the_same_key_copies_the_address_before() {
    let home = Home::new();
    let answer = "Read https://a.example/one and [two](https://b.example/two), not https://c.example/three, https://a.example/one.";
    let server = playing([says(answer), says("Only https://d.example here.")]);
    let pty = full(&home, &server);
    pty.enter("where?", "2 msgs");
    for (address, said) in [
        ("https://a.example/one", "address 3 of 3"),
        ("https://c.example/three", "address 2 of 3"),
        ("https://b.example/two", "address 1 of 3"),
        ("https://a.example/one", "address 3 of 3"),
    ] {
        pty.send("\x1ba");
        let copied = format!("\x1b]52;c;{}\x07", STANDARD.encode(address));
        pty.wait_raw(copied.as_bytes(), 1);
        pty.wait_text(&format!("Copied {said}, Alt-A copies another: {address}"));
    }
    // Another key, and it begins again.
    pty.send("\x1ba");
    pty.wait_text("address 2 of 3");
    pty.send("x\x15\x1ba");
    pty.wait_text("address 3 of 3");
    pty.enter("once more", "4 msgs");
    pty.send("\x1ba\x1ba");
    pty.wait_text("Copied the address, 17 characters.");
    quit(pty, &home);
}

#[test]
fn many_queued_messages_leave_room_for_the_answer() {
    let (_home, _server, pty) = conversation([begin("Part one").stall()]);
    pty.enter("write", "Part one");
    for n in 1..=7 {
        pty.send(format!("later {n}\r"));
        pty.wait_text(&match n {
            ..=5 => format!("queued  later {n}"),
            _ => format!("queued  … {} more", n - 5),
        });
    }
    pty.screen().assert_has(&["queued  later 5"]);
    pty.screen().assert_lacks(&["later 6"]);
    drop(pty);
}

#[test]
fn addresses_are_links_where_the_terminal_has_them() {
    let home = Home::new();
    let long = format!("https://example.org/{}end", "segment/".repeat(15));
    let answer = format!(
        "Bare {long} and [the manual](https://example.org/man \"Manual\"), not [this](file:///etc/passwd)."
    );
    let server = playing([says(&answer)]);
    let mut command = command(&home, &server);
    command.env("FORCE_HYPERLINK", "1");
    let pty = started(&command);
    pty.enter("show me", "etc/passwd");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let opened: Vec<&str> = raw
        .split("\x1b]8;id=")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("\x1b\\")?.0.split_once(';')?.1))
        .collect();
    for address in [long.as_str(), "https://example.org/man"] {
        assert!(opened.contains(&address), "{address} in {opened:?}");
    }
    assert!(!opened.iter().any(|address| address.contains("passwd")));
    assert!(raw.matches("\x1b]8;;\x1b\\").count() > 0, "links end");
    quit(pty, &home);
}

#[test]
fn a_change_of_the_session_is_one_dim_row() {
    let (home, _server, pty) = conversation([]);
    pty.enter("/shell", "Shell mode, in ");
    pty.enter("/shell", "Shell mode is off.");
    pty.with(|screen| {
        let (row, column) = find(screen, "Shell mode is off.").unwrap();
        assert!(screen.cell(row, column).unwrap().dim());
        let before = rows(screen)[usize::from(row) - 1].clone();
        assert!(before.starts_with("Shell mode, in "), "{before}");
    });
    quit(pty, &home);
}
