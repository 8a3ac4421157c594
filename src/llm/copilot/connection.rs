//! A running Copilot CLI: calls to it, and the events of its sessions.
//!
//! One thread reads its standard output and sorts: answers go to whoever waits for them, events to their session's channel. One thread writes, so that a CLI
//! that does not read blocks nobody. One keeps the end of its standard error.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded, unbounded};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::framing::{Frame, FrameError, FrameReader, header};
use super::messages::{self, Incoming, RpcCall, RpcError, SessionEvent};
use crate::base::cancel::Cancel;
use crate::base::text::{clip, escape_controls};
use crate::proc::piped::{PipedChild, PipedProgram, Pipes};

/// Events of a session that nobody has taken yet; a CLI that sends more is out of order.
const MAX_WAITING_EVENTS: usize = 20_000;
/// How long each step of removing a session may take.
const FORGET_TIMEOUT: Duration = Duration::from_secs(2);
/// What is kept of standard error: so many lines, so long.
const KEPT_LINES: usize = 5;
const KEPT_LINE_BYTES: u64 = 400;

/// Every running CLI, so that none is left behind whatever way this process ends.
static RUNNING: Mutex<Vec<Arc<Connection>>> = Mutex::new(Vec::new());

/// Why a call has no result.
pub(crate) enum CallError {
    /// The CLI answered with an error.
    Refused(RpcError),
    /// There was no answer in time.
    TimedOut,
    /// The CLI is gone.
    Gone,
    Cancelled,
}

enum CallOutcome {
    Response(Result<Box<RawValue>, RpcError>),
    Gone,
    Cancelled,
}

/// A running CLI.
#[derive(Debug)]
pub(crate) struct Connection {
    program: PathBuf,
    outbox: Mutex<Option<Sender<String>>>,
    router: Arc<Router>,
    child: Mutex<Option<PipedChild>>,
    errors: Arc<Mutex<VecDeque<String>>>,
    /// Sessions that the CLI may have written something down of.
    sessions: Mutex<Vec<String>>,
    /// How it ended, once it has.
    status: Mutex<Option<ExitStatus>>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Router {
    waiting: Mutex<HashMap<u64, Sender<CallOutcome>>>,
    sessions: Mutex<HashMap<String, Sender<SessionEvent>>>,
    gone: AtomicBool,
    /// It is gone because what it sent was no message.
    is_garbled: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Starts `program`.
    ///
    /// # Errors
    /// The system cannot run it, or has no thread left.
    pub(crate) fn start(program: &PipedProgram) -> std::io::Result<Arc<Self>> {
        let (child, pipes) = program.start()?;
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let (outbox, written) = unbounded();
        let connection = Arc::new(Self {
            program: program.program.clone(),
            outbox: Mutex::new(Some(outbox.clone())),
            router: Arc::default(),
            child: Mutex::new(Some(child)),
            errors: Arc::default(),
            sessions: Mutex::default(),
            status: Mutex::new(None),
            next: AtomicU64::new(1),
        });
        let (router, errors) = (
            Arc::clone(&connection.router),
            Arc::clone(&connection.errors),
        );
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("copilot-write").spawn(move || write_all(stdin, &written))?;
        named("copilot-errors").spawn(move || keep_last_lines(stderr, &errors))?;
        // A weak sender would be enough to refuse requests, and would not keep standard input open; so it is asked for through the outbox of the connection.
        let refusals = Arc::downgrade(&connection);
        drop(outbox);
        named("copilot-read").spawn(move || {
            router.read(stdout, |refusal| {
                if let Some(connection) = refusals.upgrade() {
                    let _gone = connection.write(refusal);
                }
            });
        })?;
        lock(&RUNNING).push(Arc::clone(&connection));
        Ok(connection)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// True when it has ended or closed its output.
    pub(crate) fn is_gone(&self) -> bool {
        self.router.gone.load(Ordering::SeqCst)
    }

    /// Calls a method and waits at most `limit` for its result.
    ///
    /// # Errors
    /// See [`CallError`].
    pub(crate) fn call(
        &self,
        method: &str,
        params: impl Serialize,
        limit: Duration,
        stop: &Cancel,
    ) -> Result<Box<RawValue>, CallError> {
        let (tell, answer) = bounded(2);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.router.waiting).insert(id, tell.clone());
        if self.is_gone() {
            // The reader has woken everyone who waited, and would not see this one.
            lock(&self.router.waiting).remove(&id);
            return Err(CallError::Gone);
        }
        let _wake = stop.on_fire(move || drop(tell.try_send(CallOutcome::Cancelled)));
        let answer = match self.write(RpcCall::text(id, method, params)) {
            true => answer.recv_timeout(limit),
            false => Ok(CallOutcome::Gone),
        };
        lock(&self.router.waiting).remove(&id);
        match answer {
            Ok(CallOutcome::Response(Ok(result))) => Ok(result),
            Ok(CallOutcome::Response(Err(error))) => Err(CallError::Refused(error)),
            Ok(CallOutcome::Cancelled) => Err(CallError::Cancelled),
            Ok(CallOutcome::Gone) | Err(RecvTimeoutError::Disconnected) => Err(CallError::Gone),
            Err(RecvTimeoutError::Timeout) => Err(CallError::TimedOut),
        }
    }

    /// Calls a method whose result nobody needs.
    pub(crate) fn post(&self, method: &str, params: impl Serialize) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let _gone = self.write(RpcCall::text(id, method, params));
    }

