//! `marvin pipeline status` and `marvin pipeline log`: a run seen from outside, while it runs and afterwards.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::support::home::{Home, write};
use crate::support::run::{Done, program};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

const EVENTS: &str = "work/.marvin/logs/pipeline-events.jsonl";
const LOCK: &str = "work/.marvin/logs/pipeline.lock";

fn run(home: &Home, words: &[&str]) -> Done {
    home.marvin()
        .env("MARVIN_NOW", "2026-11-22T12:10:00+00:00[UTC]")
        .arg("pipeline")
        .args(words.iter().copied())
        .run()
}

fn status(home: &Home) -> Value {
    let done = run(home, &["status", "--json"]).expect(0);
    serde_json::from_str(done.text()).unwrap()
}

/// Records an event at `time` of the day.
fn record(home: &Home, time: &str, mut event: Value) {
    event["ts"] = json!(format!("2026-11-22T{time}.000Z"));
    let path = home.path().join(EVENTS);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(format!("{event}\n").as_bytes()).unwrap();
}

fn started(home: &Home) {
    let phase = |name: &str, omitted| json!({"name": name, "about": format!("work of {name}"), "done": false, "omitted": omitted});
    let tier = json!({"tier": "codex", "provider": "ollama", "model": "m", "source": "default"});
    record(
        home,
        "12:00:00",
        json!({
            "kind": "run_started", "task": "A to-do list", "ticket": "todo-4f2a", "resumed": false,
            "tiers": [tier],
            "phases": [phase("1a", false), phase("1b", false), phase("2a", true), phase("3", false)],
        }),
    );
}

fn child(home: &Home, time: &str, id: &str, label: &str) {
    record(home, time, child_started(id, label));
}

fn child_started(id: &str, label: &str) -> Value {
    json!({"kind": "child_started", "id": id, "label": label, "model": "m", "attempt": 1})
}

/// A run in its second phase, with a child that runs.
fn half_a_run(home: &Home) {
    started(home);
    let phase = |kind: &str, name: &str| json!({"kind": kind, "phase": name, "seconds": 121});
    for (time, event) in [
        ("12:00:01", phase("phase_started", "1a")),
        ("12:00:02", child_started("spec-writer-1", "spec-writer")),
        (
            "12:02:00",
            json!({"kind": "child_usage", "id": "spec-writer-1", "tokens": 1200, "cost": 0.25, "estimated": false}),
        ),
        (
            "12:02:01",
            json!({"kind": "child_ended", "id": "spec-writer-1", "done": true, "words": "Written.", "seconds": 119}),
        ),
        ("12:02:02", phase("phase_done", "1a")),
        ("12:02:03", phase("phase_started", "1b")),
        (
            "12:02:03",
            json!({"kind": "round_started", "phase": "1b", "subject": "design.md", "round": 2, "most": 4}),
        ),
        (
            "12:02:04",
            json!({"kind": "warning", "words": "It was \u{1b}[2J slow."}),
        ),
        (
            "12:04:00",
            child_started("design-writer-2", "design-writer"),
        ),
        (
            "12:04:30",
            json!({"kind": "child_tools", "id": "design-writer-2", "tools": ["search", "create_file"]}),
        ),
    ] {
        record(home, time, event);
    }
}

/// Holds the lock of a run, as this process.
fn lock(home: &Home) -> File {
    let path = home.path().join(LOCK);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::create(path).unwrap();
    file.try_lock().unwrap();
    file.write_all(format!("{:<10}\n", std::process::id()).as_bytes())
        .unwrap();
    file
}

