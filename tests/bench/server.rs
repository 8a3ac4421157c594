//! The benchmark's model: answers at once, always the same, and times how long the client takes between reply and request.
//!
//! It prints its port and serves until standard input ends. The first part of the path says what to answer:
//! `/one` one word; `/stream-N` N words in large writes; `/each-N` N words, a write for each; `/loop-N` N rounds of one tool
//! call, then a word; `/parallel-N` one round of N calls, then a word. With `responses_` before `stream` or `each` the words come as the
//! Responses API sends them. `GET /stats` gives, and clears, what was seen.

#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const WRITE: usize = 64 * 1024;

/// A reply ready to be written, in the pieces in which it is.
struct Reply {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// What the client has done since the last call.
#[derive(Default)]
struct Seen {
    gaps: Vec<Duration>,
    connections: usize,
    requests: usize,
    largest: usize,
    with_tools: usize,
    replied: Option<Instant>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Seen>,
    replies: Mutex<HashMap<String, Arc<Reply>>>,
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("{}", listener.local_addr()?.port());
    let shared = Arc::new(Shared::default());
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || serve(&socket, &shared));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn serve(socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(256 * 1024, socket);
    let mut first = true;
    loop {
        let Some((target, body)) = request(&mut reader)? else {
            return Ok(());
        };
        let arrived = Instant::now();
        if target.ends_with("/stats") {
            let text = lock(&shared.seen).take();
            let length = text.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}");
            (&*socket).write_all(head.as_bytes())?;
            continue;
        }
        lock(&shared.seen).note(arrived, first, &body);
        first = false;
        let reply = shared.reply(&plan(&target, &body));
        let mut start = 0;
        for end in &reply.ends {
            (&*socket).write_all(reply.bytes.get(start..*end).unwrap_or_default())?;
            start = *end;
        }
        lock(&shared.seen).replied = Some(Instant::now());
    }
}

/// The path and body of the next request; `None` at the end.
fn request(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(target) = line.split(' ').nth(1).map(str::to_owned) else {
        return Ok(None);
    };
    let (mut length, mut chunked) = (0, false);
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
    let mut body = Vec::new();
    while chunked {
        line.clear();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
        reader.take(size).read_to_end(&mut body)?;
        line.clear();
        reader.read_line(&mut line)?;
        chunked = size > 0;
    }
    reader.take(length).read_to_end(&mut body)?;
    Ok(Some((target, body)))
}

/// The name of the reply: for rounds of tools, the one that follows the results in the request.
fn plan(target: &str, body: &[u8]) -> String {
    let name = target.split('/').nth(1).unwrap_or_default();
    let (kind, count) = name.split_once('-').unwrap_or((name, "1"));
    let results = body
        .windows(14)
        .filter(|w| w == b"\"tool_call_id\"")
        .count();
    match (kind, count.parse::<usize>().unwrap_or(1)) {
        ("loop", rounds) if results < rounds => format!("calls-1-{results}"),
        ("parallel", calls) if results < calls => format!("calls-{calls}-0"),
        ("loop" | "parallel", _) => "one".to_owned(),
        _ => name.to_owned(),
    }
}

impl Shared {
    fn reply(&self, name: &str) -> Arc<Reply> {
        let mut replies = lock(&self.replies);
        Arc::clone(
            replies
                .entry(name.to_owned())
                .or_insert_with(|| Arc::new(Reply::new(name))),
        )
    }
}

