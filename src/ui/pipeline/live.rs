//! The picture on a terminal, drawn again by a thread: when something has changed, at most a few times a second, and once a second for the times.
//!
//! Events only change the state; they never wait for the terminal, not even for one that the user has stopped with Ctrl-S.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::layout::Size;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::lines::{self, INDENT, foreign};
use super::picture::{PictureContext, cut, picture};
use crate::app::pipeline::progress::RunProgress;
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::ui::term::inline::InlineArea;
use crate::ui::term::tty::error_size;
use crate::ui::text::theme::Theme;
use crate::ui::text::wrap::{self, HangingIndent};

/// The shortest time between two frames.
const MIN_FRAME_TIME: Duration = Duration::from_millis(200);
/// The longest one.
const MAX_FRAME_TIME: Duration = Duration::from_secs(1);
/// Lines that wait for a stopped terminal; older ones are dropped.
const MAX_WAITING_LINES: usize = 1000;

/// Draws the run on standard error.
pub(super) struct LiveDisplay {
    shared: Arc<LiveShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct LiveShared {
    state: Mutex<LiveState>,
    woken: Condvar,
    theme: Theme,
    began: Instant,
}

#[derive(Default)]
struct LiveState {
    progress: RunProgress,
    /// Lines that are to be printed above the picture.
    lines: VecDeque<(String, Style)>,
    changed: bool,
    /// One more frame, then no more.
    closed: bool,
}

impl LiveDisplay {
    pub(super) fn start(theme: Theme) -> Self {
        let shared = Arc::new(LiveShared {
            state: Mutex::default(),
            woken: Condvar::new(),
            theme,
            began: Instant::now(),
        });
        let thread = Mutex::new(paint(&shared));
        Self { shared, thread }
    }

    /// Draws the last picture, which stays.
    fn close(&self) {
        let now = self.shared.began.elapsed();
        self.shared.lock().progress.stop(now, "The run ended.");
        self.leave_terminal();
    }

