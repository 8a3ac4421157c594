//! The conversation on the screen: a list of parts, and the visible range of them.
//!
//! Only what is visible is laid out, and layouts are cached near it: the cost of a frame depends on the screen, not on the length of the conversation. The
//! scroll position is held by part and row, so that nothing moves under the user's eyes when more arrives below.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use super::piece::{ChatPart, Speaker, Tone, texts};
use super::sheet::{CANCEL_HINT_AFTER, LayoutContext, running, spinner};
use super::tool::ToolCallCell;
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::chat::event::{CallEnd, Event};
use crate::store::chat_log::{LogEntry, LogRole};
use crate::ui::markdown::layout::lay_out_open;
use crate::ui::markdown::split::{Block, BlockKind, BlockSplitter};
use crate::ui::text::clean::{Cleaner, clean, clean_line};
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Maximum number of laid-out parts that are cached.
const KEPT: usize = 256;

type Rows = Rc<Vec<Line<'static>>>;

/// A row of the conversation: the index of a part, and a row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct ScrollAnchor {
    piece: usize,
    row: usize,
}

/// An answer that is arriving.
#[derive(Default)]
struct OpenAnswer {
    cleaner: Cleaner,
    splitter: BlockSplitter,
    /// Some of it has arrived.
    begun: bool,
    /// Leading blanks, held back until something visible follows.
    blanks: String,
}

/// A message of the user, and what follows it.
struct Exchange {
    profile: String,
    /// The part that it begins with.
    start: usize,
    /// The first part after it; `None` while it may grow.
    end: Option<usize>,
}

/// The conversation.
pub(super) struct Chat {
    pieces: Vec<ChatPart>,
    /// The user's messages, and their profiles.
    exchanges: Vec<Exchange>,
    profile: String,
    open: OpenAnswer,
    /// Parts that arrived in the middle of an answer: shown below it, and moved into the conversation when the answer pauses.
    held: Vec<ChatPart>,
    held_rows: Option<(usize, Vec<Rows>)>,
    /// Since when an answer has been awaited.
    waiting: Option<Instant>,
    /// The first visible row; `None` when the end is visible.
    top: Option<ScrollAnchor>,
    kept: HashMap<usize, Rows>,
    width: usize,
    unfold_all: bool,
}

/// The visible rows.
pub(super) struct VisibleRows {
    /// Rows with their position in the conversation.
    pub(super) rows: Vec<(ScrollAnchor, Line<'static>)>,
    /// There is more below.
    pub(super) more: bool,
}

impl Chat {
    pub(super) fn new() -> Self {
        Self {
            pieces: Vec::new(),
            exchanges: Vec::new(),
            profile: String::new(),
            open: OpenAnswer::default(),
            held: Vec::new(),
            held_rows: None,
            waiting: None,
            top: None,
            kept: HashMap::new(),
            width: 0,
            unfold_all: false,
        }
    }

    /// Processes an update of the session, at `time` of the clock.
    pub(super) fn show(&mut self, show: &UiUpdate, time: &str, now: Instant) {
        match show {
            UiUpdate::Past(entries) => entries.iter().for_each(|entry| self.past(entry)),
            UiUpdate::Profile(name) => {
                self.settle();
                let end = self.pieces.len();
                if let Some(last) = self.exchanges.last_mut() {
                    last.end.get_or_insert(end);
                }
                self.profile.clone_from(name);
            }
            UiUpdate::You { text, time } => {
                self.say(Speaker::You, time);
                self.pieces.extend(texts(Tone::Plain, &clean(text)));
                self.waiting = Some(now);
                self.top = None;
            }
            UiUpdate::Event(event) => self.event(event, time, now),
            UiUpdate::AnswerEnd(end) => self.end(*end),
            UiUpdate::Failed(problem) => {
                let mut text = format!("Error: {}", problem.one_line());
                if let Some(facts) = &problem.facts {
                    text.push('\n');
                    text.push_str(facts);
                }
                self.add(Tone::Error, &text);
            }
            UiUpdate::System(words) | UiUpdate::Call(words) => self.add(Tone::System, words),
            UiUpdate::Listing(text) => self.add(Tone::Listing, text),
            UiUpdate::Ran { command, output } => {
                let mut pieces = texts(Tone::Dim, &clean(&format!("$ {command}")));
                pieces.extend(texts(Tone::Listing, &clean(output)));
                self.add_pieces(pieces);
            }
            UiUpdate::Undone(said) => self.undo(said),
            UiUpdate::Leave(words) if !words.is_empty() => self.add(Tone::System, words),
            UiUpdate::Ask(_) | UiUpdate::Edit(_) | UiUpdate::Leave(_) => {}
        }
    }

