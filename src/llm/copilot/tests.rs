//! The provider against a peer that plays scripts and recordings. Timeouts are short here; everything else is as in a run.

// Tests report that they skip.
#![allow(clippy::print_stderr)]

#[path = "../../../tests/support/copilot_peer.rs"]
#[allow(unreachable_pub, reason = "the suite has it too")]
mod copilot_peer;

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

struct Stage {
    dir: TempDir,
    provider: CopilotProvider,
    messages: Vec<Message>,
    system: &'static str,
    key: &'static str,
    limit: Duration,
    may_call: bool,
    stop: Cancel,
    notices: Vec<String>,
    shown: String,
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/copilot");
    std::fs::read_to_string(path.join(format!("{name}.jsonl"))).expect(name)
}

impl Stage {
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
        let [home, cli] = [dir.path(), &cli].map(|path| path.to_str().unwrap().to_owned());
        let env = Env::from([
            ("HOME", home.as_str()),
            ("PATH", "/usr/bin:/bin"),
            ("MARVIN_COPILOT_CLI", cli.as_str()),
        ]);
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
            stop: Cancel::new(),
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
        let info = ModelRegistry::default().facts("copilot", "claude-haiku-4.5");
        let request = Request {
            model: "claude-haiku-4.5",
            system: self.system,
            messages: &self.messages,
            offer: &offer,
            may_call: self.may_call,
            effort: Effort::Low,
            info: &info,
            effort_chosen: false,
            cache_key: self.key,
            on_connect: None,
            options: CallOptions {
                turn_limit: self.limit,
                ..CallOptions::default()
            },
        };
        let (notices, shown) = (&mut self.notices, &mut self.shown);
        let mut on = |delta: Delta<'_>| match delta {
            Delta::Text(text) => shown.push_str(text),
            Delta::Thinking(_) => {}
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

/// Waits for a condition.
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

#[test]
fn an_answer_comes_in_pieces_with_its_usage() {
    let mut stage = Stage::new(&["begin", "answer", "answer"]);
    let reply = stage.say("how is it?").unwrap();
    assert_eq!(
        (reply.text.as_str(), stage.shown.as_str()),
        ("It is fine.", "It is fine.")
    );
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached), (120, 14, 100));
    let plan = reply.plan.unwrap();
    assert_eq!((plan.credits, plan.quota_left), (0.25, Some(90.0)));
    let context = reply.context.unwrap();
    assert_eq!((context.tokens, context.limit), (25_000, 100_000));
    // The session keeps the conversation and its sum of credits.
    let second = stage.say("and now?").unwrap();
    assert_eq!(second.plan.map(|plan| plan.credits), Some(0.0));
    assert_eq!(stage.prompts(), ["how is it?", "and now?"]);
    let made = stage.calls("session.create");
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["systemMessage"]["mode"], "replace");
    assert_eq!(made[0]["systemMessage"]["content"], "You are Marvin.");
    assert_eq!(made[0]["availableTools"][0], "custom:*");
    assert_eq!(made[0]["tools"][1]["name"], "git_status");
    assert_eq!(made[0]["tools"][0]["skipPermission"], true);
    assert!(made[0].get("provider").is_none());
}

