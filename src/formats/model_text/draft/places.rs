//! What may begin at a place of a draft: code, a mark, a call, a line of the prompt, and whether what arrived is enough to tell.

use super::{DraftFilter, DraftState, Next, code_end};
use crate::formats::model_text::body;
use crate::formats::model_text::families::{self, MarkKind, MarkMatch, Opened};
use crate::formats::model_text::harmony::{CHANNEL_ENDS, MAX_HEADER};
use crate::formats::model_text::quoted::{CALL_LANGUAGES, MAX_CODE};
use crate::formats::model_text::reader::{OTHER_ROLES, OWN_TURN};
use crate::formats::model_text::steps::STEPS;

/// Words at the start of a line that begin something which is never shown.
const NEVER: [&str; 5] = [
    "tool_calls:",
    "tool_code",
    "tool_output",
    "functools[",
    "tool:",
];
/// Bytes of a fence that are held back until it is clear that it is no call.
const MAX_HELD: usize = 4_000;
impl DraftFilter {
    /// The first place in `pending` where something may begin that is not shown.
    pub(super) fn candidate(&self, is_silent: bool) -> Option<usize> {
        let bytes = self.pending.as_bytes();
        (0..bytes.len()).find(|&n| match bytes.get(n) {
            Some(b'<' | b'[' | b'`' | b'{') => true,
            Some(0xe2) => self.rest(n).starts_with('◁'),
            Some(byte) if !byte.is_ascii_whitespace() && self.pending.is_char_boundary(n) => {
                self.is_line_start(n) && (is_silent || !self.is_free(n))
            }
            _ => false,
        })
    }

    /// Whether the line that begins at a place cannot become one that is not shown.
    fn is_free(&self, at: usize) -> bool {
        let line = self.rest(at);
        let bare = line.trim_start_matches('*');
        let begins = |words: &str| {
            let line = line_of(bare);
            starts_or_may(line, words, line.len() == bare.len())
        };
        let never = NEVER
            .iter()
            .chain(STEPS.iter().filter(|_| !self.only_calls));
        !never.into_iter().any(|words| begins(words)) && !self.may_be_own(line)
    }

    /// Whether a line is one of the prompt, as far as it has arrived.
    fn may_be_own(&self, line: &str) -> bool {
        if self.own_lines.is_empty() {
            return false;
        }
        let is_whole = line.contains('\n');
        let line = line_of(line)
            .trim_start_matches(['-', '*', '#', '>', ' '])
            .trim_end_matches(['*', ' ']);
        self.own_lines.iter().any(|own| match is_whole {
            true => own == line,
            false => own.starts_with(line),
        })
    }

    pub(super) fn at(&self, at: usize, is_silent: bool) -> Next {
        let here = self.rest(at);
        let is_line_start = self.is_line_start(at);
        match here.as_bytes().first() {
            Some(b'`') => self.code(at, is_line_start),
            Some(b'{') => self.json(at, is_silent),
            Some(b'[') if here.len() == 1 => Next::Hold,
            Some(b'[')
                if here
                    .get(1..)
                    .is_some_and(|inside| inside.trim_start().is_empty()) =>
            {
                Next::Hold
            }
            Some(b'[')
                if here
                    .get(1..)
                    .is_some_and(|inside| inside.trim_start().starts_with(['{', '['])) =>
            {
                self.json(at, is_silent)
            }
            Some(b'[')
                if is_line_start
                    && (is_silent
                        || body::is_python_list(here)
                        || self.is_cut_name(here.get(1..).unwrap_or_default())) =>
            {
                self.list(at)
            }
            Some(b'<' | b'[' | 0xe2) => self.mark(at, is_silent),
            _ => self.line(at, is_silent),
        }
    }

    /// A list at the start of a line: a call of a function, or a mark.
    fn list(&self, at: usize) -> Next {
        let here = self.rest(at);
        if body::is_python_list(here) {
            return Next::Skip(self.pending.len(), DraftState::Closed);
        }
        if self.is_cut_name(here.get(1..).unwrap_or_default()) {
            return Next::Hold;
        }
        self.mark(at, true)
    }

    /// Whether a text is a name that has not ended.
    fn is_cut_name(&self, text: &str) -> bool {
        let text = text.trim_start();
        !text.is_empty() && body::identifier(text).len() == text.len()
    }

    fn json(&self, at: usize, is_silent: bool) -> Next {
        let here = self.rest(at);
        // An answer that is JSON as a whole is read before anything of it is shown.
        if is_silent && !self.only_calls || body::begins_call(here) {
            return Next::Skip(self.pending.len(), DraftState::Closed);
        }
        if body::may_begin_call(here) {
            return Next::Hold;
        }
        Next::Shown(at + 1)
    }

