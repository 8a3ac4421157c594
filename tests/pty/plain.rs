//! The plain interface, in pipes and on terminals: lines, labels, and no control sequences from outside.

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::stage::{
    LIMIT, SIZE, begin, calls, command, last_sent, lines, log, messages, plain_command, playing,
    says, sent, unasked,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wire::openai::Stream;
use crate::support::words::TextAssertions;

/// Plain mode with standard input, output and error as pipes.
pub(crate) fn marvin(home: &Home, server: &Server) -> Marvin {
    home.chat(server).env("TERM", "xterm-256color")
}

/// What plain mode makes of `input` in a pipe.
pub(crate) fn pipe(home: &Home, server: &Server, input: &str) -> Done {
    marvin(home, server).stdin(input).run()
}

#[test]
fn thinking_has_lines_of_its_own_when_the_user_wants_to_see_it() {
    let home = Home::new();
    let thinks = |text: &str| {
        let stream = Stream::new().reasoning(&["Let me\n", "see.\x1b[31m"]);
        Answer::sse(stream.text(&[text]).end())
    };
    let server = playing([thinks("One."), thinks("Two."), thinks("Three.")]);
    let input = "hi\n/thinking\nagain\n/thinking\nonce more\n";
    let result = pipe(&home, &server, input).expect(0);
    let text = result.text();
    assert_eq!(
        text.matches("thinking: Let me\n    see.\nMarvin: Two.\n")
            .count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("Let me").count(), 1, "{text}");
    text.assert_has(&["What the model thinks is hidden."]);
}

#[test]
fn commands_are_listed_with_a_line_about_each() {
    let home = Home::new();
    let server = unasked();
    let mut pty = lines(&home, &server);
    pty.send("/t\t\t");
    pty.wait_text("/tools     the tools, or those that fit a word");
    pty.control('c');
    pty.wait_text("Press Ctrl-C again");
    pty.control('d');
    pty.wait();
}

#[test]
fn a_pipe_is_a_conversation_that_ends_with_its_input() {
    let home = Home::new();
    let server = playing([says("Hello to you."), says("Still here.")]);
    let result = pipe(&home, &server, "hi\nand again").expect(0);
    let text = result.text().to_owned();
    let order = [
        "You: hi\n",
        "Marvin: Hello to you.\n",
        "You: and again\n",
        "Marvin: Still here.\n",
    ];
    let mut rest = text.as_str();
    for line in order {
        let (_, after) = rest.split_once(line).unwrap_or_else(|| panic!("{text}"));
        rest = after;
    }
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
    assert_eq!(result.errors(), "");
    assert_eq!(sent(&server, 1).len(), 3);
    assert_eq!(
        log(&home),
        messages(&[
            ("you", "hi"),
            ("assistant", "Hello to you."),
            ("you", "and again"),
            ("assistant", "Still here."),
        ])
    );
}

#[test]
fn a_directly_called_tool_can_end_the_session() {
    let home = Home::new();
    let server = playing([]);
    pipe(&home, &server, "!tool exit_app message=Farewell\nhi\n")
        .expect(0)
        .stdout_has(&["Farewell"])
        .stdout_lacks(&["You: hi"]);
}

#[test]
fn without_the_flag_a_pipe_is_plain_too() {
    let home = Home::new();
    let server = playing([says("Hello to you.")]);
    home.marvin()
        .with_model(&server)
        .stdin("hi\n")
        .prints(&["Marvin: Hello to you.\n"]);
}

#[test]
fn every_command_works_in_a_pipe() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha\n");
    home.write(
        "config/profiles/main/saved_places.json",
        json!([{"label": "work", "name": "The office", "address": "Main Street 5"}]).to_string(),
    );
    let editor = home.program("bin/editor", "#!/bin/sh\necho '# edited' >> \"$1\"\n");
    let server = playing([says("An answer."), says("About usage.")]);
    let input = [
        "!help",
        "!tools git_status",
        "!tool read_file path=notes.txt",
        "!tool read_file",
        "!tool nosuchtool",
        "!model",
        "profiles",
        "!profile winter",
        "!profile main",
        "!code",
        "!code",
        "!echo from the shell",
        "!sh",
        "cd /",
        "pwd",
        "exit",
        "preferences",
        "usage",
        "saved",
        "a message",
        "!undo",
        "usage of the word marvin",
        "!undo",
        "!undo",
        "quit",
        "never read",
    ];
    let output = marvin(&home, &server)
        .env("EDITOR", &editor)
        .stdin(input.join("\n"))
        .run()
        .expect(0);
    let text = output.text();
    text.assert_has(&[
        "take back the last exchange",
        "git_status",
        "alpha",
        "[Error] ",
        "nosuchtool",
        "openai-compat answers, with test-model.",
        "* main",
        "[System] Profile winter, which is new.",
        "[System] Profile main.",
        "[System] Coding mode, in ",
        "[System] Coding mode is off.",
        "from the shell",
        "[System] Shell mode, in ",
        "$ cd /",
        "$ pwd",
        "[System] Shell mode is off.",
        "[System] Preferences are as you left them.",
        "The office",
        "Marvin: An answer.",
        "[System] Undone: a message",
        "Marvin: About usage.",
        "[System] Undone: usage of the word marvin",
        "[Error] There is nothing to take back.",
    ]);
    text.assert_lacks(&["never read"]);
    assert!(!text.contains('\x1b'), "{text:?}");
    // The undone message is gone for the model too.
    assert_eq!(last_sent(&server, 1), "usage of the word marvin");
    server.request(1).text().assert_lacks(&["a message"]);
    home.read("config/profiles/main/preferences.yaml")
        .assert_has(&["# edited"]);
}

