//! Article titles from users or links, validated by MediaWiki's rules before any request.

use std::fmt;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, head, single_spaced};
use crate::formats::address::decoded;
use crate::formats::filename;
use crate::net::services::{Service, WIKIPEDIA, wikipedia_in};
use crate::tools::output::untrusted::line;

/// Maximum bytes of a title (MediaWiki's limit).
const MAX_TITLE_BYTES: usize = 255;
/// Maximum bytes of a file's stem, before the suffix that makes it unique.
const MAX_STEM_BYTES: usize = 180;
/// Language codes that may prefix a title to select a Wikipedia: "de:Berlin".
#[rustfmt::skip]
const LANGUAGES: [&str; 72] = [
    "af", "ar", "ast", "az", "be", "bg", "bn", "bs", "ca", "ceb", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa", "fi",
    "fr", "ga", "gl", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "ko", "la", "lb", "lt", "lv", "mk", "ml", "mr",
    "ms", "my", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sh", "simple", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te", "th", "tr", "tt",
    "uk", "ur", "uz", "vi", "yo", "zh",
];

/// An article's title, and its Wikipedia if that is not the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Title {
    pub(super) language: Option<String>,
    pub(super) text: String,
}

impl Title {
    /// Parses a title or the address of an article. A section after `#` is dropped.
    ///
    /// # Errors
    /// `Input` for an invalid title.
    pub(super) fn new(given: &str) -> Outcome<Self> {
        let (language, text) = match from_address(given.trim()) {
            Some((language, text)) => (Some(language), text),
            None => {
                let given = normalize(given);
                let (language, text) = split(&given);
                (language, text.to_owned())
            }
        };
        let text = normalize(text.split('#').next().unwrap_or_default());
        let title = Self {
            language: language.filter(|own| own != "en"),
            text,
        };
        match title.invalid_reason() {
            None => Ok(title),
            Some(reason) => Err(Problem::input(format!(
                "\"{}\" cannot be an article's title: {reason}.",
                clip(&escape_controls(given.trim()), 80)
            ))
            .next("Find the title with wiki_search.")),
        }
    }

    /// The title that the service returned for this one.
    pub(super) fn resolved(&self, text: &str) -> Self {
        Self {
            language: self.language.clone(),
            text: line(text),
        }
    }

    /// Why MediaWiki would refuse the title.
    fn invalid_reason(&self) -> Option<String> {
        let text = self.text.as_str();
        let bad = |c: &char| {
            matches!(c, '|' | '[' | ']' | '{' | '}' | '<' | '>')
                || c.is_control()
                || *c == '\u{fffd}'
        };
        if after_colons(text).is_empty() {
            Some("it is empty".to_owned())
        } else if let Some(c) = text.chars().find(bad) {
            Some(format!("it holds \"{}\"", escape_controls(&c.to_string())))
        } else if text.len() > MAX_TITLE_BYTES {
            Some(format!("it has more than {MAX_TITLE_BYTES} bytes"))
        } else if text.split('/').any(|part| part == "." || part == "..") {
            Some("it holds a path".to_owned())
        } else if text.contains("~~~") {
            Some("it holds \"~~~\"".to_owned())
        } else {
            None
        }
    }

    /// The title as a segment of an article's address.
    pub(super) fn underscored(&self) -> String {
        self.text.replace(' ', "_")
    }

    /// The name of its file: the title if it is a valid file name, else a similar name that no other title gets.
    pub(super) fn file(&self) -> String {
        let title = self.to_string();
        let plain = title.replace(['/', '\\'], "_");
        let name = filename::safe(&format!("{plain}.txt")).unwrap_or_default();
        if name == format!("{title}.txt") && name.len() <= 200 {
            return name;
        }
        let stem = name.strip_suffix(".txt").unwrap_or(&name);
        format!(
            "{} {:08x}.txt",
            head(stem, MAX_STEM_BYTES).trim_end(),
            title_hash(&title)
        )
    }

