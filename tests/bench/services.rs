//! The overhead of each networked tool over its service: from the last byte of the reply to the text of the result, on the largest sample. Prints a
//! Markdown table.
//!
//! usage: `cargo bench --bench services`. Reads the samples beside the checkout; without them there is nothing to measure.

#![allow(clippy::restriction, reason = "a measurement may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "only the cells of it")]
mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use marvin::testing::services::{SERVICES, variable};
use marvin::testing::tools::{SessionContext, ToolContext, ToolPolicy, run_one};
use marvin::testing::{Cancel, Env, NullSink, ToolCall};
use serde_json::Value;
use support::samples::{Sample, samples};

/// Runs of each call.
const RUNS: usize = 40;

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return; // `cargo test --all-targets` starts this too.
    }
    println!(
        "| tool | sample | size | reply in to text out, median (at most 2 ms) | worst of {RUNS} | whole call | holds |\n|---|---|---|---|---|---|---|"
    );
    for (tool, service, name, args) in rows() {
        let Some(samples) = samples("bench", service) else {
            return;
        };
        let sample = samples.iter().find(|sample| sample.name == name);
        let Some(sample) = sample else {
            eprintln!("no sample {service}/{name}");
            continue;
        };
        let (mut own, mut whole): (Vec<f64>, Vec<f64>) =
            (0..=RUNS).map(|_| run(tool, sample, &args)).unzip();
        // The first run loads what the process has not used before.
        own.remove(0);
        whole.remove(0);
        let half = median(&mut own);
        println!(
            "| `{tool}` | {service}/{name} | {:.0} kB | {half:.2} ms | {:.2} ms | {:.2} ms | {} |",
            sample.bytes.len() as f64 / 1e3,
            own.last().unwrap(),
            median(&mut whole),
            table::holds(Some(half <= 2.0))
        );
    }
    println!("{}", table::load());
}

/// Milliseconds from the reply's last byte to the result, and of the whole call.
fn run(tool: &str, sample: &Sample, args: &Value) -> (f64, f64) {
    let server = sample.server();
    let home = tempfile::tempdir().unwrap();
    let url = server.url("");
    let config = home.path().join("config");
    let mut vars: Vec<(String, String)> = [
        ("HOME", home.path().display().to_string()),
        ("MARVIN_CONTACT", "bench@example.org".to_owned()),
        ("MARVIN_CONFIG_DIR", config.display().to_string()),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("MARVIN_ALLOW_PRIVATE", server.address().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for service in SERVICES {
        vars.push((variable(service.id), url.clone()));
        if let Some(key) = service.key {
            vars.push((key.to_owned(), "bench-key-bench-key".to_owned()));
        }
    }
    let env = Env::new(
        vars.into_iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    let bounds = ToolPolicy::new(&env, &mut |_| {});
    let ctx = ToolContext::new(
        Arc::new(SessionContext::new(env, bounds)),
        Cancel::new(),
        Arc::new(NullSink),
    );
    let call = ToolCall::new("bench", tool, args.to_string().replace("SERVER", &url));
    let began = Instant::now();
    let ended = run_one(&ctx, &call);
    let done = Instant::now();
    if ended.output.failed {
        eprintln!("{tool} fails: {}", ended.output.text);
    }
    let last = server.requests().len().saturating_sub(1);
    let answered = server.answered(last).unwrap_or(done);
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    (
        millis(done.saturating_duration_since(answered)),
        millis(done - began),
    )
}

fn median(values: &mut [f64]) -> f64 {
    #[allow(
        clippy::disallowed_methods,
        reason = "a benchmark may be as large as it likes"
    )]
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Tool, service, its largest sample that the tool takes for a success, arguments.
const ROWS: &str = r#"
weather_forecast open-meteo forecast-tool.json {"latitude": 48.4, "longitude": -4.48}
estimate_travel_time osrm route-no-steps.json {"origin_lat": 52.517037, "origin_lng": 13.388860, "dest_lat": 52.529407, "dest_lng": 13.397634}
get_directions osrm route-steps-roundabouts.json {"origin_lat": 41.928821, "origin_lng": 8.732901, "dest_lat": 41.953932, "dest_lng": 8.763850}
get_my_location ip-geolocation ip-api-success.json {}
places_text_search google-places text-search-full.json {"text_query": "pizza"}
osm_search nominatim search-json-cologne.json {"query": "Cologne"}
overpass_query overpass way-center.json {"query": "node[amenity=cafe](50,6,51,7);out;"}
web_search duckduckgo html-ad-and-missing-snippet.html {"query": "rust"}
read_rss rss rss2-cloudflare.xml {"url": "SERVER/feed.xml", "max_items": 20}
search_movies omdb search-star-wars.json {"query": "Star Wars"}
get_movie_details omdb title-thelma-and-louise.json {"imdb_id": "tt0103074"}
search_games rawg search-doom.json {"query": "doom"}
steam_app_details steam appdetails-379720.json {"app_id": 379720}
music_lookup musicbrainz recording-lookup.json {"entity": "recording", "mbid": "cb2cc207-8125-445c-9ef9-6ea44eee959a"}
recipe_search themealdb search-arrabiata.json {"query": "arrabiata"}
wiki_full wikipedia extract-full.json {"title": "Odin"}
wiki_search wikipedia search.json {"query": "odin"}
search_papers semantic-scholar search.json {"query": "attention"}
search_arxiv arxiv query-testing.xml {"query": "testing", "max_results": 20}
stack_search stackexchange search-advanced.json {"query": "borrow"}
stack_answers stackexchange answers-withbody.json {"question_id": 1}
dictionary_lookup dictionaryapi success.json {"word": "hello"}
translate_text mymemory autodetect-zh.json {"text": "hello", "target_language": "zh"}
convert_units frankfurter v1-usd-eur.json {"value": 5, "from_unit": "USD", "to_unit": "EUR"}
"#;

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str, Value)> {
    ROWS.lines().skip(1).map(|line| {
        let mut words = line.splitn(4, ' ');
        let mut next = || words.next().unwrap();
        let (tool, service, sample) = (next(), next(), next());
        (tool, service, sample, serde_json::from_str(next()).unwrap())
    })
}
