//! Finds one-time codes: six digits near a word that says what they are.

use super::hit::Hit;

pub(super) const OTP: &str = "[REDACTED_OTP]";
const DIGITS: usize = 6;
const MAX_WORDS_BETWEEN: usize = 4;
/// Codes of these are no secrets: a place, a product, what a program ends with.
const OTHER_CODES: &[&str] = &[
    "area", "bar", "branch", "byte", "class", "color", "colour", "country", "dial", "dialing",
    "dialling", "discount", "error", "exit", "hex", "http", "item", "machine", "material", "model",
    "morse", "order", "part", "post", "postal", "product", "promo", "qr", "response", "sort",
    "source", "station", "status", "stock", "tax", "tracking", "voucher", "zip",
];

/// A word of a line: letters and digits of ASCII side by side, or of any other script. Languages without spaces write right up to a number.
struct LineWord<'t> {
    start: usize,
    text: &'t str,
}

pub(super) fn one_time_codes(text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if may_have_code(line) {
            codes_in(line, start, &mut found);
        }
        start += line.len();
    }
    found
}

/// A quick look: six digits side by side.
fn may_have_code(line: &str) -> bool {
    let mut digits = 0;
    line.bytes().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits == DIGITS
    })
}

fn codes_in(line: &str, line_start: usize, found: &mut Vec<Hit>) {
    let words = words(line);
    let mut said = None;
    let mut waiting: Vec<usize> = Vec::new();
    let mut codes: Vec<usize> = Vec::new();
    let is_near = |a: usize, b: usize| b - a - 1 <= MAX_WORDS_BETWEEN;
    for (at, word) in words.iter().enumerate() {
        if is_code(line, word) {
            match said {
                Some(before) if is_near(before, at) && !is_plain_sentence(&words, before, at) => {
                    codes.push(at);
                }
                _ => waiting.push(at),
            }
        } else if names_code(&words, at) {
            said = Some(at);
            codes.extend(waiting.drain(..).filter(|code| is_near(*code, at)));
        }
    }
    codes.sort_unstable();
    let words = codes.into_iter().filter_map(|at| words.get(at));
    found.extend(words.map(|word| {
        let start = line_start + word.start;
        Hit::whole(start..start + DIGITS, OTP)
    }));
}

fn words(line: &str) -> Vec<LineWord<'_>> {
    let mut words: Vec<LineWord<'_>> = Vec::new();
    let mut begun: Option<(usize, bool)> = None;
    let ends = line.char_indices().map(|(at, c)| (at, Some(c)));
    for (at, c) in ends.chain([(line.len(), None)]) {
        let kind = c
            .filter(|c| c.is_alphanumeric() || *c == '_')
            .map(|c| c.is_ascii());
        if begun.map(|(_, kind)| kind) == kind {
            continue;
        }
        if let Some((start, _)) = begun {
            words.push(LineWord {
                start,
                text: line.get(start..at).unwrap_or_default(),
            });
        }
        begun = kind.map(|kind| (at, kind));
    }
    words
}

/// Six digits that are no part of a larger number.
fn is_code(line: &str, word: &LineWord<'_>) -> bool {
    let is_six = word.text.len() == DIGITS && word.text.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = line.as_bytes();
    let before = bytes.get(..word.start).unwrap_or_default();
    let after = bytes
        .get(word.start + word.text.len()..)
        .unwrap_or_default();
    let is_part = matches!(before, [.., digit, b'.' | b','] if digit.is_ascii_digit())
        || matches!(after, [b'.' | b',', digit, ..] if digit.is_ascii_digit());
    is_six && !is_part
}

/// True for a word that makes a number near it a code to sign in with.
fn names_code(words: &[LineWord<'_>], at: usize) -> bool {
    let is = |at: Option<usize>, names: &[&str]| {
        let word = at.and_then(|at| words.get(at));
        word.is_some_and(|word| {
            names
                .iter()
                .any(|name| word.text.eq_ignore_ascii_case(name))
        })
    };
    is(Some(at), &["otp", "2fa", "passcode"])
        || is(Some(at), &["code"]) && !is(at.checked_sub(1), OTHER_CODES)
}

/// "The code is 482913" says of no sign-in, and may be that of a door or a cloth.
fn is_plain_sentence(words: &[LineWord<'_>], code: usize, number: usize) -> bool {
    let is = |at: Option<usize>, name: &str| {
        let word = at.and_then(|at| words.get(at));
        word.is_some_and(|word| word.text.eq_ignore_ascii_case(name))
    };
    number == code + 2
        && is(code.checked_sub(1), "the")
        && is(Some(code), "code")
        && is(Some(code + 1), "is")
}
