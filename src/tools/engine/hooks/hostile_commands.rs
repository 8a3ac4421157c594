//! Hooks files whose commands misbehave: each is run by a real shell, and none holds a call up or opens it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::calls::{self, HookedCall};
use super::command::{self, CommandSetting};
use super::file;
use super::hook_set::HookOrigin;
use super::output::HookDecision;
use super::verdict::Verdict;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::chat::event::{Event, EventSink};
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::policy::ToolPolicy;

/// What comes of a hook's answer.
#[derive(Debug, Clone, Copy)]
enum Comes {
    /// The call goes on, and a notice has these words; without words there is none.
    On(&'static str),
    /// It is denied, for a reason with these words.
    Denied(&'static str),
    /// The turn ends.
    End(&'static str),
    /// It goes on with other arguments.
    Changed,
}

use Comes::{Changed, Denied, End, On};

/// The command, what else its entry has, and what comes of it.
const TABLE: [(&str, &str, Comes); 52] = [
    ("true", "", On("")),
    ("exit 2", "", Denied("")),
    ("echo 'No rm.' >&2; exit 2", "", Denied("No rm.")),
    ("echo {}; exit 2", "", Denied("")),
    ("exit 1", "", On("exit code: 1")),
    ("echo broken >&2; exit 3", "", On("broken")),
    ("/no/such/program", "", On("127")),
    ("if", "", Denied("syntax error")),
    ("kill -9 $$", "", On("signal")),
    ("kill -SEGV $$", "", On("signal")),
    ("kill -STOP $$", r#""timeout": 1"#, On("ended after 1 s")),
    ("sleep 1000", r#""timeout": 1"#, On("ended after 1 s")),
    ("sleep 1000", r#""timeout": 0.001"#, On("ended after 1 s")),
    (
        "trap '' TERM; sleep 1000 & wait; sleep 1000",
        r#""timeout": 1"#,
        On("ended after 1 s"),
    ),
    (
        "while :; do :; done",
        r#""timeout": 1"#,
        On("ended after 1 s"),
    ),
    ("sleep 1000 & exit 0", "", On("")),
    ("(sleep 1000 &); exit 2", "", Denied("")),
    ("setsid sleep 2 & exit 2", "", Denied("")),
    ("head -c 1073741824 /dev/zero", "", On("")),
    (
        "head -c 1073741824 /dev/zero >&2; exit 2",
        "",
        Denied("x00"),
    ),
    ("exec <&-; exit 2", "", Denied("")),
    ("exec >&-; exec 2>&-; exit 2", "", Denied("")),
    ("cat > /dev/null; cat /dev/tty", "", On("exit code: 1")),
    ("echo '{'", "", On("no JSON")),
    (r#"echo '{"decision": "block"'"#, "", On("no JSON")),
    (
        r#"printf '{"a":'; printf '[%.0s' {1..5000}"#,
        "",
        On("no JSON"),
    ),
    ("echo '[1]'", "", On("")),
    (r#"echo '"deny"'"#, "", On("")),
    ("printf '\\0\\0'", "", On("")),
    (
        r#"printf '{"systemMessage": "a\xffb"}'"#,
        "",
        On("a\u{fffd}b"),
    ),
    (
        r#"echo '{"systemMessage": "\u001b[2J"}'"#,
        "",
        On("\\x1b[2J"),
    ),
    (
        r#"printf '\033[2Jno' >&2; exit 2"#,
        "",
        Denied("\\x1b[2Jno"),
    ),
    (r#"echo '{"decision": "perhaps"}'"#, "", On("perhaps")),
    (
        r#"echo '{"decision": "block", "reason": 5}'"#,
        "",
        Denied(""),
    ),
    (
        r#"printf '\n\n  {"decision": "block", "reason": "No."}\n'"#,
        "",
        Denied("No."),
    ),
    (r#"echo '{"continue": "no"}'"#, "", On("continue")),
    (
        r#"echo '{"continue": null, "hookSpecificOutput": null}'"#,
        "",
        On(""),
    ),
    (
        r#"echo '{"continue": false, "stopReason": "Enough."}'"#,
        "",
        End("Enough."),
    ),
    (
        r#"echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "R."}}'"#,
        "",
        Denied("R."),
    ),
    (
        r#"echo '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}'"#,
        "",
        Denied(""),
    ),
    (
        r#"echo '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}}'"#,
        "",
        On("for Stop"),
    ),
    (
        r#"echo '{"hookSpecificOutput": {"updatedInput": "rm -rf /"}}'"#,
        "",
        On("updatedInput"),
    ),
    (
        r#"echo '{"hookSpecificOutput": {"updatedInput": {"command": ["x"]}}}'"#,
        "",
        Changed,
    ),
    ("cat", "", On("")),
    ("exit 1", r#""onFailure": "block""#, Denied("exit code: 1")),
    (
        "sleep 1000",
        r#""onFailure": "block", "timeout": 1"#,
        Denied("ended after 1 s"),
    ),
    ("echo '{'", r#""onFailure": "block""#, Denied("no JSON")),
    ("/no/such/program", r#""onFailure": "block""#, Denied("127")),
    ("kill -9 $$", r#""onFailure": "block""#, Denied("signal")),
    // A Marvin that a hook starts asks no hooks, and a hook is told no keys.
    (r#"[ "$MARVIN_NO_HOOKS" = 1 ] && exit 2"#, "", Denied("")),
    (r#"[ -z "$OPENAI_API_KEY" ] && exit 2"#, "", Denied("")),
    (
        r#"[ "$MARVIN_PROJECT_DIR" = "$CLAUDE_PROJECT_DIR" ] && [ -n "$PATH" ] && exit 2"#,
        "",
        Denied(""),
    ),
];

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        if let Event::Notice(_, words) = event {
            self.0.lock().unwrap().push(words);
        }
    }
}

/// A context with these hooks.
fn context(file: &str, stop: &Cancel) -> (ToolContext, Arc<Heard>) {
    let path = std::env::var("PATH").unwrap();
    let env = Env::from([("PATH", path.as_str()), ("OPENAI_API_KEY", "secret")]);
    let session = SessionContext::new(env.clone(), ToolPolicy::default());
    let setting = CommandSetting {
        env,
        bounds: Vec::new(),
        project: None,
        supervisor: None,
    };
    let hooks = file::parse(file).unwrap();
    session
        .hooks
        .add(command::hooks(hooks, HookOrigin::User, &Arc::new(setting)));
    let heard = Arc::new(Heard::default());
    let sink: Arc<dyn EventSink> = Arc::clone(&heard) as Arc<dyn EventSink>;
    (
        ToolContext::new(Arc::new(session), stop.clone(), sink),
        heard,
    )
}

fn file_with(command: &str, more: &str) -> String {
    let mut entry = json!({"type": "command", "command": command});
    let more: Map<String, Value> = serde_json::from_str(&format!("{{{more}}}")).unwrap();
    entry.as_object_mut().unwrap().extend(more);
    json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}}).to_string()
}

fn call() -> HookedCall {
    let command = "x".repeat(300_000);
    HookedCall {
        tool: "run_command".to_owned(),
        input: Map::from_iter([("command".to_owned(), Value::from(command))]),
    }
}

fn check((command, more, comes): (&str, &str, Comes)) {
    let (ctx, heard) = context(&file_with(command, more), &Cancel::new());
    let since = Instant::now();
    let verdict: Verdict = calls::before(&ctx, &call()).unwrap();
    let notices = heard.0.lock().unwrap().join("\n");
    let shown = format!("{command} {more}: {verdict:?} {notices}");
    // None of them may last as long as what it started.
    assert!(since.elapsed() < Duration::from_secs(60), "{shown}");
    let denied = verdict.decision.as_ref();
    let denied = denied.filter(|(decision, _)| *decision == HookDecision::Deny);
    match comes {
        On(words) => {
            assert!(
                verdict.decision.is_none() && verdict.end.is_none(),
                "{shown}"
            );
            assert_eq!(notices.is_empty(), words.is_empty(), "{shown}");
            assert!(notices.contains(words), "{shown}");
        }
        Denied(words) => {
            let (_, reason) = denied.unwrap_or_else(|| panic!("{shown}"));
            assert!(reason.contains(words), "{shown}");
            assert!(reason.chars().count() < 50_000);
        }
        End(words) => assert_eq!(verdict.end.as_deref(), Some(words), "{shown}"),
        Changed => assert!(verdict.updated_input.is_some(), "{shown}"),
    }
}

#[test]
fn hostile_commands_hold_nothing_up_and_open_nothing() {
    let next = Mutex::new(TABLE.iter());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some(row) = next.lock().unwrap().next() else {
                        return;
                    };
                    check(*row);
                }
            });
        }
    });
}

#[test]
fn a_command_ends_with_the_turn() {
    let stop = Cancel::new();
    let (ctx, heard) = context(&file_with("echo begun >&2; sleep 1000", ""), &stop);
    let since = Instant::now();
    thread::scope(|scope| {
        let asked = scope.spawn(|| calls::before(&ctx, &call()));
        thread::sleep(Duration::from_millis(50));
        stop.fire();
        let verdict = asked.join().unwrap().unwrap();
        assert!(verdict.decision.is_none());
    });
    assert!(since.elapsed() < Duration::from_secs(60));
    assert!(heard.0.lock().unwrap().is_empty());
}

#[test]
fn what_a_command_is_told_is_one_json_object_with_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("told");
    let (ctx, _) = context(
        &file_with(&format!("cat > {}", told.display()), ""),
        &Cancel::new(),
    );
    calls::before(&ctx, &call()).unwrap();
    let text = std::fs::read_to_string(told).unwrap();
    assert!(text.ends_with("}\n"));
    let input: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(input["tool_name"], "run_command");
    assert_eq!(
        input["tool_input"]["command"].as_str().unwrap().len(),
        300_000
    );
}
