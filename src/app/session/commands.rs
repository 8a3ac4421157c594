//! The commands of the conversation. One table drives parsing, help, completion and what they do.
//!
//! A command is its name after a mark: `/help`, or `!help`. Some names work as a word of their own too. What follows `!` and is no command goes to the
//! shell; what follows `/` and is none is a message if it names a path, and answered here otherwise.

use super::{Session, listing, shell};
use crate::app::direct_call::catalogue;
use crate::app::help as topics;
use crate::app::profile;
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;

/// One command.
pub(crate) struct CommandSpec {
    /// Names without a mark, the preferred one first.
    pub names: &'static [&'static str],
    /// Arguments as the help shows them.
    pub args: &'static str,
    pub about: &'static str,
    /// Works without a mark too.
    is_word: bool,
    /// Works in shell mode without a mark too.
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
        is_word: false,
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
        is_word: false,
        in_shell_mode: false,
        handler: CommandHandler::Taking(handler),
    }
}

impl CommandSpec {
    const fn word(mut self) -> Self {
        self.is_word = true;
        self
    }

    const fn in_shell_mode(mut self) -> Self {
        self.in_shell_mode = true;
        self
    }

    /// Names and arguments as the help shows them.
    pub(crate) fn synopsis(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        format!("{} {}", names.join(", "), self.args)
            .trim_end()
            .to_owned()
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether this many words after the name are right.
    fn takes(&self, rest: &str) -> bool {
        match self.handler {
            CommandHandler::Bare(_) => rest.is_empty(),
            // `/sh` without a command enters shell mode.
            CommandHandler::Taking(_) => !(rest.is_empty() && self.has_name(SHELL)),
        }
    }
}

/// Every command, in the order of the help.
pub(crate) static ROWS: &[CommandSpec] = &[
    taking(
        &["help"],
        "[TOPIC]",
        "this list, or the help of a topic",
        |session, rest| {
            let update = match rest {
                "" => UiUpdate::Listing(help()),
                topic => UiUpdate::Help(topics::named(topic)?),
            };
            session.updates.push(update);
            Ok(())
        },
    ),
    taking(
        &["tools"],
        "[WORD]",
        "the tools, or those that fit a word",
        |session, rest| {
            let word: Vec<String> = one(rest).into_iter().collect();
            let list = catalogue::list(&word, &session.context.registry())?;
            session.updates.push(UiUpdate::Listing(list));
            Ok(())
        },
    ),
    taking(
        &["tool"],
        "NAME key=value …",
        "run one tool without a model",
        |session, rest| session.call_tool(&words(rest)?),
    ),
    taking(
        &["model"],
        "[PROVIDER] [MODEL]",
        "show or change provider and model",
        |session, rest| {
            session.model(words(rest)?);
            Ok(())
        },
    ),
    taking(
        &["pro"],
        "TEXT",
        "send one message to Copilot",
        Session::ask_copilot,
    ),
    bare(
        &["thinking"],
        "show or hide what the model thinks",
        |session| session.updates.push(UiUpdate::ToggleThinking),
    ),
    taking(
        &["effort"],
        "[low|medium|high]",
        "show or change how hard the model thinks",
        Session::change_effort,
    ),
    taking(
        &["flow"],
        "[on|off|auto]",
        "show or change when the reply flow answers",
        Session::change_flow,
    ),
    bare(
        &["why"],
        "how the last reply of the flow came about",
        Session::explain_reply,
    ),
    taking(
        &["profile"],
        "[NAME]",
        "switch to another profile, created if new",
        |session, rest| {
            match one(rest) {
                Some(name) => session.change_profile(&name)?,
                None => session.list(|context| Ok(listing::profiles(context))),
            }
            Ok(())
        },
    ),
    taking(
        &["memory"],
        "COMMAND",
        "show, search, export or erase what is remembered",
        |session, rest| session.memory_command(&words(rest)?),
    ),
    bare(
        &["blender"],
        "check the connection to Blender",
        Session::check_blender,
    ),
    bare(
        &["new", "clear"],
        "begin a new session, with an empty conversation",
        Session::new_session,
    ),
    taking(
        &["resume"],
        "[ID]",
        "go on with another session, or choose one from a list",
        Session::resume,
    ),
    taking(
        &["name"],
        "TEXT",
        "give this session a name",
        Session::name_session,
    ),
    bare(
        &["compact"],
        "summarize the older part of the conversation now",
        Session::compact_conversation,
    ),
    bare(&["undo"], "take back the last exchange", Session::undo),
    taking(
        &["theme"],
        "[NAME]",
        "show or change the colours",
        Session::change_theme,
    ),
    bare(
        &["code"],
        "coding mode on or off: more rounds, project instructions",
        Session::toggle_coding,
    ),
    bare(
        &["shell", SHELL],
        "shell mode on or off: each line is a command",
        Session::toggle_shell,
    ),
    taking(
        &[SHELL],
        "COMMAND",
        "run a command; with & at the end in the background",
        run_in_shell,
    ),
    taking(
        &["v"],
        "[SECONDS]",
        "record (5 s unless you say), and send what you said",
        Session::record_once,
    ),
    taking(
        &["voice"],
        "",
        "voice mode on or off: listen, and speak the answers",
        Session::toggle_voice,
    ),
    bare(
        &["stop"],
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
    )
    .word(),
    bare(&["profiles"], "list the profiles", |session| {
        session.list(|context| Ok(listing::profiles(context)));
    })
    .word(),
    bare(&["saved"], "list the saved places", |session| {
        session.list(|context| Ok(listing::places(context)));
    })
    .word(),
    bare(&["usage"], "usage and cost", Session::report_usage).word(),
    bare(&["quit", "exit"], "quit Marvin", |session| {
        session.updates.push(UiUpdate::Leave(String::new()));
    })
    .word()
    .in_shell_mode(),
];

/// The name of the command that runs a shell command.
const SHELL: &str = "sh";
/// The mark of a shell command, and of a command.
const SHELL_MARK: char = '!';
/// The mark of a command.
const MARK: char = '/';

/// A line that is a command.
pub(super) struct SessionCommand<'a> {
    handler: CommandHandler,
    /// The text after its name.
    rest: &'a str,
    /// Works in this form in shell mode too.
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

/// What a line of the user is.
pub(super) enum InputLine<'a> {
    Command(SessionCommand<'a>),
    /// Meant as a command, but wrong, and why.
    Mistake(Problem),
    Message,
}

/// Parses `line`. Names are case-insensitive; `usage of X` is a message.
pub(super) fn read(line: &str) -> InputLine<'_> {
    let line = line.trim();
    if let Some(after) = line.strip_prefix(MARK) {
        return slash(after);
    }
    let (found, is_marked) = match line.strip_prefix(SHELL_MARK) {
        Some(after) => (find(after, |_| true).or_else(|| shell(after)), true),
        None => (find(line, |row| row.is_word), false),
    };
    found.map_or(InputLine::Message, |(row, rest)| {
        command(row, rest, is_marked)
    })
}

