//! Calls of real tools through the registry, with hooks that are functions.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::calls::{self, HookedCall, MAX_RESPONSE};
use super::event::HookEvent;
use super::hook_set::{Hook, HookOrigin, HookRunner, HookSet, HookedSession};
use super::matcher::Matcher;
use super::turns::{self, StopHooks};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{DenialReason, Event, EventSink};
use crate::chat::message::ToolCall;
use crate::disk::beneath::Root;
use crate::tools::engine::batch;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::permission::gate::known_tools;
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::engine::permission::permissions::{PermissionRules, Permissions};
use crate::tools::engine::permission::rule::Rule;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::registry::Registry;
use crate::tools::engine::result::ToolOk;

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

type Answer = Box<dyn Fn(&Value) -> Outcome<Value> + Send + Sync>;

/// A hook that is a function, and what it was told.
struct Told {
    answer: Answer,
    inputs: Arc<Mutex<Vec<Value>>>,
}

impl HookRunner for Told {
    fn run(&self, input: &Value, _: Duration, _: &Cancel) -> Outcome<Value> {
        self.inputs.lock().unwrap().push(input.clone());
        (self.answer)(input)
    }

    fn name(&self) -> String {
        "the hook of the test".to_owned()
    }
}

struct Bench {
    dir: tempfile::TempDir,
    ctx: ToolContext,
    heard: Arc<Heard>,
    inputs: Arc<Mutex<Vec<Value>>>,
}

impl Bench {
    fn new() -> Self {
        Self::with(PermissionRules::default())
    }

    fn with(rules: PermissionRules) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([
            ("PATH", std::env::var("PATH").unwrap().as_str()),
            (
                "MARVIN_CONFIG_DIR",
                dir.path().join("config").to_str().unwrap(),
            ),
        ]);
        let mut session = SessionContext::new(env, ToolPolicy::default());
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        session.working_dir.set(Root::open(&work).unwrap(), true);
        session.permissions = Permissions::new(rules);
        session.hooks.set_session(HookedSession {
            id: "s1".to_owned(),
            transcript: "/t".to_owned(),
            source: "startup",
        });
        let heard = Arc::new(Heard::default());
        let sink: Arc<dyn EventSink> = Arc::clone(&heard) as Arc<dyn EventSink>;
        Self {
            dir,
            ctx: ToolContext::new(Arc::new(session), Cancel::new(), sink),
            heard,
            inputs: Arc::default(),
        }
    }

    fn hook(
        &self,
        event: HookEvent,
        matcher: &str,
        answer: impl Fn(&Value) -> Outcome<Value> + Send + Sync + 'static,
    ) -> Hook {
        let told = Told {
            answer: Box::new(answer),
            inputs: Arc::clone(&self.inputs),
        };
        Hook::new(event, Matcher::parse(matcher).unwrap(), Box::new(told))
    }

    fn on(
        self,
        event: HookEvent,
        matcher: &str,
        answer: impl Fn(&Value) -> Outcome<Value> + Send + Sync + 'static,
    ) -> Self {
        let hook = self.hook(event, matcher, answer);
        self.ctx.session.hooks.add([hook]);
        self
    }

    fn run(&self, name: &str, args: &Value) -> String {
        let call = ToolCall::new("c1".to_owned(), name, args.to_string());
        batch::run_one(&self.ctx, &call).output.text
    }

    fn create(&self, path: &str) -> String {
        self.run("create_file", &json!({"path": path, "content": "text"}))
    }

    fn has(&self, path: &str) -> bool {
        self.dir.path().join("work").join(path).exists()
    }

    fn inputs(&self) -> Vec<Value> {
        self.inputs.lock().unwrap().clone()
    }

    fn notices(&self) -> Vec<String> {
        let events = self.heard.0.lock().unwrap();
        let notice = |event: &Event| match event {
            Event::Notice(_, words) => Some(words.clone()),
            _ => None,
        };
        events.iter().filter_map(notice).collect()
    }

    fn denials(&self) -> Vec<DenialReason> {
        let events = self.heard.0.lock().unwrap();
        let denial = |event: &Event| match event {
            Event::Denied { reason, .. } => Some(*reason),
            _ => None,
        };
        events.iter().filter_map(denial).collect()
    }
}

