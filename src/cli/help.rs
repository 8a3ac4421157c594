//! `--help`, from the tables.

use std::fmt::Write as _;

use super::subcommands::SUBCOMMANDS;
use crate::app::settings::FLAGS;
use crate::app::settings::flag::{Flag, ValueMode};
use crate::app::variables;

pub(crate) const ABOUT: &str =
    "Marvin: a terminal assistant, a coding agent and a sub-agent, in one binary.";

pub(crate) const USAGE: [&str; 4] = [
    "marvin [flags] [words of a prompt]",
    "marvin --non-interactive --prompt TEXT [flags]",
    "marvin SUBCOMMAND …",
    "marvin -- words that look like a subcommand",
];

/// A flag as typed: `-h, --help`, `--prompt TEXT`.
pub(crate) fn written(flag: &Flag) -> String {
    let mut out = flag
        .short
        .map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
    let _ = write!(out, "--{}", flag.long);
    match flag.takes {
        ValueMode::Nothing => {}
        ValueMode::Value(value) => {
            let _ = write!(out, " {value}");
        }
        ValueMode::Maybe(value) => {
            let _ = write!(out, " [{value}]");
        }
    }
    out
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut out = format!("{ABOUT}\n\nUsage:\n");
    for usage in USAGE {
        let _ = writeln!(out, "  {usage}");
    }
    out.push_str("\nFlags:\n");
    for flag in FLAGS.iter().filter(|flag| !flag.hidden) {
        let _ = writeln!(out, "  {:<28} {}", written(flag), flag.doc);
    }
    out.push_str("\nSubcommands:\n");
    for command in SUBCOMMANDS.iter().filter(|command| !command.hidden) {
        let _ = writeln!(
            out,
            "  {:<28} {}",
            format!("{} {}", command.name, command.usage).trim_end(),
            command.doc
        );
    }
    out.push_str("\nVariables (marvin man says more):\n");
    for variable in variables::all() {
        let _ = writeln!(out, "  {:<34} {}", variable.name, variable.doc);
    }
    out
}

/// The help of the subcommand `name`.
pub(crate) fn subcommand(name: &str) -> String {
    let mut out = String::new();
    for command in SUBCOMMANDS.iter().filter(|command| command.name == name) {
        let usage = format!("{name} {}", command.usage);
        let _ = write!(
            out,
            "{}\n\nUsage: marvin {}\n",
            command.doc,
            usage.trim_end()
        );
    }
    if name == "tool" {
        out.push_str("\nmarvin tools lists the tools; marvin tool NAME --help shows the parameters of one.\n");
    }
    out
}
