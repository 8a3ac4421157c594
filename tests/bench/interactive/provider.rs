//! The benchmark's model, in this process so that it can say at which moment which piece went out: it answers every request with
//! the script that is set, at the script's rate.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::prose;

/// Bytes of one write without pacing.
const WRITE: usize = 64 * 1024;

/// A reply.
#[derive(Clone)]
pub struct Script {
    /// Words of prose.
    pub tokens: usize,
    /// Tokens per second, each in a write of its own; without, as fast as possible.
    pub rate: Option<u32>,
    /// The last word, which occurs nowhere else.
    pub last: String,
}

/// What the provider has seen and done.
#[derive(Clone, Copy, Debug)]
pub enum Did {
    /// A request came in whole.
    Asked,
    /// This many tokens have been sent.
    Sent(usize),
    /// The reply is out.
    Done,
}

/// The running provider.
pub struct Provider {
    pub port: u16,
    script: Arc<Mutex<Script>>,
    did: Receiver<(Instant, Did)>,
}

impl Provider {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let script = Arc::new(Mutex::new(Script {
            tokens: 1,
            rate: None,
            last: "end".to_owned(),
        }));
        let (tell, did) = channel();
        let shared = Arc::clone(&script);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (script, tell) = (Arc::clone(&shared), tell.clone());
                thread::spawn(move || serve(&socket, &script, &tell));
            }
        });
        Self { port, script, did }
    }

    /// Sets the script for the next requests and forgets what was done so far.
    pub fn set(&self, script: Script) {
        *self.script.lock().expect("a script") = script;
        while self.did.try_recv().is_ok() {}
    }

    /// Waits for the next thing it does.
    pub fn next(&self, limit: Duration) -> (Instant, Did) {
        self.did
            .recv_timeout(limit)
            .expect("a request within the limit")
    }

    /// Waits until `wanted` has happened; returns the time.
    pub fn wait(&self, limit: Duration, wanted: impl Fn(Did) -> bool) -> Instant {
        loop {
            let (at, did) = self.next(limit);
            if wanted(did) {
                return at;
            }
        }
    }
}

fn serve(socket: &TcpStream, script: &Mutex<Script>, tell: &Sender<(Instant, Did)>) {
    let mut reader = BufReader::new(socket);
    let _ = socket.set_nodelay(true);
    while let Ok(true) = request(&mut reader) {
        let _ = tell.send((Instant::now(), Did::Asked));
        let script = script.lock().expect("a script").clone();
        if reply(socket, &script, tell).is_err() {
            return;
        }
        let _ = tell.send((Instant::now(), Did::Done));
    }
}

/// Reads a request whole; false at the end.
fn request(reader: &mut BufReader<&TcpStream>) -> io::Result<bool> {
    let (mut line, mut length, mut chunked) = (String::new(), 0, false);
    if reader.read_line(&mut line)? == 0 {
        return Ok(false);
    }
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let lower = line.trim_end().to_ascii_lowercase();
        match lower.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", _)) => chunked = true,
            Some(_) => {}
            None => break,
        }
    }
    while chunked {
        line.clear();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
        io::copy(&mut reader.by_ref().take(size), &mut io::sink())?;
        line.clear();
        reader.read_line(&mut line)?;
        chunked = size > 0;
    }
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    Ok(true)
}

fn reply(mut socket: &TcpStream, script: &Script, tell: &Sender<(Instant, Did)>) -> io::Result<()> {
    socket.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let began = Instant::now();
    let tenth = (script.tokens / 10).max(1);
    let mut bytes = String::new();
    for i in 0..script.tokens {
        chunk(&mut bytes, &delta(&prose::token(i)));
        if let Some(rate) = script.rate {
            let due = began + Duration::from_secs_f64((i + 1) as f64 / f64::from(rate));
            thread::sleep(due.saturating_duration_since(Instant::now()));
            socket.write_all(bytes.as_bytes())?;
            bytes.clear();
        } else if bytes.len() >= WRITE {
            socket.write_all(bytes.as_bytes())?;
            bytes.clear();
        }
        if (i + 1) % tenth == 0 {
            let _ = tell.send((Instant::now(), Did::Sent(i + 1)));
        }
    }
    chunk(&mut bytes, &delta(&format!("\n\n{}\n", script.last)));
    let end = delta("").replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
    chunk(&mut bytes, &end);
    chunk(&mut bytes, "[DONE]");
    bytes.push_str("0\r\n\r\n");
    socket.write_all(bytes.as_bytes())
}

fn chunk(bytes: &mut String, data: &str) {
    let _ = write!(bytes, "{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8);
}

fn delta(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!(
        r#"{{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#
    )
}
