//! Goes through what a model wrote, once, and sorts it.

use super::body;
use super::families::{self, MarkKind, MarkMatch, Opened, find_close};
use super::{ModelText, RawCall};
use crate::base::word_list::WordList;
use crate::formats::lenient_json::value;

/// Values in braces that are looked at: more are no calls but a loop.
pub(super) const MAX_TRIED: usize = 32;
/// How the turn of the model begins, in small letters.
pub(super) const OWN_TURN: [&str; 7] = [
    "[/inst]",
    "<|assistant|>",
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<|chatbot_token|>",
    "<start_of_turn>model",
];
/// Roles of others than the model.
pub(super) const OTHER_ROLES: WordList = WordList("user system tool ipython developer observation");

/// Sorts `text`. `is_known` tells whether a name is that of a tool.
pub(crate) fn read(text: &str, is_known: &dyn Fn(&str) -> bool) -> ModelText {
    sorted(text, is_known, true)
}

/// `text` without thoughts and tokens; calls and data in it stay.
pub(crate) fn without_thoughts(text: &str) -> String {
    sorted(text, &|_| false, false).prose
}

fn sorted(text: &str, is_known: &dyn Fn(&str) -> bool, reads_calls: bool) -> ModelText {
    let mut reader = Reader {
        text,
        from: 0,
        is_known,
        reads_calls,
        tried: 0,
        has_steps: false,
        out: ModelText::default(),
    };
    let bare = text.trim_start();
    // The token at the beginning of a text; elsewhere it strikes words through.
    if bare.starts_with("<s>") && !bare.trim_end().trim_end_matches("</s>").contains("</s>") {
        reader.from = text.len() - bare.len() + "<s>".len();
    }
    reader.run();
    reader.out.prose = reader.out.prose.trim().to_owned();
    reader.out
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    /// Up to here it is sorted.
    pub(super) from: usize,
    pub(super) is_known: &'a dyn Fn(&str) -> bool,
    /// Calls are taken out; otherwise only what is no data.
    reads_calls: bool,
    pub(super) tried: usize,
    /// The answer is written in steps.
    pub(super) has_steps: bool,
    pub(super) out: ModelText,
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        if let Some(answer) = glued_channels(self.text) {
            self.out.has_thought = true;
            self.out.prose = answer.to_owned();
            return;
        }
        let mut at = self.from;
        while let Some(next) = self.candidate(at) {
            let here = self.rest(next);
            let is_line_start = self.is_line_start(next);
            let end = match here.as_bytes().first() {
                Some(b'<' | b'[' | 0xe2) if !self.reads_calls => self.mark(next),
                _ if !self.reads_calls => None,
                Some(b'`' | b'~') => self.code(next, is_line_start),
                Some(b'{') => self.json(next, is_line_start),
                Some(b'[') if body::is_python_list(here) => self.python_list(next, is_line_start),
                Some(b'[')
                    if here
                        .get(1..)
                        .is_some_and(|inside| inside.trim_start().starts_with('{')) =>
                {
                    self.json(next, is_line_start)
                }
                Some(b'<' | b'[' | 0xe2) => self.mark(next),
                _ => self.line(next),
            };
            at = match end {
                Some(end) => end.max(next),
                // Nothing that matters: on behind its first character.
                None => next + here.chars().next().map_or(1, char::len_utf8),
            };
            if self.from >= self.text.len() {
                return;
            }
        }
        self.keep(self.text.len());
    }

    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The next place at or after `at` where something may begin.
    fn candidate(&self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        (at..bytes.len()).find(|&n| match bytes.get(n) {
            Some(b'<' | b'[' | b'`' | b'{' | b'~') => true,
            // The first byte of ◁.
            Some(0xe2) => self.rest(n).starts_with('◁'),
            Some(byte) => {
                let may_be_step = byte.is_ascii_alphabetic() || *byte == b'*';
                may_be_step && self.is_line_start(n)
            }
            None => false,
        })
    }

    fn is_line_start(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.trim_end_matches([' ', '\t']);
        line.is_empty() || line.ends_with('\n') || at == self.from && self.is_silent()
    }

    /// Nothing was said so far.
    pub(super) fn is_silent(&self) -> bool {
        self.out.prose.trim().is_empty()
    }

    /// Keeps the text up to `end` as prose.
    pub(super) fn keep(&mut self, end: usize) {
        self.out
            .prose
            .push_str(self.text.get(self.from..end).unwrap_or_default());
        self.from = end;
    }

    /// Keeps what is before `start`, and drops what follows up to `end`.
    pub(super) fn drop(&mut self, start: usize, end: usize) -> Option<usize> {
        self.keep(start);
        self.from = end;
        Some(end)
    }

    /// Takes the calls of a block; without any it was meant as one and cannot be read.
    pub(super) fn take(&mut self, start: usize, end: usize, calls: Vec<RawCall>) -> Option<usize> {
        self.out.has_broken_call |= calls.is_empty();
        let placed = calls.into_iter().map(|call| RawCall {
            range: start..end,
            ..call
        });
        self.out.calls.extend(placed);
        self.drop(start, end)
    }

    fn mark(&mut self, at: usize) -> Option<usize> {
        match families::mark(self.rest(at)) {
            MarkMatch::Mark(mark) => self.opened(at, mark),
            MarkMatch::Unfinished if families::is_cut_mark(self.rest(at)) => {
                self.drop(at, self.text.len())
            }
            MarkMatch::Nothing | MarkMatch::Unfinished => None,
        }
    }

    fn opened(&mut self, at: usize, mark: Opened) -> Option<usize> {
        let inside = at + mark.len;
        match mark.kind {
            MarkKind::Thought if mark.is_closing => {
                // Its opening was in the template: all before it was thought.
                self.out.has_thought = true;
                self.out.prose.clear();
                self.from = inside;
                Some(inside)
            }
            _ if mark.is_closing => self.drop(at, inside),
            MarkKind::Thought | MarkKind::Result => {
                self.out.has_thought |= mark.kind == MarkKind::Thought;
                let end = find_close(self.text, inside, &mark.closers);
                self.drop(at, end.map_or(self.text.len(), |(_, end)| end))
            }
            MarkKind::Calls if !self.reads_calls => Some(inside),
            MarkKind::Calls => self.calls(at, &mark),
            MarkKind::Token => self.drop(at, inside),
            MarkKind::End => {
                self.drop(at, inside);
                let rest = self.rest(inside).trim_start();
                // What a model writes behind the end of its turn is no part of it.
                let goes_on = rest.starts_with(['<', '[']);
                if !goes_on && !self.is_silent() {
                    self.from = self.text.len();
                }
                Some(inside)
            }
            MarkKind::Role => {
                let rest = self.rest(inside).trim_start_matches([' ', '\n']);
                let role = body::identifier(rest);
                if OTHER_ROLES.has(role) {
                    return self.other_turn(at, inside);
                }
                let start = self.text.len() - rest.len();
                self.drop(at, start + role.len())
            }
            MarkKind::OtherTurn => self.other_turn(at, inside),
            MarkKind::Channel => self.channel(at, inside),
        }
    }

    /// What somebody else is made to say, up to the turn of the model.
    fn other_turn(&mut self, at: usize, inside: usize) -> Option<usize> {
        self.keep(at);
        let own = OWN_TURN.map(str::to_owned);
        let end = match self.is_silent() && self.out.calls.is_empty() {
            true => find_close(self.text, inside, &own).map(|(_, end)| end),
            false => None,
        };
        self.from = end.unwrap_or(self.text.len());
        Some(self.from)
    }

    fn calls(&mut self, at: usize, mark: &Opened) -> Option<usize> {
        let inside = at + mark.len;
        let rest = self.rest(inside);
        if mark.is_common && !mark.names_call && !rest.trim().is_empty() && !body::may_begin(rest) {
            // Somebody writes about the mark.
            return None;
        }
        self.tried += 1;
        if self.tried > MAX_TRIED {
            return self.take(at, self.text.len(), Vec::new());
        }
        let closed = self.close_of_calls(inside, mark);
        let (end, after) = closed.unwrap_or((self.text.len(), self.text.len()));
        let from = if mark.names_call { at } else { inside };
        let to = if mark.names_call { after } else { end };
        let calls = body::calls(
            self.text.get(from..to).unwrap_or_default(),
            closed.is_some(),
        );
        if calls.is_empty()
            && mark.is_common
            && !mark.names_call
            && closed.is_some()
            && !rest.trim_start().starts_with(['{', '[', '<'])
        {
            return None;
        }
        self.take(at, after, calls)
    }

    /// Where a block of calls ends: at its mark, but not inside a string of its JSON.
    fn close_of_calls(&self, inside: usize, mark: &Opened) -> Option<(usize, usize)> {
        let rest = self.rest(inside);
        let json = rest.trim_start();
        let read = match json.starts_with(['{', '[']) {
            true => value(json).map_or(0, |(_, length)| rest.len() - json.len() + length),
            false => 0,
        };
        find_close(self.text, inside + read, &mark.closers)
    }
}

/// The answer of a harmony text whose marks were stripped: the names of the channels are glued to what they hold.
fn glued_channels(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let thought = text.strip_prefix("analysis")?;
    let is_glued = thought.starts_with(|c: char| !c.is_ascii_lowercase() && c != ' ' && c != '.');
    let (_, answer) = thought.split_once("assistantfinal").filter(|_| is_glued)?;
    Some(answer.trim())
}
