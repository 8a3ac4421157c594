//! The prompts as a model gets them, with their tokens.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use marvin::testing::tokens::o200k;

use super::families;
use super::options::{Model, Options};
use super::recorder::Exchange;
use super::run::{self, Item};
use super::support::stages::content;

/// Prints the messages of the first request of every stage that a short conversation has, for a small and a large model, and then the prompt files.
pub(crate) fn print() {
    let keep = Path::new("target/evaluate");
    let mut options = Options::short(keep);
    options.memory = true;
    options.reply_limit = Duration::from_secs(60);
    for (size, family) in [("a small model", "taught"), ("a large model", "native")] {
        let Some(family) = families::find(family) else {
            continue;
        };
        let model = Model::Scripted(family);
        let mut seen = BTreeSet::new();
        for item in Item::all(&options) {
            for exchange in run::ask(&item, &model, &options).exchanges {
                if !exchange.request["messages"].is_null() && seen.insert(exchange.stage.clone()) {
                    print_request(size, &exchange);
                }
            }
        }
    }
    println!("# Prompt files\n");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prompts/reply");
    let files = fs::read_dir(folder).expect("the folder of prompts");
    let mut files: Vec<_> = files.map(|entry| entry.expect("a prompt").path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).expect("a prompt");
        let name = file.file_name().unwrap_or_default().display();
        println!("{:>6} tokens  {name}", o200k(&text));
    }
}

fn print_request(size: &str, exchange: &Exchange) {
    let messages = exchange.request["messages"]
        .as_array()
        .into_iter()
        .flatten();
    println!("# {} for {size}\n", exchange.stage);
    for message in messages {
        let text = content(message);
        let role = message["role"].as_str().unwrap_or_default();
        println!("## {role}, {} tokens\n\n{text}\n", o200k(&text));
    }
    let tools = &exchange.request["tools"];
    if !tools.is_null() {
        println!(
            "## tools, {} tokens\n\n{tools}\n",
            o200k(&tools.to_string())
        );
    }
}
