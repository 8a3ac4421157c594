//! The flags and subcommands, declared once: parsing, help, completions and the manual page come from these tables.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::app::settings::{CliArgs, Interface};
use crate::base::problem::{Outcome, Problem};
use crate::llm::choose;

/// Whether a flag takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueMode {
    /// None.
    Nothing,
    /// One, named so in the help.
    Value(&'static str),
    /// The next word, unless it begins with `-` or there is none.
    Maybe(&'static str),
}

/// The kind of completion for a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complete {
    /// No completion.
    Nothing,
    /// Names of files.
    File,
    /// Names of folders.
    Folder,
    /// Names of providers.
    Provider,
    /// Modules of tools.
    Group,
}

/// One flag.
pub(crate) struct Flag {
    /// Long name, without dashes.
    pub long: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Its value.
    pub takes: ValueMode,
    /// How the value is completed.
    pub complete: Complete,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Accepted and not shown.
    pub hidden: bool,
    /// Stores the value.
    pub apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
}

const fn flag(
    long: &'static str,
    takes: ValueMode,
    doc: &'static str,
    apply: fn(&mut CliArgs, OsString) -> Outcome<()>,
) -> Flag {
    Flag {
        long,
        short: None,
        takes,
        complete: Complete::Nothing,
        doc,
        hidden: false,
        apply,
    }
}

impl Flag {
    const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    const fn complete(mut self, complete: Complete) -> Self {
        self.complete = complete;
        self
    }

