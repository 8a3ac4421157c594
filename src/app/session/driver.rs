//! A session as an interface drives it: what the user does goes in, updates come out. The core decides, the workers carry out what it orders.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::advice;
use super::approve::{AskMode, Asker};
use super::conversation::saved_session::SavedSession;
use super::conversation::{Conversation, start};
use super::copy;
use super::core::Core;
use super::inbox::Inbox;
use super::jobs::agent_host::SessionHost;
use super::lists::file_search::FileSearch;
use super::lists::theme;
use super::model::Model;
use super::orders::{CoreRequest, Orders};
use super::queued::not_sent;
use super::run::Run;
use super::server_questions::ServerQuestions;
use super::turns::{GRACE, Turns};
use super::ui_update::{AnsweringModel, CopiedText, SessionStatus, UiUpdate};
use super::voice::VoiceKey;
use super::worker_event::WorkerEvent;
use super::workers::Workers;
use crate::alerts;
use crate::app::choice::{ChoiceKind, TypedLine};
use crate::app::sessions;
use crate::app::settings::Settings;
use crate::app::settings::session::{SessionChoice, SessionFlags};
use crate::app::theme_choice::ThemeChoice;
use crate::app::{extensions, run_notice, setup};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::chat::event::NullSink;
use crate::disk::yaml;
use crate::mcp::session::SessionServers;
use crate::proc::clipboard::Copier;
use crate::store::review_jobs;
use crate::store::sessions::Replay;
use crate::store::sessions::record::Spent;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::hook_set::HookedSession;
use crate::tools::engine::hooks::turns::session_ends;
use crate::tools::project::command_watch::settle_at_end;

/// How long closing waits until the `--ntfy` message is sent.
const NTFY_LIMIT: Duration = Duration::from_secs(1);
/// How long closing waits for pending writes: a stuck disk must not keep the process alive.
const LEAVING: Duration = Duration::from_secs(2);

/// A conversation with the user.
pub(crate) struct Session {
    run: Run,
    orders: Orders,
    workers: Workers,
    core: Core,
    files: FileSearch,
}

/// What the user did.
impl Session {
    /// Opens the conversation of the active profile. The receiver gets an item when [`Session::receive`] has something to do.
    ///
    /// # Errors
    /// The working directory does not exist, a tool group does not, the prices that a ceiling needs cannot be read, or the session to go on with cannot be
    /// opened.
    pub(crate) fn open(settings: Settings, asking: AskMode) -> Outcome<(Self, Receiver<()>)> {
        let (inbox, wake) = Inbox::new();
        let mut orders = Orders::default();
        let mut warn = |text: String| orders.system(text);
        let mut context = setup::session(&settings, &mut warn)?;
        context.approval = match asking {
            AskMode::Person => Approval::Ask(Arc::new(Asker::new(Arc::clone(&inbox)))),
            AskMode::Nobody => Approval::Deny,
        };
        if matches!(asking, AskMode::Person) {
            let questions = ServerQuestions {
                inbox: Arc::clone(&inbox),
                env: settings.env.clone(),
            };
            let servers = context.modules.get::<SessionServers>();
            servers.set_questions(Arc::new(questions));
            let teller_inbox = Arc::clone(&inbox);
            servers.set_teller(Arc::new(move |words| {
                teller_inbox.send(WorkerEvent::Notice(words));
            }));
        }
        context.policy.can_ask_to_leave_sandbox = matches!(asking, AskMode::Person);
        // An agent of a sub-agent must not outlive the task that it is for.
        if context.policy.depth == 0 {
            let inbox = Arc::clone(&inbox);
            context.agent_host = Some(Arc::new(SessionHost { inbox }));
        }
        context.set_coding(settings.working_dir.is_some());
        match asking {
            AskMode::Person => extensions::open(&context, &settings, &mut warn),
            AskMode::Nobody => extensions::open_unasked(&context, &settings, &mut warn),
        }
        let alert_inbox = Arc::clone(&inbox);
        context.alerts.set_announce(Box::new(move |text| {
            alert_inbox.send(WorkerEvent::Alert(text));
        }));
        let effort = setup::effort(&settings)?;
        let spending = setup::spending(&settings, &context.clock, &mut warn)?;
        if let Err(problem) = context.paths.profile(&context.profile()) {
            warn(problem.one_line());
        }
        let is_sub_agent = context.policy.depth > 0;
        let is_asked_for = settings.session != SessionFlags::default();
        let begun = match sessions::begin(&settings.session, &context, &settings) {
            // A sub-agent keeps a session only when it was asked to.
            Ok(_) if is_sub_agent && !is_asked_for => None,
            Ok(begun) => Some(begun),
            // Without a home there is no place for a session; a new one can do without.
            Err(_) if !is_asked_for => None,
            Err(problem) => return Err(problem),
        };
        if let Some(topic) = &settings.ntfy {
            orders.system(format!(
                "The end of this session will be announced on the ntfy topic {topic}."
            ));
        }
        let saved = begun.as_ref().map_or_else(Default::default, |begun| {
            SavedSession::of(begun, Spent::default())
        });
        context.hooks.set_session(HookedSession {
            source: settings.session.source(),
            ..HookedSession::default()
        });
        let turns = Turns::new(settings.prompt.images.clone());
        let mut session = Self {
            run: Run::new(Arc::new(settings), Arc::new(context), inbox),
            orders,
            workers: Workers::default(),
            core: Core::new(
                Conversation::new(saved),
                turns,
                Model::new(spending, effort),
            ),
            files: FileSearch::default(),
        };
        alerts::watch(&session.run.context.alerts);
        let replay = begun.as_ref().and_then(|begun| begun.replay.as_ref());
        session.begin(replay, is_sub_agent);
        Ok((session, wake))
    }

