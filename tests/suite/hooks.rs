//! Hooks of files, with the real binary and real commands: when they run, what they are told, and what comes of what they say.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::agents;
use crate::mcp_server::request;
use crate::support::conversation::{calls, last_sent, playing, says};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::Server;
use crate::support::stages::{ollama_by_stage, ollama_says};

/// Writes the user's hooks file.
pub(super) fn user_hooks(home: &Home, hooks: &Value) {
    let file = json!({ "hooks": hooks });
    fs::create_dir_all(home.config()).unwrap();
    fs::write(home.config().join("hooks.json"), file.to_string()).unwrap();
}

/// Writes the project's hooks file, in a folder that nobody else may write.
pub(super) fn project_hooks(home: &Home, hooks: &Value) -> PathBuf {
    fs::set_permissions(home.work(), Permissions::from_mode(0o755)).unwrap();
    let path = home.work().join(".marvin/hooks.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, json!({ "hooks": hooks }).to_string()).unwrap();
    path
}

pub(super) fn command(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

/// A hook for every event that adds a line to a file.
pub(super) fn recorded(path: &str) -> Value {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "Notification",
        "SessionEnd",
    ];
    let record = command(&format!("cat >> {path}"));
    Value::Object(
        events
            .iter()
            .map(|event| ((*event).to_owned(), record.clone()))
            .collect(),
    )
}

/// The events that were recorded.
pub(super) fn records(home: &Home, path: &str) -> Vec<Value> {
    let text = home.read(path);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn names(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["hook_event_name"].as_str().unwrap())
        .collect()
}

fn working(server: &Server) -> String {
    server.url("/v1")
}

#[test]
fn every_event_of_a_run_is_told_in_its_order() {
    let home = Home::new();
    user_hooks(&home, &recorded("events"));
    let server = playing([
        calls("create_file", json!({"path": "a.md", "content": "text"})),
        calls("read_file", json!({"path": "missing.md"})),
        says("Done."),
    ]);
    home.ask(&working(&server), "work").run().expect(0);
    let all = records(&home, "work/events");
    let expected = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ];
    assert_eq!(names(&all), expected);
    let id = all[0]["session_id"].as_str().unwrap();
    assert!(!id.is_empty());
    for record in &all {
        assert_eq!(record["session_id"], id);
        let cwd = home.work().canonicalize().unwrap();
        assert_eq!(record["cwd"], cwd.to_str().unwrap());
        assert_eq!(record["permission_mode"], "bypassPermissions");
    }
    assert_eq!(all[0]["source"], "startup");
    assert_eq!(all[0]["model"], "test-model");
    assert_eq!(all[1]["prompt"], "work");
    assert_eq!(all[2]["tool_name"], "create_file");
    assert_eq!(all[2]["tool_input"]["path"], "a.md");
    assert!(all[3]["tool_response"].as_str().unwrap().contains("a.md"));
    assert!(all[5]["error"].as_str().unwrap().contains("missing.md"));
    assert_eq!(all[6]["last_assistant_message"], "Done.");
    // Switched off, nothing is told.
    fs::remove_file(home.work().join("events")).unwrap();
    for is_flag in [true, false] {
        let server = playing([says("Done.")]);
        let run = home.ask(&working(&server), "work");
        let run = match is_flag {
            true => run.arg("--no-hooks"),
            false => run.env("MARVIN_NO_HOOKS", "1"),
        };
        run.run().expect(0);
        assert!(!home.has("work/events"));
    }
}

#[test]
fn they_run_in_a_run_that_a_program_drives_and_a_compaction_by_hand_is_told() {
    let home = Home::new();
    user_hooks(&home, &recorded("events"));
    let long = "word ".repeat(2_000);
    let answers = (0..12).map(|_| says(&long));
    let server = playing(
        [calls(
            "create_file",
            json!({"path": "a.md", "content": "text"}),
        )]
        .into_iter()
        .chain(answers),
    );
    let message = |text: &str| {
        json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
    };
    let mut input: Vec<String> = (0..12).map(|n| message(&format!("work {n}"))).collect();
    input.push(message("/compact"));
    let done = home
        .marvin()
        .with_model(&server)
        .args([
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
        ])
        .args(["--permission-mode", "bypassPermissions"])
        .stdin(input.join("\n") + "\n")
        .run()
        .expect(0);
    let all = records(&home, "work/events");
    let told = names(&all);
    let first = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
    ];
    assert_eq!(told[..5], first);
    let compactions: Vec<&Value> = all
        .iter()
        .filter(|record| record["hook_event_name"] == "PreCompact")
        .collect();
    assert_eq!(compactions.len(), 1, "{told:?}");
    assert_eq!(compactions[0]["trigger"], "manual");
    assert_eq!(told.last(), Some(&"SessionEnd"));
    let lines = done
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let boundaries: Vec<Value> = lines
        .filter(|line| line["subtype"] == "compact_boundary")
        .collect();
    assert_eq!(boundaries.len(), 1);
    let about = &boundaries[0]["compact_metadata"];
    assert_eq!(about["trigger"], "manual");
    assert!(
        about["pre_tokens"].as_u64() > about["post_tokens"].as_u64(),
        "{about}"
    );
}

