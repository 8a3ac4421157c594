//! Who answers: provider and model, the effort, and setting one up.
//!
//! A choice is made on a thread, because a local server may take time to answer; [`Model::chosen`] gets what came of it.

mod model_list;
mod set_up;
mod welcome;

use std::sync::Arc;

use super::facts::Facts;
use super::model_env::model_env;
use super::orders::Orders;
use super::run::Run;
use super::ui_update::UiUpdate;
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::app::choice::ChoiceKind;
use crate::app::model_lists::ModelLists;
use crate::app::session::advice;
use crate::app::settings::ModelChoice;
use crate::app::setup::{self, Spending};
use crate::app::summarize::summarizer;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::llm::catalog;
use crate::llm::copilot;
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use set_up::SetUp;

#[derive(Default)]
pub(super) enum Backend {
    #[default]
    Choosing,
    Ready(Arc<ModelTarget>),
    /// No provider can be used, and why.
    Failed(String),
}

/// Who answers.
pub(super) struct Model {
    backend: Backend,
    /// Copilot, once it was asked for a single message.
    copilot: Option<Arc<ModelTarget>>,
    spending: Spending,
    /// The reasoning effort that the user chose.
    effort: Option<Effort>,
    /// The user was told who answers.
    has_greeted: bool,
    set_up: SetUp,
}

impl Model {
    /// Nobody answers yet.
    pub(super) fn new(spending: Spending, effort: Option<Effort>) -> Self {
        Self {
            backend: Backend::default(),
            copilot: None,
            spending,
            effort,
            has_greeted: false,
            set_up: SetUp::default(),
        }
    }

    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The model that answers, if one was chosen.
    pub(super) fn target(&self) -> Option<&Arc<ModelTarget>> {
        match &self.backend {
            Backend::Ready(target) => Some(target),
            Backend::Choosing | Backend::Failed(_) => None,
        }
    }

    pub(super) fn spending(&self) -> &Spending {
        &self.spending
    }

    pub(super) fn effort(&self) -> Option<Effort> {
        self.effort
    }

    /// Messages wait for a choice, or for answers about it.
    pub(super) fn is_being_chosen(&self) -> bool {
        matches!(self.backend, Backend::Choosing) || self.is_setting_up()
    }

    /// The provider and model in use, for a connection of its own.
    pub(super) fn choice(&self, run: &Run) -> ModelChoice {
        match self.target() {
            Some(target) => ModelChoice {
                provider: Some(target.provider.name().to_owned()),
                model: Some(target.model.clone()),
            },
            None => run.settings.model.choice.clone(),
        }
    }

    /// Copilot: the one that answers anyway, or one for single messages, which keeps its process.
    pub(super) fn copilot(&mut self, run: &Run, orders: &mut Orders) -> Arc<ModelTarget> {
        if let Backend::Ready(target) = &self.backend
            && target.provider.name() == copilot::NAME
        {
            return Arc::clone(target);
        }
        let made = self.copilot.get_or_insert_with(|| {
            let mut warn = |text: String| orders.system(text);
            Arc::new(setup::copilot(&self.spending, &run.context.env, &mut warn))
        });
        Arc::clone(made)
    }

    /// Chooses a provider on a thread.
    pub(super) fn choose(&self, choice: ModelChoice, run: &Run, orders: &mut Orders) {
        let spending = self.spending.clone();
        let (env, inbox) = (model_env(&run.context), Arc::clone(&run.inbox));
        let make = move || {
            let mut warn = |text: String| inbox.send(WorkerEvent::Notice(text));
            let mut target = setup::model_target(&choice, &spending, &env, &mut warn)?;
            setup::ask_server(&mut target, &Cancel::new(), &mut warn);
            setup::doubt(&target, &env).into_iter().for_each(&mut warn);
            Ok(Box::new(target))
        };
        let awaited_by = AwaitedBy::NextMessage;
        orders.work("choose", awaited_by, make, WorkerEvent::Chosen);
    }

    /// This one answers; nobody is told.
    pub(super) fn use_target(&mut self, target: Arc<ModelTarget>, run: &Run) {
        run.context.set_summarizer(summarizer(&target));
        let agents = setup::agents(&run.settings, &target);
        run.context.set_agents(agents);
        self.backend = Backend::Ready(target);
    }

    /// A provider was chosen, or none could be.
    pub(super) fn chosen(
        &mut self,
        outcome: Outcome<Box<ModelTarget>>,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match outcome {
            Ok(target) => {
                let Some(target) = self.ask_for_model(target, run, orders) else {
                    // Messages wait for the choice.
                    return;
                };
                self.set_up_chosen(true, run, facts, orders);
                self.adopt(target, run, facts, orders);
            }
            Err(problem) => {
                self.set_up_chosen(false, run, facts, orders);
                // When a change fails, the previous provider stays.
                if matches!(self.backend, Backend::Choosing) {
                    let mut problem = Problem::config(problem.one_line());
                    advice::in_chat(&mut problem);
                    self.backend = Backend::Failed(problem.what);
                }
                orders.fail(problem);
            }
        }
        self.has_greeted = true;
        orders.send_next();
    }