#[test]
fn calls_of_one_message_come_together_and_their_results_go_on_with_the_turn() {
    let mut stage = Stage::new(&["begin", "tools"]);
    let reply = stage.say("look").unwrap();
    let calls: Vec<(&str, &str)> = reply
        .calls
        .iter()
        .map(|call| (call.id.as_str(), call.args.as_str()))
        .collect();
    // The CLI has answered the call of a tool that does not exist.
    assert_eq!(calls, [("c1", r#"{"path":"a"}"#), ("c3", "{}")]);
    assert!(reply.deadline.is_some());
    stage.result("c1", "a.txt", false);
    stage.result("c3", "not a repository", true);
    let reply = stage.send().unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.usage.unwrap().input),
        ("Two files.", 150)
    );
    // It came whole, without pieces.
    assert_eq!(stage.shown, "Let me look.Two files.");
    let results = stage.calls("session.tools.handlePendingToolCall");
    assert_eq!(results[0]["requestId"], "r1");
    assert_eq!(results[0]["result"]["resultType"], "success");
    assert_eq!(results[1]["result"]["textResultForLlm"], "not a repository");
    assert_eq!(results[1]["result"]["resultType"], "failure");
}

#[test]
fn calls_after_the_last_round_are_refused_and_the_turn_ends() {
    let call = r#"{"event":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"c","name":"tree"}]}}"#;
    let ask = r#"{"event":"external_tool.requested","data":{"requestId":"r","toolCallId":"c","toolName":"tree"}}"#;
    let wait = r#"{"expect":"session.tools.handlePendingToolCall"}"#;
    let mut parts = vec![
        "begin",
        r#"{"expect":"session.send"}"#,
        r#"{"result":{}}"#,
        r#"{"event":"user.message","data":{}}"#,
    ];
    for _ in 0..9 {
        parts.extend([call, ask, wait]);
    }
    let mut stage = Stage::new(&parts);
    stage.may_call = false;
    let reply = stage.say("look").unwrap();
    assert!(reply.calls.is_empty());
    let refusal = stage.calls("session.tools.handlePendingToolCall").remove(0);
    let words = refusal["result"]["textResultForLlm"].as_str().unwrap();
    assert!(words.starts_with("Tool limit reached"), "{words}");
    assert!(becomes_true(|| stage.calls("session.abort").len() == 1));
}

#[test]
fn an_error_waits_for_its_end_so_that_the_next_turn_is_a_whole_one() {
    let mut stage = Stage::new(&["begin", "error", "answer"]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Server);
    assert_eq!(failure.problem.what, "copilot: The upstream model is down");
    assert_eq!(stage.notices, ["⚠️ copilot tries again (transient_error)."]);
    // A second, late end is no end of the next turn.
    thread::sleep(Duration::from_millis(120));
    assert_eq!(stage.say("two").unwrap().text, "It is fine.");
    assert_eq!(stage.calls("session.create").len(), 1);
    assert_eq!(stage.prompts(), ["one", "two"]);
}

#[test]
fn a_late_end_of_an_earlier_turn_ends_nothing() {
    let late = r#"{"event":"session.idle","data":{}}"#;
    let answer = fixture("answer");
    let (sent, rest) = answer.split_at(answer.find("{\"event\":\"user.message\"").unwrap());
    let script = format!("{}{sent}{late}\n{late}\n{rest}", fixture("begin"));
    let mut stage = Stage::playing(&script);
    assert_eq!(stage.say("one").unwrap().text, "It is fine.");
}

#[test]
fn a_conversation_that_changed_begins_a_new_session_with_a_quotation() {
    let create = "{\"expect\":\"session.create\"}\n{\"result\":{}}";
    let mut stage = Stage::new(&["begin", "answer", create, "answer", create, "answer"]);
    stage.say("one").unwrap();
    stage.messages[1] = Message::assistant("Edited.");
    stage.say("two").unwrap();
    stage.system = "You are someone else.";
    stage.say("three").unwrap();
    let prompts = stage.prompts();
    assert!(
        prompts[1].contains("<conversation>\nUser: one\n\nAssistant: Edited.\n</conversation>"),
        "{}",
        prompts[1]
    );
    assert!(
        prompts[2].ends_with("</conversation>\n\nthree"),
        "{}",
        prompts[2]
    );
    assert_eq!(
        stage.calls("session.create")[2]["systemMessage"]["content"],
        "You are someone else."
    );
    assert!(becomes_true(|| stage.calls("session.delete").len() == 2));
}

#[test]
fn a_request_beside_the_conversation_has_a_session_of_its_own() {
    let create = "{\"expect\":\"session.create\"}\n{\"result\":{}}";
    let mut stage = Stage::new(&["begin", "answer", create, "answer"]);
    stage.say("one").unwrap();
    let talk = std::mem::take(&mut stage.messages);
    stage.key = "";
    stage.say("summarize this").unwrap();
    assert!(becomes_true(|| stage.calls("session.delete").len() == 1));
    let (own, other) = {
        let sent = stage.calls("session.send");
        (sent[0]["sessionId"].clone(), sent[1]["sessionId"].clone())
    };
    assert_ne!(own, other);
    assert_eq!(stage.calls("session.delete")[0]["sessionId"], other);
    assert_eq!(talk.len(), 2);
}

#[test]
fn a_cancelled_turn_returns_at_once_and_the_session_goes_on() {
    let begin = "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}\n{\"event\":\"assistant.message_delta\",\"data\":{\"deltaContent\":\"Half\"}}";
    let aborted = "{\"expect\":\"session.abort\"}\n{\"result\":{}}\n{\"sleep\":100}\n{\"event\":\"session.idle\",\"data\":{\"aborted\":true}}";
    let mut stage = Stage::new(&["begin", begin, aborted, "answer"]);
    let stop = stage.stop.clone();
    let calls = stage.dir.path().to_owned();
    let firing = thread::spawn(move || {
        let sent = || {
            copilot_peer::calls(&calls)
                .iter()
                .any(|call| call["method"] == "session.send")
        };
        assert!(becomes_true(sent));
        thread::sleep(Duration::from_millis(100));
        stop.fire();
        Instant::now()
    });
    let failure = stage.say("one").unwrap_err();
    let late = firing.join().unwrap().elapsed();
    assert!(late < Duration::from_millis(200), "{late:?}");
    assert_eq!(
        (failure.kind, failure.partial.text.as_str()),
        (FailureKind::Cancelled, "Half")
    );
    stage.stop = Cancel::new();
    assert_eq!(stage.say("two").unwrap().text, "It is fine.");
    assert_eq!(stage.calls("session.create").len(), 1);
    assert_eq!(stage.prompts(), ["one", "two"]);
}

#[test]
fn a_turn_that_takes_too_long_is_ended_and_the_next_has_a_new_session() {
    let hanging = "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}\n{\"expect\":\"session.abort\"}\n{\"result\":{}}";
    let create = "{\"expect\":\"session.create\"}\n{\"result\":{}}";
    let mut stage = Stage::new(&["begin", hanging, create, "answer"]);
    stage.limit = Duration::from_millis(300);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stalled);
    assert_eq!(
        stage.notices,
        ["⚠️ Response timed out after 0s. Rebuilding session."]
    );
    stage.limit = Duration::from_secs(20);
    assert_eq!(stage.say("two").unwrap().text, "It is fine.");
    assert_eq!(stage.calls("session.create").len(), 2);
    assert_eq!(stage.calls("connect").len(), 1);
}