#[test]
fn status_2_keeps_a_call_and_a_message_and_gives_the_model_the_words() {
    let home = Home::new();
    user_hooks(
        &home,
        &json!({
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "grep -q 'rm ' && { echo 'Nothing is removed here.' >&2; exit 2; }; exit 0"}]}],
            "UserPromptSubmit": command("grep -q secret && { echo 'Not with this word.' >&2; exit 2; }; echo 'Mind the gap.'"),
            "Stop": command("grep -q 'stop_hook_active\":false' && { echo 'Say it louder.' >&2; exit 2; }; exit 0"),
        }),
    );
    let server = playing([
        calls(
            "run_command",
            json!({"command": "rm -rf kept; echo gone > result"}),
        ),
        calls("run_command", json!({"command": "echo done > result"})),
        says("done"),
        says("DONE"),
    ]);
    let done = home.ask(&working(&server), "work").run().expect(0);
    assert!(done.text().ends_with("done\nDONE\n"), "{}", done.text());
    assert!(last_sent(&server, 0).contains("[A hook of the user says: Mind the gap.]"));
    assert!(last_sent(&server, 1).contains("Nothing is removed here."));
    assert_eq!(home.read("work/result"), "done\n");
    assert!(last_sent(&server, 3).contains("Say it louder."));
    let server = playing([says("one."), says("two.")]);
    let done = home.chat(&server).stdin("work\n").run().expect(0);
    done.stdout_has(&["Marvin: one.\nMarvin: two.\n"]);
    let done = home
        .ask("http://127.0.0.1:9/v1", "a secret")
        .run()
        .expect(1);
    done.stderr_has(&["did not let the message be sent: Not with this word."]);
}

#[test]
fn hooks_of_a_project_run_once_it_is_trusted_and_until_they_change() {
    let home = Home::new();
    let file = project_hooks(
        &home,
        &json!({"UserPromptSubmit": command("echo ran >> $MARVIN_PROJECT_DIR/log; echo 'From the project.'")}),
    );
    let asked = |more: &[&str]| {
        let server = playing([says("Yes.")]);
        let done = home
            .ask(&working(&server), "work")
            .args(more.to_vec())
            .run()
            .expect(0);
        (
            last_sent(&server, 0).contains("[A hook of the project says: From the project.]"),
            done.errors(),
        )
    };
    let (ran, errors) = asked(&[]);
    assert!(!ran && !home.has("work/log"));
    assert!(
        errors.contains("nobody said that this project is trusted: 1 hook."),
        "{errors}"
    );
    assert!(asked(&["--trust-project"]).0);
    assert!(!asked(&["--trust-project", "--no-hooks"]).0);
    assert!(!asked(&["--trust-project", "--setting-sources", "user"]).0);
    assert!(!asked(&[]).0, "a run trusts for itself alone");
    let trusted = home.marvin().arg("trust").run().expect(0);
    trusted.stdout_has(&["is trusted", "hook UserPromptSubmit: echo ran"]);
    let (ran, errors) = asked(&[]);
    assert!(ran && !errors.contains("trusted"), "{errors}");
    // What has changed was not agreed to.
    fs::write(
        &file,
        fs::read_to_string(&file).unwrap().replace("ran", "run"),
    )
    .unwrap();
    let (ran, errors) = asked(&[]);
    assert!(!ran && errors.contains("1 hook."), "{errors}");
    home.marvin().arg("trust").run().expect(0);
    assert!(asked(&[]).0);
    // Nor does it count where others may write.
    fs::set_permissions(home.work(), Permissions::from_mode(0o777)).unwrap();
    assert!(!asked(&[]).0);
    home.marvin()
        .arg("trust")
        .fails(&["everybody may write there", "--trust-project"]);
    assert!(asked(&["--trust-project"]).0);
}

