//! Classifies errors.

use std::time::Duration;

use super::provider_error::{ErrorCode, ProviderError};
use crate::llm::failure::FailureKind;
use crate::llm::wire::optional;

/// Classifies an error by its status, code, type and message. `status` is absent for an error inside a stream of status 200.
pub(super) fn classify(
    error: &ProviderError,
    status: Option<u16>,
    wait: Option<Duration>,
) -> FailureKind {
    let words = error.words();
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let code = status.or_else(|| error.status());
    let is = |list: &[u16]| code.is_some_and(|code| list.contains(&code));

    if is(&[402]) || out_of_quota(&words, wait) {
        return FailureKind::Quota;
    }
    if has(&["request too large", "request_too_large"]) || never_fits(&words) {
        return FailureKind::TooLarge;
    }
    if !is(&[429]) && too_long(&words) {
        return FailureKind::TooLong;
    }
    if is(&[413]) {
        return FailureKind::TooLarge;
    }
    if has(&[
        "/v1/responses",
        "use the responses api",
        "only supported in v1/responses",
    ]) && !is(&[429])
    {
        return FailureKind::OtherWire;
    }
    if has(&["reasoning summaries"]) || error.param.as_deref() == Some("reasoning.summary") {
        return FailureKind::NoSummaries;
    }
    if no_tools(&words) {
        return FailureKind::NoTools;
    }
    if error.wrote.is_some() || has(&["tool_use_failed"]) {
        let wrote = error.wrote.clone().unwrap_or_default();
        return FailureKind::BadCall { wrote };
    }
    if is(&[429])
        || has(&[
            "rate_limit",
            "rate limit",
            "resource_exhausted",
            "too many requests",
            "too_many_requests",
        ])
    {
        return FailureKind::RateLimited { wait };
    }
    if is_filtered(error, &words) {
        return FailureKind::Filtered;
    }
    if is(&[401, 403])
        || has(&[
            "api key not valid",
            "invalid_api_key",
            "incorrect api key",
            "authentication_error",
        ])
    {
        return FailureKind::Auth;
    }
    if has(&NEVER_AGAIN) {
        return FailureKind::Refused;
    }
    match status {
        Some(408) | Some(500..) | None => FailureKind::Server,
        Some(400..) => FailureKind::Refused,
        Some(_) => FailureKind::Protocol,
    }
}

/// True for an error inside a stream that may be over soon: too many requests, or what the server itself calls its fault.
pub(super) fn passes(error: &ProviderError, kind: &FailureKind) -> bool {
    let words = error.words();
    match kind {
        FailureKind::RateLimited { .. } => true,
        FailureKind::Server => {
            error.status().is_some_and(|status| status >= 500)
                || ["server_error", "overloaded_error", "api_error"]
                    .iter()
                    .any(|code| words.split(' ').any(|word| word.ends_with(code)))
        }
        _ => false,
    }
}

/// Codes inside a stream of status 200 that a retry does not change.
const NEVER_AGAIN: [&str; 5] = [
    "invalid_prompt",
    "data_residency_mismatch",
    "bio_policy",
    "misalignment_policy_violation",
    "usage_not_included",
];

/// Waiting does not help. Gemini also calls its limit per minute a quota, but names a wait.
fn out_of_quota(words: &str, wait: Option<Duration>) -> bool {
    let plain = [
        "insufficient_quota",
        "insufficient balance",
        "insufficient credit",
        "billing_hard_limit",
        "billing_not_active",
        "credit balance is too low",
        "credit_balance_exhausted",
    ];
    plain.iter().any(|word| words.contains(word))
        || words.contains("current quota")
            && wait.is_none()
            && !words.contains("resource_exhausted")
}

/// "Limit 7000, Used 6148, Requested 7895": the request exceeds the whole limit.
fn never_fits(words: &str) -> bool {
    let number = |label: &str| -> Option<u64> {
        words.split(label).skip(1).find_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            rest.get(..digits)?.parse().ok()
        })
    };
    match (number("limit "), number("requested ")) {
        (Some(limit), Some(requested)) => requested > limit && words.contains("used "),
        _ => false,
    }
}

fn too_long(words: &str) -> bool {
    [
        "context_length_exceeded",
        "exceed_context_size",
        "too_many_prompt_tokens",
        "maximum context length",
        "max context length",
        "context length",
        "context window",
        "input token count",
        "prompt is too long",
        "prompt too long",
        "messages is too long",
        "exceeds the available context",
        "maximum prompt length",
    ]
    .iter()
    .any(|word| words.contains(word))
}

fn no_tools(words: &str) -> bool {
    [
        "does not support tools",
        "not support tool",
        "support tool use",
        "tool calling is not supported",
        "tools are not supported",
        "tools is not supported",
        "does not support function",
    ]
    .iter()
    .any(|word| words.contains(word))
}

/// True when a content filter refused the request. OpenAI, Azure and OpenRouter each say it in a way of their own.
fn is_filtered(error: &ProviderError, words: &str) -> bool {
    let code = match &error.code {
        Some(ErrorCode::Word(code)) => code.as_str(),
        _ => "",
    };
    [
        "content_filter",
        "content_policy_violation",
        "moderation_blocked",
    ]
    .contains(&code)
        || !error.filtered.is_empty()
        || words.contains("requires moderation") && words.contains("flagged")
        || words.contains("content management policy")
}

/// True when the provider does not serve the place where the request comes from: a key does not change that.
pub(super) fn is_wrong_place(error: &ProviderError) -> bool {
    let words = error.words();
    [
        "unsupported_country",
        "country, region, or territory not supported",
        "location is not supported",
        "not available in your country",
        "not available in your region",
        "not available in your location",
        "not supported in your country",
        "not supported in your region",
        "region is not supported",
        "country is not supported",
        "unsupported countr",
        "unsupported region",
    ]
    .iter()
    .any(|place| words.contains(place))
}

/// True when the error is about the model's name, not about the address.
pub(super) fn is_unknown_model(error: &ProviderError, status: Option<u16>) -> bool {
    let words = error.words();
    // "`temperature` is deprecated for this model"
    if !optional::refused(error.param.as_deref(), &error.message).is_empty() {
        return false;
    }
    let plain = [
        "model_not_found",
        "invalid_model",
        "valid model",
        "invalid model",
        "model does not exist",
        "not have access to model",
        "no access to model",
        "not authorized to access this model",
        "model_decommissioned",
        "has been decommissioned",
        "has been deprecated",
        "is deprecated",
        "has been shut down",
        "has been retired",
    ];
    matches!(status, Some(404 | 405 | 501)) && words.contains("model")
        || plain.iter().any(|word| words.contains(word))
}
