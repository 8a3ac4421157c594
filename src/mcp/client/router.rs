//! Brings each message of a server where it belongs: an answer to whoever waits for it, everything else to [`Inbound`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde_json::Value;
use serde_json::value::RawValue;

use super::connection::{Progress, Wait};
use super::inbound::Inbound;
use super::transport::{Failure, Loss};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::Problem;
use crate::formats::json_lines;
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};

/// Requests of one server that are worked on at once.
const MAX_ASKED: usize = 16;
/// Time between two reports of progress that are passed on.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
/// How often it is looked whether a person still thinks.
const LOOK: Duration = Duration::from_millis(250);

/// What comes for a request.
pub(super) enum Heard {
    Answer(Result<Value, RpcError>),
    Progress(Progress),
    Failed(Failure),
    Stopped,
}

/// Sends a message to the server.
pub(super) type Reply = Arc<dyn Fn(String) + Send + Sync>;

pub(super) struct Router {
    state: Mutex<RouterState>,
    pub(super) inbound: Arc<Inbound>,
    /// Requests of the server that are worked on.
    asked: Mutex<HashMap<RpcId, Cancel>>,
    busy: AtomicUsize,
    /// Messages that came.
    heard: AtomicU64,
}

#[derive(Default)]
struct RouterState {
    open: HashMap<u64, Sender<(u64, Heard)>>,
    /// Why nothing comes any more.
    closed: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Router {
    pub(super) fn new(inbound: Arc<Inbound>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            inbound,
            asked: Mutex::default(),
            busy: AtomicUsize::new(0),
            heard: AtomicU64::new(0),
        })
    }

    /// From now on the answers to these requests are waited for.
    pub(super) fn open(self: &Arc<Self>, ids: &[u64]) -> Result<Pending, Failure> {
        let (send, heard) = unbounded();
        let mut state = lock(&self.state);
        if let Some(words) = &state.closed {
            return Err(Failure::Lost(Loss::Gone, Problem::network(words.as_str())));
        }
        for id in ids {
            state.open.insert(*id, send.clone());
        }
        Ok(Pending {
            ids: ids.to_vec(),
            send,
            heard,
            router: Arc::clone(self),
        })
    }

    fn tell(&self, id: u64, heard: Heard) -> bool {
        let mut state = lock(&self.state);
        let to = match heard {
            Heard::Progress(_) => state.open.get(&id).cloned(),
            _ => state.open.remove(&id),
        };
        to.is_some_and(|to| to.send((id, heard)).is_ok())
    }

    /// There will be no answer to this request.
    pub(super) fn fail(&self, id: u64, failure: Failure) {
        self.tell(id, Heard::Failed(failure));
    }

    /// Whether somebody waits for the answer to this request.
    pub(super) fn is_wanted(&self, id: u64) -> bool {
        lock(&self.state).open.contains_key(&id)
    }

    /// Nothing comes any more, for the reason in `words`; the first one counts.
    pub(super) fn close(&self, words: &str) {
        let mut state = lock(&self.state);
        state.closed.get_or_insert_with(|| words.to_owned());
        let open = std::mem::take(&mut state.open);
        drop(state);
        for (id, to) in open {
            let lost = Failure::Lost(Loss::Gone, Problem::network(words));
            let _ = to.send((id, Heard::Failed(lost)));
        }
        for (_, stop) in lock(&self.asked).drain() {
            stop.fire();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed.is_some()
    }

    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::SeqCst)
    }

    /// Takes the bytes of one message, or of a list of them, which 2025-03-26 allows. False when they are none. Invalid UTF-8 is replaced.
    pub(super) fn take(self: &Arc<Self>, bytes: &[u8], reply: &Reply) -> bool {
        self.heard.fetch_add(1, Ordering::SeqCst);
        let value = json_lines::value(bytes).or_else(|_| {
            let text = String::from_utf8_lossy(bytes);
            json_lines::value(text.as_bytes())
        });
        match value {
            Ok(Value::Array(batch)) => {
                // One that is no message takes none of the others with it.
                let mut are_all = true;
                for one in batch {
                    are_all &= self.take_one(one, reply);
                }
                are_all
            }
            Ok(value) => self.take_one(value, reply),
            Err(_) => {
                self.unreadable(bytes);
                false
            }
        }
    }

    /// What is JSON and nested too deeply for this program to read may be an answer, for which nobody is to wait in vain.
    fn unreadable(&self, bytes: &[u8]) {
        let members: Option<HashMap<String, Box<RawValue>>> = serde_json::from_slice(bytes).ok();
        let Some(members) = members.filter(|members| !members.contains_key("method")) else {
            return;
        };
        let id = members.get("id").and_then(|id| id.get().parse().ok());
        if let Some(id) = id {
            let words = format!("{}'s answer is nested too deeply.", self.inbound.server);
            self.fail(id, Problem::network(words).into());
        }
    }

    fn take_one(self: &Arc<Self>, value: Value, reply: &Reply) -> bool {
        let Value::Object(message) = value else {
            return false;
        };
        match Incoming::of(message) {
            Ok(Incoming::Answer { id, result }) => {
                // One that nobody waits for is the second, too late, or of somebody else.
                if let Some(id) = id.as_u64() {
                    self.tell(id, Heard::Answer(result));
                }
                true
            }
            Ok(Incoming::Notification { method, params }) => {
                self.notified(&method, &params);
                true
            }
            Ok(Incoming::Request { id, method, params }) => {
                self.asked(id, method, params, reply);
                true
            }
            Err(misread) => {
                // An answer without a result ends its request too.
                if let (true, Some(id)) = (misread.is_answer, misread.id.as_u64()) {
                    let words = "The server's answer has neither a result nor an error.";
                    self.fail(id, Problem::network(words).into());
                }
                false
            }
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        match method {
            "notifications/progress" => {
                let id = params.get("progressToken").and_then(Value::as_u64);
                if let (Some(id), Some(progress)) = (id, Progress::read(params)) {
                    self.tell(id, Heard::Progress(progress));
                }
            }
            "notifications/cancelled" => {
                let id = params.get("requestId").cloned().and_then(RpcId::read);
                let stop = id.and_then(|id| lock(&self.asked).remove(&id));
                if let Some(stop) = stop {
                    stop.fire();
                }
            }
            _ => self.inbound.notified(method, params),
        }
    }

    /// Answers a request of the server on a thread of its own: a person may have to be asked, and other messages must come through meanwhile.
    fn asked(self: &Arc<Self>, id: RpcId, method: String, params: Value, reply: &Reply) {
        // What needs no person is answered before the next message is read: a server may not go on without it.
        let at_once = match method.as_str() {
            "ping" => Some(Ok(Value::Object(Default::default()))),
            "roots/list" => Some(self.inbound.answer(&method, &params, &self.inbound.stop)),
            _ => None,
        };
        if let Some(result) = at_once {
            return reply(Incoming::answer(&id, &result));
        }
        let refuse = |words: &str| {
            let error = RpcError::new(RpcError::INTERNAL, words);
            reply(Incoming::answer(&id, &Err(error)));
        };
        if self.busy.fetch_add(1, Ordering::SeqCst) >= MAX_ASKED {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            return refuse("Too many requests are open.");
        }
        let (stop, with_all) = self.inbound.stop.child();
        lock(&self.asked).insert(id.clone(), stop.clone());
        let (router, answer, own) = (Arc::clone(self), Arc::clone(reply), id.clone());
        let run = move || {
            let _with_all = with_all;
            let result = router.inbound.answer(&method, &params, &stop);
            router.busy.fetch_sub(1, Ordering::SeqCst);
            // One that the server took back wants no answer.
            if lock(&router.asked).remove(&own).is_some() {
                answer(Incoming::answer(&own, &result));
            }
        };
        let name = thread::Builder::new().name("mcp-question".to_owned());
        if name.spawn(run).is_err() {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            refuse("There is no thread to answer it.");
        }
    }
}

