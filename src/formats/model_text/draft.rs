//! What can be shown of an answer while it arrives: prose, and code that is no call. What may turn out to be machinery is held back from its first character.

mod places;

use super::families::find_close;
use places::starts_or_may;

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
    state: DraftState,
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
enum DraftState {
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
    Skip(usize, DraftState),
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
        let is_free = self.pending.is_empty() && self.state == DraftState::Prose && self.has_shown;
        is_free && self.is_inside_line && piece.bytes().all(is_plain)
    }

    /// Whether a call may have begun.
    pub(crate) fn is_holding(&self) -> bool {
        self.state == DraftState::Closed || !self.pending.is_empty()
    }

    /// What was held back and is no call so far.
    pub(crate) fn into_held(self) -> Option<String> {
        (self.state != DraftState::Closed && !self.pending.is_empty()).then_some(self.pending)
    }

    /// Whether anything is shown.
    pub(crate) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// Takes a piece, and returns what changes on the screen.
    pub(crate) fn feed(&mut self, piece: &str) -> Vec<DraftChange> {
        if self.state == DraftState::Closed {
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
            DraftState::Closed => {
                self.pending.clear();
                false
            }
            DraftState::Block(closers) => match find_close(&self.pending, 0, closers) {
                Some((start, end)) => {
                    let close = self.pending.get(start..end).unwrap_or_default();
                    // The next message of harmony begins with what ends this one.
                    let keeps = matches!(close, "<|start|>" | "<|channel|>");
                    self.skip(if keeps { start } else { end });
                    self.state = DraftState::Prose;
                    true
                }
                None => {
                    let from = self.pending.len().saturating_sub(MAX_CLOSER);
                    self.skip(self.pending.ceil_char_boundary(from));
                    false
                }
            },
            DraftState::Code(close) => {
                let (end, is_closed) = code_end(&self.pending, close);
                self.show(end, shown);
                if is_closed {
                    self.state = DraftState::Prose;
                }
                is_closed
            }
            DraftState::Ended => {
                let rest = self.pending.trim_start();
                if rest.is_empty() {
                    return false;
                }
                let is_over =
                    !rest.starts_with(['<', '[']) && (self.has_shown || !shown.trim().is_empty());
                self.state = if is_over {
                    DraftState::Closed
                } else {
                    DraftState::Prose
                };
                true
            }
            DraftState::Prose => self.prose(shown, changes),
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
                self.state = DraftState::Code(ticks);
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
}

/// Where code ends that `close` closes, and whether it does; a last line that may close it is not taken. A call ends it too, as models forget to close what
/// they began.
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
        let inside = bare.trim_start_matches('`');
        if bare.len() >= inside.len() + 3 && starts_or_may(inside, "tool_call", !is_whole) {
            return (at, starts_or_may(inside, "tool_call", false));
        }
        at += line.len();
    }
    (at, false)
}
