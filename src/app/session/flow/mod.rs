//! The reply flow in a session: which messages take it, the engine that answers them, and the memory that it writes.
//!
//! Nothing of it is read or made before the first message that may take it, and then on a thread of its own.

pub(super) mod memory_command;
pub(super) mod memory_writer;
mod why;

use std::sync::Arc;

use jiff::Timestamp;

use super::facts::Facts;
use super::orders::Orders;
use super::run::Run;
use super::said_before::SaidBefore;
use super::turn_job::FlowTurn;
use super::ui_update::UiUpdate;
use super::worker_event::AwaitedBy;
use super::worker_event::{FlowSettings, WorkerEvent};
use crate::app::flow_report;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::scrub;
use crate::model_call::model_target::ModelTarget;
use crate::reply::applies::{FlowQuestion, applies};
use crate::reply::engine::ReplyEngine;
use crate::reply::models::model_size::{self, ModelSize};
use crate::reply::settings::{self, FlowMode, ReplySettings};
use memory_writer::MemoryWriter;

/// Notes that wait for a message that takes the flow; the oldest is dropped.
const MAX_NOTES: usize = 20;

#[derive(Default)]
pub(super) struct Flow {
    /// What `/flow` chose.
    chosen: Option<FlowMode>,
    settings: Option<(String, ReplySettings)>,
    /// Settings are being read.
    is_loading: bool,
    /// The user wants to know whether the flow answers, once that is known.
    is_asked: bool,
    /// What was said before, when the conversation has become another one; until the next message that takes the flow.
    begun: Option<SaidBefore>,
    /// What the model was told beside what was said, and when; until the next message that takes the flow.
    notes: Vec<(Timestamp, String)>,
    engine: Option<(String, Arc<ReplyEngine>)>,
    memory: MemoryWriter,
}

impl Flow {
    /// What was said before the messages that follow.
    pub(super) fn begin_after(&mut self, said: SaidBefore) {
        self.begun = Some(said);
    }

    pub(super) fn leave_conversation(&mut self) {
        self.begun = None;
        self.notes.clear();
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

    #[cfg(test)]
    pub(super) fn noted(&self) -> &[(Timestamp, String)] {
        &self.notes
    }

    /// The last exchange, of which this was the message, is taken back.
    pub(super) fn undo(&mut self, said: &str) {
        if let Some(engine) = self.engine() {
            engine.undo(said);
        }
        self.notes.clear();
    }

    /// The engine that answers the next message, if it takes the flow. Call it when [`Flow::ensure_settings`] was true.
    pub(super) fn engine_for(
        &mut self,
        target: &ModelTarget,
        run: &Run,
        facts: &Facts,
    ) -> Option<Arc<ReplyEngine>> {
        let profile = run.context.profile();
        let settings = self.settings(run)?;
        if !applies(&self.question(target, Some(settings), run, facts)) {
            return None;
        }
        if let Some((name, engine)) = &self.engine
            && *name == profile
        {
            return Some(Arc::clone(engine));
        }
        let engine = Arc::new(ReplyEngine::new(settings.clone(), &run.context));
        self.engine = Some((profile, Arc::clone(&engine)));
        Some(engine)
    }

    /// What a turn needs that answers now, if it takes the flow.
    pub(super) fn begin_turn(
        &mut self,
        target: &ModelTarget,
        run: &Run,
        facts: &Facts,
    ) -> Option<FlowTurn> {
        let engine = self.engine_for(target, run, facts)?;
        let notes = std::mem::take(&mut self.notes).into_iter();
        let notes = notes.map(|(at, text)| (engine.stamp(at), text)).collect();
        let now = run.context.clock.now().timestamp();
        let window = self.settings(run).map(|settings| settings.dialogue_window);
        let begun = self.begun.take();
        Some(FlowTurn {
            at: engine.stamp(now),
            begun: begun.map(|before| before.messages(window.unwrap_or_default(), now)),
            notes,
            engine,
        })
    }

    /// Whether the settings are there that decide if the next message takes the flow, or need not be. Otherwise they are being read, and the queue goes on
    /// then.
    pub(super) fn ensure_settings(
        &mut self,
        target: &ModelTarget,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> bool {
        if self.settings(run).is_some() || !applies(&self.question(target, None, run, facts)) {
            return true;
        }
        self.load(run, orders);
        false
    }

    /// What decides whether a message takes the flow now. Without settings: whether any could make it.
    fn question<'a>(
        &self,
        target: &'a ModelTarget,
        settings: Option<&ReplySettings>,
        run: &Run,
        facts: &Facts,
    ) -> FlowQuestion<'a> {
        let size = |settings: &ReplySettings| model_size::of(&target.model, settings.model_size);
        let mode = settings.map_or(FlowMode::On, |settings| settings.flow);
        FlowQuestion {
            mode: self.chosen.unwrap_or(mode),
            provider: target.provider.name(),
            is_small: settings.is_none_or(|settings| size(settings) == ModelSize::Small),
            is_interactive: run.has_person,
            is_coding: run.context.coding(),
            is_shell: facts.is_shell,
        }
    }

