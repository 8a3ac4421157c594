//! What a turn tells: pieces of the answer, calls of tools, thinking, and its end.

use std::time::Instant;

use super::{Chat, ChatPart};
use crate::app::session::ui_update::TurnOutcome;
use crate::chat::event::{Event, Level};
use crate::chat::reply_event::ReplyEvent;
use crate::tools::engine::registry::Registry;
use crate::ui::text::clean::clean_line;
use crate::ui::tool_call::CallOutcome;
use crate::ui::tui::part::{Speaker, Tone, texts};
use crate::ui::tui::reply::ReplyProgress;
use crate::ui::tui::thinking::ThinkingPart;
use crate::ui::tui::tool::ToolCallCell;
use crate::ui::tui::wait::AnswerWait;

impl Chat {
    pub(super) fn event(&mut self, event: &Event, time: &str, now: Instant, tools: &Registry) {
        match event {
            Event::Delta(text) => {
                self.latest_piece = Some(now);
                if self.open.started {
                    return self.push_answer(text);
                }
                // Some models begin or end with blanks only: no entry for those.
                self.open.blanks.push_str(text);
                if !self.open.blanks.trim().is_empty() {
                    let text = std::mem::take(&mut self.open.blanks);
                    self.end_thinking();
                    self.waiting = None;
                    self.reply = Some(ReplyProgress::default());
                    self.push_text(Speaker::Marvin, time);
                    self.open.started = true;
                    self.push_answer(&text);
                }
            }
            Event::ToolsStarted(calls) => {
                self.settle();
                self.waiting = None;
                if let Some(reply) = &mut self.reply {
                    reply.drop_draft();
                }
                let mut shown = self.parts.iter().rev();
                let last = shown.find(|part| !matches!(part, ChatPart::Thinking(_)));
                if !matches!(last, Some(ChatPart::Tool(_))) {
                    self.empty_row();
                }
                let calls = calls.iter().map(|call| {
                    let mut call = ToolCallCell::new(call, tools);
                    call.unfolded = self.unfold_all;
                    ChatPart::Tool(Box::new(call))
                });
                self.parts.extend(calls);
            }
            Event::Progress { id, words } => {
                if let Some((_, call)) = self.find_running(id) {
                    call.progress = clean_line(words);
                }
            }
            Event::Output { id, lines, .. } => {
                if let Some((_, call)) = self.find_running(id) {
                    call.set_output(lines);
                }
            }
            Event::Wait(wait) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.set(wait.clone(), now);
                }
            }
            Event::Thinking(piece) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.thinks();
                }
                let parts = self.thinking.push(piece);
                self.add_thinking(parts);
            }
            Event::CallState { id, state } => {
                if let Some((_, call)) = self.find_running(id) {
                    call.set_state(*state, now);
                }
            }
            Event::CallChanged { id, args } => {
                if let Some((at, call)) = self.find_running(id) {
                    call.change(args, tools);
                    self.cached.remove(&at);
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
                if let Some((at, call)) = self.find_running(id) {
                    let outcome = CallOutcome::new(*end, *took, text, display.clone());
                    call.finish(outcome.answered_by(answered_by));
                    self.cached.remove(&at);
                }
                if !self.parts.iter().rev().take(600).any(ChatPart::is_animated) {
                    self.waiting = Some(AnswerWait::new(now));
                }
            }
            Event::Notice(Level::Info, words) => self.remark(words),
            Event::Notice(Level::Warning, words) => self.add(Tone::System, words),
            Event::Reply(event) => match (&mut self.reply, event) {
                (Some(reply), event) => reply.take(event),
                // Outside a reply, such as what was learned from the last one.
                (None, ReplyEvent::Trace { text }) => self.add(Tone::Dim, text),
                (
                    None,
                    ReplyEvent::Draft { .. } | ReplyEvent::DraftDropped | ReplyEvent::Plan { .. },
                ) => {}
            },
            // What comes next is another message.
            Event::ReplyEnded(_) => self.settle(),
            Event::Turn(_)
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Denied { .. }
            | Event::Compacted { .. }
            | Event::Pipeline(_) => {}
        }
    }

    /// Adds complete parts of thinking. Those that come in the middle of an answer follow it.
    fn add_thinking(&mut self, parts: impl IntoIterator<Item = ThinkingPart>) {
        let to = match self.open.started {
            true => &mut self.pending,
            false => &mut self.parts,
        };
        let before = to.len();
        to.extend(parts.into_iter().map(ChatPart::Thinking));
        if to.len() > before {
            self.queued_rows = None;
            self.forget_from(self.parts.len());
        }
    }

    pub(super) fn end_thinking(&mut self) {
        let last = self.thinking.finish();
        self.add_thinking(last);
    }

    /// The unfinished call of this id, and its index.
    fn find_running(&mut self, id: &str) -> Option<(usize, &mut ToolCallCell)> {
        let parts = self.parts.iter_mut().enumerate().rev().take(600);
        parts
            .filter_map(|(index, part)| match part {
                ChatPart::Tool(call) => Some((index, call.as_mut())),
                _ => None,
            })
            .find(|(_, call)| call.runs() && call.id() == id)
    }

    pub(super) fn end(&mut self, end: TurnOutcome) {
        self.close();
        self.end_thinking();
        self.open.blanks.clear();
        let silent = self.waiting.take().is_some();
        let last = self.reply.take().and_then(|mut reply| reply.finish());
        for (index, part) in self.parts.iter_mut().enumerate().rev().take(600) {
            if let ChatPart::Tool(call) = part
                && call.runs()
            {
                call.finish(CallOutcome::stopped());
                self.cached.remove(&index);
            }
        }
        match (end, last) {
            (TurnOutcome::Stopped, _) => self.parts.extend(texts(Tone::Dim, "stopped")),
            // Without an answer, the trace is all there is to see.
            (TurnOutcome::Complete, Some(last)) if silent => {
                self.parts.extend(texts(Tone::Dim, &last));
            }
            (TurnOutcome::Complete | TurnOutcome::Failed, _) => {}
        }
        self.settle();
    }
}
