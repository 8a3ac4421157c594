//! The transport over HTTP on this machine ("Streamable HTTP"): one address, `/mcp`, to which clients post messages.
//!
//! [`gate`] says who may; [`post`] answers a message; [`sessions`] are what clients of the revisions with a handshake have. It exists for programs that cannot
//! start the server themselves.

mod gate;
mod headers;
mod post;
mod sessions;

use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::engine::Server;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::net::http_server::{HttpRequest, HttpResponse, NoRequest};
use crate::net::peer_owner;
use gate::Gate;
use sessions::Sessions;

/// Connections at once.
const MAX_CONNECTIONS: usize = 64;
/// Largest message in bytes.
const MAX_BODY: u64 = 16 << 20;
/// How long a connection may be silent between requests.
const IDLE: Duration = Duration::from_secs(60);
/// How often the listener looks whether it should end.
const STOP_PERIOD: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A server that listens.
pub(crate) struct HttpServer {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// What all connections use.
struct Shared {
    server: Arc<Server>,
    gate: Gate,
    sessions: Sessions,
    connections: AtomicUsize,
    /// Ends every request.
    all: Cancel,
}

impl HttpServer {
    /// Listens at `address`, which is one of this machine's own; with `token` only for clients that send it.
    ///
    /// # Errors
    /// The address is in use.
    pub(crate) fn open(
        server: Arc<Server>,
        address: SocketAddr,
        token: Option<&str>,
        stop: &Cancel,
    ) -> Outcome<Self> {
        let failed = |error: std::io::Error| {
            Problem::system(format!("Cannot listen at {address}"), error)
                .next("Choose another port with --http PORT; 0 finds a free one.")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let shared = Arc::new(Shared {
            server,
            gate: Gate::new(port, token),
            sessions: Sessions::default(),
            connections: AtomicUsize::new(0),
            all: stop.clone(),
        });
        Ok(Self { listener, shared })
    }

    /// The address for clients.
    pub(crate) fn address(&self) -> String {
        let address = self.listener.local_addr();
        address.map_or_else(
            |error| error.to_string(),
            |address| format!("http://{address}/mcp"),
        )
    }

    /// Serves until it is stopped.
    pub(crate) fn serve(&self) {
        while !self.shared.all.is_fired() {
            let mut waiting = [PollFd::new(&self.listener, PollFlags::IN)];
            if !matches!(poll(&mut waiting, Some(&STOP_PERIOD)), Ok(1..)) {
                continue;
            }
            let Ok((stream, _)) = self.listener.accept() else {
                self.shared.all.sleep(Duration::from_millis(50));
                continue;
            };
            let shared = Arc::clone(&self.shared);
            if shared.connections.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
                let _ = HttpResponse::words(503, "Too many connections.").send(&stream, false);
                shared.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let counted = Counted(Arc::clone(&shared));
            let started = thread::Builder::new().spawn(move || {
                let _counted = counted;
                shared.connection(stream);
            });
            // Without a thread the connection is closed.
            drop(started);
        }
    }
}

/// A connection that counts until it ends, however.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    fn connection(&self, stream: TcpStream) {
        // Before a byte is read: another user of the machine may not hold memory and places.
        if !peer_owner::is_own(&stream) {
            let _ = gate::not_from_here().send(&stream, false);
            return;
        }
        let ready = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(IDLE)))
            .and_then(|()| stream.set_write_timeout(Some(IDLE)));
        let Ok(reading) = ready.and_then(|()| stream.try_clone()) else {
            return;
        };
        let mut input = BufReader::new(reading);
        loop {
            let request = match HttpRequest::read(&mut input, MAX_BODY) {
                Ok(request) => request,
                Err(NoRequest::End) => return,
                Err(NoRequest::Bad(status, words)) => {
                    let _ = HttpResponse::words(status, words).send(&stream, false);
                    return;
                }
            };
            let response = self
                .gate
                .refusal(&request)
                .or_else(|| self.answer(&request, &stream));
            let stays = request.stays && response.is_some();
            // A stream of events was the response, and ended the connection.
            let Some(response) = response else { return };
            if response.send(&stream, stays).is_err() || !stays || self.all.is_fired() {
                return;
            }
        }
    }

    /// The response to a request that may be made; none when a stream of events was it.
    fn answer(&self, request: &HttpRequest, stream: &TcpStream) -> Option<HttpResponse> {
        let session = request.header(headers::SESSION);
        let is_legacy = session.is_some() && !headers::is_modern(request);
        match (request.method.as_str(), session) {
            ("POST", _) => self.post(request, stream),
            ("GET", Some(id)) if is_legacy => self.listen(id, stream),
            ("DELETE", Some(id)) if is_legacy => Some(match self.sessions.end(id) {
                true => HttpResponse::empty(200),
                false => no_session(),
            }),
            _ => Some(HttpResponse::empty(405).with("Allow", "POST")),
        }
    }
}

/// The client's session is not known any more: it begins another one.
fn no_session() -> HttpResponse {
    HttpResponse::words(404, "There is no such session.")
}
