//! Our own fixtures of the outside services: `fixtures/services/<id>/index.json` lists calls of tools, what the service answers to
//! each request, and what the user must read.
//!
//! ```json
//! [{
//!   "kind": "good",                          // or "empty" (nothing was found) or "broken" (cut off, wrong, refused)
//!   "expect": "What the user must get, as a short sentence.",
//!   "tool": "weather_forecast",
//!   "args": {"latitude": 48.1},              // "SERVER" in a text stands for the server's address
//!   "answers": [{
//!     "request": "GET /v1/forecast?",        // method and beginning of the path; after "BODY": a text that the body must contain
//!     "file": "forecast.json",               // the body; empty if not given
//!     "recorded": "open-meteo/forecast-tool.json", // or a recorded answer beside the checkout, with its status and headers
//!     "status": 200, "type": "application/json", "headers": {},
//!     "service": "open-meteo"                // whose base URL this is; by default the folder's
//!   }],
//!   "fails": false, "says": ["Now  "], "never": ["°F"], "requests": 1,
//!   "env": {}, "home": {}, "programs": {}    // variables (null removes one), files of the home, scripts on the PATH
//! }]
//! ```
//!
//! A request gets the first matching answer that is still unused, otherwise the last matching one. A request without an answer
//! fails the test, and so does an unused answer. `fixtures/recorded` has such lists for recorded answers, a file for each service.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use marvin::testing::services::{SERVICES, variable};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Sample, recorded};
use crate::support::home::Home;
use crate::support::server::{Answer, Request, Server};
use crate::support::words::unfenced;

/// The value of every key; no output may hold it.
const FIXTURE_KEY: &str = "fixture-key-0123456789";

/// What kind of answer a case shows.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub enum CaseKind {
    Good,
    Empty,
    Broken,
}

/// One call of a tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub kind: CaseKind,
    /// What must come of it, for a person to read; of a recorded answer the recordings tell.
    #[serde(default)]
    pub expect: String,
    pub tool: String,
    args: Value,
    answers: Vec<AnswerSpec>,
    #[serde(default)]
    fails: bool,
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    /// How many requests there are, if it matters.
    #[serde(default)]
    requests: Option<usize>,
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    #[serde(default)]
    home: BTreeMap<String, Value>,
    #[serde(default)]
    programs: BTreeMap<String, String>,
}

/// One answer of the service.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct AnswerSpec {
    request: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    recorded: Option<String>,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default, rename = "type")]
    media_type: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    service: Option<String>,
}

/// `fixtures/services`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/services")
}

/// The cases of a service, or what is wrong with its folder.
///
/// # Errors
/// No index, an index that cannot be read, a file that no case names, a named one that is not there.
pub fn cases(service: &str) -> Result<Vec<Case>, String> {
    let dir = folder().join(service);
    let index = dir.join("index.json");
    let text = fs::read_to_string(&index).map_err(|reason| {
        format!(
            "{}: {reason} (tests/support/samples/cases.rs shows its form)",
            index.display()
        )
    })?;
    let cases = parsed(&text, &index)?;
    let named: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| &case.answers)
        .filter_map(|row| row.file.as_deref())
        .collect();
    if let Some(missing) = named.iter().find(|name| !dir.join(name).is_file()) {
        return Err(format!(
            "a case of {service} names the file {missing}, which is not there"
        ));
    }
    for entry in fs::read_dir(&dir).map_err(|reason| format!("{service}: {reason}"))? {
        let name = entry.expect("an entry of a folder").file_name();
        let name = name.to_string_lossy();
        if name != "index.json" && !named.contains(name.as_ref()) {
            return Err(format!("no case of {service} names the file {name}"));
        }
    }
    Ok(cases)
}

fn parsed(text: &str, file: &Path) -> Result<Vec<Case>, String> {
    serde_json::from_str(text).map_err(|reason| format!("{}: {reason}", file.display()))
}

/// The cases of a file of `fixtures/recorded`, whose answers are beside the checkout.
///
/// # Errors
/// What is wrong with the file.
pub fn recorded_cases(file: &Path) -> Result<Vec<Case>, String> {
    let text = fs::read_to_string(file).map_err(|reason| reason.to_string())?;
    parsed(&text, file)
}

impl Case {
    /// The recorded answers that it plays.
    pub fn recordings(&self) -> impl Iterator<Item = &str> {
        self.answers
            .iter()
            .filter_map(|row| row.recorded.as_deref())
    }

