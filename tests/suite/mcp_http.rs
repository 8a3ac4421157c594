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
        let folder = home.path().display().to_string();
        let mut marvin = home
            .marvin()
            .args(["mcp", "serve", "--http", "0", "--working-dir", &folder])
            .limit(LIMIT);
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
    assert_eq!(server.ask("DELETE", &session, "").0, 200);
    assert_eq!(server.ask("POST", &own, &list).0, 404);
    assert_eq!(server.ask("DELETE", &session, "").0, 404);
}

#[test]
fn progress_comes_as_a_stream_and_a_client_that_hangs_up_ends_its_call() {
    let server = Listening::with(Some("t"));
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
    let pid = std::fs::read_to_string(server.home.path().join("pid")).unwrap();
    stream.shutdown(Shutdown::Both).unwrap();
    let status = format!("/proc/{}/status", pid.trim());
    wait::until("the end of the program", || {
        std::fs::metadata(&status).is_err()
    });
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
