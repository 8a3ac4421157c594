//! One request that is being worked on: what it may use, and the way to its client.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use serde_json::{Value, json};

use super::request;

use crate::base::cancel::Cancel;
use crate::base::json::put;
use crate::formats::json_rpc::open_requests::{OpenRequests, RpcResult};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::mcp::log_level::LEVELS;
use crate::mcp::revision::Era;

/// Where the messages to a client go that answer nothing.
pub(super) trait Outlet: Send + Sync {
    /// Sends one message. A client that is gone is no failure of the request.
    fn send(&self, message: String);
}

/// Questions to one client that are open.
const MAX_QUESTIONS: usize = 16;
/// How long a person may think about one.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);
/// How often it is looked whether the answer is still wanted.
const PERIOD: Duration = Duration::from_millis(50);

/// The client of a connection: what it said of itself, and what it was asked.
#[derive(Default)]
pub(super) struct Peer {
    capabilities: Mutex<Value>,
    level: AtomicUsize,
    pub questions: OpenRequests,
}

impl Peer {
    /// What the client can do, as it said with the handshake.
    pub(super) fn introduce(&self, capabilities: Option<&Value>) {
        *lock(&self.capabilities) = capabilities.cloned().unwrap_or_default();
    }

    /// The client wants to know of what is as important or more; false if there is no such level.
    pub(super) fn set_level(&self, level: &str) -> bool {
        let at = LEVELS.iter().position(|own| *own == level);
        if let Some(at) = at {
            self.level.store(at, Ordering::Relaxed);
        }
        at.is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request in progress.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(super) id: RpcId,
    pub(super) era: Era,
    /// Fires when the client does not want it any more, or is gone.
    pub(super) stop: Cancel,
    /// By this the client tells the progress of this request from that of others; without one it wants to hear of none.
    pub(super) progress_token: Option<Value>,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) peer: Arc<Peer>,
    /// What the client can do.
    pub(super) capabilities: Value,
    /// The index of the least important level that the client wants to know of.
    level: Option<usize>,
    /// The name of what is called or asked for.
    pub(super) tool: Option<String>,
    /// The answers to what an earlier result of the same request asked for.
    pub(super) responses: Option<Value>,
    /// What that result gave along.
    pub(super) state: Option<String>,
    told: Arc<AtomicU64>,
}

impl Exchange {
    pub(super) fn new(
        (id, params): (RpcId, &Value),
        era: Era,
        stop: Cancel,
        outlet: Arc<dyn Outlet>,
        peer: &Arc<Peer>,
    ) -> Self {
        let token = params.pointer("/_meta/progressToken");
        let is_token = |token: &&Value| token.is_string() || token.is_number();
        let (capabilities, level) = match era {
            Era::Modern => (
                request::capabilities(params).cloned(),
                request::log_level(params)
                    .and_then(|level| LEVELS.iter().position(|own| *own == level)),
            ),
            Era::Legacy(_) => (
                Some(lock(&peer.capabilities).clone()),
                Some(peer.level.load(Ordering::Relaxed)),
            ),
        };
        Self {
            id,
            era,
            stop,
            progress_token: token.filter(is_token).cloned(),
            outlet,
            peer: Arc::clone(peer),
            capabilities: capabilities.unwrap_or_default(),
            level,
            tool: (params.get("name").and_then(Value::as_str)).map(str::to_owned),
            responses: params.get("inputResponses").cloned(),
            state: (params.get("requestState").and_then(Value::as_str)).map(str::to_owned),
            told: Arc::default(),
        }
    }

    /// Tells the client how far it is. What there is to do in all is not known: the number only rises.
    pub(super) fn progress(&self, words: &str) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let step = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let mut params = json!({"progressToken": token, "progress": step});
        if self.era.has_annotations() {
            put(&mut params, "message", words);
        }
        self.notify("notifications/progress", &params);
    }

    /// Tells the client that of so much so much is done.
    pub(super) fn step(&self, done: u64, all: u64) {
        if let Some(token) = &self.progress_token {
            let params = json!({"progressToken": token, "progress": done, "total": all});
            self.notify("notifications/progress", &params);
        }
    }

    /// Tells the client what happens, if it wants to know what is so important.
    pub(super) fn log(&self, level: &str, data: &str) {
        let at = LEVELS.iter().position(|own| *own == level);
        if self.level.is_some() && at >= self.level {
            self.notify(
                "notifications/message",
                &json!({"level": level, "data": data}),
            );
        }
    }

    /// Asks the client of a revision with a handshake, and waits for its answer.
    ///
    /// # Errors
    /// It answers with one, does not answer in time, or does not want the request's answer any more.
    pub(super) fn ask(&self, method: &str, params: &Value) -> RpcResult {
        let failed = |words: &str| RpcError::new(RpcError::INTERNAL, words);
        let questions = &self.peer.questions;
        let (id, answer) =
            (questions.open(MAX_QUESTIONS)).map_err(|_| failed("Too many questions are open."))?;
        self.outlet.send(Incoming::request(id, method, params));
        let until = Instant::now() + ANSWER_LIMIT;
        let got = loop {
            match answer.recv_timeout(PERIOD) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Timeout)
                    if !self.stop.is_fired() && Instant::now() < until => {}
                Err(_) => break Err(failed("The client has not answered.")),
            }
        };
        questions.withdraw(id);
        got
    }

    /// Sends a notification that belongs to this request.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.outlet.send(Incoming::notification(method, params));
    }
}
