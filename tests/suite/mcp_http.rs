//! `marvin mcp serve --http` as programs of this machine see it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::mcp_server::request;
use crate::support::home::Home;
use crate::support::run::Running;
use crate::support::wait;

const LIMIT: Duration = Duration::from_secs(30);
const MODERN: &str = "2026-07-28";

/// A server that listens.
struct Listening {
    running: Running,
    host: String,
    home: Home,
}

impl Listening {
    fn with(token: Option<&str>) -> Self {
        let home = Home::new();
        let folder = home.work().display().to_string();
        let words = ["mcp", "serve", "--http", "0", "--working-dir", &folder];
        Self::of(home, &words, token)
    }

    /// One with the tools of the conformance suite.
    fn fixture() -> Self {
        Self::of(Home::new(), &["debug", "mcp-fixture", "--http", "0"], None)
    }

    fn of(home: Home, words: &[&str], token: Option<&str>) -> Self {
        let mut marvin = home.marvin().args(words).limit(LIMIT);
        if let Some(token) = token {
            marvin = marvin.env("MARVIN_MCP_TOKEN", token);
        }
        let running = marvin.spawn();
        running.wait_stderr("/mcp\n", LIMIT);
        let told = running.stderr();
        let host = told.trim().strip_prefix("listening on http://").unwrap();
        let host = host.strip_suffix("/mcp").unwrap().to_owned();
        Self {
            running,
            host,
            home,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Sends a request with these lines of headers.
    fn send(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = self.connect();
        let host = match headers.contains("Host:") {
            true => String::new(),
            false => format!("Host: {}\r\n", self.host),
        };
        let length = body.len();
        let head =
            format!("{method} /mcp HTTP/1.1\r\n{host}Content-Length: {length}\r\n{headers}\r\n");
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }

    /// The status and body of a whole response, and its session.
    fn ask(&self, method: &str, headers: &str, body: &str) -> (u16, String, Option<String>) {
        let mut input = BufReader::new(self.send(method, headers, body));
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let (mut length, mut session) = (0, None);
        loop {
            line.clear();
            input.read_line(&mut line).unwrap();
            match line.trim().split_once(": ") {
                None => break,
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                Some(("Mcp-Session-Id", value)) => session = Some(value.to_owned()),
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap(), session)
    }

    /// Posts a message of the era without a handshake, with the headers that it wants.
    fn post(&self, more: &str, message: &Value) -> (u16, Value) {
        let method = message["method"].as_str().unwrap();
        let named = message["params"]["name"]
            .as_str()
            .or(message["params"]["uri"].as_str());
        let named = named
            .map(|name| format!("Mcp-Name: {name}\r\n"))
            .unwrap_or_default();
        let headers = format!(
            "Content-Type: application/json\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{named}{more}"
        );
        let (status, body, _) = self.ask("POST", &headers, &message.to_string());
        (
            status,
            serde_json::from_str(&body).unwrap_or(Value::String(body)),
        )
    }
}

#[test]
fn only_programs_of_this_machine_that_name_it_may_ask() {
    let server = Listening::with(None);
    let body = request(1, "tools/list", json!({}), MODERN).to_string();
    let base = format!(
        "Content-Type: application/json\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n"
    );
    let port = server.host.rsplit_once(':').unwrap().1.to_owned();
    for (headers, status) in [
        (String::new(), 200),
        (format!("Host: localhost:{port}\r\n"), 200),
        (format!("Origin: http://localhost:{port}\r\n"), 200),
        (format!("Host: evil.example:{port}\r\n"), 403),
        ("Host: localhost\r\n".to_owned(), 403),
        ("Origin: http://evil.example\r\n".to_owned(), 403),
        ("Origin: null\r\n".to_owned(), 403),
    ] {
        let got = server.ask("POST", &format!("{base}{headers}"), &body).0;
        assert_eq!(got, status, "{headers}");
    }
    assert_eq!(
        server.ask("POST", "Content-Type: text/plain\r\n", &body).0,
        415
    );
    assert_eq!(server.ask("GET", "", "").0, 405);
    assert_eq!(server.ask("DELETE", "", "").0, 405);
    // Without a token there is nothing that could change anything.
    let (_, list) = server.post("", &request(1, "tools/list", json!({}), MODERN));
    let has = |name: &str| {
        list["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == name)
    };
    assert!(has("read_file") && !has("run_command") && !has("create_file"));
    server.running.signal(Signal::TERM);
    server.running.wait_open().expect(143);
}

#[test]
fn a_token_is_demanded_where_it_is_set() {
    let server = Listening::with(Some("s3cret"));
    let list = request(1, "tools/list", json!({}), MODERN);
    for (headers, status) in [
        ("", 401),
        ("Authorization: Bearer wrong\r\n", 401),
        ("Authorization: s3cret\r\n", 401),
        ("Authorization: Bearer s3cret\r\n", 200),
        ("Authorization: bearer s3cret\r\n", 200),
    ] {
        assert_eq!(server.post(headers, &list).0, status, "{headers}");
    }
    let (_, list) = server.post("Authorization: Bearer s3cret\r\n", &list);
    assert!(list.to_string().contains("\"run_command\""));
}

#[test]
fn headers_have_to_say_what_the_body_says() {
    let server = Listening::with(None);
    let call = request(1, "tools/call", json!({"name": "system_info"}), MODERN);
    let plain = request(1, "tools/list", json!({}), "");
    let future = request(1, "tools/list", json!({}), "2099-01-01");
    let json = "Content-Type: application/json\r\n";
    let version = format!("MCP-Protocol-Version: {MODERN}\r\n");
    for (headers, body, status, code) in [
        (format!("{version}Mcp-Method: tools/call\r\nMcp-Name: system_info\r\n"), call.to_string(), 200, 0),
        (format!("{version}Mcp-Method: tools/call\r\nMcp-Name: =?base64?c3lzdGVtX2luZm8=?=\r\n"), call.to_string(), 200, 0),
        (format!("{version}Mcp-Method: tools/call\r\nMcp-Name: other\r\n"), call.to_string(), 400, -32020),
        (format!("{version}Mcp-Method: tools/call\r\n"), call.to_string(), 400, -32020),
        (format!("{version}Mcp-Method: TOOLS/CALL\r\nMcp-Name: system_info\r\n"), call.to_string(), 400, -32020),
        (format!("{version}Mcp-Name: system_info\r\n"), call.to_string(), 400, -32020),
        ("Mcp-Method: tools/call\r\nMcp-Name: system_info\r\n".to_owned(), call.to_string(), 400, -32020),
        ("MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/call\r\n".to_owned(), call.to_string(), 400, -32020),
        ("MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: tools/list\r\n".to_owned(), future.to_string(), 400, -32022),
        (format!("{version}Mcp-Method: tools/list\r\n"), plain.to_string(), 400, -32602),
        (format!("{version}Mcp-Method: no/such\r\n"), request(1, "no/such", json!({}), MODERN).to_string(), 404, -32601),
        (format!("{version}Mcp-Method: tools/list\r\n"), "{broken".to_owned(), 400, -32700),
        (String::new(), plain.to_string(), 400, -32600),
        ("Mcp-Session-Id: unknown\r\n".to_owned(), plain.to_string(), 404, 0),
        (version.clone(), json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).to_string(), 202, 0),
    ] {
        let (got, text, _) = server.ask("POST", &format!("{json}{headers}"), &body);
        assert_eq!(got, status, "{headers}{body}\n{text}");
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{headers}{body}\n{text}");
    }
}

#[test]
fn a_session_begins_with_a_handshake_and_ends_when_it_is_deleted() {
    let server = Listening::with(None);
    let json = "Content-Type: application/json\r\n";
    let hello = request(
        1,
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        "",
    );
    let (status, _, session) = server.ask("POST", json, &hello.to_string());
    let session = format!("Mcp-Session-Id: {}\r\n", session.unwrap());
    assert_eq!(status, 200);
    let list = request(2, "tools/list", json!({}), "").to_string();
    let own = format!("{json}{session}");
    assert_eq!(server.ask("POST", &own, &list).0, 200);
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(server.ask("POST", &own, &told).0, 202);
    assert_eq!(server.ask("POST", json, &told).0, 400);
    let unknown = format!("{json}Mcp-Session-Id: unknown\r\n");
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    for message in [&told, &answer] {
        assert_eq!(server.ask("POST", &unknown, message).0, 404);
    }
    assert_eq!(server.ask("DELETE", &session, "").0, 200);
    assert_eq!(server.ask("POST", &own, &list).0, 404);
    assert_eq!(server.ask("DELETE", &session, "").0, 404);
}

#[test]
fn progress_comes_as_a_stream_and_a_client_that_hangs_up_ends_its_call() {
    let server = Listening::with(Some("t"));
    // So does the answer to whoever asks for progress, even where there is none to tell.
    let mut list = request(1, "tools/list", json!({}), MODERN);
    list["params"]["_meta"]["progressToken"] = 7.into();
    let headers = format!(
        "Content-Type: application/json\r\nAuthorization: Bearer t\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n"
    );
    let mut whole = String::new();
    let mut stream = server.send("POST", &headers, &list.to_string());
    stream.read_to_string(&mut whole).unwrap();
    assert!(
        whole.contains("text/event-stream") && whole.contains("data: {"),
        "{whole}"
    );
    let command = "echo $$ > pid; echo begun; sleep 600";
    let mut call = request(
        1,
        "tools/call",
        json!({"name": "run_command", "arguments": {"command": command}}),
        MODERN,
    );
    call["params"]["_meta"]["progressToken"] = 7.into();
    let headers = format!(
        "Content-Type: application/json\r\nAuthorization: Bearer t\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: run_command\r\n"
    );
    let stream = server.send("POST", &headers, &call.to_string());
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let event = lines
        .map(Result::unwrap)
        .find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
    assert_eq!(
        (
            &event["params"]["progressToken"],
            &event["params"]["message"]
        ),
        (&7.into(), &"begun".into())
    );
    ends_when_its_client_hangs_up(&server, &stream);
}

/// The program that wrote its id ends.
fn ends_when_its_client_hangs_up(server: &Listening, stream: &TcpStream) {
    let file = server.home.work().join("pid");
    let pid = || std::fs::read_to_string(&file).unwrap_or_default();
    wait::until("the program", || pid().ends_with('\n'));
    stream.shutdown(Shutdown::Both).unwrap();
    let status = format!("/proc/{}/status", pid().trim());
    wait::until("the end of the program", || {
        std::fs::metadata(&status).is_err()
    });
}

#[test]
fn a_batch_is_answered_together_and_ends_with_its_client() {
    let server = Listening::with(Some("t"));
    let headers = "Content-Type: application/json\r\nAuthorization: Bearer t\r\n";
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
    let (_, _, session) = server.ask("POST", headers, &hello.to_string());
    let headers = format!("{headers}Mcp-Session-Id: {}\r\n", session.unwrap());
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let (status, answers, _) = server.ask("POST", &headers, &json!([ping(1), ping(2)]).to_string());
    let answers: Value = serde_json::from_str(&answers).unwrap();
    assert_eq!((status, answers.as_array().unwrap().len()), (200, 2));
    let call = |id: u64, command: &str| {
        let params = json!({"name": "run_command", "arguments": {"command": command}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch = json!([call(3, "echo $$ > pid; sleep 600"), call(4, "touch second")]);
    let stream = server.send("POST", &headers, &batch.to_string());
    ends_when_its_client_hangs_up(&server, &stream);
    // The session goes on, and what came behind the cancelled call has not run.
    assert_eq!(server.ask("POST", &headers, &ping(5).to_string()).0, 200);
    assert!(!server.home.work().join("second").exists());
}

#[test]
fn what_is_no_http_and_clients_that_say_nothing_disturb_nobody() {
    let server = Listening::with(None);
    let silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    for bytes in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    ] {
        server.connect().write_all(bytes).unwrap();
    }
    let (status, _) = server.post("", &request(1, "tools/list", json!({}), MODERN));
    assert_eq!((status, silent.len()), (200, 20));
}

#[test]
fn what_a_result_asks_for_is_answered_by_the_same_request_with_the_state_as_it_came() {
    let server = Listening::fixture();
    let call = |params: Value| server.post("", &request(1, "tools/call", params, MODERN));
    let name = "test_input_required_result_request_state";
    let (status, first) = call(json!({"name": name, "arguments": {}}));
    let result = &first["result"];
    assert_eq!(
        (status, &result["resultType"]),
        (200, &json!("input_required"))
    );
    assert_eq!(
        result["inputRequests"]["confirm"]["method"],
        "elicitation/create"
    );
    assert!(result.get("ttlMs").is_none());
    let state = result["requestState"].as_str().unwrap().to_owned();
    let responses = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
    let again = |state: &str| {
        call(
            json!({"name": name, "arguments": {}, "inputResponses": responses, "requestState": state}),
        )
    };
    let (_, done) = again(&state);
    assert_eq!(done["result"]["content"][0]["text"], "state-ok");
    assert_eq!(done["result"]["resultType"], "complete");
    for wrong in [
        format!("{state}x"),
        state.replace("confirm", "other"),
        String::new(),
    ] {
        assert_eq!(again(&wrong).1["error"]["code"], -32602, "{wrong}");
    }
    let (status, lacks) = call(json!({"name": "test_missing_capability", "arguments": {}}));
    assert_eq!((status, &lacks["error"]["code"]), (400, &json!(-32021)));
    assert_eq!(
        lacks["error"]["data"],
        json!({"requiredCapabilities": {"sampling": {}}})
    );
}

#[test]
fn headers_of_a_call_repeat_what_its_tool_marks() {
    let server = Listening::fixture();
    let call = |headers: &str, arguments: Value| {
        let params = json!({"name": "test_header_marks", "arguments": arguments});
        server.post(headers, &request(1, "tools/call", params, MODERN))
    };
    for (headers, arguments, is_same) in [
        ("", json!({}), true),
        ("Mcp-Param-Region: eu\r\n", json!({"region": "eu"}), true),
        (
            "Mcp-Param-Region: =?base64?w6k=?=\r\n",
            json!({"region": "é"}),
            true,
        ),
        (
            "mcp-param-count: 7\r\nMcp-Param-Region: eu\r\n",
            json!({"region": "eu", "count": 7}),
            true,
        ),
        ("Mcp-Param-Region: \r\n", json!({"region": ""}), true),
        ("", json!({"region": "eu"}), false),
        ("Mcp-Param-Region: us\r\n", json!({"region": "eu"}), false),
        ("Mcp-Param-Region: eu\r\n", json!({}), false),
        ("Mcp-Param-Region: eu\r\n", json!({"region": null}), false),
        ("Mcp-Param-Count: 8\r\n", json!({"count": 7}), false),
        (
            "Mcp-Param-Region: =?base64?w6k?=\r\n",
            json!({"region": "é"}),
            false,
        ),
    ] {
        let (status, answer) = call(headers, arguments.clone());
        let got = (status, &answer["error"]["code"]);
        match is_same {
            true => assert_eq!(got, (200, &Value::Null), "{headers} {arguments}"),
            false => assert_eq!(got, (400, &json!(-32020)), "{headers} {arguments}"),
        }
    }
}

#[test]
fn a_client_with_a_handshake_is_asked_in_the_stream_of_its_call_and_answers_beside_it() {
    let server = Listening::fixture();
    let head = "Content-Type: application/json\r\n";
    let begin = |version: &str| {
        let params = json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        server.ask("POST", head, &body.to_string()).2.unwrap()
    };
    let session = begin("2025-11-25");
    let head = format!("{head}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let params = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let mut stream = BufReader::new(server.send("POST", &head, &call.to_string()));
    let mut next = || -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0);
            if let Some(data) = line.trim().strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    };
    let asked = next();
    assert_eq!(
        (&asked["method"], &asked["params"]["message"]),
        (&json!("elicitation/create"), &json!("Who?"))
    );
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"username": "ada"}}});
    assert_eq!(server.ask("POST", &head, &answer.to_string()).0, 202);
    let text = next()["result"]["content"][0]["text"].to_string();
    assert!(text.contains("accept") && text.contains("ada"), "{text}");
    // Of 2025-03-26 alone a list of messages is answered with a list.
    let batch = json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "test_simple_text"}},
        7,
    ]);
    assert_eq!(server.ask("POST", &head, &batch.to_string()).0, 400);
    let session = begin("2025-03-26");
    let head = format!("Content-Type: application/json\r\nMcp-Session-Id: {session}\r\n");
    let (status, body, _) = server.ask("POST", &head, &batch.to_string());
    let answers: Value = serde_json::from_str(&body).unwrap();
    let ids: Vec<&Value> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| &answer["id"])
        .collect();
    assert_eq!(
        (status, ids),
        (200, vec![&json!("a"), &json!("b"), &Value::Null])
    );
    assert!(
        answers[1]["result"]["content"][0]["text"].is_string() && answers[2]["error"].is_object()
    );
    let told = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(server.ask("POST", &head, &told.to_string()).0, 202);
}