    /// What happens before the user does anything.
    fn begin(&mut self, replay: Option<&Replay>, is_sub_agent: bool) {
        let (core, run, orders) = (&mut self.core, &self.run, &mut self.orders);
        orders.show(UiUpdate::Profile(run.context.profile()));
        match replay {
            Some(replay) => {
                core.take_over(replay, run, orders);
                core.choose_first_model(run, orders);
            }
            // A sub-agent has its task.
            None if is_sub_agent => core.choose_first_model(run, orders),
            None => start::load(run, orders),
        }
        if run.settings.session.choice() == SessionChoice::Pick {
            core.conversation.list_sessions(true, run, orders);
        }
        if let Some(words) = core.turns.announcement() {
            orders.system(words);
        }
        core.workplace.watch_reviews(run);
        core.workplace.read_place(run, orders);
        self.carry_out();
    }

    /// Has the core see to what parts requested, and the workers to what it orders.
    fn carry_out(&mut self) {
        self.core.settle(&self.run, &mut self.orders);
        while let Some(order) = self.orders.next() {
            (self.workers).carry_out(order, &self.run, &mut self.orders);
        }
    }

    /// Handles input of the user: a command or a message, of one line or several.
    pub(crate) fn submit(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            // Voice mode that paused goes on.
            self.voice_key(VoiceKey::Enter, true);
            return;
        }
        self.core.submit(line, &self.run, &mut self.orders);
        self.carry_out();
    }

    /// The user's Esc, as [`Core::cancel`] says. False when there was nothing to stop.
    pub(crate) fn cancel(&mut self) -> bool {
        let is_stopped = self.core.cancel(&mut self.orders);
        self.carry_out();
        is_stopped
    }

    /// Handles the messages of the workers.
    pub(crate) fn receive(&mut self) {
        for (awaited_by, event) in self.run.inbox.take() {
            self.orders.reported(awaited_by);
            self.core.handle(event, &self.run, &mut self.orders);
            self.carry_out();
        }
        if let Some(turn) = self.core.turns.take_overdue() {
            self.core.abandon(turn, &self.run, &mut self.orders);
        }
        if self.core.conversation.gives_up_late() {
            self.orders.send_next();
        }
        self.orders.request(CoreRequest::Listen);
        self.carry_out();
    }

    /// Removes the last queued message and returns it.
    pub(crate) fn take_back(&mut self) -> Option<String> {
        let taken = self.core.turns.take_back(&mut self.orders);
        self.carry_out();
        taken
    }

    /// Does what the command of the list does with the chosen row.
    pub(crate) fn choose_from_list(&mut self, kind: ChoiceKind, id: &str) {
        (self.core).choose(kind, id, &self.run, &mut self.orders);
        self.carry_out();
    }

    /// The user closed a list without choosing.
    pub(crate) fn choice_closed(&mut self, kind: ChoiceKind) {
        let facts = self.core.facts();
        if kind == ChoiceKind::Trust {
            self.core.project.closed(&self.run, &mut self.orders);
        }
        (self.core.model).choice_closed(kind, &self.run, &facts, &mut self.orders);
        self.carry_out();
    }

    /// The user typed the line that was asked for, or closed the question.
    pub(crate) fn answer_prompt(&mut self, line: Option<TypedLine>) {
        (self.core.model).answer_prompt(line, &self.run, &mut self.orders);
        self.carry_out();
    }

    /// A program that had the terminal has given it back.
    pub(crate) fn program_ended(&mut self, ended: Outcome<()>) {
        (self.core.model).program_ended(ended, &self.run, &mut self.orders);
        self.carry_out();
    }

    /// The first prompt is on the screen: servers of the configuration may be started. Later calls do nothing.
    pub(crate) fn start_servers(&self) {
        let context = &self.run.context;
        (context.modules.get::<SessionServers>()).begin_aside(context);
    }

    /// Whether something may come of servers that nobody here has asked for.
    pub(crate) fn may_be_told(&self) -> bool {
        let servers = self.run.context.modules.get::<SessionServers>();
        servers.may_speak()
    }

    /// The interface can show lists and ask for lines, and somebody is there to answer: without a model the session asks how to get one.
    pub(crate) fn allow_set_up(&mut self) {
        self.core.model.allow_set_up(&self.run);
        self.core.project.begin(&self.run, &mut self.orders);
        self.carry_out();
    }

    /// The user has closed the editor that was opened for the preferences.
    pub(crate) fn edited(&mut self, path: &Path) {
        match yaml::read_keys(path) {
            Ok(_) => self.orders.system("Preferences are as you left them."),
            Err(problem) => self.orders.fail(problem),
        }
    }

    /// Takes what is on the clipboard into the input: a name that stands for the image, or text.
    pub(crate) fn paste_clipboard(&mut self) {
        self.core.turns.paste_clipboard(&self.run, &mut self.orders);
        self.carry_out();
    }

    /// Copies a text with a program, on a thread; it comes back as [`UiUpdate::Copied`].
    pub(crate) fn copy_with(&mut self, copier: Copier, copied: CopiedText) {
        copy::copy_with(copier, copied, &self.run, &mut self.orders);
        self.carry_out();
    }

    /// Searches for files whose paths fit `query`, instead of what was searched for before; `None` ends the search. The matches arrive as updates.
    pub(crate) fn search_files(&mut self, query: Option<&str>) {
        self.files.search(query, &self.run);
    }

    /// The user pressed a key. True when it has no further meaning. See [`Voice::key`].
    pub(crate) fn voice_key(&mut self, key: VoiceKey, input_is_empty: bool) -> bool {
        let is_taken = self.core.voice.key(key, input_is_empty, &mut self.orders);
        self.carry_out();
        is_taken
    }

    /// The theme that the interface begins with; `warn` gets what is wrong with the setting.
    pub(crate) fn first_theme(&self, warn: &mut dyn FnMut(String)) -> ThemeChoice {
        theme::first(&self.run, warn)
    }

    /// Earlier input, the oldest first. The file is read on the first call.
    pub(crate) fn history(&mut self) -> Vec<String> {
        let history = self.workers.history(&self.run, &mut self.orders);
        let entries = history.lock().unwrap_or_else(PoisonError::into_inner);
        entries.entries().to_vec()
    }

    /// Begins to remember what was said, before the session ends, and says so. False when there is nothing to remember. Call
    /// [`Session::is_remembering`] until it is false, then [`Session::close`].
    pub(crate) fn begin_farewell(&mut self) -> bool {
        self.core.turns.leave();
        self.core.voice.end(&mut self.orders);
        self.cancel();
        let model = self.core.memory_model(&self.run);
        self.core
            .flow
            .begin_farewell(model, &self.run, &mut self.orders)
    }

    /// Whether the end of the session still has to wait.
    pub(crate) fn is_remembering(&mut self) -> bool {
        self.core.flow.is_remembering(&mut self.orders)
    }

    /// The user does not want to wait. What is not remembered now is remembered the next time.
    pub(crate) fn skip_farewell(&mut self) {
        self.core.flow.skip_farewell(&mut self.orders);
    }

    /// Ends everything and writes what is pending, within two seconds. Returns a message for the user when something could not be saved or was not sent.
    pub(crate) fn close(&mut self) -> Option<String> {
        let start = Instant::now();
        self.core.turns.leave();
        self.core.voice.end(&mut self.orders);
        if self.core.turns.is_answering() {
            self.cancel();
            while self.core.turns.is_answering() && start.elapsed() < GRACE * 2 {
                thread::sleep(Duration::from_millis(5));
                self.receive();
            }
        }
        let context = Arc::clone(&self.run.context);
        let ending = ToolContext::new(context, Cancel::new(), Arc::new(NullSink));
        session_ends(&ending, "prompt_input_exit");
        let root = self.run.context.working_dir.root();
        let dir = root.as_ref().map(|root| root.path());
        let agents = self.core.jobs.agents.farewell(dir);
        self.run.stop.fire();
        // A command that was started just now must still be cancelled, or it would outlive the process.
        while !self.core.jobs.is_empty() && start.elapsed() < GRACE * 4 {
            thread::sleep(Duration::from_millis(5));
            self.receive();
        }
        self.carry_out();
        let context = &self.run.context;
        let left_behind = settle_at_end(context);
        context.modules.get::<SessionServers>().end();
        let usage = context.save_usage();
        if let Some(topic) = &self.run.settings.ntfy {
            run_notice::notify_end(
                &context.env,
                topic,
                NTFY_LIMIT,
                !self.core.turns.has_failed(),
                self.run.started.elapsed(),
                &context.ledger.totals(),
            );
        }
        let left = LEAVING.saturating_sub(start.elapsed());
        let log = self.workers.finish(&self.run, left);
        let memory = self.core.flow.unremembered_notice();
        let unsent = not_sent(&self.core.waiting(&self.run));
        let notices = log.into_iter().chain(usage).chain(memory);
        let notices = notices.chain(agents).chain(unsent).chain(left_behind);
        let notices: Vec<String> = notices.collect();
        (!notices.is_empty()).then(|| notices.join("\n"))
    }
}

