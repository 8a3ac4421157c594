//! The project's tests as the pipeline runs them, and phases 2a, 2b, 4a, 4b, 4c and 5.

use std::time::{Duration, Instant};

use super::Stage;
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::phase::PhaseEnd;
use crate::pipeline::review::findings::{self, FindingState};
use crate::pipeline::test_command::{TestEnding, TestRun, detect, execute, run_tests};
use crate::pipeline::{debugging, front_end, quality, smoke_test, test_writing};

#[test]
fn the_test_command_is_found_in_the_projects_files() {
    let found = |files: &[(&str, &str)]| {
        let stage = Stage::new("true");
        for (name, text) in files {
            stage.put(name, text);
        }
        detect(&stage.run)
    };
    for (files, command) in [
        (&[][..], None),
        (&[("Cargo.toml", "[package]")], Some("cargo test")),
        (
            &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)],
            Some("npm test"),
        ),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            )],
            None,
        ),
        (&[("package.json", "{")], None),
        (&[("go.mod", "module a")], Some("go test -v ./...")),
        (
            &[("Makefile", "all: test\n\ntest: all\n\t./check\n")],
            Some("make test"),
        ),
        (&[("Makefile", "test := x\nall:\n\ttrue\n")], None),
        (
            &[("conftest.py", ""), (".venv/bin/pytest", "")],
            Some(".venv/bin/pytest"),
        ),
        (
            &[
                ("Cargo.toml", ""),
                (
                    ".marvin-instructions",
                    "Be brief.\n- **Test command:** `just test`\n",
                ),
            ],
            Some("just test"),
        ),
        (
            &[("AGENTS.md", "test command: ./check --all\n")],
            Some("./check --all"),
        ),
    ] {
        assert_eq!(found(files).as_deref(), command, "{files:?}");
    }
    const DISCOVER: &str = "python3 -m unittest discover -v";
    for (files, unittest) in [
        (
            &[("tests/test_a.py", "")][..],
            format!("{DISCOVER} -s tests"),
        ),
        (
            &[("tests/test_a.py", ""), ("tests/__init__.py", "")],
            DISCOVER.to_owned(),
        ),
        (
            &[
                ("tests/functional/test_a.py", ""),
                ("tests/of all/b_test.py", ""),
            ],
            format!(
                "{DISCOVER} -s tests/functional && {DISCOVER} -s 'tests/of all' -p '*_test.py'"
            ),
        ),
        (
            &[
                ("tests/functional/test_a.py", ""),
                ("tests/functional/__init__.py", ""),
            ],
            format!("{DISCOVER} -s tests"),
        ),
    ] {
        let python = found(files).unwrap();
        assert!(
            ["pytest", "python3 -m pytest", unittest.as_str()].contains(&python.as_str()),
            "{python}"
        );
    }
    let beside = found(&[("go.mod", "module a"), ("scripts/one/test_a.py", "")]);
    assert_eq!(beside.as_deref(), Some("go test -v ./..."));
}

fn of_command(command: &str) -> TestRun {
    let stage = Stage::new("true");
    stage.put(".marvin-instructions", &format!("Test command: {command}"));
    run_tests(&stage.run).unwrap()
}

#[test]
fn a_file_that_is_mended_within_a_second_is_tested_as_it_is() {
    if crate::proc::program::find_program("python3", &Stage::new("true").run.ctx.session.env)
        .is_none()
    {
        eprintln!("SKIPPED: python3 is not installed");
        return;
    }
    let stage = Stage::new("true");
    stage.put(
        ".marvin-instructions",
        "Test command: python3 -m unittest -v test_clock",
    );
    stage.put(
        "test_clock.py",
        "import unittest, clock\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(clock.TICKS, 2)\n",
    );
    let time = std::time::SystemTime::now() - Duration::from_secs(60);
    let write = |text: &str| {
        stage.put("clock.py", text);
        let file = std::fs::File::options()
            .write(true)
            .open(stage.path("clock.py"));
        file.unwrap().set_modified(time).unwrap();
    };
    write("TICKS = 1\n");
    assert!(run_tests(&stage.run).unwrap().is_red());
    write("TICKS = 2\n");
    let tests = run_tests(&stage.run).unwrap();
    assert!(tests.is_green(), "{}", tests.for_child());
}

