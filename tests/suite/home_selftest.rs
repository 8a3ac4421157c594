//! The child runner, the cost line and the repository fixture are tested with small shell programs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::cost::Cost;
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::Marvin;
use crate::support::words::TextAssertions;

const SOON: Duration = Duration::from_secs(5);

fn sh(script: &str) -> Marvin {
    Marvin::new(Path::new("/bin/sh"))
        .args(["-c", script])
        .limit(SOON)
}

#[test]
fn the_environment_holds_nothing_that_was_not_given() {
    let output = sh("env").env("GIVEN", "1").run().expect(0);
    let mut names: Vec<_> = output
        .text()
        .lines()
        .filter_map(|l| l.split_once('='))
        .map(|(n, _)| n)
        .collect();
    names.retain(|n| !["PWD", "SHLVL", "_", "OLDPWD"].contains(n)); // The shell's own.
    names.sort_unstable();
    // The machine's own Copilot is kept out.
    assert_eq!(names, ["GIVEN", "MARVIN_COPILOT_CLI", "PATH"]);
}

#[test]
fn input_output_status_and_signals_are_kept_apart() {
    let output = sh("cat; echo err >&2; exit 3").stdin("in").run().expect(3);
    assert_eq!((output.text(), output.errors().as_str()), ("in", "err\n"));
    let mut open = sh("read line; echo got $line").stdin_open().spawn();
    open.write(b"x\n");
    open.wait_stdout("got x", SOON);
    assert_eq!(open.wait_open().expect(0).text(), "got x\n");
    let trapped = sh("trap 'exit 44' USR1; echo ready; while :; do read x || :; done")
        .stdin_open()
        .spawn();
    trapped.wait_stdout("ready", SOON);
    trapped.signal(Signal::USR1);
    assert_eq!(trapped.wait_open().code(), Some(44));
    let killed = sh("kill -9 $$").run();
    assert_eq!((killed.code(), killed.signal()), (None, Some(9)));
}

#[test]
fn chunks_carry_their_time() {
    let mut run = sh("echo a; read x; echo b").stdin_open().spawn();
    let first = run.wait_stdout("a", SOON);
    let between = Instant::now();
    run.write(b"\n");
    let output = run.wait().expect(0);
    assert_eq!(output.pieces.first().map(|p| p.at), Some(first));
    assert!(
        output
            .pieces
            .last()
            .is_some_and(|p| p.at >= between && p.bytes == b"b\n")
    );
}

#[test]
fn a_reader_that_leaves_breaks_the_pipe() {
    let output = sh("while echo yes; do :; done 2>/dev/null; exit 7")
        .close_stdout_after(1)
        .run();
    assert!(
        output.code() == Some(7) || output.signal() == Some(13),
        "{}",
        output.status
    );
}

#[test]
fn an_endless_run_and_a_leftover_child_fail_the_test() {
    let endless = catch_unwind(|| {
        sh("echo $$; sleep 1000")
            .limit(Duration::from_millis(300))
            .run()
    });
    (*endless.err().unwrap().downcast::<String>().unwrap()).assert_has(&["did not end"]);
    let orphan = catch_unwind(|| sh("sleep 1000 & exit 0").run());
    assert!(orphan.is_err());
}

#[test]
fn the_cost_line_must_be_last_and_whole() {
    let good = "noise\nMARVIN_COST:{\"session_cost\":0.5,\"llm_turns\":2,\"model_turns\":{\"m\":2},\"model_cost\":{},\"input_tokens\":1,\"cached_tokens\":0,\"written_tokens\":0,\"reasoning_tokens\":0,\"output_tokens\":1,\"estimated\":false}\n";
    let cost = Cost::last_line(good);
    assert_eq!(
        (cost.session_cost, cost.llm_turns, cost.model_cost.len()),
        (0.5, 2, 0)
    );
    for bad in [
        String::new(),
        format!("{good}later\n"),
        format!("{good}{good}"),
        good.replace("0.5,", "0.5,\"x\":1,"),
        good.replace(",\"estimated\":false", ""),
        good.replace("{\"session_cost\":0.5,", "{")
            .replace("{},\"input", "{},\"session_cost\":0.5,\"input"),
        good.trim_end().to_owned(),
    ] {
        assert!(
            catch_unwind(AssertUnwindSafe(|| Cost::last_line(&bad))).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn homes_and_repositories_are_apart_from_the_machine() {
    let home = Home::new();
    home.write("work/deep/a.txt", "x");
    assert!(home.has("work/deep/a.txt") && home.config().is_dir());
    let repo = Repo::new();
    let first = repo.file("src/a.txt", "one\n").commit("Begin");
    assert_eq!(repo.git(&["log", "--format=%an|%s"]), "Arthur Dent|Begin");
    let twin = Repo::new();
    assert_eq!(twin.file("src/a.txt", "one\n").commit("Begin"), first);
}
