//! Commands that run others: words of the shell's grammar before a command, programs that start the one in their arguments, and shells with a script.
//!
//! Which options of such a program take a value is not told apart: each word may be the one that begins the other command.

use std::ops::Range;

use super::simple_command::{SimpleCommand, Word};
use crate::base::word_list::WordList;

/// Programs that run the command in their arguments.
pub(crate) const WRAPPERS: WordList = WordList(
    "builtin busybox bwrap caffeinate chronic chroot chrt command coproc dbus-run-session doas \
     env exec fakeroot find firejail flock gtimeout ionice ltrace nice nohup nsenter numactl \
     parallel perf pkexec prlimit proot runuser script setarch setpriv setsid ssh stdbuf strace \
     su sudo systemd-run taskset time timeout torsocks toybox trap unbuffer unshare valgrind \
     watch xargs xvfb-run",
);

/// Wrappers that fill in words that are not in their arguments.
const FILLING: [&str; 3] = ["find", "parallel", "xargs"];

/// What stands before a command among the arguments of find.
const FIND_STARTS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Programs that run a script: that of `-c`, else a file, else their standard input.
const SHELLS: WordList = WordList(
    "ash bash csh dash elvish fish ksh mksh nu oksh osh pdksh posh pwsh rbash rksh rzsh sh tcsh \
     yash zsh",
);

/// Builtins that run a file.
const SOURCES: WordList = WordList(". source");

/// Words of the grammar that a command may follow.
const KEYWORDS: [&str; 13] = [
    "!", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while", "{", "}",
];

/// Builtins that run a script which is not in the place of a command, or not in the text; and the word before patterns.
const OPAQUE: WordList =
    WordList("alias at batch bind case compgen complete enable mapfile readarray");

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
    let mut command = bare(command);
    let mut found = Found {
        commands: Vec::new(),
        scripts: Vec::new(),
        is_whole: true,
    };
    let Some(name) = name(&command, 0).map(str::to_owned) else {
        // The name is one that only the shell knows, or there is nothing but keywords and assignments.
        found.is_whole = command.words.is_empty();
        return found;
    };
    if FILLING.contains(&name.as_str()) {
        found.is_whole &= fill(&mut command, &name);
    }
    if runs_its_words(&name) {
        found.is_whole &= !starts_shell(&command, &name);
        // `watch 'a; b'`, `su -c 'a b'`: one word that a shell reads.
        let arguments = command.words.iter().skip(1);
        let scripts = arguments.filter(|word| word.text.contains(char::is_whitespace));
        found.scripts.extend(scripts.map(|word| word.text.clone()));
    }
    found.look_for_scripts(&command);
    found.commands.push(command);
    found
}

impl SimpleCommand {
    /// The places of the words at which a command may begin: the first, and in a wrapper each.
    pub(super) fn starts(&self) -> Range<usize> {
        let is_wrapper = name(self, 0).is_some_and(runs_its_words);
        0..if is_wrapper { self.words.len() } else { 1 }
    }
}

impl SimpleCommand {
    /// Whether it holds another command of which nothing stands in its first `said` words.
    pub(super) fn passes_on(&self, said: usize) -> bool {
        let Some(name) = name(self, 0) else {
            return false;
        };
        let words = || self.words.iter().enumerate().skip(1);
        // That only says where it is.
        let asks_where = |(_, word): (usize, &Word)| matches!(word.text.as_str(), "-v" | "-V");
        if name == "command" && words().next().is_some_and(asks_where) {
            return false;
        }
        let is_other = |word: &Word| !is_option(word) && !is_assignment(&word.text);
        let is_after = |is: &dyn Fn(&Word) -> bool| {
            let mut after = words().skip_while(|(at, _)| *at < said);
            after.any(|(_, word)| is(word))
        };
        if name == "find" {
            return is_after(&|word| FIND_STARTS.contains(&word.text.as_str()));
        }
        if words().any(|(at, word)| at < said && is_other(word)) {
            return false;
        }
        if SHELLS.has(name) {
            return is_after(&|word| has_letter(word, 'c'));
        }
        let is_wrapper = WRAPPERS.has(name) || name == "eval";
        is_wrapper && (is_after(&is_other) || starts_shell(self, name))
    }
}

impl Found {
    fn look_for_scripts(&mut self, command: &SimpleCommand) {
        let named = |names: WordList| {
            let is_named = move |at: &usize| name(command, *at).is_some_and(|name| names.has(name));
            command.starts().filter(is_named)
        };
        let after = |at: usize| command.words.get(at + 1..).unwrap_or_default();
        // What comes after the first is also what comes after the others.
        if let Some(first) = named(SHELLS).next()
            && after(first).iter().any(|word| has_letter(word, 'c'))
        {
            for word in after(first).iter().filter(|word| !is_option(word)) {
                self.is_whole &= word.is_known;
                self.scripts.push(word.text.clone());
            }
        } else if let Some(last) = named(SHELLS).next_back() {
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

/// Whether one of the words behind `name` may be the name of what runs. Shells look for their file on the search path too.
fn runs_its_words(name: &str) -> bool {
    WRAPPERS.has(name) || SHELLS.has(name) || SOURCES.has(name)
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+'])
}

/// Whether the word is a group of options with this letter.
fn has_letter(word: &Word, letter: char) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
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
        "env" => has(&["-S", "--split-string"]),
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
    word.text.rsplit('/').next()
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

/// `NAME=…`, `NAME+=…`, `NAME[…]=…`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_letter) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}