    /// Adds text as a part of its own, after an empty row; cleaned here.
    pub(super) fn add(&mut self, tone: Tone, text: &str) {
        self.add_pieces(texts(tone, &clean(text)));
    }

    /// Adds parts; they do not split an answer that is arriving.
    fn add_pieces(&mut self, pieces: Vec<ChatPart>) {
        if self.open.begun {
            self.held.push(ChatPart::Gap);
            self.held.extend(pieces);
            self.held_rows = None;
        } else {
            self.gap();
            self.pieces.extend(pieces);
        }
    }

    /// True while something on the screen changes with time alone.
    pub(super) fn moves(&self) -> bool {
        self.waiting.is_some() || self.pieces.iter().rev().take(64).any(ChatPart::moves)
    }

    /// The text of the last block of code.
    pub(super) fn code(&self) -> Option<String> {
        let mut parts = Vec::new();
        for piece in self.pieces.iter().rev() {
            match piece {
                ChatPart::Block(block) => match &block.kind {
                    BlockKind::Code { opens, closes, .. } => {
                        if *closes && !parts.is_empty() {
                            break;
                        }
                        parts.push(code_lines(block, *opens, *closes));
                        if *opens {
                            break;
                        }
                    }
                    _ if parts.is_empty() => {}
                    _ => break,
                },
                _ if parts.is_empty() => {}
                _ => break,
            }
        }
        parts.reverse();
        (!parts.is_empty()).then(|| parts.concat())
    }

    /// Expands or collapses the last tool result; false when there is none.
    pub(super) fn unfold(&mut self) -> bool {
        for (at, piece) in self.pieces.iter_mut().enumerate().rev() {
            if let ChatPart::Tool(call) = piece {
                call.unfolded = !call.unfolded;
                self.kept.remove(&at);
                return true;
            }
        }
        false
    }

    /// Expands all tool results, or collapses them.
    pub(super) fn unfold_all(&mut self) {
        self.unfold_all = !self.unfold_all;
        for piece in &mut self.pieces {
            if let ChatPart::Tool(call) = piece {
                call.unfolded = self.unfold_all;
            }
        }
        self.kept.clear();
    }

    // ---- updates ----

    fn past(&mut self, entry: &LogEntry) {
        match entry.role {
            LogRole::You => {
                self.say(Speaker::You, &entry.time);
                self.pieces.extend(texts(Tone::Plain, &clean(&entry.text)));
            }
            LogRole::Assistant => {
                self.say(Speaker::Marvin, &entry.time);
                self.open.begun = true;
                self.piece_of_answer(&entry.text);
                self.close();
            }
            LogRole::System | LogRole::Other => self.add(Tone::System, &entry.text),
        }
    }

