//! What tests of stages share: a stage model, a model server, a listener to the trace, a catalogue, a memory, a session with notes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::base::clock::Clock;
use crate::base::embedding::Embedding;
use crate::base::env::Env;
use crate::base::ids::stable_hash;
use crate::base::problem::{Outcome, Problem};
use crate::base::words;
use crate::chat::event::{Event, EventSink};
use crate::chat::reply_event::ReplyEvent;
use crate::disk::paths::Paths;
use crate::llm::catalog::row;
use crate::llm::choose::RemoteTarget;
use crate::llm::http_provider::HttpProvider;
use crate::llm::models::ModelRegistry;
use crate::model_call::model_target::{LearnedLimit, ModelTarget};
use crate::reply::models::stage::{StageModel, StageRequest};
use crate::reply::tools::catalogue::Catalogue;
use crate::store::memory::MemoryStore;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::policy::ToolPolicy;

/// Answers from a list (`None` for a failure, also at its end), and keeps what it was asked.
pub(crate) struct Scripted {
    answers: Mutex<Vec<Option<&'static str>>>,
    asked: Mutex<Vec<(String, String)>>,
    embeds: bool,
}

impl Scripted {
    pub(crate) fn new(answers: &[Option<&'static str>]) -> Self {
        Self {
            answers: Mutex::new(answers.iter().rev().copied().collect()),
            asked: Mutex::default(),
            embeds: false,
        }
    }

    /// The same, with vectors: texts with the same words have the same direction.
    pub(crate) fn with_vectors(self) -> Self {
        Self {
            embeds: true,
            ..self
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// System and user message of the latest call.
    pub(crate) fn last(&self) -> (String, String) {
        self.asked.lock().unwrap().last().cloned().unwrap()
    }
}

impl StageModel for Scripted {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        let messages = (request.system.to_owned(), request.user.to_owned());
        self.asked.lock().unwrap().push(messages);
        let answer = self.answers.lock().unwrap().pop().flatten();
        answer
            .map(str::to_owned)
            .ok_or_else(|| Problem::network("The model is down."))
    }

    fn embed(&self, texts: &[String]) -> Outcome<Vec<Embedding>> {
        let vector = |text: &String| {
            let mut counts = vec![0.0; 256];
            for word in words::runs(text) {
                counts[stable_hash(&word) as usize % 256] += 1.0;
            }
            Embedding::new(counts)
        };
        let vectors = texts.iter().map(vector).collect::<Option<_>>();
        vectors
            .filter(|_| self.embeds)
            .ok_or_else(|| Problem::network("The model is down."))
    }
}

/// Keeps the lines of the trace.
#[derive(Default)]
pub(crate) struct TraceLines(Mutex<Vec<String>>);

impl TraceLines {
    /// The lines since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl EventSink for TraceLines {
    fn emit(&self, event: Event) {
        if let Event::Reply(ReplyEvent::Trace { text }) = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

/// The tools of some modules, or all of them.
pub(crate) fn catalogue(groups: Option<Vec<&'static str>>) -> Catalogue {
    let policy = ToolPolicy {
        groups,
        ..ToolPolicy::default()
    };
    Catalogue::new(&SessionContext::new(Env::default(), policy))
}

/// The memory of a profile in an empty home folder.
pub(crate) fn memory_store(home: &Path) -> MemoryStore {
    let env = Env::from([("MARVIN_CONFIG_DIR", home.to_str().unwrap())]);
    let profile = Paths::new(&env).profile("main").unwrap();
    MemoryStore::open_alone(&profile, &Clock::default())
}

/// A session, not for code, in a home folder with these notes.
pub(crate) fn session_with_notes(home: &Path, notes: &[(&str, &str)]) -> SessionContext {
    let folder = home.join("Notes");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in notes {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let config = home.join("config");
    let env = Env::from([
        ("HOME", home.to_str().unwrap()),
        ("MARVIN_CONFIG_DIR", config.to_str().unwrap()),
    ]);
    let session = SessionContext::new(env, ToolPolicy::default());
    session.set_coding(false);
    session
}

/// A server that gives listed answers to requests, one after the other, and keeps the requests.
pub(crate) struct ModelServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

/// One answer: how long to wait before it, its status, its body.
pub(crate) type Answer = (Duration, u16, &'static str);

impl ModelServer {
    pub(crate) fn new(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(VecDeque::from(answers.to_vec())));
        let kept = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answers) = (Arc::clone(&kept), Arc::clone(&answers));
                thread::spawn(move || serve(&stream, &kept, &answers));
            }
        });
        Self { url, requests }
    }

    /// Path and body of each request so far.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }

    /// A model of `provider` that this server serves.
    pub(crate) fn target(
        &self,
        provider: &str,
        model: &str,
        vars: &[(&str, &str)],
    ) -> Arc<ModelTarget> {
        let row = row(provider).unwrap();
        let remote = RemoteTarget::at(row, &self.url);
        let env = Env::new(
            vars.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let provider = HttpProvider::new(remote, &env, "test".to_owned(), &mut |_| {}).unwrap();
        let prices = Arc::new(ModelRegistry::default());
        Arc::new(ModelTarget {
            info: prices.facts(row.name, model),
            provider: Box::new(provider),
            model: model.to_owned(),
            local: row.local,
            on_this_machine: row.local,
            prices,
            max_cost: None,
            successor: None,
            learned: LearnedLimit::default(),
        })
    }
}

/// Answers the requests of one connection.
fn serve(
    stream: &TcpStream,
    kept: &Mutex<Vec<(String, Value)>>,
    answers: &Mutex<VecDeque<Answer>>,
) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(count) if count > 0 && line != "\r\n" => head.push(line.trim().to_owned()),
                Ok(count) if count > 0 => break,
                _ => return,
            }
        }
        let path = head
            .first()
            .and_then(|line| line.split(' ').nth(1))
            .unwrap_or_default();
        let length = head.iter().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = serde_json::from_slice(&body).unwrap_or_default();
        kept.lock().unwrap().push((path.to_owned(), body));
        let answer = answers.lock().unwrap().pop_front();
        let (delay, status, text) = answer.unwrap_or((Duration::ZERO, 500, "no answer left"));
        thread::sleep(delay);
        let mut out = stream;
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        if out.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}
