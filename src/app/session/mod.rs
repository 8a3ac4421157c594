//! A conversation with the user: one session behind both interfaces.
//!
//! An interface calls [`Session::submit`] and [`Session::cancel`] for what the user does, [`Session::receive`] after a wake-up, and displays what
//! [`Session::shows`] returns. The session lives on the interface's thread and never blocks: answers, commands, lists and all disk access run on
//! threads of their own and report through [`inbox`].

mod advice;
pub(crate) mod approve;
mod attach;
mod attaching;
mod blender;
pub(crate) mod choice;
mod choosing;
mod command_handlers;
pub(crate) mod commands;
mod context_commands;
mod disk_writer;
pub(crate) mod file_search;
mod flow;
mod inbox;
mod job;
mod listing;
mod log_writer;
mod memory;
mod memory_writer;
pub(crate) mod pasted_path;
mod persistence;
mod place;
mod prepare;
mod reviews;
mod saved_session;
mod session_cost;
pub(crate) mod set_up;
mod shell;
mod theme;
mod turn;
mod turns;
pub(crate) mod ui_update;
mod usage;
pub(crate) mod voice;
mod welcome;
mod why;
mod worker_events;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use jiff::Timestamp;

use super::sessions;
use super::settings::Settings;
use super::settings::session::{SessionChoice, SessionFlags};
use super::setup::{self, Spending};
use crate::agent::system::SystemPrompt;
use crate::alerts;
use crate::alerts::ntfy_inbox::NtfyInbox;
use crate::app::run_notice;
use crate::app::session::disk_writer::DiskWriter;
use crate::app::session::ui_update::{RunningCall, SessionStatus, UiUpdate};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::Outcome;
use crate::chat::message::Message;
use crate::chat::tokens::TokenMeter;
use crate::disk::yaml;
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use crate::store::input_history::InputHistory;
use crate::store::sessions::record::{ContextCause, Spent};
use crate::tools::engine::approval::Approval;
use crate::tools::engine::context::SessionContext;
use approve::{AskMode, Asker};
use commands::InputLine;
use inbox::{Inbox, WorkerEvent};
use log_writer::LogWriter;
use voice::Spoken;

/// How long a cancelled turn may take to end before the session continues without it. Longer than the time after which a command that ignores SIGTERM
/// is killed.
const GRACE: Duration = Duration::from_millis(120);
/// How long closing waits until the `--ntfy` message is sent.
const NTFY_LIMIT: Duration = Duration::from_secs(1);
/// How long closing waits for pending writes: a stuck disk must not keep the process alive.
const LEAVING: Duration = Duration::from_secs(2);

/// The state of the provider.
enum BackendState {
    Choosing,
    Ready(Arc<ModelTarget>),
    /// No provider can be used, and why.
    Failed(String),
}

/// The running turn.
struct RunningTurn {
    id: u64,
    /// The conversation that it answers.
    conversation: u64,
    stop: Cancel,
    _with_session: OnFire,
    since: Instant,
    message: String,
    /// The message was spoken.
    spoken: Option<Spoken>,
    /// The profile it was sent under; a tool may change the profile during the turn.
    profile: String,
    /// When it was sent, if it takes the reply flow.
    flow: Option<Timestamp>,
    /// It was sent a second time, after a change of the profile.
    resent: bool,
    /// The answer so far.
    text: String,
    /// Where in it the text after the last tool calls begins.
    latest: usize,
    /// Tool calls came after the last piece of text.
    after_tools: bool,
    /// When the user cancelled it.
    cancelled: Option<Instant>,
}

/// What is done with a line that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuedKind {
    /// It is a message.
    Message,
    /// It is a message that Copilot answers, whatever answers otherwise.
    ToCopilot,
    /// It names a profile, which becomes the active one.
    ChangeProfile,
}

/// A message that has not been sent yet, or a change that its turn waits for.
#[derive(Debug, Clone)]
struct Queued {
    kind: QueuedKind,
    text: String,
    resent: bool,
    /// It was spoken rather than typed.
    spoken: Option<Spoken>,
}

impl Queued {
    fn new(kind: QueuedKind, text: String) -> Self {
        Self {
            kind,
            text,
            resent: false,
            spoken: None,
        }
    }