impl Reply {
    fn new(name: &str) -> Self {
        let mut parts = name.split('-');
        let kind = parts.next().unwrap_or_default();
        let (kind, responses) = match kind.strip_prefix("responses_") {
            Some(kind) => (kind, true),
            None => (kind, false),
        };
        let mut number = || parts.next().and_then(|n| n.parse().ok()).unwrap_or(1);
        let (count, round): (usize, usize) = (number(), number());
        let mut reply = Self {
            bytes: b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            ends: Vec::new(),
        };
        let mut marks = Vec::new();
        let reason = if kind == "calls" {
            "tool_calls"
        } else {
            "stop"
        };
        for i in 0..count {
            if responses {
                let (word, padding) = (word(i), "x".repeat(1 + i % 16));
                reply.event("output_text.delta", &format!(
                    r#""sequence_number":{i},"item_id":"msg_bench00000000000000000000000000000000000000000000","output_index":0,"content_index":0,"delta":" {word}","logprobs":[],"obfuscation":"{padding}""#
                ));
            } else if kind == "calls" {
                reply.chunk(&delta(&format!(
                    r#""tool_calls":[{{"index":{i},"id":"call_{round}_{i}","type":"function","function":{{"name":"get_working_dir","arguments":"{{}}"}}}}]"#
                )));
            } else {
                reply.chunk(&delta(&format!(r#""content":" {}""#, word(i))));
            }
            marks.push(reply.bytes.len());
        }
        if responses {
            reply.event("completed", &format!(
                r#""sequence_number":{count},"response":{{"status":"completed","output":[],"usage":{{"input_tokens":9,"output_tokens":{count},"total_tokens":{}}}}}"#,
                count + 9
            ));
            return reply.ended(kind, marks);
        }
        let last = delta("").replace(
            "\"finish_reason\":null",
            &format!("\"finish_reason\":\"{reason}\""),
        );
        reply.chunk(&last);
        reply.chunk(&format!(
            r#"{{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{count},"total_tokens":{}}}}}"#,
            count + 9
        ));
        reply.chunk("[DONE]");
        reply.ended(kind, marks)
    }

    /// The reply with its end, in a write for each mark or in large ones.
    fn ended(mut self, kind: &str, marks: Vec<usize>) -> Self {
        self.bytes.extend_from_slice(b"0\r\n\r\n");
        let whole = self.bytes.len();
        self.ends = if kind == "each" {
            marks
        } else {
            (WRITE..whole).step_by(WRITE).collect()
        };
        self.ends.push(whole);
        self
    }

    fn event(&mut self, name: &str, fields: &str) {
        let frame =
            format!("event: response.{name}\ndata: {{\"type\":\"response.{name}\",{fields}}}\n\n");
        let mut chunk = String::new();
        let _ = write!(chunk, "{:x}\r\n{frame}\r\n", frame.len());
        self.bytes.extend_from_slice(chunk.as_bytes());
    }

    fn chunk(&mut self, data: &str) {
        let mut frame = String::new();
        let _ = write!(frame, "{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8);
        self.bytes.extend_from_slice(frame.as_bytes());
    }
}

fn delta(inner: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-bench00000000000000000000","object":"chat.completion.chunk","created":1700000000,"model":"bench","system_fingerprint":"fp_bench","choices":[{{"index":0,"delta":{{{inner}}},"logprobs":null,"finish_reason":null}}]}}"#
    )
}

fn word(i: usize) -> &'static str {
    let words = [
        "improbable",
        "towel",
        "so",
        "long",
        "and",
        "thanks",
        "for",
        "the",
        "fish,",
    ];
    words.get(i % words.len()).copied().unwrap_or("42")
}

impl Seen {
    fn note(&mut self, arrived: Instant, first: bool, body: &[u8]) {
        if let Some(replied) = self.replied {
            self.gaps.push(arrived - replied);
        }
        self.requests += 1;
        self.connections += usize::from(first);
        self.largest = self.largest.max(body.len());
        self.with_tools += usize::from(body.windows(9).any(|w| w == b"\"tools\":["));
    }

    /// Everything as JSON, gaps in nanoseconds; clears it.
    fn take(&mut self) -> String {
        let seen = std::mem::take(self);
        let gaps: Vec<_> = seen.gaps.iter().map(|g| g.as_nanos().to_string()).collect();
        format!(
            r#"{{"gaps":[{}],"connections":{},"requests":{},"largest":{},"with_tools":{}}}"#,
            gaps.join(","),
            seen.connections,
            seen.requests,
            seen.largest,
            seen.with_tools
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
