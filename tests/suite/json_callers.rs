//! Calling programs that have hooks and servers of their own, well-behaved and not: this test is the program.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agents::{self, ticket};
use super::json_events::{control, driven, last, lines, user};
use super::mcp_session::{configure, entry, gone, has, log, offered, starts};
use crate::support::conversation::{calls, playing, says};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

const LIMIT: Duration = Duration::from_secs(30);

/// What the program answers to a request: nothing, or the whole `response`.
type Answers<'a> = dyn FnMut(&Value) -> Option<Value> + 'a;

fn success(response: Value) -> Option<Value> {
    Some(json!({"subtype": "success", "response": response}))
}

fn error(words: &str) -> Option<Value> {
    Some(json!({"subtype": "error", "error": words}))
}

/// Drives a run: `initialize`, then the messages one after the other, while requests are answered. Closes standard input after the last result.
fn drive(run: Marvin, initialize: Value, messages: &[&str], answers: &mut Answers<'_>) -> Done {
    let mut running = run.spawn();
    let mut hello = initialize;
    hello["subtype"] = json!("initialize");
    running.write(&control("r0", hello));
    let (mut read, mut results, mut sent) = (0, 0, 0);
    let since = Instant::now();
    while results < messages.len() {
        if sent == results {
            running.write(&user(messages[sent]));
            sent += 1;
        }
        let out = running.stdout();
        let whole: Vec<&str> = out.split_inclusive('\n').collect();
        let whole = whole.iter().filter(|line| line.ends_with('\n'));
        for line in whole.skip(read) {
            read += 1;
            let line: Value = serde_json::from_str(line).unwrap();
            results += usize::from(line["type"] == "result");
            if line["type"] == "control_request"
                && let Some(mut response) = answers(&line["request"])
            {
                if response.get("request_id").is_none() {
                    response["request_id"] = line["request_id"].clone();
                }
                let answer = json!({"type": "control_response", "response": response});
                running.offer(format!("{answer}\n").as_bytes());
            }
        }
        assert!(
            since.elapsed() < LIMIT,
            "no result: {out}\n{}",
            running.stderr()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    running.close_stdin();
    running.wait()
}

fn run_command(command: &str) -> Answer {
    calls("run_command", json!({ "command": command }))
}

/// The texts of the results of calls.
fn results(lines: &[Value]) -> Vec<String> {
    let results = lines.iter().filter(|line| line["type"] == "user");
    let text = |line: &Value| {
        line["message"]["content"][0]["content"]
            .as_str()
            .map(str::to_owned)
    };
    results.filter_map(text).collect()
}

fn hooks(event: &str, more: Value) -> Value {
    let mut matcher = json!({"matcher": null, "hookCallbackIds": ["h"]});
    for (name, value) in more.as_object().unwrap() {
        matcher[name.as_str()] = value.clone();
    }
    json!({"hooks": {event: [matcher]}})
}

#[test]
fn a_hook_that_answers_nonsense_late_twice_or_never_holds_nothing_up() {
    for (case, words) in [
        ("nonsense", "no JSON object"),
        ("unknown word", "\"maybe\""),
        ("error", "could not answer: It broke."),
        ("wrong id", "did not answer within 1 s"),
        ("never", "did not answer within 1 s"),
    ] {
        let home = Home::new();
        let server = playing([run_command("echo found"), says("Done.")]);
        let run = driven(&home, &server).line("--permission-mode bypassPermissions");
        let done = drive(
            run,
            hooks("PreToolUse", json!({"timeout": 1})),
            &["look"],
            &mut |request| {
                assert_eq!(request["callback_id"], "h", "{request}");
                match case {
                    "nonsense" => success(json!([1, 2])),
                    "unknown word" => success(
                        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "maybe"}}),
                    ),
                    "error" => error("It broke."),
                    "wrong id" => Some(json!({"subtype": "success", "request_id": "marvin-99", "response": {"decision": "block"}})),
                    _ => None,
                }
            },
        )
        .expect(0);
        let all = lines(&done);
        assert!(results(&all)[0].contains("found"), "{case}: {all:?}");
        done.stderr_has(&["The work goes on without the callback h", words]);
        assert_eq!(last(&all)["terminal_reason"], "completed");
    }
    // Where it says so, no answer is a no.
    let home = Home::new();
    let server = playing([run_command("echo found"), says("Done.")]);
    let run = driven(&home, &server).line("--permission-mode bypassPermissions");
    let initialize = hooks("PreToolUse", json!({"onFailure": "block"}));
    let done = drive(run, initialize, &["look"], &mut |_| success(json!("yes"))).expect(0);
    let all = lines(&done);
    assert!(results(&all)[0].contains("refused"), "{all:?}");
    let denied = all
        .iter()
        .find(|line| line["subtype"] == "permission_denied");
    assert_eq!(denied.unwrap()["decision_reason_type"], "hook");
}

