//! Child Marvins and their commands: nothing outlives what started it, and nothing gets more rights than that.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::Running;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wait::until;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(20);

/// What a model answers that runs `command`.
fn call(command: &str) -> Exchange {
    let arguments = json!({"command": command, "timeout": 600});
    Exchange::any().answer(Answer::sse(openai::call("a", "run_command", arguments)))
}

/// A run that a parent holds, which is this test.
fn leashed(home: &Home, server: &Server) -> Running {
    home.ask(&server.url("/v1"), "go")
        .env("MARVIN_LEASH", "1")
        .env("MARVIN_DEPTH", "1")
        .arg(format!("--working-dir={}", home.work().display()))
        .stdin_open()
        .spawn()
}

/// The process ids that a command wrote into `pids`, one a line.
fn pids(home: &Home, count: usize) -> Vec<String> {
    let read = || std::fs::read_to_string(home.work().join("pids")).unwrap_or_default();
    until("the command runs", || read().matches('\n').count() == count);
    read().lines().map(str::to_owned).collect()
}

pub(super) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // A zombie that nobody has collected has ended.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Writes its own id and that of a child, and ignores every polite request to end.
const STUBBORN: &str =
    "trap '' TERM INT HUP; sleep 300 & echo $! >> pids; echo $$ >> pids; while :; do sleep 1; done";

#[test]
fn words_that_are_withheld_from_a_child_are_not_in_its_system_prompt() {
    let home = Home::new();
    home.write("work/AGENTS.md", "End every review with spec_verified.");
    let server = Server::answering(|_, _| says("Done."));
    home.ask(&server.url("/v1"), "go")
        .env("MARVIN_WITHHELD_WORDS", "SPEC_VERIFIED,no issues found")
        .arg(format!("--working-dir={}", home.work().display()))
        .run()
        .expect(0);
    let text = server.request(0).text();
    text.assert_has(&["End every review with …."]);
    text.assert_lacks(&["spec_verified"]);
}

#[test]
fn a_command_of_a_child_ends_with_it_even_after_kill_9() {
    let home = Home::new();
    let server = Server::with([call(STUBBORN)]);
    let run = leashed(&home, &server);
    let pids = pids(&home, 2);
    run.signal(Signal::KILL);
    for pid in pids {
        until("the command ends", || !is_alive(&pid));
    }
}

#[test]
fn a_child_ends_with_its_command_when_its_standard_input_closes() {
    let home = Home::new();
    let server = Server::with([call(STUBBORN)]);
    let mut run = leashed(&home, &server);
    let pids = pids(&home, 2);
    run.close_stdin();
    let output = run.wait_open().expect(1);
    let last = output.errors().lines().last().unwrap().to_owned();
    assert!(last.starts_with("MARVIN_COST:"), "{last}");
    for pid in pids {
        until("the command ends", || !is_alive(&pid));
    }
}

/// Writes the id of a daemon that has left the group and the session of the command that started it, and ignores every polite request to end.
const DAEMON: &str = "setsid sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null & until [ -s pids ]; do sleep 0.02; done";

#[test]
fn a_daemon_lives_as_long_as_the_child_whose_command_started_it() {
    let home = Home::new();
    let waits = Latch::new();
    let answer = says("Done.").head_after(&waits);
    let server = Server::with([call(DAEMON), Exchange::any().answer(answer)]);
    let run = leashed(&home, &server);
    server.wait_requests(2, LONG);
    let pid = pids(&home, 1).remove(0);
    assert!(is_alive(&pid), "it is for the next command");
    waits.open();
    run.wait_open().expect(0);
    assert!(!is_alive(&pid));
}

/// A child that has started a daemon, and whoever is above it.
struct Above {
    home: Home,
    _server: Server,
    run: Running,
    daemon: String,
    /// The child Marvin itself.
    child: String,
}

