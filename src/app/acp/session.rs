//! One session of a client: the prompts that wait, the one that is answered, and what was chosen. Nothing here waits for a model.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::models::FirstModel;
use super::modes::{self, ModeChoice};
use super::params::{Answer, CANCELLED, internal};
use super::shared::Shared;
use super::updates::Updates;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::llm::provider::Effort;
use crate::proc::sandbox::policy::SandboxMode;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::permission::mode::PermissionMode;

/// Prompts that may wait for those before them.
const MAX_WAITING: usize = 100;
/// When a prompt that was stopped is answered although its turn goes on.
const OVERDUE: Duration = Duration::from_millis(150);

/// A session that is open.
pub(super) struct AcpSession {
    pub(super) id: Arc<str>,
    pub(super) shared: Arc<Shared>,
    pub(super) first: Arc<FirstModel>,
    pub(super) context: Arc<SessionContext>,
    pub(super) updates: Arc<Updates>,
    state: Mutex<SessionState>,
    changed: Condvar,
}

/// What answers from the next request on.
#[derive(Debug, Clone)]
pub(super) struct SessionChoice {
    pub(super) model: String,
    pub(super) effort: Option<Effort>,
}

struct SessionState {
    waiting: VecDeque<Prompt>,
    running: Option<RunningPrompt>,
    choice: SessionChoice,
    /// The session is to end, and these requests want to know when it has.
    end: Option<Vec<RpcId>>,
    is_over: bool,
    /// What the next answer begins with.
    notices: Vec<String>,
    has_title: bool,
}

/// A prompt.
pub(super) struct Prompt {
    pub(super) id: RpcId,
    pub(super) params: Value,
    pub(super) stop: Cancel,
}

/// The prompt that is being answered.
pub(super) struct RunningPrompt {
    id: RpcId,
    stop: Cancel,
    /// By `$/cancel_request`, which is an error of the request.
    pub(super) is_request_cancelled: bool,
    /// It was cancelled and answered, but its turn hangs where it cannot be stopped.
    pub(super) is_answered: bool,
}

pub(super) fn stopped(reason: &str) -> Value {
    json!({"stopReason": reason})
}

pub(super) fn request_cancelled() -> RpcError {
    RpcError::new(CANCELLED, "The request was cancelled.")
}

