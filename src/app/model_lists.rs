//! The names of models for completion: each provider's own list, asked once in a session and on a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::llm::catalog;
use crate::llm::choose;
use crate::llm::copilot::{self, availability};
use crate::llm::models::live::listed_models;
use crate::llm::models::names::is_for_chat;
use crate::llm::provider::Effort;

/// How long a list may take; nobody waits for it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The lists of a session. A list that did not come is not asked for again.
#[derive(Debug, Default)]
pub(crate) struct ModelLists {
    /// By provider; empty while a list is on its way, and when it did not come.
    lists: Arc<Mutex<BTreeMap<&'static str, Vec<String>>>>,
    /// The provider that answers.
    own: Mutex<Option<&'static str>>,
    /// The efforts that its model takes; `None` before one was chosen.
    efforts: Mutex<Option<Vec<Effort>>>,
    stop: Cancel,
}

impl ModelLists {
    /// Names of models of `provider`, as far as they are known now: the one that would answer first. Never waits: the first call asks the provider, and
    /// those after its answer have the list.
    pub(crate) fn names(&self, env: &Env, provider: &str) -> Vec<String> {
        let Some(name) = catalog::provider_named(provider) else {
            return Vec::new();
        };
        let chosen = match catalog::row(name) {
            Some(row) => choose::model(env, row),
            None if name == copilot::NAME => copilot::model(env),
            None => return Vec::new(),
        };
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = match lists.get(name) {
            Some(list) => list.clone(),
            None => {
                lists.insert(name, Vec::new());
                self.ask(env, name);
                Vec::new()
            }
        };
        drop(lists);
        let others = listed.into_iter().filter(|name| name != chosen);
        [chosen.to_owned()].into_iter().chain(others).collect()
    }

    /// What `provider` has listed so far. Asks nobody.
    pub(crate) fn known(&self, provider: &str) -> Vec<String> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(provider).cloned().unwrap_or_default()
    }

    /// [`Self::names`] of the provider that answers.
    pub(crate) fn own_names(&self, env: &Env) -> Vec<String> {
        let own = *self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.map_or_else(Vec::new, |name| self.names(env, name))
    }

    /// Words for the efforts that the model that answers takes, all of them before one was chosen.
    pub(crate) fn efforts(&self) -> Vec<String> {
        let efforts = self.efforts.lock().unwrap_or_else(PoisonError::into_inner);
        let efforts = efforts.as_deref().unwrap_or(&Effort::ALL);
        efforts.iter().map(|one| one.word().to_owned()).collect()
    }

    /// The provider called `name` answers from now on, with a model that takes these efforts; the built-in one has no models.
    pub(crate) fn set_own(&self, name: &str, efforts: Vec<Effort>) {
        *self.efforts.lock().unwrap_or_else(PoisonError::into_inner) = Some(efforts);
        let name = choose::names().find(|own| *own == name);
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    fn ask(&self, env: &Env, name: &'static str) {
        let (env, stop) = (env.clone(), self.stop.clone());
        let lists = Arc::clone(&self.lists);
        // Without a thread there is no list, and nothing else is lost.
        let _ = thread::Builder::new()
            .name("model list".to_owned())
            .spawn(move || {
                if let Some(names) = listed(&env, name, &stop) {
                    let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
                    lists.insert(name, names);
                }
            });
    }
}

/// The models for chats that `provider` lists. Copilot's CLI is started for it, if there is one.
pub(crate) fn listed(env: &Env, provider: &str, stop: &Cancel) -> Option<Vec<String>> {
    let mut names: Vec<String> = match catalog::row(provider) {
        Some(row) => {
            let remote = choose::remote(env, row);
            if remote.lacks_key() {
                return None;
            }
            let models = listed_models(&remote, env, TIMEOUT, stop).ok()?;
            models.into_iter().map(|model| model.id).collect()
        }
        None if provider == copilot::NAME && availability::is_installed(env) => {
            let models = availability::models(env, TIMEOUT, stop).ok()?;
            models.into_iter().map(|model| model.id).collect()
        }
        None => return None,
    };
    names.retain(|name| is_for_chat(name));
    Some(names)
}

impl Drop for ModelLists {
    fn drop(&mut self) {
        self.stop.fire();
    }
}
