//! `marvin mcp`: Marvin's tools for other programs, and the servers of others. One file a command.

mod serve;

use crate::app::settings::Settings;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;

/// A command and what it does with the words after it.
type Command = (&'static str, fn(&[String], Settings) -> Outcome<u8>);

const COMMANDS: &[Command] = &[("serve", serve::run)];

pub(super) use serve::fixture;

/// `marvin mcp COMMAND …`.
pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let Some((word, words)) = words.split_first() else {
        return Err(usage("A command is missing."));
    };
    match COMMANDS.iter().find(|(name, _)| name == word) {
        Some((_, command)) => command(words, settings),
        None => Err(usage(&format!(
            "There is no command \"{}\".",
            one_line(word)
        ))),
    }
}

fn usage(words: &str) -> Problem {
    Problem::input(words)
        .next("Usage: marvin mcp serve [--working-dir DIR] [--tools GROUP,…] [--read-only] [--http [HOST:]PORT]")
}
