//! Writes a session as it happens.
//!
//! The writer is given the messages as the model sees them, and writes what has changed since the last time: usually new messages at the end, after a
//! compaction a new list. So whatever changes a conversation, the file follows, and what could not be written is written the next time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::file::SessionFile;
use super::id::SessionId;
use super::list::MessageList;
use super::pieces::Pieces;
use super::record::{
    CallRecord, ContextCause, MAX_THOUGHT_BYTES, Record, SessionHeader, SessionPlace, Spent,
    TurnEnding, TurnRecord, VERSION,
};
use super::replay::{Replay, first_words};
use super::store::SessionStore;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::head;
use crate::chat::message::Message;

/// The session of a conversation. Nothing is on disk before the first message. Clones share it.
#[derive(Clone)]
pub(crate) struct SessionLog {
    shared: Arc<SharedLog>,
    id: SessionId,
}

/// Writes for one turn. Once the next turn has begun it writes nothing more: a turn that hangs must not mix with the one that follows.
#[derive(Clone)]
pub(crate) struct TurnLog {
    shared: Arc<SharedLog>,
    turn: u64,
}

/// What is known without waiting for the disk lies beside the state, which is locked while a record is written.
struct SharedLog {
    state: Mutex<LogState>,
    /// The latest turn.
    turn: AtomicU64,
    /// There is a file.
    is_on_disk: AtomicBool,
    /// Messages of the user and of Marvin.
    spoken: AtomicUsize,
    /// Messages that the user sent in this process.
    sent: AtomicUsize,
    /// The messages that wait to be sent, once anything is known of them: a run without a queue leaves those on disk alone.
    waiting: Mutex<Option<Vec<String>>>,
}

/// What an attempt to write has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Records,
    /// There was nothing to write, or no file yet.
    Nothing,
}

struct LogState {
    store: SessionStore,
    id: SessionId,
    header: SessionHeader,
    /// Records of the session that this one is a copy of, until they are written.
    carried: Vec<u8>,
    file: Option<SessionFile>,
    /// What the model sees, as far as it is on disk.
    list: MessageList,
    /// The answer that arrives, as far as it is not on disk.
    pieces: Pieces,
    /// What the model thought before the answer of which there is no record yet.
    thought: Option<String>,
    /// The messages that wait to be sent, as they are on disk.
    waiting: Vec<String>,
    first: String,
    name: Option<String>,
    /// The name is not on disk.
    name_is_new: bool,
    /// The projects that it was held in.
    workspaces: Vec<String>,
    /// How many of them are on disk, in the header or as records.
    workspaces_on_disk: usize,
    /// Provider and model on disk.
    model: Option<(String, String)>,
    /// What it cost before this process.
    before: Spent,
    /// Writing failed, and the user knows.
    has_failed: bool,
    /// Another session has taken its place.
    is_closed: bool,
}

impl SessionLog {
    pub(crate) fn new(
        store: &SessionStore,
        id: SessionId,
        place: SessionPlace,
        profile: String,
    ) -> Self {
        let workspaces: Vec<String> = place.workspace.iter().cloned().collect();
        let header = SessionHeader {
            version: VERSION,
            id: id.to_string(),
            cwd: place.cwd,
            workspace: place.workspace,
            profile,
            ..SessionHeader::default()
        };
        Self::from_state(LogState {
            store: store.clone(),
            id,
            header,
            carried: Vec::new(),
            file: None,
            list: MessageList::default(),
            pieces: Pieces::default(),
            thought: None,
            waiting: Vec::new(),
            first: String::new(),
            name: None,
            name_is_new: false,
            workspaces_on_disk: workspaces.len(),
            workspaces,
            model: None,
            before: Spent::default(),
            has_failed: false,
            is_closed: false,
        })
    }

    /// Goes on with a session whose file is open.
    pub(super) fn resumed(
        store: &SessionStore,
        id: SessionId,
        file: SessionFile,
        replay: &Replay,
    ) -> Self {
        let log = Self::new(store, id, SessionPlace::default(), String::new());
        let mut state = log.lock();
        state.header.clone_from(&replay.header);
        state.file = Some(file);
        state.workspaces = replay.workspaces();
        state.workspaces_on_disk = state.workspaces.len();
        state.take_over(replay);
        log.shared.publish(&state);
        drop(state);
        log
    }

    /// A copy of a session under an id of its own. `records` are the lines of the other one, without its header.
    pub(super) fn forked(
        store: &SessionStore,
        id: SessionId,
        records: Vec<u8>,
        place: SessionPlace,
        replay: &Replay,
    ) -> Self {
        let log = Self::new(store, id, place, replay.header.profile.clone());
        let mut state = log.lock();
        for workspace in replay.workspaces() {
            state.enter(workspace);
        }
        state.header.parent = Some(replay.header.id.clone());
        state.carried = records;
        state.take_over(replay);
        log.shared.publish(&state);
        drop(state);
        log
    }

