//! The model that the calling program wants, also from the next request of a turn on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer_lines::AnswerLines;
use super::caller::Caller;
use crate::app::settings::Settings;
use crate::app::setup::{self, Spending};
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::chat::event::{Event, EventSink, Level};
use crate::model_call::model_target::{ModelSwitch, ModelTarget};

pub(super) struct ModelWish {
    pub(super) caller: Arc<Caller>,
    pub(super) settings: Arc<Settings>,
    pub(super) spending: Spending,
    pub(super) stop: Cancel,
    pub(super) lines: Arc<AnswerLines>,
    /// The model of the start.
    pub(super) start: Arc<ModelTarget>,
    /// The one that answers now.
    pub(super) now: Mutex<Arc<ModelTarget>>,
}

impl ModelWish {
    fn now(&self) -> MutexGuard<'_, Arc<ModelTarget>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that answered last.
    pub(super) fn last(&self) -> Arc<ModelTarget> {
        Arc::clone(&self.now())
    }

    /// The model that the caller wants, which answers from now on.
    ///
    /// # Errors
    /// It cannot be had.
    pub(super) fn target(&self) -> Outcome<Arc<ModelTarget>> {
        let wanted = self.caller.wishes().model;
        let wanted = wanted.as_deref().unwrap_or(&self.start.model);
        let mut now = self.now();
        if wanted != now.model {
            *now = match wanted == self.start.model {
                true => Arc::clone(&self.start),
                false => Arc::new(self.other(wanted)?),
            };
            self.caller.set_model(&now.model);
        }
        Ok(Arc::clone(&now))
    }

    fn other(&self, wanted: &str) -> Outcome<ModelTarget> {
        let mut choice = self.settings.model.choice.clone();
        choice.provider = Some(self.start.provider.name().to_owned());
        choice.model = Some(wanted.to_owned());
        let mut warn = |text: String| say(&format!("Warning: {text}"));
        let env = &self.settings.env;
        let mut target = setup::model_target(&choice, &self.spending, env, &mut warn)?;
        setup::ask_server(&mut target, &self.stop, &mut warn);
        Ok(target)
    }
}

impl ModelSwitch for ModelWish {
    fn next(&self) -> Option<Arc<ModelTarget>> {
        let before = self.now().model.clone();
        match self.target() {
            Ok(target) if target.model == before => None,
            Ok(target) => {
                self.lines.set_model(&target.model);
                Some(target)
            }
            Err(problem) => {
                self.caller.wish(|wishes| wishes.model = Some(before));
                let words = problem.one_line();
                self.lines.emit(Event::Notice(Level::Warning, words));
                None
            }
        }
    }

    fn has_fallen_back(&self, successor: &ModelTarget) {
        self.lines.set_model(&successor.model);
    }
}
