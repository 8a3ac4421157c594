//! Whole replies with scripted and with erratic models, and the user's real notes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::testing::{assert_has, assert_lacks};
use crate::chat::event::EventSink;
use crate::chat::message::ToolCall;
use crate::chat::reply_event::ReplyEvent;
use crate::llm::failure::FailureKind;
use crate::llm::provider::{Offer, Reply};
use crate::reply::answer::guard;
use crate::reply::models::stage::{Stage, StageRequest};
use crate::reply::testing::session_with_notes;
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::hook_set::{Hook, HookRunner};
use crate::tools::engine::hooks::matcher::Matcher;

/// A model whose answers a function decides on, by stage.
struct Model<'a> {
    answer: Box<dyn Fn(Stage) -> Result<String, FailureKind> + Send + Sync + 'a>,
    asked: Mutex<Vec<(Stage, String)>>,
}

impl<'a> Model<'a> {
    fn new(answer: impl Fn(Stage) -> Result<String, FailureKind> + Send + Sync + 'a) -> Self {
        Self {
            answer: Box::new(answer),
            asked: Mutex::default(),
        }
    }

    fn next(&self, stage: Stage, request: String) -> Result<String, FailureKind> {
        locked(&self.asked).push((stage, request));
        (self.answer)(stage)
    }

    fn stages(&self) -> Vec<Stage> {
        locked(&self.asked)
            .iter()
            .map(|(stage, _)| *stage)
            .collect()
    }

    fn forget(&self) {
        locked(&self.asked).clear();
    }
}

impl StageModel for Model<'_> {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        let text = format!("{}\n{}", request.system, request.user);
        self.next(request.stage, text)
            .map_err(|_| Problem::network("Nobody answers."))
    }
}

impl ChatModel for Model<'_> {
    fn chat(
        &self,
        system: &str,
        messages: &[Message],
        _: &Offer,
        on_piece: &mut dyn FnMut(&str),
    ) -> Result<Reply, Failure> {
        let answer = self.next(Stage::Chat, format!("{system}\n{messages:?}"));
        match answer {
            Ok(text) => {
                on_piece(&text);
                // A call of the provider's protocol.
                let calls = text.strip_prefix("CALL ").map(|call| {
                    let (name, args) = call.split_once(' ').unwrap_or((call, ""));
                    ToolCall::new("same", name, args)
                });
                Ok(Reply {
                    text: if calls.is_some() { String::new() } else { text },
                    calls: calls.into_iter().collect(),
                    ..Reply::default()
                })
            }
            Err(kind) => Err(Failure::new(kind, Problem::network("Nobody answers."))),
        }
    }

    fn takes_tools(&self) -> bool {
        true
    }

    fn remember_without_tools(&self) {}

    fn fall_back(&self, _: &Failure, _: bool) -> bool {
        false
    }
}

/// A session with a few notes, and everything that it is told.
struct Stand {
    _home: tempfile::TempDir,
    ctx: ToolContext,
    heard: Arc<Heard>,
    engine: ReplyEngine,
}

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        locked(&self.0).push(event);
    }
}

impl Stand {
    fn new(settings: ReplySettings) -> Self {
        let home = tempfile::tempdir().unwrap();
        let session = session_with_notes(home.path(), &[("a.md", "Call sign Kestrel-41.")]);
        let heard = Arc::<Heard>::default();
        let listener: Arc<dyn EventSink> = Arc::clone(&heard) as Arc<dyn EventSink>;
        let engine = ReplyEngine::new(settings, &session);
        let ctx = ToolContext::new(Arc::new(session), Cancel::new(), listener);
        Self {
            _home: home,
            ctx,
            heard,
            engine,
        }
    }

    fn say(&self, model: &Model<'_>, is_small: bool, text: &str) -> Result<ReplyEnd, Failure> {
        self.answer(model, is_small, &self.typed(text, &UserFacts::default()))
    }

    fn typed<'a>(&self, text: &'a str, person: &'a UserFacts) -> ReplyInput<'a> {
        ReplyInput {
            text,
            at: self.engine.stamp(now(&self.ctx.session)),
            effort: None,
            spoken: false,
            language: None,
            read_aloud: false,
            voice_language: None,
            person,
        }
    }