    /// The line that says it again.
    fn typed(&self) -> Cow<'_, str> {
        let command = match self.kind {
            QueuedKind::Message => return Cow::Borrowed(&self.text),
            QueuedKind::ToCopilot => "/pro",
            QueuedKind::ChangeProfile => "/profile",
        };
        format!("{command} {}", self.text).into()
    }
}

/// A conversation with the user.
pub(crate) struct Session {
    settings: Settings,
    context: Arc<SessionContext>,
    inbox: Arc<Inbox>,
    scribe: DiskWriter,
    log_writer: LogWriter,
    backend: BackendState,
    /// Copilot, once it was asked for a single message.
    copilot: Option<Arc<ModelTarget>>,
    spending: Spending,
    /// The reasoning effort that the user chose.
    effort: Option<Effort>,
    messages: Vec<Message>,
    /// The session that the messages are written to.
    saved: saved_session::SavedSession,
    meter: TokenMeter,
    /// The system prompt as the provider has cached it.
    system: Option<SystemPrompt>,
    /// The user's messages, the latest last, for `/undo`.
    sent_messages: Vec<String>,
    /// The directory of shell mode, while it is on.
    shell: Option<PathBuf>,
    /// Fires when the session is dropped, so that nothing it started outlives it.
    stop_all: Cancel,
    turn: Option<RunningTurn>,
    /// Number of the conversation. What is under way when another profile or session takes its place still has the old number, and nothing of it reaches
    /// the messages of the new one.
    conversation: u64,
    /// The turn that the session continued without, and the number of messages at that time.
    abandoned: Option<(u64, usize)>,
    queue: VecDeque<Queued>,
    jobs: Vec<job::Job>,
    reviews: reviews::ReviewList,
    history: Option<Arc<Mutex<InputHistory>>>,
    ntfy_inbox: NtfyInbox,
    /// Number of ntfy topics subscribed to.
    topics: usize,
    /// Number of the next turn or job.
    next_id: u64,
    /// Pending changes (profile, model, log) that have to finish before the next message is sent.
    pending_changes: usize,
    /// `/undo`s that are running or queued.
    undos: usize,
    /// Notices that came during an answer; they are shown after it.
    held_notices: Vec<String>,
    /// System messages that came during an answer. Added to the conversation now they would be lost, because the turn works on its own copy.
    held_system_rows: Vec<String>,
    /// `/compact` summarizes the conversation.
    is_compacting: bool,
    /// Lists and reports that are being prepared.
    listings: usize,
    greeted: bool,
    /// Whether the last answer failed.
    failed: bool,
    /// The user knows that the oldest messages are no longer sent.
    has_told_cut: bool,
    /// When the session started.
    started: Instant,
    /// A tool has asked to leave: nothing more is sent.
    exiting: bool,
    updates: Vec<UiUpdate>,
    flow: flow::Flow,
    memory: memory_writer::MemoryWriter,
    voice: voice::Voice,
    place: place::PlaceState,
    /// Runs while the user types the name of a file.
    file_search: Option<file_search::FileSearch>,
    /// A message whose attachments are being read.
    preparation: Option<prepare::Preparation>,
    /// What may go with messages to come.
    attaching: attaching::Attaching,
    /// Setting up a language model.
    set_up: set_up::SetUp,
}

