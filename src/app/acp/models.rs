//! The model that answers at first, those that a session can change to, and the connections to them, which sessions share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::params::{AUTH_REQUIRED, internal};
use crate::app::model_lists;
use crate::app::settings::Settings;
use crate::app::setup::{self, Spending};
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::Outcome;
use crate::formats::json_rpc::RpcError;
use crate::llm::choose::{self, ProviderChoice};
use crate::llm::copilot::{self, availability};
use crate::llm::models::ModelInfo;
use crate::llm::offline;
use crate::llm::provider::Effort;
use crate::model_call::model_target::{self, ModelTarget};

/// The models of a process.
pub(super) struct Models {
    settings: Arc<Settings>,
    state: Mutex<ModelsState>,
}

#[derive(Default)]
struct ModelsState {
    start: Option<Arc<FirstModel>>,
    targets: HashMap<String, Arc<ModelTarget>>,
    /// What the provider lists, once it was asked.
    listed: Vec<String>,
    is_asked: bool,
    /// The client can run Marvin in a terminal.
    has_terminal: bool,
}

/// The model that answers at first.
pub(super) struct FirstModel {
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) spending: Spending,
}

impl FirstModel {
    /// What is known of a model of the same provider.
    pub(super) fn info(&self, model: &str) -> ModelInfo {
        self.spending.prices.facts(self.provider, model)
    }

    /// The efforts that a model of the same provider takes.
    pub(super) fn efforts(&self, model: &str) -> Vec<Effort> {
        model_target::efforts(self.provider, &self.info(model))
    }
}

/// The ids of the ways to a model: Marvin in a terminal, and the Copilot CLI.
pub(super) const WAYS_IN: [&str; 2] = [SETUP, COPILOT];
const SETUP: &str = "setup";
const COPILOT: &str = "copilot";

/// Marvin in a terminal, for clients that can run it there.
fn setup_method() -> Value {
    json!({
        "id": SETUP,
        "type": "terminal",
        "name": "Set up a model",
        "description": "Says what is missing until a language model can answer.",
        "args": ["--setup"],
    })
}

impl Models {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ModelsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that answers at first.
    pub(super) fn first(&self) -> Result<Arc<FirstModel>, RpcError> {
        if let Some(first) = &self.lock().start {
            return Ok(Arc::clone(first));
        }
        let settings = &self.settings;
        let chosen = &settings.model.choice;
        let choice = choose::choose(&settings.env, chosen.provider.as_deref());
        let choice = choice.map_err(|problem| self.no_model(&problem.one_line()))?;
        let is_wanted = chosen.provider.as_deref() == Some(offline::NAME);
        let default = match &choice {
            ProviderChoice::Offline if is_wanted => offline::NAME,
            ProviderChoice::Offline => {
                return Err(self.no_model("No provider has a key, and no local server answers."));
            }
            ProviderChoice::Copilot => copilot::model(&settings.env),
            ProviderChoice::Remote(remote) => choose::model(&settings.env, remote.row),
        };
        let clock = Clock::new(&settings.env);
        let spending = setup::spending(settings, &clock, &mut warn);
        let first = Arc::new(FirstModel {
            provider: choice.name(),
            model: chosen.model.clone().unwrap_or_else(|| default.to_owned()),
            spending: spending.map_err(|problem| internal(&problem))?,
        });
        Ok(Arc::clone(self.lock().start.get_or_insert(first)))
    }

    /// The ways to a model that a client can offer; none where one answers already.
    pub(super) fn ways_in(&self, has_terminal: bool) -> Vec<Value> {
        self.lock().has_terminal = has_terminal;
        match self.first() {
            Ok(_) => Vec::new(),
            Err(_) => self.all_ways(),
        }
    }

    fn all_ways(&self) -> Vec<Value> {
        let setup = self.lock().has_terminal.then(setup_method);
        // No model answers, so that a CLI which is there is signed out.
        let copilot = availability::is_installed(&self.settings.env).then(|| {
            json!({
                "id": COPILOT,
                "name": "GitHub Copilot",
                "description": "Says how to sign in to the Copilot CLI, which is installed here.",
            })
        });
        setup.into_iter().chain(copilot).collect()
    }

    fn no_model(&self, why: &str) -> RpcError {
        let words = format!("No language model is set up. {why}");
        RpcError::new(AUTH_REQUIRED, words.clone()).with(json!({
            "message": format!("{words} Run marvin acp --setup in a terminal: it says what is missing."),
            "authMethods": self.all_ways(),
        }))
    }

    /// The client's user went this way: whether there is a model now.
    pub(super) fn way_taken(&self, id: &str) -> Result<(), RpcError> {
        let first = self.first().map(drop);
        match first {
            Err(error) if id == COPILOT => {
                let words = format!("{} {}", error.message, availability::SIGN_IN);
                Err(RpcError::new(AUTH_REQUIRED, words))
            }
            first => first,
        }
    }

    /// The connection to a model of the first one's provider. A local server is asked what the model takes.
    pub(super) fn target(
        &self,
        first: &FirstModel,
        model: &str,
        stop: &Cancel,
    ) -> Outcome<Arc<ModelTarget>> {
        if let Some(target) = self.lock().targets.get(model) {
            return Ok(Arc::clone(target));
        }
        let mut choice = self.settings.model.choice.clone();
        choice.provider = Some(first.provider.to_owned());
        choice.model = Some(model.to_owned());
        let env = &self.settings.env;
        let mut target = setup::model_target(&choice, &first.spending, env, &mut warn)?;
        setup::ask_server(&mut target, stop, &mut warn);
        stop.check()?;
        let target = Arc::new(target);
        let mut state = self.lock();
        let kept = state.targets.entry(model.to_owned());
        Ok(Arc::clone(kept.or_insert(target)))
    }

    /// The models to choose from, `current` first.
    pub(super) fn names(&self, current: &str) -> Vec<String> {
        let listed = self.lock().listed.clone();
        let others = listed.into_iter().filter(|name| name != current);
        [current.to_owned()].into_iter().chain(others).collect()
    }

    /// Asks the provider for its list, once, on a thread of its own; `then` is told when it has come.
    pub(super) fn ask_for_names(
        self: &Arc<Self>,
        first: &Arc<FirstModel>,
        stop: &Cancel,
        then: impl FnOnce() + Send + 'static,
    ) {
        if std::mem::replace(&mut self.lock().is_asked, true) {
            return;
        }
        let (models, first, stop) = (Arc::clone(self), Arc::clone(first), stop.clone());
        // Without a thread there is no list, and nothing else is lost.
        let _ = thread::Builder::new()
            .name("model list".to_owned())
            .spawn(move || {
                let env = &models.settings.env;
                let names = model_lists::listed(env, first.provider, &stop);
                if let Some(names) = names.filter(|names| !names.is_empty()) {
                    models.lock().listed = names;
                    then();
                }
            });
    }
}

fn warn(text: String) {
    say(&format!("Warning: {text}"));
}
