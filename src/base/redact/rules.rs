//! What is looked for, in order, and how it is replaced.
//!
//! The order matters: what a rule has found is hidden from those after it, so the more telling labels come first.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex};

use super::any_pattern::AnyPattern;
use super::hit::{Hit, SECRET, is_tight, value, value_group};
use super::names;
use super::values::{
    HIDDEN, is_bearer_token, is_label, is_named_secret, is_placeholder, is_secret_value,
    is_secret_word,
};
use super::{cards, codes, formats, hex, key_blocks};

pub(super) const EMAIL: &str = "[REDACTED_EMAIL]";
const TOKEN: &str = "[REDACTED_TOKEN]";
/// Rounds of the rules: what has become a label no longer hides the beginning of what follows it.
const MAX_ROUNDS: usize = 4;
/// How many times the length of a text may be looked at again in values that are no secret, but may hold one.
const MAX_REREAD: usize = 8;

/// What is looked for; each has what the one before it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// Keys, tokens and passwords: what lets somebody in.
    Credentials,
    /// Also addresses and cards.
    People,
    /// Also digits that only the line around them calls a secret.
    All,
}

/// What takes the place of a secret.
pub(super) enum Writing<'w> {
    /// Its label, or another one that the function chooses for the label and the secret.
    Labels(&'w mut dyn FnMut(&str, &str) -> Option<String>),
    /// `[hidden]`, and what only says of it what it is stays.
    Hidden,
}

