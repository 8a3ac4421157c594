//! What one request over HTTP says, and how what comes back is taken.

use super::*;

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
