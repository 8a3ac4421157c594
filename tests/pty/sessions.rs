//! Sessions in both interfaces: choosing one from the list, another one in the place of the conversation, and what is said on leaving.

use crate::stage::{
    SIZE, begin, command, end, find, full, input, log, messages, more, playing, quit, rows, says,
    sent, unasked,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::Server;

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
    assert!(pty.screen().contains("2 messages") && pty.screen().contains("~/work"));
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
    assert!(!pty.screen().contains("Oolong."), "{}", pty.screen());
    pty.send("and now?\r");
    pty.wait_text("Again.");
    let expected = [
        ("user", "the retry test"),
        ("assistant", "Flaky."),
        ("user", "and now?"),
    ];
    assert_eq!(sent(&server, 3), messages(&expected));
    quit(pty, &home);
}

#[test]
fn a_session_can_be_changed_in_the_conversation_but_not_during_an_answer() {
    let home = Home::new();
    let latch = Latch::new();
    let slow = end(more(begin("The first part, ").pause(&latch), "the end."));
    let server = playing([says("Flaky."), slow]);
    talk(&home, &server, "the retry test", "Flaky.");
    let pty = full(&home, &server);
    pty.send("something else\r");
    pty.wait_text("The first part,");
    pty.send("!resume\r");
    pty.wait_text("An answer is on its way.");
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
    pty.send("!resume\r");
    pty.wait_text("1 of 1");
    pty.send("\x1b");
    pty.wait_for("the conversation again", |screen| {
        screen.contents().contains("The first part, the end.") && input(screen) == ">"
    });
    pty.send("!resume\r");
    pty.wait_text("1 of 1");
    pty.send("\r");
    pty.wait_text("Flaky.");
    assert!(!pty.screen().contains("The first part"), "{}", pty.screen());
    pty.send("!new\r");
    pty.wait_text("A new session.");
    pty.wait_for("an empty screen", |screen| {
        !screen.contents().contains("Flaky.")
    });
    pty.wait_text("0 msgs");
    assert_eq!(log(&home)[0].1, "something else", "the chat log stays");
    quit(pty, &home);
}

#[test]
fn leaving_says_how_to_go_on_when_something_was_said() {
    let home = Home::new();
    let server = playing([says("Flaky.")]);
    let mut pty = full(&home, &server);
    pty.send("the retry test\r");
    pty.wait_text("Flaky.");
    pty.wait_text("2 msgs");
    pty.control('q');
    let screen = after(&mut pty);
    assert!(
        screen.contains("2 messages") && screen.contains("To go on: marvin --resume "),
        "{screen}"
    );
    let id = screen.split("--resume ").nth(1).unwrap().trim().to_owned();
    assert_eq!(id.len(), 8, "{screen}");
    let unasked = unasked();
    let mut pty = resuming(&home, &unasked, &["--plain", "--resume", &id]);
    pty.wait_text("Marvin: Flaky.");
    pty.wait_text("You: ");
    pty.control('d');
    let screen = after(&mut pty);
    assert!(!screen.contains("To go on"), "nothing was said:\n{screen}");
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
    assert!(
        screen.contains("  1  ") && screen.contains("the build"),
        "{screen}"
    );
    pty.send("7\r");
    pty.wait_text("Please answer 1 to 2.");
    pty.send("2\r");
    pty.wait_text("Marvin: Flaky.");
    pty.wait_for("the prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.send("and now?\r");
    pty.wait_text("Again.");
    assert_eq!(sent(&server, 2).len(), 3);
    pty.wait_for("the prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.control('d');
    let screen = after(&mut pty);
    assert!(
        screen.contains("4 messages") && screen.contains("marvin --resume"),
        "{screen}"
    );
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
