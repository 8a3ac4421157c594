//! The tool that runs a command: its output, status, limit and end, and what it does not get to see.

use std::fs;
use std::time::Duration;

use crate::commands::run;
use crate::support::home::Home;
use crate::support::words::TextAssertions;

#[test]
fn a_command_returns_output_errors_and_status() {
    let home = Home::new();
    let output = run(
        &home,
        &[
            "tool",
            "run_command",
            "command=echo out; echo err >&2; exit 3",
        ],
    )
    .expect(0);
    assert_eq!(output.text(), "out\nstderr:\nerr\nexit code: 3\n");
    // Standard input is empty, so that nothing waits for it.
    let output = home
        .marvin()
        .args(["tool", "run_command", "command=cat; echo end"])
        .stdin_open()
        .spawn()
        .wait_open()
        .expect(0);
    assert_eq!(output.text(), "end\nexit code: 0\n");
    let place = run(&home, &["tool", "run_command", "command=pwd -P"]).expect(0);
    assert!(
        place.text().starts_with(&home.work().display().to_string()),
        "{}",
        place.text()
    );
}

#[test]
fn a_command_that_times_out_is_killed_with_its_group() {
    let home = Home::new();
    let pids = home.path().join("pids");
    let command = format!(
        "trap '' TERM; (trap '' TERM; echo $BASHPID $$ >> {0}; sleep 300) & echo $! >> {0}; echo begun; sleep 300",
        pids.display()
    );
    let output = home
        .marvin()
        .env("SHELL", "/bin/bash")
        .args([
            "tool",
            "run_command",
            "timeout=1",
            &format!("command={command}"),
        ])
        .limit(Duration::from_secs(20))
        .run();
    let all = String::from_utf8_lossy(&output.stdout).into_owned() + &output.errors();
    all.assert_has(&["begun", "timed out after 1 s"]);
    assert!(
        output.took() < Duration::from_secs(10),
        "{:?}",
        output.took()
    );
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let dead = state.is_empty() || state.contains(") Z ");
        assert!(dead, "process {pid} lives on: {state}");
    }
}

#[test]
fn long_output_is_clipped_and_complete_on_disk() {
    let home = Home::new();
    let output = run(
        &home,
        &[
            "tool",
            "run_command",
            "command=seq 1 100000; seq 1 90000 >&2",
        ],
    )
    .expect(0);
    let text = output.text();
    assert!(text.len() < 60_000, "{} bytes", text.len());
    assert!(
        text.starts_with("1\n2\n") && text.contains("\n100000\n") && text.contains("\n90000\n"),
        "{text}"
    );
    let files: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']', ';', '\u{2026}', ',']))
        .filter(|word| word.starts_with('/') && word.ends_with(".txt"))
        .collect();
    assert_eq!(files.len(), 2, "{text}");
    let whole = |last: u32| -> String { (1..=last).map(|n| format!("{n}\n")).collect() };
    assert_eq!(fs::read_to_string(files[0]).unwrap(), whole(100_000));
    assert_eq!(fs::read_to_string(files[1]).unwrap(), whole(90_000));
    assert!(files[0].starts_with(&home.work().display().to_string()));
    // A log folder that is a link out of the project is not followed.
    let other = Home::new();
    fs::create_dir(other.path().join("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", other.work().join(".marvin")).unwrap();
    run(&other, &["tool", "run_command", "command=seq 1 100000"]).expect(0);
    assert_eq!(
        fs::read_dir(other.path().join("outside")).unwrap().count(),
        0
    );
}

#[test]
fn no_key_reaches_a_command() {
    let home = Home::new();
    let keys = "OPENAI_API_KEY ANTHROPIC_API_KEY GROQ_API_KEY GEMINI_API_KEY OPENAI_COMPAT_API_KEY \
        NTFY_TOKEN GITHUB_TOKEN SPOTIFY_CLIENT_SECRET NEWSAPI_KEY AWS_SECRET_ACCESS_KEY HF_AUTH \
        GIT_DIR VIRTUAL_ENV CONDA_PREFIX BASH_ENV LD_PRELOAD MARVIN_TICKET_TOKEN";
    let mut run = home.marvin().args([
        "tool",
        "run_command",
        "command=env; cat /proc/self/environ | tr '\\0' '\\n'",
    ]);
    for key in keys.split_ascii_whitespace() {
        run = run.env(key, "hunter2");
    }
    run.env("LANG", "C.UTF-8")
        .run()
        .expect(0)
        .stdout_lacks(&["hunter2"])
        .stdout_has(&["LANG=C.UTF-8", "PATH="]);
}

#[test]
fn what_nobody_can_be_asked_about_is_not_offered_by_errors_either() {
    let home = Home::new();
    let run = home.marvin().args(["tool", "run_command", "timeout=x"]);
    let errors = run.run().expect(1).output();
    errors.assert_has(&["command (text, required); timeout (a whole number"]);
    errors.assert_lacks(&["outside_sandbox", "reason ("]);
}