#[test]
fn a_fault_in_the_hooks_of_a_trusted_project_is_told_and_what_blocks_still_blocks() {
    let home = Home::new();
    let file = project_hooks(
        &home,
        &json!({"PreToolUse": [{"hooks": [{"type": "command", "command": format!("exit 2 #{} the end", " x".repeat(200)), "onFailure": "block"}]}]}),
    );
    let trusted = home.marvin().arg("trust").run().expect(0);
    trusted.stdout_has(&["x the end"]);
    let good = fs::read_to_string(&file).unwrap();
    let broken = good.replace("}]}]", "},]}]");
    let large = good.replacen('{', &format!("{{\n{}", " ".repeat(2 << 20)), 1);
    let late = format!("{good}{}", " ".repeat(2 << 20));
    for (text, more, blocks, words) in [
        (&broken, None, true, "line 1, column"),
        (&broken, Some("--trust-project"), true, "line 1, column"),
        (&late, None, true, "is larger than"),
        // Where nothing of it says so, the work goes on; it is told.
        (&large, None, false, "is larger than"),
    ] {
        fs::write(&file, text).unwrap();
        let server = playing([
            calls("create_file", json!({"path": "made.txt", "content": "x"})),
            says("Done."),
        ]);
        let done = home.ask(&working(&server), "go").args(more).run().expect(0);
        let errors = done.errors();
        assert!(
            errors.contains("hooks.json cannot be used") && errors.to_lowercase().contains(words),
            "{errors}"
        );
        let made = home.work().join("made.txt");
        assert_eq!(made.exists(), !blocks, "{words}: {errors}");
        let _ = fs::remove_file(made);
    }
    let doctor = home.marvin().arg("doctor").run();
    assert!(doctor.output().contains("hooks.json cannot be used"));
    // Where it is not trusted, it decides nothing, and is told.
    fs::write(&file, &broken).unwrap();
    home.marvin().line("trust --remove .").run().expect(0);
    let server = playing([
        calls("create_file", json!({"path": "made.txt", "content": "x"})),
        says("Done."),
    ]);
    let done = home.ask(&working(&server), "go").run().expect(0);
    done.stderr_has(&["hooks.json cannot be used"]);
    assert!(home.has("work/made.txt"));
}

#[test]
fn calls_of_another_program_are_asked_about_and_nothing_else_is() {
    let home = Home::new();
    fs::write(home.work().join("a.txt"), "needle\n").unwrap();
    user_hooks(
        &home,
        &recorded(&home.path().join("log").display().to_string()),
    );
    project_hooks(
        &home,
        &json!({
            "PreToolUse": [{"matcher": "code_grep", "hooks": command("echo 'Not this.' >&2; exit 2")[0]["hooks"]}],
            "PostToolUse": command("echo 'Mind b.' >&2; exit 2"),
        }),
    );
    home.marvin().arg("trust").run().expect(0);
    let marvin = home.marvin().line("mcp serve");
    let mut serving = marvin.stdin_open().spawn();
    for (call, tool, args, words) in [
        (
            1,
            "code_grep",
            json!({"pattern": "needle"}),
            "a hook of the project refused it: Not this.",
        ),
        (
            2,
            "tree",
            json!({}),
            "[A hook of the project says: Mind b.]",
        ),
    ] {
        let params = json!({"name": tool, "arguments": args});
        let message = request(call, "tools/call", params, "2026-07-28");
        serving.write(format!("{message}\n").as_bytes());
        serving.wait_stdout(words, Duration::from_secs(20));
    }
    serving.close_stdin();
    serving.wait().expect(0);
    // There is no conversation here whose beginning, messages or end somebody could be told.
    let told = records(&home, "log");
    assert_eq!(names(&told), ["PreToolUse", "PreToolUse", "PostToolUse"]);
}