#[test]
fn tests_pass_only_when_some_were_executed() {
    let passed = of_command("echo 3 passed");
    assert!(passed.is_green() && !passed.is_red(), "{passed:?}");
    for command in [
        "true",
        "echo all good",
        "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'",
    ] {
        let run = of_command(command);
        assert!(!run.is_green() && !run.is_red(), "{run:?}");
        assert!(run.words().contains("a single test"), "{}", run.words());
    }
    let failed = of_command("echo 3 passed; echo wrong >&2; exit 1");
    assert!(!failed.is_green() && failed.is_red());
    assert_has(&failed.words(), &["exit code: 1"]);
    assert_has(
        &failed.for_child(),
        &["<output>\n3 passed\nwrong\n</output>"],
    );
    let missing = of_command("no-such-program-anywhere");
    assert!(
        missing.is_red() && missing.words().contains("127"),
        "{}",
        missing.words()
    );
    let none = run_tests(&Stage::new("true").run).unwrap();
    assert_eq!(none, TestRun::NoCommand);
    assert!(!none.is_green() && !none.is_red() && none.words().contains("No test command"));
}

#[test]
fn a_test_command_that_hangs_is_killed_with_everything_it_started() {
    let stage = Stage::new("true");
    let command = "echo started; sleep 1000 & echo $! > pid; wait".to_owned();
    let run = execute(&stage.run, command, Duration::from_secs(1)).unwrap();
    assert!(!run.is_green() && !run.is_red());
    assert_has(&run.words(), &["did not end within"]);
    let TestRun::Ran { ending, output, .. } = &run else {
        panic!("{run:?}");
    };
    assert_eq!((ending, output.as_str()), (&TestEnding::Hanging, "started"));
    let pid = stage.read("pid");
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let lives = || stat().is_ok_and(|stat| !stat.contains(") Z "));
    // Kernels take a moment after KILL.
    let start = Instant::now();
    while lives() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!lives(), "{:?}", stat());
}

#[test]
fn thirty_megabytes_of_output_are_survived() {
    let run = of_command(
        "yes 'a line of output that is read and dropped' | head -c 5000000; echo; head -c 25000000 /dev/zero; echo; echo 7 passed",
    );
    let TestRun::Ran {
        executed, output, ..
    } = &run
    else {
        panic!();
    };
    assert_eq!(*executed, 7);
    assert!(run.is_green() && output.len() < 20_000);
}

#[test]
fn a_stopped_run_ends_its_tests() {
    let stage = Stage::new("true");
    let stop = stage.run.ctx.stop.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.fire();
    });
    let problem = execute(
        &stage.run,
        "sleep 1000".to_owned(),
        Duration::from_secs(600),
    );
    assert!(problem.unwrap_err().is_cancelled());
    stopper.join().unwrap();
}

/// Runs `tests/test_all.sh`, which the test writer writes; it says how often it ran outside of the project.
const COMMAND: &str = "Test command: echo run >> ../runs; sh tests/test_all.sh";

fn runs(stage: &Stage) -> usize {
    let runs = std::fs::read_to_string(stage.dir.path().join("runs"));
    runs.unwrap_or_default().lines().count()
}

fn tested(script: &str, variables: &[(&str, &str)]) -> Stage {
    let stage = Stage::with(script, variables);
    stage.put(".marvin-instructions", COMMAND);
    stage
}

/// Reviewers of code are satisfied at once.
const SATISFIED: &str = r#"
case "$NAME" in
  review-*-conformance-*) report SPEC_CONFORMANT;;
  review-*) report REVIEW_CLEAN;;
esac
"#;

