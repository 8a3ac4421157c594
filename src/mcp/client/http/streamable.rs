//! Streamable HTTP: each message is a POST, which is answered by one message or by a stream of them.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::body::{self, Kind, Resumption};
use super::web::{Verb, Web, WebResponse};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Problem, ProblemKind};
use crate::formats::json_rpc::Incoming;
use crate::mcp::client::connection::Wait;
use crate::mcp::client::opening::INITIALIZE;
use crate::mcp::client::router::{Reply, Router};
use crate::mcp::client::tool_marks::header_value;
use crate::mcp::client::transport::{Failure, Loss, Request, Transport};
use crate::mcp::revision::MODERN;
use crate::net::service::time_limit::limited;

const BOTH: &str = "application/json, text/event-stream";
const STREAM: &str = "text/event-stream";
/// How long the server may take for a message that has no answer.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);
const DELETE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before a stream is resumed, where the server names none.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);
/// Times that the stream of one answer is resumed, and in which time.
const MAX_RESUMED: usize = 5;
const RESUME_LIMIT: Duration = Duration::from_secs(60);

/// A connection by streamable HTTP.
pub(crate) struct Streamable {
    shared: Arc<Shared>,
    _with_all: OnFire,
}

struct Shared {
    web: Arc<Web>,
    router: Arc<Router>,
    session: Mutex<Session>,
    /// Ends everything that is open.
    stop: Cancel,
}

/// What was agreed on, in the era with a handshake.
#[derive(Default, Clone)]
struct Session {
    id: Option<String>,
    version: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streamable {
    pub(crate) fn new(web: Arc<Web>) -> Arc<Self> {
        let (stop, with_all) = web.inbound.stop.child();
        let router = Router::new(Arc::clone(&web.inbound));
        Arc::new(Self {
            shared: Arc::new(Shared {
                web,
                router,
                session: Mutex::default(),
                stop,
            }),
            _with_all: with_all,
        })
    }
}

impl Transport for Streamable {
    fn request(&self, request: &Request<'_>, wait: Wait<'_>) -> Result<Value, Failure> {
        let shared = &self.shared;
        let pending = shared.router.open(&[request.id])?;
        let (stop, _with_all) = shared.stop.child();
        let post = Post {
            id: request.id,
            is_modern: request.version == Some(MODERN),
            is_handshake: request.method == INITIALIZE,
            is_call: request.method == "tools/call",
            headers: shared.headers(request),
            arguments: request.headers.to_vec(),
            body: Incoming::request(request.id, request.method, request.params),
        };
        let (own, own_stop) = (Arc::clone(shared), stop.clone());
        let name = thread::Builder::new().name("mcp-http".to_owned());
        let spawned = name.spawn(move || {
            if let Err(failure) = own.exchange(&post, &own_stop) {
                own.router.fail(post.id, failure);
            }
        });
        spawned.map_err(|error| Problem::system("Cannot start a thread for a request", error))?;
        let result = pending.wait(request.method, wait);
        if let Err(Failure::Other(problem)) = &result
            && matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Timeout)
        {
            // Closing the connection is what cancels; servers with sessions want to be told too.
            stop.fire();
            if request.version != Some(MODERN) && request.method != INITIALIZE {
                shared.post_aside(&Incoming::notification(
                    "notifications/cancelled",
                    &json!({"requestId": request.id, "reason": "Nobody waits for it any more."}),
                ));
            }
        }
        result
    }

    fn notify(&self, method: &str, params: &Value) {
        self.shared.post(&Incoming::notification(method, params));
        if method == "notifications/initialized" {
            let shared = Arc::clone(&self.shared);
            let name = thread::Builder::new().name("mcp-stream".to_owned());
            // Without it only answers come.
            let _unheard = name.spawn(move || shared.stand());
        }
    }

    fn agreed(&self, version: &str) {
        if version != MODERN {
            lock(&self.shared.session).version = Some(version.to_owned());
        }
    }

    fn is_http(&self) -> bool {
        true
    }

