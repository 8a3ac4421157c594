//! `marvin mcp`: Marvin's tools for other programs, and the servers of others. One file a command.
//!
//! A command is a row of [`COMMANDS`] and its lines in [`FORMS`], from which usage, help, completions and the manual page are made.

mod add;
mod call;
mod console;
mod entry;
mod list;
mod login;
mod prompt;
mod read;
mod remove;
mod save;
mod serve;
mod switch;
mod target;
mod test;
mod used_server;

use crate::app::settings::Settings;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};

/// A command and what it does with the words after it.
type Command = (&'static str, fn(&[String], Settings) -> Outcome<u8>);

const COMMANDS: &[Command] = &[
    ("list", list::run),
    ("add", add::run),
    ("remove", remove::run),
    ("enable", switch::enable),
    ("disable", switch::disable),
    ("test", test::run),
    ("call", call::run),
    ("read", read::run),
    ("prompt", prompt::run),
    ("login", login::login),
    ("logout", login::logout),
    ("serve", serve::run),
];

/// What may follow `marvin mcp`, one form a line: arguments, a tab, what that does.
pub(super) const FORMS: &str = "\
list [--json]\tthe servers of your file and of the project's
add NAME [--env K=V]… [--header 'K: V']… [--project] [--] COMMAND ARGS…\tadd one that is a program
add NAME --url URL [--sse] [--header 'K: V']… [--project]\tadd one that is an address
remove NAME [--project]\tremove one
enable|disable NAME [--project]\tstart it from now on, or not
test NAME [--json] [--login]\tconnect to it, and show its era, version, tools and what else it has
call SERVER TOOL [k=v]… [--json '{…}'] [--raw] [--answers JSON] [--timeout S] [--save DIR] [--login]\tcall a tool; --answers has the values for what it asks, --save keeps what is no text
read SERVER URI [--raw] [--answers JSON] [--save DIR] [--login]\tprint a resource
prompt SERVER NAME [k=v]… [--raw] [--answers JSON] [--login]\tprint the messages of a prompt
login NAME\tsign in to one that is an address, in the browser
logout NAME\trevoke and forget the sign-in
serve [--working-dir DIR] [--tools GROUP,…] [--read-only]\tserve the program that starts it, over standard input and output
serve … [--sandbox MODE] [--sandbox-network on|off] [--add-dir DIR]…\twith more or less for commands than the sandbox lets them change
serve --http [HOST:]PORT …\tserve programs of this machine; without MARVIN_MCP_TOKEN only tools that change nothing";

pub(super) use serve::fixture;

/// `marvin mcp COMMAND …`.
pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let Some((word, words)) = words.split_first() else {
        return Err(usage("", "A command is missing."));
    };
    let names = COMMANDS.iter().map(|(name, _)| *name);
    match COMMANDS.iter().find(|(name, _)| name == word) {
        Some((_, command)) => command(words, settings),
        None => {
            let shown = one_line(&clip(word, 60));
            Err(usage("", &format!("There is no command \"{shown}\".")).near(word, names))
        }
    }
}

/// A mistake in the words after a command, with its forms; all commands where `name` is empty.
fn usage(name: &str, words: &str) -> Problem {
    let forms = FORMS.lines().filter_map(|line| line.split('\t').next());
    let is_of = |form: &&str| {
        let first = form.split(' ').next().unwrap_or_default();
        name.is_empty() || first.split('|').any(|own| own == name)
    };
    let forms = forms.filter(is_of).map(|form| match name {
        "" => form.split(' ').next().unwrap_or_default().to_owned(),
        _ => format!("marvin mcp {form}"),
    });
    let mut forms: Vec<String> = forms.collect();
    forms.dedup();
    let problem = Problem::input(words);
    match name {
        "" => problem
            .next(format!("Usage: marvin mcp {} …", forms.join("|")))
            .next("marvin help mcp says more."),
        _ => problem.next(format!("Usage: {}", forms.join(", or "))),
    }
}

/// A flag that a command does not have.
fn unknown_flag(command: &str, flag: &str, known: &[&str]) -> Problem {
    let shown = one_line(&clip(flag, 60));
    usage(command, &format!("There is no flag {shown} here.")).near(flag, known.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_forms() {
        for (name, _) in COMMANDS {
            let problem = usage(name, "No.");
            assert!(
                problem.next.iter().any(|next| next.contains(name)),
                "{name}"
            );
        }
        for line in FORMS.lines() {
            assert!(line.contains('\t'), "{line}");
        }
    }
}
