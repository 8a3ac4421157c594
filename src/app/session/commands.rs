//! The commands of the conversation. One table drives parsing, help, completion and what they do.

use super::{Session, listing, usage};
use crate::app::direct_call::catalogue;
use crate::app::profile;
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::{Outcome, Problem};

/// One command.
pub(crate) struct CommandSpec {
    /// Names, the preferred one first.
    pub names: &'static [&'static str],
    /// Arguments as the help shows them.
    pub args: &'static str,
    pub about: &'static str,
    /// Works in shell mode without `!` too.
    in_shell_mode: bool,
    handler: CommandHandler,
}

/// What a command does.
#[derive(Clone, Copy)]
enum CommandHandler {
    /// Takes no arguments: a line with more words is a message.
    Bare(fn(&mut Session)),
    /// Takes the text after the name.
    Taking(fn(&mut Session, &str) -> Outcome<()>),
}

const fn bare(
    names: &'static [&'static str],
    about: &'static str,
    handler: fn(&mut Session),
) -> CommandSpec {
    CommandSpec {
        names,
        args: "",
        about,
        in_shell_mode: false,
        handler: CommandHandler::Bare(handler),
    }
}

const fn taking(
    names: &'static [&'static str],
    args: &'static str,
    about: &'static str,
    handler: fn(&mut Session, &str) -> Outcome<()>,
) -> CommandSpec {
    CommandSpec {
        names,
        args,
        about,
        in_shell_mode: false,
        handler: CommandHandler::Taking(handler),
    }
}

impl CommandSpec {
    const fn in_shell_mode(mut self) -> Self {
        self.in_shell_mode = true;
        self
    }
}

/// Every command, in the order of the help.
pub(crate) static ROWS: &[CommandSpec] = &[
    bare(&["!help"], "this list", |session| {
        session.updates.push(UiUpdate::Listing(help()));
    }),
    taking(
        &["!tools"],
        "[WORD]",
        "the tools, or those that fit a word",
        |session, rest| {
            let word: Vec<String> = one(rest).into_iter().collect();
            let list = catalogue::list(&word, &session.context.registry)?;
            session.updates.push(UiUpdate::Listing(list));
            Ok(())
        },
    ),
    taking(
        &["!tool"],
        "NAME key=value …",
        "run one tool without a model",
        |session, rest| session.call_tool(&words(rest)?),
    ),
    taking(
        &["!model"],
        "[PROVIDER] [MODEL]",
        "show or change provider and model",
        |session, rest| {
            session.model(words(rest)?);
            Ok(())
        },
    ),
    taking(
        &["!pro"],
        "TEXT",
        "send one message to Copilot",
        Session::ask_copilot,
    ),
    taking(
        &["!effort"],
        "[low|medium|high]",
        "show or change how hard the model thinks",
        Session::change_effort,
    ),
    taking(
        &["!flow"],
        "[on|off|auto]",
        "show or change when the reply flow answers",
        Session::change_flow,
    ),
    bare(
        &["!why"],
        "how the last reply of the flow came about",
        Session::explain_reply,
    ),
    taking(
        &["!profile"],
        "[NAME]",
        "switch to another profile, created if new",
        |session, rest| {
            match one(rest) {
                Some(name) => {
                    let name = profile::name(&session.context.paths, &name)?;
                    session.switch(name, None);
                }
                None => session.list(|context| Ok(listing::profiles(context))),
            }
            Ok(())
        },
    ),
    taking(
        &["!memory"],
        "COMMAND",
        "show, search, export or erase what is remembered",
        |session, rest| session.memory_command(&words(rest)?),
    ),
    bare(
        &["!blender"],
        "check the connection to Blender",
        Session::check_blender,
    ),
    bare(&["!undo"], "take back the last exchange", Session::undo),
    bare(
        &["!new"],
        "begin a new session, with an empty conversation",
        Session::new_session,
    ),
    taking(
        &["!resume"],
        "[ID]",
        "go on with another session, or choose one from a list",
        Session::resume,
    ),
    taking(
        &["!name"],
        "TEXT",
        "give this session a name",
        Session::name_session,
    ),
    bare(
        &["!code"],
        "coding mode on or off: more rounds, project instructions",
        Session::toggle_coding,
    ),
    bare(
        &["!shell", "!sh"],
        "shell mode on or off: each line is a command",
        Session::toggle_shell,
    ),
    taking(
        &["!sh", SHELL_MARK],
        "COMMAND",
        "run a command; with & at the end in the background",
        run_in_shell,
    ),
    taking(
        &["!v"],
        "[SECONDS]",
        "record (5 s unless you say), and send what you said",
        Session::record_once,
    ),
    taking(
        &["!voice"],
        "",
        "voice mode on or off: listen, and speak the answers",
        Session::toggle_voice,
    ),
    bare(
        &["!stop"],
        "stop what runs in the background",
        Session::stop_background,
    ),
    bare(
        &["preferences"],
        "edit your preferences in $EDITOR",
        |session| {
            let context = &session.context;
            let path = profile::preferences_file(&context.paths, &context.profile());
            session
                .updates
                .push(path.map_or_else(UiUpdate::Failed, UiUpdate::Edit));
        },
    ),
    bare(&["profiles"], "list the profiles", |session| {
        session.list(|context| Ok(listing::profiles(context)));
    }),
    bare(&["saved"], "list the saved places", |session| {
        session.list(|context| Ok(listing::places(context)));
    }),
    bare(&["usage"], "usage and cost", |session| {
        session.list(usage::report);
    }),
    bare(&["quit", "exit"], "quit Marvin", |session| {
        session.updates.push(UiUpdate::Leave(String::new()));
    })
    .in_shell_mode(),
];

