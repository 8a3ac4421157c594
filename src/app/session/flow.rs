//! The reply flow in a session: which messages take it, and the engine that answers them.

use std::sync::Arc;

use jiff::Timestamp;

use super::{BackendState, Session};
use crate::agent::model_target::ModelTarget;
use crate::app::flow_report;
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::scrub;
use crate::reply::applies::{FlowQuestion, applies};
use crate::reply::engine::ReplyEngine;
use crate::reply::load_settings;
use crate::reply::model_size::{self, ModelSize};
use crate::reply::settings::{FlowMode, ReplySettings};
use crate::store::chat_log::ChatLog;
use crate::tools::engine::context::SessionContext;

/// Entries at the end of the chat log that may belong to this conversation or were not remembered.
const RESTORED: usize = 200;

/// The state of the flow in a session. Nothing of it is read or made before the first message that may take it.
#[derive(Default)]
pub(super) struct Flow {
    /// What `!flow` chose.
    chosen: Option<FlowMode>,
    /// The settings of a profile.
    settings: Option<(String, ReplySettings)>,
    /// The engine of a profile.
    engine: Option<(String, Arc<ReplyEngine>)>,
}

impl Flow {
    /// The engine of the active profile, once a message has taken the flow.
    pub(super) fn engine(&self) -> Option<Arc<ReplyEngine>> {
        self.engine.as_ref().map(|(_, engine)| Arc::clone(engine))
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

    /// The engine that answers the next message, if it takes the flow.
    pub(super) fn flow_engine(&mut self, target: &ModelTarget) -> Option<Arc<ReplyEngine>> {
        if !applies(&self.flow_question(target)) {
            return None;
        }
        let profile = self.context.profile();
        if let Some((name, engine)) = &self.flow.engine
            && *name == profile
        {
            return Some(Arc::clone(engine));
        }
        let settings = self.flow_settings();
        let engine = Arc::new(ReplyEngine::new(settings, &self.context));
        self.flow.engine = Some((profile, Arc::clone(&engine)));
        Some(engine)
    }

    /// What decides whether a message takes the flow now.
    fn flow_question<'a>(&mut self, target: &'a ModelTarget) -> FlowQuestion<'a> {
        let mut question = FlowQuestion {
            mode: FlowMode::On,
            provider: target.provider.name(),
            is_small: true,
            // A session is a conversation with a person, unless another Marvin leads it.
            is_interactive: self.context.policy.depth == 0,
            is_coding: self.context.coding(),
            is_shell: self.shell.is_some(),
        };
        // No setting can help: nothing is read.
        if applies(&question) {
            let settings = self.flow_settings();
            let size = model_size::of(&target.model, settings.model_size);
            question.is_small = size == ModelSize::Small;
            question.mode = settings.flow;
        }
        if let Some(chosen) = self.flow.chosen {
            question.mode = chosen;
        }
        question
    }

    /// A line of the user as it is written to the history of inputs: without secrets if it takes the flow, or may.
    pub(super) fn for_history(&mut self, line: &str) -> String {
        let may_take = match self.target().map(Arc::clone) {
            Some(target) => applies(&self.flow_question(&target)),
            None => true,
        };
        if may_take {
            scrub(line)
        } else {
            line.to_owned()
        }
    }

    /// The settings of the active profile, read once.
    fn flow_settings(&mut self) -> ReplySettings {
        let profile = self.context.profile();
        if let Some((name, settings)) = &self.flow.settings
            && *name == profile
        {
            return settings.clone();
        }
        let updates = &mut self.updates;
        let mut warn = |text| updates.push(UiUpdate::System(text));
        let files = self.context.paths.profile(&profile).ok();
        let settings = load_settings::load(
            &self.context.env,
            &self.context.paths,
            files.as_ref(),
            &mut warn,
        );
        self.flow.settings = Some((profile, settings.clone()));
        settings
    }

    /// The profile is another one: what was said in the old one is remembered.
    pub(super) fn leave_flow(&mut self) {
        self.flow.settings = None;
        if let Some((_, engine)) = self.flow.engine.take()
            && engine.has_pending()
        {
            self.remember_left_profile(&engine);
        }
    }

    /// `!flow`: shows or changes when the flow answers.
    pub(super) fn change_flow(&mut self, word: &str) -> Outcome<()> {
        match word.to_lowercase().as_str() {
            "" => {}
            "on" => self.flow.chosen = Some(FlowMode::On),
            "off" => self.flow.chosen = Some(FlowMode::Off),
            "auto" => self.flow.chosen = Some(FlowMode::Auto),
            _ => {
                return Err(
                    Problem::input(format!("\"{word}\" is not a mode of the reply flow."))
                        .next("Use !flow on, !flow off or !flow auto."),
                );
            }
        }
        let words = match self.target().map(Arc::clone) {
            Some(target) => flow_report::words(&self.flow_question(&target), &target.model),
            None => {
                "No model answers yet, so it is not known whether the reply flow will.".to_owned()
            }
        };
        self.updates.push(UiUpdate::System(words));
        Ok(())
    }

    /// `!why`: how the last reply of the flow came about.
    pub(super) fn explain_reply(&mut self) {
        let report = self.flow.engine().and_then(|engine| engine.last_report());
        self.updates.push(match report {
            Some(report) => UiUpdate::Listing(super::why::table(&report)),
            None => UiUpdate::System(
                "There is no reply of the reply flow to explain yet. !flow says when it answers."
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
