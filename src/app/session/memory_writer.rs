//! Writes what was said to the memory of the profile, on a thread of its own: after a while of silence, when the profile changes, and at the end.
//!
//! The thread starts with the first reply of the flow. It has a connection to the model of its own, because a call that is cut off closes all connections
//! of its provider.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded, unbounded};

use super::Session;
use super::inbox::{Inbox, WorkerEvent};
use crate::agent::model_target::ModelTarget;
use crate::app::session::ui_update::UiUpdate;
use crate::app::settings::ModelChoice;
use crate::app::setup::{self, Spending};
use crate::base::cancel::Cancel;
use crate::chat::event::{Event, EventSink};
use crate::reply::engine::ReplyEngine;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// How long the end of a session may wait for what was said to be remembered.
const FAREWELL_LIMIT: Duration = Duration::from_secs(45);

/// What the thread is told.
enum MemoryJob {
    /// A reply has ended: this conversation is to be remembered when it is time.
    Watch(Arc<ReplyEngine>, ModelChoice),
    /// Remember everything now.
    Flush(Arc<ReplyEngine>, ModelChoice, Sender<()>),
}

/// The thread that writes memory. It starts with the first job.
#[derive(Default)]
pub(super) struct MemoryWriter {
    jobs: Option<Sender<MemoryJob>>,
    /// What was said in a profile that was left is being remembered.
    leaving: Option<Receiver<()>>,
    /// The last job, while the session is ending.
    farewell: Option<Farewell>,
    /// Cancels what the thread is doing.
    stop: Cancel,
}

/// The end of a session that waits for its memory.
struct Farewell {
    done: Receiver<()>,
    until: Instant,
}

/// Passes on what the thread tells outside a reply: lines of the trace and notices.
struct MemoryRelay(Arc<Inbox>);

impl EventSink for MemoryRelay {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Reply(_) | Event::Notice(..)) {
            self.0.send(WorkerEvent::Memory(event));
        }
    }
}

impl Session {
    /// After a reply: remembers the conversation when it is time.
    pub(super) fn watch_memory(&mut self, engine: &Arc<ReplyEngine>) {
        let job = MemoryJob::Watch(Arc::clone(engine), self.model_choice());
        self.memory_job(job);
    }

    /// Remembers what was said in a profile that is being left.
    pub(super) fn remember_left_profile(&mut self, engine: &Arc<ReplyEngine>) {
        self.memory.leaving = Some(self.flush_memory(engine));
    }

    /// Remembers what was said; the receiver is notified when that is done.
    fn flush_memory(&mut self, engine: &Arc<ReplyEngine>) -> Receiver<()> {
        let (done, told) = bounded(1);
        let job = MemoryJob::Flush(Arc::clone(engine), self.model_choice(), done);
        self.memory_job(job);
        told
    }

    /// Begins to remember what was said, before the session ends, and says so. False when there is nothing to remember. Call
    /// [`Session::is_remembering`] until it is false, then [`Session::close`].
    pub(crate) fn begin_farewell(&mut self) -> bool {
        self.end_voice();
        self.cancel();
        let engine = self.flow.engine().filter(|engine| engine.has_pending());
        let is_open = |done: &Receiver<()>| matches!(done.try_recv(), Err(TryRecvError::Empty));
        let done = match (engine, self.memory.leaving.take().filter(is_open)) {
            // Jobs are done in order, so this one is the last.
            (Some(engine), _) => self.flush_memory(&engine),
            (None, Some(leaving)) => leaving,
            (None, None) => return false,
        };
        self.memory.farewell = Some(Farewell {
            done,
            until: Instant::now() + FAREWELL_LIMIT,
        });
        self.updates.push(UiUpdate::System(
            "Remembering this conversation… Ctrl-C skips it.".to_owned(),
        ));
        true
    }

    /// Whether the end of the session still has to wait.
    pub(crate) fn is_remembering(&mut self) -> bool {
        let Some(farewell) = &self.memory.farewell else {
            return false;
        };
        let is_late = Instant::now() >= farewell.until;
        let is_done = !matches!(farewell.done.try_recv(), Err(TryRecvError::Empty));
        if is_late && !is_done {
            self.skip_farewell();
        } else if is_done {
            self.memory.farewell = None;
        }
        self.memory.farewell.is_some()
    }

