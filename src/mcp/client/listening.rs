//! The subscription by which a server of the modern era tells what has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::Wait;
use super::inbound::Inbound;
use super::modern;
use super::opening::Live;
use super::transport::{Failure, Request};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::json::put;

/// The longest pause before a subscription that broke is asked for again.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A subscription that broke after this time worked.
const WORKED: Duration = Duration::from_secs(60);
/// A subscription has no end of its own.
const ALWAYS: Duration = Duration::from_secs(365 * 24 * 3_600);

/// A subscription, until it is dropped.
pub(super) struct Listener {
    stop: Cancel,
    _with_all: OnFire,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.fire();
    }
}

impl Listener {
    /// Subscribes to what the server offers, if anybody wants to hear of it.
    pub(super) fn start(
        live: &Arc<Live>,
        inbound: &Arc<Inbound>,
        ids: &Arc<AtomicU64>,
        log_level: Option<&str>,
        uris: &[String],
    ) -> Option<Self> {
        inbound.events.as_ref()?;
        let wanted = wanted(&live.facts.capabilities, uris)?;
        let params = modern::with_meta(json!({ "notifications": wanted }), inbound, log_level);
        let (stop, with_all) = inbound.stop.child();
        let (live, ids, own) = (Arc::clone(live), Arc::clone(ids), stop.clone());
        let run = move || listen(&live, &ids, &params, &own);
        let name = thread::Builder::new().name("mcp-listen".to_owned());
        // Without a thread lists are as old as the connection.
        name.spawn(run).ok()?;
        Some(Self {
            stop,
            _with_all: with_all,
        })
    }
}

/// What to subscribe to; `None` where the server offers nothing of it.
fn wanted(capabilities: &Value, uris: &[String]) -> Option<Value> {
    let offers = |pointer: &str| capabilities.pointer(pointer) == Some(&Value::Bool(true));
    let mut wanted = json!({});
    for (pointer, field) in [
        ("/tools/listChanged", "toolsListChanged"),
        ("/prompts/listChanged", "promptsListChanged"),
        ("/resources/listChanged", "resourcesListChanged"),
    ] {
        if offers(pointer) {
            put(&mut wanted, field, true);
        }
    }
    if offers("/resources/subscribe") && !uris.is_empty() {
        put(&mut wanted, "resourceSubscriptions", uris.to_vec());
    }
    (wanted != json!({})).then_some(wanted)
}

/// Keeps the request open; what it tells comes as notifications.
fn listen(live: &Live, ids: &AtomicU64, params: &Value, stop: &Cancel) {
    let mut pause = Duration::from_secs(1);
    loop {
        let begun = std::time::Instant::now();
        let request = Request {
            id: ids.fetch_add(1, Ordering::Relaxed) + 1,
            method: "subscriptions/listen",
            params,
            version: Some(&live.facts.version),
            headers: &[],
        };
        match live.transport.request(&request, Wait::new(ALWAYS, stop)) {
            Err(Failure::Lost(..) | Failure::Status(500.., ..)) if live.transport.is_alive() => {}
            // The server has ended it, or does not know it.
            _ => return,
        }
        if begun.elapsed() > WORKED {
            pause = Duration::from_secs(1);
        }
        if !stop.sleep(pause) {
            return;
        }
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
