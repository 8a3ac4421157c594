//! Writes what was said to the memory of the profile, on a thread of its own: after a while of silence, when the profile changes, and at the end.
//!
//! The thread starts with the first reply of the flow. It has a connection to the model of its own, because a call that is cut off closes all connections
//! of its provider.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded, unbounded};

use jiff::Timestamp;

use super::Flow;
use crate::app::session::inbox::Inbox;
use crate::app::session::model_env::model_env;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::settings::ModelChoice;
use crate::app::setup::{self, Spending};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::chat::event::{Event, EventSink};
use crate::model_call::model_target::ModelTarget;
use crate::reply::engine::ReplyEngine;
use crate::reply::memory::update::retry_pause::RetryPause;
use crate::reply::settings::ReplySettings;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// What the thread is told.
enum MemoryJob {
    /// A reply has ended: this conversation is to be remembered when it is time.
    Watch(Arc<ReplyEngine>, ModelChoice),
    /// Remember everything now, and say what came of it.
    Flush(Arc<ReplyEngine>, ModelChoice, Sender<Outcome<()>>),
}

/// The thread that writes memory. It starts with the first job.
#[derive(Default)]
pub(super) struct MemoryWriter {
    jobs: Option<Sender<MemoryJob>>,
    /// What was said in a profile that was left is being remembered.
    leaving: Option<Receiver<Outcome<()>>>,
    /// The last job, while the session is ending.
    farewell: Option<Farewell>,
    /// Why the last job failed.
    failure: Option<String>,
    /// Cancels what the thread is doing.
    stop: Cancel,
}

/// The end of a session that waits for its memory.
struct Farewell {
    done: Receiver<Outcome<()>>,
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

/// The model that memory is written with, by a connection of its own.
pub(in crate::app::session) struct MemoryModel {
    pub(in crate::app::session) choice: ModelChoice,
    pub(in crate::app::session) spending: Spending,
}

impl Flow {
    /// After a reply: remembers the conversation when it is time.
    pub(in crate::app::session) fn watch_memory(&mut self, model: MemoryModel, run: &Run) {
        if let Some(engine) = self.engine() {
            let job = MemoryJob::Watch(engine, model.choice);
            self.memory.order(job, model.spending, run);
        }
    }

    /// The profile is another one: what was said in the old one is remembered.
    pub(in crate::app::session) fn leave_profile(&mut self, model: MemoryModel, run: &Run) {
        self.settings = None;
        self.leave_conversation();
        if let Some((_, engine)) = self.engine.take()
            && engine.has_pending()
        {
            self.memory.leaving = Some(self.memory.flush(engine, model, run));
        }
    }

    /// Has what was said remembered, and waits for it: for a session that has ended and that nobody watches. The end of its run cancels it.
    pub(in crate::app::session) fn remember_now(&mut self, model: MemoryModel, run: &Run) {
        if let Some(engine) = self.engine().filter(|engine| engine.has_pending()) {
            let limit = engine.settings().exit_limit;
            let done = self.memory.flush(engine, model, run);
            if done.recv_timeout(limit).is_err() {
                self.memory.stop.fire();
            }
        }
    }

    /// Begins to remember what was said, before the session ends, and says so. False when there is nothing to remember.
    pub(in crate::app::session) fn begin_farewell(
        &mut self,
        model: MemoryModel,
        run: &Run,
        orders: &mut Orders,
    ) -> bool {
        let engine = self.engine().filter(|engine| engine.has_pending());
        let is_open = |done: &Receiver<_>| done.is_empty();
        let done = match (engine, self.memory.leaving.take().filter(is_open)) {
            // Jobs are done in order, so this one is the last.
            (Some(engine), _) => self.memory.flush(engine, model, run),
            (None, Some(leaving)) => leaving,
            (None, None) => return false,
        };
        let limit = (self.engine()).map_or_else(
            || ReplySettings::default().exit_limit,
            |engine| engine.settings().exit_limit,
        );
        self.memory.farewell = Some(Farewell {
            done,
            until: Instant::now() + limit,
        });
        orders.system("Remembering this conversation… Ctrl-C skips it.");
        true
    }

    /// Whether the end of the session still has to wait.
    pub(in crate::app::session) fn is_remembering(&mut self, orders: &mut Orders) -> bool {
        let memory = &mut self.memory;
        let Some(farewell) = &memory.farewell else {
            return false;
        };
        match farewell.done.try_recv() {
            Err(TryRecvError::Empty) if Instant::now() >= farewell.until => {
                self.skip_farewell(orders);
            }
            Err(TryRecvError::Empty) => {}
            Ok(outcome) => {
                memory.farewell = None;
                let failed = outcome.err().filter(|problem| !problem.is_cancelled());
                memory.failure = failed.map(|problem| problem.what);
            }
            Err(TryRecvError::Disconnected) => memory.farewell = None,
        }
        self.memory.farewell.is_some()
    }

