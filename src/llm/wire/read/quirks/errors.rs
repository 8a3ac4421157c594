//! Errors inside a stream, and streams that are none.

use super::*;

#[test]
fn q08_an_error_may_stand_in_a_choice_and_may_be_null() {
    let inside = chunks(&[r#"{"delta":{},"error":{"message":"gone"}}"#]);
    assert_eq!(kind(read(&inside)), FailureKind::Server);
    assert_eq!(
        kind(read(&chunks(&[r#"{"finish_reason":"error"}"#]))),
        FailureKind::Server
    );
    assert_eq!(
        text(read(
            &chunks(&[TEXT, STOP]).replace("{\"choices\"", "{\"error\":null,\"choices\"")
        )),
        "Hi"
    );
}

#[test]
fn q09_an_event_named_error_may_be_words() {
    assert_has(
        &read("event: error\ndata: it broke\n\n")
            .unwrap_err()
            .problem
            .what,
        &["it broke"],
    );
}

#[test]
fn q10_an_error_may_be_a_line_of_json() {
    let bare = chunks(&[TEXT]).replace("data: [DONE]", "{\"error\":\"upstream\"}");
    assert!(read(&bare).unwrap_err().problem.what.contains("upstream"));
}

#[test]
fn q11_errors_under_status_200() {
    for body in [
        r#"{"error":"no"}"#,
        r#"[{"error":{"message":"no"}}]"#,
        r#"{"detail":"no"}"#,
        r#"{"object":"error","message":"no"}"#,
    ] {
        for (wire, name) in [
            (Wire::Completions, "gemini"),
            (Wire::Ollama, "ollama"),
            (Wire::Anthropic, "anthropic"),
        ] {
            let failure = read_as(wire, name, body).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Server, "{name} {body}");
            assert!(
                failure.problem.what.ends_with("no."),
                "{}",
                failure.problem.what
            );
        }
    }
}

#[test]
fn text_before_an_error_can_be_shown_and_is_kept() {
    let mut decoder = compatible();
    let body = format!(
        "data: {{\"choices\":[{TEXT}]}}\n\ndata: {{\"error\":{{\"message\":\"broken\"}}}}\n\n"
    );
    assert_eq!(decoder.feed(body.as_bytes()), DecodeProgress::Failed);
    assert_eq!(decoder.feed(b"data: more\n\n"), DecodeProgress::Failed);
    decoder.end();
    assert_eq!(decoder.deltas().collect::<Vec<_>>(), [Delta::Text("Hi")]);
    assert_eq!(decoder.into_result().unwrap_err().partial.text, "Hi");
}
