//! Whether a rule about the first words of a command has said what the command runs.
//!
//! A rule about `env` is none about the program behind it: it allows no command that holds another one unless its words reach into that one, however many
//! programs stand before it, and no word that only the shell knows may turn out to be an option. What cannot be seen to hold nothing is not said.

use super::arguments::{Arguments, may_be_one_of, read};
use super::awk_program;
use super::holders::{Holder, Holds, git_holder, holder};
use super::sed_script;
use super::simple_command::{KEYWORDS, Word, is_assignment};
use crate::base::word_list::WordList;

/// The command that the arguments of a program hold.
pub(super) enum Held<'a> {
    Nothing,
    /// It begins at this word.
    At(usize),
    /// It is in options: the place of each, and what of the word it is. None when it is in code that is not taken apart.
    InOptions(Vec<(usize, &'a str)>),
    /// There may be one.
    Unclear,
}

/// Whether the first `said` of the words, which are those of a rule, name every command that may run.
pub(super) fn is_said(words: &[Word], said: usize) -> bool {
    says(words, said, true)
}

fn says(words: &[Word], said: usize, may_find: bool) -> bool {
    let mut at = 0;
    let mut is_filled = false;
    while let Some(word) = words.get(at) {
        if is_assignment(&word.text) {
            at += 1;
            continue;
        }
        let is_keyword = KEYWORDS.contains(&word.text.as_str());
        if at >= said || !word.is_known || is_keyword || at > 0 && word.text.starts_with('-') {
            return false;
        }
        let Some(row) = holder(base_name(&word.text)) else {
            return true;
        };
        if is_filled {
            return false;
        }
        let (_, rest) = words.split_at(at + 1);
        let said_here = said.saturating_sub(at + 1);
        if asks_where(&word.text, rest) {
            return true;
        }
        if let Holds::Find(_) = row.holds {
            return may_find && find_says(row, rest, said_here);
        }
        match held(row, rest, said_here) {
            Held::Nothing => return true,
            Held::At(next) => {
                let is_plain = |word: &Word| word.is_known && word.text.chars().all(is_plain);
                let operands = rest.get(next..).unwrap_or_default();
                if next < said_here && row.holds == Holds::Joined && !operands.iter().all(is_plain)
                {
                    return false;
                }
                is_filled |= row.holds == Holds::Filled;
                at += 1 + next;
            }
            Held::InOptions(_) | Held::Unclear => return false,
        }
    }
    true
}

/// `command -v NAME` only says where it is.
fn asks_where(name: &str, rest: &[Word]) -> bool {
    let first = rest.first().filter(|word| word.is_known);
    name == "command" && first.is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
}

/// What the words behind a program hold, of which a rule has said the first `said`.
pub(super) fn held<'a>(row: &Holder, words: &'a [Word], said: usize) -> Held<'a> {
    if let [word] = words
        && word.is_known
        && matches!(word.text.as_str(), "--help" | "--version")
    {
        return Held::Nothing;
    }
    match row.holds {
        Holds::Operands(before) => behind_options(row, words, said, before),
        Holds::Filled | Holds::Joined => behind_options(row, words, said, 0),
        Holds::Behind(starts) => match behind_options(row, words, said, 0) {
            Held::At(at) => match words.get(at) {
                Some(word) if word.is_known && WordList(starts).has(&word.text) => {
                    let (_, rest) = words.split_at(at + 1);
                    after(
                        at + 1,
                        behind_options(row, rest, said.saturating_sub(at + 1), 0),
                    )
                }
                Some(word) if word.is_known => Held::Nothing,
                _ => Held::Unclear,
            },
            other => other,
        },
        Holds::Script => match behind_options(row, words, said, 0) {
            // A file, whose own is what comes behind it; a bare name may be that of a program, which shells look for too.
            Held::At(at) if at < said || words.get(at).is_some_and(is_file) => Held::Nothing,
            Held::At(_) => Held::Unclear,
            other => other,
        },
        Holds::Git => git(words, said),
        Holds::Find(_) | Holds::Anything => Held::Unclear,
        Holds::BundledOptions => bundled(row, words, said),
        Holds::Options | Holds::Remote => in_options(&read(row, words, said)),
        Holds::Variables => variables(row, words, said),
        Holds::Awk => in_text(row, words, said, awk_program::may_run),
        Holds::Sed => in_text(row, words, said, sed_script::may_run),
    }
}

fn behind_options<'a>(row: &Holder, words: &'a [Word], said: usize, before: usize) -> Held<'a> {
    let arguments = read(row, words, said);
    match in_options(&arguments) {
        Held::Nothing => {}
        other => return other,
    }
    let at = arguments.operands.first().map(|first| first + before);
    match at.filter(|at| *at < words.len()) {
        Some(at) => Held::At(at),
        None => Held::Nothing,
    }
}

fn in_options<'a>(arguments: &Arguments<'a>) -> Held<'a> {
    match (arguments.may_hide, arguments.commands.is_empty()) {
        (true, _) => Held::InOptions(Vec::new()),
        (false, false) => Held::InOptions(arguments.commands.clone()),
        (false, true) if arguments.is_clear => Held::Nothing,
        (false, true) => Held::Unclear,
    }
}

