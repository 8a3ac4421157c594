//! Fetches a page with the guarded client and classifies it: HTML, plain text, or nothing readable.

use serde::de::IgnoredAny;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::address::Address;
use crate::formats::charset::decoded;
use crate::net::download::size;
use crate::net::guarded_client::{GuardedClient, GuardedResponse};
use crate::net::service::{Unread, body};
use crate::tools::engine::context::ToolContext;

/// Maximum size of a page, decompressed.
const MAX_PAGE_BYTES: usize = 10_000_000;
/// Bytes examined to detect the type of a body.
const SNIFF_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    Html,
    /// Text verbatim.
    Text,
}

pub(super) struct FetchedPage {
    pub(super) address: Address,
    pub(super) status: u16,
    pub(super) kind: ContentKind,
    pub(super) text: String,
}

/// Fetches the page at `address`.
///
/// # Errors
/// `Refused` for private addresses, including redirects; `Input` for content that is not text; `Limit` when it is too large; `Network`; `Cancelled`.
pub(super) fn fetch(ctx: &ToolContext, address: &Address) -> Outcome<FetchedPage> {
    fetch_with(ctx, &ctx.guarded_client()?, address)
}

/// [`fetch`] with a client of its own.
///
/// # Errors
/// As there.
pub(super) fn fetch_with(
    ctx: &ToolContext,
    client: &GuardedClient,
    address: &Address,
) -> Outcome<FetchedPage> {
    let headers = [
        (
            "accept",
            "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5".to_owned(),
        ),
        ("accept-encoding", "gzip".to_owned()),
    ];
    let fetched = client.open(address, &headers, &ctx.stop)?;
    read(fetched)
}

fn read(fetched: GuardedResponse) -> Outcome<FetchedPage> {
    let GuardedResponse {
        mut response,
        address,
    } = fetched;
    let named = response.header_text("content-type").unwrap_or_default();
    let status = response.status;
    let on_progress = declared_type(&named);
    if on_progress == Some(DeclaredType::Data) {
        let length = response
            .header("content-length")
            .and_then(|n| n.parse().ok());
        return Err(no_text(&address, essence(&named), length));
    }
    let bytes = body(&mut response, MAX_PAGE_BYTES).map_err(|error| match error {
        Unread::TooLarge(_) => too_large(&address),
        error => error.problem(&address.host.to_string()),
    })?;
    let kind = match on_progress {
        _ if is_data(&bytes, &named) => {
            return Err(no_text(
                &address,
                signature(&bytes),
                Some(bytes.len() as u64),
            ));
        }
        Some(DeclaredType::Html) => ContentKind::Html,
        Some(DeclaredType::Text) => ContentKind::Text,
        Some(DeclaredType::Data) | None if looks_like_html(&bytes) => ContentKind::Html,
        Some(DeclaredType::Data) | None => ContentKind::Text,
    };
    let text = decoded(&bytes, &named);
    Ok(FetchedPage {
        address,
        status,
        kind,
        text,
    })
}

/// The format declared by a content type.
#[derive(Debug, PartialEq, Eq)]
enum DeclaredType {
    Html,
    Text,
    Data,
}

/// The type that a content type declares; `None` if it declares none.
fn declared_type(named: &str) -> Option<DeclaredType> {
    let essence = essence(named).to_ascii_lowercase();
    let (kind, sub) = essence.split_once('/').unwrap_or_default();
    match (kind, sub) {
        ("text", "html") | ("application", "xhtml+xml") => Some(DeclaredType::Html),
        ("text", _) | ("message", _) => Some(DeclaredType::Text),
        _ if sub.ends_with("+json") || sub.ends_with("+xml") && kind != "image" => {
            Some(DeclaredType::Text)
        }
        (
            "application",
            "json"
            | "xml"
            | "javascript"
            | "x-javascript"
            | "ecmascript"
            | "ld+json"
            | "x-ndjson"
            | "yaml"
            | "x-yaml"
            | "toml"
            | "x-sh"
            | "sql"
            | "rtf"
            | "x-www-form-urlencoded"
            | "x-tex"
            | "x-latex"
            | "graphql"
            | "json5"
            | "jsonl",
        ) => Some(DeclaredType::Text),
        ("", _)
        | ("application", "octet-stream" | "binary" | "unknown" | "x-unknown")
        | ("binary" | "unknown", _) => None,
        _ => Some(DeclaredType::Data),
    }
}

fn essence(named: &str) -> &str {
    named.split([';', ',']).next().unwrap_or_default().trim()
}

/// Whether these bytes cannot be text, unless declared as UTF-16 or UTF-32.
fn is_data(bytes: &[u8], named: &str) -> bool {
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let wide = named.to_ascii_lowercase().contains("utf-16")
        || head.starts_with(&[0xff, 0xfe])
        || head.starts_with(&[0xfe, 0xff]);
    head.starts_with(b"%PDF-") || !wide && head.contains(&0)
}

