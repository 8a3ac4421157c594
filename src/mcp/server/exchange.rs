//! One request that is being worked on: what it may use, and the way to its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::base::cancel::Cancel;
use crate::base::json::put;
use crate::formats::json_rpc::{Incoming, RpcId};
use crate::mcp::revision::Era;

/// Where the messages to a client go that answer nothing.
pub(super) trait Outlet: Send + Sync {
    /// Sends one message. A client that is gone is no failure of the request.
    fn send(&self, message: String);
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
    told: Arc<AtomicU64>,
}

impl Exchange {
    pub(super) fn new(
        id: RpcId,
        era: Era,
        params: &Value,
        stop: Cancel,
        outlet: Arc<dyn Outlet>,
    ) -> Self {
        let token = params.pointer("/_meta/progressToken");
        let is_token = |token: &&Value| token.is_string() || token.is_number();
        Self {
            id,
            era,
            stop,
            progress_token: token.filter(is_token).cloned(),
            outlet,
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

    /// Sends a notification that belongs to this request.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.outlet.send(Incoming::notification(method, params));
    }
}
