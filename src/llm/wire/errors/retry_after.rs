//! How long a provider asks clients to wait: `Retry-After` (RFC 9110 section 10.2.3), `retry-after-ms`, or a time in the message.

use std::time::Duration;

use crate::net::retry_after::retry_after;

/// The wait in the headers, else in the message. Zero counts as none.
pub(super) fn requested_wait(
    header: &dyn Fn(&str) -> Option<String>,
    message: &str,
) -> Option<Duration> {
    let exact = || -> Option<Duration> {
        let ms: f64 = header("retry-after-ms")?.trim().parse().ok()?;
        Duration::try_from_secs_f64(ms / 1000.0).ok()
    };
    let named = |wait: &Duration| !wait.is_zero();
    exact()
        .filter(named)
        .or_else(|| retry_after(&header("retry-after")?).filter(named))
        .or_else(|| in_message(message))
}

/// The wait in "Please try again in 1m0.36s", "Please retry in 48.9s", "retry after 20 seconds".
fn in_message(message: &str) -> Option<Duration> {
    let lower = message.to_ascii_lowercase();
    [
        "again in ",
        "retry in ",
        "retry after ",
        "wait for ",
        "wait ",
    ]
    .iter()
    .find_map(|words| {
        let (_, rest) = lower.split_once(words)?;
        duration(rest)
    })
}

/// The time at the start of `text`: `1h2m3.5s`, `800ms`, `7 seconds`, `1 minute`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at_checked(digits)?;
        let Ok(number) = number.parse::<f64>() else {
            break;
        };
        let tail = tail.strip_prefix(' ').unwrap_or(tail);
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, after) = tail.split_at_checked(letters)?;
        total += number
            * match unit {
                "ms" | "milliseconds" => 0.001,
                "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
                "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
                "h" | "hour" | "hours" => 3600.0,
                "d" | "day" | "days" => 86400.0,
                _ => break,
            };
        rest = after;
    }
    (total > 0.0)
        .then(|| Duration::try_from_secs_f64(total).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q12_the_wait_is_found_in_headers_and_words() {
        let none = |_: &str| None;
        for (message, ms) in [
            ("Please try again in 1m0.363142857s. Visit", Some(60_363)),
            ("Please retry in 48.939935699s.", Some(48_939)),
            ("try again in 812ms.", Some(812)),
            ("retry after 20 seconds", Some(20_000)),
            ("Try again in 1h2m", Some(3_720_000)),
            ("Please try again in a moment", None),
            ("Please try again later.", None),
            ("again in 99999999999999999999999999h", None),
        ] {
            let wait = requested_wait(&none, message).map(|wait| wait.as_millis());
            assert_eq!(wait, ms, "{message}");
        }
        let azure = |name: &str| match name {
            "retry-after" => Some("1".to_owned()),
            "retry-after-ms" => Some("0".to_owned()),
            _ => None,
        };
        assert_eq!(
            requested_wait(&azure, "again in 9s"),
            Some(Duration::from_secs(1))
        );
        let then = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20);
        let date = then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let dated = |name: &str| (name == "retry-after").then(|| date.clone());
        let wait = requested_wait(&dated, "again in 9s").map(|wait| wait.as_secs());
        assert!(
            wait.is_some_and(|wait| (17..=20).contains(&wait)),
            "{wait:?}"
        );
    }
}