    /// A key that is equal for all spellings of a title: case and underscores are ignored.
    pub(super) fn comparison_key(&self) -> String {
        self.to_string().to_lowercase()
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.language {
            Some(language) => write!(f, "{language}:{}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// The base address of the selected Wikipedia.
pub(super) fn base(language: Option<&str>) -> String {
    language.map_or(WIKIPEDIA.base.to_owned(), wikipedia_in)
}

/// Splits a language prefix off a title or a query.
pub(super) fn split(given: &str) -> (Option<String>, &str) {
    let given = after_colons(given.trim());
    match given.split_once(':') {
        Some((code, rest)) if !after_colons(rest).is_empty() => {
            let code = code.trim().to_lowercase();
            match LANGUAGES.contains(&code.as_str()) {
                true => (Some(code), rest.trim()),
                false => (None, given),
            }
        }
        _ => (None, given),
    }
}

/// What stands behind the colons at the start, which are no part of a title.
fn after_colons(text: &str) -> &str {
    text.trim_start_matches(|c: char| c == ':' || c.is_whitespace())
}

/// Language and title in an article's address.
fn from_address(given: &str) -> Option<(String, String)> {
    let rest = given
        .strip_prefix("https://")
        .or_else(|| given.strip_prefix("http://"))?;
    let (host, path) = rest.split_once("/wiki/")?;
    let language = host.strip_suffix(domain(&WIKIPEDIA)?)?;
    let language = language.strip_suffix(".m").unwrap_or(language);
    let plain =
        !language.is_empty() && language.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let path = path.split(['?', '#']).next().unwrap_or_default();
    plain.then(|| (language.to_owned(), decoded(path)))
}

/// The part after the language in the host of a Wikipedia.
fn domain(service: &Service) -> Option<&'static str> {
    service.base.strip_prefix("https://en")
}

/// Underscores become spaces, and white space one space; text-direction marks are removed, as in MediaWiki.
fn normalize(text: &str) -> String {
    let text = text.replace('_', " ");
    let direction_mark = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let text = text.replace(direction_mark, "");
    single_spaced(&text)
}

/// A 32-bit hash of a title (FNV-1a), stable across versions.
fn title_hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_of_direction_are_no_part_of_a_title() {
        let title = Title::new("\u{202e}Tide\u{200e} mill").unwrap();
        assert_eq!(title.to_string(), "Tide mill");
        assert!(Title::new("\u{200f}").is_err());
    }

    #[test]
    fn titles_are_tidied_and_addresses_understood() {
        for (given, wanted) in [
            ("  Tide_mill ", "Tide mill"),
            (
                "Python (programming language)#History",
                "Python (programming language)",
            ),
            ("C++", "C++"),
            ("AC/DC", "AC/DC"),
            ("de:Bonn", "de:Bonn"),
            (":FR:Élan vital", "fr:Élan vital"),
            ("en:Odin", "Odin"),
            ("Re:Zero", "Re:Zero"),
            ("2001: A Space Odyssey", "2001: A Space Odyssey"),
            ("https://en.wikipedia.org/wiki/Tide_mill#Use", "Tide mill"),
            (
                "https://de.m.wikipedia.org/wiki/K%C3%B6ln?oldid=1",
                "de:Köln",
            ),
            ("地球", "地球"),
        ] {
            assert_eq!(Title::new(given).unwrap().to_string(), wanted, "{given}");
        }
    }

    #[test]
    fn what_no_article_is_called_is_refused() {
        for given in [
            "",
            " _ ",
            "#History",
            "a|b",
            "[[a]]",
            "{a}",
            "<b>",
            "a\u{0}b",
            "..",
            "a/../b",
            "./a",
            "~~~~",
            "de: ",
            ":",
            "\u{200e}:",
            "\u{200e}: :",
        ] {
            // "de:" alone is a title with a colon.
            if given == "de: " {
                assert_eq!(Title::new(given).unwrap().to_string(), "de:");
                continue;
            }
            let problem = Title::new(given).unwrap_err();
            assert!(problem.one_line().contains("wiki_search"), "{given}");
        }
        let problem = Title::new(&"é".repeat(500_000)).unwrap_err();
        assert!(problem.what.len() < 400, "{}", problem.what);
    }

    #[test]
    fn file_names_are_near_the_title_and_never_shared() {
        let name = |text: &str| Title::new(text).unwrap().file();
        assert_eq!(name("Tide mill"), "Tide mill.txt");
        assert_eq!(name("Vol. 2"), "Vol. 2.txt");
        assert!(name("AC/DC").starts_with("AC_DC ") && name("AC/DC") != name("AC\\DC"));
        assert!(name(".hack").starts_with("hack "));
        assert_ne!(name("de:Bonn"), name("de Bonn"));
        let long = "空".repeat(85);
        assert!(name(&long).len() <= 200 && name(&long) != name(&"空".repeat(84)));
    }

    proptest! {
        #[test]
        fn names_are_safe_and_short(text in "([^\\p{C}|\\[\\]{}<>#~]|[./\\\\ :-]){1,80}") {
            if let Ok(title) = Title::new(&text) {
                let name = title.file();
                prop_assert!(name.len() <= 200 && name.ends_with(".txt"), "{}", name);
                prop_assert!(!name.starts_with('.') && !name.contains(['/', '\\', '\0', '\n']), "{}", name);
            }
        }

        #[test]
        fn anything_is_a_title_or_refused(text in ".{0,60}") {
            if let Ok(title) = Title::new(&text) {
                prop_assert!(!title.text.contains(['|', '#', '<', '\n']));
                // A parsed title can be parsed again.
                prop_assert_eq!(Title::new(&title.to_string()).map(|again| again.text.is_empty()).ok(), Some(false));
            }
        }
    }
}
