//! The conversation on the screen: a list of parts, and the visible range of them.
//!
//! Only what is visible is laid out, and layouts are cached near it: the cost of a frame depends on the screen, not on the length of the conversation. The
//! scroll position is held by part and row, so that nothing moves under the user's eyes when more arrives below.

mod folding;
mod scrolling;
mod transcript;
mod turn;

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ratatui::text::Line;

use super::band;
use super::layout_context::LayoutContext;
use super::part::{ChatPart, Speaker, Tone, texts};
use super::reply::ReplyProgress;
use super::thinking::OpenThinking;
use super::wait::AnswerWait;
use crate::app::help;
use crate::app::session::ui_update::UiUpdate;
use crate::base::text::counted;
use crate::store::chat_log::{LogEntry, LogRole};
use crate::tools::engine::registry::Registry;
use crate::ui::HELP_TABLES;
use crate::ui::markdown::block::{Block, BlockKind};
use crate::ui::markdown::layout::lay_out_open;
use crate::ui::markdown::split::BlockSplitter;
use crate::ui::text::clean::{Cleaner, clean, clean_line};
use crate::ui::text::theme::Theme;

/// After this much silence in an answer, a row says that more is awaited.
const PAUSE: Duration = Duration::from_secs(2);
/// Queued messages that are shown; they must not hide the answer.
const MAX_QUEUED_ROWS: usize = 5;
/// Maximum number of laid-out parts that are cached.
const MAX_CACHED_PARTS: usize = 256;

type Rows = Rc<Vec<Line<'static>>>;

/// A row of the conversation: the index of a part, and a row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct ScrollAnchor {
    part: usize,
    row: usize,
}

#[derive(Default)]
struct OpenAnswer {
    cleaner: Cleaner,
    splitter: BlockSplitter,
    /// Some of it has arrived.
    started: bool,
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

#[derive(Default)]
pub(super) struct Chat {
    parts: Vec<ChatPart>,
    /// The user's messages, and their profiles.
    exchanges: Vec<Exchange>,
    profile: String,
    open: OpenAnswer,
    /// Parts that arrived in the middle of an answer: shown below it, and moved into the conversation when the answer pauses.
    pending: Vec<ChatPart>,
    queued_rows: Option<(usize, Vec<Rows>)>,
    /// The answer that is awaited, and what it waits for.
    waiting: Option<AnswerWait>,
    /// When the latest piece of the answer came.
    latest_piece: Option<Instant>,
    thinking: OpenThinking,
    shows_thinking: bool,
    /// What the reply flow has told since the user's message; `None` while no reply is awaited.
    reply: Option<ReplyProgress>,
    /// The first visible row; `None` when the end is visible.
    top: Option<ScrollAnchor>,
    /// What the last frame began with.
    drawn_top: Option<scrolling::FrameTop>,
    cached: HashMap<usize, Rows>,
    layout: Option<(usize, Theme)>,
    unfold_all: bool,
}

pub(super) struct VisibleRows {
    /// Empty rows above them: a short conversation is next to the input.
    pub(super) blank: usize,
    /// Rows with their position in the conversation.
    pub(super) rows: Vec<(ScrollAnchor, Line<'static>)>,
    /// There is more below.
    pub(super) more: bool,
}

impl Chat {
    /// Processes an update of the session, at `time` of the clock.
    pub(super) fn show(&mut self, show: &UiUpdate, time: &str, now: Instant, tools: &Registry) {
        match show {
            UiUpdate::EarlierConversation(entries) => {
                entries.iter().for_each(|entry| self.past(entry));
            }
            UiUpdate::SessionOpened(entries) => self.open_session(entries, tools),
            UiUpdate::Profile(name) => {
                self.settle();
                let end = self.parts.len();
                if let Some(last) = self.exchanges.last_mut() {
                    last.end.get_or_insert(end);
                }
                self.profile.clone_from(name);
            }
            UiUpdate::UserMessage { text, time, spoken } => {
                self.push_text(Speaker::You, time);
                let mark = if *spoken { band::SPOKEN } else { "" };
                let text = format!("{mark}{text}");
                self.parts.extend(texts(Tone::Message, &clean(&text)));
                self.waiting = Some(AnswerWait::new(now));
                self.reply = Some(ReplyProgress::default());
                self.go_to_end();
            }
            UiUpdate::Event(event) => self.event(event, time, now, tools),
            UiUpdate::AnswerEnd(end) => self.end(*end),
            UiUpdate::Failed(problem) => {
                let mut text = format!("Error: {}", problem.one_line());
                if let Some(facts) = &problem.facts {
                    text.push('\n');
                    text.push_str(facts);
                }
                self.add(Tone::Error, &text);
            }
            UiUpdate::Remark(words) => self.remark(words),
            UiUpdate::System(words) | UiUpdate::Alert(words) => self.add(Tone::System, words),
            UiUpdate::Listing(text) => self.add(Tone::Listing, text),
            UiUpdate::Help(topic) => self.add(Tone::Listing, &help::plain(topic, &HELP_TABLES)),
            UiUpdate::CommandOutput {
                command, output, ..
            } => self.add_command(command, output),
            UiUpdate::Undone(said) => self.undo(said),
            UiUpdate::Leave(words) if !words.is_empty() => self.add(Tone::System, words),
            UiUpdate::Theme(_)
            | UiUpdate::ToggleThinking
            | UiUpdate::StatusChanged
            | UiUpdate::Ask(_)
            | UiUpdate::AskOver
            | UiUpdate::ChooseSession { .. }
            | UiUpdate::Choose(_)
            | UiUpdate::Offer(_)
            | UiUpdate::Prompt(_)
            | UiUpdate::RunProgram(_)
            | UiUpdate::Edit(_)
            | UiUpdate::Leave(_)
            | UiUpdate::Voice(_)
            | UiUpdate::FilesFound(_)
            | UiUpdate::Unsent(_)
            | UiUpdate::Insert(_)
            | UiUpdate::Mention(_)
            | UiUpdate::Copied(_) => {}
        }
    }

