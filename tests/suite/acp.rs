//! `marvin acp`, as an editor drives it: sessions, prompts, updates, questions about calls, modes and options, with the real binary.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::editor::{Editor, last_sent, obedient_model, selects};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::wait::found;
use crate::support::wire::openai::{self, Stream};

const LIMIT: Duration = Duration::from_secs(20);

fn kinds(editor: &Editor, session: &str) -> Vec<String> {
    let lines = editor.lines().into_iter();
    let updates = lines.filter(|line| line["params"]["sessionId"] == session);
    updates
        .filter_map(|line| {
            Some(
                line["params"]["update"]["sessionUpdate"]
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect()
}

#[test]
fn a_turn_with_a_call_is_told_in_updates_before_its_answer() {
    let server = Server::answering(|request, _| {
        if request.path.ends_with("/models") {
            return Answer::json(&json!({"data": []}));
        }
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        match last["role"] == "tool" {
            true => says("It is found."),
            false => Answer::sse(
                Stream::new()
                    .reasoning(&["Hm."])
                    .text(&["I will ", "look."])
                    .call(0, "c1", "run_command", r#"{"command":"echo found"}"#)
                    .usage(100, 7)
                    .finish("tool_calls")
                    .done(),
            ),
        }
    })
    .lenient();
    let home = Home::new();
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    assert_eq!(editor.prompt(&session, "look"), "end_turn");
    let told: Vec<String> = kinds(&editor, &session)
        .into_iter()
        .filter(|kind| !kind.starts_with("available") && !kind.starts_with("config"))
        .fold(Vec::new(), |mut all, kind| {
            if all.last() != Some(&kind) {
                all.push(kind);
            }
            all
        });
    assert_eq!(
        told,
        [
            "agent_thought_chunk",
            "agent_message_chunk",
            "usage_update",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "usage_update",
            "session_info_update",
        ]
    );
    let call = &editor.updates(&session, "tool_call")[0];
    assert_eq!(call["title"], "echo found");
    assert_eq!(call["kind"], "execute");
    assert_eq!(call["status"], "pending");
    assert_eq!(call["rawInput"], json!({"command": "echo found"}));
    let updates = editor.updates(&session, "tool_call_update");
    let status: Vec<&Value> = updates.iter().map(|update| &update["status"]).collect();
    assert_eq!(status[..2], ["pending", "in_progress"]);
    let ended = updates.last().unwrap();
    assert_eq!(ended["status"], "completed");
    let text = ended["content"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("found"), "{text}");
    assert_eq!(editor.said(&session), "I will look.It is found.");
    let messages = editor.updates(&session, "agent_message_chunk");
    let ids: Vec<&Value> = messages.iter().map(|chunk| &chunk["messageId"]).collect();
    assert!(ids.first() != ids.last(), "{ids:?}");
    assert_eq!(editor.updates(&session, "usage_update")[0]["used"], 107);
    let done = editor.close().expect(0);
    done.stderr_has(&["MARVIN_COST:{"]);
}

#[test]
fn calls_are_asked_about_with_what_they_would_do() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let asked = |editor: &Editor| -> Vec<Value> {
        let lines = editor.lines().into_iter();
        lines
            .filter(|line| line["method"] == "session/request_permission")
            .map(|line| line["params"].clone())
            .collect()
    };
    editor.answers(|_| Some(Ok(selects("no"))));
    assert_eq!(editor.prompt(&session, "run touch one"), "end_turn");
    assert!(!home.work().join("one").exists());
    let question = &asked(&editor)[0];
    assert_eq!(question["toolCall"]["title"], "touch one");
    assert_eq!(question["toolCall"]["kind"], "execute");
    let options: Vec<&Value> = (question["options"].as_array().unwrap().iter())
        .map(|option| &option["optionId"])
        .collect();
    assert_eq!(options, ["once", "always", "no"]);
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(ended["status"], "failed");
    editor.answers(|_| Some(Ok(selects("always"))));
    assert_eq!(editor.prompt(&session, "run touch one"), "end_turn");
    assert!(home.work().join("one").exists());
    // Exactly this command, and no other.
    editor.answers(|_| Some(Ok(selects("no"))));
    fs::remove_file(home.work().join("one")).unwrap();
    editor.prompt(&session, "run touch one");
    assert!(home.work().join("one").exists());
    editor.prompt(&session, "run touch two");
    assert!(!home.work().join("two").exists());
    assert_eq!(asked(&editor).len(), 3);
    // Neither does a star at the end allow others.
    editor.answers(|_| Some(Ok(selects("always"))));
    editor.prompt(&session, "run echo o*");
    editor.prompt(&session, "run echo o*");
    assert_eq!(asked(&editor).len(), 4);
    editor.prompt(&session, "run echo one");
    assert_eq!(asked(&editor).len(), 5);
}

#[test]
fn a_question_shows_the_whole_command() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    editor.answers(|_| Some(Ok(selects("no"))));
    let long = format!("echo {}; rm -rf important", "a".repeat(300));
    let hidden = "# list the files\nrm -rf important";
    // What Markdown would leave out of it.
    let sly = ": 'say\n\n```\n<!--\n'; rm -rf build\n: '\n-->\n'; echo hello";
    let sly_title = ": 'say ⏎  ⏎ ``` ⏎ <!-- ⏎ '; rm -rf build ⏎ : ' ⏎ --> ⏎ '; echo hello";
    for (command, title, fence) in [
        (long.as_str(), long.as_str(), "```"),
        (hidden, "# list the files ⏎ rm -rf important", "```"),
        (sly, sly_title, "````"),
    ] {
        editor.prompt(&session, &format!("run {command}"));
        let mut asked = editor.lines().into_iter();
        let asked = asked.rfind(|line| line["method"] == "session/request_permission");
        let call = asked.unwrap()["params"]["toolCall"].clone();
        assert_eq!(call["title"], title);
        let text = &call["content"][0]["content"]["text"];
        assert_eq!(*text, format!("{fence}sh\n{command}\n{fence}"));
        // Clients that show no more of a question than its title show the call.
        let updates = editor.updates(&session, "tool_call_update").into_iter();
        let mut pending = updates.filter(|update| update["status"] == "pending");
        let mut before = pending.next_back().unwrap();
        let fields = before.as_object_mut().unwrap();
        fields.remove("sessionUpdate");
        fields.remove("status");
        assert_eq!(before, call);
    }
}

#[test]
fn what_a_running_command_says_is_told_with_what_it_said_before() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let id = editor.prompts(&session, "run seq 9; until [ -e go ]; do sleep 0.02; done");
    // Whatever came in between, the last that it said is told before it ends.
    editor.line("output", |line| {
        let text = &line["params"]["update"]["content"][0]["content"]["text"];
        *text == "1\n2\n3\n4\n5\n6\n7\n8\n9"
    });
    home.write("work/go", "");
    editor.answer(id);
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(ended["status"], "completed");
}

#[test]
fn a_call_whose_turn_hangs_is_told_to_have_failed_before_the_answer() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::start(
        home.marvin()
            .with_model(&server)
            .line("--sandbox danger-full-access"),
    );
    editor.call("initialize", json!({"protocolVersion": 1}));
    let session = editor.open(&home);
    // It leaves its session and keeps the output open.
    let id = editor.prompts(&session, "run setsid sleep 3 & echo begun; wait; sleep 3");
    editor.line("output", |line| {
        line["params"]["update"]["content"][0]["content"]["text"] == "begun"
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(ended["status"], "failed", "{ended}");
}

#[test]
fn an_answer_that_is_none_refuses_and_a_cancelled_one_ends_the_turn() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    for answer in [
        Ok(selects("never heard of")),
        Ok(json!({})),
        Ok(json!({"outcome": {"outcome": 7}})),
        Err(json!({"code": -32603, "message": "no window"})),
    ] {
        editor.answers(move |_| Some(answer.clone()));
        assert_eq!(editor.prompt(&session, "run touch it"), "end_turn");
        assert!(!home.work().join("it").exists());
    }
    editor.answers(|_| Some(Ok(json!({"outcome": {"outcome": "cancelled"}}))));
    assert_eq!(editor.prompt(&session, "run touch it"), "cancelled");
    assert!(!home.work().join("it").exists());
    // The conversation goes on.
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
}

/// Two prompts: one that is being answered, and one that waits.
fn slow_and_later(editor: &mut Editor, session: &str) -> [u64; 2] {
    let prompts = ["slow", "later"].map(|text| editor.prompts(session, text));
    editor.line("a piece", |line| {
        line["params"]["update"]["content"]["text"] == "slow"
    });
    prompts
}

#[test]
fn a_cancel_ends_the_prompt_and_those_that_wait_and_the_next_is_answered() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let [running, waiting] = slow_and_later(&mut editor, &session);
    editor.notify("session/cancel", json!({"sessionId": session}));
    for id in [running, waiting] {
        assert_eq!(
            editor.answer(id)["result"],
            json!({"stopReason": "cancelled"})
        );
    }
    assert_eq!(editor.prompt(&session, "after"), "end_turn");
    assert!(editor.said(&session).ends_with("Answer to after"));
    // A command that runs, and a question that nobody has answered.
    editor.answers(|_| Some(Ok(selects("once"))));
    let running = editor.prompts(&session, "run sleep 60");
    editor.line("the call runs", |line| {
        line["params"]["update"]["status"] == "in_progress"
    });
    let since = Instant::now();
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(running)["result"]["stopReason"], "cancelled");
    assert!(since.elapsed() < LIMIT);
    editor.answers(|_| None);
    let running = editor.prompts(&session, "run touch late");
    let question = editor.line("a question", |line| {
        line["method"] == "session/request_permission"
            && line["params"]["toolCall"]["title"] == "touch late"
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(running)["result"]["stopReason"], "cancelled");
    // Its answer comes too late.
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": selects("once")});
    editor.send(&line);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    assert!(!home.work().join("late").exists());
}

