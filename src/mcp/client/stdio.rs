//! A server that is a process of ours: one message a line on its standard input and output.

use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use serde_json::{Value, json};

use super::connection::Wait;
use super::inbound::Inbound;
use super::router::{Pending, Reply, Router};
use super::transport::{Failure, Loss, Request, Transport};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, one_line};
use crate::formats::json_lines::{MAX_LINE_IN, NextLine, next_line};
use crate::formats::json_rpc::Incoming;
use crate::proc::child_env::server_env;
use crate::proc::piped::{PipedChild, PipedProgram, Pipes};
use crate::proc::program::find_on_path;

/// Characters of a line that is no message.
const MAX_NOISE: usize = 200;
/// Messages that wait for a server to read them.
const MAX_UNREAD: usize = 1_024;
/// How long the rest of standard error may take to arrive when standard output has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Lines of a server's last words in an error.
pub(super) const LAST_LINES: usize = 10;

/// How a server is started.
pub(super) struct Start<'a> {
    pub command: &'a str,
    pub args: &'a [String],
    pub env: &'a [(String, String)],
    pub cwd: Option<&'a Path>,
}

/// A running server.
pub(super) struct Stdio {
    router: Arc<Router>,
    /// Closed, it closes standard input.
    outbox: Arc<Mutex<Option<Sender<String>>>>,
    child: Mutex<Option<PipedChild>>,
    signs: Arc<SignsOfLife>,
}

/// When the process showed that it runs.
pub(super) struct SignsOfLife {
    pub started: Instant,
    first: Mutex<Option<Instant>>,
}

impl SignsOfLife {
    fn came(&self) {
        lock(&self.first).get_or_insert_with(Instant::now);
    }

    /// The first byte on either stream.
    pub(super) fn first(&self) -> Option<Instant> {
        *lock(&self.first)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stdio {
    /// Starts the process.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn start(
        start: &Start<'_>,
        inbound: &Arc<Inbound>,
        env: &Env,
        supervisor: Option<&Path>,
    ) -> Outcome<Arc<Self>> {
        let program = program(start, inbound, env, supervisor)?;
        let cannot = |error| {
            Problem::system(
                format!(
                    "Cannot start {} of {}",
                    one_line(start.command),
                    inbound.server
                ),
                error,
            )
            .next("Check \"command\" of its entry in mcp.json.")
        };
        let (child, pipes) = program.start().map_err(cannot)?;
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let (outbox, lines) = bounded(MAX_UNREAD);
        let outbox = Arc::new(Mutex::new(Some(outbox)));
        let stdio = Arc::new(Self {
            router: Router::new(Arc::clone(inbound)),
            outbox: Arc::clone(&outbox),
            child: Mutex::new(Some(child)),
            signs: Arc::new(SignsOfLife {
                started: Instant::now(),
                first: Mutex::default(),
            }),
        });
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (drained, all_said) = bounded(1);
        let (signs, ring) = (Arc::clone(&stdio.signs), Arc::clone(&inbound.ring));
        named("mcp-write")
            .spawn(move || write_all(stdin, &lines))
            .map_err(cannot)?;
        named("mcp-errors")
            .spawn(move || {
                let mut stderr: ChildStderr = stderr;
                let mut buffer = [0; 8 << 10];
                while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                    signs.came();
                    ring.push(buffer.get(..count).unwrap_or_default());
                }
                drop(drained);
            })
            .map_err(cannot)?;
        let (router, signs) = (Arc::clone(&stdio.router), Arc::clone(&stdio.signs));
        named("mcp-read")
            .spawn(move || read_all(stdout, &router, &signs, &outbox, &all_said))
            .map_err(cannot)?;
        Ok(stdio)
    }

    pub(super) fn signs(&self) -> &SignsOfLife {
        &self.signs
    }

    /// Waits for the answers of requests that [`Self::send`] sends.
    pub(super) fn open(&self, ids: &[u64]) -> Result<Pending, Failure> {
        self.router.open(ids)
    }

    /// False where the server has left too much unread.
    pub(super) fn send(&self, line: String) -> bool {
        write(&self.outbox, line)
    }
}

/// Sends a line, unless the server has left too much unread.
fn write(outbox: &Mutex<Option<Sender<String>>>, line: String) -> bool {
    let outbox = lock(outbox);
    let sent = outbox.as_ref().map(|outbox| outbox.try_send(line));
    // Without its writer the process is gone, which the reader finds out.
    !matches!(sent, Some(Err(TrySendError::Full(_))))
}

