//! What a value is that stands beside a name such as "token": a secret, or a word, a type, a call, a date.

use super::formats::has_chunk;
use crate::base::word_list::WordList;

/// Letters and digits of a secret that stands on a line of its own, and characters of one beside a name that has other meanings too.
const MIN_SECRET_CHARS: usize = 6;
/// How every label begins.
pub(crate) const LABEL_START: &str = "[REDACTED";
/// What stands for a secret in logs and errors.
pub(super) const HIDDEN: &str = "[hidden]";

/// Values that say that there is none, or of which type it is.
const NO_VALUES: WordList = WordList(
    "any array bool boolean bytes char empty false int integer none never nil null number object \
     optional option required str string text true undefined unknown unset varchar void",
);

/// Words after "the password is" that are no password.
const NO_PASSWORDS: WordList = WordList(
    "a about accepted actually all already also always an and another any asked at available bad \
     based being better blank both by cached case case-sensitive changed checked common \
     compromised correct created derived different disabled easy empty encrypted enforced enough \
     entered exposed expired fine for forgotten from generated given going good gone hard hashed \
     here hidden how important in inside incorrect insecure invalid it just kept known leaked \
     like long lost mandatory masked missing my necessary needed never new no not now null \
     obsolete of off okay old on one only optional our out outdated plain private probably \
     protected public put random rejected required reset right safe salted saved secret secure \
     sent set shared short shown similar simple so something still stored strong stuck that the \
     their there this to too true unchanged under unique unknown unsafe unset used usually valid \
     verified very visible weak well what when where working written wrong your",
);

/// Words after a password of letters alone that go on with the sentence.
const NEXT_WORDS: &[&str] = &[
    "and", "but", "for", "if", "on", "or", "please", "so", "thanks", "then", "when", "which",
];

/// `value` without the quotation marks and the punctuation around it.
fn bare(value: &str) -> &str {
    value.trim_matches(|c: char| {
        matches!(
            c,
            '"' | '\''
                | '`'
                | '\\'
                | '('
                | ')'
                | '{'
                | '}'
                | ','
                | ';'
                | '.'
                | '*'
                | '“'
                | '”'
                | '„'
                | '»'
                | '«'
        )
    })
}

/// True when nothing but a label and punctuation is left of a value.
pub(super) fn is_label(value: &str) -> bool {
    let value = bare(value);
    value == HIDDEN
        || value
            .strip_prefix(LABEL_START)
            .is_some_and(|rest| rest.find(']').is_some_and(|end| end + 1 == rest.len()))
}

/// True for what stands where a value would be: nothing, a type, a variable, a word in brackets.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | ',' | ';' | ')' | '.'));
    let is_bracketed = |open: &str, close: &str| {
        value
            .strip_prefix(open)
            .is_some_and(|rest| rest.ends_with(close) && rest.len() > close.len())
    };
    let is_variable = value.strip_prefix('$').is_some_and(|name| {
        name.starts_with(['{', '('])
            || name.len() > 1
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    });
    value.is_empty()
        || value
            .chars()
            .all(|c| matches!(c, '*' | '.' | '…' | '•' | '?' | '_' | '-'))
        || is_variable
        || is_bracketed("<", ">")
        || is_bracketed("{{", "}}")
        || value.starts_with("{{")
        || value.starts_with("process.env")
        || NO_VALUES.has_in_any_case(value)
}

/// True for a value of a name that has other meanings too, such as "session": at least six characters with a digit or a sign. `is_tight` says that nothing
/// stands between the separator and the value, as in configuration: what has a space there may be code or a sentence.
pub(super) fn is_secret_value(value: &str, is_tight: bool) -> bool {
    let value = bare(value);
    let has_digit = value.chars().any(char::is_numeric);
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    let has_sign = match is_tight {
        true => value.contains(is_sign),
        // Words are joined by a hyphen, and shortened by an apostrophe.
        false => value.contains(|c: char| is_sign(c) && !matches!(c, '-' | '\'' | '’' | '/' | ':')),
    };
    value.chars().count() >= MIN_SECRET_CHARS
        && !is_placeholder(value)
        && (has_digit || has_sign)
        && !is_place_or_time(value)
        && (is_tight || !is_code(value))
}