#[test]
fn an_interrupt_withdraws_the_question_to_a_hook() {
    let home = Home::new();
    let server = playing([run_command("echo found")]).lenient();
    let mut running = driven(&home, &server)
        .line("--permission-mode bypassPermissions")
        .spawn();
    let mut hello = hooks("PreToolUse", json!({}));
    hello["subtype"] = json!("initialize");
    running.write(&control("r0", hello));
    running.write(&user("look"));
    running.wait_stdout("hook_callback", LIMIT);
    running.write(&control("i", json!({"subtype": "interrupt"})));
    running.wait_stdout("control_cancel_request", LIMIT);
    running.wait_stdout("aborted_tools", LIMIT);
    let done = running.wait();
    assert_eq!(done.code(), Some(1));
}

#[test]
fn no_agent_is_started_whose_calls_a_hook_would_not_see() {
    let home = Home::new();
    let server = playing([
        calls("launch_research_agent", json!({"query": "which port?"})),
        says("Done."),
    ]);
    let run = driven(&home, &server).line("--permission-mode bypassPermissions");
    let initialize = hooks("PreToolUse", json!({}));
    let done = drive(run, initialize, &["look"], &mut |_| success(json!({}))).expect(0);
    let all = lines(&done);
    let told = &results(&all)[0];
    assert!(told.contains("Agents cannot be started here"), "{told}");
}

#[test]
fn hooks_of_the_session_and_of_messages_are_heard() {
    let home = Home::new();
    let server = playing([says("One."), says("Two.")]);
    let mut initialize = hooks("UserPromptSubmit", json!({}));
    initialize["hooks"]["SessionStart"] = json!([{"matcher": "startup", "hookCallbackIds": ["s"]}]);
    initialize["hooks"]["SessionEnd"] = json!([{"hookCallbackIds": ["e"]}]);
    let mut told = Vec::new();
    let done = drive(
        driven(&home, &server),
        initialize,
        &["one", "secret", "two"],
        &mut |request| {
            let input = &request["input"];
            told.push(input["hook_event_name"].as_str().unwrap().to_owned());
            assert!(input["transcript_path"].as_str().unwrap().contains(input["session_id"].as_str().unwrap()));
            match (request["callback_id"].as_str().unwrap(), input["prompt"].as_str()) {
                ("s", _) => success(json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "It is cold."}})),
                (_, Some("secret")) => success(json!({"decision": "block", "reason": "Not that."})),
                _ => success(json!({"systemMessage": "Heard."})),
            }
        },
    )
    .expect(0);
    assert_eq!(
        told,
        [
            "SessionStart",
            "UserPromptSubmit",
            "UserPromptSubmit",
            "UserPromptSubmit"
        ]
    );
    let all = lines(&done);
    let ends: Vec<&Value> = all.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!(ends[1]["subtype"], "error_during_execution");
    assert_eq!(ends[1]["terminal_reason"], "hook_stopped");
    assert!(ends[1]["errors"][0].as_str().unwrap().contains("Not that."));
    let said = server.request(1).json()["messages"].to_string();
    assert!(
        said.contains("It is cold.") && !said.contains("secret"),
        "{said}"
    );
    assert!(done.text().contains("Heard."));
}

