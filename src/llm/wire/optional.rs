//! The members of a request that it can do without, and how a server's refusal of one is recognized.
//!
//! Gateways and servers that imitate a provider do not know every member that the provider takes, and answer 400 to those that they do not know
//! (LiteLLM before Claude: `prompt_cache_key: Extra inputs are not permitted`). The request is then sent without the member.

/// A member of a request that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionalMember {
    Temperature,
    StreamOptions,
    CacheKey,
    CacheMarks,
    Include,
    Store,
    Strict,
    ToolChoice,
    /// Tools that wait, and results that refer to them.
    DeferredTools,
    /// Whatever says how hard to think; a server that refuses one form of it is given none.
    Effort,
}

/// How errors name a member.
struct OptionalRow {
    member: OptionalMember,
    /// The first one is what users read.
    names: &'static [&'static str],
    /// The names are words of everyday language too: they count only where they are quoted or begin a path.
    everyday: bool,
    /// Sentences that refuse it without its name.
    sentences: &'static [&'static str],
}

const ROWS: &[OptionalRow] = &[
    OptionalRow {
        member: OptionalMember::Temperature,
        names: &["temperature"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::StreamOptions,
        names: &["stream_options", "include_usage", "include_obfuscation"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::CacheKey,
        names: &["prompt_cache_key"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::CacheMarks,
        names: &["cache_control"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::Include,
        names: &["include"],
        everyday: true,
        sentences: &["encrypted content is not supported"],
    },
    OptionalRow {
        member: OptionalMember::Store,
        names: &["store"],
        everyday: true,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::Strict,
        names: &["strict"],
        everyday: true,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::ToolChoice,
        names: &["tool_choice"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::DeferredTools,
        names: &["defer_loading", "tool_reference"],
        everyday: false,
        sentences: &[],
    },
    OptionalRow {
        member: OptionalMember::Effort,
        names: &[
            "reasoning_effort",
            "output_config",
            "thinking_config",
            "thinking_level",
            "thinking_budget",
            "budget_tokens",
            "extra_body",
        ],
        everyday: false,
        sentences: &[
            "support thinking",
            "support reasoning",
            "support extended thinking",
            "support adaptive thinking",
            "support the effort",
            "thinking is not supported",
            "reasoning is not supported",
        ],
    },
    OptionalRow {
        member: OptionalMember::Effort,
        names: &["reasoning", "thinking", "think", "effort"],
        everyday: true,
        sentences: &[],
    },
];

/// Words with which servers refuse a member.
const REFUSALS: &[&str] = &[
    "unknown",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "unsupported",
    "not supported",
    "not support",
    "n't support",
    "not permitted",
    "not allowed",
    "only allowed",
    "forbidden",
    "unexpected",
    "invalid",
    "not accept",
    "not a valid",
    "no such",
    "cannot be",
    "can't be",
    "not available",
    "not implemented",
    "deprecated",
    "not enabled",
    "additional propert",
    "does not exist",
    "may only be",
    "must be",
    "should be",
    "only the default",
];

/// How far from the name of a member the words that refuse it may stand, in bytes.
const MAX_DISTANCE: usize = 200;
/// Quoted text that is longer is not a name.
const MAX_NAME_BYTES: usize = 80;

/// A set of members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OptionalMembers(u16);

impl OptionalMembers {
    /// True when `member` is in it.
    pub(crate) fn has(self, member: OptionalMember) -> bool {
        self.0 & 1 << member as u16 != 0
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are not in `other`.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn with(self, member: OptionalMember) -> Self {
        self.and(Self(1 << member as u16))
    }

    pub(crate) fn without(self, member: OptionalMember) -> Self {
        self.minus(Self(1 << member as u16))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, each as a set of one.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        (0..u16::BITS)
            .map(move |bit| Self(self.0 & 1 << bit))
            .filter(|one| !one.is_empty())
    }

    /// The names of its members as users read them.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        let mut seen = Self::default();
        for row in ROWS {
            if self.has(row.member) && !seen.has(row.member) {
                seen = seen.with(row.member);
                names.extend(row.names.first());
            }
        }
        names
    }
}

/// The members that a server's error refuses: the one that `param` names, else those that the message names where it speaks of a refusal.
pub(super) fn refused(param: Option<&str>, message: &str) -> OptionalMembers {
    if let Some(param) = param.filter(|param| !matches!(*param, "" | "None" | "null")) {
        let of_path = |row: &&OptionalRow| names_in_path(row, param);
        let rows = ROWS.iter().filter(of_path);
        return rows.fold(OptionalMembers::default(), |all, row| all.with(row.member));
    }
    let text = without_quotes(message).to_lowercase();
    let refusals: Vec<usize> = REFUSALS
        .iter()
        .flat_map(|words| text.match_indices(words))
        .map(|(at, _)| at)
        .collect();
    let near = |at: &usize| {
        refusals
            .iter()
            .any(|refusal| refusal.abs_diff(*at) <= MAX_DISTANCE)
    };
    ROWS.iter()
        .filter(|row| {
            let named = row
                .names
                .iter()
                .flat_map(|name| text.match_indices(name).map(|(at, _)| (at, *name)))
                .any(|(at, name)| near(&at) && is_named(&text, at, name, row.everyday));
            named || row.sentences.iter().any(|sentence| text.contains(sentence))
        })
        .fold(OptionalMembers::default(), |all, row| all.with(row.member))
}

/// Whether the first or the last part of a path such as `reasoning.effort` or `tools[0].strict` is a name of `row`.
fn names_in_path(row: &OptionalRow, path: &str) -> bool {
    let mut parts = path
        .split(['.', '[', ']', '/'])
        .filter(|part| !part.is_empty());
    let (first, last) = (parts.next(), parts.next_back());
    [first, last]
        .into_iter()
        .flatten()
        .any(|part| row.names.contains(&part))
}

/// Whether `name`, found in `text` at `at`, stands there as a name.
fn is_named(text: &str, at: usize, name: &str, everyday: bool) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let mut after = text.get(at + name.len()..).unwrap_or_default().chars();
    let next = after.next();
    let joins = |c: Option<char>| c.is_some_and(|c| is_word(c) || c == '-');
    if joins(before) || joins(next) {
        return false;
    }
    let quote = |c: Option<char>| c.is_some_and(|c| matches!(c, '\'' | '"' | '`'));
    // `reasoning.effort`, `tools.0.strict`; a full stop ends a sentence.
    let path = before == Some('.')
        || matches!(next, Some('.')) && after.next().is_some_and(is_word)
        || matches!(next, Some('['));
    let quoted = quote(before) && quote(next);
    !everyday || quoted || path || next == Some(':')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `message` without quoted text that cannot be a name: it may be what the user wrote.
fn without_quotes(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(['\'', '"', '`', '“', '«']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let Some(quote) = tail.chars().next() else {
            break;
        };
        let inner = tail.get(quote.len_utf8()..).unwrap_or_default();
        let closing = match quote {
            '“' => '”',
            '«' => '»',
            other => other,
        };
        // An apostrophe is none: "doesn't".
        let opens = !head.chars().next_back().is_some_and(is_word);
        let closes = |at: &usize| {
            let next = inner.get(at + closing.len_utf8()..);
            !next.is_some_and(|next| next.chars().next().is_some_and(is_word))
        };
        let end = inner
            .match_indices(closing)
            .map(|(at, _)| at)
            .find(closes)
            .filter(|_| opens);
        match end {
            Some(end) => {
                let quoted = inner.get(..end).unwrap_or_default();
                if is_harmless(quoted) {
                    out.push(quote);
                    out.push_str(quoted);
                    out.push(quote);
                } else {
                    out.push(' ');
                }
                rest = inner.get(end + closing.len_utf8()..).unwrap_or_default();
            }
            None => {
                out.push(quote);
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether quoted text is a name, a path, or a sentence that only refuses.
fn is_harmless(quoted: &str) -> bool {
    if quoted.len() > MAX_NAME_BYTES {
        return false;
    }
    let sentence = || {
        let lower = quoted.to_lowercase();
        let names = ROWS.iter().flat_map(|row| row.names);
        REFUSALS.iter().any(|words| lower.contains(words))
            && !names.into_iter().any(|name| lower.contains(name))
    };
    !quoted.contains(char::is_whitespace) || sentence()
}

#[cfg(test)]
mod tests {
    use super::OptionalMember::{
        CacheKey, CacheMarks, Effort, Include, Store, StreamOptions, Strict, Temperature,
    };
    use super::*;

    fn names(param: Option<&str>, message: &str) -> OptionalMembers {
        refused(param, message)
    }

    fn set(members: &[OptionalMember]) -> OptionalMembers {
        members
            .iter()
            .fold(OptionalMembers::default(), |all, member| all.with(*member))
    }

    #[test]
    fn a_refusal_is_recognized_in_the_words_of_every_server() {
        for (message, members) in [
            (
                "prompt_cache_key: Extra inputs are not permitted",
                &[CacheKey][..],
            ),
            (
                "litellm.UnsupportedParamsError: anthropic does not support parameters: ['prompt_cache_key', 'stream_options', 'store'], for model=claude.",
                &[CacheKey, StreamOptions, Store],
            ),
            (
                "Unrecognized request argument supplied: stream_options",
                &[StreamOptions],
            ),
            ("Unknown parameter: 'include'.", &[Include]),
            ("json: unknown field \"store\"", &[Store]),
            (
                "Additional properties are not allowed ('prompt_cache_key' was unexpected)",
                &[CacheKey],
            ),
            (
                "messages.0.content.1.cache_control: Extra inputs are not permitted",
                &[CacheMarks],
            ),
            (
                "`reasoning_effort` is not supported with this model",
                &[Effort],
            ),
            (
                "\"thinking.type.adaptive\" is not supported for this model.",
                &[Effort],
            ),
            ("\"qwen2\" does not support thinking", &[Effort]),
            (
                "This model does not support the effort parameter.",
                &[Effort],
            ),
            (
                "Encrypted content is not supported with this model.",
                &[Include],
            ),
            (
                "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
                &[Temperature],
            ),
            (
                "[{'type': 'extra_forbidden', 'loc': ('body', 'prompt_cache_key'), 'msg': 'Extra inputs are not permitted', 'input': 'marvin-1'}]",
                &[CacheKey],
            ),
            (
                "tools.0.function.strict: Extra inputs are not permitted",
                &[Strict],
            ),
        ] {
            assert_eq!(names(None, message), set(members), "{message}");
        }
        for (param, members) in [
            ("prompt_cache_key", &[CacheKey][..]),
            ("reasoning.effort", &[Effort]),
            ("include[0]", &[Include]),
            ("tools[0].strict", &[Strict]),
            ("messages", &[]),
            ("messages[3].content", &[]),
        ] {
            let message = "Unknown parameter: 'temperature'.";
            assert_eq!(names(Some(param), message), set(members), "{param}");
        }
        let told = names(Some("None"), "Unknown parameter: 'store'");
        assert_eq!(told, set(&[Store]));
    }

    #[test]
    fn what_the_user_wrote_or_another_complaint_refuses_nothing() {
        for message in [
            "Invalid value for messages[1].content: \"why is prompt_cache_key an unknown parameter?\"",
            "Invalid 'messages[1].content': 'stream_options is not supported, it says'",
            "[{'type': 'string_type', 'loc': ('body', 'messages'), 'msg': 'Input should be a valid string', 'input': 'prompt_cache_key is unknown'}]",
            "The conversation must be shorter. Please include less and store it elsewhere.",
            "Invalid model.",
            "prompt_cache_keys is unknown",
            "",
        ] {
            assert_eq!(names(None, message), set(&[]), "{message}");
        }
        let far = format!("Unknown model. {} prompt_cache_key", "x ".repeat(200));
        assert_eq!(names(None, &far), set(&[]));
    }

    #[test]
    fn each_member_is_named_once() {
        let all = set(&[Effort, CacheKey, Store]);
        assert_eq!(
            all.names(),
            ["prompt_cache_key", "store", "reasoning_effort"]
        );
        assert_eq!(all.each().count(), 3);
        assert!(all.minus(all).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_message_is_read(message in "('|\"|`|“|”|doesn't |store|include|thinking: |unknown |prompt_cache_key|\\PC){0,30}") {
            let _ = refused(None, &message);
            let _ = refused(Some(&message), "");
        }
    }
}