    fn answer(
        &self,
        model: &Model<'_>,
        is_small: bool,
        input: &ReplyInput<'_>,
    ) -> Result<ReplyEnd, Failure> {
        let models = ReplyModels {
            stages: model,
            chat: model,
            is_small,
            max_tools: 128,
        };
        self.engine.reply(&self.ctx, &models, input)
    }

    fn shown(&self) -> String {
        let events = std::mem::take(&mut *locked(&self.heard.0));
        let pieces = events.into_iter().filter_map(|event| match event {
            Event::Delta(piece) => Some(piece),
            _ => None,
        });
        pieces.collect()
    }

    fn recent(&self) -> Vec<Message> {
        self.engine.dialogue.recent(now(&self.ctx.session))
    }
}

fn without_memory() -> ReplySettings {
    ReplySettings {
        memory_enabled: false,
        ..ReplySettings::default()
    }
}

fn answers(stage: Stage) -> Result<String, FailureKind> {
    Ok(match stage {
        Stage::Router => "read_note",
        Stage::Planner => "Reply to the user.",
        Stage::Chat => "Kestrel-41.",
        _ => "NONE",
    }
    .to_owned())
}

fn plans_a_call(stage: Stage) -> Result<String, FailureKind> {
    match stage {
        Stage::Planner => Ok("read_note path='a.md'\nReply to the user.".to_owned()),
        stage => answers(stage),
    }
}

fn stops(stage: Stage) -> Result<String, FailureKind> {
    match stage {
        Stage::Chat => Ok("CALL stop {}".to_owned()),
        stage => answers(stage),
    }
}

#[test]
fn a_reply_is_made_in_the_order_of_its_stages_and_reported() {
    let stand = Stand::new(without_memory());
    let model = Model::new(plans_a_call);
    let end = stand.say(&model, true, "what is  the call sign").unwrap();
    assert_eq!(end.text, "Kestrel-41.");
    assert_eq!(model.stages(), [Stage::Router, Stage::Planner, Stage::Chat]);
    assert_eq!(stand.shown(), "Kestrel-41.");
    let rows = stand.recent();
    assert_eq!(rows.first(), Some(&Message::user("what is the call sign")));
    assert_eq!(rows.last(), Some(&Message::assistant("Kestrel-41.")));
    assert_eq!(rows.len(), 4);
    let report = stand.engine.last_report().unwrap();
    assert_eq!(report.query, "what is the call sign");
    assert_eq!(report.calls.len(), 3);
    assert_eq!(report.ran, ["read_note"]);
    assert_eq!(report.tools, ["read_note", "stop", "tool_search"]);
    assert_eq!(report.plan.len(), 2);
    assert_eq!(report.end, ReplyOutcome::Answered);
    let names: Vec<&str> = report.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(names, ["router", "planner", "loop"]);
}

/// A hook that ends each turn.
struct Ends;

impl HookRunner for Ends {
    fn run(&self, _: &Value, _: Duration, _: &Cancel) -> Outcome<Value> {
        Ok(json!({"continue": false, "stopReason": "Enough."}))
    }

    fn name(&self) -> String {
        "the hook of the test".to_owned()
    }
}

#[test]
fn a_hook_that_ends_the_turn_ends_the_reply_before_the_model_is_asked_again() {
    for event in [HookEvent::PreToolUse, HookEvent::PostToolUse] {
        let stand = Stand::new(without_memory());
        let hook = Hook::new(event, Matcher::All, Box::new(Ends));
        stand.ctx.session.hooks.add([hook]);
        let model = Model::new(plans_a_call);
        let end = stand.say(&model, true, "what is the call sign").unwrap();
        assert!(end.text.is_empty() && !end.is_stop && stand.shown().is_empty());
        assert_eq!(model.stages(), [Stage::Router, Stage::Planner]);
        let report = stand.engine.last_report().unwrap();
        assert_eq!(report.end, ReplyOutcome::Ended);
        // What was said, the call and its result.
        assert_eq!(stand.recent().len(), 3);
    }
}

