//! Requests to MusicBrainz: query escaping, its rate limit, and messages for its errors.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::net::service::ServiceResponse;
use crate::net::services::MUSICBRAINZ;
use crate::tools::engine::context::ToolContext;

/// How long answers are cached.
const KEEP: Duration = Duration::from_secs(300);
/// Waits before the second and the third attempt; a fourth would not fit into a call's time.
const FIRST: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(2);
/// The longest pause that is waited for.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(4);
/// Total time limit for MusicBrainz; a call has ten seconds, and should end with a partial result or a message about the service.
const WITHIN: Duration = Duration::from_secs(9);

/// The deadline for all requests of a call that begins now.
pub(super) fn end() -> Instant {
    Instant::now() + WITHIN
}

/// `text` escaped as a Lucene query for exactly these words.
pub(super) fn escaped(text: &str) -> String {
    let words = text.split_whitespace().map(|word| match word {
        // Operators are such only in capitals.
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

/// The reply to a request for `path` below the service's root, with its query, not waited for beyond `end`.
///
/// # Errors
/// A refusal, three times when it is one to wait for; what cannot be read.
pub(super) fn reply(
    ctx: &ToolContext,
    path: &str,
    end: Instant,
    missing: impl Fn() -> Problem,
) -> Outcome<Value> {
    let left = || end.saturating_duration_since(Instant::now());
    let ask = || {
        let ask = ctx.ask(&MUSICBRAINZ).path("/ws/2/").path(path).keep(KEEP);
        ask.timeout(left())
    };
    let mut answer = ask()
        .again_after(FIRST)
        .max_retry_wait(MAX_RETRY_WAIT)
        .get()?;
    if answer.status == 503 {
        let wait = answer.retry_after().unwrap_or_default().max(SECOND);
        if wait <= MAX_RETRY_WAIT && wait < left() {
            if !ctx.stop.sleep(wait) {
                return Err(Problem::cancelled());
            }
            answer = ask().max_retry_wait(Duration::ZERO).get()?;
        }
    }
    judged(&answer, missing)
}

fn judged(answer: &ServiceResponse, missing: impl Fn() -> Problem) -> Outcome<Value> {
    match answer.status {
        404 => Err(missing()),
        403 => Err(answer.refused(said(answer).as_deref()).next(
            "MusicBrainz turns away programs that name no contact: set MARVIN_CONTACT to an e-mail or web address of yours.",
        )),
        _ if answer.is_ok() => match answer.value() {
            Some(value) if value.text("error").is_some() => {
                Err(Problem::network(format!(
                    "MusicBrainz refused: {}.",
                    answer.said(value.text("error").unwrap_or_default()).trim_end_matches('.')
                ))
                .next("Try again later."))
            }
            Some(value) if value.is_object() => Ok(value),
            _ => Err(answer.unreadable()),
        },
        _ => Err(answer.refused(said(answer).as_deref())),
    }
}

/// The service's own message; errors come as JSON, and as XML from its front servers.
fn said(answer: &ServiceResponse) -> Option<String> {
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
        fn no_special_sign_is_left_bare(text in ".{0,60}") {
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