    fn is_alive(&self) -> bool {
        !self.shared.router.is_closed()
    }

    fn close(&self) {
        let shared = &self.shared;
        let server = shared.web.server();
        shared
            .router
            .close(&format!("The connection to {server} is closed."));
        shared.stop.fire();
        let session = std::mem::take(&mut *lock(&shared.session));
        if session.id.is_some() {
            let headers = session.headers();
            let (web, limit) = (&shared.web, Some(DELETE_TIMEOUT));
            // Any answer will do, and none holds up the end for longer than this, however slowly it trickles in.
            let _ended = limited(&Cancel::new(), DELETE_TIMEOUT, server, |stop| {
                let _any = web.send(&web.address, Verb::Delete, &headers, limit, stop);
                Ok(())
            });
        }
    }
}

impl Drop for Streamable {
    fn drop(&mut self) {
        self.close();
    }
}

/// A request on its way.
struct Post {
    id: u64,
    is_modern: bool,
    is_handshake: bool,
    /// It may change something at the server.
    is_call: bool,
    headers: Vec<(&'static str, String)>,
    /// Headers for arguments.
    arguments: Vec<(String, String)>,
    body: String,
}

impl Session {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let id = self.id.iter().map(|id| ("mcp-session-id", id.clone()));
        let version = self.version.iter();
        id.chain(version.map(|version| ("mcp-protocol-version", version.clone())))
            .collect()
    }
}

