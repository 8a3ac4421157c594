//! Messages on their way: those that wait, the one whose attachments are read, and the turn that runs.
//!
//! Only this part changes the queue. What a turn leaves behind is the conversation's; what there is to send it with is put together by the session.

mod preparation;
pub(super) mod running_turn;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attachments::attach::Attachments;
use super::attachments::attaching::Attaching;
use super::orders::{CoreRequest, Orders};
use super::queued::{Queued, QueuedKind};
use super::run::Run;
use super::ui_update::{RunningCall, UiUpdate};
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::Event;
use crate::model_call::model_target::ModelTarget;
use crate::proc::clipboard::{self, ClipboardContent};
use preparation::Preparation;
use running_turn::RunningTurn;

/// How long a cancelled turn may take to end before the session continues without it. Longer than the time after which a command that ignores SIGTERM
/// is killed.
pub(super) const GRACE: Duration = Duration::from_millis(120);

#[derive(Default)]
pub(super) struct Turns {
    queue: VecDeque<Queued>,
    /// A message whose attachments are being read.
    preparation: Option<Preparation>,
    running: Option<RunningTurn>,
    /// What may go with messages to come.
    attaching: Attaching,
    /// The session is ending: nothing more is sent.
    is_leaving: bool,
    /// Whether the last answer failed.
    has_failed: bool,
}

impl Turns {
    /// These files go with the first message.
    pub(super) fn new(files: Vec<PathBuf>) -> Self {
        Self {
            attaching: Attaching::new(files),
            ..Self::default()
        }
    }

    /// Which files wait for the next message.
    pub(super) fn announcement(&self) -> Option<String> {
        self.attaching.announcement()
    }

