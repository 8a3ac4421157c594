//! Calls of real tools through the registry, with the permissions of a session.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::call_approver::{CallAnswer, CallApproval, CallApprover, CallQuestion};
use super::gate::known_tools;
use super::mode::PermissionMode;
use super::permissions::{PermissionRules, Permissions};
use super::rule::Rule;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::testing::assert_has;
use crate::chat::event::{CallEnd, CallState, DenialReason, Event, EventSink};
use crate::chat::message::ToolCall;
use crate::disk::beneath::Root;
use crate::proc::sandbox::policy::SandboxMode;
use crate::proc::sandbox::session_sandbox::{SandboxChoice, SessionSandbox, UserFolders};
use crate::tools::OUTSIDE;
use crate::tools::engine::approval::{Approval, ApprovalRequest, Approver};
use crate::tools::engine::batch;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::owned_tool::OwnedTool;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::registry::{FinishedCall, Registry};

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

type Answer = dyn Fn(&CallQuestion, &Cancel) -> Outcome<CallAnswer> + Send + Sync;

/// What is asked, and how it is answered.
struct Host {
    asked: Mutex<Vec<CallQuestion>>,
    answer: Box<Answer>,
}

impl CallApprover for Host {
    fn ask(&self, question: &CallQuestion, stop: &Cancel) -> Outcome<CallAnswer> {
        self.asked.lock().unwrap().push(question.clone());
        (self.answer)(question, stop)
    }
}

/// A session in a folder of its own.
struct Bench {
    dir: tempfile::TempDir,
    ctx: ToolContext,
    heard: Arc<Heard>,
    host: Option<Arc<Host>>,
}

fn rules(list: &str) -> Vec<Rule> {
    Rule::parse_list(list, &known_tools(&Registry::default().all())).unwrap()
}

impl Bench {
    fn new(mode: Option<PermissionMode>, allow: &str, deny: &str) -> Self {
        let permissions = PermissionRules {
            mode,
            allow: rules(allow),
            deny: rules(deny),
            ..PermissionRules::default()
        };
        Self::with(permissions, ToolPolicy::default(), &[])
    }

    fn with(rules: PermissionRules, policy: ToolPolicy, vars: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let config = dir.path().join("config");
        let mut env = vec![
            ("PATH", path.as_str()),
            ("MARVIN_CONFIG_DIR", config.to_str().unwrap()),
        ];
        env.extend(vars);
        let env = Env::new(
            env.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let mut session = SessionContext::new(env, policy);
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        session.working_dir.set(Root::open(&work).unwrap(), true);
        session.permissions = Permissions::new(rules);
        // The layer of the sandbox is the real binary's.
        let open = SandboxChoice {
            mode: SandboxMode::DangerFullAccess,
            ..SandboxChoice::default()
        };
        session.sandbox = SessionSandbox::new(Some(open), UserFolders::default());
        let heard = Arc::new(Heard::default());
        let sink: Arc<dyn EventSink> = Arc::clone(&heard) as Arc<dyn EventSink>;
        Self {
            dir,
            ctx: ToolContext::new(Arc::new(session), Cancel::new(), sink),
            heard,
            host: None,
        }
    }

    fn answered(
        mut self,
        answer: impl Fn(&CallQuestion, &Cancel) -> Outcome<CallAnswer> + Send + Sync + 'static,
    ) -> Self {
        let host = Arc::new(Host {
            asked: Mutex::default(),
            answer: Box::new(answer),
        });
        let approver = Arc::clone(&host) as Arc<dyn CallApprover>;
        self.ctx.session.permissions.set_approver(Some(approver));
        self.host = Some(host);
        self
    }

    fn run(&self, name: &str, args: &Value) -> FinishedCall {
        batch::run_one(
            &self.ctx,
            &ToolCall::new("c1".to_owned(), name, args.to_string()),
        )
    }

    fn create(&self, path: &str) -> FinishedCall {
        self.run("create_file", &json!({"path": path, "content": "text"}))
    }

    fn command(&self, command: &str) -> FinishedCall {
        self.run("run_command", &json!({"command": command, "timeout": 5}))
    }

    fn has(&self, path: &str) -> bool {
        self.dir.path().join("work").join(path).exists()
    }

    fn asked(&self) -> Vec<CallQuestion> {
        self.host.as_ref().unwrap().asked.lock().unwrap().clone()
    }

    fn denials(&self) -> Vec<DenialReason> {
        let events = self.heard.0.lock().unwrap();
        let denial = |event: &Event| match event {
            Event::Denied { id, reason, .. } => {
                assert_eq!(id, "c1");
                Some(*reason)
            }
            _ => None,
        };
        events.iter().filter_map(denial).collect()
    }
}

fn allow() -> Outcome<CallAnswer> {
    Ok(CallAnswer::Allow(CallApproval::default()))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => panic!("no object"),
    }
}