impl Shared {
    /// What repeats a request in its headers.
    fn headers(&self, request: &Request<'_>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", BOTH.to_owned()),
        ];
        if request.version != Some(MODERN) {
            if request.method != INITIALIZE {
                headers.extend(lock(&self.session).headers());
            }
            return headers;
        }
        headers.push(("mcp-protocol-version", MODERN.to_owned()));
        headers.push(("mcp-method", request.method.to_owned()));
        let named = match request.method {
            "tools/call" | "prompts/get" => request.params.get("name"),
            "resources/read" => request.params.get("uri"),
            _ => None,
        };
        if let Some(name) = named.and_then(Value::as_str) {
            headers.push(("mcp-name", header_value(name)));
        }
        headers
    }

    fn reply(self: &Arc<Self>) -> Reply {
        let shared = Arc::clone(self);
        Arc::new(move |line| shared.post(&line))
    }

    /// Sends a message that has no answer.
    fn post(&self, line: &str) {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", BOTH.to_owned()),
        ];
        headers.extend(lock(&self.session).headers());
        let verb = Verb::Post(line.as_bytes());
        let (web, limit) = (&self.web, Some(NOTIFY_TIMEOUT));
        // A server that refuses it goes on without.
        if let Ok(response) = web.send(&web.address, verb, &headers, limit, &self.stop) {
            response.response.finish();
        }
    }

    /// The same, without waiting.
    fn post_aside(self: &Arc<Self>, line: &str) {
        let (shared, line) = (Arc::clone(self), line.to_owned());
        let name = thread::Builder::new().name("mcp-post".to_owned());
        let _untold = name.spawn(move || shared.post(&line));
    }

    /// Sends a request and brings its answer home.
    fn exchange(self: &Arc<Self>, post: &Post, stop: &Cancel) -> Result<(), Failure> {
        let web = &self.web;
        let verb = Verb::post(&post.body, post.is_call);
        let arguments = post.arguments.iter();
        let arguments = arguments.map(|(name, value)| (name.as_str(), value.clone()));
        let headers: Vec<(&str, String)> = post.headers.iter().cloned().chain(arguments).collect();
        let response = web.send(&web.address, verb, &headers, None, stop)?;
        let status = response.response.status;
        if post.is_handshake && status < 300 {
            let id = response.response.header_text("mcp-session-id");
            lock(&self.session).id = id.filter(|id| !id.is_empty());
        }
        let has_session = post
            .headers
            .iter()
            .any(|(name, _)| *name == "mcp-session-id");
        if status == 404 && has_session {
            let words = format!("{} has forgotten the session.", web.server());
            return Err(Failure::Lost(Loss::SessionOver, Problem::network(words)));
        }
        if !(200..300).contains(&status) {
            return Err(body::refusal(response, web.server()));
        }
        let (reply, mut resumption) = (self.reply(), Resumption::default());
        let to = (&self.router, &reply);
        let delivered = body::deliver(web, response, to, post.id, &mut resumption);
        match delivered {
            Ok(ControlFlow::Break(())) => return Ok(()),
            Ok(ControlFlow::Continue(())) | Err(Failure::Lost(..)) => {}
            Err(failure) => return Err(failure),
        }
        let words = format!(
            "{} ended the stream of an answer before the answer.",
            web.server()
        );
        match post.is_modern || resumption.last_id.is_empty() {
            true => Err(Failure::Lost(Loss::Broken, Problem::network(words))),
            false => self.resume(post.id, &mut resumption, stop),
        }
    }

    /// Waits as long as the server wants, and asks for what it would have sent since.
    fn resume(
        self: &Arc<Self>,
        id: u64,
        resumption: &mut Resumption,
        stop: &Cancel,
    ) -> Result<(), Failure> {
        let until = Instant::now() + RESUME_LIMIT;
        let reply = self.reply();
        for _ in 0..MAX_RESUMED {
            let pause = resumption.retry.map_or(RETRY, Duration::from_millis);
            if Instant::now() + pause > until {
                break;
            }
            if !stop.sleep(pause) {
                return Err(Problem::cancelled().into());
            }
            let response = match self.get(Some(&resumption.last_id), stop) {
                Ok(response) => response,
                Err(Failure::Lost(..)) => continue,
                Err(failure) => return Err(failure),
            };
            let to = (&self.router, &reply);
            match body::deliver(&self.web, response, to, id, resumption) {
                Ok(ControlFlow::Break(())) => return Ok(()),
                Ok(ControlFlow::Continue(())) | Err(Failure::Lost(..)) => {}
                Err(failure) => return Err(failure),
            }
        }
        let words = format!("{} broke off an answer again and again.", self.web.server());
        Err(Failure::Lost(Loss::Broken, Problem::network(words)))
    }

    /// Asks for a stream.
    fn get(&self, last_id: Option<&str>, stop: &Cancel) -> Result<WebResponse, Failure> {
        let mut headers = vec![("accept", STREAM.to_owned())];
        headers.extend(lock(&self.session).headers());
        if let Some(id) = last_id.filter(|id| !id.is_empty()) {
            headers.push(("last-event-id", id.to_owned()));
        }
        let response = (self.web).send(&self.web.address, Verb::Get, &headers, None, stop)?;
        match (response.response.status, body::kind(&response)) {
            (200, Kind::Events) => Ok(response),
            _ => Err(body::refusal(response, self.web.server())),
        }
    }

    /// Keeps the stream open by which the server tells what belongs to no answer. That it has none is normal.
    fn stand(self: Arc<Self>) {
        let (reply, mut resumption) = (self.reply(), Resumption::default());
        let (mut pause, server) = (RETRY, self.web.server().to_owned());
        loop {
            let Ok(mut response) = self.get(Some(&resumption.last_id), &self.stop) else {
                return;
            };
            let mut has_told = false;
            let mut take = |_: &str, data: &[u8]| {
                has_told = true;
                self.router.take(data, &reply);
                ControlFlow::Continue(())
            };
            let ended = body::events(&mut response, &server, &mut resumption, &mut take);
            drop(response);
            if matches!(ended, Err(Failure::Other(_))) {
                return;
            }
            let wanted = resumption.retry.map_or(RETRY, Duration::from_millis);
            pause = match has_told {
                true => wanted,
                // One that is closed again and again without a word is asked less and less.
                false => (pause * 2).max(wanted),
            };
            pause = pause.min(MAX_RETRY);
            if !self.stop.sleep(pause) {
                return;
            }
        }
    }
}
