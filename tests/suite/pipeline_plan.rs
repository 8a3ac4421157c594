//! `marvin pipeline plan`: what a run would do, by whom and for how much, before anything is paid or written.

use std::path::Path;

use serde_json::Value;

use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::words::TextAssertions;

fn plan(home: &Home, words: &[&str]) -> Marvin {
    home.marvin()
        .dir(&home.work())
        .env("OPENAI_API_KEY", "test-key")
        .env("MARVIN_URL_OPENAI", "http://127.0.0.1:9/v1")
        .args(["pipeline", "plan", "--provider", "openai"])
        .args(words.iter().copied())
}

fn json(done: &Done) -> Value {
    serde_json::from_str(done.text()).unwrap()
}

fn states(plan: &Value) -> String {
    let phases = plan["phases"].as_array().unwrap().iter();
    let states = phases.map(|phase| phase["state"].as_str().unwrap());
    states.collect::<Vec<_>>().join(" ")
}

fn range(of: &Value, what: &str) -> (f64, f64) {
    let pair = &of["forecast"][what];
    (pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_plan_shows_phases_models_and_a_range_and_writes_nothing() {
    let home = Home::new();
    let words = [
        "--prompt",
        "A to-do list",
        "--model",
        "all=gpt-5.2",
        "--model",
        "opus=ollama:qwen3:8b",
    ];
    let before = names(&home.work());
    let done = plan(&home, &words).run().expect(0);
    done.stdout_has(&[
        "Task: A to-do list",
        "1a_review  review of both: to do, $",
        "spec-writer",
        "plan_gen, openai:gpt-5.2, $",
        "opus, ollama:qwen3:8b, $0.00 to $0.00",
        "Forecast: $",
        "Assumed:",
        "Nothing was started, paid or written.",
    ]);
    assert_eq!(done.errors(), "");
    let found = json(
        &plan(&home, &[&words[..], &["--json"]].concat())
            .run()
            .expect(0),
    );
    assert_eq!(states(&found), ["to_do"; 11].join(" "));
    let mut sum = (0.0, 0.0);
    for phase in found["phases"].as_array().unwrap() {
        let (least, most) = range(phase, "cost");
        assert!(least < most, "{phase}");
        sum = (sum.0 + least, sum.1 + most);
        let (quick, slow) = range(phase, "seconds");
        assert!(quick < slow, "{phase}");
    }
    let total = &found["total"]["cost"];
    for (own, all) in [(sum.0, &total[0]), (sum.1, &total[1])] {
        assert!((own - all.as_f64().unwrap()).abs() < 1e-6, "{own} {all}");
    }
    assert_eq!(names(&home.work()), before);
    assert!(!home.has("work/.marvin") && !home.has("work/.git"));
}

#[test]
fn what_is_done_costs_nothing_and_what_is_large_costs_more() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    let words = [
        "--prompt",
        "A to-do list",
        "--model",
        "all=gpt-5.2",
        "--json",
    ];
    let small = json(&plan(&home, &words).run().expect(0));
    repo.file("src/main.py", "print('a line of code')\n".repeat(5_000));
    repo.file(".marvin/spec.md", "A line of the document.\n".repeat(4_000));
    repo.file(".marvin/pipeline_state", "1b");
    let large = json(
        &plan(&home, &[&words[..], &["--until", "3"]].concat())
            .run()
            .expect(0),
    );
    assert_eq!(
        states(&large),
        "done done done to_do to_do to_do to_do skipped skipped skipped skipped"
    );
    for at in [3, 6] {
        let cost = |plan: &Value| range(&plan["phases"][at], "cost");
        assert!(cost(&large).0 > cost(&small).0 && cost(&large).1 > cost(&small).1);
    }
    assert_eq!(range(&large["phases"][0], "cost"), (0.0, 0.0));
    assert_eq!(large["sizes"]["files"], 1);
}

#[test]
fn a_ceiling_an_unknown_price_and_another_task_are_said() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    let words = [
        "--prompt",
        "A to-do list",
        "--model",
        "all=nobody-knows-it",
        "--max-cost",
        "0.01",
    ];
    plan(&home, &words).run().expect(0).stdout_has(&[
        "Note: --max-cost $0.01 is less",
        "price of a model is not known",
        ", ~$",
    ]);
    repo.file(".marvin/pipeline_state", "1a");
    repo.file(
        ".marvin/logs/pipeline.json",
        r#"{"task":"A game of chess."}"#,
    );
    plan(&home, &words)
        .run()
        .expect(0)
        .stdout_has(&["another task", "refused"]);
    // The recorded task is planned when none is given.
    plan(&home, &[])
        .run()
        .expect(0)
        .stdout_has(&["Task: A game of chess."]);
}

#[test]
fn wrong_words_are_named() {
    let home = Home::new();
    for (words, named) in [
        (&["--json"][..], "no prompt to plan for"),
        (&["--prompt", "x", "--until", "9"], "Phases: 1a, 1a_review"),
        (&["--prompt", "x", "--approve", "desing"], "Did you mean"),
        (&["--prompt", "x", "--untli", "3"], "--until"),
        (&["--prompt", "x", "--working-dir", "absent"], "absent"),
    ] {
        let errors = plan(&home, words).run().expect(1).errors();
        errors.to_lowercase().assert_has(&[&named.to_lowercase()]);
    }
}

#[test]
fn flags_of_the_run_may_stand_before_the_command() {
    let home = Home::new();
    let flags = ["--model", "opus=ollama:qwen3:8b", "--max-cost", "0.01"];
    let of = |before: &[&str], behind: &[&str]| {
        let run = home.marvin().dir(&home.work());
        let run = run
            .env("OPENAI_API_KEY", "test-key")
            .env("MARVIN_URL_OPENAI", "http://127.0.0.1:9/v1")
            .args(before.iter().copied())
            .args(["pipeline", "plan", "--prompt", "x", "--provider", "openai"]);
        run.args(behind.iter().copied()).run().expect(0)
    };
    let before = of(&flags, &[]);
    before.stdout_has(&["opus, ollama:qwen3:8b", "--max-cost $0.01"]);
    assert_eq!(before.text(), of(&[], &flags).text());
    // What the run would refuse.
    for (words, reason) in [
        (&["--until", "1b"][..], "leave nothing to do"),
        (&[], "has not come to phase 3. Nothing is done yet."),
    ] {
        let plan = plan(&home, &["--prompt", "x", "--from", "3"]).args(words.iter().copied());
        plan.run().expect(1).stderr_has(&[reason]);
    }
    Repo::at(&home.work()).file(".marvin/pipeline_state", "5");
    let again = plan(&home, &["--from", "4b", "--json"]).stdin("As it is piped.\n");
    let again = json(&again.run().expect(0));
    assert_eq!(again["task"], "As it is piped.");
    let done = ["done"; 8].join(" ");
    assert_eq!(states(&again), format!("{done} to_do to_do to_do"));
}
