//! `marvin acp`: Marvin as the agent of an editor, by the Agent Client Protocol, version 1 (<https://agentclientprotocol.com/protocol/v1/overview>).
//!
//! [`run`] serves standard input and output. [`methods`] is the table of what a client may call; [`agent`] opens sessions, [`session`] is one of
//! them, [`session_thread`] the thread that answers it. [`updates`] makes updates of a turn's events, [`tool_call`] what a client sees of a call, [`out`]
//! writes lines, [`client`] asks the client. Called by [`crate::cli`]; no tool is known here by its name.

mod agent;
mod client;
mod client_files;
mod client_servers;
mod commands;
mod given_paths;
mod list;
mod methods;
mod models;
mod modes;
mod options;
mod out;
mod params;
mod permission;
mod project_form;
mod prompt;
mod replay;
mod run;
mod server_forms;
mod session;
mod session_thread;
mod shared;
mod tool_call;
mod updates;

use std::sync::Arc;

pub(crate) use run::run;

use super::settings::Settings;

/// Whether a model can answer, as far as its settings say.
pub(crate) fn has_model(settings: &Settings) -> bool {
    models::Models::new(Arc::new(settings.clone()))
        .first()
        .is_ok()
}