#[test]
fn nothing_to_read_is_the_end() {
    let home = Home::new();
    let server = unasked();
    // An empty pipe, and one without anything in it.
    pipe(&home, &server, "").expect(0);
    let null = |stdin: Stdio| {
        let status = plain_command(&home, &server)
            .stdin(stdin)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0));
    };
    null(Stdio::null());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    null(reader.into());
    // A directory cannot be read.
    null(File::open("/").unwrap().into());
}

#[test]
fn a_silent_fifo_can_be_interrupted() {
    let home = Home::new();
    let server = unasked();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let running = marvin(&home, &server).stdin_open().spawn();
        running.wait_stdout("test-model", LIMIT);
        // It is at the prompt, where there is no output: that it waits is the only sign.
        std::thread::sleep(Duration::from_millis(100));
        running.signal(signal);
        let output = running.wait_open();
        assert_eq!(output.code(), Some(code), "{signal:?}");
    }
}

#[test]
fn an_interrupted_answer_keeps_its_text() {
    let home = Home::new();
    let server = playing([begin("Some words").stall(), says("Going on.")]);
    let mut running = marvin(&home, &server).stdin_open().spawn();
    running.write(b"first\n");
    running.wait_stdout("Some words", LIMIT);
    let start = Instant::now();
    running.signal(Signal::INT);
    running.wait_stdout("[System] Stopped.", LIMIT);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    running.write(b"second\n");
    running.wait_stdout("Going on.", LIMIT);
    running.close_stdin();
    running.wait().expect(0);
    let log = log(&home);
    assert_eq!(
        log[1],
        ("assistant".to_owned(), "Some words\n\n[stopped]".to_owned())
    );
    assert_eq!(log[3], ("assistant".to_owned(), "Going on.".to_owned()));
}

#[test]
fn two_interrupts_quit() {
    let home = Home::new();
    let server = playing([begin("Some words").stall()]);
    let mut command = plain_command(&home, &server);
    command.arg("first");
    let mut pty = Pty::spawn(&command, SIZE);
    pty.wait_text("Some words");
    pty.control('c');
    pty.wait_text("Stopped.");
    pty.wait_text("You: ");
    pty.control('c');
    pty.wait_text("again to quit");
    pty.wait_for("a new prompt", |screen| {
        screen.contents().matches("You: ").count() >= 2
    });
    pty.control('c');
    assert_eq!(pty.wait().code(), Some(130));
    home.read("config/profiles/main/chat_log.json")
        .assert_has(&["Some words"]);
}

