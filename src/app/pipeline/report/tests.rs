//! Reports of recorded runs, in real folders.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use quick_xml::events::Event;

use super::data::{RunReport, report};
use super::matching::{Matcher, Requirement, requirements, sections, tests};
use super::{html, terminal};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::testing::assert_has;
use crate::pipeline::places::RunPlaces;

/// A text that would be markup, if anything let it.
const HOSTILE: &str = "</td><script>alert('1')</script> & \"quoted\" \u{1b}[31m\u{202e}";

fn ids(spec: &str) -> Vec<String> {
    let found = requirements(spec).into_iter();
    found
        .map(|found| format!("{}={}", found.id, found.text))
        .collect()
}

#[test]
fn requirements_are_found_by_id_by_number_or_by_heading() {
    let spec = "# Clock\n## Requirements\n- **REQ-1**: It ticks.\n### FR-002 Alarm\n| R3 | It stops |\n```\nREQ-9: code\n```\nAs REQ-1 says.\nREQ-1: again\nHTTP-2 is no requirement\n";
    assert_eq!(ids(spec), ["REQ-1=It ticks", "FR-002=Alarm", "R3=It stops"]);
    let spec = "# Clock\n## Requirements\n1. REQ-1: It ticks.\n2) **REQ-2** It rings.\n";
    assert_eq!(ids(spec), ["REQ-1=It ticks", "REQ-2=It rings"]);
    let spec = "# Clock\n1. Not this\n## 2 Functional requirements\n1. It ticks.\n2) It rings.\n### More\n1. It stops.\n## Else\n3. Not this\n";
    assert_eq!(ids(spec), ["1=It ticks", "2=It rings", "#3=It stops"]);
    assert_eq!(
        ids("# Clock\n## Ticking\ntext\n### Ringing ###\n"),
        ["§1=Ticking", "§2=Ringing"]
    );
    assert_eq!(ids("no structure"), [] as [&str; 0]);
}

#[test]
fn what_is_about_a_requirement_is_found_by_its_id_in_any_spelling_or_by_two_words() {
    let matcher = |id: &str, text: &str| {
        Matcher::new(&Requirement {
            id: id.to_owned(),
            text: text.to_owned(),
        })
    };
    let alarm = matcher("REQ-12", "The alarm rings at seven");
    for text in ["see REQ-12.", "test_req_12_rings", "(req12)", "REQ_12:"] {
        assert!(alarm.names(text), "{text}");
    }
    for text in ["REQ-1", "REQ-123", "12", "require 12"] {
        assert!(!alarm.names(text), "{text}");
    }
    assert!(alarm.shares("ringing alarms: the alarm rings") && alarm.shares("testAlarmRings"));
    assert!(!alarm.shares("The alarm") && !alarm.shares("the test of the user"));
    assert!(!matcher("1", "x").names("1"));
}

#[test]
fn tests_and_sections_are_told_apart() {
    let names = |file: &str, text: &str| -> Vec<String> {
        tests(file, text)
            .into_iter()
            .map(|test| test.name)
            .collect()
    };
    let rust = "/// REQ-1\n#[test]\nfn it_ticks() {\n}\nfn helper() {}\n#[test]\nfn it_rings() { /* R3 */ }\n";
    assert_eq!(names("tests/a.rs", rust), ["it_ticks", "it_rings"]);
    let found = tests("tests/a.rs", rust);
    assert!(found[0].text.contains("REQ-1") && found[1].text.contains("R3"));
    assert_eq!(
        names(
            "test_a.py",
            "import x\ndef test_tick():\n  pass\nasync def test_ring():\n"
        ),
        ["test_tick", "test_ring"]
    );
    assert_eq!(
        names(
            "a.test.js",
            "test('ticks', () => {\n});\n  it(\"rings\", f)\n"
        ),
        ["ticks", "rings"]
    );
    assert_eq!(names("tests/all.sh", "exit 1\n"), [""]);
    let found = sections("intro\n# One\ntext\n## Two\nmore\n");
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].text, "## Two\nmore\n");
}