    fn event(&mut self, event: &Event, time: &str, now: Instant) {
        match event {
            Event::Delta(text) => {
                if self.open.begun {
                    return self.piece_of_answer(text);
                }
                // Some models begin or end with blanks only: no entry for those.
                self.open.blanks.push_str(text);
                if !self.open.blanks.trim().is_empty() {
                    let text = std::mem::take(&mut self.open.blanks);
                    self.waiting = None;
                    self.say(Speaker::Marvin, time);
                    self.open.begun = true;
                    self.piece_of_answer(&text);
                }
            }
            Event::ToolsStarted(calls) => {
                self.settle();
                self.waiting = None;
                if !matches!(self.pieces.last(), Some(ChatPart::Tool(_))) {
                    self.gap();
                }
                let calls = calls.iter().map(|call| {
                    let mut call = ToolCallCell::new(call);
                    call.unfolded = self.unfold_all;
                    ChatPart::Tool(Box::new(call))
                });
                self.pieces.extend(calls);
            }
            Event::Progress { id, words } => {
                if let Some((_, call)) = self.running(id) {
                    call.progress = clean_line(words);
                }
            }
            Event::CallState { id, state } => {
                if let Some((_, call)) = self.running(id) {
                    call.set_state(*state, now);
                }
            }
            Event::ToolDone {
                id,
                end,
                took,
                answered_by,
                text,
                display,
                ..
            } => {
                if let Some((at, call)) = self.running(id) {
                    call.answered_by = answered_by.join(", ");
                    call.finish(*end, *took, text, display.as_ref());
                    self.kept.remove(&at);
                }
                if !self.pieces.iter().rev().take(600).any(ChatPart::moves) {
                    self.waiting = Some(now);
                }
            }
            Event::Notice(_, words) => self.add(Tone::System, words),
            Event::Thinking(_) | Event::Turn(_) => {}
        }
    }

    /// The unfinished call of this id, and its index.
    fn running(&mut self, id: &str) -> Option<(usize, &mut ToolCallCell)> {
        let pieces = self.pieces.iter_mut().enumerate().rev().take(600);
        pieces
            .filter_map(|(at, piece)| match piece {
                ChatPart::Tool(call) => Some((at, call.as_mut())),
                _ => None,
            })
            .find(|(_, call)| call.runs() && call.id() == id)
    }

    fn end(&mut self, end: TurnOutcome) {
        self.close();
        self.open.blanks.clear();
        self.waiting = None;
        for (at, piece) in self.pieces.iter_mut().enumerate().rev().take(600) {
            if let ChatPart::Tool(call) = piece
                && call.runs()
            {
                call.finish(CallEnd::Stopped, Duration::ZERO, "stopped", None);
                self.kept.remove(&at);
            }
        }
        if end == TurnOutcome::Stopped {
            self.pieces.extend(texts(Tone::Dim, "stopped"));
        }
        self.settle();
    }

    /// Hides the last message of the active profile, and what followed it.
    fn undo(&mut self, said: &str) {
        self.settle();
        let of_profile = |exchange: &Exchange| exchange.profile == self.profile;
        let Some(at) = self.exchanges.iter().rposition(of_profile) else {
            // It was sent before this profile came into view.
            let said = clean_line(crate::base::text::head(said, 200));
            return self.add(Tone::Dim, &format!("taken back: {said}"));
        };
        let Exchange { start, end, .. } = self.exchanges.remove(at);
        let length = self.pieces.len();
        let start = match start.checked_sub(1).and_then(|gap| self.pieces.get(gap)) {
            Some(ChatPart::Gap) => start - 1,
            _ => start,
        };
        let end = end.unwrap_or(length).clamp(start, length);
        self.pieces.drain(start..end);
        let gone = end - start;
        for later in self.exchanges.iter_mut().skip(at) {
            later.start -= gone;
            later.end = later.end.map(|end| end - gone);
        }
        self.forget_from(start);
        self.top = match self.top {
            Some(top) if top.piece >= end => Some(ScrollAnchor {
                piece: top.piece - gone,
                ..top
            }),
            top => top.filter(|top| top.piece < start),
        };
        self.add(Tone::Dim, "taken back");
    }

    fn say(&mut self, who: Speaker, time: &str) {
        self.settle();
        self.gap();
        if who == Speaker::You {
            let start = self.pieces.len();
            if let Some(last) = self.exchanges.last_mut() {
                last.end.get_or_insert(start);
            }
            self.exchanges.push(Exchange {
                profile: self.profile.clone(),
                start,
                end: None,
            });
        }
        self.pieces.push(ChatPart::Label {
            who,
            time: clean_line(time),
        });
    }

