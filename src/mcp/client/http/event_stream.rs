//! HTTP with a stream of events, as 2024-11-05 had it: messages are posted to an address that the stream names, and all answers come on the stream.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use serde_json::{Value, json};

use super::body::{self, Kind, Resumption};
use super::web::{Verb, Web, WebResponse};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::formats::json_rpc::Incoming;
use crate::mcp::client::connection::Wait;
use crate::mcp::client::opening::INITIALIZE;
use crate::mcp::client::router::{Reply, Router, too_late};
use crate::mcp::client::text::clipped;
use crate::mcp::client::transport::{Failure, Request, Transport};

/// How long the server may take to accept a message that has no answer.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection by a stream of events.
pub(crate) struct EventStream {
    web: Arc<Web>,
    router: Arc<Router>,
    /// Where messages are posted.
    to: Address,
    stop: Cancel,
    _with_all: OnFire,
}

impl EventStream {
    /// Opens the stream and waits for the address to post to.
    pub(crate) fn open(web: &Arc<Web>, wait: Wait<'_>) -> Result<Arc<Self>, Failure> {
        let (stop, with_all) = web.inbound.stop.child();
        let router = Router::new(Arc::clone(&web.inbound));
        let (tell, told) = bounded(2);
        let reader = Reader {
            web: Arc::clone(web),
            router: Arc::clone(&router),
            stop: stop.clone(),
            told: tell.clone(),
        };
        let _wake = wait.stop.on_fire(move || {
            let _ = tell.try_send(Err(Problem::cancelled().into()));
        });
        let name = thread::Builder::new().name("mcp-stream".to_owned());
        let spawned = name.spawn(move || reader.read());
        spawned.map_err(|error| Problem::system("Cannot start a thread for a stream", error))?;
        match Self::endpoint(web, &told, wait) {
            Ok(to) => Ok(Arc::new(Self {
                web: Arc::clone(web),
                router,
                to,
                stop,
                _with_all: with_all,
            })),
            Err(failure) => {
                stop.fire();
                Err(failure)
            }
        }
    }

    /// The address that the stream names; the time in which the user signs in does not count.
    fn endpoint(
        web: &Web,
        told: &Receiver<Result<Address, Failure>>,
        wait: Wait<'_>,
    ) -> Result<Address, Failure> {
        let clock = &web.inbound.clock;
        let (begun, asked_before) = (Instant::now(), clock.spent());
        loop {
            let spent = begun.elapsed().saturating_sub(clock.spent() - asked_before);
            let left = wait.limit.saturating_sub(spent);
            if left.is_zero() && !clock.is_running() {
                return Err(too_late(web.server(), INITIALIZE, wait, false).into());
            }
            match told.recv_timeout(left.clamp(Duration::from_millis(1), LOOK)) {
                Ok(to) => return to,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::internal("The way to the server is closed.").into());
                }
            }
        }
    }
}

/// How often it is looked whether a person still signs in.
const LOOK: Duration = Duration::from_millis(250);

fn post(
    web: &Web,
    to: &Address,
    verb: Verb<'_>,
    limit: Option<Duration>,
    stop: &Cancel,
) -> Result<(), Failure> {
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
    ];
    let response = web.send(to, verb, &headers, limit, stop)?;
    match (200..300).contains(&response.response.status) {
        true if limit.is_none() => {
            web.finish(response);
            Ok(())
        }
        // Its client has this limit for good, so that it is not kept.
        true => {
            response.response.finish();
            Ok(())
        }
        false => Err(body::refusal(response, web.server())),
    }
}