fn command<'a>(row: &'static CommandSpec, rest: &'a str, is_marked: bool) -> InputLine<'a> {
    InputLine::Command(SessionCommand {
        handler: row.handler,
        rest,
        in_shell_mode: is_marked || row.in_shell_mode,
    })
}

/// A line that begins with `/`, without that.
fn slash(after: &str) -> InputLine<'_> {
    if let Some((row, rest)) = find(after, |_| true) {
        return command(row, rest, true);
    }
    let (name, _) = name_and_rest(after);
    if after.is_empty() {
        return InputLine::Mistake(
            Problem::input("There is no name after the slash.").next("/help lists the commands."),
        );
    }
    // A path, a comment of code, a slash alone before words.
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_name) || is_path(name) {
        return InputLine::Message;
    }
    if ROWS.iter().any(|row| row.has_name(name)) {
        return InputLine::Mistake(
            Problem::input(format!("/{name} takes nothing after it."))
                .next("Without the slash it is a message."),
        );
    }
    let names = ROWS.iter().flat_map(|row| row.names).copied();
    let near = text::nearest(name, names);
    let near = near.first();
    let near = near.map_or_else(String::new, |near| format!("Did you mean /{near}? "));
    InputLine::Mistake(
        Problem::input(format!("There is no command /{}.", text::clip(name, 40)))
            .next(format!("{near}/help lists them all.")),
    )
}

