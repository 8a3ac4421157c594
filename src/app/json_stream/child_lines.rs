//! Lines of sub-agents: a child tells its messages and results on standard error, where its parent reads them.

use std::io::{self, Write};
use std::sync::Arc;

use super::answer_lines::{AnswerLines, message};
use super::line_writer::LineWriter;
use crate::base::cancel::Cancel;
use crate::chat::event::{CHILD_LINE_MARKER, Event, EventSink};

/// What a child that its parent listens to does with events: they go where they always go, and messages and results to the parent too.
pub(crate) struct ToldToParent {
    own: Arc<dyn EventSink>,
    lines: AnswerLines,
}

impl ToldToParent {
    pub(crate) fn new(own: Arc<dyn EventSink>, model: &str) -> Self {
        let writer = LineWriter::to(MarkedStderr, Cancel::new());
        let lines = AnswerLines::for_parent(Arc::new(writer));
        lines.begin_turn(model);
        Self { own, lines }
    }
}

impl EventSink for ToldToParent {
    fn emit(&self, event: Event) {
        let is_of_call = matches!(event, Event::ToolDone { .. } | Event::Denied { .. });
        if message::is_part(&event) || is_of_call {
            self.lines.emit(event.clone());
        }
        self.own.emit(event);
    }

    fn takes_child_lines(&self) -> bool {
        true
    }
}

/// Standard error, where each line has a mark in front. What others say there comes before or after a line, never in it.
struct MarkedStderr;

impl Write for MarkedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut errors = io::stderr().lock();
        errors.write_all(CHILD_LINE_MARKER.as_bytes())?;
        errors.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
