//! Asks one thing: a question, or the messages of a conversation.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::judge;
use super::options::{Model, Options, Part};
use super::recorder::{Exchange, Knowledge, Recorder};
use super::support::questions::{Conversation, ConversationTurn, conversations, questions};
use super::support::reply_case;
use super::support::run::{Marvin, Running};
use super::world::World;

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// How long Marvin may take to leave.
const LEAVE_LIMIT: Duration = Duration::from_secs(60);
/// What Marvin's trace says before the name of a tool that runs.
const CALL_MARKS: [&str; 2] = ["🛠️ Agent → ", "→ direct-exec "];

/// Something to ask.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub part: Part,
    number: usize,
    pub conversation: Conversation,
}

impl Item {
    /// Everything that the options select, spread over all languages.
    pub(crate) fn all(options: &Options) -> Vec<Self> {
        let parts = Part::ALL.into_iter();
        let parts = parts.filter(|part| options.only.is_none_or(|only| only == *part));
        parts
            .flat_map(|part| Self::of(part, options.limit))
            .collect()
    }

    /// A conversation of nobody's list.
    pub(crate) fn own(conversation: Conversation) -> Self {
        Self {
            part: Part::Conversations,
            number: 0,
            conversation,
        }
    }

    fn of(part: Part, limit: usize) -> Vec<Self> {
        let all = match part {
            Part::Cases => cases(),
            Part::Questions => questions()
                .into_iter()
                .map(|question| Conversation {
                    language: question.language,
                    files: Default::default(),
                    turns: vec![turn(&question.text, Some(question.tools))],
                })
                .collect(),
            Part::Conversations => conversations(),
        };
        let step = all.len().div_ceil(limit.max(1)).max(1);
        let numbered = all.into_iter().enumerate().step_by(step);
        let items = numbered.map(|(number, conversation)| Self {
            part,
            number,
            conversation,
        });
        items.collect()
    }

    pub(crate) fn name(&self) -> String {
        format!("{}-{:03}", self.part.name(), self.number + 1)
    }
}

pub(crate) fn turn(say: &str, tools: Option<Vec<String>>) -> ConversationTurn {
    ConversationTurn {
        say: say.to_owned(),
        tools,
        has: Vec::new(),
        lacks: Vec::new(),
    }
}

/// What is said in the flow's own cases. Their scripts say what a model answered there, so no more is judged than that the flow ends well.
fn cases() -> Vec<Conversation> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reply");
    let cases = reply_case::read(&folder.join("flow.json"));
    let said = cases.iter().map(|case| {
        let lines = case["say"].as_array().into_iter().flatten();
        let lines = lines.filter_map(Value::as_str);
        let turns = lines.filter(|line| !line.starts_with(['!', '/']));
        let files = case["given"]["files"].as_object().into_iter().flatten();
        let files = files.filter(|(path, _)| path.starts_with("Notes/"));
        Conversation {
            language: "en".to_owned(),
            files: files
                .map(|(path, text)| (path.clone(), text.as_str().unwrap_or_default().to_owned()))
                .collect(),
            turns: turns.map(|line| turn(line, None)).collect(),
        }
    });
    said.collect()
}

/// What came out of a message.
#[derive(Debug)]
pub(crate) struct TurnOutcome {
    say: String,
    answer: String,
    tools: Vec<String>,
    /// Whether the right tool ran; `None` where any is right.
    pub right_tool: Option<bool>,
    /// What is wrong with the answer.
    pub wrong_end: Option<String>,
    pub machinery: Vec<&'static str>,
    pub took: Duration,
}

/// What came out of a question or conversation.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub turns: Vec<TurnOutcome>,
    pub exchanges: Vec<Exchange>,
}

impl Outcome {
    /// Everything that is wrong.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for turn in &self.turns {
            if turn.right_tool == Some(false) {
                let ran = match turn.tools.is_empty() {
                    true => "no tool".to_owned(),
                    false => turn.tools.join(", "),
                };
                wrong.push(format!("\"{}\" ran {ran}", turn.say));
            }
            if let Some(end) = &turn.wrong_end {
                wrong.push(format!("\"{}\": {end}", turn.say));
            }
            if !turn.machinery.is_empty() {
                wrong.push(format!(
                    "\"{}\" shows {}",
                    turn.say,
                    turn.machinery.join(" ")
                ));
            }
        }
        wrong
    }

    /// Writes what was asked, answered and sent, one JSON object a line, and returns the file's name.
    pub(crate) fn keep(&self, folder: &Path, model: &str, item: &Item) -> String {
        fs::create_dir_all(folder).expect("a folder for recordings");
        let file = folder.join(format!("{model}-{}.jsonl", item.name()));
        let said: Vec<Value> = self
            .turns
            .iter()
            .map(|turn| json!({"say": turn.say, "tools": turn.tools, "answer": turn.answer}))
            .collect();
        let head = json!({"item": item.name(), "wrong": self.complaints(), "said": said});
        let exchanges = self.exchanges.iter().map(Exchange::to_json);
        let lines = std::iter::once(head).chain(exchanges);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).expect("a recording");
        file.display().to_string()
    }
}

