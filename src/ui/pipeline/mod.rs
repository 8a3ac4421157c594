//! A run of the pipeline on standard error: drawn in place on a terminal, as plain lines elsewhere. Standard output has the summary alone.
//!
//! `lines` words events, `picture` draws the state, `live` draws it again when it changes. Called by [`crate::run`], which hands [`display`] to the
//! non-interactive mode. It changes nothing of a run, and never waits for the terminal.

mod lines;
mod live;
mod picture;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};

use crate::app::settings::{Interface, Settings};
use crate::base::variables::NO_COLOR;
use crate::chat::event::EventSink;
use crate::ui::text::theme::{ColorMode, Theme};
use lines::LineDisplay;
use live::LiveDisplay;

/// The display for this process. Lines where standard error is no terminal, where the terminal can do nothing but lines, and where the user asks for lines:
/// by `NO_COLOR` or `--plain`.
pub(crate) fn display(settings: &Settings) -> Box<dyn EventSink> {
    let env = &settings.env;
    let mode = ColorMode::detect(NO_COLOR.read(env), env.get("TERM"), env.get("COLORTERM"));
    let plain = settings.interface == Some(Interface::Plain) || mode == ColorMode::None;
    if plain || !io::stderr().is_terminal() {
        return Box::new(LineDisplay::default());
    }
    Box::new(LiveDisplay::start(Theme::new(mode)))
}
