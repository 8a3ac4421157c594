//! Errors inside a stream, and streams that are none.

use super::*;

#[test]
fn q05_closed_early_keeps_the_text_and_runs_no_call() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}"#;
    for tail in ["", "data: {\"choices\":[{\"del", "data: {\"choices\""] {
        let body = chunks(&[TEXT, call]).replace("data: [DONE]\n\n", tail);
        let failure = read(&body).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Cut, "{tail}");
        assert_eq!(failure.partial.text, "Hi");
        assert!(failure.partial.calls.is_empty());
    }
    assert_eq!(kind(read("")), FailureKind::Cut);
    assert_eq!(kind(read(": ping\n\n")), FailureKind::Cut);
}

#[test]
fn q07_data_that_is_no_json_breaks_the_stream() {
    let body =
        chunks(&[TEXT]).replace("data: [DONE]", "data: {\"choices\":[oops]}\n\ndata: [DONE]");
    let failure = read(&body).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.problem.one_line().contains("oops"));
    assert_eq!(failure.partial.text, "Hi");
}

#[test]
fn q08_an_error_in_a_chunk_comes_before_its_choices() {
    for choices in [
        "",
        ",\"choices\":[]",
        ",\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]",
    ] {
        let error =
            format!("data: {{\"error\":{{\"code\":502,\"message\":\"gone\"}}{choices}}}\n\n");
        let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
        let body = chunks(&[TEXT]).replace("data: [DONE]", &format!("{error}{usage}data: [DONE]"));
        let failure = read(&body).unwrap_err();
        assert_eq!(
            (&failure.kind, failure.partial.text.as_str()),
            (&FailureKind::Server, "Hi")
        );
        assert!(failure.problem.one_line().contains("gone"));
    }
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
fn q09_an_event_named_error() {
    let body = "event: error\ndata: {\"error\":{\"message\":\"bad\",\"code\":\"tool_use_failed\",\"failed_generation\":\"f(\"}}\n\n";
    assert_eq!(
        kind(read(body)),
        FailureKind::BadCall { wrote: "f(".into() }
    );
    assert_has(
        &read("event: error\ndata: it broke\n\n")
            .unwrap_err()
            .problem
            .what,
        &["it broke"],
    );
}

#[test]
fn q10_a_line_that_begins_with_error() {
    let failure =
        read(&chunks(&[TEXT]).replace("data: [DONE]", "error: {\"message\":\"no memory\"}"))
            .unwrap_err();
    assert_has(&failure.problem.what, &["no memory"]);
    assert_eq!(failure.partial.text, "Hi");
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
fn junk_is_named() {
    for (body, part) in [
        ("<!doctype html><title>Sign in</title>", "\"Sign in\""),
        ("upstream connect error\n", "upstream connect error"),
        ("\"just text\"", "just text"),
    ] {
        let failure = read(body).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Protocol, "{body}");
        assert_has(&failure.problem.what, &[part]);
    }
    assert_eq!(kind(ollama("<html>x")), FailureKind::Protocol);
}

#[test]
fn an_endless_line_is_refused() {
    let mut decoder = compatible();
    decoder.feed(b"data: ");
    let read = vec![b'x'; 1024 * 1024];
    assert!((0..64).any(|_| decoder.feed(&read) == Progress::Failed));
    assert!(finish(decoder).unwrap_err().problem.what.contains("32 MB"));
}

#[test]
fn text_before_an_error_can_be_shown_and_is_kept() {
    let mut decoder = compatible();
    let body = format!(
        "data: {{\"choices\":[{TEXT}]}}\n\ndata: {{\"error\":{{\"message\":\"broken\"}}}}\n\n"
    );
    assert_eq!(decoder.feed(body.as_bytes()), Progress::Failed);
    assert_eq!(decoder.feed(b"data: more\n\n"), Progress::Failed);
    decoder.end();
    assert_eq!(decoder.deltas().collect::<Vec<_>>(), [Delta::Text("Hi")]);
    assert_eq!(decoder.into_result().unwrap_err().partial.text, "Hi");
}