    const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// The flags of `marvin`.
pub(crate) static FLAGS: &[Flag] = &[
    flag(
        "non-interactive",
        ValueMode::Nothing,
        "Answer one prompt on standard output and end.",
        |low, _| {
            low.non_interactive = true;
            Ok(())
        },
    ),
    flag(
        "prompt",
        ValueMode::Value("TEXT"),
        "The prompt.",
        |low, value| {
            low.prompt = Some(text(value, "--prompt")?);
            Ok(())
        },
    ),
    flag(
        "prompt-file",
        ValueMode::Value("FILE"),
        "Read the prompt from a file.",
        |low, value| {
            low.prompt_file = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .complete(Complete::File),
    flag(
        "stdin",
        ValueMode::Nothing,
        "Append standard input to the prompt, marked as data.",
        |low, _| {
            low.stdin = true;
            Ok(())
        },
    ),
    flag(
        "working-dir",
        ValueMode::Value("DIR"),
        "Work on the code in this folder; file tools cannot leave it.",
        |low, value| {
            low.working_dir = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .complete(Complete::Folder),
    flag(
        "provider",
        ValueMode::Value("NAME"),
        "The language model's provider; marvin doctor lists them.",
        |low, value| {
            low.provider = Some(text(value, "--provider")?);
            Ok(())
        },
    )
    .complete(Complete::Provider),
    flag(
        "model",
        ValueMode::Value("MODEL"),
        "The model.",
        |low, value| {
            let value = text(value, "--model")?;
            if let Some((_, model)) = value.split_once('=') {
                return Err(Problem::input(format!("There is no model \"{value}\"."))
                    .next(format!("Give a model's name alone: --model {model}")));
            }
            low.model = Some(value);
            Ok(())
        },
    ),
    flag(
        "tools",
        ValueMode::Value("GROUP,…"),
        "Offer only these groups of tools; all and none work too.",
        |low, value| {
            low.tools = Some(text(value, "--tools")?);
            Ok(())
        },
    )
    .complete(Complete::Group),
    flag(
        "max-cost",
        ValueMode::Value("USD"),
        "Make no further model call once this much is spent.",
        |low, value| {
            let value = text(value, "--max-cost")?;
            let cost = value
                .trim_start_matches('$')
                .parse::<f64>()
                .ok()
                .filter(|cost| cost.is_finite() && *cost >= 0.0);
            low.max_cost = Some(cost.ok_or_else(|| {
                Problem::input(format!("--max-cost wants US dollars, not \"{value}\"."))
                    .next("For example: --max-cost 2.50")
            })?);
            Ok(())
        },
    ),
    flag(
        "ntfy",
        ValueMode::Maybe("TOPIC"),
        "Send one message to this ntfy topic when the run ends; without a topic one is made up.",
        |low, value| {
            low.ntfy = Some(text(value, "--ntfy")?);
            Ok(())
        },
    ),
    flag(
        "plain",
        ValueMode::Nothing,
        "Use the plain interface.",
        |low, _| {
            low.face = Some(Interface::Plain);
            Ok(())
        },
    ),
    flag(
        "curses",
        ValueMode::Nothing,
        "Use the full-screen interface.",
        |low, _| {
            low.face = Some(Interface::Screen);
            Ok(())
        },
    ),
    flag(
        "verbose",
        ValueMode::Nothing,
        "Say on standard error what is done and why it failed.",
        |low, _| {
            low.verbose = true;
            Ok(())
        },
    ),
    flag("help", ValueMode::Nothing, "Show this help.", |low, _| {
        low.help = true;
        Ok(())
    })
    .short('h'),
    flag(
        "version",
        ValueMode::Nothing,
        "Show the version.",
        |low, _| {
            low.version = true;
            Ok(())
        },
    )
    .short('V'),
    flag(
        "fire-alarm",
        ValueMode::Value("ID"),
        "Ring an alarm that is due; the scheduler calls it.",
        |low, value| {
            low.fire_alarm = Some(text(value, "--fire-alarm")?);
            Ok(())
        },
    )
    .hidden(),
    flag("no-bytecode", ValueMode::Nothing, "Ignored.", |_, _| Ok(()))
        .short('B')
        .hidden(),
];

/// A subcommand.
pub(crate) struct Subcommand {
    /// Its name.
    pub name: &'static str,
    /// The arguments.
    pub usage: &'static str,
    /// Description, one sentence.
    pub doc: &'static str,
    /// Accepted and not shown.
    pub hidden: bool,
}

/// The subcommands.
pub(crate) static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "tool",
        usage: "NAME [key=value …] [--json '{…}'] [--working-dir DIR]",
        doc: "Run one tool without a model.",
        hidden: false,
    },
    Subcommand {
        name: "tools",
        usage: "[--json] [WORD]",
        doc: "List the tools.",
        hidden: false,
    },
    Subcommand {
        name: "tk",
        usage: "COMMAND …",
        doc: "Work on tickets with the ticket script's commands.",
        hidden: false,
    },
    Subcommand {
        name: "services",
        usage: "[--json]",
        doc: "List the outside services and their addresses.",
        hidden: false,
    },
    Subcommand {
        name: "doctor",
        usage: "[--json]",
        doc: "Say what works here and what to do about the rest.",
        hidden: false,
    },
    Subcommand {
        name: "completions",
        usage: "bash|zsh|fish",
        doc: "Print a completion script for a shell.",
        hidden: false,
    },
    Subcommand {
        name: "man",
        usage: "",
        doc: "Print the manual page.",
        hidden: false,
    },
];

/// The flag with this long name.
pub(crate) fn long(name: &str) -> Option<&'static Flag> {
    // A hidden flag with a short name is known by that alone.
    FLAGS
        .iter()
        .find(|flag| flag.long == name && (!flag.hidden || flag.short.is_none()))
}

/// Words that complete a value.
pub(crate) fn words(complete: Complete) -> Vec<&'static str> {
    match complete {
        Complete::Provider => choose::names().collect(),
        Complete::Group => crate::tools::groups()
            .into_iter()
            .chain(["all", "none"])
            .collect(),
        Complete::Nothing | Complete::File | Complete::Folder => Vec::new(),
    }
}

/// A value that must be text.
pub(super) fn text(value: OsString, flag: &str) -> Outcome<String> {
    value.into_string().map_err(|value| {
        Problem::input(format!(
            "The value of {flag} is not UTF-8: {}",
            value.to_string_lossy()
        ))
        .next("Put it into a file in UTF-8 and give --prompt-file, or fix the terminal's encoding.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        for (i, flag) in FLAGS.iter().enumerate() {
            assert!(
                flag.doc.ends_with('.') && !flag.doc.trim_end_matches('.').contains(". "),
                "{}: one sentence",
                flag.long
            );
            assert!(
                flag.long
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                flag.long
            );
            for other in FLAGS.iter().skip(i + 1) {
                assert!(
                    flag.long != other.long && (flag.short.is_none() || flag.short != other.short),
                    "{} twice",
                    flag.long
                );
            }
        }
        assert!(SUBCOMMANDS.iter().all(|command| command.doc.ends_with('.')));
    }
}
