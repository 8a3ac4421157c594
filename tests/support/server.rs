//! A scripted HTTP/1.1 server on a loopback port: real sockets, an answer for each expected request, and a record of all.
//!
//! Dropping it ends every connection and fails the test when a request came that no exchange expected, or an expected one
//! did not come.

mod connection;
mod request;
mod script;

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use request::Reader;
pub use request::Request;
pub use script::{Answer, Exchange};

use super::latch;

/// The running server. Cloning is not possible: dropping it checks the script.
pub struct Server {
    board: Arc<Board>,
    address: SocketAddr,
}

/// What the threads share: everything that happened, and a condition variable that is notified of each change.
pub(crate) struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    exchanges: Vec<Exchange>,
    requests: Vec<Request>,
    answered: Vec<Option<Instant>>,
    links: Vec<Link>,
    faults: Vec<String>,
    threads: usize,
    ending: bool,
    lenient: bool,
}

/// One accepted connection and how it ended.
struct Link {
    socket: Weak<TcpStream>,
    accepted: Instant,
    gone: Option<(Side, Instant)>,
}

/// Who ended a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Server {
    /// Listens on a free port of 127.0.0.1 with an empty script.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound listener");
        let board = Arc::new(Board {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&board);
        board.lock().threads = 1;
        thread::spawn(move || {
            accept(&shared, &listener);
            shared.change(|s| s.threads -= 1);
        });
        Self { board, address }
    }

    /// A server with this script.
    pub fn with(script: impl IntoIterator<Item = Exchange>) -> Self {
        let server = Self::start();
        for exchange in script {
            server.expect(exchange);
        }
        server
    }

    /// A server that answers every request; `n` counts the requests before this one.
    pub fn answering(make: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::with([Exchange::any().any_times().by(make)])
    }

    /// A server that gives every request the same answer.
    pub fn always(answer: Answer) -> Self {
        Self::answering(move |_, _| answer.clone())
    }

    /// Adds an exchange to the end of the script.
    pub fn expect(&self, exchange: Exchange) -> &Self {
        self.board.change(|s| s.exchanges.push(exchange));
        self
    }

    /// Neither unexpected requests nor unplayed exchanges fail the test.
    pub fn lenient(self) -> Self {
        self.board.change(|s| s.lenient = true);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.board.lock().requests.clone()
    }

    /// The request of this number; fails the test when it has not come.
    pub fn request(&self, n: usize) -> Request {
        let requests = self.requests();
        let count = requests.len();
        let found = requests.into_iter().nth(n);
        found.unwrap_or_else(|| panic!("request {n} was not made; there were {count}"))
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.board.lock().links.len()
    }

    /// When connection `n` was accepted.
    pub fn accepted(&self, n: usize) -> Instant {
        self.board.lock().links[n].accepted
    }

    /// When the last byte of the answer to request `n` was handed to the socket, if it was.
    pub fn answered(&self, n: usize) -> Option<Instant> {
        self.board.lock().answered[n]
    }

    /// Waits until `n` requests have come.
    pub fn wait_requests(&self, n: usize, limit: Duration) {
        self.board
            .wait(limit, |s| (s.requests.len() >= n).then_some(()))
            .unwrap_or_else(|s| panic!("{} of {n} requests in {limit:?}", s.requests.len()));
    }

    /// Waits until the client has closed connection `n` and says when it was seen to.
    pub fn wait_closed(&self, n: usize, limit: Duration) -> Instant {
        let end = self
            .board
            .wait(limit, |s| s.links.get(n).and_then(|link| link.gone));
        match end {
            Ok((Side::Client, at)) => at,
            Ok((Side::Server, _)) => {
                panic!("the server ended connection {n} before the client did")
            }
            Err(s) if n < s.links.len() => panic!("connection {n} is still open after {limit:?}"),
            Err(_) => panic!("connection {n} was never made"),
        }
    }

    /// Ends all connections and waits, within reason, for the threads.
    fn end(&self) {
        let sockets: Vec<_> = {
            let mut state = self.board.lock();
            state.ending = true;
            self.board.changed.notify_all();
            state
                .links
                .iter()
                .filter_map(|l| l.socket.upgrade())
                .collect()
        };
        for socket in sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        let ended = self
            .board
            .wait(Duration::from_secs(5), |s| (s.threads == 0).then_some(()));
        if ended.is_err() {
            eprintln!("the scripted server left threads behind; does an answer's closure block?");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        let report = self.board.lock().report();
        if let Some(report) = report {
            if thread::panicking() {
                eprintln!("{report}");
            } else {
                panic!("{report}");
            }
        }
    }
}

impl State {
    /// How the requests differed from the script, if they did.
    fn report(&self) -> Option<String> {
        if self.lenient {
            return None;
        }
        let missing = self.exchanges.iter().filter(|e| e.missing() > 0);
        let lines: Vec<_> = self
            .faults
            .iter()
            .cloned()
            .chain(missing.map(|e| format!("not played ({} left): {}", e.missing(), e.describe())))
            .collect();
        let seen = self
            .requests
            .iter()
            .map(|r| format!("\n    {} {}", r.method, r.path));
        (!lines.is_empty()).then(|| {
            let seen: String = seen.collect();
            format!(
                "the server's script was not followed:\n  {}\n  requests that came:{seen}",
                lines.join("\n  ")
            )
        })
    }
}

impl Board {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and rings the bell.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let made = change(&mut self.lock());
        self.changed.notify_all();
        made
    }

    /// Waits until `ready` returns something; on timeout returns the state.
    pub(crate) fn wait<T>(
        &self,
        limit: Duration,
        ready: impl Fn(&State) -> Option<T>,
    ) -> Result<T, MutexGuard<'_, State>> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(found) = ready(&state) {
                return Ok(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(state);
            }
            state = latch::wait(&self.changed, state, left);
        }
    }

    /// Records the end of a connection; only the first one counts.
    pub(crate) fn gone(&self, connection: usize, side: Side) {
        let now = Instant::now();
        self.change(|s| s.links[connection].gone.get_or_insert((side, now)).0);
    }

    /// True when there is no client left to answer.
    pub(crate) fn over(&self, connection: usize) -> bool {
        let state = self.lock();
        state.ending || state.links[connection].gone.is_some()
    }
}

fn accept(board: &Arc<Board>, listener: &TcpListener) {
    while let Ok((socket, _)) = listener.accept() {
        if board.lock().ending {
            return;
        }
        let socket = Arc::new(socket);
        let _ = socket.set_nodelay(true);
        let connection = board.change(|s| {
            s.threads += 1;
            s.links.push(Link {
                socket: Arc::downgrade(&socket),
                accepted: Instant::now(),
                gone: None,
            });
            s.links.len() - 1
        });
        let board = Arc::clone(board);
        thread::spawn(move || {
            connection::serve(&board, socket, connection);
            board.change(|s| s.threads -= 1);
        });
    }
}
