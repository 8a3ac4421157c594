//! Hexadecimal keys, and the digests that look the same.
//!
//! Nothing in 32 digits tells a key from an MD5 sum. What stands around them does: git and lists of checksums have forms of their own, and people say what they
//! write down.

use std::ops::Range;

use super::hit::Hit;
use crate::base::word_list::WordList;

pub(super) const HEX: &str = "[REDACTED_HEX]";
const MIN_DIGITS: usize = 32;
/// Digits of SHA-1, which names commits, and of SHA-256, which names images and files.
const SHA1: usize = 40;
const SHA256: usize = 64;
/// Bytes before and after the digits in which a word may say what they are.
const BEFORE: usize = 64;
const AFTER: usize = 40;
/// What makes hexadecimal digits a digest or an id.
const DIGEST_WORDS: WordList = WordList(
    "bisect blake2 blake2b blake3 blob branch build checkout checksum checksums cherry commit \
     commits committed digest digests docker etag fingerprint fixed fixes git guid hash hashes \
     head image index integrity introduced landed layer md5 md5sum merge merged object parent \
     parents ref refs rev reverted reverts revision revisions sha sha1 sha1sum sha224 sha256 \
     sha256sum sha384 sha512 sha512sum since span submodule trace tree upstream uuid",
);
/// What makes them a secret whatever else is said.
const SECRET_WORDS: WordList = WordList(
    "api apikey auth credential credentials key keys pass passphrase password secret secrets \
     token tokens wallet",
);

/// The words of at least 32 hexadecimal digits that nothing around them calls a digest.
pub(super) fn hex_keys(text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut at = 0;
    while let Some(rest) = bytes.get(at..)
        && let Some(skip) = rest.iter().position(is_word)
    {
        let start = at + skip;
        let word = bytes.get(start..).unwrap_or_default();
        let len = word.iter().take_while(|byte| is_word(byte)).count();
        at = start + len;
        let is_hex = len >= MIN_DIGITS
            && word.get(..len).is_some_and(|word| {
                word.iter().all(u8::is_ascii_hexdigit) && !word.iter().all(u8::is_ascii_digit)
            });
        if is_hex && !is_digest(text, start..at) {
            found.push(Hit::whole(start..at, HEX));
        }
    }
    found
}

/// What the words nearest to the digits say; those before count first.
fn is_digest(text: &str, digits: Range<usize>) -> bool {
    let before = line_before(text, digits.start);
    let after = line_after(text, digits.end);
    let said = tail(before, BEFORE)
        .rsplit(|c: char| !c.is_ascii_alphanumeric())
        .find_map(|word| match word {
            word if DIGEST_WORDS.has_in_any_case(word) => Some(true),
            word if SECRET_WORDS.has_in_any_case(word) => Some(false),
            _ => None,
        });
    said.unwrap_or_else(|| {
        let after_near = head(after, AFTER);
        let is_called_secret =
            after.trim_start().starts_with("is ") && has_word(after_near, SECRET_WORDS);
        !is_called_secret
            && (has_word(after_near, DIGEST_WORDS)
                || is_listed(before, after, digits.len())
                || is_in_name(before, after, digits.len()))
    })
}

/// The lines of `git log --oneline`, `git rev-list` and `git ls-remote`, and those of lists of checksums.
fn is_listed(before: &str, after: &str, len: usize) -> bool {
    let is_first = before
        .bytes()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'|' | b'*' | b'/' | b'\\' | b'>'));
    let after = after.trim_end();
    let file = after
        .strip_prefix("  ")
        .or_else(|| after.strip_prefix(" *"))
        .or_else(|| after.strip_prefix('\t'));
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let is_file = |word: &str| {
        let end = word.rsplit(['.', '/']).next().unwrap_or_default();
        is_name(word) && end.len() < word.len() && is_name(end)
    };
    let first_word = after.split_whitespace().next().unwrap_or_default();
    is_first
        && (file.is_some_and(is_name)
            || is_file(first_word)
            || len == SHA1 && (after.is_empty() || after.starts_with(' ')))
}

/// A part of a path, an address or a file's name: `…/commit/0a1b…`, `package@0a1b…`, `archive#0a1b…`, `0a1b….png`.
fn is_in_name(before: &str, after: &str, len: usize) -> bool {
    let is_sum = matches!(len, SHA1 | SHA256);
    let is_extension = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let is_range = before.ends_with("..") || after.starts_with("..");
    is_sum && (before.ends_with(['/', '#', '@', '~']) || is_range)
        || after.strip_prefix('.').is_some_and(is_extension)
}

fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let before = tail(before, 2 * BEFORE);
    before.rsplit('\n').next().unwrap_or_default()
}

fn line_after(text: &str, at: usize) -> &str {
    let after = head(text.get(at..).unwrap_or_default(), 2 * AFTER);
    after.split('\n').next().unwrap_or_default()
}

fn tail(text: &str, max: usize) -> &str {
    let mut from = text.len().saturating_sub(max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

fn head(text: &str, max: usize) -> &str {
    let mut to = text.len().min(max);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    text.get(..to).unwrap_or_default()
}

fn has_word(text: &str, names: WordList) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| names.has_in_any_case(word))
}
