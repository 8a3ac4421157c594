//! What an editor waits for: the first answer of `marvin acp`, a new session, the list of a thousand, and an answer that is written word by word.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::contender::{Contender, Stage};
use crate::series::{cell, median, time};
use crate::table::Row;

/// Words of the answer that is written word by word.
const WORDS: usize = 2_000;
const SESSIONS: usize = 1_000;

/// Adds the rows.
pub fn rows(stage: &Stage, quick: bool, limits: &mut Vec<Row>) {
    let rounds = if quick { 5 } else { 31 };
    let home = stage.home("acp");
    let each = format!("each-{WORDS}");
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let since = Instant::now();
        let version = stage.version(Contender::Marvin).output();
        let version = version.map(|_| since.elapsed().as_secs_f64());
        let since = Instant::now();
        let _editor = Editor::start(stage, "one", &home);
        let first = since.elapsed().as_secs_f64();
        ratios.extend(version.map(|version| first / version));
    }
    let ratio = median(ratios);
    limits.push(Row {
        what: "marvin acp: start to the answer to initialize".to_owned(),
        wanted: "at most 2.0 x --version",
        measured: cell(ratio, |ratio| format!("{ratio:.2} x")),
        holds: ratio.map(|ratio| ratio <= 2.0),
    });

    let mut editor = Editor::start(stage, &each, &home);
    let mut opened = Vec::new();
    let mut told = Vec::new();
    for _ in 0..rounds {
        let since = Instant::now();
        let session = editor.open(&home);
        opened.push(since.elapsed().as_secs_f64());
        let since = Instant::now();
        editor.prompt(&session);
        told.push(since.elapsed().as_secs_f64() / WORDS as f64);
        editor.ask("session/close", json!({"sessionId": session}));
    }
    limits.push(row("session/new", "at most 5 ms", median(opened), 5e-3));
    limits.push(row(
        "an answer of 2,000 pieces to an editor, for each",
        "at most 0.2 ms",
        median(told),
        2e-4,
    ));
    drop(editor);

    let home = stage.home("acp sessions");
    let mut editor = Editor::start(stage, "one", &home);
    let count = if quick { SESSIONS / 10 } else { SESSIONS };
    for _ in 0..count {
        let session = editor.open(&home);
        editor.prompt(&session);
        editor.ask("session/close", json!({"sessionId": session}));
    }
    let mut listed = Vec::new();
    for _ in 0..rounds {
        let since = Instant::now();
        let mut cursor = Value::Null;
        loop {
            let page = editor.ask("session/list", json!({"cursor": cursor}));
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        listed.push(since.elapsed().as_secs_f64());
    }
    limits.push(row(
        &format!("session/list of {count} sessions, all pages"),
        "at most 50 ms",
        median(listed),
        5e-2,
    ));
}

fn row(what: &str, wanted: &'static str, took: Option<f64>, limit: f64) -> Row {
    Row {
        what: format!("marvin acp: {what}"),
        wanted,
        measured: cell(took, time),
        holds: took.map(|took| took <= limit),
    }
}

/// An editor with a running Marvin that was introduced to it.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Editor {
    fn start(stage: &Stage, plan: &str, home: &Path) -> Self {
        let asks = stage.ask(Contender::Marvin, plan, home, 1);
        let mut command = Command::new(asks.get_program());
        for (name, value) in asks.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.args(["acp", "--provider", "openai-compat", "--model", "bench"]);
        command.current_dir(home.join("work"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("marvin acp");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut editor = Self {
            child,
            input,
            output,
            last: 0,
        };
        editor.ask(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {}}),
        );
        editor
    }

    /// The result of a request; what is told meanwhile is read and forgotten.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        let input = self.input.as_mut().expect("its input");
        input
            .write_all(format!("{request}\n").as_bytes())
            .expect("a request");
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).expect("a line");
            assert!(read > 0, "marvin acp has ended");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == self.last && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    fn open(&mut self, home: &Path) -> String {
        let cwd = home.join("work");
        let opened = self.ask("session/new", json!({"cwd": cwd, "mcpServers": []}));
        opened["sessionId"].as_str().expect("an id").to_owned()
    }

    fn prompt(&mut self, session: &str) {
        let prompt = json!([{"type": "text", "text": "hi"}]);
        self.ask(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        );
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
