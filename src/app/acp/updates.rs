//! The sink of a session: what happens in a turn as updates for the client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::given_paths::{GivenPaths, ShownPaths};
use super::out::{ChunkKind, Out};
use super::tool_call::{self, ShownCall};
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::ids;
use crate::chat::event::{CallState, Event, EventSink, StopReason};
use crate::chat::message::ToolCall;
use crate::chat::reply_event::ReplyEvent;
use crate::chat::usage::TurnUsage;
use crate::chat::wait::Wait;
use crate::disk::beneath::Root;
use crate::proc::last_lines::as_shown;
use crate::store::sessions::record::Spent;
use crate::tools::engine::context::SessionContext;

/// What came of a call that the client is told nothing more of.
const STOPPED: &str = "Stopped.";

/// Makes updates of the events of a session.
pub(super) struct Updates {
    out: Arc<Out>,
    session: Arc<str>,
    context: Arc<SessionContext>,
    paths: Arc<GivenPaths>,
    /// What the session cost in other processes.
    spent_before: Spent,
    state: Mutex<UpdateState>,
}

#[derive(Default)]
struct UpdateState {
    /// Ends the wait for a client that does not read.
    stop: Cancel,
    /// The id of the message that the model writes.
    message: Option<Arc<str>>,
    /// The latest call of each of the provider's ids: some use an id again in the next round.
    calls: HashMap<String, CallInRound>,
    /// How often an id was used before.
    used: HashMap<String, u32>,
    is_compacting: bool,
    /// The next notice tells of a wait that is over soon.
    is_about_wait: bool,
    /// The prompt was answered before its turn ended: nothing of it is told any more.
    is_muted: bool,
    /// Why the model stopped writing last.
    stop_reason: Option<StopReason>,
    window: u64,
    /// The steps of a plan of which one is under way, and how many before it are done.
    plan: Option<(Vec<String>, usize)>,
}

struct CallInRound {
    shown: ShownCall,
    is_running: bool,
    /// The client has been told what came of it.
    is_ended: bool,
    /// It runs with other arguments than those that the client was told.
    is_changed: bool,
}

impl CallInRound {
    /// The client is about to be told what came of it; its id, if that is not so already.
    fn end(&mut self) -> Option<String> {
        (!std::mem::replace(&mut self.is_ended, true)).then(|| self.shown.id.clone())
    }
}

