//! The arguments of a program that can run a command, read by its row.

use super::holders::{Holder, Holds};
use super::simple_command::Word;
use crate::base::word_list::WordList;

/// What the arguments of a program say that matters.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    /// Where the operands are; only the first one when the others may be another program's.
    pub operands: Vec<usize>,
    /// Text of the program's own language in options, with its place.
    pub texts: Vec<(usize, &'a str)>,
    /// Where an option has a command, and what of the word is the command.
    pub commands: Vec<(usize, &'a str)>,
    /// False when words are not known that may be options, or an option is not.
    pub is_clear: bool,
    /// An option says so itself, or a word that the shell makes, in a way that is not taken apart.
    pub may_hide: bool,
    /// An option names a file of the program's own language.
    pub has_file: bool,
}

/// What a letter or a name means, by the mark at the end of its entry.
#[derive(Clone, Copy)]
enum OptionMark {
    Flag,
    Value,
    InItsWord,
    Command,
    Setting,
    Text,
    File,
}

/// Reads `words` behind the program; what an option says among the first `said` of them is told by the rule itself.
pub(super) fn read<'a>(row: &Holder, words: &'a [Word], said: usize) -> Arguments<'a> {
    let reader = ArgumentReader {
        row,
        words,
        said,
        is_strict: matches!(
            row.holds,
            Holds::Operands(_) | Holds::Filled | Holds::Joined | Holds::Behind(_) | Holds::Script
        ),
        is_exact: false,
        is_shell: row.holds == Holds::Script,
    };
    let reader = ArgumentReader {
        is_exact: reader.is_strict || matches!(row.holds, Holds::Awk | Holds::Sed),
        ..reader
    };
    let mut found = Arguments {
        is_clear: true,
        ..Arguments::default()
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.text == "--" && word.is_known {
            let last = if reader.is_strict {
                at + 2
            } else {
                words.len()
            };
            found.operands.extend(at + 1..last.min(words.len()));
            break;
        }
        if !word.is_known && at >= said && may_begin_with_dash(word) {
            found.is_clear = false;
            found.may_hide |= word.text.starts_with('{');
        }
        if !reader.is_option(word) {
            found.operands.push(at);
            // What follows is for a program, or for another machine.
            let is_last = match row.holds {
                Holds::Remote => found.operands.len() > 1,
                Holds::Awk => true,
                _ => reader.is_strict,
            };
            if is_last {
                break;
            }
            at += 1;
            continue;
        }
        at += 1 + reader.option(at, &word.text, &mut found);
        if reader.is_strict && !found.is_clear {
            break;
        }
    }
    found
}

struct ArgumentReader<'r, 'a> {
    row: &'r Holder,
    words: &'a [Word],
    said: usize,
    /// Options are not shortened, and the first operand is the last word that is read.
    is_strict: bool,
    /// Each option has to be one that is known.
    is_exact: bool,
    /// Each letter that has a value takes a word of its own for it, and options begin with a plus sign too.
    is_shell: bool,
}

