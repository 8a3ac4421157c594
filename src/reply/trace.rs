//! The trace: one line about what a stage found or did, for the status area or standard error.

use std::sync::Arc;

use crate::chat::event::{Event, EventSink};
use crate::chat::reply_event::ReplyEvent;
use crate::reply::settings::TraceLevel;

/// Tells what the stages do. Lines that repeat text of the user or of a tool pass through [`crate::base::redact`] before.
#[derive(Clone)]
pub(crate) struct Trace {
    level: TraceLevel,
    listener: Arc<dyn EventSink>,
}

impl Trace {
    pub(crate) fn new(level: TraceLevel, listener: Arc<dyn EventSink>) -> Self {
        Self { level, listener }
    }

    /// A line that everybody sees who has not switched the trace off; it begins with its symbol.
    pub(crate) fn line(&self, text: impl Into<String>) {
        if self.level != TraceLevel::Off {
            self.emit(text.into());
        }
    }

    /// A line for those who want to know everything: a category such as `planning`, and a sentence.
    pub(crate) fn detail(&self, category: &str, text: impl FnOnce() -> String) {
        if self.level == TraceLevel::Full {
            self.emit(format!("[{category}] {}", text()));
        }
    }

    fn emit(&self, text: String) {
        self.listener.emit(Event::Reply(ReplyEvent::Trace { text }));
    }
}
