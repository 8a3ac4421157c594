//! What hooks and skills of the user cost: a hook that does nothing, for each call of a tool loop, and 200 skills in front of a one-word reply.

use std::fs;
use std::path::{Path, PathBuf};

use crate::contender::{Contender, Stage};
use crate::measure::{Cost, measure};
use crate::series::{Series, cell, median, paired, time};
use crate::table::Row;

/// Calls of the loop; each has one hook.
const CALLS: usize = 49;
const SKILLS: usize = 200;

/// Adds a row for each.
pub fn rows(stage: &Stage, quick: bool, limits: &mut Vec<Row>) {
    let plain = stage.home("no extensions");
    let hooked = stage.home("hooks");
    fs::write(
        hooked.join("config/hooks.json"),
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#,
    )
    .expect("a hooks file");
    let skilled = stage.home("skills");
    for n in 0..SKILLS {
        let dir = skilled.join(format!(".agents/skills/skill-{n}"));
        fs::create_dir_all(&dir).expect("a folder for a skill");
        let text = format!(
            "---\nname: skill-{n}\ndescription: What to do about number {n}, and when.\n---\n{}",
            "Do it as it was always done.\n".repeat(100)
        );
        fs::write(dir.join("SKILL.md"), text).expect("a skill");
    }
    let plan = format!("loop-{CALLS}");
    let rounds = if quick { 3 } else { 15 };
    let each = difference(stage, (&plain, &hooked), &plan, rounds, CALLS);
    limits.push(row(
        "a hook of `true` before each of 49 calls, for each",
        "at most 3 ms",
        each,
        3e-3,
    ));
    let rounds = if quick { 11 } else { 61 };
    let all = difference(stage, (&plain, &skilled), "one", rounds, 1);
    limits.push(row(
        "200 skills in front of a one-shot",
        "at most 5 ms",
        all,
        5e-3,
    ));
}

/// How much longer a run takes in the second home than in the first, for each of its `parts`: the median of the differences within a round.
fn difference(
    stage: &Stage,
    (without, with): (&PathBuf, &PathBuf),
    plan: &str,
    rounds: usize,
    parts: usize,
) -> Option<f64> {
    let scratch = stage.dir.path();
    let output = scratch.join("stdout");
    let ask = |home: &Path| stage.ask(Contender::Marvin, plan, home, parts + 1);
    let series = paired(
        &[without, with],
        rounds,
        |home| {
            measure(&ask(home), Some(&output), scratch)?;
            let text = fs::read_to_string(&output).map_err(|error| error.to_string())?;
            let right = text.contains("improbable");
            right.then_some(()).ok_or_else(|| "wrong output".to_owned())
        },
        |home| measure(&ask(home), None, scratch),
    );
    let runs: Vec<&Vec<Cost>> = series.iter().filter_map(runs).collect();
    let [without, with] = runs.as_slice() else {
        return None;
    };
    let pairs = with.iter().zip(without.iter());
    let more = median(
        pairs
            .map(|(with, without)| with.wall - without.wall)
            .collect(),
    );
    more.map(|more| more / parts as f64)
}

fn runs(series: &Series) -> Option<&Vec<Cost>> {
    series.runs.as_ref().ok()
}

fn row(what: &str, wanted: &'static str, more: Option<f64>, limit: f64) -> Row {
    Row {
        what: what.to_owned(),
        wanted,
        measured: cell(more, time),
        holds: more.map(|more| more <= limit),
    }
}