    /// The user does not want to wait, or it took too long. What is not remembered now is remembered the next time.
    pub(crate) fn skip_farewell(&mut self) {
        if self.memory.farewell.take().is_some() {
            self.memory.stop.fire();
            self.updates.push(UiUpdate::System(
                "Not remembered yet; the next session will do it.".to_owned(),
            ));
        }
    }

    /// The provider and model in use, for a connection of its own.
    fn model_choice(&self) -> ModelChoice {
        match self.target() {
            Some(target) => ModelChoice {
                provider: Some(target.provider.name().to_owned()),
                model: Some(target.model.clone()),
            },
            None => self.settings.model.clone(),
        }
    }

    fn memory_job(&mut self, job: MemoryJob) {
        if self.memory.jobs.is_none() {
            let (give, take) = unbounded();
            let (stop, with_session) = self.stop_all.child();
            let worker = MemoryThread {
                context: Arc::clone(&self.context),
                spending: self.spending.clone(),
                inbox: Arc::clone(&self.inbox),
                stop: stop.clone(),
                target: None,
            };
            self.memory.stop = stop;
            let started = thread::Builder::new()
                .name("memory".to_owned())
                .spawn(move || {
                    let _with_session = with_session;
                    worker.run(&take);
                });
            if started.is_err() {
                // The chat log has everything; the next session remembers it.
                return;
            }
            self.memory.jobs = Some(give);
        }
        if let Some(jobs) = &self.memory.jobs {
            let _ = jobs.send(job);
        }
    }
}

struct MemoryThread {
    context: Arc<SessionContext>,
    spending: Spending,
    inbox: Arc<Inbox>,
    stop: Cancel,
    /// The model that was used last.
    target: Option<(ModelChoice, Arc<ModelTarget>)>,
}

impl MemoryThread {
    fn run(mut self, jobs: &Receiver<MemoryJob>) {
        let mut watched: Option<(Arc<ReplyEngine>, ModelChoice)> = None;
        loop {
            let pause = watched
                .as_ref()
                .map_or(Duration::MAX, |(engine, _)| engine.settings().diary_check);
            match jobs.recv_timeout(pause) {
                Ok(MemoryJob::Watch(engine, choice)) => watched = Some((engine, choice)),
                Ok(MemoryJob::Flush(engine, choice, done)) => {
                    self.update(&engine, &choice);
                    watched = watched.filter(|(other, _)| !Arc::ptr_eq(other, &engine));
                    let _ = done.try_send(());
                    self.wake();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.stop.is_fired() {
                return;
            }
            if let Some((engine, choice)) = watched.clone()
                && engine.is_update_due(self.context.clock.now().timestamp())
            {
                self.update(&engine, &choice);
            }
        }
    }

    /// Remembers what is pending. What fails stays pending.
    fn update(&mut self, engine: &ReplyEngine, choice: &ModelChoice) {
        let Some(target) = self.target(choice) else {
            return;
        };
        let ctx = ToolContext::new(
            Arc::clone(&self.context),
            self.stop.clone(),
            Arc::new(MemoryRelay(Arc::clone(&self.inbox))),
        );
        let _ = catch_unwind(AssertUnwindSafe(|| engine.update_memory(&ctx, &target)));
        if let Some(notice) = self.context.save_usage() {
            self.inbox.send(WorkerEvent::Notice(notice));
        }
    }

    fn target(&mut self, choice: &ModelChoice) -> Option<Arc<ModelTarget>> {
        if let Some((known, target)) = &self.target
            && known == choice
        {
            return Some(Arc::clone(target));
        }
        let made = setup::model_target(choice, &self.spending, &self.context.env, &mut |_| {});
        let target = Arc::new(made.ok()?);
        self.target = Some((choice.clone(), Arc::clone(&target)));
        Some(target)
    }

    /// The interface may wait for the end of a job.
    fn wake(&self) {
        self.inbox.send(WorkerEvent::Remembered);
    }
}
