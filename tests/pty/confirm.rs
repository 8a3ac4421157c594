//! The approval prompt before a command: its content, each answer, and when it does not appear.

use std::time::Duration;

use serde_json::json;

use crate::stage::{
    LIMIT, calls, command, conversation, full, input, last_sent, lines, log, messages, playing,
    quit, says, started, wait_input,
};
use crate::support::blender::Peer;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai::Stream;
use crate::support::words::TextAssertions;

/// Longer than the pause in a draft after which a key answers.
const PAUSE: Duration = Duration::from_millis(900);

/// What a question says when keys answer it, and before.
pub(crate) const LIVE: &str = "y once";
const WAITS: &str = "Keys are accepted in a moment.";

/// A command that leaves a line each time it runs.
const COMMAND: &str = "echo ran >> made.txt";

fn asks(times: usize) -> Server {
    let call = |_| calls("run_command", json!({"command": COMMAND}));
    playing((0..times).map(call).chain([says("That was it.")]))
}

/// A home, a model that runs the command so often, and the screen as `open` brings it up.
fn asks_on(times: usize, open: impl Fn(&Home, &Server) -> Pty) -> (Home, Server, Pty) {
    let (home, server) = (Home::new(), asks(times));
    let pty = open(&home, &server);
    (home, server, pty)
}

fn asked(home: &Home, server: &Server) -> Pty {
    let pty = full(home, server);
    pty.enter("do it", "Run this command?");
    pty.wait_text(LIVE);
    pty
}

#[test]
fn the_question_shows_command_place_and_reason() {
    let home = Home::new();
    let hostile = "printf '\u{1b}[31mred\u{7}' \u{202e}txt.exe; # one\nsecond line";
    let frames = Stream::new()
        .text(&["Some thoughts.\n\nA listing would show whether the file is there."])
        .call(
            0,
            "c1",
            "run_command",
            &json!({"command": hostile}).to_string(),
        )
        .end();
    let server = playing([Answer::sse(frames), says("As you wish.")]);
    let pty = asked(&home, &server);
    let screen = pty.screen();
    screen.assert_has(&[
        r"printf '\x1b[31mred\x07' \u{202e}txt.exe; # one",
        "second line",
        "because \"A listing would show whether the file",
        "y once",
    ]);
    let place = home.work().display().to_string();
    assert!(
        screen.replace('\n', "").contains(&place),
        "no {place}:\n{screen}"
    );
    // Each command is asked about, so that none is held that could ask to leave.
    let offered = server.request(0).json()["tools"].to_string();
    offered.assert_has(&["run_command"]);
    offered.assert_lacks(&["outside_sandbox"]);
    // Other keys have no effect here.
    pty.send("xq ");
    pty.send("n");
    pty.wait_text("As you wish.");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!raw.contains("\x1b[31mred") && !raw.contains('\u{202e}'));
    assert!(pty.with(|screen| input(screen) == ">"));
    quit(pty, &home);
}

#[test]
fn a_reason_is_what_was_said_before_its_own_round() {
    let home = Home::new();
    let tree = Stream::new()
        .text(&["I look at the tree first."])
        .call(0, "c1", "tree", "{}")
        .end();
    let run = |stream: Stream, id: &str| {
        let args = json!({"command": COMMAND}).to_string();
        Answer::sse(stream.call(0, id, "run_command", &args).end())
    };
    let first = run(Stream::new().text(&["Now a run."]), "c2");
    let server = playing([
        Answer::sse(tree),
        first,
        run(Stream::new(), "c3"),
        says("Done."),
    ]);
    let pty = asked(&home, &server);
    pty.wait_text("because \"Now a run.\"");
    pty.send("y");
    pty.wait_for("the second question, without a reason", |screen| {
        let text = screen.contents();
        text.contains(LIVE) && home.has("work/made.txt") && !text.contains("because")
    });
    pty.send("n");
    pty.wait_text("Done.");
    pty.wait_text("> Ask anything");
    pty.enter("!undo", "What its tools have changed stays changed.");
    quit(pty, &home);
}