#[test]
fn a_file_with_a_fault_is_refused_and_may_close_what_changes_something() {
    let home = Home::new();
    fs::create_dir_all(home.config()).unwrap();
    let path = home.config().join("hooks.json");
    let script = || {
        playing([
            calls("create_file", json!({"path": "a.md", "content": "text"})),
            calls("tree", json!({})),
            says("Done."),
        ])
    };
    fs::write(&path, "{\"hooks\":\n {\"PretoolUse\": []}}").unwrap();
    let server = script();
    let done = home.ask(&working(&server), "work").run().expect(0);
    done.stderr_has(&[
        "hooks.json cannot be used: Line 2, column",
        "did you mean PreToolUse?",
        "goes on without its hooks",
    ]);
    assert!(home.has("work/a.md"));
    fs::remove_file(home.work().join("a.md")).unwrap();
    // Cut off, or longer than what is read of it.
    for more in [0, 2 << 20] {
        let begun = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"onFailure\": \"block\",";
        fs::write(&path, format!("{begun}{}", " ".repeat(more))).unwrap();
        let server = script();
        let done = home.ask(&working(&server), "work").run().expect(0);
        done.stderr_has(&["tools that change something are refused until it is fixed"]);
        assert!(!home.has("work/a.md"));
        assert!(last_sent(&server, 1).contains("cannot be used"));
        assert!(
            !last_sent(&server, 2).contains("cannot be used"),
            "reading is open"
        );
    }
    // Ten megabytes are not read.
    fs::write(&path, " ".repeat(10 << 20)).unwrap();
    let done = home.marvin().arg("hooks").run().expect(0);
    done.stdout_has(&["cannot be used", "larger than"]);
}

#[test]
fn a_conversation_says_how_it_began() {
    let home = Home::new();
    user_hooks(
        &home,
        &json!({"SessionStart": command("cat >> $HOME/events")}),
    );
    for flags in ["--plain", "--plain -c", "--plain -c --fork-session"] {
        let server = playing([says("Done.")]);
        let marvin = home.marvin().with_model(&server).line(flags);
        marvin.stdin("hello\n").run().expect(0);
    }
    let told = records(&home, "events");
    let sources: Vec<&Value> = told.iter().map(|record| &record["source"]).collect();
    assert_eq!(sources, ["startup", "resume", "fork"]);
    assert_ne!(told[1]["session_id"], told[2]["session_id"]);
}

#[test]
fn settings_of_another_program_are_printed_as_a_file() {
    let home = Home::new();
    home.write(
        "work/settings.json",
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check", "timeout": 5}, {"type": "prompt", "prompt": "?"}]}]}}"#,
    );
    let done = home
        .marvin()
        .args(["hooks", "import", "settings.json"])
        .run()
        .expect(0);
    done.stderr_has(&["Left out: PreToolUse"]);
    fs::create_dir_all(home.config()).unwrap();
    fs::write(home.config().join("hooks.json"), done.text()).unwrap();
    let listed = home.marvin().arg("hooks").run().expect(0);
    listed.stdout_has(&["PreToolUse (Bash): ./check"]);
}

#[test]
fn a_sub_agent_runs_the_hooks_that_its_parent_runs_about_its_own_calls() {
    let home = Home::new();
    let record = "cat >> $HOME/events";
    let file = project_hooks(
        &home,
        &json!({"PreToolUse": command(record), "UserPromptSubmit": command(record), "SubagentStop": command(record)}),
    );
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    assert!(file.exists());
    agents::ticket(&home, "top-1", "open", "");
    home.write("more/a.md", "over there");
    let beside = home.path().join("more/a.md").display().to_string();
    let server = playing([
        calls(
            "launch_agent",
            json!({"ticket_id": "top-1", "prompt": "Read the README."}),
        ),
        calls("read_file", json!({"path": beside})),
        says("Read."),
        says("Done."),
    ]);
    home.ask(&working(&server), "go")
        .args(["--trust-project", "--tools", "all", "--add-dir", "../more"])
        .run()
        .expect(0);
    // It has the folders of its parent, too.
    assert!(last_sent(&server, 2).contains("1. over there"));
    let all = records(&home, "events");
    let expected = [
        "UserPromptSubmit",
        "PreToolUse",
        "PreToolUse",
        "SubagentStop",
    ];
    assert_eq!(names(&all), expected);
    assert_eq!(all[1]["tool_name"], "launch_agent");
    assert_eq!(all[2]["tool_name"], "read_file");
    // Of its own accord a child trusts nothing, whatever the file of trusted projects says.
    home.marvin().arg("trust").run().expect(0);
    let server = playing([
        calls("read_file", json!({"path": "README.md"})),
        says("Read."),
    ]);
    home.ask(&working(&server), "go")
        .env("MARVIN_DEPTH", "1")
        .run()
        .expect(0);
    assert_eq!(records(&home, "events").len(), all.len());
}

