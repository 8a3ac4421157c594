//! The reply flow in a session: which messages take it, and the engine that answers them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::inbox::{FlowSettings, WorkerEvent};
use super::{BackendState, Session};
use crate::app::flow_report;
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::scrub;
use crate::chat::message::Message;
use crate::model_call::model_target::ModelTarget;
use crate::reply::applies::{FlowQuestion, applies};
use crate::reply::engine::ReplyEngine;
use crate::reply::models::model_size::{self, ModelSize};
use crate::reply::settings::{self, FlowMode, ReplySettings};
use crate::store::chat_log::{self, ChatLog, LogEntry};
use crate::tools::engine::context::SessionContext;

/// Notes that wait for a message that takes the flow; the oldest is dropped.
const MAX_NOTES: usize = 20;
/// Entries at the end of the chat log that may belong to this conversation or were not remembered.
const RESTORED: usize = 200;

/// The state of the flow in a session. Nothing of it is read or made before the first message that may take it, and then on a thread of its own.
#[derive(Default)]
pub(super) struct Flow {
    /// What `/flow` chose.
    chosen: Option<FlowMode>,
    /// The settings of a profile.
    settings: Option<(String, ReplySettings)>,
    /// Settings are being read.
    is_loading: bool,
    /// The user wants to know whether the flow answers, once that is known.
    is_asked: bool,
    /// What was said before, when the conversation has become another one; until the next message that takes the flow.
    pub(super) begun: Option<SaidBefore>,
    /// What the model was told beside what was said, and when; until the next message that takes the flow.
    pub(super) notes: Vec<(Timestamp, String)>,
    /// The engine of a profile.
    engine: Option<(String, Arc<ReplyEngine>)>,
}

/// What was said before in a conversation.
pub(super) enum SaidBefore {
    /// In the session that goes on.
    Session(Vec<Message>),
    /// In the sessions before it.
    Earlier(Vec<LogEntry>),
}

impl SaidBefore {
    /// What the flow sends again at `now`: all of a session that goes on, and of earlier ones what was said inside the window.
    pub(super) fn messages(self, window: Duration, now: Timestamp) -> Vec<Message> {
        match self {
            Self::Session(messages) => messages,
            Self::Earlier(mut entries) => {
                let begin = now.checked_sub(window).unwrap_or(Timestamp::MIN);
                entries.retain(|entry| entry.at.is_some_and(|at| at >= begin));
                chat_log::messages(&entries)
            }
        }
    }
}

impl Flow {
    /// The conversation goes on after `entries`, and the chat log holds what was said elsewhere too.
    pub(super) fn begin_after(&mut self, entries: &[LogEntry]) {
        self.begun = Some(SaidBefore::Earlier(entries.to_vec()));
    }

    /// The engine of the active profile, once a message has taken the flow.
    pub(super) fn engine(&self) -> Option<Arc<ReplyEngine>> {
        self.engine.as_ref().map(|(_, engine)| Arc::clone(engine))
    }

    /// Keeps what the model is told for the next message that takes the flow.
    pub(super) fn note(&mut self, at: Timestamp, text: &str) {
        self.notes.push((at, text.to_owned()));
        let excess = self.notes.len().saturating_sub(MAX_NOTES);
        self.notes.drain(..excess);
    }
}

impl Session {
    /// The model that answers, if one was chosen.
    pub(super) fn target(&self) -> Option<&Arc<ModelTarget>> {
        match &self.backend {
            BackendState::Ready(target) => Some(target),
            BackendState::Choosing | BackendState::Failed(_) => None,
        }
    }

    /// The engine that answers the next message, if it takes the flow. Call it when [`Session::knows_flow`].
    pub(super) fn flow_engine(&mut self, target: &ModelTarget) -> Option<Arc<ReplyEngine>> {
        let profile = self.context.profile();
        let settings = self.flow_settings()?;
        if !applies(&self.flow_question(target, Some(settings))) {
            return None;
        }
        if let Some((name, engine)) = &self.flow.engine
            && *name == profile
        {
            return Some(Arc::clone(engine));
        }
        let engine = Arc::new(ReplyEngine::new(settings.clone(), &self.context));
        self.flow.engine = Some((profile, Arc::clone(&engine)));
        Some(engine)
    }

    /// Whether it is known if the next message takes the flow. Otherwise the settings that decide are being read, and the queue goes on when they are there.
    pub(super) fn knows_flow(&mut self, target: &ModelTarget) -> bool {
        if self.flow_settings().is_some() || !applies(&self.flow_question(target, None)) {
            return true;
        }
        self.load_flow_settings();
        self.flow_settings().is_some()
    }