/// Whether something below the root has this name. Looks at nothing but the entry itself, so that no file system is mounted for it.
fn is_path(name: &str) -> bool {
    std::fs::symlink_metadata(format!("/{name}")).is_ok()
}

/// The first word, and the text after it.
fn name_and_rest(line: &str) -> (&str, &str) {
    line.split_once(char::is_whitespace)
        .map_or((line, ""), |(name, rest)| (name, rest.trim()))
}

/// The row for a line without its mark, and the text after the name.
fn find(
    line: &str,
    applies: impl Fn(&CommandSpec) -> bool,
) -> Option<(&'static CommandSpec, &str)> {
    let (name, rest) = name_and_rest(line);
    let mut rows = ROWS.iter();
    let row = rows.find(|row| applies(row) && row.has_name(name) && row.takes(rest))?;
    Some((row, rest))
}

/// The row that runs `line` in the shell.
fn shell(line: &str) -> Option<(&'static CommandSpec, &str)> {
    let mut rows = ROWS.iter();
    let row =
        rows.find(|row| row.has_name(SHELL) && matches!(row.handler, CommandHandler::Taking(_)))?;
    Some((row, line.trim()))
}

/// The commands as they are typed, with what they do: each after its mark, then those that are a word of their own.
pub(crate) fn typed() -> Vec<(String, &'static str)> {
    let marked = ROWS.iter().flat_map(|row| {
        let names = row.names.iter();
        names.map(|name| (format!("{MARK}{name}"), row.about))
    });
    let words = ROWS.iter().filter(|row| row.is_word).flat_map(|row| {
        let names = row.names.iter();
        names.map(|name| ((*name).to_owned(), row.about))
    });
    let mut all: Vec<(String, &'static str)> = marked.chain(words).collect();
    all.dedup_by(|one, before| one.0 == before.0);
    all
}

/// The commands with their arguments and what they do.
pub(crate) fn described() -> Vec<(String, &'static str)> {
    let rows = ROWS.iter();
    rows.map(|row| (row.synopsis(), row.about)).collect()
}

/// The text of `/help`.
pub(crate) fn help() -> String {
    let usages: Vec<String> = ROWS.iter().map(CommandSpec::synopsis).collect();
    let width = usages.iter().map(|usage| usage.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut out = String::new();
    for (usage, row) in usages.iter().zip(ROWS) {
        out.push_str(&format!("{usage:<width$}  {}\n", row.about));
    }
    let words = ROWS.iter().filter(|row| row.is_word);
    let words: Vec<&str> = words.flat_map(|row| row.names).copied().collect();
    let topic_names: Vec<&str> = topics::topics().map(|topic| topic.name).collect();
    out.push_str(&format!(
        "\n{} work without the slash, and ! works like it.\nAny other !COMMAND runs in your shell; @path in a message attaches a file.\nTopics: {}.\n",
        words.join(", "),
        topic_names.join(", ")
    ));
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
    if let Some(Ok(_)) = shell::change_dir(&text, &dir, session.home().as_deref()) {
        return Err(Problem::input(
            "cd alone changes nothing: each command has a shell of its own.",
        )
        .next("/shell keeps the folder from one command to the next."));
    }
    session.run_shell(text, background, dir);
    Ok(())
}

/// The shell command in `text`, and whether it runs in the background.
pub(super) fn shell_job(text: &str) -> Outcome<(String, bool)> {
    let (text, background) = match text.strip_suffix('&') {
        Some(before) if !before.ends_with('&') => (before.trim_end(), true),
        _ => (text, false),
    };
    if text.is_empty() {
        return Err(Problem::input("There is no command after the \"!\".")
            .next("For example: !ls. All commands: /help."));
    }
    Ok((text.to_owned(), background))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The preferred name of the command and the text after its name; `None` for a message.
    fn parsed(line: &str) -> Option<(&'static str, String)> {
        match read(line) {
            InputLine::Command(command) => {
                let mut rows = ROWS.iter();
                let is_it = |row: &&CommandSpec| match (row.handler, command.handler) {
                    (CommandHandler::Bare(one), CommandHandler::Bare(other)) => {
                        std::ptr::fn_addr_eq(one, other)
                    }
                    (CommandHandler::Taking(one), CommandHandler::Taking(other)) => {
                        std::ptr::fn_addr_eq(one, other)
                    }
                    _ => false,
                };
                let row = rows.find(is_it).unwrap();
                Some((row.names[0], command.rest.to_owned()))
            }
            InputLine::Mistake(problem) => Some(("mistake", problem.one_line())),
            InputLine::Message => None,
        }
    }

    fn is(line: &str, name: &'static str, rest: &str) {
        assert_eq!(parsed(line), Some((name, rest.to_owned())), "{line:?}");
    }

    fn shell_line(text: &str, background: bool) -> (String, bool) {
        (text.to_owned(), background)
    }

    #[test]
    fn exact_words_are_commands_and_sentences_are_messages() {
        is(" Usage ", "usage", "");
        is("EXIT", "quit", "");
        for message in [
            "usage of X",
            "quit smoking",
            "what does !ls do",
            "help",
            "stop",
        ] {
            assert_eq!(parsed(message), None, "{message:?}");
        }
    }

    #[test]
    fn a_name_after_either_mark_is_the_same_command() {
        for mark in ['/', '!'] {
            is(&format!("{mark}blender"), "blender", "");
            is(&format!("{mark}sh"), "shell", "");
            is(&format!("{mark}shell"), "shell", "");
            is(&format!(" {mark}MODEL  groq"), "model", "groq");
            is(&format!("{mark}sh ls -l"), "sh", "ls -l");
            is(&format!("{mark}usage"), "usage", "");
            is(&format!("{mark}exit"), "quit", "");
        }
    }

    #[test]
    fn other_lines_with_an_exclamation_mark_go_to_the_shell() {
        for (line, rest) in [
            ("!ls -l", "ls -l"),
            ("! ls", "ls"),
            ("!sh help", "help"),
            ("!", ""),
            ("!blender scene.blend", "blender scene.blend"),
            ("!/bin/ls", "/bin/ls"),
        ] {
            is(line, "sh", rest);
        }
        assert_eq!(shell_job("ls -l").unwrap(), shell_line("ls -l", false));
        assert_eq!(shell_job("sleep 9 &").unwrap(), shell_line("sleep 9", true));
        assert_eq!(shell_job("a && b").unwrap(), shell_line("a && b", false));
        assert!(shell_job("").is_err() && shell_job("&").is_err());
    }

    #[test]
    fn an_unknown_name_after_a_slash_is_answered_and_a_path_is_a_message() {
        for (line, answer) in [
            (
                "/hepl",
                "There is no command /hepl. Did you mean /help? /help lists them all.",
            ),
            (
                "/zzzzzzzz now",
                "There is no command /zzzzzzzz. /help lists them all.",
            ),
            (
                "/gr\u{f6}\u{df}e",
                "There is no command /gr\u{f6}\u{df}e. /help lists them all.",
            ),
            (
                "/",
                "There is no name after the slash. /help lists the commands.",
            ),
            (
                "/undo that",
                "/undo takes nothing after it. Without the slash it is a message.",
            ),
        ] {
            is(line, "mistake", answer);
        }
        for message in [
            "/usr/bin is large",
            "/tmp is full, why?",
            "/tmp",
            "/nowhere/at all",
            "/ is the root",
            "/* a comment */",
            "// another",
            "/etc, what is it?",
            "and/or",
        ] {
            assert_eq!(parsed(message), None, "{message:?}");
        }
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(words("tree path='a b'").unwrap(), ["tree", "path=a b"]);
        assert!(words("x a='b").is_err());
    }

    #[test]
    fn every_row_is_found_by_its_own_names_after_both_marks() {
        for row in ROWS {
            for name in row.names {
                assert!(name.chars().all(char::is_alphanumeric), "{name} has a mark");
                for mark in ['/', '!'] {
                    let line = match row.handler {
                        CommandHandler::Bare(_) => format!("{mark}{name}"),
                        CommandHandler::Taking(_) => format!("{mark}{name} x"),
                    };
                    assert_eq!(parsed(&line).unwrap().0, row.names[0], "{line}");
                }
                assert_eq!(parsed(name).is_some(), row.is_word, "{name}");
            }
        }
    }
}