    /// False when nothing is written any more.
    fn write(&self, message: String) -> bool {
        let outbox = lock(&self.outbox);
        let outbox = outbox.as_ref();
        outbox.is_some_and(|outbox| outbox.send(message).is_ok())
    }

    /// From now on the events of the session `id` come out of the receiver. The sender is for what wakes its reader from this side.
    pub(crate) fn listen(&self, id: &str) -> (Sender<SessionEvent>, Receiver<SessionEvent>) {
        let (send, events) = bounded(MAX_WAITING_EVENTS);
        lock(&self.router.sessions).insert(id.to_owned(), send.clone());
        lock(&self.sessions).push(id.to_owned());
        if self.is_gone() {
            let _ = send.try_send(SessionEvent::Gone);
        }
        (send, events)
    }

    /// Ends a session and removes what the CLI has written down of it, without waiting for that.
    pub(crate) fn forget(self: &Arc<Self>, session: &str) {
        lock(&self.router.sessions).remove(session);
        if self.is_gone() {
            return;
        }
        let (connection, session) = (Arc::clone(self), session.to_owned());
        // Without a thread it is removed when the CLI is closed.
        let _ = thread::Builder::new()
            .name("copilot-forget".to_owned())
            .spawn(move || connection.remove(&session, FORGET_TIMEOUT));
    }

    /// One after the other: what is ended while it is being removed is written down again.
    fn remove(&self, session: &str, limit: Duration) {
        let params = json!({"sessionId": session});
        let stop = Cancel::new();
        let _ = self.call("session.destroy", &params, limit, &stop);
        if self.call("session.delete", &params, limit, &stop).is_ok() {
            lock(&self.sessions).retain(|other| other != session);
        }
    }

    /// Ends the CLI with everything that it has started: politely within `limit`, else by force. Later calls do nothing.
    pub(crate) fn close(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut child = lock(&self.child);
        if let Some(mut running) = child.take() {
            let left = || until.saturating_duration_since(Instant::now());
            if !self.is_gone() && !limit.is_zero() {
                let sessions = lock(&self.sessions).clone();
                let remove = |session: &String| self.remove(session, left());
                sessions.iter().for_each(remove);
                let _ = self.call("runtime.shutdown", json!({}), left(), &Cancel::new());
            }
            // It ends when its standard input does.
            *lock(&self.outbox) = None;
            let status = running.end(left());
            *lock(&self.status) = status;
        }
        drop(child);
        lock(&RUNNING).retain(|other| !std::ptr::eq(Arc::as_ptr(other), self));
    }

    /// Whether it was given up because what it sent was no message.
    pub(crate) fn is_garbled(&self) -> bool {
        self.router.is_garbled.load(Ordering::SeqCst)
    }