    fn code(&self, at: usize, is_line_start: bool) -> Next {
        let here = self.rest(at);
        let run = here.len() - here.trim_start_matches('`').len();
        if run == here.len() {
            return Next::Hold;
        }
        let ticks = here.get(..run).unwrap_or_default();
        let is_taught = starts_or_may(here.get(run..).unwrap_or_default(), "tool_call", true);
        if run >= 3 && is_taught {
            return match here
                .get(run..)
                .is_some_and(|rest| rest.len() < "tool_call".len())
            {
                true => Next::Hold,
                false => Next::Skip(self.pending.len(), DraftState::Closed),
            };
        }
        if run < 3 || !is_line_start {
            let inside = here.get(run..).unwrap_or_default();
            let head = crate::base::text::head(inside, MAX_CODE);
            let paragraph = head.find("\n\n");
            let text = head
                .get(..paragraph.unwrap_or(head.len()))
                .unwrap_or_default();
            return match text.find(ticks) {
                // More ticks may follow.
                Some(close) if close + run == inside.len() => Next::Hold,
                Some(close) => Next::Shown(at + run + close + run),
                None if paragraph.is_some() || inside.len() > MAX_CODE => Next::Shown(at + run),
                None => Next::Hold,
            };
        }
        let Some((info, content)) = here.get(run..).unwrap_or_default().split_once('\n') else {
            return Next::Hold;
        };
        let language = info.trim().to_ascii_lowercase();
        if language.starts_with("tool_") {
            return Next::Skip(self.pending.len(), DraftState::Closed);
        }
        let starts = self.pending.len() - content.len();
        let is_code = !CALL_LANGUAGES.contains(&language.as_str());
        match is_code || !self.may_be_call(content) {
            true => Next::Code(starts, ticks.to_owned()),
            false if content.trim().is_empty() => Next::Hold,
            false => self.held_fence(at, starts, ticks),
        }
    }

    /// A fence that may hold a call: it is one if nothing follows.
    fn held_fence(&self, at: usize, starts: usize, ticks: &str) -> Next {
        let content = self.rest(starts);
        let (end, is_closed) = code_end(content, ticks);
        let after = content.get(end..).unwrap_or_default();
        if is_closed && !after.trim().is_empty() {
            return Next::Shown(starts + end);
        }
        if self.pending.len() - at > MAX_HELD {
            return Next::Skip(self.pending.len(), DraftState::Closed);
        }
        Next::Hold
    }

    /// Whether the content of a fence may be a call, as far as it has arrived.
    fn may_be_call(&self, content: &str) -> bool {
        let text = content.trim_start();
        match text.as_bytes().first() {
            None => true,
            Some(b'{' | b'[') => {
                body::begins_call(text)
                    || body::may_begin_call(text)
                    || body::is_python_list(text)
                    || text.starts_with("[TOOL")
            }
            Some(b'<') => families::mark(text) != MarkMatch::Nothing,
            Some(_) => {
                let name = body::identifier(text);
                let after = text.get(name.len()..).unwrap_or_default();
                let may =
                    |known: &String| known == name || after.is_empty() && known.starts_with(name);
                text.starts_with("call:")
                    || self.names.iter().any(may)
                    || "print(".starts_with(name)
            }
        }
    }

    fn mark(&self, at: usize, is_silent: bool) -> Next {
        let here = self.rest(at);
        let mark = match families::mark(here) {
            // The token at the beginning of a text.
            MarkMatch::Nothing if is_silent && !self.only_calls && here.starts_with("<s>") => {
                return Next::Skip(at + "<s>".len(), DraftState::Prose);
            }
            MarkMatch::Nothing => {
                return Next::Shown(at + here.chars().next().map_or(1, char::len_utf8));
            }
            MarkMatch::Unfinished => return Next::Hold,
            MarkMatch::Mark(mark) => mark,
        };
        let inside = at + mark.len;
        match mark.kind {
            MarkKind::Calls if !mark.is_closing => self.calls(at, &mark),
            MarkKind::Channel => self.channel(inside),
            _ if self.only_calls => Next::Shown(inside),
            MarkKind::Thought if mark.is_closing => Next::Back(inside),
            _ if mark.is_closing => Next::Skip(inside, DraftState::Prose),
            MarkKind::Thought | MarkKind::Result => {
                Next::Skip(inside, DraftState::Block(mark.closers))
            }
            MarkKind::Calls | MarkKind::Token => Next::Skip(inside, DraftState::Prose),
            MarkKind::End => Next::Skip(inside, DraftState::Ended),
            MarkKind::Role => {
                let rest = self.rest(inside).trim_start();
                let role = body::identifier(rest);
                let after = self.pending.len() - rest.len() + role.len();
                match role.len() == rest.len() {
                    true => Next::Hold,
                    false if OTHER_ROLES.has(role) => self.other_turn(after, is_silent),
                    false => Next::Skip(after, DraftState::Prose),
                }
            }
            MarkKind::OtherTurn => self.other_turn(inside, is_silent),
        }
    }

