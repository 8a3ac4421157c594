//! The models of a reply: those of the auxiliary stages ([`stage`], called by [`stage_call`]) and the one that answers ([`chat_model`], at its provider by
//! [`provider_chat`]).

pub(crate) mod chat_model;
pub(crate) mod model_size;
mod prompt_dump;
pub(crate) mod protocol;
pub(crate) mod provider_chat;
pub(crate) mod stage;
pub(crate) mod stage_call;