impl<'a> ArgumentReader<'_, 'a> {
    fn is_option(&self, word: &Word) -> bool {
        let plus = self.is_shell || self.row.options.has("+");
        word.text.starts_with('-') && (word.text.len() > 1 || self.is_strict)
            || plus && word.text.starts_with('+')
    }

    /// Takes in the option in the word at `at`; gives how many words behind it are its values.
    fn option(&self, at: usize, text: &'a str, found: &mut Arguments<'a>) -> usize {
        if let Some(command) = text.strip_prefix('+').filter(|_| !self.is_shell) {
            self.command(at, command, found);
            return 0;
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if let Some(mark) = self.long(name) {
            return self.value(at, mark, value, found);
        }
        if name.starts_with("--") || name == "-" {
            found.is_clear &= !self.is_exact;
            return 0;
        }
        let mut values = 0;
        for (place, letter) in text.char_indices().skip(1) {
            let rest = text.get(place + letter.len_utf8()..).unwrap_or_default();
            let Some(mark) = self.letter(letter) else {
                found.is_clear &= !self.is_exact;
                continue;
            };
            match mark {
                OptionMark::Flag => {}
                _ if self.is_shell => {
                    values += 1;
                    let value = self.words.get(at + values);
                    let is_known = value.is_none_or(|word| word.is_known);
                    // Some shells take what is left of the word for the value.
                    found.is_clear &= rest.is_empty() && is_known;
                }
                // `zip -TT COMMAND` is one option; in `env -uu COMMAND` the second letter is a value.
                OptionMark::Command if !rest.is_empty() && rest.chars().all(|c| c == letter) => {
                    self.command(at, rest, found);
                    return self.value(at, mark, None, found);
                }
                _ => return self.value(at, mark, (!rest.is_empty()).then_some(rest), found),
            }
        }
        values
    }

    fn value(
        &self,
        at: usize,
        mark: OptionMark,
        own: Option<&'a str>,
        found: &mut Arguments<'a>,
    ) -> usize {
        if matches!(mark, OptionMark::Flag | OptionMark::InItsWord) {
            return 0;
        }
        let (place, mut behind) = if own.is_some() { (at, 0) } else { (at + 1, 1) };
        let Some(word) = self.words.get(place) else {
            return behind;
        };
        // It may become several words, of which the others are no value.
        found.is_clear &= own.is_some() || word.is_known || place < self.said;
        if !self.is_strict && may_begin_with_dash(word) {
            // Another program of this name may have no value here.
            behind = 0;
        }
        let text = own.unwrap_or(&word.text);
        match mark {
            OptionMark::Command => self.command(place, text, found),
            OptionMark::Setting => self.setting(place, text, found),
            OptionMark::Text => found.texts.push((place, text)),
            OptionMark::File => found.has_file = true,
            _ => {}
        }
        behind
    }

    fn command(&self, at: usize, text: &'a str, found: &mut Arguments<'a>) {
        if at >= self.said {
            found.commands.push((at, text));
        }
    }

    /// `NAME=COMMAND`, or `NAME COMMAND`; in git a command may have a mark before it.
    fn setting(&self, at: usize, text: &'a str, found: &mut Arguments<'a>) {
        let (name, command) = text.split_once(['=', ' ']).unwrap_or((text, text));
        let section = name.split_inclusive('.').next().unwrap_or_default();
        let is_harmless = |name: &str| self.row.harmless.has_in_any_case(name);
        let is_whole = self.words.get(at).is_some_and(|word| word.is_known);
        if is_whole && (is_harmless(name) || section.ends_with('.') && is_harmless(section)) {
            return;
        }
        // An alias is a command of git's, with all that it may hold.
        if matches!(
            section.to_ascii_lowercase().as_str(),
            "alias." | "include." | "includeif."
        ) {
            found.may_hide |= at >= self.said;
            return;
        }
        self.command(at, command.trim_start_matches(['!', '"', ' ']), found);
    }

    /// What `--name` or `-name` means. Programs take the beginning of a name for the whole.
    fn long(&self, name: &str) -> Option<OptionMark> {
        let (dashes, letters) = match name.strip_prefix("--") {
            Some(letters) => ("--", letters),
            None => ("-", name.get(1..)?),
        };
        let is_meant = |entry: &&str| {
            let Some(own) = entry.strip_prefix('-') else {
                return false;
            };
            let own_name = own.trim_start_matches('-').trim_end_matches(MARKS);
            match (own.starts_with('-'), dashes) {
                (true, "--") if self.is_strict && !entry.ends_with('!') => own_name == letters,
                (true, "--") => own_name.starts_with(letters) && !letters.is_empty(),
                (true, _) => false,
                (false, _) => own_name == letters,
            }
        };
        self.row.options.iter().find(is_meant).map(mark_of)
    }

    fn letter(&self, letter: char) -> Option<OptionMark> {
        let entries = self.row.options.iter();
        let mut letters = entries.filter(|entry| !entry.starts_with(['-', '+']));
        let entry = letters.find(|entry| entry.trim_end_matches(MARKS).contains(letter))?;
        Some(mark_of(entry))
    }
}

const MARKS: [char; 6] = [':', '=', '!', '?', '@', '%'];

fn mark_of(entry: &str) -> OptionMark {
    match entry.chars().next_back() {
        Some(':') => OptionMark::Value,
        Some('=') => OptionMark::InItsWord,
        Some('!') => OptionMark::Command,
        Some('?') => OptionMark::Setting,
        Some('@') => OptionMark::Text,
        Some('%') => OptionMark::File,
        _ => OptionMark::Flag,
    }
}

/// Whether a word may become an option once the shell has made it.
fn may_begin_with_dash(word: &Word) -> bool {
    match word.start() {
        "" => true,
        start => start.starts_with(['-', '+']),
    }
}

/// Whether one of these words may be what the shell makes of this one.
pub(super) fn may_be_one_of(word: &Word, others: WordList) -> bool {
    others.iter().any(|other| match word.is_known {
        true => word.text == other,
        false => other.starts_with(word.start()) && other.ends_with(word.end()),
    })
}