#[test]
fn without_rules_and_mode_everything_is_as_it_was() {
    let bench = Bench::new(None, "", "");
    assert!(!bench.create("a.md").output.failed);
    assert!(!bench.command("true").output.failed);
    assert!(bench.denials().is_empty());
    assert_eq!(bench.ctx.session.permissions.mode(), PermissionMode::Bypass);
}

#[test]
fn a_mode_refuses_with_the_words_that_allow_it() {
    for mode in [
        PermissionMode::Default,
        PermissionMode::DontAsk,
        PermissionMode::Plan,
    ] {
        let bench = Bench::new(Some(mode), "", "");
        let refused = bench.create("docs/a.md");
        assert!(refused.output.failed && !bench.has("docs/a.md"));
        for part in [
            "create_file was not run",
            mode.word(),
            "--allowed-tools 'create_file(docs/a.md)'",
            "--permission-mode",
        ] {
            assert!(
                refused.output.text.contains(part),
                "{part}: {}",
                refused.output.text
            );
        }
        let refused = bench.command("touch b");
        assert!(refused.output.text.contains("'run_command(touch b)'"));
        assert!(!bench.has("b"));
        assert!(!bench.run("tree", &json!({})).output.failed);
        assert_eq!(bench.denials(), [DenialReason::Mode; 2]);
    }
    let bench = Bench::new(Some(PermissionMode::AcceptEdits), "", "");
    assert!(!bench.create("a.md").output.failed);
    assert!(bench.command("touch b").output.failed && !bench.has("b"));
}

#[test]
fn a_rule_allows_and_one_that_denies_goes_first() {
    let bench = Bench::new(
        Some(PermissionMode::DontAsk),
        "create_file(docs/**) run_command(touch:*) Edit",
        "create_file(docs/secret*) Bash(touch b)",
    );
    assert!(!bench.create("docs/a.md").output.failed && bench.has("docs/a.md"));
    assert!(bench.create("src/a.md").output.failed);
    assert!(bench.create("docs/secret.md").output.failed);
    assert!(bench.create("docs/../src/b.md").output.failed);
    assert!(!bench.command("touch a").output.failed && bench.has("a"));
    assert!(bench.command("touch b").output.failed);
    assert!(bench.command("touch c; touch d").output.failed);
    assert!(!bench.has("c") && !bench.has("b") && !bench.has("src"));
    use DenialReason::{Mode, Rule};
    assert_eq!(bench.denials(), [Mode, Rule, Rule, Rule, Mode]);
    let patch = "*** Begin Patch\n*** Update File: docs/a.md\n@@\n-text\n+new\n*** End Patch\n";
    assert!(
        !bench
            .run("apply_patch", &json!({"input": patch}))
            .output
            .failed
    );
}

#[test]
fn a_denied_tool_is_refused_in_every_mode_and_under_every_name() {
    for mode in [None, Some(PermissionMode::Bypass)] {
        let bench = Bench::new(mode, "run_command", "Bash");
        let refused = bench.command("touch a");
        assert!(refused.output.failed && !bench.has("a"));
        assert_has(&refused.output.text, &["--disallowed-tools"]);
        assert_eq!(bench.denials(), [DenialReason::Rule]);
    }
    let policy = ToolPolicy {
        disallowed: rules("Bash git_* create_file(x)"),
        ..ToolPolicy::default()
    };
    let offered = Registry::default().allowed(&policy);
    let offered: Vec<&str> = offered.iter().map(|tool| tool.name()).collect();
    assert!(
        !offered
            .iter()
            .any(|name| name.starts_with("git_") || *name == "run_command")
    );
    assert!(offered.contains(&"create_file"));
}

#[test]
fn a_patch_is_judged_by_every_file_in_it() {
    let bench = Bench::new(Some(PermissionMode::DontAsk), "apply_patch(docs/**)", "");
    let patch = |files: &[&str]| {
        let sections = files
            .iter()
            .map(|file| format!("*** Add File: {file}\n+text\n"));
        json!({"patch": format!("*** Begin Patch\n{}*** End Patch\n", sections.collect::<String>())})
    };
    assert!(
        !bench
            .run("apply_patch", &patch(&["docs/a", "docs/b"]))
            .output
            .failed
    );
    assert!(
        bench
            .run("apply_patch", &patch(&["docs/c", "src/c"]))
            .output
            .failed
    );
    assert!(!bench.has("docs/c"));
    let denied = Bench::new(None, "", "apply_patch(src/**)");
    assert!(
        denied
            .run("apply_patch", &patch(&["docs/c", "src/c"]))
            .output
            .failed
    );
    assert!(denied.run("apply_patch", &json!("no patch")).output.failed);
    assert_eq!(denied.denials(), [DenialReason::Rule; 2]);
}

