//! Batches: a list of messages, answered with a list. Only the revision 2025-03-26 has them.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::client::Client;
use super::engine::Server;
use super::exchange::Outlet;
use crate::base::cancel::Cancel;
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::mcp::revision::{Era, Legacy};

const REVISION: &str = "2025-03-26";
/// Messages of one batch.
const MAX_MESSAGES: usize = 100;

/// The messages of a batch, if `body` is one and the client's revision has them.
pub(super) fn read(client: &Client, body: &[u8]) -> Option<Vec<Box<RawValue>>> {
    let has_batches = matches!(
        client.era(),
        Some(Era::Legacy(Legacy { name: REVISION, .. }))
    );
    let is_list = || body.trim_ascii_start().starts_with(b"[");
    match has_batches && is_list() {
        true => serde_json::from_slice(body).ok(),
        false => None,
    }
}

/// Works on the messages one after the other. None when nothing wants an answer.
pub(super) fn answered(
    server: &Server,
    client: &Client,
    batch: &[Box<RawValue>],
    outlet: &Arc<dyn Outlet>,
    all: &Cancel,
) -> Option<String> {
    if batch.is_empty() || batch.len() > MAX_MESSAGES {
        let words = format!("A batch has 1 to {MAX_MESSAGES} messages.");
        let error = RpcError::new(RpcError::INVALID_REQUEST, words);
        return Some(Incoming::answer(&RpcId::Null, &Err(error)));
    }
    let mut answers = Vec::new();
    for message in batch {
        if all.is_fired() {
            break;
        }
        match Incoming::read_versioned(message.get().as_bytes()) {
            Ok(Incoming::Request { id, method, params }) => {
                let request = (id.clone(), method.as_str(), params);
                match server.admit(client, request, Arc::clone(outlet), all) {
                    Ok(admitted) => {
                        let answer = server.answer(&admitted);
                        // One that was taken back wants none.
                        if client.is_wanted(&id) {
                            answers.push(Incoming::answer(&id, &answer));
                        }
                        client.ended(&id);
                    }
                    Err(error) => answers.push(Incoming::answer(&id, &Err(error))),
                }
            }
            Ok(Incoming::Answer { id, result }) => {
                client.peer.questions.answer(&id, result);
            }
            Ok(message) => client.notified(message),
            Err(misread) => answers.push(Incoming::answer(&misread.id, &Err(misread.error))),
        }
    }
    (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
}