#[test]
fn results_that_come_after_the_deadline_end_the_turn() {
    let mut stage = Stage::new(&["begin", "tools"]);
    stage.limit = Duration::from_millis(400);
    let reply = stage.say("look").unwrap();
    thread::sleep(
        reply
            .deadline
            .unwrap()
            .saturating_duration_since(Instant::now()),
    );
    stage.result("c1", "late", false);
    // The other result never comes, so the turn does not end by itself.
    let failure = stage.send().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stalled);
}

#[test]
fn a_cli_that_dies_in_a_turn_is_started_again_by_the_next() {
    let dying = "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}\n{\"stderr\":\"out of memory\"}\n{\"sleep\":50}\n{\"exit\":7}";
    let mut stage = Stage::new(&["begin", dying]);
    let failure = stage.say("one").unwrap_err();
    let words = failure.problem.one_line();
    assert_eq!(failure.kind, FailureKind::Cut);
    assert!(words.contains("The Copilot CLI went away."), "{words}");
    assert!(
        words.contains("exit status: 7") && words.contains("out of memory"),
        "{words}"
    );
    let _ = stage.say("two").unwrap_err();
    assert_eq!(stage.calls("connect").len(), 2);
    assert_eq!(stage.prompts()[1], "one\n\ntwo");
}

#[test]
fn a_cli_that_died_between_two_turns_is_started_again_at_once() {
    let wait = "{\"expect\":\"session.send\"}\n{\"exit\":1}";
    let mut stage = Stage::new(&["begin", "answer", wait]);
    stage.say("one").unwrap();
    // It took the second message with it, and another one answers.
    assert_eq!(stage.say("two").unwrap().text, "It is fine.");
    assert_eq!(stage.calls("connect").len(), 2);
    let prompts = stage.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(prompts[2].contains("User: one"), "{}", prompts[2]);
}

