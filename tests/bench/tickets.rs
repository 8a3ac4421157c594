//! Lists, queries and the dependency tree over many tickets, against `rg -c` over the same folder; prints a Markdown table.
//!
//! usage: `cargo bench --bench tickets [-- --quick]`. `BENCH_MARVIN` names another build; `BENCH_TK` the ticket script to
//! compare with. All programs of a size run in turn; numbers are medians, ratios are medians of the ratios within a round.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    let marvin =
        std::env::var("BENCH_MARVIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_marvin").into());
    let script = std::env::var("BENCH_TK").ok();
    println!("| tickets | work | program | wall | x `rg -c` |\n|---|---|---|---|---|");
    for count in [1_000, 10_000, 40_000] {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), count);
        let tickets = dir.path().join(".tickets");
        let mut jobs: Vec<(&str, &str, Command)> = vec![(
            "`rg -c ^status: `",
            "rg",
            command(
                "rg",
                &["-c", "^status:", tickets.to_str().unwrap()],
                dir.path(),
            ),
        )];
        for (name, words) in [
            ("list", "ls"),
            ("list, one tag", "ls -T ui"),
            ("ready", "ready"),
            ("search: query", "query"),
            ("tree of all", "dep tree tt-00000"),
            ("one ticket", "show tt-00777"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let own: Vec<&str> = ["tk"].into_iter().chain(words.iter().copied()).collect();
            jobs.push((name, "marvin", command(&marvin, &own, dir.path())));
            // The script takes minutes for large trees.
            if let (Some(script), true) = (&script, count <= 1_000 || !name.starts_with("tree")) {
                jobs.push((name, "script", command(script, &words, dir.path())));
            }
        }
        let rounds = if quick { 3 } else { 15 };
        let mut times = vec![Vec::new(); jobs.len()];
        for round in 0..=rounds {
            for (times, (name, _, job)) in times.iter_mut().zip(&mut jobs) {
                let began = Instant::now();
                let output = job.output().unwrap_or_else(|why| panic!("{name}: {why}"));
                let took = began.elapsed().as_secs_f64();
                assert!(
                    output.status.success() && output.stdout.len() > 100,
                    "{name}"
                );
                if round > 0 {
                    times.push(took); // The first round warms the caches.
                }
            }
        }
        for ((name, program, _), own) in jobs.iter().zip(&times) {
            let ratios = own.iter().zip(&times[0]).map(|(own, rg)| own / rg);
            println!(
                "| {count} | {name} | {program} | {:.1} ms | {:.2} |",
                median(own.clone()) * 1e3,
                median(ratios.collect())
            );
        }
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("\nLoad {}.", load.split(' ').next().unwrap_or("unknown"));
}

fn command(program: &str, words: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(dir).stdin(Stdio::null());
    command
}

/// A tree of tickets: each waits for up to four others, and for one further down.
fn fill(dir: &Path, count: usize) {
    let tickets = dir.join(".tickets");
    fs::create_dir(&tickets).unwrap();
    for n in 0..count {
        let deps: Vec<String> = (4 * n + 1..=4 * n + 4)
            .chain([2 * n + 7])
            .filter(|dep| *dep < count)
            .map(|dep| format!("tt-{dep:05}"))
            .collect();
        let status = if n % 5 == 4 { "closed" } else { "open" };
        let tag = if n % 7 == 0 { "ui" } else { "back" };
        let text = format!(
            "---\nid: tt-{n:05}\nstatus: {status}\ndeps: [{}]\nlinks: []\ncreated: 2026-11-20T23:16:10Z\ntype: task\npriority: {}\nassignee: Ann Ex\ntags: [{tag}]\n---\n# Ticket number {n}\n\n{}",
            deps.join(", "),
            n % 5,
            "What is to be done, in a few words and lines.\n".repeat(1 + n % 20)
        );
        fs::write(tickets.join(format!("tt-{n:05}.md")), text).unwrap();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
