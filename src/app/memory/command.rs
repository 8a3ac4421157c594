//! The words after `marvin memory` and `/memory`.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use jiff::civil::Date;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::store::memory::EraseTarget;

/// Days and places of a page, unless the user says how many, and of what the conversation shows without a command.
const PAGE_SIZE: usize = 50;
const OVERVIEW_SIZE: usize = 8;

/// What may follow, one form a line: its words, a tab, what that does.
pub(crate) const FORMS: &str = "\
    show [--limit N] [--page K] [--json]\tprint what is remembered, the latest days first, N days and places a page\n\
    search WORD… [--json]\tprint where the words occur\n\
    forget WORD… [--everywhere] [--yes]\terase what has these whole words in it, after showing it\n\
    forget YYYY-MM-DD|all [--everywhere] [--yes]\terase a day, or everything; --everywhere: in the chat log, sessions and input history too\n\
    forget node ID [--yes]\terase a place of the graph with all below it\n\
    export [FILE]\twrite it to a file, or to standard output\n\
    import FILE\tread such a file\n\
    clean\tremove failures of the assistant from the diary; asks the model\n\
    topics\tmake one of topics that mean the same; asks the model";

/// The days and places that are shown at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// The first is 1, with the latest days.
    pub number: usize,
    pub size: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            number: 1,
            size: PAGE_SIZE,
        }
    }
}

impl Page {
    /// The numbers of its places among `count`.
    pub(super) fn of(self, count: usize) -> Range<usize> {
        let start = self.number.saturating_sub(1).saturating_mul(self.size);
        start.min(count)..start.saturating_add(self.size).min(count)
    }

    /// The numbers of its days among `count`, of which the last is the latest.
    pub(super) fn latest(self, count: usize) -> Range<usize> {
        let Range { start, end } = self.of(count);
        count - end..count - start
    }

