//! What the reply flow does before its answer is checked: the latest lines of its trace and the draft, dimmed, below the conversation. The answer replaces
//! them.

use std::collections::VecDeque;

use ratatui::text::Line;

use super::layout_context::LayoutContext;
use crate::base::text::tail;
use crate::chat::reply_event::ReplyEvent;
use crate::ui::text::clean::clean;
use crate::ui::text::width;
use crate::ui::text::wrap;

/// Lines of the trace that are shown.
const TRACE_ROWS: usize = 3;
/// Rows of the draft that are shown: its end.
const DRAFT_ROWS: usize = 8;
/// Bytes of the draft that are kept; more than any screen shows of it.
const MAX_DRAFT_BYTES: usize = 8_000;

/// The state of the flow while a reply is awaited.
#[derive(Debug, Default)]
pub(super) struct ReplyProgress {
    /// The latest lines, cleaned, the oldest first.
    trace: VecDeque<String>,
    /// The end of the draft, as it came.
    draft: String,
}

impl ReplyProgress {
    pub(super) fn take(&mut self, event: &ReplyEvent) {
        match event {
            ReplyEvent::Trace { text } => {
                for line in clean(text).lines().filter(|line| !line.trim().is_empty()) {
                    if self.trace.len() == TRACE_ROWS {
                        self.trace.pop_front();
                    }
                    self.trace.push_back(line.to_owned());
                }
            }
            ReplyEvent::Draft { piece } => {
                self.draft.push_str(piece);
                if self.draft.len() > 2 * MAX_DRAFT_BYTES {
                    self.draft = tail(&self.draft, MAX_DRAFT_BYTES).to_owned();
                }
            }
            ReplyEvent::DraftDropped => self.draft.clear(),
            // The trace has it.
            ReplyEvent::Plan { .. } => {}
        }
    }

    /// The draft gives way to the answer or to a round of tools.
    pub(super) fn drop_draft(&mut self) {
        self.draft.clear();
    }

    /// Forgets everything, and returns the latest line of the trace.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.draft.clear();
        std::mem::take(&mut self.trace).pop_back()
    }

    /// The rows of the draft, with an empty one before them.
    pub(super) fn draft_rows(&self, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
        let draft = clean(self.draft.trim());
        if draft.is_empty() {
            return Vec::new();
        }
        let rows: Vec<Line<'static>> = draft
            .split('\n')
            .flat_map(|line| wrap::text(line, layout_ctx.theme.dim, layout_ctx.width, 0))
            .collect();
        let hidden = rows.len().saturating_sub(DRAFT_ROWS);
        let shown = rows.into_iter().skip(hidden);
        std::iter::once(Line::default()).chain(shown).collect()
    }

    pub(super) fn trace_rows(&self, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
        let row = |line: &String| {
            let text = width::clip(&format!("  {line}"), layout_ctx.width);
            Line::styled(text, layout_ctx.theme.dim)
        };
        self.trace.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::{ColorMode, Theme};

    fn shown(lines: &[Line<'static>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_the_end_of_a_long_draft_and_of_the_trace_is_shown() {
        let theme = Theme::new(ColorMode::None);
        let layout_ctx = super::super::chat::layout_ctx(20, &theme, std::time::Instant::now());
        let mut reply = ReplyProgress::default();
        assert!(reply.draft_rows(layout_ctx).is_empty());
        for n in 0..20 {
            let piece = format!("line {n}\n");
            reply.take(&ReplyEvent::Draft { piece });
            let text = format!("trace {n}\n  its second line, which is longer than the screen");
            reply.take(&ReplyEvent::Trace { text });
        }
        let draft = shown(&reply.draft_rows(layout_ctx));
        assert_eq!(draft.len(), DRAFT_ROWS + 1);
        assert_eq!(draft.last().unwrap(), "line 19");
        let trace = shown(&reply.trace_rows(layout_ctx));
        assert_eq!(trace.len(), TRACE_ROWS);
        assert_eq!(trace[1], "  trace 19");
        assert!(trace.iter().all(|row| width::of(row) <= 20), "{trace:?}");
        reply.take(&ReplyEvent::DraftDropped);
        assert!(reply.draft_rows(layout_ctx).is_empty());
    }

    #[test]
    fn control_characters_of_a_draft_do_not_reach_the_screen() {
        let theme = Theme::new(ColorMode::None);
        let layout_ctx = super::super::chat::layout_ctx(40, &theme, std::time::Instant::now());
        let mut reply = ReplyProgress::default();
        for piece in ["a\u{1b}", "[31mb", "\u{7}c"] {
            let piece = piece.to_owned();
            reply.take(&ReplyEvent::Draft { piece });
        }
        let rows = shown(&reply.draft_rows(layout_ctx)).concat();
        assert!(!rows.contains(['\u{1b}', '\u{7}']), "{rows:?}");
    }
}
