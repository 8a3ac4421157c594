//! A complete response of a service: its status, its body as JSON or text, and the error message for a refusal.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use serde_json::Value;
use ureq::http::HeaderMap;

use crate::base::problem::{Outcome, Problem, ProblemKind, io_words};
use crate::base::redact;
use crate::base::text::{clip, escape_controls, plural, single_spaced};
use crate::formats::charset;
use crate::net::error::NetError;
use crate::net::guarded_client::PARTIAL_CONTENT;
use crate::net::http::Response;
use crate::net::retry_after;
use crate::net::services::Service;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// How much of a service's own message an error quotes, in characters.
const SAID: usize = 300;

/// A complete response.
#[derive(Debug, Clone)]
pub struct ServiceResponse {
    /// The service that sent it.
    pub service: &'static Service,
    /// The status, after redirects.
    pub status: u16,
    /// Its body, decompressed.
    pub bytes: Vec<u8>,
    headers: HeaderMap,
    /// Keys sent with the request: the service may repeat them.
    hidden: Vec<String>,
}

/// Why a body could not be read.
pub(crate) enum Unread {
    /// It is larger than this many bytes.
    TooLarge(usize),
    /// It cannot be decompressed.
    Garbled(String),
    Net(NetError),
}

/// Reads and decompresses a body of at most `max` bytes. The compression is recognised by the header or the first bytes, because some proxies drop
/// the header (Stack Exchange always compresses).
pub(crate) fn body(response: &mut Response, max: usize) -> Result<Vec<u8>, Unread> {
    match body_so_far(response, max)? {
        (bytes, None) => Ok(bytes),
        (_, Some(broken)) => Err(broken),
    }
}

/// As [`body`], but on a broken connection returns what was received together with the error: part of a document is useful.
pub(crate) fn body_so_far(
    response: &mut Response,
    max: usize,
) -> Result<(Vec<u8>, Option<Unread>), Unread> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match response.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error @ NetError::Broken { .. }) => return Ok((bytes, Some(Unread::Net(error)))),
            Err(error) => return Err(Unread::Net(error)),
        };
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if bytes.len() > max {
            return Err(Unread::TooLarge(max));
        }
    }
    unpacked_by(response, bytes, max).map(|bytes| (bytes, None))
}

/// Undoes compression that the HTTP client does not.
fn unpacked_by(response: &Response, bytes: Vec<u8>, max: usize) -> Result<Vec<u8>, Unread> {
    let deflated = response
        .header("content-encoding")
        .is_some_and(|how| how.eq_ignore_ascii_case("deflate"));
    if bytes.starts_with(&[0x1f, 0x8b]) {
        unpacked(GzDecoder::new(bytes.as_slice()), max)
    } else if deflated {
        // "deflate" means zlib, but some servers send the bare stream.
        unpacked(ZlibDecoder::new(bytes.as_slice()), max).or_else(|error| match error {
            Unread::Garbled(_) => unpacked(DeflateDecoder::new(bytes.as_slice()), max),
            error => Err(error),
        })
    } else {
        Ok(bytes)
    }
}

fn unpacked(from: impl std::io::Read, max: usize) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| Unread::Garbled(io_words(&error)))?;
    if bytes.len() > max {
        return Err(Unread::TooLarge(max));
    }
    Ok(bytes)
}

impl Unread {
    /// The error message; `place` is the sender.
    pub(crate) fn problem(self, place: &str) -> Problem {
        match self {
            Self::TooLarge(max) => Problem::limit(format!(
                "{place} sent more than {} MB, which is the limit.",
                max / 1_000_000
            ))
            .next("Ask for less."),
            Self::Garbled(reason) => NetError::Garbled(reason).problem(place),
            Self::Net(error) => error.problem(place),
        }
    }
}

