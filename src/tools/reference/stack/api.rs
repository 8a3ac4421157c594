//! Requests to Stack Exchange: errors by name, backoff, and the remaining daily quota.

use std::time::Duration;

use serde_json::Value;

use super::pauses;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{plural, thousands};
use crate::net::service::RequestBuilder;
use crate::net::services::{STACKEXCHANGE, variable};
use crate::tools::engine::context::ToolContext;

const VERSION: &str = "/2.3";
/// Wait before retrying a failed server once.
const PAUSE: Duration = Duration::from_secs(1);
/// At this many remaining requests a day the quota becomes a warning.
const LOW_QUOTA: i64 = 10;

/// A request to `method`: its name for backoff, and its path.
pub(super) struct Method<'a> {
    pub(super) name: &'static str,
    pub(super) path: &'a str,
}

/// Sends a request; `fill` adds the query. Returns the response wrapper with its items.
pub(super) fn get(
    ctx: &ToolContext,
    method: &Method<'_>,
    fill: impl for<'a> Fn(RequestBuilder<'a>) -> RequestBuilder<'a>,
) -> Outcome<Value> {
    let name = format!("{}{}", STACKEXCHANGE.base_in(&ctx.session.env), method.name);
    if let Some(remaining) = pauses::remaining(&name) {
        return Err(Problem::limit(format!(
            "Stack Exchange asked for a pause of this search; it lasts another {} s.",
            remaining.as_secs() + 1
        ))
        .next("Ask again then, or use web_search."));
    }
    let key = STACKEXCHANGE.key_in(&ctx.session.env);
    let send_request = || {
        let send_request = ctx.service(&STACKEXCHANGE).path(VERSION).path(method.path);
        let send_request = fill(send_request).without_retry();
        match &key {
            Some(key) => send_request.secret_query("key", key),
            None => send_request,
        }
        .get()
    };
    let mut answer = send_request()?;
    // Throttling may come with status 502 as well; a retry would only lengthen the ban.
    if answer.status >= 500
        && answer.retry_after().is_none()
        && !answer.value().as_ref().is_some_and(is_error)
    {
        ctx.wait(PAUSE)?;
        answer = send_request()?;
    }
    let value = answer.value();
    if let Some(value) = value.as_ref().filter(|value| is_error(value)) {
        let words = value.text("error_message").or(value.text("error_name"));
        let message = answer.quoted(words.unwrap_or("no reason given"));
        return Err(refusal(ctx, value, &message).unwrap_or_else(|| {
            let plain = answer.is_ok();
            match plain {
                true => {
                    Problem::input(format!("Stack Exchange cannot use the request: {message}."))
                }
                false => answer.refused(words),
            }
        }));
    }
    let value = answer.json(|_| None)?;
    if let Some(seconds) = value.whole("backoff").and_then(|n| u64::try_from(n).ok()) {
        pauses::pause(&name, seconds);
    }
    if value.whole("quota_remaining") == Some(0) {
        ctx.session
            .services
            .hold_back(&STACKEXCHANGE, until_midnight());
    }
    let items = value.at("items").and_then(Value::as_array);
    // An empty list is valid; a list without any object is not.
    if items.is_none_or(|items| !items.is_empty() && !items.iter().any(Value::is_object)) {
        return Err(answer.unreadable());
    }
    Ok(value)
}

/// True when the user has a key.
pub(super) fn is_keyed(ctx: &ToolContext) -> bool {
    STACKEXCHANGE.key_in(&ctx.session.env).is_some()
}

fn is_error(value: &Value) -> bool {
    value.at("error_id").is_some() || value.at("error_name").is_some()
}