/// What a client wants of it. Nothing here waits.
impl AcpSession {
    pub(super) fn new(
        id: Arc<str>,
        shared: Arc<Shared>,
        first: Arc<FirstModel>,
        (context, updates): (Arc<SessionContext>, Arc<Updates>),
        (choice, notices, has_title): (SessionChoice, Vec<String>, bool),
    ) -> Self {
        Self {
            id,
            shared,
            first,
            context,
            updates,
            state: Mutex::new(SessionState {
                waiting: VecDeque::new(),
                running: None,
                choice,
                end: None,
                is_over: false,
                notices,
                has_title,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn choice(&self) -> SessionChoice {
        self.lock().choice.clone()
    }

    pub(super) fn set_model(&self, model: &str) {
        model.clone_into(&mut self.lock().choice.model);
    }

    pub(super) fn set_effort(&self, effort: Effort) {
        self.lock().choice.effort = Some(effort);
    }

    pub(super) fn mode(&self) -> PermissionMode {
        self.context.permissions.mode()
    }

    /// What the modes that it can have depend on.
    pub(super) fn modes_now(&self) -> ModeChoice {
        self.mode_choice(self.context.sandbox.mode())
    }

    /// The same in a sandbox to which it may change.
    pub(super) fn mode_choice(&self, sandbox: SandboxMode) -> ModeChoice {
        ModeChoice {
            chosen: self.shared.chosen_mode,
            is_fenced: self.context.sandbox.is_decided(sandbox),
        }
    }

    /// Changes the mode from the next call on.
    pub(super) fn set_mode(&self, id: &str) -> Result<(), RpcError> {
        let mode = modes::named(id, self.modes_now())?;
        let set = self.context.permissions.set_mode(mode);
        set.map_err(|problem| internal(&problem))
    }

    /// Tells the client of something, without waiting for it to read.
    pub(super) fn tell(&self, update: &Value) {
        let update = json!({"sessionId": &*self.id, "update": update});
        let line = Incoming::notification("session/update", &update);
        self.shared.out.line_of(&self.id, line);
    }

    pub(super) fn answer(&self, id: &RpcId, answer: &Answer) {
        let line = Incoming::answer(id, answer);
        self.shared.out.line_of(&self.id, line);
    }

    /// Queues a prompt.
    pub(super) fn prompt(&self, id: &RpcId, params: &Value) -> Result<(), RpcError> {
        let mut state = self.lock();
        if state.end.is_some() || state.is_over {
            return Err(internal(
                &Problem::refused("The session is being closed.")
                    .next("Open it again with session/load."),
            ));
        }
        if state.waiting.len() >= MAX_WAITING {
            return Err(internal(
                &Problem::limit(format!(
                    "{MAX_WAITING} prompts of this session wait already."
                ))
                .next("Wait for answers before sending more."),
            ));
        }
        state.waiting.push_back(Prompt {
            id: id.clone(),
            params: params.clone(),
            stop: Cancel::new(),
        });
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Stops the prompt that is being answered, and those that wait.
    pub(super) fn cancel(self: &Arc<Self>) {
        let mut state = self.lock();
        let waiting = std::mem::take(&mut state.waiting);
        let running = state.running.as_ref();
        let running = running.map(|running| (running.id.clone(), running.stop.clone()));
        drop(state);
        if let Some((id, stop)) = running {
            stop.fire();
            self.answer_overdue(id, Ok(stopped("cancelled")));
        }
        for prompt in waiting {
            self.answer(&prompt.id, &Ok(stopped("cancelled")));
        }
    }

    /// Stops the prompt of this request, if there is one.
    pub(super) fn cancel_request(self: &Arc<Self>, id: &RpcId) {
        let mut state = self.lock();
        if let Some(running) = state.running.as_mut().filter(|running| running.id == *id) {
            running.is_request_cancelled = true;
            let stop = running.stop.clone();
            drop(state);
            stop.fire();
            return self.answer_overdue(id.clone(), Err(request_cancelled()));
        }
        let before = state.waiting.len();
        state.waiting.retain(|prompt| prompt.id != *id);
        let is_taken = state.waiting.len() < before;
        drop(state);
        if is_taken {
            self.answer(id, &Err(request_cancelled()));
        }
    }

    /// Gives a prompt that was stopped this answer if it does not end at once: its turn hangs where cancellation cannot reach it, such as a name lookup. The
    /// prompts after it wait until it has ended.
    fn answer_overdue(self: &Arc<Self>, id: RpcId, answer: Answer) {
        let session = Arc::clone(self);
        let until = Instant::now() + OVERDUE;
        let wait = move || {
            let mut state = session.lock();
            loop {
                // The next prompt may have the same id, when a client counts from the beginning again.
                let is_meant = |one: &&mut RunningPrompt| {
                    one.id == id && !one.is_answered && one.stop.is_fired()
                };
                let Some(running) = state.running.as_mut().filter(is_meant) else {
                    return;
                };
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    running.is_answered = true;
                    session.updates.mute();
                    drop(state);
                    return session.answer(&id, &answer);
                }
                let waited = session.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        // Without a thread it is answered when its turn ends.
        let _ = thread::Builder::new()
            .name("overdue".to_owned())
            .spawn(wait);
    }

    pub(super) fn is_busy(&self) -> bool {
        let state = self.lock();
        state.running.is_some() || !state.waiting.is_empty()
    }

    /// Ends the session; the request, if there is one, is answered when it has ended.
    pub(super) fn end(self: &Arc<Self>, id: Option<RpcId>) {
        let mut state = self.lock();
        if state.is_over {
            // Its thread has answered everybody that it knew of.
            drop(state);
            if let Some(id) = id {
                self.answer(&id, &Ok(json!({})));
            }
            return;
        }
        state.end.get_or_insert_default().extend(id);
        drop(state);
        self.cancel();
        self.changed.notify_all();
    }

    /// Waits until it has ended. False when it takes longer.
    pub(super) fn wait_until_over(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                return state.is_over;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next prompt; waits for one. None at the end of the session.
    pub(super) fn next(&self) -> Option<Prompt> {
        let mut state = self.lock();
        loop {
            if state.end.is_some() {
                return None;
            }
            if let Some(prompt) = state.waiting.pop_front() {
                state.running = Some(RunningPrompt {
                    id: prompt.id.clone(),
                    stop: prompt.stop.clone(),
                    is_request_cancelled: false,
                    is_answered: false,
                });
                return Some(prompt);
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The prompt that was being answered is no longer.
    pub(super) fn answered(&self) -> Option<RunningPrompt> {
        let running = self.lock().running.take();
        self.changed.notify_all();
        running
    }

    /// The session has ended; whoever waits for that is told.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let ids = state.end.take().unwrap_or_default();
        drop(state);
        self.changed.notify_all();
        for id in ids {
            self.answer(&id, &Ok(json!({})));
        }
    }

    /// What the next answer begins with.
    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    /// Whether the client has been told no title yet; from now on it has.
    pub(super) fn wants_title(&self) -> bool {
        !std::mem::replace(&mut self.lock().has_title, true)
    }
}
