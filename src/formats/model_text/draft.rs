//! What can be shown of an answer while it arrives: prose, and code that is no call. What may turn out to be machinery is held back from its first character.

use super::body;
use super::families::{self, Found, Kind, Opened, find_close};
use super::harmony::{CHANNEL_ENDS, MAX_HEADER};
use super::quoted::{CALL_LANGUAGES, MAX_CODE};
use super::reader::{OTHER_ROLES, OWN_TURN};
use super::steps::STEPS;

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
/// Bytes at the end of a block that are kept, because its closing mark may begin there.
const MAX_CLOSER: usize = 200;

/// What to do with a draft now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DraftChange {
    /// Show this behind what was shown.
    Show(String),
    /// Take back all that was shown: it was no answer.
    Drop,
}

/// Decides piece by piece what of an answer is shown before it was read whole.
#[derive(Default)]
pub(crate) struct DraftFilter {
    /// What arrived and is neither shown nor dropped.
    pending: String,
    state: State,
    /// `pending` begins at the start of a line.
    is_inside_line: bool,
    has_shown: bool,
    /// Names of tools, which begin a call.
    names: Vec<String>,
    /// Lines of the prompt, which are not shown when a model repeats them.
    own_lines: Vec<String>,
    /// Everything but calls is shown.
    only_calls: bool,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    #[default]
    Prose,
    /// In a block that is not shown, up to one of these marks.
    Block(Vec<String>),
    /// In a fence of code that is shown, which this closes.
    Code(String),
    /// Behind the end of the model's turn.
    Ended,
    /// Nothing more is shown.
    Closed,
}

/// What to do at a place.
enum Next {
    /// Show up to here and go on there.
    Shown(usize),
    /// Wait for more.
    Hold,
    /// Leave out the bytes up to here, and go on in another state.
    Skip(usize, State),
    /// Take back what was shown, leave out the bytes up to here.
    Back(usize),
    /// Show up to here, and then the lines of code that these ticks close.
    Code(usize, String),
}

impl DraftFilter {
    /// A filter that knows the names of tools and lines of the prompt.
    pub(crate) fn new(names: Vec<String>, own_lines: Vec<String>) -> Self {
        Self {
            names,
            own_lines,
            ..Self::default()
        }
    }

    /// A filter that holds back nothing but calls: what it shows is a beginning of the text, byte by byte.
    pub(crate) fn of_calls(names: Vec<String>) -> Self {
        Self {
            names,
            only_calls: true,
            ..Self::default()
        }
    }

    /// Shows a piece without a look at its words, where that is enough: within a line of prose that has nothing that could open anything.
    pub(crate) fn passes(&mut self, piece: &str) -> bool {
        let is_plain = |byte: u8| !matches!(byte, b'<' | b'[' | b'`' | b'{' | b'\n' | 0xe2);
        let is_free = self.pending.is_empty() && self.state == State::Prose && self.has_shown;
        is_free && self.is_inside_line && piece.bytes().all(is_plain)
    }

    /// Whether a call may have begun.
    pub(crate) fn is_holding(&self) -> bool {
        self.state == State::Closed || !self.pending.is_empty()
    }

    /// What was held back and is no call so far.
    pub(crate) fn into_held(self) -> Option<String> {
        (self.state != State::Closed && !self.pending.is_empty()).then_some(self.pending)
    }

    /// Whether anything is shown.
    pub(crate) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// Takes a piece, and returns what changes on the screen.
    pub(crate) fn feed(&mut self, piece: &str) -> Vec<DraftChange> {
        if self.state == State::Closed {
            return Vec::new();
        }
        self.pending.push_str(piece);
        let mut changes = Vec::new();
        let mut shown = String::new();
        while self.step(&mut shown, &mut changes) {}
        self.flush(&mut shown, &mut changes);
        changes
    }

    fn flush(&mut self, shown: &mut String, changes: &mut Vec<DraftChange>) {
        let mut text = std::mem::take(shown);
        if !self.has_shown && !self.only_calls {
            text = text.trim_start().to_owned();
        }
        if !text.is_empty() {
            self.has_shown = true;
            changes.push(DraftChange::Show(text));
        }
    }

