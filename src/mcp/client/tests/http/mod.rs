//! Servers that are reached over HTTP: real sockets, and answers written by hand.

mod connections;
mod credentials;
mod requests;

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{LIMIT, call, entry, host, text_of, wait};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, ProblemKind};
use crate::mcp::client::connection::{Connection, List, Progress, Wait};
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::dial::{ClientHost, dial};
use crate::mcp::config::entry::{HttpReach, Reach};
use crate::net::http_server::HttpRequest;

type Handler = dyn Fn(&HttpRequest, &Value, &mut TcpStream) + Send + Sync;

/// A server whose connections have one request each.
struct Site {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicUsize>,
}

impl Site {
    fn new(handle: impl Fn(&HttpRequest, &Value, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let ended: Arc<AtomicUsize> = Arc::default();
        let (kept, over, handle): (_, _, Arc<Handler>) =
            (Arc::clone(&seen), Arc::clone(&ended), Arc::new(handle));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) > 0 {
                    return;
                }
                let (kept, handle) = (Arc::clone(&kept), Arc::clone(&handle));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let mut input = BufReader::new(stream.try_clone().unwrap());
                    let Ok(request) = HttpRequest::read(&mut input, 1 << 20) else {
                        return;
                    };
                    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                    let method = message["method"].as_str().unwrap_or_default();
                    kept.lock()
                        .unwrap()
                        .push(format!("{} {method}", request.method).trim().to_owned());
                    handle(&request, &message, &mut stream);
                });
            }
        });
        Self { url, seen, ended }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn count(&self, line: &str) -> usize {
        self.seen().iter().filter(|own| *own == line).count()
    }

    fn reach(&self) -> HttpReach {
        HttpReach {
            url: self.url.clone(),
            headers: vec![("X-Team".to_owned(), "blue".to_owned())],
            oauth: Value::Null,
        }
    }

    fn connect(&self) -> Arc<dyn Connection> {
        dial(&entry(Reach::Http(self.reach())), host())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.ended.store(1, Ordering::SeqCst);
        let address = self.url.trim_start_matches("http://");
        let _wake = TcpStream::connect(address.trim_end_matches("/mcp"));
    }
}

fn answer(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}");
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
}

fn json_answer(stream: &mut TcpStream, status: u16, body: &Value) {
    let kind = "Content-Type: application/json\r\n";
    answer(stream, status, kind, &body.to_string());
}

fn result(stream: &mut TcpStream, message: &Value, result: Value) {
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    json_answer(stream, 200, &body);
}

fn error(stream: &mut TcpStream, status: u16, message: &Value, code: i64) {
    let error = json!({"code": code, "message": "no"});
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
    json_answer(stream, status, &body);
}

/// A stream of events that ends with the connection.
fn events(stream: &mut TcpStream, text: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n{text}"
    );
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

fn text(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

fn discovered() -> Value {
    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
}

fn hello() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})
}

/// A modern server whose calls go to `call`.
fn modern(
    tools: Value,
    call: impl Fn(&HttpRequest, &Value, &mut TcpStream) + Send + Sync + 'static,
) -> Site {
    Site::new(move |request, message, stream| {
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => result(stream, message, discovered()),
            "tools/list" => result(stream, message, json!({ "tools": tools })),
            _ => call(request, message, stream),
        }
    })
}