/// Asks in a home of its own.
pub(crate) fn ask(item: &Item, model: &Model, options: &Options) -> Outcome {
    let files = &item.conversation.files;
    let files = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let world = World::new(files);
    let recorder = Recorder::new(model, options.reply_limit);
    let turns = &item.conversation.turns;
    let limit = options.reply_limit * (turns.len() as u32 + 1);
    let memory = if options.memory { "true" } else { "false" };
    let mut marvin = with_model(world.marvin(), model, &recorder)
        .env("MARVIN_REPLY_MEMORY_ENABLED", memory)
        .limit(limit)
        .spawn();
    let mut outcomes = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        let tools = turn.tools.as_ref();
        recorder.know(Knowledge {
            tool: tools.and_then(|tools| tools.first()).cloned(),
            word: turn.has.first().cloned().unwrap_or_default(),
            thorough: options.prompts,
        });
        outcomes.push(say(&mut marvin, &world, turn, number + 1, options));
    }
    marvin.close_stdin();
    // It is killed when it has not ended then.
    marvin.ends_within(LEAVE_LIMIT);
    drop(marvin);
    Outcome {
        turns: outcomes,
        exchanges: recorder.exchanges(),
    }
}

fn with_model(marvin: Marvin, model: &Model, recorder: &Recorder) -> Marvin {
    let (provider, name) = match model {
        Model::Scripted(family) => ("ollama", family.model),
        Model::Real { provider, name, .. } => (provider.as_str(), name.as_str()),
    };
    let upper = provider.to_uppercase().replace('-', "_");
    let mut marvin = marvin
        .args(["--provider", provider, "--model", name])
        .env(&format!("MARVIN_URL_{upper}"), recorder.url());
    for (variable, value) in std::env::vars() {
        // Keys, and the settings of the flow that are to be compared.
        let is_key = variable.starts_with(&upper) && variable.ends_with("_KEY");
        if is_key || variable.starts_with("MARVIN_REPLY_") {
            marvin = marvin.env(&variable, value);
        }
    }
    marvin
}

/// Says one message and waits for the answer, or the end.
fn say(
    marvin: &mut Running,
    world: &World,
    turn: &ConversationTurn,
    number: usize,
    options: &Options,
) -> TurnOutcome {
    let trace = marvin.stderr().len();
    let began = Instant::now();
    marvin.offer(format!("{}\n", turn.say).as_bytes());
    let answer = loop {
        let answers = answers(world);
        if let Some(answer) = answers.get(number - 1) {
            break answer.clone();
        }
        let is_over = marvin.ends_within(Duration::ZERO);
        if is_over || began.elapsed() > options.reply_limit {
            break String::new();
        }
        thread::sleep(BETWEEN_LOOKS);
    };
    let took = began.elapsed();
    // The trace was written before the answer, and is read beside it.
    thread::sleep(BETWEEN_LOOKS);
    let stderr = marvin.stderr();
    let tools = tools_run(stderr.get(trace..).unwrap_or_default());
    let right_tool = turn.tools.as_ref().map(|right| match right.is_empty() {
        true => tools.is_empty(),
        false => right.iter().any(|tool| tools.contains(tool)),
    });
    let wrong_end = match judge::is_answer(&answer) {
        false => Some("no answer".to_owned()),
        true => judge::wrong_words(&answer, &turn.has, &turn.lacks),
    };
    TurnOutcome {
        say: turn.say.clone(),
        machinery: judge::machinery(&answer),
        answer,
        tools,
        right_tool,
        wrong_end,
        took,
    }
}

/// The answers in the chat logs, in order: a tool may have switched to another profile.
fn answers(world: &World) -> Vec<String> {
    let profiles = fs::read_dir(world.home.config().join("profiles"));
    let mut answers = Vec::new();
    for profile in profiles.into_iter().flatten().flatten() {
        let log = fs::read_to_string(profile.path().join("chat_log.json")).unwrap_or_default();
        let log: Value = serde_json::from_str(&log).unwrap_or_default();
        let entries = log.as_array().into_iter().flatten();
        for entry in entries.filter(|entry| entry["role"] == "assistant") {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            answers.push((text("at"), text("text")));
        }
    }
    answers.sort();
    answers.into_iter().map(|(_, text)| text).collect()
}

/// The tools that ran, as the trace says.
fn tools_run(trace: &str) -> Vec<String> {
    let calls = trace.lines().filter_map(|line| {
        let marks = CALL_MARKS.iter();
        let rest = marks.filter_map(|mark| line.split_once(mark)).next()?.1;
        rest.split_whitespace().next()
    });
    calls.map(str::to_owned).collect()
}
