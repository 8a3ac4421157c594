//! What a part of the session wants shown, and what it wants done that is not its own to do.
//!
//! Parts add to [`Orders`]. When a part has returned, the core sees to its requests, and the workers get its orders. So a part knows neither of them nor the
//! other parts, and a test looks at what it ordered.

use std::collections::VecDeque;
use std::sync::Arc;

use super::log_writer::PendingEntry;
use super::queued::Queued;
use super::run::Run;
use super::turn_job::TurnJob;
use super::ui_update::UiUpdate;
use super::work::Work;
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::tools::Effect;
use crate::tools::engine::context::SessionContext;
use crate::voice::transcribe::Transcript;

/// Makes the work of a job of its number, which its report has to carry, and of what stops it.
pub(super) type JobWork = Box<dyn FnOnce(u64, Cancel) -> Work>;

/// Work for a worker.
pub(super) enum Order {
    /// On a thread of its own.
    Work(Work),
    /// On the thread that writes, after all that was ordered before.
    Write(Box<dyn FnOnce() + Send>),
    /// The same, of which somebody wants to know the end.
    WriteAndReport(Work),
    /// Add an entry to the chat log.
    Log(PendingEntry),
    /// Add a line to the history of inputs.
    Remember(String),
    /// Answer a message.
    Turn(u64, Box<TurnJob>),
}

/// What concerns another part, or several.
pub(super) enum CoreRequest {
    /// Send what waits, if nothing has to end first.
    SendNext,
    /// Queue a message or a change.
    Queue(Queued),
    /// The messages that wait have changed: write them.
    SaveWaiting,
    /// Add a system message to this conversation, if it is still the one.
    TellModel { conversation: u64, text: String },
    /// Run a job, which can be stopped and is in the status line.
    Job {
        command: String,
        background: bool,
        work: JobWork,
    },
    /// Begin a new session with an empty conversation.
    NewSession,
    /// What the user said was written down.
    Heard(Transcript),
    /// What a tool that the user called wants of the session.
    Effects(Vec<Effect>),
    /// Record again, if voice mode waits for nothing else.
    Listen,
}

/// What there is to show and to do, each in order, and what is awaited.
#[derive(Default)]
pub(super) struct Orders {
    updates: Vec<UiUpdate>,
    orders: VecDeque<Order>,
    requests: VecDeque<CoreRequest>,
    /// Reports that the next message waits for.
    awaited_by_message: usize,
    /// Reports that only the interface waits for.
    awaited_by_interface: usize,
}

impl Orders {
    pub(super) fn show(&mut self, update: UiUpdate) {
        self.updates.push(update);
    }

    /// Shows a notice of Marvin itself.
    pub(super) fn system(&mut self, words: impl Into<String>) {
        self.show(UiUpdate::System(words.into()));
    }

    /// Shows one short line that answers what the user did.
    pub(super) fn remark(&mut self, words: impl Into<String>) {
        self.show(UiUpdate::Remark(words.into()));
    }

    pub(super) fn fail(&mut self, problem: Problem) {
        self.show(UiUpdate::Failed(problem));
    }

    /// Shows a text, or why there is none.
    pub(super) fn listing(&mut self, outcome: Outcome<String>) {
        self.show(outcome.map_or_else(UiUpdate::Failed, UiUpdate::Listing));
    }

    pub(super) fn push(&mut self, order: Order) {
        self.orders.push_back(order);
    }

    pub(super) fn request(&mut self, request: CoreRequest) {
        self.requests.push_back(request);
    }

    pub(super) fn send_next(&mut self) {
        self.request(CoreRequest::SendNext);
    }

    /// Runs `make` on a thread of its own. `report` makes the message of its end, see [`Work::new`].
    pub(super) fn work<T>(
        &mut self,
        name: &'static str,
        awaited_by: AwaitedBy,
        make: impl FnOnce() -> Outcome<T> + Send + 'static,
        report: impl FnOnce(Outcome<T>) -> WorkerEvent + Send + 'static,
    ) {
        self.start(Work::new(name, awaited_by, make, report));
    }

