//! Servers of the Model Context Protocol in a conversation: what completes their names, what they say by themselves, and what the user agrees to on the way.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::stage::{LIMIT, calls, full, lines, playing, quit, says, until, wait_input};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

/// A server of the era `$2`; `$1` is a file that tells what it got. Its lists change with each call.
const SERVER: &str = r#"#!/bin/sh
echo "start $$" >> "$1"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tell() { printf '{"jsonrpc":"2.0","method":"notifications/%s","params":%s}\n' "$1" "$2"; }
able='"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}'
late= about='{}'
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $2$line in
  modern*'"method":"server/discover"'*)
    say "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],$able}" ;;
  legacy*'"method":"initialize"'*)
    say "{\"protocolVersion\":\"2025-06-18\",\"serverInfo\":{\"name\":\"scripted\",\"version\":\"1\"},$able}" ;;
  *'"method":"subscriptions/listen"'*)
    echo listen >> "$1"
    about="{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id}}"
    tell subscriptions/acknowledged "$about" ;;
  *'"method":"tools/list"'*)
    echo list >> "$1"
    say '{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'"$late"']}' ;;
  *'"method":"prompts/list"'*)
    say '{"prompts":[{"name":"review","description":"Reviews a file.","arguments":[{"name":"file","required":true},{"name":"style"}]}]}' ;;
  *'"method":"resources/list"'*)
    say '{"resources":[{"uri":"doc://guide","name":"guide"},{"uri":"doc://plan","name":"plan"}]}' ;;
  *'"method":"resources/templates/list"'*)
    say '{"resourceTemplates":[{"uriTemplate":"note:///{+path}","name":"notes"}]}' ;;
  *'"method":"completion/complete"'*'ref/prompt'*)
    say '{"completion":{"values":["main.rs","math.rs"]}}' ;;
  *'"method":"completion/complete"'*)
    say '{"completion":{"values":["diary.md"]}}' ;;
  *'"method":"resources/read"'*)
    say '{"contents":[{"uri":"doc://plan","text":"The body of the plan."}]}' ;;
  *'"method":"resources/subscribe"'*)
    echo subscribe >> "$1"; say '{}' ;;
  *'"method":"tools/call"'*)
    late=',{"name":"late","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'
    for n in 1 2 3 4; do tell tools/list_changed "$about"; done
    tell message '{"level":"warning","data":"The disk is nearly full."}'
    tell message '{"level":"info","data":"Nothing to see."}'
    tell resources/updated '{"uri":"doc://plan"}'
    say '{"content":[{"type":"text","text":"it is done"}]}' ;;
  *'"id":'*'"method":'*|*'"method":'*'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

fn entry(home: &Home, era: &str) -> Value {
    let program = home.program("bin/server", SERVER);
    json!({"command": program, "args": [home.path().join("server.log"), era]})
}

fn log(home: &Home) -> String {
    fs::read_to_string(home.path().join("server.log")).unwrap_or_default()
}

/// Waits until no server of the home runs any more.
fn gone(home: &Home) {
    for line in log(home).lines() {
        if let Some(process) = line.strip_prefix("start ") {
            let process = format!("/proc/{process}");
            until("the server to end", || !Path::new(&process).exists());
        }
    }
}

/// A home that has the server of this era in its configuration, and remembers what it offers.
fn home(era: &str) -> Home {
    let home = Home::new();
    let servers = json!({"mcpServers": {"calc": entry(&home, era)}});
    home.write("config/mcp.json", servers.to_string());
    let server = playing([says("Hello.")]);
    home.ask(&server.url("/v1"), "hi").run().expect(0);
    home
}

/// A model that calls what the last message asks it to ("call NAME"), and else says that all is fine.
fn model() -> Server {
    Server::answering(|request, _| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let text = last["content"].to_string();
        let name = text
            .split("call ")
            .nth(1)
            .filter(|_| last["role"] == "user");
        match name.and_then(|text| text.split([' ', '"', '\\', '.']).next()) {
            Some(name) => calls(name, json!({})),
            None => says("Fine."),
        }
    })
}