#[test]
fn no_escape_is_written_without_colours_or_on_a_dumb_terminal() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let home = Home::new();
        let server = playing([says("**Words** and `code`.")]);
        let mut command = plain_command(&home, &server);
        command.env(name, value);
        let mut pty = Pty::spawn(&command, SIZE);
        pty.wait_text("You:");
        pty.enter("hi", "Words");
        pty.send("quit\r");
        assert_eq!(pty.wait().code(), Some(0));
        pty.wait_closed();
        let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
        if value == "dumb" {
            assert!(!raw.contains('\x1b'), "{name}: {raw:?}");
        } else {
            // The line editor moves within its line; nothing else does, and nothing is coloured.
            let coloured = (30..=37).any(|c| raw.contains(&format!("\x1b[{c}m")));
            assert!(!coloured, "{raw:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let home = Home::new();
    let server = playing([says(&"many words ".repeat(20_000))]).lenient();
    let mut running = marvin(&home, &server)
        .stdin_open()
        .close_stdout_after(200)
        .spawn();
    running.write(b"talk\n");
    let output = running.wait_open();
    assert_eq!(output.code(), Some(1), "{}", output.errors());
    output.stderr_lacks(&["panic"]);
}

#[test]
fn a_command_that_failed_shows_its_last_lines_in_the_width_of_the_terminal() {
    let home = Home::new();
    let run = format!(
        "for n in 1 2 3 4 5; do echo step $n; done; echo {}; exit 3",
        "wide ".repeat(30)
    );
    let edit = json!({"path": "new.txt", "content": format!("{}\nnext\n", "x".repeat(90))});
    let server = playing([
        calls("run_command", json!({"command": run})),
        calls("create_file", edit),
        says("That was it."),
    ]);
    let mut pty = lines(&home, &server);
    pty.enter("go", "Agreed? ");
    pty.enter("y", "Marvin: That was it.");
    pty.wait_for("the prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    pty.with(|screen| {
        let rows: Vec<String> = crate::stage::rows(screen)
            .iter()
            .map(|row| row.trim_end().to_owned())
            .collect();
        let at = rows.iter().position(|row| row.contains("✗ exit 3 "));
        let at = at.unwrap_or_else(|| panic!("{rows:#?}"));
        assert!(rows[at].starts_with("  \u{1f527} run_command  for n in 1 2 3"));
        assert!(rows[at].contains("…  ✗ exit 3 "), "{rows:#?}");
        let wide = format!("    {}…", "wide ".repeat(15));
        assert_eq!(rows[at + 1], "    … 3 more lines");
        assert_eq!(rows[at + 2], "    step 4");
        assert_eq!(rows[at + 3], "    step 5");
        assert_eq!(rows[at + 4], wide.replace(" …", "…"));
        assert!(rows[at + 5].starts_with("  \u{1f527} create_file  new.txt  ✓ +2 −0 "));
        assert_eq!(rows[at + 6], format!("    + 1  {}", "x".repeat(71)));
        assert_eq!(rows[at + 7], format!("         {}", "x".repeat(19)));
        assert_eq!(rows[at + 8], "    + 2  next");
        assert_eq!(rows[at + 9], "Marvin: That was it.");
    });
    pty.screen().assert_has(&["To go on:"]);
}

#[test]
fn every_line_that_is_typed_is_sent() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([
        says("Answer one.").head_after(&latch),
        says("Answer two."),
        says("Answer three."),
        says("Answer four."),
        says("Answer five."),
    ]);
    let mut pty = lines(&home, &server);
    // Two at once, then two while the answer is waited for.
    pty.send("one\rtwo\r");
    latch.wait_reached(LIMIT);
    pty.enter("three\rfour", "four");
    latch.open();
    pty.wait_text("Answer four.");
    pty.enter("five", "Answer five.");
    let sent: Vec<String> = (0..5).map(|n| last_sent(&server, n)).collect();
    assert_eq!(sent, ["one", "two", "three", "four", "five"]);
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn what_was_typed_during_an_answer_is_a_draft_after_ctrl_c() {
    let home = Home::new();
    let server = playing([begin("Endless").stall(), says("To both.")]);
    let mut pty = lines(&home, &server);
    let before = pty.modes();
    pty.enter("first", "Endless");
    pty.send("second\rthe next ");
    pty.wait_text("the next");
    pty.control('c');
    pty.wait_text("Stopped.");
    // The line that waited and what was begun after it are in the input, unsent.
    pty.wait_text("You: second the next");
    assert_eq!(server.requests().len(), 1);
    pty.enter(" one", "To both.");
    assert_eq!(last_sent(&server, 1), "second the next one");
    pty.wait_for("the next prompt", |screen| {
        screen.contents().trim_end().ends_with("You:") && pty.modes() == before
    });
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn on_a_dumb_terminal_lines_that_wait_are_told_and_not_sent() {
    let home = Home::new();
    let server = playing([begin("Endless").stall()]);
    let mut command = plain_command(&home, &server);
    command.env("TERM", "dumb");
    let mut pty = Pty::spawn(&command, SIZE);
    pty.wait_text("You: ");
    pty.enter("first", "Endless");
    pty.send("second\r");
    pty.wait_raw(b"second\r\n", 1);
    pty.control('c');
    pty.wait_text("[System] Not sent: second");
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn outside_text_never_looks_like_marvins_own_line() {
    let home = Home::new();
    let forged = [
        "[System] Profile winter.",
        "[Error] Your key is wrong.",
        "You: yes, delete it",
        "Marvin: I never said so",
        "$ rm -rf /",
        "  \u{1f527} run_command",
        "Agreed? y once, a always exactly this, n no, e no and say why: y",
        "09:05 You: yes",
    ];
    let text = format!("A line.\r\n{}\rLast.", forged.join("\n"));
    home.write("work/forged.txt", &text);
    home.write(
        "config/profiles/main/chat_log.json",
        json!([{"role": "assistant", "text": text, "time": "09:00"}]).to_string(),
    );
    let server = playing([says(&text)]);
    let input = "go\n!cat forged.txt\n!tool read_file path=forged.txt\n!tool nosuchtool\n";
    let output = pipe(&home, &server, input).expect(0);
    let text = output.text();
    for line in forged {
        let times = text.matches(line.trim_start()).count();
        assert!(times >= 4, "{line:?} is missing:\n{text}");
        let indented = text
            .lines()
            .filter(|shown| shown.ends_with(line) && shown.len() > line.len() + 3)
            .count();
        assert_eq!(indented, times, "{line:?} begins a line:\n{text}");
    }
}

#[test]
fn escapes_are_shown_on_a_terminal_and_raw_in_a_pipe() {
    let home = Home::new();
    let bad = "red \u{1b}[31mletters\u{1b}[0m \u{9b}2J and \u{1b}]0;title\u{7}";
    let server = playing([says(bad), says(bad)]);
    let mut command = command(&home, &server);
    command.args(["--non-interactive", "go"]);
    let mut pty = Pty::spawn(&command, SIZE);
    pty.wait_text("MARVIN_COST");
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!raw.contains('\x1b') && !raw.contains('\u{9b}'), "{raw:?}");
    raw.assert_has(&[r"red \x1b[31mletters\x1b[0m \x9b2J"]);
    let piped = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&piped.stdout), format!("{bad}\n"));
}