impl Transport for EventStream {
    fn request(&self, request: &Request<'_>, wait: Wait<'_>) -> Result<Value, Failure> {
        let pending = self.router.open(&[request.id])?;
        let line = Incoming::request(request.id, request.method, request.params);
        let (web, to, router) = (self.web.clone(), self.to.clone(), self.router.clone());
        let (stop, _with_all) = self.stop.child();
        let (id, own_stop) = (request.id, stop.clone());
        let is_call = request.method == "tools/call";
        let name = thread::Builder::new().name("mcp-http".to_owned());
        let spawned = name.spawn(move || {
            let verb = Verb::post(&line, is_call);
            if let Err(failure) = post(&web, &to, verb, None, &own_stop) {
                router.fail(id, failure);
            }
        });
        spawned.map_err(|error| Problem::system("Cannot start a thread for a request", error))?;
        let result = pending.wait(request.method, wait);
        if let Err(Failure::Other(problem)) = &result
            && matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Timeout)
        {
            stop.fire();
            if request.method != INITIALIZE {
                self.notify(
                    "notifications/cancelled",
                    &json!({"requestId": request.id, "reason": "Nobody waits for it any more."}),
                );
            }
        }
        result
    }

    fn notify(&self, method: &str, params: &Value) {
        let line = Incoming::notification(method, params);
        // A server that refuses it goes on without.
        let (verb, limit) = (Verb::post(&line, false), Some(NOTIFY_TIMEOUT));
        let _untold = post(&self.web, &self.to, verb, limit, &self.stop);
    }

    fn is_http(&self) -> bool {
        true
    }

    fn is_alive(&self) -> bool {
        !self.router.is_closed()
    }

    fn close(&self) {
        let server = self.web.server();
        self.router
            .close(&format!("The connection to {server} is closed."));
        self.stop.fire();
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.close();
    }
}

/// Reads the stream.
struct Reader {
    web: Arc<Web>,
    router: Arc<Router>,
    stop: Cancel,
    /// Where the address is waited for.
    told: Sender<Result<Address, Failure>>,
}

impl Reader {
    fn read(self) {
        let server = self.web.server();
        let mut response = match self.get() {
            Ok(response) => response,
            Err(failure) => {
                let _gone = self.told.try_send(Err(failure));
                return;
            }
        };
        let mut to: Option<Address> = None;
        let mut reply: Option<Reply> = None;
        let mut take = |name: &str, data: &[u8]| {
            if name == "endpoint" {
                let text = String::from_utf8_lossy(data);
                let endpoint = self.endpoint(text.trim());
                let failed = endpoint.is_err();
                if let Ok(address) = &endpoint {
                    to = Some(address.clone());
                    reply = Some(self.reply(address.clone()));
                }
                let _gone = self.told.try_send(endpoint.map_err(Failure::from));
                return match failed {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
            }
            if let Some(reply) = &reply {
                self.router.take(data, reply);
            }
            ControlFlow::Continue(())
        };
        let mut resumption = Resumption::default();
        let _ended = body::events(&mut response, server, &mut resumption, &mut take);
        let words = format!("{server} has ended its stream.");
        let _gone = self
            .told
            .try_send(Err(Problem::network(words.as_str()).into()));
        self.router.close(&words);
    }

    fn get(&self) -> Result<WebResponse, Failure> {
        let headers = [("accept", "text/event-stream".to_owned())];
        let response = (self.web).send(&self.web.address, Verb::Get, &headers, None, &self.stop)?;
        match (response.response.status, body::kind(&response)) {
            (200, Kind::Events) => Ok(response),
            _ => Err(body::refusal(response, self.web.server())),
        }
    }

    /// The address to post to, which must be of the same origin.
    fn endpoint(&self, text: &str) -> Outcome<Address> {
        let to = self.web.address.join(text)?;
        match to.origin() == self.web.address.origin() {
            true => Ok(to),
            false => Err(Problem::refused(format!(
                "{} wants messages at {}, which is another server.",
                self.web.server(),
                clipped(&to.to_string(), 200)
            ))),
        }
    }

    fn reply(&self, to: Address) -> Reply {
        let (web, stop) = (Arc::clone(&self.web), self.stop.clone());
        Arc::new(move |line| {
            let (verb, limit) = (Verb::post(&line, false), Some(NOTIFY_TIMEOUT));
            let _untold = post(&web, &to, verb, limit, &stop);
        })
    }
}
