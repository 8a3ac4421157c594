//! The sink of a session: what happens in a turn as updates for the client.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::given_paths::GivenPaths;
use super::out::{ChunkKind, Out};
use super::tool_call::{self, ShownCall};
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::ids;
use crate::chat::event::{CallState, Event, EventSink, StopReason};
use crate::chat::message::ToolCall;
use crate::chat::usage::TurnUsage;
use crate::chat::wait::Wait;
use crate::store::sessions::record::Spent;
use crate::tools::engine::context::SessionContext;

/// Live output of a call is told of this far apart.
const LIVE_PAUSE: Duration = Duration::from_millis(200);

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
    /// The prompt was answered before its turn ended: nothing of it is told any more.
    is_muted: bool,
    /// Why the model stopped writing last.
    stop_reason: Option<StopReason>,
    window: u64,
}

struct CallInRound {
    shown: ShownCall,
    is_running: bool,
    /// When its live output was told of last.
    live: Option<Instant>,
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
        state.is_muted = false;
        state.stop_reason = None;
        state.window = window;
    }

    /// The working directory as the client knows it.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let root = self.context.working_dir.root();
        root.map(|root| self.paths.of(root.path()))
    }

    /// Nothing more is told of the turn that hangs.
    pub(super) fn mute(&self) {
        self.lock().is_muted = true;
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
        let root = self.root();
        for call in calls {
            let mut state = self.lock();
            let used = state.used.entry(call.id.clone()).or_default();
            *used += 1;
            let id = match *used {
                1 => call.id.clone(),
                n => format!("{}-{n}", call.id),
            };
            let shown = ShownCall::new(&self.context, root.as_deref(), id, call);
            let update = shown.begun();
            let call_in_round = CallInRound {
                shown,
                is_running: false,
                live: None,
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
        let update = tool_call::update(&call.shown.id, "in_progress");
        drop(state);
        self.update(&update);
    }

    fn live(&self, id: &str, said: &str) {
        let mut state = self.lock();
        let Some(call) = state.calls.get_mut(id) else {
            return;
        };
        if call.live.is_some_and(|last| last.elapsed() < LIVE_PAUSE) {
            return;
        }
        call.live = Some(Instant::now());
        let update = tool_call::live(&call.shown.id, said);
        drop(state);
        self.out.live_update(&self.session, &update);
    }

    fn usage(&self, turn: &TurnUsage) {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_compacting) {
            return;
        }
        let size = state.window;
        drop(state);
        let cost = self.context.ledger.totals().cost + self.spent_before.cost;
        self.update(&json!({
            "sessionUpdate": "usage_update",
            "used": turn.tokens.total(),
            "size": size,
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
            Event::Progress { id, words } => self.live(&id, &words),
            Event::Output { id, lines } => self.live(&id, &lines),
            Event::ToolDone {
                id,
                failed,
                text,
                images,
                display,
                ..
            } => {
                let Some(call) = self.call(&id) else {
                    return;
                };
                let (root, display) = (self.root(), display.as_ref());
                let mut update =
                    tool_call::ended(&call.id, failed, &text, display, root.as_deref());
                tool_call::add_images(&mut update, &images);
                self.update(&update);
            }
            Event::Turn(turn) => self.usage(&turn),
            Event::Wait(wait) => match wait {
                Wait::Compaction => self.lock().is_compacting = true,
                // What was shown is not what the next attempt says.
                Wait::Retry { .. } => self.lock().message = None,
                Wait::Start { .. } | Wait::Connection { .. } | Wait::FirstByte { .. } => {}
            },
            Event::Compacted { .. } => self.lock().is_compacting = false,
            Event::Notice(_, words) => say(&words.replace('\n', "\n  ")),
            Event::Denied { .. }
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Pipeline(_)
            | Event::Reply(_) => {}
        }
    }
}