/// A run whose agent has started a daemon and waits for its provider.
fn with_daemon() -> Above {
    let home = Home::new();
    home.write("work/.tickets/top-1.md", "---\nid: top-1\nstatus: open\ndeps: []\nlinks: []\ncreated: 2026-01-01T00:00:00Z\ntype: task\npriority: 2\n---\n# T\n");
    let server = Server::answering(|request, _| {
        let text = request.text();
        if !text.contains("another agent gives you the task above") {
            let task = json!({"ticket_id": "top-1", "prompt": "Start it."});
            return Answer::sse(openai::call("p", "launch_agent", task));
        }
        let ticket = json!({"args": "create 'Start it' -t task"});
        match text.matches("\"tool_call_id\"").count() {
            0 | 1 => Answer::sse(openai::call("t", "tk", ticket)),
            2 => {
                let command = json!({"command": DAEMON});
                Answer::sse(openai::call("c", "run_command", command))
            }
            _ => Answer::silence(),
        }
    })
    .lenient();
    let run = home
        .ask(&server.url("/v1"), "go")
        .arg(format!("--working-dir={}", home.work().display()))
        .spawn();
    let daemon = pids(&home, 1).remove(0);
    until("the child asks again", || server.requests().len() == 5);
    let parents = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let is_child = line.contains("--prompt-file")
                && line.contains(&home.work().display().to_string())
                && !line.contains("--supervise");
            is_child.then_some(pid)
        });
    let child: Vec<String> = parents.collect();
    assert_eq!(child.len(), 1, "{child:?}");
    Above {
        child: child[0].clone(),
        home,
        _server: server,
        run,
        daemon,
    }
}

#[test]
fn a_daemon_ends_with_its_child_however_that_ends() {
    let above = with_daemon();
    assert!(is_alive(&above.daemon));
    // By kill -9.
    let child = Pid::from_raw(above.child.parse().unwrap()).unwrap();
    kill_process(child, Signal::KILL).unwrap();
    until("the daemon ends", || !is_alive(&above.daemon));
    above.run.kill();
    assert!(above.home.has("work/pids"));

    // By its parent's being stopped.
    let above = with_daemon();
    above.run.signal(Signal::TERM);
    until("the daemon ends", || !is_alive(&above.daemon));
    until("the child ends", || !is_alive(&above.child));

    // By kill -9 of the parent.
    let above = with_daemon();
    above.run.signal(Signal::KILL);
    until("the daemon ends", || !is_alive(&above.daemon));
    until("the child ends", || !is_alive(&above.child));
}

#[test]
fn a_daemon_of_a_session_of_its_own_is_left_alone() {
    let home = Home::new();
    let server = Server::with([call(DAEMON), Exchange::any().answer(says("Done."))]);
    // One in the sandbox ends with Marvin, as what it changes would be looked at by nobody.
    home.ask(&server.url("/v1"), "go")
        .arg("--sandbox=danger-full-access")
        .arg(format!("--working-dir={}", home.work().display()))
        .run()
        .expect(0);
    let pid = pids(&home, 1).remove(0);
    assert!(is_alive(&pid));
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn a_child_that_waits_for_its_provider_ends_when_its_standard_input_closes() {
    let home = Home::new();
    let server = Server::with([Exchange::any().answer(Answer::silence())]);
    let mut run = leashed(&home, &server);
    server.wait_requests(1, LONG);
    run.close_stdin();
    run.wait_open().expect(1).stderr_has(&["MARVIN_COST:"]);
    server.wait_closed(0, LONG);
}

#[test]
fn a_leash_is_no_prompt() {
    let home = Home::new();
    let start = |args: &[&str]| {
        let marvin = home.marvin().env("MARVIN_LEASH", "1");
        let marvin = marvin.args(["--non-interactive", "--provider", "offline"]);
        let mut run = marvin.args(args.iter().copied()).stdin_open().spawn();
        run.offer(b"show the tree\n");
        run.wait_open().expect(1).errors()
    };
    start(&[]).assert_has(&["There is no prompt."]);
    start(&["--stdin", "--prompt", "hi"]).assert_has(&["--stdin cannot be used"]);
}

#[test]
fn a_child_reports_its_cost_after_each_model_call() {
    let home = Home::new();
    let server = || {
        let done = says("Done.");
        Server::with([call("true"), Exchange::any().answer(done)])
    };
    let turns = |text: &str| -> Vec<u64> {
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("MARVIN_COST:"));
        lines
            .map(|line| {
                let cost: serde_json::Value = serde_json::from_str(line).unwrap();
                cost["llm_turns"].as_u64().unwrap()
            })
            .collect()
    };
    let first = server();
    let output = leashed(&home, &first).wait_open().expect(0);
    assert_eq!(turns(&output.errors()), [1, 2, 2]);
    let second = server();
    let output = home.ask(&second.url("/v1"), "go").run().expect(0);
    assert_eq!(turns(&output.errors()), [2]);
}