impl ServiceResponse {
    /// A response without headers.
    #[cfg(test)]
    pub(crate) fn new(service: &'static Service, status: u16, bytes: Vec<u8>) -> Self {
        Self {
            service,
            status,
            bytes,
            headers: HeaderMap::new(),
            hidden: Vec::new(),
        }
    }

    pub(super) fn read(
        service: &'static Service,
        mut response: Response,
        max: usize,
        hidden: Vec<String>,
    ) -> Result<Self, Unread> {
        let bytes = body(&mut response, max)?;
        Ok(Self {
            service,
            status: response.status,
            bytes,
            headers: response.into_headers(),
            hidden,
        })
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// True for a status of 200 to 299 except 206. That alone is not success: some services report errors with status 200.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status) && self.status != PARTIAL_CONTENT
    }

    /// The body if it is a success in JSON without an error, and so worth caching.
    pub(super) fn sound(&self) -> Option<Value> {
        let says = |value: &Value, key: &str| match value.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
        };
        let value = self.is_ok().then(|| self.value())??;
        let good = !value.is_null() && !says(&value, "error") && !says(&value, "message");
        good.then_some(value)
    }

    /// The body as text: in the charset of the header, else of the document, else UTF-8.
    pub fn text(&self) -> String {
        charset::decoded(&self.bytes, self.header("content-type").unwrap_or_default())
    }

    /// The body as JSON, whatever the status and content type say.
    pub fn value(&self) -> Option<Value> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => serde_json::from_str(text.trim_start_matches('\u{feff}')).ok(),
            Err(_) => serde_json::from_str(self.text().trim_start_matches('\u{feff}')).ok(),
        }
    }

    /// The body of a successful response as JSON.
    ///
    /// # Errors
    /// Every other status, with the service's own message if `error_message` finds one in the body; a body that is not JSON.
    pub fn json(&self, error_message: impl FnOnce(&Value) -> Option<String>) -> Outcome<Value> {
        let value = self.value();
        match value {
            Some(value) if self.is_ok() => Ok(value),
            Some(value) => Err(self.refused(error_message(&value).as_deref())),
            None if self.is_ok() => Err(self.unreadable()),
            None => Err(self.refused(None)),
        }
    }

    /// How long the service asks clients to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::retry_after(self.header("retry-after")?)
    }

    /// True when the body looks like a web page.
    pub fn is_page(&self) -> bool {
        let start = self.bytes.trim_ascii_start();
        let start = start.get(..15).unwrap_or(start).to_ascii_lowercase();
        [b"<!doctype html".as_slice(), b"<html", b"<head"]
            .iter()
            .any(|mark| start.starts_with(mark))
    }

    /// The problem with a successful response whose body cannot be parsed.
    pub fn unreadable(&self) -> Problem {
        let name = begin(self.service.name);
        Problem::network(if self.bytes.trim_ascii().is_empty() {
            format!("{name} answered with nothing.")
        } else if self.is_page() {
            format!("{name} answered with a web page where data was promised.")
        } else {
            format!("{name} answered with something that cannot be read.")
        })
        .next("Try again later, or use another source.")
    }

    /// A service's own message on one line: shortened, without keys and control characters.
    pub fn quoted(&self, text: &str) -> String {
        let line = single_spaced(text);
        clip(
            &escape_controls(&redact::secrets(&line, &self.hidden)),
            SAID,
        )
    }

    /// The problem for an error status, including the service's own message.
    pub fn refused(&self, error_message: Option<&str>) -> Problem {
        let name = begin(self.service.name);
        let status = self.status;
        let wait = self.retry_after();
        let key = self.service.key;
        let (kind, what) = match status {
            400 | 422 => (
                ProblemKind::Input,
                format!("{name} cannot use the request ({status})"),
            ),
            PARTIAL_CONTENT => (
                ProblemKind::Network,
                format!("{name} sent only a part of its answer (206)"),
            ),
            200..=299 => (ProblemKind::Network, format!("{name} refused the request")),
            401 if key.is_none() => (
                ProblemKind::Refused,
                format!("{name} refused the request (401)"),
            ),
            401 => (
                ProblemKind::Auth,
                format!("{name} does not accept the key (401)"),
            ),
            403 if key.is_some() => (
                ProblemKind::Auth,
                format!("{name} refused the key or the request (403)"),
            ),
            403 => (
                ProblemKind::Refused,
                format!("{name} refused the request (403)"),
            ),
            404 | 410 => (
                ProblemKind::Missing,
                format!("{name} does not have this ({status})"),
            ),
            413 | 414 => (
                ProblemKind::Limit,
                format!("The request is too long for {name} ({status})"),
            ),
            429 => (
                ProblemKind::Limit,
                format!("Too many requests to {name} (429)"),
            ),
            500..=599 => (ProblemKind::Network, format!("{name} failed ({status})")),
            300..=399 => (
                ProblemKind::Network,
                format!("{name} points to another address ({status})"),
            ),
            _ => (
                ProblemKind::Network,
                format!("{name} answered with status {status}"),
            ),
        };
        let text = error_message.map(|error_message| self.quoted(error_message));
        let what = match text.filter(|text| !text.is_empty()) {
            Some(text) => format!("{what}: {}.", text.trim_end_matches('.')),
            None => format!("{what}."),
        };
        let problem = Problem::new(kind, what);
        match (status, key, wait) {
            (401 | 403, Some(variable), _) => problem.next(format!("Check {variable}.")),
            (_, _, Some(wait)) => problem.next(retry_time(wait)),
            (429, ..) => problem.next("Wait some minutes, or use another source."),
            (300..=399 | 500..=599, ..) => problem.next("Try again later."),
            _ => problem,
        }
    }
}