fn specific(members: Value) -> Value {
    json!({ "hookSpecificOutput": members })
}

fn decides(decision: &'static str) -> impl Fn(&Value) -> Outcome<Value> + Send + Sync {
    move |_| {
        Ok(specific(
            json!({"permissionDecision": decision, "permissionDecisionReason": "So it is."}),
        ))
    }
}

#[test]
fn a_call_is_denied_changed_or_commented_on_before_it_runs() {
    use HookEvent::PreToolUse;
    let denied = Bench::new().on(PreToolUse, "create_file", decides("deny"));
    let text = denied.create("a.md");
    assert!(
        text.contains("a hook of the user refused it: So it is."),
        "{text}"
    );
    assert!(!denied.has("a.md"));
    assert_eq!(denied.denials(), [DenialReason::Hook]);
    assert!(!denied.run("tree", &json!({})).contains("refused"));
    let told = &denied.inputs()[0];
    assert_eq!(denied.inputs().len(), 1);
    for (name, value) in [
        ("hook_event_name", "PreToolUse"),
        ("session_id", "s1"),
        ("transcript_path", "/t"),
        ("permission_mode", "bypassPermissions"),
        ("tool_name", "create_file"),
        ("tool_use_id", "c1"),
    ] {
        assert_eq!(told[name], value, "{told}");
    }
    assert_eq!(told["tool_input"]["path"], "a.md");
    assert!(told["cwd"].as_str().unwrap().ends_with("work"));

    let changed = Bench::new()
        .on(PreToolUse, "Write", |_| {
            Ok(specific(
                json!({"updatedInput": {"path": "b.md", "content": "other"}, "additionalContext": "Mind b."}),
            ))
        })
        .on(PreToolUse, "", |_| {
            Ok(specific(json!({"updatedInput": {"path": "c.md", "content": "x"}})))
        });
    let text = changed.create("a.md");
    assert!(changed.has("b.md") && !changed.has("a.md") && !changed.has("c.md"));
    assert!(
        text.ends_with("[A hook of the user says: Mind b.]"),
        "{text}"
    );
}

#[test]
fn what_came_from_the_project_goes_with_its_trust() {
    let set = HookSet::default();
    let bench = Bench::new();
    let hook = |origin| {
        let hook = bench.hook(HookEvent::PreToolUse, "", |_| Ok(Value::Null));
        hook.of(origin)
    };
    for origin in [HookOrigin::User, HookOrigin::Project] {
        set.add([hook(origin)]);
        set.refuse_changes(origin, origin.words().to_owned());
    }
    let origins = || {
        let hooks = set.about(HookEvent::PreToolUse, &["tree"]);
        hooks.iter().map(|hook| hook.origin).collect::<Vec<_>>()
    };
    assert_eq!(origins(), [HookOrigin::User, HookOrigin::Project]);
    set.remove(HookOrigin::Project);
    assert_eq!(origins(), [HookOrigin::User]);
    assert_eq!(set.refusal().unwrap().0, HookOrigin::User);
    set.remove(HookOrigin::User);
    assert!(!set.has(HookEvent::PreToolUse) && set.refusal().is_none());
}

#[test]
fn a_hook_that_allows_opens_the_question_and_no_rule() {
    let rules = |deny: &str| PermissionRules {
        mode: Some(PermissionMode::Default),
        deny: Rule::parse_list(deny, &known_tools(&Registry::default().all())).unwrap(),
        ..PermissionRules::default()
    };
    let open = Bench::with(rules("create_file(secret/**)")).on(
        HookEvent::PreToolUse,
        "",
        |input| {
            let to = match input["tool_input"]["path"] == "trick.md" {
                true => "secret/a.md",
                false => "a.md",
            };
            Ok(specific(
                json!({"permissionDecision": "allow", "updatedInput": {"path": to, "content": "x"}}),
            ))
        },
    );
    open.create("a.md");
    assert!(open.has("a.md"));
    let text = open.create("trick.md");
    assert!(text.contains("--disallowed-tools"), "{text}");
    assert!(!open.has("secret/a.md"));
    // Nobody can be asked here.
    let asks = Bench::with(rules("")).on(HookEvent::PreToolUse, "", decides("ask"));
    let text = asks.create("a.md");
    assert!(text.contains("Nobody can be asked"), "{text}");
    assert!(!asks.has("a.md"));
}

