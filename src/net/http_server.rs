//! HTTP/1.1 (RFC 9112) for a server on this machine: reads requests of a connection and writes their responses. Heads are parsed by httparse.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// Largest head of a request in bytes, and most headers.
const MAX_HEAD: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct HttpRequest {
    pub method: String,
    /// As sent, without a query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// More requests may follow on the connection.
    pub stays: bool,
}

/// Why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRequest {
    /// The connection ended, or was silent for too long.
    End,
    /// It cannot be read; the status and the words to answer with, after which the connection ends.
    Bad(u16, &'static str),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::End
    }
}

impl HttpRequest {
    /// Reads the next request, with a body of at most `most` bytes.
    ///
    /// # Errors
    /// There is none, or it is none.
    pub(crate) fn read(input: &mut BufReader<TcpStream>, most: u64) -> Result<Self, NoRequest> {
        let head = read_head(input)?;
        let mut request = Self::of_head(&head)?;
        if request.header("transfer-encoding").is_some() {
            return Err(NoRequest::Bad(
                411,
                "Send the body with its Content-Length.",
            ));
        }
        let length = match request.header("content-length") {
            None => 0,
            Some(text) => text
                .parse::<u64>()
                .ok()
                .filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
                .ok_or(NoRequest::Bad(400, "Content-Length is no number."))?,
        };
        if length > most {
            return Err(NoRequest::Bad(413, "The body is too large."));
        }
        if request.header("expect").is_some() {
            input
                .get_ref()
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        input.take(length).read_to_end(&mut request.body)?;
        match request.body.len() as u64 == length {
            true => Ok(request),
            false => Err(NoRequest::End),
        }
    }

    fn of_head(head: &[u8]) -> Result<Self, NoRequest> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let bad = NoRequest::Bad(400, "This is no HTTP request.");
        let (Ok(httparse::Status::Complete(_)), Some(method), Some(target)) =
            (parsed.parse(head), parsed.method, parsed.path)
        else {
            return Err(bad);
        };
        let headers = parsed.headers.iter().map(|header| {
            let value = String::from_utf8_lossy(header.value).trim().to_owned();
            (header.name.to_ascii_lowercase(), value)
        });
        let headers: Vec<(String, String)> = headers.collect();
        let is_twice = |name: &str| headers.iter().filter(|(own, _)| own == name).count() > 1;
        if ["host", "content-length", "origin", "authorization"]
            .into_iter()
            .any(is_twice)
        {
            return Err(bad);
        }
        let mut request = Self {
            method: method.to_owned(),
            path: target.split('?').next().unwrap_or_default().to_owned(),
            headers,
            ..Self::default()
        };
        let closes = request
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        request.stays = parsed.version == Some(1) && !closes;
        Ok(request)
    }

    /// The values of a header that may be there several times, whose name is given in lower case.
    pub(crate) fn header_values(&self, name: &str) -> impl Iterator<Item = &str> {
        let headers = self.headers.iter().filter(move |(own, _)| own == name);
        headers.map(|(_, value)| value.as_str())
    }

    /// The value of a header, whose name is given in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads to the empty line behind the headers.
fn read_head(input: &mut BufReader<TcpStream>) -> Result<Vec<u8>, NoRequest> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        let room = (MAX_HEAD - before) as u64;
        let read = input.take(room).read_until(b'\n', &mut head)?;
        if read == 0 {
            return Err(NoRequest::End);
        }
        if head.len() >= MAX_HEAD {
            return Err(NoRequest::Bad(431, "The headers are too large."));
        }
        let line = head.get(before..).unwrap_or_default().trim_ascii();
        match (line.is_empty(), before) {
            // Some send an empty line behind a body.
            (true, 0) => head.clear(),
            (true, _) => return Ok(head),
            (false, _) => {}
        }
    }
}

/// What a status is called.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// A response whose body is known.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl HttpResponse {
    /// Without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn json(status: u16, body: String) -> Self {
        Self {
            headers: vec![("Content-Type", "application/json".to_owned())],
            body,
            ..Self::empty(status)
        }
    }

    /// A refusal in words.
    pub(crate) fn words(status: u16, words: &str) -> Self {
        Self {
            headers: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())],
            body: format!("{words}\n"),
            ..Self::empty(status)
        }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends it; `stays` says whether the connection does.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn send(&self, mut stream: &TcpStream, stays: bool) -> io::Result<()> {
        let mut head = head(self.status, &self.headers);
        head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        head.push_str(if stays {
            "\r\n"
        } else {
            "Connection: close\r\n\r\n"
        });
        head.push_str(&self.body);
        stream.write_all(head.as_bytes())
    }
}

fn head(status: u16, headers: &[(&'static str, String)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

/// A response that is a stream of events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>); the connection ends with it.
#[derive(Debug)]
pub(crate) struct EventStream<'a>(&'a TcpStream);

impl<'a> EventStream<'a> {
    /// Sends the head.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn open(
        mut stream: &'a TcpStream,
        mut headers: Vec<(&'static str, String)>,
    ) -> io::Result<Self> {
        for (name, value) in [
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache, no-transform"),
            ("X-Accel-Buffering", "no"),
            ("Connection", "close"),
        ] {
            headers.push((name, value.to_owned()));
        }
        let head = head(200, &headers);
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        Ok(Self(stream))
    }

    /// Sends an event. `data` has no line break.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn event(&mut self, data: &str) -> io::Result<()> {
        self.0
            .write_all(format!("event: message\ndata: {data}\n\n").as_bytes())
    }

    /// Says that the connection lives.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn comment(&mut self) -> io::Result<()> {
        self.0.write_all(b":\n\n")
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What is read of bytes that a client sends before it closes.
    fn read(bytes: &[u8]) -> Result<HttpRequest, NoRequest> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = client.write_all(bytes);
            });
            HttpRequest::read(&mut BufReader::new(stream), 100)
        })
    }

    #[test]
    fn a_request_has_its_path_headers_and_body() {
        let request = read(b"\r\nPOST /mcp?x=1 HTTP/1.1\r\nHost: a\r\nX-Two:  b \r\nContent-Length: 3\r\n\r\nabcdef").unwrap();
        assert_eq!((&*request.method, &*request.path), ("POST", "/mcp"));
        assert_eq!(request.header("x-two"), Some("b"));
        assert_eq!((&*request.body, request.stays), (&b"abc"[..], true));
        let last = read(b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").unwrap();
        assert!(!last.stays);
    }

    #[test]
    fn what_is_no_request_gets_a_status() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(MAX_HEAD));
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "A: b\r\n".repeat(MAX_HEADERS + 1)
        );
        for (bytes, status) in [
            (&b"nonsense\r\n\r\n"[..], 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413),
            (
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                411,
            ),
            (many.as_bytes(), 400),
            (long.as_bytes(), 431),
        ] {
            let got = read(bytes).map(|_| ()).unwrap_err();
            assert!(
                matches!(got, NoRequest::Bad(found, _) if found == status),
                "{got:?}"
            );
        }
        for bytes in [
            &b""[..],
            b"GET / HT",
            b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
        ] {
            assert_eq!(read(bytes).map(|_| ()), Err(NoRequest::End));
        }
    }
}