#[test]
fn a_command_under_a_supervisor_ends_as_it_would_alone() {
    let home = Home::new();
    for (command, timeout) in [
        ("echo out; echo err >&2; exit 3", 60),
        ("kill -SEGV $$", 60),
        ("kill -KILL $$", 60),
        ("cat; echo end of input", 60),
        ("[ -t 0 ] || echo no terminal; pwd; echo \"$0\"", 60),
        (
            "trap 'echo polite; exit 5' TERM; echo up; sleep 300 & wait",
            1,
        ),
        ("sleep 300 & echo left one behind", 60),
        ("no-such-program", 60),
    ] {
        let run = |depth: &str| {
            let arguments = json!({"command": command, "timeout": timeout});
            let output = home
                .tool("run_command", &arguments)
                .env("MARVIN_DEPTH", depth)
                .run();
            (output.code(), output.text().to_owned(), output.errors())
        };
        assert_eq!(run("1"), run("0"), "{command}");
    }
}

#[test]
fn the_supervisor_passes_signals_and_status_on() {
    let home = Home::new();
    let start = |script: &str| {
        let marvin = home
            .marvin()
            .args(["--supervise", "--", "sh", "-c", script]);
        marvin.stdin_open().spawn()
    };
    assert_eq!(start("exit 7").wait_open().code(), Some(7));
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15), ("HUP", 1)] {
        let ended = start(&format!("kill -{name} $$")).wait_open();
        assert_eq!(ended.signal(), Some(number), "{name}");
    }
    let run = start("trap 'echo heard; exit 4' TERM; echo up; while :; do sleep 0.02; done");
    run.wait_stdout("up", LONG);
    run.signal_group(Signal::TERM);
    run.wait_open().expect(4).stdout_has(&["heard"]);
    let mut run = start("trap '' TERM; echo up; while :; do sleep 0.02; done");
    run.wait_stdout("up", LONG);
    run.close_stdin();
    assert_eq!(run.wait_open().signal(), Some(9));
    let missing = home.marvin().args(["--supervise", "--", "/no/such"]);
    missing
        .stdin_open()
        .spawn()
        .wait_open()
        .expect(1)
        .stderr_has(&["Cannot run /no/such"]);
    home.marvin().arg("--supervise").fails(&["needs a program"]);
}

#[test]
fn the_supervisor_passes_input_on_and_ends_what_does_not_read_it() {
    let home = Home::new();
    let start = |bytes: &str, script: &str| {
        let marvin = home
            .marvin()
            .arg(format!("--supervise={bytes}"))
            .args(["--", "sh", "-c", script]);
        marvin.stdin_open().spawn()
    };
    let mut run = start("5", "cat; echo .");
    run.write(b"hello");
    run.wait_stdout("hello.", LONG);
    assert_eq!(run.wait_open().code(), Some(0));
    // Marvin may die before it has written everything.
    let mut run = start(
        "100000",
        "trap '' TERM; echo up; while :; do sleep 0.02; done",
    );
    run.wait_stdout("up", LONG);
    run.write(&[b'x'; 70_000]);
    run.close_stdin();
    assert_eq!(run.wait_open().signal(), Some(9));
    start("many", "true")
        .wait_open()
        .expect(1)
        .stderr_has(&["number of bytes"]);
}

#[test]
fn commands_get_the_next_depth_and_no_other_variable_of_marvin() {
    let home = Home::new();
    for (depth, next) in [("", "1"), ("2", "3")] {
        let output = home
            .marvin()
            .env("MARVIN_DEPTH", depth)
            .env("MARVIN_EFFORT", "low")
            .env("MARVIN_LEASH", "")
            .args(["tool", "run_command", "command=env | grep ^MARVIN"])
            .run()
            .expect(0);
        let own: Vec<&str> = output
            .text()
            .lines()
            .filter(|l| l.starts_with("MARVIN"))
            .collect();
        assert_eq!(own, [format!("MARVIN_DEPTH={next}")], "{}", output.text());
    }
}

#[test]
fn a_marvin_that_a_command_starts_is_a_sub_agent() {
    let home = Home::new();
    let marvin = env!("CARGO_BIN_EXE_marvin");
    let command = format!("command={marvin} tool wiki_full title=x; true");
    home.marvin()
        .args(["tool", "run_command", &command])
        .prints(&["a sub-agent has only the tools for work on a project"]);
}