    /// How many pages that makes.
    pub(super) fn pages(self, count: usize) -> usize {
        count.div_ceil(self.size.max(1)).max(1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemoryCommand {
    /// Without a page the first one, and as JSON everything.
    Show {
        page: Option<Page>,
        json: bool,
    },
    Search {
        words: Vec<String>,
        json: bool,
    },
    Forget {
        target: EraseTarget,
        /// In the chat log, the sessions and the input history too.
        everywhere: bool,
        yes: bool,
    },
    /// To standard output without a file.
    Export {
        file: Option<PathBuf>,
    },
    Import {
        file: PathBuf,
    },
    /// Removes failures of the assistant from the diary; needs a model.
    Clean,
    /// Makes one of topics that mean the same; needs a model.
    Topics,
    /// Says what the commands are.
    Help,
}

impl MemoryCommand {
    /// # Errors
    /// The words are no command; the problem has the usage.
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let mut given: Vec<&str> = Vec::new();
        let mut flags: Vec<&str> = Vec::new();
        let (mut limit, mut page) = (None, None);
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match (name, value) {
                ("--", None) => given.extend(words.by_ref()),
                ("--help" | "-h", None) => return Ok(Self::Help),
                ("--json" | "--yes" | "--everywhere", None) => flags.push(name),
                ("-y", None) => flags.push("--yes"),
                ("--limit", value) => {
                    limit = Some(number("--limit", value.or_else(|| words.next()))?);
                }
                ("--page", value) => {
                    page = Some(number("--page", value.or_else(|| words.next()))?);
                }
                (flag, _) if flag.starts_with("--") => {
                    let what = format!("There is no flag \"{}\" here.", short(flag));
                    return Err(usage(&what));
                }
                _ => given.push(word),
            }
        }
        let Some((name, rest)) = given.split_first() else {
            return Err(usage("A command is missing."));
        };
        let has = |flag: &str| flags.contains(&flag);
        let own = |words: &&str| (*words).to_owned();
        let command = match (*name, rest) {
            ("show", []) => Self::Show {
                page: (limit.is_some() || page.is_some()).then(|| Page {
                    number: page.unwrap_or(1),
                    size: limit.unwrap_or(PAGE_SIZE),
                }),
                json: has("--json"),
            },
            ("search", [_, ..]) => Self::Search {
                words: rest.iter().map(own).collect(),
                json: has("--json"),
            },
            ("forget", [_, ..]) => Self::Forget {
                target: target(rest),
                everywhere: has("--everywhere"),
                yes: has("--yes"),
            },
            ("export", []) => Self::Export { file: None },
            ("export", [file]) => Self::Export {
                file: Some(PathBuf::from(file)),
            },
            ("import", [file]) => Self::Import {
                file: PathBuf::from(file),
            },
            ("clean", []) => Self::Clean,
            ("topics", []) => Self::Topics,
            ("help", _) => Self::Help,
            (name, _) => {
                let known: Vec<&str> = forms_of(name).collect();
                return Err(match known.is_empty() {
                    true => unknown(name),
                    false => Problem::input("The words after the command are wrong.")
                        .next(format!("It is: {}.", known.join(", or "))),
                });
            }
        };
        let pages = [(limit, "--limit"), (page, "--page")].into_iter();
        let pages = pages.filter_map(|(given, flag)| given.map(|_| flag));
        let taken: &[&str] = match command {
            Self::Show { .. } => &["--json", "--limit", "--page"],
            Self::Search { .. } => &["--json"],
            Self::Forget { .. } => &["--yes", "--everywhere"],
            _ => &[],
        };
        let wrong = flags.iter().copied().chain(pages);
        if let Some(flag) = wrong.into_iter().find(|flag| !taken.contains(flag)) {
            return Err(usage(&format!("{name} takes no {flag}.")));
        }
        match command {
            Self::Forget {
                target: EraseTarget::Node(_),
                everywhere: true,
                ..
            } => Err(
                Problem::input("A place of the graph was never said, so it is nowhere else.")
                    .next("--everywhere goes with words, a day or all."),
            ),
            command => Ok(command),
        }
    }

    /// What the conversation shows without a command: the latest days, and a part of the graph.
    pub(crate) fn overview() -> Self {
        Self::Show {
            page: Some(Page {
                number: 1,
                size: OVERVIEW_SIZE,
            }),
            json: false,
        }
    }

    pub(crate) fn needs_model(&self) -> bool {
        matches!(self, Self::Clean | Self::Topics)
    }
}

fn target(words: &[&str]) -> EraseTarget {
    match words {
        ["all"] => EraseTarget::All,
        ["node", id] => EraseTarget::Node((*id).to_owned()),
        ["word", word @ ..] if !word.is_empty() => EraseTarget::Word(word.join(" ")),
        [day] => match day.parse::<Date>() {
            Ok(date) => EraseTarget::Day(date),
            Err(_) => EraseTarget::Word((*day).to_owned()),
        },
        words => EraseTarget::Word(words.join(" ")),
    }
}

/// A number of at least 1 behind a flag.
fn number(flag: &str, value: Option<&str>) -> Outcome<usize> {
    let number = value.and_then(|value| value.parse().ok());
    number.filter(|number| *number > 0).ok_or_else(|| {
        usage(&format!(
            "{flag} needs a number from 1 on, not \"{}\".",
            short(value.unwrap_or_default())
        ))
    })
}

/// Each form and what it does.
fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = FORMS.lines();
    lines.map(|line| line.split_once('\t').unwrap_or((line, "")))
}

fn forms_of(name: &str) -> impl Iterator<Item = &'static str> {
    let forms = forms().map(|(form, _)| form);
    forms.filter(move |form| form.split(' ').next() == Some(name))
}

pub(super) fn help() -> String {
    let mut out = String::from("/memory alone shows the latest; otherwise:\n");
    for (form, does) in forms() {
        let _ = write!(out, "  /memory {form}\n      {does}\n");
    }
    out.push_str("/help memory says more.\n");
    out
}

fn unknown(name: &str) -> Problem {
    let names = forms().filter_map(|(form, _)| form.split(' ').next());
    usage(&format!("There is no command \"{}\".", short(name))).near(name, names)
}