#[test]
fn a_hook_ends_the_turn_after_the_round() {
    let home = Home::new();
    let server = playing([run_command("echo found")]);
    let run = driven(&home, &server).line("--permission-mode bypassPermissions");
    let initialize = hooks("PostToolUse", json!({}));
    let done = drive(run, initialize, &["look"], &mut |_| {
        success(json!({"continue": false, "stopReason": "Enough."}))
    })
    .expect(0);
    let result = last(&lines(&done)).clone();
    assert_eq!(result["terminal_reason"], "hook_stopped");
    assert_eq!(result["subtype"], "success");
}

/// A server of the program: answers what a client asks, and its tools with `call`.
fn mcp(request: &Value, tools: &Value, call: impl FnOnce(&Value) -> Value) -> Option<Value> {
    let message = &request["message"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "calc", "version": "1"}})
        }
        "tools/list" => json!({ "tools": tools }),
        "tools/call" => call(&message["params"]),
        _ => return success(json!({"mcp_response": {"jsonrpc": "2.0", "result": {}, "id": 0}})),
    };
    success(json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}}))
}

fn add_tool() -> Value {
    json!({"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}, "annotations": {"readOnlyHint": true}})
}

#[test]
fn tools_of_a_server_in_the_program_are_offered_listed_and_called() {
    let home = Home::new();
    let server = playing([
        calls("calc__add", json!({"a": 2})),
        calls("calc__delete", json!({})),
        says("Done."),
    ]);
    let run = driven(&home, &server)
        .line("--permission-prompt-tool stdio")
        .args([
            "--mcp-config",
            r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#,
        ])
        .args(["--tools", ""]);
    let mut pages = 0;
    let mut asked = Vec::new();
    let delete = json!({"name": "delete", "inputSchema": {"$ref": "#"}});
    let done = drive(run, json!({}), &["add"], &mut |request| {
        if request["subtype"] == "can_use_tool" {
            asked.push(request["tool_name"].as_str().unwrap().to_owned());
            return success(json!({"behavior": "allow"}));
        }
        let message = &request["message"];
        if message["method"] == "tools/list" {
            pages += 1;
            let page = match message["params"]["cursor"].as_str() {
                None => json!({"tools": [add_tool()], "nextCursor": ""}),
                Some("") => json!({"tools": [delete]}),
                Some(other) => panic!("{other}"),
            };
            return success(json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": page}}));
        }
        mcp(request, &json!([]), |call| match call["name"] == "add" {
            true => json!({"content": [{"type": "text", "text": "sum 2"}, {"type": "image", "mimeType": "image/png", "data": "AAAA"}], "structuredContent": {"n": 2}}),
            false => json!({"content": [{"type": "text", "text": "No such row."}], "isError": true}),
        })
    })
    .expect(0);
    assert_eq!((pages, asked), (2, vec!["calc__delete".to_owned()]));
    let all = lines(&done);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(
        init["mcp_servers"],
        json!([{"name": "calc", "status": "connected"}])
    );
    assert_eq!(init["tools"], json!(["calc__add", "calc__delete"]));
    let results = results(&all);
    assert_eq!(results[0], "sum 2\n[image, 3 bytes png]\n{\"n\":2}");
    assert!(results[1].contains("No such row."), "{}", results[1]);
    let offered = server.request(0).json()["tools"].clone();
    assert_eq!(offered[0]["function"]["description"], "Adds.");
}

#[test]
fn a_server_that_fails_is_told_and_the_rest_works() {
    for (case, words) in [
        ("error answer", "could not answer: It broke."),
        ("rpc error", "with an error: no"),
        ("wrong id", "the id of another request"),
        ("no response", "without mcp_response"),
        ("version", "speaks 1999-01-01"),
        ("nonsense", "no object"),
    ] {
        let home = Home::new();
        let server = playing([says("Done.")]);
        let run = driven(&home, &server);
        let done = drive(run, json!({"sdkMcpServers": ["calc"]}), &["hi"], &mut |request| {
            let id = &request["message"]["id"];
            match case {
                "error answer" => error("It broke."),
                "rpc error" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}})),
                "wrong id" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": 77, "result": {}}})),
                "no response" => success(json!({})),
                "version" => success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "1999-01-01"}}})),
                _ => success(json!({"mcp_response": [id]})),
            }
        })
        .expect(0);
        let all = lines(&done);
        let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
        assert_eq!(init["mcp_servers"][0]["status"], "failed", "{case}");
        done.stderr_has(&["The server calc is not connected", words]);
        assert_eq!(last(&all)["result"], "Done.");
    }
}

