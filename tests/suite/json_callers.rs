//! Calling programs that have hooks, folders and agents of their own, well-behaved and not: this test is the program.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::agents::{self, ticket};
use super::json_events::{control, driven, last, lines, user};
use crate::support::conversation::{calls, playing, says, sent};
use crate::support::cost::Cost;
use crate::support::home::Home;
use crate::support::image::png;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wait::until;
use crate::support::wire::openai;

pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// What the program answers to a request: nothing, or the whole `response`.
pub(super) type Answers<'a> = dyn FnMut(&Value) -> Option<Value> + 'a;

pub(super) fn success(response: Value) -> Option<Value> {
    Some(json!({"subtype": "success", "response": response}))
}

pub(super) fn error(words: &str) -> Option<Value> {
    Some(json!({"subtype": "error", "error": words}))
}

/// Drives a run: `initialize`, then the messages one after the other, while requests are answered. Closes standard input after the last result.
pub(super) fn drive(
    run: Marvin,
    initialize: Value,
    messages: &[&str],
    answers: &mut Answers<'_>,
) -> Done {
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

pub(super) fn run_command(command: &str) -> Answer {
    calls("run_command", json!({ "command": command }))
}

/// The texts of the results of calls.
pub(super) fn results(lines: &[Value]) -> Vec<String> {
    let results = lines.iter().filter(|line| line["type"] == "user");
    let text = |line: &Value| {
        line["message"]["content"][0]["content"]
            .as_str()
            .map(str::to_owned)
    };
    results.filter_map(text).collect()
}

pub(super) fn hooks(event: &str, more: Value) -> Value {
    let mut matcher = json!({"matcher": null, "hookCallbackIds": ["h"]});
    for (name, value) in more.as_object().unwrap() {
        matcher[name.as_str()] = value.clone();
    }
    json!({"hooks": {event: [matcher]}})
}

/// The id of sessions that are looked for.
const ID: &str = "11111111-1111-4111-8111-111111111111";

/// A turn is stopped whose reader stands still, by a signal or else by the program, which then sends another message. What is read once it has ended, and
/// standard error.
fn flooded(is_by_signal: bool) -> (Vec<Value>, String) {
    let flood = openai::chunk(json!({"content": "word ".repeat(4_000)}), None);
    let flood = openai::data(&flood);
    let server = Server::answering(move |_, n| match n {
        0 => Answer::sse(vec![flood.clone(); 20]).stall(),
        _ => says("Quick."),
    })
    .lenient();
    let home = Home::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_marvin"))
        .args(["--provider", "openai-compat", "--model", "test-model"])
        .args(["--output-format", "stream-json"])
        .args(["--input-format", "stream-json"])
        .args(["--include-partial-messages", "--session-id", ID])
        .env_clear()
        .env("HOME", home.path())
        .env("MARVIN_CONFIG_DIR", home.path().join("config"))
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = child.stdout.take().unwrap();
    input.write_all(&user("flood")).unwrap();
    let is_full = || ioctl_fionread(&output).is_ok_and(|bytes| bytes > 60_000);
    until("a full pipe", is_full);
    if is_by_signal {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        child.wait().unwrap();
    } else {
        let interrupt = control("i", json!({"subtype": "interrupt"}));
        input.write_all(&interrupt).unwrap();
        let file = format!("config/profiles/main/sessions/{ID}.jsonl");
        let file = home.path().join(file);
        let is_over = |log: String| log.contains(r#""result":"stopped""#);
        until("the end of the turn", || {
            fs::read_to_string(&file).is_ok_and(is_over)
        });
        input.write_all(&user("second")).unwrap();
    }
    drop(input);
    // The end of the process may cut off the last line.
    let lines = BufReader::new(output).lines();
    let lines = lines.map_while(|line| serde_json::from_str(&line.unwrap()).ok());
    let lines = lines.collect();
    let mut errors = String::new();
    let mut told = child.stderr.take().unwrap();
    told.read_to_string(&mut errors).unwrap();
    child.wait().unwrap();
    (lines, errors)
}

#[test]
fn a_program_that_does_not_read_can_still_interrupt_and_loses_nothing() {
    let (lines, _) = flooded(false);
    let results = lines.iter().filter(|line| line["type"] == "result");
    let results: Vec<&Value> = results.collect();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["terminal_reason"], "aborted_streaming");
    assert_eq!(results[1]["result"], "Quick.");
    let mut answers = lines.iter();
    assert!(answers.any(|line| line["type"] == "control_response"));
    let first = lines.iter().take_while(|line| line["type"] != "result");
    let pieces = first.filter_map(|line| line["event"]["delta"]["text"].as_str());
    let pieces: String = pieces.collect();
    let block = lines.iter().find(|line| line["type"] == "assistant");
    assert_eq!(block.unwrap()["message"]["content"][0]["text"], pieces);
    assert!(pieces.len() > 60_000);
}

#[test]
fn a_signal_ends_a_run_whose_reader_stands_still_and_what_it_cost_is_told() {
    let (lines, errors) = flooded(true);
    assert!(lines.len() > 1);
    assert!(Cost::last_line(&errors).output > 0, "{errors}");
}

#[test]
fn what_is_said_without_a_question_is_kept_with_its_images() {
    let server = Server::always(says("Yes."));
    let home = Home::new();
    let note = |content: Value| {
        let message = json!({"role": "user", "content": content});
        let line = json!({"type": "user", "shouldQuery": false, "message": message});
        format!("{line}\n").into_bytes()
    };
    let picture = STANDARD.encode(png(8, 8));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}});
    // Nothing but a note makes a session.
    let mut running = driven(&home, &server).args(["--session-id", ID]).spawn();
    running.write(&note(json!("BLUE")));
    assert_eq!(running.wait().expect(0).text(), "");
    let resumed = || driven(&home, &server).args(["--resume", ID]).spawn();
    let mut running = resumed();
    running.write(&note(json!([image])));
    running.write(&user("what is it"));
    running.wait_stdout(r#""type":"result""#, LIMIT);
    running.write(&note(json!("RED")));
    running.wait().expect(0);
    let said = sent(&server, 0);
    assert_eq!(said[0].1, "BLUE");
    assert!(said[1].1.contains(&picture), "{said:?}");
    assert_eq!(said.len(), 3);
    let mut running = resumed();
    running.write(&user("and now"));
    running.wait().expect(0);
    let said: Vec<String> = sent(&server, 1).into_iter().map(|(_, text)| text).collect();
    assert_eq!(said[2..], ["what is it", "Yes.", "RED", "and now"]);
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
    // Where hooks are switched off, it is not asked.
    let server = playing([run_command("echo found"), says("Done.")]);
    let run = driven(&home, &server).line("--permission-mode bypassPermissions --no-hooks");
    let done = drive(
        run,
        hooks("PreToolUse", json!({})),
        &["look"],
        &mut |request| panic!("asked: {request}"),
    )
    .expect(0);
    assert!(results(&lines(&done))[0].contains("found"));
    done.stderr_has(&["Hooks are switched off", "those of initialize too"]);
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
    let window = json!({"limit": {"context": 20_000, "output": 4_000}});
    let models = json!({"openai-compat": {"models": {"test-model": window}}});
    let server = playing([run_command("echo found"), says("Done.")]);
    let mut running = driven(&home, &server)
        .env(
            "MARVIN_MODELS",
            home.write("models.json", models.to_string()),
        )
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
    let used = &last(&all)["modelUsage"];
    assert_eq!(used.as_object().unwrap().len(), 2);
    assert_eq!(used["test-model"]["contextWindow"], 20_000);
    // Nothing is known of it: the window that it is taken to have.
    assert_eq!(used["other-model"]["contextWindow"], 128_000);
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
        .line("--output-format stream-json --fallback-model other-model --prompt hi")
        .run()
        .expect(0);
    let all = lines(&done);
    assert_eq!(all[0]["model"], "test-model");
    let answer = all.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(answer["message"]["model"], "other-model");
    assert_eq!(last(&all)["result"], "From the other.");
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
        .line("--non-interactive --add-dir /dev/null --prompt hi")
        .fails(&["--add-dir needs a folder"]);
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
