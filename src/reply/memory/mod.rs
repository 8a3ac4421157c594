//! What the flow remembers. Before the model, in this order: [`recall_gate`] (whether memory has to be searched), [`warm_profile`], [`enrichment`] (the search)
//! and [`memory_digest`]. After the reply, on a thread of its own: [`update`].

pub(crate) mod enrichment;
pub(crate) mod memory_digest;
pub(crate) mod recall_gate;
pub(crate) mod update;
pub(crate) mod warm_profile;