#[test]
fn a_link_does_not_lead_past_a_rule() {
    let bench = Bench::new(None, "", "create_file(src/**)");
    let work = bench.dir.path().join("work");
    fs::create_dir(work.join("src")).unwrap();
    std::os::unix::fs::symlink("src", work.join("docs")).unwrap();
    assert!(bench.create("docs/a.md").output.failed);
    assert_eq!(bench.denials(), [DenialReason::Rule]);
    let bench = Bench::new(Some(PermissionMode::DontAsk), "create_file(docs/**)", "");
    let work = bench.dir.path().join("work");
    fs::create_dir(work.join("src")).unwrap();
    std::os::unix::fs::symlink("src", work.join("docs")).unwrap();
    assert!(bench.create("docs/a.md").output.failed);
    assert_eq!(bench.denials(), [DenialReason::Mode]);
}

#[test]
fn a_rule_about_a_note_is_about_its_file_in_the_project() {
    let patch = "@@\n-one\n+two\n";
    let calls = [
        ("file_apply_patch", json!({"path": "n", "patch": patch})),
        (
            "write_note",
            json!({"path": "Notes/n.md", "content": "two"}),
        ),
        ("read_note", json!({"path": ".marvin/notes/n.md"})),
    ];
    for (path, denied) in [
        (".marvin/**", true),
        (".marvin/notes/n.md", true),
        ("n.md", true),
        ("Notes/*", false),
        ("src/**", false),
    ] {
        for (tool, args) in &calls {
            let rule = format!("{tool}({path})");
            let bench = |mode, allow: &str, deny: &str| {
                let bench = Bench::new(Some(mode), allow, deny);
                let notes = bench.dir.path().join("work/.marvin/notes");
                fs::create_dir_all(&notes).unwrap();
                fs::write(notes.join("n.md"), "one\n").unwrap();
                bench
            };
            let done = bench(PermissionMode::Bypass, "", &rule).run(tool, args);
            // What was given may be named too.
            let is_given = path == "Notes/*" && *tool == "write_note";
            assert_eq!(
                done.output.failed,
                denied || is_given,
                "{rule}: {}",
                done.output.text
            );
            if *tool != "read_note" {
                let done = bench(PermissionMode::DontAsk, &rule, "").run(tool, args);
                let allowed = path.starts_with(".marvin");
                assert_eq!(done.output.failed, !allowed, "{rule}: {}", done.output.text);
            }
        }
    }
    // The first note has no folder yet.
    let bench = Bench::new(
        Some(PermissionMode::DontAsk),
        "write_note(.marvin/notes/**)",
        "write_note(.marvin/notes/x.md)",
    );
    for (path, failed) in [("x", true), ("y", false)] {
        let done = bench.run("write_note", &json!({"path": path, "content": "two"}));
        assert_eq!(done.output.failed, failed, "{path}: {}", done.output.text);
    }
}

#[test]
fn a_host_is_asked_about_a_whole_call() {
    let bench = Bench::new(Some(PermissionMode::Default), "", "").answered(|_, _| allow());
    let done = bench.command("touch a");
    assert!(!done.output.failed && bench.has("a"));
    let asked = bench.asked();
    let [question] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(question.tool, "run_command");
    assert_eq!(question.call, "c1");
    assert_eq!(question.input["command"], "touch a");
    assert_eq!(question.title, "run_command: touch a");
    assert!(question.reason.contains("default"), "{}", question.reason);
    assert!(!question.description.is_empty());
    let states: Vec<CallState> = bench
        .heard
        .0
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            Event::CallState { state, .. } => Some(*state),
            _ => None,
        })
        .collect();
    // Before the answer it does not run.
    assert_eq!(states, [CallState::Waiting, CallState::Running]);
    // Reads are not asked about.
    assert!(!bench.run("tree", &json!({})).output.failed);
    assert_eq!(bench.asked().len(), 1);
    assert!(bench.denials().is_empty());
}

