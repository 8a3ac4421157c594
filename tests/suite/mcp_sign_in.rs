//! `marvin mcp login` and `logout`: the real binary, a browser and a server that wants to know who asks.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::spotify_sign_in::{browse, param};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::run::{Marvin, Running};
use crate::support::server::{Answer, Request, Server};
use crate::support::wait;
use crate::support::wire::openai::{self, Stream};
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(30);

/// A server that is its own authorization server.
fn server() -> Server {
    Server::answering(answer)
}

fn answer(request: &Request, _: usize) -> Answer {
    let base = format!("http://{}", request.header("host").unwrap());
    let issuer = format!("{base}/as");
    match request.path.as_str() {
        "/mcp" if request.header("authorization") == Some("Bearer ACCESS-TOKEN-1") => {
            Answer::status(200)
        }
        "/mcp" => Answer::status(401)
            .header("WWW-Authenticate", "Basic realm=\"x\"")
            .header(
                "WWW-Authenticate",
                &format!("Bearer resource_metadata=\"{base}/prm\", scope=\"a b\""),
            ),
        "/prm" => Answer::json(
            &json!({"resource": format!("{base}/mcp"), "authorization_servers": [issuer]}),
        ),
        "/.well-known/oauth-authorization-server/as" => Answer::json(&json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"), "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"), "revocation_endpoint": format!("{issuer}/revoke"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/as/register" => Answer::json(&json!({"client_id": "client-1"})).with_status(201),
        "/as/token" if request.text().contains("code=GOOD") => Answer::json(&json!({
            "access_token": "ACCESS-TOKEN-1", "refresh_token": "REFRESH-TOKEN-1", "token_type": "Bearer", "expires_in": 3600,
        })),
        "/as/token" => Answer::status(400).and_json(&json!({"error": "invalid_grant"})),
        "/as/revoke" => Answer::status(200),
        path => panic!("unexpected {path}"),
    }
}

fn home(server: &Server) -> Home {
    let home = Home::new();
    home.write(
        "config/mcp.json",
        json!({"mcpServers": {"tasks": {"url": server.url("/mcp")}, "local": {"command": "true"}}})
            .to_string(),
    );
    home.program(
        "browser",
        "#!/bin/sh\nprintf '%s' \"$2\" > \"$HOME/opened.part\"\nmv \"$HOME/opened.part\" \"$HOME/opened\"\n",
    );
    home
}

fn login(home: &Home) -> Marvin {
    home.marvin()
        .args(["mcp", "login", "tasks"])
        .env(
            "BROWSER",
            format!("{} --new", home.path().join("browser").display()),
        )
        .limit(LIMIT)
}

/// The address that a run shows.
fn address(run: &Running) -> String {
    run.wait_stderr("code_challenge=", LIMIT);
    run.wait_stderr("\n", LIMIT);
    let text = run.stderr();
    let line = text
        .lines()
        .find(|line| line.contains("/authorize?"))
        .unwrap();
    line[line.find("http").unwrap()..].to_owned()
}

#[test]
fn the_user_signs_in_with_the_browser_and_out_again() {
    let server = server();
    let home = home(&server);
    let run = login(&home).spawn();
    let url = address(&run);
    let (redirect, state) = (param(&url, "redirect_uri"), param(&url, "state"));
    assert_eq!(
        (param(&url, "scope"), param(&url, "resource")),
        ("a b".to_owned(), server.url("/mcp"))
    );
    assert!(browse(&redirect, "code=GOOD&state=other").starts_with("HTTP/1.1 400 "));
    browse(&redirect, &format!("code=GOOD&state={state}"))
        .assert_has(&["HTTP/1.1 200", "Marvin is signed in"]);
    let done = run.wait().expect(0);
    assert_eq!(done.text(), "Signed in to tasks.\n");
    assert_eq!(home.read("opened"), url);
    let file = home.config().join("mcp-tokens.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    home.read("config/mcp-tokens.json")
        .assert_has(&["ACCESS-TOKEN-1", "REFRESH-TOKEN-1"]);
    let shown = done.output();
    for secret in ["ACCESS-TOKEN", "REFRESH-TOKEN", "GOOD"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let done = home
        .marvin()
        .args(["mcp", "logout", "tasks"])
        .run()
        .expect(0);
    assert_eq!(done.text(), "Signed out of tasks.\n");
    let last = server.requests().pop().unwrap();
    assert_eq!(last.path, "/as/revoke");
    last.text().assert_has(&["token=REFRESH-TOKEN-1"]);
    assert!(!home.read("config/mcp-tokens.json").contains("TOKEN-1"));
}

#[test]
fn an_interrupt_ends_the_wait_and_a_refusal_says_why() {
    let server = server();
    let home = home(&server);
    let run = login(&home).spawn();
    address(&run);
    run.signal(Signal::INT);
    run.wait().expect(130);
    let run = login(&home).spawn();
    let url = address(&run);
    let query = format!("error=access_denied&state={}", param(&url, "state"));
    browse(&param(&url, "redirect_uri"), &query);
    run.wait().expect(1).stderr_has(&["Access was denied"]);
    let run = login(&home).spawn();
    let url = address(&run);
    let query = format!("code=SPENT-CODE&state={}", param(&url, "state"));
    browse(&param(&url, "redirect_uri"), &query).assert_has(&["not signed in"]);
    let done = run.wait().expect(1);
    done.stderr_has(&["does not take the code"]);
    assert!(!done.output().contains("SPENT"), "{}", done.output());
    home.marvin()
        .args(["mcp", "login", "local"])
        .run()
        .expect(1)
        .stderr_has(&["is a program"]);
}

#[test]
fn the_address_at_which_the_browser_ended_is_pasted_into_the_terminal() {
    let server = server();
    let home = home(&server);
    let mut terminal = Pty::marvin(&home, &["mcp", "login", "tasks"], (2_000, 24));
    terminal.wait_text("paste its address here");
    let screen = terminal.screen();
    let url = screen
        .lines()
        .find(|line| line.contains("/authorize?"))
        .unwrap();
    let (redirect, state) = (
        param(url.trim(), "redirect_uri"),
        param(url.trim(), "state"),
    );
    terminal.send("GOOD\n");
    terminal.wait_text("This is not the address");
    terminal.send(format!("{redirect}?code=GOOD&state={state}\n"));
    terminal.wait_text("Signed in to tasks.");
    assert!(terminal.wait().success());
}

#[test]
fn a_conversation_offers_to_sign_in_and_does_it() {
    let server = server();
    let home = home(&server);
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), &home);
    command
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .env(
            "BROWSER",
            format!("{} --new", home.path().join("browser").display()),
        )
        .args(["--provider", "openai-compat", "--model", "test"]);
    let mut terminal = Pty::spawn(&command, (300, 60));
    // As soon as the server wants it.
    let asked = "y or Enter yes";
    terminal.wait_text("tasks wants you to sign in: open the browser?");
    terminal.wait_text(asked);
    terminal.send("n");
    terminal.wait_gone(asked);
    terminal.enter("/mcp tasks", "tasks: needs sign-in");
    terminal.enter("/mcp login local", "is a program");
    terminal.send("/mcp login tasks\r");
    terminal.wait_text(asked);
    terminal.send("y");
    wait::until_within(LIMIT, "the browser", || home.has("opened"));
    let url = home.read("opened");
    let query = format!("code=GOOD&state={}", param(&url, "state"));
    browse(&param(&url, "redirect_uri"), &query).assert_has(&["Marvin is signed in"]);
    terminal.wait_text("Signed in to tasks.");
    terminal.control('q');
    assert!(terminal.wait().success());
}

/// Rounds of each of two runs that go side by side, and calls of a round.
const ROUNDS: usize = 25;
const CALLS: usize = 40;

/// A model that has a tool called many times at once, for so many rounds.
fn calling_much() -> Server {
    Server::answering(|request, _| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let round = messages
            .iter()
            .filter(|message| message["role"] == "assistant")
            .count();
        if round == ROUNDS {
            return Answer::sse(openai::text(&["Done."]));
        }
        let stream = (0..CALLS).fold(Stream::new(), |stream, n| {
            let id = format!("call_{round}_{n}");
            stream.call(
                n,
                &id,
                "tasks__look",
                &json!({"n": round * CALLS + n}).to_string(),
            )
        });
        Answer::sse(stream.end())
    })
}