#[test]
fn a_server_with_thousands_of_tools_and_odd_ones_is_taken_as_far_as_it_goes() {
    let home = Home::new();
    let server = playing([calls("calc__t7", json!({})), says("Done.")]);
    let run = driven(&home, &server)
        .line("--permission-mode bypassPermissions")
        .env("MARVIN_TOOL_SEARCH", "off");
    let tool = |n: usize| json!({"name": format!("t{n}"), "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#"}}}});
    let mut tools: Vec<Value> = (0..5_200).map(tool).collect();
    tools.insert(1, json!({"name": "t0"}));
    tools.insert(2, json!({"name": ""}));
    tools.insert(3, json!(7));
    let tools = Value::from(tools);
    let done = drive(run, json!({"sdkMcpServers": ["calc", "calc"]}), &["hi"], &mut |request| {
        mcp(request, &tools, |call| json!({"content": [{"type": "text", "text": format!("ran {}", call["name"])}]}))
    })
    .expect(0);
    let all = lines(&done);
    assert!(
        results(&all)[0].contains("ran \"t7\""),
        "{:?}",
        results(&all)
    );
    done.stderr_has(&[
        "another tool named \"t0\"",
        "a tool without a name",
        "its list is too long",
        "takes at most",
    ]);
    let offered = server.request(0).json()["tools"].as_array().unwrap().len();
    assert!(offered <= 128, "{offered}");
}

#[test]
fn a_call_to_a_server_that_never_answers_ends_with_its_limit_or_the_turn() {
    let home = Home::new();
    let server = playing([calls("calc__add", json!({})), says("Done.")]);
    let initialize =
        json!({"sdkMcpServers": ["calc"], "sdkMcpServerConfigs": {"calc": {"timeout": 300}}});
    let mut cancelled = false;
    let done = drive(
        driven(&home, &server),
        initialize.clone(),
        &["hi"],
        &mut |request| {
            let method = request["message"]["method"].as_str().unwrap_or_default();
            cancelled |= method == "notifications/cancelled";
            match method {
                "tools/call" => None,
                _ => mcp(request, &json!([add_tool()]), |_| json!({})),
            }
        },
    )
    .expect(0);
    assert!(cancelled);
    let all = lines(&done);
    assert!(results(&all)[0].contains("did not answer"), "{all:?}");
    assert_eq!(last(&all)["result"], "Done.");
}

