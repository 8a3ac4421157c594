//! Google Places (<https://developers.google.com/maps/documentation/places/web-service>), with an API key or a token from gcloud.

use std::time::Duration;

use serde_json::Value;

use super::entry::PlaceEntry;
use super::{gcloud, remembered};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::GOOGLE_PLACES;
use crate::tools::engine::context::ToolContext;

/// Timeout of Google; OpenStreetMap must have its turn within the timeout of the call.
const GOOGLE_TIMEOUT: Duration = Duration::from_secs(7);
/// The requested fields: Google has no default, and more expensive fields put the call into a more expensive class.
const FIELDS: &str = "places.displayName,places.formattedAddress,places.rating,places.userRatingCount,places.location,places.types";

/// The outcome of a request to Google.
pub(super) enum GoogleResult {
    Found(Vec<PlaceEntry>),
    /// Not used, for lack of a key or token.
    NotUsed,
    /// No results.
    Nothing,
    /// It refused or failed, with the reason on one line.
    Refused(String),
}

/// Sends a request to `path` (`/v1/places:searchText`).
///
/// # Errors
/// `Cancelled`; every other failure is a reason to use another service.
pub(super) fn ask(ctx: &ToolContext, path: &str, body: &Value) -> Outcome<GoogleResult> {
    let outcome = match GOOGLE_PLACES.key_in(&ctx.session.env) {
        Some(key) => with_key(ctx, path, body, &key),
        None => match with_token(ctx, path, body) {
            Ok(None) => return Ok(GoogleResult::NotUsed),
            Ok(Some(answer)) => Ok(answer),
            Err(problem) => Err(problem),
        },
    };
    let judged = outcome.and_then(|answer| parse_places(&answer));
    match judged {
        Ok(entries) if entries.is_empty() => Ok(GoogleResult::Nothing),
        Ok(entries) => Ok(GoogleResult::Found(entries)),
        Err(problem) if problem.is_cancelled() => Err(problem),
        Err(problem) => Ok(GoogleResult::Refused(problem.one_line())),
    }
}

/// A request for places, without a login.
fn request<'a>(ctx: &'a ToolContext, path: &str) -> RequestBuilder<'a> {
    ctx.service(&GOOGLE_PLACES)
        .path(path)
        .without_retry()
        .timeout(GOOGLE_TIMEOUT)
        .header("x-goog-fieldmask", FIELDS)
}

fn with_key(ctx: &ToolContext, path: &str, body: &Value, key: &str) -> Outcome<ServiceResponse> {
    request(ctx, path)
        .secret_header("x-goog-api-key", key, key.to_owned())
        .json(body)
}

/// Uses the token of gcloud; `None` if there is none. A refused token is fetched once more.
fn with_token(ctx: &ToolContext, path: &str, body: &Value) -> Outcome<Option<ServiceResponse>> {
    let mut last = None;
    for _ in 0..2 {
        let Some(token) = gcloud::token(ctx)? else {
            return Ok(last);
        };
        let bearer = format!("Bearer {}", token.secret);
        let ask = request(ctx, path).secret_header("authorization", &token.secret, bearer);
        let ask = match token.project {
            Some(project) => ask.header("x-goog-user-project", project),
            None => ask,
        };
        let answer = ask.json(body)?;
        if answer.status != 401 {
            return Ok(Some(answer));
        }
        remembered(ctx).token.forget();
        last = Some(answer);
    }
    Ok(last)
}

/// The places in a response; there may be none.
fn parse_places(answer: &ServiceResponse) -> Outcome<Vec<PlaceEntry>> {
    let value = answer.value();
    let fault = value
        .as_ref()
        .and_then(|value| value.at("error").or_else(|| value.at("0/error")));
    if !answer.is_ok() || fault.is_some() {
        return Err(refused(answer, fault));
    }
    let value = value
        .filter(Value::is_object)
        .ok_or_else(|| answer.unreadable())?;
    // No result is an object without places.
    let rows = value.list("places");
    let entries: Vec<PlaceEntry> = rows.iter().filter_map(PlaceEntry::google).collect();
    let odd = value.at("places").is_some_and(|places| !places.is_array());
    if odd || (entries.is_empty() && !rows.is_empty()) {
        return Err(answer.unreadable());
    }
    Ok(entries)
}