#[test]
fn what_was_heard_is_marked_and_cut_by_the_conjunctions_of_its_language() {
    for (language, is_cut) in [(Some("de"), true), (None, false)] {
        let stand = Stand::new(ReplySettings::default());
        let has_called = AtomicBool::new(false);
        let call =
            "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"a.md\"}}\n```";
        let model = Model::new(|stage| match stage {
            Stage::Planner => Err(FailureKind::Stalled),
            Stage::Chat if !has_called.swap(true, Ordering::SeqCst) => Ok(call.to_owned()),
            stage => answers(stage),
        });
        let text = "wie lautet das Rufzeichen und wer hat es vergeben";
        let person = UserFacts::default();
        let input = ReplyInput {
            spoken: true,
            language,
            read_aloud: true,
            voice_language: Some("German"),
            ..stand.typed(text, &person)
        };
        stand.answer(&model, true, &input).unwrap();
        let asked = locked(&model.asked);
        let chats: Vec<&String> = asked
            .iter()
            .filter(|(stage, _)| *stage == Stage::Chat)
            .map(|(_, text)| text)
            .collect();
        assert_has(chats[0], &["a machine wrote down what it heard"]);
        assert_has(chats[0], &["read aloud", "Your voice speaks only German"]);
        let last = chats.last().unwrap();
        assert_eq!(last.contains("Still open: "), is_cut, "{last}");
        let pending = stand.engine.dialogue.pending();
        assert!(pending.spoken && pending.rows.len() == 2, "{pending:?}");
    }
}

#[test]
fn the_same_question_again_makes_two_calls_at_most() {
    for settings in [ReplySettings::default(), without_memory()] {
        let stand = Stand::new(settings);
        let model = Model::new(answers);
        stand.say(&model, false, "and the call sign?").unwrap();
        model.forget();
        stand.say(&model, false, "and the call sign?").unwrap();
        assert_eq!(model.stages(), [Stage::Planner, Stage::Chat]);
    }
}

#[test]
fn nothing_before_the_chat_model_can_stop_a_reply() {
    for settings in [ReplySettings::default(), without_memory()] {
        for small in [true, false] {
            let stand = Stand::new(settings.clone());
            let model = Model::new(|stage| match stage {
                Stage::Chat => Ok("Here I am.".to_owned()),
                _ => Err(FailureKind::Stalled),
            });
            let end = stand.say(&model, small, "is anybody there").unwrap();
            assert_eq!(end.text, "Here I am.");
        }
    }
}

#[test]
fn stop_leaves_no_trace_and_the_conversation_before_it_stays() {
    let stand = Stand::new(without_memory());
    let model = Model::new(answers);
    stand.say(&model, false, "hello there").unwrap();
    let before = stand.recent();
    let stopping = Model::new(stops);
    stand.shown();
    let end = stand.say(&stopping, false, "that is all").unwrap();
    assert!(end.is_stop && end.text.is_empty());
    assert_eq!(stand.shown(), "");
    assert_eq!(stand.recent(), before);
    model.forget();
    stand.say(&model, false, "hello there").unwrap();
    assert_eq!(model.stages().first(), Some(&Stage::Router));
}

#[test]
fn stop_forgets_the_calls_of_the_conversation() {
    let stand = Stand::new(without_memory());
    let calling = Model::new(plans_a_call);
    stand.say(&calling, true, "what is the call sign").unwrap();
    assert_eq!(stand.recent().len(), 4);
    let stopping = Model::new(stops);
    stand.say(&stopping, false, "that is all").unwrap();
    assert_eq!(stand.recent().len(), 2);
}

#[test]
fn a_new_conversation_asks_the_router_again_and_has_no_calls() {
    let stand = Stand::new(ReplySettings {
        dialogue_window: Duration::ZERO,
        ..without_memory()
    });
    let model = Model::new(plans_a_call);
    for _ in 0..2 {
        model.forget();
        stand.say(&model, true, "what is the call sign").unwrap();
        assert_eq!(model.stages(), [Stage::Router, Stage::Planner, Stage::Chat]);
        let asked = locked(&model.asked);
        let (_, chat) = asked.last().unwrap();
        assert_eq!(
            chat.matches("[Tool result: read_note]").count(),
            1,
            "{chat}"
        );
    }
}

