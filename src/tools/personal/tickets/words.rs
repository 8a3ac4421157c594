//! Parses the options of the script's commands.

use super::show::Filter;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::front_matter::{NewTicket, tags};
use crate::store::tickets::change::KINDS;

/// Splits a word from a value attached with `=`.
fn cut(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
        _ => (word, None),
    }
}

/// The error for an option that does not exist.
pub(super) fn unknown(option: &str) -> Problem {
    Problem::input(format!(
        "Unknown option: {}",
        clip(&escape_controls(option), 80)
    ))
}

fn value<'a>(
    flag: &str,
    glued: Option<&'a str>,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Outcome<&'a str> {
    glued
        .or_else(|| rest.next().map(String::as_str))
        .ok_or_else(|| Problem::input(format!("{flag} needs a value")))
}

/// Parses the words of `create`. Of several titles the last one counts; after `--` a title may start with a hyphen. The assignee is `None` when not
/// given.
///
/// # Errors
/// An unknown option, one without its value, or an invalid value.
pub(super) fn create(words: &[String]) -> Outcome<(NewTicket, Option<String>)> {
    let mut new = NewTicket::default();
    let mut assignee = None;
    let mut rest = words.iter();
    let mut plain = false;
    while let Some(word) = rest.next() {
        if plain || !word.starts_with('-') || word.contains(char::is_whitespace) {
            new.title.clone_from(word);
            continue;
        }
        let (flag, glued) = cut(word);
        let mut value = || value(flag, glued, &mut rest).map(str::to_owned);
        match flag {
            "--" => plain = true,
            "-d" | "--description" => new.description = value()?,
            "--design" => new.design = value()?,
            "--acceptance" => new.acceptance = value()?,
            "-p" | "--priority" => new.priority = priority(&value()?)?,
            "-t" | "--type" => new.kind = kind(&value()?)?,
            "-a" | "--assignee" => assignee = Some(value()?),
            "--external-ref" => new.external_ref = value()?,
            "--parent" => new.parent = value()?,
            "--tags" => new.tags = tags(&value()?),
            _ => {
                return Err(unknown(word).next("A title that begins with a hyphen goes behind --."));
            }
        }
    }
    Ok((new, assignee))
}

fn priority(text: &str) -> Outcome<i64> {
    let number = text.trim().trim_start_matches(['P', 'p']).parse();
    number
        .ok()
        .filter(|number| (0..=4).contains(number))
        .ok_or_else(|| {
            Problem::input(format!(
                "invalid priority '{}'. Must be 0 (highest) to 4",
                clip(&escape_controls(text), 80)
            ))
        })
}

fn kind(text: &str) -> Outcome<String> {
    let known = KINDS.iter().find(|kind| **kind == text.trim());
    known.map(|kind| (*kind).to_owned()).ok_or_else(|| {
        Problem::input(format!(
            "invalid type '{}'. Must be one of: {}",
            clip(&escape_controls(text), 80),
            KINDS.join(" ")
        ))
    })
}

/// Parses the words of a list: filters, and a limit if there is one.
///
/// # Errors
/// An unknown option, or one without its value.
pub(super) fn filter(words: &[String]) -> Outcome<(Filter, Option<usize>)> {
    let mut filter = Filter::default();
    let mut limit = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (flag, glued) = cut(word);
        let mut value = || value(flag, glued, &mut rest).map(str::to_owned);
        match flag {
            "--status" => filter.status = value()?,
            "-a" | "--assignee" => filter.assignee = value()?,
            "-T" | "--tag" => filter.tag = value()?,
            "--limit" => {
                let text = value()?;
                limit = Some(text.parse().map_err(|_| {
                    Problem::input(format!(
                        "--limit needs a number, not '{}'",
                        clip(&escape_controls(&text), 80)
                    ))
                })?);
            }
            _ => return Err(unknown(word)),
        }
    }
    Ok((filter, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        shlex::split(text).unwrap()
    }

    #[test]
    fn create_takes_the_scripts_options() {
        let (new, assignee) = create(&words(
            "First -d 'two words' --design=D --acceptance A -p 0 -t bug -a '' --external-ref gh-1 --parent x --tags a,b Last",
        ))
        .unwrap();
        assert_eq!(
            (
                new.title.as_str(),
                new.description.as_str(),
                new.design.as_str(),
                new.acceptance.as_str()
            ),
            ("Last", "two words", "D", "A")
        );
        assert_eq!(
            (new.priority, new.kind.as_str(), assignee.as_deref()),
            (0, "bug", Some(""))
        );
        assert_eq!(
            (
                new.parent.as_str(),
                new.tags.len(),
                new.external_ref.as_str()
            ),
            ("x", 2, "gh-1")
        );
        assert_eq!(create(&words("-- -v")).unwrap().0.title, "-v");
        assert_eq!(create(&words("'- a thing'")).unwrap().0.title, "- a thing");
        for (text, said) in [
            ("-x", "Unknown option: -x"),
            ("-d", "-d needs a value"),
            ("-p 9", "invalid priority '9'"),
            ("-t bugs", "invalid type 'bugs'"),
        ] {
            let problem = create(&words(text)).unwrap_err().what;
            assert!(problem.starts_with(said), "{problem}");
        }
    }

    #[test]
    fn lists_take_filters() {
        let (found, limit) =
            filter(&words("--status=open -a 'Ann Ex' --tag ui --limit=3")).unwrap();
        assert_eq!(
            (
                found.status.as_str(),
                found.assignee.as_str(),
                found.tag.as_str()
            ),
            ("open", "Ann Ex", "ui")
        );
        assert_eq!(limit, Some(3));
        assert!(filter(&words("--limit=x")).is_err() && filter(&words("-T")).is_err());
    }
}
