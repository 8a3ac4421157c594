//! What commands cost: one in the sandbox next to the same outside, and a search of many files next to that of ripgrep alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::contender::Stage;
use crate::measure::{Cost, measure};
use crate::series::{Series, cell, median, paired, time};
use crate::table::Row;

/// What the sandbox may add to a command, in seconds.
const MAX_LAYER_SECONDS: f64 = 0.004;

/// Adds the rows with a limit; the working tree of 100,000 files is there already.
pub fn rows(stage: &Stage, quick: bool, limits: &mut Vec<Row>) {
    let rounds = if quick { 11 } else { 101 };
    let home = stage.home("sandbox");
    let series = run(stage, rounds, &[command("true", &home), held(stage, &home)]);
    let [free, held] = &series[..] else {
        return;
    };
    let more = difference(held, free);
    limits.push(Row {
        what: "`true` in the sandbox, more than outside".to_owned(),
        wanted: "at most 4 ms",
        measured: cell(more, time),
        holds: more.map(|more| more <= MAX_LAYER_SECONDS),
    });

    let home = stage.home("tree");
    fs::write(home.join("work/part050/needle.txt"), "a needle\n").expect("a file to find");
    let mut search = command(&stage.marvin, &home);
    search.args(["tool", "code_grep", "pattern=needle"]);
    let mut start = command(&stage.marvin, &home);
    start.args(["tool", "get_working_dir"]);
    let mut alone = command("rg", &home);
    alone.args(["--no-config", "needle"]);
    let rounds = if quick { 3 } else { 15 };
    let series = run(stage, rounds, &[search, start, alone]);
    let [search, start, alone] = &series[..] else {
        return;
    };
    let own = difference(search, start);
    let ratio = own.zip(alone.median(|cost| cost.wall));
    let ratio = ratio.map(|(own, alone)| own / alone);
    limits.push(Row {
        what: "code_grep in 100,000 files, without its own start".to_owned(),
        wanted: "at most 1.1 x rg",
        measured: cell(ratio, |ratio| format!("{ratio:.2} x")),
        holds: ratio.map(|ratio| ratio <= 1.1),
    });
}

fn run(stage: &Stage, rounds: usize, commands: &[Command]) -> Vec<Series> {
    let scratch = stage.dir.path();
    paired(
        commands,
        rounds,
        |command| measure(command, None, scratch).map(drop),
        |command| measure(command, None, scratch),
    )
}

fn command(program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).current_dir(home.join("work"));
    command.env("MARVIN_CONFIG_DIR", home.join("config"));
    command
}

/// `true` in a sandbox as a run that nobody reads has it.
fn held(stage: &Stage, home: &Path) -> Command {
    let work = home.join("work").canonicalize().expect("a working folder");
    let policy = json!({"mode": "workspace-write", "network": true, "writable": [work]});
    let mut command = command(&stage.marvin, home);
    command.args(["sandbox-exec", &policy.to_string(), "--", "true"]);
    command
}

/// The median of what the first took longer in the same round.
fn difference(longer: &Series, base: &Series) -> Option<f64> {
    let (longer, base) = (longer.runs.as_ref().ok()?, base.runs.as_ref().ok()?);
    let pairs = longer.iter().zip(base);
    median(
        pairs
            .map(|(a, b): (&Cost, &Cost)| a.wall - b.wall)
            .collect(),
    )
}
