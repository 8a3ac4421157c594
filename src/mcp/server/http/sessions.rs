//! Sessions of clients that began with a handshake.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::cancel::{Cancel, OnFire};
use crate::base::ids;
use crate::mcp::server::client::Client;

/// A session that nobody used for so long is over.
const IDLE: Duration = Duration::from_secs(30 * 60);

pub(super) struct Session {
    pub client: Client,
    /// Ends its requests and streams.
    pub stop: Cancel,
    _with_all: OnFire,
    used: Mutex<Instant>,
}

impl Session {
    /// One that ends with `all`.
    pub(super) fn new(all: &Cancel) -> Self {
        let (stop, _with_all) = all.child();
        Self {
            client: Client::default(),
            stop,
            _with_all,
            used: Mutex::new(Instant::now()),
        }
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a session and returns its id.
    pub(super) fn keep(&self, session: Arc<Session>) -> String {
        let id = ids::hex(32);
        let mut all = self.all();
        all.retain(|_, session| session.used().elapsed() < IDLE);
        all.insert(id.clone(), session);
        id
    }

    /// The session of that id, which counts as used.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.all().get(id).map(Arc::clone)?;
        let last = std::mem::replace(&mut *session.used(), Instant::now());
        (last.elapsed() < IDLE).then_some(session)
    }

    /// Ends a session; false if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let session = self.all().remove(id);
        session.is_some_and(|session| {
            session.stop.fire();
            true
        })
    }
}
