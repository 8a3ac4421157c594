//! The reply flow's own time: from the user's line to the answer, without the model's. Every tool is in the catalogue, the memory holds ten thousand
//! diary entries and as many places in its graph. Then a diary of a hundred thousand entries: its index is made once, the next process has it. Prints
//! Markdown tables.
//!
//! usage: `cargo bench --bench reply [-- ENTRIES …]`, with numbers of entries to compare.

#![allow(clippy::restriction, reason = "a measurement may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "only the cells of it")]
mod table;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::home::Home;
use support::run::{Marvin, Running};
use support::server::{Answer, Request, Server};

/// Replies of a conversation.
const REPLIES: usize = 101;
const LIMIT: Duration = Duration::from_secs(60);
/// The flow's own time: of a process's first reply, and of the later ones.
const FIRST_REPLY_LIMIT: Duration = Duration::from_millis(150);
const REPLY_LIMIT: Duration = Duration::from_millis(3);
/// A large memory, and the limits with it: the first reply of a process, its peak memory, and a search.
const MANY_ENTRIES: usize = 100_000;
const PLACES: usize = 10_000;
const LARGE_FIRST_REPLY_LIMIT: Duration = Duration::from_millis(300);
const LARGE_PEAK_LIMIT: f64 = 60.0;
const SEARCH_LIMIT: Duration = Duration::from_millis(50);
/// Processes that are measured with it.
const PROCESSES: usize = 5;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    let mut sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let is_whole = sizes.is_empty();
    if is_whole {
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
    if is_whole {
        large_memory();
    }
    println!("{}", table::load());
}

