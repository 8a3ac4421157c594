//! The subcommands and the tools without a model, through the binary as a user or a script calls it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::home::{Home, write};
use crate::support::run::Done;
use crate::support::words::TextAssertions;

pub(crate) fn run(home: &Home, text: &[&str]) -> Done {
    home.marvin().args(text.iter().copied()).run()
}

fn said(home: &Home, text: &[&str]) -> String {
    let output = run(home, text).expect(1);
    assert_eq!(output.text(), "", "{text:?} wrote to standard output");
    output.errors()
}

#[test]
fn a_tool_takes_arguments_or_json_and_prints_its_result() {
    let home = Home::new();
    write(&home.work().join("a.txt"), "one\ntwo\nthree\n");
    let by_words = run(
        &home,
        &[
            "tool",
            "read_file",
            "path=a.txt",
            "start_line=2",
            "end_line=2",
        ],
    )
    .expect(0);
    assert_eq!(
        (by_words.text(), by_words.errors().as_str()),
        ("2. two\n", "")
    );
    let json = r#"{"path": "a.txt", "start_line": "2", "end_line": 2}"#;
    assert_eq!(
        run(&home, &["tool", "read_file", "--json", json])
            .expect(0)
            .text(),
        "2. two\n"
    );
    // A word wins over the object; a value may contain `=`; an alias is accepted.
    let mixed = run(
        &home,
        &["tool", "read_file", "--json", json, "start=3", "end_line=3"],
    )
    .expect(0);
    assert_eq!(mixed.text(), "3. three\n");
    run(
        &home,
        &["tool", "create_file", "path=b.txt", "content=x=y\nz"],
    )
    .expect(0);
    assert_eq!(home.read("work/b.txt"), "x=y\nz");
    let other = home.path().join("other");
    write(&other.join("o.txt"), "there\n");
    let there = run(
        &home,
        &[
            "tool",
            "read_file",
            "path=o.txt",
            "--working-dir",
            other.to_str().unwrap(),
        ],
    )
    .expect(0);
    assert_eq!(there.text(), "1. there\n");
}

#[test]
fn a_tool_that_fails_says_so_on_standard_error_with_status_1() {
    let home = Home::new();
    for (text, expected) in [
        (&["tool"][..], "marvin tools"),
        (&["tool", "read_fle", "path=a"], "read_file"),
        (&["tool", "read_file"], "path: required"),
        (&["tool", "read_file", "pth=a"], "\"path\""),
        (&["tool", "read_file", "a.txt"], "key=value"),
        (&["tool", "read_file", "path=a", "--jsno", "{}"], "--json"),
        (&["tool", "read_file", "--json"], "needs a value"),
        (&["tool", "read_file", "--json", "[1]"], "JSON object"),
        (
            &["tool", "read_file", "--json", "{\"path\": 1"],
            "JSON object",
        ),
        (&["tool", "read_file", "path=absent.txt"], "absent.txt"),
        (&["tool", "tree", "max_depth=deep"], "whole number"),
        (&["tool", "tree", "--working-dir", "/no/such"], "/no/such"),
        (&["tool", "create_file", "path=x.txt", "content="], "empty"),
        (&["tool", "run_command", "command=rm -rf x"], "refused"),
        (&["tool", "run_command", "command=  "], "empty"),
    ] {
        let said = said(&home, text);
        assert!(
            said.contains(expected),
            "{text:?}: {expected:?} not in {said}"
        );
    }
    // Everything that is wrong at once, with an example of a right call.
    let both = said(&home, &["tool", "read_file", "start_line=x", "end_line=y"]);
    both.assert_has(&[
        "path: required",
        "start_line",
        "end_line",
        "A correct call: read_file {",
    ]);
}

#[test]
fn help_of_every_tool_shows_its_parameters_and_a_call_that_decodes() {
    let home = Home::new();
    let tools: Vec<Value> =
        serde_json::from_str(run(&home, &["tools", "--json"]).expect(0).text()).unwrap();
    // Each is made of the same table by the same function.
    for tool in tools.iter().step_by(5) {
        let name = tool["name"].as_str().unwrap();
        let help = run(&home, &["tool", name, "--help"]).expect(0);
        let text = help.text();
        assert!(text.contains(tool["summary"].as_str().unwrap()), "{text}");
        for parameter in tool["parameters"]["properties"].as_object().unwrap().keys() {
            assert!(
                text.contains(&format!("  {parameter} ")),
                "{parameter} not in {text}"
            );
        }
        let example = text.lines().last().unwrap();
        let (_, call) = example.split_once("--json '").unwrap();
        let object: Value = serde_json::from_str(call.trim_end_matches('\'')).unwrap();
        for required in tool["parameters"]["required"].as_array().unwrap() {
            assert!(
                !object[required.as_str().unwrap()].is_null(),
                "{name}: {example}"
            );
        }
    }
}

