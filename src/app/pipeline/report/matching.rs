//! Requirements of a specification, and what in other texts is about them. Pure; takes time in proportion to the texts.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::text::clip;
use crate::base::word_list::WordList;

/// Requirements beyond this number are not followed.
const MAX_REQUIREMENTS: usize = 500;
/// Characters of a requirement that are shown.
const MAX_TEXT_CHARS: usize = 200;
/// Prefixes of ids by which requirements are commonly numbered.
const PREFIXES: [&str; 9] = ["REQ", "FR", "NFR", "R", "F", "AC", "US", "UC", "NR"];
/// Words with which two texts must agree to be about the same.
const COMMON_WORDS: usize = 2;
/// Words that say nothing about a subject.
const FILLERS: WordList = WordList(
    "the and with that this from must shall should will when then each every which have has not \
     are for can may its all any one into than test tests user users program system requirement \
     requirements",
);

/// A requirement of the specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Requirement {
    /// As the specification writes it; a number of our own where it has none.
    pub id: String,
    /// Its first line.
    pub text: String,
}

/// A part of a document under its heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub heading: String,
    /// The heading and everything below it.
    pub text: String,
}

/// A test by its name, with the lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestCase {
    pub file: String,
    pub name: String,
    pub text: String,
}

/// Lines of a Markdown text outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The level of a heading and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && words.starts_with(' ');
    is_heading.then(|| (level, words.trim().trim_end_matches('#').trim()))
}

/// The requirements of a specification: lines that begin with an id, else numbered items below a heading about requirements, else the headings.
pub(super) fn requirements(spec: &str) -> Vec<Requirement> {
    let mut found = by_id(spec);
    if found.is_empty() {
        found = numbered(spec);
    }
    if found.is_empty() {
        let headings = prose(spec).filter_map(heading);
        found = headings
            .filter(|(level, _)| (2..=3).contains(level))
            .zip(1..)
            .map(|((_, words), number)| requirement(&format!("§{number}"), words))
            .collect();
    }
    found.truncate(MAX_REQUIREMENTS);
    found
}

fn requirement(id: &str, text: &str) -> Requirement {
    let plain = text.trim_matches(|c: char| c.is_whitespace() || "*_|:-–—.`".contains(c));
    Requirement {
        id: id.to_owned(),
        text: clip(&plain.replace("**", "").replace('`', ""), MAX_TEXT_CHARS),
    }
}

fn by_id(spec: &str) -> Vec<Requirement> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for line in prose(spec) {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#-*+|>_[`(".contains(c));
        let Some((id, rest)) = leading_id(without_number(line)) else {
            continue;
        };
        let prefix: String = id.chars().take_while(char::is_ascii_alphabetic).collect();
        if PREFIXES.contains(&prefix.as_str()) && known.insert(normal(id)) {
            found.push(requirement(
                id,
                rest.trim_start_matches([']', ')', '*', '`', '_']),
            ));
        }
    }
    found
}

/// The text of an item of a numbered list; any other line as it is.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')']) {
        Some(text) if rest.len() < line.len() => {
            text.trim_start_matches(|c: char| c.is_whitespace() || "*_[`(".contains(c))
        }
        _ => line,
    }
}

/// An id at the beginning of a line, such as `REQ-12`, `FR-001`, `R3`, `AC-1.2`, and what follows.
fn leading_id(line: &str) -> Option<(&str, &str)> {
    let letters = line.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = line.get(letters..)?;
    let dash = usize::from(rest.starts_with(['-', '_']));
    let number = rest.get(dash..)?;
    let digits = number
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let digits = number.get(..digits)?.trim_end_matches('.').len();
    let end = letters + dash + digits;
    let after = line.get(end..)?;
    let is_over = !after.starts_with(|c: char| c.is_alphanumeric());
    let is_id = (1..=4).contains(&letters) && digits > 0 && is_over;
    is_id.then(|| (line.get(..end).unwrap_or_default(), after))
}

