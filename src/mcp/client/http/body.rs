//! Reads the body of a response: one message, or a stream of events with one each.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;

use super::web::{Web, WebResponse};
use crate::base::problem::Problem;
use crate::formats::json_lines;
use crate::formats::json_rpc::RpcError;
use crate::formats::sse::{SseEvents, SseItem};
use crate::mcp::client::router::{Reply, Router};
use crate::mcp::client::text::clipped;
use crate::mcp::client::transport::{Failure, Loss};
use crate::net::error::NetError;

/// The longest message.
const MAX_BYTES: usize = 64 << 20;
/// Characters of a body that is none of ours.
const MAX_SHOWN: usize = 200;

/// What the body of a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Events,
    Other,
}

/// What a response's headers say of its body.
pub(super) fn kind(web: &WebResponse) -> Kind {
    let kind = web.response.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "application/json" => Kind::Json,
        "text/event-stream" => Kind::Events,
        _ => Kind::Other,
    }
}

/// Reads a whole body.
pub(super) fn whole(web: &mut WebResponse, server: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match web.response.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) => return Err(broken(&error, server)),
        }
        if bytes.len() > MAX_BYTES {
            return Err(too_large(server).into());
        }
    }
}

fn too_large(server: &str) -> Problem {
    let most = MAX_BYTES >> 20;
    Problem::limit(format!("{server} sent a message of more than {most} MB."))
}

fn broken(error: &NetError, server: &str) -> Failure {
    let problem = error.problem(server);
    match error {
        NetError::Cancelled => Failure::Other(problem),
        _ => Failure::Lost(Loss::Broken, problem),
    }
}

/// A response that answers nothing: its status, and what it says.
pub(super) fn refusal(mut web: WebResponse, server: &str) -> Failure {
    let status = web.response.status;
    let bytes = web.response.read_some(64 << 10);
    let error = match json_lines::value(&bytes) {
        Ok(Value::Object(body)) => (body.get("error"))
            .filter(|error| error.is_object())
            .map(RpcError::read),
        _ => None,
    };
    let text = String::from_utf8_lossy(&bytes);
    let said = clipped(&crate::base::text::single_spaced(&text), MAX_SHOWN);
    let words = match said.is_empty() {
        true => format!("{server} answered with status {status} and nothing else."),
        false => format!(
            "{server} answered with status {status}, and no message of the protocol: {said}"
        ),
    };
    let problem = Problem::network(words).next("Check \"url\" of its entry in mcp.json.");
    Failure::Status(status, error, problem.into())
}

/// Where a stream can be resumed.
#[derive(Debug, Default)]
pub(super) struct Resumption {
    pub last_id: String,
    pub retry: Option<u64>,
}

/// Reads a stream to its end, or until the answer to `id` has come; each event is given to `take`.
pub(super) fn events(
    web: &mut WebResponse,
    server: &str,
    resumption: &mut Resumption,
    take: &mut dyn FnMut(&str, &[u8]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Failure> {
    let mut events = SseEvents::with_cap(MAX_BYTES);
    let mut buffer = vec![0; 64 << 10];
    let mut on_item = |item: SseItem<'_>| match item {
        SseItem::Event { name, data } if !data.iter().all(u8::is_ascii_whitespace) => {
            take(name, data)
        }
        _ => ControlFlow::Continue(()),
    };
    let ended = loop {
        match web.response.read(&mut buffer) {
            Ok(0) => {
                let ended = events
                    .finish(&mut on_item)
                    .map(|()| ControlFlow::Continue(()));
                break ended.map_err(|_| too_large(server).into());
            }
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                match events.feed(bytes, &mut on_item) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => break Ok(ControlFlow::Break(())),
                    Err(_) => break Err(too_large(server).into()),
                }
            }
            Err(error) => break Err(broken(&error, server)),
        }
    };
    if !events.last_id().is_empty() {
        resumption.last_id = events.last_id().to_owned();
    }
    resumption.retry = events.retry().or(resumption.retry);
    ended
}

/// Brings the messages of a response to whoever waits for them; `Continue` when the answer to `id` was not among them and may still come.
pub(super) fn deliver(
    web: &Web,
    mut response: WebResponse,
    (router, reply): (&Arc<Router>, &Reply),
    id: u64,
    resumption: &mut Resumption,
) -> Result<ControlFlow<()>, Failure> {
    let server = web.server();
    match kind(&response) {
        Kind::Json => {
            let bytes = whole(&mut response, server)?;
            let status = response.response.status;
            web.finish(response);
            let _is_message = router.take(&bytes, reply);
            if router.is_wanted(id) {
                let text = String::from_utf8_lossy(&bytes);
                let said = clipped(&text, MAX_SHOWN);
                let words = match said.is_empty() {
                    true => format!(
                        "{server} answered with nothing: whether it did what was asked is not known."
                    ),
                    false => format!("{server} answered without an answer to the request: {said}"),
                };
                return Err(Failure::Status(
                    status,
                    None,
                    Problem::network(words)
                        .next("Check \"url\" of its entry in mcp.json.")
                        .into(),
                ));
            }
            Ok(ControlFlow::Break(()))
        }
        Kind::Events => {
            let mut take = |_: &str, data: &[u8]| {
                router.take(data, reply);
                match router.is_wanted(id) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            let ended = events(&mut response, server, resumption, &mut take)?;
            if ended.is_break() {
                web.finish(response);
                return Ok(ended);
            }
            Ok(match router.is_wanted(id) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        }
        Kind::Other => Err(refusal(response, server)),
    }
}
