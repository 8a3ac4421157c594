//! Which names of an event's subject, mostly a tool, a hook is about.

use regex::{Regex, RegexBuilder};

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// What a pattern may take in memory: far more than one for names of tools needs.
const MAX_PATTERN_BYTES: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    All,
    /// Exactly these.
    Names(Vec<String>),
    /// Whole names.
    Pattern(Regex),
}

impl Matcher {
    /// Reads a matcher: nothing or `*` is about everything; names with `|` between them are exact; anything else is a regular expression.
    ///
    /// # Errors
    /// It is no regular expression.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let text = text.trim();
        if matches!(text, "" | "*") {
            return Ok(Self::All);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|');
        if text.chars().all(is_plain) {
            let names = text.split('|').filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        let pattern = RegexBuilder::new(&format!("^(?:{text})$"))
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .build();
        pattern.map(Self::Pattern).map_err(|error| {
            let what = match error {
                regex::Error::CompiledTooBig(_) => "too large",
                _ => "no regular expression",
            };
            Problem::input(format!(
                "The matcher \"{}\" of a hook is {what}.",
                escape_controls(&clip(text, 100))
            ))
            .next("Give names with | between them, a regular expression, or * for every tool.")
            .because(error)
        })
    }

    /// As it is written in a file; empty for everything.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Names(names) => names.join("|"),
            Self::Pattern(pattern) => {
                let whole = pattern.as_str();
                let own = whole
                    .strip_prefix("^(?:")
                    .and_then(|own| own.strip_suffix(")$"));
                own.unwrap_or(whole).to_owned()
            }
        }
    }

    /// Whether one of the names is meant. Without any it is about everything: the event has no subject.
    pub(crate) fn matches(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            _ if names.is_empty() => true,
            Self::Names(own) => own.iter().any(|own| names.contains(&own.as_str())),
            Self::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_patterns_are_about_the_whole_name() {
        for (matcher, names, is_meant) in [
            ("", &["tree"][..], true),
            ("*", &["tree"], true),
            ("tree|read_file", &["tree"], true),
            ("tree", &["subtree"], false),
            ("|tree|", &["tree"], true),
            ("git_.*", &["git_log"], true),
            ("git_.*", &["my_git_log"], false),
            ("a.*|b.*", &["xb1"], false),
            ("Bash", &["run_command", "Bash"], true),
            ("mcp__calc__.*", &["calc__add", "mcp__calc__add"], true),
            ("tree", &[], true),
        ] {
            let matcher = Matcher::parse(matcher).unwrap();
            assert_eq!(matcher.matches(names), is_meant, "{matcher:?} {names:?}");
        }
        assert!(Matcher::parse("git_(").is_err());
    }
}
