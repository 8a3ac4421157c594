//! Syntax highlighting by small tables ([`super::grammar`]): keywords, strings, comments, numbers, names.
//!
//! It works line by line in one pass and carries a small [`HighlightState`], so that code that arrives in parts is coloured like the whole.

use super::grammar::{ALL, NONE, Quote, SyntaxKind, is_listed};

pub(crate) use super::grammar::Grammar;

/// The state at the start of a line: in plain code, or inside something that began on an earlier line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HighlightState {
    #[default]
    Plain,
    Comment,
    /// The string with this index in the language's table.
    String(u8),
    /// Between `<` and `>`.
    Tag,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxRole {
    /// Ordinary text.
    Plain,
    /// A word of the language.
    Keyword,
    String,
    Comment,
    Number,
    /// A key, tag, type or variable.
    Name,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
}

/// The grammar for an info string (`rust`, `rust,ignore`, `{.python}`); one without colours for an unknown language.
pub(crate) fn grammar(info: &str) -> &'static Grammar {
    let name = info
        .trim_start_matches(['{', '.'])
        .split([' ', ',', '{', '}', ':', ';', '\t'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    ALL.iter()
        .find(|grammar| is_listed(grammar.names, &name))
        .unwrap_or(&NONE)
}

/// Tokenizes one line (without its newline); the tokens joined are the line.
pub(crate) fn line<'a>(
    grammar: &Grammar,
    state: &mut HighlightState,
    line: &'a str,
    mut each: impl FnMut(&'a str, SyntaxRole),
) {
    match grammar.sort {
        SyntaxKind::None => piece(line, SyntaxRole::Plain, &mut each),
        SyntaxKind::Diff => piece(line, diff(line), &mut each),
        SyntaxKind::Code
        | SyntaxKind::Ticks
        | SyntaxKind::AnyCase
        | SyntaxKind::Dollar
        | SyntaxKind::Keys
        | SyntaxKind::Tags => {
            let mut scan = HighlightScan {
                grammar,
                line,
                offset: 0,
                plain: 0,
                each,
            };
            scan.run(state);
        }
    }
}

fn piece<'a>(text: &'a str, role: SyntaxRole, each: &mut impl FnMut(&'a str, SyntaxRole)) {
    if !text.is_empty() {
        each(text, role);
    }
}

fn diff(line: &str) -> SyntaxRole {
    match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => SyntaxRole::Added,
        Some(b'-') if !line.starts_with("---") => SyntaxRole::Removed,
        Some(b'@') => SyntaxRole::Name,
        Some(b' ') | None => SyntaxRole::Plain,
        Some(_) => SyntaxRole::Keyword,
    }
}

struct HighlightScan<'a, 'g, F> {
    grammar: &'g Grammar,
    line: &'a str,
    /// Current position.
    offset: usize,
    /// Start of the pending ordinary text.
    plain: usize,
    each: F,
}

