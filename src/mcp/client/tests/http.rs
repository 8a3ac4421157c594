//! Servers that are reached over HTTP: real sockets, and answers written by hand.

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

#[test]
fn a_modern_request_says_in_headers_what_its_body_says() {
    let tools = json!([
        {"name": "größe", "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}},
        {"name": "bad", "inputSchema": {"type": "object", "properties": {"x": {"type": "number", "x-mcp-header": "X"}}}}
    ]);
    let site = modern(tools, |request, message, stream| {
        let header = |name: &str| request.header(name).unwrap_or("-").to_owned();
        let said = [
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-param-region",
            "accept",
            "content-type",
            "x-team",
        ]
        .map(header)
        .join("|");
        let token = &message["params"]["_meta"]["progressToken"];
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version, "2026-07-28");
        let progress = json!({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "total": 2}});
        let answer = json!({"id": message["id"], "result": text(&said)});
        let late = json!({"id": message["id"], "result": text("late")});
        let stream_text = format!(
            ": hi\n\ndata:\n\n{}{}{}",
            event(&progress),
            event(&answer),
            event(&late)
        );
        events(stream, &stream_text);
    });
    let connection = site.connect();
    let stop = Cancel::new();
    let page = connection.page(List::Tools, None, wait(&stop)).unwrap();
    assert_eq!(page["tools"].as_array().unwrap().len(), 1);
    assert_eq!(connection.refused_tools()[0].0, "bad");
    let seen = Mutex::new(Vec::new());
    let hear = |progress: &Progress| seen.lock().unwrap().push(progress.words());
    let args = json!({"region": " eu"});
    let args = args.as_object().unwrap();
    let told = connection
        .call("größe", args, wait(&stop).heard_by(&hear))
        .unwrap();
    assert_eq!(
        text_of(&told),
        "2026-07-28|tools/call|=?base64?Z3LDtsOfZQ==?=|=?base64?IGV1?=|application/json, text/event-stream|application/json|blue"
    );
    assert_eq!(*seen.lock().unwrap(), ["1/2"]);
    assert_eq!(
        site.seen(),
        ["POST server/discover", "POST tools/list", "POST tools/call"]
    );
}

#[test]
fn the_era_is_found_by_what_the_probe_is_answered() {
    type Probe = fn(&mut TcpStream, &Value);
    let probes: [(&str, Probe); 6] = [
        ("400", |stream, _| {
            json_answer(
                stream,
                400,
                &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request"}}),
            );
        }),
        ("404", |stream, message| error(stream, 404, message, -32601)),
        ("405", |stream, _| answer(stream, 405, "", "")),
        ("200 with an error", |stream, message| {
            error(stream, 200, message, -32601);
        }),
        ("an empty object", |stream, _| {
            json_answer(stream, 200, &json!({}));
        }),
        ("a legacy list", |stream, message| {
            result(
                stream,
                message,
                json!({"supportedVersions": ["2025-11-25"]}),
            );
        }),
    ];
    for (name, probe) in probes {
        let site = Site::new(move |request, message, stream| {
            match message["method"].as_str().unwrap_or_default() {
                "server/discover" => probe(stream, message),
                "initialize" => {
                    assert_eq!(request.header("mcp-session-id"), None);
                    result(stream, message, hello());
                }
                "tools/call" => {
                    assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
                    assert_eq!(request.header("mcp-method"), None);
                    result(stream, message, text("ok"));
                }
                _ => answer(
                    stream,
                    if request.method == "GET" { 405 } else { 202 },
                    "",
                    "",
                ),
            }
        });
        let connection = site.connect();
        assert_eq!(text_of(&call(&*connection, "x").unwrap()), "ok", "{name}");
    }
    // Only a server of the modern era answers with such an error; after that it is asked once more.
    let times = AtomicUsize::new(0);
    let site = Site::new(
        move |_, message, stream| match times.fetch_add(1, Ordering::SeqCst) {
            0 => error(stream, 400, message, -32020),
            _ => result(stream, message, discovered()),
        },
    );
    let facts = site.connect().open(wait(&Cancel::new())).unwrap();
    assert!(facts.is_modern);
    // A failing server is no old one.
    let site = Site::new(|_, _, stream| answer(stream, 503, "", "down"));
    let problem = site.connect().open(wait(&Cancel::new())).unwrap_err();
    assert!(problem.what.contains("503"), "{problem}");
    assert_eq!(site.seen(), ["POST server/discover"]);
}

