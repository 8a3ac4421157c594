//! Answers that have to fit a JSON schema: given by the tool or as text, tried again, and beside hooks and servers of the calling program.

use serde_json::{Value, json};

use super::json_callers::{drive, hooks, run_command, success};
use super::json_events::{driven, json_run, last, lines};
use super::json_servers::{add_tool, mcp};
use crate::support::conversation::{calls, playing, says};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;

/// The tool's call with these arguments.
fn gives(args: Value) -> Answer {
    calls("structured_output", args)
}

#[test]
fn an_answer_that_fits_stands_alone_on_standard_output() {
    let cases: [(&str, Vec<Answer>); 4] = [
        ("called", vec![gives(json!({"n": 2}))]),
        (
            "called twice",
            vec![gives(json!({"n": "two"})), gives(json!({"n": 2}))],
        ),
        (
            "in a fence",
            vec![says("Here it is:\n```json\n{\"n\": 2}\n```\n")],
        ),
        ("after prose", vec![says("It is two."), says("{\"n\": 2}")]),
    ];
    for (case, answers) in cases {
        let server = playing(answers);
        let home = Home::new();
        let done = home
            .marvin()
            .with_model(&server)
            .args(["--json-schema", SCHEMA, "--prompt", "count"])
            .run()
            .expect(0);
        assert_eq!(done.text(), "{\"n\":2}\n", "{case}");
        let offered = server.request(0).json()["tools"].to_string();
        assert!(offered.contains("structured_output"), "{case}");
    }
    // What did not fit is told.
    let server = playing([gives(json!({"n": "two", "m": 1})), gives(json!({"n": 2}))]);
    let home = Home::new();
    let done = json_run(&home, &server)
        .args(["--json-schema", SCHEMA, "--prompt", "count"])
        .run()
        .expect(0);
    let told = server.request(1).json()["messages"].to_string();
    assert!(told.contains("/n: expected integer"), "{told}");
    let lines = lines(&done);
    assert_eq!(last(&lines)["structured_output"], json!({"n": 2}));
    assert_eq!(last(&lines)["result"], "{\"n\":2}");
    assert_eq!(last(&lines)["num_turns"], 2);
}

#[test]
fn three_tries_that_do_not_fit_are_a_failure() {
    let server = Server::always(says("It is two."));
    let home = Home::new();
    let run = |format: &str| {
        home.marvin()
            .with_model(&server)
            .args(["--output-format", format, "--json-schema", SCHEMA])
            .line("--prompt count")
            .run()
            .expect(1)
    };
    let done = run("text");
    assert_eq!(done.text(), "");
    done.stderr_has(&["No answer of the model fitted the JSON schema."]);
    assert_eq!(server.requests().len(), 3);
    let lines = lines(&run("json"));
    assert_eq!(lines[0]["subtype"], "error_max_structured_output_retries");
    assert_eq!(
        lines[0]["terminal_reason"],
        "structured_output_retry_exhausted"
    );
    // The tries are requests, which may be fewer.
    let done = home
        .marvin()
        .with_model(&server)
        .args(["--output-format", "json", "--json-schema", SCHEMA])
        .line("--max-turns 2 --max-thinking-tokens 1000 --prompt count")
        .run()
        .expect(1);
    let ended = &self::lines(&done)[0];
    assert_eq!(
        (&ended["subtype"], &ended["num_turns"]),
        (&json!("error_max_turns"), &json!(2))
    );
    let done = home
        .marvin()
        .with_model(&server)
        .args(["--output-format", "json", "--json-schema", "{\"type\":7}"])
        .line("--prompt count")
        .run()
        .expect(1);
    assert_eq!(self::lines(&done)[0]["num_turns"], 0);
    assert_eq!(server.requests().len(), 8, "nothing was asked");
}

#[test]
fn a_structured_answer_works_beside_hooks_and_servers() {
    let home = Home::new();
    let server = playing([
        calls("calc__add", json!({"a": 2})),
        gives(json!({"n": 1})),
        gives(json!({"n": 2})),
    ]);
    let run = driven(&home, &server).args(["--json-schema", SCHEMA]);
    let mut initialize = hooks("Stop", json!({}));
    initialize["sdkMcpServers"] = json!(["calc"]);
    let done = drive(run, initialize, &["count"], &mut |request| {
        if request["subtype"] == "hook_callback" {
            return success(match request["input"]["stop_hook_active"] == true {
                true => json!({}),
                false => json!({"decision": "block", "reason": "Once more."}),
            });
        }
        mcp(
            request,
            &json!([add_tool()]),
            |_| json!({"content": [{"type": "text", "text": "two"}]}),
        )
    })
    .expect(0);
    let result = last(&lines(&done)).clone();
    assert_eq!(result["structured_output"], json!({"n": 2}));
    assert_eq!(result["num_turns"], 3);
}

#[test]
fn hooks_hear_of_no_further_try_for_a_schema_and_prevent_it() {
    let home = Home::new();
    let server = playing([says("One."), gives(json!({"n": 1}))]);
    let run = driven(&home, &server).args(["--json-schema", SCHEMA]);
    let mut prompts = Vec::new();
    let initialize = hooks("UserPromptSubmit", json!({}));
    let done = drive(run, initialize, &["count"], &mut |request| {
        prompts.push(request["input"]["prompt"].as_str().unwrap().to_owned());
        success(json!({}))
    })
    .expect(0);
    assert_eq!(prompts, ["count"]);
    assert_eq!(last(&lines(&done))["structured_output"], json!({"n": 1}));
    let home = Home::new();
    let server = playing([run_command("echo found")]);
    let run = driven(&home, &server)
        .line("--permission-mode bypassPermissions")
        .args(["--json-schema", SCHEMA]);
    let initialize = hooks("PostToolUse", json!({}));
    let done = drive(run, initialize, &["count"], &mut |_| {
        success(json!({"continue": false, "stopReason": "Enough."}))
    })
    .expect(0);
    assert_eq!(last(&lines(&done))["terminal_reason"], "hook_stopped");
}
