//! Questions about calls of a sub-agent, which is a process of its own, to whoever its parent asks: through a socket that the parent opens for it. One connection carries one
//! question, a line of JSON, and its answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::call_approver::{CallAnswer, CallApproval, CallApprover, CallQuestion};
use super::gate;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::tools::engine::context::ToolContext;

/// The most bytes of a question or an answer.
const MAX_LINE: u64 = 4 << 20;
/// How often a side that waits looks whether it still has to.
const TICK: Duration = Duration::from_millis(50);
/// How long the other side may take to send a line that it has begun.
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

    pub(crate) fn path(&self) -> PathBuf {
        Self::path_in(self.dir.path())
    }

    /// Answers questions while `run` runs; those that are open at its end are withdrawn.
    pub(crate) fn while_answering<T>(&self, ctx: &ToolContext, run: impl FnOnce() -> T) -> T {
        let (over, _with_call) = ctx.stop.child();
        thread::scope(|scope| {
            let answering = thread::Builder::new().name("questions".to_owned());
            let _answering = answering.spawn_scoped(scope, || self.answer_all(ctx, &over));
            let done = run();
            over.fire();
            done
        })
    }

    fn answer_all(&self, ctx: &ToolContext, over: &Cancel) {
        thread::scope(|scope| {
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) => {
                        let answering = thread::Builder::new().name("question".to_owned());
                        // A connection that is dropped is a refusal.
                        let _ = answering.spawn_scoped(scope, move || answer(ctx, stream, over));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) if over.sleep(TICK) => {}
                    Err(_) => return,
                }
            }
        });
    }
}

/// Answers the question of a connection.
fn answer(ctx: &ToolContext, stream: UnixStream, over: &Cancel) {
    let read = || -> io::Result<Value> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LINE_LIMIT))?;
        stream.set_write_timeout(Some(LINE_LIMIT))?;
        let mut line = String::new();
        BufReader::new((&stream).take(MAX_LINE)).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let (Ok(question), Some(approver)) = (read(), ctx.session.permissions.approver()) else {
        return;
    };
    let Some(question) = question_of(&question) else {
        return;
    };
    let said = match approver.ask(&question, over) {
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
    let _ = (&stream).write_all(format!("{said}\n").as_bytes());
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
    })
}

/// The child's end.
pub(crate) struct ParentApprover(pub(crate) PathBuf);

impl CallApprover for ParentApprover {
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer> {
        let line = json!({
            "tool": question.tool,
            "call": question.call,
            "input": question.input,
            "title": question.title,
            "description": question.description,
            "reason": question.reason,
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
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_write_timeout(Some(LINE_LIMIT))?;
        stream.write_all(format!("{question}\n").as_bytes())?;
        stream.set_read_timeout(Some(TICK))?;
        let mut answer = Vec::new();
        let mut piece = [0; 4_096];
        while !answer.ends_with(b"\n") {
            match stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(error) if is_no_answer_yet(&error) && !stop.is_fired() => {}
                Err(error) => return Err(error),
            }
            if u64::try_from(answer.len()).is_ok_and(|bytes| bytes > MAX_LINE) {
                return Err(ErrorKind::FileTooLarge.into());
            }
        }
        Ok(serde_json::from_slice(&answer)?)
    }
}

fn is_no_answer_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
