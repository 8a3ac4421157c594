//! Error bodies as providers send them: their classification and messages.

use std::time::Duration;

use super::*;
use crate::base::testing::assert_has;
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
        "openai refused the key (401 invalid_api_key): Incorrect API key provided: [hidden]. Check OPENAI_API_KEY, or choose another provider: --provider NAME (marvin help providers)."
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
    assert_has(
        &line,
        &["The tool schemas take about 9,123 tokens of it", "--tools"],
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

#[test]
fn a_403_that_is_not_about_the_key_says_what_it_is_about() {
    let model = fail(
        "openai",
        403,
        r#"{"error":{"message":"Project `proj_a` does not have access to model `m`","type":"invalid_request_error","code":"model_not_found"}}"#,
    );
    assert_eq!(model.kind, FailureKind::Auth, "another provider may answer");
    assert_eq!(
        model.problem.one_line(),
        "openai does not serve m to this account (403 model_not_found): Project `proj_a` does not have access to model `m`. The key itself was accepted. Choose another model: --model NAME (marvin models openai lists them), or ask for access there."
    );
    for (name, status, body) in [
        (
            "openai",
            403,
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#,
        ),
        (
            "gemini",
            400,
            r#"[{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}]"#,
        ),
        (
            "anthropic",
            403,
            r#"{"type":"error","error":{"type":"forbidden","message":"Access to Anthropic models is not allowed from unsupported countries"}}"#,
        ),
    ] {
        let line = fail(name, status, body).problem.one_line();
        let words = "does not serve the country or region that this request comes from";
        assert!(line.contains(words), "{line}");
        assert!(!line.contains("_API_KEY"), "{line}");
    }
    let line = fail("groq", 403, r#"{"error":{"message":"Forbidden"}}"#)
        .problem
        .one_line();
    assert_has(&line, &["Check what GROQ_API_KEY may do there"]);
}

#[test]
fn a_content_filter_names_what_it_objects_to() {
    let azure = r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"high"}}}}}"#;
    let openrouter = r#"{"error":{"code":403,"message":"anthropic/claude requires moderation. Your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#;
    for (name, status, body, words) in [
        ("openai-compat", 400, azure, "(violence, severity high)"),
        ("openrouter", 403, openrouter, "(violence)"),
    ] {
        let failure = fail(name, status, body);
        assert_eq!(failure.kind, FailureKind::Filtered);
        let line = failure.problem.one_line();
        let start = format!("A content filter of {name} refused the request {words}");
        assert!(line.starts_with(&start), "{line}");
    }
}

#[test]
fn an_error_without_words_says_what_is_known() {
    let header = |name: &str| (name == "x-request-id").then(|| "req_7".to_owned());
    let failure = from_response(&asked("openai"), 500, &header, b"{}");
    assert_eq!(
        failure.problem.one_line(),
        "openai failed (500) and gave no reason (request req_7). Try again later, or choose another provider: --provider NAME (marvin help providers)."
    );
    let line = fail("groq", 429, "").problem.one_line();
    assert!(
        line.starts_with("groq limits requests (429) and gave no reason."),
        "{line}"
    );
}

#[test]
fn a_refused_member_is_found_in_what_gateways_quote() {
    use crate::llm::wire::optional::OptionalMember::{CacheKey, Include};
    for (status, body, member) in [
        (
            400,
            r#"{"error":{"message":"litellm.BadRequestError: BedrockException - {\"message\":\"The model returned the following errors: prompt_cache_key: Extra inputs are not permitted\"}. Received Model Group=claude\nAvailable Model Group Fallbacks=None","type":"None","param":"None","code":"400"}}"#,
            Some(CacheKey),
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted","input":"marvin"}]}"#,
            Some(CacheKey),
        ),
        (
            400,
            r#"{"error":{"message":"Encrypted content is not supported with this model.","param":"include","code":null}}"#,
            Some(Include),
        ),
        (
            400,
            r#"{"error":{"message":"Invalid type for 'messages[1].content': \"prompt_cache_key is not supported\"","param":"messages[1].content"}}"#,
            None,
        ),
        (
            400,
            r#"{"error":{"message":"maximum context length is 8192, prompt_cache_key is not supported"}}"#,
            None,
        ),
        (500, r#"{"error":"unknown field prompt_cache_key"}"#, None),
    ] {
        let failure = fail("openai-compat", status, body);
        let refused = failure.answer.unwrap().refused;
        match member {
            Some(member) => assert!(refused.has(member), "{body}"),
            None => assert!(refused.is_empty(), "{body}"),
        }
        assert!(!failure.problem.one_line().contains("None"), "{failure:?}");
    }
}
