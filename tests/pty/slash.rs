//! Commands after a slash: the same as after `!`, completed while they are typed, and never sent by mistake.

use crate::stage::{
    SIZE, begin, command, conversation, full, last_sent, playing, quit, says, sent, unasked, until,
    wait_input,
};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

#[test]
fn each_command_of_the_help_answers_after_a_slash() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha beta\n");
    let server = unasked();
    let pty = full(&home, &server);
    for (line, shown) in [
        ("/help", "Any other !COMMAND runs in your shell"),
        ("/tools git_st", "git_status"),
        ("/tool read_file path=notes.txt", "alpha beta"),
        ("/TOOLS git_di", "git_diff"),
        ("/profiles", "* main"),
        ("/usage", "This session: 0 model calls"),
        ("/effort", "Effort:"),
        ("/compact", "nothing to compact"),
        ("/undo", "nothing to take back"),
    ] {
        pty.send(format!("{line}\r"));
        pty.wait_text(shown);
    }
    pty.send("/quit\r");
    let mut pty = pty;
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn an_unknown_slash_word_is_answered_here_and_a_path_is_sent() {
    let (home, server, pty) = conversation([says("Large."), says("Full.")]);
    pty.enter("/hepl", "There is no command /hepl. Did you mean /help?");
    pty.enter(
        "/clera everything",
        "There is no command /clera. Did you mean /clear?",
    );
    assert_eq!(server.requests().len(), 0);
    pty.enter("/usr/bin is large", "Large.");
    pty.enter("/tmp is full, why?", "Full.");
    assert_eq!(last_sent(&server, 0), "/usr/bin is large");
    assert_eq!(last_sent(&server, 1), "/tmp is full, why?");
    quit(pty, &home);
}

/// The row of the screen that begins with this name in the menu of candidates.
fn menu_row(pty: &Pty, name: &str) -> Option<String> {
    let screen = pty.screen();
    let start = format!(" {name} ");
    let mut rows = screen.lines();
    rows.find(|row| row.starts_with(&start)).map(str::to_owned)
}

#[test]
fn commands_are_completed_from_the_first_letter_with_a_line_about_each() {
    let (home, _server, pty) = conversation([]);
    pty.send("/un");
    pty.wait_text("take back the last exchange");
    menu_row(&pty, "/undo")
        .unwrap()
        .assert_has(&["take back the last exchange"]);
    pty.send("\t");
    wait_input(&pty, "> /undo");
    assert!(menu_row(&pty, "/undo").is_none());
    // A path closes it, Esc too, and Enter sends what is typed.
    pty.send("\x15/t");
    pty.wait_text("the tools, or those that fit a word");
    pty.send("mp/x");
    pty.wait_gone("those that fit a word");
    pty.send("\x15/he");
    pty.wait_text("this list");
    pty.enter("\x1b[B\r", "Any other !COMMAND");
    quit(pty, &home);
}

#[test]
fn the_wheel_over_the_menu_writes_nothing() {
    let (home, _server, pty) = conversation([]);
    pty.send("/");
    pty.wait_text("1 of ");
    pty.send("\x1b[B".repeat(3));
    pty.wait_text("3 of ");
    pty.send("\x1b[A".repeat(3));
    pty.wait_text("1 of ");
    pty.send("\x1b[A".repeat(3));
    pty.send("x");
    wait_input(&pty, "> /x");
    pty.send("\x15");
    quit(pty, &home);
}

#[test]
fn clear_empties_the_screen_and_the_context_but_not_the_log() {
    let (home, server, pty) =
        conversation([says("Of the past."), begin("Slow").stall(), says("New.")]);
    pty.enter("one", "Of the past.");
    pty.wait_text("2 msgs");
    pty.enter("two", "Slow");
    pty.enter("/clear", "Stop it with Esc or Ctrl-C, then change");
    pty.send("\x1b");
    pty.wait_text("stopped");
    pty.enter("/clear", "A new session.");
    pty.wait_for("an empty screen", |screen| {
        let contents = screen.contents();
        !contents.contains("Of the past.") && !contents.contains("msgs")
    });
    pty.enter("/undo", "nothing to take back");
    pty.enter("three", "New.");
    assert_eq!(
        sent(&server, 2),
        crate::stage::messages(&[("user", "three")])
    );
    quit(pty, &home);
    home.read("config/profiles/main/chat_log.json")
        .assert_has(&["Of the past."]);
}

#[test]
fn compact_summarizes_what_is_old_and_says_so() {
    let home = Home::new();
    let count = 14;
    let server = playing((0..=count).map(|n| says(&format!("Answer {n}."))));
    let pty = full(&home, &server);
    for n in 0..count {
        pty.send(format!("message {n}\r"));
        pty.wait_text(&format!("Answer {n}."));
        until("the answer is over", || {
            pty.screen().contains(&format!("{} msgs", 2 * n + 2))
        });
    }
    pty.enter(
        "/compact",
        &format!("Compacted {} messages (about", 2 * count),
    );
    pty.enter("the last one", &format!("Answer {count}."));
    let messages = sent(&server, count);
    assert!(messages.len() < 2 * count, "{messages:?}");
    assert!(
        messages
            .iter()
            .any(|(_, text)| text.contains("Summary of earlier messages")),
        "{messages:?}"
    );
    assert!(
        !messages
            .iter()
            .any(|(role, text)| role == "assistant" && text == "Answer 0."),
        "{messages:?}"
    );
    quit(pty, &home);
    // Whoever goes on with the session sees where that was.
    let mut command = command(&home, &server);
    command.arg("--continue");
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text("Context compacted.");
    quit(pty, &home);
}

#[test]
fn shell_mode_runs_paths_and_knows_the_commands() {
    let (home, _server, pty) = conversation([]);
    pty.enter("/shell", "/shell ends it.");
    pty.enter("/bin/echo from a path", "\nfrom a path");
    pty.enter("/tools git_st", "git_status");
    pty.enter("/shell", "Shell mode is off.");
    quit(pty, &home);
}