    fn from_state(state: LogState) -> Self {
        Self {
            id: state.id.clone(),
            shared: Arc::new(SharedLog {
                state: Mutex::new(state),
                turn: AtomicU64::new(0),
                is_on_disk: AtomicBool::new(false),
                spoken: AtomicUsize::new(0),
                sent: AtomicUsize::new(0),
                waiting: Mutex::default(),
            }),
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its file, or where that will be.
    pub(crate) fn path(&self) -> PathBuf {
        self.lock().store.path(&self.id)
    }

    /// Whether it has a file.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.shared.is_on_disk.load(Ordering::SeqCst)
    }

    /// Messages of the user and of Marvin.
    pub(crate) fn spoken(&self) -> usize {
        self.shared.spoken.load(Ordering::SeqCst)
    }

    /// Messages that the user sent in this process.
    pub(crate) fn sent(&self) -> usize {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// Notes the messages that wait to be sent. They are written with the next message, or by [`TurnLog::save_waiting`].
    pub(crate) fn set_waiting(&self, texts: Vec<String>) {
        *self.shared.lock_waiting() = Some(texts);
    }

    /// The writer of a new turn; those of earlier ones write nothing more.
    pub(crate) fn begin_turn(&self) -> TurnLog {
        TurnLog {
            turn: self.shared.turn.fetch_add(1, Ordering::SeqCst) + 1,
            shared: Arc::clone(&self.shared),
        }
    }

    pub(crate) fn latest_turn(&self) -> TurnLog {
        TurnLog {
            turn: self.shared.turn.load(Ordering::SeqCst),
            shared: Arc::clone(&self.shared),
        }
    }

    /// Gives it a name. Before the first message the name waits for that.
    pub(crate) fn rename(&self, name: &str) -> Outcome<()> {
        let mut state = self.lock();
        state.name = Some(name.to_owned());
        state.name_is_new = true;
        match state.file {
            Some(_) => state.write(Vec::new()),
            None => Ok(()),
        }
    }

    /// Takes back the last message of the user and what followed it. Does nothing without one.
    pub(crate) fn undo(&self) -> Outcome<()> {
        let mut state = self.lock();
        let outcome = state.undo();
        self.shared.publish(&state);
        outcome
    }

    /// Lets go of the file, for another process or another session.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.file = None;
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.shared.lock()
    }
}

impl SharedLog {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_waiting(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The messages that wait, when they are others than on disk.
    fn unsaved_waiting(&self, state: &LogState) -> Option<Vec<String>> {
        let texts = self.lock_waiting().clone()?;
        (texts != state.waiting).then_some(texts)
    }

    /// Makes known what has changed in `state`.
    fn publish(&self, state: &LogState) {
        self.is_on_disk
            .store(state.file.is_some(), Ordering::SeqCst);
        self.spoken.store(state.list.spoken(), Ordering::SeqCst);
    }
}

impl TurnLog {
    /// The session's file, or where that will be.
    pub(crate) fn path(&self) -> PathBuf {
        let state = self.shared.lock();
        state.store.path(&state.id)
    }

    /// Writes the user's message, after what is new in the `before` that it follows. It survives the end of this process, and a power cut once
    /// [`TurnLog::make_durable`] has run. Returns a notice for the user when writing begins to fail or to work again.
    pub(crate) fn say(
        &self,
        before: &[Message],
        message: &Message,
        by: (&str, &str),
    ) -> Option<String> {
        self.write(|state| {
            let mut list = state.list.clone();
            let time = state.store.utc();
            let mut records = Vec::new();
            records.extend(state.model_record(by));
            if list.is_unused() {
                // What the chat log remembers was not said here; notes after it are of this conversation.
                let is_note = |message: &&Message| matches!(message, Message::System { .. });
                let notes = before.iter().rev().take_while(is_note).count();
                let (seed, _) = before.split_at(before.len() - notes);
                records.extend(list.follow(seed, ContextCause::Seed, &time));
            }
            records.extend(list.follow(before, ContextCause::Change, &time));
            records.push(list.add(message, &time));
            // In one write: the message is either among those that wait or sent.
            let waiting = self.shared.unsaved_waiting(state);
            let record = waiting.as_ref().map(|texts| state.waiting_record(texts));
            records.extend(record);
            state.write(records)?;
            state.list = list;
            if let Some(waiting) = waiting {
                state.waiting = waiting;
            }
            state.pieces.clear();
            state.thought = None;
            state.model = Some((by.0.to_owned(), by.1.to_owned()));
            if let (true, Message::User(user)) = (state.first.is_empty(), message) {
                state.first = first_words(user.title());
            }
            self.shared.sent.fetch_add(1, Ordering::SeqCst);
            Ok(Written::Records)
        })
    }

