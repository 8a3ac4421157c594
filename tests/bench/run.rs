//! The benchmark of whole processes against a local server; prints a Markdown table.
//!
//! usage: `cargo bench [-- --quick]`. `BENCH_AICHAT` names an aichat to compare with where none is on PATH, and
//! `BENCH_MARVIN` another build of Marvin to measure. All programs of a
//! row run in turn, round after round; numbers are medians, ratios are medians of the ratios within a round.

#![allow(
    clippy::restriction,
    unreachable_pub,
    reason = "a measurement may panic and print"
)]
#![warn(clippy::todo, clippy::dbg_macro)]

mod acp;
mod clutter;
mod commands;
mod contender;
mod extensions;
mod measure;
mod rows;
mod series;
mod table;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "--measure") {
        measure::help(&args[1..]);
        return;
    }
    if !args.iter().any(|a| a == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let quick = args.iter().any(|a| a == "--quick");
    let stage = contender::Stage::set();
    let mut limits = Vec::new();
    println!("| work | program | wall | CPU | x floor (wall) | x floor (CPU) | peak |");
    println!("|---|---|---|---|---|---|---|");
    let one = rows::whole_processes(&stage, quick, &mut limits);
    rows::streams(&stage, &one, quick, &mut limits);
    println!("\n| work | program | measured |\n|---|---|---|");
    rows::loops(&stage, quick, &mut limits);
    println!("\n| one-shot of Marvin | wall | CPU | x empty home (wall) | x empty home (CPU) |");
    println!("|---|---|---|---|---|");
    clutter::rows(&stage, quick, &mut limits);
    extensions::rows(&stage, quick, &mut limits);
    commands::rows(&stage, quick, &mut limits);
    acp::rows(&stage, quick, &mut limits);
    limits.push(rows::size(&stage));
    println!("\n{}", table::HEAD);
    for row in limits {
        println!("{row}");
    }
    println!("\n{}\n{}", rows::conditions(&stage), table::load());
}
