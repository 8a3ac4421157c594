//! What the tests of a conversation share: Marvin on a terminal with a scripted provider, and access to what it left on disk.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use crate::support::conversation::{
    calls, last_sent, pairs as messages, playing, says, sent,
};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Server};
pub(crate) use crate::support::wait::until;
use crate::support::wire::openai::{Stream, chunk, data};
use crate::terminal::restored;

pub(crate) const SIZE: (u16, u16) = (80, 24);
/// How long a test waits for an expected event.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The built binary in `home`, answered by `server`.
pub(crate) fn command(home: &Home, server: &Server) -> Command {
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), home);
    command
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        // Otherwise the passing minute would change the screen.
        .env("MARVIN_NOW", "2026-03-04T09:05:00+00:00[UTC]")
        .args(["--provider", "openai-compat", "--model", "test-model"]);
    command
}

/// The same in plain lines.
pub(crate) fn plain_command(home: &Home, server: &Server) -> Command {
    let mut command = command(home, server);
    command.arg("--plain");
    command
}

/// Plain lines, at their first prompt.
pub(crate) fn lines(home: &Home, server: &Server) -> Pty {
    let pty = Pty::spawn(&plain_command(home, server), SIZE);
    pty.wait_text("You: ");
    pty
}

/// The full screen, ready for the first key.
pub(crate) fn full(home: &Home, server: &Server) -> Pty {
    full_sized(home, server, SIZE)
}

/// The same in another size.
pub(crate) fn full_sized(home: &Home, server: &Server, size: (u16, u16)) -> Pty {
    started_sized(&command(home, server), size)
}

/// The full screen of this command, ready for the first key.
pub(crate) fn started(command: &Command) -> Pty {
    started_sized(command, SIZE)
}

fn started_sized(command: &Command, size: (u16, u16)) -> Pty {
    let pty = Pty::spawn(command, size);
    pty.wait_text("test-model");
    pty
}

/// A home, a server that plays these answers, one a request, and the full screen on both.
pub(crate) fn conversation(answers: impl IntoIterator<Item = Answer>) -> (Home, Server, Pty) {
    let home = Home::new();
    let server = playing(answers);
    let pty = full(&home, &server);
    (home, server, pty)
}

/// Waits until no turn runs: the last words of an answer are shown before it is over.
pub(crate) fn wait_idle(pty: &Pty) {
    pty.wait_for("a status row without a spinner", |screen| {
        let status = rows(screen).pop().unwrap_or_default();
        !status.trim_start().starts_with(is_braille)
    });
}

fn is_braille(c: char) -> bool {
    ('\u{2800}'..='\u{28ff}').contains(&c)
}

/// Leaves and checks that the terminal is as it was.
pub(crate) fn quit(mut pty: Pty, home: &Home) {
    wait_idle(&pty);
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, home);
}

/// The beginning of a text answer; continue with [`more`] and [`end`].
pub(crate) fn begin(text: &str) -> Answer {
    Answer::stream("text/event-stream", Stream::new().text(&[text]).frames())
}

/// Another piece of it.
pub(crate) fn more(answer: Answer, text: &str) -> Answer {
    answer.send(data(&chunk(json!({"content": text}), None)))
}

pub(crate) fn end(answer: Answer) -> Answer {
    answer
        .send(data(&chunk(json!({}), Some("stop"))))
        .send("data: [DONE]\n\n")
}

/// A server that must not get a request.
pub(crate) fn unasked() -> Server {
    Server::start()
}

/// Role and text of the entries of a profile's chat log; each must have exactly the documented fields.
pub(crate) fn log_of(home: &Home, profile: &str) -> Vec<(String, String)> {
    let path = format!("config/profiles/{profile}/chat_log.json");
    let read = || serde_json::from_str::<Vec<Value>>(&home.read(&path));
    // Read without the lock while it grows, it may be incomplete.
    let whole = (0..50).find_map(|_| {
        let entries = read().ok();
        if entries.is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        entries
    });
    let entries = whole.unwrap_or_else(|| read().expect("a JSON array"));
    entries
        .iter()
        .map(|entry| {
            let entry = entry.as_object().expect("an object");
            let keys: Vec<&str> = entry.keys().map(String::as_str).collect();
            assert_eq!(keys, ["role", "text", "time"]);
            let word = |key: &str| entry[key].as_str().expect("a text").to_owned();
            let time = word("time");
            assert!(
                time.len() == 5 && time.as_bytes()[2] == b':',
                "a time: {time}"
            );
            (word("role"), word("text"))
        })
        .collect()
}

/// The log of profile `main`.
pub(crate) fn log(home: &Home) -> Vec<(String, String)> {
    log_of(home, "main")
}

pub(crate) fn rows(screen: &vt100::Screen) -> Vec<String> {
    let (_, width) = screen.size();
    screen.rows(0, width.get()).collect()
}

/// The text of the screen without blanks at the ends of rows: some are written over what was longer.
pub(crate) fn trimmed(screen: &vt100::Screen) -> String {
    let rows = rows(screen);
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    rows.join("\n")
}

/// Row and column of the first occurrence of a text on the screen.
pub(crate) fn find(screen: &vt100::Screen, text: &str) -> Option<(u16, u16)> {
    rows(screen).into_iter().zip(0..).find_map(|(line, row)| {
        let pos = line.find(text)?;
        let before: u16 = line[..pos]
            .chars()
            .map(|c| u16::try_from(unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)).unwrap())
            .sum();
        Some((row, before))
    })
}

/// Beginnings of what an empty input says.
const PLACEHOLDERS: [&str; 5] = [
    "Ask anything",
    "What you send is queued",
    "Esc stops",
    "A command",
    "/shell ends this",
];

/// The input: from the last row that starts with a prompt, else from that of the cursor, to the rule or the status line below it.
pub(crate) fn input(screen: &vt100::Screen) -> String {
    let rows = rows(screen);
    let from = rows
        .iter()
        .rposition(|row| row.starts_with("> ") || row.starts_with("$ ") || row == ">" || row == "$")
        .unwrap_or_else(|| usize::from(screen.cursor_position().0));
    let status = rows.len().saturating_sub(1).max(from + 1);
    // Written and erased blanks are the same.
    let rows = rows[from..status].iter().map(|row| row.trim_end());
    let rows: Vec<&str> = rows.take_while(|row| !row.starts_with("──")).collect();
    let text = rows.join("\n").trim_end().to_owned();
    let is_empty = |text: &str| PLACEHOLDERS.iter().any(|words| text.starts_with(words));
    match text.split_at_checked(2) {
        Some((sign, rest)) if is_empty(rest) && screen.cursor_position().1 == 2 => {
            sign.trim_end().to_owned()
        }
        _ => text,
    }
}

/// Waits until the input is this.
pub(crate) fn wait_input(pty: &Pty, text: &str) {
    pty.wait_for(text, |screen| input(screen) == text);
}
