//! Runs that a program drives: lines of JSON out and in, with the real binary.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::conversation::{calls, playing, says, sent};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wire::openai::{self, Stream};
use crate::support::wire::{anthropic, ollama, responses};

const LIMIT: Duration = Duration::from_secs(20);

pub(super) fn lines(done: &Done) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    done.text().lines().map(read).collect()
}

/// What the lines are, without those that only pieces make.
fn kinds(lines: &[Value]) -> Vec<String> {
    let told = lines.iter().filter(|line| line["type"] != "stream_event");
    told.map(|line| {
        let kind = line["type"].as_str().unwrap();
        let block = &line["message"]["content"][0]["type"];
        let detail = line["subtype"].as_str().or(block.as_str());
        format!("{kind} {}", detail.unwrap_or_default())
    })
    .collect()
}

pub(super) fn last(lines: &[Value]) -> &Value {
    lines.last().unwrap()
}

pub(super) fn json_run(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .with_model(server)
        .line("--output-format stream-json")
}

/// A run whose caller writes lines; its input stays open.
pub(super) fn driven(home: &Home, server: &Server) -> Marvin {
    json_run(home, server)
        .line("--input-format stream-json")
        .stdin_open()
}

fn system_prompt(server: &Server, request: usize) -> String {
    let request = server.request(request).json();
    request["messages"][0]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub(super) fn user(text: &str) -> Vec<u8> {
    let line = json!({"type": "user", "session_id": "", "message": {"role": "user", "content": text}, "parent_tool_use_id": null});
    format!("{line}\n").into_bytes()
}

pub(super) fn control(id: &str, request: Value) -> Vec<u8> {
    let line = json!({"type": "control_request", "request_id": id, "request": request});
    format!("{line}\n").into_bytes()
}

#[test]
fn a_turn_with_a_call_is_told_block_by_block() {
    let server = playing([
        Answer::sse(
            Stream::new()
                .reasoning(&["Hm."])
                .text(&["I will ", "look."])
                .call(0, "c1", "run_command", r#"{"command":"echo found"}"#)
                .usage(100, 7)
                .finish("tool_calls")
                .done(),
        ),
        says("It is found."),
    ]);
    let home = Home::new();
    let done = json_run(&home, &server)
        .line("--include-partial-messages")
        .arg("look")
        .run()
        .expect(0);
    let lines = lines(&done);
    assert_eq!(
        kinds(&lines),
        [
            "system init",
            "assistant thinking",
            "assistant text",
            "assistant tool_use",
            "user tool_result",
            "assistant text",
            "result success"
        ]
    );
    let init = &lines[0];
    assert_eq!(
        (&init["model"], &init["apiKeySource"]),
        (&json!("test-model"), &json!("user"))
    );
    assert_eq!(init["cwd"], home.work().display().to_string());
    assert!(
        init["tools"]
            .as_array()
            .unwrap()
            .contains(&json!("run_command"))
    );
    let session = init["session_id"].as_str().unwrap();
    assert!(lines.iter().all(|line| line["session_id"] == session));
    let result = last(&lines);
    assert_eq!(result["result"], "It is found.");
    assert_eq!(result["num_turns"], 2);
    assert_eq!(result["is_error"], false);
    assert_eq!(result["stop_reason"], "end_turn");
    assert_eq!(result["permission_denials"], json!([]));
    assert!(result["modelUsage"]["test-model"]["inputTokens"].as_u64() >= Some(100));
    let pieces: String = lines
        .iter()
        .filter_map(|line| line["event"]["delta"]["text"].as_str())
        .collect();
    assert_eq!(pieces, "I will look.It is found.");
    done.stderr_has(&["MARVIN_COST:"]);
    // The id that was told may be used.
    let again = home
        .marvin()
        .with_model(&Server::always(says("Again.")))
        .line("--non-interactive --output-format json --resume")
        .arg(session)
        .line("--prompt more")
        .run()
        .expect(0);
    assert_eq!(last(&self::lines(&again))["session_id"], session);
}

#[test]
fn a_run_that_keeps_nothing_goes_on_with_a_session_and_leaves_it_as_it_was() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let first = json_run(&home, &server)
        .line("--prompt one")
        .run()
        .expect(0);
    let id = last(&lines(&first))["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let list = || {
        home.marvin()
            .line("sessions --json")
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    let before = list();
    for args in ["", "--fork-session"] {
        json_run(&home, &server)
            .args(["--no-session-persistence", "--resume", &id])
            .line(args)
            .line("--prompt two")
            .run()
            .expect(0);
        let n = server.requests().len() - 1;
        let said = sent(&server, n);
        let said: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(said, ["one", "Yes.", "two"]);
        assert_eq!(list(), before, "{args}");
    }
}

#[test]
fn every_wire_has_the_same_lines() {
    let args = json!({"command": "echo found"});
    let call = &[("c1", "run_command", args.clone())];
    let wires: [(&str, &str, Answer, Answer); 4] = [
        (
            "openai-compat",
            "OPENAI_COMPAT",
            Answer::sse(openai::calls(call)),
            Answer::sse(openai::text(&["Done."])),
        ),
        (
            "openai",
            "OPENAI",
            Answer::sse(responses::calls(call)),
            Answer::sse(responses::text(&["Done."])),
        ),
        (
            "anthropic",
            "ANTHROPIC",
            Answer::sse(anthropic::calls(call)),
            Answer::sse(anthropic::text(&["Done."])),
        ),
        (
            "ollama",
            "OLLAMA",
            Answer::ndjson(ollama::calls(&[("run_command", args.clone())])),
            Answer::ndjson(ollama::text(&["Done."])),
        ),
    ];
    for (provider, prefix, first, second) in wires {
        let server =
            Server::answering(
                move |request, _| match request.text().contains("found\\n") {
                    false => first.clone(),
                    true => second.clone(),
                },
            )
            .lenient();
        let base = match provider {
            "ollama" => server.url(""),
            _ => server.url("/v1"),
        };
        let done = Home::new()
            .marvin()
            .env(&format!("{prefix}_URL"), base)
            .env(&format!("{prefix}_API_KEY"), "test-key")
            .args(["--provider", provider, "--model", "m1"])
            .line("--output-format stream-json --include-partial-messages look")
            .run()
            .expect(0);
        let lines = lines(&done);
        assert_eq!(
            kinds(&lines),
            [
                "system init",
                "assistant tool_use",
                "user tool_result",
                "assistant text",
                "result success"
            ],
            "{provider}"
        );
        let told: Vec<&Value> = lines
            .iter()
            .filter(|line| line["type"] == "assistant")
            .collect();
        assert_eq!(
            told[0]["message"]["content"][0]["input"], args,
            "{provider}"
        );
        assert_eq!(last(&lines)["result"], "Done.", "{provider}");
        let starts = lines
            .iter()
            .filter(|line| line["event"]["type"] == "message_start");
        assert_eq!(starts.count(), 2, "{provider}");
    }
}

#[test]
fn json_alone_is_one_object_with_the_whole_answer() {
    let long = "word ".repeat(400_000);
    let home = Home::new();
    let done = home
        .marvin()
        .with_model(&Server::always(says(&long)))
        .line("--output-format json hi")
        .run()
        .expect(0);
    let lines = lines(&done);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["result"], long.as_str());
}

#[test]
fn every_end_is_told_and_agrees_with_the_status() {
    let call = || calls("run_command", json!({"command": "echo 1"}));
    let cases: [(&str, Vec<Answer>, i32, &str, &str); 5] = [
        ("--prompt hi", vec![says("Yes.")], 0, "success", "completed"),
        (
            "--prompt hi --max-turns 1",
            vec![call()],
            1,
            "error_max_turns",
            "max_turns",
        ),
        (
            "--prompt hi --max-budget-usd 0.0000001",
            vec![call()],
            1,
            "error_max_budget_usd",
            "budget_exhausted",
        ),
        (
            "--prompt hi",
            vec![Answer::sse(
                Stream::new().text(&["It beg"]).finish("length").done(),
            )],
            1,
            "error_during_execution",
            "model_error",
        ),
        (
            "--prompt hi",
            vec![Answer::status(401).and_json(&openai::error("No key.", "auth", None))],
            1,
            "error_during_execution",
            "api_error",
        ),
    ];
    for (args, answers, status, subtype, reason) in cases {
        let server = playing(answers).lenient();
        let home = Home::new();
        let done = json_run(&home, &server).line(args).run().expect(status);
        let lines = lines(&done);
        let result = last(&lines);
        assert_eq!(result["subtype"], subtype, "{result}");
        assert_eq!(result["terminal_reason"], reason);
        assert_eq!(result["is_error"], status != 0);
        assert_eq!(result.get("errors").is_some(), status != 0);
        if reason == "model_error" {
            assert_eq!(result["result"], "It beg");
        }
        // A failed request is told before the result too, and is no answer.
        let failed = lines.iter().find(|line| line.get("error").is_some());
        assert_eq!(failed.is_some(), reason == "api_error", "{reason}");
        if let Some(failed) = failed {
            assert_eq!(failed["error"], "authentication_failed");
            assert_eq!(failed["message"]["content"][0]["text"], result["errors"][0]);
            assert_eq!(result.get("result"), None);
        }
    }
}

#[test]
fn a_run_that_cannot_begin_tells_that_too() {
    let home = Home::new();
    for (args, words) in [
        ("--output-format json --max-turns 0 hi", "at least 1"),
        ("--output-format=stream-json --nonsense hi", "--nonsense"),
        (
            "--output-format json --max-budget-usd x hi",
            "--max-budget-usd wants US dollars",
        ),
        (
            "--output-format json --resume 00000000-0000-4000-8000-000000000000 hi",
            "no session",
        ),
        (
            "--output-format stream-json --settings {} hi",
            "--settings is not supported",
        ),
        (
            "--output-format stream-json --input-format stream-json hi",
            "no prompt beside it",
        ),
    ] {
        let done = home
            .marvin()
            .line("--provider offline")
            .line(args)
            .run()
            .expect(1);
        let lines = lines(&done);
        assert_eq!(lines.len(), 1, "{args}");
        assert_eq!(lines[0]["type"], "result");
        assert_eq!(lines[0]["num_turns"], 0);
        let errors = lines[0]["errors"].to_string();
        assert!(errors.contains(words), "{args}: {errors}");
        done.stderr_has(&["Error:"]);
    }
    // It has the id that was asked for.
    let id = "11111111-1111-4111-8111-111111111111";
    let done = home
        .marvin()
        .args(["--provider", "openai", "--session-id", id])
        .line("--output-format json hi")
        .run()
        .expect(1);
    assert_eq!(last(&lines(&done))["session_id"], id);
    let done = home.marvin().line("--output-format xml hi").run().expect(1);
    assert_eq!(done.text(), "");
    // A program that waits for the answer to its first request gets one.
    let server = Server::always(says("Yes."));
    let mut running = driven(&home, &server).line("--settings {}").spawn();
    running.write(&control("r1", json!({"subtype": "initialize"})));
    let done = running.wait().expect(1);
    let answer = last(&lines(&done))["response"].clone();
    assert_eq!(
        (&answer["subtype"], &answer["request_id"]),
        (&json!("error"), &json!("r1"))
    );
    assert!(
        answer["error"].to_string().contains("--settings"),
        "{answer}"
    );
}

#[test]
fn a_message_that_cannot_be_sent_is_a_turn_of_its_own() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let mut running = driven(&home, &server).spawn();
    running.write(&user("one"));
    running.wait_stdout(r#""type":"result""#, LIMIT);
    let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%"}}]);
    let line = json!({"type": "user", "message": {"role": "user", "content": image}});
    running.write(format!("{line}\n").as_bytes());
    let lines = lines(&running.wait().expect(1));
    assert_eq!(
        kinds(&lines)[2..],
        [
            "result success",
            "system init",
            "result error_during_execution"
        ]
    );
    let (first, refused) = (&lines[2], last(&lines));
    assert!(first["total_cost_usd"].as_f64() > Some(0.0), "{first}");
    assert_eq!(refused["total_cost_usd"], first["total_cost_usd"]);
    assert_eq!(refused["modelUsage"], first["modelUsage"]);
    assert_eq!(
        (&refused["num_turns"], &refused["usage"]["input_tokens"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn a_model_that_refuses_tools_is_offered_none_for_the_next_message() {
    let server = Server::answering(|request, _| match request.json().get("tools") {
        Some(_) => Answer::status(400).and_json(&openai::error(
            "test-model does not support tools",
            "x",
            None,
        )),
        None => says("Yes."),
    })
    .lenient();
    let home = Home::new();
    let mut running = driven(&home, &server)
        .without("OPENAI_COMPAT_API_KEY")
        .spawn();
    running.write(&user("one"));
    running.write(&user("two"));
    let lines = lines(&running.wait().expect(0));
    assert_eq!(lines[0]["apiKeySource"], "none");
    assert_eq!(last(&lines)["result"], "Yes.");
    let requests = server.requests();
    let offers: Vec<bool> = requests
        .iter()
        .map(|request| request.json().get("tools").is_some())
        .collect();
    assert_eq!(offers, [true, false, false]);
}

#[test]
fn messages_are_answered_one_after_the_other_and_each_knows_the_last() {
    let server = Server::answering(|_, n| says(&format!("Answer {n}.")));
    let home = Home::new();
    let mut running = driven(&home, &server)
        .line("--replay-user-messages")
        .spawn();
    running.write(&control(
        "r1",
        json!({"subtype": "initialize", "appendSystemPrompt": "Be brief."}),
    ));
    running.write(&user("one"));
    let id = "8d3e11ca-6f0e-4d5e-9c55-0a4f0c1ab2d3";
    let mut two: Value = serde_json::from_slice(&user("two")).unwrap();
    two["uuid"] = json!(id);
    running.write(format!("{two}\n").as_bytes());
    let done = running.wait().expect(0);
    let lines = lines(&done);
    let replayed: Vec<&Value> = lines.iter().filter(|line| line["type"] == "user").collect();
    assert_ne!(replayed[0]["uuid"], id);
    assert_eq!(replayed[1]["uuid"], id);
    let turn = ["system init", "user ", "assistant text", "result success"];
    assert_eq!(
        kinds(&lines),
        [&["control_response success"][..], &turn, &turn]
            .concat()
            .iter()
            .map(|kind| kind.replace("control_response success", "control_response "))
            .collect::<Vec<_>>()
    );
    assert_eq!(lines[0]["response"]["request_id"], "r1");
    let said = sent(&server, 1);
    let said: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(said, ["one", "Answer 0.", "two"]);
    let system = system_prompt(&server, 1);
    assert!(system.ends_with("Be brief."), "{system}");
    assert_eq!(lines[2]["message"]["content"], "one");
}

#[test]
fn an_interrupt_ends_the_turn_and_the_next_message_is_answered() {
    let latch = Latch::new();
    let stalls = latch.clone();
    let server = Server::answering(move |_, n| match n {
        0 => Answer::sse([openai::data(&openai::chunk(
            json!({"content": "Slow"}),
            None,
        ))])
        .pause(&stalls)
        .stall(),
        _ => says("Quick."),
    })
    .lenient();
    let home = Home::new();
    let mut running = driven(&home, &server)
        .line("--include-partial-messages")
        .spawn();
    running.write(&user("first"));
    running.wait_stdout("Slow", LIMIT);
    running.write(&user("second"));
    running.write(&control("i", json!({"subtype": "interrupt"})));
    running.wait_stdout("aborted_streaming", LIMIT);
    let done = running.wait().expect(0);
    latch.open();
    let lines = lines(&done);
    let results: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "result")
        .collect();
    assert_eq!(results[0]["subtype"], "error_during_execution");
    assert_eq!(results[0]["result"], "Slow");
    assert_eq!(results[1]["result"], "Quick.");
}

#[test]
fn a_signal_in_a_tool_is_told_in_the_result() {
    let server = playing([calls(
        "run_command",
        json!({"command": "echo begun; sleep 60"}),
    )])
    .lenient();
    let home = Home::new();
    let running = json_run(&home, &server).arg("wait").spawn();
    running.wait_stdout("tool_use", LIMIT);
    running.signal(Signal::TERM);
    let done = running.wait();
    assert_eq!(done.code(), Some(143));
    let lines = lines(&done);
    assert_eq!(last(&lines)["terminal_reason"], "aborted_tools");
}

#[test]
fn broken_lines_are_told_and_the_run_goes_on_with_status_one() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let mut running = driven(&home, &server).spawn();
    for line in [
        &b"{\"type\":\"user\"\n"[..],
        b"[1,2]\n",
        b"\xff\xfe\n",
        b"{\"type\":\"user\",\"message\":{}}\n",
        b"{\"type\":\"future_thing\"}\n",
        b"{\"type\":\"control_request\",\"request_id\":{},\"request\":{}}\n",
    ] {
        running.write(line);
    }
    running.write(&user("hi"));
    let done = running.wait().expect(1);
    let lines = lines(&done);
    assert_eq!(last(&lines)["result"], "Yes.");
    let results = lines.iter().filter(|line| line["type"] == "result");
    assert_eq!(
        results.count(),
        2,
        "the message without content has one too"
    );
    done.stderr_has(&[
        "it is no JSON",
        "no object",
        "not UTF-8",
        "future_thing",
        "request_id",
    ]);
}

#[test]
fn the_model_changes_for_the_next_message() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let mut running = driven(&home, &server).line("--thinking adaptive").spawn();
    running.write(&user("one"));
    running.wait_stdout("\"type\":\"result\"", LIMIT);
    running.write(&control(
        "m",
        json!({"subtype": "set_model", "model": "other-model"}),
    ));
    running.write(&user("two"));
    let done = running.wait().expect(0);
    assert_eq!(server.request(0).json()["reasoning_effort"], "high");
    assert_eq!(server.request(1).json()["model"], "other-model");
    let usage = last(&lines(&done))["modelUsage"].clone();
    assert_eq!(usage.as_object().unwrap().len(), 2, "{usage}");
}

#[test]
fn a_system_prompt_takes_the_place_of_the_own_one_and_an_empty_one_does_not() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let run = |args: &[&str]| {
        let n = server.requests().len();
        json_run(&home, &server)
            .args(args.iter().map(ToString::to_string))
            .arg("hi")
            .run()
            .expect(0);
        system_prompt(&server, n)
    };
    let own = run(&[]);
    assert_eq!(run(&["--system-prompt", ""]), own);
    let instead = run(&["--system-prompt", "- You are a parrot."]);
    assert!(
        instead.starts_with("- You are a parrot.") && !instead.contains("## Preferences"),
        "{instead}"
    );
    let appended = run(&["--append-system-prompt=Be brief."]);
    assert!(appended.starts_with(&own) && appended.ends_with("Be brief."));
    // In text too, and nowhere where it would be forgotten.
    let n = server.requests().len();
    home.marvin()
        .with_model(&server)
        .line("--non-interactive --append-system-prompt Shortly. --prompt hi")
        .run()
        .expect(0);
    assert!(system_prompt(&server, n).ends_with("Shortly."));
    home.marvin()
        .line("--append-system-prompt Shortly. hi")
        .fails(&["--append-system-prompt is only for runs in which nobody is there"]);
}

#[test]
fn a_reader_that_leaves_ends_the_run() {
    let server = Server::always(says(&"word ".repeat(100_000)));
    let home = Home::new();
    let done = json_run(&home, &server)
        .line("--include-partial-messages")
        .arg("hi")
        .close_stdout_after(300)
        .run();
    assert_eq!(done.code(), Some(1));
}

#[test]
fn what_nobody_allowed_does_not_run_when_a_program_drives() {
    let server = playing([
        calls("run_command", json!({"command": "echo one"})),
        says("Not allowed."),
    ]);
    let home = Home::new();
    let mut running = driven(&home, &server).spawn();
    running.write(&user("run it"));
    let done = running.wait().expect(0);
    let all = lines(&done);
    assert_eq!(all[0]["permissionMode"], "default");
    let result = last(&all);
    assert_eq!(
        result["permission_denials"][0]["tool_input"],
        json!({"command": "echo one"})
    );
    let denied = all
        .iter()
        .find(|line| line["subtype"] == "permission_denied");
    assert_eq!(denied.unwrap()["decision_reason_type"], "mode");
    // The caller is asked where it says so, and may change the call.
    let server = playing([
        calls("run_command", json!({"command": "echo one"})),
        says("It ran."),
    ]);
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let all = asked(
        &home,
        &server,
        &json!({"behavior": "allow", "updatedInput": {"command": "echo two"}, "updatedPermissions": mode}),
    );
    let question = all.iter().find(|line| line["type"] == "control_request");
    let question = &question.unwrap()["request"];
    assert_eq!(question["input"], json!({"command": "echo one"}));
    assert_eq!(
        question["tool_use_id"],
        all[1]["message"]["content"][0]["id"]
    );
    let ran = all.iter().find(|line| line["type"] == "user").unwrap();
    let ran = ran["message"]["content"][0]["content"].as_str().unwrap();
    assert!(ran.contains("two"), "{ran}");
    assert_eq!(last(&all)["permission_denials"], json!([]));
    // What is no object is no change of the call, and no agreement either.
    let server = playing([
        calls("run_command", json!({"command": "echo one"})),
        says("Not run."),
    ]);
    let all = asked(
        &home,
        &server,
        &json!({"behavior": "allow", "updatedInput": ["echo two"]}),
    );
    assert_eq!(
        last(&all)["permission_denials"][0]["tool_name"],
        "run_command"
    );
    let mut denied = all.iter();
    let denied = denied.find(|line| line["subtype"] == "permission_denied");
    assert_eq!(
        denied.unwrap()["decision_reason_type"],
        "permissionPromptTool"
    );
}

/// The lines of a run whose caller is asked about the only call, and answers so.
fn asked(home: &Home, server: &Server, response: &Value) -> Vec<Value> {
    let mut running = driven(home, server)
        .line("--permission-prompt-tool stdio")
        .spawn();
    running.write(&user("run it"));
    running.wait_stdout("can_use_tool", LIMIT);
    let answer = json!({"type": "control_response", "response": {"subtype": "success", "request_id": "marvin-1", "response": response}});
    running.write(format!("{answer}\n").as_bytes());
    lines(&running.wait().expect(0))
}
