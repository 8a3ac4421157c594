//! Turns: what is sent, what comes back, and what ends one early.

use super::*;

/// Another session begins.
const CREATE: &str = "{\"expect\":\"session.create\"}\n{\"result\":{}}";
use crate::base::testing::assert_has;

#[test]
fn an_answer_comes_in_pieces_with_its_usage() {
    let mut stage = CopilotStage::new(&["begin", "answer", "answer"]);
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
    let mut stage = CopilotStage::new(&["begin", "tools"]);
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
    let mut stage = CopilotStage::new(&parts);
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
    let mut stage = CopilotStage::new(&["begin", "error", "answer"]);
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
    let mut stage = CopilotStage::playing(&script);
    assert_eq!(stage.say("one").unwrap().text, "It is fine.");
}

#[test]
fn a_conversation_that_changed_begins_a_new_session_with_a_quotation() {
    let mut stage = CopilotStage::new(&["begin", "answer", CREATE, "answer", CREATE, "answer"]);
    stage.say("one").unwrap();
    stage.messages[1] = Message::assistant("Edited.");
    stage.say("two").unwrap();
    stage.system = "You are someone else.";
    stage.say("three").unwrap();
    let prompts = stage.prompts();
    assert_has(
        &prompts[1],
        &["<conversation>\nUser: one\n\nAssistant: Edited.\n</conversation>"],
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
    let mut stage = CopilotStage::new(&["begin", "answer", CREATE, "answer"]);
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
    let mut stage = CopilotStage::new(&["begin", begin, aborted, "answer"]);
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
    assert!(late < Duration::from_secs(10), "{late:?}");
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
    let mut stage = CopilotStage::new(&["begin", hanging, CREATE, "answer"]);
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
    let mut stage = CopilotStage::new(&["begin", "tools"]);
    stage.limit = Duration::from_millis(1_500);
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
fn the_time_that_the_user_took_for_a_question_is_no_part_of_the_turn() {
    let mut stage = CopilotStage::new(&["begin", "tools"]);
    stage.limit = Duration::from_millis(1_500);
    let deadline = stage.say("look").unwrap().deadline.unwrap();
    thread::sleep(deadline.saturating_duration_since(Instant::now()));
    stage.result("c1", "src", false);
    stage.result("c3", "clean", false);
    stage.waited = Duration::from_secs(20);
    stage.send().unwrap();
}

#[test]
fn a_cli_that_dies_in_a_turn_is_started_again_by_the_next() {
    let dying = "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}\n{\"stderr\":\"out of memory\"}\n{\"sleep\":50}\n{\"exit\":7}";
    let mut stage = CopilotStage::new(&["begin", dying]);
    let failure = stage.say("one").unwrap_err();
    let words = failure.problem.one_line();
    assert_eq!(failure.kind, FailureKind::Cut);
    assert!(words.contains("The Copilot CLI went away."), "{words}");
    assert_has(&words, &["exit status: 7", "out of memory"]);
    let _ = stage.say("two").unwrap_err();
    assert_eq!(stage.calls("connect").len(), 2);
    assert_eq!(stage.prompts()[1], "one\n\ntwo");
}

#[test]
fn a_cli_that_died_between_two_turns_is_started_again_at_once() {
    let wait = "{\"expect\":\"session.send\"}\n{\"exit\":1}";
    let mut stage = CopilotStage::new(&["begin", "answer", wait]);
    stage.say("one").unwrap();
    // It took the second message with it, and another one answers.
    assert_eq!(stage.say("two").unwrap().text, "It is fine.");
    assert_eq!(stage.calls("connect").len(), 2);
    let prompts = stage.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(prompts[2].contains("User: one"), "{}", prompts[2]);
}

#[test]
fn a_chosen_effort_is_told_where_the_model_takes_one() {
    let refused = "{\"expect\":\"session.create\"}\n{\"error\":{\"code\":-32603,\"message\":\"Request session.create failed with message: Model \\\"x\\\" does not support reasoning effort configuration.\"}}";
    let mut stage = CopilotStage::new(&[
        "begin", "answer", CREATE, "answer", refused, CREATE, "answer",
    ]);
    stage.model = "claude-sonnet-5-5";
    stage.say("one").unwrap();
    stage.effort = Some(Effort::High);
    stage.say("two").unwrap();
    assert_eq!(stage.notices, Vec::<String>::new());
    stage.effort = Some(Effort::Medium);
    stage.say("three").unwrap();
    let words = "claude-sonnet-5-5 at copilot thinks as its maker set it up: effort \"medium\" changes nothing.";
    assert_eq!(stage.notices, [words]);
    let told: Vec<Value> = stage
        .calls("session.create")
        .iter()
        .map(|params| params["reasoningEffort"].clone())
        .collect();
    assert_eq!(
        told,
        [Value::Null, "high".into(), "medium".into(), Value::Null]
    );
}

#[test]
fn a_model_without_efforts_is_told_none_and_the_user_once() {
    let mut stage = CopilotStage::new(&["begin", "answer", "answer"]);
    stage.model = "gpt-4o";
    stage.effort = Some(Effort::High);
    stage.say("one").unwrap();
    stage.say("two").unwrap();
    assert_eq!(
        stage.notices,
        ["gpt-4o at copilot takes no reasoning effort: \"high\" changes nothing."]
    );
    assert_eq!(
        stage.calls("session.create")[0].get("reasoningEffort"),
        None
    );
}