/// What an interface shows.
impl Session {
    /// The updates since the last call, in order.
    pub(crate) fn take_updates(&mut self) -> Vec<UiUpdate> {
        let mut updates = self.orders.take_updates();
        for update in &mut updates {
            if let UiUpdate::Failed(problem) = update {
                advice::in_chat(problem);
            }
        }
        updates
    }

    /// What tools share in this session; completion needs it.
    pub(crate) fn context(&self) -> &Arc<SessionContext> {
        &self.run.context
    }

    pub(crate) fn has_shell(&self) -> bool {
        self.core.workplace.shell().is_some()
    }

    /// True while an answer, a command in the foreground or a change is pending. The plain interface waits that long before it reads on.
    pub(crate) fn busy(&self) -> bool {
        self.core.is_busy(&self.orders)
    }

    /// Messages that have not been sent yet, in order.
    pub(crate) fn queue(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.core.turns.queue()
    }

    /// The latest reply as the model wrote it, or the part that has arrived.
    pub(crate) fn reply(&self) -> Option<&str> {
        let arriving = self.core.turns.arriving().into_iter();
        let mut replies = arriving
            .chain(self.core.conversation.replies())
            .map(str::trim_end);
        replies.find(|text| !text.is_empty())
    }

    /// True while the clipboard is read.
    pub(crate) fn is_pasting(&self) -> bool {
        self.core.turns.is_pasting()
    }

