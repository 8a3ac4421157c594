//! The turn that runs, and how it ended.

use std::time::Instant;

use jiff::Timestamp;

use crate::app::session::queued::{Queued, QueuedKind, Spoken};
use crate::app::session::ui_update::TurnOutcome;
use crate::app::session::worker_event::{ConversationState, TurnEnd};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::redact::scrub;
use crate::chat::event::Event;
use crate::chat::message::Message;
use crate::llm::failure::FailureKind;

pub(in crate::app::session) struct RunningTurn {
    pub(in crate::app::session) id: u64,
    pub(in crate::app::session) conversation: u64,
    pub(in crate::app::session) stop: Cancel,
    pub(in crate::app::session) _with_session: OnFire,
    pub(in crate::app::session) since: Instant,
    pub(in crate::app::session) message: String,
    pub(in crate::app::session) spoken: Option<Spoken>,
    /// The profile it was sent under; a tool may change the profile during the turn.
    pub(in crate::app::session) profile: String,
    /// When it was sent, if it takes the reply flow.
    pub(in crate::app::session) flow: Option<Timestamp>,
    /// It was sent a second time, after a change of the profile.
    pub(in crate::app::session) resent: bool,
    pub(in crate::app::session) answer: ArrivingAnswer,
    /// When the user cancelled it.
    pub(in crate::app::session) cancelled: Option<Instant>,
}

/// The answer so far.
#[derive(Debug, Default)]
pub(in crate::app::session) struct ArrivingAnswer {
    text: String,
    /// Where in it the text after the last tool calls begins.
    latest: usize,
    /// Tool calls came after the last piece of text.
    after_tools: bool,
}

impl ArrivingAnswer {
    /// Follows what happens in the turn.
    pub(super) fn add(&mut self, event: &Event) {
        match event {
            Event::Delta(piece) => {
                if std::mem::take(&mut self.after_tools) && !self.text.is_empty() {
                    self.text.push_str("\n\n");
                    self.latest = self.text.len();
                }
                self.text.push_str(piece);
            }
            Event::ToolsStarted(_) => self.after_tools = true,
            Event::ToolDone { .. }
            | Event::Thinking(_)
            | Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::CallChanged { .. }
            | Event::Wait(_)
            | Event::Notice(..)
            | Event::Turn(_)
            | Event::ReplyEnded(_)
            | Event::Compacted { .. }
            | Event::Pipeline(_)
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Denied { .. }
            | Event::Reply(_) => {}
        }
    }

    pub(in crate::app::session) fn text(&self) -> &str {
        &self.text
    }

    /// The text after the last tool calls.
    pub(super) fn latest(&self) -> &str {
        self.text.get(self.latest..).unwrap_or_default()
    }

    /// What a model that declines says is told with the error instead of being shown as its answer: the rest of the last message behind the shown text.
    fn words_of_refusal(&self, state: &ConversationState) -> Option<String> {
        let Some(Message::Assistant(last)) = state.messages.last() else {
            return None;
        };
        let rest = last.text.strip_prefix(self.latest())?;
        if rest.is_empty() {
            return None;
        }
        let apart = self.text.is_empty() || rest.starts_with('\n');
        Some(format!("{}{rest}", if apart { "" } else { "\n\n" }))
    }
}

impl RunningTurn {
    pub(in crate::app::session) fn outcome(&self, end: &TurnEnd) -> TurnOutcome {
        match (&end.failure, self.cancelled.is_some()) {
            (None, false) => TurnOutcome::Complete,
            (Some(failure), false) if !failure.problem.is_cancelled() => TurnOutcome::Failed,
            (None, true) if end.conversation.is_some() => TurnOutcome::Complete,
            _ => TurnOutcome::Stopped,
        }
    }

    /// The answer as the chat log keeps it, with a mark when it is not whole; `None` when there is none.
    pub(in crate::app::session) fn logged_answer(
        &self,
        end: &TurnEnd,
        outcome: TurnOutcome,
    ) -> Option<String> {
        let mut text = self.answer.text.clone();
        if outcome == TurnOutcome::Failed
            && let Some(state) = &end.conversation
        {
            text.push_str(&self.answer.words_of_refusal(state).unwrap_or_default());
        }
        if text.trim().is_empty() {
            return None;
        }
        let failure = end.failure.as_ref().map(|failure| &failure.kind);
        let mark = match (outcome, failure) {
            (TurnOutcome::Complete, _) => "",
            (TurnOutcome::Stopped, _) => "\n\n[stopped]",
            (TurnOutcome::Failed, Some(FailureKind::Declined)) => "\n\n[refused by the model]",
            (TurnOutcome::Failed, Some(FailureKind::Filtered)) => "\n\n[ended by a content filter]",
            (
                TurnOutcome::Failed,
                Some(FailureKind::Unfinished | FailureKind::Rounds | FailureKind::Budget),
            ) => "\n\n[incomplete]",
            (TurnOutcome::Failed, _) => "\n\n[cut by a failure]",
        };
        Some(self.for_memory(&text) + mark)
    }

    /// A text of this turn: what may become memory holds no secrets.
    pub(in crate::app::session) fn for_memory(&self, text: &str) -> String {
        match self.flow {
            Some(_) => scrub(text),
            None => text.to_owned(),
        }
    }

    /// The message to send again when the profile has changed; not a third time.
    pub(in crate::app::session) fn again(&self) -> Option<Queued> {
        (!self.resent).then(|| Queued {
            resent: true,
            spoken: self.spoken,
            ..Queued::new(QueuedKind::Message, self.message.clone())
        })
    }
}
