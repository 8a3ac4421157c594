//! The reply flow's own time: from the user's line to the answer, without the model's. Every tool is in the catalogue, the memory holds ten thousand
//! diary entries and as many places in its graph. Prints a Markdown table.
//!
//! usage: `cargo bench --bench reply [-- ENTRIES …]`, with numbers of entries to compare.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "only the cells of it")]
mod table;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::home::Home;
use support::run::Marvin;
use support::server::{Answer, Request, Server};

/// Replies of a conversation.
const REPLIES: usize = 25;
const LIMIT: Duration = Duration::from_secs(60);
/// The flow's own time: of a process's first reply, and of the later ones.
const FIRST_REPLY_LIMIT: Duration = Duration::from_millis(150);
const REPLY_LIMIT: Duration = Duration::from_millis(3);

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let mut sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![0, 1_000, 10_000];
    }
    println!(
        "| entries in diary and graph | model calls a reply | first reply (at most 150 ms) | median of the next {} (at most 3 ms) | worst | holds |\n|---|---|---|---|---|---|",
        REPLIES - 1
    );
    for size in sizes {
        let (calls, mut own) = converse(size);
        let first = own.remove(0);
        own.sort();
        let half = own[own.len() / 2];
        let holds = first <= FIRST_REPLY_LIMIT && half <= REPLY_LIMIT;
        println!(
            "| {size} | {calls:.1} | {} | {} | {} | {} |",
            millis(first),
            millis(half),
            millis(own[own.len() - 1]),
            table::holds(Some(holds))
        );
    }
    println!("{}", table::load());
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// When a request had arrived.
type Arrivals = Arc<Mutex<Vec<Instant>>>;

/// Model calls a reply, and the own time of each reply.
fn converse(entries: usize) -> (f64, Vec<Duration>) {
    let home = Home::new();
    memory(&home, entries);
    let arrivals = Arrivals::default();
    let noted = Arc::clone(&arrivals);
    let server = Server::answering(move |request, _| {
        noted.lock().unwrap().push(Instant::now());
        answer(request)
    });
    let mut marvin = chat(&home, &server).spawn();
    let (mut own, mut before) = (Vec::new(), 0);
    for n in 0..REPLIES {
        let began = Instant::now();
        marvin.write(format!("question {n}: which word{n} did I like in the port\n").as_bytes());
        let done = marvin.wait_stdout(&format!("Answer {n}."), LIMIT);
        let arrived = arrivals.lock().unwrap().clone();
        let mut time = Duration::ZERO;
        let mut from = began;
        for (index, at) in arrived.iter().enumerate().skip(before) {
            time += at.saturating_duration_since(from);
            from = server.answered(index).unwrap_or(*at);
        }
        own.push(time + done.saturating_duration_since(from));
        before = arrived.len();
    }
    let calls = before as f64 / REPLIES as f64;
    marvin.close_stdin();
    marvin.wait();
    (calls, own)
}

fn chat(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .arg("--plain")
        .stdin_open()
        .limit(LIMIT * 4)
}

/// What the model of each stage says.
fn answer(request: &Request) -> Answer {
    let body = request.json();
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    let stage = system
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("Stage: "));
    let last = body["messages"]
        .as_array()
        .and_then(|all| all.last())
        .cloned();
    let last = last.unwrap_or_default()["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let text = match stage {
        Some("router") => "search_notes, convert_units".to_owned(),
        Some("planner") => "searchMemory topic='the port'\nReply to the user.".to_owned(),
        Some("extractor") => {
            json!({"keywords": ["port", "word7", "harbour"], "questions": ["which words does the user like in the port"]}).to_string()
        }
        Some("memory_digest") => "The user likes short words.".to_owned(),
        Some("summariser") => "SUMMARY: The user asked about words.\nTOPICS: words, port, likes".to_owned(),
        Some(_) => "[]".to_owned(),
        None => {
            let number: String = last
                .split("question ")
                .last()
                .unwrap_or_default()
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            format!("Answer {number}.")
        }
    };
    let whole = json!({
        "model": "gemma4:e2b", "message": {"role": "assistant", "content": text}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 900, "eval_count": 30,
    });
    Answer::json(&whole)
}

/// Writes the memory of somebody who talked for years.
fn memory(home: &Home, entries: usize) {
    if entries == 0 {
        return;
    }
    let folder = Path::new("config/profiles/main/memory");
    let at = "2026-01-10T08:00:00Z";
    let day = |n: usize| {
        let date =
            jiff::civil::date(1990, 1, 1) + jiff::Span::new().days(i64::try_from(n).unwrap());
        date.to_string()
    };
    let rows: Vec<Value> = (0..entries)
        .map(|n| {
            json!({"date": day(n), "source": "text",
                "summary": format!("The user talked about word{} and word{} in the port of town {}. They liked the boats and the evening light.", n % 97, n % 89, n % 31),
                "topics": [format!("topic{}", n % 53), "port", "boats"], "created": at, "updated": at})
        })
        .collect();
    let node = |id: &str, parent: Value, name: &str, data: &str| {
        json!({"id": id, "parent": parent, "name": name, "description": format!("About {name}"), "data": data,
            "tokens": data.len() / 4, "accesses": 1, "last_access": at, "created": at, "updated": at})
    };
    let mut nodes = vec![
        node("root", Value::Null, "Root", ""),
        node("user", json!("root"), "User", "The user likes short words."),
        node("directives", json!("root"), "Directives", "Answer briefly."),
        node("world", json!("root"), "World", ""),
    ];
    let branches = ["user", "directives", "world"];
    nodes.extend((0..entries).map(|n| {
        let data = format!(
            "The user likes word{} in town {}.\nThe port of town {} has {} boats.",
            n % 97,
            n % 31,
            n % 31,
            n
        );
        node(
            &format!("n{n}"),
            json!(branches[n % 3]),
            &format!("Word {n}"),
            &data,
        )
    }));
    home.write(
        folder.join("diary.json").to_str().unwrap(),
        json!({"version": 1, "saved_through": at, "rows": rows}).to_string(),
    );
    home.write(
        folder.join("graph.json").to_str().unwrap(),
        json!({"version": 1, "nodes": nodes}).to_string(),
    );
}
