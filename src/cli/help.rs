//! `--help`, `marvin help` and the help of a subcommand, from the tables and the topics.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use super::out;
use super::subcommands::{self, Subcommand};
use crate::app::help::layout::{self, Style};
use crate::app::help::markup::Block;
use crate::app::help::{self, DEFAULT_COLUMNS, HelpTables, search};
use crate::app::settings::flag::{Flag, FlagGroup, ValueMode};
use crate::app::settings::flags;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::NO_COLOR;

pub(crate) const ABOUT: &str =
    "Marvin: a terminal assistant, a coding agent and a sub-agent, in one binary.";

/// How to call it, and what that does.
pub(crate) const USAGE: [(&str, &str); 4] = [
    (
        "marvin [FLAGS] [PROMPT]",
        "a conversation, with a first prompt",
    ),
    (
        "marvin --non-interactive --prompt TEXT",
        "one answer, for programs",
    ),
    ("marvin [FLAGS] SUBCOMMAND …", "one of those below"),
    ("marvin -- PROMPT", "a prompt that begins like a subcommand"),
];

/// The exit status in short.
const STATUSES: [(&str, &str); 3] = [
    ("0", "the answer is complete"),
    (
        "1",
        "it is not, or nothing was done; standard error says why",
    ),
    ("129, 130, 143", "the terminal was closed, Ctrl-C, SIGTERM"),
];

/// Widest line of an explanation beside the text.
const MAX_COLUMNS: usize = 100;

pub(crate) fn screen() -> String {
    let mut out = format!("{ABOUT}\n\n");
    for (usage, does) in USAGE {
        let _ = writeln!(out, "  {usage:<38}  {does}");
    }
    out.push_str("\nFlags that most people need (all: marvin help flags):\n");
    for group in FlagGroup::ALL {
        for flag in flags::all().filter(|flag| flag.group == group) {
            if let Some(brief) = flag.brief {
                let _ = writeln!(out, "  {:<24}  {brief}", aligned(flag));
            }
        }
    }
    let (further, most): (Vec<_>, Vec<_>) =
        subcommands::listed().partition(|command| command.is_further);
    let further: Vec<&str> = further.iter().map(|command| command.name).collect();
    let _ = writeln!(
        out,
        "\nSubcommands (each has --help; also {}):",
        further.join(", ")
    );
    for command in most {
        let _ = writeln!(out, "  {:<12}  {}", command.name, command.doc);
    }
    out.push_str("\nExit status (all: marvin help scripts):\n");
    for (status, when) in STATUSES {
        let _ = writeln!(out, "  {status:<13}  {when}");
    }
    out.push_str(
        "\nmarvin help lists topics, marvin help TOPIC explains one; marvin man has it all.\n",
    );
    out
}

/// A flag with its long name below those of the others.
fn aligned(flag: &Flag) -> String {
    let short = flag.short.map(|short| format!("-{short}, "));
    let value = match flag.takes {
        ValueMode::Nothing => String::new(),
        ValueMode::Value(value) | ValueMode::Any(value) => format!(" {value}"),
        ValueMode::Maybe(value) => format!(" [{value}]"),
    };
    format!("{:<4}--{}{value}", short.unwrap_or_default(), flag.long)
}

/// `marvin help [TOPIC|SUBCOMMAND|-s WORD…]`.
pub(super) fn run(words: &[String], env: &Env, tables: &HelpTables) -> Outcome<String> {
    let is_terminal = io::stdout().is_terminal();
    let style = Style {
        is_bold: is_terminal && env.get("TERM") != Some("dumb") && NO_COLOR.read(env).is_none(),
        found: Vec::new(),
    };
    let columns = out::width().unwrap_or(DEFAULT_COLUMNS).min(MAX_COLUMNS);
    match words {
        [] => Ok(index()),
        [flag, words @ ..] if flag == "-s" || flag == "--search" => {
            search::search(&documents(tables), words, columns, style.is_bold)
        }
        [flag, ..] if flag.starts_with('-') => Err(Problem::input(format!(
            "marvin help has no flag \"{}\".",
            crate::base::text::one_line(flag)
        ))
        .next("marvin help -s WORD searches; marvin help flags explains flags.")),
        [word] => {
            let mut blocks = Vec::new();
            let topic = help::find(word);
            let command = subcommands::find(&word.to_lowercase());
            blocks.extend(command.map(usage).unwrap_or_default());
            blocks.extend(topic.map(|topic| topic.blocks(tables)).unwrap_or_default());
            if blocks.is_empty() {
                let names = subcommands::listed().map(|command| command.name);
                return Err(help::unknown(word, names)
                    .next(format!("Or search: marvin help -s {}", shell_word(word))));
            }
            Ok(layout::text(&blocks, columns, &style))
        }
        words => Err(Problem::input("marvin help takes one topic or subcommand.")
            .next("marvin help -s WORD… searches for words.")
            .next(format!(
                "If it is a prompt: marvin -- help {}",
                shell_word(&words.join(" "))
            ))),
    }
}

/// `word` as it may be typed in a hint: one line, and short.
fn shell_word(word: &str) -> String {
    crate::base::text::one_line(&crate::base::text::clip(word, 60))
}

fn index() -> String {
    format!(
        "Topics (marvin help TOPIC):\n{}\nSubcommands have help too: marvin help SUBCOMMAND. To search: marvin help -s WORD.\n\
         Everything on one page: marvin man. In a conversation: /help TOPIC, and F1 for the keys.\n",
        help::index()
    )
}

/// All that is searched: the subcommands and the topics.
fn documents(tables: &HelpTables) -> Vec<search::Document> {
    let commands = subcommands::listed().map(|command| {
        let title = format!("marvin {} --help", command.name);
        (title, usage(command))
    });
    let topics = help::topics().map(|topic| {
        let title = format!("marvin help {}", topic.name);
        (title, topic.blocks(tables))
    });
    commands.chain(topics).collect()
}

pub(crate) fn subcommand(name: &str) -> String {
    let Some(command) = subcommands::find(name) else {
        return String::new();
    };
    let columns = out::width().unwrap_or(DEFAULT_COLUMNS).min(MAX_COLUMNS);
    let mut text = layout::text(&usage(command), columns, &Style::PLAIN);
    if help::find(name).is_some() {
        let _ = write!(text, "\nmarvin help {name} says more.\n");
    }
    text
}

/// What a subcommand does and how it is called.
pub(crate) fn usage(command: &Subcommand) -> Vec<Block> {
    let name = command.name;
    let forms = command.forms().map(|(arguments, does)| {
        let form = format!("marvin {name} {arguments}");
        (form.trim_end().to_owned(), does.to_owned())
    });
    let mut blocks = vec![
        Block::Paragraph(command.doc.to_owned()),
        Block::Heading("Usage:".to_owned()),
        Block::Rows(forms.collect()),
    ];
    if !command.flags.is_empty() {
        let flags: Vec<String> = command
            .flags
            .iter()
            .map(|flag| format!("`--{flag}`"))
            .collect();
        blocks.push(Block::Paragraph(format!(
            "Flags before it: {}.",
            flags.join(", ")
        )));
    }
    blocks
}