/// Google's error message, with advice.
fn refused(answer: &ServiceResponse, fault: Option<&Value>) -> Problem {
    let Some(fault) = fault else {
        return answer.refused(None);
    };
    let status = fault.text("status").unwrap_or_default();
    let details = fault.list("details").iter();
    let reason = details.filter_map(|detail| detail.text("reason")).next();
    let code = reason.unwrap_or(status);
    let message = fault
        .text("message")
        .or_else(|| fault.as_str())
        .unwrap_or_default();
    let what = match (
        answer.quoted(message).trim_end_matches('.'),
        answer.quoted(code),
    ) {
        ("", code) if code.is_empty() => format!("status {}", answer.status),
        ("", code) => code,
        (message, code) if code.is_empty() => message.to_owned(),
        (message, code) => format!("{message} ({code})"),
    };
    let problem = Problem::network(format!("Google Places refused: {what}."));
    let number = fault.whole("code").unwrap_or(i64::from(answer.status));
    match (number, status, reason.unwrap_or_default()) {
        // The key must not be used from this address or by this program.
        (_, _, reason)
            if reason.starts_with("API_KEY_")
                && reason.ends_with("BLOCKED")
                && reason != "API_KEY_SERVICE_BLOCKED" =>
        {
            problem.next("The key's restrictions forbid it: loosen them in Google's console, or use another key.")
        }
        (_, _, reason) if reason.starts_with("API_KEY_") && reason != "API_KEY_SERVICE_BLOCKED" => problem
            .next("Check GOOGLE_PLACES_API_KEY; without a key, setup_google_auth sets up gcloud instead."),
        (401, ..) | (_, "UNAUTHENTICATED", _) => {
            problem.next("Check GOOGLE_PLACES_API_KEY when it is set, else setup_google_auth signs in again.")
        }
        (403, ..) | (_, "PERMISSION_DENIED", _) => {
            problem.next("setup_google_auth enables the Places API; billing is switched on in Google's console.")
        }
        (429, ..) | (_, "RESOURCE_EXHAUSTED", _) => problem.next("The quota is used up for now."),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(status: u16, body: &Value) -> Outcome<Vec<PlaceEntry>> {
        parse_places(&ServiceResponse::new(
            &GOOGLE_PLACES,
            status,
            body.to_string().into_bytes(),
        ))
    }

    fn error(code: u16, status: &str, reason: &str) -> String {
        let body = json!({"error": {"code": code, "message": "No.", "status": status, "details": [{"x": 1}, {"reason": reason}]}});
        of(code, &body).unwrap_err().one_line()
    }

    #[test]
    fn each_refusal_says_what_helps() {
        for (code, status, reason, wanted) in [
            (
                400,
                "INVALID_ARGUMENT",
                "API_KEY_INVALID",
                "refused: No (API_KEY_INVALID). Check GOOGLE_PLACES_API_KEY",
            ),
            (
                403,
                "PERMISSION_DENIED",
                "SERVICE_DISABLED",
                "(SERVICE_DISABLED). setup_google_auth",
            ),
            (
                403,
                "PERMISSION_DENIED",
                "API_KEY_SERVICE_BLOCKED",
                "setup_google_auth enables",
            ),
            (403, "PERMISSION_DENIED", "BILLING_DISABLED", "billing"),
            (
                403,
                "PERMISSION_DENIED",
                "API_KEY_IP_ADDRESS_BLOCKED",
                "The key's restrictions forbid it",
            ),
            (
                401,
                "UNAUTHENTICATED",
                "ACCESS_TOKEN_EXPIRED",
                "signs in again",
            ),
            (
                429,
                "RESOURCE_EXHAUSTED",
                "RATE_LIMIT_EXCEEDED",
                "quota is used up",
            ),
        ] {
            let message = error(code, status, reason);
            assert!(message.contains(wanted), "{message}");
        }
        let mask =
            json!({"error": {"code": 400, "message": "Bad mask.", "status": "INVALID_ARGUMENT"}});
        assert_eq!(
            of(400, &mask).unwrap_err().one_line(),
            "Google Places refused: Bad mask (INVALID_ARGUMENT)."
        );
        assert!(of(200, &mask).is_err() && of(400, &json!([mask])).is_err());
        assert!(of(500, &json!({})).is_err() && of(400, &json!({"error": "odd"})).is_err());
    }

    #[test]
    fn nothing_found_is_no_failure_and_nonsense_is() {
        assert!(of(200, &json!({})).unwrap().is_empty());
        assert!(of(200, &json!({"places": []})).unwrap().is_empty());
        for odd in [
            json!([]),
            json!("x"),
            json!({"places": 5}),
            json!({"places": [{}, 1]}),
        ] {
            assert!(of(200, &odd).is_err(), "{odd}");
        }
    }
}