/// `held` found `by` words further on.
fn after(by: usize, held: Held<'_>) -> Held<'_> {
    match held {
        Held::At(at) => Held::At(by + at),
        Held::InOptions(commands) => {
            let commands = commands.into_iter();
            Held::InOptions(commands.map(|(at, text)| (by + at, text)).collect())
        }
        other => other,
    }
}

/// `tar xIf`: a first word without a dash is one of options, whose values are the words behind it.
fn bundled<'a>(row: &Holder, words: &'a [Word], said: usize) -> Held<'a> {
    let is_bundle = |word: &&Word| !word.text.starts_with('-');
    if let Some(first) = words.first().filter(is_bundle) {
        let letters = Word {
            text: format!("-{}", first.text),
            ..first.clone()
        };
        let each = |letter: char| Word {
            text: format!("-{letter}"),
            ..letters.clone()
        };
        let value = Word::default();
        let has_command = |letter| {
            let words = [each(letter), value.clone()];
            !read(row, &words, 0).commands.is_empty()
        };
        if first.text.chars().any(has_command) || !first.is_known {
            return Held::InOptions(Vec::new());
        }
    }
    in_options(&read(row, words, said))
}

/// `make SHELL=…`: the value of a variable is a command if the makefile makes it one.
fn variables<'a>(row: &Holder, words: &'a [Word], said: usize) -> Held<'a> {
    let arguments = read(row, words, said);
    let found = in_options(&arguments);
    if !matches!(found, Held::Nothing) {
        return found;
    }
    let operands = arguments.operands.iter().filter(|at| **at >= said);
    let mut is_clear = true;
    for word in operands.filter_map(|at| words.get(*at)) {
        let Some((name, value)) = word.text.split_once('=') else {
            continue;
        };
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        is_clear &= value.chars().all(is_number) || matches!(value, "y" | "n" | "yes" | "no");
        if name.contains("SHELL")
            || name.contains("FLAGS") && name.starts_with('M')
            || value.contains(['$', '`'])
        {
            return Held::InOptions(Vec::new());
        }
    }
    if is_clear {
        Held::Nothing
    } else {
        Held::Unclear
    }
}

/// A program whose code is the first operand or the value of options.
fn in_text<'a>(
    row: &Holder,
    words: &'a [Word],
    said: usize,
    may_run: impl Fn(&str) -> bool,
) -> Held<'a> {
    let arguments = read(row, words, said);
    let mut texts = arguments.texts.clone();
    if texts.is_empty() && !arguments.has_file {
        let first = arguments.operands.first();
        texts.extend(first.and_then(|at| Some((*at, words.get(*at)?.text.as_str()))));
    }
    let is_known = |at: usize| words.get(at).is_some_and(|word| word.is_known);
    let is_behind = |(at, _): &&(usize, &str)| *at >= said;
    let mut texts = texts.iter().filter(is_behind);
    if texts
        .clone()
        .any(|(at, text)| is_known(*at) && may_run(text))
    {
        return Held::InOptions(Vec::new());
    }
    match texts.all(|(at, _)| is_known(*at)) {
        true => in_options(&arguments),
        false => Held::Unclear,
    }
}

fn git(words: &[Word], said: usize) -> Held<'_> {
    let Some(own) = git_holder("git") else {
        return Held::Unclear;
    };
    match behind_options(own, words, said, 0) {
        Held::At(at) => {
            let (_, rest) = words.split_at(at + 1);
            match words.get(at).filter(|word| word.is_known) {
                Some(word) => match git_holder(&word.text) {
                    Some(row) => after(at + 1, held(row, rest, said.saturating_sub(at + 1))),
                    None => Held::Nothing,
                },
                None => Held::InOptions(Vec::new()),
            }
        }
        other => other,
    }
}

/// `find … -exec …`, more than once.
fn find_says(row: &Holder, words: &[Word], said: usize) -> bool {
    let Holds::Find(starts) = row.holds else {
        return false;
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if !may_be_one_of(word, WordList(starts)) {
            continue;
        }
        let (_, rest) = words.split_at(at);
        let is_end = |word: &Word| matches!(word.text.as_str(), ";" | "+");
        let len = rest.iter().position(is_end).unwrap_or(rest.len());
        let filled = rest
            .iter()
            .take(len)
            .map(|word| match word.text.contains("{}") {
                // A path, which begins with a folder that was given.
                true => Word {
                    text: "./*".to_owned(),
                    is_known: false,
                    is_pattern: true,
                },
                false => word.clone(),
            });
        let filled: Vec<Word> = filled.collect();
        if !word.is_known || !says(&filled, said.saturating_sub(at), false) {
            return false;
        }
        at += len;
    }
    true
}

fn is_file(word: &Word) -> bool {
    word.text.contains(['/', '.'])
}

/// Characters that mean nothing to a shell.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./:=@,+%-".contains(c)
}

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests;