impl Session {
    /// Opens the conversation of the active profile. The receiver gets an item when [`Session::receive`] has something to do.
    ///
    /// # Errors
    /// The working directory does not exist, a tool group does not, the prices that a ceiling needs cannot be read, or the session to go on with cannot be opened.
    pub(crate) fn open(settings: Settings, asking: AskMode) -> Outcome<(Self, Receiver<()>)> {
        let (inbox, wake) = Inbox::new();
        let mut updates = Vec::new();
        let mut warn = |text: String| updates.push(UiUpdate::System(text));
        let mut context = setup::session(&settings, &mut warn)?;
        context.approval = match asking {
            AskMode::Person => Approval::Ask(Arc::new(Asker::new(Arc::clone(&inbox)))),
            AskMode::Nobody => Approval::Deny,
        };
        let alert_inbox = Arc::clone(&inbox);
        context.set_coding(settings.working_dir.is_some());
        context.alerts.set_announce(Box::new(move |text| {
            alert_inbox.send(WorkerEvent::Alert(text));
        }));
        let effort = setup::effort(&settings)?;
        let spending = setup::spending(&settings, &context.clock, &mut warn)?;
        if let Err(problem) = context.paths.profile(&context.profile()) {
            warn(problem.one_line());
        }
        let begun = match sessions::begin(&settings.session, &context, &settings) {
            // A sub-agent keeps a session only when it was asked to.
            Ok(_) if context.policy.depth > 0 && settings.session == SessionFlags::default() => {
                None
            }
            Ok(begun) => Some(begun),
            // Without a home there is no place for a session; a new one can do without.
            Err(_) if settings.session == SessionFlags::default() => None,
            Err(problem) => return Err(problem),
        };
        if let Some(topic) = &settings.ntfy {
            updates.push(UiUpdate::System(format!(
                "The end of this session will be announced on the ntfy topic {topic}."
            )));
        }
        let mut session = Self {
            context: Arc::new(context),
            inbox,
            scribe: DiskWriter::default(),
            log_writer: LogWriter::default(),
            backend: BackendState::Choosing,
            copilot: None,
            spending,
            effort,
            messages: Vec::new(),
            saved: begun.as_ref().map_or_else(Default::default, |begun| {
                saved_session::SavedSession::of(begun, Spent::default())
            }),
            meter: TokenMeter::default(),
            system: None,
            sent_messages: Vec::new(),
            shell: None,
            stop_all: Cancel::new(),
            turn: None,
            conversation: 0,
            abandoned: None,
            queue: VecDeque::new(),
            jobs: Vec::new(),
            reviews: reviews::ReviewList::default(),
            history: None,
            ntfy_inbox: NtfyInbox::default(),
            topics: 0,
            next_id: 0,
            pending_changes: 0,
            undos: 0,
            held_notices: Vec::new(),
            held_system_rows: Vec::new(),
            is_compacting: false,
            listings: 0,
            greeted: false,
            failed: false,
            has_told_cut: false,
            started: Instant::now(),
            exiting: false,
            updates,
            flow: flow::Flow::default(),
            memory: memory_writer::MemoryWriter::default(),
            voice: voice::Voice::default(),
            place: place::PlaceState::default(),
            file_search: None,
            preparation: None,
            attaching: attaching::Attaching::new(settings.images.clone()),
            set_up: set_up::SetUp::default(),
            settings,
        };
        alerts::watch(&session.context.alerts);
        session
            .updates
            .push(UiUpdate::Profile(session.context.profile()));
        match begun.as_ref().and_then(|begun| begun.replay.as_ref()) {
            Some(replay) => {
                session.take_over(replay);
                session.choose(session.settings.model.clone());
            }
            // A sub-agent has its task.
            None if session.context.policy.depth > 0 => {
                session.choose(session.settings.model.clone());
            }
            None => session.load_start(),
        }
        if session.settings.session.choice() == SessionChoice::Pick {
            session.offer_sessions(true);
        }
        let waiting = session.attaching.announcement();
        session.updates.extend(waiting.map(UiUpdate::System));
        session.watch_reviews();
        session.read_place();
        Ok((session, wake))
    }

    /// The updates since the last call, in order.
    pub(crate) fn take_updates(&mut self) -> Vec<UiUpdate> {
        let mut updates = std::mem::take(&mut self.updates);
        for update in &mut updates {
            if let UiUpdate::Failed(problem) = update {
                advice::in_chat(problem);
            }
        }
        updates
    }

    /// Another conversation takes the place of this one, empty as yet: nothing of what was said, noted or begun here goes on in it.
    fn leave_conversation(&mut self) {
        self.conversation += 1;
        self.messages.clear();
        self.meter = TokenMeter::default();
        self.system = None;
        self.sent_messages.clear();
        self.held_system_rows.clear();
        self.abandoned = None;
        self.attaching.forget_refused();
        self.has_told_cut = false;
        self.flow.begun = None;
        self.flow.notes.clear();
        self.context.reading.reset();
        self.gauge();
    }

    /// Adds a system message to the conversation, after the running answer; nothing if `conversation` was left.
    fn tell_model(&mut self, conversation: u64, text: String) {
        if conversation != self.conversation {
            return;
        }
        let text = self.for_conversation(&text);
        let now = self.context.clock.now().timestamp();
        self.flow.note(now, &text);
        if self.turn.is_some() {
            self.held_system_rows.push(text);
        } else {
            self.messages.push(Message::System { text });
            self.save_messages(ContextCause::Change);
        }
    }

