//! How tools are found for a message: the 300 questions of `fixtures/reply` in eight languages, asked of each way to choose. Prints a Markdown table:
//! whether one of the right tools is among those that the chat model is shown, and how many tokens these take.
//!
//! usage: `cargo bench --bench choosing`. Meaning needs a model for embeddings: one on an Ollama server when `OLLAMA_URL` and `MARVIN_REPLY_EMBED_MODEL`
//! name it, and otherwise a stand-in that knows spelling alone. `CHOOSING_MISSED=1` lists the questions that were missed, without those held out.

#![allow(clippy::restriction, reason = "a measurement may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "only the cells of it")]
mod table;

use std::collections::HashSet;
use std::env;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use marvin::testing::tokens::o200k;
use marvin::testing::tools;
use serde_json::{Value, json};
use support::forward::forward;
use support::home::Home;
use support::questions::{Question, is_held_out, questions};
use support::server::{Answer, Request, Server};
use support::stages::{content, ollama_says, stage_of};

const LIMIT: Duration = Duration::from_secs(600);
const LANGUAGES: [&str; 8] = ["en", "de", "fr", "es", "pl", "ru", "ja", "zh"];
/// More than any strategy picks: nothing fitted, and the model is shown what most questions need.
const FELL_OPEN: usize = 9;
/// Length of the stand-in's vectors.
const DIMENSIONS: usize = 1_024;

/// The tools that the chat model was shown.
struct Shown {
    names: Vec<String>,
    tokens: u64,
}

fn main() {
    if !env::args().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let questions = questions();
    let real = real_embeddings();
    println!(
        "{} questions; every third is held out: not looked at when words and weights were chosen. Meaning: {}.\n",
        questions.len(),
        real.as_ref().map_or_else(
            || "a stand-in that knows spelling alone".to_owned(),
            |(_, model)| format!("`{model}`")
        )
    );
    println!(
        "| picked by | right tool shown | held out | tools shown | tokens | nothing fitted | {} |\n|---|---|---|---|---|---|{}",
        LANGUAGES.join(" | "),
        "---|".repeat(LANGUAGES.len())
    );
    for strategy in ["all", "keyword", "embedding", "both"] {
        let shown = ask_all(strategy, &questions, real.clone());
        println!("{}", row(strategy, &questions, &shown));
        if env::var_os("CHOOSING_MISSED").is_some() {
            list_missed(&questions, &shown);
        }
    }
    println!("{}", table::load());
}

/// Server and model of the environment.
fn real_embeddings() -> Option<(String, String)> {
    let model = env::var("MARVIN_REPLY_EMBED_MODEL").ok()?;
    Some((env::var("OLLAMA_URL").ok()?, model))
}

fn row(strategy: &str, questions: &[Question], shown: &[Shown]) -> String {
    let right = |wanted: &dyn Fn(usize, &Question) -> bool| {
        let all = questions.iter().zip(shown).enumerate();
        let all = all.filter(|(number, (question, _))| wanted(*number, question));
        let (mut of, mut right) = (0, 0);
        for (_, (question, shown)) in all {
            of += 1;
            right += usize::from(is_right(question, shown));
        }
        format!(
            "{:.0} %",
            100.0 * f64::from(right as u32) / f64::from(of as u32)
        )
    };
    let mean = |number: &dyn Fn(&Shown) -> u64| {
        let sum: u64 = shown.iter().map(number).sum();
        sum as f64 / shown.len() as f64
    };
    let open = shown.iter().filter(|one| one.names.len() >= FELL_OPEN);
    let by_language = LANGUAGES.map(|language| right(&|_, question| question.language == language));
    format!(
        "| {strategy} | {} | {} | {:.1} | {:.0} | {} | {} |",
        right(&|number, _| !is_held_out(number)),
        right(&|number, _| is_held_out(number)),
        mean(&|one| one.names.len() as u64),
        mean(&|one| one.tokens),
        open.count(),
        by_language.join(" | ")
    )
}

