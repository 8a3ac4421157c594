//! The server side of the Copilot CLI, played from a script: a recording, or one of ours in `fixtures/copilot`.
//!
//! The peer is the test binary itself: a shell script that stands where the CLI would starts it with the name of a test, which plays the script on the pipes
//! that it was started with. What the test harness prints goes elsewhere.
//!
//! A script has one JSON object per line. Those of a recording are `{"from": "client" | "server", "message": …}`. Ours are shorter:
//!
//! | line | meaning |
//! |---|---|
//! | `{"expect": METHOD}` | wait for this call; others that come before it get an answer that does no harm |
//! | `{"result": …}`, `{"error": …}` | answer it |
//! | `{"event": TYPE, "data": …}` | an event of the last session |
//! | `{"message": …}` | any message |
//! | `{"raw": TEXT, "times": N}` | these characters instead of a message |
//! | `{"huge": TYPE, "bytes": N}` | an event of this type with so much in it |
//! | `{"stderr": TEXT, "times": N}` | lines on standard error |
//! | `{"sleep": MS}`, `{"exit": STATUS}`, `{"hang": true}` | wait, end, answer nothing any more |
//! | `{"helper": SECONDS}` | start a process that lives for so long |

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Stdin, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

const SCRIPT: &str = "MARVIN_TEST_PEER_SCRIPT";
const LOG: &str = "MARVIN_TEST_PEER_LOG";

/// Calls that a script waits for; all others are answered whenever they come.
const DRIVING: [&str; 7] = [
    "connect",
    "ping",
    "auth.getStatus",
    "session.create",
    "session.send",
    "session.abort",
    "session.tools.handlePendingToolCall",
];

