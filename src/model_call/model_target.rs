//! The model that answers, and what it may cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::cancel::Cancel;
use crate::llm::catalog;
use crate::llm::models::{ModelInfo, ModelRegistry, ReasoningEffort};
use crate::llm::provider::{Effort, Provider};

/// The provider and model that answer, and what they may cost. Switching the model creates a new one.
pub(crate) struct ModelTarget {
    pub provider: Box<dyn Provider>,
    /// Name of the model at the provider.
    pub model: String,
    /// What is known about the model: limits, price, efforts.
    pub info: ModelInfo,
    /// A provider of local models: nothing is paid for it.
    pub local: bool,
    /// What is said to it stays on this machine.
    pub on_this_machine: bool,
    /// The user's own prices.
    pub prices: Arc<ModelRegistry>,
    /// No further call is made once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// What may answer when this one fails.
    pub successor: Option<Arc<Successor>>,
    /// What requests that were refused for their length have shown.
    pub learned: LearnedLimit,
}

/// The most tokens that a request may have, as far as a server's refusals have shown.
pub(crate) struct LearnedLimit(AtomicU64);

impl Default for LearnedLimit {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

/// Says which model the next request of a turn goes to, where that may change while it runs.
pub(crate) trait ModelSwitch: Send + Sync {
    /// The model that the requests from now on go to; `None` when it stays.
    fn next(&self) -> Option<Arc<ModelTarget>>;

    /// Another model answers the rest of the turn, because the one of the turn failed.
    fn has_fallen_back(&self, successor: &ModelTarget);
}

type FindModel = dyn Fn(&Cancel) -> Option<ModelTarget> + Send + Sync;

/// A model that may take over when another one fails. It is looked for when it is needed, once in a run.
pub(crate) struct Successor {
    find: Box<FindModel>,
    found: OnceLock<Option<Arc<ModelTarget>>>,
}

impl Successor {
    /// A successor that `find` finds, or none.
    pub(crate) fn new(
        find: impl Fn(&Cancel) -> Option<ModelTarget> + Send + Sync + 'static,
    ) -> Self {
        Self {
            find: Box::new(find),
            found: OnceLock::new(),
        }
    }

    /// The model, if there is one. Looking for it may take seconds.
    pub(crate) fn get(&self, stop: &Cancel) -> Option<&Arc<ModelTarget>> {
        if self.found.get().is_none() {
            let found = (self.find)(stop);
            // A search that was stopped says nothing.
            if found.is_none() && stop.is_fired() {
                return None;
            }
            let _ = self.found.set(found.map(Arc::new));
        }
        self.found.get()?.as_ref()
    }
}

impl ModelTarget {
    /// Tokens that a request may have.
    pub(crate) fn prompt_limit(&self) -> u64 {
        let learned = self.learned.0.load(Ordering::Relaxed);
        self.info.prompt_limit().min(learned)
    }

    /// A request was refused for its length: from now on none has more than `limit` tokens.
    pub(crate) fn learn_limit(&self, limit: u64) {
        self.learned.0.fetch_min(limit, Ordering::Relaxed);
    }

    /// The efforts that make a difference to the model, as far as that is known.
    pub(crate) fn efforts(&self) -> Vec<Effort> {
        efforts(self.provider.name(), &self.info)
    }

    /// Provider and model, as messages name them.
    pub(crate) fn words(&self) -> String {
        if self.provider.is_model() {
            format!("{} answers, with {}.", self.provider.name(), self.model)
        } else {
            "No model answers; only what works offline.".to_owned()
        }
    }
}

/// The efforts that a model of `provider` takes.
pub(crate) fn efforts(provider: &str, info: &ModelInfo) -> Vec<Effort> {
    let all = Effort::ALL;
    if provider == catalog::OFFLINE {
        return Vec::new();
    }
    if !info.efforts.is_empty() {
        let distinct = info.efforts.distinct(&all.map(ReasoningEffort::from));
        return (all.into_iter())
            .filter(|effort| distinct.contains(&(*effort).into()))
            .collect();
    }
    let local = catalog::row(provider).is_some_and(|row| row.local);
    match (info.thinks_told, info.thinks) {
        _ if !local && info.known => Vec::new(),
        // It is told to think, or not to.
        (true, true) if local => vec![Effort::None, Effort::High],
        (true, false) => Vec::new(),
        _ => all.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::models::ServedFacts;

    #[test]
    fn a_model_is_offered_the_efforts_that_it_takes() {
        let told = |thinks| ServedFacts {
            thinks: Some(thinks),
            ..ServedFacts::default()
        };
        let silent = ServedFacts::default();
        let all = &Effort::ALL[..];
        for (provider, model, served, wanted) in [
            ("openai", "gpt-6.1-terra", silent, all),
            ("openai", "gpt-4o", silent, &[]),
            ("openai-compat", "nobody/knows", silent, all),
            ("ollama", "m", told(true), &[Effort::None, Effort::High]),
            ("ollama", "m", told(false), &[]),
            ("ollama", "m", silent, all),
            ("ollama", "gpt-oss:20b", told(true), &Effort::ALL[1..4]),
            ("llama-server", "default", silent, all),
            ("offline", "offline", silent, &[]),
        ] {
            let info = ModelRegistry::default().facts_told(provider, model, &served);
            assert_eq!(efforts(provider, &info), wanted, "{provider} {model}");
        }
    }
}