    /// Runs the call and says everything that is not as the case has it.
    pub fn faults(&self, service: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let answers: Vec<(AnswerSpec, Answer)> = self
            .answers
            .iter()
            .map(|row| (row.clone(), row.sample(service).answer()))
            .collect();
        let playback = Arc::new(Playback {
            answers,
            log: Mutex::default(),
        });
        let script = Arc::clone(&playback);
        let server = Server::answering(move |request, _| script.answer(request)).lenient();
        let output = self.run(service, &server);
        let text = format!("{}{}", unfenced(output.text()), output.errors());
        if output.code() != Some(i32::from(self.fails)) {
            faults.push(format!("it ended with status {:?}", output.code()));
        }
        if self.kind == CaseKind::Good && self.fails {
            faults.push("a good answer cannot make a tool fail".to_owned());
        }
        if self.says.is_empty() {
            faults.push("nothing is checked of what it says".to_owned());
        }
        let missing = self
            .says
            .iter()
            .filter(|expected| !text.contains(*expected));
        faults.extend(missing.map(|expected| format!("it does not say {expected:?}")));
        let usual = ["undefined", "NaN", "[object", FIXTURE_KEY].map(str::to_owned);
        let odd = self.never.iter().chain(&usual);
        let odd = odd.filter(|expected| text.contains(*expected));
        faults.extend(odd.map(|expected| format!("it says {expected:?}")));
        faults.extend(playback.faults());
        let requests = server.requests().len();
        if self.requests.is_some_and(|wanted| wanted != requests) {
            faults.push(format!("it made {requests} requests"));
        }
        if !faults.is_empty() {
            faults.push(format!("it was:\n{text}"));
        }
        faults
    }

    fn run(&self, service: &str, server: &Server) -> crate::support::run::Done {
        let home = Home::new();
        for (path, content) in &self.home {
            match content.as_str() {
                Some(text) => home.write(path, text),
                None => home.write(path, content.to_string()),
            };
        }
        fs::create_dir_all(home.path().join("bin")).expect("a folder for programs");
        for (name, script) in &self.programs {
            home.program(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        }
        let args = self.args.to_string().replace("SERVER", &server.url(""));
        let mut marvin = home
            .marvin()
            .args(["tool", &self.tool, "--json", &args])
            .env("PATH", home.path().join("bin"))
            .env("TZ", "UTC")
            .env("MARVIN_CONTACT", "tests@example.org")
            .env("MARVIN_ALLOW_PRIVATE", server.address().to_string());
        let asked: BTreeSet<&str> = self
            .answers
            .iter()
            .map(|row| row.service.as_deref().unwrap_or(service))
            .collect();
        for (row, port) in SERVICES.iter().zip(1..) {
            // Services that must not be called get ports below 1024 of this host, on which nothing listens.
            let url = match asked.contains(row.id) {
                true => server.url(""),
                false => format!("http://127.0.0.1:{port}"),
            };
            marvin = marvin.env(&variable(row.id), url);
            if let Some(key) = row.key.filter(|_| row.id == service) {
                marvin = marvin.env(key, FIXTURE_KEY);
            }
        }
        for (name, value) in &self.env {
            marvin = match value {
                Some(value) => marvin.env(name, value),
                None => marvin.without(name),
            };
        }
        marvin.run()
    }
}

impl AnswerSpec {
    fn sample(&self, service: &str) -> Sample {
        let media_type = self
            .media_type
            .iter()
            .map(|kind| ("Content-Type".to_owned(), kind.clone()));
        let more = self.headers.iter().map(|(name, value)| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            (name.clone(), value)
        });
        let headers = media_type.chain(more);
        if let Some(file) = &self.recorded {
            let mut sample = recorded(file);
            sample.status = self.status.unwrap_or(sample.status);
            for (name, value) in headers {
                sample.headers.retain(|(own, _)| *own != name);
                sample.headers.push((name, value));
            }
            return sample;
        }
        let path = self
            .file
            .as_ref()
            .map(|file| folder().join(service).join(file));
        let read = |path: PathBuf| {
            fs::read(&path).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
        };
        Sample {
            name: self.file.clone().unwrap_or_default(),
            request: self.request.clone(),
            expect: String::new(),
            says: Vec::new(),
            status: self.status.unwrap_or(200),
            bytes: path.map(read).unwrap_or_default(),
            headers: headers.collect(),
        }
    }

    fn fits(&self, request: &Request) -> bool {
        let (line, body) = match self.request.split_once(" BODY ") {
            Some((line, body)) => (line, body),
            None => (self.request.as_str(), ""),
        };
        let asked = format!("{} {}", request.method, request.path);
        asked.starts_with(line) && request.text().contains(body)
    }
}

/// The answers of a case and what became of them.
struct Playback {
    answers: Vec<(AnswerSpec, Answer)>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    given: BTreeSet<usize>,
    unanswered: Vec<String>,
}

impl Playback {
    fn answer(&self, request: &Request) -> Answer {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = self.answers.iter().enumerate();
        let fitting = fitting.filter(|(_, (row, _))| row.fits(request));
        let fitting: Vec<usize> = fitting.map(|(at, _)| at).collect();
        let new = fitting.iter().find(|at| !log.given.contains(at));
        let Some(at) = new.or(fitting.last()).copied() else {
            log.unanswered.push(format!(
                "{} {} {}",
                request.method,
                request.path,
                request.text()
            ));
            return Answer::status(418);
        };
        log.given.insert(at);
        self.answers[at].1.clone()
    }

    fn faults(&self) -> Vec<String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let unanswered = log.unanswered.iter();
        let unanswered = unanswered.map(|asked| format!("no answer fits the request {asked}"));
        let rows = self.answers.iter().enumerate();
        let unasked = rows.filter(|(index, _)| !log.given.contains(index));
        let unasked = unasked.map(|(_, (row, _))| format!("nothing asked {:?}", row.request));
        unanswered.chain(unasked).collect()
    }
}
