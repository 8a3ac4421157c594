//! The requests to the other side that have no answer yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::Value;

use super::{RpcError, RpcId};

/// The answer to a request.
pub(crate) type RpcResult = Result<Value, RpcError>;

/// Why a request cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CannotAsk {
    /// The other side answers nothing any more.
    Closed,
    /// So many have no answer that no further one is sent.
    TooMany,
}

/// Requests by their ids, which are numbers from 1 and never used again.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    state: Mutex<RequestState>,
}

#[derive(Debug, Default)]
struct RequestState {
    last: u64,
    open: HashMap<u64, Sender<RpcResult>>,
    is_closed: bool,
}

impl OpenRequests {
    fn lock(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of a new request, and where its answer arrives. That place is closed without one when the other side goes.
    ///
    /// # Errors
    /// There are `most` already, or the other side is gone.
    pub(crate) fn open(&self, most: usize) -> Result<(u64, Receiver<RpcResult>), CannotAsk> {
        let (send, answer) = bounded(1);
        let mut state = self.lock();
        if state.is_closed {
            return Err(CannotAsk::Closed);
        }
        if state.open.len() >= most {
            return Err(CannotAsk::TooMany);
        }
        state.last += 1;
        let id = state.last;
        state.open.insert(id, send);
        Ok((id, answer))
    }

    /// An answer has come. False when nobody waits for it: it is the second one, or comes too late, or was never asked for.
    pub(crate) fn answer(&self, id: &RpcId, result: RpcResult) -> bool {
        let open = id.as_u64().and_then(|id| self.lock().open.remove(&id));
        open.is_some_and(|open| open.send(result).is_ok())
    }

    /// Nobody waits for this answer any more.
    pub(crate) fn withdraw(&self, id: u64) {
        self.lock().open.remove(&id);
    }

    /// The other side is gone: whoever waits learns of it, and nothing more is asked.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_answer_counts_and_others_are_nobodys() {
        let requests = OpenRequests::default();
        let (id, answer) = requests.open(2).unwrap();
        assert!(!requests.answer(&RpcId::Text(id.to_string()), Ok(json!(0))));
        assert!(!requests.answer(&RpcId::Null, Ok(json!(0))));
        assert!(requests.answer(&id.into(), Ok(json!(1))));
        assert!(!requests.answer(&id.into(), Ok(json!(2))));
        assert_eq!(answer.recv().unwrap(), Ok(json!(1)));
        let (withdrawn, _) = requests.open(2).unwrap();
        requests.withdraw(withdrawn);
        assert!(!requests.answer(&withdrawn.into(), Ok(json!(3))));
        assert_ne!(id, withdrawn);
    }

    #[test]
    fn there_is_a_limit_and_an_end() {
        let requests = OpenRequests::default();
        let (_, answer) = requests.open(1).unwrap();
        assert_eq!(requests.open(1).unwrap_err(), CannotAsk::TooMany);
        requests.close();
        assert!(answer.recv().is_err());
        assert_eq!(requests.open(1).unwrap_err(), CannotAsk::Closed);
    }
}
