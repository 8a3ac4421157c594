//! Slash commands on the full screen, and what they leave behind.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::{
    LIMIT, SIZE, begin, calls, command, end, full, input, last_sent, log, log_of, messages,
    playing, quit, says, sent, unasked, until,
};
use crate::support::blender::{Peer, send, success};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange};

/// Makes a script one that runs.
pub(crate) fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

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
        let pty = Pty::spawn(&command, SIZE);
        pty.wait_text("test-model");
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
    let home = Home::new();
    let server = playing([says("An answer."), says("A word.")]);
    let pty = full(&home, &server);
    pty.send("hello\r");
    pty.wait_text("An answer.");
    pty.wait_text("2 msgs");
    pty.send("usage\r");
    pty.wait_text("█");
    assert!(pty.screen().contains("test-model"), "{}", pty.screen());
    pty.send("usage of marvin\r");
    pty.wait_text("A word.");
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
    pty.send("one\r");
    pty.wait_text("In main.");
    pty.wait_text("2 msgs");
    pty.send("!profile winter\r");
    pty.wait_text("Profile winter.");
    pty.send("two\r");
    pty.wait_text("In winter.");
    pty.send("!profile summer\r");
    pty.wait_text("Profile summer, which is new.");
    pty.send("three\r");
    pty.wait_text("In summer.");
    // Each has its own past.
    assert_eq!(
        sent(&server, 1),
        messages(&[("user", "said in winter"), ("user", "two")])
    );
    assert_eq!(sent(&server, 2), messages(&[("user", "three")]));
    pty.send("!profile ../evil\r");
    pty.wait_text("Error:");
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
        pty.send("one\r");
        pty.wait_text("In main.");
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
        pty.send("two\r");
        pty.wait_text("In winter.");
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
        pty.send("one\r");
        pty.wait_text("2 msgs");
        pty.send(format!("!cat '{}' &\r", gate.display()));
        pty.wait_text("cat");
        pty.send(format!("{leave}\r"));
        pty.wait_text(left);
        pty.send("two\r");
        pty.wait_text("Two.");
        pty.wait_text("2 msgs");
        std::fs::write(&gate, "a secret of main\nand more\n").unwrap();
        pty.wait_text("a secret of main");
        pty.send("three\r");
        pty.wait_text("Three.");
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
    pty.send("I am Anna and I like olives\r");
    pty.wait_text("anna");
    server.wait_requests(2, LIMIT);
    pty.wait_text("Profile anna");
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
    let home = Home::new();
    let server = playing([
        says("First answer."),
        says("Second answer."),
        says("Third."),
    ]);
    let pty = full(&home, &server);
    pty.send("one\r");
    pty.wait_text("2 msgs");
    pty.send("two\r");
    pty.wait_text("4 msgs");
    pty.send("!undo\r");
    pty.wait_for("the first exchange alone", |screen| {
        let contents = screen.contents();
        contents.contains("First answer.") && !contents.contains("Second answer.")
    });
    pty.wait_text("2 msgs");
    // The message can be edited and sent again.
    pty.wait_for("the words", |screen| input(screen) == "> two");
    until("the log", || log(&home).len() == 2);
    pty.send(" again\r");
    pty.wait_text("Third.");
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
    assert!(
        !home
            .read("config/profiles/main/chat_log.json")
            .contains("Second")
    );
}

#[test]
fn undo_during_an_answer_is_refused() {
    let home = Home::new();
    let latch = Latch::new();
    let server = playing([end(begin("Slowly").pause(&latch))]);
    let pty = full(&home, &server);
    pty.send("one\r");
    pty.wait_text("Slowly");
    pty.send("!undo\r");
    pty.wait_text("An answer is on its way.");
    latch.open();
    pty.wait_text("2 msgs");
    quit(pty, &home);
}

#[test]
fn coding_mode_is_shown_and_sent() {
    let home = Home::new();
    let server = playing([says("Before."), says("After.")]);
    let pty = full(&home, &server);
    pty.send("one\r");
    pty.wait_text("2 msgs");
    pty.send("!code\r");
    pty.wait_text("Coding mode, in");
    pty.wait_text("· code ·");
    pty.send("two\r");
    pty.wait_text("4 msgs");
    let system = |n: usize| server.request(n).json()["messages"][0].to_string();
    assert_ne!(system(0), system(1));
    pty.send("!code\r");
    pty.wait_text("Coding mode is off.");
    quit(pty, &home);
}

