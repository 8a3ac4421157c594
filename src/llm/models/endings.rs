//! Models that have ended or will end, with what takes their place.

use std::fmt;

use jiff::ToSpan;
use jiff::civil::Date;

use super::names::{bare_name, is_snapshot, rest};
use crate::base::text;

/// A model that ends within so many days is worth a word.
const SOON_DAYS: i32 = 60;
const ENDINGS: &str = include_str!(concat!(env!("OUT_DIR"), "/endings.txt"));

/// When a model ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelEnd {
    /// On this day.
    On(Date),
    /// It is served no more; the day is not known.
    Gone,
    /// One day that is not set yet.
    Deprecated,
}

impl fmt::Display for ModelEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(day) => day.fmt(f),
            Self::Gone => f.write_str("gone"),
            Self::Deprecated => f.write_str("deprecated"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retirement {
    pub end: ModelEnd,
    /// The model to take instead.
    pub successor: Option<&'static str>,
}

impl ModelEnd {
    /// True when the model is served no more on the day `today`.
    pub(crate) fn is_over(self, today: Date) -> bool {
        match self {
            Self::On(day) => day <= today,
            Self::Gone => true,
            Self::Deprecated => false,
        }
    }

    /// True when it is over, or will be so soon that the user should know.
    pub(crate) fn is_near(self, today: Date) -> bool {
        match self {
            Self::On(day) => today
                .checked_add(SOON_DAYS.days())
                .is_ok_and(|soon| day <= soon),
            Self::Gone | Self::Deprecated => true,
        }
    }

    /// `ended on 2026-08-16`, `ends on 2026-12-11`, `is no longer served`, `is deprecated`.
    pub(crate) fn words(self, today: Date) -> String {
        match self {
            Self::On(day) if day <= today => format!("ended on {day}"),
            Self::On(day) => format!("ends on {day}"),
            Self::Gone => "is no longer served".to_owned(),
            Self::Deprecated => "is deprecated".to_owned(),
        }
    }
}

/// The end of `model` at `provider`, when it is known to have one.
pub(crate) fn retirement(provider: &str, model: &str) -> Option<Retirement> {
    let name = bare_name(model);
    lines(provider)
        .filter(|[own, ..]| *own == provider)
        .find(|[_, pattern, ..]| match pattern.strip_suffix('*') {
            Some(prefix) => rest(&name, prefix).is_some(),
            None => rest(&name, pattern).is_some_and(is_snapshot),
        })
        .and_then(|[_, _, day, successor]| end(day, successor))
}

/// The models that `provider` serves no more on the day `today`.
pub(crate) fn ended(
    provider: &str,
    today: Date,
) -> impl Iterator<Item = (&'static str, Retirement)> {
    lines(provider)
        .filter(move |[own, ..]| *own == provider)
        .filter_map(|[_, pattern, day, successor]| {
            Some((pattern.trim_end_matches('*'), end(day, successor)?))
        })
        .filter(move |(_, retirement)| retirement.end.is_over(today))
}

fn end(day: &str, successor: &'static str) -> Option<Retirement> {
    Some(Retirement {
        end: match day {
            "gone" => ModelEnd::Gone,
            "deprecated" => ModelEnd::Deprecated,
            day => ModelEnd::On(day.parse().ok()?),
        },
        successor: Some(successor).filter(|name| *name != "-"),
    })
}

/// What to say of a model that has ended or ends soon.
pub(crate) fn warning(provider: &str, model: &str, today: Date) -> Option<String> {
    retirement(provider, model)
        .filter(|found| found.end.is_near(today))
        .and_then(|_| successor_hint(provider, model, today))
}

/// What to say of a model that a provider does not know: when it ended, and what to take instead. Nothing for a model that has no end.
pub(crate) fn successor_hint(provider: &str, model: &str, today: Date) -> Option<String> {
    let retirement = retirement(provider, model)?;
    let model = text::clip(&text::escape_controls(model), 80);
    let fate = format!("\"{model}\" {} at {provider}", retirement.end.words(today));
    Some(match retirement.successor {
        Some(successor) => format!("{fate}; its successor is \"{successor}\"."),
        None => format!("{fate}."),
    })
}

/// The lines of a provider. Each start asks for one: other lines are not taken apart.
fn lines(provider: &str) -> impl Iterator<Item = [&'static str; 4]> {
    let own = ENDINGS
        .lines()
        .filter(move |line| line.starts_with(provider));
    own.filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        Some([
            columns.next()?,
            columns.next()?,
            columns.next()?,
            columns.next()?,
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::llm::catalog::ROWS;
    use crate::llm::models::table;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn today() -> Date {
        day(table::TABLE_DATE)
    }

    #[test]
    fn every_line_is_whole_and_leads_to_a_model_that_is_served() {
        assert_eq!(lines("").count(), ENDINGS.lines().count());
        for [provider, pattern, _, successor] in lines("") {
            assert!(ROWS.iter().any(|row| row.name == provider), "{provider}");
            let name = pattern.trim_end_matches('*');
            let found = retirement(provider, name).unwrap_or_else(|| panic!("{provider} {name}"));
            let end = match found.end {
                ModelEnd::On(end) => end,
                ModelEnd::Gone | ModelEnd::Deprecated => today(),
            };
            assert!(end > day("2025-01-01") && end < day("2030-01-01"), "{name}");
            assert_eq!(
                retirement(provider, successor),
                None,
                "{name}: {successor} ends too"
            );
            assert!(
                table::find(provider, successor, &today).is_some(),
                "{successor}"
            );
        }
    }

    #[test]
    fn no_default_has_an_end() {
        for row in ROWS {
            assert_eq!(retirement(row.name, row.model), None, "{}", row.name);
        }
    }

    #[test]
    fn a_model_ends_with_its_snapshots_and_not_with_its_kin() {
        for (provider, model, ends) in [
            ("openai", "gpt-5", true),
            ("openai", "gpt-5-2025-08-07", true),
            ("openai", "openai/GPT-5", true),
            ("openai", "gpt-5.9", false),
            ("openai", "gpt-5-search-api", false),
            ("openai", "gpt-5.1-codex-max", true),
            ("openai", "gpt-5-chat-latest", true),
            ("openai", "o3-deep-research-2025-06-26", true),
            ("gemini", "models/gemini-2.5-pro", true),
            ("gemini", "gemini-2.5-flash-lite", false),
            ("openrouter", "openai/gpt-5", false),
            ("anthropic", "claude-opus-4-20250514", true),
            ("anthropic", "claude-opus-4-5-20251101", false),
            ("anthropic", "claude-sonnet-4.5", true),
            ("groq", "llama-3.3-70b-versatile", true),
            ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", false),
            ("together", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", true),
            ("openai", "", false),
        ] {
            assert_eq!(
                retirement(provider, model).is_some(),
                ends,
                "{provider} {model}"
            );
        }
    }

    #[test]
    fn the_hint_says_when_and_what_instead() {
        let hint = |provider, model| successor_hint(provider, model, today());
        assert_eq!(
            hint("groq", "llama-3.3-70b-versatile").unwrap(),
            "\"llama-3.3-70b-versatile\" ended on 2026-08-16 at groq; its successor is \"openai/gpt-oss-120b\"."
        );
        assert_eq!(
            hint("openai", "gpt-5").unwrap(),
            "\"gpt-5\" ends on 2026-12-11 at openai; its successor is \"gpt-6.1-sol\"."
        );
        assert_has(
            &hint("xai", "grok-4").unwrap(),
            &["is no longer served at xai"],
        );
        assert_eq!(hint("openai", "gpt-6.1-terra"), None);
        let odd = hint("openai", "\u{1b}[31m/gpt-5").unwrap();
        assert!(!odd.contains('\u{1b}'), "{odd}");
        let warned = |day_of_warning| warning("openai", "gpt-5", day(day_of_warning)).is_some();
        assert!(!warned("2026-10-11") && warned("2026-10-12") && warned("2028-01-01"));
        let gpt_5 = retirement("openai", "gpt-5").unwrap();
        assert!(!gpt_5.end.is_over(day("2026-12-10")) && gpt_5.end.is_over(day("2026-12-11")));
    }
}
