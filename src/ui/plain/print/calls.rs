//! The rows of tool calls.
//!
//! A call that ends soon is one row, with its arguments and how it ended. One that takes longer is announced by a row of its own, and how it ended is on
//! another one, which names it again if anything was written in between: calls of a round run side by side.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::Line;

use super::super::rows::{INDENT, TextKind};
use super::Printer;
use crate::app::sessions::transcript::PastCall;
use crate::base::text::{clip, plural};
use crate::chat::event::{CallState, TOOLS_MARKER};
use crate::chat::message::ToolCall;
use crate::tools::engine::registry::Registry;
use crate::ui::text::diff::{self, DiffFrame};
use crate::ui::text::width;
use crate::ui::tool_call::{CallHeading, CallOutcome, DIFF_ROWS, Excerpt};

/// A call that runs for this long is announced.
const ANNOUNCE_TIME: Duration = Duration::from_secs(1);
/// Columns of a row of a call where no terminal has a width.
const PIPE_COLUMNS: usize = 400;
/// Columns of a diff there: more than any of its rows has.
const PIPE_DIFF_COLUMNS: usize = 1 << 16;
/// Maximum characters of the reason of a failure.
const MAX_REASON_CHARS: usize = 1_000;
/// Before the end of a call whose row is the one above.
const END_INDENT: &str = "  ";

/// The calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(Vec<OpenCall>);

#[derive(Debug)]
pub(super) struct OpenCall {
    id: String,
    heading: CallHeading,
    /// When it started; calls of a round may wait for each other.
    since: Option<Instant>,
    is_announced: bool,
}

impl OpenCalls {
    fn begin(&mut self, calls: &[ToolCall], registry: &Registry) {
        self.0.extend(calls.iter().map(|call| OpenCall {
            id: call.id.clone(),
            heading: CallHeading::of(call, registry),
            since: None,
            is_announced: false,
        }));
    }

    pub(super) fn set_state(&mut self, id: &str, state: CallState, now: Instant) {
        let call = self.0.iter_mut().find(|call| call.id == id);
        if let (CallState::Running, Some(call)) = (state, call) {
            call.since.get_or_insert(now);
        }
    }

    pub(super) fn change(&mut self, id: &str, args: &str, registry: &Registry) {
        let call = self.0.iter_mut().find(|call| call.id == id);
        if let Some(call) = call {
            call.heading.change(args, registry);
        }
    }

    /// When the next one is to be announced.
    pub(super) fn due(&self) -> Option<Instant> {
        let silent = self.0.iter().filter(|call| !call.is_announced);
        silent
            .filter_map(|call| call.since)
            .min()?
            .checked_add(ANNOUNCE_TIME)
    }

    /// Those that have to be announced: all that run since `since` or longer.
    fn announce(&mut self, since: Instant) -> Vec<(String, CallHeading)> {
        let calls = self.0.iter_mut();
        calls
            .filter(|call| !call.is_announced && call.since.is_some_and(|start| start <= since))
            .map(|call| {
                call.is_announced = true;
                (call.id.clone(), call.heading.clone())
            })
            .collect()
    }

    fn end(&mut self, id: &str) -> Option<OpenCall> {
        let at = self.0.iter().position(|call| call.id == id)?;
        Some(self.0.remove(at))
    }
}

impl Printer {
    /// The calls of a round are about to run.
    pub(super) fn begin_calls(&mut self, calls: &[ToolCall], registry: &Registry) {
        self.begin_row();
        self.calls.begin(calls, registry);
    }

    /// Announces the calls that have run for long enough.
    pub(in super::super) fn announce_slow_calls(&mut self) {
        if let Some(since) = Instant::now().checked_sub(ANNOUNCE_TIME) {
            self.announce(since);
        }
    }

    /// Announces those that run: something about them follows.
    pub(super) fn announce_calls(&mut self) {
        self.announce(Instant::now());
    }

    fn announce(&mut self, since: Instant) {
        for (id, heading) in self.calls.announce(since) {
            self.call_row(&heading, None);
            self.row_above = Some(id);
        }
    }

    pub(super) fn end_call(&mut self, id: &str, name: &str, outcome: &CallOutcome) {
        let heading = match self.calls.end(id) {
            Some(_) if self.row_above.as_deref() == Some(id) => None,
            Some(call) => Some(call.heading),
            None => Some(CallHeading::named(name)),
        };
        self.outcome(heading.as_ref(), outcome);
    }

    /// Calls that did not end before their turn.
    pub(super) fn stop_calls(&mut self) {
        let stopped = std::mem::take(&mut self.calls).0;
        for call in stopped {
            self.outcome(Some(&call.heading), &CallOutcome::stopped());
        }
    }