#[test]
fn a_session_is_named_renewed_and_ended() {
    let sessions = AtomicUsize::new(0);
    let calls = AtomicUsize::new(0);
    let site = Site::new(move |request, message, stream| {
        let session = request.header("mcp-session-id").map(str::to_owned);
        match (
            request.method.as_str(),
            message["method"].as_str().unwrap_or_default(),
        ) {
            ("POST", "server/discover") => answer(stream, 400, "", ""),
            ("POST", "initialize") => {
                let session = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                let headers =
                    format!("Content-Type: application/json\r\nMcp-Session-Id: s{session}\r\n");
                let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": hello()});
                answer(stream, 200, &headers, &body.to_string());
            }
            ("POST", "tools/call") => match calls.fetch_add(1, Ordering::SeqCst) {
                // It was restarted.
                1 => answer(stream, 404, "", ""),
                _ => result(stream, message, text(&session.unwrap())),
            },
            ("GET", _) => answer(stream, 405, "", ""),
            _ => {
                assert!(session.is_some());
                answer(stream, 202, "", "");
            }
        }
    });
    let connection = site.connect();
    for expected in ["s1", "s2", "s2"] {
        assert_eq!(text_of(&call(&*connection, "x").unwrap()), expected);
    }
    connection.close();
    assert_eq!(site.count("DELETE"), 2);
    assert_eq!(site.count("POST initialize"), 2);
}

#[test]
fn a_stream_that_is_cut_anywhere_is_resumed() {
    let answer_text = |id: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": text("whole")});
        format!("id: e2\ndata: {message}\n\n")
    };
    let begin = "id: e1\nretry: 5\ndata:\n\n";
    let length = begin.len() + answer_text(&json!(10)).len();
    let cut = Arc::new(AtomicUsize::new(begin.len()));
    let (at, open) = (Arc::clone(&cut), Arc::new(Mutex::new(Value::Null)));
    let site = Site::new(move |request, message, stream| {
        let last = request.header("last-event-id");
        match (
            request.method.as_str(),
            message["method"].as_str().unwrap_or_default(),
        ) {
            ("POST", "server/discover") => answer(stream, 400, "", ""),
            ("POST", "initialize") => result(stream, message, hello()),
            ("POST", "tools/call") => {
                *open.lock().unwrap() = message["id"].clone();
                let whole = format!("{begin}{}", answer_text(&message["id"]));
                let end = at.load(Ordering::SeqCst).min(whole.len());
                events(stream, whole.get(..end).unwrap());
            }
            ("GET", _) if last == Some("e1") => {
                let id = open.lock().unwrap().clone();
                events(stream, &answer_text(&id));
            }
            // The id came with the cut event already: nothing is left to send but the answer itself.
            ("GET", _) if last.is_some() => {
                let id = open.lock().unwrap().clone();
                events(stream, &answer_text(&id));
            }
            ("GET", _) => answer(stream, 405, "", ""),
            _ => answer(stream, 202, "", ""),
        }
    });
    let connection = site.connect();
    for end in begin.len()..length {
        cut.store(end, Ordering::SeqCst);
        let told = call(&*connection, "x").unwrap();
        assert_eq!(text_of(&told), "whole", "cut at {end}");
    }
}

#[test]
fn a_modern_stream_that_breaks_is_repeated_only_where_that_is_safe() {
    let tools =
        json!([{"name": "safe", "annotations": {"idempotentHint": true}}, {"name": "risky"}]);
    let times = AtomicUsize::new(0);
    let site = modern(tools, move |_, message, stream| {
        match times.fetch_add(1, Ordering::SeqCst) % 2 {
            0 => events(stream, ": nothing yet\n\ndata: {\"id\":"),
            _ => result(stream, message, text("second")),
        }
    });
    let connection = site.connect();
    connection
        .page(List::Tools, None, wait(&Cancel::new()))
        .unwrap();
    assert_eq!(text_of(&call(&*connection, "safe").unwrap()), "second");
    let problem = call(&*connection, "risky").unwrap_err();
    assert!(problem.one_line().contains("carried out"), "{problem}");
    assert_eq!(site.count("POST tools/call"), 3);
}