    /// It goes on in this project from now on. Written with what is said next.
    pub(crate) fn enter(&self, workspace: String) {
        self.shared.lock().enter(workspace);
    }

    /// Writes the messages that wait to be sent, if they have changed. Returns a notice as [`TurnLog::say`] does.
    pub(crate) fn save_waiting(&self) -> Option<String> {
        self.write(|state| {
            // The first message has them with it.
            if state.file.is_none() {
                return Ok(Written::Nothing);
            }
            let Some(waiting) = self.shared.unsaved_waiting(state) else {
                return Ok(Written::Nothing);
            };
            state.write(vec![state.waiting_record(&waiting)])?;
            state.waiting = waiting;
            Ok(Written::Records)
        })
    }

    /// Takes a piece of the answer that arrives. What came is written at once or a moment later, as long as there is no message of it. Returns a notice as
    /// [`TurnLog::say`] does.
    pub(crate) fn stream(&self, piece: &str) -> Option<String> {
        self.write(|state| {
            let Some(text) = state.pieces.add(piece, Instant::now()) else {
                return Ok(Written::Nothing);
            };
            if state.file.is_none() {
                return Ok(Written::Nothing);
            }
            let time = state.store.utc();
            state.write(vec![Record::Piece { time, text }])?;
            Ok(Written::Records)
        })
    }

    /// Notes what the model thought before the answer that is written next.
    pub(crate) fn note_thought(&self, thought: &str) {
        let thought = head(thought, MAX_THOUGHT_BYTES).trim();
        let is_current = |turn: u64| self.shared.turn.load(Ordering::SeqCst) == turn;
        if is_current(self.turn) {
            self.shared.lock().thought = (!thought.is_empty()).then(|| thought.to_owned());
        }
    }

    /// Writes what has changed in `messages`, the list that the model sees. Returns a notice as [`TurnLog::say`] does.
    pub(crate) fn sync(&self, messages: &[Message], cause: ContextCause) -> Option<String> {
        self.write(|state| {
            let mut list = state.list.clone();
            let mut records = list.follow(messages, cause, &state.store.utc());
            if records.is_empty() {
                return Ok(Written::Nothing);
            }
            let has_answer = add_thought(&mut records, state.thought.as_ref());
            state.write(records)?;
            state.list = list;
            state.pieces.clear();
            state.thought.take_if(|_| has_answer);
            Ok(Written::Records)
        })
    }

    /// Writes the result of a call, with what the user saw of it, before the list is whole again: [`TurnLog::sync`] puts it in its place. Returns a notice as
    /// [`TurnLog::say`] does.
    pub(crate) fn add_result(&self, result: &Message, shown: CallRecord) -> Option<String> {
        self.write(|state| {
            if state.file.is_none() {
                return Ok(Written::Nothing);
            }
            let mut list = state.list.clone();
            let mut record = list.add(result, &state.store.utc());
            if let Record::Message { call, .. } = &mut record {
                *call = Some(Box::new(shown.limited()));
            }
            state.write(vec![record])?;
            state.list = list;
            state.pieces.clear();
            Ok(Written::Records)
        })
    }

    /// Writes the end of the turn, with what the session cost in this process. Returns a notice as [`TurnLog::say`] does.
    pub(crate) fn end(&self, ending: TurnEnding, spent: Spent) -> Option<String> {
        let written = self.write(|state| {
            if state.file.is_none() {
                return Ok(Written::Nothing);
            }
            let record = Record::Turn(TurnRecord {
                time: state.store.utc(),
                result: ending.result,
                error: ending.error,
                spent: state.before.plus(spent),
                messages: state.list.spoken(),
                first: state.first.clone(),
                name: state.name.clone(),
            });
            state.write(vec![record])?;
            Ok(Written::Records)
        });
        written.or_else(|| self.make_durable())
    }

    /// Waits until what was written survives a power cut. Others can write meanwhile. Returns a notice as [`TurnLog::say`] does.
    pub(crate) fn make_durable(&self) -> Option<String> {
        let unsynced = match &mut self.shared.lock().file {
            Some(file) => file.take_unsynced(),
            None => return None,
        };
        let synced = match unsynced {
            Ok(None) => return None,
            Ok(Some(unsynced)) => unsynced.sync(),
            Err(problem) => Err(problem),
        };
        // One that worked does not mean that writing works again.
        synced
            .err()
            .and_then(|problem| self.write(|_| Err(problem)))
    }