    /// What tools share in this session; completion needs it.
    pub(crate) fn context(&self) -> &Arc<SessionContext> {
        &self.context
    }

    /// Whether shell mode is on.
    pub(crate) fn has_shell(&self) -> bool {
        self.shell.is_some()
    }

    /// True while an answer, a command in the foreground or a change is pending. The plain interface waits that long before it reads on.
    pub(crate) fn busy(&self) -> bool {
        self.turn.is_some()
            || self.preparation.is_some()
            || self.is_pasting()
            || self.pending_changes > 0
            || self.listings > 0
            || self.is_setting_up()
            || !self.queue.is_empty()
            || matches!(self.backend, BackendState::Choosing)
            || self.jobs.iter().any(|job| !job.background)
            || self.is_voice_busy()
    }

    /// Messages that have not been sent yet, in order.
    pub(crate) fn queue(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.queue.iter().map(Queued::typed)
    }

    /// The latest reply as the model wrote it, or the part that has arrived.
    pub(crate) fn reply(&self) -> Option<&str> {
        let arriving = self
            .turn
            .iter()
            .filter_map(|turn| turn.text.get(turn.latest..));
        let before = self
            .messages
            .iter()
            .rev()
            .filter_map(|message| match message {
                Message::Assistant(said) => Some(said.text.as_str()),
                _ => None,
            });
        let mut replies = arriving.chain(before).map(str::trim_end);
        replies.find(|text| !text.is_empty())
    }

    /// Removes the last queued message and returns it.
    pub(crate) fn take_back(&mut self) -> Option<String> {
        let taken = self.queue.pop_back();
        self.save_waiting();
        taken.map(|queued| queued.typed().into_owned())
    }

    /// Earlier input, the oldest first. The file is read on the first call.
    pub(crate) fn history(&mut self) -> Vec<String> {
        let history = self.input_history();
        let entries = history.lock().unwrap_or_else(PoisonError::into_inner);
        entries.entries().to_vec()
    }

