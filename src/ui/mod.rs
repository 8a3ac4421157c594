//! Floor 9: the two interfaces of a session: full screen and plain lines.

pub(crate) mod editor;
mod interrupt;
pub(crate) mod keys;
pub(crate) mod markdown;
mod plain;
mod sources;
pub(crate) mod term;
pub(crate) mod text;
mod tui;

use std::io::{self, IsTerminal};

use crate::app::settings::{CliArgs, Interface};
use crate::app::setup::ProcessStart;
use crate::app::stream::say;

/// Runs the conversation until the user leaves; returns the exit status.
pub(crate) fn run(low: CliArgs, start: ProcessStart) -> u8 {
    let first = match low.first() {
        Ok(first) => first.unwrap_or_default(),
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            return 1;
        }
    };
    if is_plain(&low, &start) {
        plain::run(low, start, &first)
    } else {
        tui::run(low, start, &first)
    }
}

/// True when plain lines were requested, or there is no terminal to draw on.
fn is_plain(low: &CliArgs, start: &ProcessStart) -> bool {
    let terminal = start.stdin_is_terminal && io::stdout().is_terminal();
    let dumb = matches!(start.env.get("TERM"), None | Some("dumb"));
    low.face == Some(Interface::Plain) || !terminal || (dumb && low.face.is_none())
}