fn is_right(question: &Question, shown: &Shown) -> bool {
    question.tools.iter().any(|tool| shown.names.contains(tool))
}

fn list_missed(questions: &[Question], shown: &[Shown]) {
    for (number, (question, shown)) in questions.iter().zip(shown).enumerate() {
        if !is_held_out(number) && !is_right(question, shown) {
            let Question { text, tools, .. } = question;
            eprintln!("{text} ({}): {}", tools.join(", "), shown.names.join(", "));
        }
    }
}

/// What a small model is shown for each question.
fn ask_all(strategy: &str, questions: &[Question], real: Option<(String, String)>) -> Vec<Shown> {
    let home = Home::new();
    let shown: Arc<Mutex<Vec<Shown>>> = Arc::default();
    let known: HashSet<&str> = tools::all().map(|tool| tool.name).collect();
    let model = real
        .as_ref()
        .map_or("stand-in", |(_, model)| model)
        .to_owned();
    let kept = Arc::clone(&shown);
    let server = Server::answering(move |request, _| {
        if request.path.ends_with("/api/embed") {
            return match &real {
                Some((url, _)) => forward(url, request, LIMIT).answer(),
                None => spelling_vectors(request),
            };
        }
        if !request.path.ends_with("/api/chat") {
            return Answer::status(404);
        }
        let body = request.json();
        if stage_of(&body) == "chat" {
            kept.lock().unwrap().push(read_shown(&body, &known));
        }
        ollama_says(&body, "Done.")
    })
    .lenient();
    let mut marvin = home
        .marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .env("MARVIN_REPLY_TOOL_SELECTION_STRATEGY", strategy)
        .env("MARVIN_REPLY_EMBED_MODEL", model)
        .env("MARVIN_REPLY_PLANNER_ENABLED", "false")
        .env("MARVIN_REPLY_MEMORY_ENABLED", "false")
        .arg("--plain")
        .stdin_open()
        .limit(LIMIT)
        .spawn();
    for question in questions {
        marvin.write(format!("{}\n", question.text).as_bytes());
    }
    marvin.close_stdin();
    marvin.wait().expect(0);
    let shown = std::mem::take(&mut *shown.lock().unwrap());
    assert_eq!(shown.len(), questions.len(), "one answer for each question");
    shown
}

/// The tools in the system message: `name: description`, and below it the parameters.
fn read_shown(body: &Value, known: &HashSet<&str>) -> Shown {
    let system = content(&body["messages"][0]);
    let (mut names, mut text) = (Vec::new(), String::new());
    let mut is_entry = false;
    for line in system.lines() {
        let name = line.split_once(": ").map(|(name, _)| name);
        if let Some(name) = name.filter(|name| known.contains(name)) {
            names.push(name.to_owned());
            is_entry = true;
        } else {
            is_entry = is_entry && line.starts_with("  ");
        }
        if is_entry {
            text.push_str(line);
            text.push('\n');
        }
    }
    Shown {
        names,
        tokens: o200k(&text),
    }
}

/// Vectors of the three-letter parts of words: texts of the same spelling have the same direction.
fn spelling_vectors(request: &Request) -> Answer {
    let body = request.json();
    let texts = body["input"].as_array().unwrap().iter();
    let vectors: Vec<Vec<f32>> = texts
        .map(|text| spelling_vector(text.as_str().unwrap()))
        .collect();
    Answer::json(&json!({"embeddings": vectors}))
}

fn spelling_vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    // No direction at all is no vector.
    vector[0] = 0.01;
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let letters: Vec<char> = format!("^{word}$").chars().collect();
        for part in letters.windows(3) {
            let hash = part.iter().fold(17_usize, |hash, letter| {
                hash.wrapping_mul(31).wrapping_add(*letter as usize)
            });
            vector[hash % DIMENSIONS] += 1.0;
        }
    }
    vector
}