#[test]
fn marks_that_have_changed_are_listed_again_once() {
    let times = AtomicUsize::new(0);
    let site = modern(
        json!([{"name": "x"}]),
        move |_, message, stream| match times.fetch_add(1, Ordering::SeqCst) {
            0 | 2.. => error(stream, 400, message, -32020),
            _ => result(stream, message, text("ok")),
        },
    );
    let connection = site.connect();
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "ok");
    assert_eq!(site.count("POST tools/list"), 2);
    call(&*connection, "x").unwrap_err();
    assert_eq!(site.count("POST tools/call"), 4);
}

#[test]
fn the_transport_of_2024_is_found_and_stays_within_its_origin() {
    for (endpoint, works) in [
        ("/message?id=1", true),
        ("http://127.0.0.2:1/message", false),
    ] {
        let open: Arc<Mutex<Option<TcpStream>>> = Arc::default();
        let site = Site::new(move |request, message, stream| {
            if request.method == "GET" {
                events(stream, &format!("event: endpoint\ndata: {endpoint}\n\n"));
                *open.lock().unwrap() = Some(stream.try_clone().unwrap());
                return;
            }
            if request.path == "/mcp" {
                return answer(stream, 404, "", "nothing here");
            }
            answer(stream, 202, "", "Accepted");
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {}}),
                "tools/call" => text("streamed"),
                _ => return,
            };
            let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            let mut open = open.lock().unwrap();
            let told = format!("event: message\n{}", event(&message));
            open.as_mut().unwrap().write_all(told.as_bytes()).unwrap();
        });
        let connection = site.connect();
        let opened = connection.open(wait(&Cancel::new()));
        assert_eq!(opened.is_ok(), works, "{opened:?}");
        let Ok(facts) = opened else {
            continue;
        };
        assert!(facts.by_event_stream);
        assert_eq!(text_of(&call(&*connection, "x").unwrap()), "streamed");
        // Next time it is tried first.
        let again = ClientHost {
            spoken: Some(facts.spoken()),
            ..host()
        };
        let before = site.seen().len();
        let connection = dial(&entry(Reach::Http(site.reach())), again);
        connection.open(wait(&Cancel::new())).unwrap();
        assert_eq!(site.seen().get(before).unwrap(), "GET");
    }
}

/// A person who signs in for longer than a server may take to start.
struct SlowPerson(AtomicUsize);

const START_LIMIT: Duration = Duration::from_millis(600);

impl Credentials for SlowPerson {
    fn authorization(&self, _: &Cancel) -> Outcome<Option<String>> {
        Ok((self.0.load(Ordering::SeqCst) > 0).then(|| "Bearer t".to_owned()))
    }

    fn refused(&self, _: u16, _: &[String], _: &Cancel) -> Outcome<bool> {
        thread::sleep(START_LIMIT * 2);
        self.0.store(1, Ordering::SeqCst);
        Ok(true)
    }
}

#[test]
fn the_time_in_which_somebody_signs_in_is_no_part_of_a_start_limit() {
    for by_event_stream in [false, true] {
        let open: Arc<Mutex<Option<TcpStream>>> = Arc::default();
        let site = Site::new(move |request, message, stream| {
            if request.header("authorization").is_none() {
                return answer(stream, 401, "WWW-Authenticate: Bearer\r\n", "");
            }
            if request.method == "GET" {
                events(stream, "event: endpoint\ndata: /mcp\n\n");
                *open.lock().unwrap() = Some(stream.try_clone().unwrap());
                return;
            }
            if !by_event_stream {
                return result(stream, message, discovered());
            }
            answer(stream, 202, "", "Accepted");
            if message["method"] == "initialize" {
                let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
                let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": hello});
                let told = format!("event: message\n{}", event(&message));
                let mut open = open.lock().unwrap();
                open.as_mut().unwrap().write_all(told.as_bytes()).unwrap();
            }
        });
        let reach = match by_event_stream {
            true => Reach::Sse(site.reach()),
            false => Reach::Http(site.reach()),
        };
        let host = ClientHost {
            credentials: Some(Arc::new(SlowPerson(AtomicUsize::new(0)))),
            ..host()
        };
        let connection = dial(&entry(reach), host);
        let stop = Cancel::new();
        let opened = connection.open(Wait::new(START_LIMIT, &stop));
        assert!(opened.is_ok(), "{by_event_stream}: {opened:?}");
    }
}

