//! Replies that are compressed, have no end, or are far larger than they look: read correctly, or refused in bounded memory.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::flood::Flood;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const MB: u64 = 1 << 20;
/// The memory limit of a run, whatever a server sends.
const BOUND: u64 = 64 * MB;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Asserts that the run fails with this message and in bounded memory; returns the peak observed, 0 for a run too short to sample.
fn fails_small(run: Marvin, text: &str) -> u64 {
    let (output, max) = run.env("MARVIN_RETRIES", "0").spawn().wait_measured();
    let output = output.expect(1);
    output.cost();
    let errors = output.errors();
    assert!(
        errors.starts_with("Error: ") && errors.contains(text),
        "{errors}"
    );
    assert!(max < BOUND, "{} MB held for {text}", max / MB);
    max
}

#[test]
fn an_endless_body_is_abandoned_in_bounded_memory() {
    let mut seen = 0;
    let line = vec![b'x'; 64 * 1024];
    let lines = format!("data: {}\n", "x".repeat(121))
        .repeat(512)
        .into_bytes();
    let calls = [
        r#"{"index": 0, "id": "c", "function": {"name": "tree", "arguments": "TEXT"}}"#,
        r#"{"id": "TEXT", "function": {"name": "tree"}}"#,
    ]
    .map(|call| {
        let call = call.replace("TEXT", &"x".repeat(60_000));
        let event =
            format!("data: {{\"choices\": [{{\"delta\": {{\"tool_calls\": [{call}]}}}}]}}\n\n");
        event.into_bytes()
    });
    for (kind, start, piece, text) in [
        ("text/event-stream", "", &calls[0], "MB in one piece"),
        ("text/event-stream", "", &calls[1], "MB in one piece"),
        ("text/event-stream", "data: ", &line, "MB in one piece"),
        ("text/event-stream", "", &lines, "MB in one piece"),
        ("application/json", "{\"a\": \"", &line, "MB in one piece"),
        ("application/json", "{\n\"a\": \"", &line, "MB in one piece"),
        ("text/html", "<html>", &line, "not a model's reply"),
    ] {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{start}");
        let flood = Flood::start(head, piece.clone(), 1024 * MB);
        let home = Home::new();
        seen = seen.max(fails_small(home.ask(&flood.url("/v1"), "hi"), text));
        let sent = flood.sent();
        assert!(sent < 256 * MB, "{} MB taken of {kind} {start}", sent / MB);
    }
    assert!(seen > 8 * MB, "the memory was measured");
}

#[test]
fn endless_headers_and_error_bodies_are_cut() {
    let piece = vec![b'x'; 64 * 1024];
    for (head, text) in [
        ("HTTP/1.1 200 OK\r\nX-Long: ", "does not speak HTTP"),
        ("HTTP/1.1 500 No\r\nConnection: close\r\n\r\n", "500"),
    ] {
        let flood = Flood::start(head.to_owned(), piece.clone(), 1024 * MB);
        let home = Home::new();
        fails_small(home.ask(&flood.url("/v1"), "hi"), text);
        assert!(flood.sent() < 64 * MB);
    }
}

#[test]
fn a_compression_bomb_is_abandoned_in_bounded_memory() {
    // A gigabyte as many members, which count as one body.
    let bomb = [gzip(b"data: "), gzip(&vec![b'x'; 1 << 20]).repeat(1024)].concat();
    assert!(bomb.len() < 8 << 20);
    for (status, expected) in [(200, "MB in one piece"), (500, "500")] {
        let answer = Answer::text("text/event-stream", bomb.clone())
            .header("Content-Encoding", "gzip")
            .with_status(status);
        let (home, server) = (Home::new(), Server::with([Exchange::any().answer(answer)]));
        fails_small(home.ask(&server.url("/v1"), "hi"), expected);
    }
}

#[test]
fn compressed_errors_are_read() {
    let body = openai::error("the model is on strike", "invalid_prompt", None).to_string();
    for (status, expected) in [
        (400, "on strike"),
        (401, "refused the key"),
        (500, "on strike"),
        (200, "on strike"),
    ] {
        let answer = Answer::text("application/json", gzip(body.as_bytes()))
            .header("Content-Encoding", "gzip")
            .with_status(status);
        let (home, server) = (Home::new(), Server::with([Exchange::any().answer(answer)]));
        let output = home.ask(&server.url("/v1"), "hi").run().expect(1);
        output.errors().assert_has_for(&status, &[expected]);
    }
}

#[test]
fn a_compressed_stream_is_read_in_chunks() {
    let frames = openai::text(&["first ", "second"]);
    let (start, rest) = frames.split_at(2);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(start.concat().as_bytes()).unwrap();
    encoder.flush().unwrap();
    let first = std::mem::take(encoder.get_mut());
    encoder.write_all(rest.concat().as_bytes()).unwrap();
    let last = encoder.finish().unwrap();
    let gate = Latch::new();
    let answer = Answer::sse([first])
        .header("Content-Encoding", "gzip")
        .pause(&gate)
        .send(last);
    let (home, server) = (Home::new(), Server::with([Exchange::any().answer(answer)]));
    let running = home.ask(&server.url("/v1"), "hi").spawn();
    running.wait_stdout("first ", std::time::Duration::from_secs(20));
    gate.open();
    assert_eq!(running.wait().expect(0).text(), "first second\n");
}

#[test]
fn a_false_content_encoding_is_reported() {
    let frames = openai::text(&["Hello"]).concat();
    let broken = {
        let mut bytes = gzip(frames.as_bytes());
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0xff);
        bytes
    };
    for body in [frames.into_bytes(), broken] {
        let answer = Answer::text("text/event-stream", body).header("Content-Encoding", "gzip");
        let (home, server) = (Home::new(), Server::with([Exchange::any().answer(answer)]));
        home.ask(&server.url("/v1"), "hi")
            .fails(&["cannot be decompressed"]);
    }
}
