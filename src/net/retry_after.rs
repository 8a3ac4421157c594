//! The `Retry-After` header (RFC 9110 section 10.2.3).

use std::time::Duration;

/// Parses a `Retry-After` header: seconds, or a date; a past date means no wait.
pub(crate) fn retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
            let left = then.duration_since(jiff::Timestamp::now());
            Some(left.try_into().unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        for (text, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("", None),
        ] {
            let wait = retry_after(text).map(|wait| wait.as_secs());
            assert_eq!(wait, seconds, "{text}");
        }
        let then = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(90);
        let date = then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let wait = retry_after(&date).unwrap().as_secs();
        assert!((88..=90).contains(&wait), "{date}: {wait}");
    }
}