    /// Adds text as a part of its own, after an empty row; cleaned here.
    pub(super) fn add(&mut self, tone: Tone, text: &str) {
        self.add_parts(texts(tone, &clean(text)));
    }

    fn add_command(&mut self, command: &str, output: &str) {
        let mut parts = texts(Tone::Command, &clean(&format!("$ {command}")));
        parts.extend(texts(Tone::Listing, &clean(output)));
        self.add_parts(parts);
    }

    /// Adds a dim row. Of those about one compaction the last stays: the row of the wait says that it goes on.
    fn remark(&mut self, words: &str) {
        let is_remark =
            |part: &ChatPart| matches!(part, ChatPart::Text { tone, .. } if *tone == Tone::Remark);
        let compacts = self.waiting.as_ref().is_some_and(AnswerWait::is_compaction);
        if compacts && self.pending.is_empty() && self.parts.last().is_some_and(is_remark) {
            self.parts.pop();
            self.forget_from(self.parts.len());
        }
        let parts = vec![ChatPart::Text {
            tone: Tone::Remark,
            text: clean(words.trim()).into_owned(),
        }];
        match self.parts.last() {
            Some(last) if !self.open.started && is_remark(last) => self.parts.extend(parts),
            _ => self.add_parts(parts),
        }
    }

    /// Adds parts; they do not split an answer that is arriving.
    fn add_parts(&mut self, parts: Vec<ChatPart>) {
        if self.open.started {
            self.pending.push(ChatPart::Gap);
            self.pending.extend(parts);
            self.queued_rows = None;
        } else {
            self.empty_row();
            self.parts.extend(parts);
        }
    }

    /// True while something on the screen changes with time alone.
    pub(super) fn is_animated(&self) -> bool {
        self.waiting.is_some() || self.parts.iter().rev().take(64).any(ChatPart::is_animated)
    }

