//! The loop against a scripted model and the user's real notes.

mod answers;
mod calls;
mod direct;
mod room;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::EventSink;
use crate::chat::message::ToolOutput;
use crate::chat::reply_event::ReplyEvent;
use crate::llm::failure::{ErrorAnswer, Failure};
use crate::llm::provider::{Offer, Reply};
use crate::llm::wire::optional::OptionalMembers;
use crate::reply::models::stage::{Stage, StageRequest};
use crate::reply::settings::TraceLevel;
use crate::reply::testing::session_with_notes;
use crate::reply::tools::session_tools;
use crate::tools::engine::approval::{Approval, Approver};

/// What the chat model does with a request.
pub(crate) enum Turn {
    Text(&'static str),
    /// The connection is lost behind this text.
    Cut(&'static str),
    Calls(Vec<(&'static str, Value)>),
    Thinking,
    Status(u16),
    /// The request is longer than the window.
    TooLong,
    Down,
    /// The user stops the reply.
    Stopped,
}

/// A request that the chat model got.
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<String>,
}

impl Seen {
    fn roles(&self) -> Vec<&'static str> {
        let role = |message: &Message| match message {
            Message::System { .. } => "system",
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            Message::Tool(_) => "tool",
        };
        self.messages.iter().map(role).collect()
    }

    fn last(&self) -> &str {
        match self.messages.last().unwrap() {
            Message::System { text } => text,
            Message::User(user) => &user.text,
            Message::Assistant(assistant) => &assistant.text,
            Message::Tool(output) => &output.text,
        }
    }
}

#[derive(Default)]
struct Script {
    turns: Mutex<VecDeque<Turn>>,
    stages: Mutex<VecDeque<(Stage, Option<&'static str>)>>,
    seen: Mutex<Vec<Seen>>,
    asked: Mutex<Vec<(Stage, String)>>,
    is_without_tools: AtomicBool,
    events: Mutex<Vec<Event>>,
    /// What tools were searched for.
    searched: Mutex<Vec<String>>,
    stop: Cancel,
    /// The user stops the reply when a tool is done.
    stops_after_tool: bool,
    /// Another model may take over.
    has_successor: bool,
    /// Tokens that a request may have.
    window: AtomicU64,
}

impl EventSink for Script {
    fn emit(&self, event: Event) {
        if self.stops_after_tool && matches!(event, Event::ToolDone { .. }) {
            self.stop.fire();
        }
        self.events.lock().unwrap().push(event);
    }
}

impl ChatModel for Script {
    fn name(&self) -> &str {
        "Copilot"
    }

    fn chat(
        &self,
        system: &str,
        messages: &[Message],
        offer: &Offer,
        on_piece: &mut dyn FnMut(&str),
    ) -> Result<Reply, Failure> {
        self.seen.lock().unwrap().push(Seen {
            system: system.to_owned(),
            messages: messages.to_vec(),
            tools: offer.tools.iter().map(|t| t.name.to_string()).collect(),
        });
        let turn = self.turns.lock().unwrap().pop_front();
        let failed = |status| Failure {
            answer: Some(ErrorAnswer {
                status,
                mentions_tools: false,
                refused: OptionalMembers::default(),
            }),
            ..Failure::new(FailureKind::Refused, Problem::network("It said no."))
        };
        match turn.unwrap_or(Turn::Down) {
            Turn::Text(text) => {
                for piece in text.split_inclusive(' ') {
                    on_piece(piece);
                }
                Ok(Reply {
                    text: text.to_owned(),
                    ..Reply::default()
                })
            }
            Turn::Cut(text) => {
                on_piece(text);
                Err(Failure::new(
                    FailureKind::Cut,
                    Problem::network("It is gone."),
                ))
            }
            Turn::Calls(calls) => Ok(Reply {
                calls: calls
                    .into_iter()
                    .map(|(name, args)| ToolCall::new("", name, args.to_string()))
                    .collect(),
                ..Reply::default()
            }),
            Turn::Thinking => Ok(Reply {
                thinking: "Hm.".to_owned(),
                ..Reply::default()
            }),
            Turn::Status(status) => Err(failed(status)),
            Turn::TooLong => Err(Failure::new(
                FailureKind::TooLong,
                Problem::limit("The conversation is too long."),
            )),
            Turn::Stopped => {
                self.stop.fire();
                Err(Failure::cancelled())
            }
            Turn::Down => Err(Failure::new(
                FailureKind::Network,
                Problem::network("Nobody answers."),
            )),
        }
    }

    fn window(&self) -> u64 {
        match self.window.load(Ordering::Relaxed) {
            0 => u64::MAX,
            window => window,
        }
    }

    fn learn_limit(&self, used: u64, _: &Failure) {
        self.window.store(used / 2, Ordering::Relaxed);
    }

    fn takes_tools(&self) -> bool {
        !self.is_without_tools.load(Ordering::Relaxed)
    }

    fn remember_without_tools(&self) {
        self.is_without_tools.store(true, Ordering::Relaxed);
    }

    fn fall_back(&self, _: &Failure, wrote: bool) -> bool {
        self.has_successor && !wrote
    }
}

impl StageModel for Script {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        let mut asked = self.asked.lock().unwrap();
        asked.push((request.stage, request.user.to_owned()));
        let mut stages = self.stages.lock().unwrap();
        let at = stages.iter().position(|(stage, _)| *stage == request.stage);
        let answer = at.and_then(|at| stages.remove(at)?.1);
        answer
            .map(str::to_owned)
            .ok_or_else(|| Problem::network("No answer."))
    }
}

/// A reply with everything around it.
struct Run {
    script: Arc<Script>,
    outcome: TurnOutcome,
    rows: Vec<Message>,
}

impl Run {
    fn seen(&self, index: usize) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        let seen = self.script.seen.lock().unwrap();
        assert!(index < seen.len(), "only {} requests", seen.len());
        seen
    }

    fn asked(&self) -> Vec<Stage> {
        let asked = self.script.asked.lock().unwrap();
        asked.iter().map(|(stage, _)| *stage).collect()
    }

    fn requests(&self) -> usize {
        self.script.seen.lock().unwrap().len()
    }

    fn trace(&self) -> String {
        let events = self.script.events.lock().unwrap();
        let lines = events.iter().filter_map(|event| match event {
            Event::Reply(ReplyEvent::Trace { text }) => Some(text.as_str()),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The results, in order.
    fn outputs(&self) -> Vec<&ToolOutput> {
        outputs(&self.rows)
    }

    fn calls(&self) -> Vec<&ToolCall> {
        let calls = self.rows.iter().filter_map(|row| match row {
            Message::Assistant(assistant) => Some(&assistant.calls),
            _ => None,
        });
        calls.flatten().collect()
    }

    /// What the user was warned of.
    fn warnings(&self) -> usize {
        let events = self.script.events.lock().unwrap();
        let is_warning = |event: &&Event| matches!(event, Event::Notice(..));
        events.iter().filter(is_warning).count()
    }

    fn answer(&self) -> &str {
        match &self.outcome {
            TurnOutcome::Answer(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

fn outputs(rows: &[Message]) -> Vec<&ToolOutput> {
    let outputs = rows.iter().filter_map(|row| match row {
        Message::Tool(output) => Some(output),
        _ => None,
    });
    outputs.collect()
}

/// What a test sets.
struct Case {
    small: bool,
    plan: &'static str,
    parts: &'static [&'static str],
    tools: &'static [&'static str],
    settings: ReplySettings,
    turns: Vec<Turn>,
    stages: Vec<(Stage, Option<&'static str>)>,
    found: Option<&'static [&'static str]>,
    stop: bool,
    stops_after_tool: bool,
    has_successor: bool,
    window: u64,
    history: Vec<Message>,
    labels: ConversationLabels,
    /// Who is asked before something is done.
    user: Option<Arc<dyn Approver>>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            small: false,
            plan: "",
            parts: &[],
            tools: &["read_note", "convert_units"],
            settings: ReplySettings::default(),
            turns: Vec::new(),
            stages: Vec::new(),
            found: None,
            stop: false,
            stops_after_tool: false,
            has_successor: false,
            window: 0,
            history: Vec::new(),
            labels: ConversationLabels::default(),
            user: None,
        }
    }
}

fn run(case: Case) -> Run {
    let home = tempfile::tempdir().unwrap();
    let long = format!("Zephyr-88. {}", "The office keeps records. ".repeat(40));
    let keys = format!("{KEYS}\n\n");
    let notes = [
        ("film.md", "Glass Harbor was directed by Mira Okafor."),
        ("Mira Okafor.md", "Other work: Salt Road, Night Ferry."),
        ("long.md", &long),
        ("keys.md", &keys),
        ("all-keys.md", &keys.repeat(20)),
    ];
    let session = session_with_notes(home.path(), &notes);
    let script = Arc::new(Script {
        stops_after_tool: case.stops_after_tool,
        has_successor: case.has_successor,
        window: AtomicU64::new(case.window),
        ..Script::default()
    });
    script.turns.lock().unwrap().extend(case.turns);
    script.stages.lock().unwrap().extend(case.stages);
    let listener: Arc<dyn EventSink> = Arc::clone(&script) as Arc<dyn EventSink>;
    let mut ctx = ToolContext::new(
        Arc::new(session),
        script.stop.clone(),
        Arc::clone(&listener),
    );
    if let Some(user) = &case.user {
        ctx.approval = Approval::Ask(Arc::clone(user));
    }
    if case.stop {
        ctx.stop.fire();
    }
    let catalogue = Catalogue::new(&ctx.session);
    let known = session_tools::known_tools(&catalogue);
    let plan = Plan::parse(case.plan);
    let trace = Trace::new(TraceLevel::Brief, listener);
    let names: Vec<String> = case.tools.iter().map(|&name| name.to_owned()).collect();
    let tools = ToolSet::new(names.clone(), names, true);
    let parts: Vec<String> = case.parts.iter().map(|&part| part.to_owned()).collect();
    let found = case.found;
    let input = TurnInput {
        ctx: &ctx,
        chat: &*script,
        model: &*script,
        recorder: &ReplyRecorder::default(),
        settings: &case.settings,
        trace: &trace,
        labels: &case.labels,
        is_small: case.small,
        query: "what do the notes say",
        history: &case.history,
        message: "what do the notes say",
        plan: &plan,
        parts: &parts,
        known: &known,
        catalogue: &catalogue,
        max_tools: 128,
        system: &|tools, protocol| format!("{protocol:?} {}", tools.advertised().join(" ")),
        search: &|purpose| {
            script.searched.lock().unwrap().push(purpose.to_owned());
            Some(found?.iter().map(|&name| name.to_owned()).collect())
        },
    };
    let mut turns = TurnLoop::new(&input, tools);
    let outcome = turns.run();
    let rows = turns.rows.clone();
    Run {
        script: Arc::clone(&script),
        outcome,
        rows,
    }
}

/// A large model takes these turns.
fn run_large(turns: Vec<Turn>) -> Run {
    run(Case {
        turns,
        ..Case::default()
    })
}

/// A small model takes these turns.
fn run_small(turns: Vec<Turn>) -> Run {
    run(Case { turns, ..small() })
}

fn read(path: &'static str) -> Turn {
    Turn::Calls(vec![("read_note", json!({"path": path}))])
}

/// A note with secrets.
const KEYS: &str =
    "Harbour office: token=hunterNOTE3secret, ada@ships.example.com, AKIA2222BBBB3333CCCC.";
const FENCED: &str =
    "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```";
const TWO_STEPS: &str = "read_note path='film.md'\nread_note path='<director>.md'\nReply.";

fn small() -> Case {
    Case {
        small: true,
        ..Case::default()
    }
}
