//! The commands of the conversation. One table drives parsing, help, completion and what they do.
//!
//! A command is its name after a mark: `/help`, or `!help`. Some names work as a word of their own too. What follows `!` and is no command goes to the
//! shell; what follows `/` and is none is a message if it names a path, and answered here otherwise.

mod rows;

use super::conversation::Conversation;
use super::facts::Facts;
use super::flow::Flow;
use super::jobs::Jobs;
use super::model::Model;
use super::orders::Orders;
use super::project_question::ProjectQuestion;
use super::run::Run;
use super::voice::Voice;
use super::workplace::Workplace;
use crate::app::help as topics;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
pub(crate) use rows::ROWS;

pub(crate) struct CommandSpec {
    /// Names without a mark, the preferred one first.
    pub names: &'static [&'static str],
    /// Arguments as the help shows them.
    pub args: &'static str,
    pub about: &'static str,
    /// Takes the text after the name. Otherwise a line with more words is a message.
    takes_text: bool,
    /// Works without a mark too.
    is_word: bool,
    /// Works in shell mode without a mark too.
    in_shell_mode: bool,
    /// Its name for other programs, which can offer it: it needs neither a screen nor somebody who answers.
    pub name_for_programs: Option<&'static str>,
    handler: CommandHandler,
}

/// What a command is given beside the part that it changes.
pub(super) struct CommandCall<'a> {
    /// The text after its name.
    rest: &'a str,
    run: &'a Run,
    facts: &'a Facts,
    orders: &'a mut Orders,
}

impl<'a> CommandCall<'a> {
    pub(super) fn new(run: &'a Run, facts: &'a Facts, orders: &'a mut Orders) -> Self {
        Self {
            rest: "",
            run,
            facts,
            orders,
        }
    }
}

/// The parts of a session that commands change.
pub(super) struct Parts<'a> {
    pub(super) conversation: &'a mut Conversation,
    pub(super) flow: &'a mut Flow,
    pub(super) jobs: &'a mut Jobs,
    pub(super) model: &'a mut Model,
    pub(super) voice: &'a mut Voice,
    pub(super) workplace: &'a mut Workplace,
    pub(super) project: &'a mut ProjectQuestion,
}

/// What a command does, and the part that it does it with.
#[derive(Clone, Copy)]
enum CommandHandler {
    /// With none: it shows or orders something.
    Free(fn(&mut CommandCall<'_>) -> Outcome<()>),
    Conversation(fn(&mut Conversation, &mut CommandCall<'_>) -> Outcome<()>),
    Flow(fn(&mut Flow, &mut CommandCall<'_>) -> Outcome<()>),
    Jobs(fn(&mut Jobs, &mut CommandCall<'_>) -> Outcome<()>),
    Model(fn(&mut Model, &mut CommandCall<'_>) -> Outcome<()>),
    Voice(fn(&mut Voice, &mut CommandCall<'_>) -> Outcome<()>),
    Workplace(fn(&mut Workplace, &mut CommandCall<'_>) -> Outcome<()>),
    Project(fn(&mut ProjectQuestion, &mut CommandCall<'_>) -> Outcome<()>),
}

const fn bare(
    names: &'static [&'static str],
    about: &'static str,
    handler: CommandHandler,
) -> CommandSpec {
    CommandSpec {
        names,
        args: "",
        about,
        takes_text: false,
        is_word: false,
        in_shell_mode: false,
        name_for_programs: None,
        handler,
    }
}

const fn taking(
    names: &'static [&'static str],
    args: &'static str,
    about: &'static str,
    handler: CommandHandler,
) -> CommandSpec {
    CommandSpec {
        args,
        takes_text: true,
        ..bare(names, about, handler)
    }
}

impl CommandSpec {
    const fn word(mut self) -> Self {
        self.is_word = true;
        self
    }

    const fn for_programs(mut self, name: &'static str) -> Self {
        self.name_for_programs = Some(name);
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
        match self.takes_text {
            false => rest.is_empty(),
            // `/sh` without a command enters shell mode.
            true => !(rest.is_empty() && self.has_name(SHELL)),
        }
    }
}

/// The name of the command that runs a shell command.
const SHELL: &str = "sh";
const SHELL_MARK: char = '!';
const MARK: char = '/';

pub(super) struct SessionCommand<'a> {
    row: &'static CommandSpec,
    /// The text after its name.
    rest: &'a str,
    /// Works in this form in shell mode too.
    pub in_shell_mode: bool,
}

impl SessionCommand<'_> {
    /// Its row.
    pub(super) fn spec(&self) -> &'static CommandSpec {
        self.row
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The words after the name are wrong, or it cannot be done.
    pub(super) fn run(&self, parts: Parts<'_>, call: CommandCall<'_>) -> Outcome<()> {
        let call = &mut CommandCall {
            rest: self.rest,
            ..call
        };
        match self.row.handler {
            CommandHandler::Free(run) => run(call),
            CommandHandler::Conversation(run) => run(parts.conversation, call),
            CommandHandler::Flow(run) => run(parts.flow, call),
            CommandHandler::Jobs(run) => run(parts.jobs, call),
            CommandHandler::Model(run) => run(parts.model, call),
            CommandHandler::Voice(run) => run(parts.voice, call),
            CommandHandler::Workplace(run) => run(parts.workplace, call),
            CommandHandler::Project(run) => run(parts.project, call),
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
        row,
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
    let near = text::nearest(name, names());
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
    let row = rows.find(|row| row.has_name(SHELL) && row.takes_text)?;
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

/// The names of all commands, without their mark.
pub(crate) fn names() -> Vec<&'static str> {
    let names = ROWS.iter().flat_map(|row| row.names);
    names.copied().collect()
}

/// The commands that need no screen, and their names for programs.
pub(crate) fn for_programs() -> impl Iterator<Item = (&'static str, &'static CommandSpec)> {
    let rows = ROWS.iter();
    rows.filter_map(|row| Some((row.name_for_programs?, row)))
}

/// Whether other programs can offer the command of this name.
pub(super) fn is_for_programs(name: &str) -> bool {
    for_programs().any(|(_, row)| row.has_name(name))
}

/// The commands with their arguments and what they do.
pub(crate) fn described() -> Vec<(String, &'static str)> {
    let rows = ROWS.iter();
    rows.map(|row| (row.synopsis(), row.about)).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The preferred name of the command and the text after its name; `None` for a message.
    fn parsed(line: &str) -> Option<(&'static str, String)> {
        match read(line) {
            InputLine::Command(command) => Some((command.row.names[0], command.rest.to_owned())),
            InputLine::Mistake(problem) => Some(("mistake", problem.one_line())),
            InputLine::Message => None,
        }
    }

    fn is(line: &str, name: &'static str, rest: &str) {
        assert_eq!(parsed(line), Some((name, rest.to_owned())), "{line:?}");
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
    fn every_row_is_found_by_its_own_names_after_both_marks() {
        for row in ROWS {
            for name in row.names {
                assert!(name.chars().all(char::is_alphanumeric), "{name} has a mark");
                for mark in ['/', '!'] {
                    let line = match row.takes_text {
                        false => format!("{mark}{name}"),
                        true => format!("{mark}{name} x"),
                    };
                    assert_eq!(parsed(&line).unwrap().0, row.names[0], "{line}");
                }
                assert_eq!(parsed(name).is_some(), row.is_word, "{name}");
            }
        }
    }
}
