//! Tests of the scripted server, with a client that speaks HTTP directly.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::support::latch::Latch;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::{Client, Tarpit, refused};
use crate::support::words::TextAssertions;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn sees_the_client_leave_during_a_stall_and_before_a_request() {
    let server = Server::with([Exchange::any().answer(Answer::sse(["data: x\n\n"]).stall())]);
    let mut client = Client::connect(server.address());
    client.request("GET", "/", "");
    client.head().unwrap();
    assert_eq!(client.line().unwrap(), "9");
    let left = Instant::now();
    drop(client);
    assert!(server.wait_closed(0, SOON) >= left);
    assert!(server.answered(0).is_none());
    drop(TcpStream::connect(server.address()).unwrap());
    server.wait_closed(1, SOON);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn resets_cuts_and_lies_about_the_length() {
    let server = Server::with([
        Exchange::get("/reset").answer(Answer::sse(["data: x\n\n"]).reset()),
        Exchange::get("/cut").answer(Answer::sse(["data: x\n\n"]).close()),
        Exchange::get("/lie").answer(Answer::text("text/plain", "abc").claim_length(10)),
        Exchange::get("/raw").answer(Answer::raw("HTTP/1.1 200 OK\r\n\r\nhalf")),
    ]);
    let ask = |path| {
        let mut client = Client::connect(server.address());
        client.request("GET", path, "");
        client
    };
    let reset = ask("/reset").rest().unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    let cut = String::from_utf8(ask("/cut").rest().unwrap()).unwrap();
    assert!(cut.ends_with("9\r\ndata: x\n\n\r\n"), "{cut:?}");
    let lie = String::from_utf8(ask("/lie").rest().unwrap()).unwrap();
    lie.assert_has(&["Content-Length: 10\r\n\r\nabc"]);
    assert_eq!(ask("/raw").rest().unwrap(), b"HTTP/1.1 200 OK\r\n\r\nhalf");
    let who = catch_unwind(AssertUnwindSafe(|| server.wait_closed(1, SOON)));
    assert!(
        who.is_err(),
        "the server's own close passed for the client's"
    );
}

#[test]
fn fails_loudly_when_the_script_is_not_followed() {
    let failure = |play: fn(&Server)| {
        let server = Server::with([Exchange::post("/wanted").answer(Answer::status(200))]);
        play(&server);
        let panic = catch_unwind(AssertUnwindSafe(|| drop(server)));
        *panic
            .expect_err("the server ended without complaint")
            .downcast::<String>()
            .unwrap()
    };
    failure(|_| {}).assert_has(&["not played (1 left): POST .../wanted"]);
    let unexpected = failure(|server| {
        let mut client = Client::connect(server.address());
        client.request("POST", "/wanted", "");
        client.head().unwrap();
        client.request("GET", "/other", "body");
        client.head().unwrap().assert_has(&["HTTP/1.1 400"]);
    });
    unexpected.assert_has(&["unexpected: GET /other body"]);
    unexpected.assert_lacks(&["not played"]);
}

#[test]
fn the_server_ends_while_responses_stall() {
    let never = Latch::new();
    let server = Server::with([
        Exchange::get("/stall").answer(Answer::silence()),
        Exchange::get("/latch").answer(Answer::status(200).pause(&never)),
    ]);
    let mut clients = [
        Client::connect(server.address()),
        Client::connect(server.address()),
    ];
    clients[0].request("GET", "/stall", "");
    clients[1].request("GET", "/latch", "");
    never.wait_reached(SOON);
    server.wait_requests(2, SOON);
    let start = Instant::now();
    drop(server);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "took {:?}",
        start.elapsed()
    );
    for mut client in clients {
        // Whatever had been written, the connection is closed next; a hang would be a timeout error.
        if let Err(e) = client.rest() {
            assert_eq!(e.kind(), ErrorKind::ConnectionReset);
        }
    }
}

#[test]
fn a_tarpit_neither_accepts_nor_refuses() {
    let tarpit = Tarpit::start();
    let limit = Duration::from_millis(300);
    let stuck = TcpStream::connect_timeout(&tarpit.address(), limit).unwrap_err();
    assert_eq!(stuck.kind(), ErrorKind::TimedOut);
    let dead = TcpStream::connect_timeout(&refused(), limit).unwrap_err();
    assert_eq!(dead.kind(), ErrorKind::ConnectionRefused);
}