    /// As [`SessionLog::undo`], if no later turn has begun.
    pub(crate) fn undo(&self) -> Option<String> {
        self.write(|state| {
            let written = match state.file {
                Some(_) => Written::Records,
                None => Written::Nothing,
            };
            state.undo().map(|()| written)
        })
    }

    fn write(&self, work: impl FnOnce(&mut LogState) -> Outcome<Written>) -> Option<String> {
        let mut state = self.shared.lock();
        if state.is_closed || self.shared.turn.load(Ordering::SeqCst) != self.turn {
            return None;
        }
        let outcome = work(&mut state);
        self.shared.publish(&state);
        if let Ok(Written::Nothing) = outcome {
            // That says nothing about whether writing works.
            return None;
        }
        let had_failed = std::mem::replace(&mut state.has_failed, outcome.is_err());
        match (outcome, had_failed) {
            (Err(problem), false) => Some(format!(
                "This session is not saved: {} The next message tries again.",
                problem.one_line()
            )),
            (Ok(_), true) => Some("This session is saved again.".to_owned()),
            (Err(_), true) | (Ok(_), false) => None,
        }
    }
}

impl LogState {
    fn waiting_record(&self, texts: &[String]) -> Record<'static> {
        Record::Waiting {
            time: self.store.utc(),
            texts: texts.to_vec(),
        }
    }

    fn take_over(&mut self, replay: &Replay) {
        self.list = MessageList::of(replay);
        self.first = replay.first();
        self.name.clone_from(&replay.name);
        self.model.clone_from(&replay.model);
        self.before = replay.spent;
        self.waiting.clone_from(&replay.waiting);
    }

    fn enter(&mut self, workspace: String) {
        if !self.workspaces.contains(&workspace) {
            self.workspaces.push(workspace);
        }
    }

    /// A record of the model that answers, when it is another one. The first is in the header.
    fn model_record(&mut self, (provider, model): (&str, &str)) -> Option<Record<'static>> {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        if self.file.is_none() {
            self.header.provider.clone_from(&provider);
            self.header.model.clone_from(&model);
        }
        let (was_provider, was_model) = self.model.as_ref()?;
        let is_same = *was_provider == provider && *was_model == model;
        (!is_same).then(|| Record::Model {
            time: self.store.utc(),
            provider,
            model,
        })
    }

    fn undo(&mut self) -> Outcome<()> {
        let Some(from) = self.list.last_user() else {
            return Ok(());
        };
        if self.file.is_none() {
            return Ok(());
        }
        let time = self.store.utc();
        self.write(vec![Record::Undo { time, from }])?;
        let replay = self.store.read(&self.id)?;
        self.list = MessageList::of(&replay);
        self.first = replay.first();
        Ok(())
    }

    /// Appends records, and before them what has waited for the first of them.
    fn write(&mut self, mut records: Vec<Record<'_>>) -> Outcome<()> {
        if self.name_is_new
            && let Some(name) = &self.name
        {
            records.push(Record::Name {
                time: self.store.utc(),
                name: name.clone(),
            });
        }
        let entered = self.workspaces.iter().skip(self.workspaces_on_disk);
        records.extend(entered.map(|path| Record::Workspace {
            time: self.store.utc(),
            path: path.clone(),
        }));
        let mut text = Vec::new();
        let is_new = self.file.is_none();
        if is_new {
            self.header.time = self.store.utc();
            line(&mut text, &Record::Session(self.header.clone()))?;
            text.extend_from_slice(&self.carried);
        }
        for record in &records {
            line(&mut text, record)?;
        }
        match &mut self.file {
            Some(file) => file.append(&text)?,
            None => self.file = Some(self.store.create(&self.id, &text)?),
        }
        self.carried = Vec::new();
        self.name_is_new = false;
        self.workspaces_on_disk = self.workspaces.len();
        Ok(())
    }
}

/// Adds what the model thought to the answer among the records; false when there is none.
fn add_thought(records: &mut [Record<'_>], thought: Option<&String>) -> bool {
    let answer = records.iter_mut().rev().find_map(|record| match record {
        Record::Message {
            message, thought, ..
        } if matches!(**message, Message::Assistant(_)) => Some(thought),
        _ => None,
    });
    answer
        .map(|of_answer| *of_answer = thought.cloned())
        .is_some()
}

fn line(out: &mut Vec<u8>, record: &Record<'_>) -> Outcome<()> {
    serde_json::to_writer(&mut *out, record).map_err(|error| {
        Problem::internal("A record of the session cannot be written.").because(error)
    })?;
    out.push(b'\n');
    Ok(())
}
