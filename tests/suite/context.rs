//! The context budget through the real binary: warned, backed up, compacted; and reading that ends.

use std::path::Path;

use serde_json::json;

use super::hooks::{command, names, records, user_hooks};
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// A file of 9,900 bytes, just small enough to be read without a range.
fn page() -> String {
    (0..180)
        .map(|n| format!("line {n:03} of a page that says nothing of any use here\n"))
        .collect()
}

/// A task too long for a summary's line.
fn task_of_reads() -> String {
    format!("read on, {}and say what you found", "please ".repeat(400))
}

/// A talk with a small model that reads until its context must be compacted.
fn reads_on(home: &Home) -> (Done, Server) {
    home.write("work/page.txt", page());
    let server = Server::answering(|_, n| match n {
        0..14 => Answer::ndjson([format!(
            "{}\n",
            json!({"message": {"role": "assistant", "content": format!("The finding of round {n} is worth keeping."), "tool_calls": [{"function": {"name": "run_command", "arguments": {"command": "cat page.txt", "path": "page.txt"}}}]}, "done": true, "done_reason": "stop"})
        )]),
        _ => Answer::ndjson([format!(
            "{}\n",
            json!({"message": {"role": "assistant", "content": "Done."}, "done": true, "done_reason": "stop"})
        )]),
    });
    let output = home
        .marvin()
        .args([
            "--non-interactive",
            "--provider",
            "ollama",
            "--prompt",
            &task_of_reads(),
        ])
        .env("OLLAMA_URL", server.url(""))
        .run()
        .expect(0);
    (output, server)
}

#[test]
fn a_full_small_window_warns_backs_up_and_compacts() {
    let home = Home::new();
    let told = "read -r line; echo \"$line\" >> $HOME/told; case $line in *'\"compact\"'*) echo 'Mind the heron.';; esac";
    user_hooks(
        &home,
        &json!({"SessionStart": command(told), "PreCompact": command(told)}),
    );
    let (output, server) = reads_on(&home);
    assert!(output.text().ends_with("Done.\n"));
    output.stderr_has(&[
        "Compacting conversation history...",
        "── Context compacted. Older messages summarized. ──",
    ]);
    let requests = server.requests();
    let bodies: Vec<String> = requests
        .iter()
        .map(|request| request.json()["messages"].to_string())
        .collect();
    // What Ollama cannot hold it drops without a word, the schemas first.
    let largest = requests
        .iter()
        .map(|request| request.text().len() / 4)
        .max();
    assert!(largest < Some(32_768), "{largest:?} tokens in one request");
    let compacted = bodies
        .iter()
        .position(|body| body.contains("Summary of "))
        .expect("a compacted request");
    assert!(
        bodies[..=compacted]
            .iter()
            .any(|body| body.contains("[Context budget:")),
        "no warning before it"
    );
    let roles: Vec<String> = requests[compacted].json()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        roles[..4],
        ["system", "user", "system", "assistant"],
        "{roles:?}"
    );
    assert!(roles.len() <= 12, "{roles:?}");
    let task = &requests[compacted].json()["messages"][1]["content"];
    assert_eq!(task, &task_of_reads());
    // Hooks hear of it, and what they say of the shortened conversation is in the same request.
    let told = records(&home, "told");
    assert_eq!(
        names(&told)[..3],
        ["SessionStart", "PreCompact", "SessionStart"]
    );
    assert_eq!(told[1]["trigger"], "auto");
    assert_eq!(
        (&told[0]["source"], &told[2]["source"]),
        (&json!("startup"), &json!("compact"))
    );
    let newest = requests[compacted].json()["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string();
    assert!(
        newest.contains("[A hook of the user says: Mind the heron.]"),
        "{newest}"
    );
    let logs: Vec<_> = std::fs::read_dir(home.work().join(".marvin/logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let backup = std::fs::read_to_string(
        logs.iter()
            .find(|path| path.to_string_lossy().contains("context-backup-"))
            .unwrap(),
    )
    .unwrap();
    assert!(
        backup.lines().next().unwrap().contains("read on"),
        "the first message is in the backup"
    );
    home.read("work/.marvin/memories/INDEX.md")
        .assert_has(&["- page.txt", "The finding of round 0"]);
}

#[test]
fn compaction_follows_no_link_out_of_the_project() {
    let home = Home::new();
    home.write("outside/rc", "echo mine\n");
    home.write("work/.marvin/memories/keep", "");
    let outside = home.path().join("outside");
    let link = |to: &Path, at: &str| {
        std::os::unix::fs::symlink(to, home.work().join(".marvin").join(at)).unwrap();
    };
    link(&outside.join("rc"), "memories/INDEX.md");
    link(&outside, "logs");
    let (output, _server) = reads_on(&home);
    output.stderr_has(&["Context compacted"]);
    assert_eq!(home.read("outside/rc"), "echo mine\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    let logs = home.config().join("profiles/main/logs");
    let backup = std::fs::read_dir(logs)
        .unwrap()
        .filter_map(Result::ok)
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("context-backup-")
        })
        .expect("a backup in the profile");
    std::fs::read_to_string(backup.path())
        .unwrap()
        .assert_has(&["read on"]);
}

#[test]
fn reading_is_clipped_then_refused_and_dumped() {
    let home = Home::new();
    home.write("work/page.txt", page());
    let server = Server::answering(|_, n| match n {
        0..40 => Answer::sse(openai::call("", "read_file", json!({"path": "page.txt"}))),
        40 => Answer::sse(openai::call(
            "",
            "read_file",
            json!({"path": "page.txt", "start_line": 3, "end_line": 170}),
        )),
        _ => says("ok"),
    });
    home.ask(&server.url("/v1"), "read on")
        .args(["--model", "gpt-5.1"])
        .run()
        .expect(0);
    let results: Vec<String> = server
        .requests()
        .iter()
        .skip(1)
        .map(|request| {
            request.json()["messages"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert!(
        results
            .iter()
            .any(|text| text.contains("characters for reading files are used")),
        "warned"
    );
    let (last, refused) = results.split_last().unwrap();
    let refused = refused.last().unwrap();
    refused.assert_has(&[
        ".marvin/memories/dump-page.txt.txt",
        "start_line and end_line",
        "20,000",
    ]);
    assert!(
        last.starts_with("3. line 002 ") && last.contains("170. line 169 "),
        "a range is still read: {last}"
    );
    home.read("work/.marvin/memories/dump-page.txt.txt")
        .assert_has(&["line 100"]);
}

#[test]
fn a_deleted_working_directory_is_reported() {
    let home = Home::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" --non-interactive --provider offline --prompt 'show the tree'";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_marvin")])
        .current_dir(home.work())
        .env("HOME", home.path())
        .env("MARVIN_CONFIG_DIR", home.config())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    errors.assert_has(&["No working directory is set", "--working-dir"]);
}

#[test]
fn an_unwritable_config_folder_loses_no_answer() {
    let home = Home::new();
    let server = Server::always(says("ok"));
    home.write("blocked", "a file where the folder should be");
    let output = home
        .ask(&server.url("/v1"), "hi")
        .env("MARVIN_CONFIG_DIR", home.path().join("blocked"))
        .run();
    assert_eq!(output.text(), "ok\n");
    output.stderr_has(&["Usage was not recorded"]).cost();
}