#[test]
fn the_time_limit_of_a_call_pauses_while_it_is_asked_about() {
    let bench = Bench::new(Some(PermissionMode::Default), "", "").answered(|_, stop| {
        assert!(stop.sleep(Duration::from_millis(1_500)));
        allow()
    });
    let schema = r#"{"type":"object","properties":{}}"#.to_owned();
    let lamp = OwnedTool {
        name: "lamp_switch".to_owned(),
        module: "lamps".to_owned(),
        summary: "Switches the lamp.".to_owned(),
        schema: RawValue::from_string(schema).unwrap(),
        rules: OUTSIDE.seconds(1),
        phrases: Arc::new([]),
        run: Box::new(|_, _| Ok("It is on.".to_owned().into())),
    };
    bench.ctx.session.registry().register(lamp).unwrap();
    let done = bench.run("lamp_switch", &json!({}));
    assert_eq!(done.end, CallEnd::Success, "{}", done.output.text);
    assert!(done.waited >= Duration::from_millis(1_500));
}

#[test]
fn a_no_is_the_result_and_may_end_the_turn() {
    for interrupt in [false, true] {
        let bench = Bench::new(Some(PermissionMode::Default), "", "").answered(move |_, _| {
            Ok(CallAnswer::Deny {
                message: "Rather not.".to_owned(),
                interrupt,
            })
        });
        let (turn, _with_turn) = bench.ctx.stop.child();
        let bench = Bench {
            ctx: ToolContext {
                turn: turn.clone(),
                ..bench.ctx.clone()
            },
            ..bench
        };
        let refused = bench.command("touch a");
        assert_has(&refused.output.text, &["Rather not."]);
        assert_eq!(refused.end, CallEnd::Declined);
        assert_eq!(turn.is_fired(), interrupt);
        assert!(!bench.has("a"));
        assert_eq!(bench.denials(), [DenialReason::Asked]);
    }
    let bench = Bench::new(Some(PermissionMode::Default), "", "")
        .answered(|_, _| Err(Problem::refused("Nobody answered.")));
    assert_has(&bench.command("touch a").output.text, &["Nobody answered."]);
    assert_eq!(bench.denials(), [DenialReason::Asked]);
}

#[test]
fn other_arguments_are_checked_like_any() {
    let with = |input: Value| {
        Bench::new(Some(PermissionMode::Default), "", "Bash(rm:*)").answered(move |_, _| {
            Ok(CallAnswer::Allow(CallApproval {
                updated_input: Some(object(input.clone())),
                ..CallApproval::default()
            }))
        })
    };
    let bench = with(json!({"command": "touch b"}));
    assert!(!bench.command("touch a").output.failed);
    assert!(bench.has("b") && !bench.has("a"));
    let bench = with(json!({"timeout": "soon"}));
    let failed = bench.command("touch a");
    assert_has(&failed.output.text, &["command: required"]);
    assert!(bench.denials().is_empty() && !bench.has("a"));
    let bench = with(json!({"command": "touch c; rm c"}));
    assert!(bench.command("touch a").output.failed && !bench.has("c"));
    assert_eq!(bench.denials(), [DenialReason::Rule]);
    // A patch that is handed back as it came is still one.
    let bench = Bench::new(Some(PermissionMode::Default), "", "").answered(|question, _| {
        Ok(CallAnswer::Allow(CallApproval {
            updated_input: Some(question.input.clone()),
            ..CallApproval::default()
        }))
    });
    let patch = "*** Begin Patch\n*** Add File: a\n+text\n*** End Patch\n";
    assert!(!bench.run("apply_patch", &Value::from(patch)).output.failed);
    assert!(bench.has("a"));
}

