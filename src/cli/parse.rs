//! Parses arguments using the tables of flags and subcommands.

use std::ffi::OsString;

use lexopt::{Arg, Parser};

use super::subcommands::{self, Subcommand};
use crate::app::settings::flag::{Flag, ValueMode, text as utf8};
use crate::app::settings::json_flags::JsonFlags;
use crate::app::settings::session::SessionFlags;
use crate::app::settings::{CliArgs, flags};
use crate::base::problem::{Outcome, Problem};
use crate::base::text;

pub(crate) enum CliCommand {
    /// A conversation, or an answer to one prompt.
    Run(Box<CliArgs>),
    /// A subcommand with the flags before it and the arguments after it.
    Sub(&'static str, Box<CliArgs>, Vec<OsString>),
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// An unknown flag (with the nearest one), a missing or superfluous value, text that is not UTF-8.
pub(crate) fn parse(args: Vec<OsString>) -> Outcome<CliCommand> {
    parse_words(args, false)
}

/// Parses the arguments of a run: no word among them is a subcommand.
///
/// # Errors
/// As [`parse`].
pub(super) fn of_run(args: Vec<OsString>) -> Outcome<CliArgs> {
    match parse_words(args, true)? {
        CliCommand::Run(args) => Ok(*args),
        CliCommand::Sub(name, ..) => Err(Problem::internal(format!(
            "{name} was taken for a subcommand."
        ))),
    }
}

fn parse_words(args: Vec<OsString>, mut words_only: bool) -> Outcome<CliCommand> {
    let mut typed = CliArgs::default();
    let mut given: Vec<GivenFlag> = Vec::new();
    let mut parser = Parser::from_args(args);
    // The subcommand whose flags follow, and what follows beside them.
    let mut named: Option<&'static Subcommand> = None;
    let mut rest: Vec<OsString> = Vec::new();
    loop {
        // After `--` no word is a subcommand.
        words_only |= next_is(&mut parser, "--");
        let Some(arg) = parser.next().map_err(wrong)? else {
            break;
        };
        let (flag, name) = match arg {
            Arg::Value(word) => {
                if let Some(command) = named {
                    let shown = text::clip(&text::escape_controls(&word.to_string_lossy()), 60);
                    return Err(Problem::input(format!(
                        "marvin {} takes no words, but got \"{shown}\".",
                        command.name
                    ))
                    .next(format!(
                        "marvin {} --help shows what it takes.",
                        command.name
                    )));
                }
                let is_first = typed.prompt.words.is_empty()
                    && !words_only
                    && typed.command.supervise.is_none();
                let first = word.to_str().filter(|_| is_first);
                if let Some(command) = first.and_then(subcommands::find) {
                    if command.flags_follow {
                        named = Some(command);
                        continue;
                    }
                    let rest = parser.raw_args().map_err(wrong)?.collect();
                    return subcommand(command, typed, &given, rest, false);
                }
                typed.prompt.words.push(utf8(word, "the prompt")?);
                continue;
            }
            Arg::Long(SETUP) if named.is_some() => {
                rest.push(format!("--{SETUP}").into());
                continue;
            }
            Arg::Long(name) => (
                flags::long(name).ok_or_else(|| unknown(name))?,
                format!("--{name}"),
            ),
            Arg::Short(short) => {
                let flag = flags::all().find(|flag| flag.short == Some(short));
                (
                    flag.ok_or_else(|| unknown(&short.to_string()))?,
                    format!("-{short}"),
                )
            }
        };
        let value = match flag.takes {
            ValueMode::Nothing => {
                if let Some(value) = parser.optional_value() {
                    return Err(Problem::input(format!(
                        "{name} takes no value, but got \"{}\".",
                        value.to_string_lossy()
                    )));
                }
                OsString::new()
            }
            ValueMode::Any(what) => any_value(&mut parser, &name, what)?,
            ValueMode::Value(what) => one_value(&mut parser, &name, what)?,
            ValueMode::Maybe(_) => match parser.optional_value() {
                Some(value) => value,
                None => next_word(&mut parser).unwrap_or_default(),
            },
        };
        if flag.is_unbuilt {
            return Err(unbuilt(&name));
        }
        (flag.apply)(&mut typed, value).map_err(|problem| as_typed(problem, flag, &name))?;
        given.push(GivenFlag { flag, name });
    }
    if let Some(command) = named {
        // A program has started it and decides, as in every run in which nobody is there.
        typed.non_interactive = true;
        return subcommand(command, typed, &given, rest, true);
    }
    together(&typed)?;
    Ok(CliCommand::Run(Box::new(typed)))
}

/// What a subcommand whose flags follow takes beside them.
const SETUP: &str = "setup";

/// A flag of the command line as it was typed, `-c` or `--continue`.
struct GivenFlag {
    flag: &'static Flag,
    name: String,
}

/// A subcommand after the flags in `given`.
fn subcommand(
    command: &'static Subcommand,
    mut typed: CliArgs,
    given: &[GivenFlag],
    rest: Vec<OsString>,
    flags_follow: bool,
) -> Outcome<CliCommand> {
    if typed.command.version {
        return Ok(CliCommand::Run(Box::new(typed)));
    }
    let name = command.name;
    let is_useless = |given: &&GivenFlag| {
        let flag = given.flag;
        // What is ignored everywhere is ignored here.
        flag.long != "help" && flag.long != "no-bytecode" && !command.flags.contains(&flag.long)
    };
    if let Some(useless) = given.iter().find(is_useless) {
        let flag = &useless.name;
        if flags_follow {
            return Err(
                Problem::input(format!("marvin {name} has no use for {flag}."))
                    .next(format!("Leave it out (marvin {name} --help).")),
            );
        }
        return Err(Problem::input(format!(
            "marvin {name} has no use for {flag}, which comes before it."
        ))
        .next(format!(
            "Leave it out (marvin {name} --help), or put -- before the words of a prompt: marvin {flag} … -- {name} …"
        )));
    }
    let rest = match command.flags_among_words {
        true => take_flags(command, &mut typed, rest)?,
        false => rest,
    };
    Ok(CliCommand::Sub(name, Box::new(typed), rest))
}

/// Applies the subcommand's flags among its words, and gives the words without them.
fn take_flags(
    command: &Subcommand,
    typed: &mut CliArgs,
    words: Vec<OsString>,
) -> Outcome<Vec<OsString>> {
    let mut left = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            left.push(word);
            left.extend(words);
            break;
        }
        let text = word.to_str().and_then(|word| word.strip_prefix("--"));
        let (name, inline) = match text.map(|text| text.split_once('=').unwrap_or((text, ""))) {
            Some((name, value)) if text != Some(name) => (name, Some(OsString::from(value))),
            Some((name, _)) => (name, None),
            None => ("", None),
        };
        let Some(flag) = flags::long(name).filter(|flag| command.flags.contains(&flag.long)) else {
            left.push(word);
            continue;
        };
        let value = inline.or_else(|| words.next());
        let value = value.ok_or_else(|| Problem::input(format!("--{name} needs a value.")))?;
        (flag.apply)(typed, value)?;
    }
    Ok(left)
}

