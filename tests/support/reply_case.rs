//! A case of the reply flow: what is typed, what the model answers stage by stage, and what must be true afterwards.
//!
//! The format is JSON: `given` (model, config, env, args, files, provider), `say` (lines, or `{"sleep": seconds}`), `script` (answers by stage) and
//! `expect` (calls, counts, requests, stdout, stderr, files, never_sent). Probes (`kind: probe`) run `marvin debug reply`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::home::write;
use super::run::{Done, Marvin};
use super::stages::{StageAnswer, StageCall, StageServer, content};
use super::wait::until;

/// The configuration folder below the home.
const CONFIG: &str = ".config/local-finder";
/// The folder of the profile that a fresh home has.
const PROFILE: &str = ".config/local-finder/profiles/main";
/// How long a case may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Cases that run at once.
const AT_ONCE: usize = 4;

/// The cases of a file.
pub fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file["cases"].as_array().expect("cases").clone()
}

/// Runs the cases, several at once, and fails the test with every one that is not as expected. `MARVIN_CASE` names the ones to run, by a part of the id.
pub fn all(cases: &[Value]) {
    let only = std::env::var("MARVIN_CASE").unwrap_or_default();
    let chosen: Vec<&Value> = cases
        .iter()
        .filter(|case| id(case).contains(&only))
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let Some(case) = chosen.get(index) else {
                        return;
                    };
                    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(case)));
                    let report = run.unwrap_or_else(|panic| {
                        Err(panic
                            .downcast_ref::<String>()
                            .cloned()
                            .unwrap_or_else(|| "it panicked".to_owned()))
                    });
                    if let Err(report) = report {
                        let title = case["title"].as_str().unwrap_or_default();
                        let report = format!("{} ({title})\n{report}", id(case));
                        failed.lock().unwrap().push((index, report));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    let names: Vec<&str> = failed
        .iter()
        .filter_map(|(_, report)| report.split_whitespace().next())
        .collect();
    let reports: Vec<&str> = failed.iter().map(|(_, report)| report.as_str()).collect();
    assert!(
        failed.is_empty(),
        "{} of {} cases are not as expected: {}\n\n{}",
        failed.len(),
        chosen.len(),
        names.join(" "),
        reports.join("\n\n")
    );
}

fn id(case: &Value) -> &str {
    case["id"].as_str().unwrap_or("a case without an id")
}

/// Runs one case; the error says everything that was not as expected, and what there was.
pub fn run(case: &Value) -> Result<(), String> {
    match case["kind"].as_str() {
        Some("probe") => probe(case),
        _ => flow(case),
    }
}

fn flow(case: &Value) -> Result<(), String> {
    let script = case["script"].as_array().into_iter().flatten();
    let server = StageServer::start(script.map(StageAnswer::from_json));
    let dir = TempDir::with_prefix("marvin-reply-").expect("a temporary folder");
    let home = dir.path().canonicalize().expect("a home");
    let done = talk(case, &home, &server);
    let mut check = Check {
        complaints: Vec::new(),
        calls: server.calls(),
        bodies: server.bodies(),
        home,
    };
    check.all(&case["expect"], &done);
    if check.complaints.is_empty() {
        return Ok(());
    }
    Err(format!(
        "  {}\n  calls: {}\n  stdout: {:?}\n  stderr: {}",
        check.complaints.join("\n  "),
        check.stages().join(" "),
        String::from_utf8_lossy(&done.stdout),
        done.errors().trim_end().replace('\n', "\n          "),
    ))
}

/// Starts Marvin in this home, types the lines, and waits for its end.
fn talk(case: &Value, home: &Path, server: &StageServer) -> Done {
    let given = &case["given"];
    let text = |key: &str| given[key].as_str().unwrap_or_default();
    let mut config = given["config"].clone();
    if config["location"].is_null() {
        config["location"] = "Testville".into();
    }
    write(
        &home.join(CONFIG).join("reply.json"),
        config.to_string().as_bytes(),
    );
    for (path, text) in given["files"].as_object().into_iter().flatten() {
        write(
            &place(home, path),
            text.as_str().unwrap_or_default().as_bytes(),
        );
    }
    let mut marvin = Marvin::new(Path::new(env!("CARGO_BIN_EXE_marvin")))
        .env("HOME", home)
        // The cases say what follows when the retries are used up.
        .env("MARVIN_RETRIES", "0")
        .dir(home)
        .limit(LIMIT)
        .stdin_open();
    marvin = match given["provider"].as_str() {
        None | Some("ollama") => marvin
            .env("LLM_PROVIDER", "ollama")
            .env("OLLAMA_URL", server.url(""))
            .env("OLLAMA_MODEL", text("model")),
        Some("openai-compat") => marvin
            .env("LLM_PROVIDER", "openai-compat")
            .env("OPENAI_COMPAT_URL", server.url("/v1"))
            .env("OPENAI_COMPAT_API_KEY", "dummy-key")
            .env("OPENAI_COMPAT_MODEL", text("model")),
        Some(provider) => {
            let variable = provider.to_uppercase().replace('-', "_");
            marvin
                .env("LLM_PROVIDER", provider)
                .env(&format!("MARVIN_URL_{variable}"), server.url("/v1"))
                .env(&format!("{variable}_API_KEY"), "dummy-key")
                .env(&format!("{variable}_MODEL"), text("model"))
        }
    };
    for (name, value) in given["env"].as_object().into_iter().flatten() {
        marvin = marvin.env(name, value.as_str().unwrap_or_default());
    }
    marvin = match given["args"].as_array() {
        Some(args) => marvin.args(args.iter().filter_map(Value::as_str)),
        None => marvin.arg("--plain"),
    };
    let mut running = marvin.spawn();
    let mut lines = 0;
    for step in case["say"].as_array().into_iter().flatten() {
        if let Some(line) = step.as_str() {
            // Marvin reads the next line when it has answered this one.
            running.write(format!("{line}\n").as_bytes());
            lines += 1;
        } else if let Some(seconds) = step["sleep"].as_f64() {
            wait_for_replies(home, lines);
            thread::sleep(Duration::from_secs_f64(seconds));
        }
    }
    running.wait()
}