    /// A line of the user as it is written to the history of inputs: without secrets if it takes the flow, or may.
    pub(super) fn for_history(&self, line: &str, run: &Run, facts: &Facts) -> String {
        let settings = self.settings(run);
        let target = facts.target.as_ref();
        match target.is_none_or(|target| applies(&self.question(target, settings, run, facts))) {
            true => scrub(line),
            false => line.to_owned(),
        }
    }

    /// What stands beside the messages, as it is kept and told to models: without secrets if they take the flow. Settings that were not read yet count as
    /// the usual ones, because the plain loop gets the text as it is.
    pub(super) fn for_conversation(&self, text: &str, run: &Run, facts: &Facts) -> String {
        let usual = ReplySettings::default();
        let settings = Some(self.settings(run).unwrap_or(&usual));
        let target = facts.target.as_ref();
        match target.is_some_and(|target| applies(&self.question(target, settings, run, facts))) {
            true => scrub(text),
            false => text.to_owned(),
        }
    }

    /// The settings of the active profile, if they were read.
    fn settings(&self, run: &Run) -> Option<&ReplySettings> {
        let profile = run.context.profile();
        let (name, settings) = self.settings.as_ref()?;
        (*name == profile).then_some(settings)
    }

    /// Reads the settings of the active profile; the next message waits for them.
    fn load(&mut self, run: &Run, orders: &mut Orders) {
        if std::mem::replace(&mut self.is_loading, true) {
            return;
        }
        let context = Arc::clone(&run.context);
        let profile = run.context.profile();
        let of_profile = profile.clone();
        let load = move || {
            let mut warnings = Vec::new();
            let files = context.paths.profile(&of_profile).ok();
            let mut warn = |text| warnings.push(text);
            let settings =
                settings::sources::load(&context.env, &context.paths, files.as_ref(), &mut warn);
            Ok((settings, warnings))
        };
        let report = move |loaded: Outcome<(ReplySettings, Vec<String>)>| {
            let (settings, warnings) = loaded.unwrap_or_else(|problem| {
                // Messages wait for them: the usual ones will do.
                (ReplySettings::default(), vec![problem.one_line()])
            });
            WorkerEvent::FlowSettings(Box::new(FlowSettings {
                profile,
                settings,
                warnings,
            }))
        };
        orders.work("flow-settings", AwaitedBy::NextMessage, load, report);
    }

    /// The settings of a profile were read.
    pub(super) fn loaded(
        &mut self,
        loaded: FlowSettings,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        self.is_loading = false;
        let warnings = loaded.warnings.into_iter();
        warnings.for_each(|words| orders.system(words));
        // Should the profile have changed meanwhile, the next message reads those of the new one.
        self.settings = Some((loaded.profile, loaded.settings));
        if std::mem::take(&mut self.is_asked) {
            self.tell(run, facts, orders);
        }
        orders.send_next();
    }

    /// Says whether the flow answers, and why.
    fn tell(&mut self, run: &Run, facts: &Facts, orders: &mut Orders) {
        let Some(target) = &facts.target else {
            return orders
                .system("No model answers yet, so it is not known whether the reply flow will.");
        };
        if !self.ensure_settings(target, run, facts, orders) {
            self.is_asked = true;
            return;
        }
        let question = self.question(target, self.settings(run), run, facts);
        orders.system(flow_report::words(&question, &target.model));
    }

    /// `/flow`: shows or changes when the flow answers.
    ///
    /// # Errors
    /// There is no such mode.
    pub(super) fn change(
        &mut self,
        word: &str,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        match word.to_lowercase().as_str() {
            "" => {}
            "on" => self.chosen = Some(FlowMode::On),
            "off" => self.chosen = Some(FlowMode::Off),
            "auto" => self.chosen = Some(FlowMode::Auto),
            _ => {
                return Err(
                    Problem::input(format!("\"{word}\" is not a mode of the reply flow."))
                        .next("Use /flow on, /flow off or /flow auto."),
                );
            }
        }
        self.tell(run, facts, orders);
        Ok(())
    }

    /// `/why`: how the last reply of the flow came about.
    pub(super) fn explain(&self, orders: &mut Orders) {
        let report = self.engine().and_then(|engine| engine.last_report());
        match report {
            Some(report) => orders.show(UiUpdate::Listing(why::table(&report))),
            None => orders.system(
                "There is no reply of the reply flow to explain yet. marvin help flow says when it answers.",
            ),
        }
    }
}