    /// Handles input of the user: a command or a message, of one line or several.
    pub(crate) fn submit(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            // Voice mode that paused goes on.
            self.voice_key(voice::VoiceKey::Enter, true);
            return;
        }
        let kept = self.for_history(line);
        let input = commands::read(line);
        // The request of a message waits until that is in the chat log; the history comes after it.
        let is_message = self.shell.is_none() && matches!(input, InputLine::Message);
        if !is_message {
            self.remember(&kept);
            self.poll_news();
        }
        match (input, &self.shell) {
            (_, Some(_)) if line.eq_ignore_ascii_case("exit") => self.toggle_shell(),
            (InputLine::Command(command), shell) if shell.is_none() || command.in_shell_mode => {
                if let Err(problem) = command.run(self) {
                    self.updates.push(UiUpdate::Failed(problem));
                }
            }
            (_, Some(_)) => self.shell_line(line),
            (InputLine::Mistake(problem), None) => self.updates.push(UiUpdate::Failed(problem)),
            (_, None) => {
                let message = Queued::new(QueuedKind::Message, line.to_owned());
                self.queue.push_back(message);
                self.send_next();
                if !self.queue.is_empty() || self.preparation.is_some() {
                    self.save_waiting();
                }
                self.remember(&kept);
                self.poll_news();
            }
        }
    }

    /// Cancels recording and speech and the running answer, else the last command in the foreground. Messages that wait go back to the input. False when
    /// nothing is running or waiting.
    pub(crate) fn cancel(&mut self) -> bool {
        // What waits when the user leaves is kept on disk instead.
        let had_queue = !self.exiting && self.return_waiting();
        let had_voice = self.cancel_voice();
        if self.attaching.stop_reading() {
            return true;
        }
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.cancelled.is_none()) {
            turn.cancelled = Some(Instant::now());
            turn.stop.fire();
            return true;
        }
        if had_queue {
            return true;
        }
        let job = self
            .jobs
            .iter()
            .rev()
            .find(|job| !job.background && !job.stop.is_fired());
        if let Some(job) = job.filter(|_| !had_voice) {
            job.stop.fire();
            return true;
        }
        had_voice || self.turn.is_some()
    }

    /// Stops everything that is running when it fires: for a process that ends without calling [`Session::close`].
    pub(crate) fn stopper(&self) -> Cancel {
        self.stop_all.clone()
    }

    /// When [`Session::receive`] must be called even without a wake-up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.turn.as_ref()?.cancelled? + GRACE)
    }

    /// Handles the messages of the workers.
    pub(crate) fn receive(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        for note in inbox.take() {
            self.note(note);
        }
        if self
            .deadline()
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.abandon();
        }
        self.listen_on();
    }

    /// The user has closed the editor that was opened for the preferences.
    pub(crate) fn edited(&mut self, path: &Path) {
        self.updates.push(match yaml::read_keys(path) {
            Ok(_) => UiUpdate::System("Preferences are as you left them.".to_owned()),
            Err(problem) => UiUpdate::Failed(problem),
        });
    }

    /// Ends everything and writes what is pending, within two seconds. Returns a message for the user when something could not be saved or was not sent.
    pub(crate) fn close(&mut self) -> Option<String> {
        let start = Instant::now();
        self.exiting = true;
        self.end_voice();
        if self.turn.is_some() {
            self.cancel();
            while self.turn.is_some() && start.elapsed() < GRACE * 2 {
                thread::sleep(Duration::from_millis(5));
                self.receive();
            }
        }
        self.stop_all.fire();
        // A command that was started just now must still be cancelled, or it would outlive the process.
        while !self.jobs.is_empty() && start.elapsed() < GRACE * 4 {
            thread::sleep(Duration::from_millis(5));
            self.receive();
        }
        let usage = self.context.save_usage();
        if let Some(topic) = &self.settings.ntfy {
            run_notice::notify_end(
                &self.context.env,
                topic,
                NTFY_LIMIT,
                !self.failed,
                self.started.elapsed(),
                &self.context.ledger.totals(),
            );
        }
        let left = LEAVING.saturating_sub(start.elapsed());
        let (writer, context) = (self.log_writer.clone(), Arc::clone(&self.context));
        self.scribe.put(move || writer.flush(&context));
        let log = if self.scribe.finish(left) {
            self.log_writer.unsaved_notice()
        } else {
            Some(
                "The end of the conversation was not saved: another Marvin holds the chat log."
                    .to_owned(),
            )
        };
        let memory = self.unremembered_notice();
        let unsent = self.unsent_notice();
        let notices = log.into_iter().chain(usage).chain(memory).chain(unsent);
        let notices: Vec<String> = notices.collect();
        (!notices.is_empty()).then(|| notices.join("\n"))
    }

    /// The commands of this conversation that run in the background.
    fn background(&self) -> Vec<String> {
        let is_told = |job: &&job::Job| job.background && job.conversation == self.conversation;
        let jobs = self.jobs.iter().filter(is_told);
        jobs.map(|job| job.command.clone()).collect()
    }

    /// What a status line shows.
    pub(crate) fn status(&self) -> SessionStatus {
        let (provider, model) = match &self.backend {
            BackendState::Ready(target) => (Some(target.provider.name()), target.model.clone()),
            BackendState::Choosing | BackendState::Failed(_) => (None, String::new()),
        };
        let turn = self.turn.iter().map(|turn| RunningCall {
            name: String::new(),
            since: turn.since,
            background: false,
            output: String::new(),
        });
        let jobs = self.jobs.iter().map(|job| RunningCall {
            name: job.command.clone(),
            since: job.since,
            background: job.background,
            output: job.output.clone(),
        });
        let totals = self.context.ledger.totals();
        let cost = self.saved.cost(sessions::spent(&totals));
        SessionStatus {
            provider,
            model,
            profile: self.context.profile(),
            messages: self
                .messages
                .iter()
                .filter(|message| message.is_spoken())
                .count(),
            cost: cost.session.cost,
            cost_estimated: cost.session.estimated,
            credits: cost.session.credits,
            run_spent: cost.run,
            tokens: totals.tokens(),
            context: self.context.gauge.percent(),
            coding: self.context.coding(),
            shell: self.shell.clone(),
            place: self.place.place.clone(),
            topics: self.topics,
            running: turn
                .chain(jobs)
                .chain(self.reviews.running.iter().cloned())
                .collect(),
            voice: self.voice_status(),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_all.fire();
    }
}
