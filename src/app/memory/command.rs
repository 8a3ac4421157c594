//! The words after `marvin memory` and `/memory`.

use std::path::PathBuf;

use jiff::civil::Date;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{capitalize, clip, did_you_mean, one_line};
use crate::store::memory::EraseTarget;

/// The commands, as usage shows them.
const COMMANDS: [(&str, &str); 7] = [
    ("show", "show [--json]"),
    ("search", "search WORD… [--json]"),
    ("forget", "forget WORD…|YYYY-MM-DD|node ID|all [--yes]"),
    ("export", "export [FILE]"),
    ("import", "import FILE"),
    ("clean", "clean"),
    ("topics", "topics"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemoryCommand {
    Show {
        json: bool,
    },
    Search {
        words: Vec<String>,
        json: bool,
    },
    Forget {
        target: EraseTarget,
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
}

impl MemoryCommand {
    /// # Errors
    /// The words are no command; the problem has the usage.
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let mut given: Vec<&str> = Vec::new();
        let (mut json, mut yes) = (false, false);
        let mut words_only = false;
        for word in words {
            match word.as_str() {
                word if words_only => given.push(word),
                "--" => words_only = true,
                "--json" => json = true,
                "--yes" | "-y" => yes = true,
                flag if flag.starts_with("--") => {
                    return Err(usage(&format!(
                        "There is no flag \"{}\" here.",
                        short(flag)
                    )));
                }
                word => given.push(word),
            }
        }
        let Some((name, rest)) = given.split_first() else {
            return Err(usage("A command is missing."));
        };
        let command = match (*name, rest) {
            ("show", []) => Self::Show { json },
            ("search", [_, ..]) => Self::Search {
                words: rest.iter().map(|word| (*word).to_owned()).collect(),
                json,
            },
            ("forget", [_, ..]) => Self::Forget {
                target: target(rest),
                yes,
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
            (name, _) => {
                let known = COMMANDS.iter().find(|(known, _)| *known == name);
                return Err(match known {
                    Some((_, form)) => Problem::input("The words after the command are wrong.")
                        .next(format!("It is: {form}.")),
                    None => unknown(name),
                });
            }
        };
        let takes_json = matches!(command, Self::Show { .. } | Self::Search { .. });
        if json && !takes_json || yes && !matches!(command, Self::Forget { .. }) {
            let flag = if yes { "--yes" } else { "--json" };
            return Err(usage(&format!("{name} takes no {flag}.")));
        }
        Ok(command)
    }

    /// Whether it calls a model.
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

fn unknown(name: &str) -> Problem {
    let problem = usage(&format!("There is no command \"{}\".", short(name)));
    match did_you_mean(name, COMMANDS.map(|(name, _)| name)) {
        Some(hint) => problem.next(capitalize(&hint)),
        None => problem,
    }
}

fn short(word: &str) -> String {
    one_line(&clip(word, 60))
}

fn usage(what: &str) -> Problem {
    let forms = COMMANDS.map(|(_, form)| form).join(", ");
    Problem::input(what.to_owned()).next(format!("The commands: {forms}."))
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
        let forget = |target, yes| MemoryCommand::Forget { target, yes };
        for (line, command) in [
            ("show", MemoryCommand::Show { json: false }),
            ("--json show", MemoryCommand::Show { json: true }),
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
            ("show all", "It is: show [--json]."),
            ("forget", "forget WORD"),
            ("search", "search WORD"),
            ("show --yes", "takes no --yes"),
            ("export --json", "takes no --json"),
            ("show --all", "no flag \"--all\""),
        ] {
            let problem = parse(line).unwrap_err().one_line();
            assert!(problem.contains(said), "{line}: {problem}");
        }
        let problem = MemoryCommand::parse(&[]).unwrap_err().one_line();
        assert!(problem.contains("import FILE"), "{problem}");
    }
}
