//! The rows of the table: start, one word, many words, tool rounds, size.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::contender::{Contender, Stage};
use crate::measure::{Cost, measure};
use crate::series::{Series, cell, median, paired, time};
use crate::table::Row as LimitRow;

const DELTAS: usize = 50_000;

type Row = Vec<(Contender, Series)>;

fn of(row: &Row, who: Contender) -> Option<&Series> {
    let (_, series) = row.iter().find(|(other, _)| *other == who)?;
    Some(series)
}

/// The wall time of Marvin against that of the floor.
fn floor_limit(row: &Row, what: &str, wanted: &'static str, limit: f64) -> LimitRow {
    let ratio = of(row, Contender::Marvin)
        .zip(of(row, Contender::Floor))
        .and_then(|(own, floor)| own.ratio(floor, |cost| cost.wall));
    LimitRow {
        what: format!("{what}, wall"),
        wanted,
        measured: cell(ratio, |ratio| format!("{ratio:.2} x")),
        holds: ratio.map(|ratio| ratio <= limit),
    }
}

/// The peak memory of Marvin.
fn peak_limit(row: &Row, what: &str, wanted: &'static str, limit: f64) -> LimitRow {
    let peak = of(row, Contender::Marvin).and_then(Series::peak);
    let peak = peak.map(|kib| kib as f64 * 1024.0 / 1e6);
    LimitRow {
        what: format!("{what}, peak memory"),
        wanted,
        measured: cell(peak, |peak| format!("{peak:.1} MB")),
        holds: peak.map(|peak| peak <= limit),
    }
}

/// `--version` and the one-word reply; returns the latter, which the streams subtract.
pub fn whole_processes(stage: &Stage, quick: bool, limits: &mut Vec<LimitRow>) -> Row {
    let rounds = if quick { 11 } else { 101 };
    let home = stage.home("plain");
    let version = row(
        stage,
        "`--version`",
        rounds,
        |who| stage.version(who),
        |_, _| true,
    );
    let one = row(
        stage,
        "one-shot, 1-token reply",
        rounds,
        |who| stage.ask(who, "one", &home, 1),
        |_, text| text.contains("improbable"),
    );
    let floor = "at most 2.0 x floor";
    limits.push(floor_limit(&version, "`--version`", floor, 2.0));
    let floor = "at most 2.5 x floor";
    limits.push(floor_limit(&one, "one-shot", floor, 2.5));
    limits.push(peak_limit(&one, "one-shot", "at most 8 MB", 8.0));
    one
}

/// Many deltas, in large writes and in a write each; the CPU time per delta excludes that of the one-word reply.
pub fn streams(stage: &Stage, one: &Row, quick: bool, limits: &mut Vec<LimitRow>) {
    let rounds = if quick { 3 } else { 15 };
    let home = stage.home("plain");
    let words = [
        "improbable",
        "towel",
        "so",
        "long",
        "and",
        "thanks",
        "for",
        "the",
        "fish,",
    ];
    let words: Vec<_> = words.into_iter().cycle().take(DELTAS).collect();
    let words = words.join(" ");
    for (plan, title) in [
        ("stream", "large writes"),
        ("each", "a write for each"),
        ("responses_stream", "Responses, large writes"),
        ("responses_each", "Responses, a write for each"),
    ] {
        // The others speak chat completions only.
        let contenders: Vec<Contender> = stage
            .contenders()
            .into_iter()
            .filter(|who| {
                !plan.starts_with("responses") || matches!(who, Contender::Curl | Contender::Marvin)
            })
            .collect();
        let plan = format!("{plan}-{DELTAS}");
        let title = format!("{DELTAS} deltas, {title}");
        let many = row_of(
            stage,
            contenders,
            &title,
            rounds,
            |who| stage.ask(who, &plan, &home, 1),
            |who, text| match who {
                Contender::Curl => {
                    text.matches("\"content\"").count() == DELTAS
                        || text.matches("\"delta\"").count() == DELTAS
                }
                _ => text.trim() == words,
            },
        );
        let each = |who: Contender| {
            let cpu = |row| of(row, who)?.median(|c| c.cpu);
            let spent = cpu(&many)? - cpu(one)?;
            Some(spent / DELTAS as f64)
        };
        let micros = |s: f64| format!("{:.3} us", s * 1e6);
        for (who, _) in &many {
            let (name, each) = (who.name(), cell(each(*who), micros));
            println!("| {title}, for each delta | {name} | | **{each}** | | | |");
        }
        if plan.starts_with("stream-") {
            limits.push(peak_limit(&many, &title, "at most 9 MB", 9.0));
        }
        let (own, curl) = (each(Contender::Marvin), each(Contender::Curl));
        limits.push(LimitRow {
            what: format!("{title}, CPU for each"),
            wanted: "below `curl -N`",
            measured: format!("{}, `curl -N` {}", cell(own, micros), cell(curl, micros)),
            holds: own.zip(curl).map(|(own, curl)| own < curl),
        });
    }
}