    /// The target answers from now on.
    fn adopt(&mut self, target: Box<ModelTarget>, run: &Run, facts: &Facts, orders: &mut Orders) {
        let lists = run.context.modules.get::<ModelLists>();
        lists.set_own(target.provider.name(), target.efforts());
        if std::mem::replace(&mut self.has_greeted, true) {
            orders.remark(target.words());
        } else {
            self.greet(&target, run, facts, orders);
        }
        self.use_target(Arc::from(target), run);
        orders.send_next();
    }

    fn greet(&self, target: &ModelTarget, run: &Run, facts: &Facts, orders: &mut Orders) {
        let offline = !target.provider.is_model();
        if facts.is_new || offline {
            let env = (!self.can_set_up()).then_some(&run.context.env);
            let words = welcome::words(facts.is_new, target, env);
            orders.show(UiUpdate::Listing(words));
        } else {
            orders.remark(format!(
                "Resumed: profile {}, {} ({}).",
                run.context.profile(),
                target.provider.name(),
                target.model
            ));
        }
    }

    /// `/model`: shows or changes provider and model.
    pub(super) fn change(&self, words: Vec<String>, run: &Run, orders: &mut Orders) {
        let mut words = words.into_iter();
        let (provider, model) = match (words.next(), words.next()) {
            (None, _) => return self.offer_models(run, orders),
            (Some(word), None) if catalog::provider_named(&word).is_none() => {
                match &self.backend {
                    Backend::Ready(target) if target.provider.is_model() => {
                        (Some(target.provider.name().to_owned()), Some(word))
                    }
                    // With no provider yet, the word can only name a provider.
                    _ => (Some(word), None),
                }
            }
            named => named,
        };
        self.choose(ModelChoice { provider, model }, run, orders);
    }

    /// The user chose a row of a list of models or of ways to one.
    pub(super) fn choose_row(
        &mut self,
        kind: ChoiceKind,
        id: &str,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match kind {
            ChoiceKind::Models if id == model_list::SET_UP => {
                self.offer_set_up(false, run, orders);
            }
            ChoiceKind::Models => {
                // The name of a model may be any text; that of a provider is a word.
                let words = id.splitn(2, ' ').map(str::to_owned);
                self.change(words.collect(), run, orders);
            }
            _ => self.choose_set_up(kind, id, run, facts, orders),
        }
    }

    /// Shows the models that are known. A key may be in a file, so it is looked for on a thread.
    fn offer_models(&self, run: &Run, orders: &mut Orders) {
        if self.needs_set_up() {
            self.offer_set_up(false, run, orders);
            return;
        }
        let (words, current) = match &self.backend {
            Backend::Ready(target) => (
                target.words(),
                Some((target.provider.name(), target.model.clone())),
            ),
            Backend::Choosing => ("Nobody answers yet.".to_owned(), None),
            Backend::Failed(reason) => (reason.clone(), None),
        };
        let context = Arc::clone(&run.context);
        let make = move || {
            let current = current.as_ref();
            let current = current.map(|(provider, model)| (*provider, model.as_str()));
            Ok(Box::new(model_list::models(&context, &words, current)))
        };
        let awaited_by = AwaitedBy::Interface;
        orders.work("models", awaited_by, make, WorkerEvent::Choices);
    }

    /// `/effort`: shows the reasoning effort, or changes that of the messages to come.
    ///
    /// # Errors
    /// There is no such effort.
    pub(super) fn change_effort(
        &mut self,
        word: &str,
        run: &Run,
        orders: &mut Orders,
    ) -> Outcome<()> {
        if !word.is_empty() {
            self.effort = Some(Effort::parse(word)?);
        }
        orders.remark(match (self.effort, word.is_empty()) {
            (Some(effort), false) => {
                format!("Effort: {}, from the next message on.", effort.word())
            }
            (Some(effort), true) => format!("Effort: {}.", effort.word()),
            (None, _) if !self.effort_is_of_mode() => {
                "Effort: as the model's maker set it up. /effort LEVEL sets it.".to_owned()
            }
            (None, _) => {
                let coding = run.context.coding();
                let mode = if coding { "in" } else { "outside" };
                let word = Effort::of_mode(coding).word();
                format!("Effort: {word}, as always {mode} coding mode. /effort LEVEL sets it.")
            }
        });
        Ok(())
    }

    /// Whether the model is told the effort of the mode while the user has chosen none.
    fn effort_is_of_mode(&self) -> bool {
        let target = self.target();
        target.is_none_or(|target| target.provider.tells_effort_of_mode(&target.info))
    }
}

#[cfg(test)]
mod tests;