#[test]
fn a_long_line_is_told_and_an_empty_path_is_the_folder() {
    let home = Home::new();
    let dir = home.path().join("project");
    write(&dir.join("long"), "z".repeat(20_000));
    let expected = ["tool", "read_file", "path=long"];
    home.marvin()
        .dir(&dir)
        .args(expected)
        .fails(&["in 1 line;"]);
    let expected = ["tool", "tree", "path="];
    home.marvin().dir(&dir).args(expected).prints(&["long"]);
}

#[test]
fn the_catalogue_is_searched_by_word() {
    let home = Home::new();
    let all = run(&home, &["tools"]).expect(0);
    assert!(all.text().lines().count() >= 19, "{}", all.text());
    let some = run(&home, &["tools", "BLAME"]).expect(0);
    assert_eq!(some.text().lines().count(), 1);
    some.stdout_starts_with("git_blame ");
    let json: Value =
        serde_json::from_str(run(&home, &["tools", "--json", "shell"]).expect(0).text()).unwrap();
    assert!(
        json.as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "run_command")
    );
    said(&home, &["tools", "read_fiel"]).assert_has(&["read_file"]);
    said(&home, &["tools", "--jsno"]).assert_has(&["--json"]);
}

#[test]
fn a_misspelled_name_gets_a_suggestion() {
    let home = Home::new();
    for (text, expected) in [
        (&["--promt", "x"][..], "--prompt"),
        (&["--non-interactiv"], "--non-interactive"),
        (&["--providr=x"], "--provider"),
        (&["--workingdir", "x"], "--working-dir"),
        (
            &[
                "--non-interactive",
                "--provider",
                "anthropc",
                "--prompt",
                "x",
            ],
            "anthropic",
        ),
        (
            &["--non-interactive", "--provider", "Groq ", "--prompt", "x"],
            "groq",
        ),
        (
            &["--non-interactive", "--tools", "fils", "--prompt", "x"],
            "files",
        ),
        (&["tool", "git_comit", "message=x"], "git_commit"),
        (&["completions", "bahs"], "bash"),
    ] {
        let output = run(&home, text).expect(1);
        output.errors().assert_has_for(&text, &[expected]);
        if text.contains(&"--non-interactive") {
            output.cost();
        }
    }
}

#[test]
fn usage_is_shown_for_the_session_a_period_and_the_lifetime() {
    let home = Home::new();
    home.write("config/usage.json", json!({"total_cost": 1.5, "total_llm_turns": 12, "total_model_turns": {"m": 12}, "extra": 1}).to_string());
    let line = |ts: &str, cost: f64| {
        json!({"ts": ts, "provider": "p", "model": "m", "cost": cost}).to_string()
    };
    let now = moment();
    let log = [
        line("2020-01-01T00:00:00Z", 5.0),
        "not json".to_owned(),
        line(&now, 0.25),
        line(&now, 0.5),
    ]
    .join("\n");
    home.write("config/profiles/main/cost-log.jsonl", log + "\n");
    let text = |expected: &[&str]| {
        run(&home, &[&["tool", "get_usage"], expected].concat())
            .expect(0)
            .text()
            .to_owned()
    };
    assert!(
        text(&[]).starts_with("This session: $0.0000, 0 model calls"),
        "{}",
        text(&[])
    );
    text(&["include_lifetime=true"])
        .assert_has(&["This session", "Lifetime: $1.5000, 12 model calls"]);
    for period in ["24h", "7d", "2021-01-01"] {
        let text = text(&[&format!("period={period}")]);
        assert!(text.contains("$0.7500, 2 model calls"), "{period}: {text}");
    }
    text(&["period=2019-12-31"]).assert_has(&["$5.7500, 3 model calls"]);
    text(&["period=all"]).assert_has(&["Lifetime: $1.5000"]);
    said(&home, &["tool", "get_usage", "period=someday"]).assert_has(&["24h"]);
}