#[test]
fn a_cli_without_an_answer_is_killed_with_its_helpers() {
    let mut stage = Stage::new(&[
        r#"{"helper":600}"#,
        r#"{"stderr":"unpacking"}"#,
        r#"{"hang":true}"#,
    ]);
    stage.provider.handshake_timeout = Duration::from_millis(1500);
    let failure = stage.say("one").unwrap_err();
    let words = failure.problem.one_line();
    assert!(
        words.contains("did not answer within 1 s") && words.contains("unpacking"),
        "{words}"
    );
    let helper = copilot_peer::calls(stage.dir.path())[0]["helper"]
        .as_u64()
        .unwrap();
    let helper = u32::try_from(helper).unwrap();
    assert!(becomes_true(|| !copilot_peer::is_alive(helper)));
    assert!(becomes_true(
        || copilot_peer::running(stage.dir.path()).is_empty()
    ));
}

#[test]
fn a_cli_that_ends_before_it_answers_is_told_with_its_status() {
    let mut stage = Stage::new(&[
        r#"{"stderr":"libstdc++ is missing"}"#,
        r#"{"sleep":50}"#,
        r#"{"exit":127}"#,
    ]);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(words.contains("ended before it answered"), "{words}");
    assert!(
        words.contains("exit status: 127") && words.contains("libstdc++ is missing"),
        "{words}"
    );
}