#[test]
fn servers_elsewhere_are_started_and_those_of_files_only_where_the_program_lets_them() {
    let home = Home::new();
    configure(&home, &json!({"filed": entry(&home, &["0"])}));
    let server = playing([
        calls("files__look", json!({})),
        calls("files__ask", json!({})),
        calls("files__change", json!({"to": "x"})),
        calls("more__change", json!({"to": "y"})),
        says("Done."),
    ]);
    let files = json!({"mcpServers": {"files": entry(&home, &[])}}).to_string();
    let run = driven(&home, &server)
        .args(["--mcp-config", &files, "--strict-mcp-config"])
        .args(["--answers", r#"{"colour":"blue"}"#])
        .env("MARVIN_MCP_WAIT", "30")
        .line("--allowed-tools more__change");
    let initialize = json!({"mcpServers": {"more": entry(&home, &["0"])}, "sdkMcpServers": []});
    let done = drive(run, initialize, &["go on"], &mut |_| None).expect(0);
    let names = offered(&server, 0);
    assert!(has(&names, "files__look") && has(&names, "more__change"));
    assert!(!has(&names, "filed__look"), "{names:?}");
    let all = lines(&done);
    assert_eq!(all[0]["response"]["response"]["mcp_servers_applied"], true);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    let states =
        json!([{"name": "files", "status": "connected"}, {"name": "more", "status": "connected"}]);
    assert_eq!(init["mcp_servers"], states);
    let said = results(&all);
    assert!(said[0].contains("it is done") && said[3].contains("it is done"));
    assert!(log(&home).contains(r#""colour":"blue""#), "{}", log(&home));
    assert!(said[2].contains("files__change was not run"), "{}", said[2]);
    let denied = &last(&all)["permission_denials"];
    assert_eq!(denied[0]["tool_name"], "files__change");
    assert_eq!(starts(&home), 2);
    gone(&home);
    // A run of text has them too, beside those of files; nobody is asked there, which is told as a refusal.
    let server = playing([calls("files__change", json!({})), says("Done.")]);
    let done = home
        .ask(&server.url("/v1"), "go on")
        .args(["--mcp-config", &files, "--output-format", "stream-json"])
        .run()
        .expect(0);
    let names = offered(&server, 0);
    assert!(has(&names, "files__look") && has(&names, "filed__look"));
    let all = lines(&done);
    let denied = all
        .iter()
        .find(|line| line["subtype"] == "permission_denied");
    assert_eq!(denied.unwrap()["tool_name"], "files__change");
    assert_eq!(
        last(&all)["permission_denials"].as_array().unwrap().len(),
        1
    );
    gone(&home);
}

#[test]
fn an_entry_that_is_no_server_is_refused_by_name_and_so_is_a_caller_that_cannot_answer() {
    let home = Home::new();
    let server = Server::always(says("Yes."));
    let none = r#"{"mcpServers":{"files":{"args":["x"]}}}"#;
    let done = driven(&home, &server)
        .args(["--mcp-config", none])
        .run()
        .expect(1);
    let errors = lines(&done)[0]["errors"].to_string();
    assert!(
        errors.contains("files") && errors.contains("neither a command nor a url"),
        "{errors}"
    );
    let own = r#"{"mcpServers":{"calc":{"type":"sdk"}}}"#;
    home.marvin()
        .args(["--mcp-config", own])
        .line("--non-interactive --prompt hi")
        .fails(&["--input-format stream-json"]);
    // With a closed input nobody answers for the server.
    let mut running = driven(&home, &server).args(["--mcp-config", own]).spawn();
    running.write(&user("hi"));
    let done = running.wait().expect(0);
    let all = lines(&done);
    let init = all.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"][0]["status"], "failed");
}

#[test]
fn a_structured_answer_works_beside_hooks_and_servers() {
    let home = Home::new();
    let gives = |n: u64| calls("structured_output", json!({ "n": n }));
    let server = playing([calls("calc__add", json!({"a": 2})), gives(1), gives(2)]);
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let run = driven(&home, &server).args(["--json-schema", schema]);
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
    const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    let home = Home::new();
    let server = playing([says("One."), calls("structured_output", json!({"n": 1}))]);
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

#[test]
fn the_status_of_servers_is_told_at_any_time() {
    let home = Home::new();
    let server = Server::always(Answer::sse(openai::text(&["Yes."])));
    let mut running = driven(&home, &server).spawn();
    running.write(&control(
        "r0",
        json!({"subtype": "initialize", "sdkMcpServers": ["calc"], "mcpServers": {"files": {"command": "x"}}}),
    ));
    running.write(&control("m", json!({"subtype": "mcp_status"})));
    let both = r#"[{"name":"calc","status":"pending"},{"name":"files","status":"pending"}]"#;
    running.wait_stdout(both, LIMIT);
    let done = running.wait();
    assert!(done.text().contains("mcpServers"));
}

#[test]
fn what_a_sub_agent_says_and_gets_is_told_under_the_call_that_started_it() {
    let home = Home::new();
    home.write("work/notes.md", "The port is 8080.");
    let server = playing([
        calls("launch_research_agent", json!({"query": "which port?"})),
        calls("read_file", json!({"path": "notes.md"})),
        says("It is 8080."),
        says("8080."),
    ]);
    let mut running = driven(&home, &server)
        .line("--permission-mode bypassPermissions")
        .spawn();
    running.write(&user("which port?"));
    let done = running.wait().expect(0);
    let all = lines(&done);
    let call = all[1]["message"]["content"][0]["id"].clone();
    let of_child: Vec<&Value> = all
        .iter()
        .filter(|line| line["parent_tool_use_id"].is_string())
        .collect();
    let told: Vec<(&str, &str)> = of_child
        .iter()
        .map(|line| {
            let block = &line["message"]["content"][0]["type"];
            (line["type"].as_str().unwrap(), block.as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("assistant", "tool_use"),
            ("user", "tool_result"),
            ("assistant", "text")
        ]
    );
    for line in &of_child {
        assert_eq!(line["parent_tool_use_id"], call);
        assert_eq!(line["session_id"], all[0]["session_id"]);
    }
    assert!(of_child[1].to_string().contains("The port is 8080."));
    assert_eq!(last(&all)["result"], "8080.");
    assert!(!done.errors().contains("MARVIN_LINE"));
    assert_eq!(last(&all)["num_turns"], 2);
}

#[test]
fn another_model_answers_from_the_next_request_of_a_turn_on() {
    let home = Home::new();
    let server = playing([run_command("echo found"), says("Done.")]);
    let mut running = driven(&home, &server)
        .line("--permission-prompt-tool stdio")
        .spawn();
    running.write(&user("look"));
    running.wait_stdout("can_use_tool", LIMIT);
    running.write(&control(
        "m",
        json!({"subtype": "set_model", "model": "other-model"}),
    ));
    running.wait_stdout(r#""request_id":"m""#, LIMIT);
    let answer = json!({"type": "control_response", "response": {"subtype": "success", "request_id": "marvin-1", "response": {"behavior": "allow"}}});
    running.write(format!("{answer}\n").as_bytes());
    let done = running.wait().expect(0);
    assert_eq!(server.request(0).json()["model"], "test-model");
    assert_eq!(server.request(1).json()["model"], "other-model");
    let all = lines(&done);
    let answer = all
        .iter()
        .rfind(|line| line["type"] == "assistant")
        .unwrap();
    assert_eq!(answer["message"]["model"], "other-model");
    assert_eq!(last(&all)["modelUsage"].as_object().unwrap().len(), 2);
}

#[test]
fn a_fallback_model_answers_when_the_chosen_one_fails() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.json()["model"] == "test-model" {
        true => Answer::status(503),
        false => says("From the other."),
    })
    .lenient();
    let done = home
        .marvin()
        .with_model(&server)
        .env("MARVIN_RETRIES", "0")
        .line("--output-format json --fallback-model other-model --prompt hi")
        .run()
        .expect(0);
    assert_eq!(last(&lines(&done))["result"], "From the other.");
    done.stderr_has(&["falling back to other-model"]);
}

#[test]
fn file_tools_reach_added_folders_by_absolute_paths_and_nothing_else() {
    let home = Home::new();
    home.write("more/a.md", "one\n");
    home.write("more/.git/config", "[core]\n");
    home.write("other/b.md", "two\n");
    let path = |name: &str| home.path().join(name).display().to_string();
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n-one\n+three\n*** End Patch",
        path("more/a.md")
    );
    let steps = [
        ("read_file", json!({"path": path("more/a.md")}), "1. one"),
        (
            "create_file",
            json!({"path": path("more/new/c.md"), "content": "x"}),
            "Created new/c.md",
        ),
        ("apply_patch", json!({"input": patch}), "a.md"),
        ("tree", json!({"path": path("more")}), "a.md"),
        (
            "code_grep",
            json!({"pattern": "thr.e", "glob_filter": path("more/*.md")}),
            "a.md:1",
        ),
        (
            "code_grep",
            json!({"pattern": "thr.e", "glob_filter": path("more")}),
            "a.md:1",
        ),
        (
            "code_grep",
            json!({"pattern": "two", "glob_filter": path("other/*.md")}),
            "No match",
        ),
        (
            "create_file",
            json!({"path": path("more/.git/hooks/x"), "content": "x"}),
            "Error",
        ),
        (
            "read_file",
            json!({"path": path("other/b.md")}),
            "Absolute paths",
        ),
        (
            "read_file",
            json!({"path": path("more/../other/b.md")}),
            "Error",
        ),
        (
            "read_file",
            json!({"path": path("moreover.md")}),
            "Absolute paths",
        ),
    ];
    let answers = steps
        .iter()
        .map(|(tool, args, _)| calls(tool, args.clone()));
    let server = playing(answers.chain([says("Done.")]));
    let mut running = driven(&home, &server)
        .line("--permission-mode bypassPermissions --add-dir ../more")
        .spawn();
    running.write(&user("go"));
    let done = running.wait().expect(0);
    let results = results(&lines(&done));
    for ((tool, args, words), result) in steps.iter().zip(&results) {
        assert!(result.contains(words), "{tool} {args}: {result}");
    }
    assert_eq!(home.read("more/a.md"), "three\n");
    assert!(home.has("more/new/c.md") && !home.has("more/.git/hooks/x"));
    let system = server.request(0).json()["messages"][0]["content"].to_string();
    assert!(system.contains(&format!("- {}", path("more"))), "{system}");
    home.marvin()
        .line("--non-interactive --add-dir /nonexistent --prompt hi")
        .fails(&["--add-dir needs a folder that exists"]);
}

#[test]
fn an_agent_asks_the_program_through_the_marvin_that_started_it() {
    let home = Home::new();
    Repo::at(&home.work())
        .file("README.md", "# Here\n")
        .commit("First");
    ticket(&home, "job-1", "open", "");
    let server = Server::answering(|request, _| {
        let is_child = request
            .text()
            .contains("another agent gives you the task above");
        let results = agents::results(request).len();
        let create = |path: &str| {
            Answer::sse(openai::call(
                &format!("w{path}"),
                "create_file",
                json!({"path": path, "content": "x"}),
            ))
        };
        match (is_child, results) {
            (false, 0) => calls(
                "launch_agent",
                json!({"ticket_id": "job-1", "prompt": "Make a.txt and b.txt."}),
            ),
            // A child begins with a ticket of its own.
            (true, n @ (0 | 1)) => Answer::sse(openai::call(
                &format!("t{n}"),
                "tk",
                json!({"args": "create \"Make a.txt\" -t task --parent job-1"}),
            )),
            (true, 2) => create("a.txt"),
            (true, 3) => create("b.txt"),
            (true, _) => says("Made what I could."),
            (false, _) => says("Done."),
        }
    })
    .lenient();
    let mut asked = Vec::new();
    let run = driven(&home, &server).line("--permission-prompt-tool stdio");
    let done = drive(run, json!({}), &["work"], &mut |request| {
        let path = request["input"]["path"].as_str().unwrap_or_default();
        asked.push(format!("{} {path}", request["tool_name"].as_str().unwrap()));
        match path {
            "a.txt" => success(
                json!({"behavior": "allow", "updatedInput": {"path": "a.txt", "content": "other"}}),
            ),
            "b.txt" => success(json!({"behavior": "deny", "message": "Not b."})),
            _ => success(json!({"behavior": "allow"})),
        }
    })
    .expect(0);
    assert_eq!(
        asked,
        ["launch_agent ", "create_file a.txt", "create_file b.txt"],
        "{}",
        done.text()
    );
    assert_eq!(home.read("work/a.txt"), "other");
    assert!(!home.has("work/b.txt"));
    assert!(done.text().contains("Not b."), "{}", done.text());
    // Without somebody to ask the agent is refused, as its parent would be.
    let home = Home::new();
    Repo::at(&home.work())
        .file("README.md", "# Here\n")
        .commit("First");
    ticket(&home, "job-1", "open", "");
    let mut running = driven(&home, &server)
        .args(["--allowed-tools", "launch_agent"])
        .spawn();
    running.write(&user("work"));
    let done = running.wait().expect(0);
    assert!(!home.has("work/a.txt"));
    assert!(done.text().contains("nobody can be asked here"));
}
