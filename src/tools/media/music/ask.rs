//! Requests to MusicBrainz: query escaping, its rate limit, and messages for its errors.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::net::service::ServiceResponse;
use crate::net::services::MUSICBRAINZ;
use crate::tools::engine::context::ToolContext;

/// How long responses are cached.
const CACHE_TIME: Duration = Duration::from_secs(300);
/// Waits before the second and third attempt; a fourth would not fit into a call's time.
const FIRST_RETRY_WAIT: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(2);
/// The longest requested wait that is granted.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(4);
/// Total time limit for MusicBrainz, below the call's ten seconds, so that the call ends with a partial result or a message about the service.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(9);

/// The deadline for all requests of a call that starts now.
pub(super) fn deadline() -> Instant {
    Instant::now() + SERVICE_TIMEOUT
}

/// `text` escaped as a Lucene query for exactly these words.
pub(super) fn escaped(text: &str) -> String {
    let words = text.split_whitespace().map(|word| match word {
        // Operators are recognized only in capitals.
        "AND" | "OR" | "NOT" | "TO" => word.to_lowercase(),
        _ => word.chars().fold(String::new(), |mut out, c| {
            if r#"+-&|!(){}[]^"~*?:\/"#.contains(c) {
                out.push('\\');
            }
            out.push(c);
            out
        }),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Requests `path` below the service's root, with its query, not later than `deadline`.
///
/// # Errors
/// A refusal, after three attempts if it is temporary; an unreadable response.
pub(super) fn reply(
    ctx: &ToolContext,
    path: &str,
    deadline: Instant,
    missing: impl Fn() -> Problem,
) -> Outcome<Value> {
    let left = || deadline.saturating_duration_since(Instant::now());
    let ask = || {
        let ask = ctx
            .service(&MUSICBRAINZ)
            .path("/ws/2/")
            .path(path)
            .cache_for(CACHE_TIME);
        ask.timeout(left())
    };
    let mut answer = ask()
        .retry_after(FIRST_RETRY_WAIT)
        .max_retry_wait(MAX_RETRY_WAIT)
        .get()?;
    if answer.status == 503 {
        let wait = answer.retry_after().unwrap_or_default().max(SECOND);
        if wait <= MAX_RETRY_WAIT && wait < left() {
            ctx.wait(wait)?;
            answer = ask().max_retry_wait(Duration::ZERO).get()?;
        }
    }
    classify(&answer, missing)
}

fn classify(answer: &ServiceResponse, missing: impl Fn() -> Problem) -> Outcome<Value> {
    match answer.status {
        404 => Err(missing()),
        403 => Err(answer.refused(error_message(answer).as_deref()).next(
            "MusicBrainz turns away programs that name no contact: set MARVIN_CONTACT to an e-mail or web address of yours.",
        )),
        _ if answer.is_ok() => match answer.value() {
            Some(value) if value.text("error").is_some() => {
                Err(Problem::network(format!(
                    "MusicBrainz refused: {}.",
                    answer.quoted(value.text("error").unwrap_or_default()).trim_end_matches('.')
                ))
                .next("Try again later."))
            }
            Some(value) if value.is_object() => Ok(value),
            _ => Err(answer.unreadable()),
        },
        _ => Err(answer.refused(error_message(answer).as_deref())),
    }
}

/// The service's own message; errors come as JSON, and as XML from its front servers.
fn error_message(answer: &ServiceResponse) -> Option<String> {
    if let Some(value) = answer.value() {
        return value.text("error").map(str::to_owned);
    }
    let text = answer.text();
    let (_, rest) = text.split_once("<text>")?;
    let (words, _) = rest.split_once("</text>")?;
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_typed_is_looked_for() {
        assert_eq!(escaped("AC/DC"), r"AC\/DC");
        assert_eq!(escaped(" P!nk \n (live) "), r"P\!nk \(live\)");
        assert_eq!(escaped("Me AND You OR not"), "Me and You or not");
        assert_eq!(escaped("artist:x && \"y"), r#"artist\:x \&\& \"y"#);
        assert_eq!(escaped("小沢健二"), "小沢健二");
    }

    proptest! {
        #[test]
        fn every_special_character_is_escaped(text in ".{0,60}") {
            let query = escaped(&text);
            let mut signs = query.chars();
            while let Some(sign) = signs.next() {
                if sign == '\\' {
                    prop_assert!(signs.next().is_some());
                } else {
                    prop_assert!(!r#"+-&|!(){}[]^"~*?:/"#.contains(sign), "{query}");
                }
            }
            let words = |text: &str| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            prop_assert_eq!(words(&query), words(&text));
        }
    }
}
