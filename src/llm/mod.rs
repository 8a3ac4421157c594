//! Floor 3: one request to a language model and its streamed reply, whatever the provider.

pub mod catalog;
pub mod choose;
pub mod failure;
pub mod fallback;
pub mod http_provider;
pub mod models;
pub mod offline;
pub mod provider;
pub mod wire;
