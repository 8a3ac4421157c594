//! The longer commands of the conversation.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::inbox::{ProfileSwitch, WorkerEvent};
use super::set_up::model_env;
use super::{BackendState, Queued, QueuedKind, Session, commands, shell};
use crate::app::direct_call::words::{DirectCommand, DirectRequest};
use crate::app::direct_call::{self, catalogue};
use crate::app::profile;
use crate::app::session::ui_update::UiUpdate;
use crate::app::sessions::model_notes;
use crate::app::sessions::{self, earlier};
use crate::app::settings::ModelChoice;
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::event::NullSink;
use crate::chat::image::without_markers;
use crate::chat::message::Message;
use crate::llm::catalog;
use crate::llm::provider::Effort;
use crate::proc::last_lines::LastLines;
use crate::store::chat_log::LogRole;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::batch;
use crate::tools::engine::context::ToolContext;

/// The tool that does what `/profile` does.
const SWITCH_PROFILE: &str = "switch_profile";

impl Session {
    pub(super) fn toggle_shell(&mut self) {
        let words = if self.shell.take().is_some() {
            "Shell mode is off.".to_owned()
        } else {
            let dir = self.command_dir();
            let words = format!("Shell mode, in {}. /shell ends it.", dir.display());
            self.shell = Some(dir);
            words
        };
        self.updates.push(UiUpdate::Remark(words));
    }

    pub(super) fn toggle_coding(&mut self) {
        let on = !self.context.coding();
        self.context.set_coding(on);
        let place = self.context.working_dir.root();
        let words = match (on, place) {
            (false, _) => "Coding mode is off.".to_owned(),
            (true, Some(root)) => format!("Coding mode, in {}.", root.path().display()),
            (true, None) => "Coding mode; no working directory is set. Ask for one, or set it: /tool set_working_dir path=DIR.".to_owned(),
        };
        self.updates.push(UiUpdate::Remark(words));
    }

    /// The directory for the user's commands: the working directory, else where Marvin was started, else home.
    pub(super) fn command_dir(&self) -> PathBuf {
        let root = self
            .context
            .working_dir
            .root()
            .map(|root| root.path().to_owned());
        root.or_else(|| self.settings.process.current.clone())
            .or_else(|| self.home())
            .unwrap_or_else(|| PathBuf::from("/"))
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.context.env.get("HOME").map(PathBuf::from)
    }

    pub(super) fn shell_line(&mut self, line: &str) {
        let Some(dir) = self.shell.clone() else {
            return;
        };
        match shell::change_dir(line, &dir, self.home().as_deref()) {
            Some(Ok(dir)) => {
                let words = dir.display().to_string();
                self.shell = Some(dir);
                self.updates.push(UiUpdate::Remark(words));
            }
            Some(Err(problem)) => self.updates.push(UiUpdate::Failed(problem)),
            None => match commands::shell_job(line) {
                Ok((text, background)) => self.run_shell(text, background, dir),
                Err(problem) => self.updates.push(UiUpdate::Failed(problem)),
            },
        }
    }

    pub(super) fn run_shell(&mut self, text: String, background: bool, dir: PathBuf) {
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let profile = self.context.paths.profile(&self.context.profile());
        let logs = profile.map(|profile| profile.logs());
        self.run_job(text.clone(), background, move |id, stop| {
            let mut show = |lines: &LastLines| {
                let lines = lines.text();
                inbox.send(WorkerEvent::CommandOutput { id, lines });
            };
            let outcome = logs.and_then(|logs| {
                shell::run(&text, &dir, background, &context, &logs, &stop, &mut show)
            });
            inbox.send(WorkerEvent::Command { id, outcome });
        });
    }

    pub(super) fn stop_background(&mut self) {
        let running = self.jobs.iter().filter(|job| job.background);
        let stopped = running.inspect(|job| job.stop.fire()).count();
        if stopped == 0 {
            let words = "Nothing runs in the background.".to_owned();
            self.updates.push(UiUpdate::Remark(words));
        }
    }

    pub(super) fn command_ended(&mut self, id: u64, outcome: Outcome<String>) {
        let Some(index) = self.jobs.iter().position(|job| job.id == id) else {
            return;
        };
        let job = self.jobs.swap_remove(index);
        let output = match outcome {
            Ok(output) => output,
            Err(problem) if problem.is_cancelled() => "[stopped]".to_owned(),
            Err(problem) => problem.one_line(),
        };
        let entry = self.for_conversation(&format!("$ {}\n{}", job.command, output.trim_end()));
        self.log(&job.profile, LogRole::System, entry);
        self.tell_model(
            job.conversation,
            model_notes::command(&job.command, &output),
        );
        self.updates
            .push(match (job.background, output.trim_end()) {
                // Of a command in the background that wrote nothing, it is enough that it has ended.
                (true, ending) if !ending.contains('\n') => UiUpdate::Remark(format!(
                    "$ {} &  {}",
                    one_line(&job.command),
                    one_line(ending)
                )),
                (background, _) => UiUpdate::CommandOutput {
                    command: job.command,
                    output,
                    background,
                },
            });
        self.send_next();
    }

