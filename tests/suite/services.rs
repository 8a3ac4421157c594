//! Every outside service by its fixtures (`fixtures/services`), through the built binary. Needs nothing but the checkout.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use marvin::testing::services::{SERVICES, service};
use serde_json::Value;

use crate::support::home::Home;
use crate::support::samples::cases::{Case, CaseKind, cases, folder, recorded_cases};
use crate::support::samples::{PROGRAMS, recordings};
use crate::support::shared::shared;

/// Services without fixtures, and why.
const WITHOUT_FIXTURES: [(&str, &str); 2] = [
    (
        "github",
        "answers git, not HTTP: world.rs clones from a repository of its own",
    ),
    (
        "groq-whisper",
        "no tool asks it: voice.rs plays its answers",
    ),
];

/// Folders that belong to no service of the table, and why.
const EXTRA_FOLDERS: [(&str, &str); 2] = [
    ("rss", "feeds of any site"),
    ("gh", "the program that asks GitHub"),
];

/// Tools that ask services and are in no case, and why.
const UNCALLED_TOOLS: [(&str, &str); 2] = [
    (
        "spotify_auth",
        "needs somebody at a browser: spotify.rs plays them",
    ),
    ("github_clone", "world.rs"),
];

fn ids() -> Vec<&'static str> {
    for (without, _) in WITHOUT_FIXTURES {
        assert!(service(without).is_some(), "there is no service {without}");
    }
    let own = SERVICES.iter().map(|service| service.id);
    let own = own.filter(|id| WITHOUT_FIXTURES.iter().all(|(without, _)| without != id));
    own.chain(EXTRA_FOLDERS.map(|(id, _)| id)).collect()
}

const THREADS: usize = 12;

/// Runs `work` for each id on some threads, because most of the time is waiting between two requests; everything that it returned.
fn each_at_once<T: Sync>(ids: &[T], work: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let faults = work(id);
                    all.lock().unwrap().extend(faults);
                }
            });
        }
    });
    all.into_inner().unwrap()
}

/// What is wrong in the cases of a service.
fn faults_of(id: &str, cases: Result<Vec<Case>, String>) -> Vec<String> {
    let cases = match cases {
        Ok(cases) => cases,
        Err(reason) => return vec![reason],
    };
    let faulty = |(n, case): (usize, &Case)| {
        let faults = case.faults(id);
        let head = format!("{id}, case {} ({:?}): {}", n + 1, case.kind, case.expect);
        (!faults.is_empty()).then(|| format!("{head}\n  {}", faults.join("\n  ")))
    };
    cases.iter().enumerate().filter_map(faulty).collect()
}

/// `MARVIN_TEST_SERVICE=ID` tries that one alone.
#[test]
fn each_service_response_gives_the_expected_result() {
    let only = std::env::var("MARVIN_TEST_SERVICE").ok();
    let mut ids = ids();
    ids.retain(|id| only.as_deref().is_none_or(|only| only == *id));
    let faults = each_at_once(&ids, |id| faults_of(id, cases(id)));
    assert!(faults.is_empty(), "\n{}", faults.join("\n\n"));
}

/// A recording that is no answer of a service: what a browser brings back.
const NO_ANSWER: &str = "spotify/callback-denied.txt";

#[test]
fn each_recorded_response_gives_the_expected_result() {
    let Some(beside) = shared("each_recorded_response_gives_the_expected_result") else {
        return;
    };
    let entries = fs::read_dir(folder().join("../recorded")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort_unstable();
    let played = Mutex::new(BTreeSet::new());
    let faults = each_at_once(&files, |file| {
        let cases = recorded_cases(file);
        let names = cases.iter().flatten().flat_map(Case::recordings);
        played.lock().unwrap().extend(names.map(str::to_owned));
        faults_of(file.file_stem().unwrap().to_str().unwrap(), cases)
    });
    assert!(faults.is_empty(), "\n{}", faults.join("\n\n"));
    let played = played.into_inner().unwrap();
    let folders: BTreeSet<&str> = played
        .iter()
        .filter_map(|name| name.split('/').next())
        .collect();
    for row in recordings(&beside) {
        let file = row["file"].as_str().unwrap();
        let ours = folders.contains(row["service"].as_str().unwrap()) && file != NO_ANSWER;
        assert!(!ours || played.contains(file), "nothing plays {file}");
    }
}

#[test]
fn each_service_has_a_good_an_empty_and_a_broken_response() {
    let mut faults = Vec::new();
    for id in ids() {
        let kinds: BTreeSet<CaseKind> = match cases(id) {
            Ok(cases) => cases.iter().map(|case| case.kind).collect(),
            Err(reason) => {
                faults.push(reason);
                continue;
            }
        };
        for kind in [CaseKind::Good, CaseKind::Empty, CaseKind::Broken] {
            if !kinds.contains(&kind) {
                faults.push(format!("{id} has no case of kind {kind:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_folder_of_fixtures_is_without_its_service_or_program() {
    let known = ids();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            known.contains(&name.as_str()),
            "fixtures/services/{name} belongs to no service"
        );
    }
    for entry in fs::read_dir(folder().join("../programs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            PROGRAMS.contains(&name.as_str()),
            "fixtures/programs/{name} belongs to no program"
        );
    }
}

#[test]
fn each_tool_that_asks_a_service_is_called_by_a_good_case() {
    let output = Home::new()
        .marvin()
        .args(["services", "--json"])
        .run()
        .expect(0);
    let services: Vec<Value> = serde_json::from_str(output.text()).unwrap();
    let expected: BTreeSet<&str> = services
        .iter()
        .flat_map(|service| service["tools"].as_array().unwrap())
        .filter_map(Value::as_str)
        .collect();
    for (uncalled, _) in UNCALLED_TOOLS {
        assert!(expected.contains(uncalled), "{uncalled} asks no service");
    }
    let mut called = BTreeSet::new();
    for id in ids() {
        let cases = cases(id).unwrap_or_default().into_iter();
        called.extend(
            cases
                .filter(|case| case.kind == CaseKind::Good)
                .map(|case| case.tool),
        );
    }
    let missing: Vec<&str> = expected
        .into_iter()
        .filter(|tool| !called.contains(*tool))
        .filter(|tool| UNCALLED_TOOLS.iter().all(|(uncalled, _)| uncalled != tool))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