fn program(
    start: &Start<'_>,
    inbound: &Inbound,
    env: &Env,
    supervisor: Option<&Path>,
) -> Outcome<PipedProgram> {
    let env_of_server = server_env(env, start.env);
    let home = env.get("HOME").map(PathBuf::from);
    let dir = (start.cwd.map(Path::to_owned))
        .or_else(|| inbound.working_dir())
        .or(home);
    if let Some(dir) = dir.as_ref().filter(|dir| !dir.is_dir()) {
        return Err(Problem::missing(format!(
            "{} cannot start: there is no folder {}.",
            inbound.server,
            dir.display()
        ))
        .next("Check \"cwd\" of its entry in mcp.json."));
    }
    let path = env_of_server.iter().find(|(name, _)| name == "PATH");
    let program = match start.command.contains('/') {
        true => Some(PathBuf::from(start.command)),
        false => path.and_then(|(_, path)| find_on_path(start.command, path)),
    };
    let program = program.ok_or_else(|| {
        Problem::missing(format!(
            "{} cannot start: there is no program \"{}\".",
            inbound.server,
            one_line(start.command)
        ))
        .next("Install it, or give its whole path in \"command\" of its entry in mcp.json.")
    })?;
    // The supervisor would start, and say on standard error that the program does not.
    let at = dir
        .as_ref()
        .map_or(program.clone(), |dir| dir.join(&program));
    if !at.is_file() {
        return Err(Problem::new(
            ProblemKind::Missing,
            format!(
                "{} cannot start: there is no file {}.",
                inbound.server,
                at.display()
            ),
        )
        .next("Check \"command\" of its entry in mcp.json."));
    }
    Ok(PipedProgram {
        program: at,
        args: start.args.iter().map(Into::into).collect(),
        env: env_of_server,
        dir,
        supervisor: supervisor.map(Path::to_owned),
    })
}

fn write_all(mut stdin: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
}

fn read_all(
    stdout: ChildStdout,
    router: &Arc<Router>,
    signs: &SignsOfLife,
    outbox: &Arc<Mutex<Option<Sender<String>>>>,
    all_said: &Receiver<()>,
) {
    let to = Arc::clone(outbox);
    let reply: Reply = Arc::new(move |line| {
        let _is_sent = write(&to, line);
    });
    let inbound = &router.inbound;
    let mut input = BufReader::with_capacity(64 << 10, stdout);
    let words = loop {
        match next_line(&mut input, MAX_LINE_IN) {
            Ok(NextLine::Line(line)) => {
                signs.came();
                let is_blank = line.iter().all(u8::is_ascii_whitespace);
                if !is_blank && !router.take(&line, &reply) {
                    let text = String::from_utf8_lossy(&line);
                    let text = clip(&one_line(&text), MAX_NOISE);
                    inbound.ring.line(&format!("(no message) {text}"));
                }
            }
            Ok(NextLine::TooLong) => {
                let most = MAX_LINE_IN >> 20;
                break format!("{} sent a message of more than {most} MB.", inbound.server);
            }
            Ok(NextLine::End) | Err(_) => break format!("{} has ended.", inbound.server),
        }
    };
    let _late = all_said.recv_timeout(LAST_WORDS);
    router.close(&with_last_words(&words, inbound));
    *lock(outbox) = None;
}

/// The sentence, and the last line that the server wrote.
fn with_last_words(sentence: &str, inbound: &Inbound) -> String {
    let mut lines = inbound.last_lines(1);
    match lines.pop() {
        Some(line) if line.ends_with(['.', '!', '?']) => {
            format!("{sentence} It wrote last: {line}")
        }
        Some(line) => format!("{sentence} It wrote last: {line}."),
        None => format!("{sentence} It wrote nothing."),
    }
}

impl Transport for Stdio {
    fn request(&self, request: &Request<'_>, wait: Wait<'_>) -> Result<Value, Failure> {
        let pending = self.router.open(&[request.id])?;
        let line = Incoming::request(request.id, request.method, request.params);
        if !self.send(line) {
            let words = format!(
                "{} has not read the last {MAX_UNREAD} messages.",
                self.router.inbound.server
            );
            return Err(Problem::network(words)
                .next("Start it anew, and tell its makers.")
                .into());
        }
        let result = pending.wait(request.method, wait);
        if let Err(Failure::Other(problem)) = &result
            && matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Timeout)
            && request.method != "initialize"
        {
            self.notify(
                "notifications/cancelled",
                &json!({"requestId": request.id, "reason": "Nobody waits for it any more."}),
            );
        }
        result
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(Incoming::notification(method, params));
    }

    fn heard(&self) -> u64 {
        self.router.heard()
    }

    fn is_alive(&self) -> bool {
        !self.router.is_closed()
    }

    fn close(&self) {
        self.router.close(&format!(
            "The connection to {} is closed.",
            self.router.inbound.server
        ));
        *lock(&self.outbox) = None;
        let child = lock(&self.child).take();
        if let Some(mut child) = child {
            child.end_in_steps();
        }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.close();
    }
}

/// A process that is gone, with what it said.
pub(super) fn gone(inbound: &Inbound, problem: Problem) -> Problem {
    let lines = inbound.last_lines(LAST_LINES);
    match lines.is_empty() {
        true => problem,
        false => problem.facts(lines.join("\n")),
    }
}

/// Whether the process is gone.
pub(super) fn is_gone(failure: &Failure) -> bool {
    matches!(failure, Failure::Lost(Loss::Gone, _))
}
