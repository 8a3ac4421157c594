//! Answers in the steps of an agent: thought, action, observation, final answer (<https://arxiv.org/abs/2210.03629>), and Granite 3.2's thought before a
//! response.

use super::RawCall;
use super::body;
use super::families;
use super::reader::Reader;
use crate::formats::lenient_json::{value, whole_value};

/// Words at the start of a line that only the steps of an agent begin with (<https://arxiv.org/abs/2210.03629>).
pub(super) const STEPS: [&str; 6] = [
    "thought:",
    "action:",
    "action input:",
    "observation:",
    "final answer:",
    "here is my thought process:",
];

impl Reader<'_> {
    /// A line that begins like a step of an agent.
    pub(super) fn line(&mut self, at: usize) -> Option<usize> {
        let here = self.rest(at);
        let bare = here.trim_start_matches('*');
        let at_word = at + here.len() - bare.len();
        if let Some(after) = bare
            .strip_prefix("functools")
            .filter(|after| after.starts_with('['))
        {
            let (calls, end) = match value(after) {
                Some((found, length)) => {
                    let end = self.text.len() - after.len() + length;
                    (body::of_json(&found).unwrap_or_default(), end)
                }
                None => (Vec::new(), self.text.len()),
            };
            return self.take(at, end, calls);
        }
        let step = STEPS
            .iter()
            .find(|step| families::starts_with(bare, step).is_some())?;
        let inside = at_word + step.len();
        match *step {
            "thought:" => {
                let is_first = self.is_silent() && self.text.get(self.from..at)?.trim().is_empty();
                let next = self.next_step(inside);
                let acts = next.is_some_and(|next| {
                    let bare = self.rest(next).trim_start_matches([' ', '*']);
                    families::starts_with(bare, "action:").is_some()
                });
                if !is_first && !self.has_steps && !acts {
                    return None;
                }
                self.has_steps = true;
                self.out.has_thought = true;
                let end = next.unwrap_or_else(|| {
                    self.rest(inside)
                        .find('\n')
                        .map_or(self.text.len(), |line| inside + line)
                });
                self.drop(at, end)
            }
            "here is my thought process:" if self.is_silent() => {
                self.out.has_thought = true;
                let answer = "here is my response:";
                let end = self
                    .find_folded(inside, answer)
                    .map(|found| found + answer.len());
                self.drop(at, end.unwrap_or(self.text.len()))
            }
            "final answer:" => {
                if self.has_steps {
                    self.out.prose.clear();
                    self.from = at;
                }
                let rest = self.rest(inside);
                let skipped = rest.len() - rest.trim_start_matches('*').len();
                self.drop(at, inside + skipped)
            }
            "observation:" if self.has_steps => self.drop(at, self.next_answer(inside)),
            "action:" => self.action(at, inside),
            _ => None,
        }
    }

    fn find_folded(&self, from: usize, words: &str) -> Option<usize> {
        let mut rest = self.rest(from).char_indices();
        rest.find(|(n, _)| families::starts_with(self.rest(from + n), words).is_some())
            .map(|(n, _)| from + n)
    }

    /// Where the next step begins.
    fn next_step(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for line in self.rest(from).split_inclusive('\n') {
            let bare = line.trim_start_matches([' ', '*']);
            let is_step = STEPS
                .iter()
                .any(|step| families::starts_with(bare, step).is_some());
            if is_step && at > from {
                return Some(at);
            }
            at += line.len();
        }
        None
    }

    /// Where the final answer begins; what stands before it is what the model made up.
    fn next_answer(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(next) = self.next_step(at) {
            let bare = self.rest(next).trim_start_matches([' ', '*']);
            if families::starts_with(bare, "final answer:").is_some() && self.out.calls.is_empty() {
                return next;
            }
            at = next;
        }
        self.text.len()
    }

    /// `Action: name` with `Action Input:` behind it, or with JSON (<https://docs.cohere.com/docs/command-r-hf>).
    fn action(&mut self, at: usize, inside: usize) -> Option<usize> {
        let rest = self.rest(inside).trim_start_matches(['*', ' ', '\t', '\n']);
        let start = self.text.len() - rest.len();
        if rest.starts_with("```") || rest.starts_with(['{', '[']) {
            let json = rest.find(['{', '['])?;
            let (found, length) = value(rest.get(json..)?)?;
            let calls = body::of_json(&found)?;
            self.has_steps = true;
            let after = rest.get(json + length..)?;
            let end = self.text.len() - after.trim_start().trim_start_matches('`').len();
            let end = self.take(at, end, calls)?;
            return Some(end);
        }
        let name = body::identifier(rest.trim_start_matches('`'));
        let line = rest.split('\n').next().unwrap_or_default();
        let is_name = !name.is_empty()
            && line.trim_matches(|c: char| c.is_whitespace() || "`*".contains(c)) == name;
        let input = rest.get(line.len()..)?.trim_start().trim_start_matches('*');
        let input_at = families::starts_with(input, "action input:");
        let Some(length) = input_at.filter(|_| is_name) else {
            // A known tool needs no input.
            if is_name && (self.is_known)(name) && self.rest(start + line.len()).trim().is_empty() {
                let call = RawCall::json(name, serde_json::Value::Null);
                return self.take(at, self.text.len(), vec![call]);
            }
            return None;
        };
        let name = name.to_owned();
        self.has_steps = true;
        let given = input.get(length..)?.trim_start_matches(['*', ' ']);
        let given_at = self.text.len() - given.len();
        let end = self.next_step(given_at).unwrap_or(self.text.len());
        let given = self.text.get(given_at..end).unwrap_or_default();
        let given = given
            .trim()
            .trim_matches('`')
            .trim_start_matches("json")
            .trim();
        let arguments = match given.starts_with('{') {
            true => whole_value(given).map(|(value, _)| value),
            false => Some(serde_json::Value::from(given.trim_matches('"'))),
        };
        let calls = arguments.map(|arguments| RawCall::json(&name, arguments));
        self.take(at, end, calls.into_iter().collect())
    }
}