    /// The text of the last block of code.
    pub(super) fn code(&self) -> Option<String> {
        let mut parts = Vec::new();
        for part in self.parts.iter().rev() {
            match part {
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

    /// Shows what the model thinks, or hides it; true when it is shown now.
    pub(super) fn toggle_thinking(&mut self) -> bool {
        self.shows_thinking = !self.shows_thinking;
        self.cached.clear();
        self.realign();
        self.shows_thinking
    }

    // ---- updates ----

    fn past(&mut self, entry: &LogEntry) {
        match entry.role {
            LogRole::You => {
                self.push_text(Speaker::You, &entry.time);
                let text = clean(&entry.text);
                self.parts.extend(texts(Tone::Message, &shortened(&text)));
            }
            LogRole::Assistant => {
                self.push_text(Speaker::Marvin, &entry.time);
                self.open.started = true;
                self.push_answer(&entry.text);
                self.close();
            }
            LogRole::System | LogRole::Other => self.add(Tone::System, &entry.text),
        }
    }

    /// Hides the last message of the active profile, and what followed it.
    fn undo(&mut self, said: &str) {
        self.settle();
        let of_profile = |exchange: &Exchange| exchange.profile == self.profile;
        let Some(index) = self.exchanges.iter().rposition(of_profile) else {
            // It was sent before this profile came into view.
            let said = clean_line(crate::base::text::head(said, 200));
            return self.add(Tone::Dim, &format!("Undone: {said}"));
        };
        let Exchange { start, end, .. } = self.exchanges.remove(index);
        let length = self.parts.len();
        let start = match start
            .checked_sub(1)
            .and_then(|empty_row| self.parts.get(empty_row))
        {
            Some(ChatPart::Gap) => start - 1,
            _ => start,
        };
        let end = end.unwrap_or(length).clamp(start, length);
        self.parts.drain(start..end);
        let gone = end - start;
        for later in self.exchanges.iter_mut().skip(index) {
            later.start -= gone;
            later.end = later.end.map(|end| end - gone);
        }
        self.forget_from(start);
        self.realign();
        self.top = match self.top {
            Some(top) if top.part >= end => Some(ScrollAnchor {
                part: top.part - gone,
                ..top
            }),
            top => top.filter(|top| top.part < start),
        };
        self.add(Tone::Dim, "Undone.");
    }

    fn push_text(&mut self, who: Speaker, time: &str) {
        self.settle();
        self.empty_row();
        if who == Speaker::You {
            let start = self.parts.len();
            if let Some(last) = self.exchanges.last_mut() {
                last.end.get_or_insert(start);
            }
            self.exchanges.push(Exchange {
                profile: self.profile.clone(),
                start,
                end: None,
            });
        }
        self.parts.push(ChatPart::Label {
            who,
            time: clean_line(time),
        });
    }

    fn empty_row(&mut self) {
        if !matches!(self.parts.last(), None | Some(ChatPart::Gap)) {
            self.parts.push(ChatPart::Gap);
        }
    }

    fn push_answer(&mut self, text: &str) {
        let mut safe = String::with_capacity(text.len());
        self.open.cleaner.push(text, &mut safe);
        let mut done = Vec::new();
        self.open.splitter.push(&safe, &mut done);
        self.take(done);
    }

    /// Finishes the answer that is arriving and appends what came meanwhile.
    fn settle(&mut self) {
        self.end_thinking();
        self.close();
        self.queued_rows = None;
        self.parts.append(&mut self.pending);
    }

    /// Finishes the answer that is arriving.
    fn close(&mut self) {
        if !self.open.started {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        let mut done = Vec::new();
        open.splitter.finish(&mut done);
        self.take(done);
        self.forget_from(self.parts.len());
    }

    fn take(&mut self, done: Vec<Block>) {
        if done.is_empty() {
            return;
        }
        self.forget_from(self.parts.len());
        let shown = done
            .into_iter()
            .filter(|block| block.kind != BlockKind::Blank);
        self.parts.extend(shown.map(ChatPart::Block));
    }

    fn forget_from(&mut self, part: usize) {
        self.cached.retain(|at, _| *at < part);
    }

    // ---- the visible part ----

    /// Laid-out parts, with temporary ones at the end: incoming text, running calls, queued messages.
    fn tail(&mut self, queue: &[String], layout_ctx: LayoutContext<'_>) -> Vec<Rows> {
        let mut tail = Vec::new();
        let LayoutContext { width, theme, .. } = layout_ctx;
        let open = self.open.splitter.open();
        if let Some(block) = open.filter(|block| block.kind != BlockKind::Blank) {
            tail.push(Rc::new(lay_out_open(&block, width, theme)));
        }
        if !self.pending.is_empty() {
            let laid_out = self.queued_rows.as_ref();
            if laid_out.is_none_or(|(columns, _)| *columns != width) {
                let rows = self
                    .pending
                    .iter()
                    .map(|part| Rc::new(part.rows(layout_ctx)));
                self.queued_rows = Some((width, rows.collect()));
            }
            let laid_out = self.queued_rows.iter().flat_map(|(_, rows)| rows);
            tail.extend(laid_out.cloned());
        }
        let reply = self.reply.as_ref().filter(|_| self.waiting.is_some());
        let growing = self.thinking.growing().filter(|_| self.shows_thinking);
        if let Some(part) = growing {
            tail.push(Rc::new(part.rows(layout_ctx)));
        }
        if let Some(draft) = reply.map(|reply| reply.draft_rows(layout_ctx)) {
            tail.push(Rc::new(draft));
        }
        let paused = (self.latest_piece)
            .filter(|at| {
                self.open.started && layout_ctx.now.saturating_duration_since(*at) >= PAUSE
            })
            .map(AnswerWait::for_more);
        if let Some(waiting) = self.waiting.as_ref().or(paused.as_ref()) {
            let row = waiting.row(self.shows_thinking, layout_ctx);
            let mut rows = vec![Line::default(), row];
            let trace = reply.map(|reply| reply.trace_rows(layout_ctx));
            rows.extend(trace.into_iter().flatten());
            tail.push(Rc::new(rows));
        }
        for text in queue.iter().take(MAX_QUEUED_ROWS) {
            let words = clean_line(crate::base::text::head(text, 2_000));
            tail.push(Rc::new(vec![band::queued_row(&words, layout_ctx)]));
        }
        if queue.len() > MAX_QUEUED_ROWS {
            let words = format!("… {} more", queue.len() - MAX_QUEUED_ROWS);
            tail.push(Rc::new(vec![band::queued_row(&words, layout_ctx)]));
        }
        tail
    }

    fn rows(&mut self, index: usize, tail: &[Rows], layout_ctx: LayoutContext<'_>) -> Option<Rows> {
        if let Some(after) = index.checked_sub(self.parts.len()) {
            return tail.get(after).cloned();
        }
        let part = self.parts.get(index)?;
        if let Some(rows) = self.cached.get(&index).filter(|_| !part.is_animated()) {
            return Some(Rc::clone(rows));
        }
        let rows = Rc::new(part.rows(layout_ctx));
        if self.cached.len() >= MAX_CACHED_PARTS {
            self.cached.clear();
        }
        self.cached.insert(index, Rc::clone(&rows));
        Some(rows)
    }

    /// The parameters with what the user chose to see.
    fn with_choices<'a>(&self, layout_ctx: LayoutContext<'a>) -> LayoutContext<'a> {
        LayoutContext {
            shows_thinking: self.shows_thinking,
            ..layout_ctx
        }
    }
}

/// Lines of a message of an earlier session that are shown: of its beginning, and of its end, where a question about pasted text is.
const PAST_FIRST_LINES: usize = 12;
const PAST_LAST_LINES: usize = 8;

/// The beginning and the end of a message, and how much is between them.
fn shortened(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\n');
    let lines: Vec<&str> = text.lines().collect();
    let Some((first, rest)) = lines.split_at_checked(PAST_FIRST_LINES) else {
        return Cow::Borrowed(text);
    };
    let more = rest.len().saturating_sub(PAST_LAST_LINES);
    if more == 0 {
        return Cow::Borrowed(text);
    }
    let last = rest.get(more..).unwrap_or_default();
    let more = counted(more as u64, "more line");
    format!("{}\n… {more} …\n{}", first.join("\n"), last.join("\n")).into()
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
pub(super) fn layout_ctx(width: usize, theme: &Theme, now: Instant) -> LayoutContext<'_> {
    LayoutContext {
        width,
        theme,
        now,
        shows_thinking: false,
    }
}
