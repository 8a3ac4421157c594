//! The benchmark of the full-screen interface: the release binary on a terminal of its own, talking to a provider in this process.
//!
//! usage: `cargo bench --bench interactive [-- ROW…]`, with words that the rows' names must contain. `BENCH_AICHAT` names an aichat to
//! compare with where none is on PATH, and `BENCH_MARVIN` another build of Marvin to measure.

#![allow(
    clippy::restriction,
    unreachable_pub,
    reason = "a measurement may panic and print"
)]
#![warn(clippy::todo, clippy::dbg_macro)]

mod place;
mod prose;
mod provider;
mod rest;
mod start;
mod stream;
#[path = "../table.rs"]
mod table;
mod terminal;

use table::Row;

/// A part of the benchmark: its name, and what it measures.
type Job = (&'static str, fn() -> Vec<Row>);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let jobs: [Job; 9] = [
        ("start", start::rows),
        ("keys", stream::keys),
        ("slowed", stream::slowed),
        ("bytes", stream::bytes),
        ("idle", rest::idle),
        ("cost", stream::cost),
        ("save", rest::save),
        ("memory", rest::memory),
        ("scroll", rest::scroll),
    ];
    println!("{}", table::HEAD);
    for (name, job) in jobs {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        for row in job() {
            println!("{row}");
        }
    }
    println!("{}", table::load());
}