    /// That the end of this session could not be remembered, for the user.
    pub(in crate::app::session) fn unremembered_notice(&self) -> Option<String> {
        let reason = self.memory.failure.as_ref()?;
        Some(format!(
            "This conversation is not remembered yet; the next session will do it. {reason}"
        ))
    }

    /// The user does not want to wait, or it took too long. What is not remembered now is remembered the next time.
    pub(in crate::app::session) fn skip_farewell(&mut self, orders: &mut Orders) {
        if self.memory.farewell.take().is_some() {
            self.memory.stop.fire();
            orders.system("Not remembered yet; the next session will do it.");
        }
    }
}

impl MemoryWriter {
    /// Remembers what was said; the receiver is notified when that is done.
    fn flush(
        &mut self,
        engine: Arc<ReplyEngine>,
        model: MemoryModel,
        run: &Run,
    ) -> Receiver<Outcome<()>> {
        let (done, told) = bounded(1);
        let job = MemoryJob::Flush(engine, model.choice, done);
        self.order(job, model.spending, run);
        told
    }

    fn order(&mut self, job: MemoryJob, spending: Spending, run: &Run) {
        if self.jobs.is_none() {
            let (give, take) = unbounded();
            let (stop, with_session) = run.child_stop();
            let worker = MemoryThread {
                context: Arc::clone(&run.context),
                spending,
                inbox: Arc::clone(&run.inbox),
                stop: stop.clone(),
                target: None,
            };
            self.stop = stop;
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
            self.jobs = Some(give);
        }
        if let Some(jobs) = &self.jobs {
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

/// A conversation that is remembered when it is time.
struct Watched {
    engine: Arc<ReplyEngine>,
    choice: ModelChoice,
    /// After updates that failed with this model.
    pause: RetryPause,
}

impl Watched {
    fn is_of(&self, engine: &Arc<ReplyEngine>, choice: &ModelChoice) -> bool {
        Arc::ptr_eq(&self.engine, engine) && self.choice == *choice
    }

    /// How long nothing has to be done.
    fn rest(&self) -> Duration {
        let check = self.engine.settings().diary_check;
        check.max(self.pause.left(Instant::now()))
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.pause.left(Instant::now()).is_zero() && self.engine.is_update_due(now)
    }
}

impl MemoryThread {
    fn run(mut self, jobs: &Receiver<MemoryJob>) {
        let mut watched: Option<Watched> = None;
        loop {
            let rest = watched.as_ref().map_or(Duration::MAX, Watched::rest);
            match jobs.recv_timeout(rest) {
                Ok(MemoryJob::Watch(engine, choice)) => {
                    let known = watched.filter(|watched| watched.is_of(&engine, &choice));
                    watched = Some(known.unwrap_or_else(|| Watched {
                        engine,
                        choice,
                        pause: RetryPause::default(),
                    }));
                }
                Ok(MemoryJob::Flush(engine, choice, done)) => {
                    let outcome = self.update(&engine, &choice);
                    watched = watched.filter(|other| !Arc::ptr_eq(&other.engine, &engine));
                    let _ = done.try_send(outcome);
                    self.wake();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.stop.is_fired() {
                return;
            }
            if let Some(watched) = &mut watched
                && watched.is_due(self.context.clock.now().timestamp())
            {
                match self.update(&watched.engine, &watched.choice) {
                    Ok(()) => watched.pause = RetryPause::default(),
                    Err(_) => {
                        let first = watched.engine.settings().diary_check;
                        watched.pause.failed(first, Instant::now());
                    }
                }
            }
        }
    }

    /// Remembers what is pending. What fails stays pending.
    fn update(&mut self, engine: &ReplyEngine, choice: &ModelChoice) -> Outcome<()> {
        let target = self.target(choice)?;
        let ctx = ToolContext::new(
            Arc::clone(&self.context),
            self.stop.clone(),
            Arc::new(MemoryRelay(Arc::clone(&self.inbox))),
        );
        let updated = catch_unwind(AssertUnwindSafe(|| engine.update_memory(&ctx, &target)));
        if let Some(notice) = self.context.save_usage() {
            self.inbox.send(WorkerEvent::Notice(notice));
        }
        match updated {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(Problem::new(
                ProblemKind::Network,
                format!("{} wrote no usable summary of it.", target.model),
            )),
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(Problem::internal(
                "Marvin crashed while remembering. This is a bug in Marvin.",
            )),
        }
    }

    fn target(&mut self, choice: &ModelChoice) -> Outcome<Arc<ModelTarget>> {
        if let Some((known, target)) = &self.target
            && known == choice
        {
            return Ok(Arc::clone(target));
        }
        let made = setup::model_target(
            choice,
            &self.spending,
            &model_env(&self.context),
            &mut |_| {},
        );
        let target = Arc::new(made?);
        self.target = Some((choice.clone(), Arc::clone(&target)));
        Ok(target)
    }

    /// The interface may wait for the end of a job.
    fn wake(&self) {
        self.inbox.send(WorkerEvent::Remembered);
    }
}
