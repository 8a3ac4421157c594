//! What a request carries of the tools, and how a model gets at the others: the binary against scripted providers.

use serde_json::{Value, json};

use crate::support::conversation::{calls, last_sent, playing, says};
use crate::support::home::Home;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::{anthropic, openai, responses};
use crate::support::words::TextAssertions;

/// The text of a request's tools, without the brackets around the list.
fn tools_text(server: &Server, request: usize) -> String {
    let text = server.request(request).text();
    let (_, tools) = text.rsplit_once("\"tools\":[").expect(&text);
    tools.trim_end_matches(['}', ']']).to_owned()
}

fn names(server: &Server, request: usize) -> Vec<String> {
    let tools = server.request(request).json()["tools"].take();
    let name = |tool: &Value| {
        let name = tool.pointer("/function/name").unwrap_or(&tool["name"]);
        name.as_str().unwrap().to_owned()
    };
    tools.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_search_appends_what_it_found_and_a_later_session_has_it_too() {
    let home = Home::new();
    let server = playing([
        calls(
            "tool_search",
            json!({"query": "convert units, look up a dictionary", "limit": 2}),
        ),
        calls(
            "convert_units",
            json!({"value": 3, "from_unit": "mi", "to_unit": "km"}),
        ),
        calls("timer_chek", json!({})),
        calls("timer_check", json!({"name": "tea"})),
        says("Done."),
        says("Again."),
        says("New."),
    ]);
    let ask = || home.chat(&server);
    ask().stdin("how far?\n").run().expect(0);
    let direct = names(&server, 0);
    assert_eq!(direct.len(), 18);
    for name in ["read_file", "run_command", "save_place", "tool_search"] {
        assert!(direct.iter().any(|own| own == name), "{name}");
    }
    let answer = last_sent(&server, 1);
    let (lines, schemas) = answer.split_once("\n\n").unwrap();
    assert!(
        lines.contains("convert_units — ") && lines.lines().count() == 2,
        "{lines}"
    );
    let schemas: Value = serde_json::from_str(schemas).unwrap();
    assert_eq!(schemas["convert_units"]["type"], "object");
    let found = names(&server, 1);
    assert_eq!(found[..18], direct);
    assert_eq!(
        found[18..],
        lines
            .lines()
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    );
    last_sent(&server, 2).assert_has(&["4.8"]);
    // A wrong name leads to the right one, which runs without a search.
    last_sent(&server, 3).assert_has(&["\"timer_chek\"", "timer_check", "tool_search finds"]);
    assert_eq!(names(&server, 3), found);
    let all = names(&server, 4);
    assert_eq!(
        (&all[..20], &all[20..]),
        (&found[..], &["timer_check".to_owned()][..])
    );
    // What was sent stays, byte for byte.
    for n in 0..4 {
        let (before, after) = (tools_text(&server, n), tools_text(&server, n + 1));
        assert!(after.starts_with(&before), "{n}");
    }
    ask().arg("-c").stdin("and?\n").run().expect(0);
    assert_eq!(tools_text(&server, 5), tools_text(&server, 4));
    ask().stdin("hello\n").run().expect(0);
    assert_eq!(tools_text(&server, 6), tools_text(&server, 0));
}

#[test]
fn the_setting_and_groups_decide_whether_there_is_a_search() {
    let home = Home::new();
    let server = Server::always(says("Yes."));
    let base = server.url("/v1");
    home.ask(&base, "hi")
        .env("MARVIN_TOOL_SEARCH", "off")
        .run()
        .expect(0);
    home.ask(&base, "hi")
        .args(["--tools", "git"])
        .run()
        .expect(0);
    home.write("config/config.yaml", "MARVIN_TOOL_SEARCH: off\n");
    home.ask(&base, "hi").run().expect(0);
    home.ask(&base, "hi")
        .env("MARVIN_TOOL_SEARCH", "on")
        .args(["--tools", "git"])
        .run()
        .expect(0);
    let wrong = home
        .ask(&base, "hi")
        .env("MARVIN_TOOL_SEARCH", "maybe")
        .run()
        .expect(0);
    wrong.stderr_has(&["MARVIN_TOOL_SEARCH is \"maybe\"; it is auto, on or off."]);
    for n in 0..3 {
        assert!(
            !names(&server, n).contains(&"tool_search".to_owned()),
            "{n}"
        );
    }
    assert_eq!(
        (names(&server, 0).len(), names(&server, 2).len()),
        (123, 123)
    );
    assert_eq!(names(&server, 1).len(), 7);
    assert_eq!(
        names(&server, 3),
        ["git_status", "git_diff", "git_log", "tool_search"]
    );
    assert_eq!(names(&server, 4).len(), 18);
}

#[test]
fn tools_wait_in_the_cache_of_a_provider_that_defers_them() {
    let home = Home::new();
    let call = |name: &str, args: Value| Answer::sse(anthropic::calls(&[("toolu_1", name, args)]));
    let refusal = anthropic::error(
        "invalid_request_error",
        "tools.18.custom.defer_loading: Extra inputs are not permitted",
    );
    let server = Server::with([
        Exchange::post("/v1/messages")
            .answer(call("tool_search", json!({"query": "convert units"}))),
        Exchange::post("/v1/messages").answer(call(
            "convert_units",
            json!({"value": 3, "from_unit": "mi", "to_unit": "km"}),
        )),
        Exchange::post("/v1/messages").answer(Answer::sse(anthropic::text(&["Done."]))),
        Exchange::post("/v1/messages").answer(Answer::json(&refusal).with_status(400)),
        Exchange::post("/v1/messages")
            .answer(call("tool_search", json!({"query": "convert units"}))),
        Exchange::post("/v1/messages").answer(Answer::sse(anthropic::text(&["Done."]))),
    ]);
    let ask = || {
        home.marvin()
            .env("MARVIN_URL_ANTHROPIC", server.url(""))
            .env("ANTHROPIC_API_KEY", "test-key")
            .args([
                "--non-interactive",
                "--provider",
                "anthropic",
                "--prompt",
                "hi",
            ])
            .run()
            .expect(0)
    };
    ask();
    let first = server.request(0).json();
    let tools = first["tools"].as_array().unwrap();
    let deferred: Vec<bool> = tools
        .iter()
        .map(|tool| tool["defer_loading"] == true)
        .collect();
    assert_eq!(deferred.iter().filter(|waits| !**waits).count(), 18);
    assert_eq!(deferred.len(), 124);
    assert!(deferred[18..].iter().all(|waits| *waits));
    // The breakpoint of the cache is at the last one that does not wait.
    let marked: Vec<usize> = (0..tools.len())
        .filter(|n| tools[*n].get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [17]);
    for n in 1..3 {
        assert_eq!(tools_text(&server, n), tools_text(&server, 0), "{n}");
    }
    let result = &server.request(1).json()["messages"][2]["content"][0];
    assert_eq!(result["type"], "tool_result");
    assert_eq!(
        result["content"][0],
        json!({"type": "tool_reference", "tool_name": "convert_units"})
    );
    // A gateway that does not know them gets what others get.
    ask().stderr_has(&["does not take defer_loading"]);
    assert_eq!(names(&server, 4).len(), 18);
    let last = server.request(5).json();
    last.to_string()
        .assert_lacks(&["defer_loading", "tool_reference"]);
    assert_eq!(names(&server, 5)[18], "convert_units");
}

/// Rounds of calls, and those that search.
const CACHED_ROUNDS: usize = 10;
const SEARCHES: [(usize, &str); 3] = [
    (1, "convert units"),
    (4, "look a word up in a dictionary"),
    (7, "set a timer"),
];

/// The call of a round.
fn call_of(n: usize) -> (&'static str, Value) {
    match SEARCHES.iter().find(|(round, _)| *round == n) {
        Some((_, query)) => ("tool_search", json!({"query": query})),
        None => (
            "create_file",
            json!({"path": format!("file_{n}.txt"), "content": format!("Number {n}.\n")}),
        ),
    }
}

/// What a provider reads of a request, in the order in which it caches: tools, system prompt, conversation. And where the tools end.
fn rendered(request: &Value) -> (String, usize) {
    let list = |key: &str| match &request[key] {
        Value::Array(items) => items.iter().map(|item| format!("{item}\n")).collect(),
        Value::Null => String::new(),
        other => format!("{other}\n"),
    };
    let tools: String = list("tools");
    let rest: Vec<String> = ["instructions", "system", "input", "messages"]
        .map(list)
        .into();
    let text = format!("{tools}{}", rest.concat());
    // Marks of the cache move with the conversation and are no part of what is read.
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let without = |text: &str| text.replace(&format!(",{mark}"), "").replace(mark, "");
    (without(&text), without(&tools).len())
}

#[test]
fn ten_rounds_with_three_searches_lose_of_a_cache_only_what_they_must() {
    type Round = fn(usize) -> Answer;
    let over_messages: Round = |n| {
        Answer::sse(match n {
            CACHED_ROUNDS.. => anthropic::text(&["Done."]),
            _ => {
                let (name, args) = call_of(n);
                anthropic::calls(&[(&format!("toolu_{n}"), name, args)])
            }
        })
    };
    let over_responses: Round = |n| {
        Answer::sse(match n {
            CACHED_ROUNDS.. => responses::text(&["Done."]),
            _ => {
                let (name, args) = call_of(n);
                let stream = responses::Stream::new();
                stream
                    .call(&format!("call_{n}"), name, &args.to_string(), 8)
                    .end()
            }
        })
    };
    let over_completions: Round = |n| {
        Answer::sse(match n {
            CACHED_ROUNDS.. => openai::text(&["Done."]),
            _ => {
                let (name, args) = call_of(n);
                openai::call(&format!("call_{n}"), name, args)
            }
        })
    };
    for (provider, wire, base, answer, keeps_all) in [
        ("anthropic", None, "", over_messages, true),
        ("openai", None, "/v1", over_responses, false),
        (
            "openai",
            Some("completions"),
            "/v1",
            over_completions,
            false,
        ),
    ] {
        let home = Home::new();
        let server = Server::answering(move |_, n| answer(n));
        let upper = provider.to_uppercase();
        let marvin = home.marvin();
        wire.iter()
            .fold(marvin, |marvin, wire| marvin.env("OPENAI_WIRE", wire))
            .env(&format!("MARVIN_URL_{upper}"), server.url(base))
            .env(&format!("{upper}_API_KEY"), "test-key")
            .args(["--non-interactive", "--provider", provider])
            .args(["--prompt", "write the files", "--working-dir"])
            .arg(home.work())
            .run()
            .expect(0);
        let requests = server.requests();
        assert_eq!(requests.len(), CACHED_ROUNDS + 1, "{provider}");
        let read: Vec<(String, usize)> = requests
            .iter()
            .map(|request| rendered(&request.json()))
            .collect();
        let (mut cached, mut sent) = (0, read[0].0.len());
        for n in 1..read.len() {
            let ((before, tools), (after, _)) = (&read[n - 1], &read[n]);
            let same = before
                .bytes()
                .zip(after.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let follows_search = SEARCHES.iter().any(|(round, _)| round + 1 == n);
            let kept = match follows_search && !keeps_all {
                true => *tools,
                false => before.len(),
            };
            // What was found begins like what stood there before: with the bracket of a tool, not of a message.
            assert!(
                (kept..kept + 40).contains(&same),
                "{provider} {wire:?} {n}: {same} of {kept}"
            );
            cached += same;
            sent += after.len();
        }
        let share = cached * 100 / sent;
        // Numbers for whoever compares.
        eprintln!("{provider} {wire:?}: {cached} of {sent} bytes cached, {share} %");
        assert!(
            share > if keeps_all { 85 } else { 70 },
            "{provider} {wire:?}: {share} %"
        );
    }
}

#[test]
fn a_first_request_with_a_search_is_a_fraction_of_one_with_all_tools() {
    let home = Home::new();
    let server = Server::always(says("Yes."));
    for setting in ["auto", "off"] {
        let ask = home.ask(&server.url("/v1"), "hi");
        ask.env("MARVIN_TOOL_SEARCH", setting).run().expect(0);
    }
    let [with, without] = [0, 1].map(|n| tools_text(&server, n).len() / 4);
    eprintln!("tokens of the tools of a first request: {with} with a search, {without} without");
    assert!(with * 4 < without, "{with} and {without}");
}

#[test]
fn a_tool_whose_schema_is_refused_is_taken_out_for_the_session() {
    let home = Home::new();
    let refusal = json!({"error": {"message": "Invalid schema for function 'apply_patch': In context=('properties', 'x'), array schema missing items.", "type": "invalid_request_error", "param": "tools[0].function.parameters", "code": "invalid_function_parameters"}});
    let post = || Exchange::post("/chat/completions");
    let server = Server::with([
        post().answer(Answer::json(&refusal).with_status(400)),
        post().answer(calls("tree", json!({}))),
        post().answer(says("Done.")),
    ]);
    let done = home.ask(&server.url("/v1"), "hi").run().expect(0);
    done.stderr_has(&["refuses the schema of the tool apply_patch"]);
    assert_eq!(done.errors().matches("refuses the schema").count(), 1);
    let without: Vec<String> = names(&server, 0)
        .into_iter()
        .filter(|name| name != "apply_patch")
        .collect();
    assert_eq!(
        (names(&server, 1), names(&server, 2)),
        (without.clone(), without)
    );
}