fn next_is(parser: &mut Parser, word: &str) -> bool {
    let rest = parser.try_raw_args();
    rest.is_some_and(|rest| rest.peek().is_some_and(|next| next == word))
}

/// Flags that mean something only beside others.
fn together(typed: &CliArgs) -> Outcome<()> {
    SessionFlags::check(typed)?;
    JsonFlags::check(typed)?;
    if typed.pipeline.is_wanted && typed.working_dir.is_none() {
        return Err(Problem::input(
            "--design-first needs the folder to build in: --working-dir DIR.",
        )
        .next("For example: marvin --design-first --working-dir DIR --prompt \"…\"; marvin help pipeline says more."));
    }
    let alone = [
        (typed.pipeline.allow_dirty, "--allow-dirty"),
        (typed.pipeline.in_place, "--in-place"),
        (typed.pipeline.branch.is_some(), "--branch"),
        (typed.pipeline.feature.is_some(), "--feature"),
        (typed.pipeline.until.is_some(), "--until"),
        (typed.pipeline.from.is_some(), "--from"),
        (!typed.pipeline.approve.is_empty(), "--approve"),
    ];
    match alone
        .iter()
        .find(|(given, _)| *given && !typed.pipeline.is_wanted)
    {
        Some((_, flag)) => Err(Problem::input(format!(
            "{flag} is only for the pipeline: give it with --design-first."
        ))),
        None => Ok(()),
    }
}

/// The flag's value. One that starts with `-` is accepted only after `=`.
fn one_value(parser: &mut Parser, name: &str, what: &str) -> Outcome<OsString> {
    if let Some(value) = parser.optional_value() {
        return Ok(value);
    }
    next_word(parser).ok_or_else(|| {
        Problem::input(format!("{name} needs a value ({what}).")).next(format!(
            "A value that begins with a dash is given as {name}=VALUE."
        ))
    })
}