#[test]
fn no_hook_opens_a_mode_that_refuses() {
    for mode in [PermissionMode::Plan, PermissionMode::DontAsk] {
        for decision in ["allow", "ask"] {
            let rules = PermissionRules {
                mode: Some(mode),
                allow: Rule::parse_list(
                    "create_file(docs/**)",
                    &known_tools(&Registry::default().all()),
                )
                .unwrap(),
                ..PermissionRules::default()
            };
            let bench =
                Bench::with(rules).on(HookEvent::PreToolUse, "create_file", decides(decision));
            let text = bench.create("a.md");
            assert!(text.contains(mode.word()), "{text}");
            assert!(!bench.has("a.md"));
            assert_eq!(bench.denials(), [DenialReason::Mode]);
            // What a rule allows is as ever.
            bench.create("docs/a.md");
            assert_eq!(bench.has("docs/a.md"), decision == "allow");
        }
    }
}

#[test]
fn what_has_run_is_told_and_commented_on() {
    let bench = Bench::new()
        .on(HookEvent::PostToolUse, "", |_| {
            Ok(json!({"decision": "block", "reason": "Format it."}))
        })
        .on(HookEvent::PostToolUseFailure, "", |_| {
            Ok(specific(
                json!({"additionalContext": "It was never there."}),
            ))
        });
    let text = bench.create("a.md");
    assert!(
        bench.has("a.md") && text.ends_with("says: Format it.]"),
        "{text}"
    );
    let text = bench.run("read_file", &json!({"path": "missing.md"}));
    assert!(text.contains("says: It was never there.]"), "{text}");
    let inputs = bench.inputs();
    assert!(
        inputs[0]["tool_response"]
            .as_str()
            .unwrap()
            .contains("a.md")
    );
    assert!(inputs[0]["duration_ms"].is_u64());
    assert!(inputs[1]["error"].as_str().unwrap().contains("missing.md"));
}

#[test]
fn a_hook_without_an_answer_is_told_and_blocks_only_where_it_says_so() {
    for (answer, words) in [
        (
            (|_: &Value| Err(Problem::timeout("It took too long.")))
                as fn(&Value) -> Outcome<Value>,
            "It took too long.",
        ),
        (|_| Ok(json!([1])), "no JSON object"),
        (|_| panic!("no hook"), "It crashed"),
    ] {
        let goes_on = Bench::new().on(HookEvent::PreToolUse, "", answer);
        goes_on.create("a.md");
        assert!(goes_on.has("a.md"));
        let notices = goes_on.notices();
        assert!(
            notices.len() == 1 && notices[0].contains(words) && notices[0].contains("of the test"),
            "{notices:?}"
        );
        let blocks = Bench::new();
        let hook = blocks.hook(HookEvent::PreToolUse, "", answer);
        blocks
            .ctx
            .session
            .hooks
            .add([hook.blocking_on_failure(true)]);
        let text = blocks.create("a.md");
        assert!(!blocks.has("a.md") && text.contains(words), "{text}");
    }
}

#[test]
fn many_hooks_run_side_by_side_and_all_count() {
    let bench = Bench::new();
    let barrier = Arc::new(std::sync::Barrier::new(8));
    for n in 0..8 {
        let barrier = Arc::clone(&barrier);
        let hook = bench.hook(HookEvent::PreToolUse, "", move |_| {
            // All of them have to be there at once.
            barrier.wait();
            Ok(specific(json!({"additionalContext": format!("{n}")})))
        });
        bench.ctx.session.hooks.add([hook]);
    }
    let text = bench.create("a.md");
    assert!(text.ends_with("0\n1\n2\n3\n4\n5\n6\n7]"), "{text}");
}