impl Updates {
    pub(super) fn new(
        out: Arc<Out>,
        session: Arc<str>,
        context: Arc<SessionContext>,
        paths: Arc<GivenPaths>,
        spent_before: Spent,
    ) -> Self {
        Self {
            out,
            session,
            context,
            paths,
            spent_before,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, UpdateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn begins, of a model with this window.
    pub(super) fn begin(&self, stop: &Cancel, window: u64) {
        let mut state = self.lock();
        state.stop = stop.clone();
        state.message = None;
        state.calls.clear();
        state.is_compacting = false;
        state.is_about_wait = false;
        state.is_muted = false;
        state.stop_reason = None;
        state.window = window;
        state.plan = None;
    }

    /// The paths of files as the client knows them.
    pub(super) fn paths(&self) -> ShownPaths {
        let root = self.context.working_dir.root();
        let root = root.as_deref().map(Root::path);
        ShownPaths::new(root, Arc::clone(&self.paths))
    }

    /// Nothing more is told of the turn that hangs but that its calls and its plan were stopped.
    pub(super) fn mute(&self) {
        let mut state = self.lock();
        state.is_muted = true;
        let open = state.calls.values_mut();
        let open: Vec<String> = open.filter_map(CallInRound::end).collect();
        let plan = state.plan.take();
        drop(state);
        if let Some((steps, done)) = plan {
            self.plan(steps, done, false);
        }
        for id in open {
            self.ended(
                &id,
                &tool_call::ended(&id, true, STOPPED, None, &self.paths()),
            );
        }
    }

    /// Tells of something.
    pub(super) fn update(&self, update: &Value) {
        let stop = self.lock().stop.clone();
        self.out.update(&self.session, update, &stop);
    }

    /// Says something to the user in a message of its own.
    pub(super) fn remark(&self, words: &str) {
        let stop = self.lock().stop.clone();
        let message = message_id();
        let whose = (ChunkKind::Message, &message);
        self.out.chunk(&self.session, whose, words, &stop);
        self.lock().message = None;
    }

    /// Says something of the turn to the user, beside the answer: what only holds until the next attempt is a thought.
    pub(super) fn notice(&self, words: &str) {
        say(&words.replace('\n', "\n  "));
        let mut state = self.lock();
        let kind = match std::mem::take(&mut state.is_about_wait) {
            true => ChunkKind::Thought,
            false => ChunkKind::Message,
        };
        // Clients that know no messages show it with the text before it and after it.
        let before = state.message.as_ref().map_or("", |_| "\n\n");
        let stop = state.stop.clone();
        drop(state);
        let words = format!("{before}{words}\n\n");
        self.out
            .chunk(&self.session, (kind, &message_id()), &words, &stop);
    }

    /// Why the model stopped writing last in this turn.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        self.lock().stop_reason
    }

    /// The call with the provider's id `id`.
    pub(super) fn call(&self, id: &str) -> Option<ShownCall> {
        let state = self.lock();
        state.calls.get(id).map(|call| call.shown.clone())
    }

    fn piece(&self, kind: ChunkKind, text: &str) {
        let mut state = self.lock();
        let message = Arc::clone(state.message.get_or_insert_with(message_id));
        let stop = state.stop.clone();
        drop(state);
        self.out.chunk(&self.session, (kind, &message), text, &stop);
    }

    fn round(&self, calls: &[ToolCall]) {
        let paths = self.paths();
        for call in calls {
            let mut state = self.lock();
            let used = state.used.entry(call.id.clone()).or_default();
            *used += 1;
            let id = match *used {
                1 => call.id.clone(),
                n => format!("{}-{n}", call.id),
            };
            let shown = ShownCall::new(&self.context, &paths, id, call);
            let update = shown.begun();
            let call_in_round = CallInRound {
                shown,
                is_running: false,
                is_ended: false,
                is_changed: false,
            };
            state.calls.insert(call.id.clone(), call_in_round);
            drop(state);
            self.update(&update);
        }
    }

    fn running(&self, id: &str) {
        let mut state = self.lock();
        let Some(call) = state.calls.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut call.is_running, true) {
            return;
        }
        let update = match std::mem::take(&mut call.is_changed) {
            true => call.shown.changed("in_progress"),
            false => tool_call::update(&call.shown.id, "in_progress"),
        };
        drop(state);
        self.update(&update);
    }

    /// The call with the provider's id `id` is asked about, with these fields: some clients show no more of a question than its title, and the rest with the
    /// call.
    pub(super) fn asked(&self, id: &str, fields: &Value) {
        let mut state = self.lock();
        let call = state.calls.get_mut(id);
        // The call of a child is none that the client was told of.
        let call = call.filter(|call| !call.is_ended && fields["toolCallId"] == call.shown.id);
        let Some(call) = call else {
            return;
        };
        call.is_running = false;
        drop(state);
        self.update(&tool_call::update_with(fields.clone(), "pending"));
    }

    /// A call runs with other arguments than the model wrote.
    fn change(&self, id: &str, args: &str) {
        let Some(known) = self.call(id) else {
            return;
        };
        let call = ToolCall::new(id, &known.tool, args);
        let shown = ShownCall::new(&self.context, &self.paths(), known.id, &call);
        if let Some(call) = self.lock().calls.get_mut(id) {
            call.shown = shown;
            call.is_changed = true;
        }
    }