/// The flag's value, whatever it begins with: also the next flag, as in every program that takes such values.
fn any_value(parser: &mut Parser, name: &str, what: &str) -> Outcome<OsString> {
    if let Some(value) = parser.optional_value() {
        return Ok(value);
    }
    let next = parser.try_raw_args().and_then(|mut rest| rest.next());
    next.ok_or_else(|| {
        Problem::input(format!("{name} needs a value ({what})."))
            .next(format!("An empty one is given as {name}=\"\"."))
    })
}

/// The error for a flag of other programs that this one does not have.
fn unbuilt(name: &str) -> Problem {
    let instead = match name {
        "--settings" => "Give what it sets as flags; marvin help flags lists them.",
        "--plugin-dir" => {
            "Give its servers with --mcp-config; its skills and hooks belong in the project's .marvin folder or in your own."
        }
        _ => "Leave it out.",
    };
    Problem::input(format!("{name} is not supported.")).next(instead)
}

/// Takes the next word unless it starts with `-`.
fn next_word(parser: &mut Parser) -> Option<OsString> {
    let mut rest = parser.try_raw_args()?;
    let fits = rest
        .peek()
        .is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-"));
    if fits { rest.next() } else { None }
}

fn wrong(error: lexopt::Error) -> Problem {
    Problem::input(format!("{error}.")).next("marvin help flags lists them.")
}

fn unknown(name: &str) -> Problem {
    let shown = text::escape_controls(&text::clip(name, 60));
    let dashes = if name.chars().count() == 1 { "-" } else { "--" };
    let problem = Problem::input(format!("There is no flag \"{dashes}{shown}\"."));
    let names = flags::all()
        .filter(|flag| !flag.hidden)
        .map(|flag| flag.long);
    match text::nearest(name, names).first() {
        Some(near) => problem.next(format!(
            "Did you mean --{near}? marvin help flags lists them."
        )),
        None => problem.next("marvin help flags lists them."),
    }
}