impl<'a, F: FnMut(&'a str, SyntaxRole)> HighlightScan<'a, '_, F> {
    fn rest(&self) -> &'a str {
        self.line.get(self.offset..).unwrap_or_default()
    }

    /// The next `length` bytes have this role.
    fn take(&mut self, length: usize, role: SyntaxRole) {
        if role != SyntaxRole::Plain {
            let before = self.line.get(self.plain..self.offset).unwrap_or_default();
            piece(before, SyntaxRole::Plain, &mut self.each);
            let text = self
                .line
                .get(self.offset..self.offset + length)
                .unwrap_or_default();
            piece(text, role, &mut self.each);
            self.plain = self.offset + length;
        }
        self.offset += length;
    }

    fn run(&mut self, state: &mut HighlightState) {
        while self.offset < self.line.len() {
            match *state {
                HighlightState::Comment => self.comment(0, state),
                HighlightState::String(number) => {
                    match self.grammar.quotes.get(usize::from(number)) {
                        Some(quote) => self.string(quote, number, 0, state),
                        None => *state = HighlightState::Plain,
                    }
                }
                HighlightState::Plain | HighlightState::Tag => self.step(state),
            }
        }
        if let HighlightState::String(number) = *state
            && !self.quote_is_long(number)
        {
            *state = HighlightState::Plain;
        }
        let left = self.line.get(self.plain..).unwrap_or_default();
        piece(left, SyntaxRole::Plain, &mut self.each);
    }

    fn quote_is_long(&self, number: u8) -> bool {
        let quote = self.grammar.quotes.get(usize::from(number));
        quote.is_some_and(|quote| quote.long)
    }

    /// To the end of the comment, whose delimiter takes `open` bytes.
    fn comment(&mut self, open: usize, state: &mut HighlightState) {
        let close = self.grammar.block.map_or("", |(_, close)| close);
        let rest = self.rest();
        let found = rest.get(open..).and_then(|inner| inner.find(close));
        *state = match found {
            Some(_) => HighlightState::Plain,
            None => HighlightState::Comment,
        };
        let length = found.map_or(rest.len(), |at| open + at + close.len());
        self.take(length, SyntaxRole::Comment);
    }

    /// To the end of the string, whose delimiter takes `open` bytes.
    fn string(&mut self, quote: &Quote, number: u8, open: usize, state: &mut HighlightState) {
        let rest = self.rest();
        let mut at = open;
        let mut closed = false;
        while let Some(left) = rest.get(at..).filter(|left| !left.is_empty()) {
            if left.starts_with(quote.close) {
                at += quote.close.len();
                closed = true;
                break;
            }
            let mut chars = left.chars();
            if chars.next() == Some('\\') && quote.escapes {
                chars.next();
            }
            at = rest.len() - chars.as_str().len();
        }
        let inside_tag = self.grammar.sort == SyntaxKind::Tags;
        *state = match closed {
            false => HighlightState::String(number),
            true if inside_tag => HighlightState::Tag,
            true => HighlightState::Plain,
        };
        let key = self.grammar.sort == SyntaxKind::Keys
            && rest
                .get(at..)
                .is_some_and(|after| after.trim_start().starts_with(':'));
        let role = match key {
            true => SyntaxRole::Name,
            false => SyntaxRole::String,
        };
        self.take(at, role);
    }

    fn step(&mut self, state: &mut HighlightState) {
        let rest = self.rest();
        let before = self
            .line
            .get(..self.offset)
            .unwrap_or_default()
            .chars()
            .next_back();
        if let Some((open, _)) = self.grammar.block
            && *state == HighlightState::Plain
            && rest.starts_with(open)
        {
            return self.comment(open.len(), state);
        }
        let apart = before.is_none_or(|c| c.is_whitespace() || c == ';');
        let comments = self.grammar.comments.iter();
        if comments
            .clone()
            .any(|mark| rest.starts_with(mark) && (*mark != "#" || apart))
        {
            return self.take(rest.len(), SyntaxRole::Comment);
        }
        let Some(c) = rest.chars().next() else {
            return;
        };
        if self.grammar.sort == SyntaxKind::Tags {
            return self.markup(c, state);
        }
        if self.grammar.sort == SyntaxKind::Ticks && c == '\'' {
            return self.tick();
        }
        // A prefix such as `r"` counts only where a word could begin.
        let in_word = before.is_some_and(is_word);
        let quotes = self.grammar.quotes.iter().zip(0u8..);
        if let Some((quote, number)) = quotes
            .filter(|(quote, _)| !in_word || !quote.open.starts_with(char::is_alphabetic))
            .find(|(quote, _)| rest.starts_with(quote.open))
        {
            return self.string(quote, number, quote.open.len(), state);
        }
        if c.is_ascii_digit() && !in_word {
            let length = number(rest);
            return self.take(length, SyntaxRole::Number);
        }
        if is_word(c) {
            return self.word(rest);
        }
        if c == '$' && self.grammar.sort == SyntaxKind::Dollar {
            let name = rest.get(1..).unwrap_or_default();
            let length = match name.strip_prefix('{') {
                Some(inner) => inner.find('}').map_or(0, |at| at + 2),
                None => word_length(name, false),
            };
            let role = match length {
                0 => SyntaxRole::Plain,
                _ => SyntaxRole::Name,
            };
            return self.take(1 + length, role);
        }
        self.take(c.len_utf8(), SyntaxRole::Plain);
    }

    fn word(&mut self, rest: &'a str) {
        let keys = self.grammar.sort == SyntaxKind::Keys;
        let length = word_length(rest, keys);
        let word = rest.get(..length).unwrap_or_default();
        let lower = word.to_ascii_lowercase();
        let known = match self.grammar.sort {
            SyntaxKind::AnyCase => lower.as_str(),
            _ => word,
        };
        let after = rest.get(length..).unwrap_or_default().trim_start();
        let role = if is_listed(self.grammar.keywords, known) {
            SyntaxRole::Keyword
        } else if keys && after.starts_with([':', '=']) {
            SyntaxRole::Name
        } else if is_listed(self.grammar.constants, known) {
            SyntaxRole::Number
        } else if matches!(self.grammar.sort, SyntaxKind::Code | SyntaxKind::Ticks)
            && word.starts_with(|c: char| c.is_ascii_uppercase())
        {
            SyntaxRole::Name
        } else {
            SyntaxRole::Plain
        };
        self.take(length, role);
    }

    /// `'x'` is a character, `'a` a lifetime.
    fn tick(&mut self) {
        let rest = self.rest();
        let mut chars = rest.chars().skip(1);
        let length = match (chars.next(), chars.next()) {
            (Some('\\'), Some(escaped)) => {
                let from = 2 + escaped.len_utf8();
                let end = rest.get(from..).and_then(|tail| tail.find('\''));
                end.map(|end| from + end + 1)
            }
            (Some(c), Some('\'')) => Some(c.len_utf8() + 2),
            _ => None,
        };
        match length {
            Some(length) => self.take(length, SyntaxRole::String),
            None => {
                let name = word_length(rest.get(1..).unwrap_or_default(), false);
                self.take(1 + name, SyntaxRole::Name);
            }
        }
    }

    fn markup(&mut self, c: char, state: &mut HighlightState) {
        let rest = self.rest();
        match (*state, c) {
            (HighlightState::Tag, '>') => {
                *state = HighlightState::Plain;
                self.take(1, SyntaxRole::Keyword);
            }
            (HighlightState::Tag, '"' | '\'') => {
                let number = u8::from(c == '\'');
                if let Some(quote) = self.grammar.quotes.get(usize::from(number)) {
                    self.string(quote, number, 1, state);
                }
            }
            (HighlightState::Tag, _) if is_word(c) => {
                self.take(word_length(rest, true), SyntaxRole::Name);
            }
            (HighlightState::Plain, '<') => {
                let name = rest.get(1..).unwrap_or_default();
                let slash = usize::from(name.starts_with(['/', '!', '?']));
                let length = word_length(name.get(slash..).unwrap_or_default(), true);
                if length > 0 {
                    *state = HighlightState::Tag;
                }
                self.take(1 + slash + length, SyntaxRole::Keyword);
            }
            _ => self.take(c.len_utf8(), SyntaxRole::Plain),
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Length in bytes of the word at the start of a text.
fn word_length(text: &str, dashes: bool) -> usize {
    text.find(|c: char| !(is_word(c) || dashes && matches!(c, '-' | '.')))
        .unwrap_or(text.len())
}

/// Length in bytes of the number at the start of a text; `1..2` is two numbers.
fn number(text: &str) -> usize {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
        .unwrap_or(text.len());
    let whole = text.get(..end).unwrap_or_default();
    let end = whole.find("..").unwrap_or(end);
    let whole = text.get(..end).unwrap_or_default();
    whole.trim_end_matches('.').len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(info: &str, text: &str) -> Vec<(String, SyntaxRole)> {
        let mut state = HighlightState::Plain;
        let mut out = Vec::new();
        for row in text.lines() {
            line(grammar(info), &mut state, row, |text, role| {
                if role != SyntaxRole::Plain {
                    out.push((text.to_owned(), role));
                }
            });
        }
        out
    }

    fn says(info: &str, text: &str, want: &[(&str, SyntaxRole)]) {
        let want: Vec<(String, SyntaxRole)> = want
            .iter()
            .map(|(text, role)| ((*text).to_owned(), *role))
            .collect();
        assert_eq!(tokens(info, text), want, "{text}");
    }

    #[test]
    fn languages_are_told_apart() {
        use SyntaxRole::{Added, Comment, Keyword, Name, Number, Removed, String};
        says(
            "rust",
            "let x: &'a str = \"a\\\"b\"; // 'c'",
            &[
                ("let", Keyword),
                ("'a", Name),
                ("\"a\\\"b\"", String),
                ("// 'c'", Comment),
            ],
        );
        says(
            "rust,ignore",
            "r#\"a\nb\"# 'x' 0..10",
            &[
                ("r#\"a", String),
                ("b\"#", String),
                ("'x'", String),
                ("0", Number),
                ("10", Number),
            ],
        );
        says(
            "rs",
            "/* a\nb */ fn",
            &[("/* a", Comment), ("b */", Comment), ("fn", Keyword)],
        );
        says(
            "py",
            "def f(): # hi\n  \"\"\"doc\n  end\"\"\"",
            &[
                ("def", Keyword),
                ("# hi", Comment),
                ("\"\"\"doc", String),
                ("  end\"\"\"", String),
            ],
        );
        says(
            "sh",
            "echo \"$HOME\" $x ${y} $# # c",
            &[
                ("echo", Keyword),
                ("\"$HOME\"", String),
                ("$x", Name),
                ("${y}", Name),
                ("# c", Comment),
            ],
        );
        says(
            "json",
            "{\"a\": [1.5, true, \"b\"]}",
            &[
                ("\"a\"", Name),
                ("1.5", Number),
                ("true", Number),
                ("\"b\"", String),
            ],
        );
        says(
            "yaml",
            "key-a: yes # c",
            &[("key-a", Name), ("yes", Number), ("# c", Comment)],
        );
        says(
            "html",
            "<a href=\"x\">b</a>",
            &[
                ("<a", Keyword),
                ("href", Name),
                ("\"x\"", String),
                (">", Keyword),
                ("</a", Keyword),
                (">", Keyword),
            ],
        );
        says(
            "sql",
            "SELECT 1 -- c",
            &[("SELECT", Keyword), ("1", Number), ("-- c", Comment)],
        );
        says(
            "diff",
            "@@ 1\n+a\n-b\n c",
            &[("@@ 1", Name), ("+a", Added), ("-b", Removed)],
        );
        says("klingon", "let \"x\"", &[]);
        says(
            "js",
            "'not closed\nlet",
            &[("'not closed", String), ("let", Keyword)],
        );
    }

    proptest! {
        #[test]
        fn the_tokens_are_the_line(number in 0..ALL.len(), text in "([a-z0-9\"'`#/*$<>{}=:\\\\ -]|\\PC|/\\*|\"\"\"|<!--){0,60}") {
            let mut state = HighlightState::Plain;
            for row in [text.as_str(), &text] {
                let mut whole = String::new();
                line(&ALL[number], &mut state, row, |text, _| whole.push_str(text));
                prop_assert_eq!(whole.as_str(), row);
            }
        }
    }
}
