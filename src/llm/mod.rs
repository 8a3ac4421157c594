//! Floor 3: one request to a language model and its streamed reply, whatever the provider.

pub mod catalog;
pub mod failure;
pub mod provider;
pub mod wire;