fn numbered(spec: &str) -> Vec<Requirement> {
    let mut found: Vec<Requirement> = Vec::new();
    // The level of the heading about requirements that applies.
    let mut within: Option<usize> = None;
    for line in prose(spec) {
        if let Some((level, words)) = heading(line) {
            let is_about = words.to_lowercase().contains("requirement");
            within = match within {
                _ if is_about => Some(level),
                Some(own) if level > own => Some(own),
                _ => None,
            };
            continue;
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = line.split_at_checked(digits).unwrap_or((line, ""));
        if within.is_some()
            && digits > 0
            && let Some(text) = rest.strip_prefix(['.', ')'])
            && text.starts_with(' ')
        {
            // Each list begins with 1 again.
            let is_taken = found.iter().any(|known| known.id == number);
            let id = match is_taken {
                true => format!("#{}", found.len() + 1),
                false => number.to_owned(),
            };
            found.push(requirement(&id, text));
        }
    }
    found
}

/// An id without what people write differently: `REQ-12`, `req_12` and `Req12` are one.
fn normal(id: &str) -> String {
    let kept = id.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    kept.collect::<String>().to_ascii_uppercase()
}

/// The sections of a document; what comes before the first heading belongs to none.
pub(super) fn sections(document: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    for line in document.lines() {
        if let Some((_, words)) = heading(line) {
            found.push(Section {
                heading: words.to_owned(),
                text: String::new(),
            });
        }
        if let Some(section) = found.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    found
}

/// The tests of a file: what the common languages name so. A file without any is one test.
pub(super) fn tests(file: &str, text: &str) -> Vec<TestCase> {
    let mut found: Vec<TestCase> = Vec::new();
    // Comments above a test belong to it.
    let mut above = String::new();
    let mut is_marked = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let is_comment = ["#", "//", "/*", "*", "@", "\"\"\""]
            .iter()
            .any(|sign| trimmed.starts_with(sign));
        if let Some(name) = test_name(trimmed, is_marked) {
            found.push(TestCase {
                file: file.to_owned(),
                name,
                text: std::mem::take(&mut above),
            });
            is_marked = false;
        } else if is_comment {
            is_marked |= trimmed.starts_with("#[") && trimmed.contains("test");
            above.push_str(line);
            above.push('\n');
            continue;
        }
        match found.last_mut() {
            Some(test) => {
                test.text.push_str(&above);
                test.text.push_str(line);
                test.text.push('\n');
            }
            None => continue,
        }
        above.clear();
    }
    if found.is_empty() {
        found.push(TestCase {
            file: file.to_owned(),
            name: String::new(),
            text: text.to_owned(),
        });
    }
    found
}

/// The name of a test that begins on a line; `is_marked` says that an attribute above calls it one.
fn test_name(line: &str, is_marked: bool) -> Option<String> {
    let word = |rest: &str| -> String {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let is_named = |name: &str| name.to_lowercase().starts_with("test") && name.len() > 4;
    for (keyword, needs_name) in [("fn ", !is_marked), ("def ", true), ("func ", true)] {
        if let Some(rest) = line.strip_prefix(keyword) {
            let name = word(rest);
            return (!name.is_empty() && (!needs_name || is_named(&name))).then_some(name);
        }
    }
    for call in ["it(", "test("] {
        if let Some(rest) = line.strip_prefix(call) {
            let quote = rest.chars().next().filter(|c| "'\"`".contains(*c))?;
            let name = rest.get(1..)?.split(quote).next()?;
            return Some(name.to_owned());
        }
    }
    let shell = line
        .strip_suffix("() {")
        .or_else(|| line.strip_suffix("(){"));
    shell.map(word).filter(|name| is_named(name))
}

/// Finds what is about a requirement.
pub(super) struct Matcher {
    id: String,
    /// The id has a prefix, so it is looked for in texts.
    has_id: bool,
    words: BTreeSet<String>,
}

impl Matcher {
    pub(super) fn new(requirement: &Requirement) -> Self {
        let id = normal(&requirement.id);
        Self {
            has_id: id.starts_with(|c: char| c.is_ascii_uppercase()),
            id,
            words: words(&requirement.text),
        }
    }

    /// Whether a text names the id.
    pub(super) fn names(&self, text: &str) -> bool {
        self.has_id && ids(text).any(|id| id == self.id)
    }

    /// Whether a title shares enough words.
    pub(super) fn shares(&self, title: &str) -> bool {
        let needed = COMMON_WORDS.min(self.words.len());
        needed > 0 && words(title).intersection(&self.words).count() >= needed
    }
}

/// Everything in a text that looks like an id, in its normal form.
fn ids(text: &str) -> impl Iterator<Item = String> {
    let mut tokens: Vec<String> = Vec::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))) {
        let parts: Vec<&str> = word.split(['-', '_']).collect();
        for (at, part) in parts.iter().enumerate() {
            let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (prefix, number) = part.split_at_checked(letters).unwrap_or((part, ""));
            let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
            if letters == 0 || letters > 4 {
                continue;
            }
            if is_number(number) {
                tokens.push(normal(part.trim_end_matches('.')));
            } else if number.is_empty()
                && let Some(next) = parts.get(at + 1).filter(|next| is_number(next))
            {
                tokens.push(normal(&format!("{prefix}{}", next.trim_end_matches('.'))));
            }
        }
    }
    tokens.into_iter()
}

/// The words of a text that say what it is about, without their endings.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |word: &str| {
        let lower = word.to_lowercase();
        let stem = lower
            .trim_end_matches("ies")
            .trim_end_matches("es")
            .trim_end_matches('s');
        if stem.chars().count() >= 3 && !FILLERS.has(&lower) {
            found.insert(stem.to_owned());
        }
    };
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        // A word inside of a name such as countWords.
        let mut from = 0;
        for (at, c) in word.char_indices().skip(1) {
            let before = word.get(..at).and_then(|text| text.chars().next_back());
            if c.is_uppercase() && before.is_some_and(char::is_lowercase) {
                add(word.get(from..at).unwrap_or_default());
                from = at;
            }
        }
        add(word.get(from..).unwrap_or_default());
    }
    found
}