    /// Goes on with what is pending; false when it has to wait.
    fn step(&mut self, shown: &mut String, changes: &mut Vec<DraftChange>) -> bool {
        match &self.state {
            State::Closed => {
                self.pending.clear();
                false
            }
            State::Block(closers) => match find_close(&self.pending, 0, closers) {
                Some((start, end)) => {
                    let close = self.pending.get(start..end).unwrap_or_default();
                    // The next message of harmony begins with what ends this one.
                    let keeps = matches!(close, "<|start|>" | "<|channel|>");
                    self.skip(if keeps { start } else { end });
                    self.state = State::Prose;
                    true
                }
                None => {
                    let from = self.pending.len().saturating_sub(MAX_CLOSER);
                    self.skip(self.pending.ceil_char_boundary(from));
                    false
                }
            },
            State::Code(close) => {
                let (end, is_closed) = code_end(&self.pending, close);
                self.show(end, shown);
                if is_closed {
                    self.state = State::Prose;
                }
                is_closed
            }
            State::Ended => {
                let rest = self.pending.trim_start();
                if rest.is_empty() {
                    return false;
                }
                let is_over =
                    !rest.starts_with(['<', '[']) && (self.has_shown || !shown.trim().is_empty());
                self.state = if is_over { State::Closed } else { State::Prose };
                true
            }
            State::Prose => self.prose(shown, changes),
        }
    }

    fn prose(&mut self, shown: &mut String, changes: &mut Vec<DraftChange>) -> bool {
        let is_silent = !self.has_shown && shown.trim().is_empty();
        let Some(at) = self.candidate(is_silent) else {
            self.show(self.pending.len(), shown);
            return false;
        };
        match self.at(at, is_silent) {
            Next::Shown(end) => {
                self.show(end, shown);
                !self.pending.is_empty()
            }
            Next::Hold => {
                self.show(at, shown);
                false
            }
            Next::Skip(end, state) => {
                self.show(at, shown);
                self.skip(end - at);
                self.state = state;
                true
            }
            Next::Code(end, ticks) => {
                self.show(end, shown);
                self.state = State::Code(ticks);
                true
            }
            Next::Back(end) => {
                shown.clear();
                self.skip(end);
                self.is_inside_line = false;
                if std::mem::take(&mut self.has_shown) {
                    changes.push(DraftChange::Drop);
                }
                true
            }
        }
    }

    /// Moves the first bytes of `pending` to what is shown.
    fn show(&mut self, end: usize, shown: &mut String) {
        let text = self.pending.get(..end).unwrap_or_default();
        if let Some(last) = text.trim_end_matches([' ', '\t']).chars().next_back() {
            self.is_inside_line = last != '\n';
        }
        shown.push_str(text);
        self.pending.drain(..end);
    }

    fn skip(&mut self, end: usize) {
        self.pending.drain(..end);
    }

    fn rest(&self, at: usize) -> &str {
        self.pending.get(at..).unwrap_or_default()
    }

    fn is_line_start(&self, at: usize) -> bool {
        let before = self.pending.get(..at).unwrap_or_default();
        match before.trim_end_matches([' ', '\t']).chars().next_back() {
            Some(last) => last == '\n',
            None => !self.is_inside_line,
        }
    }

