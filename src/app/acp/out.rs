//! Writes lines to the client, on a thread of its own: whoever has something to say waits for the client's reading only where too much waits already, and
//! whoever answers it never does.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::formats::json_rpc::Incoming;

/// Pieces of one answer are written this far apart, joined: an editor lays out its text anew for each.
const CHUNK_PAUSE: Duration = Duration::from_millis(5);
/// What a running call says is told this far apart.
const LIVE_PAUSE: Duration = Duration::from_millis(200);
/// Bytes that may wait to be read before whoever has more to say waits too.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// How often a wait looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// What is written to the client.
pub(super) struct Out {
    state: Mutex<OutState>,
    changed: Condvar,
    /// Fires when the client has closed its end.
    gone: Cancel,
}

#[derive(Default)]
struct OutState {
    lines: VecDeque<String>,
    /// Bytes of the lines, and of what is being written.
    bytes: usize,
    chunks: Vec<OpenChunk>,
    lives: Vec<LiveCall>,
    is_broken: bool,
}

/// Makes an update.
type MakeUpdate = Box<dyn FnOnce() -> Value + Send>;

/// A call of which what it says is told while it runs.
struct LiveCall {
    session: Arc<str>,
    id: String,
    /// When its next update may be written.
    due: Instant,
    /// What is not written yet.
    update: Option<MakeUpdate>,
}

/// The pieces of an answer that are not written yet, and when they are.
struct OpenChunk {
    session: Arc<str>,
    kind: ChunkKind,
    message: Arc<str>,
    text: String,
    due: Instant,
}

/// What a piece is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    Message,
    Thought,
    /// Of the user, when a conversation is shown again.
    User,
}

impl ChunkKind {
    fn word(self) -> &'static str {
        match self {
            Self::Message => "agent_message_chunk",
            Self::Thought => "agent_thought_chunk",
            Self::User => "user_message_chunk",
        }
    }
}

/// The update with a piece of a message.
pub(super) fn chunk(kind: ChunkKind, message: &str, text: &str) -> Value {
    json!({
        "sessionUpdate": kind.word(),
        "messageId": message,
        "content": {"type": "text", "text": text},
    })
}

impl OpenChunk {
    fn take_line(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then(|| line(&self.session, &chunk(self.kind, &self.message, &text)))
    }
}

fn line(session: &str, update: &Value) -> String {
    Incoming::notification(
        "session/update",
        &json!({"sessionId": session, "update": update}),
    )
}

