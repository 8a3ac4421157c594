//! What came out, in numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::options::Part;
use super::run::{Item, Outcome};

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    messages: usize,
    /// Those with a right tool, and those of them where it ran.
    with_tool: usize,
    right_tool: usize,
    right_end: usize,
    machinery: usize,
    calls: usize,
    took: Duration,
    tokens: u64,
}

/// The sums of each part and each language.
#[derive(Debug, Default)]
pub(crate) struct Table {
    parts: Vec<(Part, Row)>,
    languages: BTreeMap<String, Row>,
}

impl Table {
    pub(crate) fn add(&mut self, item: &Item, outcome: &Outcome) {
        if !self.parts.iter().any(|(part, _)| *part == item.part) {
            self.parts.push((item.part, Row::default()));
        }
        let part = self.parts.iter_mut().find(|(part, _)| *part == item.part);
        if let Some((_, row)) = part {
            row.add(outcome);
        }
        let language = &item.conversation.language;
        self.languages
            .entry(language.clone())
            .or_default()
            .add(outcome);
    }

    /// How often the right tool ran, of how many messages with one.
    pub(crate) fn right_tools(&self) -> (usize, usize) {
        let all = self.parts.iter().map(|(_, row)| row);
        all.fold((0, 0), |(right, of), row| {
            (right + row.right_tool, of + row.with_tool)
        })
    }

    /// Whether every answer was one and showed no machinery.
    pub(crate) fn is_clean(&self) -> bool {
        let mut all = self.parts.iter().map(|(_, row)| row);
        all.all(|row| row.machinery == 0 && row.right_end == row.messages)
    }

    /// As Markdown.
    pub(crate) fn render(&self, model: &str) -> String {
        let mut out = format!(
            "\n{model}\n\n| what | messages | right tool | right end | machinery seen | calls a message | seconds a message | tokens a message |\n|---|---|---|---|---|---|---|---|\n"
        );
        let parts = self.parts.iter().map(|(part, row)| (part.name(), row));
        let languages = self.languages.iter();
        let languages = languages.map(|(language, row)| (language.as_str(), row));
        for (name, row) in parts.chain(languages) {
            let _ = writeln!(out, "{}", row.render(name));
        }
        out
    }
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        for turn in &outcome.turns {
            self.messages += 1;
            self.with_tool += usize::from(turn.right_tool.is_some());
            self.right_tool += usize::from(turn.right_tool == Some(true));
            self.right_end += usize::from(turn.wrong_end.is_none());
            self.machinery += usize::from(!turn.machinery.is_empty());
            self.took += turn.took;
        }
        self.calls += outcome.exchanges.len();
        self.tokens += outcome
            .exchanges
            .iter()
            .map(|one| one.tokens())
            .sum::<u64>();
    }

    fn render(&self, name: &str) -> String {
        let messages = self.messages.max(1) as f64;
        let share = |right: usize, of: usize| match of {
            0 => "-".to_owned(),
            _ => format!("{right}/{of} ({:.0} %)", 100.0 * right as f64 / of as f64),
        };
        format!(
            "| {name} | {} | {} | {} | {} | {:.1} | {:.2} | {:.0} |",
            self.messages,
            share(self.right_tool, self.with_tool),
            share(self.right_end, self.messages),
            self.machinery,
            self.calls as f64 / messages,
            self.took.as_secs_f64() / messages,
            self.tokens as f64 / messages,
        )
    }
}
