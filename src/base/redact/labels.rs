//! What people and tools said, without what must not be repeated: a label stands where a secret was.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

use super::cards::without_cards;

/// Longest text of [`redact`].
const MAX_CHARS: usize = 8_000;
/// What comes after [`MAX_CHARS`] and is looked at, so that a secret that the end cuts is recognised.
const MARGIN_CHARS: usize = 512;
/// Letters and digits of a secret that stands on a line of its own.
const MIN_SECRET_CHARS: usize = 6;
const CARD: &str = "[REDACTED_CARD]";
const OTP: &str = "[REDACTED_OTP]";
/// How every label begins.
pub(crate) const LABEL_START: &str = "[REDACTED";

/// What a rule looks for.
enum Finder {
    /// A regular expression. Where its group `value` is a label already, the more telling one stays; what its group `plain` finds
    /// stays, and so does what its group `next` finds if that is an ordinary word.
    Pattern(&'static str),
    Card,
}
use Finder::{Card, Pattern};

/// Letters of addresses. Those of scripts without spaces are not among them: they are the words around an address.
macro_rules! letters {
    () => {
        r"\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Devanagari}"
    };
}

/// Words before `:` or `=` whose value is a secret, also as the end of a variable's name.
macro_rules! keyword {
    () => {
        concat!(
            r"(?i-u:\b|_)(?i-u:pass|password|passwd|secret|token|api[_-]?key|refresh_token|access_token|id_token|oauth_token",
            "|session|session_id|sessionid|sid)"
        )
    };
}

/// Between a keyword and its value on the same line, also where the keyword is bold in Markdown (`**Password:** …`).
macro_rules! separator {
    () => {
        r#"(?:\*\*)?[^\S\r\n]*(?::=|=+|:)(?:[^\S\r\n]|[*_])*"#
    };
}

/// What is looked for and what is written in its place. The order matters: what a rule has found is hidden from those after it, so the more telling
/// labels come first.
///
/// Word boundaries are those of ASCII: languages without spaces write right up to a secret, and regex is much faster so.
const RULES: &[(Finder, &str)] = &[
    (
        Pattern(concat!(
            "[",
            letters!(),
            "0-9._%+'-]+@(?:[",
            letters!(),
            r"0-9-]+\.)+[",
            letters!(),
            "]{2,}"
        )),
        "[REDACTED_EMAIL]",
    ),
    (Card, CARD),
    (
        Pattern("(?-u)(?:AKIA|ASIA)[A-Z0-9]{16,}"),
        "[REDACTED_AWS_KEY]",
    ),
    (
        Pattern("(?-u)[spr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        "[REDACTED_STRIPE_KEY]",
    ),
    (
        Pattern("(?-u)gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_-]{20,}"),
        "[REDACTED_GH_TOKEN]",
    ),
    (
        Pattern(r"(?-u)\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
        "[REDACTED_OPENAI_KEY]",
    ),
    (
        Pattern(r"(?-u)\b(?:sk-(?:ant|or)-|gsk_)[A-Za-z0-9_-]{20,}"),
        "[REDACTED_API_KEY]",
    ),
    (Pattern("(?-u)sk-[A-Za-z0-9]{32,}"), "[REDACTED_OPENAI_KEY]"),
    (
        Pattern("(?-u)AIza[A-Za-z0-9_-]{35,}"),
        "[REDACTED_GOOG_KEY]",
    ),
    (
        Pattern(r#"(?i-u:authorization)\s*:\s*(?i-u:bearer)\s+(?P<value>\S*[^\s"'`\\])"#),
        "Authorization: Bearer [REDACTED]",
    ),
    (
        Pattern(r"(?i-u:authorization)\s*:\s*(?i-u:basic)\s+(?P<value>[A-Za-z0-9+/=_-]+)"),
        "Authorization: Basic [REDACTED]",
    ),
    // The same in JSON, in which it has to stay JSON.
    (
        Pattern(
            r#"(?P<before>(?i-u:authorization)\\?["']\s*:\s*\\?["'](?i-u:bearer|basic)\s+)(?P<value>[^\s"'\\]+)"#,
        ),
        "${before}[REDACTED]",
    ),
    // Without this one, the next would hide the name of a variable and show its value.
    (
        Pattern(
            r"(?i-u:\b(?:AWS|GH|GCP|AZURE)_\w*(?:KEY|SECRET|TOKEN|PASS|PAT|CRED)\w*)[^\S\r\n]*[:=][^\S\r\n]*(?P<value>\S+)",
        ),
        "[REDACTED_TOKEN]=[REDACTED]",
    ),
    // Some English words begin with "gh".
    (
        Pattern(
            r"(?-u)(?P<plain>\b(?:[Gg]h[a-z]+|GH[A-Z]+)\b)|\b(?i:AWS|GH|GCP|AZURE|xox[abpcr]-)[A-Za-z0-9_-]{10,}",
        ),
        "[REDACTED_TOKEN]",
    ),
    (Pattern(r"(?-u)\beyJ[A-Za-z0-9._-]+"), "[REDACTED_JWT]"),
    (
        Pattern(concat!(
            "(?P<before>",
            keyword!(),
            r#"\\?["']\s*:\s*)(?:(?P<open>\\?["'])(?P<value>[^"'\r\n]*?)(?P<close>\\?["'])|[0-9]{4,})"#
        )),
        "${before}${open}[REDACTED]${close}",
    ),
    (
        Pattern(concat!(
            "(?P<name>",
            keyword!(),
            ")",
            separator!(),
            r#"(?P<value>(?:(?i-u:bearer|basic)[^\S\r\n]+)?(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\s:*_])\S*)"#
        )),
        "${name}=[REDACTED]",
    ),
    // The value on a line of its own below the keyword, also in a list, a quotation or a block of code. A session has headings more often than values.
    (
        Pattern(concat!(
            "(?P<before>",
            r"(?i-u:\b|_)(?i-u:pass|password|passwd|secret|token|api[_-]?key|session_?id|sid)",
            separator!(),
            r"\r?\n(?:```[^\s`]*[^\S\n]*\n)?[^\S\n]*(?:[-*>•][^\S\n]+)?)",
            r"(?P<next>\S*[^\s:=])(?P<after>[^\S\n]*)(?m:$)"
        )),
        "${before}[REDACTED]${after}",
    ),
    (Pattern(r"(?-u)\b[0-9A-Fa-f]{32,}\b"), "[REDACTED_HEX]"),
];

/// The rules, ready to run.
struct Compiled {
    /// All patterns in one automaton, which says in one pass which of them find something: for most texts none.
    any: Option<RegexSet>,
    rules: Vec<Rule>,
}

struct Rule {
    source: Option<&'static str>,
    /// Compiled when the rule first finds something.
    pattern: OnceLock<Option<Regex>>,
    becomes: &'static str,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let rules: Vec<Rule> = RULES
        .iter()
        .map(|(finder, becomes)| Rule {
            source: match finder {
                Pattern(source) => Some(*source),
                Card => None,
            },
            pattern: OnceLock::new(),
            becomes,
        })
        .collect();
    // Cards are found without a pattern, and an empty class never matches.
    let any = RegexSet::new(rules.iter().map(|rule| rule.source.unwrap_or("[^\\s\\S]"))).ok();
    Compiled { any, rules }
});

/// `text` with a label in place of every e-mail address, card number, key, token and password. For what tools return and are called with.
pub(crate) fn scrub(text: &str) -> String {
    let out = apply_rules(text);
    match without_otp(&out) {
        Cow::Owned(out) => out,
        Cow::Borrowed(_) => out.into_owned(),
    }
}

/// [`scrub`], then on one line, then cut to 8,000 characters. For what is said to a stage and remembered.
pub(crate) fn redact(text: &str) -> String {
    let scrubbed = scrub(text);
    let mut line = String::with_capacity(scrubbed.len().min(4 * MAX_CHARS));
    for word in scrubbed.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * (MAX_CHARS + MARGIN_CHARS) {
            break;
        }
    }
    let start = first_chars(&line, MAX_CHARS + MARGIN_CHARS);
    // White space that took a secret apart is gone now.
    let line = if line.len() == scrubbed.len() && !scrubbed.contains(['\n', '\t', '\r']) {
        Cow::Borrowed(start)
    } else {
        apply_rules(start)
    };
    first_chars(&line, MAX_CHARS).to_owned()
}

fn first_chars(text: &str, max: usize) -> &str {
    let end = text.char_indices().nth(max).map(|(at, _)| at);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Applies the rules until they find nothing more: what has become a label no longer hides the beginning of what follows it.
fn apply_rules(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for _ in 0..4 {
        let hits = COMPILED.any.as_ref().map(|any| any.matches(&out));
        let mut is_done = true;
        for (i, rule) in COMPILED.rules.iter().enumerate() {
            // What an earlier rule changed may be found by a later one in the next round.
            let is_hit = hits.as_ref().is_none_or(|hits| hits.matched(i));
            let changed = match rule.source {
                None => without_cards(&out, rule.becomes),
                Some(_) if !is_hit => continue,
                Some(source) => match rule.pattern.get_or_init(|| Regex::new(source).ok()) {
                    None => continue,
                    Some(pattern) => pattern.replace_all(&out, |found: &Captures<'_>| {
                        replacement(found, rule.becomes)
                    }),
                },
            };
            if let Cow::Owned(changed) = changed {
                is_done &= changed == out;
                out = Cow::Owned(changed);
            }
        }
        if is_done {
            break;
        }
    }
    out
}

fn replacement(found: &Captures<'_>, template: &str) -> String {
    let mut out = String::new();
    let is_label = found
        .name("value")
        .is_some_and(|value| is_label(value.as_str()));
    let is_other = found
        .name("next")
        .is_some_and(|next| !is_secret_word(next.as_str()));
    if is_label || is_other || found.name("plain").is_some() {
        out.push_str(found.get(0).map_or("", |whole| whole.as_str()));
    } else {
        found.expand(template, &mut out);
    }
    out
}

/// True for a word that nobody would write below a heading: letters and digits mixed, or a long number. Times and addresses have a colon, dates and versions
/// fewer letters and digits in a row.
fn is_secret_word(word: &str) -> bool {
    let (mut letters, mut digits) = (0, 0);
    for c in word.chars() {
        letters += usize::from(c.is_alphabetic());
        digits += usize::from(c.is_ascii_digit());
    }
    let is_number = digits >= MIN_SECRET_CHARS && digits == word.len();
    let is_mixed = letters > 0 && digits > 0 && letters + digits >= MIN_SECRET_CHARS;
    is_number || is_mixed && !word.contains([':', '[', '('])
}

/// True when nothing but a label and punctuation is left of a value.
fn is_label(value: &str) -> bool {
    let value = value.trim_matches(|c: char| {
        matches!(
            c,
            '"' | '\'' | '\\' | '(' | ')' | '{' | '}' | ',' | ';' | '.'
        )
    });
    value
        .strip_prefix(LABEL_START)
        .is_some_and(|rest| rest.find(']').is_some_and(|end| end + 1 == rest.len()))
}

/// Hides numbers of six digits where the rest of the line says that they are a code to sign in with. (A look-ahead, which regex does not have.)
fn without_otp(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let end = last_otp_word(line.as_bytes());
        let mut at = 0;
        while let Some(start) = next_six_digits(line.as_bytes(), at, end) {
            out.push_str(text.get(from..line_start + start).unwrap_or_default());
            out.push_str(OTP);
            from = line_start + start + 6;
            at = start + 6;
        }
        line_start += line.len();
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Where the last word of a line begins that makes a number before it a code; 0 without any.
fn last_otp_word(line: &[u8]) -> usize {
    let begins = |at: usize, first: u8| {
        let word: &[u8] = match first {
            b'o' | b'O' => b"otp",
            b'2' => b"2fa",
            b'c' | b'C' => b"code",
            _ => return false,
        };
        line.get(at..at + word.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word))
    };
    let mut bytes = line.iter().enumerate().rev();
    bytes
        .find(|(at, first)| begins(*at, **first))
        .map_or(0, |(at, _)| at)
}

/// The next word of exactly six digits that ends before `end`.
fn next_six_digits(line: &[u8], from: usize, end: usize) -> Option<usize> {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let mut at = from;
    while at < end {
        let rest = line.get(at..end)?;
        let start = at + rest.iter().position(is_word)?;
        let word = line.get(start..)?;
        let len = word.iter().take_while(|b| is_word(b)).count();
        let digits = word.get(..len)?;
        if len == 6 && start + len <= end && digits.iter().all(u8::is_ascii_digit) {
            return Some(start);
        }
        at = start + len;
    }
    None
}

#[cfg(test)]
pub(super) fn is_compiled() -> bool {
    COMPILED.any.is_some()
}
