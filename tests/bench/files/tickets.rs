//! Lists, queries and the dependency tree over many tickets, against `rg -c` over the same folder.

use std::fs;
use std::path::Path;

use super::race::{Job, race};
use super::table;

/// Prints the table. `BENCH_TK` names the ticket script to compare with.
pub(crate) fn table(marvin: &str, rounds: usize) {
    let script = std::env::var("BENCH_TK").ok();
    println!(
        "| tickets | work | program | wall | x `rg -c` (at most 1.5) | holds |\n|---|---|---|---|---|---|"
    );
    for count in [1_000, 10_000, 40_000] {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), count);
        let tickets = dir.path().join(".tickets");
        let ripgrep = ["-c", "^status:", tickets.to_str().unwrap()];
        let mut jobs = vec![Job::new("`rg -c ^status: `", "rg", &ripgrep, dir.path())];
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
            jobs.push(Job::new(name, marvin, &own, dir.path()));
            // The script takes minutes for large trees.
            if let (Some(script), true) = (&script, count <= 1_000 || !name.starts_with("tree")) {
                jobs.push(Job::new(name, script, &words, dir.path()));
            }
        }
        for run in race(&mut jobs, rounds) {
            let own = run.program == "marvin";
            println!(
                "| {count} | {} | {} | {:.1} ms | {:.2} | {} |",
                run.name,
                run.program,
                run.wall,
                run.ratio,
                table::holds(own.then_some(run.ratio <= 1.5))
            );
        }
    }
}

/// A dependency tree of tickets: each depends on up to four others, and on one further down.
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
