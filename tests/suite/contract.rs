//! The non-interactive mode as calling programs see it: prompts, standard output, standard error, exit codes.

use std::time::Duration;

use serde_json::json;

use crate::support::home::Home;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(20);

fn says(expected: &[&str]) -> Server {
    let expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
    Server::answering(move |_, _| {
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        Answer::sse(openai::text(&expected))
    })
}

#[test]
fn an_answer_is_raw_text_with_one_final_newline_and_the_cost_last() {
    let (home, server) = (Home::new(), says(&["Hello", " there"]));
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert_eq!(output.text(), "Hello there\n");
    assert!(output.errors().ends_with('\n'));
    let cost = output.errors();
    assert!(
        cost.lines()
            .last()
            .unwrap()
            .starts_with("MARVIN_COST:{\"session_cost\":"),
        "{cost}"
    );
    cost.assert_has(&["\"llm_turns\":1"]);
    let body = server.request(0).json();
    assert_eq!(body["stream"], true);
    // A few of the tools, and the one that finds the others.
    body["tools"]
        .to_string()
        .assert_has(&["\"read_file\"", "\"tool_search\""]);
}

#[test]
fn prompts_have_their_precedence_and_standard_input_comes_last() {
    let (home, server) = (Home::new(), says(&["ok"]));
    let file = home.write("prompt.txt", "from the file");
    let base = server.url("/v1");
    let plain = |home: &Home| home.ask(&base, " \n");
    plain(&home)
        .arg("--prompt-file")
        .arg(&file)
        .arg("words")
        .run()
        .expect(0);
    plain(&home).args(["some", "words"]).run().expect(0);
    plain(&home).stdin("from stdin").run().expect(0);
    // An inherited open pipe must be neither read nor waited for.
    let running = home.ask(&base, "given").stdin_open().spawn();
    running.wait_open().expect(0);
    home.ask(&base, "given")
        .arg("--stdin")
        .stdin("data\n")
        .run()
        .expect(0);
    let prompts: Vec<String> = server
        .requests()
        .iter()
        .map(|r| {
            r.json()["messages"][1]["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        &prompts[..4],
        ["from the file", "some words", "from stdin", "given"]
    );
    assert!(
        prompts[4].starts_with("given\n") && prompts[4].contains("<stdin>\ndata\n</stdin>"),
        "{}",
        prompts[4]
    );
}

#[test]
fn a_missing_prompt_and_wrong_flags_end_with_one_and_a_cost_line() {
    let home = Home::new();
    for args in [
        &["--non-interactive"][..],
        &["--non-interactive", "--promt", "x"],
        &["--non-interactive", "--prompt", "x", "--provider", "opnai"],
        &[
            "--non-interactive",
            "--prompt",
            "x",
            "--working-dir",
            "/nowhere/at/all",
        ],
    ] {
        let output = home.marvin().args(args.to_vec()).stdin("").run().expect(1);
        assert_eq!(output.text(), "");
        let errors = output.errors();
        assert!(errors.starts_with("Error: "), "{errors}");
        assert!(errors.ends_with("MARVIN_COST:{\"session_cost\":0.0,\"llm_turns\":0,\"model_turns\":{},\"model_cost\":{},\"input_tokens\":0,\"cached_tokens\":0,\"written_tokens\":0,\"reasoning_tokens\":0,\"output_tokens\":0,\"estimated\":false}\n"), "{errors}");
    }
}

#[test]
fn the_tool_marker_is_on_its_own_line_with_names_in_call_order() {
    let (home, server) = (
        Home::new(),
        Server::answering(|_, n| match n {
            0 => Answer::sse(
                openai::Stream::new()
                    .text(&["Let me look"])
                    .call(0, "a", "get_working_dir", "{}")
                    .call(1, "b", "tree", "{}")
                    .call(2, "c", "tree", "{}")
                    .done(),
            ),
            _ => Answer::sse(openai::text(&["Done."])),
        }),
    );
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert_eq!(
        output.text(),
        "Let me look\n  \u{1f527} get_working_dir, tree, tree\nDone.\n"
    );
    let messages = server.request(1).json()["messages"].clone();
    let ids: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["role"] == "tool")
        .map(|m| m["tool_call_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_and_the_request() {
    let home = Home::new();
    let server = Server::with([
        Exchange::any().answer(Answer::sse(openai::text(&["one"])[..2].to_vec()).stall())
    ]);
    let output = home
        .ask(&server.url("/v1"), "hi")
        .close_stdout_after(3)
        .run();
    assert_eq!(output.code(), Some(1), "{}", output.errors());
    output.stderr_lacks(&["panic", "Error"]);
    server.wait_closed(0, LONG);
}

#[test]
fn without_a_model_phrases_work_and_the_rest_fails() {
    let home = Home::new();
    home.write("work/a.txt", "needle\n");
    let run = |prompt: &str| {
        home.marvin()
            .env("OLLAMA_URL", "http://127.0.0.1:1")
            .args(["--non-interactive", "--prompt", prompt])
            .run()
    };
    run("find needle")
        .expect(0)
        .stdout_has(&["> a.txt:1: needle"]);
    let output = run("sing me a song").expect(1);
    assert!(
        output.text().is_empty() && output.errors().contains("No language model is set up"),
        "{}",
        output.errors()
    );
    assert_eq!(output.errors().lines().count(), 3, "two lines and the cost");
}

#[test]
fn restrictions_hold_in_the_schema_and_at_dispatch() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        if n == 0 {
            Answer::sse(openai::call(
                "a",
                "create_file",
                json!({"path": "x", "content": "y"}),
            ))
        } else {
            Answer::sse(openai::text(&["ok"]))
        }
    });
    let log = home.path().join("log.jsonl");
    home.ask(&server.url("/v1"), "hi")
        .env("MARVIN_READONLY", "1")
        .env("MARVIN_SUBAGENT_LOG", &log)
        .run()
        .expect(0);
    let offered = server.request(0).json()["tools"].to_string();
    offered.assert_has(&["read_file"]);
    offered.assert_lacks(&["create_file"]);
    let result = server.request(1).json()["messages"][3]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        result.contains("read-only") && !home.has("work/x"),
        "{result}"
    );
    let direct = home.marvin().args(["tool", "nosuchtool", "a=b"]);
    direct.env("MARVIN_SUBAGENT_LOG", &log).run().expect(1);
    let logged = home.read("log.jsonl");
    let logged: Vec<_> = logged
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["tool"].to_string(), line["args"].to_string())
        })
        .collect();
    let line = |tool: &str, args: &str| (format!("\"{tool}\""), format!("\"{args}\""));
    assert_eq!(
        logged,
        [
            line("create_file", "path=x, content=y"),
            line("nosuchtool", "a=b")
        ]
    );
}

#[test]
fn fifty_rounds_then_one_request_without_tools_over_one_connection() {
    let home = Home::new();
    let server = Server::answering(|request, _| {
        if request.json().get("tools").is_some() {
            Answer::sse(openai::call("", "get_working_dir", json!({})))
        } else {
            Answer::sse(openai::text(&["enough"]))
        }
    });
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert!(output.text().ends_with("enough\n"));
    assert_eq!((server.requests().len(), server.connections()), (51, 1));
}
