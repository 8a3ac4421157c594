//! SIGINT and SIGTERM in every phase: the status, the cost line last, the socket closed, no child left.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::home::Home;
use crate::support::run::Running;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::Tarpit;
use crate::support::wire::openai;

const LONG: Duration = Duration::from_secs(20);

/// Waits until the process has its worker thread: the signal handlers are installed before it.
fn worker_is_up(running: &Running) {
    let tasks = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    let until = std::time::Instant::now() + LONG;
    while std::fs::read_dir(&tasks).map_or(0, Iterator::count) < 2 {
        assert!(std::time::Instant::now() < until);
        std::thread::yield_now();
    }
}

fn stopped(running: Running, signal: Signal, code: i32) {
    running.signal(signal);
    running.wait().expect(code).cost();
}

#[test]
fn while_connecting() {
    let (home, tarpit) = (Home::new(), Tarpit::start());
    let running = home
        .ask(&format!("http://{}/v1", tarpit.address()), "hi")
        .arg("--verbose")
        .spawn();
    worker_is_up(&running);
    stopped(running, Signal::INT, 130);
}

#[test]
fn while_waiting_for_headers_and_in_mid_stream() {
    type Case = (fn() -> Answer, Option<&'static str>);
    let answers: [Case; 2] = [
        (Answer::silence, None),
        (
            || Answer::sse(openai::text(&["half"])[..2].to_vec()).stall(),
            Some("half"),
        ),
    ];
    for (answer, text) in answers {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let home = Home::new();
            let server = Server::with([Exchange::any().answer(answer())]);
            let running = home.ask(&server.url("/v1"), "hi").spawn();
            server.wait_requests(1, LONG);
            if let Some(text) = text {
                running.wait_stdout(text, LONG);
            }
            stopped(running, signal, code);
            server.wait_closed(0, LONG);
        }
    }
}

#[test]
fn in_a_tool_whose_children_end_with_it() {
    let home = Home::new();
    let server = Server::with([Exchange::any().answer(Answer::sse(openai::call(
        "a",
        "run_command",
        json!({"command": "echo $$ > pid; sleep 60 & wait", "timeout": 60}),
    )))]);
    let running = home.ask(&server.url("/v1"), "hi").spawn();
    running.wait_stdout("run_command", LONG);
    let until = std::time::Instant::now() + LONG;
    let pid = loop {
        if let Ok(text) = std::fs::read_to_string(home.work().join("pid"))
            && let Ok(pid) = text.trim().parse::<i32>()
        {
            break pid;
        }
        assert!(std::time::Instant::now() < until);
        std::thread::yield_now();
    };
    stopped(running, Signal::INT, 130);
    let group = rustix::process::Pid::from_raw(pid).unwrap();
    let until = std::time::Instant::now() + LONG;
    while rustix::process::test_kill_process_group(group).is_ok() {
        assert!(
            std::time::Instant::now() < until,
            "the command's group still runs"
        );
        std::thread::yield_now();
    }
}

#[test]
fn while_reading_standard_input() {
    let home = Home::new();
    let running = home
        .marvin()
        .args(["--non-interactive", "--provider", "offline"])
        .stdin_open()
        .spawn();
    worker_is_up(&running);
    running.signal(Signal::TERM);
    running
        .wait_open()
        .expect(143)
        .stderr_starts_with("MARVIN_COST:");
}
