//! `SKILL.md`: front matter and the instructions after it (<https://agentskills.io/specification>).
//!
//! The front matter is read as leniently as other programs read it: a line `key: value` is a value whatever is in it, so an unquoted description may have
//! colons. Of YAML it knows quoted texts, block texts (`|`, `>`), texts that go on in indented lines, and lists and maps of one level.

/// Longest name in characters.
const MAX_NAME: usize = 64;
/// Longest description in characters.
const MAX_DESCRIPTION: usize = 1_024;
/// Longest remark about what a skill needs, in characters.
const MAX_COMPATIBILITY: usize = 500;
/// Lines of front matter that are read.
const MAX_LINES: usize = 1_000;

/// What a skill says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SkillFile {
    pub name: String,
    pub description: String,
    pub license: String,
    pub compatibility: String,
    pub metadata: Vec<(String, String)>,
    /// Rules as `--allowed-tools` takes them.
    pub allowed_tools: Vec<String>,
    /// Only the user calls it.
    pub is_for_user_alone: bool,
    /// The user cannot call it.
    pub is_for_model_alone: bool,
    /// Where the instructions begin, in bytes.
    pub body: usize,
    /// What is wrong, a sentence each.
    pub faults: Vec<String>,
}

/// The value of a key.
#[derive(Debug, PartialEq, Eq)]
enum FrontValue {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

impl FrontValue {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(texts) => texts.join(" "),
            Self::Map(_) => String::new(),
        }
    }
}

impl SkillFile {
    /// Reads the beginning of a file. Nothing is an error: what cannot be used is a fault.
    pub(crate) fn parse(text: &str) -> Self {
        let mut skill = Self::default();
        let Some((front, body)) = split(text) else {
            skill.fault("It has no front matter: a line --- before it and one after it.");
            return skill;
        };
        skill.body = body;
        for (key, value) in fields(front) {
            match key {
                "name" => skill.name = value.text(),
                "description" => skill.description = value.text(),
                "license" => skill.license = value.text(),
                "compatibility" => skill.compatibility = value.text(),
                "allowed-tools" => {
                    skill.allowed_tools = match value {
                        FrontValue::List(rules) => rules,
                        value => Some(value.text())
                            .filter(|text| !text.is_empty())
                            .into_iter()
                            .collect(),
                    }
                }
                "metadata" => {
                    if let FrontValue::Map(pairs) = value {
                        skill.metadata = pairs;
                    }
                }
                "disable-model-invocation" => skill.is_for_user_alone = is_true(&value.text()),
                "user-invocable" => skill.is_for_model_alone = is_false(&value.text()),
                _ => {}
            }
        }
        if skill.description.is_empty() {
            skill.fault("It has no description, so the model is not told of it.");
        }
        cut(
            &mut skill.description,
            MAX_DESCRIPTION,
            "description",
            &mut skill.faults,
        );
        cut(
            &mut skill.compatibility,
            MAX_COMPATIBILITY,
            "compatibility",
            &mut skill.faults,
        );
        skill
    }

    fn fault(&mut self, words: &str) {
        self.faults.push(words.to_owned());
    }
}

/// Whether a name is one that the specification allows.
pub(crate) fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=MAX_NAME).contains(&name.len())
        && name
            .split('-')
            .all(|part| !part.is_empty() && part.chars().all(is_letter))
}

fn cut(text: &mut String, most: usize, what: &str, faults: &mut Vec<String>) {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        faults.push(format!(
            "Its {what} is longer than {most} characters, and was cut."
        ));
    }
}

fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on")
}

fn is_false(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "false" | "no" | "off")
}

/// The front matter, and where the text after it begins.
fn split(text: &str) -> Option<(&str, usize)> {
    let bom = text
        .strip_prefix('\u{feff}')
        .map_or(0, |_| '\u{feff}'.len_utf8());
    let mut at = bom;
    let mut start = None;
    for line in text.get(bom..)?.split_inclusive('\n').take(MAX_LINES) {
        let after = at + line.len();
        let bare = line.trim_end();
        match start {
            None if bare == "---" => start = Some(after),
            None => return None,
            Some(from) if bare == "---" || bare == "..." => {
                return Some((text.get(from..at)?, after));
            }
            Some(_) => {}
        }
        at = after;
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The keys of a front matter with their values, in order.
fn fields(front: &str) -> Vec<(&str, FrontValue)> {
    let mut fields = Vec::new();
    let mut lines = front.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, rest)) = key_of(line).filter(|_| indent(line) == 0) else {
            continue;
        };
        let mut below = Vec::new();
        while let Some(next) = lines.peek() {
            // A list may stand as far left as its key.
            let is_below = next.trim().is_empty() || indent(next) > 0 || next.starts_with("- ");
            if !is_below {
                break;
            }
            below.extend(lines.next());
        }
        fields.push((key, value(rest, &below)));
    }
    fields
}

/// A line's key and what is after the colon.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && !key.starts_with(['#', '-']);
    // Without a space it is no key: `http://…`.
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t']))).then(|| (key, rest.trim()))
}

