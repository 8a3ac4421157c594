//! The prompts as a model gets them, with their tokens.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use marvin::testing::tokens::o200k;
use serde_json::{Value, json};

use super::families;
use super::options::{Model, Options};
use super::recorder::Exchange;
use super::run::{self, Item};
use super::support::questions::Conversation;
use super::support::stages::content;

/// Prints the messages of the first request of every stage that a conversation has, for a small and a large model, and then the prompt files: the stages
/// that are missing have no more than one of these and what they work on.
pub(crate) fn print() {
    let mut options = Options::short(Path::new("target/evaluate"));
    options.memory = true;
    options.prompts = true;
    let item = Item::own(conversation());
    for (size, family) in [("a small model", "taught"), ("a large model", "native")] {
        let family = families::find(family).expect("a family");
        let outcome = run::ask(&item, &Model::Scripted(family), &options);
        let mut seen = BTreeSet::new();
        for exchange in outcome.exchanges {
            let is_question = !exchange.request["messages"].is_null();
            if is_question && seen.insert(exchange.stage.clone()) {
                print_request(size, &exchange);
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

/// One that a memory, a long note and two steps have to do with.
fn conversation() -> Conversation {
    let at = "2026-01-10T08:00:00Z";
    let day = |date: &str, of: &str| {
        let summary = format!("The user talked about {of}. ").repeat(8);
        json!({"date": date, "source": "text", "summary": summary, "topics": ["tea", "garden"], "created": at, "updated": at})
    };
    let node = |id: &str, parent: Value, name: &str, data: &str| {
        json!({"id": id, "parent": parent, "name": name, "description": format!("About {name}"), "data": data,
            "tokens": data.len() / 4, "accesses": 1, "last_access": at, "created": at, "updated": at})
    };
    let nodes = [
        node("root", Value::Null, "Root", ""),
        node("user", json!("root"), "User", "The user lives in Oban."),
        node("directives", json!("root"), "Directives", "Answer briefly."),
        node("world", json!("root"), "World", ""),
        node("tea", json!("user"), "Tea", "The user likes green tea."),
    ];
    let rows = [
        day("2026-01-08", "green tea in the garden"),
        day("2026-01-09", "the garden and the tea that they like"),
    ];
    let memory = "config/profiles/main/memory";
    let diary = json!({"version": 1, "saved_through": at, "rows": rows});
    let graph = json!({"version": 1, "nodes": nodes});
    let note = "Of the teas that we tried in the garden, sencha was the best by far. ".repeat(12);
    Conversation {
        language: "en".to_owned(),
        files: [
            (format!("{memory}/diary.json"), diary.to_string()),
            (format!("{memory}/graph.json"), graph.to_string()),
            ("Notes/tea.md".to_owned(), note),
        ]
        .into(),
        turns: vec![run::turn("which tea did I like best in the garden", None)],
    }
}