#[test]
fn a_file_outside_the_working_directory_is_sent_only_when_the_user_agrees() {
    for (key, is_sent) in [("n", false), ("y", true)] {
        let home = Home::new();
        home.write(".ssh/id_x", "the key\n");
        home.write("work/in.txt", "the text\n");
        let server = playing([says("That was it.")]);
        let pty = full(&home, &server);
        pty.enter("compare @~/.ssh/id_x and @in.txt please", "Send this file");
        pty.wait_text(".ssh/id_x");
        pty.wait_text(LIVE);
        pty.send(key);
        pty.wait_text("That was it.");
        let sent = last_sent(&server, 0);
        sent.assert_has(&["the text"]);
        assert_eq!(sent.contains("the key"), is_sent, "{sent}");
        quit(pty, &home);
    }
}

#[test]
fn y_and_enter_run_it_once() {
    for key in ["y", "\r"] {
        let (home, server, pty) = asks_on(2, asked);
        pty.send(key);
        // The same command is requested again.
        crate::stage::until("it ran", || home.has("work/made.txt"));
        server.wait_requests(2, LIMIT);
        pty.wait_text(WAITS);
        pty.wait_text(LIVE);
        pty.send(key);
        pty.wait_text("That was it.");
        assert_eq!(home.read("work/made.txt"), "ran\nran\n");
        quit(pty, &home);
    }
}

#[test]
fn installing_packages_asks_with_the_commands_and_a_allows_exactly_these() {
    let home = Home::new();
    home.write(
        "work/pyproject.toml",
        "[project]\nname = \"x\"\nversion = \"0\"\n",
    );
    home.program("bin/uv", "#!/bin/sh\necho \"$@\" >> made.txt\n");
    let install = |packages| calls("install_packages", json!({"packages": packages}));
    let server = playing([
        install(json!(["six", "attrs>=1"])),
        install(json!(["six", "attrs>=1"])),
        install(json!(["other"])),
        says("That was it."),
    ]);
    let mut command = command(&home, &server);
    command.env(
        "PATH",
        format!("{}/bin:/usr/bin:/bin", home.path().display()),
    );
    let pty = started(&command);
    pty.enter("install them", "Install these packages?");
    pty.wait_text(LIVE);
    pty.screen()
        .assert_has(&["uv add -- six", "uv add -- 'attrs>=1'"]);
    pty.send("a");
    pty.wait_text("uv add -- other");
    pty.wait_text(WAITS);
    pty.wait_text(LIVE);
    assert_eq!(
        home.read("work/made.txt"),
        "add -- six\nadd -- attrs>=1\n".repeat(2)
    );
    pty.send("n");
    pty.wait_text("That was it.");
    home.read("work/made.txt").assert_lacks(&["other"]);
    quit(pty, &home);
}

#[test]
fn code_for_blender_asks_and_runs_when_the_user_agrees() {
    let code = "import os\nprint(os.getcwd())\x1b[2J";
    for (key, runs) in [("n", false), ("y", true)] {
        let home = Home::new();
        let peer = Peer::with_result(&json!({"executed": true, "result": "/\n"}));
        let server = playing([
            calls("blender_execute_code", json!({"code": code})),
            says("That was it."),
        ]);
        let mut command = command(&home, &server);
        command.env("BLENDER_MCP_PORT", peer.port());
        let pty = started(&command);
        pty.enter("count", "Run this Python code in Blender?");
        pty.wait_text(LIVE);
        let screen = pty.screen();
        assert!(screen.contains(r"print(os.getcwd())\x1b[2J"), "{screen}");
        assert!(peer.requests().is_empty());
        pty.send(key);
        pty.wait_text("That was it.");
        let told = last_sent(&server, 1);
        assert_eq!(told.contains("\"executed\": true"), runs, "{told}");
        assert_eq!(
            told.contains("The user declined to run this Python code"),
            !runs,
            "{told}"
        );
        assert_eq!(peer.requests().len(), usize::from(runs));
        quit(pty, &home);
    }
}

