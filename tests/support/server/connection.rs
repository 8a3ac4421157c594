//! One connection of the scripted server: reads requests, plays answers, and knows when the client leaves.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::sockopt::set_socket_linger;

use super::request::{Reader, Request};
use super::script::{Action, Answer, Framing};
use super::{Board, Side};

/// How often it is looked whether the client has left while nothing is to be sent.
const LOOK: Duration = Duration::from_millis(20);

/// What happens to the connection after an answer.
#[derive(PartialEq, Eq)]
enum After {
    Keep,
    End,
    Reset,
}

/// Serves one connection until either side ends it.
pub(super) fn serve(board: &Arc<Board>, socket: Arc<TcpStream>, connection: usize) {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).expect("an eventfd"));
    let watcher = {
        let (board, socket, wake) = (Arc::clone(board), Arc::clone(&socket), Arc::clone(&wake));
        thread::spawn(move || watch(&board, &socket, &wake, connection))
    };
    let after = converse(board, &socket, connection);
    board.gone(connection, Side::Server);
    // The watcher's share of the socket must be gone before ours, or closing it would not send the RST.
    let _ = rustix::io::write(&*wake, &1_u64.to_ne_bytes());
    let _ = watcher.join();
    if after == After::Reset {
        let _ = set_socket_linger(&*socket, Some(Duration::ZERO));
    } else {
        let _ = socket.shutdown(Shutdown::Write);
    }
}

/// Blocks until the client hangs up or the connection's own thread is done with it.
fn watch(board: &Board, socket: &TcpStream, wake: &OwnedFd, connection: usize) {
    loop {
        let mut both = [
            PollFd::new(socket, PollFlags::RDHUP),
            PollFd::new(wake, PollFlags::IN),
        ];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !both[0].revents().is_empty() {
            board.gone(connection, Side::Client);
        }
        return;
    }
}

fn converse(board: &Arc<Board>, socket: &Arc<TcpStream>, connection: usize) -> After {
    let mut reader = Reader::new(&**socket);
    loop {
        let request = match reader.next(connection) {
            Ok(Some(request)) => request,
            Ok(None) => break,
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                let fault = format!("not a request on connection {connection}");
                board.change(|s| s.faults.push(fault));
                return After::End;
            }
            Err(_) => break,
        };
        let last = request
            .header("connection")
            .is_some_and(|v| v.eq_ignore_ascii_case("close"));
        if is_probe(board, &request) {
            let answer = Answer::status(404);
            match (Player {
                board,
                socket,
                connection,
            })
            .play(answer, false)
            {
                Ok(After::Keep) if !last => continue,
                Ok(after) => return after,
                Err(_) => break,
            }
        }
        let (number, answer) = choose(board, &request);
        let head_only = request.method == "HEAD";
        let player = Player {
            board,
            socket,
            connection,
        };
        let played = player.play(answer, head_only);
        if played.is_ok() {
            board.change(|s| s.answered[number] = Some(Instant::now()));
        }
        match played {
            Ok(After::Keep) if !last => {}
            Ok(after) => return after,
            Err(_) => break,
        }
    }
    if !board.lock().ending {
        board.gone(connection, Side::Client);
    }
    After::End
}

/// Whether a request asks a server of local models what it has, and no exchange of the script is about that: older servers do not know such an address, and the
/// request is not counted.
fn is_probe(board: &Board, request: &Request) -> bool {
    let probes = ["/api/show", "/api/v0/models", "/props"];
    let probe = probes.iter().find(|probe| request.path.ends_with(*probe));
    probe.is_some_and(|probe| !board.lock().exchanges.iter().any(|one| one.names(probe)))
}