#[test]
fn two_runs_that_share_a_rotating_token_are_never_signed_out() {
    // Each token is over at once, and a refresh token that comes twice ends everything.
    let refreshes = Arc::new(AtomicUsize::new(0));
    let (count, looks) = (Arc::clone(&refreshes), Arc::new(AtomicUsize::new(0)));
    let looked = Arc::clone(&looks);
    let server = Server::answering(move |request, _| {
        let is_known = request
            .header("authorization")
            .is_some_and(|value| value.starts_with("Bearer ACCESS-"));
        match request.path.as_str() {
            "/mcp" if is_known => {
                let message = request.json();
                let result = match message["method"].as_str().unwrap_or_default() {
                    "tools/list" => {
                        let tool = json!({"name": "look", "inputSchema": {"type": "object"}});
                        json!({"resultType": "complete", "tools": [tool]})
                    }
                    "tools/call" => {
                        looked.fetch_add(1, Ordering::SeqCst);
                        json!({"resultType": "complete", "content": [{"type": "text", "text": "seen"}]})
                    }
                    _ => {
                        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                    }
                };
                Answer::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
            }
            "/token" => {
                let now = count.load(Ordering::SeqCst);
                let is_next = request
                    .text()
                    .contains(&format!("refresh_token=REFRESH-{now}&"));
                let next = match is_next {
                    true => now + 1,
                    false => usize::MAX,
                };
                if count.compare_exchange(now, next, Ordering::SeqCst, Ordering::SeqCst) != Ok(now)
                    || !is_next
                {
                    return Answer::status(400).and_json(&json!({"error": "invalid_grant"}));
                }
                Answer::json(&json!({
                    "access_token": format!("ACCESS-{next}"), "refresh_token": format!("REFRESH-{next}"), "token_type": "Bearer", "expires_in": 1,
                }))
            }
            _ => Answer::status(401).header("WWW-Authenticate", "Bearer"),
        }
    });
    let home = home(&server);
    let (issuer, url) = (server.url(""), server.url("/mcp"));
    let token = json!({
        "access_token": "ACCESS-0", "refresh_token": "REFRESH-0", "expires_at": 1, "token_endpoint": server.url("/token"), "client_id": "client-1",
    });
    let tokens = json!({"servers": {&url: {"issuer": &issuer, "resource": &url}}, "tokens": {&issuer: {&url: token}}});
    home.write("config/mcp-tokens.json", tokens.to_string());
    let model = calling_much();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let run = home.ask(&model.url("/v1"), "look everywhere");
                // One after the other, because nothing says that they only read.
                let run = run.args(["--allowed-tools", "tasks__look"]);
                run.limit(LIMIT * 10).run().expect(0);
            });
        }
    });
    assert_eq!(looks.load(Ordering::SeqCst), 2 * ROUNDS * CALLS);
    // One that waited for the other's refresh takes its token.
    let count = refreshes.load(Ordering::SeqCst);
    eprintln!("{count} refreshes");
    assert!((ROUNDS * CALLS..usize::MAX).contains(&count), "{count}");
}