#[test]
fn no_declines_and_the_model_is_told() {
    for key in ["n", "\x1b", "\x03"] {
        let (home, server, pty) = asks_on(1, asked);
        pty.send(key);
        pty.wait_text("That was it.");
        last_sent(&server, 1).assert_has(&["The user declined"]);
        assert!(!home.has("work/made.txt"), "{key:?} ran it");
        quit(pty, &home);
    }
}

#[test]
fn no_with_a_comment_reaches_the_model_and_restores_the_draft() {
    let (home, server, pty) = asks_on(1, full);
    pty.send("do it\r");
    pty.send("a draft");
    // Letters belong to the draft until the question is chosen.
    pty.wait_text("Tab: answer this, your text stays");
    std::thread::sleep(PAUSE);
    pty.send("e");
    wait_input(&pty, "> a drafte");
    pty.send("\x7f\t");
    pty.wait_text(LIVE);
    pty.send("e");
    pty.wait_text("why not:");
    pty.enter("use make instead", "That was it.");
    last_sent(&server, 1).assert_has(&["declined", "use make instead"]);
    assert!(!home.has("work/made.txt"));
    wait_input(&pty, "> a draft");
    quit(pty, &home);
    assert_eq!(
        log(&home),
        messages(&[("you", "do it"), ("assistant", "That was it.")])
    );
}

#[test]
fn enter_sends_the_draft_beside_a_question_and_approves_nothing() {
    let (home, _server, pty) = conversation([
        calls("run_command", json!({"command": COMMAND})),
        says("That was it."),
        says("To the draft."),
    ]);
    pty.send("do it\r");
    pty.send("next, the docs");
    pty.wait_text("Tab: answer this");
    std::thread::sleep(PAUSE);
    pty.send("\r");
    pty.wait_text("queued  next, the docs");
    assert!(!home.has("work/made.txt"), "Enter ran it");
    // The input is empty: the question gets the keys.
    pty.wait_text(LIVE);
    pty.send("n");
    pty.wait_text("To the draft.");
    assert!(!home.has("work/made.txt"));
    quit(pty, &home);
}

#[test]
fn esc_and_the_page_keys_are_the_questions_beside_a_draft_too() {
    let (home, server, pty) = asks_on(1, full);
    pty.send("do it\r");
    pty.send("a draft");
    pty.wait_text("Tab: answer this");
    // Tab gives the keys to the question and takes them back.
    pty.send("\t");
    pty.wait_text(LIVE);
    pty.send("\t");
    pty.wait_text("Tab: answer this");
    pty.send("\x1b");
    pty.wait_text("That was it.");
    last_sent(&server, 1).assert_has(&["declined"]);
    assert_eq!(pty.with(input), "> a draft");
    pty.send("\x15");
    quit(pty, &home);
}

#[test]
fn a_cancelled_comment_is_a_plain_no() {
    let (home, server, pty) = asks_on(1, asked);
    pty.send("e");
    pty.wait_text("why not:");
    pty.send("half a wo\x1b");
    pty.wait_text("That was it.");
    last_sent(&server, 1).assert_lacks(&["half a wo"]);
    assert!(!home.has("work/made.txt"));
    quit(pty, &home);
}

