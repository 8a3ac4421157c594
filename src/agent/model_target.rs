//! The model that answers, and what it may cost.

use std::sync::Arc;

use crate::llm::models::{ModelInfo, ModelRegistry};
use crate::llm::provider::Provider;

/// The provider and model that answer, and what they may cost. Switching the model creates a new one.
pub(crate) struct ModelTarget {
    pub provider: Box<dyn Provider>,
    /// Name of the model at the provider.
    pub model: String,
    /// What is known about the model: limits, price, efforts.
    pub info: ModelInfo,
    /// Whether it runs on this machine.
    pub local: bool,
    /// The user's own prices.
    pub prices: Arc<ModelRegistry>,
    /// No further call is made once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
}

impl ModelTarget {
    /// Provider and model, as messages name them.
    pub(crate) fn words(&self) -> String {
        if self.provider.is_model() {
            format!("{} answers, with {}.", self.provider.name(), self.model)
        } else {
            "No model answers; only what works offline.".to_owned()
        }
    }
}
