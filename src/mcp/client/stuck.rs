//! Ends a server's process that answers nothing any more: the next operation starts it anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::connection::Wait;
use super::idle::Usage;
use super::inbound::Inbound;
use super::modern;
use super::opening::Live;
use super::transport::Request;

/// How long such a server may take to answer anything at all.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last request for which nobody waited any more.
#[derive(Default)]
pub(super) struct GivenUp(Mutex<Option<Mark>>);

struct Mark {
    live: Weak<Live>,
    at: Instant,
    /// Messages that had come from the server.
    heard: u64,
}

impl GivenUp {
    /// A request that begun then was given up. True if one before it was too, and the server has said nothing since.
    pub(super) fn again(&self, live: &Arc<Live>, begun: Instant) -> bool {
        let heard = live.transport.heard();
        let mark = Mark {
            live: Arc::downgrade(live),
            at: Instant::now(),
            heard,
        };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.replace(mark);
        before.is_some_and(|before| {
            // Of requests that were given up together the server has not had a second one.
            before.at <= begun
                && before.heard == heard
                && std::ptr::eq(before.live.as_ptr(), Arc::as_ptr(live))
        })
    }
}

/// Asks a server for a sign of life, and ends it when none comes. Nobody waits for that.
pub(super) fn end_unless_it_answers(
    live: &Arc<Live>,
    usage: &Arc<Usage>,
    inbound: &Arc<Inbound>,
    ids: &Arc<AtomicU64>,
) {
    let (live, usage) = (Arc::clone(live), Arc::clone(usage));
    let (inbound, ids) = (Arc::clone(inbound), Arc::clone(ids));
    let knock = move || {
        let heard = live.transport.heard();
        let (method, params) = match live.facts.is_modern {
            true => (
                "server/discover",
                modern::with_meta(json!({}), &inbound, None),
            ),
            false => ("ping", json!({})),
        };
        let request = Request {
            id: ids.fetch_add(1, Ordering::Relaxed) + 1,
            method,
            params: &params,
            version: Some(&live.facts.version),
            headers: &[],
        };
        let _answer = (live.transport).request(&request, Wait::new(PATIENCE, &inbound.stop));
        if live.transport.heard() == heard && live.transport.is_alive() {
            inbound
                .ring
                .line("(ended by Marvin: it answered nothing any more)");
            usage.end();
            live.transport.close();
        }
    };
    // Without a thread it lives on.
    let _ = thread::Builder::new()
        .name("mcp-stuck".to_owned())
        .spawn(knock);
}
