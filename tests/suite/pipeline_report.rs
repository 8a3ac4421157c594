//! `marvin pipeline report`: what became of each requirement, as a table, as JSON and as a page.

use std::fs;

use serde_json::Value;

use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Marvin, program};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

const TASK: &str = "A clock <b>that</b> ticks & rings";

fn report(home: &Home, words: &[&str]) -> Marvin {
    home.marvin()
        .dir(&home.work())
        .args(["pipeline", "report"])
        .args(words.iter().copied())
}

/// A project with a run of 100 children.
fn project(home: &Home) -> Repo {
    let repo = Repo::at(&home.work());
    let base = repo.file("README.md", "x").commit("before");
    let base = if base.len() >= 40 {
        base
    } else {
        repo.git(&["rev-parse", "HEAD"])
    };
    repo.file(
        ".marvin/spec.md",
        "# Clock\n## Requirements\n- REQ-1: The clock ticks.\n- REQ-2: The alarm rings.\n",
    );
    repo.file(
        ".marvin/design.md",
        "# Design\n## Wheels\nThey serve REQ-1.\n## Alarm bell rings\nLoud.\n",
    );
    repo.file(
        "test_clock.py",
        "def test_req_1():\n    pass\n\ndef test_alarm_rings():\n    pass\n",
    );
    repo.commit("REQ-1: build the wheels");
    repo.file(
        ".marvin/logs/pipeline.json",
        format!(r#"{{"task":"x","base":"{}"}}"#, base.trim()),
    );
    let mut events = format!(
        "{{\"ts\":\"2026-11-22T12:00:00Z\",\"kind\":\"run_started\",\"task\":{},\"ticket\":\"cl-1\",\"tiers\":[],\"resumed\":false,\"phases\":[]}}\n",
        serde_json::json!(TASK)
    );
    events
        .push_str("{\"ts\":\"2026-11-22T12:00:01Z\",\"kind\":\"phase_started\",\"phase\":\"3\"}\n");
    for number in 0..100 {
        let (minute, second) = (number / 60, number % 60);
        let ts = format!("\"ts\":\"2026-11-22T12:{minute:02}:{second:02}Z\"");
        for rest in [
            format!(
                "\"kind\":\"child_started\",\"id\":\"c{number}\",\"label\":\"implementer\",\"model\":\"m{}\",\"attempt\":1",
                number % 3
            ),
            format!(
                "\"kind\":\"child_usage\",\"id\":\"c{number}\",\"tokens\":{},\"cost\":0.01,\"estimated\":false",
                1000 + number * 37
            ),
            format!(
                "\"kind\":\"child_ended\",\"id\":\"c{number}\",\"done\":true,\"words\":\"x\",\"seconds\":1"
            ),
        ] {
            events.push_str(&format!("{{{ts},{rest}}}\n"));
        }
    }
    events.push_str("{\"ts\":\"2026-11-22T12:02:00Z\",\"kind\":\"run_ended\",\"done\":true,\"words\":\"Every phase is done.\"}\n");
    repo.file(".marvin/logs/pipeline-events.jsonl", events);
    repo.file(
        ".marvin/logs/findings.jsonl",
        "{\"id\":\"1\",\"ticket\":\"cl-1\",\"phase\":\"3\",\"subject\":\"code\",\"round\":1,\"reviewer\":\"main\",\"severity\":\"blocker\",\"text\":\"REQ-2 rings <never>\",\"state\":\"corrected\"}\n",
    );
    repo
}

#[test]
fn a_report_follows_requirements_to_their_commits_and_is_a_table_json_or_a_page() {
    let home = Home::new();
    project(&home);
    let table = report(&home, &[]).run().expect(0);
    table.stdout_has(&[
        "Task: A clock <b>that</b> ticks & rings",
        "REQ-1  The clock ticks",
        "design   Wheels",
        "tests    test_clock.py: test_req_1",
        "REQ-1: build the wheels",
        "REQ-2 rings <never> (corrected)",
        "100 children",
        "Alarm bell rings",
    ]);
    let json = report(&home, &["--json"]).run().expect(0);
    let json: Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(
        json["requirements"][0]["tests"][0],
        "test_clock.py: test_req_1"
    );
    assert_eq!(json["requirements"][1]["findings"][0], 0);
    assert_eq!(json["models"].as_array().unwrap().len(), 3);
    let page = report(&home, &["--html", "report.html"]).run().expect(0);
    page.stdout_has(&["The report is in report.html."]);
    let text = home.read("work/report.html");
    text.assert_has(&["&lt;b&gt;that", "<svg ", "REQ-2 rings &lt;never&gt;"]);
    text.assert_lacks(&["<script", "http:", "https:"]);
}

#[test]
fn commits_of_a_requirement_are_found_by_tickets_and_tests_and_in_a_clone_by_tickets_alone() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    let base = repo.file("README.md", "x").commit("before");
    let base = if base.len() >= 40 {
        base
    } else {
        repo.git(&["rev-parse", "HEAD"])
    };
    repo.file(
        ".marvin/spec.md",
        "# Clock\n- REQ-1: The clock ticks.\n- REQ-2: The alarm rings.\n- REQ-3: Snoozing waits.\n- REQ-4: Nobody cares.\n",
    );
    // The run's is known by its description.
    let ticket = |id: &str, parent: &str, title: &str| {
        let text = format!(
            "---\nid: {id}\nstatus: closed\nparent: {parent}\npriority: 0\n---\n# {title}\n\n{title}\n"
        );
        repo.file(&format!(".tickets/{id}.md"), text);
    };
    ticket("cl-1", "", "A clock");
    ticket("cl-2", "cl-1", "Wheels for REQ-1");
    ticket("cl-3", "cl-2", "Brass");
    ticket("cl-9", "", "REQ-4 of another run");
    repo.commit("Before the pipeline\n\nTicket: cl-1");
    repo.file("test_snooze.py", "def test_req_3():\n    pass\n");
    repo.commit("2a: tests written\n\nTicket: cl-1");
    repo.file("wheels.py", "1")
        .commit("Cut brass\n\nTicket: cl-3\nTicket: cl-1");
    ticket("cl-4", "cl-1", "The bell of REQ-2");
    repo.file("bell.py", "1").commit("Loud");
    // Only the ticket: no work.
    ticket("cl-2", "cl-1", "Wheels of REQ-1");
    repo.commit("Closed");
    repo.file("other.py", "1")
        .commit("Of another run\n\nTicket: cl-9");
    repo.file("snooze.py", "1")
        .commit("3: implemented\n\nTicket: cl-1");
    let task = serde_json::json!("A clock");
    repo.file(
        ".marvin/logs/pipeline.json",
        format!(r#"{{"task":{task},"base":"{}"}}"#, base.trim()),
    );
    let event = |words: &str| format!("{{\"ts\":\"2026-11-22T12:00:00Z\",{words}}}\n");
    let checkpoint =
        |words: &str| event(&format!("\"kind\":\"checkpoint\",\"message\":\"{words}\""));
    let events = [
        event(
            "\"kind\":\"run_started\",\"task\":\"A clock\",\"ticket\":\"cl-1\",\"tiers\":[],\"resumed\":false,\"phases\":[]",
        ),
        checkpoint("Before the pipeline"),
        checkpoint("2a: tests written"),
        checkpoint("3: implemented"),
    ];
    repo.file(".marvin/logs/pipeline-events.jsonl", events.concat());
    let found = || -> Vec<String> {
        let done = report(&home, &["--json"]).run().expect(0);
        let found: Value = serde_json::from_str(done.text()).unwrap();
        let all = found["requirements"].as_array().unwrap().iter();
        let texts = |of: &Value| -> Vec<String> {
            let entries = of.as_array().unwrap().iter();
            // Without the id of the commit.
            entries
                .map(|entry| {
                    entry
                        .as_str()
                        .unwrap()
                        .split_once(' ')
                        .unwrap()
                        .1
                        .to_owned()
                })
                .collect()
        };
        all.map(|one| {
            format!(
                "{} | {}",
                texts(&one["tickets"]).join(", "),
                texts(&one["commits"]).join(", ")
            )
        })
        .collect()
    };
    assert_eq!(
        found(),
        [
            "Wheels of REQ-1 (closed), Brass (closed) | Cut brass (ticket cl-3)",
            "The bell of REQ-2 (closed) | Loud (ticket cl-4)",
            " | Cut brass (built the product), Loud (built the product), Of another run (built the product), 3: implemented (built the product), 2a: tests written (test_snooze.py)",
            " | ",
        ]
    );
    report(&home, &[])
        .run()
        .expect(0)
        .stdout_has(&["tickets  cl-4 The bell of REQ-2 (closed)"]);
    // As a clone has it: without the logs, and whatever git ignores.
    fs::remove_dir_all(home.work().join(".marvin/logs")).unwrap();
    let status = |words: &[&str]| {
        let run = home.marvin().dir(&home.work()).args(["pipeline", "status"]);
        run.args(words.iter().copied()).run()
    };
    report(&home, &[])
        .run()
        .expect(1)
        .errors()
        .assert_has(&["No run of the pipeline"]);
    repo.file(".marvin/pipeline_state", "4a")
        .file(".marvin/pipeline_task", "A clock\n");
    let known = [
        "Ticket: cl-1\n",
        "Task: A clock\n",
        "Note: The run's own records are not here",
        "what it cost",
    ];
    status(&[])
        .expect(0)
        .stdout_has(&known)
        .stdout_has(&["Recorded as done: 4a", "Not running."]);
    let table = report(&home, &[]).run().expect(0);
    table.stdout_has(&known).stdout_has(&[
        "End: The last that is recorded as done is 4a.",
        "4 commits that name a ticket of the run.",
    ]);
    table.stdout_lacks(&["Cost:", "$0"]);
    assert_eq!(
        found()[0],
        "Wheels of REQ-1 (closed), Brass (closed) | Cut brass (ticket cl-3)"
    );
    report(&home, &["--html", "report.html"]).run().expect(0);
    let page = home.read("work/report.html");
    page.assert_has(&["<dt>Not known</dt>", "<td>5</td>"]);
    page.assert_lacks(&["$0"]);
    fs::remove_file(home.work().join(".marvin/pipeline_task")).unwrap();
    status(&[])
        .expect(0)
        .stdout_has(&["Task: it is not recorded here"]);
}

#[test]
fn a_browser_shows_the_page_and_what_it_contains_stays_text() {
    let Some(chromium) = program("chromium") else {
        return skip(
            "pipeline_report::a_browser_shows_the_page",
            "chromium is not installed",
        );
    };
    let home = Home::new();
    project(&home);
    report(&home, &["--html", "report.html"]).run().expect(0);
    let profile = format!("--user-data-dir={}", home.path().join("browser").display());
    let page = format!("file://{}", home.work().join("report.html").display());
    // Without a network there is nothing for it to look up in the background.
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ];
    let shown = Marvin::new(&chromium)
        .args(quiet)
        .args([&profile, "--dump-dom", &page])
        .env("HOME", home.path())
        .dir(&home.path())
        .run()
        .expect(0);
    // What the browser made of it: the words of the task are no element.
    shown.stdout_has(&[
        "A clock &lt;b&gt;that&lt;/b&gt; ticks &amp; rings",
        "<svg ",
        "REQ-1",
    ]);
    shown.stdout_lacks(&["<b>that</b>", "<script"]);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let home = Home::new();
    project(&home);
    let Some(shell) = program("bash") else {
        return skip("a_page_that_cannot_be_written", "bash is not installed");
    };
    // The page has more than a kilobyte, and no file may have more.
    let command = format!(
        "ulimit -f 1; trap '' XFSZ; exec {} pipeline report --html report.html",
        env!("CARGO_BIN_EXE_marvin")
    );
    let done = Marvin::new(&shell)
        .dir(&home.work())
        .env("HOME", home.path())
        .args(["-c", &command])
        .run();
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    done.errors().assert_has(&["report.html", "--html"]);
    let left: Vec<String> = fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("report"))
        .collect();
    assert_eq!(left, [] as [&str; 0]);
    report(&home, &["--html", "absent/folder/report.html"]).run();
    let folder = report(&home, &["--html", "."]).run().expect(1);
    folder.errors().assert_has(&["--html"]);
}

#[test]
fn without_a_run_there_is_nothing_to_report() {
    let home = Home::new();
    report(&home, &[])
        .run()
        .expect(1)
        .errors()
        .assert_has(&["No run of the pipeline"]);
    for (words, named) in [(&["--html"][..], "needs a file"), (&["3"], "no phase")] {
        report(&home, words)
            .run()
            .expect(1)
            .errors()
            .assert_has(&[named]);
    }
}