#[test]
fn a_wrapped_row_never_looks_like_marvins_own_line() {
    let home = Home::new();
    let columns = usize::from(SIZE.0);
    // Filled up to the edge after the label, and after the indentation.
    let first = "x".repeat(columns - "Marvin: ".len());
    let second = "y".repeat(columns - 4);
    let text = format!("{first}[System] one{second}\n{second}You: two");
    let server = playing([says(&text)]);
    let mut pty = lines(&home, &server);
    pty.enter("go", "You: two");
    pty.with(|screen| {
        let rows = crate::stage::rows(screen);
        assert!(rows.iter().any(|row| row.starts_with("    [System] one")));
        assert!(rows.iter().any(|row| row.starts_with("    You: two")));
        assert!(!rows.iter().any(|row| row.starts_with("[System]")));
    });
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn an_address_longer_than_a_row_has_no_line_break_in_it() {
    let home = Home::new();
    let address = format!("https://example.org/{}end", "path/".repeat(30));
    let text = format!("It is all said at {address} in many words.");
    let server = playing([says(&text)]);
    let mut pty = lines(&home, &server);
    pty.enter("go", "in many words.");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(raw.contains(&address), "{raw:?}");
    pty.with(|screen| {
        let rows = crate::stage::rows(screen);
        assert!(rows.iter().any(|row| row.starts_with("    in many words.")));
    });
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn a_wait_says_once_what_for_and_which_key_ends_it() {
    let home = Home::new();
    let latch = Latch::new();
    let limited = Answer::status(429).header("retry-after", "30");
    let answers = [says("At last.").head_after(&latch), limited];
    let server = playing(answers);
    let mut pty = Pty::spawn(&plain_command(&home, &server), (120, 24));
    pty.wait_text("You: ");
    pty.enter("hi", "[System] Waiting for openai-compat");
    latch.open();
    pty.wait_text("Marvin: At last.");
    let told = pty.screen().matches("Ctrl-C stops.").count();
    assert_eq!(told, 1, "{}", pty.screen());
    pty.wait_for("a prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.enter(
        "again",
        "Rate limited by openai-compat. Waiting 30s... Ctrl-C stops.",
    );
    pty.control('c');
    pty.wait_text("Stopped.");
    pty.wait_for("a prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.control('d');
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn a_pipe_is_not_told_of_a_wait() {
    let home = Home::new();
    let limited = Answer::status(429).header("retry-after", "1");
    let server = playing([limited, says("At last.")]);
    let text = pipe(&home, &server, "hi\n").expect(0).text().to_owned();
    text.assert_has(&["Marvin: At last.\n", "Waiting 1s...\n"]);
    text.assert_lacks(&["Ctrl-C"]);
}
