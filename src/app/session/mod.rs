//! A conversation with the user: one session behind every interface.
//!
//! An interface calls [`Session`] for what the user does, [`Session::receive`] after a wake-up, and displays what [`Session::take_updates`] returns. The session
//! lives on the interface's thread and never blocks: answers, commands, lists and all disk access run on threads that report through [`inbox`].
//!
//! [`driver`] is what an interface sees; [`core`] decides what concerns several parts. The parts own their state and know neither it nor each other: [`conversation`], [`turns`], [`model`], [`flow`], [`voice`], [`jobs`],
//! [`workplace`], [`notices`], [`lists`]. They are told [`facts`] of the others, and put what they want done into [`orders`], which [`workers`] carry out.

mod advice;
pub(crate) mod approve;
mod attachments;
pub(crate) mod choice;
pub(crate) mod commands;
mod conversation;
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
mod queued;
mod run;
mod said_before;
mod session_cost;
pub(super) mod turn_job;
mod turns;
pub(crate) mod ui_update;
pub(crate) mod voice;
mod voices;
pub(super) mod worker_event;
mod workers;
mod workplace;

pub(crate) use driver::Session;
pub(crate) use lists::file_search::files_like;