    /// True while keys have a meaning for voice: see [`Session::voice_key`].
    pub(crate) fn voice_takes_keys(&self) -> bool {
        self.core.voice.takes_keys()
    }

    /// What the session cost and how to go on with it, if something was said in it; else of the one that was left for it.
    pub(crate) fn farewell_words(&self) -> Option<String> {
        let session = self.core.conversation.saved().farewell_words(&self.run);
        // They outlive it.
        let root = self.run.context.working_dir.root();
        let reviews = root.map(|root| review_jobs::running(&root));
        let reviews = reviews.unwrap_or_default().into_iter().map(|job| {
            format!(
                "Review {} goes on, on the branch {}; its end is told when Marvin is started here again.",
                job.id, job.branch
            )
        });
        let words: Vec<String> = reviews.chain(session).collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Stops everything that is running when it fires: for a process that ends without calling [`Session::close`].
    pub(crate) fn stopper(&self) -> Cancel {
        self.run.stop.clone()
    }

    /// When [`Session::receive`] must be called even without a wake-up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.core.turns.deadline(),
            self.core.conversation.late_until(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What a status line shows.
    pub(crate) fn status(&self) -> SessionStatus {
        let context = &self.run.context;
        let target = self.core.model.target();
        let cost = self.core.conversation.saved().cost(self.run.spent());
        let jobs = self.core.jobs.rows().chain(self.core.workplace.rows());
        SessionStatus {
            model: target.map(|target| AnsweringModel {
                provider: target.provider.name(),
                name: target.model.clone(),
            }),
            profile: context.profile(),
            messages: self.core.conversation.spoken(),
            cost,
            tokens: context.ledger.totals().tokens(),
            context: context.gauge.percent(),
            coding: context.coding(),
            shell: self.core.workplace.shell().cloned(),
            place: self.core.workplace.place().cloned(),
            topics: self.core.notices.topics(),
            running: self.core.turns.row().into_iter().chain(jobs).collect(),
            voice: self.core.voice.status(),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.run.stop.fire();
    }
}

#[cfg(test)]
mod tests;