    pub(super) fn call_tool(&mut self, words: &[String]) -> Outcome<()> {
        let command = DirectCommand::read(words)?;
        let (tool, args) = match command.resolve(&self.context)? {
            DirectRequest::Help(tool) => {
                self.updates.push(UiUpdate::Listing(catalogue::help(&tool)));
                return Ok(());
            }
            DirectRequest::Call { .. } if command.dir.is_some() => {
                return Err(
                    Problem::input("--working-dir belongs to marvin tool.").next(
                        "Here tools work in the session's directory; set_working_dir changes it.",
                    ),
                );
            }
            DirectRequest::Call { tool, args } => (tool, args),
        };
        // The tool changes the profile of the session at once, whatever is under way.
        if tool.name() == SWITCH_PROFILE
            && let Ok(args) = serde_json::from_str::<Value>(&args)
            && let Some(name) = args.get("profile_name").and_then(Value::as_str)
        {
            return self.change_profile(name);
        }
        let call = direct_call::call(tool.name(), args);
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        self.run_job(tool.name().to_owned(), false, move |id, stop| {
            let ctx = ToolContext {
                approval: Approval::UserInvoked,
                ..ToolContext::new(context, stop, Arc::new(NullSink))
            };
            let ended = Box::new(batch::run_one(&ctx, &call));
            inbox.send(WorkerEvent::ToolCalled { id, ended });
        });
        Ok(())
    }

    pub(super) fn model(&mut self, words: Vec<String>) {
        let mut words = words.into_iter();
        match (words.next(), words.next()) {
            (None, _) => self.offer_models(),
            (Some(word), None) if catalog::provider_named(&word).is_none() => {
                let (provider, model) = match &self.backend {
                    BackendState::Ready(target) if target.provider.is_model() => {
                        (Some(target.provider.name().to_owned()), Some(word))
                    }
                    // With no provider yet, the word can only name a provider.
                    _ => (Some(word), None),
                };
                self.choose(ModelChoice { provider, model });
            }
            (provider, model) => self.choose(ModelChoice { provider, model }),
        }
    }

    /// Sends one message to Copilot, whatever answers otherwise.
    pub(super) fn ask_copilot(&mut self, text: &str) -> Outcome<()> {
        if text.is_empty() {
            return Err(Problem::input("There is no message after /pro.")
                .next("For example: /pro explain this error."));
        }
        // What is said among messages of the flow is kept with them.
        let text = self.for_conversation(text);
        self.queue
            .push_back(Queued::new(QueuedKind::ToCopilot, text));
        self.send_next();
        Ok(())
    }

    /// Shows the reasoning effort, or changes that of the messages to come.
    pub(super) fn change_effort(&mut self, word: &str) -> Outcome<()> {
        if !word.is_empty() {
            self.effort = Some(Effort::parse(word)?);
        }
        let words = match (self.effort, word.is_empty()) {
            (Some(effort), false) => {
                format!("Effort: {}, from the next message on.", effort.word())
            }
            (Some(effort), true) => format!("Effort: {}.", effort.word()),
            (None, _) if !self.effort_is_of_mode() => {
                "Effort: as the model's maker set it up. /effort LEVEL sets it.".to_owned()
            }
            (None, _) => {
                let coding = self.context.coding();
                let mode = if coding { "in" } else { "outside" };
                let word = Effort::of_mode(coding).word();
                format!("Effort: {word}, as always {mode} coding mode. /effort LEVEL sets it.")
            }
        };
        self.updates.push(UiUpdate::Remark(words));
        Ok(())
    }

    /// Whether the model is told the effort of the mode while the user has chosen none.
    fn effort_is_of_mode(&self) -> bool {
        match &self.backend {
            BackendState::Ready(target) => target.provider.tells_effort_of_mode(&target.info),
            _ => true,
        }
    }

    /// Chooses a provider on a thread, because a local server may take time to answer.
    pub(super) fn choose(&mut self, choice: ModelChoice) {
        let spending = self.spending.clone();
        let (env, inbox) = (model_env(&self.context), Arc::clone(&self.inbox));
        self.pending_changes += 1;
        let started = self.work("choose", move || {
            let mut warn = |text: String| inbox.send(WorkerEvent::Notice(text));
            let mut target = setup::model_target(&choice, &spending, &env, &mut warn);
            if let Ok(target) = &mut target {
                setup::ask_server(target, &Cancel::new(), &mut warn);
                setup::doubt(target, &env).into_iter().for_each(&mut warn);
            }
            inbox.send(WorkerEvent::Chosen(target.map(Box::new)));
        });
        if !started {
            self.pending_changes -= 1;
        }
    }