    fn live(&self, id: &str, said: impl FnOnce() -> String + Send + 'static) {
        let state = self.lock();
        let call = state.calls.get(id).filter(|call| !call.is_ended);
        let Some(id) = call.map(|call| call.shown.id.clone()) else {
            return;
        };
        let of_call = id.clone();
        let update = move || tool_call::live(&of_call, &said());
        // Under the lock: nothing is live of a call whose end has been told.
        self.out.live_update(&self.session, &id, update);
    }

    /// What came of a call is the last that is told of it.
    fn ended(&self, id: &str, update: &Value) {
        self.out.end_live(&self.session, id);
        self.update(update);
    }

    /// Tells of all steps of a plan.
    fn plan(&self, steps: Vec<String>, done: usize, is_running: bool) {
        let entry = |(n, step): (usize, &String)| {
            let status = match n {
                n if n < done => "completed",
                n if n == done && is_running => "in_progress",
                _ => "pending",
            };
            json!({"content": step, "priority": "medium", "status": status})
        };
        let entries: Vec<Value> = steps.iter().enumerate().map(entry).collect();
        self.lock().plan = is_running.then_some((steps, done));
        self.update(&json!({"sessionUpdate": "plan", "entries": entries}));
    }

    fn turn_usage(&self, turn: &TurnUsage) {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_compacting) {
            return;
        }
        let window = state.window;
        drop(state);
        self.usage(turn.tokens.total(), window);
    }

    /// Tells how full the window is, and what the session has cost.
    pub(super) fn usage(&self, used: u64, window: u64) {
        let cost = self.context.ledger.totals().cost + self.spent_before.cost;
        self.update(&json!({
            "sessionUpdate": "usage_update",
            "used": used,
            "size": window,
            // To a ten-millionth, without the noise of sums.
            "cost": {"amount": (cost * 1e7).round() / 1e7, "currency": "USD"},
        }));
    }
}

pub(super) fn message_id() -> Arc<str> {
    format!("msg_{}", ids::hex(12)).into()
}

impl EventSink for Updates {
    fn emit(&self, event: Event) {
        if self.lock().is_muted {
            return;
        }
        match event {
            Event::Delta(text) => self.piece(ChunkKind::Message, &text),
            Event::Thinking(text) => self.piece(ChunkKind::Thought, &text),
            Event::ReplyEnded(reason) => {
                let mut state = self.lock();
                state.message = None;
                state.stop_reason = Some(reason);
            }
            Event::ToolsStarted(calls) => self.round(&calls),
            Event::CallState { id, state } => match state {
                CallState::Running => self.running(&id),
                CallState::Waiting => {}
            },
            Event::Progress { id, words } => self.live(&id, move || words),
            Event::CallChanged { id, args } => self.change(&id, &args),
            Event::Output { id, recent, .. } => self.live(&id, move || as_shown(&recent)),
            Event::ToolDone {
                id,
                failed,
                text,
                images,
                display,
                ..
            } => {
                let call = (self.lock().calls.get_mut(&id)).and_then(CallInRound::end);
                let Some(call) = call else {
                    return;
                };
                let paths = self.paths();
                let display = display.map(|display| tool_call::recalled(display, &paths));
                let mut update = tool_call::ended(&call, failed, &text, display.as_ref(), &paths);
                tool_call::add_images(&mut update, &images);
                self.ended(&call, &update);
            }
            Event::Turn(turn) => self.turn_usage(&turn),
            Event::Wait(wait) => match wait {
                Wait::Compaction => self.lock().is_compacting = true,
                // What was shown is not what the next attempt says.
                Wait::Retry { .. } => {
                    let mut state = self.lock();
                    state.message = None;
                    state.is_about_wait = true;
                }
                Wait::Start { .. } | Wait::Connection { .. } | Wait::FirstByte { .. } => {}
            },
            Event::Compacted { .. } => self.lock().is_compacting = false,
            Event::Notice(_, words) => self.notice(&words),
            Event::Reply(ReplyEvent::Plan {
                steps,
                done,
                is_running,
            }) => self.plan(steps, done, is_running),
            Event::Denied { .. }
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Pipeline(_)
            | Event::Reply(_) => {}
        }
    }
}
