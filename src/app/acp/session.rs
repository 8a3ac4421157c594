//! One session of a client: its prompts are answered one after the other, on a thread of its own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands;
use super::models::FirstModel;
use super::modes;
use super::params::{Answer, CANCELLED, internal, wrong};
use super::prompt::PromptMessage;
use super::shared::Shared;
use super::updates::Updates;
use crate::app::images;
use crate::app::session::attachments::attach::{Attachments, attach_files};
use crate::app::session::one_shot::{OneShot, TurnWays};
use crate::app::session::turn_job::Notice;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::text::{clip, one_line};
use crate::chat::event::{NullSink, StopReason};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::CallerPrompt;
use crate::store::sessions::log::SessionLog;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::turns::session_ends;
use crate::tools::engine::permission::mode::PermissionMode;

/// Prompts that may wait for those before them.
const MAX_WAITING: usize = 100;
/// When a prompt that was stopped is answered although its turn goes on.
const OVERDUE: Duration = Duration::from_millis(150);
/// Characters of a title.
const TITLE_CHARS: usize = 80;

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
struct Prompt {
    id: RpcId,
    params: Value,
    stop: Cancel,
}

/// The prompt that is being answered.
struct RunningPrompt {
    id: RpcId,
    stop: Cancel,
    /// By `$/cancel_request`, which is an error of the request.
    is_request_cancelled: bool,
    /// It was cancelled and answered, but its turn hangs where it cannot be stopped.
    is_answered: bool,
}

fn stopped(reason: &str) -> Value {
    json!({"stopReason": reason})
}