/// This moment in the form of the log, from the system's own clock.
fn moment() -> String {
    let output = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_stored_conversation_of_few_large_messages_is_compacted_too() {
    let home = Home::new();
    let text = format!("begin {} end", "word ".repeat(100_000));
    let entries = json!([
        {"role": "you", "text": "write a book", "time": "14:30"},
        {"role": "assistant", "text": text, "time": "14:31"},
        {"role": "you", "text": "thanks", "time": "14:32"},
    ]);
    home.write("config/profiles/main/chat_log.json", entries.to_string());
    let output = run(&home, &["tool", "compact_history", "target_tokens=10000"]).expect(0);
    let backup = output.text().trim().rsplit_once("Backup: ").unwrap().1;
    let after: Vec<Value> =
        serde_json::from_str(&home.read("config/profiles/main/chat_log.json")).unwrap();
    assert_eq!(after.len(), 3);
    assert_eq!(after[2]["text"], "thanks");
    let short = after[1]["text"].as_str().unwrap();
    assert!(short.len() < 40_000, "{}", short.len());
    assert!(short.starts_with("begin ") && short.ends_with(" end"));
    short.assert_has_for(&backup, &[&format!("the whole is in {backup}.]")]);
}

#[test]
fn the_stored_conversation_is_compacted_and_its_backup_is_searchable() {
    let home = Home::new();
    run(&home, &["tool", "compact_history"])
        .expect(0)
        .stdout_has(&["no stored conversation"]);
    let entries: Vec<Value> = (0..100)
        .map(|n| json!({"role": if n % 2 == 0 { "you" } else { "assistant" }, "text": format!("message {n} {}", "word ".repeat(300)), "time": "14:30", "own": n}))
        .collect();
    let before = json!(entries).to_string();
    home.write("config/profiles/main/chat_log.json", &before);
    run(&home, &["tool", "compact_history", "target_tokens=1000000"])
        .expect(0)
        .stdout_has(&["Nothing to do"]);
    let output = run(&home, &["tool", "compact_history", "target_tokens=10000"]).expect(0);
    output.stdout_has(&["Compacted 100 messages", "Backup: "]);
    let backup = output
        .text()
        .trim()
        .rsplit_once("Backup: ")
        .unwrap()
        .1
        .to_owned();
    assert_eq!(fs::read_to_string(&backup).unwrap(), before);
    let after: Vec<Value> =
        serde_json::from_str(&home.read("config/profiles/main/chat_log.json")).unwrap();
    assert!(
        after.len() < 100 && after[after.len() - 20..] == entries[80..],
        "{} entries",
        after.len()
    );
    run(
        &home,
        &["tool", "search_history_backups", "query=MESSAGE 3 "],
    )
    .expect(0)
    .stdout_has(&["14:30", "assistant: message 3 word"]);
    // The other kind of backup: one message per line, next to the project.
    write(
        &home
            .work()
            .join(".marvin/logs/context-backup-20260101_120000.jsonl"),
        json!({"role": "assistant", "text": "the lost towel"}).to_string() + "\n",
    );
    run(&home, &["tool", "search_history_backups", "query=towel"])
        .expect(0)
        .stdout_has(&["the lost towel"]);
    run(&home, &["tool", "search_history_backups", "query=vogon"])
        .expect(0)
        .stdout_has(&["No backup"]);
    let few = run(
        &home,
        &[
            "tool",
            "search_history_backups",
            "query=message",
            "max_results=3",
        ],
    )
    .expect(0);
    assert_eq!(few.text().lines().count(), 3, "{}", few.text());
    // A file that is not a log is left unchanged.
    home.write("config/profiles/main/chat_log.json", "{broken");
    said(&home, &["tool", "compact_history"]).assert_has(&["Nothing was changed"]);
    assert_eq!(home.read("config/profiles/main/chat_log.json"), "{broken");
}

#[test]
fn the_wire_of_a_provider_is_named_where_its_address_is() {
    let home = Home::new();
    for page in [&["help", "variables"][..], &["man"]] {
        let text = run(&home, page).expect(0).text().replace("\\-", "-");
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for name in ["OPENAI_WIRE", "OPENAI_COMPAT_WIRE", "LMSTUDIO_WIRE"] {
            assert!(text.contains(name), "{page:?}: {name}");
        }
        text.assert_has(&["interface of openai: responses or completions (responses)"]);
        text.assert_lacks(&["ANTHROPIC_WIRE", "OLLAMA_WIRE"]);
    }
    let doctor = |value: &str| {
        let run = home.marvin().arg("doctor").env("GROQ_WIRE", value).run();
        let text = run.text().to_owned();
        text.lines()
            .find(|line| line.contains(" groq "))
            .unwrap()
            .to_owned()
    };
    doctor("responses").assert_has(&["over responses (GROQ_WIRE)"]);
    let wrong = doctor("respones");
    assert!(
        wrong.starts_with("--") && wrong.contains("GROQ_WIRE is \"respones\""),
        "{wrong}"
    );
    home.write("config/config.yaml", "OPENAI_WIRE: completions\n");
    run(&home, &["doctor"]).stdout_has(&["over completions (OPENAI_WIRE)"]);
}
