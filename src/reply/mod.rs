//! Floor 8: the reply flow, another way a reply comes about: stages around the model that let a small local one pick tools, finish questions of two
//! parts, remember its user and never show raw JSON. No stage can stop a reply: what fails is left out.
//!
//! [`engine`] runs them in this order: [`dialogue`] (what was said before) → [`preparation`] (router, allow-list, planner, what [`memory`] has, system message)
//! → [`turns`], the loop of chat model and tools → [`answer`] (checked and cleaned) → [`memory::update`], in the background.
//! [`speech`] makes sentences for a voice of it. Below the stages: the [`tools`] and [`models`] of a reply, [`settings`] and [`prompts`], what stages may find
//! again ([`scratch`]), what is told of them ([`trace`], [`report`]).
//!
//! [`crate::app::session`] asks [`applies`] and hands messages to [`engine`]. Nothing here knows a session, a screen or the plain loop
//! ([`crate::agent::turn`]); both ways call models by [`crate::model_call`].

pub(crate) mod answer;
pub(crate) mod applies;
pub(crate) mod dialogue;
pub(crate) mod engine;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod preparation;
pub(crate) mod prompts;
pub(crate) mod report;
pub(crate) mod scratch;
pub(crate) mod settings;
pub(crate) mod speech;
#[cfg(test)]
mod testing;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod turns;