    /// What decides whether a message takes the flow now. Without settings: whether any could make it.
    fn flow_question<'a>(
        &self,
        target: &'a ModelTarget,
        settings: Option<&ReplySettings>,
    ) -> FlowQuestion<'a> {
        let size = |settings: &ReplySettings| model_size::of(&target.model, settings.model_size);
        let mode = settings.map_or(FlowMode::On, |settings| settings.flow);
        FlowQuestion {
            mode: self.flow.chosen.unwrap_or(mode),
            provider: target.provider.name(),
            is_small: settings.is_none_or(|settings| size(settings) == ModelSize::Small),
            // A session is a conversation with a person, unless another Marvin leads it.
            is_interactive: self.context.policy.depth == 0,
            is_coding: self.context.coding(),
            is_shell: self.shell.is_some(),
        }
    }

    /// A line of the user as it is written to the history of inputs: without secrets if it takes the flow, or may.
    pub(super) fn for_history(&self, line: &str) -> String {
        let question = |target| self.flow_question(target, self.flow_settings());
        let may_take = self
            .target()
            .is_none_or(|target| applies(&question(target)));
        if may_take {
            scrub(line)
        } else {
            line.to_owned()
        }
    }

    /// What stands beside the messages, as it is kept and told to models: without secrets if they take the flow. Settings that were not read yet count as
    /// the usual ones, because the plain loop gets the text as it is.
    pub(super) fn for_conversation(&self, text: &str) -> String {
        let usual = ReplySettings::default();
        let settings = self.flow_settings().unwrap_or(&usual);
        let takes_flow = self
            .target()
            .is_some_and(|target| applies(&self.flow_question(target, Some(settings))));
        if takes_flow {
            scrub(text)
        } else {
            text.to_owned()
        }
    }

    /// The settings of the active profile, if they were read.
    pub(super) fn flow_settings(&self) -> Option<&ReplySettings> {
        let profile = self.context.profile();
        let (name, settings) = self.flow.settings.as_ref()?;
        (*name == profile).then_some(settings)
    }

    /// Reads the settings of the active profile; the next message waits for them.
    fn load_flow_settings(&mut self) {
        if self.flow.is_loading {
            return;
        }
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let profile = self.context.profile();
        let started = self.work("flow-settings", move || {
            let mut warnings = Vec::new();
            let files = context.paths.profile(&profile).ok();
            let settings = settings::sources::load(
                &context.env,
                &context.paths,
                files.as_ref(),
                &mut |text| {
                    warnings.push(text);
                },
            );
            inbox.send(WorkerEvent::FlowSettings(Box::new(FlowSettings {
                profile,
                settings,
                warnings,
            })));
        });
        if started {
            self.flow.is_loading = true;
            self.pending_changes += 1;
        } else {
            self.flow.settings = Some((self.context.profile(), ReplySettings::default()));
        }
    }

    /// The settings of a profile were read.
    pub(super) fn flow_settings_loaded(&mut self, loaded: FlowSettings) {
        self.flow.is_loading = false;
        self.pending_changes -= 1;
        self.updates
            .extend(loaded.warnings.into_iter().map(UiUpdate::System));
        // Should the profile have changed meanwhile, the next message reads those of the new one.
        self.flow.settings = Some((loaded.profile, loaded.settings));
        if std::mem::take(&mut self.flow.is_asked) {
            self.tell_flow();
        }
        self.send_next();
    }

    /// Says whether the flow answers, and why.
    fn tell_flow(&mut self) {
        let Some(target) = self.target().map(Arc::clone) else {
            let words =
                "No model answers yet, so it is not known whether the reply flow will.".to_owned();
            self.updates.push(UiUpdate::System(words));
            return;
        };
        if !self.knows_flow(&target) {
            self.flow.is_asked = true;
            return;
        }
        let question = self.flow_question(&target, self.flow_settings());
        let words = flow_report::words(&question, &target.model);
        self.updates.push(UiUpdate::System(words));
    }

    /// The profile is another one: what was said in the old one is remembered.
    pub(super) fn leave_flow(&mut self) {
        self.flow.settings = None;
        self.flow.begun = None;
        self.flow.notes.clear();
        if let Some((_, engine)) = self.flow.engine.take()
            && engine.has_pending()
        {
            self.remember_left_profile(&engine);
        }
    }

    /// `/flow`: shows or changes when the flow answers.
    pub(super) fn change_flow(&mut self, word: &str) -> Outcome<()> {
        match word.to_lowercase().as_str() {
            "" => {}
            "on" => self.flow.chosen = Some(FlowMode::On),
            "off" => self.flow.chosen = Some(FlowMode::Off),
            "auto" => self.flow.chosen = Some(FlowMode::Auto),
            _ => {
                return Err(
                    Problem::input(format!("\"{word}\" is not a mode of the reply flow."))
                        .next("Use /flow on, /flow off or /flow auto."),
                );
            }
        }
        self.tell_flow();
        Ok(())
    }

    /// `/why`: how the last reply of the flow came about.
    pub(super) fn explain_reply(&mut self) {
        let report = self.flow.engine().and_then(|engine| engine.last_report());
        self.updates.push(match report {
            Some(report) => UiUpdate::Listing(super::why::table(&report)),
            None => UiUpdate::System(
                "There is no reply of the reply flow to explain yet. /flow says when it answers."
                    .to_owned(),
            ),
        });
    }
}