/// Writes a program to `dir` that plays `script` by the test `test` of this binary, and returns its path. What it is sent stands in `dir/calls`.
pub fn install(dir: &Path, script: &str, test: &str) -> PathBuf {
    std::fs::create_dir_all(dir).expect("a folder for the peer");
    let (program, played) = (dir.join("copilot"), dir.join("script"));
    std::fs::write(&played, script).expect("a script");
    let this = std::env::current_exe().expect("this program");
    let text = format!(
        "#!/bin/sh\n{SCRIPT}='{}' {LOG}='{}'\nexport {SCRIPT} {LOG}\nexec 3>&1\nexec '{}' --exact {test} --nocapture >/dev/null\n",
        played.display(),
        dir.join("calls").display(),
        this.display()
    );
    // Written by another process: a file that a child of this one still has open for writing cannot be run.
    let written = Command::new("sh")
        .args(["-c", "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"", "sh"])
        .args([text.as_ref(), program.as_os_str()])
        .status();
    assert!(written.expect("a shell").success());
    program
}

/// The calls that the peer in `dir` got so far.
pub fn calls(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("calls")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

/// The peers of `dir` that are alive.
pub fn running(dir: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(dir.join("calls.pids")).unwrap_or_default();
    let pids = text.lines().filter_map(|line| line.parse().ok());
    pids.filter(|pid| is_alive(*pid)).collect()
}

/// Whether a process runs; one that is dead and waits to be reaped does not.
pub fn is_alive(pid: u32) -> bool {
    let Ok(pid_to_ask) = i32::try_from(pid) else {
        return false;
    };
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid_to_ask.to_string()])
        .output();
    let state = state.expect("ps").stdout;
    let state = state.trim_ascii();
    !state.is_empty() && !state.starts_with(b"Z")
}

fn pids() -> PathBuf {
    PathBuf::from(std::env::var_os(LOG).expect("a log")).with_extension("pids")
}

/// Plays the script of the environment, if this process is a peer; otherwise does nothing.
pub fn play_if_peer() {
    let Some(path) = std::env::var_os(SCRIPT) else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("a script");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let pids = File::options().create(true).append(true).open(pids());
    writeln!(pids.expect("a list"), "{}", std::process::id()).expect("a list");
    let mut peer = Peer::new(&lines);
    for line in &lines {
        peer.play(line);
    }
    loop {
        peer.serve_one();
    }
}

struct Peer {
    input: BufReader<Stdin>,
    output: File,
    log: File,
    /// Recorded results of calls that nothing waits for, by method.
    pool: HashMap<String, Value>,
    /// The number of the last call of each kind, and of each recorded one.
    last: Value,
    ids: HashMap<String, Value>,
    /// Recorded ids of sessions, and those of now.
    sessions: Vec<(String, String)>,
    session: String,
}

impl Peer {
    fn new(lines: &[Value]) -> Self {
        let mut pool = HashMap::new();
        let mut methods = HashMap::new();
        for message in lines.iter().map(|line| &line["message"]) {
            match message["method"].as_str() {
                Some(method) if !message["id"].is_null() => {
                    methods.insert(message["id"].to_string(), method.to_owned());
                }
                _ => {
                    if let Some(method) = methods.get(&message["id"].to_string()) {
                        pool.insert(method.clone(), message.clone());
                    }
                }
            }
        }
        let log = std::env::var_os(LOG).expect("a log");
        let log = File::options().create(true).append(true).open(log);
        Self {
            input: BufReader::new(std::io::stdin()),
            output: File::options()
                .write(true)
                .open("/dev/fd/3")
                .expect("a pipe"),
            log: log.expect("a log"),
            pool,
            last: Value::Null,
            ids: HashMap::new(),
            sessions: Vec::new(),
            session: String::new(),
        }
    }

    fn play(&mut self, line: &Value) {
        let times = line["times"].as_u64().unwrap_or(1);
        if let Some(from) = line["from"].as_str() {
            return self.recorded(from, &line["message"]);
        }
        if let Some(method) = line["expect"].as_str() {
            self.last = self.wait_for(method)["id"].clone();
        } else if let Some(result) = line.get("result") {
            self.write(&json!({"jsonrpc": "2.0", "id": self.last, "result": result}));
        } else if let Some(error) = line.get("error") {
            self.write(&json!({"jsonrpc": "2.0", "id": self.last, "error": error}));
        } else if let Some(kind) = line["event"].as_str() {
            self.write(&event(&self.session, kind, &line["data"]));
        } else if let Some(message) = line.get("message") {
            self.write(message);
        } else if let Some(kind) = line["huge"].as_str() {
            let bytes = usize::try_from(line["bytes"].as_u64().expect("a size")).expect("a size");
            let filling = " ".repeat(bytes);
            self.write(&event(
                &self.session,
                kind,
                &json!({"deltaContent": filling}),
            ));
        } else if let Some(text) = line["raw"].as_str() {
            for _ in 0..times {
                self.send(text.as_bytes());
            }
        } else if let Some(text) = line["stderr"].as_str() {
            for _ in 0..times {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        } else if let Some(ms) = line["sleep"].as_u64() {
            thread::sleep(Duration::from_millis(ms));
        } else if let Some(status) = line["exit"].as_i64() {
            std::process::exit(i32::try_from(status).expect("a status"));
        } else if let Some(seconds) = line["helper"].as_u64() {
            let child = Command::new("sleep").arg(seconds.to_string()).spawn();
            let pid = child.expect("a helper").id();
            let _ = writeln!(self.log, "{}", json!({"helper": pid}));
        } else if line.get("hang").is_some() {
            let _ = std::io::copy(&mut self.input, &mut std::io::sink());
            std::process::exit(0);
        } else {
            panic!("no line of a script: {line}");
        }
    }

    /// A line of a recording: a call is waited for, and everything else is said.
    fn recorded(&mut self, from: &str, message: &Value) {
        let method = message["method"].as_str();
        if from == "client" {
            let method = method.expect("a method");
            if DRIVING.contains(&method) {
                let call = self.wait_for(method);
                self.ids
                    .insert(message["id"].to_string(), call["id"].clone());
                let ids = [
                    &message["params"]["sessionId"],
                    &call["params"]["sessionId"],
                ];
                if let [Some(then), Some(now)] = ids.map(Value::as_str) {
                    self.sessions.retain(|(other, _)| other != then);
                    self.sessions.push((then.to_owned(), now.to_owned()));
                }
            }
            return;
        }
        let mut message = message.clone();
        if method.is_none() {
            let Some(id) = self.ids.get(&message["id"].to_string()) else {
                return;
            };
            message["id"] = id.clone();
        }
        let mut text = message.to_string();
        for (then, now) in &self.sessions {
            text = text.replace(then, now);
        }
        self.send(framed(&text).as_bytes());
    }

    /// Answers calls until one is of this method.
    fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let call = self.next();
            if call["method"] == method {
                if let Some(session) = call["params"]["sessionId"].as_str() {
                    session.clone_into(&mut self.session);
                }
                return call;
            }
            self.answer(&call);
        }
    }

    fn serve_one(&mut self) {
        let call = self.next();
        self.answer(&call);
    }

    fn answer(&mut self, call: &Value) {
        let method = call["method"].as_str().unwrap_or_default();
        let mut answer = match self.pool.get(method) {
            Some(recorded) => recorded.clone(),
            None if method == "runtime.shutdown" => json!({"result": null}),
            None => json!({"result": {"success": true}}),
        };
        answer["id"] = call["id"].clone();
        self.write(&answer);
    }

    /// The next call; ends the process when there is none.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        if self.input.read_line(&mut line).unwrap_or_default() == 0 {
            std::process::exit(0);
        }
        let length = line.trim().rsplit_once(' ').expect("a header").1;
        let mut body = vec![0; length.parse().expect("a length")];
        self.input.read_line(&mut line).expect("an empty line");
        self.input.read_exact(&mut body).expect("a whole message");
        let call: Value = serde_json::from_slice(&body).expect("JSON");
        writeln!(self.log, "{call}").expect("a log");
        call
    }

    fn write(&mut self, message: &Value) {
        self.send(framed(&message.to_string()).as_bytes());
    }

    fn send(&mut self, bytes: &[u8]) {
        if self.output.write_all(bytes).is_err() {
            std::process::exit(0);
        }
    }
}

fn framed(text: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

fn event(session: &str, kind: &str, data: &Value) -> Value {
    let event = json!({"type": kind, "data": data, "id": "e", "timestamp": "2026-11-22T10:00:00Z"});
    let params = json!({"sessionId": session, "event": event});
    json!({"jsonrpc": "2.0", "method": "session.event", "params": params})
}