    /// The first place in `pending` where something may begin that is not shown.
    fn candidate(&self, is_silent: bool) -> Option<usize> {
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

    fn at(&self, at: usize, is_silent: bool) -> Next {
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
            return Next::Skip(self.pending.len(), State::Closed);
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
            return Next::Skip(self.pending.len(), State::Closed);
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
                false => Next::Skip(self.pending.len(), State::Closed),
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
            return Next::Skip(self.pending.len(), State::Closed);
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
            return Next::Skip(self.pending.len(), State::Closed);
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
            Some(b'<') => families::mark(text) != Found::Nothing,
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
            Found::Nothing if is_silent && !self.only_calls && here.starts_with("<s>") => {
                return Next::Skip(at + "<s>".len(), State::Prose);
            }
            Found::Nothing => {
                return Next::Shown(at + here.chars().next().map_or(1, char::len_utf8));
            }
            Found::Unfinished => return Next::Hold,
            Found::Mark(mark) => mark,
        };
        let inside = at + mark.len;
        match mark.kind {
            Kind::Calls if !mark.is_closing => self.calls(at, &mark),
            Kind::Channel => self.channel(inside),
            _ if self.only_calls => Next::Shown(inside),
            Kind::Thought if mark.is_closing => Next::Back(inside),
            _ if mark.is_closing => Next::Skip(inside, State::Prose),
            Kind::Thought | Kind::Result => Next::Skip(inside, State::Block(mark.closers)),
            Kind::Calls | Kind::Token => Next::Skip(inside, State::Prose),
            Kind::End => Next::Skip(inside, State::Ended),
            Kind::Role => {
                let rest = self.rest(inside).trim_start();
                let role = body::identifier(rest);
                let after = self.pending.len() - rest.len() + role.len();
                match role.len() == rest.len() {
                    true => Next::Hold,
                    false if OTHER_ROLES.has(role) => self.other_turn(after, is_silent),
                    false => Next::Skip(after, State::Prose),
                }
            }
            Kind::OtherTurn => self.other_turn(inside, is_silent),
        }
    }

    /// The header of a message of harmony: whose it is, and what is in it.
    fn channel(&self, inside: usize) -> Next {
        let rest = crate::base::text::head(self.rest(inside), MAX_HEADER);
        let Some((header, _)) = rest.split_once("<|message|>") else {
            return match rest.len() < MAX_HEADER {
                true => Next::Hold,
                false => Next::Skip(self.pending.len(), State::Closed),
            };
        };
        let start = inside + header.len() + "<|message|>".len();
        if header.contains("to=") {
            Next::Skip(start, State::Closed)
        } else if self.only_calls {
            Next::Shown(start)
        } else if header.contains("analysis") {
            Next::Skip(start, State::Block(CHANNEL_ENDS.map(str::to_owned).into()))
        } else {
            Next::Skip(start, State::Prose)
        }
    }

    fn other_turn(&self, inside: usize, is_silent: bool) -> Next {
        match is_silent {
            true => Next::Skip(inside, State::Block(OWN_TURN.map(str::to_owned).into())),
            false => Next::Skip(inside, State::Closed),
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
        Next::Skip(self.pending.len(), State::Closed)
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
                return Next::Skip(self.pending.len(), State::Closed);
            }
        }
        if never().any(|words| starts_or_may(line, words, !is_whole)) {
            return Next::Hold;
        }
        if self.may_be_own(here) {
            return match is_whole {
                true => Next::Skip(
                    at + here.find('\n').map_or(here.len(), |end| end + 1),
                    State::Prose,
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
                return Next::Skip(self.pending.len(), State::Closed);
            }
            // The names of harmony's channels, glued to what they hold.
            if let Some(after) = here.strip_prefix("analysis")
                && after.starts_with(|c: char| !c.is_ascii_lowercase() && c != ' ' && c != '.')
            {
                return Next::Skip(self.pending.len(), State::Closed);
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
fn starts_or_may(line: &str, words: &str, is_open: bool) -> bool {
    families::starts_with(line, words).is_some()
        || is_open && line.len() < words.len() && words.starts_with(&line.to_ascii_lowercase())
}

/// Where code ends that `close` closes, and whether it does; a last line that may close it is not taken.
fn code_end(text: &str, close: &str) -> (usize, bool) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let is_whole = line.ends_with('\n');
        let is_ticks = bare.chars().all(|c| close.contains(c));
        if is_whole && is_ticks && bare.len() >= close.len() {
            return (at + line.len(), true);
        }
        if !is_whole && is_ticks {
            return (at, false);
        }
        at += line.len();
    }
    (at, false)
}
