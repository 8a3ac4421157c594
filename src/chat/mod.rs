//! Floor 3: the data types of a conversation. Pure data; nothing here opens a file or a socket.
//!
//! [`message`] is what is said, [`event`] what happens meanwhile, [`usage`] what it costs and [`ledger`] what a run has used; [`tokens`], [`budget`], [`compaction`], [`repair`] and [`shorten`] keep what is said within
//! what a provider takes. Every floor above uses it.

pub(crate) mod budget;
pub(crate) mod change;
pub(crate) mod compaction;
pub(crate) mod display;
pub(crate) mod event;
pub(crate) mod failure_report;
pub(crate) mod image;
pub(crate) mod ledger;
pub(crate) mod message;
pub(crate) mod pipeline_event;
pub(crate) mod repair;
pub(crate) mod reply_event;
pub(crate) mod shorten;
pub(crate) mod tokens;
pub(crate) mod usage;
mod vocabulary;
pub(crate) mod wait;
