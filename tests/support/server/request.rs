//! Requests as they came over the wire, and the reader that takes them off a socket.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use serde_json::Value;

/// One complete request.
#[derive(Clone)]
pub struct Request {
    /// `POST`, `GET` and so on.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Names as sent, in order.
    pub headers: Vec<(String, String)>,
    /// The body, chunk framing removed.
    pub body: Vec<u8>,
    /// Which connection brought it, counted from 0.
    pub connection: usize,
    /// When its last byte had arrived.
    pub arrived: Instant,
}

impl Request {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    /// The body as JSON; fails the test with the body when it is not.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("the request's body is not JSON ({e}): {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The undecoded value of a parameter of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v)
    }
}

/// Reads requests off one connection and keeps what came too early.
pub(crate) struct Reader<S> {
    socket: S,
    kept: Vec<u8>,
}

impl<S: Read + Write> Reader<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self {
            socket,
            kept: Vec::new(),
        }
    }

    /// The next request; `None` when the client closed between two requests, an error when it closed within one.
    pub(crate) fn next(&mut self, connection: usize) -> io::Result<Option<Request>> {
        let head = match self.until(b"\r\n\r\n") {
            Ok(head) => head,
            Err(e) if e.kind() == ErrorKind::UnexpectedEof && self.kept.is_empty() => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (first.next(), first.next());
        let mut request = Request {
            method: method.unwrap_or_default().to_owned(),
            path: path.unwrap_or_default().to_owned(),
            headers: lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
            connection,
            arrived: Instant::now(),
        };
        if request.header("expect").is_some() {
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let chunked = request
            .header("transfer-encoding")
            .is_some_and(|v| v.eq_ignore_ascii_case("chunked"));
        request.body = if chunked {
            self.chunks()?
        } else {
            let length = request.header("content-length").unwrap_or("0");
            self.exactly(length.parse().map_err(|_| ErrorKind::InvalidData)?)?
        };
        request.arrived = Instant::now();
        Ok(Some(request))
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n")?;
            let size = String::from_utf8_lossy(&line);
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
            if size == 0 {
                while !self.until(b"\r\n")?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.exactly(size)?);
            self.until(b"\r\n")?;
        }
    }

    /// Everything before `mark`, which is taken too.
    fn until(&mut self, mark: &[u8]) -> io::Result<Vec<u8>> {
        let mut from = 0;
        loop {
            let found = self.kept.get(from..).and_then(|rest| {
                rest.windows(mark.len())
                    .position(|w| w == mark)
                    .map(|i| i + from)
            });
            if let Some(at) = found {
                let rest = self.kept.split_off(at + mark.len());
                let mut taken = std::mem::replace(&mut self.kept, rest);
                taken.truncate(at);
                return Ok(taken);
            }
            from = self.kept.len().saturating_sub(mark.len());
            self.more()?;
        }
    }

    fn exactly(&mut self, size: usize) -> io::Result<Vec<u8>> {
        while self.kept.len() < size {
            self.more()?;
        }
        let rest = self.kept.split_off(size);
        Ok(std::mem::replace(&mut self.kept, rest))
    }

    fn more(&mut self) -> io::Result<()> {
        let mut piece = [0; 64 * 1024];
        loop {
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    self.kept.extend(piece.iter().take(n));
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}
