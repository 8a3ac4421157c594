//! Commands that run others: words of the shell's grammar before a command, programs that start the one in their arguments, and shells with a script.
//!
//! This is for rules that deny: each word of such a program may be the one that begins the other command, whatever its options are. What a rule that allows
//! may be about is in [`super::held`].

use std::ops::Range;

use super::held::{Held, base_name, held};
use super::holders::{Holder, Holds, holder};
use super::simple_command::{KEYWORDS, SimpleCommand, Word, is_assignment};
use crate::base::word_list::WordList;

/// Builtins that run a file.
const SOURCES: WordList = WordList(". source");

/// Builtins that run a script which is not in the place of a command, or not in the text; and the word before patterns.
const OPAQUE: WordList =
    WordList("alias at batch bind case compgen complete enable mapfile readarray");

/// Variables whose value is a command that a program runs which finds it in its environment.
const COMMAND_VARIABLES: WordList = WordList(
    "BROWSER EDITOR GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND \
     GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND LESSCLOSE LESSOPEN MANPAGER PAGER PROMPT_COMMAND \
     RSYNC_RSH SHELL SSH_ASKPASS SUDO_ASKPASS SYSTEMD_PAGER VISUAL",
);

/// What a simple command runs.
pub(super) struct Found {
    /// The command and those that it may run, without keywords and assignments.
    pub commands: Vec<SimpleCommand>,
    /// Scripts that it passes on.
    pub scripts: Vec<String>,
    /// False when it may run something else.
    pub is_whole: bool,
}

pub(super) fn commands_in(command: SimpleCommand) -> Found {
    let mut found = Found {
        commands: Vec::new(),
        scripts: Vec::new(),
        is_whole: true,
    };
    found.look_at_variables(&command);
    let mut command = bare(command);
    let Some(name) = name(&command, 0).map(str::to_owned) else {
        // The name is one that only the shell knows, or there is nothing but keywords and assignments.
        found.is_whole = command.words.is_empty();
        return found;
    };
    if matches!(name.as_str(), "find" | "parallel" | "xargs") {
        found.is_whole &= fill(&mut command, &name);
    }
    if runs_its_words(&command) {
        found.is_whole &= !starts_shell(&command, &name);
        // `watch 'a; b'`, `su -c 'a b'`: one word that a shell reads.
        let arguments = command.words.iter().skip(1);
        let scripts = arguments.filter(|word| word.text.contains(char::is_whitespace));
        found.scripts.extend(scripts.map(|word| word.text.clone()));
    }
    found.look_at_options(&command);
    found.look_for_scripts(&command);
    found.commands.push(command);
    found
}

impl SimpleCommand {
    /// The places of the words at which a command may begin: the first, and in a wrapper each.
    pub(super) fn starts(&self) -> Range<usize> {
        0..if runs_its_words(self) {
            self.words.len()
        } else {
            1
        }
    }
}

impl Found {
    fn look_at_variables(&mut self, command: &SimpleCommand) {
        for word in &command.words {
            let Some((name, value)) = word.text.split_once('=') else {
                continue;
            };
            if COMMAND_VARIABLES.has(name) {
                self.is_whole &= word.is_known;
                // `LESSOPEN='|lesspipe %s'`
                let value = value.trim_start_matches(['|', '-']);
                self.scripts.push(value.to_owned());
            }
        }
    }

    /// Commands that stand in options, of the program or of one that it runs.
    fn look_at_options(&mut self, command: &SimpleCommand) {
        let mut at = 0;
        while let Some(word) = command.words.get(at) {
            if is_assignment(&word.text) {
                at += 1;
                continue;
            }
            let Some(row) = row_at(command, at) else {
                return;
            };
            let (_, rest) = command.words.split_at(at + 1);
            match held(row, rest, 0) {
                Held::Nothing => return,
                Held::At(next) => at += 1 + next,
                Held::InOptions(commands) => return self.take_options(row, rest, &commands),
                Held::Unclear if row.runs_its_operands() => {
                    let others = at + 1..command.words.len();
                    let mut others = others.filter_map(|at| Some((at, row_at(command, at)?)));
                    let Some((next, _)) = others.find(|(_, row)| !row.runs_its_operands()) else {
                        return;
                    };
                    at = next;
                }
                Held::Unclear => return,
            }
        }
    }

    fn take_options(&mut self, row: &Holder, words: &[Word], commands: &[(usize, &str)]) {
        // What env splits is no shell's text.
        self.is_whole &= !commands.is_empty() && !matches!(row.holds, Holds::Operands(_));
        for (at, text) in commands {
            self.is_whole &= words.get(*at).is_some_and(|word| word.is_known);
            self.scripts.push((*text).to_owned());
        }
        if let Some((at, text)) = commands.first() {
            // `fd -x git push`: the words behind it are its own.
            let mut words = words.get(*at..).unwrap_or_default().to_vec();
            if let Some(first) = words.first_mut() {
                first.text = (*text).to_owned();
            }
            self.commands.push(SimpleCommand {
                words,
                is_open: true,
                ..SimpleCommand::default()
            });
        }
    }

