//! Commands after a slash: the same as after `!`, completed while they are typed, and never sent by mistake.

use crate::stage::{
    SIZE, begin, command, conversation, full, playing, quit, says, sent, unasked, until,
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
