//! Bad input: control sequences from a model, a tool, a file or a name never reach the terminal, and state files that are broken, huge, of another
//! version or read-only do not prevent a start.

use std::fs;

use serde_json::{Value, json};

use crate::stage::{
    LIMIT, begin, calls, command, end, full, log, more, playing, quit, says, started, unasked,
    wait_idle, wait_input,
};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai::{Stream, error};
use crate::support::words::TextAssertions;

/// Sequences and characters that Marvin has no use for, so that each in its output came from outside.
const HOSTILE: &str = "\u{1b}]0;pwned\u{7}\u{1b}[35;41mpwned\u{1b}[?1003h\u{1b}[5;5Hpwned\u{1b}P1$r\u{1b}\\\
    \u{9b}35mpwned\u{90}q\u{9c}\u{8}\u{b}\u{c}\u{7f}\u{202e}pwned\u{202c}\u{2066}\u{2069}\u{200f}\u{feff}\u{85}pwned";

/// Fails when the bytes contain an executable control sequence of [`HOSTILE`].
fn obeyed(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for bad in [
        "\u{1b}]0;",
        "\u{1b}[35;41m",
        "\u{1b}[?1003h",
        "\u{1b}[5;5Hpwned",
        "\u{1b}P",
        "\u{9b}",
        "\u{90}",
        "\u{9c}",
        "\u{85}",
        "\u{b}",
        "\u{c}",
        "\u{7f}",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
    ] {
        assert!(!text.contains(bad), "{bad:?} reached the terminal");
    }
}

/// Answers of every kind with hostile text in every place.
fn answers() -> Vec<Answer> {
    let pieces: Vec<String> = HOSTILE.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let named = format!("evil{HOSTILE}");
    let args = json!({"path": "bad.txt", "note": HOSTILE}).to_string();
    vec![
        Answer::sse(
            Stream::new()
                .text(&[
                    "Before ",
                    HOSTILE,
                    "\n\n```sh\n",
                    HOSTILE,
                    "\n```\n\n| a |\n|---|\n| ",
                    HOSTILE,
                    " |\n\n",
                ])
                .text(&pieces)
                .text(&[" after.\n\n"])
                .call(0, "c1", "read_file", &args)
                .call(1, "c2", &named, "{}")
                .call(
                    2,
                    "c3",
                    "create_file",
                    &json!({"path": "made.txt", "content": HOSTILE}).to_string(),
                )
                .end(),
        ),
        calls("run_command", json!({"command": format!("true {HOSTILE}")})),
        says("The end of the round."),
        Answer::json(&error(HOSTILE, HOSTILE, Some(HOSTILE))).with_status(400),
    ]
}

/// A home full of hostile names and texts.
fn home() -> Home {
    let home = Home::new();
    home.write("work/bad.txt", format!("first {HOSTILE}\nsecond\n"));
    home.write("work/name\u{1b}[35;41mpwned\u{202e}x.txt", "x");
    let entries: Vec<Value> = ["you", "assistant", "system", "other\u{1b}[35;41m"]
        .iter()
        .map(|role| json!({"role": role, "text": format!("past {HOSTILE}"), "time": HOSTILE}))
        .collect();
    home.write(
        "config/profiles/main/chat_log.json",
        serde_json::to_string(&entries).unwrap(),
    );
    home.write(
        "config/profiles/main/history",
        format!("recalled {HOSTILE}\n").replace(['\u{b}', '\u{c}', '\u{85}'], ""),
    );
    home.write(
        "config/profiles/main/saved_places.json",
        json!([{"label": HOSTILE, "name": HOSTILE}]).to_string(),
    );
    home
}

#[test]
fn outside_text_cannot_control_the_full_screen() {
    let home = home();
    let server = playing(answers());
    let pty = full(&home, &server);
    pty.wait_text("Resumed");
    pty.enter("go", "Run this command?");
    pty.wait_text(crate::confirm::LIVE);
    pty.send("n");
    pty.wait_text("The end of the round.");
    // All results unfolded, and everything scrolled through.
    pty.control('o');
    pty.control('o');
    for _ in 0..12 {
        pty.send("\x1b[5~");
    }
    pty.send("\x1b[1;5F");
    pty.wait_text("The end of the round.");
    wait_idle(&pty);
    pty.send("again\r");
    server.wait_requests(4, LIMIT);
    wait_idle(&pty);
    pty.send("saved\r");
    wait_input(&pty, ">");
    pty.enter("!cat bad.txt; ls", "exit code: 0");
    pty.send("@nam\t");
    wait_input(&pty, "> @nam");
    pty.send("\x15");
    wait_input(&pty, ">");
    pty.send("\x10\x10\x10\x10\x10");
    pty.wait_text("recalled");
    pty.send("\x15\x12recalled");
    pty.wait_text("search: recalled");
    pty.send("\x1b");
    pty.wait_gone("search:");
    obeyed(&pty.raw());
    pty.send("\x15");
    wait_input(&pty, ">");
    quit(pty, &home);
}

