//! Shows another session in the place of the conversation.

use super::{Chat, ChatPart};
use crate::app::sessions::transcript::{PastCall, TranscriptContent, TranscriptEntry};
use crate::store::chat_log::{LogEntry, LogRole};
use crate::tools::engine::registry::Registry;
use crate::ui::tool_call::CallOutcome;
use crate::ui::tui::part::{Tone, texts};
use crate::ui::tui::tool::ToolCallCell;

impl Chat {
    /// Forgets what is on the screen, and shows what was said in a session.
    pub(super) fn open_session(&mut self, entries: &[TranscriptEntry], tools: &Registry) {
        *self = Self {
            profile: std::mem::take(&mut self.profile),
            unfold_all: self.unfold_all,
            shows_thinking: self.shows_thinking,
            ..Self::default()
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
                TranscriptContent::Call(past) => self.past_call(past, tools),
                TranscriptContent::Command { command, output } => {
                    self.add_command(command, output);
                }
                TranscriptContent::Stopped => {
                    self.settle();
                    self.parts.extend(texts(Tone::Dim, "stopped"));
                }
                TranscriptContent::Error(text) => self.add(Tone::Error, &format!("Error: {text}")),
                TranscriptContent::Notice(text) => self.add(Tone::Dim, text),
            }
        }
    }

    fn past_call(&mut self, past: &PastCall, tools: &Registry) {
        self.settle();
        if !matches!(self.parts.last(), Some(ChatPart::Tool(_))) {
            self.empty_row();
        }
        let mut cell = ToolCallCell::new(&past.call, tools);
        cell.unfolded = self.unfold_all;
        cell.finish(CallOutcome::past(
            past.output.as_ref(),
            past.record.as_ref(),
        ));
        self.parts.push(ChatPart::Tool(Box::new(cell)));
    }
}
