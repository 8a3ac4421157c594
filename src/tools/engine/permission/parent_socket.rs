//! Questions about calls of a sub-agent, which is a process of its own, to whoever its parent asks: through a socket that the parent opens for it. One
//! connection carries one question, a line of JSON, and its answer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::call_approver::{CallAnswer, CallApproval, CallApprover, CallQuestion};
use super::gate;
use crate::base::cancel::Cancel;
use crate::base::pauses::Pauses;
use crate::base::problem::{Outcome, Problem};
use crate::tools::engine::context::ToolContext;

/// The most bytes of a question or an answer.
const MAX_LINE: usize = 4 << 20;
/// How often a side that waits looks whether it still has to.
const TICK: Duration = Duration::from_millis(50);
/// How long a child may take to send its question, and either side to take a line of the other.
const LINE_LIMIT: Duration = Duration::from_secs(10);

/// The parent's end: answers the questions of one child.
pub(crate) struct ParentSocket {
    listener: UnixListener,
    /// Holds the socket; only the user may enter it.
    dir: tempfile::TempDir,
}

impl ParentSocket {
    /// Opens a socket where there is somebody to ask.
    pub(crate) fn open(ctx: &ToolContext) -> Option<Self> {
        ctx.session.permissions.approver()?;
        let dir = tempfile::Builder::new().prefix("marvin-").tempdir().ok()?;
        let listener = UnixListener::bind(Self::path_in(dir.path())).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Self { listener, dir })
    }

    fn path_in(dir: &Path) -> PathBuf {
        dir.join("questions")
    }

    /// What the child is told, which [`ParentAddress`] reads: this process and the socket.
    pub(crate) fn address(&self) -> String {
        let path = Self::path_in(self.dir.path());
        format!("{} {}", process::id(), path.display())
    }

    /// Answers questions while `run` runs; those that are open at its end are withdrawn. The time that they take is in `pauses`.
    pub(crate) fn while_answering<T>(
        &self,
        ctx: &ToolContext,
        pauses: &Pauses,
        run: impl FnOnce() -> T,
    ) -> T {
        let (over, _with_call) = ctx.stop.child();
        thread::scope(|scope| {
            let answering = thread::Builder::new().name("questions".to_owned());
            let _answering = answering.spawn_scoped(scope, || self.answer_all(ctx, pauses, &over));
            let _end = FireAtEnd(&over);
            run()
        })
    }

    fn answer_all(&self, ctx: &ToolContext, pauses: &Pauses, over: &Cancel) {
        thread::scope(|scope| {
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) => {
                        let answering = thread::Builder::new().name("question".to_owned());
                        // A connection that is dropped is a refusal.
                        let answer = move || answer(ctx, stream, pauses, over);
                        let _ = answering.spawn_scoped(scope, answer);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) if over.sleep(TICK) => {}
                    Err(_) => return,
                }
            }
        });
    }
}

/// Fires a token when it is dropped, so also when there is a panic.
struct FireAtEnd<'a>(&'a Cancel);

impl Drop for FireAtEnd<'_> {
    fn drop(&mut self) {
        self.0.fire();
    }
}

/// Answers the question of a connection.
fn answer(ctx: &ToolContext, stream: UnixStream, pauses: &Pauses, over: &Cancel) {
    let read = || -> io::Result<Value> {
        stream.set_nonblocking(false)?;
        let line = read_line(&stream, within(over))?;
        Ok(serde_json::from_slice(&line)?)
    };
    let (Ok(question), Some(approver)) = (read(), ctx.session.permissions.approver()) else {
        return;
    };
    let Some(question) = question_of(&question) else {
        return;
    };
    let said = match pauses.during(|| approver.ask(&question, over)) {
        Ok(CallAnswer::Allow(approval)) => {
            let said = json!({"allow": true, "input": approval.updated_input});
            gate::keep(ctx, approval);
            said
        }
        Ok(CallAnswer::Deny { message, interrupt }) => {
            if interrupt {
                ctx.turn.fire();
            }
            json!({"allow": false, "message": message})
        }
        Err(problem) => json!({"error": problem.one_line()}),
    };
    // A child that has ended does not read it.
    let _ = write_line(&stream, &said, within(over));
}

/// Whether a line may still take time.
fn within(over: &Cancel) -> impl Fn() -> bool {
    let until = Instant::now() + LINE_LIMIT;
    move || !over.is_fired() && Instant::now() < until
}

