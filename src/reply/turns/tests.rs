//! The loop against a scripted model and the user's real notes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::EventSink;
use crate::chat::reply_event::ReplyEvent;
use crate::llm::failure::{ErrorAnswer, Failure};
use crate::llm::provider::{Offer, Reply};
use crate::reply::settings::TraceLevel;
use crate::reply::stage::{Stage, StageRequest};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::policy::ToolPolicy;

/// What the chat model does with a request.
pub(crate) enum Turn {
    Text(&'static str),
    Calls(Vec<(&'static str, Value)>),
    Thinking,
    Status(u16),
    Down,
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
}

impl EventSink for Script {
    fn emit(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl ChatModel for Script {
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
                mentions_thinking: false,
                mentions_temperature: false,
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
            Turn::Calls(calls) => Ok(Reply {
                calls: calls
                    .into_iter()
                    .map(|(name, args)| ToolCall {
                        id: String::new(),
                        name: name.to_owned(),
                        args: args.to_string(),
                        provider_state: None,
                    })
                    .collect(),
                ..Reply::default()
            }),
            Turn::Thinking => Ok(Reply {
                thinking: "Hm.".to_owned(),
                ..Reply::default()
            }),
            Turn::Status(status) => Err(failed(status)),
            Turn::Down => Err(Failure::new(
                FailureKind::Network,
                Problem::network("Nobody answers."),
            )),
        }
    }

    fn takes_tools(&self) -> bool {
        !self.is_without_tools.load(Ordering::Relaxed)
    }

    fn remember_without_tools(&self) {
        self.is_without_tools.store(true, Ordering::Relaxed);
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

    fn answer(&self) -> &str {
        match &self.outcome {
            TurnOutcome::Answer(text) => text,
            other => panic!("{other:?}"),
        }
    }
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
        }
    }
}

fn run(case: Case) -> Run {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("Notes");
    std::fs::create_dir(&notes).unwrap();
    for (name, text) in [
        ("film.md", "Glass Harbor was directed by Mira Okafor."),
        ("Mira Okafor.md", "Other work: Salt Road, Night Ferry."),
    ] {
        std::fs::write(notes.join(name), text).unwrap();
    }
    std::fs::write(
        notes.join("long.md"),
        format!("Zephyr-88. {}", "The office keeps records. ".repeat(40)),
    )
    .unwrap();
    let path = home.path().to_str().unwrap();
    let config = home.path().join("config");
    let env = Env::from([
        ("HOME", path),
        ("MARVIN_CONFIG_DIR", config.to_str().unwrap()),
    ]);
    let session = SessionContext::new(env, ToolPolicy::default());
    session.set_coding(false);
    let script = Arc::new(Script::default());
    script.turns.lock().unwrap().extend(case.turns);
    script.stages.lock().unwrap().extend(case.stages);
    let listener: Arc<dyn EventSink> = Arc::clone(&script) as Arc<dyn EventSink>;
    let ctx = ToolContext::new(Arc::new(session), Cancel::new(), Arc::clone(&listener));
    if case.stop {
        ctx.stop.fire();
    }
    let catalogue = Catalogue::new(&ctx.session);
    let known = known::known_tools(&catalogue);
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
        settings: &case.settings,
        trace: &trace,
        is_small: case.small,
        query: "what do the notes say",
        history: &[],
        message: "what do the notes say",
        plan: &plan,
        parts: &parts,
        known: &known,
        catalogue: &catalogue,
        max_tools: 128,
        system: &|tools, protocol| format!("{protocol:?} {}", tools.advertised().join(" ")),
        search: &|_| Some(found?.iter().map(|&name| name.to_owned()).collect()),
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

fn read(path: &'static str) -> Turn {
    Turn::Calls(vec![("read_note", json!({"path": path}))])
}

const FENCED: &str =
    "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```";
const TWO_STEPS: &str = "read_note path='film.md'\nread_note path='<director>.md'\nReply.";

fn small() -> Case {
    Case {
        small: true,
        ..Case::default()
    }
}

#[test]
fn planned_steps_run_without_the_chat_model_and_placeholders_are_filled_in() {
    let run = run(Case {
        plan: TWO_STEPS,
        stages: vec![(
            Stage::Resolver,
            Some(
                "{\"name\":\"read_note\",\"arguments\":{\"path\":\"Mira Okafor.md\",\"why\":\"x\"}}",
            ),
        )],
        turns: vec![Turn::Text("Salt Road and Night Ferry.")],
        ..small()
    });
    assert_eq!(run.answer(), "Salt Road and Night Ferry.");
    assert_eq!(run.asked(), [Stage::Resolver]);
    let asked = run.script.asked.lock().unwrap();
    assert!(asked[0].1.contains("<director>") && asked[0].1.contains("Mira Okafor"));
    let seen = run.seen(0);
    assert_eq!(seen.len(), 1);
    let roles = seen[0].roles();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert!(seen[0].last().contains("Night Ferry"), "{}", seen[0].last());
    assert!(seen[0].last().contains("all tool steps executed"));
    assert!(
        run.trace()
            .contains("🗺️ Plan step 1 → direct-exec read_note")
    );
}

#[test]
fn a_step_that_cannot_be_resolved_is_left_to_the_chat_model_once() {
    let run = run(Case {
        plan: "read_note path='<the one>'\nReply.",
        stages: vec![(Stage::Resolver, Some("null"))],
        turns: vec![Turn::Text(FENCED), Turn::Text("Mira Okafor.")],
        ..small()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    assert_eq!(run.asked(), [Stage::Resolver]);
    assert_eq!(run.requests(), 2);
}

#[test]
fn what_changes_more_than_asked_is_never_run_from_a_plan() {
    for (plan, tools) in [
        ("exit_app\nReply.", &["exit_app"]),
        ("remove_place label='home'\nReply.", &["remove_place"]),
        ("stop\nReply.", &["read_note"]),
        ("write_note path='<x>' content='y'\nReply.", &["write_note"]),
        // Not among the picked tools.
        ("read_note path='film.md'\nReply.", &["convert_units"]),
    ] {
        let run = run(Case {
            plan,
            tools,
            stages: vec![(
                Stage::Resolver,
                Some("{\"name\":\"write_note\",\"arguments\":{\"path\":\"a\",\"content\":\"y\"}}"),
            )],
            turns: vec![Turn::Text("Shall I?")],
            ..small()
        });
        assert_eq!(run.answer(), "Shall I?", "{plan}");
        assert!(!run.trace().contains("direct-exec"), "{plan}");
        assert!(run.rows.is_empty(), "{plan}");
    }
}

#[test]
fn a_step_that_spells_out_a_note_writes_it() {
    let run = run(Case {
        plan: "write_note path='a.md' content='y'\nReply.",
        tools: &["write_note"],
        turns: vec![Turn::Text("Written.")],
        ..small()
    });
    assert!(run.trace().contains("direct-exec write_note"));
    assert_eq!(run.answer(), "Written.");
}

#[test]
fn a_large_model_makes_its_calls_itself_and_gets_no_nudges() {
    let run = run(Case {
        plan: "read_note path='film.md'\nReply.",
        turns: vec![
            Turn::Calls(vec![
                ("read_note", json!({"path": "film.md"})),
                ("read_note", json!({"path": "none.md"})),
            ]),
            Turn::Text("Mira Okafor."),
        ],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    let seen = run.seen(1);
    assert_eq!(
        seen[0].tools,
        ["read_note", "convert_units", "stop", "tool_search"]
    );
    assert_eq!(seen[1].roles(), ["user", "assistant", "tool", "tool"]);
    let results: Vec<&ToolOutput> = seen[1]
        .messages
        .iter()
        .filter_map(|row| match row {
            Message::Tool(output) => Some(output),
            _ => None,
        })
        .collect();
    assert!(results[0].text.contains("Mira") && !results[0].failed);
    assert!(results[1].failed && !results[1].text.contains("Plan progress"));
    assert!(run.trace().contains("❌ read_note error:"));
}

#[test]
fn a_server_that_refuses_tools_is_asked_without_them_and_remembered() {
    let run = run(Case {
        turns: vec![Turn::Status(400), Turn::Text(FENCED), Turn::Text("Mira.")],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Mira.");
    assert!(!run.script.takes_tools());
    let seen = run.seen(2);
    assert!(!seen[0].tools.is_empty() && seen[1].tools.is_empty());
    assert!(seen[0].system.starts_with("Native") && seen[1].system.starts_with("Text"));
    assert!(seen[2].last().starts_with("[Tool result: read_note]\n"));
}

#[test]
fn a_server_that_refuses_both_has_another_reason() {
    let run = run(Case {
        turns: vec![Turn::Status(400), Turn::Status(400)],
        ..Case::default()
    });
    assert_eq!(run.outcome, TurnOutcome::Nothing);
    assert!(run.script.takes_tools());
    assert_eq!(run.requests(), 2);
}

#[test]
fn other_failures_leave_the_loop_at_once() {
    for turn in [Turn::Status(500), Turn::Status(422), Turn::Down] {
        let run = run(Case {
            turns: vec![turn],
            ..Case::default()
        });
        assert_eq!(run.outcome, TurnOutcome::Nothing);
        assert_eq!(run.requests(), 1);
    }
}

#[test]
fn several_written_calls_run_in_order_and_each_is_nudged() {
    let run = run(Case {
        parts: &["what the film note says", "what the other note says"],
        turns: vec![
            Turn::Text(
                "Let me see.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"Mira Okafor.md\"}}\n```",
            ),
            Turn::Text("Both."),
        ],
        ..small()
    });
    assert_eq!(run.answer(), "Both.");
    let seen = run.seen(1);
    assert_eq!(seen[1].roles(), ["user", "assistant", "user", "user"]);
    let texts: Vec<&str> = seen[1]
        .messages
        .iter()
        .filter_map(|row| match row {
            Message::User(user) => Some(user.text.as_str()),
            _ => None,
        })
        .collect();
    assert!(texts[1].contains("answered 1 of 2 parts"), "{}", texts[1]);
    assert!(texts[2].contains("Night Ferry") && !texts[2].contains("answered"));
}

#[test]
fn refusals_are_results_and_never_failures() {
    let run = run(Case {
        turns: vec![
            Turn::Calls(vec![("bookmark_list", json!({}))]),
            read("film.md"),
            Turn::Calls(vec![
                ("read_note", json!({"path": "film.md"})),
                ("readNote", json!({"path": "Mira Okafor.md"})),
                ("read_note", json!({"path": "Mira Okafor.md"})),
            ]),
            Turn::Text("Done."),
        ],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Done.");
    let seen = run.seen(3);
    assert!(seen[1].last().contains("bookmark_list") && seen[1].last().contains("read_note"));
    assert!(seen[2].last().contains("Mira Okafor"));
    let outputs: Vec<&ToolOutput> = run
        .rows
        .iter()
        .filter_map(|row| match row {
            Message::Tool(output) => Some(output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs.len(), 5);
    assert!(outputs.iter().all(|output| !output.failed));
    assert!(outputs[2].text.contains("already called"));
    assert!(outputs[3].text.contains("Night Ferry"));
    assert!(outputs[4].text.contains("already called"));
}

#[test]
fn found_tools_can_be_called_from_the_next_request_on() {
    let search = || Turn::Calls(vec![(TOOL_SEARCH, json!({"query": "read a note"}))]);
    let found = run(Case {
        tools: &["convert_units"],
        found: Some(&["read_note", "no_such_tool"]),
        turns: vec![search(), read("film.md"), Turn::Text("Mira.")],
        ..Case::default()
    });
    assert_eq!(found.answer(), "Mira.");
    {
        let seen = found.seen(2);
        assert_eq!(
            seen[1].tools,
            ["convert_units", "read_note", "stop", "tool_search"]
        );
        assert!(seen[1].last().contains("read_note: ") && !seen[1].last().contains("no_such"));
        assert!(seen[2].last().contains("Mira Okafor"));
        assert!(found.trace().contains("🔧 Discovered 1 tool(s): read_note"));
    }
    let nothing = run(Case {
        tools: &["convert_units"],
        turns: vec![search(), Turn::Text("No tool.")],
        ..Case::default()
    });
    assert_eq!(nothing.seen(1)[1].tools.len(), 3);
    assert!(nothing.trace().contains("🔍 No new tools found"));
}

#[test]
fn stop_ends_the_reply_at_once() {
    for turn in [
        Turn::Calls(vec![
            ("stop", json!({})),
            ("read_note", json!({"path": "film.md"})),
        ]),
        Turn::Text("```tool_call\n{\"name\": \"stop\", \"arguments\": {}}\n```"),
    ] {
        let run = run(Case {
            turns: vec![turn],
            ..Case::default()
        });
        assert_eq!(run.outcome, TurnOutcome::Stop);
        assert_eq!(run.requests(), 1);
        assert!(!run.trace().contains("🛠️"));
    }
}

#[test]
fn thinking_is_a_pass_and_two_empty_answers_are_the_end() {
    let thinking = run(Case {
        turns: vec![
            Turn::Thinking,
            Turn::Text(""),
            Turn::Thinking,
            Turn::Text(""),
            Turn::Text("<think>hm</think>Twelve."),
        ],
        ..Case::default()
    });
    assert_eq!(thinking.answer(), "Twelve.");
    let empty = run(Case {
        turns: vec![Turn::Text(""), Turn::Text(" \n"), Turn::Text("Late.")],
        ..Case::default()
    });
    assert_eq!(empty.outcome, TurnOutcome::Nothing);
    assert_eq!(empty.requests(), 2);
    assert!(empty.asked().is_empty());
}

#[test]
fn data_is_never_an_answer_and_never_a_draft() {
    for text in [
        "{\"location\": \"Harrowgate\", \"forecast\": \"drizzle\"}",
        "tool_calls: []",
        "```tool_call\nnot json\n```",
        "{\"broken\": ",
        "<unused12>",
    ] {
        let run = run(Case {
            turns: vec![Turn::Text(text)],
            ..Case::default()
        });
        assert_eq!(run.outcome, TurnOutcome::Malformed, "{text}");
        assert_eq!(run.requests(), 1, "{text}");
    }
    let run = run(Case {
        turns: vec![Turn::Text("{\"response\": \"It opened in 1932.\"}")],
        ..Case::default()
    });
    assert_eq!(run.answer(), "It opened in 1932.");
    let events = run.script.events.lock().unwrap();
    let is_draft = |event: &Event| matches!(event, Event::Reply(ReplyEvent::Draft { .. }));
    assert!(!events.iter().any(is_draft));
}

#[test]
fn a_draft_that_becomes_a_call_is_dropped() {
    let run = run(Case {
        turns: vec![
            Turn::Text(
                "One moment.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```",
            ),
            Turn::Text("Mira Okafor."),
        ],
        ..small()
    });
    let events = run.script.events.lock().unwrap();
    let drafts: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::Reply(ReplyEvent::Draft { piece }) => Some(piece.clone()),
            Event::Reply(ReplyEvent::DraftDropped) => Some("|".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(drafts.concat(), "One moment.\n|Mira Okafor.");
}

#[test]
fn at_the_limit_what_was_found_is_told() {
    let limited = || ReplySettings {
        max_turns: 1,
        ..ReplySettings::default()
    };
    let told = run(Case {
        settings: limited(),
        turns: vec![read("film.md")],
        stages: vec![(
            Stage::LoopDigest,
            Some("Not finished — the note names Mira."),
        )],
        ..Case::default()
    });
    assert_eq!(told.answer(), "Not finished, the note names Mira.");
    let asked = told.script.asked.lock().unwrap();
    assert!(asked[0].1.contains("tool_call: read_note") && asked[0].1.contains("Glass Harbor"));
    let prose = run(Case {
        settings: limited(),
        turns: vec![Turn::Text(
            "I read the note.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```",
        )],
        ..small()
    });
    assert_eq!(prose.answer(), "I read the note.");
    let nothing = run(Case {
        settings: limited(),
        turns: vec![read("film.md")],
        stages: vec![(Stage::LoopDigest, Some("{\"name\": \"read_note\"}"))],
        ..Case::default()
    });
    assert_eq!(nothing.outcome, TurnOutcome::Nothing);
}

#[test]
fn a_small_model_gets_notes_on_a_long_result() {
    let long = || {
        Turn::Text(
            "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"long.md\"}}\n```",
        )
    };
    for (notes, has, lacks) in [
        (
            Some("According to the note, at nine."),
            "at nine.",
            "Zephyr-88",
        ),
        (Some("NONE"), "Zephyr-88", "NONE"),
        (None, "Zephyr-88", "nine"),
    ] {
        let run = run(Case {
            turns: vec![long(), Turn::Text("At nine.")],
            stages: vec![(Stage::ToolDigest, notes)],
            ..small()
        });
        assert_eq!(run.asked(), [Stage::ToolDigest]);
        let seen = run.seen(1);
        assert!(seen[1].last().contains(has) && !seen[1].last().contains(lacks));
    }
    let large = run(Case {
        turns: vec![read("long.md"), Turn::Text("At nine.")],
        ..Case::default()
    });
    assert!(large.asked().is_empty());
}

#[test]
fn a_stopped_reply_asks_nobody() {
    let run = run(Case {
        stop: true,
        turns: vec![Turn::Text("Too late.")],
        ..Case::default()
    });
    assert_eq!(run.outcome, TurnOutcome::Cancelled);
    assert_eq!(run.requests(), 0);
}