#[test]
fn a_question_does_not_take_the_letters_of_a_draft_for_its_answer() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([
        calls("run_command", json!({"command": COMMAND})).head_after(&latch),
        says("That was it."),
    ]);
    let pty = full(&home, &server);
    pty.send("do it\r");
    latch.wait_reached(LIMIT);
    pty.send("m");
    wait_input(&pty, "> m");
    latch.open();
    let mut typed = "m".to_owned();
    // More of the same: what the user types contains all the letters of the answers.
    let mut after = 0;
    while after < 5 {
        after += usize::from(pty.screen().contains("Run this command?"));
        for letter in ["a", "y"] {
            pty.send(letter);
            typed.push_str(letter);
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(typed.len() < 2_000, "no question");
    }
    std::thread::sleep(PAUSE);
    assert!(!home.has("work/made.txt"), "a letter of the draft ran it");
    pty.send("\tn");
    pty.wait_text("That was it.");
    assert!(!home.has("work/made.txt"));
    // The draft, in as many rows as it takes.
    let draft: String = pty.with(input).split_whitespace().collect();
    assert!(
        format!(">{typed}").ends_with(draft.trim_start_matches('>')),
        "{draft}"
    );
    quit(pty, &home);
}

#[test]
fn a_pipe_is_not_asked() {
    let home = Home::new();
    let server = playing([
        calls("run_command", json!({"command": COMMAND})),
        says("That was it."),
        says("Why y?"),
    ]);
    let done = crate::plain::pipe(&home, &server, "do it\ny\n");
    // The second line is a message and not taken for an answer.
    done.expect(0).stdout_has(&["Marvin: Why y?"]);
    last_sent(&server, 1).assert_has(&["--non-interactive"]);
    assert!(!home.has("work/made.txt"));
}

#[test]
fn plain_on_a_terminal_asks_in_lines() {
    for (answer, runs) in [("y\r", true), ("n\r", false), ("e\rnot now\r", false)] {
        let (home, server, mut pty) = asks_on(1, lines);
        pty.enter("do it", "Marvin wants to run this command in ");
        pty.wait_text("Agreed? ");
        for line in answer.split_inclusive('\r') {
            pty.send(line);
            if line.starts_with('e') {
                pty.wait_text("Why not: ");
            }
        }
        pty.wait_text("That was it.");
        assert_eq!(home.has("work/made.txt"), runs, "{answer:?}");
        assert_eq!(
            last_sent(&server, 1).contains("not now"),
            answer.contains("not now")
        );
        pty.send("exit\r");
        assert_eq!(pty.wait().code(), Some(0));
    }
}

#[test]
fn a_key_in_transit_does_not_answer() {
    for key in ["y", "\r", "a", "n", "e"] {
        let home = Home::new();
        let latch = Latch::new();
        let server = playing([
            calls("run_command", json!({"command": COMMAND})).head_after(&latch),
            says("That was it."),
        ]);
        let pty = full(&home, &server);
        pty.send("do it\r");
        latch.wait_reached(LIMIT);
        latch.open();
        pty.wait_text(WAITS);
        pty.send(key);
        match key {
            "\r" => pty.wait_text(LIVE),
            _ => pty.wait_text("Tab: answer this"),
        }
        assert!(!home.has("work/made.txt"), "{key:?} ran it");
        assert_eq!(server.requests().len(), 1, "{key:?} answered");
        // A letter is in the input, as all that is typed.
        if key != "\r" {
            assert_eq!(pty.with(input), format!("> {key}"));
            pty.send("\t");
        }
        pty.send("n");
        pty.wait_text("That was it.");
        assert!(!home.has("work/made.txt"));
    }
}

/// How many rows of a question are still to be read.
fn unread(screen: &vt100::Screen) -> Option<String> {
    let row = crate::stage::rows(screen)
        .into_iter()
        .find(|row| row.contains("Space") && row.contains(" more"))?;
    row.split_whitespace()
        .find(|word| word.parse::<usize>().is_ok())
        .map(str::to_owned)
}

