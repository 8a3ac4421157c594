//! Goes through what a model wrote, once, and sorts it.

use super::body;
use super::families::{self, Found, Kind, Opened, find_close};
use super::{ModelText, RawCall};
use crate::formats::lenient_json::{value, whole_value};

/// Values in braces that are looked at: more are no calls but a loop.
const MAX_TRIED: usize = 32;
/// Characters of prose before a fence with a call to a tool that nobody has: with more it is a text about such calls.
const MAX_LEAD: usize = 160;
/// The longest code in a line, in bytes.
pub(super) const MAX_CODE: usize = 2_000;
/// The longest header of a message in OpenAI's harmony format.
pub(super) const MAX_HEADER: usize = 200;
/// Languages of a fence in which calls are written.
pub(super) const CALL_LANGUAGES: [&str; 12] = [
    "",
    "json",
    "jsonc",
    "json5",
    "xml",
    "text",
    "txt",
    "plaintext",
    "python",
    "py",
    "tools",
    "function",
];
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
/// What closes a message of harmony.
pub(super) const CHANNEL_ENDS: [&str; 5] = [
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|start|>",
    "<|channel|>",
];
/// Roles of others than the model.
pub(super) const OTHER_ROLES: [&str; 6] = [
    "user",
    "system",
    "tool",
    "ipython",
    "developer",
    "observation",
];
/// Words at the start of a line that only the steps of an agent begin with (<https://arxiv.org/abs/2210.03629>).
pub(super) const STEPS: [&str; 6] = [
    "thought:",
    "action:",
    "action input:",
    "observation:",
    "final answer:",
    "here is my thought process:",
];

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