/// When a service can be used again, in natural language.
pub(crate) fn retry_time(wait: Duration) -> String {
    let seconds = wait.as_secs().max(1);
    let count = |n: u64, unit| plural(usize::try_from(n).unwrap_or(usize::MAX), unit);
    let wait = match seconds {
        0..300 => format!("{seconds} s"),
        300..7_200 => count(seconds.div_ceil(60), "minute"),
        7_200..=172_800 => count(seconds.div_ceil(3_600), "hour"),
        _ => return "Try again another day.".to_owned(),
    };
    format!("Try again in {wait}.")
}

/// Capitalizes a service's name for the start of a sentence.
fn begin(name: &str) -> String {
    match name.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::services::{OMDB, OVERPASS};

    fn answer(status: u16, body: &str) -> ServiceResponse {
        ServiceResponse::new(&OMDB, status, body.as_bytes().to_vec())
    }

    #[test]
    fn what_is_no_json_is_told_for_what_it_is() {
        let error_message = |value: &Value| value["error"].as_str().map(str::to_owned);
        let text = |status, body: &str| answer(status, body).json(error_message).unwrap_err().what;
        assert!(text(200, "<!DOCTYPE HTML><html>").contains("a web page where data"));
        assert!(text(200, " ").contains("with nothing"));
        assert!(text(200, &"[".repeat(10_000)).contains("cannot be read"));
        assert_eq!(
            text(500, r#"{"error": "over\nloaded."}"#),
            "OMDb failed (500): over loaded."
        );
        assert_eq!(text(429, ""), "Too many requests to OMDb (429).");
        assert_eq!(
            answer(200, "\u{feff}{}").json(error_message).unwrap(),
            serde_json::json!({})
        );
    }

    #[test]
    fn a_refused_key_is_named_by_its_variable_and_never_shown() {
        let problem = answer(401, "{}").refused(None);
        assert_eq!(problem.kind, ProblemKind::Auth);
        assert_eq!(problem.next, ["Check OMDB_API_KEY."]);
        let open = ServiceResponse::new(&OVERPASS, 403, Vec::new()).refused(Some("no contact"));
        assert_eq!(
            open.what,
            "Overpass (OpenStreetMap) refused the request (403): no contact."
        );
    }
}
