//! Names of secrets, and what stands beside them: `token=…`, `"password": "…"`, "the password is …", in the languages of the interface.

use regex::Captures;

use super::hit::{is_tight, value};
use super::values::{
    HIDDEN, LABEL_START, is_named_secret, is_secret_value, is_secret_word, is_told_password,
    is_told_value,
};
use crate::base::word_list::WordList;

/// Names whose value is a secret whatever it looks like; the others have further meanings.
const CERTAIN: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "api_key",
    "api-key",
    "api key",
    "apikey",
    "refresh_token",
    "access_token",
    "id_token",
    "oauth_token",
    "session_id",
    "sessionid",
];
/// The same in the languages of the interface, in small letters.
const UNCERTAIN_IN_OTHER_LANGUAGES: WordList =
    WordList("clave hasło parola parolă şifre šifra sandi 암호 κωδικός");

/// Names before `:` or `=`, also as the end of a variable's name.
macro_rules! name {
    () => {
        concat!(
            r"(?P<name>(?i-u:\b|_)(?i-u:pass|password|passwd|pwd|pgpassword|passphrase|secret|token|api[ _-]?key|refresh_token|access_token|id_token|oauth_token",
            r"|session|session_id|sessionid|jsessionid|phpsessid|sid|secret[_-]?(?:access[_-]?)?key|private[_-]?key|access[_-]?key|encryption[_-]?key|signing[_-]?key)",
            r"|(?-u:[a-z0-9])(?:Password|Passwd|Passphrase|Secret|Token|ApiKey|SecretKey|AccessKey|PrivateKey))"
        )
    };
}

macro_rules! foreign {
    () => {
        concat!(
            r"(?i:(?-u:\b)(?:passwort|kennwort|contraseña|contrasena|clave|mot[ -]de[ -]passe|senha|palavra-passe|wachtwoord|lösenord|passord|adgangskode",
            r"|kodeord|salasana|hasło|heslo|lozinka|zaporka|geslo|parola|parolă|jelszó|mật khẩu|kata sandi|sandi|kata laluan)",
            r"|пароль|пароля|парола|лозинка|шифра|κωδικός(?: πρόσβασης)?|συνθηματικό|şifre|šifra|पासवर्ड|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|패스워드)"
        )
    };
}

/// Between a name and its value on the same line, also where the name is bold in Markdown (`**Password:** …`).
macro_rules! separator {
    () => {
        r#"(?:\*\*)?[^\S\r\n]*(?::=|=>|=+|:|：)(?:[^\S\r\n]|[*_])*"#
    };
}

macro_rules! beside {
    () => {
        r#"(?P<value>(?:(?i-u:bearer|basic)[^\S\r\n]+)?(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\s:=*_])\S*)"#
    };
}

pub(super) const BESIDE: &str = concat!(name!(), separator!(), beside!());
pub(super) const BESIDE_IN_OTHER_LANGUAGES: &str =
    concat!("(?P<name>", foreign!(), ")", separator!(), beside!());

/// In JSON, also in JSON that is a text in JSON.
pub(super) const IN_JSON: &str = concat!(
    name!(),
    r#"\\?["']\s*:\s*(?:\\"(?P<value>[^"\r\n]*?)\\"|"(?P<value_b>(?:[^"\\\r\n]|\\.)*)"|'(?P<value_c>(?:[^'\\\r\n]|\\.)*)'|(?P<value_d>[0-9]{4,}))"#
);

/// "The password is …", also "the password for the router is …".
pub(super) const TOLD: &str = concat!(
    r"(?-u:\b)(?P<name>(?i-u:password|passwd|pwd|passphrase|passcode|api[ _-]?key|(?:secret|access|private|licence|license)[ _-]key|(?:access[ _-])?token|secret))",
    r"(?:[^\S\r\n]+(?i-u:for|of|to|on|at)(?:[^\S\r\n]+[^\s:=]+){1,4}?)?[^\S\r\n]+(?i-u:is|was|are)[^\S\r\n]*:?[^\S\r\n]+",
    r#"(?P<value>"[^"\r\n]+"|'[^'\r\n]+'|`[^`\r\n]+`|“[^”\r\n]+”|\S+)"#
);

