//! Which model answers, and what it may cost.

use std::sync::Arc;

use crate::llm::models::Prices;
use crate::llm::provider::Provider;

/// The provider and model that answer, and what they may cost. A switch of the model makes a new one.
pub(crate) struct ModelTarget {
    /// Who answers.
    pub provider: Box<dyn Provider>,
    /// Name of the model at the provider.
    pub model: String,
    /// It runs on this machine.
    pub local: bool,
    /// Prices of the user.
    pub prices: Arc<Prices>,
    /// US dollars after which no further call is made.
    pub max_cost: Option<f64>,
}

impl ModelTarget {
    /// Who answers, in words.
    pub(crate) fn words(&self) -> String {
        if self.provider.is_model() {
            format!("{} answers, with {}.", self.provider.name(), self.model)
        } else {
            "No model answers; only what works offline.".to_owned()
        }
    }
}