#[test]
fn shell_mode_keeps_its_directory() {
    let home = Home::new();
    home.write("work/sub/file-in-sub.txt", "x");
    let server = playing([says("An answer.")]);
    let pty = full(&home, &server);
    pty.send("!shell\r");
    pty.wait_text("Shell mode, in");
    pty.wait_for("its prompt", |screen| input(screen) == "$");
    pty.send("cd sub\r");
    pty.wait_text("work/sub");
    pty.send("ls; echo \"so $((40 + 2))\"\r");
    pty.wait_text("file-in-sub.txt");
    pty.wait_text("so 42");
    pty.send("exit\r");
    pty.wait_text("Shell mode is off.");
    pty.wait_for("the prompt", |screen| input(screen) == ">");
    // The model learns which command was run.
    pty.send("what did I do\r");
    pty.wait_text("An answer.");
    assert!(server.request(0).text().contains("so 42"));
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
    let home = Home::new();
    let server = playing([says("An answer.")]);
    let pty = full(&home, &server);
    pty.send("!echo one; echo two >&2; exit 3\r");
    pty.wait_text("one");
    pty.wait_text("two");
    pty.wait_text("3");
    pty.send("!while [ ! -e go ]; do sleep 0.02; done; echo it went &\r");
    pty.wait_text("⚙ while");
    // The conversation continues in the meantime.
    pty.send("hello\r");
    pty.wait_text("An answer.");
    assert!(!log(&home).iter().any(|(_, text)| text.contains("it went")));
    home.write("work/go", "");
    pty.wait_for("the end of the job", |screen| {
        !screen.contents().contains('⚙')
    });
    until("its end in the log", || {
        log(&home).iter().any(|(_, text)| text.contains("it went"))
    });
    pty.send("!sleep 301 &\r");
    pty.wait_text("⚙ sleep 301");
    pty.send("!stop\r");
    pty.wait_for("no job", |screen| !screen.contents().contains('⚙'));
    // A command in front is stopped by a key.
    pty.send("!sleep 300\r");
    pty.wait_text(" 0s sleep 300");
    pty.send("\x1b");
    pty.wait_for("both stopped", |screen| {
        screen.contents().matches("[stopped]").count() == 2
    });
    quit(pty, &home);
}

#[test]
fn preferences_open_in_the_editor_and_the_screen_comes_back() {
    let home = Home::new();
    let editor = home.write(
        "bin/editor",
        "#!/bin/sh\necho \"editing $1\"\nread line\necho \"notes: $line\" >> \"$1\"\n",
    );
    executable(&editor);
    let server = playing([says("Noted.")]);
    let mut command = command(&home, &server);
    command.env("EDITOR", &editor).env("VISUAL", "false");
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text("test-model");
    pty.send("preferences\r");
    pty.wait_text("editing");
    assert!(!pty.with(vt100::Screen::alternate_screen));
    pty.send("likes olives\r");
    pty.wait_text("Preferences are as you left them.");
    assert!(pty.with(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    assert!(
        home.read("config/profiles/main/preferences.yaml")
            .contains("notes: likes olives")
    );
    pty.send("hello\r");
    pty.wait_text("Noted.");
    let system = server.request(0).json()["messages"][0].to_string();
    assert!(system.contains("likes olives"));
    // The input in the editor. Its words of the first time are still on the shell's screen.
    pty.send("a draft\x1be");
    pty.wait_raw(b"editing", 2);
    pty.send("more\r");
    pty.wait_for("the draft", |screen| {
        input(screen).starts_with("> a draft") && input(screen).contains("more")
    });
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
        std::thread::sleep(Duration::from_millis(50));
    }
    pty.send("\x15!model openai-compat oth\t");
    pty.wait_for("the model", |screen| {
        input(screen).starts_with("> !model openai-compat other-model")
    });
    pty.send("\r");
    pty.wait_text("openai-compat answers, with other-model.");
    pty.send("hello\r");
    pty.wait_text("From another.");
    let sent = server.requests();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].json()["model"], "other-model");
    pty.send("!model nosuch whatever\r");
    pty.wait_text("Error:");
    // It stays with the one it had.
    pty.wait_text("🔮 other-model");
    quit(pty, &home);
}

#[test]
fn quit_and_exit_end_the_session() {
    for line in ["quit", "EXIT"] {
        let home = Home::new();
        let server = unasked();
        let mut pty = full(&home, &server);
        pty.send(format!("{line}\r"));
        assert_eq!(pty.wait().code(), Some(0));
        crate::terminal::restored(&pty, &home);
    }
}

#[test]
fn a_silent_command_in_the_background_ends_with_one_line() {
    let home = Home::new();
    let server = unasked();
    let pty = full(&home, &server);
    pty.send("!sh true &\r");
    pty.wait_text("$ true &  exit code: 0");
    // The same in shell mode, where nothing is left for the shell to wait for.
    pty.send("!sh\r");
    pty.wait_text("Shell mode");
    pty.send("sleep 0.1 &\r");
    pty.wait_text("$ sleep 0.1 &  exit code: 0");
    assert!(!pty.screen().contains("left behind"));
    pty.send("echo it wrote this &\r");
    pty.wait_text("it wrote this");
    pty.send("exit\r");
    pty.wait_text("Shell mode is off");
    quit(pty, &home);
}