/// The format of binary data by its first bytes.
fn signature(bytes: &[u8]) -> &'static str {
    let known: [(&[u8], &str); 8] = [
        (b"%PDF-", "application/pdf"),
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x7fELF", "a program"),
        (b"ID3", "audio/mpeg"),
        (b"\x1a\x45\xdf\xa3", "video/webm"),
    ];
    let found = known.iter().find(|(start, _)| bytes.starts_with(start));
    found.map_or("binary data", |(_, name)| name)
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let start = head.trim_start_matches('\u{feff}').trim_start();
    [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<title",
        "<!--",
        "<meta",
        "<script",
        "<style",
        "<div",
        "<h1",
        "<table",
        "<p>",
        "<br",
    ]
    .iter()
    .any(|tag| start.starts_with(tag))
        || start.starts_with('<') && head.contains("<html")
}

fn no_text(address: &Address, kind: &str, length: Option<u64>) -> Problem {
    let size = length.map_or_else(String::new, |length| format!(", {}", size(length)));
    Problem::input(format!(
        "{} is not a readable page: it is {}{size}.",
        clip(&escape_controls(&address.to_string()), 300),
        clip(&escape_controls(kind), 80)
    ))
    .next("download_file saves it to ~/Downloads.")
}

fn too_large(address: &Address) -> Problem {
    Problem::limit(format!(
        "{} sent more than {}, which is the limit for a page.",
        address.host,
        size(MAX_PAGE_BYTES as u64)
    ))
    .next("download_file saves it to ~/Downloads; search_code and read_file read a part of a file.")
}

/// The meaning of an error status.
pub(super) fn status_words(status: u16) -> &'static str {
    match status {
        300..=399 => " (it redirects without saying where to)",
        401 => " (it requires a sign-in)",
        403 => " (not allowed)",
        404 | 410 => " (not found)",
        429 => " (too many requests)",
        451 => " (withheld for legal reasons)",
        500..=599 => " (the server failed)",
        _ => "",
    }
}

/// Plain text for reading: JSON on one line is reformatted, and control characters are made visible.
pub(super) fn readable_text(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    let long = text.lines().any(|line| line.len() > 160);
    if long
        && text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
    {
        return escape_controls(&format_json(text));
    }
    escape_controls(&text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Valid JSON, one value per line, numbers and strings unchanged.
fn format_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let (mut quoted, mut escaped) = (false, false);
    let mut rest = json
        .trim()
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r' | '\t'))
        .peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = rest.next() {
        if quoted {
            out.push(c);
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            ' ' => {}
            '{' | '[' => {
                out.push(c);
                while rest.next_if_eq(&' ').is_some() {}
                if let Some(end) = rest.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_content_type_decides_what_is_read() {
        for (named, want) in [
            ("text/html; charset=utf-8", Some(DeclaredType::Html)),
            ("Application/XHTML+XML", Some(DeclaredType::Html)),
            ("text/csv", Some(DeclaredType::Text)),
            ("application/problem+json", Some(DeclaredType::Text)),
            ("application/atom+xml;x=y", Some(DeclaredType::Text)),
            ("image/svg+xml", Some(DeclaredType::Data)),
            ("image/png", Some(DeclaredType::Data)),
            ("application/pdf", Some(DeclaredType::Data)),
            ("application/octet-stream", None),
            ("", None),
            ("nonsense", None),
        ] {
            assert_eq!(declared_type(named), want, "{named}");
        }
        assert!(is_data(b"%PDF-1.7", "text/html") && is_data(b"a\0b", "text/plain"));
        assert!(!is_data(b"\xff\xfea\0", "") && !is_data(b"a\0", "text/html; charset=UTF-16LE"));
        assert!(
            looks_like_html(b"\n<!DOCTYPE HTML><p>")
                && looks_like_html(b"<?xml version='1.0'?><html>")
        );
        assert!(!looks_like_html(b"<rss>") && !looks_like_html(b"x <html>"));
    }

    #[test]
    fn json_on_one_line_is_reformatted_without_loss() {
        let long = format!(
            r#"{{"a":[1e400,12345678901234567890123,{{}},[ ]],"b, c":"x\"{{,}}\\","d":"{}"}}"#,
            "y".repeat(200)
        );
        let shown = readable_text(&long);
        assert!(
            shown.starts_with("{\n  \"a\": [\n    1e400,\n    12345678901234567890123,\n    {},\n    []\n  ],\n  \"b, c\": \"x\\\"{,}\\\\\",\n"),
            "{shown}"
        );
        assert_eq!(readable_text("{\"a\":1}\r\nb\u{1b}"), "{\"a\":1}\nb\\x1b");
        let deep = "[".repeat(10_000);
        assert_eq!(readable_text(&deep), deep);
    }

    proptest! {
        #[test]
        fn reformatted_json_is_the_same_json(words in proptest::collection::vec(".{0,12}", 0..8), number: i64) {
            let value = serde_json::json!({"a": words, "b": {"n": number, "e": [], "o": {}}});
            let shown = format_json(&value.to_string());
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
        }
    }
}