struct Reader<'a> {
    text: &'a str,
    /// Up to here it is sorted.
    from: usize,
    is_known: &'a dyn Fn(&str) -> bool,
    /// Calls are taken out; otherwise only what is no data.
    reads_calls: bool,
    tried: usize,
    /// The answer is written in steps.
    has_steps: bool,
    out: ModelText,
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

    fn rest(&self, at: usize) -> &'a str {
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
    fn is_silent(&self) -> bool {
        self.out.prose.trim().is_empty()
    }

    /// Keeps the text up to `end` as prose.
    fn keep(&mut self, end: usize) {
        self.out
            .prose
            .push_str(self.text.get(self.from..end).unwrap_or_default());
        self.from = end;
    }

    /// Keeps what is before `start`, and drops what follows up to `end`.
    fn drop(&mut self, start: usize, end: usize) -> Option<usize> {
        self.keep(start);
        self.from = end;
        Some(end)
    }

    /// Takes the calls of a block; without any it was meant as one and cannot be read.
    fn take(&mut self, start: usize, end: usize, calls: Vec<RawCall>) -> Option<usize> {
        self.out.has_broken_call |= calls.is_empty();
        self.out.calls.extend(calls);
        self.drop(start, end)
    }

    fn mark(&mut self, at: usize) -> Option<usize> {
        match families::mark(self.rest(at)) {
            Found::Mark(mark) => self.opened(at, mark),
            Found::Unfinished if families::is_cut_mark(self.rest(at)) => {
                self.drop(at, self.text.len())
            }
            Found::Nothing | Found::Unfinished => None,
        }
    }

    fn opened(&mut self, at: usize, mark: Opened) -> Option<usize> {
        let inside = at + mark.len;
        match mark.kind {
            Kind::Thought if mark.is_closing => {
                // Its opening was in the template: all before it was thought.
                self.out.has_thought = true;
                self.out.prose.clear();
                self.from = inside;
                Some(inside)
            }
            _ if mark.is_closing => self.drop(at, inside),
            Kind::Thought | Kind::Result => {
                self.out.has_thought |= mark.kind == Kind::Thought;
                let end = find_close(self.text, inside, &mark.closers);
                self.drop(at, end.map_or(self.text.len(), |(_, end)| end))
            }
            Kind::Calls if !self.reads_calls => Some(inside),
            Kind::Calls => self.calls(at, &mark),
            Kind::Token => self.drop(at, inside),
            Kind::End => {
                self.drop(at, inside);
                let rest = self.rest(inside).trim_start();
                // What a model writes behind the end of its turn is no part of it.
                let goes_on = rest.starts_with(['<', '[']);
                if !goes_on && !self.is_silent() {
                    self.from = self.text.len();
                }
                Some(inside)
            }
            Kind::Role => {
                let rest = self.rest(inside).trim_start_matches([' ', '\n']);
                let role = body::identifier(rest);
                if OTHER_ROLES.contains(&role) {
                    return self.other_turn(at, inside);
                }
                let start = self.text.len() - rest.len();
                self.drop(at, start + role.len())
            }
            Kind::OtherTurn => self.other_turn(at, inside),
            Kind::Channel => self.channel(at, inside),
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

    /// A message of OpenAI's harmony format: a header with channel and recipient, and the content behind `<|message|>`.
    fn channel(&mut self, at: usize, inside: usize) -> Option<usize> {
        let rest = crate::base::text::head(self.rest(inside), MAX_HEADER);
        let Some((header, _)) = rest.split_once("<|message|>") else {
            // A header alone, cut or broken.
            let end = match self.rest(inside).find('\n') {
                Some(line) if self.rest(inside).len() > MAX_HEADER => inside + line,
                _ => self.text.len(),
            };
            return self.drop(at, end);
        };
        let start = inside + header.len() + "<|message|>".len();
        let closed = find_close(self.text, start, &CHANNEL_ENDS.map(str::to_owned));
        let (end, after) = match closed {
            Some((end, after)) => (end, self.goes_on_at(end, after)),
            None => (self.text.len(), self.text.len()),
        };
        if let Some((_, to)) = header.split_once("to=") {
            let name = body::identifier(to.trim_start_matches("functions."));
            let content = self.text.get(start..end).unwrap_or_default().trim();
            let read = match closed {
                Some(_) => whole_value(content),
                None => value(content),
            };
            let calls = match read {
                Some((arguments, _)) => vec![RawCall::json(name, arguments)],
                None if content.is_empty() && closed.is_some() => {
                    vec![RawCall::json(name, serde_json::Value::Null)]
                }
                None => Vec::new(),
            };
            return self.take(at, after, calls);
        }
        if header.contains("analysis") {
            self.out.has_thought = true;
            return self.drop(at, after);
        }
        self.drop(at, start)
    }

    /// Where a message ends: the start of the next one is not taken.
    fn goes_on_at(&self, end: usize, after: usize) -> usize {
        let close = self.text.get(end..after).unwrap_or_default();
        if close == "<|start|>" || close == "<|channel|>" {
            end
        } else {
            after
        }
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

    /// Code is shown as it is, but for a fence at the end that holds a call and nothing else.
    fn code(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
        let here = self.rest(at);
        let tick = here.chars().next()?;
        let run = here.len() - here.trim_start_matches(tick).len();
        let ticks = here.get(..run).unwrap_or_default();
        // The fence that is taught counts wherever it stands.
        let is_taught = run >= 3 && tick == '`' && self.rest(at + run).starts_with("tool_call");
        if !is_taught && (run < 3 || !is_line_start) {
            if tick == '~' {
                return Some(at + run);
            }
            // Code in a line, up to as many ticks as opened it.
            let inside = crate::base::text::head(here.get(run..).unwrap_or_default(), MAX_CODE);
            let ends = ["\n\n", "```tool_call"].iter();
            let ends = ends.filter_map(|end| inside.find(end)).min();
            let paragraph = ends.unwrap_or(inside.len());
            let mut from = 0;
            while let Some(found) = inside.get(from..paragraph)?.find(ticks) {
                let close = from + found;
                let after = inside.get(close..)?;
                let length = after.len() - after.trim_start_matches(tick).len();
                if length == run {
                    return Some(at + run + close + run);
                }
                from = close + length;
            }
            return Some(at + run);
        }
        let (info, _) = here
            .get(run..)?
            .split_once('\n')
            .unwrap_or((here.get(run..)?, ""));
        let language = info.trim().to_ascii_lowercase();
        if !is_taught && info.contains('`') {
            return Some(at + run);
        }
        if let Some(rest) = language.strip_prefix("tool_call") {
            // On the line of the fence as well.
            let line = rest.trim_start_matches('s').trim();
            let first = here.find('\n').map_or(here.len(), |end| end + 1);
            let start = match line.is_empty() {
                true => first,
                false => here.find(['{', '[']).unwrap_or(first),
            };
            return self.fenced_calls(at, at + start);
        }
        let (inside, end, is_closed) = self.fence(at, run, ticks);
        let content = self.text.get(inside.clone()).unwrap_or_default();
        if language.starts_with("tool_code") {
            let calls = body::calls(content, is_closed);
            return self.take(at, end, calls);
        }
        if language.starts_with("tool_output") || language.starts_with("tool_response") {
            return self.drop(at, end);
        }
        if CALL_LANGUAGES.contains(&language.as_str()) && self.rest(end).trim().is_empty() {
            let calls = self.quoted_calls(content.trim(), is_closed);
            let is_known = calls.iter().any(|call| (self.is_known)(&call.name));
            let lead = self.text.get(self.from..at).unwrap_or_default();
            let lead = self.out.prose.chars().count() + lead.trim().chars().count();
            let names_tool = body::first_name(content).is_some_and(|name| (self.is_known)(name));
            let is_meant = names_tool || body::looks_like_call(content) || begins_mark(content);
            let is_cut = !is_closed && is_meant;
            if is_cut && lead <= MAX_LEAD || !calls.is_empty() && (is_known || lead <= MAX_LEAD) {
                return self.take(at, end, calls);
            }
        }
        Some(end)
    }

    /// The inside of a fence, its end, and whether it is closed.
    fn fence(&self, at: usize, run: usize, ticks: &str) -> (std::ops::Range<usize>, usize, bool) {
        let first = self
            .rest(at)
            .find('\n')
            .map_or(self.text.len(), |line| at + line + 1);
        let mut line_at = first;
        for line in self.rest(first).split_inclusive('\n') {
            let bare = line.trim();
            if bare.contains("```tool_call") {
                // The fence that is taught counts in any other one.
                return (first..line_at, line_at, false);
            }
            let is_close = bare.starts_with(ticks) && bare.chars().all(|c| ticks.contains(c));
            if is_close && bare.len() >= run {
                return (first..line_at, line_at + line.len(), true);
            }
            line_at += line.len();
        }
        (first..self.text.len(), self.text.len(), false)
    }

    /// The fence that Marvin teaches: JSON up to its end, which may hold fences itself, then the closing fence if there is one.
    fn fenced_calls(&mut self, at: usize, start: usize) -> Option<usize> {
        let rest = self.rest(start);
        let json = rest.trim_start();
        let mut read = rest.len() - json.len();
        let mut calls = Vec::new();
        let mut json = json;
        while json.starts_with(['{', '['])
            && let Some((found, length)) = value(json)
        {
            calls.extend(body::marked(&found));
            let after = json.get(length..).unwrap_or_default();
            let next = after.trim_start_matches([',', ' ', '\n', '\r', '\t']);
            read += json.len() - next.len();
            json = next;
        }
        let after = self.rest(start + read);
        if let Some(closed) = after
            .strip_prefix("```")
            .filter(|rest| !rest.starts_with("tool_call"))
        {
            return self.take(at, self.text.len() - closed.len(), calls);
        }
        if calls.is_empty() {
            let (inside, end, is_closed) = self.fence(at, 3, "```");
            let content = self
                .text
                .get(inside.start.max(start).min(inside.end)..inside.end);
            let content = content.unwrap_or_default();
            let inner = content.trim();
            let inner = inner.strip_suffix("```").unwrap_or(inner);
            let is_closed = is_closed || inner.len() < content.trim().len();
            let calls = body::calls(inner, is_closed);
            return self.take(at, end, calls);
        }
        // Ticks that are left of a closing fence.
        let left = after.trim_start_matches('`');
        let end = match left.trim().is_empty() {
            true => self.text.len(),
            false => start + read,
        };
        self.take(at, end, calls)
    }

    /// The calls in a fence that holds nothing else.
    fn quoted_calls(&self, content: &str, is_closed: bool) -> Vec<RawCall> {
        if content.starts_with(['{', '[']) && !body::is_python_list(content) {
            let read = match is_closed {
                true => whole_value(content),
                false => value(content),
            };
            return match read {
                Some((value, _)) => body::of_json(&value).unwrap_or_default(),
                None => Vec::new(),
            };
        }
        if content.starts_with('<') || content.starts_with("[TOOL_CALLS]") {
            let inner = read(content, self.is_known);
            return match inner.prose.is_empty() {
                true => inner.calls,
                false => Vec::new(),
            };
        }
        let calls = body::calls(content, is_closed);
        let are_known = calls.iter().all(|call| (self.is_known)(&call.name));
        match are_known && body::python_call(content).is_some() {
            true => calls,
            false => Vec::new(),
        }
    }

    /// JSON outside code.
    fn json(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
        let here = self.rest(at);
        let is_beginning = here.len() > 2 && body::may_begin_call(here);
        if self.tried >= MAX_TRIED || !body::begins_call(here) && !is_beginning {
            return None;
        }
        self.tried += 1;
        let is_alone = is_line_start
            && self.is_silent()
            && self
                .text
                .get(self.from..at)
                .unwrap_or_default()
                .trim()
                .is_empty();
        let Some((found, length)) = value(here) else {
            let names_tool = body::first_name(here).is_some_and(|name| (self.is_known)(name));
            let is_cut =
                is_line_start && !here.trim_end().ends_with(['}', ']']) && !here.contains("\n\n");
            let is_meant = is_cut || names_tool || body::looks_like_call(here);
            if is_meant
                && is_alone
                && let Some((found, length)) = whole_value(here)
                && here.get(length..).unwrap_or_default().trim().is_empty()
                && here.trim_end().ends_with(['}', ']'])
                && let Some(calls) = body::of_json(&found)
            {
                return self.take(at, self.text.len(), calls);
            }
            return match is_meant {
                true => self.take(at, self.text.len(), Vec::new()),
                false => None,
            };
        };
        let end = at + length;
        let Some(calls) = body::of_json(&found) else {
            return Some(end);
        };
        let is_known = calls.iter().any(|call| (self.is_known)(&call.name));
        // In mid-sentence only a tool's own name makes it a call.
        if calls.is_empty() || !is_known && !is_line_start {
            return Some(end);
        }
        self.take(at, end, calls)
    }

    /// Calls in a list, as the whole of a line (<https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_2/>).
    fn python_list(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
        if !is_line_start || self.tried >= MAX_TRIED {
            return None;
        }
        self.tried += 1;
        let rest = self.rest(at);
        let line = rest
            .find("]\n")
            .map_or(rest.trim_end().len(), |end| end + 1);
        let calls = body::calls(rest.get(..line)?, true);
        let is_known = calls.iter().any(|call| (self.is_known)(&call.name));
        let is_alone = self.is_silent() && rest.get(line..)?.trim().is_empty();
        if is_known || is_alone && !calls.is_empty() {
            return self.take(at, at + line, calls);
        }
        None
    }

    /// A line that begins like a step of an agent.
    fn line(&mut self, at: usize) -> Option<usize> {
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

/// Whether code begins with the mark of a call, or with half of one.
fn begins_mark(content: &str) -> bool {
    let content = content.trim();
    match families::mark(content) {
        Found::Mark(mark) => mark.kind == Kind::Calls,
        Found::Unfinished => families::is_cut_mark(content),
        Found::Nothing => false,
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