#[test]
fn a_message_gets_context_or_is_not_sent() {
    let bench = Bench::new()
        .on(HookEvent::SessionStart, "startup", |_| {
            Ok(specific(json!({"additionalContext": "It is cold."})))
        })
        .on(HookEvent::UserPromptSubmit, "", |input| {
            Ok(match input["prompt"] == "stop" {
                true => json!({"decision": "block", "reason": "Not now."}),
                false => specific(json!({"additionalContext": "Mind the gap."})),
            })
        });
    turns::session_starts(&bench.ctx, "resume", "m");
    turns::session_starts(&bench.ctx, "startup", "m");
    let words = turns::prompt_is_sent(&bench.ctx, "go").unwrap().unwrap();
    assert_eq!(
        words,
        "[A hook of the user says: It is cold.]\n[A hook of the user says: Mind the gap.]"
    );
    let words = turns::prompt_is_sent(&bench.ctx, "go").unwrap().unwrap();
    assert!(!words.contains("cold"), "{words}");
    let problem = turns::prompt_is_sent(&bench.ctx, "stop").unwrap_err();
    assert!(problem.what.ends_with(": Not now."), "{}", problem.what);
    assert_eq!(bench.ctx.session.hooks.end().as_deref(), Some("Not now."));
}

#[test]
fn no_hook_is_asked_about_words_of_marvin() {
    let bench = Bench::new().on(HookEvent::UserPromptSubmit, "", |_| Ok(json!({})));
    let hooks = &bench.ctx.session.hooks;
    hooks.expect_own_words(true);
    assert_eq!(turns::prompt_is_sent(&bench.ctx, "Again.").unwrap(), None);
    assert!(bench.inputs().is_empty());
    hooks.expect_own_words(false);
    turns::prompt_is_sent(&bench.ctx, "go").unwrap();
    assert_eq!(bench.inputs().len(), 1);
}

#[test]
fn a_question_that_cannot_be_put_to_a_hook_denies_the_call() {
    let bench = Bench::new().on(HookEvent::PreToolUse, "", |_| {
        Err(Problem::limit("It is too long."))
    });
    let text = bench.create("a.md");
    assert!(text.contains("It is too long."), "{text}");
    assert!(!bench.has("a.md"));
}

#[test]
fn a_long_result_is_told_as_far_as_it_goes() {
    let bench = Bench::new().on(HookEvent::PostToolUse, "", |_| Ok(json!({})));
    let done = ToolOk::from("é".repeat(MAX_RESPONSE));
    let call = HookedCall {
        tool: "tree".to_owned(),
        input: Map::new(),
    };
    let done = calls::after(&bench.ctx, Some(&call), None, Ok(done), Duration::ZERO).unwrap();
    assert_eq!(done.text.len(), 2 * MAX_RESPONSE);
    let inputs = bench.inputs();
    let told = inputs[0]["tool_response"].as_str().unwrap();
    assert_eq!(told.len(), MAX_RESPONSE);
}

#[test]
fn a_turn_is_kept_from_ending_five_times_in_a_row() {
    let bench = Bench::new().on(HookEvent::Stop, "", |input| {
        assert!(input["last_assistant_message"] == "Done.");
        Ok(json!({"decision": "block", "reason": "Not yet."}))
    });
    let mut stops = StopHooks::default();
    for _ in 0..5 {
        let words = stops.objection(&bench.ctx, "Done.").unwrap();
        assert!(words.contains("Not yet."), "{words}");
    }
    assert_eq!(stops.objection(&bench.ctx, "Done."), None);
    assert!(bench.notices()[0].contains("5 times in a row"));
    let inputs = bench.inputs();
    let active: Vec<bool> = inputs
        .iter()
        .map(|input| input["stop_hook_active"] == true)
        .collect();
    assert_eq!(active, [false, true, true, true, true, true]);
    // One that ends the turn lets it end.
    let bench = Bench::new().on(HookEvent::Stop, "", |_| {
        Ok(json!({"continue": false, "stopReason": "Enough.", "decision": "block"}))
    });
    assert_eq!(StopHooks::default().objection(&bench.ctx, ""), None);
    assert_eq!(bench.ctx.session.hooks.end().as_deref(), Some("Enough."));
    assert_eq!(bench.notices(), ["A hook ended the turn: Enough."]);
}
