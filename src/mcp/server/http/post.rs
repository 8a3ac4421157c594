//! A message that a client posts: its answer is JSON, or the end of a stream of events when there is more to say before it.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::sessions::Session;
use super::{Shared, headers, no_session};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::mcp::revision::Era;
use crate::mcp::server::batch;
use crate::mcp::server::engine::find;
use crate::mcp::server::exchange::Outlet;
use crate::mcp::server::offering::MISSING_CAPABILITY;
use crate::mcp::server::request;
use crate::mcp::server::subscription::watch_resources;
use crate::net::http_server::{EventStream, HttpRequest, HttpResponse};

/// An answer that takes longer comes in a stream, so that nothing between cuts a silent connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a silent stream says that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How often it is looked whether the client is still there.
const PERIOD: Duration = Duration::from_millis(100);

/// What a request says that the client has not read yet; then the request waits.
const PARTS: usize = 256;

/// What a request has to say.
enum Part {
    Message(String),
    /// With its status, where no stream has begun.
    Answer(u16, String),
}

struct Parts(Sender<Part>);

impl Outlet for Parts {
    fn send(&self, message: String) {
        // Without a receiver the client is gone.
        let _ = self.0.send(Part::Message(message));
    }
}

/// What the requests of a batch say before their answers is told nobody: the response has the answers alone.
struct Nobody;

impl Outlet for Nobody {
    fn send(&self, _: String) {}
}

/// The error response to a message.
fn refused(status: u16, id: &RpcId, error: RpcError) -> HttpResponse {
    HttpResponse::json(status, Incoming::answer(id, &Err(error)))
}

impl Shared {
    /// The response to a posted message; none when a stream of events was it.
    pub(super) fn post(&self, request: &HttpRequest, stream: &TcpStream) -> Option<HttpResponse> {
        let kind = request.header("content-type").unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Some(HttpResponse::words(415, "A message is application/json."));
        }
        if let Some(session) = request.header(headers::SESSION)
            && let Some(session) = self.sessions.find(session)
            && let Some(batch) = batch::read(&session.client, &request.body)
        {
            return self.batch(session, batch, stream);
        }
        let message = match Incoming::read_versioned(&request.body) {
            Ok(message) => message,
            Err(misread) => return Some(refused(400, &misread.id, misread.error)),
        };
        let (id, method, params) = match message {
            Incoming::Request { id, method, params } => (id, method, params),
            message => return Some(self.told(request, message)),
        };
        let is_modern = headers::is_modern(request) || request::version(&params).is_some();
        let (session, is_new) = match request.header(headers::SESSION) {
            Some(kept) if !is_modern => match self.sessions.find(kept) {
                Some(session) => (session, false),
                None => return Some(no_session()),
            },
            None if !is_modern && method != "initialize" => {
                let words = "Mcp-Session-Id is missing.";
                return Some(refused(
                    400,
                    &id,
                    RpcError::new(RpcError::INVALID_REQUEST, words),
                ));
            }
            _ => (Arc::new(Session::new(&self.all)), !is_modern),
        };
        if is_modern
            && let Err(error) = headers::check(request, &method, &params)
                .and_then(|()| find(&method, Era::Modern).map(drop))
                .and_then(|()| self.check_marks(request, &method, &params))
        {
            return Some(refused(status(&error, true), &id, error));
        }
        let wants_progress = is_modern && params.pointer("/_meta/progressToken").is_some();
        let (send, receive) = bounded(PARTS);
        let outlet = Arc::new(Parts(send.clone()));
        let request = (id.clone(), method.as_str(), params);
        let admitted = match self
            .server
            .admit(&session.client, request, outlet, &session.stop)
        {
            Ok(admitted) => admitted,
            Err(error) => return Some(refused(status(&error, is_modern), &id, error)),
        };
        let kept = is_new.then(|| self.sessions.keep(Arc::clone(&session)));
        let mut reply = Reply {
            stream,
            headers: kept
                .map(|kept| ("Mcp-Session-Id", kept))
                .into_iter()
                .collect(),
            events: None,
            is_stream: wants_progress,
        };
        let (server, worker) = (Arc::clone(&self.server), Arc::clone(&session));
        let own = id.clone();
        let started = thread::Builder::new().spawn(move || {
            let answer = server.answer(&admitted);
            worker.client.ended(&own);
            let lacks = answer
                .as_ref()
                .is_err_and(|error| error.code == MISSING_CAPABILITY);
            let status = if lacks && is_modern { 400 } else { 200 };
            let _ = send.send(Part::Answer(status, Incoming::answer(&own, &answer)));
        });
        if started.is_err() {
            session.client.ended(&id);
            return Some(HttpResponse::words(503, "Too much is running."));
        }
        let answer = reply.follow(&receive);
        if answer.is_none() {
            // Nothing more can be said to a client that is gone.
            session.client.take_back(&id);
        }
        answer.and_then(|answer| reply.end(answer))
    }

    /// The response to a batch, which ends when its client hangs up.
    fn batch(
        &self,
        session: Arc<Session>,
        batch: Vec<Box<RawValue>>,
        stream: &TcpStream,
    ) -> Option<HttpResponse> {
        let (send, receive) = bounded::<Option<String>>(1);
        let (stop, _with_all) = session.stop.child();
        let (server, own) = (Arc::clone(&self.server), stop.clone());
        let started = thread::Builder::new().spawn(move || {
            let outlet: Arc<dyn Outlet> = Arc::new(Nobody);
            let answers = batch::answered(&server, &session.client, &batch, &outlet, &own);
            let _ = send.send(answers);
        });
        if started.is_err() {
            return Some(HttpResponse::words(503, "Too much is running."));
        }
        loop {
            match receive.recv_timeout(PERIOD) {
                Ok(Some(answers)) => return Some(HttpResponse::json(200, answers)),
                Ok(None) => return Some(HttpResponse::empty(202)),
                Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
                Err(_) => {
                    stop.fire();
                    return None;
                }
            }
        }
    }

    /// A notification, of which only one matters, or an answer.
    fn told(&self, request: &HttpRequest, message: Incoming) -> HttpResponse {
        if headers::is_modern(request) {
            return HttpResponse::empty(202);
        }
        let Some(id) = request.header(headers::SESSION) else {
            return HttpResponse::words(400, "Mcp-Session-Id is missing.");
        };
        let Some(session) = self.sessions.find(id) else {
            return no_session();
        };
        match message {
            Incoming::Answer { id, result } => {
                session.client.peer.questions.answer(&id, result);
            }
            message => session.client.notified(message),
        }
        HttpResponse::empty(202)
    }

    /// Whether the headers of a call repeat what its tool marks.
    ///
    /// # Errors
    /// They do not.
    fn check_marks(
        &self,
        request: &HttpRequest,
        method: &str,
        params: &Value,
    ) -> Result<(), RpcError> {
        let tool = params.get("name").and_then(Value::as_str);
        let tool = tool.filter(|_| method == "tools/call");
        match tool.and_then(|tool| self.server.offering().marked_schema(tool)) {
            Some(schema) => headers::check_marks(request, &schema, params),
            None => Ok(()),
        }
    }

    /// The stream in which a session is told of changes.
    pub(super) fn listen(&self, id: &str, stream: &TcpStream) -> Option<HttpResponse> {
        let Some(session) = self.sessions.find(id) else {
            return Some(no_session());
        };
        let mut events = EventStream::open(stream, Vec::new()).ok()?;
        let mut said = Instant::now();
        watch_resources(self.server.offering(), &session.stop, |has_changed| {
            if has_changed {
                let message =
                    Incoming::notification("notifications/resources/list_changed", &json!({}));
                return events.event(&message).is_ok();
            }
            if said.elapsed() < SIGN_OF_LIFE {
                return !is_gone(stream);
            }
            said = Instant::now();
            events.comment().is_ok()
        });
        None
    }
}