/// The same in other languages, some of which need no word for "is".
pub(super) const TOLD_IN_OTHER_LANGUAGES: &str = concat!(
    foreign!(),
    r"\p{L}{0,4}(?P<link>[^\S\r\n]*(?:[—–-]|是|为|為|は|은|는|：)[^\S\r\n]*",
    r"|[^\S\r\n]+(?i:es|est|ist|lautet|é|è|is|är|er|on|это|це|to|jest|brzmi|je|је|е|είναι|este|e|là|adalah|ialah)[^\S\r\n]*:?[^\S\r\n]+",
    r#"|[^\S\r\n]+)(?P<value>"[^"\r\n]+"|'[^'\r\n]+'|`[^`\r\n]+`|„[^“”\r\n]+[“”]|«[^»\r\n]+»|\S+)"#
);

/// The value on a line of its own below the name, also in a list, a quotation or a block of code. A session has headings more often than values.
pub(super) const ABOVE: &str = concat!(
    r"(?i-u:\b|_)(?i-u:pass|password|passwd|pwd|passphrase|secret|token|api[ _-]?key|session_?id|sid)",
    separator!(),
    r"\r?\n(?:```[^\s`]*[^\S\n]*\n)?[^\S\n]*(?:[-*>•][^\S\n]+)?",
    r"(?P<value>\S*[^\s:=])[^\S\n]*(?m:$)"
);

pub(super) fn names_a_secret(text: &str, found: &Captures<'_>) -> bool {
    let name = found.name("name").map_or("", |name| name.as_str());
    let name = name.to_lowercase();
    let value = value(found);
    let is_tight = is_tight(text, found, ['=', ':', '"', '\'', '：']);
    let is_certain = match name.is_ascii() {
        true => CERTAIN.iter().any(|certain| name.ends_with(certain)) || is_foreign(&name),
        false => !UNCERTAIN_IN_OTHER_LANGUAGES.has(&name),
    };
    match value.strip_prefix("Bearer ") {
        Some(token) => !token.trim().is_empty(),
        None if is_certain => is_named_secret(value, is_tight),
        None => is_secret_value(value, is_tight),
    }
}

/// Names without a letter beyond ASCII that mean nothing else.
fn is_foreign(name: &str) -> bool {
    matches!(
        name,
        "passwort"
            | "kennwort"
            | "contrasena"
            | "senha"
            | "palavra-passe"
            | "wachtwoord"
            | "passord"
            | "adgangskode"
            | "kodeord"
            | "salasana"
            | "heslo"
            | "lozinka"
            | "zaporka"
            | "geslo"
            | "kata sandi"
            | "kata laluan"
    ) || name.starts_with("mot")
}

/// Whether what follows "is" is a secret.
pub(super) fn tells_a_secret(text: &str, found: &Captures<'_>) -> bool {
    let name = found.name("name").map_or("", |name| name.as_str());
    let name = name.to_ascii_lowercase();
    let told = value(found);
    let end = found.get(0).map_or(text.len(), |whole| whole.end());
    if has_label(told) {
        return false;
    }
    match name.starts_with("pass") || name == "pwd" {
        true => is_told_password(told, text.get(end..).unwrap_or_default()),
        false => is_secret_value(told, false),
    }
}

/// The same where the words around it are not known.
pub(super) fn tells_a_secret_in_another_language(_: &str, found: &Captures<'_>) -> bool {
    let told = value(found);
    let link = found.name("link").map_or("", |link| link.as_str());
    // Scripts without spaces go on with the sentence.
    let is_ideograph = told.starts_with(|c| c >= '\u{2e80}');
    if is_ideograph || has_label(told) {
        return false;
    }
    match link.trim().is_empty() {
        true => is_secret_word(told),
        false => is_told_value(told),
    }
}

fn has_label(value: &str) -> bool {
    value.contains(LABEL_START) || value.contains(HIDDEN)
}
