//! Code and JSON in an answer: shown as they are, but for what is a call and nothing else.

use super::RawCall;
use super::body;
use super::families::{self, MarkKind, MarkMatch};
use super::reader::{MAX_TRIED, Reader, read};
use crate::formats::lenient_json::{value, whole_value};

/// Characters of prose before a fence with a call to a tool that nobody has: with more it is a text about such calls.
const MAX_LEAD: usize = 160;
/// The longest code in a line, in bytes.
pub(super) const MAX_CODE: usize = 2_000;
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

impl Reader<'_> {
    /// Code is shown as it is, but for a fence at the end that holds a call and nothing else.
    pub(super) fn code(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
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
    pub(super) fn json(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
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
    pub(super) fn python_list(&mut self, at: usize, is_line_start: bool) -> Option<usize> {
        if !is_line_start || self.tried >= MAX_TRIED {
            return None;
        }
        self.tried += 1;
        let rest = self.rest(at);
        let (calls, length) = body::python_list(rest)?;
        let is_known = calls.iter().any(|call| (self.is_known)(&call.name));
        let after = rest.get(length..)?.trim_start();
        let is_alone = self.is_silent() && (after.is_empty() || after.starts_with(['<', '[']));
        if is_known || is_alone {
            return self.take(at, at + length, calls);
        }
        None
    }
}

/// Whether code begins with the mark of a call, or with half of one.
fn begins_mark(content: &str) -> bool {
    let content = content.trim();
    match families::mark(content) {
        MarkMatch::Mark(mark) => mark.kind == MarkKind::Calls,
        MarkMatch::Unfinished => families::is_cut_mark(content),
        MarkMatch::Nothing => false,
    }
}