fn request_cancelled() -> RpcError {
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

    /// Changes the mode from the next call on.
    pub(super) fn set_mode(&self, id: &str) -> Result<(), RpcError> {
        let mode = modes::named(id, self.shared.chosen_mode)?;
        let set = self.context.permissions.set_mode(mode);
        set.map_err(|problem| internal(&problem))
    }

    /// Tells the client of something, without waiting for it to read.
    pub(super) fn tell(&self, update: &Value) {
        let update = json!({"sessionId": &*self.id, "update": update});
        let line = Incoming::notification("session/update", &update);
        self.shared.out.line_of(&self.id, line);
    }

    fn answer(&self, id: &RpcId, answer: &Answer) {
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
    fn next(&self) -> Option<Prompt> {
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
}

/// The thread of a session, which has its conversation.
pub(super) struct SessionThread {
    pub(super) session: Arc<AcpSession>,
    pub(super) settings: Arc<Settings>,
    pub(super) one_shot: OneShot,
    pub(super) log: SessionLog,
}

impl SessionThread {
    /// Answers prompts until the session ends; then nobody is to find it any more.
    pub(super) fn run(mut self, forget: impl FnOnce()) {
        let session = Arc::clone(&self.session);
        while let Some(prompt) = session.next() {
            let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&prompt)));
            let answer = answered.unwrap_or_else(|_| {
                let words = "Marvin crashed while answering. This is a bug in Marvin.";
                Err(internal(&Problem::internal(words)))
            });
            let running = session.lock().running.take();
            session.changed.notify_all();
            let is_answered = running.as_ref().is_some_and(|running| running.is_answered);
            let answer = match running {
                Some(running) if running.is_request_cancelled => Err(request_cancelled()),
                _ if prompt.stop.is_fired() => Ok(stopped("cancelled")),
                _ => answer,
            };
            session
                .context
                .save_usage()
                .into_iter()
                .for_each(|notice| say(&notice));
            if !is_answered {
                session.answer(&prompt.id, &answer);
            }
        }
        let ending = ToolContext::new(
            Arc::clone(&session.context),
            Cancel::new(),
            Arc::new(NullSink),
        );
        session_ends(&ending, "other");
        self.log.close();
        forget();
        let mut state = session.lock();
        state.is_over = true;
        let ids = state.end.take().unwrap_or_default();
        drop(state);
        session.changed.notify_all();
        for id in ids {
            session.answer(&id, &Ok(json!({})));
        }
    }

    fn answer(&mut self, prompt: &Prompt) -> Answer {
        let session = Arc::clone(&self.session);
        let (updates, context) = (&session.updates, &session.context);
        let root = context.working_dir.root();
        let message = PromptMessage::read(&prompt.params, root.as_ref().map(|root| root.path()))?;
        let choice = session.choice();
        let models = &session.shared.models;
        let target = models.target(&session.first, &choice.model, &prompt.stop);
        let target = target.map_err(|problem| internal(&problem))?;
        updates.begin(&prompt.stop, target.info.window);
        let notices = std::mem::take(&mut session.lock().notices);
        notices
            .iter()
            .for_each(|notice| updates.remark(&format!("{notice}\n\n")));
        if message.is_text() {
            let line = message.text.trim();
            let said = commands::run(&session, line).or_else(|| {
                let (target, names) = (Arc::clone(&target), commands::own_names());
                let said = self.one_shot.command(line, &names, target, &prompt.stop)?;
                Some(said.unwrap_or_else(|problem| problem.one_line()))
            });
            if let Some(said) = said {
                updates.remark(&said);
                return Ok(stopped("end_turn"));
            }
        }
        let attached = attached(&message, &target, prompt, &session)?;
        self.one_shot.set_ways(TurnWays {
            max_requests: self.settings.json.max_turns,
            effort: choice.effort,
            prompt: CallerPrompt {
                without_history: true,
                ..self.settings.json.prompt.clone()
            },
            // A choice of another model holds from the next prompt on.
            switch: None,
        });
        let notice: Notice = Arc::new(|text| say(&format!("Warning: {text}")));
        let title = clip(&one_line(&message.text), TITLE_CHARS);
        let mut turn = None;
        let answered = self.one_shot.answer_attached(
            target,
            (message.text, attached),
            updates.clone(),
            &notice,
            |stop| {
                let of_turn = stop.clone();
                turn = Some((stop.clone(), prompt.stop.on_fire(move || of_turn.fire())));
            },
        );
        let is_stopped = turn.is_some_and(|(stop, _)| stop.is_fired());
        // After a cancel the request may have its answer already, and nothing of it is told any more.
        if !is_stopped && !std::mem::replace(&mut session.lock().has_title, true) {
            updates.update(&json!({
                "sessionUpdate": "session_info_update",
                "title": title,
                "updatedAt": context.clock.utc(),
            }));
        }
        match answered {
            _ if is_stopped => Ok(stopped("cancelled")),
            Ok(()) => Ok(stopped("end_turn")),
            Err(failure) => self.failed(&failure),
        }
    }

    /// The end of a prompt that has no whole answer.
    fn failed(&self, failure: &Failure) -> Answer {
        let updates = &self.session.updates;
        let is_cut = matches!(
            updates.stop_reason(),
            Some(StopReason::MaxTokens | StopReason::ModelContextWindowExceeded)
        );
        match failure.kind {
            FailureKind::Cancelled => Ok(stopped("cancelled")),
            FailureKind::Unfinished if is_cut => Ok(stopped("max_tokens")),
            FailureKind::Rounds | FailureKind::Budget => {
                updates.remark(&failure.problem.one_line());
                Ok(stopped("max_turn_requests"))
            }
            FailureKind::Filtered | FailureKind::Declined => Ok(stopped("refusal")),
            _ => Err(internal(&failure.problem)),
        }
    }
}

/// What goes with a message.
fn attached(
    message: &PromptMessage,
    target: &ModelTarget,
    prompt: &Prompt,
    session: &AcpSession,
) -> Result<Attachments, RpcError> {
    let of_prompt = |problem: Problem| wrong("prompt", problem.one_line());
    let images = message.images.iter();
    let images = images.map(|(name, bytes)| images::from_bytes(name, Arc::clone(bytes), target));
    let images = images.collect::<Result<Vec<_>, _>>().map_err(of_prompt)?;
    let files = message.files.iter();
    let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
    let ctx = ToolContext::new(
        Arc::clone(&session.context),
        prompt.stop.clone(),
        session.updates.clone(),
    );
    attach_files(&files, images, target, &ctx).map_err(of_prompt)
}
