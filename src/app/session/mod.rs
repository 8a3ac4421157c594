//! A conversation with the user: one session behind every interface.
//!
//! [`driver`] is what an interface calls: for what the user does, for what workers report, for what there is to show. It does not block, but for the moment in
//! which it closes. [`one_shot`] answers the one message of a run, on the caller's thread. [`core`] decides what concerns several parts. The parts own their
//! state: [`conversation`], [`turns`], [`model`], [`flow`], [`voice`], [`jobs`], [`workplace`], [`notices`]. They know neither the core nor each other: they
//! are told [`facts`], and put what they want done into [`orders`], as [`work`] which [`workers`] carry out on threads that report to the [`inbox`].
//! [`commands`] are rows that name the part they work with.

mod advice;
pub(crate) mod approve;
pub(super) mod attachments;
pub(crate) mod commands;
mod conversation;
mod copy;
mod core;
mod disk_writer;
mod driver;
mod facts;
mod flow;
mod inbox;
mod jobs;
mod lists;
mod log_writer;
mod model;
pub(crate) mod model_env;
mod notices;
pub(super) mod one_shot;
mod orders;
pub(crate) mod pasted_path;
pub(super) mod project_question;
mod queued;
mod run;
mod said_before;
mod server_questions;
mod servers;
pub(crate) mod session_cost;
pub(super) mod turn_job;
mod turns;
pub(crate) mod ui_update;
pub(crate) mod voice;
mod voices;
mod work;
pub(super) mod worker_event;
mod workers;
mod workplace;

pub(crate) use driver::Session;
pub(crate) use lists::file_search::files_like;
