//! What the server expects and what it answers: exchanges, answers and their actions.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use serde_json::Value;

use super::request::Request;
use crate::support::latch::Latch;

/// One step of an answer.
#[derive(Clone)]
pub(crate) enum Action {
    /// Bytes of the body; one chunk when the answer is chunked.
    Send(Vec<u8>),
    /// Wait until the test opens the latch, the client leaves or the server ends.
    Pause(Latch),
    /// Send what comes over the channel, until it is closed, the client leaves or the server ends.
    Follow(Receiver<Vec<u8>>),
    /// Stay silent until the client leaves or the server ends.
    Stall,
    /// End the connection with RST.
    Reset,
    /// End the connection here, in the middle.
    Close,
}

/// How the end of the body is marked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The bytes are the whole response, with the status line; the connection ends after them.
    Raw,
}

/// A whole answer: status, headers, and what happens afterwards, in order.
#[derive(Clone)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) head_after: Option<Latch>,
    pub(crate) length: Option<usize>,
    pub(crate) actions: Vec<Action>,
}

impl Answer {
    /// An empty answer with this status and a `Content-Length`.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            framing: Framing::Length,
            head_after: None,
            length: None,
            actions: Vec::new(),
        }
    }

    /// 200 with a JSON body.
    pub fn json(value: &Value) -> Self {
        Self::status(200).and_json(value)
    }

    /// 200 with a body of another type.
    pub fn text(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::status(200)
            .header("Content-Type", media_type)
            .send(body)
    }

    /// 200, `text/event-stream`, one chunk for each frame.
    pub fn sse<F: Into<Vec<u8>>>(frames: impl IntoIterator<Item = F>) -> Self {
        Self::stream("text/event-stream", frames)
    }

    /// 200, `application/x-ndjson`, one chunk for each line.
    pub fn ndjson<F: Into<Vec<u8>>>(lines: impl IntoIterator<Item = F>) -> Self {
        Self::stream("application/x-ndjson", lines)
    }

    /// 200 of a media type, chunked, one chunk for each piece.
    pub fn stream<F: Into<Vec<u8>>>(media_type: &str, pieces: impl IntoIterator<Item = F>) -> Self {
        let start = Self::status(200)
            .header("Content-Type", media_type)
            .chunked();
        pieces.into_iter().fold(start, Self::send)
    }

    /// Bytes as they are, status line and headers included; the connection ends after them.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        let mut answer = Self::status(200).send(bytes);
        answer.framing = Framing::Raw;
        answer
    }

    /// No byte at all until the client leaves: a server that thinks for ever.
    pub fn silence() -> Self {
        Self::raw(Vec::new()).stall()
    }

    /// The same answer under another status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a JSON body and its type.
    pub fn and_json(self, value: &Value) -> Self {
        self.header("Content-Type", "application/json")
            .send(value.to_string())
    }

    /// Frames the body in chunks.
    pub fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }

    /// Announces a length other than that of the bytes sent; the connection ends after them.
    pub fn claim_length(mut self, bytes: usize) -> Self {
        self.length = Some(bytes);
        self
    }

    /// Holds the status line and headers back until the latch opens.
    pub fn head_after(mut self, latch: &Latch) -> Self {
        self.head_after = Some(latch.clone());
        self
    }

    /// Sends bytes; a chunk of their own when chunked.
    pub fn send(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.and(Action::Send(bytes.into()))
    }

    /// Waits for the test before the next step.
    pub fn pause(self, latch: &Latch) -> Self {
        self.and(Action::Pause(latch.clone()))
    }

    /// Goes on with what the test sends over a channel, until that is closed.
    pub fn follow(self, news: Receiver<Vec<u8>>) -> Self {
        self.and(Action::Follow(news))
    }

    /// Never says more, and keeps the connection until the client leaves.
    pub fn stall(self) -> Self {
        self.and(Action::Stall)
    }

    /// Ends the connection with RST.
    pub fn reset(self) -> Self {
        self.and(Action::Reset)
    }

    /// Ends the connection here, with whatever is missing missing.
    pub fn close(self) -> Self {
        self.and(Action::Close)
    }

    fn and(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

type Make = Arc<dyn Fn(&Request, usize) -> Answer + Send + Sync>;

enum Path {
    Any,
    Prefix(String),
    Suffix(String),
}

/// One expected request and its answer. Exchanges are tried in the order they were added; one that is spent is passed over.
pub struct Exchange {
    method: Option<String>,
    path: Path,
    body: Option<Value>,
    make: Option<Make>,
    limit: Option<usize>,
    played: usize,
}

impl Exchange {
    /// Any request at all.
    pub fn any() -> Self {
        Self {
            method: None,
            path: Path::Any,
            body: None,
            make: None,
            limit: Some(1),
            played: 0,
        }
    }

    /// A POST to a path (without its query) that ends so.
    pub fn post(suffix: &str) -> Self {
        Self::any().method("POST").path(suffix)
    }

    /// A GET of a path (without its query) that ends so.
    pub fn get(suffix: &str) -> Self {
        Self::any().method("GET").path(suffix)
    }

    /// Asks for this method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Asks for a path that ends so.
    pub fn path(mut self, suffix: &str) -> Self {
        self.path = Path::Suffix(suffix.to_owned());
        self
    }

    /// Requires a path (including the query) that starts like this.
    pub fn below(mut self, prefix: &str) -> Self {
        self.path = Path::Prefix(prefix.to_owned());
        self
    }

    /// Requires a JSON body that contains at least this: objects by key, lists by their first entries, everything else equal.
    pub fn body(mut self, subset: Value) -> Self {
        self.body = Some(subset);
        self
    }

    /// Answers so, once.
    pub fn answer(self, answer: Answer) -> Self {
        let once = std::sync::Mutex::new(Some(answer));
        self.by(move |_, _| {
            let taken = once.lock().ok().and_then(|mut a| a.take());
            taken.unwrap_or_else(|| {
                panic!("an exchange with one answer was asked twice; use `by` with `times`")
            })
        })
    }

    /// Answers with the closure's result for the request and the number of times this exchange was played before.
    pub fn by(mut self, make: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        self.make = Some(Arc::new(make));
        self
    }

    /// To be played exactly so often.
    pub fn times(mut self, n: usize) -> Self {
        self.limit = Some(n);
        self
    }

    /// May be played any number of times, also never.
    pub fn any_times(mut self) -> Self {
        self.limit = None;
        self
    }

    /// Whether this exchange is still to be played and the request is the one it waits for.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        let whole = request.path.as_str();
        let bare = whole.split('?').next().unwrap_or(whole);
        self.limit.is_none_or(|limit| self.played < limit)
            && self.method.as_ref().is_none_or(|m| *m == request.method)
            && match &self.path {
                Path::Any => true,
                Path::Prefix(prefix) => whole.starts_with(prefix.as_str()),
                Path::Suffix(suffix) => bare.ends_with(suffix.as_str()),
            }
            && self.body.as_ref().is_none_or(|expected| {
                serde_json::from_slice(&request.body).is_ok_and(|got| holds(&got, expected))
            })
    }

    /// Whether this exchange is about `path` in particular.
    pub(crate) fn names(&self, path: &str) -> bool {
        matches!(&self.path, Path::Suffix(suffix) if path.ends_with(suffix.as_str()))
    }

    /// Counts one play and returns what makes its answer.
    pub(crate) fn play(&mut self) -> (Option<Make>, usize) {
        self.played += 1;
        (self.make.clone(), self.played - 1)
    }

    /// How many plays are missing.
    pub(crate) fn missing(&self) -> usize {
        self.limit.map_or(0, |n| n.saturating_sub(self.played))
    }

    /// The exchange as text, for the report of a failed script.
    pub(crate) fn describe(&self) -> String {
        let method = self.method.as_deref().unwrap_or("any method");
        let path = match &self.path {
            Path::Any => "any path".to_owned(),
            Path::Prefix(prefix) => format!("{prefix}..."),
            Path::Suffix(suffix) => format!("...{suffix}"),
        };
        let body = self
            .body
            .as_ref()
            .map_or(String::new(), |b| format!(" with {b}"));
        format!("{method} {path}{body}")
    }
}

/// Whether `got` has everything that `wanted` names.
pub(crate) fn holds(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| got.get(key).is_some_and(|g| holds(g, value))),
        (Value::Array(got), Value::Array(expected)) => {
            expected.len() <= got.len() && expected.iter().zip(got).all(|(w, g)| holds(g, w))
        }
        _ => got == expected,
    }
}