#[test]
fn another_version_of_the_protocol_is_refused_with_both_numbers() {
    let version = r#"{"result":{"ok":true,"protocolVersion":4}}"#;
    let mut stage = Stage::new(&[r#"{"expect":"connect"}"#, version]);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(
        words.contains("version 4") && words.contains("version 3"),
        "{words}"
    );
    assert!(
        words.contains("Update Marvin or the Copilot CLI."),
        "{words}"
    );
}

#[test]
fn an_older_server_answers_a_ping_instead() {
    let begin = fixture("begin");
    let (_, rest) = begin.split_once("{\"expect\":\"auth.getStatus\"}").unwrap();
    let unknown = r#"{"error":{"code":-32601,"message":"Unhandled method connect"}}"#;
    let script = format!(
        "{{\"expect\":\"connect\"}}\n{unknown}\n{{\"expect\":\"ping\"}}\n{{\"result\":{{\"message\":\"marvin\",\"protocolVersion\":3}}}}\n{{\"expect\":\"auth.getStatus\"}}{rest}{}",
        fixture("answer")
    );
    assert_eq!(
        Stage::playing(&script).say("one").unwrap().text,
        "It is fine."
    );
}

#[test]
fn nobody_signed_in_is_told_before_a_session_begins() {
    let status = r#"{"result":{"isAuthenticated":false,"statusMessage":"Not authenticated"}}"#;
    let connect = "{\"expect\":\"connect\"}\n{\"result\":{\"protocolVersion\":3}}\n{\"expect\":\"auth.getStatus\"}";
    let mut stage = Stage::new(&[connect, status]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Auth);
    let words = failure.problem.one_line();
    assert!(
        words.starts_with("copilot: not signed in. Run \"gh auth login\""),
        "{words}"
    );
    assert!(stage.calls("session.create").is_empty());
}

#[test]
fn an_unknown_model_is_told_with_those_that_there_are() {
    let refused = r#"{"error":{"code":-32603,"message":"Request session.create failed with message: Model \"x\" is not available."}}"#;
    let begin = fixture("begin");
    let (begin, _) = begin.split_once("{\"result\":{\"sessionId\"").unwrap();
    let list = "{\"expect\":\"models.list\"}\n{\"result\":{\"models\":[{\"id\":\"claude-haiku-4.5\"},{\"id\":\"gpt-5-mini\"}]}}";
    let mut stage = Stage::playing(&format!("{begin}{refused}\n{list}\n"));
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(
        words.starts_with("copilot: Model \"x\" is not available."),
        "{words}"
    );
    assert!(
        words.contains("It has: claude-haiku-4.5, gpt-5-mini."),
        "{words}"
    );
}

#[test]
fn floods_and_nonsense_do_no_harm() {
    let line = "x".repeat(5_000);
    let flood = format!("{{\"stderr\":\"{line}\",\"times\":400}}");
    let skipped = r#"{"huge":"model.messages_snapshot","bytes":100000000}"#;
    let odd = r#"{"message":{"jsonrpc":"2.0","id":"s1","method":"hooks.invoke","params":{}}}"#;
    let mut stage = Stage::new(&[
        "begin",
        &flood,
        skipped,
        odd,
        r#"{"message":[1]}"#,
        r#"{"message":{"id":99,"result":1}}"#,
        "answer",
    ]);
    assert_eq!(stage.say("one").unwrap().text, "It is fine.");
}

#[test]
fn a_message_that_is_too_long_and_needed_ends_the_turn() {
    let begin =
        "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}";
    let huge = r#"{"huge":"assistant.message_delta","bytes":100000000}"#;
    let mut stage = Stage::new(&["begin", begin, huge]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(
        failure.problem.what.contains("a message of 95 MB"),
        "{}",
        failure.problem.what
    );
}

#[test]
fn output_that_is_no_message_ends_the_cli() {
    let mut stage = Stage::new(&[
        "begin",
        r#"{"raw":"Segmentation fault\n","times":3}"#,
        r#"{"hang":true}"#,
    ]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cut);
}

#[test]
fn the_cli_ends_with_its_provider_and_forgets_the_session() {
    let mut stage = Stage::new(&["begin", "answer"]);
    stage.say("one").unwrap();
    let Stage { provider, dir, .. } = stage;
    drop(provider);
    let methods = || {
        let calls = copilot_peer::calls(dir.path()).into_iter();
        calls
            .map(|call| call["method"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let end = ["session.destroy", "session.delete", "runtime.shutdown"];
    assert!(
        becomes_true(|| methods().ends_with(&end.map(str::to_owned))),
        "{:?}",
        methods()
    );
    assert!(becomes_true(|| copilot_peer::running(dir.path()).is_empty()));
}

fn recording(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/recordings/copilot");
    let text = std::fs::read_to_string(path.join(name)).ok();
    if text.is_none() {
        eprintln!("SKIPPED a recording of the real CLI: ../shared is not beside this checkout");
    }
    text
}

#[test]
fn what_the_real_cli_sent_signed_in_is_an_unknown_model_and_then_a_turn_with_a_tool() {
    let Some(script) = recording("session-signed-in.jsonl") else {
        return;
    };
    let mut stage = Stage::playing(&script);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(
        words.contains(
            "\"no-such-model\" is not available. It has: auto, claude-haiku-4.5, gpt-5-mini."
        ),
        "{words}"
    );
    stage.messages.clear();
    let reply = stage.say("What is the weather in Paris?").unwrap();
    assert_eq!(
        (reply.calls.len(), reply.calls[0].args.as_str()),
        (1, r#"{"city":"Paris"}"#)
    );
    assert_eq!(reply.usage.unwrap().input, 120);
    stage.result(&reply.calls[0].id.clone(), "21 C and clear", false);
    let reply = stage.send().unwrap();
    assert_eq!(reply.text, stage.shown);
    assert!(reply.text.starts_with("It is "), "{}", reply.text);
    assert_eq!(reply.context.unwrap().limit, 100_000);
}

#[test]
fn what_the_real_cli_sent_without_a_login_is_an_error_before_its_end() {
    let Some(script) = recording("session-errors.jsonl") else {
        return;
    };
    // Only its first session: what a turn without a login is like.
    let until = script.find("session.destroy").unwrap();
    let until = script[..until].rfind('\n').unwrap();
    let signed_in =
        script[..until].replace("\"isAuthenticated\": false", "\"isAuthenticated\": true");
    let mut stage = Stage::playing(&signed_in);
    let failure = stage.say("hello").unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Auth,
        "{}",
        failure.problem.one_line()
    );
}