    /// Runs `work` on a thread of its own.
    pub(super) fn start(&mut self, work: Work) {
        self.begin(work.awaited_by());
        self.push(Order::Work(work));
    }

    /// Makes a text on a thread and then shows it.
    pub(super) fn list(
        &mut self,
        run: &Run,
        make: impl FnOnce(&SessionContext) -> Outcome<String> + Send + 'static,
    ) {
        let context = Arc::clone(&run.context);
        let make = move || make(&context);
        self.work("list", AwaitedBy::Interface, make, WorkerEvent::Listing);
    }

    /// Runs `write` after what was to be written before.
    pub(super) fn write(&mut self, write: impl FnOnce() + Send + 'static) {
        self.push(Order::Write(Box::new(write)));
    }

    /// Runs `make` after what was to be written before. `report` makes the message of its end, see [`Work::new`].
    pub(super) fn write_and_report<T>(
        &mut self,
        name: &'static str,
        awaited_by: AwaitedBy,
        make: impl FnOnce() -> Outcome<T> + Send + 'static,
        report: impl FnOnce(Outcome<T>) -> WorkerEvent + Send + 'static,
    ) {
        self.begin(awaited_by);
        self.push(Order::WriteAndReport(Work::new(
            name, awaited_by, make, report,
        )));
    }

    /// Runs a job: `make` gets its number and what stops it. `report` makes the message of its end, see [`Work::new`].
    pub(super) fn job<T>(
        &mut self,
        command: impl Into<String>,
        background: bool,
        make: impl FnOnce(u64, Cancel) -> Outcome<T> + Send + 'static,
        report: impl FnOnce(u64, Outcome<T>) -> WorkerEvent + Send + 'static,
    ) {
        let work = move |id, stop| {
            Work::new(
                "job",
                AwaitedBy::Nobody,
                move || make(id, stop),
                move |made| report(id, made),
            )
        };
        self.request(CoreRequest::Job {
            command: command.into(),
            background,
            work: Box::new(work),
        });
    }

    fn begin(&mut self, awaited_by: AwaitedBy) {
        if let Some(count) = self.awaited(awaited_by) {
            *count += 1;
        }
    }

    /// A report has come: whoever waited for it goes on.
    pub(super) fn reported(&mut self, awaited_by: AwaitedBy) {
        if let Some(count) = self.awaited(awaited_by) {
            *count = count.saturating_sub(1);
        }
    }

    fn awaited(&mut self, awaited_by: AwaitedBy) -> Option<&mut usize> {
        match awaited_by {
            AwaitedBy::NextMessage => Some(&mut self.awaited_by_message),
            AwaitedBy::Interface => Some(&mut self.awaited_by_interface),
            AwaitedBy::Nobody => None,
        }
    }

    /// Whether something has to end before the next message is sent.
    pub(super) fn blocks_next_message(&self) -> bool {
        self.awaited_by_message > 0
    }

    /// Whether the interface waits for something.
    pub(super) fn blocks_interface(&self) -> bool {
        self.awaited_by_message + self.awaited_by_interface > 0
    }

    /// The next order to carry out.
    pub(super) fn next(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The next request, and those that wait. What the first one leads to comes before them: put them back after it.
    pub(super) fn next_request(&mut self) -> Option<(CoreRequest, VecDeque<CoreRequest>)> {
        let request = self.requests.pop_front()?;
        Some((request, std::mem::take(&mut self.requests)))
    }

    pub(super) fn put_back(&mut self, waiting: VecDeque<CoreRequest>) {
        self.requests.extend(waiting);
    }

    /// The updates so far.
    pub(super) fn take_updates(&mut self) -> Vec<UiUpdate> {
        std::mem::take(&mut self.updates)
    }
}
