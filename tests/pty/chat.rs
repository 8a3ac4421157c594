//! A conversation on the full screen: typing, the reply and its appearance, and what the next session shows.

use std::fs;
use std::time::Duration;

use crate::stage::{
    LIMIT, SIZE, begin, conversation, end, full, input, last_sent, log, messages, more, playing,
    quit, rows, says, sent, until, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::snapshot;
use crate::support::words::TextAssertions;

#[test]
fn an_answer_streams_and_is_saved() {
    let home = Home::new();
    let (first, second) = (Latch::new(), Latch::new());
    let answer = begin("The first part, ").pause(&first);
    let answer = more(answer, "the second part, ").pause(&second);
    let server = playing([end(more(answer, "the end."))]);
    let pty = full(&home, &server);
    pty.send("hello there\r");
    // The user's message is visible before the reply begins.
    pty.wait_for("the message", |screen| {
        input(screen) == ">" && screen.contents().contains("hello there")
    });
    pty.wait_text("The first part,");
    pty.screen().assert_lacks(&["the second part"]);
    first.open();
    pty.wait_text("The first part, the second part,");
    pty.screen().assert_lacks(&["the end."]);
    // Typing is never blocked.
    pty.send("a draft");
    wait_input(&pty, "> a draft");
    second.open();
    pty.wait_text("the second part, the end.");
    pty.wait_text("2 msgs");
    assert!(pty.with(|screen| input(screen) == "> a draft"));
    let request = server.request(0).json();
    assert_eq!(request["model"], "test-model");
    assert_eq!(request["stream"], true);
    assert!(request["tools"].as_array().is_some_and(|t| t.len() > 10));
    assert_eq!(sent(&server, 0), messages(&[("user", "hello there")]));
    quit(pty, &home);
    let whole = "The first part, the second part, the end.";
    assert_eq!(
        log(&home),
        messages(&[("you", "hello there"), ("assistant", whole)])
    );
}

#[test]
fn fast_typing_does_not_delay_an_answer() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([says("The whole answer.").head_after(&latch)]);
    let pty = full(&home, &server);
    pty.send("go\r");
    latch.wait_reached(LIMIT);
    pty.send("x");
    latch.open();
    // Faster than frames are drawn; each letter is deleted again so that the line stays short.
    let mut keys = 0;
    while !pty.screen().contains("The whole answer.") {
        pty.send("y\x7f");
        std::thread::sleep(Duration::from_millis(5));
        keys += 1;
        assert!(
            keys < 600,
            "nothing came while keys were typed:\n{}",
            pty.screen()
        );
    }
    quit(pty, &home);
}

#[test]
fn the_welcome_is_as_its_snapshots() {
    for (width, height) in [(80, 24), (40, 12), (200, 50)] {
        let home = Home::new();
        let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), &home);
        command
            .env("PATH", "/usr/bin:/bin")
            .env("OLLAMA_URL", "http://127.0.0.1:9")
            .env("MARVIN_NOW", "2026-03-04T09:05:00+00:00[UTC]");
        let pty = Pty::spawn(&command, (width, height));
        pty.wait_text("Language model: Enter");
        pty.send("\x1b");
        pty.wait_text("something to think with");
        pty.wait_text("09:05");
        // The folder comes from a worker, where there is room for it.
        if width > 40 {
            pty.wait_text("· work");
        }
        // The modules of the tools change; all else is to stay.
        let screen = pty.with(rows);
        let modules = |row: &&String| row.starts_with("Working right now");
        let first = screen.iter().position(|row| modules(&row)).unwrap_or(0);
        let last = screen
            .iter()
            .position(|row| row.contains("show the tree"))
            .unwrap_or(first);
        let screen: Vec<&str> = screen
            .iter()
            .enumerate()
            .filter(|(index, row)| !(first..last).contains(index) && !row.trim().is_empty())
            .map(|(_, row)| row.trim_end())
            .collect();
        snapshot::same(&format!("pty/welcome-{width}x{height}"), &screen.join("\n"));
        quit(pty, &home);
    }
}

#[test]
fn both_interfaces_share_the_input_history() {
    let (home, server, pty) = conversation([]);
    pty.enter("!help", "list, look into or answer agents");
    quit(pty, &home);
    crate::plain::pipe(&home, &server, "profiles\n")
        .expect(0)
        .stdout_has(&["* main"]);
    assert_eq!(
        home.read("config/profiles/main/history"),
        "!help\nprofiles\n"
    );
    let pty = full(&home, &server);
    pty.send("\x1b[A");
    wait_input(&pty, "> profiles");
    pty.send("\x1b[A");
    wait_input(&pty, "> !help");
    quit(pty, &home);
}

#[test]
fn the_command_lines_prompt_is_the_first_message() {
    let home = Home::new();
    let server = playing([says("To you too.")]);
    let mut command = crate::stage::command(&home, &server);
    command.args(["good", "morning"]);
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text("To you too.");
    assert_eq!(last_sent(&server, 0), "good morning");
    // And the prompt stays.
    pty.send("typed");
    wait_input(&pty, "> typed");
    quit(pty, &home);
}

#[test]
fn a_long_answer_does_not_move_a_scrolled_view() {
    let home = Home::new();
    let latch = Latch::new();
    let lines = |from: usize| -> String {
        (from..from + 100)
            .map(|n| format!("line number {n}\n\n"))
            .collect()
    };
    let answer = begin(&lines(0)).pause(&latch);
    let server = playing([end(more(answer, &lines(100)))]);
    let pty = full(&home, &server);
    pty.send("talk\r");
    latch.wait_reached(LIMIT);
    pty.wait_text("line number 98");
    pty.send("\x1b[5~\x1b[5~");
    pty.wait_text("more below");
    pty.wait_gone("line number 98");
    let top = pty.screen().lines().next().unwrap().to_owned();
    latch.open();
    pty.wait_text("2 msgs");
    assert_eq!(pty.screen().lines().next().unwrap(), top, "the view moved");
    // Ctrl-End.
    pty.send("\x1b[1;5F");
    pty.wait_text("line number 199");
    quit(pty, &home);
}

#[test]
fn the_last_reply_is_copied_by_the_terminal() {
    let (home, _server, pty) = conversation([says("Words.\n\n```sh\nls -l\n```\n")]);
    pty.enter("go", "ls -l");
    pty.wait_text("2 msgs");
    pty.send("\x1bk");
    pty.wait_text("Copied the block of code");
    // "ls -l\n"
    pty.wait_raw(b"\x1b]52;c;bHMgLWwK\x07", 1);
    pty.send("\x1bc");
    pty.wait_text("Copied the reply");
    quit(pty, &home);
}

/// Wake-ups of every thread of a process so far.
fn wake_ups(pty: &Pty) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", pty.pid().as_raw_nonzero())).unwrap();
    // A thread may end meanwhile.
    let status = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let count = |text: String| -> u64 {
        text.lines()
            .filter(|line| line.contains("ctxt_switches"))
            .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    status.map(count).sum()
}

#[test]
fn an_idle_screen_sleeps() {
    let (home, _server, pty) = conversation([says("Done.")]);
    pty.enter("go", "Done.");
    pty.wait_text("2 msgs");
    let after = |pause| {
        std::thread::sleep(Duration::from_millis(pause));
        (pty.raw().len(), wake_ups(&pty))
    };
    // Time for the effects of the answer to finish, and time in which nothing may happen.
    until("it rests", || after(250) == after(250));
    let before = after(0);
    assert_eq!(after(1500), before);
    quit(pty, &home);
}