#[test]
fn a_cancelled_request_is_an_error_and_the_session_stays() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let [running, waiting] = slow_and_later(&mut editor, &session);
    for id in [waiting, running] {
        editor.notify("$/cancel_request", json!({"requestId": id}));
        assert_eq!(editor.answer(id)["error"]["code"], -32800);
    }
    editor.notify("$/cancel_request", json!({"requestId": 999}));
    assert_eq!(editor.prompt(&session, "after"), "end_turn");
}

#[test]
fn ends_of_turns_have_their_reasons() {
    let server = Server::answering(|request, _| {
        if request.path.ends_with("/models") {
            return Answer::json(&json!({"data": []}));
        }
        let body = request.json().to_string();
        let ending =
            |reason: &str| Answer::sse(Stream::new().text(&["Some"]).finish(reason).done());
        match body {
            _ if body.contains("too long") => ending("length"),
            _ if body.contains("filter me") => ending("content_filter"),
            _ if body.contains("break it") => Answer::status(400).and_json(&openai::error(
                "You may not do that.",
                "invalid_request_error",
                None,
            )),
            _ => says("Fine."),
        }
    })
    .lenient();
    let home = Home::new();
    let mut editor = Editor::begin(&home, &server);
    for (text, reason) in [("too long", "max_tokens"), ("filter me", "refusal")] {
        let session = editor.open(&home);
        assert_eq!(editor.prompt(&session, text), reason);
    }
    let session = editor.open(&home);
    let id = editor.prompts(&session, "break it");
    let error = editor.answer(id)["error"].clone();
    assert_eq!(error["code"], -32603, "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("You may not do that"),
        "{error}"
    );
    let session = editor.open(&home);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    let marvin = home.marvin().with_model(&server).line("--max-cost 0");
    let mut editor = Editor::begin_with(marvin, json!({}));
    let session = editor.open(&home);
    assert_eq!(editor.prompt(&session, "hello"), "max_turn_requests");
    assert!(
        editor.said(&session).contains("cost limit"),
        "{}",
        editor.said(&session)
    );
}