/// A project with a finished run of so many children.
fn project(children: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(
        ".marvin/spec.md",
        &format!("# Clock\n## Requirements\n- REQ-1: It ticks {HOSTILE}\n- REQ-2: Nobody cares\n"),
    );
    put(
        ".marvin/design.md",
        &format!("# Design\n## Wheels {HOSTILE}\nFor REQ-1.\n- REQ-1: `tests/plan.rs`\n"),
    );
    put("tests/clock.rs", "#[test]\nfn req_1_ticks() {}\n");
    put("tests/plan.rs", "#[test]\nfn it_is() {}\n");
    let finding = |id: u64, state: &str| {
        serde_json::json!({"id": id.to_string(), "ticket": "cl-1", "phase": "3", "subject": "code", "round": 1,
            "reviewer": "main", "severity": "blocker", "text": format!("REQ-1 is slow {HOSTILE}"), "state": state, "of_the_future": [1]})
    };
    put(
        ".marvin/logs/findings.jsonl",
        &format!(
            "{}\n{{torn\n{}\n",
            finding(1, "open"),
            finding(1, "resolved")
        ),
    );
    let mut events = String::new();
    let mut event = |time: &str, words: String| {
        let _ = writeln!(events, "{{\"ts\":\"2026-11-22T{time}Z\",{words}}}");
    };
    let task = serde_json::json!(HOSTILE);
    event(
        "12:00:00",
        format!(
            "\"kind\":\"run_started\",\"task\":{task},\"ticket\":\"cl-1\",\"tiers\":[],\"resumed\":false,\"phases\":[{{\"name\":\"3\",\"about\":\"x\",\"done\":false,\"omitted\":false}}]"
        ),
    );
    event(
        "12:00:01",
        "\"kind\":\"phase_started\",\"phase\":\"3\"".to_owned(),
    );
    for number in 0..children {
        event(
            "12:00:02",
            format!(
                "\"kind\":\"child_started\",\"id\":\"c{number}\",\"label\":\"implementer\",\"model\":\"<m>\",\"attempt\":1"
            ),
        );
        // The clock jumps forward and back.
        for (time, tokens) in [("13:00:03", 500), ("12:00:04", 1000)] {
            event(
                time,
                format!(
                    "\"kind\":\"child_usage\",\"id\":\"c{number}\",\"tokens\":{tokens},\"cost\":0.25,\"estimated\":false"
                ),
            );
        }
        event(
            "12:00:05",
            format!(
                "\"kind\":\"child_ended\",\"id\":\"c{number}\",\"done\":true,\"words\":\"x\",\"seconds\":{}",
                // Records of earlier versions have whole seconds.
                if number % 2 == 0 { "60" } else { "0.4" }
            ),
        );
    }
    event(
        "12:00:06",
        "\"kind\":\"phase_done\",\"phase\":\"3\",\"seconds\":125".to_owned(),
    );
    event(
        "12:00:07",
        "\"kind\":\"run_ended\",\"done\":true,\"words\":\"Every phase is done.\"".to_owned(),
    );
    put(".marvin/logs/pipeline-events.jsonl", &events);
    dir
}

fn of(dir: &tempfile::TempDir) -> RunReport {
    report(&RunPlaces::at(dir.path()), &Env::default(), &Cancel::new()).unwrap()
}

#[test]
fn a_requirement_is_followed_to_its_end_and_sums_are_those_of_the_children() {
    let dir = project(4);
    let report = of(&dir);
    let [first, second] = report.requirements.as_slice() else {
        panic!("{:?}", report.requirements);
    };
    assert_eq!(first.requirement.id, "REQ-1");
    assert!(first.sections[0].starts_with("Wheels"));
    assert_eq!(
        first.tests,
        ["tests/clock.rs: req_1_ticks", "tests/plan.rs: it_is"]
    );
    assert_eq!(first.findings, [0]);
    assert_eq!(report.findings[0].state, "resolved");
    assert!(second.sections.is_empty() && second.tests.is_empty());
    let time = Duration::from_millis(120_800);
    assert_eq!(
        (
            report.spent.tokens,
            report.spent.cost,
            report.spent.child_time
        ),
        (4_000, 1.0, time)
    );
    assert_eq!(
        (report.phases[0].children, report.phases[0].time),
        (4, Duration::from_secs(125))
    );
    assert_eq!(
        (report.models[0].tokens, report.models[0].time),
        (4_000, time)
    );
    // The plot never goes back.
    assert!(
        report.spent.plot.is_sorted() && report.spent.plot.last() == Some(&(3_603, 4_000)),
        "{:?}",
        report.spent.plot
    );
    let text = terminal::text(&report);
    assert_has(
        &text,
        &[
            "REQ-1",
            "tests/clock.rs: req_1_ticks",
            "resolved",
            "4,000 tokens",
            "$1.0000",
        ],
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn the_page_is_well_formed_and_everything_from_outside_is_text() {
    let dir = project(100);
    let report = of(&dir);
    let page = html::page(&report);
    let mut reader = quick_xml::Reader::from_str(&page);
    reader.config_mut().check_end_names = true;
    let mut elements = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => elements.push(start.name().as_ref().to_owned()),
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(
        !elements
            .iter()
            .any(|name| ["script", "link", "img", "iframe", "td><script"].contains(&name.as_str()))
    );
    assert!(elements.iter().any(|name| name == "svg"));
    for outside in [
        "http://", "https://", "src=", "url(", "@import", "\u{1b}", "\u{202e}",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_has(
        &page,
        &[
            "&lt;/td&gt;&lt;script&gt;",
            "&lt;m&gt;",
            "prefers-color-scheme: dark",
        ],
    );
    assert!(report.spent.plot.len() <= 401);
}

#[test]
fn without_a_record_of_findings_the_histories_tell_them() {
    let dir = project(1);
    fs::remove_file(dir.path().join(".marvin/logs/findings.jsonl")).unwrap();
    fs::write(
        dir.path().join(".marvin/review-history-spec.md"),
        "# Review history of spec\n\n## Round 1 (x)\n\n- main: findings\n- gaps: findings\n\n### main\n\n> REQ-1 says nothing.\n> More.\n\n### gaps\n\n> A gap.\n\n## Round 2 (x)\n\n- main: satisfied\n- gaps: findings\n",
    )
    .unwrap();
    let report = of(&dir);
    let told: Vec<(&str, &str, u64)> = report
        .findings
        .iter()
        .map(|finding| (finding.text.as_str(), finding.state.as_str(), finding.round))
        .collect();
    assert_eq!(
        told,
        [
            ("REQ-1 says nothing.", "resolved", 1),
            ("A gap.", "open", 1)
        ]
    );
    assert_eq!(report.requirements[0].findings, [0]);
}
