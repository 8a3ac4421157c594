//! Floor 4: one request to a language model and its streamed reply, for every provider.
//!
//! [`provider`] is the trait, [`catalog`] the table of providers, [`choose`] says which one answers. `http_provider` sends what [`wire`] writes and reads;
//! [`copilot`] is a program, [`offline`] none. [`models`] is what is known about models, [`failure`] and [`fallback`] what a failure means.
//! [`crate::model_call`] and the reply flow call it. It knows tools only as schemas. What a server refuses in form (a field, a tool, a
//! wire) it sends again without; it waits for nothing, and says whether trying again would help.

pub(crate) mod address;
pub(crate) mod catalog;
pub(crate) mod choose;
pub(crate) mod copilot;
pub(crate) mod credential;
pub(crate) mod embeddings;
pub(crate) mod failure;
pub(crate) mod fallback;
pub(crate) mod http_provider;
pub(crate) mod image_data;
pub(crate) mod images;
pub(crate) mod models;
mod offer;
pub(crate) mod offline;
pub(crate) mod patience;
pub(crate) mod provider;
mod remarks;
pub(crate) mod reply;
pub(crate) mod wire;