#[test]
fn modes_and_options_change_what_follows() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let opened = editor.call("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    let modes: Vec<&Value> = (opened["modes"]["availableModes"].as_array().unwrap().iter())
        .map(|mode| &mode["id"])
        .collect();
    assert_eq!(modes, ["ask", "edit", "plan"]);
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    let ids: Vec<&Value> = (opened["configOptions"].as_array().unwrap().iter())
        .map(|option| &option["id"])
        .collect();
    assert_eq!(ids, ["mode", "model", "thought_level", "sandbox"]);
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.answers(|_| panic!("a question"));
    let set = |editor: &mut Editor, id: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        editor.call("session/set_config_option", params)
    };
    editor.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "edit"}),
    );
    let update = editor
        .updates(&session, "config_option_update")
        .pop()
        .unwrap();
    assert_eq!(update["configOptions"][0]["currentValue"], "edit");
    editor.prompt(
        &session,
        r#"call create_file {"path": "a", "content": "x"}"#,
    );
    assert!(home.work().join("a").exists());
    set(&mut editor, "mode", "plan");
    let update = editor
        .updates(&session, "current_mode_update")
        .pop()
        .unwrap();
    assert_eq!(update["currentModeId"], "plan");
    editor.prompt(
        &session,
        r#"call create_file {"path": "b", "content": "x"}"#,
    );
    assert!(!home.work().join("b").exists());
    // The provider's list arrives in the background.
    editor.line("the list", |line| line.to_string().contains("other-model"));
    let options = set(&mut editor, "model", "other-model");
    assert_eq!(options["configOptions"][1]["currentValue"], "other-model");
    let options = set(&mut editor, "thought_level", "low");
    assert_eq!(options["configOptions"][2]["currentValue"], "low");
    editor.prompt(&session, "hello");
    let last = last_sent(&server);
    assert_eq!(last["model"], "other-model");
    for (id, value) in [("model", "no-model"), ("mode", "auto"), ("sandbox", "off")] {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        assert_eq!(
            editor.fails("session/set_config_option", params)["code"],
            -32002,
            "{id}"
        );
    }
    let params = json!({"sessionId": session, "modeId": "auto"});
    assert_eq!(editor.fails("session/set_mode", params)["code"], -32002);
}