#[test]
fn tests_that_fail_are_what_the_writer_is_there_for() {
    let stage = tested(
        &format!(
            "{SATISFIED}\n is functional-test-writer && {{ mkdir -p tests; echo 'echo 1 failed; exit 1' > tests/test_all.sh; }}; true"
        ),
        &[],
    );
    stage.put("src/clock.rs", "");
    test_writing::functional(&stage.run).unwrap();
    let mut labels = stage.labels();
    labels.sort();
    assert_eq!(
        labels,
        [
            "functional-test-writer",
            "review-tests-area-1",
            "review-tests-conformance"
        ]
    );
    assert_eq!(runs(&stage), 1);
    assert_eq!(stage.warnings(), [] as [&str; 0]);
    for call in stage.calls() {
        if call.label == "functional-test-writer" {
            assert_eq!(call.bounds, "readonly= writable= ticket=cl-0001 model=m");
        } else {
            assert_has(&call.prompt, &["A missing implementation is no finding"]);
            assert_lacks(&call.prompt, &["Your area:\n<listing>\nsrc/clock.rs"]);
        }
    }
}

#[test]
fn tests_that_pass_already_are_told_to_the_writer_once() {
    let stage = tested(
        &format!(
            "{SATISFIED}\n is integration-test-writer && {{ mkdir -p tests; echo 'echo 1 passed' > tests/test_all.sh; }}; true"
        ),
        &[],
    );
    test_writing::integration(&stage.run).unwrap();
    let prompts = stage.prompts("integration-test-writer");
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].contains("They have to fail"), "{}", prompts[1]);
    assert_eq!(runs(&stage), 2);
    assert_has(&stage.warnings()[0], &["were to fail, and do not"]);
}

#[test]
fn without_tests_the_phase_fails() {
    let stage = tested(
        "mkdir -p src tests; echo x > src/a.rs; echo x > tests/README.md",
        &[],
    );
    let problem = test_writing::functional(&stage.run).unwrap_err().one_line();
    assert!(problem.contains("No test file was written"), "{problem}");
    assert_eq!(stage.labels(), ["functional-test-writer"; 4]);
    // What an interrupted attempt wrote counts when the phase begins again.
    stage.put("tests/test_all.sh", "exit 1");
    test_writing::functional(&stage.run).unwrap_err();
    assert_eq!(stage.labels()[4], "functional-test-writer");
    assert_ne!(stage.labels()[5], "functional-test-writer");
}

#[test]
fn tests_that_are_there_already_without_a_commit_of_the_phase_are_enough_with_reasons() {
    let script =
        |words: &str| format!("{SATISFIED}\n is functional-test-writer && printf '{words}'; true");
    let stage = tested(
        &script("All are in tests/test_all.sh.\\nNOTHING_TO_CHANGE\\n"),
        &[],
    );
    stage.put("tests/test_all.sh", "echo 1 failed; exit 1");
    test_writing::functional(&stage.run).unwrap();
    assert_eq!(stage.prompts("functional-test-writer").len(), 1);
    for (words, there) in [
        ("I looked.", true),
        ("NOTHING_TO_CHANGE", true),
        ("There are none.\\nNOTHING_TO_CHANGE\\n", false),
    ] {
        let stage = tested(&script(words), &[]);
        if there {
            stage.put("tests/test_all.sh", "echo 1 failed; exit 1");
        }
        let problem = test_writing::functional(&stage.run).unwrap_err().one_line();
        assert_has(&problem, &["did not do its work"]);
    }
}

#[test]
fn the_own_run_of_the_tests_decides_and_not_the_marker() {
    let stage = tested(
        &format!(
            "{SATISFIED}\n if is debugger; then nth debugger 3 && echo 'echo 4 passed' > tests/test_all.sh; echo ALL_TESTS_PASS; fi"
        ),
        &[],
    );
    stage.put("tests/test_all.sh", "echo 4 failed; exit 1");
    debugging::debug(&stage.run).unwrap();
    assert_eq!(stage.prompts("debugger").len(), 3);
    assert!(stage.prompts("debugger")[0].contains("4 failed"));
    assert_lacks(&stage.prompts("debugger")[0], &["earlier rounds"]);
    assert_has(
        &stage.prompts("debugger")[2],
        &["<rounds>\nRound 1:\nALL_TESTS_PASS\n\nRound 2:\nALL_TESTS_PASS\n</rounds>"],
    );
    assert_eq!(
        runs(&stage),
        4,
        "before each round, and once when it is green"
    );
    assert_eq!(
        stage.rounds()[..3],
        ["4a tests 1/50", "4a tests 2/50", "4a tests 3/50"]
    );
    let labels = stage.labels();
    let reviewed = labels
        .iter()
        .any(|label| label == "review-code-conformance");
    assert!(reviewed, "{labels:?}");
}

