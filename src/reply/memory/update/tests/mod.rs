//! What was said becomes a diary entry and facts, with a model that plays a script.

mod diary;
mod graph;
mod maintenance;

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use jiff::civil::date;

use super::extract::Fact;
use super::*;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::disk::paths::Paths;
use crate::reply::dialogue::PendingRow;
use crate::reply::models::stage::{Stage, StageRequest};
use crate::reply::settings::TraceLevel;
use crate::reply::testing::TraceLines;
use crate::store::memory::{Branch, SPLIT_TOKENS};

/// Answers of stages, in order; a stage without one left fails.
#[derive(Default)]
struct Script {
    answers: Mutex<Vec<(Stage, String)>>,
    /// Stages and user messages of the calls.
    calls: Mutex<Vec<(Stage, String)>>,
    /// Runs before an answer is given.
    meanwhile: Option<Box<dyn Fn(Stage) + Send + Sync>>,
}

impl Script {
    fn new(answers: &[(Stage, &str)]) -> Self {
        let answers = answers
            .iter()
            .map(|(stage, text)| (*stage, (*text).to_owned()));
        Self {
            answers: Mutex::new(answers.collect()),
            ..Self::default()
        }
    }

    fn stages(&self) -> Vec<Stage> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(stage, _)| *stage).collect()
    }

    fn user(&self, call: usize) -> String {
        self.calls.lock().unwrap()[call].1.clone()
    }
}

impl StageModel for Script {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        assert!(!request.system.is_empty() && !request.system.contains("{{"));
        assert!(!request.user.contains("{{"), "{}", request.user);
        let call = (request.stage, request.user.to_owned());
        self.calls.lock().unwrap().push(call);
        if let Some(meanwhile) = &self.meanwhile {
            meanwhile(request.stage);
        }
        let mut answers = self.answers.lock().unwrap();
        match answers
            .iter()
            .position(|(stage, _)| *stage == request.stage)
        {
            Some(at) => Ok(answers.remove(at).1),
            None => Err(Problem::timeout("The model took too long.")),
        }
    }
}

fn store(home: &Path) -> MemoryStore {
    let env = Env::from([
        ("MARVIN_CONFIG_DIR", home.to_str().unwrap()),
        ("MARVIN_NOW", "2026-11-22T00:30:00+00:00[UTC]"),
    ]);
    let profile = Paths::new(&env).profile("main").unwrap();
    MemoryStore::open_alone(&profile, &Clock::new(&env))
}

fn pending(rows: &[&str]) -> PendingDialogue {
    // Each update is told something new.
    static SECONDS: AtomicI64 = AtomicI64::new(0);
    let first: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
    let rows = rows.iter().map(|row| PendingRow {
        at: first + SignedDuration::from_secs(SECONDS.fetch_add(1, Ordering::Relaxed)),
        text: (*row).to_owned(),
    });
    PendingDialogue {
        rows: rows.collect(),
        spoken: false,
    }
}

/// Runs the update; returns what it said and the lines of the trace.
fn update(memory: &MemoryStore, script: &Script, rows: &[&str]) -> (Outcome<bool>, Vec<String>) {
    let lines = Arc::new(TraceLines::default());
    let trace = Trace::new(TraceLevel::Brief, lines.clone());
    let outcome = run(
        memory,
        script,
        &ReplySettings::default(),
        &pending(rows),
        &trace,
        memory.now(),
        &Cancel::new(),
    );
    (outcome, lines.take())
}

const SUMMARY: (Stage, &str) = (
    Stage::Summariser,
    "SUMMARY: The user has a hen.\nShe is called Ada.\nTOPICS: hens, pets, names",
);

fn facts(memory: &MemoryStore, id: &str) -> Vec<String> {
    let node = memory.node(id).unwrap().unwrap();
    node.facts().map(ToOwned::to_owned).collect()
}

fn fact(memory: &MemoryStore, id: &str, facts: &[&str]) {
    let facts: Vec<String> = facts.iter().map(|fact| (*fact).to_owned()).collect();
    memory.append(id, &facts).unwrap();
}
