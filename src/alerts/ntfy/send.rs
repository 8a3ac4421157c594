//! Sends a message to a topic.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::alerts::ntfy::poll;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::net::error::Peer;

/// Sends `message` with `title`, which may be empty.
///
/// # Errors
/// The service cannot be reached, or refuses it.
pub(crate) fn send(
    env: &Env,
    topic: &str,
    title: &str,
    message: &str,
    stop: &Cancel,
) -> Outcome<()> {
    let (client, base) = poll::client(env, super::TIMEOUT)?;
    let mut headers = poll::headers(env);
    headers.push(("content-type", "text/plain; charset=utf-8".to_owned()));
    if !title.is_empty() {
        headers.push(("title", header_text(title)));
    }
    let address = format!("{base}/{topic}");
    let mut response = client
        .post(&address, &headers, message.as_bytes(), stop)
        .map_err(|error| error.problem(Peer::from(&base).through(client.proxy())))?;
    if (200..300).contains(&response.status) {
        return Ok(());
    }
    let kind = match response.status {
        401 | 403 => ProblemKind::Auth,
        413 | 429 => ProblemKind::Limit,
        _ => ProblemKind::Network,
    };
    let reason = poll::refusal(&mut response);
    Err(Problem::new(
        kind,
        format!("The message was not sent: {reason}."),
    ))
}

/// A header's value: ASCII unchanged, anything else as encoded words (RFC 2047).
fn header_text(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if plain.is_ascii() && !plain.contains("=?") {
        return plain;
    }
    let mut words = Vec::new();
    let mut rest = plain.as_str();
    while !rest.is_empty() {
        let part = crate::base::text::head(rest, 45);
        words.push(format!("=?UTF-8?B?{}?=", STANDARD.encode(part)));
        rest = rest.get(part.len()..).unwrap_or_default();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::header_text;

    #[test]
    fn titles_are_valid_header_values() {
        assert_eq!(header_text("Dinner"), "Dinner");
        assert_eq!(header_text("a\r\nX: b"), "a  X: b");
        assert_eq!(header_text("h\u{f6}"), "=?UTF-8?B?aMO2?=");
        let long = header_text(&"\u{1f389}".repeat(50));
        assert!(
            long.is_ascii() && long.split(' ').all(|word| word.len() <= 75),
            "{long}"
        );
    }
}
