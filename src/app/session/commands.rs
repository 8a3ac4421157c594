//! What a typed line means: one of the `!` commands, a line for the shell, or a message.
//!
//! One table drives parsing, help and completion.

use crate::base::problem::{Outcome, Problem};

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionCommand {
    /// Shell mode on or off.
    ShellMode,
    /// Coding mode on or off.
    CodingMode,
    /// A command for the shell, in the background if requested.
    Shell {
        /// Its text.
        text: String,
        /// Runs in the background.
        background: bool,
    },
    /// Edit `preferences.yaml`.
    Preferences,
    /// List the profiles.
    Profiles,
    /// Switch to a profile, or make it; none shows them.
    Profile(Option<String>),
    /// Show what was used.
    Usage,
    /// List the saved places.
    Saved,
    /// Take back the last exchange.
    Undo,
    /// Show the commands.
    Help,
    /// Shows the catalogue, or the tools that match a word.
    Tools(Option<String>),
    /// Runs one tool: its name and `key=value` words.
    Tool(Vec<String>),
    /// Show the model, or choose provider and model.
    Model(Vec<String>),
    /// Stop the commands in the background.
    Stop,
    /// Leave.
    Quit,
}

/// One row: syntax, description, and the parser for the words after the name.
pub(crate) struct CommandSpec {
    /// Names, the usual one first.
    pub names: &'static [&'static str],
    /// Words after the name, for the help.
    pub args: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Parses the text after the name.
    read: fn(&str) -> Outcome<SessionCommand>,
    /// A command only without further words; with some, the line is a message.
    bare: bool,
}

const fn bare(
    names: &'static [&'static str],
    about: &'static str,
    read: fn(&str) -> Outcome<SessionCommand>,
) -> CommandSpec {
    CommandSpec {
        names,
        args: "",
        about,
        read,
        bare: true,
    }
}

const fn taking(
    names: &'static [&'static str],
    args: &'static str,
    about: &'static str,
    read: fn(&str) -> Outcome<SessionCommand>,
) -> CommandSpec {
    CommandSpec {
        names,
        args,
        about,
        read,
        bare: false,
    }
}

/// Every command, in the order of the help.
pub(crate) static ROWS: &[CommandSpec] = &[
    bare(&["!help"], "this list", |_| Ok(SessionCommand::Help)),
    taking(
        &["!tools"],
        "[WORD]",
        "the tools, or those that fit a word",
        |rest| Ok(SessionCommand::Tools(one(rest))),
    ),
    taking(
        &["!tool"],
        "NAME key=value …",
        "run one tool without a model",
        |rest| words(rest).map(SessionCommand::Tool),
    ),
    taking(
        &["!model"],
        "[PROVIDER] [MODEL]",
        "show or change provider and model",
        |rest| words(rest).map(SessionCommand::Model),
    ),
    taking(
        &["!profile"],
        "[NAME]",
        "switch to another profile, created if new",
        |rest| Ok(SessionCommand::Profile(one(rest))),
    ),
    bare(&["!undo"], "take back the last exchange", |_| {
        Ok(SessionCommand::Undo)
    }),
    bare(
        &["!code"],
        "coding mode on or off: more rounds, project instructions",
        |_| Ok(SessionCommand::CodingMode),
    ),
    bare(
        &["!shell", "!sh"],
        "shell mode on or off: each line is a command",
        |_| Ok(SessionCommand::ShellMode),
    ),
    taking(
        &["!sh", "!"],
        "COMMAND",
        "run a command; with & at the end in the background",
        shell,
    ),
    bare(&["!stop"], "stop what runs in the background", |_| {
        Ok(SessionCommand::Stop)
    }),
    bare(&["preferences"], "edit your preferences in $EDITOR", |_| {
        Ok(SessionCommand::Preferences)
    }),
    bare(&["profiles"], "list the profiles", |_| {
        Ok(SessionCommand::Profiles)
    }),
    bare(&["saved"], "list the saved places", |_| {
        Ok(SessionCommand::Saved)
    }),
    bare(&["usage"], "usage and cost", |_| Ok(SessionCommand::Usage)),
    bare(&["quit", "exit"], "leave", |_| Ok(SessionCommand::Quit)),
];

