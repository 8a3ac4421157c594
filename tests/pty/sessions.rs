//! Sessions in both interfaces: choosing one from the list, another one in the place of the conversation, and what is said on leaving.

use rustix::process::Signal;
use serde_json::json;

use crate::stage::{
    SIZE, begin, calls, command, conversation, end, find, full, full_sized, input, log, messages,
    more, playing, quit, rows, says, sent, unasked, until, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::Server;
use crate::support::words::TextAssertions;
use crate::terminal::restored;

/// Says one thing in a session of its own.
fn talk(home: &Home, server: &Server, text: &str, answer: &str) {
    let mut pty = full(home, server);
    pty.send(format!("{text}\r"));
    pty.wait_text(answer);
    pty.wait_text("2 msgs");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    std::fs::remove_file(home.path().join("config/profiles/main/chat_log.json")).unwrap();
}

fn resuming(home: &Home, server: &Server, args: &[&str]) -> Pty {
    let mut command = command(home, server);
    command.args(args);
    Pty::spawn(&command, SIZE)
}

/// What is in the files of all sessions.
pub(crate) fn on_disk(home: &Home) -> String {
    let dir = home.path().join("config/profiles/main/sessions");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.collect()
}

/// What the terminal shows after the program has ended.
fn after(pty: &mut Pty) -> String {
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    pty.screen()
}

#[test]
fn a_session_is_chosen_with_arrows_and_by_typing() {
    let home = Home::new();
    let server = playing(["Flaky.", "Green.", "Oolong.", "Again."].map(says));
    talk(&home, &server, "the retry test", "Flaky.");
    talk(&home, &server, "the build", "Green.");
    talk(&home, &server, "which tea", "Oolong.");
    let pty = resuming(&home, &server, &["--resume"]);
    pty.wait_text("3 of 3");
    pty.wait_for("the latest first", |screen| {
        let row = |text: &str| find(screen, text).map(|(row, _)| row);
        let found = (row("which tea"), row("the build"), row("the retry test"));
        matches!(found, (Some(a), Some(b), Some(c)) if a < b && b < c)
    });
    pty.screen().assert_has(&["2 messages", "~/work"]);
    pty.send("\x1b[B");
    pty.wait_for("the second row", |screen| {
        rows(screen)
            .iter()
            .any(|row| row.starts_with("› ") && row.contains("the build"))
    });
    pty.send("retry");
    pty.wait_text("1 of 3 with \"retry\"");
    pty.send("\r");
    pty.wait_text("Flaky.");
    pty.wait_text("Session ");
    pty.screen().assert_lacks(&["Oolong."]);
    pty.enter("and now?", "Again.");
    let expected = [
        ("user", "the retry test"),
        ("assistant", "Flaky."),
        ("user", "and now?"),
    ];
    assert_eq!(sent(&server, 3), messages(&expected));
    quit(pty, &home);
}

#[test]
fn who_chooses_no_session_at_the_start_leaves() {
    let home = Home::new();
    let server = playing([says("Flaky.")]);
    talk(&home, &server, "the retry test", "Flaky.");
    let unasked = unasked();
    let mut pty = resuming(&home, &unasked, &["--resume"]);
    pty.wait_text("Esc quits");
    pty.wait_text("1 of 1");
    pty.send("retry");
    pty.wait_text("1 of 1 with \"retry\"");
    pty.send("\x1b");
    after(&mut pty).assert_lacks(&["To go on"]);
    restored(&pty, &home);
    // One Ctrl-C leaves nowhere.
    let mut pty = resuming(&home, &unasked, &["--resume"]);
    pty.wait_text("1 of 1");
    pty.send("\x03");
    pty.wait_text("Press Ctrl-C again to quit.");
    pty.send("\x03");
    assert_eq!(pty.wait().code(), Some(130));
    let mut pty = resuming(&home, &unasked, &["--plain", "--resume"]);
    pty.wait_text("or Enter to leave:");
    pty.send("\r");
    after(&mut pty);
}

#[test]
fn a_session_can_be_changed_in_the_conversation_but_not_during_an_answer() {
    let home = Home::new();
    let latch = Latch::new();
    let slow = end(more(begin("The first part, ").pause(&latch), "the end."));
    let server = playing([says("Flaky."), slow]);
    talk(&home, &server, "the retry test", "Flaky.");
    let pty = full(&home, &server);
    pty.enter("something else", "The first part,");
    pty.enter("!resume", "An answer is on its way.");
    pty.send("!new\r");
    pty.wait_for("the second refusal", |screen| {
        screen
            .contents()
            .matches("An answer is on its way.")
            .count()
            == 2
    });
    latch.open();
    pty.wait_text("the end.");
    pty.wait_text("2 msgs");
    pty.enter("!resume", "1 of 1");
    pty.send("\x1b");
    pty.wait_for("the conversation again", |screen| {
        screen.contents().contains("The first part, the end.") && input(screen) == ">"
    });
    pty.enter("!resume", "1 of 1");
    pty.send("\r");
    pty.wait_text("Flaky.");
    pty.screen().assert_lacks(&["The first part"]);
    pty.enter("!new", "A new session.");
    pty.wait_gone("Flaky.");
    pty.wait_gone("msgs");
    assert_eq!(log(&home)[0].1, "something else", "the chat log stays");
    quit(pty, &home);
}

#[test]
fn leaving_says_how_to_go_on_when_something_was_said() {
    let (home, _server, mut pty) = conversation([says("Flaky.")]);
    pty.enter("the retry test", "Flaky.");
    pty.wait_text("2 msgs");
    pty.control('q');
    let screen = after(&mut pty);
    screen.assert_has(&["2 messages", "To go on: marvin --resume "]);
    let id = screen.split("--resume ").nth(1).unwrap().trim().to_owned();
    assert_eq!(id.len(), 8, "{screen}");
    let unasked = unasked();
    let mut pty = resuming(&home, &unasked, &["--plain", "--resume", &id]);
    pty.wait_text("Marvin: Flaky.");
    pty.wait_text("You: ");
    pty.control('d');
    let screen = after(&mut pty);
    assert!(!screen.contains("To go on"), "nothing was said:\n{screen}");
    let server = playing([says("Green.")]);
    let mut pty = full(&home, &server);
    pty.enter("the build", "Green.");
    pty.wait_text("4 msgs");
    pty.enter("/new", "A new session.");
    pty.control('q');
    after(&mut pty).assert_has(&["2 messages", "To go on: marvin --resume "]);
}

#[test]
fn what_a_session_costs_is_counted_across_its_runs() {
    let home = Home::new();
    // Two cents for each answer.
    home.write(
        "prices.json",
        r#"{"test-model": {"input": 1000, "output": 2000}}"#,
    );
    let server = playing(["Flaky.", "Green.", "Again.", "Anew."].map(says));
    let priced = |args: &[&str]| {
        let mut command = command(&home, &server);
        command.env("MARVIN_PRICES", home.path().join("prices.json"));
        let pty = Pty::spawn(command.args(args), (100, 30));
        pty.wait_text("test-model");
        pty
    };
    let mut pty = priced(&[]);
    pty.enter("the retry test", "2 msgs");
    pty.wait_text(" · $0.02 · ");
    pty.enter("and now?", " · $0.04 · ");
    pty.control('q');
    after(&mut pty).assert_has(&["4 messages, $0.0400. To go on"]);

    let mut pty = priced(&["--continue"]);
    pty.wait_text(" · $0.04 · ");
    pty.enter("once more", " · $0.06 ($0.02 this run)");
    pty.enter("/usage", "This session: $0.0600");
    pty.wait_text("This run: 1 model call, 10 tokens in, 5 out, $0.0200");
    pty.control('q');
    let screen = after(&mut pty);
    let left = "6 messages, $0.0600 ($0.0200 in this run). To go on";
    assert!(screen.contains(left), "{screen}");

    // Another session of the same run costs nothing yet.
    let mut pty = priced(&["--plain"]);
    pty.wait_text("You: ");
    pty.enter("and tea?", "Anew.");
    pty.enter("/new\r/usage", "This session: no cost yet");
    pty.wait_text("This run: 1 model call, 10 tokens in, 5 out, $0.0200");
    pty.control('d');
    let screen = after(&mut pty);
    let left = "2 messages, $0.0200. To go on";
    assert!(screen.contains(left), "{screen}");
}

#[test]
fn plain_lines_choose_by_number() {
    let home = Home::new();
    let server = playing(["Flaky.", "Green.", "Again."].map(says));
    talk(&home, &server, "the retry test", "Flaky.");
    talk(&home, &server, "the build", "Green.");
    let mut pty = resuming(&home, &server, &["--plain", "--resume"]);
    pty.wait_text("Which one?");
    let screen = pty.screen();
    screen.assert_has(&["  1  ", "the build"]);
    pty.enter("7", "Please answer 1 to 2.");
    pty.enter("2", "Marvin: Flaky.");
    pty.wait_for("the prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.enter("and now?", "Again.");
    assert_eq!(sent(&server, 2).len(), 3);
    pty.wait_for("the prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.control('d');
    after(&mut pty).assert_has(&["4 messages", "marvin --resume"]);
}

#[test]
fn what_could_not_be_read_of_a_session_is_told_once() {
    let home = Home::new();
    let server = playing([says("Flaky.")]);
    talk(&home, &server, "the retry test", "Flaky.");
    let dir = home.path().join("config/profiles/main/sessions");
    let mut files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some()).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen('\n', "\nthis is no record\n", 1)).unwrap();
    let pty = resuming(&home, &server, &["--continue"]);
    pty.wait_text("Flaky.");
    pty.wait_text("One line of this session's file could not be read");
    assert_eq!(pty.screen().matches("could not be read").count(), 1);
    quit(pty, &home);
}

#[test]
fn what_was_on_the_screen_outlives_a_kill() {
    let (home, server, mut pty) =
        conversation([begin("Half an ans").stall(), says("Whole again.")]);
    pty.enter("one", "Half an ans");
    pty.enter("and two", "queued  and two");
    until("the message that waits", || {
        on_disk(&home).contains("and two")
    });
    pty.signal(Signal::KILL);
    pty.wait();
    let pty = resuming(&home, &server, &["--continue"]);
    pty.wait_text("Half an ans");
    pty.wait_text("Marvin ended before this answer did.");
    pty.wait_text("A message that waited was not sent: \"and two\".");
    wait_input(&pty, "> and two");
    pty.send("\r");
    pty.wait_text("Whole again.");
    let expected = [
        ("user", "one"),
        ("assistant", "Half an ans"),
        ("user", "and two"),
    ];
    assert_eq!(sent(&server, 1), messages(&expected));
    quit(pty, &home);
}

/// A screen on which a whole conversation is visible.
const TALL: (u16, u16) = (80, 70);

/// The rows of the conversation from the first that has `from` to the last that has `to`.
fn between(screen: &str, from: &str, to: &str) -> Vec<String> {
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let first = rows.iter().position(|row| row.contains(from));
    let last = rows.iter().rposition(|row| row.contains(to));
    let (Some(first), Some(last)) = (first, last) else {
        panic!("no rows from {from} to {to}:\n{screen}");
    };
    rows[first..=last]
        .iter()
        .copied()
        .map(str::to_owned)
        .collect()
}

/// Goes on with the latest session, on a tall screen.
fn continued(home: &Home) -> Pty {
    let mut command = command(home, &unasked());
    command.arg("--continue");
    let pty = Pty::spawn(&command, TALL);
    pty.wait_text("test-model");
    pty
}

#[test]
fn calls_look_as_they_did_when_a_session_goes_on() {
    let home = Home::new();
    let content: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let server = playing([
        calls(
            "create_file",
            json!({"path": "new.txt", "content": content}),
        ),
        calls(
            "run_command",
            json!({"command": "echo out; sleep 0.3; exit 3"}),
        ),
        calls("run_command", json!({"command": "make"})),
        says("That was it."),
    ]);
    let pty = full_sized(&home, &server, TALL);
    pty.send("do it\r");
    for (asked, key) in [("exit 3", "y"), ("make", "n")] {
        pty.wait_for(asked, |screen| {
            rows(screen)
                .iter()
                .any(|row| row.contains(asked) && row.contains("waiting for you"))
        });
        pty.wait_text(crate::confirm::LIVE);
        pty.send(key);
    }
    pty.wait_text("That was it.");
    pty.wait_text("2 msgs");
    let live = between(&pty.screen(), "🔧 create_file", "That was it.");
    assert!(live[0].ends_with("+60 −0"), "{live:#?}");
    let has = |text: &str| live.iter().any(|row| row.contains(text));
    assert!(has("… 21 more lines") && has("✗ exit 3 0.") && has("✗ declined"));
    quit(pty, &home);
    let pty = continued(&home);
    pty.wait_text("That was it.");
    let past = between(&pty.screen(), "🔧 create_file", "That was it.");
    // The label of a past answer has its day too.
    let undated = |row: &String| row.replace("2026-03-04 ", "");
    assert_eq!(past.iter().map(undated).collect::<Vec<_>>(), live);
    // It unfolds whole, with all of them.
    pty.control('o');
    pty.control('o');
    pty.wait_text("+ 45  line 45");
    quit(pty, &home);
}