fn offers(server: &Server, request: usize, name: &str) -> bool {
    let tools = server.request(request).json()["tools"].take();
    let mut tools = tools.as_array().unwrap().iter();
    tools.any(|tool| tool["function"]["name"] == name)
}

/// Sends messages until a tool is offered with one.
fn until_offered(pty: &Pty, server: &Server, name: &str) {
    for n in 0..50 {
        let request = server.requests().len();
        pty.send(format!("and {n}\r"));
        server.wait_requests(request + 1, LIMIT);
        if offers(server, request, name) {
            return;
        }
    }
    panic!("{name} is never offered");
}

#[test]
fn resources_and_the_words_of_prompts_are_completed() {
    let home = home("legacy");
    let server = model();
    let pty = full(&home, &server);
    pty.send("see @ca");
    pty.wait_text("calc:");
    pty.send("\t");
    wait_input(&pty, "> see @calc:");
    pty.wait_text("doc://guide");
    pty.wait_text("note:///");
    pty.send("doc://p");
    pty.wait_gone("doc://guide");
    pty.send("\t");
    wait_input(&pty, "> see @calc:doc://plan");
    pty.control('u');
    pty.send("@calc:note:///di");
    pty.wait_text("note:///diary.md");
    pty.send("\x1b");
    pty.wait_gone("diary.md");
    pty.control('u');
    pty.send("/calc:");
    pty.wait_text("Reviews a file.");
    pty.send("review ma\t");
    pty.wait_text("math.rs");
    pty.send("\x1b");
    pty.wait_gone("math.rs");
    pty.control('u');
    pty.send("/calc:review file=mat\t");
    wait_input(&pty, "> /calc:review file=math.rs");
    pty.send("st\t");
    wait_input(&pty, "> /calc:review file=math.rs style=");
    pty.control('u');
    // What is missing is asked for.
    pty.enter("/calc:review", "Its prompt review needs this.");
    pty.send("\x1b");
    pty.wait_text("stopped");
    wait_input(&pty, "> /calc:review");
    pty.control('u');
    assert_eq!(server.requests().len(), 0);
    quit(pty, &home);
    gone(&home);
}

#[test]
fn what_a_server_says_by_itself_is_shown_and_its_changes_come_with_the_next_message() {
    for era in ["legacy", "modern"] {
        let home = home(era);
        let lists = log(&home).matches("list\n").count();
        let server = model();
        let pty = lines(&home, &server);
        pty.enter("call calc__look. See @calc:doc://plan", "Fine.");
        pty.wait_text("calc: warning: The disk is nearly full.");
        pty.wait_text("calc: doc://plan has changed since it was attached.");
        pty.screen().assert_lacks(&["Nothing to see"]);
        // Never in the middle of a round.
        assert!(!offers(&server, 0, "calc__late") && !offers(&server, 1, "calc__late"));
        until_offered(&pty, &server, "calc__late");
        let told = log(&home);
        // Four changes and the first look are one or two.
        let asked = told.matches("list\n").count() - lists;
        assert!((1..=2).contains(&asked), "{era}: {told}");
        assert_eq!(told.contains("listen\n"), era == "modern", "{told}");
        if era == "legacy" {
            until("a subscription", || log(&home).contains("subscribe\n"));
        }
        pty.send("/exit\r");
        pty.wait_closed();
        gone(&home);
    }
}

/// Asks as soon as it is connected, and writes down what it is answered.
const ASKING_SERVER: &str = r#"#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}' ;;
  *'"method":"tools/list"'*)
    say '{"tools":[]}'
    printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}}}\n' ;;
  *'"q1"'*) echo "$line" >> "$1" ;;
  *'"id":'*'"method":'*|*'"method":'*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn a_question_of_a_server_is_seen_at_an_idle_prompt_of_plain_lines() {
    let home = Home::new();
    let program = home.program("bin/server", ASKING_SERVER);
    let entry = json!({"command": program, "args": [home.path().join("server.log")]});
    home.write(
        "config/mcp.json",
        json!({"mcpServers": {"calc": entry}}).to_string(),
    );
    let server = model();
    // Nothing is typed before the question is there.
    let pty = Pty::spawn(&crate::stage::plain_command(&home, &server), (100, 40));
    pty.wait_text("Which colour?");
    pty.wait_text("Your answer");
    pty.send("blue\r");
    until("an answer", || log(&home).contains("blue"));
    pty.wait_text("You: ");
    // Lines are read as ever, and what was typed first is part of them.
    pty.enter("Good morning.", "Fine.");
    pty.send("/exit\r");
    pty.wait_closed();
}