/// A problem of a flag in its second spelling names that.
fn as_typed(mut problem: Problem, flag: &Flag, name: &str) -> Problem {
    if flag
        .second
        .is_some_and(|second| name.strip_prefix("--") == Some(second))
    {
        let own = format!("--{}", flag.long);
        let words = problem.next.iter_mut().chain([&mut problem.what]);
        words.for_each(|words| *words = words.replace(&own, name));
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::settings::session::SessionChoice;
    use crate::pipeline::tier::TierOverrides;

    fn typed(args: &[&str]) -> Outcome<CliArgs> {
        match parse(args.iter().map(Into::into).collect())? {
            CliCommand::Run(typed) => Ok(*typed),
            CliCommand::Sub(name, ..) => panic!("subcommand {name}"),
        }
    }

    #[track_caller]
    fn fails(args: &[&str], words: &str) {
        let problem = typed(args).unwrap_err().one_line();
        assert!(problem.contains(words), "{args:?}: {problem}");
    }

    #[test]
    fn both_forms_of_a_value_are_taken_and_dashes_only_with_equals() {
        for (args, prompt) in [(&["--prompt", "a b"][..], "a b"), (&["--prompt=-x"], "-x")] {
            assert_eq!(typed(args).unwrap().prompt.text.as_deref(), Some(prompt));
        }
        fails(&["--prompt", "--stdin"], "--prompt=VALUE");
        fails(&["--stdin=1"], "takes no value");
        assert!(typed(&["-B", "hello", "world"]).unwrap().prompt.words == ["hello", "world"]);
    }

    #[test]
    fn values_that_programs_pass_may_be_empty_and_begin_with_a_dash() {
        for (args, rules) in [
            (
                &["--allowed-tools", "Read,Bash(git -C x log)"][..],
                "Read,Bash(git -C x log)",
            ),
            (&["--allowed-tools", "-x"], "-x"),
            (&["--allowed-tools=-x"], "-x"),
            (&["--allowed-tools", ""], ""),
            (&["--allowed-tools="], ""),
            (&["--allowedTools", "Read"], "Read"),
            (&["--allowedTools=Read"], "Read"),
        ] {
            assert_eq!(
                typed(args).unwrap().access.permissions.allow,
                [rules],
                "{args:?}"
            );
        }
        let twice = typed(&["--disallowed-tools", "a", "--disallowedTools", "b"]).unwrap();
        assert_eq!(twice.access.permissions.deny, ["a", "b"]);
        fails(
            &["--allowed-tools"],
            "--allowed-tools needs a value (RULES)",
        );
        fails(
            &["--permission-mode", "dontask"],
            "Did you mean \"dontAsk\"?",
        );
        for model in [&["--model", "-x"], &["--fallback-model", "-x"]] {
            assert!(typed(model).is_ok(), "{model:?}");
        }
    }

    #[test]
    fn flags_of_a_tool_stand_before_or_after_its_name() {
        for args in [
            &["--sandbox", "read-only", "tool", "tree", "depth=1"][..],
            &["tool", "tree", "--sandbox=read-only", "depth=1"],
            &["tool", "tree", "depth=1", "--sandbox", "read-only"],
        ] {
            match parse(args.iter().map(Into::into).collect()).unwrap() {
                CliCommand::Sub(_, typed, rest) => {
                    assert!(typed.access.sandbox.mode.is_some(), "{args:?}");
                    assert_eq!(rest, ["tree", "depth=1"], "{args:?}");
                }
                CliCommand::Run(_) => panic!("{args:?}"),
            }
        }
        let lacking = parse(
            ["tool", "tree", "--sandbox"]
                .iter()
                .map(Into::into)
                .collect(),
        );
        assert!(lacking.is_err());
    }

    #[test]
    fn ntfy_takes_the_next_word_only_when_there_is_one() {
        for (args, topic) in [
            (&["--ntfy", "topic", "x"][..], "topic"),
            (&["--ntfy", "--stdin"], ""),
            (&["--ntfy"], ""),
        ] {
            let ntfy = typed(args).unwrap().ntfy;
            assert_eq!(ntfy.as_deref(), Some(topic), "{args:?}");
        }
    }

    #[test]
    fn the_last_model_wins_and_a_pair_names_a_tier() {
        let models = ["m", "openai/gpt:free", "plan=a=b"];
        let args = typed(&models.map(|model| ["--model", model]).concat()).unwrap();
        assert_eq!(args.model.model.as_deref(), Some("openai/gpt:free"));
        assert_ne!(args.model.tiers, TierOverrides::default());
        let args = typed(&["--model", "org/model-1.5=x"]).unwrap();
        assert_eq!(args.model.model.as_deref(), Some("org/model-1.5=x"));
        fails(&["--model", "opos=x"], "opus");
    }

    #[test]
    fn the_pipelines_flags_need_each_other() {
        let pipeline = ["--design-first", "--working-dir", "d"];
        assert!(typed(&pipeline).unwrap().non_interactive);
        let args = typed(&[&pipeline[..], &["--allow-dirty", "--branch", "b"]].concat()).unwrap();
        assert!(args.pipeline.allow_dirty && args.pipeline.branch.as_deref() == Some("b"));
        for (alone, named) in [
            (&["--design-first"][..], "--working-dir"),
            (&["--allow-dirty"], "--design-first"),
            (&["--in-place"], "--design-first"),
            (&["--branch", "b"], "--design-first"),
        ] {
            fails(alone, named);
        }
    }

    #[test]
    fn a_session_is_named_by_one_flag_that_makes_sense() {
        let args = typed(&["-r", "3f2a", "go on"]).unwrap();
        assert_eq!(args.session.resume.as_deref(), Some("3f2a"));
        assert_eq!(args.prompt.words, ["go on"]);
        assert!(typed(&["-c", "--fork-session"]).unwrap().session.fork);
        let list = typed(&["--resume"]).unwrap().session.choice();
        assert_eq!(list, SessionChoice::Pick);
        let id = "3f2a91c4-5d17-4c0e-9a43-1b0c6d8e2f70";
        assert!(typed(&["--non-interactive", "--session-id", id]).is_ok());
        for (wrong, named) in [
            (&["-c", "-r", "3f"][..], "both name a session"),
            (&["--fork-session"], "needs the session to copy"),
            (&["--session-id", id], "only for --non-interactive"),
            (&["--non-interactive", "--session-id", "x"], "wants a UUID"),
            (
                &["--non-interactive", "--session-id", id, "-c"],
                "Add --fork-session",
            ),
            (&["--non-interactive", "--resume"], "needs an ID"),
            (&["--resume", "--prompt", "x"], "shows a list first"),
            (
                &["-c", "--design-first", "--working-dir", "d"],
                "takes no session",
            ),
        ] {
            fails(wrong, named);
        }
    }

    #[test]
    fn slips_are_mended_and_subcommands_are_first_words() {
        fails(&["--promt", "x"], "--prompt");
        assert!(
            matches!(parse(vec!["tools".into(), "--json".into()]).unwrap(), CliCommand::Sub("tools", _, rest) if rest.len() == 1)
        );
        let words = typed(&["--", "tools", "--json"]).unwrap().prompt.words;
        assert_eq!(words, ["tools", "--json"]);
        assert_eq!(typed(&["tools shed"]).unwrap().prompt.words, ["tools shed"]);
    }
}
