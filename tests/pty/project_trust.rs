//! The question whether what a project brings along may act: before the first message is sent, and never with yes as what a stray key says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::stage::{SIZE, command, last_sent, plain_command, playing, quit, says};
use crate::support::home::Home;
use crate::support::pty::Pty;

const TITLE: &str = "May this project act by itself";

/// A home whose working directory has a hook and a skill.
fn home() -> Home {
    let home = Home::new();
    fs::set_permissions(home.work(), Permissions::from_mode(0o755)).unwrap();
    home.write(
        "work/.marvin/hooks.json",
        r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo 'From the hook.'"}]}]}}"#,
    );
    home.write(
        "work/.agents/skills/deploy/SKILL.md",
        "---\ndescription: How to deploy.\n---\nDeploy it.\n",
    );
    home
}

#[test]
fn a_message_waits_for_the_answer_which_no_stray_key_gives() {
    let home = home();
    let server = playing([says("Hello there."), says("Hello again.")]);
    let mut first = command(&home, &server);
    first.arg("Good morning.");
    let pty = Pty::spawn(&first, SIZE);
    pty.wait_text(TITLE);
    pty.wait_text("UserPromptSubmit: echo 'From the hook.'");
    pty.wait_text("deploy");
    assert_eq!(server.connections(), 0, "the message has not waited");
    // Enter alone agrees to nothing.
    pty.send("\r");
    pty.wait_text("Hello there.");
    assert_eq!(last_sent(&server, 0), "Good morning.");
    assert!(!home.has("config/trusted-projects.json"));
    // Nor does a word of a message, which the row that agrees has too.
    pty.enter("/trust", TITLE);
    pty.send("now");
    pty.send("\r");
    pty.wait_gone(TITLE);
    pty.enter("/trust", TITLE);
    assert!(!home.has("config/trusted-projects.json"));
    pty.send("\x1b[B");
    pty.send("\r");
    pty.wait_text("This project is trusted.");
    pty.enter("Once more", "Hello again.");
    assert!(last_sent(&server, 1).contains("From the hook."));
    quit(pty, &home);
    // The next conversation does not ask.
    let server = playing([
        says("Hello once more."),
        says("Hello without."),
        says("Hello with."),
        says("Hello at last."),
    ]);
    let mut next = command(&home, &server);
    next.arg("Good evening.");
    let pty = Pty::spawn(&next, SIZE);
    pty.wait_text("Hello once more.");
    assert!(last_sent(&server, 0).contains("From the hook."));
    // Who takes it back has the rest of the session without.
    pty.enter("/trust no", "is not used in this session");
    pty.enter("Quietly", "Hello without.");
    assert!(!last_sent(&server, 1).contains("From the hook."));
    pty.enter("/trust session", "is used in this session");
    pty.enter("Loudly", "Hello with.");
    let sent = last_sent(&server, 2);
    assert_eq!(sent.matches("From the hook.").count(), 1, "{sent}");
    pty.enter("/trust never", "stays unused");
    pty.enter("Quietly again", "Hello at last.");
    assert!(!last_sent(&server, 3).contains("From the hook."));
    quit(pty, &home);
}

#[test]
fn a_hooks_file_that_cannot_be_used_is_told_where_there_is_nothing_else_to_ask_about() {
    let home = Home::new();
    home.write("work/.marvin/hooks.json", "{\"hooks\": [}");
    let told = |pty: &Pty| {
        pty.wait_for("the fault", |screen| {
            let text = screen.contents().replace('\n', "");
            text.contains("hooks.json") && text.contains("Line 1")
        });
    };
    let server = playing([]);
    let pty = Pty::spawn(&command(&home, &server), SIZE);
    told(&pty);
    assert!(!pty.screen().contains(TITLE));
    quit(pty, &home);
    let mut pty = Pty::spawn(&plain_command(&home, &server), SIZE);
    told(&pty);
    pty.wait_text("You: ");
    pty.send("/trust\r");
    pty.wait_for("the fault again", |screen| {
        let text = screen.contents().replace('\n', "");
        text.matches("cannot be used").count() == 2
    });
    pty.send("/exit\r");
    assert_eq!(pty.wait().code(), Some(0));
    // Beside something else it is a row of the question.
    let skill = "---\ndescription: How to deploy.\n---\nDeploy it.\n";
    home.write("work/.agents/skills/deploy/SKILL.md", skill);
    let pty = Pty::spawn(&command(&home, &server), SIZE);
    pty.wait_text(TITLE);
    pty.wait_text(".marvin/hooks.json cannot be used: Line 1");
    pty.send("\r");
    pty.wait_gone(TITLE);
    quit(pty, &home);
}

#[test]
fn plain_lines_ask_with_numbers_and_a_session_is_no_more_than_that() {
    let home = home();
    for (answer, says_hook, reply) in [
        ("3", true, "Hello three."),
        ("", false, "Hello nobody."),
        ("4", false, "Hello four."),
    ] {
        let server = playing([says(reply)]);
        let mut pty = Pty::spawn(&plain_command(&home, &server), SIZE);
        pty.wait_text(TITLE);
        pty.wait_text("hook UserPromptSubmit: echo 'From the hook.'");
        pty.wait_text("Its number, or Enter for not in this session:");
        // A row that only shows something is no answer.
        pty.send("5\r");
        pty.wait_text("Please answer 1 to 4.");
        pty.send(format!("{answer}\r"));
        pty.wait_text("You: ");
        pty.enter("Good morning.", reply);
        let sent = last_sent(&server, 0);
        assert_eq!(sent.contains("From the hook."), says_hook, "{sent}");
        pty.send("/exit\r");
        assert_eq!(pty.wait().code(), Some(0));
    }
    // The last answer was: not again.
    let server = playing([says("Hello last.")]);
    let mut pty = Pty::spawn(&plain_command(&home, &server), SIZE);
    pty.wait_text("You: ");
    assert!(!pty.screen().contains(TITLE));
    pty.enter("Good morning.", "Hello last.");
    pty.send("/exit\r");
    assert_eq!(pty.wait().code(), Some(0));
}