#[test]
fn everything_runs_only_where_the_command_line_says_so() {
    let (home, server) = (Home::new(), obedient_model());
    let marvin = home.marvin().with_model(&server);
    let marvin = marvin.line("--permission-mode bypassPermissions");
    let mut editor = Editor::begin_with(marvin, json!({}));
    let opened = editor.call("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    assert_eq!(opened["modes"]["currentModeId"], "auto");
    let session = opened["sessionId"].as_str().unwrap();
    editor.answers(|_| panic!("a question"));
    editor.prompt(session, "run touch it");
    assert!(home.work().join("it").exists());
    editor.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "ask"}),
    );
    editor.answers(|_| Some(Ok(selects("no"))));
    editor.prompt(session, "run touch other");
    assert!(!home.work().join("other").exists());
}

#[test]
fn sessions_side_by_side_mix_nothing() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let sessions: Vec<(String, u64)> = (0..20)
        .map(|n| {
            let dir = home.path().join(format!("folder {n}"));
            fs::create_dir(&dir).unwrap();
            let opened = editor.call("session/new", json!({"cwd": dir, "mcpServers": []}));
            let session = opened["sessionId"].as_str().unwrap().to_owned();
            let id = editor.prompts(&session, &format!("run pwd; echo number {n}"));
            (session, id)
        })
        .collect();
    for (n, (session, id)) in sessions.iter().enumerate() {
        assert_eq!(editor.answer(*id)["result"]["stopReason"], "end_turn");
        let said = editor.said(session);
        assert!(said.contains(&format!("folder {n}\\n")), "{n}: {said}");
        assert!(said.contains(&format!("number {n}\\n")), "{n}: {said}");
        assert_eq!(editor.updates(session, "tool_call").len(), 1);
    }
    editor.close().expect(0);
}

#[test]
fn a_closed_input_ends_it_well_and_sigterm_with_143() {
    let (home, server) = (Home::new(), obedient_model());
    for is_signal in [false, true] {
        let mut editor = Editor::begin(&home, &server);
        let session = editor.open(&home);
        let said = format!("run sleep 5{}1", u8::from(is_signal));
        editor.prompts(&session, &said);
        editor.line("the call runs", |line| {
            line["params"]["update"]["status"] == "in_progress"
        });
        let since = Instant::now();
        let done = match is_signal {
            true => {
                editor.running().signal(Signal::TERM);
                editor.close().expect(143)
            }
            false => editor.close().expect(0),
        };
        assert!(since.elapsed() < LIMIT);
        assert!(
            done.errors()
                .lines()
                .last()
                .unwrap()
                .starts_with("MARVIN_COST:")
        );
        // What was said is kept.
        let sessions = home.marvin().line("sessions --json").run().expect(0);
        assert!(sessions.text().contains(&session), "{}", sessions.text());
    }
}