/// Tool rounds and parallel calls: the time between the last byte of a reply and the last byte of the next request.
pub fn loops(stage: &Stage, quick: bool, limits: &mut Vec<LimitRow>) {
    let repeats = if quick { 2 } else { 9 };
    let home = stage.home("plain");
    for who in [Contender::Floor, Contender::Marvin] {
        let name = who.name();
        let mut gaps = Vec::new();
        let mut parallel = Vec::new();
        let mut problem = None;
        for _ in 0..repeats {
            for (plan, requests, list) in
                [("loop-49", 50, &mut gaps), ("parallel-8", 2, &mut parallel)]
            {
                let rounds = if plan == "parallel-8" { 9 } else { requests };
                match stage_run(stage, who, plan, &home, rounds) {
                    Ok(stats) if who == Contender::Floor || stats["requests"] == requests => {
                        list.push(numbers(&stats["gaps"]));
                    }
                    Ok(stats) => problem = Some(format!("{} requests", stats["requests"])),
                    Err(why) => problem = Some(why),
                }
            }
        }
        if let Some(why) = problem {
            println!("| tool rounds | {name} | failed: {why} |");
            continue;
        }
        let all = median(gaps.iter().flatten().copied().collect());
        let late = gaps.iter().flat_map(|run| run.iter().rev().take(5));
        let late = median(late.copied().collect());
        let eight = median(
            parallel
                .iter()
                .filter_map(|run| run.first().copied())
                .collect(),
        );
        println!(
            "| reply to next request, all 49 gaps | {name} | {} |",
            cell(all, time)
        );
        println!(
            "| the same, rounds 46 to 50 | {name} | {} |",
            cell(late, time)
        );
        println!(
            "| 8 parallel calls, reply to next request | {name} | {} |",
            cell(eight, time)
        );
        if who == Contender::Marvin {
            for (what, wanted, value, limit) in [
                (
                    "tool loop, reply to next request in rounds 46 to 50",
                    "at most 0.3 ms",
                    late,
                    3e-4,
                ),
                ("8 parallel calls", "at most 2 ms", eight, 2e-3),
            ] {
                limits.push(LimitRow {
                    what: what.to_owned(),
                    wanted,
                    measured: cell(value, time),
                    holds: value.map(|seconds| seconds <= limit),
                });
            }
        }
    }
    let marvin = stage_run(stage, Contender::Marvin, "loop-30", &home, 31);
    let holds = marvin.as_ref().ok().map(|s| s["connections"] == 1);
    let told = marvin.map_or_else(
        |why| format!("failed: {why}"),
        |s| {
            format!(
                "{} ({} requests, largest {} bytes, {} with tools)",
                s["connections"], s["requests"], s["largest"], s["with_tools"]
            )
        },
    );
    limits.push(LimitRow {
        what: "connections of a loop of 30 rounds".to_owned(),
        wanted: "1",
        measured: told,
        holds,
    });
}

fn stage_run(
    stage: &Stage,
    who: Contender,
    plan: &str,
    home: &Path,
    rounds: usize,
) -> Result<serde_json::Value, String> {
    stage.server.stats();
    let command = stage.ask(who, plan, home, rounds);
    measure(&command, None, stage.dir.path())?;
    Ok(stage.server.stats())
}

fn numbers(gaps: &serde_json::Value) -> Vec<f64> {
    let list = gaps.as_array().into_iter().flatten();
    list.filter_map(|n| n.as_f64().map(|ns| ns / 1e9)).collect()
}

/// The size of the binary.
pub fn size(stage: &Stage) -> LimitRow {
    let bytes = fs::metadata(&stage.marvin).map_or(0, |m| m.len());
    LimitRow {
        what: "binary, stripped".to_owned(),
        wanted: "at most 18 MB",
        measured: format!("{:.1} MB", bytes as f64 / 1e6),
        holds: Some(bytes <= 18_000_000),
    }
}

/// The machine, and what the numbers mean.
pub fn conditions(stage: &Stage) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name\t: "));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let own = measure(&Command::new("/bin/true"), None, stage.dir.path());
    let own = own.map_or(0, |c| c.peak);
    format!(
        "Machine: {}, {cores} cores, Linux {}. Medians; standard output is a pipe that is drained. \
         Peaks below {own} KiB cannot be told apart (that is the measuring helper's own).",
        cpu.unwrap_or("unknown processor"),
        kernel.trim(),
    )
}

/// Measures one row for all contenders and prints it. `right` checks the output of an untimed first run.
fn row(
    stage: &Stage,
    title: &str,
    rounds: usize,
    command: impl Fn(Contender) -> Command,
    right: impl Fn(Contender, &str) -> bool,
) -> Row {
    row_of(stage, stage.contenders(), title, rounds, command, right)
}

/// The same for some contenders; the first one is the base of the ratios.
fn row_of(
    stage: &Stage,
    contenders: Vec<Contender>,
    title: &str,
    rounds: usize,
    command: impl Fn(Contender) -> Command,
    right: impl Fn(Contender, &str) -> bool,
) -> Row {
    let scratch = stage.dir.path();
    let output = scratch.join("stdout");
    let check = |who: &Contender| {
        measure(&command(*who), Some(&output), scratch)?;
        let text = fs::read_to_string(&output).map_err(|e| e.to_string())?;
        right(*who, &text).then_some(()).ok_or_else(|| {
            let start: String = text.chars().take(40).collect();
            format!("wrong output {start:?}")
        })
    };
    let run = |who: &Contender| measure(&command(*who), None, scratch);
    let series = paired(&contenders, rounds, check, run);
    let floor = series.first().expect("the floor");
    let (wall, cpu) = (|c: &Cost| c.wall, |c: &Cost| c.cpu);
    for (who, s) in contenders.iter().zip(&series) {
        let name = who.name();
        if let Err(why) = &s.runs {
            println!("| {title} | {name} | failed: {why} | | | | |");
            continue;
        }
        println!(
            "| {title} | {name} | {} | {} | {} | {} | {} |",
            cell(s.median(wall), time),
            cell(s.median(cpu), time),
            cell(s.ratio(floor, wall), |r| format!("{r:.2}")),
            cell(s.ratio(floor, cpu), |r| format!("{r:.2}")),
            cell(s.peak(), |kib| format!(
                "{:.1} MB",
                kib as f64 * 1024.0 / 1e6
            )),
        );
    }
    contenders.into_iter().zip(series).collect()
}