    /// Draws a picture that stays, and leaves the terminal to somebody else.
    fn leave_terminal(&self) {
        self.shared.lock().closed = true;
        self.shared.woken.notify_all();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Begins to draw, below whatever is there.
fn paint(shared: &Arc<LiveShared>) -> Option<JoinHandle<()>> {
    let painter = Arc::clone(shared);
    let thread = thread::Builder::new()
        .name("pipeline view".to_owned())
        .spawn(move || painter.draw_until_closed());
    thread.ok()
}

impl Drop for LiveDisplay {
    fn drop(&mut self) {
        self.close();
        // Whatever came after the last frame.
        let rest = std::mem::take(&mut self.shared.lock().lines);
        for (line, _) in rest {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

impl EventSink for LiveDisplay {
    fn emit(&self, event: Event) {
        let mut after = After::Draw;
        {
            let mut state = self.shared.lock();
            match &event {
                Event::Pipeline(event) => {
                    state.progress.apply(event, self.shared.began.elapsed());
                    if let Some(style) = line_style(event, &self.shared.theme) {
                        let columns = usize::from(error_size().width);
                        let lines = lines::lines(event, &state.progress, columns);
                        lines.into_iter().for_each(|line| state.push(line, style));
                    }
                    after = match event {
                        PipelineEvent::RunEnded { .. } | PipelineEvent::RunPaused { .. } => {
                            After::Close
                        }
                        PipelineEvent::ApprovalAwaited { .. } => After::LeaveTerminal,
                        _ => After::Draw,
                    };
                }
                Event::Notice(_, words) => state.push(foreign(words), self.shared.theme.system),
                Event::Delta(_)
                | Event::Thinking(_)
                | Event::ToolsStarted(_)
                | Event::CallState { .. }
                | Event::Progress { .. }
                | Event::Output { .. }
                | Event::CallChanged { .. }
                | Event::Wait(_)
                | Event::ToolDone { .. }
                | Event::Turn(_)
                | Event::ReplyEnded(_)
                | Event::Compacted { .. }
                | Event::ChildLine { .. }
                | Event::ThoughtSigned(_)
                | Event::Denied { .. }
                | Event::Reply(_) => return,
            }
            state.changed = true;
        }
        match after {
            After::Close => self.close(),
            After::LeaveTerminal => self.leave_terminal(),
            After::Draw => {
                let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
                if thread.is_none() {
                    self.shared.lock().closed = false;
                    *thread = paint(&self.shared);
                }
                self.shared.woken.notify_all();
            }
        }
    }
}

/// What the display does after an event.
enum After {
    Draw,
    /// The run is over.
    Close,
    /// The user is asked there.
    LeaveTerminal,
}

impl LiveState {
    fn push(&mut self, line: String, style: Style) {
        if self.lines.len() == MAX_WAITING_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((line, style));
    }
}

/// The style of an event's lines; `None` when the picture shows it well enough.
pub(super) fn line_style(event: &PipelineEvent, theme: &Theme) -> Option<Style> {
    match event {
        PipelineEvent::RunStarted { .. } => Some(theme.dim),
        PipelineEvent::PhaseDone { .. } | PipelineEvent::PhaseSkipped { .. } => Some(theme.added),
        PipelineEvent::Warning { .. }
        | PipelineEvent::Steered { .. }
        | PipelineEvent::ChildEnded { done: false, .. } => Some(theme.system),
        PipelineEvent::TestsRun { .. } => Some(theme.text),
        PipelineEvent::PhaseStarted { .. }
        | PipelineEvent::RoundStarted { .. }
        | PipelineEvent::ChildStarted { .. }
        | PipelineEvent::ChildTools { .. }
        | PipelineEvent::ChildUsage { .. }
        | PipelineEvent::ChildEnded { done: true, .. }
        | PipelineEvent::ProviderWait { .. }
        | PipelineEvent::Checkpoint { .. }
        | PipelineEvent::InWorktree { .. }
        | PipelineEvent::ApprovalAwaited { .. }
        | PipelineEvent::RunPaused { .. }
        | PipelineEvent::RunEnded { .. } => None,
    }
}

impl LiveShared {
    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw_until_closed(&self) {
        let mut area = InlineArea::default();
        let mut size = error_size();
        loop {
            let mut state = self.lock();
            if !state.closed && !state.changed {
                let wait = self
                    .woken
                    .wait_timeout_while(state, MAX_FRAME_TIME, |state| {
                        !state.closed && !state.changed
                    });
                state = wait.unwrap_or_else(PoisonError::into_inner).0;
            }
            let closed = state.closed;
            let before = std::mem::replace(&mut size, error_size());
            if size == before || closed {
                let bytes = self.frame(&mut state, &mut area, size, closed);
                drop(state);
                // A terminal that is gone is no reason to end the run.
                let _ = io::stderr().lock().write_all(&bytes);
            } else {
                // While the user drags the window's edge every frame would leave rows behind.
                drop(state);
            }
            if closed {
                return;
            }
            let state = self.lock();
            let _ = self
                .woken
                .wait_timeout_while(state, MIN_FRAME_TIME, |state| !state.closed);
        }
    }

    /// The next frame; the last one may be higher than the terminal.
    fn frame(
        &self,
        state: &mut LiveState,
        area: &mut InlineArea,
        size: Size,
        last: bool,
    ) -> Vec<u8> {
        state.changed = false;
        // Some terminals wrap behind the last column at once.
        let width = usize::from(size.width).saturating_sub(1).max(1);
        let height = match last {
            true => usize::MAX,
            false => usize::from(size.height).saturating_sub(1),
        };
        let lines = std::mem::take(&mut state.lines);
        let lines: Vec<Line<'static>> = lines
            .iter()
            .flat_map(|(line, style)| printed(line, *style, width))
            .collect();
        let context = PictureContext {
            width,
            height,
            now: self.began.elapsed(),
            theme: &self.theme,
        };
        area.frame(&lines, &picture(&state.progress, &context))
    }
}

/// A line in the rows that it takes.
pub(super) fn printed(line: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    let indented = line.strip_prefix(INDENT);
    let hang = match indented {
        Some(_) => HangingIndent::blanks(INDENT.len()),
        None => HangingIndent {
            first: Vec::new(),
            rest: vec![Span::raw(INDENT)],
        },
    };
    let spans = [Span::styled(indented.unwrap_or(line).to_owned(), style)];
    let rows = wrap::words(&spans, width, &hang).into_iter();
    rows.map(|row| cut(row, width)).collect()
}