#[test]
fn a_page_is_an_error_that_shows_its_beginning() {
    let page = "<html>\n<body>Sign \u{1b}[1mhere</body></html>";
    let site =
        Site::new(move |_, _, stream| answer(stream, 200, "Content-Type: text/html\r\n", page));
    let problem = site.connect().open(wait(&Cancel::new())).unwrap_err();
    assert!(problem.what.contains("<html> <body>Sign"), "{problem}");
    assert!(!problem.what.contains('\u{1b}'));
}

#[test]
fn redirects_are_followed_within_the_origin_only() {
    let elsewhere = Site::new(|_, message, stream| result(stream, message, discovered()));
    let away = elsewhere.url.clone();
    for (to, status, works) in [
        ("/mcp/v2".to_owned(), 307, true),
        ("/mcp/v2".to_owned(), 302, false),
        (away, 308, false),
        ("/mcp".to_owned(), 308, false),
    ] {
        let site = Site::new(
            move |request, message, stream| match request.path.as_str() {
                "/mcp" => answer(stream, status, &format!("Location: {to}\r\n"), ""),
                _ => result(stream, message, discovered()),
            },
        );
        let opened = site.connect().open(wait(&Cancel::new()));
        assert_eq!(opened.is_ok(), works, "{status} {opened:?}");
    }
    assert_eq!(elsewhere.seen(), [] as [&str; 0]);
}

/// A token that has to be renewed once.
#[derive(Default)]
struct Token {
    renewed: AtomicUsize,
}

impl Credentials for Token {
    fn authorization(&self, _: &Cancel) -> Outcome<Option<String>> {
        let renewed = self.renewed.load(Ordering::SeqCst);
        Ok(Some(format!("Bearer t{renewed}")))
    }

    fn refused(&self, status: u16, challenges: &[String], _: &Cancel) -> Outcome<bool> {
        assert_eq!((status, challenges.len()), (401, 2));
        self.renewed.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }
}

#[test]
fn a_server_that_wants_a_token_gets_one_or_an_error_that_says_how() {
    let site = Site::new(
        |request, message, stream| match request.header("authorization") {
            Some("Bearer t1") => result(stream, message, discovered()),
            _ => answer(
                stream,
                401,
                "WWW-Authenticate: Basic\r\nWWW-Authenticate: Bearer resource_metadata=\"x\"\r\n",
                "",
            ),
        },
    );
    let problem = site.connect().open(wait(&Cancel::new())).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Auth);
    assert!(
        problem.one_line().contains("marvin mcp login calc"),
        "{problem}"
    );
    let signed_in = ClientHost {
        credentials: Some(Arc::new(Token::default())),
        ..host()
    };
    let reach = Reach::Http(site.reach());
    let facts = dial(&entry(reach), signed_in)
        .open(wait(&Cancel::new()))
        .unwrap();
    assert!(facts.is_modern);
    // The entry's own value is nobody else's business.
    let mut reach = site.reach();
    reach
        .headers
        .push(("authorization".to_owned(), "Bearer own".to_owned()));
    let own = ClientHost {
        credentials: Some(Arc::new(Token::default())),
        ..host()
    };
    let problem = dial(&entry(Reach::Http(reach)), own)
        .open(wait(&Cancel::new()))
        .unwrap_err();
    assert!(problem.what.contains("of its entry"), "{problem}");
}

#[test]
fn a_call_that_is_cancelled_closes_its_connection_and_no_other() {
    let held = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&held);
    let site = modern(
        json!([]),
        move |_, message, stream| match message["params"]["name"].as_str() {
            Some("slow") => {
                events(stream, ": wait\n\n");
                kept.lock().unwrap().push(stream.try_clone().unwrap());
            }
            _ => result(stream, message, text("quick")),
        },
    );
    let connection = site.connect();
    let stop = Cancel::new();
    thread::scope(|scope| {
        let slow = scope.spawn(|| connection.call("slow", &Map::new(), wait(&stop)));
        while held.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(text_of(&call(&*connection, "quick").unwrap()), "quick");
        stop.fire();
        assert!(slow.join().unwrap().unwrap_err().is_cancelled());
    });
    let mut stream = held.lock().unwrap().pop().unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut byte = [0];
    assert!(matches!(
        std::io::Read::read(&mut stream, &mut byte),
        Ok(0) | Err(_)
    ));
    assert_eq!(text_of(&call(&*connection, "quick").unwrap()), "quick");
}
