//! What the real CLI sent, where the recordings are.

use super::*;
use crate::base::testing::assert_has;

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
    let mut stage = CopilotStage::playing(&script);
    let words = stage.say("one").unwrap_err().problem.one_line();
    assert_has(
        &words,
        &["\"no-such-model\" is not available. It has: auto, claude-haiku-4.5, gpt-5-mini."],
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
    let mut stage = CopilotStage::playing(&signed_in);
    let failure = stage.say("hello").unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Auth,
        "{}",
        failure.problem.one_line()
    );
}