/// Requests whose answers are waited for, until it is dropped.
pub(super) struct Pending {
    ids: Vec<u64>,
    send: Sender<(u64, Heard)>,
    heard: Receiver<(u64, Heard)>,
    router: Arc<Router>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut state = lock(&self.router.state);
        for id in &self.ids {
            state.open.remove(id);
        }
    }
}

impl Pending {
    /// What comes next for one of them, at most until `until`.
    pub(super) fn next(&self, until: Instant) -> Option<(u64, Heard)> {
        self.heard.recv_deadline(until).ok()
    }

    /// Wakes who waits here when `stop` fires.
    pub(super) fn wake_by(&self, stop: &Cancel) -> OnFire {
        let (send, id) = (self.send.clone(), self.ids.first().copied());
        stop.on_fire(move || {
            let _ = send.send((id.unwrap_or_default(), Heard::Stopped));
        })
    }

    /// Waits for the answer. Progress begins the limit anew; the time in which a person is asked does not count.
    pub(super) fn wait(&self, method: &str, wait: Wait<'_>) -> Result<Value, Failure> {
        let _wake = self.wake_by(wait.stop);
        let clock = &self.router.inbound.clock;
        let (mut from, begun, asked_before) = (Instant::now(), Instant::now(), clock.spent());
        let mut asked_here = asked_before;
        let (mut done, mut told) = (f64::NEG_INFINITY, None::<Instant>);
        loop {
            let silent_until = from + wait.limit + (clock.spent() - asked_here);
            let whole_until = begun + wait.total + (clock.spent() - asked_before);
            let until = silent_until.min(whole_until);
            let now = Instant::now();
            if until <= now && !clock.is_running() {
                return Err(too_late(self.server(), method, wait, whole_until <= now).into());
            }
            let next = match until <= now {
                true => self.heard.recv_timeout(LOOK),
                false => self.heard.recv_deadline(until),
            };
            match next {
                Ok((_, Heard::Answer(result))) => return result.map_err(Failure::Rpc),
                Ok((_, Heard::Failed(failure))) => return Err(failure),
                Ok((_, Heard::Stopped)) => return Err(Problem::cancelled().into()),
                Ok((_, Heard::Progress(progress))) if progress.done > done => {
                    done = progress.done;
                    (from, asked_here) = (Instant::now(), clock.spent());
                    let is_due = told.is_none_or(|at| at.elapsed() >= PROGRESS_PAUSE)
                        || progress.total == Some(done);
                    if let (Some(hear), true) = (wait.progress, is_due) {
                        told = Some(Instant::now());
                        hear(&progress);
                    }
                }
                Ok((_, Heard::Progress(_))) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::internal("The way to the server is closed.").into());
                }
            }
        }
    }

    fn server(&self) -> &str {
        &self.router.inbound.server
    }
}

/// The limit was reached: of silence, or of everything.
pub(super) fn too_late(server: &str, method: &str, wait: Wait<'_>, is_whole: bool) -> Problem {
    let (limit, key) = match is_whole && wait.total > wait.limit {
        true => (wait.total, Some("maxTotalTimeout")),
        false => (wait.limit, wait.key),
    };
    let seconds = limit.as_secs_f64();
    let problem = Problem::timeout(format!(
        "{server} did not answer {method} within {seconds} s."
    ));
    match key {
        Some(key) => problem.next(format!(
            "If it needs longer, raise \"{key}\" (milliseconds) of its entry in mcp.json."
        )),
        None => problem,
    }
}
