//! Floor 10: the two interfaces of a session, full screen and plain lines, and the display of a run of the pipeline.
//!
//! `tui` is the full screen, `plain` the lines, `pipeline` a run's display; `editor`, `keys`, `markdown`, `text`, `term` and `tool_call` serve them. Called by
//! [`crate::run`] alone. It calls a session for what the user does and displays its updates; it decides nothing about a turn, and knows no tool by name.

pub(crate) mod editor;
mod interrupt;
pub(crate) mod keys;
pub(crate) mod markdown;
mod notify;
pub(crate) mod pipeline;
mod plain;
#[cfg(test)]
#[path = "../../tests/support/snapshot.rs"]
#[allow(unreachable_pub)]
mod snapshot;
mod sources;
pub(crate) mod term;
pub(crate) mod text;
mod tool_call;
mod tui;

use std::io::{self, IsTerminal};

use crate::app::help::HelpTables;
use crate::app::session::commands;
use crate::app::settings::{Interface, Settings};
use crate::app::stream::say;

/// What the help shows of the interface and of the conversation.
pub(crate) const HELP_TABLES: HelpTables = HelpTables {
    keys: keys::groups,
    commands: commands::described,
};

/// Runs the conversation until the user leaves; returns the exit status.
pub(crate) fn run(settings: Settings) -> u8 {
    let first = match settings.prompt.first() {
        Ok(first) => first.unwrap_or_default(),
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            return 1;
        }
    };
    if is_plain(&settings) {
        plain::run(settings, &first)
    } else {
        tui::run(settings, &first)
    }
}

/// True when plain lines were requested, or there is no terminal to draw on.
fn is_plain(settings: &Settings) -> bool {
    let terminal = settings.process.stdin_is_terminal && io::stdout().is_terminal();
    let dumb = matches!(settings.env.get("TERM"), None | Some("dumb"));
    settings.interface == Some(Interface::Plain)
        || !terminal
        || (dumb && settings.interface.is_none())
}