    pub(super) fn undo(&mut self) {
        if self.turn.is_some() {
            let problem = Problem::refused("An answer is on its way.")
                .next("Stop it with Esc or Ctrl-C, then take it back.");
            return self.updates.push(UiUpdate::Failed(problem));
        }
        // One at a time: only after one undo is it known which message is the last.
        if self.undos > 0 {
            self.undos += 1;
            return;
        }
        let Some(message) = self.sent_messages.last().cloned() else {
            let problem = Problem::missing("There is nothing to take back.");
            return self.updates.push(UiUpdate::Failed(problem));
        };
        let (inbox, writer) = (Arc::clone(&self.inbox), self.log_writer.clone());
        let profile = self.context.profile();
        let (session_log, conversation) = (self.saved.log.clone(), self.conversation);
        // What was said before the session was resumed is not at the end of the chat log.
        let is_resumed = self.sent_messages.len() <= self.saved.resumed_messages;
        let started = self.with_log(move |log| {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let undone = if is_resumed || writer.take_back(&profile, &message) {
                Ok(())
            } else {
                log.undo_last_exchange(Some(&message), &mut warn).map(drop)
            };
            let undone = undone.and_then(|()| match &session_log {
                Some(log) => log.undo(),
                None => Ok(()),
            });
            inbox.send(WorkerEvent::Undone(conversation, undone));
        });
        self.undos = usize::from(started);
    }

    /// The last exchange is removed from the log, the conversation and the screen, or from none of them.
    pub(super) fn undone(&mut self, conversation: u64, outcome: Outcome<()>) {
        self.pending_changes -= 1;
        let more = std::mem::take(&mut self.undos).saturating_sub(1);
        if conversation != self.conversation {
            return self.send_next();
        }
        match outcome {
            Ok(()) => {
                let said = self.sent_messages.pop().unwrap_or_default();
                let left = self.sent_messages.len();
                self.saved.resumed_messages = self.saved.resumed_messages.min(left);
                if let Some(engine) = self.flow.engine() {
                    engine.undo(&said);
                }
                self.flow.notes.clear();
                let is_user = |message: &Message| matches!(message, Message::User(_));
                let gone = self.messages.iter().rposition(is_user);
                let gone = gone.map_or_else(Vec::new, |index| self.messages.split_off(index));
                self.gauge();
                let said = without_markers(&said).to_owned();
                self.updates.push(UiUpdate::Undone(said));
                let is_result = |message: &Message| matches!(message, Message::Tool(_));
                if gone.iter().any(is_result) {
                    let words = "What its tools have changed stays changed.";
                    self.updates.push(UiUpdate::Remark(words.to_owned()));
                }
                if more > 0 {
                    self.undo();
                    // The undos that are queued behind this one need it to succeed.
                    self.undos = self.undos.min(1) * more;
                }
            }
            Err(problem) => self.updates.push(UiUpdate::Failed(problem)),
        }
        self.send_next();
    }

    /// `/profile NAME`: continues with another profile, after the messages that wait.
    pub(super) fn change_profile(&mut self, name: &str) -> Outcome<()> {
        let name = profile::name(&self.context.paths, name)?;
        self.queue
            .push_back(Queued::new(QueuedKind::ChangeProfile, name));
        self.send_next();
        if !self.queue.is_empty() {
            self.save_waiting();
        }
        Ok(())
    }

    /// Continues with another profile, which is created if necessary; `resend` is then sent again there.
    pub(super) fn switch(&mut self, name: String, resend: Option<Queued>) {
        let cwd = sessions::folder(&self.context, &self.settings);
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        self.pending_changes += 1;
        self.scribe.put(move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let outcome = profile::switch(&context.paths, &name).and_then(|created| {
                let profile = context.paths.profile(&name)?;
                Ok(ProfileSwitch {
                    start: earlier::start(&context, &profile, &cwd, &mut warn),
                    name,
                    created,
                    resend,
                })
            });
            inbox.send(WorkerEvent::Switched(outcome));
        });
    }

    pub(super) fn switched(&mut self, outcome: Outcome<ProfileSwitch>) {
        self.pending_changes -= 1;
        match outcome {
            Ok(switched) => {
                self.leave_flow();
                self.context.set_profile(&switched.name);
                self.begin_session();
                self.leave_conversation();
                self.updates.push(UiUpdate::Profile(switched.name.clone()));
                self.history = None;
                let made = if switched.created {
                    ", which is new"
                } else {
                    ""
                };
                let words = format!("Profile {}{made}.", switched.name);
                self.updates.push(UiUpdate::Remark(words));
                self.begin_after(&switched.start);
                if let Some(message) = switched.resend {
                    self.queue.push_front(message);
                }
            }
            Err(problem) => self.updates.push(UiUpdate::Failed(problem)),
        }
        self.send_next();
    }

    /// Loads the conversation from the log again after a tool has changed it there, where the conversation began with it.
    pub(super) fn reload(&mut self) {
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let conversation = self.conversation;
        self.pending_changes += 1;
        self.scribe.put(move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let profile = context.paths.profile(&context.profile()).ok();
            let entries =
                profile.and_then(|profile| earlier::of_changed_log(&context, &profile, &mut warn));
            inbox.send(WorkerEvent::Loaded(conversation, entries));
        });
    }
}