#[test]
fn apologies_are_marked_shown_and_remembered() {
    for (answer, small, has) in [
        (Ok("{\"forecast\": 1}"), true, "larger one"),
        (Ok("{\"forecast\": 1}"), false, "in other words"),
        (
            Err(FailureKind::Network),
            false,
            "something went wrong with that reply",
        ),
        (Ok(""), false, "something went wrong with that reply"),
    ] {
        let stand = Stand::new(without_memory());
        let model = Model::new(|stage| match stage {
            Stage::Chat => answer.clone().map(str::to_owned),
            stage => answers(stage),
        });
        let end = stand.say(&model, small, "what now then").unwrap();
        assert!(end.text.contains(has), "{}", end.text);
        let shown = stand.shown();
        assert_eq!(shown, format!("⚠️ {}", end.text));
        assert_eq!(stand.recent().len(), 2);
    }
}

#[test]
fn a_cancelled_reply_keeps_what_the_user_said() {
    let stand = Stand::new(without_memory());
    let stop = stand.ctx.stop.clone();
    let model = Model::new(|stage| match stage {
        Stage::Chat => {
            stop.fire();
            Err(FailureKind::Cancelled)
        }
        stage => answers(stage),
    });
    let failure = stand.say(&model, false, "a long story please").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    assert_eq!(stand.shown(), "");
    assert_eq!(stand.recent(), [Message::user("a long story please")]);
    assert_eq!(
        stand.engine.last_report().unwrap().end,
        ReplyOutcome::Cancelled
    );
}

#[test]
fn lost_entries_of_the_log_are_taken_in_once() {
    let stand = Stand::new(ReplySettings::default());
    let at = now(&stand.ctx.session);
    let entry = |role, text: &str, at| LogEntry {
        role,
        text: text.to_owned(),
        time: String::new(),
        at,
    };
    let entries = || {
        vec![
            entry(LogRole::You, "not of the flow", None),
            entry(LogRole::You, "I keep bees", Some(at)),
            entry(LogRole::System, "!usage", Some(at)),
            entry(LogRole::Assistant, "How many?", Some(at)),
        ]
    };
    stand.engine.restore(&stand.ctx.session, entries);
    stand.engine.restore(&stand.ctx.session, entries);
    assert_eq!(
        stand.recent(),
        [
            Message::user("I keep bees"),
            Message::assistant("How many?")
        ]
    );
    assert!(stand.engine.has_pending());
}

/// What a bad model writes.
const NONSENSE: [&str; 30] = [
    "",
    " \n",
    "Kestrel-41, I think.",
    "{\"response\": \"Kestrel-41.\"}",
    "{\"location\": \"x\", \"forecast\": \"y\"}",
    "{\"name\": \"read_note\", \"arguments\": {}}",
    "[{\"a\": 1}]",
    "{\"broken\": ",
    "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"a.md\"}}\n```",
    "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"a.md\"",
    "```tool_call\n{\"name\": \"rm_rf\", \"arguments\": {}}\n```\n```tool_call\n{\"name\": \"read_note\"}\n```",
    "```tool_call\nnonsense\n```",
    "```tool_call",
    "tool_calls: []",
    "tool_calls: [{\"function\": {\"name\": \"read_note\", \"arguments\": \"{\\\"path\\\": \\\"a.md\\\"}\"",
    "read_note(a.md)",
    "read_note: path: b.md",
    "CALL read_note {\"path\": \"a.md\"}",
    "CALL read_note a.md",
    "CALL  {}",
    "CALL tool_search {\"query\": \"notes\"}",
    "CALL 🦀🦀 [1,2",
    "<think>never closed",
    "<think>hm</think>Twelve.",
    "<unused7><unused8>",
    "NONE",
    "null",
    "read_note path='a.md'\nread_note path='<x>'\nsearchMemory topic='y'\nReply.",
    "\u{1b}[2J\u{0}\u{7}Prose with controls\u{202e}",
    "read_note, convert_units, foo",
];

#[test]
fn replies_of_a_bad_model_lose_nothing_and_show_no_data() {
    bad_replies(30, without_memory());
    bad_replies(30, ReplySettings::default());
}

#[test]
#[ignore = "takes minutes; run with --ignored"]
fn two_thousand_replies_of_a_bad_model_lose_nothing_and_show_no_data() {
    bad_replies(2_000, without_memory());
    bad_replies(2_000, ReplySettings::default());
}