/// Waits until the chat log has this many replies.
fn wait_for_replies(home: &Path, replies: usize) {
    until(&format!("{replies} replies"), || {
        let log = fs::read_to_string(home.join(PROFILE).join("chat_log.json")).unwrap_or_default();
        let log: Value = serde_json::from_str(&log).unwrap_or_default();
        let entries = log.as_array().into_iter().flatten();
        entries.filter(|entry| entry["role"] == "assistant").count() >= replies
    });
}

/// A path of a case below the home: `MEM` is the profile's memory folder, `PROFILE` the profile's own.
fn place(home: &Path, path: &str) -> PathBuf {
    match path.split_once('/') {
        Some(("MEM", rest)) => home.join(PROFILE).join("memory").join(rest),
        Some(("PROFILE", rest)) => home.join(PROFILE).join(rest),
        _ => home.join(path),
    }
}

/// What a run left behind, and what was wrong with it.
struct Check {
    complaints: Vec<String>,
    calls: Vec<StageCall>,
    bodies: Vec<String>,
    home: PathBuf,
}

impl Check {
    fn all(&mut self, expect: &Value, done: &Done) {
        if done.code() != Some(0) {
            self.complain(format!("it ended with {}", done.status));
        }
        if let Some(calls) = expect["calls"].as_array() {
            let expected: Vec<&str> = calls.iter().filter_map(Value::as_str).collect();
            if self.stages() != expected {
                self.complain(format!("calls should be: {}", expected.join(" ")));
            }
        }
        for (stage, count) in expect["counts"].as_object().into_iter().flatten() {
            let came = self.calls.iter().filter(|call| call.stage == *stage);
            let came = came.count() as u64;
            if count.as_u64() != Some(came) {
                self.complain(format!("{came} calls of {stage} instead of {count}"));
            }
        }
        for wanted in expect["requests"].as_array().into_iter().flatten() {
            self.request(wanted);
        }
        let (stdout, stderr) = (
            String::from_utf8_lossy(&done.stdout).into_owned(),
            done.errors(),
        );
        self.text("stdout", &stdout, expect, "stdout_has", "stdout_lacks");
        self.text("stderr", &stderr, expect, "stderr_has", "stderr_lacks");
        for secret in strings(&expect["never_sent"]) {
            if self.bodies.iter().any(|body| body.contains(secret)) {
                self.complain(format!("{secret:?} was sent"));
            }
        }
        for (path, wanted) in expect["files"].as_object().into_iter().flatten() {
            let text = fs::read_to_string(place(&self.home, path));
            if let Some(exists) = wanted["exists"].as_bool()
                && exists != text.is_ok()
            {
                self.complain(format!("{path}: exists should be {exists}"));
            }
            if wanted["has"].is_array() && text.is_err() {
                self.complain(format!("{path} is missing"));
            }
            self.text(path, &text.unwrap_or_default(), wanted, "has", "lacks");
        }
    }