    fn look_for_scripts(&mut self, command: &SimpleCommand) {
        let named = |names: WordList| {
            let is_named = move |at: &usize| name(command, *at).is_some_and(|name| names.has(name));
            command.starts().filter(is_named)
        };
        let shells = || {
            let is_shell =
                |at: &usize| row_at(command, *at).is_some_and(|row| row.holds == Holds::Script);
            command.starts().filter(is_shell)
        };
        let after = |at: usize| command.words.get(at + 1..).unwrap_or_default();
        // What comes after the first is also what comes after the others.
        if let Some(first) = shells().next()
            && after(first).iter().any(|word| has_letter(word, 'c'))
        {
            for word in after(first).iter().filter(|word| !is_option(word)) {
                self.is_whole &= word.is_known;
                self.scripts.push(word.text.clone());
            }
        } else if let Some(last) = shells().next_back() {
            self.is_whole &= reads_file(after(last));
        }
        if let Some(first) = named(WordList("eval")).next() {
            let words: Vec<&str> = after(first).iter().map(|word| word.text.as_str()).collect();
            self.is_whole &= after(first).iter().all(|word| word.is_known) && !command.is_open;
            self.scripts.push(words.join(" "));
        }
        if let Some(last) = named(SOURCES).next_back() {
            self.is_whole &= reads_file(after(last));
        }
        self.is_whole &= named(OPAQUE).next().is_none();
    }
}

/// Whether one of the words may be the name of what runs. Shells look for their file on the search path too.
fn runs_its_words(command: &SimpleCommand) -> bool {
    let Some(name) = name(command, 0) else {
        return false;
    };
    let is_start = |starts: WordList| command.words.iter().any(|word| starts.has(&word.text));
    SOURCES.has(name)
        || holder(name).is_some_and(|row| match row.holds {
            Holds::Behind(starts) => is_start(WordList(starts)),
            Holds::Git => is_start(WordList("run foreach")),
            _ => row.runs_its_operands(),
        })
}

fn row_at(command: &SimpleCommand, at: usize) -> Option<&'static Holder> {
    holder(name(command, at)?)
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+'])
}

/// Whether the word is a group of options with this letter.
fn has_letter(word: &Word, letter: char) -> bool {
    is_option(word) && !word.text.starts_with("--") && word.text.contains(letter)
}

/// Whether a shell with these arguments runs a file rather than what it reads.
fn reads_file(arguments: &[Word]) -> bool {
    let file = arguments.iter().find(|word| !is_option(word));
    let is_file = file.is_some_and(|word| word.is_known && !is_device(&word.text));
    is_file && !arguments.iter().any(|word| has_letter(word, 's'))
}

/// A file that is what the command reads.
fn is_device(file: &str) -> bool {
    file.starts_with("/dev/") || file.starts_with("/proc/") || file == "-"
}

/// Marks the words that xargs and its like put in, which nobody knows; false when they may put in a whole command.
fn fill(command: &mut SimpleCommand, name: &str) -> bool {
    let mut is_whole = name != "parallel" || command.words.len() > 1;
    for word in &mut command.words {
        word.is_known &= !word.text.contains("{}");
        let replaces = ["-I", "-i", "-J", "--replace"];
        is_whole &= name == "find" || !replaces.iter().any(|flag| word.text.starts_with(flag));
    }
    command.is_open |= name != "find";
    is_whole
}

/// Whether a wrapper starts a shell that reads its standard input, or splits a word into others.
fn starts_shell(command: &SimpleCommand, name: &str) -> bool {
    let has = |flags: &[&str]| {
        let words = command.words.iter().skip(1);
        words
            .take_while(|word| word.text.starts_with('-') || word.text.contains('='))
            .any(|word| flags.iter().any(|flag| word.text.starts_with(flag)))
    };
    let is_alone = command
        .words
        .iter()
        .skip(1)
        .all(|word| word.text.starts_with('-'));
    match name {
        "sudo" | "doas" => has(&["-s", "-i", "--shell", "--login"]),
        "su" | "runuser" | "ssh" | "chroot" | "unshare" | "nsenter" => {
            is_alone || name == "su" && !has_script(command)
        }
        _ => false,
    }
}

/// Whether `-c` is among the words.
fn has_script(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter();
    words.any(|word| word.text == "-c" || word.text.starts_with("--command"))
}

/// The name of the command that begins at `at`, without folders.
fn name(command: &SimpleCommand, at: usize) -> Option<&str> {
    let word = command.words.get(at).filter(|word| word.is_known)?;
    Some(base_name(&word.text))
}

/// The command without the keywords and assignments before it.
pub(super) fn bare(mut command: SimpleCommand) -> SimpleCommand {
    let is_before = |word: &Word| {
        word.is_known && KEYWORDS.contains(&word.text.as_str()) || is_assignment(&word.text)
    };
    let mut count = 0;
    while let Some(word) = command.words.get(count) {
        if word.text == "function" {
            // Its name stands between.
            count += 2;
        } else if is_before(word) {
            count += 1;
        } else {
            break;
        }
    }
    command.words.drain(..count.min(command.words.len()));
    command
}

/// Whether a program starts the command in its operands.
pub(crate) fn is_wrapper(name: &str) -> bool {
    let wraps = |row: &Holder| {
        matches!(
            row.holds,
            Holds::Operands(_) | Holds::Filled | Holds::Joined | Holds::Remote
        )
    };
    holder(name).is_some_and(wraps)
}
