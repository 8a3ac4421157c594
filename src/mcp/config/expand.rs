//! Variables in the strings of an entry: `${NAME}` and `${NAME:-default}`. `$NAME` is text, and what is put in is not looked at again.

use std::path::Path;

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;

/// What variables are replaced with.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'a> {
    pub env: &'a Env,
    /// `${workspaceFolder}`.
    pub folder: Option<&'a Path>,
    /// Nothing is replaced.
    pub is_literal: bool,
}

impl Variables<'_> {
    fn value(&self, name: &str) -> Option<String> {
        match name {
            "workspaceFolder" => self.folder.map(|folder| folder.display().to_string()),
            "userHome" => self.env.get("HOME").map(str::to_owned),
            _ => {
                let is_it = |(own, value): (&str, &str)| (own == name).then(|| value.to_owned());
                let empty = || self.env.all().find_map(is_it);
                self.env.get(name).map(str::to_owned).or_else(empty)
            }
        }
    }

    /// The text with its variables replaced.
    ///
    /// # Errors
    /// A variable is not set and has no default.
    pub(crate) fn expand(&self, text: &str) -> Outcome<String> {
        if self.is_literal {
            return Ok(text.to_owned());
        }
        let mut expanded = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Text(text) => expanded.push_str(text),
                Part::Variable { name, default } => {
                    let value = self.value(name);
                    // As in a shell, `:-` stands in for an empty value too.
                    let value = value.filter(|value| default.is_none() || !value.is_empty());
                    match value.as_deref().or(default) {
                        Some(value) => expanded.push_str(value),
                        None => return Err(missing(name)),
                    }
                }
            }
        }
        Ok(expanded)
    }
}

/// Around the number of a value in a line that is split: no entry has this character.
const MARK: char = '\u{1}';

impl Variables<'_> {
    /// The words of a line as a shell splits it, with its variables replaced: their values are never split, defaults are. `None` when a quote is not closed.
    ///
    /// # Errors
    /// As [`Self::expand`].
    pub(crate) fn split(&self, line: &str) -> Outcome<Option<Vec<String>>> {
        if self.is_literal {
            return Ok(shlex::split(line));
        }
        let (mut marked, mut values) = (String::new(), Vec::new());
        for part in parts(line) {
            match part {
                Part::Text(text) => marked.push_str(&text.replace(MARK, "")),
                Part::Variable { name, default } => {
                    let value = self.value(name);
                    let value = value.filter(|value| default.is_none() || !value.is_empty());
                    match (value, default) {
                        (Some(value), _) => {
                            marked.push_str(&format!("{MARK}{}{MARK}", values.len()));
                            values.push(value);
                        }
                        (None, Some(default)) => marked.push_str(&default.replace(MARK, "")),
                        (None, None) => return Err(missing(name)),
                    }
                }
            }
        }
        let words = shlex::split(&marked).map(|words| {
            let put_in = |mut word: String| {
                // From the last one on: a value may look like a mark.
                for (number, value) in values.iter().enumerate().rev() {
                    word = word.replace(&format!("{MARK}{number}{MARK}"), value);
                }
                word
            };
            words.into_iter().map(put_in).collect()
        });
        Ok(words)
    }
}

fn missing(name: &str) -> Problem {
    Problem::config(format!("The variable {} is not set.", clip(name, 60)))
        .next("Set it, or give it a default in the entry: ${NAME:-default}.")
}

/// The names of the variables in a text, but for those that everybody has.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Variable {
            name: "workspaceFolder" | "userHome",
            ..
        }
        | Part::Text(_) => None,
        Part::Variable { name, .. } => Some(name),
    })
}

enum Part<'a> {
    Text(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else {
            break;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        parts.push(Part::Text(before));
        parts.push(Part::Variable { name, default });
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_a_missing_one_is_named() {
        let env = Env::from([
            ("HOME", "/home/ann"),
            ("KEY", "k-1"),
            ("NESTED", "${KEY}"),
            ("EMPTY", ""),
        ]);
        let variables = Variables {
            env: &env,
            folder: Some(Path::new("/src/app")),
            is_literal: false,
        };
        for (text, expanded) in [
            ("Bearer ${KEY}!", "Bearer k-1!"),
            ("${MISSING:-a:-b}${KEY:-no}", "a:-bk-1"),
            ("${EMPTY}|${EMPTY:-some}|${MISSING:-}", "|some|"),
            ("$KEY ${NESTED} ${", "$KEY ${KEY} ${"),
            ("${workspaceFolder}:${userHome}", "/src/app:/home/ann"),
        ] {
            assert_eq!(variables.expand(text).unwrap(), expanded);
        }
        for (line, words) in [
            ("${userHome}/run 'a b'", Some(vec!["/home/ann/run", "a b"])),
            (
                "${MISSING:-python3 x.py} ${KEY}",
                Some(vec!["python3", "x.py", "k-1"]),
            ),
            ("\"${NESTED} x\"", Some(vec!["${KEY} x"])),
            ("'a", None),
        ] {
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(variables.split(line).unwrap(), words, "{line}");
        }
        let problem = variables.expand("a ${MISSING}").unwrap_err().one_line();
        assert!(problem.contains("MISSING"), "{problem}");
        let found: Vec<&str> = names("${A}/${B:-x} ${userHome} $C").collect();
        assert_eq!(found, ["A", "B"]);
    }
}