#[test]
fn servers_of_a_project_follow_what_the_user_says_of_it() {
    let home = Home::new();
    fs::set_permissions(home.work(), Permissions::from_mode(0o755)).unwrap();
    let servers = json!({"mcpServers": {"calc": entry(&home, "legacy")}});
    home.write("work/.mcp.json", servers.to_string());
    let server = model();
    let pty = lines_after_no(&home, &server);
    pty.enter("Good morning.", "Fine.");
    assert!(!offers(&server, 0, "calc__look"));
    assert_eq!(log(&home), "");
    pty.enter("/trust session", "is used in this session.");
    until_offered(&pty, &server, "calc__look");
    pty.enter("call calc__look", "calc__look  \u{2713}");
    pty.enter("/trust never", "stays unused");
    gone(&home);
    let request = server.requests().len();
    pty.send("call calc__look\r");
    server.wait_requests(request + 2, LIMIT);
    let sent = server.request(request + 1).text();
    sent.assert_has(&["The MCP server calc is not used in this session."]);
    // Nobody starts it again.
    assert_eq!(log(&home).matches("start").count(), 1);
    pty.send("/exit\r");
    pty.wait_closed();
}

/// Plain lines, whose question about the project was answered with no.
fn lines_after_no(home: &Home, server: &Server) -> Pty {
    let pty = Pty::spawn(&crate::stage::plain_command(home, server), (100, 40));
    pty.wait_text("Its number, or Enter for not in this session:");
    pty.send("\r");
    pty.wait_text("You: ");
    pty
}

/// A server that asks with each call, and writes the answer to `$1`.
const ASKS: &str = r#"#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}' ;;
  *'"method":"tools/list"'*) say '{"tools":[{"name":"ask","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"method":"tools/call"'*)
    call=$id
    printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","minLength":2},"news":{"type":"boolean","default":true}}}}}\n' ;;
  *'"id":"q"'*)
    echo "$line" >> "$1"
    id=$call
    say '{"content":[{"type":"text","text":"thanks"}]}' ;;
  esac
done
"#;

#[test]
fn the_form_of_a_server_is_filled_in_field_by_field_and_can_be_left() {
    let home = Home::new();
    let program = home.program("bin/server", ASKS);
    let args = [home.path().join("server.log")];
    let entry = json!({"command": program, "args": args, "protocol": "2025-06-18"});
    home.write(
        "config/mcp.json",
        json!({"mcpServers": {"calc": entry}}).to_string(),
    );
    let first = playing([says("Hello.")]);
    home.ask(&first.url("/v1"), "hi").run().expect(0);
    let server = model();
    let pty = full(&home, &server);
    pty.enter(
        "call calc__ask",
        "1 of 2: name (text, at least 2 characters)",
    );
    pty.wait_text("e write it");
    pty.send("e");
    pty.wait_text("Esc goes back");
    // Whoever does not send what they wrote has not answered yet.
    pty.send("x\x1b");
    pty.wait_text("e write it");
    pty.send("e");
    pty.send("A\r");
    pty.wait_text("it needs at least 2 characters");
    pty.wait_text("e write it");
    pty.send("e");
    pty.send("Ada\r");
    pty.wait_text("2 of 2: news (y or n, may be left out)");
    pty.wait_text("e write it");
    pty.send("y");
    pty.wait_text("Fine.");
    assert!(log(&home).contains(r#""content":{"name":"Ada","news":true}"#));
    pty.enter("call calc__ask", "1 of 2: name");
    pty.wait_text("e write it");
    pty.send("\x1b");
    until("the answer", || log(&home).contains(r#""action":"cancel""#));
    quit(pty, &home);
}
