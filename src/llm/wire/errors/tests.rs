//! Error bodies as providers send them: their classification and messages.

use std::time::Duration;

use super::*;
use crate::llm::catalog::row;

fn asked(name: &str) -> ErrorContext {
    ErrorContext {
        model: "m".into(),
        secrets: vec!["hunter2hunter2".into()],
        schema_tokens: 9123,
        ..ErrorContext::new(row(name).unwrap())
    }
}

fn fail(name: &str, status: u16, body: &str) -> Failure {
    from_response(&asked(name), status, &|_| None, body.as_bytes())
}

#[test]
fn a_wrong_key_reads_as_the_manual_says() {
    let failure = fail(
        "openai",
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-abcdefghijklmnop12","type":"invalid_request_error","code":"invalid_api_key"}}"#,
    );
    assert_eq!(failure.kind, FailureKind::Auth);
    assert_eq!(
        failure.problem.one_line(),
        "openai refused the key (401 invalid_api_key): Incorrect API key provided: [hidden]. Check OPENAI_API_KEY, or choose another provider: --provider NAME (marvin doctor lists them)."
    );
}

#[test]
fn q12_the_kinds_of_429() {
    let wait = |seconds| FailureKind::RateLimited {
        wait: Some(Duration::from_secs(seconds)),
    };
    for (body, why) in [
        (
            r#"{"error":{"message":"slow down, try again in 7s","code":"rate_limit_exceeded"}}"#,
            wait(7),
        ),
        (
            r#"{"error":{"message":"You exceeded your current quota, please check your plan","code":"insufficient_quota"}}"#,
            FailureKind::Quota,
        ),
        (
            r#"[{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 48s.","status":"RESOURCE_EXHAUSTED"}}]"#,
            wait(48),
        ),
        (
            r#"{"error":{"message":"Rate limit reached: Limit 7000, Used 6148, Requested 7895. Please try again in 1m0.3s.","code":"rate_limit_exceeded"}}"#,
            FailureKind::TooLarge,
        ),
        (
            r#"{"error":{"message":"Rate limit reached: Limit 7000, Used 6148, Requested 1895. Try again in 2s."}}"#,
            wait(2),
        ),
        ("", FailureKind::RateLimited { wait: None }),
    ] {
        assert_eq!(fail("groq", 429, body).kind, why, "{body}");
    }
}

#[test]
fn q14_too_long_in_everyones_words() {
    for body in [
        r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
        r#"{"error":{"message":"This endpoint's maximum context length is 200000 tokens.","code":400}}"#,
        r#"{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed","code":400}}"#,
        r#"{"error":"prompt too long; exceeded max context length by 7 tokens"}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209 tokens > 200"}}"#,
    ] {
        assert_eq!(
            fail("openai", 400, body).kind,
            FailureKind::TooLong,
            "{body}"
        );
    }
}

#[test]
fn q15_a_failed_call_keeps_what_the_model_wrote() {
    let failure = fail(
        "groq",
        400,
        r#"{"error":{"message":"no","code":"tool_use_failed","failed_generation":"<f>{"}}"#,
    );
    assert_eq!(
        failure.kind,
        FailureKind::BadCall {
            wrote: "<f>{".into()
        }
    );
    assert_eq!(failure.problem.facts.as_deref(), Some("It wrote: <f>{"));
}

#[test]
fn q16_no_tools_is_no_network_error() {
    for body in [
        r#"{"error":"llama3 does not support tools"}"#,
        r#"{"error":{"message":"llama3 does not support tools","type":"api_error"}}"#,
    ] {
        assert_eq!(fail("ollama", 400, body).kind, FailureKind::NoTools);
    }
}

#[test]
fn q40_a_request_that_never_fits_names_the_tools() {
    let failure = fail(
        "groq",
        413,
        r#"{"error":{"message":"Request too large for model `m`: Limit 6000, Requested 21000","code":"rate_limit_exceeded"}}"#,
    );
    assert_eq!(failure.kind, FailureKind::TooLarge);
    let line = failure.problem.one_line();
    assert!(
        line.contains("The tool schemas take about 9,123 tokens of it") && line.contains("--tools"),
        "{line}"
    );
}

#[test]
fn other_answers() {
    for (status, body, why) in [
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#,
            FailureKind::Auth,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance"}}"#,
            FailureKind::Quota,
        ),
        (400, r#"{"error":{"message":"no"}}"#, FailureKind::Refused),
        (503, "<html><title>Oops</title>", FailureKind::Server),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            FailureKind::Server,
        ),
        (418, "", FailureKind::Refused),
        (204, "", FailureKind::Protocol),
    ] {
        assert_eq!(fail("openai", status, body).kind, why, "{status} {body}");
    }
    let line = fail("ollama", 404, r#"{"error":"model 'm' not found"}"#)
        .problem
        .one_line();
    assert!(
        line.starts_with("ollama has no model m (404)") && line.contains("ollama pull m"),
        "{line}"
    );
    let line = fail("openai", 500, "key hunter2hunter2 \x1b[31m")
        .problem
        .one_line();
    assert!(
        line.contains("[hidden]") && !line.contains('\x1b'),
        "{line}"
    );
}

#[test]
fn a_redirection_says_where_it_points() {
    let failure = from_response(
        &asked("openai"),
        301,
        &|name| (name == "location").then(|| "https://x.example/v1".to_owned()),
        b"",
    );
    assert_eq!(
        failure.problem.one_line(),
        "openai redirects (301) to https://x.example/v1. It was not followed, so no key was sent there. If that is the right place, set OPENAI_URL to it."
    );
}

#[test]
fn q08_errors_inside_a_stream_are_sorted_by_their_words() {
    for (body, why) in [
        (
            r#"{"error":{"code":429,"message":"slow down"}}"#,
            FailureKind::RateLimited { wait: None },
        ),
        (
            r#"{"error":{"code":502,"message":"upstream"}}"#,
            FailureKind::Server,
        ),
        (
            r#"{"error":{"code":400,"message":"Token limit reached"}}"#,
            FailureKind::Server,
        ),
        (
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            FailureKind::Server,
        ),
        (
            r#"{"error":{"message":"maximum context length is 8192"}}"#,
            FailureKind::TooLong,
        ),
    ] {
        let said = ProviderError::read(body.as_bytes()).unwrap();
        assert_eq!(in_stream(&asked("openrouter"), &said).kind, why, "{body}");
    }
}
