//! How well a model does in the reply flow: the questions and conversations of `fixtures/reply`, and what is said in the flow's own cases, asked of the real
//! binary. Every request to the model goes through a recorder here; a table says what came out, and what went wrong is kept.
//!
//! `cargo test --test evaluate` asks a scripted model a few questions. A real one, as `just evaluate MODEL` does:
//!
//! usage: `cargo test --release --test evaluate -- --model MODEL [--provider NAME] [--limit N] [--only questions|conversations|cases] [--memory]
//! [--seconds N] [--keep FOLDER]`, or `--prompts` for the prompts that a model gets.
//!
//! `--limit` asks so many of each, from all languages; a reply of more than `--seconds` (600) is none; with `--memory` Marvin remembers, in more calls.
//!
//! MODEL `scripted:FAMILY` is a model that calls the right tool as a family of models writes it; `scripted:` alone is all of them.

#![allow(clippy::restriction, reason = "a test may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

mod families;
mod judge;
mod options;
mod prompts;
mod recorder;
mod run;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod world;

use options::{Model, Options};
use run::Item;
use table::Table;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&args) {
        Ok(Some(options)) => options,
        Ok(None) => return check_itself(&args),
        Err(wrong) => {
            eprintln!("{wrong}");
            std::process::exit(2);
        }
    };
    if options.prompts {
        return prompts::print();
    }
    for model in options.models() {
        evaluate(&model, &options);
    }
}

/// Asks everything, prints the table, keeps what went wrong.
fn evaluate(model: &Model, options: &Options) -> Table {
    let mut table = Table::default();
    let items = Item::all(options);
    for (number, item) in items.iter().enumerate() {
        let outcome = run::ask(item, model, options);
        let wrong = outcome.complaints();
        if !wrong.is_empty() {
            let file = outcome.keep(&options.keep, &model.file_name(), item);
            eprintln!(
                "{}/{} {}: {} ({file})",
                number + 1,
                items.len(),
                item.name(),
                wrong.join("; ")
            );
        }
        table.add(item, &outcome);
    }
    println!("{}", table.render(&model.name()));
    table
}

/// What `cargo test` runs: a scripted model of each family that the flow teaches or offers is right everywhere, and one that calls nothing nowhere.
fn check_itself(args: &[String]) {
    let is_wanted = |arg: &String| arg.starts_with('-') || "evaluate".contains(arg.as_str());
    if !args.iter().all(is_wanted) || args.iter().any(|arg| arg == "--list") {
        println!("0 passed, 0 failed");
        return;
    }
    let keep = tempfile::tempdir().unwrap();
    let options = Options::short(keep.path());
    for (family, is_right) in [("taught", true), ("native", true), ("silent", false)] {
        let table = evaluate(&Model::Scripted(families::find(family).unwrap()), &options);
        let right = table.right_tools();
        assert_eq!(right.0 == right.1, is_right, "{family}: {right:?}");
        assert!(
            table.is_clean(),
            "{family} shows machinery, or does not end"
        );
        let kept = std::fs::read_dir(keep.path()).unwrap().count();
        assert_eq!(kept == 0, is_right, "{family}: {kept} recordings");
    }
    println!("1 passed, 0 failed");
}