#[test]
fn a_run_that_runs_is_shown_with_its_process_phases_children_and_cost() {
    let home = Home::new();
    half_a_run(&home);
    let held = lock(&home);
    let found = status(&home);
    assert_eq!(found["state"], "running");
    assert_eq!(found["pid"], json!(std::process::id()));
    assert_eq!(found["seconds"], 600);
    assert_eq!(found["phase"], "1b");
    assert_eq!(
        found["round"],
        json!({"subject": "design.md", "round": 2, "most": 4})
    );
    let states: Vec<&Value> = found["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["state"])
        .collect();
    assert_eq!(states, ["done", "running", "omitted", "to_come"]);
    assert_eq!(found["phases"][0]["seconds"], 121);
    assert_eq!(found["phases"][1]["seconds"], 477);
    let child = &found["children"][0];
    assert_eq!(child["label"], "design-writer");
    assert_eq!(child["tools"], json!(["search", "create_file"]));
    assert_eq!(child["seconds"], 360);
    assert_eq!(child["log"], ".marvin/logs/design-writer-2.log");
    assert_eq!(
        (&found["tokens"], &found["cost"]),
        (&json!(1200), &json!(0.25))
    );
    let text = run(&home, &["status"]).expect(0).text().to_owned();
    text.assert_has(&[
        &format!("Running in phase 1b, process {}.\n", std::process::id()),
        "Task: A to-do list\nTicket: todo-4f2a\n",
        "Started: 2026-11-22T12:00:00Z\nTime: 10 min\n",
        "Cost: 1,200 tokens, $0.2500\n",
        "  1a  work of 1a: done in 2 min 1 s\n",
        "  1b  work of 1b: running for 7 min 57 s\n",
        "  2a  work of 2a: not asked for\n",
        "  3   work of 3: to come\n",
        "Round 2 of 4: design.md\n",
        "  design-writer (m) for 6 min, last tool: search, create_file\n",
        "  - It was \\x1b[2J slow.\n",
    ]);
    drop(held);
}

#[test]
fn a_run_whose_process_is_gone_is_dead_until_it_says_that_it_ended() {
    let home = Home::new();
    half_a_run(&home);
    // A child that another test is starting may share the file for a moment, so closing it would not do.
    lock(&home).unlock().unwrap();
    let found = status(&home);
    assert_eq!(
        (&found["state"], &found["pid"]),
        (&json!("dead"), &Value::Null)
    );
    assert_eq!(
        (&found["phase"], &found["seconds"]),
        (&json!("1b"), &json!(270))
    );
    assert_eq!(found["phases"][1]["state"], "stopped");
    assert_eq!(found["children"], json!([]));
    let text = run(&home, &["status"]).expect(0).text().to_owned();
    assert!(
        text.starts_with("Dead: its process is gone in phase 1b"),
        "{text}"
    );
    text.assert_has(&["again continues it"]);
    // A line that was cut short, and one of another version.
    let mut file = OpenOptions::new()
        .append(true)
        .open(home.path().join(EVENTS))
        .unwrap();
    file.write_all(
        b"{\"ts\":\"2026-11-22T12:0\n{\"ts\":\"2026-11-22T12:05:00Z\",\"kind\":\"new\"}\n",
    )
    .unwrap();
    record(
        &home,
        "12:05:00",
        json!({"kind": "run_ended", "done": false, "words": "The design failed."}),
    );
    let found = status(&home);
    assert_eq!(
        (&found["state"], &found["end"]),
        (&json!("failed"), &json!("The design failed."))
    );
    started(&home);
    record(
        &home,
        "12:06:00",
        json!({"kind": "run_ended", "done": true, "words": "All is done."}),
    );
    let found = status(&home);
    assert_eq!(found["state"], "done");
    assert_eq!(
        (&found["tokens"], &found["total_tokens"]),
        (&json!(0), &json!(1200))
    );
}

#[test]
fn no_clock_that_was_set_makes_a_time_wrong() {
    // The clock is an hour ahead when the run is seen: as much is known as its events tell.
    let home = Home::new();
    let phase = json!({"kind": "phase_started", "phase": "1a"});
    let stamp = |time: &str, event: &Value| {
        let mut event = event.clone();
        event["ts"] = json!(format!("2026-11-22T{time}.000Z"));
        event
    };
    started(&home);
    let text = home.read(EVENTS).replace("T12:", "T13:");
    write(&home.path().join(EVENTS), &text);
    record(&home, "13:00:30", phase.clone());
    record(
        &home,
        "13:02:00",
        child_started("spec-writer-1", "spec-writer"),
    );
    let held = lock(&home);
    let found = status(&home);
    assert_eq!(found["state"], "running");
    assert_eq!(
        (&found["seconds"], &found["phases"][0]["seconds"]),
        (&json!(120), &json!(90))
    );
    assert_eq!(found["children"][0]["seconds"], 0);
    // It is set forward and back while the run goes on, which measures by another one.
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap();
    let began = now.saturating_sub(Duration::from_secs(100));
    let line = |time: &str, since: u64, event: &Value| {
        let mut event = stamp(time, event);
        let at = began + Duration::from_secs(since);
        event["steady_ms"] = json!(u64::try_from(at.as_millis()).unwrap());
        format!("{event}\n")
    };
    let run_started: Value = serde_json::from_str(text.trim()).unwrap();
    let child = child_started("spec-writer-1", "spec-writer");
    let lines = [
        line("12:00:00", 0, &run_started),
        line("13:00:02", 2, &phase),
        line("12:00:05", 5, &child),
    ];
    write(&home.path().join(EVENTS), lines.concat());
    let done = home
        .marvin()
        .args(["pipeline", "status", "--json"])
        .run()
        .expect(0);
    let found: Value = serde_json::from_str(done.text()).unwrap();
    let seconds = |value: &Value| value.as_u64().unwrap();
    let since = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap() - began;
    let whole = seconds(&found["seconds"]);
    assert!(
        whole >= (now - began).as_secs() && whole <= since.as_secs(),
        "{found}"
    );
    assert!(
        (whole - 2..=whole).contains(&(seconds(&found["phases"][0]["seconds"]) + 2)),
        "{found}"
    );
    assert!(
        (whole - 2..=whole).contains(&(seconds(&found["children"][0]["seconds"]) + 5)),
        "{found}"
    );
    assert_eq!(found["last_event"], "2026-11-22T12:00:05Z");
    held.unlock().unwrap();
    let found = status(&home);
    assert_eq!(
        (&found["state"], &found["seconds"]),
        (&json!("dead"), &json!(5))
    );
}

#[test]
fn a_killed_process_holds_no_lock() {
    let Some(flock) = program("flock") else {
        skip("a_killed_process_holds_no_lock", "there is no flock");
        return;
    };
    let home = Home::new();
    half_a_run(&home);
    write(&home.path().join(LOCK), "4242\n");
    let mut holder = Command::new(flock)
        .args(["--exclusive", "--no-fork"])
        .arg(home.path().join(LOCK))
        .args(["sh", "-c", "echo held; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut first).unwrap();
    let found = status(&home);
    assert_eq!(
        (&found["state"], &found["pid"]),
        (&json!("running"), &json!(4242))
    );
    assert_eq!(home.read(LOCK), "4242\n", "asking changes nothing");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(status(&home)["state"], "dead");
}

#[test]
fn without_events_the_state_file_says_what_is_done() {
    let home = Home::new();
    home.write("work/.marvin/pipeline_state", "1b");
    let found = status(&home);
    assert_eq!(
        (&found["state"], &found["recorded"]),
        (&json!("recorded"), &json!("1b"))
    );
    let phases = found["phases"].as_array().unwrap();
    let done = phases.iter().filter(|phase| phase["state"] == "done");
    assert_eq!((done.count(), &phases[3]["state"]), (3, &json!("to_come")));
    run(&home, &["status"])
        .expect(0)
        .stdout_has(&["Recorded as done: 1b\n"]);
    let record = json!({"task": "A to-do list\nin Rust", "ticket": "todo-4f2a", "working": "2a"});
    home.write("work/.marvin/logs/pipeline.json", record.to_string());
    let found = status(&home);
    assert_eq!(
        (&found["task"], &found["ticket"]),
        (&json!("A to-do list"), &json!("todo-4f2a"))
    );
    assert_eq!(found["phase"], "2a");
    home.write("work/.marvin/pipeline_state", "9z");
    run(&home, &["status"])
        .expect(1)
        .stderr_has(&["\"9z\", which is no phase"]);
}

#[test]
fn where_no_run_is_recorded_the_error_says_how_to_start_one() {
    let home = Home::new();
    for command in ["status", "log"] {
        let done = run(&home, &[command]).expect(1);
        assert_eq!(done.text(), "");
        let errors = done.errors();
        let work = home.work().display().to_string();
        errors.assert_has(&[&work, "--design-first"]);
    }
    assert!(!home.has("work/.marvin"), "asking creates nothing");
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    half_a_run(&home);
    let there = elsewhere.to_str().unwrap();
    run(&home, &["status", "--working-dir", there]).expect(1);
    for (words, expected) in [
        (&[][..], "A command is missing"),
        (&["stauts"], "Did you mean \"status\""),
        (&["status", "1a"], "takes no phase"),
        (&["log", "--json"], "no --json"),
        (&["status", "--jsno"], "--jsno"),
        (&["log", "1a", "1b"], "one word too many"),
        (&["status", "--working-dir"], "needs a value"),
        (&["log", "9z"], "Phases: 1a, 1b, 2a, 3."),
        (&["log", "3"], "No child has run in phase 3"),
    ] {
        let errors = run(&home, words).expect(1).errors();
        assert!(errors.contains(expected), "{words:?}: {errors}");
    }
}

#[test]
fn the_log_shows_the_children_of_a_phase_in_order() {
    let home = Home::new();
    half_a_run(&home);
    child(&home, "12:05:00", "design-writer-3", "design-writer");
    home.write("work/.marvin/logs/spec-writer-1.log", "wrote the spec\n");
    let long = format!("begin{}end", "x".repeat(400_000));
    home.write("work/.marvin/logs/design-writer-2.log", long);
    let text = run(&home, &["log"]).expect(0).text().to_owned();
    assert!(!text.contains("wrote the spec"), "the last phase alone");
    let first = text.find("==> design-writer (attempt 1, m) .marvin/logs/design-writer-2.log <==");
    let second = text.find("==> design-writer (attempt 1, m) .marvin/logs/design-writer-3.log <==");
    assert!(first.is_some() && first < second, "{first:?} {second:?}");
    assert!(text.contains("bytes are left out …]") && text.len() < 300_000);
    text.assert_has(&["beginx", "xend\n"]);
    let earlier = run(&home, &["log", "1a"]).expect(0).text().to_owned();
    assert_eq!(
        earlier,
        "==> spec-writer (attempt 1, m) .marvin/logs/spec-writer-1.log <==\nwrote the spec\n\n"
    );
    // A log that leads out of the project is not read.
    let secret = home.write("secret", "private");
    let log = home.path().join("work/.marvin/logs/design-writer-3.log");
    std::os::unix::fs::symlink(secret, log).unwrap();
    run(&home, &["log", "1b"])
        .expect(0)
        .stdout_lacks(&["private"]);
}
