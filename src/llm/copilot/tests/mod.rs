//! The provider against a peer that plays scripts and recordings. Timeouts are short here; everything else is as in a run.

// Tests report that they skip.
#![allow(clippy::print_stderr)]

#[path = "../../../../tests/support/copilot_peer.rs"]
#[allow(unreachable_pub, reason = "the suite has it too")]
mod copilot_peer;
mod process;
mod real_cli;
mod recordings;
mod turns;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::CopilotProvider;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::chat::message::{Message, ToolOutput};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::models::ModelRegistry;
use crate::llm::provider::{
    CallOptions, Delta, Effort, Offer, Offered, Phrases, Provider as _, Reply, Request,
};

/// Not a test of its own: the process that plays a script.
#[test]
fn peer() {
    copilot_peer::play_if_peer();
}

struct CopilotStage {
    dir: TempDir,
    provider: CopilotProvider,
    messages: Vec<Message>,
    system: &'static str,
    key: &'static str,
    limit: Duration,
    /// How long the calls of the next request have waited for the user.
    waited: Duration,
    may_call: bool,
    model: &'static str,
    /// What the user chose.
    effort: Option<Effort>,
    stop: Cancel,
    notices: Vec<String>,
    shown: String,
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/copilot");
    std::fs::read_to_string(path.join(format!("{name}.jsonl"))).expect(name)
}

impl CopilotStage {
    /// With a script of fixtures and lines.
    fn new(parts: &[&str]) -> Self {
        let part = |part: &&str| match part.starts_with('{') {
            true => format!("{part}\n"),
            false => fixture(part),
        };
        Self::playing(&parts.iter().map(part).collect::<String>())
    }

    fn playing(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cli = copilot_peer::install(dir.path(), script, "llm::copilot::tests::peer");
        Self::with(dir, &cli, &[])
    }

    /// With any CLI, and more variables.
    fn with(dir: TempDir, cli: &Path, vars: &[(&str, &str)]) -> Self {
        let [home, cli] = [dir.path(), cli].map(|path| path.to_str().unwrap());
        let own = [
            ("HOME", home),
            ("PATH", "/usr/bin:/bin"),
            ("MARVIN_COPILOT_CLI", cli),
        ];
        let all = own.iter().chain(vars);
        let env = Env::new(all.map(|(name, value)| ((*name).into(), (*value).into())));
        let mut provider = CopilotProvider::new(&env);
        provider.handshake_timeout = Duration::from_secs(20);
        Self {
            dir,
            provider,
            messages: Vec::new(),
            system: "You are Marvin.",
            key: "conversation",
            limit: Duration::from_secs(20),
            may_call: true,
            model: "claude-haiku-4.5",
            effort: None,
            stop: Cancel::new(),
            waited: Duration::ZERO,
            notices: Vec::new(),
            shown: String::new(),
        }
    }

    /// Sends the conversation as it is.
    fn send(&mut self) -> Result<Reply, Failure> {
        let tool = |name: &'static str| Offered {
            name: name.into(),
            about_json: "\"About.\"".into(),
            params_json: r#"{"type":"object","properties":{}}"#.into(),
            phrases: Phrases::BuiltIn(&[]),
        };
        let offer = Offer::new(vec![tool("tree"), tool("git_status")]);
        let info = ModelRegistry::default().facts("copilot", self.model);
        let request = Request {
            system: self.system,
            may_call: self.may_call,
            effort: self.effort.unwrap_or(Effort::Low),
            effort_chosen: self.effort.is_some(),
            cache_key: self.key,
            options: CallOptions {
                turn_limit: self.limit,
                waited: self.waited,
                ..CallOptions::default()
            },
            ..Request::new(self.model, &info, &self.messages, &offer)
        };
        let (notices, shown) = (&mut self.notices, &mut self.shown);
        let mut on = |delta: Delta<'_>| match delta {
            Delta::Text(text) => shown.push_str(text),
            Delta::Thinking(_) | Delta::Signature(_) => {}
            Delta::Notice(_, words) => notices.push(words.to_owned()),
        };
        self.provider.stream(&request, &mut on, &self.stop)
    }

    /// Says `text`, and keeps the reply as the agent does.
    fn say(&mut self, text: &str) -> Result<Reply, Failure> {
        self.messages.push(Message::user(text));
        let reply = self.send();
        match &reply {
            Ok(reply) => self.messages.push(reply.clone().into_message()),
            Err(failure) if !failure.partial.text.is_empty() => {
                let partial = failure.partial.text.clone();
                self.messages.push(Message::assistant(partial));
            }
            Err(_) => {}
        }
        reply
    }

    fn result(&mut self, id: &str, text: &str, failed: bool) {
        self.messages.push(Message::Tool(ToolOutput {
            id: id.into(),
            name: "tree".into(),
            text: text.into(),
            failed,
            images: Vec::new(),
        }));
    }

    fn calls(&self, method: &str) -> Vec<Value> {
        let all = copilot_peer::calls(self.dir.path()).into_iter();
        let fitting = all.filter(|call| call["method"] == method);
        fitting.map(|call| call["params"].clone()).collect()
    }

    fn prompts(&self) -> Vec<String> {
        let sent = self.calls("session.send").into_iter();
        sent.map(|params| params["prompt"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn becomes_true(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}