    /// How it ended and what it said last, for messages: ` It ended with exit status 1. Its last words: "…"`. Empty when there is nothing to say.
    pub(crate) fn last_words(&self) -> String {
        let mut words = String::new();
        if let Some(status) = *lock(&self.status) {
            words.push_str(&format!(" It ended with {status}."));
        }
        let lines: Vec<String> = lock(&self.errors).iter().cloned().collect();
        if !lines.is_empty() {
            let text = clip(&escape_controls(&lines.join(" | ")), 600);
            words.push_str(&format!(" Its last words: \"{text}\""));
        }
        words
    }
}

/// Ends every CLI that this process has started, within `limit`.
pub(crate) fn close_all(limit: Duration) {
    let until = Instant::now() + limit;
    loop {
        // One that is being closed elsewhere is waited for: its lock is held until it is gone.
        let Some(connection) = lock(&RUNNING).first().cloned() else {
            return;
        };
        connection.close(until.saturating_duration_since(Instant::now()));
    }
}

impl Router {
    /// Reads until the stream ends or makes no sense.
    fn read(&self, stdout: ChildStdout, refuse: impl Fn(String)) {
        let mut reader = FrameReader::new(stdout);
        loop {
            match reader.next(messages::is_wanted) {
                Ok(Frame::Message(body)) => match messages::read(body) {
                    Some(Incoming::Response(id, outcome)) => {
                        if let Some(waiting) = lock(&self.waiting).remove(&id) {
                            let _ = waiting.try_send(CallOutcome::Response(outcome));
                        }
                    }
                    Some(Incoming::Event(session, event)) => match self.pass_on(&session, event) {
                        true => {}
                        false => break,
                    },
                    Some(Incoming::Request(id)) => refuse(messages::refusal(&id)),
                    None => {}
                },
                Ok(Frame::Skipped { length, head }) => {
                    if messages::is_wanted(head) {
                        self.tell_all(&SessionEvent::TooLong(length));
                    }
                }
                Ok(Frame::End) | Err(FrameError::Cut) => break,
                Err(FrameError::NoHeader) => {
                    self.is_garbled.store(true, Ordering::SeqCst);
                    break;
                }
            }
        }
        self.gone.store(true, Ordering::SeqCst);
        for (_, waiting) in lock(&self.waiting).drain() {
            let _ = waiting.try_send(CallOutcome::Gone);
        }
        self.tell_all(&SessionEvent::Gone);
        // The readers must not wait for more, even when their channel is full.
        lock(&self.sessions).clear();
    }

    /// False when the session has more events waiting than any turn has.
    fn pass_on(&self, session: &str, event: SessionEvent) -> bool {
        match lock(&self.sessions).get(session) {
            Some(listener) => !matches!(listener.try_send(event), Err(TrySendError::Full(_))),
            None => true,
        }
    }

    fn tell_all(&self, event: &SessionEvent) {
        for listener in lock(&self.sessions).values() {
            let _ = listener.try_send(event.clone());
        }
    }
}

fn write_all(mut stdin: ChildStdin, messages: &Receiver<String>) {
    for message in messages {
        let header = header(&message);
        let written = stdin.write_all(header.as_bytes());
        if written
            .and_then(|()| stdin.write_all(message.as_bytes()))
            .is_err()
        {
            break;
        }
    }
}

/// Reads standard error to its end and keeps its last lines, the beginning of each.
fn keep_last_lines(stderr: ChildStderr, kept: &Mutex<VecDeque<String>>) {
    let mut input = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input)
            .take(KEPT_LINE_BYTES)
            .read_until(b'\n', &mut line);
        if !matches!(read, Ok(count) if count > 0) {
            return;
        }
        if !line.ends_with(b"\n") && input.skip_until(b'\n').is_err() {
            return;
        }
        let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        if !text.is_empty() {
            let mut kept = lock(kept);
            kept.push_back(text);
            if kept.len() > KEPT_LINES {
                kept.pop_front();
            }
        }
    }
}