    fn gap(&mut self) {
        if !matches!(self.pieces.last(), None | Some(ChatPart::Gap)) {
            self.pieces.push(ChatPart::Gap);
        }
    }

    fn piece_of_answer(&mut self, text: &str) {
        let mut safe = String::with_capacity(text.len());
        self.open.cleaner.push(text, &mut safe);
        let mut done = Vec::new();
        self.open.splitter.push(&safe, &mut done);
        self.take(done);
    }

    /// Finishes the answer that is arriving and appends what came meanwhile.
    fn settle(&mut self) {
        self.close();
        self.held_rows = None;
        self.pieces.append(&mut self.held);
    }

    /// Finishes the answer that is arriving.
    fn close(&mut self) {
        if !self.open.begun {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        let mut done = Vec::new();
        open.splitter.finish(&mut done);
        self.take(done);
        self.forget_from(self.pieces.len());
    }

    fn take(&mut self, done: Vec<Block>) {
        if done.is_empty() {
            return;
        }
        self.forget_from(self.pieces.len());
        let shown = done
            .into_iter()
            .filter(|block| block.kind != BlockKind::Blank);
        self.pieces.extend(shown.map(ChatPart::Block));
    }

    fn forget_from(&mut self, piece: usize) {
        self.kept.retain(|at, _| *at < piece);
    }

    // ---- the visible part ----

    /// Laid-out parts, with temporary ones at the end: incoming text, running calls, queued messages.
    fn tail(&mut self, queue: &[String], sheet: LayoutContext<'_>) -> Vec<Rows> {
        let mut tail = Vec::new();
        if let Some(block) = self
            .open
            .splitter
            .open()
            .filter(|block| block.kind != BlockKind::Blank)
        {
            tail.push(Rc::new(lay_out_open(&block, sheet.width, sheet.theme)));
        }
        if !self.held.is_empty() {
            if self
                .held_rows
                .as_ref()
                .is_none_or(|(width, _)| *width != sheet.width)
            {
                let rows = self.held.iter().map(|piece| Rc::new(piece.rows(sheet)));
                self.held_rows = Some((sheet.width, rows.collect()));
            }
            let laid_out = self.held_rows.iter().flat_map(|(_, rows)| rows);
            tail.extend(laid_out.cloned());
        }
        if let Some(since) = self.waiting {
            let time = sheet.now.saturating_duration_since(since);
            let hint = if time >= CANCEL_HINT_AFTER {
                "  Esc to stop"
            } else {
                ""
            };
            let words = format!(
                "{} thinking {}{hint}",
                spinner(since, sheet.now),
                running(time)
            );
            let row = Line::styled(width::clip(&words, sheet.width), sheet.theme.dim);
            tail.push(Rc::new(vec![Line::default(), row]));
        }
        for text in queue {
            let words = format!(
                "queued  {}",
                clean_line(crate::base::text::head(text, 2_000))
            );
            let row = Line::from(Span::styled(
                width::clip(&words, sheet.width),
                sheet.theme.dim,
            ));
            tail.push(Rc::new(vec![row]));
        }
        tail
    }

    fn rows(&mut self, at: usize, tail: &[Rows], sheet: LayoutContext<'_>) -> Option<Rows> {
        if let Some(after) = at.checked_sub(self.pieces.len()) {
            return tail.get(after).cloned();
        }
        let piece = self.pieces.get(at)?;
        if let Some(rows) = self.kept.get(&at).filter(|_| !piece.moves()) {
            return Some(Rc::clone(rows));
        }
        let rows = Rc::new(piece.rows(sheet));
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        self.kept.insert(at, Rc::clone(&rows));
        Some(rows)
    }

    /// The `height` visible rows.
    pub(super) fn sight(
        &mut self,
        height: usize,
        queue: &[String],
        sheet: LayoutContext<'_>,
    ) -> VisibleRows {
        if self.width != sheet.width {
            self.width = sheet.width;
            self.kept.clear();
        }
        let tail = self.tail(queue, sheet);
        let last = self.last_top(height, &tail, sheet);
        if self.top.is_some_and(|top| top >= last) {
            self.top = None;
        }
        let top = self.top.unwrap_or(last);
        let mut rows = Vec::with_capacity(height);
        let mut at = top.piece;
        let mut skip = top.row;
        while rows.len() < height
            && let Some(piece) = self.rows(at, &tail, sheet)
        {
            for (row, line) in piece
                .iter()
                .enumerate()
                .skip(skip)
                .take(height - rows.len())
            {
                rows.push((ScrollAnchor { piece: at, row }, line.clone()));
            }
            (at, skip) = (at + 1, 0);
        }
        VisibleRows {
            rows,
            more: self.top.is_some(),
        }
    }

    /// The first visible row when the last row is at the bottom.
    fn last_top(&mut self, height: usize, tail: &[Rows], sheet: LayoutContext<'_>) -> ScrollAnchor {
        let end = ScrollAnchor {
            piece: self.pieces.len() + tail.len(),
            row: 0,
        };
        self.up(end, height, tail, sheet)
    }

    /// The row `by` rows above `from`.
    fn up(
        &mut self,
        from: ScrollAnchor,
        by: usize,
        tail: &[Rows],
        sheet: LayoutContext<'_>,
    ) -> ScrollAnchor {
        let mut spot = from;
        let mut left = by;
        while left > spot.row {
            left -= spot.row;
            let Some(piece) = spot.piece.checked_sub(1) else {
                return ScrollAnchor::default();
            };
            let rows = self.rows(piece, tail, sheet).map_or(0, |rows| rows.len());
            spot = ScrollAnchor { piece, row: rows };
        }
        spot.row -= left;
        spot
    }

    /// The row `by` rows below `from`, or beyond the end.
    fn down(
        &mut self,
        from: ScrollAnchor,
        by: usize,
        tail: &[Rows],
        sheet: LayoutContext<'_>,
    ) -> ScrollAnchor {
        let mut spot = from;
        let mut left = by;
        while let Some(rows) = self.rows(spot.piece, tail, sheet) {
            let here = rows.len().saturating_sub(spot.row);
            if left < here {
                spot.row += left;
                return spot;
            }
            left -= here;
            spot = ScrollAnchor {
                piece: spot.piece + 1,
                row: 0,
            };
        }
        spot
    }

    /// Scrolls by rows, up when negative; `height` rows are visible.
    pub(super) fn scroll(
        &mut self,
        by: isize,
        height: usize,
        queue: &[String],
        sheet: LayoutContext<'_>,
    ) {
        let tail = self.tail(queue, sheet);
        let last = self.last_top(height, &tail, sheet);
        let top = self.top.unwrap_or(last);
        let distance = by.unsigned_abs();
        let to = if by < 0 {
            self.up(top, distance, &tail, sheet)
        } else {
            self.down(top, distance, &tail, sheet)
        };
        self.top = (to < last).then_some(to);
    }

    /// Scrolls to the beginning of the conversation.
    pub(super) fn go_to_top(&mut self) {
        self.top = Some(ScrollAnchor::default());
    }

    /// Scrolls to its end.
    pub(super) fn go_to_end(&mut self) {
        self.top = None;
    }
}

/// The lines of a block of code without its fences.
fn code_lines(block: &Block, opens: bool, closes: bool) -> String {
    let text = block.text.trim_start_matches('\n');
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if opens && !lines.is_empty() {
        lines.remove(0);
    }
    if closes {
        lines.pop();
    }
    lines.concat()
}

/// The layout parameters for a theme and a moment; for tests and the view.
pub(super) fn sheet(width: usize, theme: &Theme, now: Instant) -> LayoutContext<'_> {
    LayoutContext { width, theme, now }
}
