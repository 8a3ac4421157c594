//! Shows another session in the place of the conversation.

use std::time::Duration;

use super::{Chat, ChatPart};
use crate::app::sessions::transcript::{TranscriptContent, TranscriptEntry};
use crate::chat::event::CallEnd;
use crate::chat::message::{ToolCall, ToolOutput};
use crate::store::chat_log::{LogEntry, LogRole};
use crate::tools::engine::registry::Registry;
use crate::ui::tui::part::Tone;
use crate::ui::tui::tool::ToolCallCell;

impl Chat {
    /// Forgets what is on the screen, and shows what was said in a session.
    pub(super) fn open_session(&mut self, entries: &[TranscriptEntry], tools: &Registry) {
        *self = Self {
            profile: std::mem::take(&mut self.profile),
            unfold_all: self.unfold_all,
            shows_thinking: self.shows_thinking,
            ..Self::new()
        };
        for entry in entries {
            let said = |role, text: &str| LogEntry {
                role,
                text: text.to_owned(),
                time: entry.time.clone(),
                at: None,
            };
            match &entry.content {
                TranscriptContent::User(text) => self.past(&said(LogRole::You, text)),
                TranscriptContent::Assistant(text) => self.past(&said(LogRole::Assistant, text)),
                TranscriptContent::Call(call, output) => {
                    self.past_call(call, output.as_ref(), tools);
                }
                TranscriptContent::Notice(text) => self.add(Tone::Dim, text),
            }
        }
    }

    fn past_call(&mut self, call: &ToolCall, output: Option<&ToolOutput>, tools: &Registry) {
        self.settle();
        if !matches!(self.parts.last(), Some(ChatPart::Tool(_))) {
            self.empty_row();
        }
        let mut cell = ToolCallCell::new(call, tools);
        cell.unfolded = self.unfold_all;
        match output {
            Some(output) => {
                let end = match output.failed {
                    true => CallEnd::Failure,
                    false => CallEnd::Success,
                };
                cell.finish(end, Duration::ZERO, &output.text, None);
            }
            None => cell.finish(CallEnd::Stopped, Duration::ZERO, "stopped", None),
        }
        self.parts.push(ChatPart::Tool(Box::new(cell)));
    }
}