/// Finds the exchange for a request and makes its answer; a request without one fails the test and gets 400.
fn choose(board: &Board, request: &Request) -> (usize, Answer) {
    let (number, found) = board.change(|s| {
        s.requests.push(request.clone());
        s.answered.push(None);
        let found = s.exchanges.iter_mut().find(|e| e.fits(request));
        let found = found.map(super::script::Exchange::play);
        if found.is_none() {
            let body = request.text();
            let body: String = body.chars().take(400).collect();
            let line = format!("unexpected: {} {} {body}", request.method, request.path);
            s.faults.push(line);
        }
        (s.requests.len() - 1, found)
    });
    let answer = match found {
        Some((Some(make), before)) => catch_unwind(AssertUnwindSafe(|| make(request, before))).ok(),
        Some((None, _)) => Some(Answer::status(200)),
        None => None,
    };
    let answer = answer.unwrap_or_else(|| {
        board.change(|s| {
            if s.faults.is_empty() {
                s.faults.push("an answer's closure panicked".to_owned());
            }
        });
        Answer::text("text/plain", "the test's script has no answer for this").with_status(400)
    });
    (number, answer)
}

struct Player<'a> {
    board: &'a Board,
    socket: &'a TcpStream,
    connection: usize,
}

impl Player<'_> {
    fn play(&self, answer: Answer, head_only: bool) -> io::Result<After> {
        if let Some(latch) = &answer.head_after
            && !latch.pass(|| self.board.over(self.connection))
        {
            return Ok(After::End);
        }
        let framing = answer.framing;
        self.write(&head(&answer))?;
        if head_only {
            return Ok(After::Keep);
        }
        for action in answer.actions {
            match action {
                Action::Send(bytes) => self.body(framing, &bytes)?,
                Action::Pause(latch) => {
                    if !latch.pass(|| self.board.over(self.connection)) {
                        return Err(ErrorKind::BrokenPipe.into());
                    }
                }
                Action::Follow(news) => loop {
                    match news.recv_timeout(LOOK) {
                        Ok(bytes) => self.body(framing, &bytes)?,
                        Err(RecvTimeoutError::Disconnected) => break,
                        Err(RecvTimeoutError::Timeout) if self.board.over(self.connection) => {
                            return Err(ErrorKind::BrokenPipe.into());
                        }
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                },
                Action::Stall => {
                    let day = Duration::from_secs(86_400);
                    let _ = self.board.wait(day, |s| {
                        (s.ending || s.links[self.connection].gone.is_some()).then_some(())
                    });
                    return Err(ErrorKind::BrokenPipe.into());
                }
                Action::Reset => return Ok(After::Reset),
                Action::Close => return Ok(After::End),
            }
        }
        if framing == Framing::Chunked {
            self.write(b"0\r\n\r\n")?;
        }
        let told = answer
            .headers
            .iter()
            .any(|(n, v)| n.eq_ignore_ascii_case("connection") && v == "close");
        Ok(match framing {
            Framing::Length if answer.length.is_some() => After::End,
            Framing::Raw => After::End,
            _ if told => After::End,
            _ => After::Keep,
        })
    }

    fn body(&self, framing: Framing, bytes: &[u8]) -> io::Result<()> {
        if framing != Framing::Chunked {
            return self.write(bytes);
        }
        if bytes.is_empty() {
            return Ok(()); // An empty chunk would end the body.
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = self.socket;
        socket.write_all(bytes)
    }
}

/// The status line and headers.
fn head(answer: &Answer) -> Vec<u8> {
    if answer.framing == Framing::Raw {
        return Vec::new();
    }
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let sizes = answer.actions.iter().map(|action| match action {
        Action::Send(bytes) => bytes.len(),
        _ => 0,
    });
    head += &match answer.framing {
        Framing::Length => {
            let length = answer.length.unwrap_or_else(|| sizes.sum());
            format!("Content-Length: {length}\r\n")
        }
        Framing::Chunked => "Transfer-Encoding: chunked\r\n".to_owned(),
        Framing::Raw => "Connection: close\r\n".to_owned(),
    };
    head += "\r\n";
    head.into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}