/// The value that begins on its key's line and goes on in the lines below.
fn value(first: &str, below: &[&str]) -> FrontValue {
    let lines = || below.iter().filter(|line| !line.trim().is_empty());
    if first.starts_with(['|', '>']) {
        return FrontValue::Text(block(first.starts_with('>'), below));
    }
    if let Some(inner) = first.strip_prefix('[') {
        let inner = inner.split(']').next().unwrap_or_default();
        let items = inner.split(',').map(scalar);
        return FrontValue::List(items.filter(|item| !item.is_empty()).collect());
    }
    if first.is_empty() && lines().all(|line| line.trim_start().starts_with("- ")) {
        let items = lines().filter_map(|line| line.trim_start().strip_prefix("- "));
        let items: Vec<String> = items.map(scalar).collect();
        return match items.is_empty() {
            true => FrontValue::Text(String::new()),
            false => FrontValue::List(items),
        };
    }
    if first.is_empty() && lines().all(|line| key_of(line).is_some()) {
        let pairs = lines().filter_map(|line| key_of(line));
        return FrontValue::Map(
            pairs
                .map(|(key, rest)| (key.to_owned(), scalar(rest)))
                .collect(),
        );
    }
    // Plain and quoted texts go on in indented lines.
    let parts = std::iter::once(first).chain(lines().map(|line| line.trim()));
    let whole: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    FrontValue::Text(scalar(&whole.join(" ")))
}

/// A text in lines of its own; folded ones are joined.
fn block(is_folded: bool, lines: &[&str]) -> String {
    let own = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = own.map(|line| indent(line)).min().unwrap_or_default();
    let lines = lines
        .iter()
        .map(|line| line.get(margin..).unwrap_or_default());
    let mut text = String::new();
    for line in lines {
        match (is_folded, line.trim().is_empty()) {
            (true, false) if !text.is_empty() && !text.ends_with('\n') => {
                text.push(' ');
                text.push_str(line.trim_end());
            }
            (true, false) => text.push_str(line.trim_end()),
            (true, true) => text.push('\n'),
            (false, _) => {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
    }
    text.trim().to_owned()
}

/// A text without its quotes, or up to a comment.
fn scalar(text: &str) -> String {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('"') {
        return unescaped(quoted);
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let marked = quoted.replace("''", "\u{0}");
        let inner = marked.split('\'').next().unwrap_or_default();
        return inner.replace('\u{0}', "'");
    }
    let end = text.find(" #").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end().to_owned()
}

/// The content of a text in double quotes, up to the closing one.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_example_is_read() {
        let text = "---\nname: pdf-processing\ndescription: Extract PDF text, fill forms, merge files. Use when handling PDFs.\nlicense: Apache-2.0\nmetadata:\n  author: example-org\n  version: \"1.0\"\nallowed-tools: Bash(git:*) Read\n---\n# Steps\n";
        let skill = SkillFile::parse(text);
        assert_eq!(skill.name, "pdf-processing");
        assert!(skill.description.ends_with("handling PDFs."));
        assert_eq!(
            skill.metadata,
            [
                ("author".to_owned(), "example-org".to_owned()),
                ("version".to_owned(), "1.0".to_owned())
            ]
        );
        assert_eq!(skill.allowed_tools, ["Bash(git:*) Read"]);
        assert_eq!(&text[skill.body..], "# Steps\n");
        assert!(skill.faults.is_empty() && !skill.is_for_user_alone);
    }

    #[test]
    fn values_are_read_as_people_write_them() {
        for (front, expected) in [
            (
                "description: Use it when: the user asks",
                "Use it when: the user asks",
            ),
            (
                "description: \"A \\\"quoted\\\" one: yes\" # no",
                "A \"quoted\" one: yes",
            ),
            ("description: 'It''s here'", "It's here"),
            ("description: >\n  one\n  two\n\n  three", "one two\nthree"),
            ("description: |-\n  one\n    two", "one\n  two"),
            (
                "description: one\n  two\n  three: four",
                "one two three: four",
            ),
            (
                "description: see http://example.org/#a # a comment",
                "see http://example.org/#a",
            ),
            ("description:\n  - one\n  - two", "one two"),
            ("description: [one, 'two']", "one two"),
            ("\"description\": one\r", "one"),
            ("description: no\ndescription: the last one", "the last one"),
            ("other: x\n  nested: y\ndescription: d", "d"),
        ] {
            let skill = SkillFile::parse(&format!("---\n{front}\n---\n"));
            assert_eq!(skill.description, expected, "{front}");
        }
        let skill = SkillFile::parse(
            "\u{feff}---\nallowed-tools:\n- Bash(git:*)\n- Read\ndisable-model-invocation: true\nuser-invocable: false\n...\nx",
        );
        assert_eq!(skill.allowed_tools, ["Bash(git:*)", "Read"]);
        assert!(skill.is_for_user_alone && skill.is_for_model_alone);
    }

    #[test]
    fn what_is_wrong_is_a_fault() {
        for (text, words) in [
            ("", "no front matter"),
            ("# Title\n---\nname: x\n---\n", "no front matter"),
            ("---\nname: x\n", "no front matter"),
            ("---\nname: x\n---\n", "no description"),
            ("---\ndescription:\n---\n", "no description"),
        ] {
            let faults = SkillFile::parse(text).faults;
            assert!(
                faults.iter().any(|fault| fault.contains(words)),
                "{text:?} {faults:?}"
            );
        }
        let long = SkillFile::parse(&format!("---\ndescription: {}\n---\n", "é".repeat(2_000)));
        assert_eq!(long.description.chars().count(), MAX_DESCRIPTION);
        assert!(long.faults[0].contains("was cut"));
    }

    #[test]
    fn names_are_those_of_the_specification() {
        for name in ["a", "pdf-processing", "x1", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "../a",
            "a/b",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
