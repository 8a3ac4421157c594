//! Many files of a user: tickets, notes, events, bookmarks; prints Markdown tables.
//!
//! usage: `cargo bench --bench files [-- --quick]`. `BENCH_MARVIN` names another build.

#![allow(clippy::restriction, reason = "a measurement may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

mod person;
mod race;
#[path = "../table.rs"]
#[allow(dead_code, reason = "only the cells of it")]
mod table;
mod tickets;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let ripgrep = std::process::Command::new("rg").arg("--version").output();
    if ripgrep.is_err() {
        println!(
            "ripgrep is not on PATH; its times are what these are compared with. Not measured."
        );
        return;
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    let marvin =
        std::env::var("BENCH_MARVIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_marvin").into());
    let rounds = if quick { 3 } else { 15 };
    person::table(&marvin, rounds);
    println!();
    tickets::table(&marvin, rounds);
    println!("{}", table::load());
}