    /// The header of a message of harmony: whose it is, and what is in it.
    fn channel(&self, inside: usize) -> Next {
        let rest = crate::base::text::head(self.rest(inside), MAX_HEADER);
        let Some((header, _)) = rest.split_once("<|message|>") else {
            return match rest.len() < MAX_HEADER {
                true => Next::Hold,
                false => Next::Skip(self.pending.len(), DraftState::Closed),
            };
        };
        let start = inside + header.len() + "<|message|>".len();
        if header.contains("to=") {
            Next::Skip(start, DraftState::Closed)
        } else if self.only_calls {
            Next::Shown(start)
        } else if header.contains("analysis") {
            Next::Skip(
                start,
                DraftState::Block(CHANNEL_ENDS.map(str::to_owned).into()),
            )
        } else {
            Next::Skip(start, DraftState::Prose)
        }
    }

    fn other_turn(&self, inside: usize, is_silent: bool) -> Next {
        match is_silent {
            true => Next::Skip(
                inside,
                DraftState::Block(OWN_TURN.map(str::to_owned).into()),
            ),
            false => Next::Skip(inside, DraftState::Closed),
        }
    }

    fn calls(&self, at: usize, mark: &Opened) -> Next {
        let inside = at + mark.len;
        let rest = self.rest(inside).trim_start();
        if mark.is_common && !mark.names_call {
            if self.is_cut_name(rest.trim_end()) || rest.is_empty() {
                return Next::Hold;
            }
            if !body::may_begin(self.rest(inside)) {
                return Next::Shown(inside);
            }
        }
        Next::Skip(self.pending.len(), DraftState::Closed)
    }

    /// A line that may begin something which is not shown.
    fn line(&self, at: usize, is_silent: bool) -> Next {
        let here = self.rest(at);
        let bare = here.trim_start_matches('*');
        let line = line_of(bare);
        let is_whole = line.len() < bare.len();
        let first = here.chars().next().map_or(1, char::len_utf8);
        let never = || {
            NEVER
                .iter()
                .chain(STEPS.iter().filter(|_| !self.only_calls))
        };
        for words in never() {
            if families::starts_with(line, words).is_some() {
                return Next::Skip(self.pending.len(), DraftState::Closed);
            }
        }
        if never().any(|words| starts_or_may(line, words, !is_whole)) {
            return Next::Hold;
        }
        if self.may_be_own(here) {
            return match is_whole {
                true => Next::Skip(
                    at + here.find('\n').map_or(here.len(), |end| end + 1),
                    DraftState::Prose,
                ),
                false => Next::Hold,
            };
        }
        if is_silent {
            let name = body::identifier(here);
            let after = here
                .get(name.len()..)
                .unwrap_or_default()
                .trim_start_matches(' ');
            let is_known = self.names.iter().any(|known| known == name);
            if after.is_empty()
                && self.names.iter().any(|known| known.starts_with(name))
                && !name.is_empty()
            {
                return Next::Hold;
            }
            if is_known && after.starts_with(['(', ':']) {
                return Next::Skip(self.pending.len(), DraftState::Closed);
            }
            // The names of harmony's channels, glued to what they hold.
            if let Some(after) = here.strip_prefix("analysis")
                && after.starts_with(|c: char| !c.is_ascii_lowercase() && c != ' ' && c != '.')
            {
                return Next::Skip(self.pending.len(), DraftState::Closed);
            }
            if "analysis".starts_with(here.trim_end()) {
                return Next::Hold;
            }
        }
        Next::Shown(at + first)
    }
}

fn line_of(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Whether `line` begins with `words`, or may with what is still to come.
pub(super) fn starts_or_may(line: &str, words: &str, is_open: bool) -> bool {
    families::starts_with(line, words).is_some()
        || is_open && line.len() < words.len() && words.starts_with(&line.to_ascii_lowercase())
}
