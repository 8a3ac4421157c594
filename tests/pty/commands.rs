//! Slash commands on the full screen, and what they leave behind.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::{
    LIMIT, begin, calls, command, conversation, end, full, input, last_sent, log, log_of, messages,
    playing, quit, says, sent, started, unasked, until, wait_input,
};
use crate::support::blender::{Peer, send, success};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::{Answer, Exchange};
use crate::support::words::TextAssertions;

#[test]
fn lists_are_shown() {
    let home = Home::new();
    home.write("work/notes.txt", "alpha beta\n");
    home.write(
        "config/profiles/main/saved_places.json",
        json!([{"label": "work", "name": "The office"}]).to_string(),
    );
    let server = unasked();
    let pty = full(&home, &server);
    for (line, shown) in [
        // Its last line: how much of the list fits depends on how many commands there are.
        ("!help", "Any other !COMMAND runs in your shell"),
        ("!tools git_st", "git_status"),
        ("!tool read_file path=notes.txt", "alpha beta"),
        ("!tool read_file --help", "start_line"),
        ("!tool read_fiel path=x", "Did you mean"),
        ("profiles", "* main"),
        ("saved", "The office"),
    ] {
        pty.send(format!("{line}\r"));
        pty.wait_text(shown);
    }
    quit(pty, &home);
}

#[test]
fn the_connection_to_blender_is_checked_and_esc_stops_it() {
    let home = Home::new();
    let server = unasked();
    let scene = success(&json!({"name": "Garden", "object_count": 7}));
    // Blender is idle once, then busy.
    let peer = Peer::start(move |_, stream| send(stream, scene.as_bytes()));
    let busy = Peer::start(|_, _| {});
    for (peer, shown) in [
        (&peer, "scene Garden with 7 objects."),
        (&busy, "Cancelled"),
    ] {
        let mut command = command(&home, &server);
        command.env("BLENDER_MCP_PORT", peer.port());
        let pty = started(&command);
        pty.send("!blender\r");
        until("Blender is asked", || peer.requests().len() == 1);
        if shown == "Cancelled" {
            pty.send("\x1b");
        }
        pty.wait_text(shown);
        quit(pty, &home);
    }
}

#[test]
fn usage_is_drawn_as_bars_and_a_sentence_with_the_word_is_a_message() {
    let (home, server, pty) = conversation([says("An answer."), says("A word.")]);
    pty.enter("hello", "An answer.");
    pty.wait_text("2 msgs");
    pty.enter("usage", "█");
    pty.screen().assert_has(&["test-model"]);
    pty.enter("usage of marvin", "A word.");
    assert_eq!(last_sent(&server, 1), "usage of marvin");
    quit(pty, &home);
}

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
        pty.wait_for("what became of the switch", |screen| {
            let text = screen.contents();
            text.contains("An answer is on its way.") || text.contains("queued  /profile winter")
        });
        latch.open();
        until("the answer in the log", || {
            home.has("config/profiles/main/chat_log.json") && log(&home).len() == 2
        });
        if switch.starts_with("!tool") {
            pty.wait_text("2 msgs");
            pty.send("!profile winter\r");
        }
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
fn undo_during_an_answer_is_refused() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([end(begin("Slowly").pause(&latch))]);
    let pty = full(&home, &server);
    pty.enter("one", "Slowly");
    pty.enter("!undo", "An answer is on its way.");
    latch.open();
    pty.wait_text("2 msgs");
    quit(pty, &home);
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
    pty.enter("!echo one; echo two >&2; exit 3", "one");
    pty.wait_text("two");
    pty.wait_text("3");
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
fn the_model_is_changed_for_the_session() {
    let home = Home::new();
    let server = playing([says("From another.")]);
    let list = json!({"data": [{"id": "other-embedding"}, {"id": "other-model"}, {"id": "small"}]});
    server.expect(Exchange::get("/v1/models").answer(Answer::json(&list)));
    let pty = full(&home, &server);
    // Tab asks for the provider's own list, once, and waits for nothing: until the list is there, nothing is completed.
    pty.send("!model oth");
    let begun = Instant::now();
    while !pty.with(|screen| input(screen).contains("other-model")) {
        assert!(begun.elapsed() < LIMIT, "{}", pty.screen());
        pty.send("\t");
        // A key that comes before the answer to the last one would choose the next candidate.
        std::thread::sleep(Duration::from_millis(50));
    }
    pty.send("\x15!model openai-compat oth\t");
    pty.wait_for("the model", |screen| {
        input(screen).starts_with("> !model openai-compat other-model")
    });
    pty.send("\r");
    pty.wait_text("openai-compat answers, with other-model.");
    pty.enter("hello", "From another.");
    let sent = server.requests();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].json()["model"], "other-model");
    pty.enter("!model nosuch whatever", "Error:");
    // It stays with the one it had.
    pty.wait_text("🔮 other-model");
    quit(pty, &home);
}

#[test]
fn quit_and_exit_end_the_session() {
    for line in ["quit", "EXIT"] {
        let (home, _server, mut pty) = conversation([]);
        pty.send(format!("{line}\r"));
        assert_eq!(pty.wait().code(), Some(0));
        crate::terminal::restored(&pty, &home);
    }
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