/// Writes a line for as long as `goes_on`.
fn write_line(mut stream: &UnixStream, line: &Value, goes_on: impl Fn() -> bool) -> io::Result<()> {
    stream.set_write_timeout(Some(TICK))?;
    let line = format!("{line}\n");
    let mut left = line.as_bytes();
    while !left.is_empty() {
        if !goes_on() {
            return Err(ErrorKind::TimedOut.into());
        }
        match stream.write(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a line, which nothing follows, for as long as `goes_on`.
fn read_line(mut stream: &UnixStream, goes_on: impl Fn() -> bool) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(TICK))?;
    let mut line = Vec::new();
    let mut piece = [0; 4_096];
    while !line.ends_with(b"\n") {
        if !goes_on() {
            return Err(ErrorKind::TimedOut.into());
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => line.extend_from_slice(piece.get(..count).unwrap_or_default()),
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
        if line.len() > MAX_LINE {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
    Ok(line)
}

fn question_of(line: &Value) -> Option<CallQuestion> {
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(CallQuestion {
        tool: text("tool")?,
        call: text("call")?,
        input: line.get("input")?.as_object()?.clone(),
        title: text("title")?,
        description: text("description")?,
        reason: text("reason")?,
        is_by_hook: line.get("is_by_hook") == Some(&Value::Bool(true)),
    })
}

/// Where the parent answers, and the process that it is.
pub(crate) struct ParentAddress {
    /// None where the address has none.
    pid: Option<i32>,
    path: PathBuf,
}

impl From<&str> for ParentAddress {
    fn from(text: &str) -> Self {
        let (pid, path) = text.split_once(' ').unwrap_or(("", text));
        Self {
            pid: pid.parse().ok(),
            path: path.into(),
        }
    }
}

impl ParentAddress {
    /// Connects to the parent.
    ///
    /// # Errors
    /// It is not there, or another process of the user has put itself in its place.
    fn connect(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.path)?;
        match self.pid.is_some_and(|pid| is_peer(&stream, pid)) {
            true => Ok(stream),
            false => Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "another process answers in its place",
            )),
        }
    }
}

/// Whether this process has opened the other side.
#[cfg(target_os = "linux")]
fn is_peer(stream: &UnixStream, pid: i32) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.pid.as_raw_nonzero().get() == pid)
}

/// Only Linux is asked.
#[cfg(not(target_os = "linux"))]
fn is_peer(_: &UnixStream, _: i32) -> bool {
    true
}

/// The child's end.
pub(crate) struct ParentApprover(pub(crate) ParentAddress);

impl CallApprover for ParentApprover {
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer> {
        let line = json!({
            "tool": question.tool,
            "call": question.call,
            "input": question.input,
            "title": question.title,
            "description": question.description,
            "reason": question.reason,
            "is_by_hook": question.is_by_hook,
        });
        let answer = self.exchange(&line, stop);
        let answer = answer.map_err(|error| match stop.is_fired() {
            true => Problem::cancelled(),
            false => Problem::refused(format!(
                "The Marvin that started this sub-agent did not answer the question about the call: {error}."
            )),
        })?;
        let message = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        match answer.get("allow") {
            Some(Value::Bool(true)) => Ok(CallAnswer::Allow(CallApproval {
                updated_input: answer.get("input").and_then(Value::as_object).cloned(),
                ..CallApproval::default()
            })),
            Some(Value::Bool(false)) => Ok(CallAnswer::Deny {
                message: message("message").unwrap_or_default(),
                interrupt: false,
            }),
            _ => Err(Problem::refused(message("error").unwrap_or_else(|| {
                "Nobody has answered the question about the call.".to_owned()
            }))),
        }
    }
}

impl ParentApprover {
    fn exchange(&self, question: &Value, stop: &Cancel) -> io::Result<Map<String, Value>> {
        let stream = self.0.connect()?;
        write_line(&stream, question, within(stop))?;
        let answer = read_line(&stream, || !stop.is_fired())?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_stranger_in_the_place_of_the_parent_is_not_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("with space");
        let _listener = UnixListener::bind(&path).unwrap();
        let connect = |pid: u32| {
            let address = format!("{pid} {}", path.display());
            ParentAddress::from(address.as_str()).connect()
        };
        assert!(connect(process::id()).is_ok());
        let without_pid = ParentAddress::from(path.to_str().unwrap());
        assert!(without_pid.connect().is_err());
        if cfg!(target_os = "linux") {
            let error = connect(process::id() + 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        }
    }

    /// Says no, and whether its time is counted.
    struct Watched(Arc<Pauses>);

    impl CallApprover for Watched {
        fn ask(&self, _: &CallQuestion, _: &Cancel) -> Outcome<CallAnswer> {
            Ok(CallAnswer::Deny {
                message: format!("paused: {}", self.0.is_open()),
                interrupt: false,
            })
        }
    }

    #[test]
    fn the_time_of_an_answer_is_a_pause_of_the_child() {
        let ctx = ToolContext::for_tests(crate::base::env::Env::default());
        let pauses = Arc::new(Pauses::default());
        let approver = Arc::new(Watched(Arc::clone(&pauses)));
        ctx.session.permissions.set_approver(Some(approver));
        let socket = ParentSocket::open(&ctx).unwrap();
        let child = ParentApprover(ParentAddress::from(socket.address().as_str()));
        let question = CallQuestion {
            tool: "run_command".to_owned(),
            call: "c-1".to_owned(),
            input: Map::new(),
            title: String::new(),
            description: String::new(),
            reason: String::new(),
            is_by_hook: false,
        };
        let answer = socket.while_answering(&ctx, &pauses, || child.ask(&question, &ctx.stop));
        let Ok(CallAnswer::Deny { message, .. }) = answer else {
            panic!("no refusal");
        };
        assert_eq!(
            (message.as_str(), pauses.is_open()),
            ("paused: true", false)
        );
    }

    #[test]
    fn a_side_that_says_nothing_is_waited_for_only_as_long_as_that_is_wanted() {
        let (one, mut other) = UnixStream::pair().unwrap();
        other.write_all(b"{").unwrap();
        let over = Cancel::new();
        thread::scope(|scope| {
            let reading = scope.spawn(|| read_line(&one, || !over.is_fired()));
            over.fire();
            let error = reading.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        });
        other.write_all(b"}\n").unwrap();
        assert!(read_line(&one, || true).unwrap().ends_with(b"}\n"));
    }
}
