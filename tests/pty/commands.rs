//! Slash commands on the full screen, and what they leave behind.

use std::time::Duration;

use serde_json::json;

use crate::stage::{
    LIMIT, begin, calls, command, conversation, end, full, input, log, log_of, messages, playing,
    quit, says, sent, started, unasked, until, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::words::TextAssertions;

#[test]
fn profiles_are_created_and_switched_to() {
    let home = Home::new();
    let entry = json!([{"role": "you", "text": "said in winter", "time": "08:00"}]);
    home.write("config/profiles/winter/chat_log.json", entry.to_string());
    let server = playing([says("In main."), says("In winter."), says("In summer.")]);
    let pty = full(&home, &server);
    pty.enter("one", "In main.");
    pty.wait_text("2 msgs");
    pty.enter("!profile winter", "Profile winter.");
    pty.enter("two", "In winter.");
    pty.enter("!profile summer", "Profile summer, which is new.");
    pty.enter("three", "In summer.");
    // Each has its own past.
    assert_eq!(
        sent(&server, 1),
        messages(&[("user", "said in winter"), ("user", "two")])
    );
    assert_eq!(sent(&server, 2), messages(&[("user", "three")]));
    pty.enter("!profile ../evil", "Error:");
    quit(pty, &home);
    assert_eq!(home.read("config/last_profile").trim(), "summer");
    assert_eq!(
        log(&home),
        messages(&[("you", "one"), ("assistant", "In main.")])
    );
    assert_eq!(log_of(&home, "winter").len(), 3);
    assert_eq!(log_of(&home, "summer").len(), 2);
    assert!(!home.has("config/evil"));
    // The next session starts there.
    let server = unasked();
    let pty = full(&home, &server);
    pty.wait_text("summer");
    pty.wait_text("In summer.");
    quit(pty, &home);
}

#[test]
fn an_answer_on_its_way_stays_in_the_profile_that_was_asked() {
    for switch in [
        "!profile winter",
        "!tool switch_profile profile_name=winter",
    ] {
        let home = Home::new();
        let latch = Latch::new();
        let server = playing([end(begin("In main.").pause(&latch)), says("In winter.")]);
        let pty = full(&home, &server);
        pty.enter("one", "In main.");
        pty.send(format!("{switch}\r"));
        pty.wait_text("queued  /profile winter");
        latch.open();
        until("the answer in the log", || {
            home.has("config/profiles/main/chat_log.json") && log(&home).len() == 2
        });
        pty.wait_text("Profile winter, which is new.");
        pty.enter("two", "In winter.");
        assert_eq!(sent(&server, 1), messages(&[("user", "two")]), "{switch}");
        quit(pty, &home);
    }
}

#[test]
fn a_command_that_outlives_its_conversation_is_told_to_no_other() {
    for (leave, left) in [
        ("!profile winter", "Profile winter"),
        ("/new", "A new session."),
    ] {
        let home = Home::new();
        let gate = home.work().join("gate");
        let made = std::process::Command::new("mkfifo").arg(&gate).status();
        assert!(made.unwrap().success());
        let server = playing([says("One."), says("Two."), says("Three.")]);
        let pty = full(&home, &server);
        pty.enter("one", "2 msgs");
        pty.send(format!("!cat '{}' &\r", gate.display()));
        pty.wait_text("cat");
        pty.send(format!("{leave}\r"));
        pty.wait_text(left);
        pty.enter("two", "Two.");
        pty.wait_text("2 msgs");
        std::fs::write(&gate, "a secret of main\nand more\n").unwrap();
        pty.wait_text("a secret of main");
        pty.enter("three", "Three.");
        quit(pty, &home);
        let said = [("user", "two"), ("assistant", "Two."), ("user", "three")];
        assert_eq!(sent(&server, 2), messages(&said), "{leave}");
        for request in 1..3 {
            let body = server.request(request).json().to_string();
            assert!(!body.contains("gate"), "{leave}: {body}");
        }
        let is_secret = |(_, text): &(String, String)| text.contains("a secret of main");
        assert!(log(&home).iter().any(is_secret), "{leave}");
        if leave != "/new" {
            assert!(!log_of(&home, "winter").iter().any(is_secret));
        }
    }
}

#[test]
fn a_message_that_switched_the_profile_is_sent_again_once() {
    let home = Home::new();
    let server = playing([
        calls("switch_profile", json!({"name": "anna"})),
        // Again, as a forgetful model would.
        calls("switch_profile", json!({"name": "anna"})),
        says("Hello Anna."),
    ])
    .lenient();
    let pty = full(&home, &server);
    pty.enter("I am Anna and I like olives", "anna");
    server.wait_requests(2, LIMIT);
    pty.wait_text("Profile anna");
    // Time for a request too many.
    std::thread::sleep(Duration::from_millis(500));
    let requests = server.requests().len();
    assert!((2..=3).contains(&requests), "{requests} requests");
    // Under the new profile it is the first message.
    assert_eq!(
        sent(&server, 1),
        messages(&[("user", "I am Anna and I like olives")])
    );
    quit(pty, &home);
    let anna = log_of(&home, "anna");
    let again = anna.iter().filter(|(role, _)| role == "you").count();
    assert_eq!(again, 1, "{anna:?}");
    assert_eq!(home.read("config/last_profile").trim(), "anna");
}

#[test]
fn undo_removes_the_exchange_everywhere() {
    let (home, server, pty) = conversation([
        says("First answer."),
        says("Second answer."),
        says("Third."),
    ]);
    pty.enter("one", "2 msgs");
    pty.enter("two", "4 msgs");
    pty.send("!undo\r");
    pty.wait_for("the first exchange alone", |screen| {
        let contents = screen.contents();
        contents.contains("First answer.") && !contents.contains("Second answer.")
    });
    pty.wait_text("2 msgs");
    // The message can be edited and sent again.
    wait_input(&pty, "> two");
    until("the log", || log(&home).len() == 2);
    pty.enter(" again", "Third.");
    assert_eq!(
        sent(&server, 2),
        messages(&[
            ("user", "one"),
            ("assistant", "First answer."),
            ("user", "two again")
        ])
    );
    quit(pty, &home);
    assert_eq!(log(&home).len(), 4);
    home.read("config/profiles/main/chat_log.json")
        .assert_lacks(&["Second"]);
}

#[test]
fn coding_mode_is_shown_and_sent() {
    let (home, server, pty) = conversation([says("Before."), says("After.")]);
    pty.enter("one", "2 msgs");
    pty.enter("!code", "Coding mode, in");
    pty.wait_text("· code ·");
    pty.enter("two", "4 msgs");
    let system = |n: usize| server.request(n).json()["messages"][0].to_string();
    assert_ne!(system(0), system(1));
    pty.enter("!code", "Coding mode is off.");
    quit(pty, &home);
}

#[test]
fn shell_mode_keeps_its_directory() {
    let home = Home::new();
    home.write("work/sub/file-in-sub.txt", "x");
    let server = playing([says("An answer.")]);
    let pty = full(&home, &server);
    pty.enter("!shell", "Shell mode, in");
    wait_input(&pty, "$");
    pty.enter("cd sub", "work/sub");
    pty.send("ls; echo \"so $((40 + 2))\"\r");
    pty.wait_text("file-in-sub.txt");
    pty.wait_text("so 42");
    pty.enter("exit", "Shell mode is off.");
    wait_input(&pty, ">");
    // The model learns which command was run.
    pty.enter("what did I do", "An answer.");
    server.request(0).text().assert_has(&["so 42"]);
    quit(pty, &home);
    let log = log(&home);
    assert!(
        log.iter().any(|(role, text)| role == "system"
            && text.starts_with("$ ls")
            && text.contains("so 42")),
        "{log:?}"
    );
}

#[test]
fn commands_run_in_foreground_and_background() {
    let (home, _server, pty) = conversation([says("An answer.")]);
    pty.enter("!echo one; echo two >&2; exit 3", "exit code: 3");
    pty.screen().assert_has(&["\none", "\ntwo"]);
    pty.enter(
        "!while [ ! -e go ]; do sleep 0.02; done; echo it went &",
        "⚙ while",
    );
    // The conversation continues in the meantime.
    pty.enter("hello", "An answer.");
    assert!(!log(&home).iter().any(|(_, text)| text.contains("it went")));
    home.write("work/go", "");
    pty.wait_gone("⚙");
    until("its end in the log", || {
        log(&home).iter().any(|(_, text)| text.contains("it went"))
    });
    pty.enter("!sleep 301 &", "⚙ sleep 301");
    pty.send("!stop\r");
    pty.wait_gone("⚙");
    // A command in front is stopped by a key.
    pty.enter("!sleep 300", " 0s sleep 300");
    pty.send("\x1b");
    pty.wait_for("both stopped", |screen| {
        screen.contents().matches("[stopped]").count() == 2
    });
    quit(pty, &home);
}

#[test]
fn preferences_open_in_the_editor_and_the_screen_comes_back() {
    let home = Home::new();
    let editor = home.program(
        "bin/editor",
        "#!/bin/sh\necho \"editing $1\"\nread line\necho \"notes: $line\" >> \"$1\"\n",
    );
    let server = playing([says("Noted.")]);
    let mut command = command(&home, &server);
    command.env("EDITOR", &editor).env("VISUAL", "false");
    let pty = started(&command);
    pty.enter("preferences", "editing");
    assert!(!pty.with(vt100::Screen::alternate_screen));
    pty.enter("likes olives", "Preferences are as you left them.");
    assert!(pty.with(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    home.read("config/profiles/main/preferences.yaml")
        .assert_has(&["notes: likes olives"]);
    pty.enter("hello", "Noted.");
    server.request(0).json()["messages"][0]
        .to_string()
        .assert_has(&["likes olives"]);
    // The input in the editor. Its words of the first time are still on the shell's screen.
    pty.send("a draft");
    for round in 2..=11 {
        pty.send("\x1be");
        pty.wait_raw(b"editing", round);
        // Not a letter of it may go to the program below.
        let line = format!("line {round}");
        pty.send(format!("{line}\r"));
        pty.wait_for("the draft", |screen| {
            input(screen).ends_with(&format!("notes: {line}"))
        });
    }
    quit(pty, &home);
}

#[test]
fn a_silent_command_in_the_background_ends_with_one_line() {
    let (home, _server, pty) = conversation([]);
    pty.enter("!sh true &", "$ true &  exit code: 0");
    // The same in shell mode, where nothing is left for the shell to wait for.
    pty.enter("!sh", "Shell mode");
    pty.enter("sleep 0.1 &", "$ sleep 0.1 &  exit code: 0");
    pty.screen().assert_lacks(&["left behind"]);
    pty.enter("echo it wrote this &", "it wrote this");
    pty.enter("exit", "Shell mode is off");
    quit(pty, &home);
}