#[test]
fn a_long_command_is_read_to_its_end_before_a_key_approves_it() {
    let long: String = (1..=43)
        .map(|n| format!("echo line-{n}- >> made.txt\n"))
        .collect();
    for (width, height) in [(80, 14), (40, 12), (30, 7), (20, 5)] {
        let home = Home::new();
        let frames = Stream::new()
            .text(&["The lines are wanted."])
            .call(
                0,
                "c1",
                "run_command",
                &json!({"command": long}).to_string(),
            )
            .end();
        let server = playing([Answer::sse(frames), says("That was it.")]);
        let pty = full(&home, &server);
        pty.resize(width, height);
        pty.enter("do it", "echo line-1-");
        pty.wait_for("a part of it", |screen| unread(screen).is_some());
        // Neither Enter nor a letter approves what was not read.
        for key in ["y", "\r", "a"] {
            pty.send(key);
        }
        let mut seen = String::new();
        while let Some(left) = pty.with(unread) {
            seen.push_str(&pty.screen());
            assert!(!home.has("work/made.txt"), "ran unread at {width}x{height}");
            pty.send(" ");
            pty.wait_for("the next rows", |screen| {
                unread(screen).as_ref() != Some(&left)
            });
        }
        seen.push_str(&pty.screen());
        let together = seen.replace(['\n', ' '], "");
        for n in 1..=43 {
            assert!(
                together.contains(&format!("line-{n}-")),
                "{n} at {width}x{height}:\n{seen}"
            );
        }
        assert!(
            together.contains("Thelinesarewanted."),
            "{width}x{height}:\n{seen}"
        );
        let place = home.work().display().to_string();
        // Rows that are seen twice part a long path, but none of its names. On the smallest screen even those are parted.
        assert!(
            width < 30 || place.split('/').all(|name| together.contains(name)),
            "no {place} at {width}x{height}:\n{seen}"
        );
        pty.send("y");
        crate::stage::until("it ran", || {
            home.has("work/made.txt") && home.read("work/made.txt").lines().count() == 43
        });
        pty.resize(80, 24);
        pty.wait_text("That was it.");
    }
}

#[test]
fn type_ahead_does_not_answer_a_question() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([
        calls("run_command", json!({"command": COMMAND})).head_after(&latch),
        says("That was it."),
        says("Yes to what?"),
        says("Half a line?"),
    ]);
    let mut pty = lines(&home, &server);
    pty.send("do it\r");
    latch.wait_reached(LIMIT);
    pty.send("y\rhalf");
    pty.wait_text("half");
    latch.open();
    pty.wait_text("Agreed? ");
    assert!(!home.has("work/made.txt"), "a line typed before ran it");
    // An invalid answer is asked for again.
    pty.enter("maybe", "Please answer y, a, n or e.");
    pty.enter("n", "That was it.");
    assert!(!home.has("work/made.txt"));
    pty.wait_text("Yes to what?");
    assert_eq!(last_sent(&server, 2), "y");
    // The beginning of a line waits for its end.
    pty.wait_text("You: half");
    pty.enter(" a line", "Half a line?");
    assert_eq!(last_sent(&server, 3), "half a line");
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn a_question_that_was_read_can_be_read_again() {
    let home = Home::new();
    let long: String = (1..=43).map(|n| format!("echo line-{n}-\n")).collect();
    let server = playing([
        calls("run_command", json!({"command": long})),
        says("That was it."),
    ]);
    let pty = Pty::spawn(&command(&home, &server), (80, 14));
    pty.wait_text("test-model");
    pty.send("do it\r");
    pty.wait_for("a part of it", |screen| unread(screen).is_some());
    while pty.with(unread).is_some() {
        pty.send(" ");
        std::thread::sleep(Duration::from_millis(20));
    }
    pty.wait_text("echo line-43-");
    pty.send("\x1b[5~".repeat(20));
    pty.wait_text("echo line-1-");
    // What is hidden again is told, and y still answers.
    pty.wait_for("how much is below", |screen| {
        let screen = screen.contents();
        screen.contains(" rows below") && screen.contains("y once")
    });
    pty.send("\x1b[B");
    pty.wait_gone("line-1-");
    pty.send(" ".repeat(20));
    pty.wait_text("echo line-43-");
    pty.send("n");
    pty.wait_text("That was it.");
    quit(pty, &home);
}