fn short(word: &str) -> String {
    one_line(&clip(word, 60))
}

fn usage(what: &str) -> Problem {
    let forms: Vec<&str> = forms().map(|(form, _)| form).collect();
    Problem::input(what.to_owned()).next(format!("The commands: {}.", forms.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn parse(line: &str) -> Outcome<MemoryCommand> {
        let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        MemoryCommand::parse(&words)
    }

    #[test]
    fn words_become_commands() {
        let forget = |target, yes| MemoryCommand::Forget {
            target,
            everywhere: false,
            yes,
        };
        let show = |page: Option<(usize, usize)>, json| MemoryCommand::Show {
            page: page.map(|(number, size)| Page { number, size }),
            json,
        };
        for (line, command) in [
            ("show", show(None, false)),
            ("--json show", show(None, true)),
            ("show --limit 5", show(Some((1, 5)), false)),
            ("show --page=3 --limit=7 --json", show(Some((3, 7)), true)),
            ("show --page 2", show(Some((2, PAGE_SIZE)), false)),
            ("forget porto --help", MemoryCommand::Help),
            ("-h", MemoryCommand::Help),
            (
                "forget porto --everywhere -y",
                MemoryCommand::Forget {
                    target: EraseTarget::Word("porto".into()),
                    everywhere: true,
                    yes: true,
                },
            ),
            (
                "export a.json",
                MemoryCommand::Export {
                    file: Some("a.json".into()),
                },
            ),
            ("forget all --yes", forget(EraseTarget::All, true)),
            (
                "forget 2026-03-01",
                forget(EraseTarget::Day(date(2026, 3, 1)), false),
            ),
            (
                "forget node user",
                forget(EraseTarget::Node("user".into()), false),
            ),
            (
                "forget word all",
                forget(EraseTarget::Word("all".into()), false),
            ),
            (
                "forget Corvid Lighthouse",
                forget(EraseTarget::Word("Corvid Lighthouse".into()), false),
            ),
            (
                "forget -- --yes",
                forget(EraseTarget::Word("--yes".into()), false),
            ),
            (
                "forget word",
                forget(EraseTarget::Word("word".into()), false),
            ),
            ("topics", MemoryCommand::Topics),
        ] {
            assert_eq!(parse(line).unwrap(), command, "{line}");
        }
    }

    #[test]
    fn wrong_words_are_answered_with_the_usage() {
        for (line, said) in [
            ("", "no command \"\""),
            ("shwo", "Did you mean \"show\"?"),
            ("show all", "It is: show [--limit N] [--page K] [--json]."),
            ("show --limit", "needs a number from 1 on, not \"\""),
            ("show --page 0", "needs a number from 1 on, not \"0\""),
            ("search tea --page 2", "takes no --page"),
            ("search tea --everywhere", "takes no --everywhere"),
            ("forget node x --everywhere", "was never said"),
            ("forget", "forget WORD"),
            ("search", "search WORD"),
            ("show --yes", "takes no --yes"),
            ("export --json", "takes no --json"),
            ("show --all", "no flag \"--all\""),
        ] {
            let problem = parse(line).unwrap_err().one_line();
            assert!(problem.contains(said), "{line}: {problem}");
        }
        let help = help();
        for (form, does) in forms() {
            assert!(help.contains(form) && help.contains(does), "{form}");
        }
        let problem = MemoryCommand::parse(&[]).unwrap_err().one_line();
        assert!(problem.contains("import FILE"), "{problem}");
    }

    #[test]
    fn pages_take_the_latest_days_first_and_places_in_order() {
        let page = |number, size| Page { number, size };
        assert_eq!(page(1, 4).latest(10), 6..10);
        assert_eq!(page(3, 4).latest(10), 0..2);
        assert_eq!(page(4, 4).latest(10), 0..0);
        assert_eq!(page(2, 4).of(10), 4..8);
        assert_eq!(page(usize::MAX, usize::MAX).of(10), 10..10);
        assert_eq!((page(1, 4).pages(0), page(1, 4).pages(9)), (1, 3));
    }
}