/// The command in `line`; `None` when it is a message. Names are case-insensitive, and `usage of X` is a message.
///
/// # Errors
/// A command with invalid arguments.
pub(crate) fn read(line: &str) -> Option<Outcome<SessionCommand>> {
    let line = line.trim();
    let (name, rest) = line
        .split_once(char::is_whitespace)
        .map_or((line, ""), |(name, rest)| (name, rest.trim()));
    let fits = |row: &&CommandSpec| {
        row.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            && if row.bare {
                rest.is_empty()
            } else {
                // `!sh` alone is the mode.
                !(rest.is_empty() && row.names.contains(&"!sh"))
            }
    };
    if let Some(row) = ROWS.iter().find(fits) {
        return Some((row.read)(rest));
    }
    let command = line.strip_prefix('!')?.trim();
    Some(shell(command))
}

/// The list that `!help` shows.
pub(crate) fn help() -> String {
    let left = |row: &CommandSpec| format!("{} {}", row.names.join(", "), row.args);
    let width = ROWS
        .iter()
        .map(|row| left(row).chars().count())
        .max()
        .unwrap_or_default();
    let mut out = String::new();
    for row in ROWS {
        out.push_str(&format!("{:<width$}  {}\n", left(row), row.about));
    }
    out.push_str("\nAny other !COMMAND runs in your shell; @path in a message attaches a file.\n");
    out
}

fn one(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn words(rest: &str) -> Outcome<Vec<String>> {
    shlex::split(rest).ok_or_else(|| {
        Problem::input("A quote is not closed.").next("Close it, or escape it with \\.")
    })
}

fn shell(text: &str) -> Outcome<SessionCommand> {
    let (text, background) = match text.strip_suffix('&') {
        Some(before) if !before.ends_with('&') => (before.trim_end(), true),
        _ => (text, false),
    };
    if text.is_empty() {
        return Err(Problem::input("There is no command after the \"!\".")
            .next("For example: !ls. All commands: !help."));
    }
    Ok(SessionCommand::Shell {
        text: text.to_owned(),
        background,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Option<SessionCommand> {
        read(line).map(Result::unwrap)
    }

    fn shell_line(text: &str, background: bool) -> Option<SessionCommand> {
        Some(SessionCommand::Shell {
            text: text.to_owned(),
            background,
        })
    }

    #[test]
    fn exact_words_are_commands_and_sentences_are_messages() {
        assert_eq!(command(" Usage "), Some(SessionCommand::Usage));
        assert_eq!(command("usage of X"), None);
        assert_eq!(command("quit smoking"), None);
        assert_eq!(command("EXIT"), Some(SessionCommand::Quit));
        assert_eq!(command("what does !ls do"), None);
        assert_eq!(command("!sh"), Some(SessionCommand::ShellMode));
        assert_eq!(command("!shell"), Some(SessionCommand::ShellMode));
        assert_eq!(
            command("!model groq"),
            Some(SessionCommand::Model(vec!["groq".to_owned()]))
        );
    }

    #[test]
    fn the_rest_goes_to_the_shell() {
        assert_eq!(command("!ls -l"), shell_line("ls -l", false));
        assert_eq!(command("! ls"), shell_line("ls", false));
        assert_eq!(command("!sh help"), shell_line("help", false));
        assert_eq!(command("!sleep 9 &"), shell_line("sleep 9", true));
        assert_eq!(command("!a && b"), shell_line("a && b", false));
        assert_eq!(command("!help me"), shell_line("help me", false));
        assert!(read("!").unwrap().is_err());
        assert!(read("!tool x a='b").unwrap().is_err());
        let tool = vec!["tree".to_owned(), "path=a b".to_owned()];
        assert_eq!(
            command("!tool tree path='a b'"),
            Some(SessionCommand::Tool(tool))
        );
    }

    #[test]
    fn every_row_reads_its_own_names() {
        for row in ROWS {
            for name in row.names {
                let line = if row.bare {
                    (*name).to_owned()
                } else {
                    format!("{name} x")
                };
                assert!(read(&line).is_some_and(|got| got.is_ok()), "{line}");
            }
        }
    }
}