impl Out {
    /// Writes to standard output until it is closed, or the process ends.
    ///
    /// # Errors
    /// It is closed already, or no thread can be started.
    pub(super) fn start(gone: Cancel) -> Outcome<Arc<Self>> {
        let file = io::stdout().as_fd().try_clone_to_owned();
        let mut file = file
            .map(File::from)
            .map_err(|error| Problem::system("Cannot write to standard output", error))?;
        let out = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            gone,
        });
        let writer = Arc::clone(&out);
        thread::Builder::new()
            .name("client out".to_owned())
            .spawn(move || writer.write_on(&mut file))
            .map_err(|error| Problem::system("Cannot start a thread", error))?;
        Ok(out)
    }

    fn write_on(&self, file: &mut impl Write) {
        let mut text = Vec::new();
        while self.next(&mut text) {
            let written = file.write_all(&text);
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(text.len());
            if written.is_err() {
                state.is_broken = true;
                state.lines.clear();
            }
            drop(state);
            self.changed.notify_all();
            if written.is_err() {
                self.gone.fire();
                return;
            }
            text = Vec::new();
        }
    }

    /// Waits for something to write.
    fn next(&self, text: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_broken {
                return false;
            }
            let now = Instant::now();
            state.flush_due(now);
            if !state.lines.is_empty() {
                for line in std::mem::take(&mut state.lines) {
                    text.extend_from_slice(line.as_bytes());
                    text.push(b'\n');
                }
                return true;
            }
            let open = state.chunks.iter().filter(|chunk| !chunk.text.is_empty());
            let lives = state.lives.iter().filter(|live| live.update.is_some());
            let due = open
                .map(|chunk| chunk.due)
                .chain(lives.map(|live| live.due));
            let due = due.min();
            state = match due {
                Some(due) => {
                    let pause = due.saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(state, pause);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = self.changed.wait(state);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line that belongs to no session, such as an answer. Never waits.
    pub(super) fn line(&self, line: String) {
        self.lock().push(line);
        self.changed.notify_all();
    }

    /// Writes a line after everything that was said in a session. Never waits.
    pub(super) fn line_of(&self, session: &str, line: String) {
        let mut state = self.lock();
        state.flush(|chunk| *chunk.session == *session);
        state.push(line);
        drop(state);
        self.changed.notify_all();
    }

    /// Tells of something that has happened in a session. Waits while the client does not read, until `stop` fires.
    pub(super) fn update(&self, session: &str, update: &Value, stop: &Cancel) {
        self.wait_for_room(stop);
        self.line_of(session, line(session, update));
    }

    /// The same of what a running call says, which its next update makes worthless: it is left out when that comes soon, or while the client does not read.
    /// What was said last is told in any case. Never waits.
    pub(super) fn live_update(
        &self,
        session: &Arc<str>,
        id: &str,
        update: impl FnOnce() -> Value + Send + 'static,
    ) {
        let mut state = self.lock();
        let is_meant = |live: &&mut LiveCall| live.session == *session && live.id == id;
        match state.lives.iter_mut().find(is_meant) {
            Some(live) => live.update = Some(Box::new(update)),
            None => state.lives.push(LiveCall {
                session: Arc::clone(session),
                id: id.to_owned(),
                due: Instant::now(),
                update: Some(Box::new(update)),
            }),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The call says nothing more.
    pub(super) fn end_live(&self, session: &str, id: &str) {
        let mut state = self.lock();
        (state.lives).retain(|live| *live.session != *session || live.id != id);
    }

    /// Tells of a piece of a message. The first is written at once, and those that follow quickly are joined.
    pub(super) fn chunk(
        &self,
        session: &Arc<str>,
        (kind, message): (ChunkKind, &Arc<str>),
        text: &str,
        stop: &Cancel,
    ) {
        if text.is_empty() {
            return;
        }
        self.wait_for_room(stop);
        let mut state = self.lock();
        let now = Instant::now();
        state.flush(|chunk| {
            *chunk.session == **session && (chunk.kind != kind || chunk.message != *message)
        });
        let mut open = state.chunks.iter_mut();
        let line = match open.find(|chunk| *chunk.session == **session) {
            Some(chunk) => {
                chunk.text.push_str(text);
                (chunk.due <= now).then(|| {
                    chunk.due = now + CHUNK_PAUSE;
                    chunk.take_line()
                })
            }
            None => {
                let mut chunk = OpenChunk {
                    session: Arc::clone(session),
                    kind,
                    message: Arc::clone(message),
                    text: text.to_owned(),
                    due: now + CHUNK_PAUSE,
                };
                let line = chunk.take_line();
                state.chunks.push(chunk);
                Some(line)
            }
        };
        if let Some(line) = line.flatten() {
            state.push(line);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn wait_for_room(&self, stop: &Cancel) {
        let mut state = self.lock();
        while !state.has_room() && !stop.is_fired() {
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until everything was written, or the time is over.
    pub(super) fn finish(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        state.flush(|_| true);
        self.changed.notify_all();
        while state.bytes > 0 && !state.is_broken && Instant::now() < until {
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl OutState {
    fn has_room(&self) -> bool {
        self.is_broken || self.bytes < MAX_WAITING_BYTES
    }

    fn push(&mut self, line: String) {
        if !self.is_broken {
            self.bytes += line.len() + 1;
            self.lines.push_back(line);
        }
    }

    /// Writes pieces that were held back long enough. Those that follow are held back again.
    fn flush_due(&mut self, now: Instant) {
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.retain_mut(|chunk| {
            if chunk.due > now {
                return true;
            }
            let Some(line) = chunk.take_line() else {
                return false;
            };
            self.push(line);
            chunk.due = now + CHUNK_PAUSE;
            true
        });
        self.chunks = chunks;
        let has_room = self.has_room();
        let mut lives = std::mem::take(&mut self.lives);
        for live in lives.iter_mut().filter(|live| live.due <= now) {
            if let Some(update) = live.update.take().filter(|_| has_room) {
                self.flush(|chunk| chunk.session == live.session);
                self.push(line(&live.session, &update()));
                live.due = now + LIVE_PAUSE;
            }
        }
        self.lives = lives;
    }

    /// Ends the chunks that are meant.
    fn flush(&mut self, is_meant: impl Fn(&OpenChunk) -> bool) {
        let (meant, others): (Vec<_>, Vec<_>) =
            self.chunks.drain(..).partition(|chunk| is_meant(chunk));
        self.chunks = others;
        for mut chunk in meant {
            if let Some(line) = chunk.take_line() {
                self.push(line);
            }
        }
    }
}
