//! MediaWiki API requests: errors come with status 200, and a lagging server is retried once
//! (<https://www.mediawiki.org/wiki/Manual:Maxlag_parameter>).

use std::time::Duration;

use serde_json::Value;

use super::title::base;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::formats::html;
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::WIKIPEDIA;
use crate::tools::engine::context::ToolContext;

/// Wait before the retry when the service names none.
const DEFAULT_RETRY_WAIT: Duration = Duration::from_secs(2);
/// Maximum wait before the retry.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);
const TEMPORARY_ERRORS: [&str; 3] = ["maxlag", "ratelimited", "readonly"];

/// A request to the Action API of the Wikipedia in `language`; `fill` adds the query.
pub(super) fn action(
    ctx: &ToolContext,
    language: Option<&str>,
    fill: impl for<'a> Fn(RequestBuilder<'a>) -> RequestBuilder<'a>,
) -> Outcome<Value> {
    // Retried here, once, because an error with status 200 counts as a refusal too.
    let send = || {
        let send = ctx
            .service(&WIKIPEDIA)
            .base(&base(language))
            .path("/w/api.php");
        fill(
            send.query("action", "query")
                .query("format", "json")
                .query("formatversion", 2)
                .query("utf8", 1)
                .query("maxlag", 5),
        )
        .without_retry()
        .get()
    };
    let mut answer = send()?;
    if let Some(wait) = retry_wait(&answer) {
        ctx.wait(wait)?;
        answer = send()?;
    }
    check_response(ctx, &answer)
}

/// How long to wait before the retry; `None` for a final response.
fn retry_wait(answer: &ServiceResponse) -> Option<Duration> {
    let value = answer.value();
    let code = value.as_ref().and_then(|value| value.text("error/code"));
    let failed = answer.status == 429 || answer.status >= 500;
    let busy = failed || code.is_some_and(|code| TEMPORARY_ERRORS.contains(&code));
    let wait = answer.retry_after().unwrap_or(DEFAULT_RETRY_WAIT);
    (busy && wait <= MAX_RETRY_WAIT).then_some(wait)
}

/// The value in a response, or its error.
pub(super) fn check_response(ctx: &ToolContext, answer: &ServiceResponse) -> Outcome<Value> {
    match answer.value() {
        Some(value) => match api_error(answer, &value) {
            Some(problem) => Err(problem),
            None if answer.is_ok() && value.is_object() => Ok(value),
            None if answer.is_ok() => Err(answer.unreadable()),
            None => Err(answer.refused(value.text("detail").or(value.text("title")))),
        },
        None if answer.is_ok() => Err(answer.unreadable()),
        None => Err(refused(ctx, answer)),
    }
}

/// A refusal that is not JSON: usually because of a User-Agent without a contact.
fn refused(ctx: &ToolContext, answer: &ServiceResponse) -> Problem {
    let text = answer.text();
    let plain = (!answer.is_page() && text.len() < 1_000).then_some(text.as_str());
    let problem = answer.refused(plain);
    match answer.status {
        403 if ctx.session.contact().is_none() => problem.next(
            "Wikipedia requires a contact in the User-Agent: set MARVIN_CONTACT (or contact: in the preferences) to an e-mail or web address of yours.",
        ),
        403 => problem.next("The contact that Marvin names, or this network, is not accepted; try again later."),
        _ => problem,
    }
}

/// The error object of the Action API.
fn api_error(answer: &ServiceResponse, value: &Value) -> Option<Problem> {
    let error = value.at("error")?;
    let Some(code) = error.text("code") else {
        // Not the Action API's format: the status is more informative.
        let words = error.as_str().or(error.text("message"));
        return Some(match answer.is_ok() {
            true => answer
                .refused(words)
                .next("Try again later, or use another source."),
            false => answer.refused(words),
        });
    };
    let info = html::line(error.text("info").unwrap_or_default());
    let said = answer.quoted(&info);
    let said = match said.trim_end_matches('.') {
        "" => code,
        said => said,
    };
    let wait = answer
        .retry_after()
        .unwrap_or(MAX_RETRY_WAIT)
        .as_secs()
        .max(1);
    Some(match code {
        "maxlag" => Problem::limit(format!("Wikipedia's servers lag behind: {said}."))
            .next(format!("Try again in {wait} s.")),
        "ratelimited" => Problem::limit(format!("Too many requests to Wikipedia: {said}."))
            .next(format!("Try again in {wait} s.")),
        "readonly" => Problem::network(format!("Wikipedia cannot answer at the moment: {said}."))
            .next("Try again later."),
        code if code.starts_with("internal_api_error") => {
            Problem::network(format!("Wikipedia failed ({code}): {said}.")).next("Try again later.")
        }
        code => Problem::input(format!(
            "Wikipedia cannot use the request ({code}): {said}."
        ))
        .next("Change the words of the request."),
    })
}