/// Whether what a pattern has found in the text is a secret.
pub(super) type Check = fn(&str, &Captures<'_>) -> bool;

enum Finder {
    /// A regular expression. Its group `value` (`value_b` and so on, where it has several forms) is the secret, or else all of it; where that is a label
    /// already, the more telling one stays.
    Pattern(&'static str, Check, HiddenPart),
    Scanner(fn(&str) -> Vec<Hit>),
}
use Finder::{Pattern, Scanner};

/// What is replaced of what a pattern finds.
enum HiddenPart {
    /// All of it, by a template with the names of groups.
    Match(&'static str),
    /// Only the secret, by a label.
    Value(&'static str),
}
use HiddenPart::{Match, Value};

/// Letters of addresses. Those of scripts without spaces are not among them: they are the words around an address.
macro_rules! letters {
    () => {
        r"\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Devanagari}"
    };
}

macro_rules! uuid {
    () => {
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    };
}

fn always(_: &str, _: &Captures<'_>) -> bool {
    true
}

const fn pattern(
    scope: Scope,
    source: &'static str,
    check: Check,
    place: HiddenPart,
) -> (Scope, Finder) {
    (scope, Pattern(source, check, place))
}

/// The rules and the narrowest scope that each belongs to.
///
/// Word boundaries are those of ASCII: languages without spaces write right up to a secret, and regex is much faster so.
const RULES: &[(Scope, Finder)] = &[
    (Scope::Credentials, Scanner(key_blocks::key_blocks)),
    // User and password in an address (RFC 3986 section 3.2.1).
    pattern(
        Scope::Credentials,
        r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"'<>`]*:(?P<value>[^\s@/"'<>`]+)@"#,
        |_, found| !is_placeholder(value(found)),
        Value(SECRET),
    ),
    // Who has the address of a hook can write there: Slack, Discord, Teams, Power Automate, Zapier, IFTTT, Google Chat, Feishu.
    pattern(
        Scope::Credentials,
        concat!(
            r"(?i-u:https?://)(?:",
            r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/+-]{8,}",
            r"|(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]+",
            r"|[A-Za-z0-9.-]+\.webhook\.office\.com/[^\s<>]{8,}",
            r"|outlook\.office(?:365)?\.com/webhook/[^\s<>]{8,}",
            r"|[A-Za-z0-9.-]+\.(?:logic\.azure\.com|api\.powerplatform\.com)[^\s<>]*[?&]sig=[^\s<>]+",
            r"|hooks\.zapier\.com/hooks/[A-Za-z0-9/_-]{8,}",
            r"|maker\.ifttt\.com/trigger/[^\s<>]+/with/(?:json/)?key/[A-Za-z0-9_-]+",
            r"|chat\.googleapis\.com/v1/spaces/[^\s<>]+/messages\?[^\s<>]*(?:key|token)=[^\s<>]+",
            r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[A-Za-z0-9-]+",
            ")"
        ),
        always,
        Match("[REDACTED_HOOK]"),
    ),
    pattern(
        Scope::People,
        concat!(
            "[",
            letters!(),
            "0-9._%+'-]+@(?:[",
            letters!(),
            r"0-9-]+\.)+[",
            letters!(),
            "]{2,}"
        ),
        is_address,
        Match(EMAIL),
    ),
    (Scope::People, Scanner(cards::cards)),
    (Scope::Credentials, Scanner(formats::keys)),
    pattern(
        Scope::Credentials,
        r#"(?i-u:authorization)\s*:\s*(?i-u:bearer)\s+(?P<value>\S*[^\s"'`\\])"#,
        |_, found| !is_placeholder(value(found)),
        Match("Authorization: Bearer [REDACTED]"),
    ),
    pattern(
        Scope::Credentials,
        r"(?i-u:authorization)\s*:\s*(?i-u:basic)\s+(?P<value>[A-Za-z0-9+/=_-]+)",
        always,
        Match("Authorization: Basic [REDACTED]"),
    ),
    pattern(
        Scope::Credentials,
        r#"(?i-u:authorization)\s*:\s*(?P<scheme>(?i-u:token|apikey|api-key|bot|key|sso-key))\s+(?P<value>\S*[^\s"'`\\])"#,
        |_, found| is_secret_value(value(found), true),
        Match("Authorization: ${scheme} [REDACTED]"),
    ),
    // The same in JSON, in which it has to stay JSON.
    pattern(
        Scope::Credentials,
        r#"(?i-u:authorization)\\?["']\s*:\s*\\?["'](?i-u:bearer|basic|token|bot)\s+(?P<value>[^\s"'\\]+)"#,
        |_, found| !is_placeholder(value(found)),
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        r#"(?i-u:authorization)\\?["']?\s*[:=]\s*\\?["']?(?P<value>[A-Za-z0-9._~+/=-]{16,})"#,
        |_, found| is_bearer_token(value(found)),
        Value(SECRET),
    ),
    // Before the tokens that begin like these names: those would hide the name and show its value.
    pattern(
        Scope::Credentials,
        r"(?i-u:\b(?:AWS|GH|GCP|AZURE)_\w*(?:KEY|SECRET|TOKEN|PASS|PASSWORD|PAT|CRED|CREDENTIALS?)(?:_\w*)?)[^\S\r\n]*[:=][^\S\r\n]*(?P<value>\S+)",
        |text, found| is_named_secret(value(found), is_tight(text, found, ['=', ':'])),
        Match("[REDACTED_TOKEN]=[REDACTED]"),
    ),
    // RFC 7519 and RFC 7516: a header that is JSON in base64, and two dots or four.
    pattern(
        Scope::Credentials,
        r"(?-u)\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*",
        always,
        Match("[REDACTED_JWT]"),
    ),
    // Published formats without a prefix of their own, in this order: Discord, Telegram, Entra ID, Airtable, HCP Terraform, Mailchimp, HubSpot, Plaid,
    // LaunchDarkly, Mapbox.
    pattern(
        Scope::Credentials,
        concat!(
            r"(?-u)\b(?:",
            r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}",
            r"|(?:bot)?[0-9]{6,10}:[A-Za-z0-9_-]{32,40}",
            r"|[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
            r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
            r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
            r"|[0-9a-f]{32}-us[0-9]{1,2}\b",
            r"|pat-[a-z]{2}[0-9]-",
            uuid!(),
            r"|access-(?:sandbox|development|production)-",
            uuid!(),
            r"|(?:api|sdk)-",
            uuid!(),
            r"|sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{10,}",
            ")"
        ),
        always,
        Match(TOKEN),
    ),
    pattern(
        Scope::Credentials,
        r"(?-u)\b(?i:AWS|GH|GCP|AZURE)[A-Za-z0-9_-]{10,}",
        |_, found| is_cloud_token(value(found)),
        Match(TOKEN),
    ),
    // Azure's connection strings.
    pattern(
        Scope::Credentials,
        r"(?i-u:AccountKey|SharedAccessKey)[^\S\r\n]*=[^\S\r\n]*(?P<value>[A-Za-z0-9+/=_-]{8,})",
        always,
        Value(SECRET),
    ),
    // Signatures of addresses that open what they name: Azure, AWS, Google Cloud.
    pattern(
        Scope::Credentials,
        r"[?&](?i-u:sig|x-amz-signature|x-amz-security-token|x-goog-signature)=(?P<value>[A-Za-z0-9%+/=_.-]{20,})",
        always,
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        concat!(
            r"(?-u:\b)curl(?-u:\b)[^\r\n]*?[^\S\r\n](?:-[A-Za-z]*[uU][^\S\r\n]*|--(?:proxy-)?user(?:[^\S\r\n]+|=))",
            r#"(?:"[^"\s:]+:(?P<value>[^"\r\n]+)"|'[^'\s:]+:(?P<value_b>[^'\r\n]+)'|[^\s"':-][^\s"':]*:(?P<value_c>[^\s"'/][^\s"']*))"#
        ),
        |_, found| !is_placeholder(value(found)),
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        concat!(
            r"(?-u:\b)(?:sshpass[^\S\r\n]+-p[^\S\r\n]*(?P<value>[^\s-]\S*)",
            r"|(?i-u:bearer)[^\S\r\n]+(?P<value_b>[A-Za-z0-9._~+/=-]{8,}))",
        ),
        |_, found| match found.name("value") {
            Some(value) => !is_placeholder(value.as_str()),
            None => is_bearer_token(value(found)),
        },
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        concat!(
            r"--[a-z-]*(?:password|passwd|passphrase|token|secret|api-?key|access-key|secret-key)[^\S\r\n]+",
            r#"(?P<value>"[^"\r\n]+"|'[^'\r\n]+'|[^\s"'-]\S*)"#
        ),
        |_, found| {
            let value = value(found);
            !is_placeholder(value) && is_secret_value(value, true)
        },
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        names::IN_JSON,
        names::names_a_secret,
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        names::BESIDE,
        names::names_a_secret,
        Match("${name}=[REDACTED]"),
    ),
    pattern(
        Scope::Credentials,
        names::BESIDE_IN_OTHER_LANGUAGES,
        names::names_a_secret,
        Match("${name}=[REDACTED]"),
    ),
    pattern(
        Scope::Credentials,
        names::TOLD,
        names::tells_a_secret,
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        names::TOLD_IN_OTHER_LANGUAGES,
        names::tells_a_secret_in_another_language,
        Value(SECRET),
    ),
    pattern(
        Scope::Credentials,
        names::ABOVE,
        |_, found| is_secret_word(value(found)),
        Value(SECRET),
    ),
    (Scope::All, Scanner(hex::hex_keys)),
];

/// The rules, ready to run.
struct Compiled {
    /// Which patterns may find something: for most texts none.
    any: Option<AnyPattern>,
    /// Compiled when the rule first finds something.
    patterns: Vec<OnceLock<Option<Regex>>>,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| Compiled {
    // Scanners need no pattern, and an empty class never matches.
    any: AnyPattern::new(RULES.iter().map(|(_, finder)| match finder {
        Pattern(source, ..) => *source,
        Scanner(_) => r"[^\s\S]",
    })),
    patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
});

/// Replaces what the rules of `scope` find, until they find nothing more.
pub(super) fn apply<'t>(text: &'t str, scope: Scope, writing: &mut Writing<'_>) -> Cow<'t, str> {
    let mut out = Cow::Borrowed(text);
    for _ in 0..MAX_ROUNDS {
        let matched = COMPILED.any.as_ref().and_then(|any| any.matching(&out));
        let mut is_done = true;
        for (at, (rule_scope, finder)) in RULES.iter().enumerate() {
            if *rule_scope > scope {
                continue;
            }
            let hits = match finder {
                Scanner(scan) => scan(&out),
                // What an earlier rule changed may be found by a later one in the next round.
                Pattern(..) if matched.as_ref().is_some_and(|set| !set.contains(at)) => continue,
                Pattern(source, check, place) => {
                    let pattern = COMPILED.patterns.get(at).and_then(|pattern| {
                        pattern.get_or_init(|| Regex::new(source).ok()).as_ref()
                    });
                    pattern.map_or_else(Vec::new, |pattern| matches(pattern, *check, place, &out))
                }
            };
            if let Cow::Owned(changed) = replaced(&out, &hits, writing) {
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

/// `text` with the one-time codes replaced. Not a rule like the others: what stands on one line decides.
pub(super) fn without_codes<'t>(text: &'t str, writing: &mut Writing<'_>) -> Cow<'t, str> {
    replaced(text, &codes::one_time_codes(text), writing)
}

fn matches(pattern: &Regex, check: Check, place: &HiddenPart, text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut at = 0;
    // What is looked at again, so that values without an end take no more time than their length.
    let mut again = MAX_REREAD * text.len();
    while let Some(found) = pattern.captures_at(text, at) {
        let Some(whole) = found.get(0) else { break };
        let secret = value_group(&found).unwrap_or(whole).range();
        if is_label(value(&found)) || !check(text, &found) {
            // A name may have another one as its value.
            let can_reread = again >= secret.len() && secret.start > whole.start();
            again = again.saturating_sub(secret.len());
            let next = if can_reread {
                secret.start
            } else {
                whole.end()
            };
            at = next.max(whole.start() + 1);
            while !text.is_char_boundary(at) {
                at += 1;
            }
            continue;
        }
        at = whole.end().max(whole.start() + 1);
        hits.push(match place {
            Match(template) => {
                let mut label = String::new();
                found.expand(template, &mut label);
                Hit {
                    range: whole.range(),
                    secret,
                    label: Cow::Owned(label),
                }
            }
            Value(label) => Hit::whole(secret, label),
        });
        if at > text.len() {
            break;
        }
    }
    hits
}

fn replaced<'t>(text: &'t str, hits: &[Hit], writing: &mut Writing<'_>) -> Cow<'t, str> {
    if hits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for hit in hits {
        let replaced = match writing {
            Writing::Labels(_) => &hit.range,
            Writing::Hidden => &hit.secret,
        };
        let Some(before) = text.get(from..replaced.start) else {
            continue;
        };
        out.push_str(before);
        match writing {
            Writing::Labels(choose) => {
                let secret = text.get(hit.secret.clone()).unwrap_or_default();
                match choose(&hit.label, secret) {
                    Some(label) => out.push_str(&label),
                    None => out.push_str(&hit.label),
                }
            }
            Writing::Hidden => out.push_str(HIDDEN),
        }
        from = replaced.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Addresses of mail, and not what has an @ too: versions of packages, pictures for finer screens, the user of every git server, the user of an address.
fn is_address(text: &str, found: &Captures<'_>) -> bool {
    let Some(whole) = found.get(0) else {
        return false;
    };
    let Some((local, domain)) = whole.as_str().split_once('@') else {
        return false;
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let version = domain.strip_prefix('v').unwrap_or(domain);
    let is_version = match digits(version) {
        0 => false,
        len => version
            .get(len..)
            .and_then(|rest| rest.strip_prefix('.'))
            .is_some_and(|rest| digits(rest) > 0),
    };
    let is_picture = matches!(
        domain.split_once('.'),
        Some((
            "1x" | "2x" | "3x" | "4x",
            "png" | "jpg" | "jpeg" | "webp" | "gif" | "svg" | "avif" | "css"
        ))
    );
    let before = text.get(..whole.start()).unwrap_or_default();
    let is_user = before.ends_with("://");
    !(is_version || is_picture || is_user || local == "git")
}

/// Tokens have digits, separators, and letters and digits mixed; names of variables, services and branches have at most a short number.
fn is_cloud_token(word: &str) -> bool {
    let is_token = |chunk: &str| {
        let digits = chunk.bytes().filter(u8::is_ascii_digit).count();
        digits > 0 && digits < chunk.len() && chunk.len() >= 4 || digits >= 8
    };
    word.contains(['_', '-']) && word.split(['_', '-']).any(is_token)
}

#[cfg(test)]
pub(super) fn compile_all() -> bool {
    let all = RULES.iter().all(|(_, finder)| match finder {
        Pattern(source, ..) => Regex::new(source).is_ok(),
        Scanner(_) => true,
    });
    all && COMPILED.any.is_some()
}

/// A pattern that finds something in `text` although the look at all of them says that it does not.
#[cfg(test)]
pub(super) fn overlooked(text: &str) -> Option<&'static str> {
    let named = COMPILED.any.as_ref()?.matching(text)?;
    let mut rules = RULES.iter().zip(&COMPILED.patterns).enumerate();
    rules.find_map(|(at, ((_, finder), pattern))| match finder {
        Pattern(source, ..) if !named.contains(at) => {
            let pattern = pattern.get_or_init(|| Regex::new(source).ok());
            let finds = pattern.as_ref().is_some_and(|one| one.is_match(text));
            finds.then_some(*source)
        }
        _ => None,
    })
}
