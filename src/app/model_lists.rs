//! The names of models for completion: each provider's own list, asked once in a session and on a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::llm::catalog::{self, ProviderSpec};
use crate::llm::choose;
use crate::llm::models::live::listed_models;
use crate::llm::models::names::is_for_chat;

/// How long a list may take; nobody waits for it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The lists of a session. A list that did not come is not asked for again.
#[derive(Debug, Default)]
pub(crate) struct ModelLists {
    /// By provider; empty while a list is on its way, and when it did not come.
    lists: Arc<Mutex<BTreeMap<&'static str, Vec<String>>>>,
    /// The provider that answers.
    own: Mutex<Option<&'static ProviderSpec>>,
    stop: Cancel,
}

impl ModelLists {
    /// Names of models of `row`, as far as they are known now: the one that would answer first. Never waits: the first call asks the provider, and
    /// those after its answer have the list.
    pub(crate) fn names(&self, env: &Env, row: &'static ProviderSpec) -> Vec<String> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = match lists.get(row.name) {
            Some(list) => list.clone(),
            None => {
                lists.insert(row.name, Vec::new());
                self.ask(env, row);
                Vec::new()
            }
        };
        drop(lists);
        let chosen = choose::model(env, row);
        let others = listed.into_iter().filter(|name| name != chosen);
        [chosen.to_owned()].into_iter().chain(others).collect()
    }

    /// The same of the provider that answers.
    pub(crate) fn own_names(&self, env: &Env) -> Vec<String> {
        let own = *self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.map_or_else(Vec::new, |row| self.names(env, row))
    }

    /// The provider called `name` answers from now on; the built-in one has no models.
    pub(crate) fn set_own(&self, name: &str) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = catalog::row(name);
    }

    fn ask(&self, env: &Env, row: &'static ProviderSpec) {
        let remote = choose::remote(env, row);
        if row.key.is_some() && remote.key.is_none() && remote.base == row.base {
            return;
        }
        let (lists, stop, env) = (Arc::clone(&self.lists), self.stop.clone(), env.clone());
        // Without a thread there is no list, and nothing else is lost.
        let _ = thread::Builder::new()
            .name("model list".to_owned())
            .spawn(move || {
                if let Ok(models) = listed_models(&remote, &env, TIMEOUT, &stop) {
                    let names = models.into_iter().map(|model| model.id);
                    let names = names.filter(|name| is_for_chat(name)).collect();
                    let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
                    lists.insert(row.name, names);
                }
            });
    }
}

impl Drop for ModelLists {
    fn drop(&mut self) {
        self.stop.fire();
    }
}