    /// A call of a session that goes on.
    pub(super) fn past_call(&mut self, past: &PastCall, registry: &Registry) {
        let outcome = CallOutcome::past(past.output.as_ref(), past.record.as_ref());
        self.outcome(Some(&CallHeading::of(&past.call, registry)), &outcome);
    }

    /// How a call ended, what it changed, and what of its result is told; without a heading its row is the one above.
    fn outcome(&mut self, heading: Option<&CallHeading>, outcome: &CallOutcome) {
        let columns = self.row_columns(PIPE_DIFF_COLUMNS);
        let frame = DiffFrame {
            width: columns.saturating_sub(INDENT.len()),
            rows: DIFF_ROWS,
            hint: "",
            theme: &self.theme,
        };
        let change = outcome
            .change()
            .map(|display| diff::of_display(display, frame));
        let mut words = outcome.words(columns);
        if let Some(drawn) = &change {
            words = words.replacen('✓', &format!("✓ +{} −{}", drawn.added, drawn.removed), 1);
        }
        let style = match outcome.is_failure() {
            true => self.theme.error,
            false => self.theme.dim,
        };
        match heading {
            Some(heading) => self.call_row(heading, Some((&words, style))),
            None => {
                self.label(&format!("{END_INDENT}{words}"), style);
                self.write("\n");
            }
        }
        for line in change.iter().flat_map(|drawn| &drawn.lines) {
            self.foreign_row(line);
        }
        self.excerpt(outcome);
    }

    fn excerpt(&mut self, outcome: &CallOutcome) {
        match outcome.excerpt() {
            Excerpt::Nothing | Excerpt::Reason("") => {}
            Excerpt::Reason(line) => {
                self.foreign_text(TextKind::Verbatim, &clip(line, MAX_REASON_CHARS));
                self.end_line();
            }
            Excerpt::LastWords { hidden, lines } => {
                let dim = self.theme.dim;
                let more = (hidden > 0).then(|| format!("… {}", plural(hidden, "more line")));
                let room = self.row_columns(PIPE_COLUMNS).saturating_sub(INDENT.len());
                for line in more.as_deref().into_iter().chain(lines) {
                    self.foreign_row(&Line::styled(width::clip(line, room), dim));
                }
            }
        }
    }

    /// Name and arguments of a call, cut where they do not fit, and how it ended.
    fn call_row(&mut self, heading: &CallHeading, end: Option<(&str, Style)>) {
        self.begin_row();
        let end = end.filter(|(words, _)| !words.is_empty());
        let end = end.map(|(words, style)| (format!("  {words}"), style));
        let taken = end.as_ref().map_or(0, |(words, _)| width::of(words));
        let room = self.row_columns(PIPE_COLUMNS).saturating_sub(taken);
        let text = format!("{TOOLS_MARKER}{}", heading.line());
        self.label(&width::clip(text.trim_end(), room), self.theme.tool);
        if let Some((words, style)) = end {
            self.label(&words, style);
        }
        self.write("\n");
    }

    /// One row of text that is not Marvin's, already as wide as it may be.
    fn foreign_row(&mut self, line: &Line<'_>) {
        self.write(INDENT);
        for span in &line.spans {
            self.label(&span.content, line.style.patch(span.style));
        }
        self.write("\n");
    }

    fn row_columns(&self, in_a_pipe: usize) -> usize {
        match self.columns() {
            0 => in_a_pipe,
            columns => columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "read_file", format!(r#"{{"path": "{id}.txt"}}"#))
    }

    #[test]
    fn a_call_is_announced_once_and_only_when_it_has_run_for_a_second() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut calls = OpenCalls::default();
        calls.begin(&[call("a"), call("b"), call("c")], &Registry::default());
        assert_eq!(calls.due(), None, "none has started");
        calls.set_state("a", CallState::Running, start);
        calls.set_state("b", CallState::Running, after(500));
        // It waited for the user in between.
        calls.set_state("a", CallState::Waiting, after(600));
        calls.set_state("a", CallState::Running, after(700));
        assert_eq!(calls.due(), Some(after(1_000)));
        let mut announced = |since| {
            let calls: Vec<String> = (calls.announce(since).into_iter())
                .map(|(_, heading)| heading.line())
                .collect();
            calls
        };
        assert_eq!(announced(start), ["read_file  a.txt"]);
        assert_eq!(announced(after(400)), [] as [&str; 0]);
        assert_eq!(announced(after(500)), ["read_file  b.txt"]);
        assert_eq!(announced(after(9_000)), [] as [&str; 0], "one is queued");
        assert!(calls.end("b").is_some() && calls.end("b").is_none());
        assert_eq!(calls.due(), None);
    }
}