/// An address, a path, a date, a time, a version.
fn is_place_or_time(value: &str) -> bool {
    let is_path = ["./", "../", "~/"]
        .iter()
        .any(|start| value.starts_with(start));
    let parts = || value.split(['-', '/', '.', ':', 'T', 'Z', '+']);
    let is_date = value.contains(['-', '/', '.', ':'])
        && parts().all(|part| part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_version = value
        .strip_prefix('v')
        .is_some_and(|rest| rest.contains('.') && rest.split('.').all(|part| part.len() <= 3));
    value.contains("://") || is_path || is_date || is_version
}

/// A name of a program's: `next_token`, `self.token`, `Session::new(`, `Option<Token>`.
fn is_code(value: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '!']);
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    let len = value
        .find(|c: char| !(is_name(c) || matches!(c, '.' | ':' | '-' | '>' | '?')))
        .unwrap_or(value.len());
    let (name, rest) = value.split_at(len);
    let begins = name.starts_with(is_name);
    let is_call = rest.starts_with(['(', '[', '<', '{']);
    let is_path = rest.is_empty() && name.contains(['.', '_', ':']);
    begins && (is_call || is_path)
}

/// True for the value of a name that means nothing but a secret, such as "password".
pub(super) fn is_named_secret(value: &str, is_tight: bool) -> bool {
    !is_placeholder(value) && (is_tight || !is_call(value))
}

/// `getpass(`, `Option<String>`, `&str`.
fn is_call(value: &str) -> bool {
    let value = value.trim_end_matches([',', ';']);
    let is_type = matches!(
        value.trim_start_matches('&').trim_end_matches(')'),
        "str" | "String" | "Vec<u8>"
    );
    let name = value.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ':')));
    let rest = name.and_then(|end| value.get(end..)).unwrap_or_default();
    is_type
        || name.is_some_and(|end| end > 0)
            && (rest.starts_with('(') && rest.ends_with([')', '(', '"', '\''])
                || rest.starts_with('<') && rest.ends_with('>'))
}

/// True for a word that nobody would write below a heading: letters and digits mixed, or a long number. Times and addresses have a colon, dates and versions
/// fewer letters and digits in a row.
pub(super) fn is_secret_word(word: &str) -> bool {
    let (mut letters, mut digits) = (0, 0);
    for c in word.chars() {
        letters += usize::from(c.is_alphabetic());
        digits += usize::from(c.is_ascii_digit());
    }
    let is_number = digits >= MIN_SECRET_CHARS && digits == word.len();
    let is_mixed = letters > 0 && digits > 0 && letters + digits >= MIN_SECRET_CHARS;
    is_number || is_mixed && !word.contains([':', '[', '('])
}

/// True for what "the password is" tells. `after` is the text that follows.
pub(super) fn is_told_password(value: &str, after: &str) -> bool {
    if is_placeholder(value) {
        return false;
    }
    let is_quoted = value.starts_with(['"', '\'', '`', '“', '„', '«']);
    let word = bare(value).trim_end_matches(['!', '?', ':']);
    let is_word = word
        .chars()
        .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'));
    if word.chars().count() < 3 {
        return false;
    }
    if !is_word {
        return !is_place_or_time(word) && !is_call(value) || has_chunk(word, 8);
    }
    let next = after.split_whitespace().next().unwrap_or_default();
    let is_end = value.ends_with(['.', ',', ';', '!', ')', '"', '\'', '`'])
        || after.starts_with(['\r', '\n'])
        || next.is_empty()
        || next.starts_with(['(', '-', '–', '—', '.', ','])
        || NEXT_WORDS.contains(&next);
    is_quoted || is_end && !NO_PASSWORDS.has(&word.to_lowercase())
}

/// True for what follows "password is" in a language whose words are not listed here: it has a digit or a sign.
pub(super) fn is_told_value(value: &str) -> bool {
    let word = bare(value).trim_end_matches(['!', '?', ':', '。', '，', '、', '；']);
    let has_digit = word.chars().any(char::is_numeric);
    let has_sign =
        word.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '\'' | '’' | '.' | ','));
    word.chars().count() >= 4 && (has_digit || has_sign) && !is_placeholder(value)
}

/// True for what follows "Bearer" in a header, and nothing that a sentence has there.
pub(super) fn is_bearer_token(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let longest = value
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::len)
        .max()
        .unwrap_or_default();
    let chunk = value
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|chunk| {
            chunk.len() >= 8
                && chunk.bytes().any(|byte| byte.is_ascii_digit())
                && chunk.bytes().any(|byte| byte.is_ascii_alphabetic())
        });
    chunk || longest >= 24 || is_mixed && value.len() >= 20
}