    /// The session is ending.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether the last answer failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn is_answering(&self) -> bool {
        self.running.is_some()
    }

    /// Messages wait to be sent.
    pub(super) fn has_waiting(&self) -> bool {
        !self.queue.is_empty() || self.preparation.is_some()
    }

    /// Something is on its way or waits for it.
    pub(super) fn is_busy(&self) -> bool {
        self.is_answering() || self.has_waiting() || self.is_pasting()
    }

    /// Messages that have not been sent yet, in order, as they were typed.
    pub(super) fn queue(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.queue.iter().map(Queued::typed)
    }

    /// The same, with the one whose attachments are read.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let prepared = self.preparation.iter().map(|one| &one.queued);
        prepared.chain(&self.queue).map(Queued::typed)
    }

    /// Queues a message or a change after those that wait.
    pub(super) fn push(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// Queues a message before those that wait.
    pub(super) fn push_front(&mut self, queued: Queued) {
        self.queue.push_front(queued);
    }

    /// Removes the last message of the queue and returns it.
    pub(super) fn take_back(&mut self, orders: &mut Orders) -> Option<String> {
        let taken = self.queue.pop_back();
        orders.request(CoreRequest::SaveWaiting);
        taken.map(|queued| queued.typed().into_owned())
    }

    /// What is next in the queue, while nothing else is on its way.
    pub(super) fn next_kind(&self) -> Option<QueuedKind> {
        let is_free = !self.is_answering() && self.preparation.is_none() && !self.is_leaving;
        let next = self.queue.front().filter(|_| is_free);
        next.map(|queued| queued.kind)
    }

    /// Takes what is next out of the queue.
    pub(super) fn take_next(&mut self) -> Option<Queued> {
        self.queue.pop_front()
    }

    /// Messages cannot be answered, and why: they are shown as sent, with that.
    pub(super) fn refuse_messages(&mut self, reason: &str, run: &Run, orders: &mut Orders) {
        let is_message = |queued: &mut Queued| queued.kind == QueuedKind::Message;
        while let Some(queued) = self.queue.pop_front_if(is_message) {
            self.has_failed = true;
            orders.show(UiUpdate::UserMessage {
                text: queued.text,
                time: run.context.clock.hour_minute(),
                spoken: queued.spoken.is_some(),
            });
            orders.fail(
                Problem::config(reason.to_owned())
                    .next("/model PROVIDER chooses another one for this session."),
            );
        }
    }

    /// Whether something has to be read before `queued` is sent. Nobody means a file by a misheard word.
    pub(super) fn must_read(&self, queued: &Queued) -> bool {
        queued.spoken.is_none() && self.attaching.may_attach(&queued.text)
    }

    /// Reads what goes with `queued`.
    pub(super) fn prepare(
        &mut self,
        queued: Queued,
        target: Arc<ModelTarget>,
        takes_images: bool,
        run: &Run,
        orders: &mut Orders,
    ) {
        let more = self.attaching.begin(&queued.text);
        let preparation = Preparation::begin(queued, target, more, takes_images, run, orders);
        self.preparation = Some(preparation);
    }

    /// What a message attaches was read, or cannot be. Returns the message that is to be sent with it.
    pub(super) fn prepared(
        &mut self,
        id: u64,
        outcome: Outcome<Attachments>,
        orders: &mut Orders,
    ) -> Option<(Preparation, Attachments)> {
        if self.is_leaving {
            return None;
        }
        let prepared = self.preparation.take_if(|one| one.is(id))?;
        match outcome {
            Ok(attached) => {
                self.attaching.attached();
                Some((prepared, attached))
            }
            Err(problem) => {
                let text = prepared.queued.text;
                self.has_failed = true;
                self.attaching.refuse(text.clone());
                orders.request(CoreRequest::SaveWaiting);
                orders.show(UiUpdate::Unsent(text));
                orders.fail(problem.next(
                    "The message was not sent. Sent again as it is, it goes without the attachment.",
                ));
                orders.send_next();
                None
            }
        }
    }

    /// Another conversation begins: a message there is another one.
    pub(super) fn leave_conversation(&mut self) {
        self.attaching.forget_refused();
    }

    pub(super) fn begin(&mut self, turn: RunningTurn) {
        self.running = Some(turn);
    }

    /// Follows what happens in a turn; the turn, if it is the one that runs.
    pub(super) fn follow(&mut self, id: u64, event: &Event) -> Option<&RunningTurn> {
        let turn = self.running.as_mut().filter(|turn| turn.id == id)?;
        turn.answer.add(event);
        Some(turn)
    }

    /// The text of the answer that arrives, after the last tool calls.
    pub(super) fn arriving(&self) -> Option<&str> {
        let turn = self.running.as_ref()?;
        Some(turn.answer.latest())
    }

    /// The turn of this number has ended, if it is the one that runs.
    pub(super) fn take_ended(&mut self, id: u64) -> Option<RunningTurn> {
        self.running.take_if(|turn| turn.id == id)
    }

    /// How the last turn ended.
    pub(super) fn note_failure(&mut self, has_failed: bool) {
        self.has_failed = has_failed;
    }

    /// Stops what is read for the input, else the running answer. False when there was nothing to stop.
    pub(super) fn stop(&mut self) -> bool {
        if self.attaching.stop_reading() {
            return true;
        }
        let running = self.running.as_mut();
        let Some(turn) = running.filter(|turn| turn.cancelled.is_none()) else {
            return false;
        };
        turn.cancelled = Some(Instant::now());
        turn.stop.fire();
        true
    }

    /// When a cancelled turn is overdue.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.running.as_ref()?.cancelled? + GRACE)
    }

    /// A cancelled turn that hangs where cancellation cannot reach it.
    pub(super) fn take_overdue(&mut self) -> Option<RunningTurn> {
        let is_overdue = self.deadline()? <= Instant::now();
        self.running.take_if(|_| is_overdue)
    }

    /// Returns all messages that are not sent yet to the input, that whose attachments are being read among them. False when there are none. What waits when
    /// the user leaves is kept on disk instead.
    pub(super) fn return_waiting(&mut self, orders: &mut Orders) -> bool {
        if self.is_leaving || !self.has_waiting() {
            return false;
        }
        let stopped = self.preparation.take().map(Preparation::stop);
        let waiting = stopped.into_iter().chain(self.queue.drain(..));
        let texts: Vec<String> = waiting.map(|queued| queued.typed().into_owned()).collect();
        orders.request(CoreRequest::SaveWaiting);
        orders.show(UiUpdate::Unsent(texts.join("\n\n")));
        true
    }

    /// The row of the status line for the answer that is on its way.
    pub(super) fn row(&self) -> Option<RunningCall> {
        let turn = self.running.as_ref()?;
        Some(RunningCall {
            name: String::new(),
            since: turn.since,
            background: false,
            output: String::new(),
        })
    }

    /// Takes what is on the clipboard into the input: a name that stands for the image, or text.
    pub(super) fn paste_clipboard(&mut self, run: &Run, orders: &mut Orders) {
        if self.is_pasting() {
            return;
        }
        let context = Arc::clone(&run.context);
        let (stop, with_session) = run.child_stop();
        let reading = stop.clone();
        let read = move || {
            let _with_session = with_session;
            clipboard::read(&context.env, &reading)
        };
        let nobody = AwaitedBy::Nobody;
        orders.work("clipboard", nobody, read, WorkerEvent::Clipboard);
        self.attaching.read_clipboard(stop);
    }

    /// True while the clipboard is read.
    pub(super) fn is_pasting(&self) -> bool {
        self.attaching.is_reading_clipboard()
    }

    pub(super) fn pasted(&mut self, outcome: Outcome<ClipboardContent>, orders: &mut Orders) {
        if let Some(update) = self.attaching.pasted(outcome) {
            orders.show(update);
        }
    }
}

#[cfg(test)]
mod tests;