#[test]
fn a_client_that_does_not_read_can_still_cancel() {
    let flood = "x".repeat(1 << 20);
    let server = Server::answering(move |request, _| {
        if request.path.ends_with("/models") {
            return Answer::json(&json!({"data": []}));
        }
        let piece = openai::data(&openai::chunk(json!({"content": flood}), None));
        Answer::sse(vec![piece; 12]).stall()
    })
    .lenient();
    let home = Home::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_marvin"))
        .args([
            "--provider",
            "openai-compat",
            "--model",
            "test-model",
            "acp",
        ])
        .env_clear()
        .env("HOME", home.path())
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut send = |line: Value| writeln!(input, "{line}").unwrap();
    let mut until_answer = |id: u64| loop {
        let mut line = String::new();
        assert!(
            output.read_line(&mut line).unwrap() > 0,
            "no answer to {id}"
        );
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["id"] == id {
            break line;
        }
    };
    send(json!({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}));
    until_answer(1);
    send(
        json!({"id": 2, "method": "session/new", "params": {"cwd": home.work(), "mcpServers": []}}),
    );
    let session = until_answer(2)["result"]["sessionId"].clone();
    let prompt = json!([{"type": "text", "text": "flood"}]);
    send(
        json!({"id": 3, "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}),
    );
    let asked = || {
        server
            .requests()
            .into_iter()
            .position(|one| one.method == "POST")
    };
    let asked = found("the request", asked);
    // It takes no more than it may hold, and lets go of the provider although nobody reads.
    send(json!({"method": "session/cancel", "params": {"sessionId": session}}));
    server.wait_closed(server.request(asked).connection, LIMIT);
    assert_eq!(until_answer(3)["result"]["stopReason"], "cancelled");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn commands_are_offered_and_answered_without_a_model() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    editor.line("the commands", |line| {
        line["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let update = editor
        .updates(&session, "available_commands_update")
        .remove(0);
    let names: Vec<&Value> = (update["availableCommands"].as_array().unwrap().iter())
        .map(|command| &command["name"])
        .collect();
    assert_eq!(
        names,
        [
            "tools", "why", "memory", "clear", "compact", "undo", "trust", "skills", "code",
            "usage", "model"
        ]
    );
    editor.prompt(&session, "hello");
    let asked = server.requests().len();
    for (line, words) in [
        ("/usage", "test-model"),
        ("/tools git_status", "git_status"),
        ("/compact", "nothing to compact"),
        ("/why", "no reply of the reply flow"),
        ("/model", "Model: test-model"),
        ("/model other", "There is no model \"other\" here"),
        ("/nonsense", "There is no command /nonsense here"),
        ("/nonsense", "/usage, /model."),
        ("/quit", "There is no command /quit here"),
        ("/usage 7", "/usage takes nothing after it."),
    ] {
        let before = editor.said(&session).len();
        assert_eq!(editor.prompt(&session, line), "end_turn", "{line}");
        let said = editor.said(&session).split_off(before);
        assert!(said.contains(words), "{line}: {said}");
    }
    // Editors send the file that is open with everything.
    let link = json!({"type": "resource_link", "uri": "https://example.org/x", "name": "x"});
    for (line, words) in [("/usage", "test-model"), ("/nosuch", "no command /nosuch")] {
        let text = json!({"type": "text", "text": line});
        for blocks in [json!([text, link]), json!([link, text])] {
            let before = editor.said(&session).len();
            editor.call(
                "session/prompt",
                json!({"sessionId": session, "prompt": blocks}),
            );
            let said = editor.said(&session).split_off(before);
            assert!(said.contains(words), "{blocks}: {said}");
        }
    }
    assert_eq!(server.requests().len(), asked);
    // A path is a message.
    assert_eq!(
        editor.prompt(&session, "/etc/hostname says what?"),
        "end_turn"
    );
    assert_eq!(server.requests().len(), asked + 1);
    assert_eq!(editor.prompt(&session, "more"), "end_turn");
    let sent = last_sent(&server)["messages"].to_string();
    assert!(
        sent.contains("Answer to hello") && !sent.contains("/usage"),
        "{sent}"
    );
}

#[test]
fn a_program_that_ignores_signals_does_not_hold_up_the_answer_to_a_cancel() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let id = editor.prompts(
        &session,
        "run trap '' TERM INT HUP; echo begun; while :; do sleep 1; done",
    );
    editor.line("output", |line| {
        line["params"]["update"]["content"][0]["content"]["text"] == "begun"
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    // What follows is answered once the program is gone, and the prompt is not answered again.
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    let answers = editor.lines().into_iter();
    let answers = answers.filter(|line| line["id"] == id && line["method"].is_null());
    assert_eq!(answers.count(), 1);
    editor.close().expect(0);
}
