//! The lower bound of a streaming client: connect, send a fixed request, split lines, print the text in `"content"`.
//!
//! usage: `floor --version`, or `floor HOST:PORT PATH [ROUNDS]`. With rounds it answers each reply with a longer request on
//! the same connection, as a tool loop does. It trusts its server: no headers are read, no escapes undone, no errors told.

#![allow(clippy::print_stdout)]

use std::io::{self, BufRead as _, Read, Write};
use std::net::TcpStream;

const CONTENT: &[u8] = b"\"content\":\"";

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--version") => println!("floor 1"),
        Some(address) if args.len() > 1 => {
            let rounds = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(1);
            converse(address, args.get(1).map_or("/", String::as_str), rounds)?;
        }
        _ => {}
    }
    Ok(())
}

fn converse(address: &str, path: &str, rounds: usize) -> io::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let mut stdout = io::stdout().lock();
    let mut results = String::new();
    let mut buffer = vec![0; 64 * 1024];
    for _ in 0..rounds {
        let body = format!(
            r#"{{"model":"bench","stream":true,"messages":[{{"role":"user","content":"hi"}}{results}]}}"#
        );
        let head = format!(
            "POST {path}/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all((head + &body).as_bytes())?;
        reply(&mut socket, &mut stdout, &mut buffer)?;
        results += r#",{"role":"tool","tool_call_id":"c"}"#;
    }
    Ok(())
}

/// Reads one reply up to its `[DONE]` and prints the text of each piece as it comes.
fn reply(socket: &mut TcpStream, out: &mut impl Write, buffer: &mut [u8]) -> io::Result<()> {
    let mut kept = 0;
    let mut text = Vec::new();
    let mut place = 0;
    loop {
        let space = buffer.get_mut(kept..).unwrap_or_default();
        let read = socket.read(space)?;
        if read == 0 {
            return Ok(());
        }
        let filled = kept + read;
        let mut start = 0;
        let mut done = false;
        text.clear();
        while let Some(line) = buffer.get(start..filled).and_then(first_line) {
            start += line.len() + 1;
            if let Some(data) = line.strip_prefix(b"data: ") {
                done |= data.starts_with(b"[DONE]");
                text.extend_from_slice(content(data, &mut place));
            }
        }
        out.write_all(&text)?;
        out.flush()?;
        if done {
            return Ok(());
        }
        buffer.copy_within(start..filled, 0);
        kept = filled - start;
    }
}

/// The bytes before the next line end, found by the C library's `memchr` behind `skip_until`.
fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    let length = rest.skip_until(b'\n').ok()?;
    bytes.get(..length)?.strip_suffix(b"\n")
}

/// The text in a chunk. It usually starts where it started in the chunk before, so that place is tried first.
fn content<'a>(data: &'a [u8], last: &mut usize) -> &'a [u8] {
    let here = |at: usize| data.get(at..).is_some_and(|d| d.starts_with(CONTENT));
    if !here(*last) {
        let Some(at) = data.windows(CONTENT.len()).position(|w| w == CONTENT) else {
            return &[];
        };
        *last = at;
    }
    let rest = data.get(*last + CONTENT.len()..).unwrap_or_default();
    let end = rest.iter().position(|b| *b == b'"').unwrap_or(0);
    rest.get(..end).unwrap_or_default()
}