/// What a small model says of the text that it gets.
fn small_model() -> Server {
    ollama_by_stage(|stage, body| {
        let text = match stage {
            "router" => "read_note",
            "planner" => "read_note path=heron.md\nReply to the user.",
            "chat" if body.to_string().contains("Say it again.") => "Once more: at nine.",
            "chat" => "At nine.",
            _ => "NONE",
        };
        ollama_says(body, text)
    })
}

#[test]
fn the_reply_flow_asks_the_same_hooks() {
    let home = Home::new();
    home.write("Notes/heron.md", "The heron was seen at nine.");
    home.write(
        "config/reply.json",
        json!({"memory_enabled": false}).to_string(),
    );
    let mut hooks = recorded("$HOME/events");
    hooks["Stop"] = command(
        "cat >> $HOME/events; test $(grep -c '\"Stop\"' $HOME/events) -lt 3 && { echo 'Say it again.' >&2; exit 2; }; exit 0",
    );
    user_hooks(&home, &hooks);
    let model = small_model();
    let done = home
        .marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", model.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .arg("--plain")
        .stdin("When was the heron seen?\n")
        .run()
        .expect(0);
    done.stdout_has(&["At nine.", "Once more: at nine."]);
    let all = records(&home, "events");
    let told = names(&all);
    assert_eq!(told[..2], ["SessionStart", "UserPromptSubmit"]);
    let call = all
        .iter()
        .find(|record| record["hook_event_name"] == "PreToolUse")
        .unwrap();
    assert_eq!(call["tool_name"], "read_note");
    assert!(told.contains(&"PostToolUse"), "{told:?}");
    assert_eq!(
        told.iter().filter(|name| **name == "Stop").count(),
        3,
        "{told:?}"
    );
    assert_eq!(told.last(), Some(&"SessionEnd"));
    // Each objection stands behind the answer that it is about, in the file too.
    let asked = model.requests().pop().unwrap().json().to_string();
    let id = all[0]["session_id"].as_str().unwrap();
    let kept = home.marvin().args(["export", id]).run().expect(0).output();
    for text in [asked, kept] {
        let place = |words: &str| {
            let found = text.find(words);
            found.unwrap_or_else(|| panic!("{words}: {text}"))
        };
        assert!(place("At nine.") < place("Say it again."), "{text}");
    }
}

#[test]
fn a_turn_that_a_hook_ends_says_why() {
    let home = Home::new();
    let end = "echo '{\"continue\": false, \"stopReason\": \"Enough for today.\"}'";
    user_hooks(&home, &json!({ "PreToolUse": command(end) }));
    let call = || calls("run_command", json!({"command": "touch ran"}));
    let server = playing([call(), call()]);
    let run = || {
        home.marvin()
            .with_model(&server)
            .args(["--non-interactive", "--prompt", "Work."])
    };
    run()
        .run()
        .expect(0)
        .stderr_has(&["A hook ended the turn: Enough for today."]);
    let done = run().line("--output-format json").run().expect(0);
    let result: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!(result["result"], "Enough for today.");
}

#[test]
fn a_program_that_a_hook_runs_is_written_by_no_file_tool() {
    let home = Home::new();
    let script = "#!/bin/sh\nexit 0\n";
    let path = home.write("work/bin/check.sh", script);
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    symlink("bin/check.sh", home.work().join("link.sh")).unwrap();
    user_hooks(
        &home,
        &json!({ "Stop": command("./link.sh && bin/new.sh") }),
    );
    let create = |path: &str| {
        let args = json!({"path": path, "content": "touch evil\n", "overwrite": true});
        calls("create_file", args)
    };
    let patch = "*** Begin Patch\n*** Update File: bin/check.sh\n@@\n #!/bin/sh\n+touch evil\n exit 0\n*** End Patch";
    let server = playing([
        create("bin/check.sh"),
        create("bin/new.sh"),
        calls("apply_patch", json!({ "patch": patch })),
        create("bin/other.sh"),
        says("Done."),
    ]);
    let run = home.marvin().with_model(&server);
    run.args(["--non-interactive", "--prompt", "Work."])
        .run()
        .expect(0);
    for number in 1..=3 {
        let told = last_sent(&server, number);
        assert!(told.contains("a hook of the user runs it"), "{told}");
    }
    assert_eq!(home.read("work/bin/check.sh"), script);
    assert!(!home.has("work/bin/new.sh") && home.has("work/bin/other.sh"));
}