    fn stages(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.stage.as_str()).collect()
    }

    fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }

    /// Checks one text against two lists of `wanted`.
    fn text(&mut self, name: &str, text: &str, wanted: &Value, has: &str, lacks: &str) {
        for part in strings(&wanted[has]) {
            if !text.contains(part) {
                self.complain(format!("{name} lacks {part:?}: {}", brief(text)));
            }
        }
        for part in strings(&wanted[lacks]) {
            if text.contains(part) {
                self.complain(format!("{name} has {part:?}: {}", brief(text)));
            }
        }
    }

    fn request(&mut self, wanted: &Value) {
        let stage = wanted["stage"].as_str().unwrap_or("chat");
        let nth = wanted["nth"].as_i64().unwrap_or(1);
        let of_stage: Vec<&StageCall> = self
            .calls
            .iter()
            .filter(|call| call.stage == stage)
            .collect();
        let call = match usize::try_from(nth) {
            Ok(nth) => of_stage.get(nth.saturating_sub(1)),
            Err(_) => of_stage.last(),
        };
        let name = format!("{stage} {nth}");
        let Some(body) = call.map(|call| call.body.clone()) else {
            return self.complain(format!("{name} was not called"));
        };
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let is_system = |message: &&Value| message["role"] == "system";
        let system = messages.iter().find(is_system).map(content);
        let system = system.unwrap_or_default();
        self.text(
            &format!("{name}: system"),
            &system,
            wanted,
            "system_has",
            "system_lacks",
        );
        let last = messages.last().map(content).unwrap_or_default();
        self.text(
            &format!("{name}: last"),
            &last,
            wanted,
            "last_has",
            "last_lacks",
        );
        let any: Vec<String> = messages.iter().map(content).collect();
        self.text(
            &format!("{name}: any"),
            &any.join("\n\n"),
            wanted,
            "any_has",
            "any_lacks",
        );
        if let Some(expected) = wanted["user_is"].as_str() {
            let typed = messages.iter().rev().filter(|message| {
                message["role"] == "user"
                    && !["[Tool ", "Error: "]
                        .iter()
                        .any(|begin| content(message).starts_with(begin))
            });
            let typed = typed.map(content).next().unwrap_or_default();
            if typed != expected {
                self.complain(format!("{name}: the user's message is {typed:?}"));
            }
        }
        if let Some(roles) = wanted["roles"].as_array() {
            let came: Vec<&str> = messages
                .iter()
                .filter_map(|message| message["role"].as_str())
                .collect();
            if roles.iter().filter_map(Value::as_str).collect::<Vec<_>>() != came {
                self.complain(format!("{name}: the roles are {}", came.join(" ")));
            }
        }
        if wanted["one_system"] == true {
            let first = messages
                .first()
                .is_some_and(|message| message["role"] == "system");
            if !first || messages.iter().filter(is_system).count() != 1 {
                self.complain(format!("{name}: not exactly one system message, in front"));
            }
        }
        let mut from = 0;
        for part in strings(&wanted["order"]) {
            match system.get(from..).and_then(|rest| rest.find(part)) {
                Some(at) => from += at + part.len(),
                None => self.complain(format!("{name}: {part:?} is not in its place: {system}")),
            }
        }
        self.tools(&name, &body["tools"], wanted);
    }

    fn tools(&mut self, name: &str, tools: &Value, wanted: &Value) {
        let came: Vec<&str> = tools
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect();
        for tool in strings(&wanted["tools_have"]) {
            if !came.contains(&tool) {
                self.complain(format!("{name}: {tool} is not among the tools {came:?}"));
            }
        }
        for tool in strings(&wanted["tools_lack"]) {
            if came.contains(&tool) {
                self.complain(format!("{name}: {tool} is among the tools"));
            }
        }
        match wanted.get("tools_are") {
            Some(Value::Null) if !tools.is_null() => {
                self.complain(format!("{name}: there are tools: {came:?}"));
            }
            Some(Value::Array(_)) => {
                let mut expected: Vec<&str> = strings(&wanted["tools_are"]).collect();
                let mut sorted = came.clone();
                expected.sort_unstable();
                sorted.sort_unstable();
                if sorted != expected {
                    self.complain(format!("{name}: the tools are {came:?}"));
                }
            }
            _ => {}
        }
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Enough of a text to see what is wrong with it.
fn brief(text: &str) -> String {
    let shown: String = text.chars().take(1_500).collect();
    format!("{shown:?}")
}

fn probe(case: &Value) -> Result<(), String> {
    let dir = TempDir::with_prefix("marvin-probe-").expect("a temporary folder");
    let home = dir.path().canonicalize().expect("a home");
    let command = case["given"]["command"].as_str().unwrap_or_default();
    let schema = case["given"]["schema"].as_object().map(|schema| {
        write(
            &home.join("schema.json"),
            Value::from(schema.clone()).to_string(),
        )
    });
    let mut complaints = Vec::new();
    for vector in case["expect"]["vectors"].as_array().into_iter().flatten() {
        let input = vector["in"].as_str().unwrap_or_default();
        let done = Marvin::new(Path::new(env!("CARGO_BIN_EXE_marvin")))
            .env("HOME", &home)
            .dir(&home)
            .args(["debug", "reply"])
            .args(command.split_whitespace().map(str::to_owned))
            .args(strings(&vector["args"]).map(str::to_owned))
            .args(schema.iter().cloned())
            .stdin(input)
            .run();
        let out = String::from_utf8_lossy(&done.stdout).into_owned();
        let out = out.strip_suffix('\n').unwrap_or(&out);
        let fits = match &vector["out"] {
            Value::Null if vector.get("out").is_none() => {
                strings(&vector["has"]).all(|part| out.contains(part))
                    && !strings(&vector["lacks"]).any(|part| out.contains(part))
            }
            Value::String(text) => {
                out == text || serde_json::from_str::<Value>(out).is_ok_and(|out| out == **text)
            }
            value => serde_json::from_str::<Value>(out).is_ok_and(|out| out == *value),
        };
        if !fits || done.code() != Some(0) {
            complaints.push(format!("  {vector}\n    printed {out:?} {}", done.errors()));
        }
    }
    if complaints.is_empty() {
        return Ok(());
    }
    Err(complaints.join("\n"))
}