#[test]
fn used_up_rounds_of_debugging_are_a_warning() {
    let stage = tested(SATISFIED, &[("MARVIN_DEBUG_ROUNDS", "2")]);
    stage.put("tests/test_all.sh", "echo 4 failed; exit 1");
    debugging::debug(&stage.run).unwrap();
    let labels = stage.labels();
    assert_eq!(labels[..2], ["debugger"; 2]);
    assert!(labels[2].starts_with("review-code-"), "{labels:?}");
    assert_has(&stage.warnings()[0], &["do not pass after 2 rounds"]);
    // A start after a kill has no rounds more.
    debugging::debug(&stage.run).unwrap();
    assert_eq!(stage.prompts("debugger").len(), 2);
    // Of fifty rounds, three that change nothing are enough.
    let stage = tested(SATISFIED, &[]);
    stage.put("tests/test_all.sh", "echo 4 failed; exit 1");
    debugging::debug(&stage.run).unwrap();
    assert_eq!(stage.prompts("debugger").len(), 3);
    let words = ["3 rounds of debugging changed no file"];
    assert_has(&stage.warnings()[0], &words);
    debugging::debug(&stage.run).unwrap();
    assert_eq!(stage.prompts("debugger").len(), 3);
}

#[test]
fn a_debugger_that_never_works_ends_the_run() {
    let stage = tested("exit 127", &[]);
    stage.put("tests/test_all.sh", "exit 1");
    debugging::debug(&stage.run).unwrap_err();
    assert_eq!(stage.labels(), ["debugger"; 3]);
}

#[test]
fn a_marker_counts_alone_on_the_last_line_only() {
    let stage = tested(
        r#"
        nth smoke-tester 1 && echo "I cannot say E2E_SMOKE_PASS"
        nth smoke-tester 2 && echo E2E_SMOKE_PASS && echo "But the second start fails."
        nth smoke-tester 3 && called run_command success && echo "It works." && echo E2E_SMOKE_PASS
        true"#,
        &[],
    );
    smoke_test::smoke_test(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["smoke-tester"; 3]);
    assert_eq!(stage.warnings(), [] as [&str; 0]);
    assert_eq!(runs(&stage), 0, "nothing was changed");
}

#[test]
fn a_marker_counts_only_from_who_tried_it() {
    let stage = tested(
        r#"
        nth smoke-tester 1 && called read_file success
        nth smoke-tester 2 && called run_command failure
        nth smoke-tester 3 && called run_command declined
        nth smoke-tester 4 && called functions.run_command stopped
        echo "I looked at the code."; echo E2E_SMOKE_PASS"#,
        &[],
    );
    smoke_test::smoke_test(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["smoke-tester"; 4]);
    let words = "smoke-tester reported E2E_SMOKE_PASS and had tried nothing";
    assert_eq!(stage.warnings().len(), 3);
    assert_has(&stage.warnings()[2], &[words]);
    let last = stage.prompts("smoke-tester").pop().unwrap();
    assert_has(&last, &["Round 3:\nI looked at the code.", words]);
    assert_eq!(last.matches("Round ").count(), 3, "{last}");
    let stage = Stage::with(
        "nth front-end-checker 2 && called browse_web success; called read_file success; echo FRONTEND_VALID",
        &[],
    );
    stage.put("index.html", "<html>");
    front_end::check_front_end(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["front-end-checker"; 2]);
}

#[test]
fn used_up_rounds_of_trying_are_a_warning_and_the_tests_stay_green() {
    let stage = tested(
        r#"
        is smoke-tester && echo 'echo 1 failed; exit 1' > tests/test_all.sh
        is debugger && echo 'echo 1 passed' > tests/test_all.sh
        true"#,
        &[("MARVIN_E2E_ROUNDS", "1")],
    );
    stage.put("tests/test_all.sh", "echo 1 passed");
    smoke_test::smoke_test(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["smoke-tester", "debugger"]);
    assert_has(&stage.warnings()[0], &["Phase 4b used up its 1 rounds"]);
    assert_eq!(runs(&stage), 2);
}