/// Gives a new engine what was said before the message that was sent at `now`: what the window still holds, and what a session did not remember before it
/// ended. Reads files; for the turn's thread.
pub(super) fn restore(
    engine: &ReplyEngine,
    context: &SessionContext,
    now: Timestamp,
    warn: &mut dyn FnMut(String),
) {
    let Ok(profile) = context.paths.profile(&context.profile()) else {
        return;
    };
    engine.restore(context, || {
        let log = ChatLog::new(profile.chat_log(), &context.clock);
        let entries = log.last(RESTORED, warn).into_iter();
        entries
            .filter(|entry| entry.at.is_some_and(|at| at < now))
            .collect()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::approve::AskMode;
    use crate::app::settings::{CliArgs, ProcessFacts, Settings};
    use crate::base::env::Env;
    use crossbeam_channel::Receiver;
    use std::time::Duration;

    struct Opened {
        session: Session,
        wake: Receiver<()>,
        home: tempfile::TempDir,
    }

    impl Opened {
        /// A session whose model is on a port that nobody listens on.
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let dir = home.path().to_str().unwrap();
            let env = Env::from([
                ("HOME", dir),
                ("MARVIN_CONFIG_DIR", dir),
                ("LLM_PROVIDER", "ollama"),
                ("OLLAMA_MODEL", "m:2b"),
                ("OLLAMA_URL", "http://127.0.0.1:9"),
            ]);
            let settings = Settings::new(CliArgs::default(), env, ProcessFacts::default());
            let (session, wake) = Session::open(settings, AskMode::Nobody).unwrap();
            let mut opened = Self {
                session,
                wake,
                home,
            };
            opened.rest();
            opened
        }

        fn write_settings(&self, text: &str) {
            std::fs::write(self.home.path().join("reply.json"), text).unwrap();
        }

        /// The notices up to when nothing is under way.
        fn rest(&mut self) -> Vec<String> {
            let mut shown = Vec::new();
            loop {
                self.session.receive();
                shown.extend(self.told());
                if !self.session.busy() {
                    return shown;
                }
                self.wake.recv_timeout(Duration::from_secs(60)).unwrap();
            }
        }

        fn told(&mut self) -> Vec<String> {
            let updates = self.session.take_updates().into_iter();
            let told = updates.filter_map(|update| match update {
                UiUpdate::System(text) => Some(text),
                _ => None,
            });
            told.collect()
        }
    }

    #[test]
    fn the_interface_waits_for_no_settings() {
        for (line, wants) in [
            ("hello", "\"maybe\""),
            ("/flow", "The reply flow is on"),
            ("/help", ""),
        ] {
            let mut opened = Opened::new();
            opened.write_settings("{\"flow\": \"maybe\"}");
            opened.session.submit(line);
            let at_once = opened.told();
            assert_eq!(at_once, [] as [&str; 0], "{line}");
            assert_eq!(opened.session.flow.settings, None, "{line}");
            let later = opened.rest().join("\n");
            assert!(later.contains(wants), "{line}: {later}");
        }
    }

    #[test]
    fn messages_wait_for_the_settings_and_keep_their_order() {
        let mut opened = Opened::new();
        opened.write_settings("{\"flow\": \"off\"}");
        opened.session.submit("one");
        opened.session.submit("two");
        assert_eq!(opened.session.queue().collect::<Vec<_>>(), ["one", "two"]);
        opened.rest();
        assert_eq!(opened.session.sent_messages, ["one", "two"]);
        assert!(opened.session.flow.engine().is_none());
    }

    #[test]
    fn what_may_become_memory_has_no_secrets_in_history_and_conversation() {
        let mut opened = Opened::new();
        let line = "password=swordfish99";
        assert_eq!(opened.session.for_history(line), "password=[REDACTED]");
        let beside = opened.session.for_conversation(line);
        assert_eq!(beside, "password=[REDACTED]");
        opened.write_settings("{\"flow\": \"off\"}");
        opened.session.submit("/flow");
        opened.rest();
        assert_eq!(opened.session.for_history(line), line);
        assert_eq!(opened.session.for_conversation(line), line);
    }
}