/// How often the memory is written, in replies.
const MEMORY_EVERY: usize = 8;

fn bad_replies(replies: usize, settings: ReplySettings) {
    let settings = ReplySettings {
        max_turns: 4,
        ..settings
    };
    let stand = Stand::new(settings);
    let seed = AtomicU64::new(0x2545_f491_4f6c_dd1d);
    let random = |below: usize| {
        let mut x = seed.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        seed.store(x, Ordering::Relaxed);
        usize::try_from(x >> 11).unwrap() % below
    };
    let long = "Prose that does not end. ".repeat(200);
    let model = Model::new(|stage| match random(NONSENSE.len() + 6) {
        0 if stage == Stage::Chat && random(20) == 0 => Ok("CALL stop {}".to_owned()),
        1 => Err(FailureKind::Stalled),
        2 => Err(FailureKind::Server),
        3 => Ok(long.clone()),
        index => Ok(NONSENSE[index % NONSENSE.len()].to_owned()),
    });
    // What a bad model writes into the memory. Each batch of a summary must be usable, so that is decided for an update as a whole.
    let is_usable = AtomicBool::new(false);
    let memory = Model::new(|stage| match (stage, random(4)) {
        (Stage::Summariser, _) if is_usable.load(Ordering::Relaxed) => {
            Ok("SUMMARY: The user asks about notes.\nTOPICS: notes".to_owned())
        }
        (Stage::GraphExtract, 0) => Ok("[{\"fact\": \"The user keeps notes\"}, 7]".to_owned()),
        (_, 1) => Err(FailureKind::Stalled),
        _ => Ok(NONSENSE[random(NONSENSE.len())].to_owned()),
    });
    let is_remembered = stand.engine.settings().memory_enabled;
    let mut said = 0;
    let mut largest = 0;
    for number in 0..replies {
        let text = format!(
            "question {number} about the notes and what about {}",
            number % 7
        );
        let end = stand.say(&model, number % 2 == 0, &text).unwrap();
        model.forget();
        let events = std::mem::take(&mut *locked(&stand.heard.0));
        let mut shown = String::new();
        for event in events {
            match event {
                Event::Delta(piece) => shown.push_str(&piece),
                Event::Reply(ReplyEvent::Draft { piece }) => {
                    assert!(!piece.contains("tool_call"), "{piece}");
                }
                _ => {}
            }
        }
        assert!(!shown.contains("tool_call"), "{shown}");
        assert!(!guard::is_malformed(&shown), "{shown}");
        assert_lacks(&shown, &["forecast", "<think>"]);
        assert_eq!(end.is_stop, shown.is_empty());
        let recent = stand.recent();
        assert!(recent.len() <= 40);
        let is_there = recent.contains(&Message::user(text.as_str()));
        assert_eq!(is_there, !end.is_stop, "{number}");
        said += usize::from(!end.is_stop);
        if is_remembered {
            let rows = stand.engine.dialogue.pending().rows;
            let users = rows
                .iter()
                .filter(|row| row.text.starts_with("User: "))
                .count();
            assert_eq!(users, said, "no row of the user is lost");
            is_usable.store(random(2) == 0, Ordering::Relaxed);
            if number % MEMORY_EVERY == 0
                && stand
                    .engine
                    .remember(&stand.ctx, &memory)
                    .is_ok_and(|saved| saved)
            {
                assert!(!stand.engine.has_pending());
                said = 0;
            }
            memory.forget();
        }
        let size = format!("{:?}{:?}", stand.engine.dialogue, stand.engine.scratch).len();
        if number < replies / 2 {
            largest = largest.max(size);
        } else {
            // Long answers stay for a while, so the size moves; it does not grow.
            assert!(
                size <= largest * 2,
                "{size} after {number}, {largest} before"
            );
        }
    }
    let Some(store) = &stand.engine.store else {
        return;
    };
    // One entry for the day, or two when the day has changed meanwhile, and a fact that was learned many times.
    let diary = store.diary_all().unwrap();
    assert!((1..=2).contains(&diary.len()), "{diary:?}");
    let nodes = store.nodes().unwrap();
    let facts: usize = nodes.iter().map(|node| node.facts().count()).sum();
    assert!(facts <= 1, "{nodes:?}");
}
