//! What is remembered of one client: the era that its first message chose, and its requests that are being worked on.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::exchange::Peer;
use super::offering::invalid_params;
use super::request::{check, unsupported, version};
use crate::base::cancel::{Cancel, OnFire};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::mcp::revision::{Era, MODERN};

/// Requests of one client that stay open.
const MAX_OPEN: usize = 64;

/// A client over one connection.
#[derive(Default)]
pub(super) struct Client {
    era: Mutex<Option<Era>>,
    requests: Mutex<Requests>,
    changed: Condvar,
    pub peer: Arc<Peer>,
}

#[derive(Default)]
struct Requests {
    running: HashMap<RpcId, Running>,
    /// Answers that are being written; their ids may be used again.
    answered: usize,
}

/// An answer that is being written.
pub(super) struct Answering<'a>(&'a Client);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        lock(&self.0.requests).answered -= 1;
        self.0.changed.notify_all();
    }
}

struct Running {
    stop: Cancel,
    _with_all: OnFire,
    /// It would go on for as long as the connection does.
    is_open: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// The era of a request, which the first one settles for the connection.
    ///
    /// # Errors
    /// It comes before a handshake and says nothing of itself, or is of the era that the connection does not speak.
    pub(super) fn admit(&self, method: &str, params: &Value) -> Result<Era, RpcError> {
        let mut era = lock(&self.era);
        let settled = *era;
        match (settled, method, version(params)) {
            (Some(Era::Modern), "initialize", _) => {
                let asked = params.get("protocolVersion").and_then(Value::as_str);
                Err(RpcError {
                    message: format!("This connection speaks {MODERN}, which has no handshake."),
                    ..unsupported(asked.unwrap_or_default())
                })
            }
            (Some(Era::Legacy(_)), "initialize", _) => Err(RpcError::new(
                RpcError::INVALID_REQUEST,
                "The handshake was made already.",
            )),
            (Some(Era::Legacy(legacy)), _, Some(asked)) if asked == MODERN => Err(RpcError::new(
                RpcError::INVALID_REQUEST,
                format!("This connection speaks {}.", legacy.name),
            )),
            (Some(Era::Legacy(_)), ..) => Ok(settled.unwrap_or(Era::Modern)),
            (None, "initialize", None) => match params.get("protocolVersion") {
                Some(Value::String(asked)) => {
                    let agreed = Era::of_handshake(asked);
                    *era = Some(agreed);
                    self.peer.introduce(params.get("capabilities"));
                    Ok(agreed)
                }
                _ => Err(invalid_params("params.protocolVersion needs a text.")),
            },
            (None, "ping", None) => Ok(Era::of_handshake("")),
            (None, method, None) if method != "server/discover" => Err(invalid_params(
                "The first request is initialize, or says its protocol version in params._meta.",
            )),
            _ => {
                check(params)?;
                *era = Some(Era::Modern);
                Ok(Era::Modern)
            }
        }
    }

    /// The era that was settled.
    pub(super) fn era(&self) -> Option<Era> {
        *lock(&self.era)
    }

    /// Remembers a request until [`Self::ended`]; its token fires with `all`, and when the client takes it back.
    ///
    /// # Errors
    /// Its id is that of a request that is being worked on, or too many of those that stay open are.
    pub(super) fn begun(
        &self,
        id: &RpcId,
        is_open: bool,
        all: &Cancel,
    ) -> Result<Cancel, RpcError> {
        let requests = &mut lock(&self.requests).running;
        let refused = |words: &str| Err(RpcError::new(RpcError::INVALID_REQUEST, words));
        if requests.contains_key(id) {
            return refused("A request with this id is being worked on.");
        }
        let open = requests.values().filter(|request| request.is_open).count();
        if is_open && open >= MAX_OPEN {
            return refused("Too many requests stay open; end one of them first.");
        }
        let (stop, with_all) = all.child();
        let running = Running {
            stop: stop.clone(),
            _with_all: with_all,
            is_open,
        };
        requests.insert(id.clone(), running);
        Ok(stop)
    }

    /// Whether the client has not taken a request back, so that it wants an answer.
    pub(super) fn is_wanted(&self, id: &RpcId) -> bool {
        lock(&self.requests).running.contains_key(id)
    }

    /// Takes note that a request is answered from now on; `None` when the client has taken it back.
    pub(super) fn answers(&self, id: &RpcId) -> Option<Answering<'_>> {
        let mut requests = lock(&self.requests);
        if requests.running.remove(id).is_none() {
            self.changed.notify_all();
            return None;
        }
        requests.answered += 1;
        Some(Answering(self))
    }

    /// Takes note that a batch is worked on, until the value of [`Self::batch`] is dropped: its answers are written together, after all of its requests.
    pub(super) fn begun_batch(&self) {
        lock(&self.requests).answered += 1;
    }

    /// A batch of which [`Self::begun_batch`] was told.
    pub(super) fn batch(&self) -> Answering<'_> {
        Answering(self)
    }

    /// Forgets a request.
    pub(super) fn ended(&self, id: &RpcId) {
        lock(&self.requests).running.remove(id);
        self.changed.notify_all();
    }

    /// The client takes a request back.
    pub(super) fn take_back(&self, id: &RpcId) {
        let taken = lock(&self.requests).running.remove(id);
        if let Some(taken) = taken {
            taken.stop.fire();
        }
    }

    /// Obeys the one notification that matters.
    pub(super) fn notified(&self, message: Incoming) {
        if let Incoming::Notification { method, mut params } = message
            && method == "notifications/cancelled"
            && let Some(id) = params
                .get_mut("requestId")
                .and_then(|id| RpcId::read(id.take()))
        {
            self.take_back(&id);
        }
    }

    /// Waits until nothing is being worked on, but for requests that stay open unless `open_too`.
    pub(super) fn wait(&self, open_too: bool, limit: Duration) {
        let is_busy = |requests: &mut Requests| {
            let mut running = requests.running.values();
            requests.answered > 0 || running.any(|request| open_too || !request.is_open)
        };
        let requests = lock(&self.requests);
        drop(self.changed.wait_timeout_while(requests, limit, is_busy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_used_again_as_soon_as_it_is_answered_and_the_end_waits_for_the_answer() {
        let (client, all, id) = (Client::default(), Cancel::new(), RpcId::Number(1.into()));
        let begin = || client.begun(&id, false, &all);
        assert!(begin().is_ok() && begin().is_err());
        let answering = client.answers(&id);
        assert!(answering.is_some() && begin().is_ok());
        client.take_back(&id);
        assert!(client.answers(&id).is_none());
        let is_written = || {
            client.wait(false, Duration::ZERO);
            lock(&client.requests).answered == 0
        };
        assert!(!is_written());
        drop(answering);
        assert!(is_written());
        client.begun_batch();
        assert!(!is_written());
        drop(client.batch());
        assert!(is_written());
    }
}