#[test]
fn rules_and_a_mode_in_an_answer_hold_from_then_on() {
    let bench = Bench::new(Some(PermissionMode::Default), "", "").answered(|_, _| {
        Ok(CallAnswer::Allow(CallApproval {
            allow: rules("run_command(touch:*)"),
            deny: rules("run_command(touch c)"),
            mode: Some(PermissionMode::AcceptEdits),
            ..CallApproval::default()
        }))
    });
    assert!(!bench.command("touch a").output.failed);
    assert!(!bench.command("touch b").output.failed && bench.has("b"));
    assert!(bench.command("touch c").output.failed);
    assert!(!bench.create("d.md").output.failed);
    assert_eq!(bench.asked().len(), 1);
    assert_eq!(
        bench.ctx.session.permissions.mode(),
        PermissionMode::AcceptEdits
    );
    let variables = bench.ctx.session.child_variables();
    let of = |name: &str| {
        variables
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(of("MARVIN_PERMISSION_MODE"), Some("acceptEdits"));
    assert_eq!(of("MARVIN_ALLOWED_TOOLS"), Some("run_command(touch:*)"));
    assert_eq!(of("MARVIN_DISALLOWED_TOOLS"), Some("run_command(touch c)"));
}

#[test]
fn a_conversation_without_a_mode_is_one_that_asks_about_programs() {
    use PermissionMode::{AcceptEdits, Bypass, Plan};
    let user = || Approval::Ask(Arc::<User>::default());
    for (mode, approval, expected) in [
        (None, user(), AcceptEdits),
        (None, Approval::Deny, AcceptEdits),
        (None, Approval::Approve, Bypass),
        (Some(Bypass), user(), Bypass),
        (Some(Plan), Approval::Approve, Plan),
    ] {
        let permissions = Permissions::new(PermissionRules {
            mode,
            ..PermissionRules::default()
        });
        assert_eq!(permissions.mode_in_effect(&approval), expected);
    }
}

#[test]
fn a_sub_agent_is_not_opened_while_it_runs() {
    let inherited = PermissionRules {
        mode: Some(PermissionMode::DontAsk),
        inherited: Some(PermissionMode::DontAsk),
        ..PermissionRules::default()
    };
    let permissions = Permissions::new(inherited);
    assert!(permissions.set_mode(PermissionMode::Default).is_err());
    assert!(permissions.allow(rules("Bash")).is_err());
    permissions.set_mode(PermissionMode::Plan).unwrap();
    assert_eq!(permissions.mode(), PermissionMode::Plan);
}

/// A user who counts the questions of tools, and always agrees.
#[derive(Default)]
struct User(Mutex<usize>);

impl Approver for User {
    fn ask(&self, _: ApprovalRequest, _: &Cancel) -> Outcome<()> {
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

#[test]
fn on_a_terminal_tools_ask_as_ever_unless_a_rule_or_mode_has_decided() {
    for (mode, allow, deny, questions, runs) in [
        (None, "", "", 1, true),
        (Some(PermissionMode::Default), "", "", 1, true),
        (None, "Bash(touch:*)", "", 0, true),
        (Some(PermissionMode::Bypass), "", "", 0, true),
        (Some(PermissionMode::Plan), "", "", 0, false),
        (Some(PermissionMode::DontAsk), "", "", 0, false),
        (None, "", "Bash(touch:*)", 0, false),
    ] {
        let mut bench = Bench::new(mode, allow, deny);
        let user = Arc::new(User::default());
        bench.ctx.approval = Approval::Ask(Arc::clone(&user) as Arc<dyn Approver>);
        let done = bench.command("touch a");
        let case = format!("{mode:?} {allow} {deny}: {}", done.output.text);
        assert_eq!(*user.0.lock().unwrap(), questions, "{case}");
        assert_eq!(bench.has("a"), runs, "{case}");
    }
}

#[test]
fn what_the_user_calls_themselves_only_a_rule_refuses() {
    for (mode, deny, depth, runs) in [
        (PermissionMode::Plan, "", 0, true),
        (PermissionMode::Default, "", 0, true),
        (PermissionMode::Bypass, "Bash", 0, false),
        (PermissionMode::Plan, "", 1, false),
        (PermissionMode::Default, "", 1, false),
    ] {
        let rules = PermissionRules {
            mode: Some(mode),
            deny: rules(deny),
            ..PermissionRules::default()
        };
        let policy = ToolPolicy {
            depth,
            ..ToolPolicy::default()
        };
        let mut bench = Bench::with(rules, policy, &[]);
        bench.ctx.approval = Approval::UserInvoked;
        bench.command("touch a");
        assert_eq!(bench.has("a"), runs, "{mode:?} {deny} {depth}");
    }
}

#[test]
fn nothing_opens_what_the_process_may_not_do() {
    let open = || PermissionRules {
        mode: Some(PermissionMode::Bypass),
        allow: rules("*"),
        ..PermissionRules::default()
    };
    let readonly = ToolPolicy {
        readonly: true,
        ..ToolPolicy::default()
    };
    let restricted = ToolPolicy {
        writable: Some(vec!["b.md".to_owned()]),
        ..ToolPolicy::default()
    };
    let ticket = [("MARVIN_TICKET", "top-1")];
    for (policy, vars) in [
        (readonly, &[][..]),
        (restricted, &[]),
        (ToolPolicy::default(), &ticket),
    ] {
        let bench = Bench::with(open(), policy, vars).answered(|_, _| allow());
        assert!(bench.create("a.md").output.failed && !bench.has("a.md"));
        // The fence and the gates are no permissions, and nobody is asked about them.
        assert!(bench.asked().is_empty());
    }
}