/// Starts a shell command.
const SHELL_MARK: &str = "!";

/// A line that is a command.
pub(super) struct SessionCommand<'a> {
    handler: CommandHandler,
    /// The text after its name.
    rest: &'a str,
    /// Works in shell mode without `!` too.
    pub in_shell_mode: bool,
}

impl SessionCommand<'_> {
    /// Runs the command.
    ///
    /// # Errors
    /// The words after the name are wrong, or it cannot be done.
    pub(super) fn run(&self, session: &mut Session) -> Outcome<()> {
        match self.handler {
            CommandHandler::Bare(run) => {
                run(session);
                Ok(())
            }
            CommandHandler::Taking(run) => run(session, self.rest),
        }
    }
}

/// The row for `line` and the text after the name; `None` when the line is a message. Names are case-insensitive; `usage of X` is a message.
fn find(line: &str) -> Option<(&'static CommandSpec, &str)> {
    let (name, rest) = line
        .split_once(char::is_whitespace)
        .map_or((line, ""), |(name, rest)| (name, rest.trim()));
    let fits = |row: &&CommandSpec| {
        row.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            && match row.handler {
                CommandHandler::Bare(_) => rest.is_empty(),
                // `!sh` without arguments enters shell mode.
                CommandHandler::Taking(_) => !(rest.is_empty() && row.names.contains(&"!sh")),
            }
    };
    if let Some(row) = ROWS.iter().find(fits) {
        return Some((row, rest));
    }
    let shell = ROWS.iter().find(|row| row.names.contains(&SHELL_MARK))?;
    let command = line.strip_prefix(SHELL_MARK)?.trim();
    Some((shell, command))
}

/// The command in `line`; `None` when it is a message.
pub(super) fn read(line: &str) -> Option<SessionCommand<'_>> {
    let (row, rest) = find(line.trim())?;
    Some(SessionCommand {
        handler: row.handler,
        rest,
        in_shell_mode: row.in_shell_mode,
    })
}

/// The text of `!help`.
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

fn run_in_shell(session: &mut Session, text: &str) -> Outcome<()> {
    let (text, background) = shell_job(text)?;
    let dir = session.command_dir();
    session.run_shell(text, background, dir);
    Ok(())
}

/// The shell command in `text`, and whether it runs in the background.
fn shell_job(text: &str) -> Outcome<(String, bool)> {
    let (text, background) = match text.strip_suffix('&') {
        Some(before) if !before.ends_with('&') => (before.trim_end(), true),
        _ => (text, false),
    };
    if text.is_empty() {
        return Err(Problem::input("There is no command after the \"!\".")
            .next("For example: !ls. All commands: !help."));
    }
    Ok((text.to_owned(), background))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Option<(&'static str, &str)> {
        find(line.trim()).map(|(row, rest)| (row.names[0], rest))
    }

    fn shell_line(text: &str, background: bool) -> (String, bool) {
        (text.to_owned(), background)
    }

    #[test]
    fn exact_words_are_commands_and_sentences_are_messages() {
        assert_eq!(command(" Usage "), Some(("usage", "")));
        assert_eq!(command("usage of X"), None);
        assert_eq!(command("quit smoking"), None);
        assert_eq!(command("EXIT"), Some(("quit", "")));
        assert_eq!(command("what does !ls do"), None);
        assert_eq!(command("!blender"), Some(("!blender", "")));
        assert_eq!(command("!sh"), Some(("!shell", "")));
        assert_eq!(command("!shell"), Some(("!shell", "")));
        assert_eq!(command("!model  groq"), Some(("!model", "groq")));
    }

    #[test]
    fn other_lines_with_a_mark_go_to_the_shell() {
        for (line, rest) in [
            ("!ls -l", "ls -l"),
            ("! ls", "ls"),
            ("!sh help", "help"),
            ("!help me", "help me"),
            ("!", ""),
            ("!blender scene.blend", "blender scene.blend"),
        ] {
            assert_eq!(command(line), Some(("!sh", rest)), "{line}");
        }
        assert_eq!(shell_job("ls -l").unwrap(), shell_line("ls -l", false));
        assert_eq!(shell_job("sleep 9 &").unwrap(), shell_line("sleep 9", true));
        assert_eq!(shell_job("a && b").unwrap(), shell_line("a && b", false));
        assert!(shell_job("").is_err() && shell_job("&").is_err());
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(words("tree path='a b'").unwrap(), ["tree", "path=a b"]);
        assert!(words("x a='b").is_err());
    }

    #[test]
    fn every_row_is_found_by_its_own_names() {
        for row in ROWS {
            for name in row.names {
                let line = match row.handler {
                    CommandHandler::Bare(_) => (*name).to_owned(),
                    CommandHandler::Taking(_) => format!("{name} x"),
                };
                let (found, _) = find(&line).unwrap();
                assert!(std::ptr::eq(found, row), "{line}");
            }
        }
    }
}