#[test]
fn without_pages_the_front_end_is_not_checked() {
    let stage = Stage::new("echo FRONTEND_VALID");
    stage.put("src/main.rs", "fn main() {}");
    stage.put("tests/page_test.py", "'<html>'");
    stage.put("docs/index.html", "<html>");
    stage.put("README.md", "Serves <html>.");
    assert!(matches!(
        front_end::check_front_end(&stage.run),
        Ok(PhaseEnd::Skipped(_))
    ));
    for (name, text) in [
        ("web/index.html", ""),
        ("app.py", "return \"<!DOCTYPE HTML>\""),
    ] {
        let stage = Stage::new("called run_command success; echo FRONTEND_VALID");
        stage.put(name, text);
        assert_eq!(
            front_end::check_front_end(&stage.run).unwrap(),
            PhaseEnd::Done
        );
        assert_eq!(stage.labels(), ["front-end-checker"], "{name}");
    }
}

#[test]
fn what_was_found_is_corrected_and_the_tests_run_again() {
    let stage = tested(
        r#"
        if is quality-tester; then
          if nth quality-tester 2; then report REVIEW_CLEAN; else report "src/a.rs:1 crashes." REVIEW_FAILED; fi
        fi
        is quality-fixer && echo fixed > src.txt
        true"#,
        &[],
    );
    stage.put("tests/test_all.sh", "echo 1 passed");
    quality::assure_quality(&stage.run).unwrap();
    assert_eq!(
        stage.labels(),
        ["quality-tester", "quality-fixer", "quality-tester"]
    );
    let calls = stage.calls();
    assert_eq!(calls[0].bounds, "readonly=1 writable= ticket= model=strong");
    assert!(calls[1].prompt.contains("src/a.rs:1 crashes."));
    assert_has(&calls[2].prompt, &["Check in the code whether it was."]);
    assert_eq!(runs(&stage), 1);
    assert_eq!(stage.warnings(), [] as [&str; 0]);
}

#[test]
fn a_quality_fixer_may_say_that_nothing_is_to_be_changed() {
    let stage = tested(
        r#"
        is quality-tester && { nth quality-tester 2 && report REVIEW_CLEAN || report "src/a.rs:1 crashes." REVIEW_FAILED; }
        is quality-fixer && echo "src/a.rs:1 cannot be reached." && echo NOTHING_TO_CHANGE
        true"#,
        &[],
    );
    stage.put("tests/test_all.sh", "echo 1 passed");
    quality::assure_quality(&stage.run).unwrap();
    assert_eq!(
        stage.labels(),
        ["quality-tester", "quality-fixer", "quality-tester"]
    );
    assert_has(
        &stage.prompts("quality-tester")[1],
        &["src/a.rs:1 crashes.", "src/a.rs:1 cannot be reached."],
    );
    assert_eq!(stage.warnings(), [] as [&str; 0]);
    assert_eq!(runs(&stage), 0, "nothing was changed");
    let found = findings::read(&stage.run.places).unwrap();
    let states: Vec<_> = found.iter().map(|one| one.state).collect();
    assert_eq!(states, [FindingState::Resolved]);
}

#[test]
fn used_up_rounds_of_quality_are_a_warning() {
    let stage = tested(
        r#"is quality-tester && report "It crashes." REVIEW_FAILED; is quality-fixer && date +%N >> src.txt; true"#,
        &[("MARVIN_QA_ROUNDS", "1")],
    );
    stage.put("tests/test_all.sh", "echo 1 passed");
    quality::assure_quality(&stage.run).unwrap();
    assert_has(&stage.warnings()[0], &["Phase 5 used up its 1 rounds"]);
    let found = findings::read(&stage.run.places).unwrap();
    let [one] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(
        (one.phase.as_str(), one.subject.as_str(), one.state),
        ("5", "quality", FindingState::Corrected)
    );
}