/// Errors that the API identifies by name.
fn refusal(ctx: &ToolContext, value: &Value, message: &str) -> Option<Problem> {
    let message = message.trim_end_matches('.');
    let name = value.text("error_name").unwrap_or_default();
    let id = value.whole("error_id");
    Some(match (name, id) {
        ("throttle_violation", _) => {
            let wait = seconds(message);
            if let Some(wait) = wait {
                ctx.session
                    .services
                    .hold_back(&STACKEXCHANGE, Duration::from_secs(wait));
            }
            let problem =
                Problem::limit(format!("Too many requests to Stack Exchange: {message}."));
            let problem = match wait {
                Some(wait) => problem.next(format!("Try again in {}.", in_words(wait))),
                None => problem.next("Wait some minutes, or use web_search."),
            };
            match STACKEXCHANGE.key_in(&ctx.session.env) {
                Some(_) => problem,
                None => problem.next(
                    "A free key in STACKEXCHANGE_KEY allows 10,000 requests a day instead of 300.",
                ),
            }
        }
        ("no_method", _) => Problem::missing(format!(
            "Stack Exchange does not know the request: {message}."
        ))
        .next(format!("Check {}.", variable(STACKEXCHANGE.id))),
        ("bad_parameter", _) => {
            Problem::input(format!("Stack Exchange cannot use the request: {message}."))
                .next("Check the site, the tags and the question's id.")
        }
        (_, Some(401..=403)) => Problem::new(
            ProblemKind::Auth,
            format!("Stack Exchange refused the request ({name}): {message}."),
        )
        .next("Check STACKEXCHANGE_KEY."),
        _ => return None,
    })
}

/// The seconds in "more requests available in 67194 seconds".
fn seconds(text: &str) -> Option<u64> {
    let (before, _) = text.split_once(" second")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// A duration in words.
fn in_words(seconds: u64) -> String {
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    match seconds {
        0..120 => plural(count(seconds), "second"),
        120..7_200 => plural(count(seconds.div_ceil(60)), "minute"),
        _ => plural(count(seconds.div_ceil(3_600)), "hour"),
    }
}

/// The quota resets at midnight UTC.
fn until_midnight() -> Duration {
    let now = jiff::Timestamp::now().as_second();
    let day = 24 * 3_600;
    Duration::from_secs(u64::try_from(day - now.rem_euclid(day)).unwrap_or_default())
}

/// The remaining daily quota, as a line; a warning when it is low.
pub(super) fn quota_line(value: &Value, keyed: bool) -> Option<String> {
    let more = if keyed {
        ""
    } else {
        "; set STACKEXCHANGE_KEY for more"
    };
    let remaining = value
        .whole("quota_remaining")
        .filter(|remaining| *remaining >= 0)?;
    let shown = |n: i64| thousands(n.unsigned_abs());
    Some(match (remaining, value.whole("quota_max")) {
        (0, _) => "No requests are left today; the quota resets at midnight UTC.".to_owned(),
        (1..LOW_QUOTA, _) => format!(
            "Only {} left today{more}.",
            match remaining {
                1 => "1 request is".to_owned(),
                remaining => format!("{remaining} requests are"),
            }
        ),
        (remaining, Some(max)) if max >= remaining => {
            format!(
                "Requests left today: {} of {}",
                shown(remaining),
                shown(max)
            )
        }
        (remaining, _) => format!("Requests left today: {}", shown(remaining)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use serde_json::json;

    #[test]
    fn waits_are_parsed_from_messages() {
        assert_eq!(
            seconds("too many requests from this IP, more requests available in 67194 seconds"),
            Some(67_194)
        );
        assert_eq!(seconds("available in 1 second"), Some(1));
        assert_eq!((seconds("soon"), seconds("in a few seconds")), (None, None));
        for (wait, wanted) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (67_194, "19 hours"),
        ] {
            assert_eq!(in_words(wait), wanted);
        }
        assert!(until_midnight() <= Duration::from_secs(86_400));
    }

    #[test]
    fn the_remaining_quota_is_shown() {
        let line = |remaining: Value, max: Value| {
            quota_line(
                &json!({"quota_remaining": remaining, "quota_max": max}),
                false,
            )
        };
        assert_eq!(
            line(json!(9_870), json!(10_000)).unwrap(),
            "Requests left today: 9,870 of 10,000"
        );
        assert_eq!(
            line(json!(10), Value::Null).unwrap(),
            "Requests left today: 10"
        );
        assert_has(
            &line(json!(9), json!(300)).unwrap(),
            &["Only 9 requests are left"],
        );
        assert_has(
            &line(json!(1), json!(300)).unwrap(),
            &["Only 1 request is left"],
        );
        assert!(line(json!(0), json!(300)).unwrap().contains("midnight UTC"));
        assert_eq!(line(Value::Null, json!(300)), None);
        assert_eq!(line(json!(-1), json!(300)), None);
    }
}
