//! Which era and transport a server speaks, its session, and streams that break.

use super::*;

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
