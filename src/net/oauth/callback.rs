//! The loopback server that the browser is redirected to: open for a limited time, responds with a small page, and is closed on every exit path.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::redirect::AuthResponse;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};

const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Maximum simultaneous connections; browsers open some that they never use.
const MAX_CONNECTIONS: usize = 32;
/// How long a connection may be silent, and how long sending the page may take.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
const SENDING: Duration = Duration::from_secs(2);
/// Maximum bytes of a request's head.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The redirect address with this port: the numeric loopback address (RFC 8252 section 8.3), and the only one that Spotify accepts.
pub(crate) fn redirect(port: u16) -> String {
    format!("http://127.0.0.1:{port}/callback")
}

/// The listener; dropping it frees the port.
pub(crate) struct CallbackServer {
    listener: TcpListener,
    port: u16,
    visits: Vec<BrowserConnection>,
}

struct BrowserConnection {
    stream: TcpStream,
    head: Vec<u8>,
    since: Instant,
}

/// A callback, and the browser connection that waits for a page.
pub(crate) struct Callback {
    pub(crate) response: AuthResponse,
    stream: TcpStream,
}

impl CallbackServer {
    /// Listens on the port; 0 means a free one.
    ///
    /// # Errors
    /// The port is in use.
    pub(crate) fn open(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            visits: Vec::new(),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for a callback that is of this sign-in; others are rejected. `None` on timeout, after which the wait can go on.
    ///
    /// # Errors
    /// `Cancelled`; the socket fails.
    pub(crate) fn wait(
        &mut self,
        is_ours: &dyn Fn(&AuthResponse) -> bool,
        limit: Duration,
        stop: &Cancel,
    ) -> Outcome<Option<Callback>> {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) => {
                        if stream.set_nonblocking(true).is_ok()
                            && self.visits.len() < MAX_CONNECTIONS
                        {
                            self.visits.push(BrowserConnection {
                                stream,
                                head: Vec::new(),
                                since: Instant::now(),
                            });
                        }
                    }
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => break,
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                        ) => {}
                    Err(error) => {
                        return Err(Problem::system("Waiting for the browser failed", error));
                    }
                }
            }
            let mut waiting = Vec::new();
            for mut visit in std::mem::take(&mut self.visits) {
                match visit.look() {
                    CallbackCheck::More => waiting.push(visit),
                    CallbackCheck::Gone => {}
                    CallbackCheck::Asked(target) => match classify(&target, is_ours) {
                        Ok(response) => {
                            return Ok(Some(Callback {
                                response,
                                stream: visit.stream,
                            }));
                        }
                        Err((status, words)) => page(visit.stream, status, words),
                    },
                }
            }
            self.visits = waiting;
            if !stop.sleep(POLL_INTERVAL) {
                return Err(Problem::cancelled());
            }
        }
        Ok(None)
    }
}

enum CallbackCheck {
    More,
    Gone,
    /// The target of a complete request.
    Asked(String),
}

impl BrowserConnection {
    fn look(&mut self) -> CallbackCheck {
        let mut piece = [0u8; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return CallbackCheck::Gone,
                Ok(count) => self
                    .head
                    .extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(reason) if reason.kind() == ErrorKind::WouldBlock => break,
                Err(reason) if reason.kind() == ErrorKind::Interrupted => {}
                Err(_) => return CallbackCheck::Gone,
            }
            if self.head.len() > MAX_HEAD_BYTES {
                return CallbackCheck::Gone;
            }
        }
        if !self.head.windows(4).any(|end| end == b"\r\n\r\n") {
            return if self.since.elapsed() > CONNECTION_TIMEOUT {
                CallbackCheck::Gone
            } else {
                CallbackCheck::More
            };
        }
        CallbackCheck::Asked(target(&self.head).unwrap_or_default())
    }
}

/// The target of a GET request.
fn target(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut words = text.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    Some(words.next()?.to_owned())
}

/// The callback in a request, or the status and text of its rejection.
fn classify(
    target: &str,
    is_ours: &dyn Fn(&AuthResponse) -> bool,
) -> Result<AuthResponse, (&'static str, &'static str)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != "/callback" {
        return Err(("404 Not Found", "There is nothing here."));
    }
    let response = AuthResponse::read(query);
    if is_ours(&response) {
        return Ok(response);
    }
    let words = match (&response.code, &response.error) {
        (None, None) => "This address contains no response to a sign-in.",
        _ => {
            "This answer does not belong to the sign-in that is under way (wrong state). It was not used."
        }
    };
    Err(("400 Bad Request", words))
}

impl Callback {
    /// Shows the result to the user.
    pub(crate) fn answer(self, words: &str) {
        page(self.stream, "200 OK", words);
    }
}

fn page(mut stream: TcpStream, status: &str, words: &str) {
    let body = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Marvin</title><p>{words}</p></html>\n"
    );
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // If the browser is gone, only the page is lost.
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_write_timeout(Some(SENDING));
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visit(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        write!(
            stream,
            "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn with_state(response: &AuthResponse) -> bool {
        response.code.is_some() && response.state.as_deref() == Some("S")
    }

    #[test]
    fn other_requests_are_rejected_and_the_callback_is_accepted() {
        let mut server = CallbackServer::open(0).unwrap();
        let port = server.port();
        std::thread::scope(|scope| {
            let browser = scope.spawn(move || {
                let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                assert!(visit(port, "/favicon.ico").starts_with("HTTP/1.1 404 "));
                assert!(visit(port, "/callback").starts_with("HTTP/1.1 400 "));
                assert!(visit(port, "/callback?code=C&state=wrong").contains("wrong state"));
                let text = visit(port, "/callback?code=C&state=S");
                drop(silent);
                text
            });
            let callback = server
                .wait(&with_state, Duration::from_secs(10), &Cancel::new())
                .unwrap()
                .unwrap();
            assert_eq!(callback.response.code.as_deref(), Some("C"));
            callback.answer("Done.");
            assert!(browser.join().unwrap().contains("<p>Done.</p>"));
        });
        drop(server);
        CallbackServer::open(port).unwrap();
    }

    #[test]
    fn cancellation_ends_the_wait_and_frees_the_port() {
        let mut server = CallbackServer::open(0).unwrap();
        let port = server.port();
        assert!(CallbackServer::open(port).is_err());
        let stop = Cancel::new();
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| stop.fire());
            assert!(
                server
                    .wait(&with_state, Duration::from_secs(60), &stop)
                    .is_err_and(|reason| reason.is_cancelled())
            );
        });
        assert!(start.elapsed() < Duration::from_secs(20));
        drop(server);
        CallbackServer::open(port).unwrap();
    }

    #[test]
    fn the_wait_times_out() {
        let mut server = CallbackServer::open(0).unwrap();
        assert!(
            server
                .wait(&with_state, Duration::from_millis(60), &Cancel::new())
                .unwrap()
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn a_callback_without_the_state_is_rejected(query in "[a-z=&%0-9]{0,60}") {
            let callback = classify(&format!("/callback?{query}"), &with_state);
            prop_assert!(callback.is_err());
        }
    }
}