#[test]
fn outside_text_cannot_control_plain_mode() {
    let home = home();
    let server = playing(answers());
    let lines = "go\nagain\nsaved\n!cat bad.txt; ls\n!tool read_file path=bad.txt\n!undo\n";
    let output = crate::plain::pipe(&home, &server, lines).expect(0);
    let text = output.text();
    text.assert_has(&["pwned", "The end of the round."]);
    obeyed(text.as_bytes());
    let bad: Vec<char> = text
        .chars()
        .filter(|c| c.is_control() && *c != '\n')
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn a_line_of_two_megabytes_is_an_answer_like_others() {
    const PIECES: usize = 32;
    let home = Home::new();
    let piece = "0123456789abcdef".repeat(4096);
    let mut answer = begin("");
    for _ in 0..PIECES {
        answer = more(answer, &piece);
    }
    let server = playing([end(more(answer, " its end")), says("Next.")]);
    let pty = full(&home, &server);
    let before = pty.raw().len();
    pty.enter("go", "2 msgs");
    pty.wait_text("its end");
    let written = pty.raw().len() - before;
    assert!(written < 1 << 20, "{written} bytes to show it");
    pty.send("\x1b[5~");
    pty.wait_text("more below");
    pty.enter("next", "Next.");
    quit(pty, &home);
    assert_eq!(
        log(&home)[1].1.len(),
        piece.len() * PIECES + " its end".len()
    );
    // And when it is read again.
    let server = unasked();
    let pty = full(&home, &server);
    pty.wait_text("Next.");
    quit(pty, &home);
}

#[test]
fn entries_of_another_version_are_kept() {
    let home = Home::new();
    let entry = json!({"role": "oracle", "text": "from the future", "time": "noon", "mood": {"of": ["the", "day"]}});
    home.write(
        "config/profiles/main/chat_log.json",
        json!([entry]).to_string(),
    );
    home.write(
        "config/profiles/main/preferences.yaml",
        "# mine\nbudget: any\ntelepathy: true\nspice_tolerance: 12\n",
    );
    let server = playing([says("An answer.")]);
    let pty = full(&home, &server);
    pty.wait_text("from the future");
    pty.enter("go", "An answer.");
    server.request(0).json()["messages"][0]
        .to_string()
        .assert_has(&["telepathy"]);
    quit(pty, &home);
    let text = home.read("config/profiles/main/chat_log.json");
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(entries[0], entry);
    assert_eq!(entries.len(), 3);
    assert!(
        home.read("config/profiles/main/preferences.yaml")
            .starts_with("# mine\n")
    );
}

#[test]
fn corrupt_and_huge_state_files_do_not_prevent_a_start() {
    let home = Home::new();
    home.write(
        "config/profiles/main/preferences.yaml",
        "budget: [any\n\t- : :\n",
    );
    home.write("config/profiles/main/saved_places.json", "[{\"label\":");
    home.write("config/usage.json", "\0\0\0");
    home.write("config/last_profile", "../../etc\n");
    let mut history = b"\xff\xfe broken \x00 bytes\n".to_vec();
    history.extend(std::iter::repeat_n(b'x', 3 << 20));
    history.extend(b"\nthe newest line\n");
    home.write("config/profiles/main/history", &history);
    let server = playing([says("An answer.")]);
    let pty = full(&home, &server);
    pty.send("\x1b[A");
    wait_input(&pty, "> the newest line");
    pty.enter("\x15go", "An answer.");
    pty.send("saved\r");
    pty.send("usage\r");
    // Each list is made on a thread of its own: one after the other.
    pty.wait_text("profile main, by model");
    pty.enter("profiles", "* main");
    quit(pty, &home);
    let kept = fs::read(home.path().join("config/profiles/main/history")).unwrap();
    assert!(kept.starts_with(&history) && kept.ends_with(b"go\nsaved\nusage\nprofiles\n"));
}

#[test]
fn a_nonsense_answer_is_a_failure_and_the_session_continues() {
    let home = Home::new();
    let garbage = |_: &_, n: usize| match n {
        0 => Answer::raw(b"\x00\xff\x1b]0;pwned\x07 no http at all\r\n\r\n".to_vec()),
        1 => Answer::text("text/html", "<html>\u{1b}]0;pwned\u{7}</html>"),
        2 => Answer::sse([
            "data: {\"choices\": 7}\n\n",
            "data: \u{1b}]0;pwned\u{7}\n\n",
        ]),
        3 => Answer::sse(["data: [DONE]\n\n"]),
        _ => says("Sense."),
    };
    let server = Server::with([Exchange::post("/completions").by(garbage).any_times()]);
    let mut command = command(&home, &server);
    command.env("MARVIN_FIRST_BYTE_TIMEOUT", "5");
    let pty = started(&command);
    for n in 0.. {
        pty.send(format!("ask {n}\r"));
        server.wait_requests(n + 1, LIMIT);
        // Nothing is running any more: the line of running calls begins with a spinner.
        pty.wait_for("the end of it", |screen| {
            let contents = screen.contents();
            !contents.contains("Esc to stop") && contents.contains(&format!("ask {n}"))
        });
        if pty.screen().contains("Sense.") {
            break;
        }
        assert!(n < 12, "{}", pty.screen());
    }
    obeyed(&pty.raw());
    quit(pty, &home);
}

#[test]
fn a_ticket_of_a_cloned_repository_cannot_control_the_terminal() {
    let home = Home::new();
    let title = "red\x1b[31m\x1b]0;mine\x07\u{202e}";
    let ticket = format!("---\nid: a-1\nstatus: open\n---\n# {title}\r\n");
    home.write("work/.tickets/a-1.md", &ticket);
    for args in [
        &["tk", "ls"][..],
        &["tk", "show", "a-1"],
        &["tool", "ticket_show", "ticket_id=a-1", "--working-dir=."],
    ] {
        let mut pty = Pty::marvin(&home, args, (80, 24));
        pty.wait_text("red\\x1b[31m\\x1b]0;mine\\x07\\u{202e}");
        assert!(pty.wait().success());
        pty.wait_closed();
        let raw = pty.raw();
        assert!(!raw.contains(&0x1b) && !raw.contains(&7), "{args:?}");
    }
    // A pipe gets it unchanged.
    let output = home.marvin().args(["tk", "show", "a-1"]).run().expect(0);
    assert!(output.text().contains(title));
}