/// Replies and searches with a large memory, medians of some processes.
fn large_memory() {
    let home = Home::new();
    write_memory(&home, MANY_ENTRIES, PLACES, &long_summary);
    let diary = home.path().join(MEMORY).join("diary.json");
    let size = std::fs::metadata(diary).unwrap().len() as f64 / 1e6;
    let (making, making_peak) = first_reply(&home);
    let replies: Vec<(Duration, f64)> = (0..PROCESSES).map(|_| first_reply(&home)).collect();
    let first = median(replies.iter().map(|(time, _)| *time));
    let peak = replies
        .iter()
        .fold(0.0_f64, |most, (_, peak)| most.max(*peak));
    let search = median((0..PROCESSES).map(|_| search(&home)));
    println!(
        "\n{MANY_ENTRIES} entries ({size:.0} MB) in the diary, {PLACES} in the graph; `--version` of the same program takes {}.\n",
        millis(median(
            (0..PROCESSES).map(|_| timed(home.marvin().arg("--version")))
        ))
    );
    println!("{}", table::HEAD);
    let rows = [
        ("first reply that makes the index", "", millis(making), None),
        (
            "the same, peak memory",
            "",
            format!("{making_peak:.1} MB"),
            None,
        ),
        (
            "first reply of the next processes",
            "at most 300 ms",
            millis(first),
            Some(first <= LARGE_FIRST_REPLY_LIMIT),
        ),
        (
            "the same, peak memory",
            "at most 60 MB",
            format!("{peak:.1} MB"),
            Some(peak <= LARGE_PEAK_LIMIT),
        ),
        (
            "`marvin memory search`, whole process",
            "at most 50 ms",
            millis(search),
            Some(search <= SEARCH_LIMIT),
        ),
    ];
    for (what, wanted, measured, holds) in rows {
        let what = what.to_owned();
        let row = table::Row {
            what,
            wanted,
            measured,
            holds,
        };
        println!("{row}");
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn timed(marvin: Marvin) -> Duration {
    let began = Instant::now();
    marvin.limit(LIMIT).run().expect(0);
    began.elapsed()
}

fn search(home: &Home) -> Duration {
    let words = ["memory", "search", "harbour7", "lanterns"];
    timed(home.marvin().args(words))
}

/// The flow's own time of the first reply of a process, and its peak memory in MB after that.
fn first_reply(home: &Home) -> (Duration, f64) {
    let mut conversation = Conversation::begin(home);
    let time = conversation.reply(0);
    let status = std::fs::read_to_string(format!(
        "/proc/{}/status",
        conversation.marvin.pid().as_raw_nonzero()
    ));
    let status = status.unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<f64>().ok());
    conversation.marvin.kill();
    (time, peak.unwrap_or(f64::NAN) * 1024.0 / 1e6)
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// When a request had arrived.
type Arrivals = Arc<Mutex<Vec<Instant>>>;

/// A conversation whose replies are timed.
struct Conversation {
    server: Server,
    arrivals: Arrivals,
    marvin: Running,
    /// Requests that were counted.
    counted: usize,
}

impl Conversation {
    fn begin(home: &Home) -> Self {
        let arrivals = Arrivals::default();
        let noted = Arc::clone(&arrivals);
        let server = Server::answering(move |request, _| {
            noted.lock().unwrap().push(Instant::now());
            answer(request)
        });
        Self {
            marvin: chat(home, &server).spawn(),
            server,
            arrivals,
            counted: 0,
        }
    }

    /// The own time of the reply to a question.
    fn reply(&mut self, n: usize) -> Duration {
        let began = Instant::now();
        let question = format!("question {n}: which word{n} did I like in the port\n");
        self.marvin.write(question.as_bytes());
        let done = self.marvin.wait_stdout(&format!("Answer {n}."), LIMIT);
        let arrived = self.arrivals.lock().unwrap().clone();
        let mut time = Duration::ZERO;
        let mut from = began;
        for (index, at) in arrived.iter().enumerate().skip(self.counted) {
            time += at.saturating_duration_since(from);
            from = self.server.answered(index).unwrap_or(*at);
        }
        self.counted = arrived.len();
        time + done.saturating_duration_since(from)
    }
}

/// Model calls a reply, and the own time of each reply.
fn converse(entries: usize) -> (f64, Vec<Duration>) {
    let home = Home::new();
    if entries > 0 {
        write_memory(&home, entries, entries, &short_summary);
    }
    let mut conversation = Conversation::begin(&home);
    let own = (0..REPLIES).map(|n| conversation.reply(n)).collect();
    let calls = conversation.counted as f64 / REPLIES as f64;
    conversation.marvin.close_stdin();
    conversation.marvin.wait();
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

const MEMORY: &str = "config/profiles/main/memory";

fn short_summary(n: usize) -> String {
    format!(
        "The user talked about word{} and word{} in the port of town {}. They liked the boats and the evening light.",
        n % 97,
        n % 89,
        n % 31
    )
}

/// A summary of a day as a model writes it, from 300 to 600 characters.
fn long_summary(n: usize) -> String {
    let day = [
        format!("The user planned a trip to harbour{} with a friend and asked which boats go there in winter.", n % 997),
        format!("The assistant said that the ferry of line {} leaves at seven; the user corrected that to a quarter past seven.", n % 211),
        format!("They like word{} more than word{}, and prefer trains to planes wherever that is possible.", n % 9_973, n % 89),
        format!("Their sister {} has moved to town {} and repairs old clocks.", n % 4_001, n % 31),
        "They want to learn how bread is baked, and wrote down a recipe with rye, salt and patience.".to_owned(),
        format!("In the evening they listened to a concert by the river and counted {} lanterns.", n % 7_919),
    ];
    let parts = day.iter().cycle().skip(n % 6).take(3 + n % 4);
    parts.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Writes the memory of somebody who talked for years.
fn write_memory(home: &Home, entries: usize, places: usize, summary: &dyn Fn(usize) -> String) {
    let folder = Path::new(MEMORY);
    let at = "2026-01-10T08:00:00Z";
    let day = |n: usize| {
        let first = jiff::civil::date(if entries > 20_000 { 1753 } else { 1990 }, 1, 1);
        let date = first + jiff::Span::new().days(i64::try_from(n).unwrap());
        date.to_string()
    };
    let rows: Vec<String> = (0..entries)
        .map(|n| {
            json!({"date": day(n), "source": "text", "summary": summary(n),
                "topics": [format!("topic{}", n % 53), "port", "boats"], "created": at, "updated": at})
            .to_string()
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
    nodes.extend((0..places).map(|n| {
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
    // One record a line, as Marvin writes it.
    let nodes: Vec<String> = nodes.iter().map(Value::to_string).collect();
    let head = format!("{{\"version\":1,\"saved_through\":\"{at}\"");
    home.write(
        folder.join("diary.json").to_str().unwrap(),
        format!("{head},\"rows\":[\n{}\n]}}\n", rows.join(",\n")),
    );
    home.write(
        folder.join("graph.json").to_str().unwrap(),
        format!("{{\"version\":1,\"nodes\":[\n{}\n]}}\n", nodes.join(",\n")),
    );
}
