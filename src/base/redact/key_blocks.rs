//! Private keys in blocks: PEM (RFC 7468), OpenSSH, OpenPGP (RFC 9580) and PuTTY. Public keys and certificates have blocks too, and are no secrets.

use super::hit::Hit;
use crate::base::shared_sort::SharedSort as _;

const PRIVATE_KEY: &str = "[REDACTED_PRIVATE_KEY]";
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const PRIVATE: &str = "PRIVATE KEY";
const DASHES: &str = "-----";
const MAX_NAME_BYTES: usize = 64;
/// Characters of a line of a block whose end is missing; its last line may have fewer.
const MIN_LINE_CHARS: usize = 20;
/// Lines of the longest key, and of the headers before it.
const MAX_KEY_LINES: usize = 300;
const MAX_HEADER_LINES: usize = 4;
const PUTTY: &str = "PuTTY-User-Key-File-";
const PUTTY_LINES: &str = "Private-Lines:";
const PUTTY_END: &str = "Private-MAC:";

/// The private keys in `text`, from the first dash to the last.
pub(super) fn key_blocks(text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    if !text.contains(PRIVATE) && !text.contains(PUTTY) {
        return found;
    }
    let mut at = 0;
    // The next end, so that many beginnings are no more work than one.
    let mut end = block_end(text, 0);
    while let Some(start) = find(text, BEGIN, at) {
        at = start + BEGIN.len();
        let Some(body) = private_header(text, start) else {
            continue;
        };
        if end.is_some_and(|end| end < body) {
            end = block_end(text, body);
        }
        let next = find(
            text.get(..end.unwrap_or(body)).unwrap_or_default(),
            BEGIN,
            body,
        );
        let stop = match (end, next) {
            (Some(end), None) => Some(end),
            _ => cut_block(text, body),
        };
        if let Some(stop) = stop {
            found.push(Hit::whole(start..stop, PRIVATE_KEY));
            at = stop;
        }
    }
    putty_keys(text, &mut found);
    found.shared_sort_by_key(|hit| hit.range.start);
    found
}

fn find(text: &str, part: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find(part)?)
}

/// Where the body of a private key's block begins.
fn private_header(text: &str, start: usize) -> Option<usize> {
    let name_at = start + BEGIN.len();
    let bytes = text.as_bytes().get(name_at..)?;
    let len = bytes
        .iter()
        .take(MAX_NAME_BYTES)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
        .count();
    let name = text.get(name_at..name_at + len)?;
    let rest = text.get(name_at + len..)?;
    (name.contains(PRIVATE) && rest.starts_with(DASHES)).then_some(name_at + len + DASHES.len())
}

/// The end of the first end of a private key's block after `from`.
fn block_end(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let start = find(text, END, at)?;
        at = start + END.len();
        let rest = text.get(at..)?;
        let line = rest.get(..rest.find(DASHES)?)?;
        if line.len() <= MAX_NAME_BYTES && line.contains(PRIVATE) {
            return Some(at + line.len() + DASHES.len());
        }
    }
}

/// The end of a block that was cut: what of its lines is there.
fn cut_block(text: &str, body: usize) -> Option<usize> {
    let mut stop = None;
    let mut at = body;
    while let Some(rest) = text.get(at..) {
        let gap = rest
            .find(|c: char| !(c.is_whitespace() || c == '\\'))
            .unwrap_or(rest.len());
        // A line break of JSON: "\\n" is an n after a backslash.
        let gap = match rest.get(..gap) {
            Some(before) if before.ends_with('\\') => {
                gap + rest.get(gap..).map_or(0, |word| {
                    usize::from(word.starts_with('n') || word.starts_with('r'))
                })
            }
            _ => gap,
        };
        let start = at + gap;
        let Some(word) = text.get(start..) else { break };
        let len = word
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
            .count();
        if len < MIN_LINE_CHARS {
            let is_last = word.get(..len).is_some_and(|last| last.ends_with('='));
            return if is_last && stop.is_some() {
                Some(start + len)
            } else {
                stop
            };
        }
        stop = Some(start + len);
        at = start + len;
    }
    stop
}

/// Lines that come one by one, of which those of a private key are left out.
#[derive(Debug, Default)]
pub(crate) struct LogLines {
    /// Lines of a key that has begun.
    in_key: Option<usize>,
}

impl LogLines {
    /// Whether `line` may be shown.
    pub(crate) fn may_show(&mut self, line: &str) -> bool {
        if let Some(lines) = self.in_key {
            let is_end = line.contains(END) && line.contains(PRIVATE);
            let is_header = line.contains(": ") && lines < MAX_HEADER_LINES;
            let is_body = lines < MAX_KEY_LINES && (is_header || !line.trim().contains(' '));
            self.in_key = (!is_end && is_body).then_some(lines + 1);
            if is_end || is_body {
                return false;
            }
        }
        let begin = find(line, BEGIN, 0).and_then(|start| private_header(line, start));
        // One that ends in the same line is found like any other secret.
        if begin.is_some_and(|body| line.get(body..).is_some_and(|rest| rest.trim().is_empty())) {
            self.in_key = Some(0);
        }
        true
    }
}

/// The private lines of PuTTY's files.
fn putty_keys(text: &str, found: &mut Vec<Hit>) {
    if !text.contains(PUTTY) {
        return;
    }
    let mut at = 0;
    while let Some(start) = find(text, PUTTY_LINES, at) {
        let mac = find(text, PUTTY_END, start).unwrap_or(text.len());
        let line = text.get(mac..).and_then(|rest| rest.find('\n'));
        at = line.map_or(text.len(), |len| mac + len);
        found.push(Hit::whole(start..at, PRIVATE_KEY));
    }
}
