//! The CLI as a process: how it starts, what it may refuse, how it ends.

use super::*;
use crate::base::testing::assert_has;

#[test]
fn a_cli_without_an_answer_is_killed_with_its_helpers() {
    let mut stage = CopilotStage::new(&[
        r#"{"helper":600}"#,
        r#"{"stderr":"unpacking"}"#,
        r#"{"hang":true}"#,
    ]);
    stage.provider.handshake_timeout = Duration::from_millis(1500);
    let failure = stage.say("one").unwrap_err();
    let words = failure.problem.one_line();
    assert_has(&words, &["did not answer within 1 s", "unpacking"]);
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
    let mut stage = CopilotStage::new(&[
        r#"{"stderr":"libstdc++ is missing"}"#,
        r#"{"sleep":50}"#,
        r#"{"exit":127}"#,
    ]);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(words.contains("ended before it answered"), "{words}");
    assert_has(&words, &["exit status: 127", "libstdc++ is missing"]);
}

#[test]
fn another_version_of_the_protocol_is_refused_with_both_numbers() {
    let version = r#"{"result":{"ok":true,"protocolVersion":4}}"#;
    let mut stage = CopilotStage::new(&[r#"{"expect":"connect"}"#, version]);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert_has(&words, &["version 4", "version 3"]);
    assert_has(&words, &["Update Marvin or the Copilot CLI."]);
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
        CopilotStage::playing(&script).say("one").unwrap().text,
        "It is fine."
    );
}

#[test]
fn nobody_signed_in_is_told_before_a_session_begins() {
    let status = r#"{"result":{"isAuthenticated":false,"statusMessage":"Not authenticated"}}"#;
    let connect = "{\"expect\":\"connect\"}\n{\"result\":{\"protocolVersion\":3}}\n{\"expect\":\"auth.getStatus\"}";
    let mut stage = CopilotStage::new(&[connect, status]);
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
    let mut stage = CopilotStage::playing(&format!("{begin}{refused}\n{list}\n"));
    stage.model = "gpt-5-mni";
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert!(
        words.starts_with("copilot: Model \"x\" is not available."),
        "{words}"
    );
    assert!(words.contains("Did you mean \"gpt-5-mini\"?"), "{words}");
    assert_has(&words, &["It has: claude-haiku-4.5, gpt-5-mini."]);
}

#[test]
fn floods_and_nonsense_do_no_harm() {
    let line = "x".repeat(5_000);
    let flood = format!("{{\"stderr\":\"{line}\",\"times\":400}}");
    let skipped = r#"{"huge":"model.messages_snapshot","bytes":100000000}"#;
    let odd = r#"{"message":{"jsonrpc":"2.0","id":"s1","method":"hooks.invoke","params":{}}}"#;
    let mut stage = CopilotStage::new(&[
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
    let mut stage = CopilotStage::new(&["begin", begin, huge]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert_has(&failure.problem.what, &["a message of 95 MB"]);
}

#[test]
fn output_that_is_no_message_ends_the_cli() {
    let mut stage = CopilotStage::new(&[
        "begin",
        r#"{"raw":"Segmentation fault\n","times":3}"#,
        r#"{"hang":true}"#,
    ]);
    let failure = stage.say("one").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cut);
}

#[test]
fn the_cli_ends_with_its_provider_and_forgets_the_session() {
    let mut stage = CopilotStage::new(&["begin", "answer"]);
    stage.say("one").unwrap();
    let CopilotStage { provider, dir, .. } = stage;
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