/// The status of a request that did not run. Clients with a handshake read the error itself.
fn status(error: &RpcError, is_modern: bool) -> u16 {
    match (error.code == RpcError::NO_METHOD, is_modern) {
        (true, true) => 404,
        (true, false) => 200,
        (false, _) => 400,
    }
}

/// Whether the other side has closed the connection, on which nothing is read meanwhile.
fn is_gone(stream: &TcpStream) -> bool {
    let peeked = stream
        .set_nonblocking(true)
        .and_then(|()| stream.peek(&mut [0]));
    let _ = stream.set_nonblocking(false);
    match peeked {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// The response to one request.
struct Reply<'a> {
    stream: &'a TcpStream,
    headers: Vec<(&'static str, String)>,
    events: Option<EventStream<'a>>,
    /// The answer comes in a stream even if there is nothing to say before it.
    is_stream: bool,
}

impl<'a> Reply<'a> {
    /// Passes on what the request says until it has its answer; none when the client is gone.
    fn follow(&mut self, parts: &Receiver<Part>) -> Option<(u16, String)> {
        let (since, mut said) = (Instant::now(), Instant::now());
        loop {
            match parts.recv_timeout(PERIOD) {
                Ok(Part::Answer(status, answer)) => return Some((status, answer)),
                Ok(Part::Message(message)) => {
                    self.events()?.event(&message).ok()?;
                    said = Instant::now();
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if is_gone(self.stream) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let is_quiet = self.events.is_some() && said.elapsed() >= SIGN_OF_LIFE;
                    let is_slow = self.events.is_none() && since.elapsed() >= PATIENCE;
                    if is_quiet || is_slow {
                        self.events()?.comment().ok()?;
                        said = Instant::now();
                    }
                }
            }
        }
    }

    /// The stream, which begins with the first thing to say.
    fn events(&mut self) -> Option<&mut EventStream<'a>> {
        if self.events.is_none() {
            let headers = std::mem::take(&mut self.headers);
            self.events = Some(EventStream::open(self.stream, headers).ok()?);
        }
        self.events.as_mut()
    }

    /// Sends the answer where a stream has begun, else it is the response.
    fn end(&mut self, (status, answer): (u16, String)) -> Option<HttpResponse> {
        if self.is_stream && status == 200 {
            self.events()?;
        }
        if let Some(events) = &mut self.events {
            let _ = events.event(&answer);
            return None;
        }
        let headers = std::mem::take(&mut self.headers);
        let response = HttpResponse::json(status, answer);
        Some(
            headers
                .into_iter()
                .fold(response, |response, (name, value)| {
                    response.with(name, value)
                }),
        )
    }
}
