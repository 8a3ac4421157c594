//! `marvin pipeline merge` and `marvin pipeline worktrees`.

use std::time::Duration;

use super::{dir, feature};
use crate::app::pipeline::merge::{self, MergeWords};
use crate::app::pipeline::summary::time;
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{counted, one_line, plural};
use crate::cli::out::print_words;
use crate::cli::subcommands;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::worktree::merge::MergeForm;
use crate::pipeline::worktree::remove;
use crate::pipeline::worktree::state::{UserTree, WorktreeStatus};

/// The commands of this file.
pub(super) const COMMANDS: [&str; 2] = ["merge", "worktrees"];

/// The words after the command.
#[derive(Debug, Default)]
struct WorktreeArgs {
    merge: MergeWords,
    remove: Option<String>,
    force: bool,
}

/// `marvin pipeline COMMAND …`.
pub(super) fn run(command: &str, words: &[String], settings: &Settings) -> Outcome<u8> {
    let mut args = WorktreeArgs::read(command, words)?;
    let dir = dir(settings)?;
    if command == "merge" {
        let named = feature(settings).map(FeatureName::to_string);
        args.merge.name = args.merge.name.or(named);
        return merge::run(settings, dir, &args.merge).map_err(understood);
    }
    let stop = Cancel::new();
    let tree = UserTree::open(dir, &settings.env, &stop)?;
    match &args.remove {
        Some(name) => {
            let status = tree.named(Some(name))?;
            print_words(&(remove::remove(&tree, &status, args.force)? + "\n"))?;
        }
        None => print_words(&list(&tree.worktrees()?, &Clock::new(&settings.env)))?,
    }
    Ok(0)
}

/// The words were understood: what git says then is no mistake in them.
fn understood(problem: Problem) -> Problem {
    match problem.kind {
        ProblemKind::Input => Problem {
            kind: ProblemKind::System,
            ..problem
        },
        _ => problem,
    }
}

/// The problem of words that `marvin pipeline` does not understand, with those that it does.
pub(super) fn usage(what: &str) -> Problem {
    let command = subcommands::find("pipeline");
    let forms = command.into_iter().flat_map(|command| command.forms());
    let forms: Vec<String> = forms
        .map(|(form, _)| format!("  marvin pipeline {form}"))
        .collect();
    Problem::input(what.to_owned()).facts(forms.join("\n"))
}

impl WorktreeArgs {
    fn read(command: &str, words: &[String]) -> Outcome<Self> {
        let mut args = Self::default();
        let mut words = words.iter();
        let is_merge = command == "merge";
        while let Some(word) = words.next() {
            let (name, mut value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value_of = |name: &str| {
                let next = value.take().or_else(|| words.next().cloned());
                next.ok_or_else(|| usage(&format!("{name} needs a value.")))
            };
            match name {
                "--remove" if !is_merge => args.remove = Some(value_of(name)?),
                "--squash" if is_merge => args.merge.form = MergeForm::Squash,
                "--all" if is_merge => args.merge.form = MergeForm::All,
                "--resolve" if is_merge => args.merge.resolve = true,
                "--force" => (args.force, args.merge.force) = (true, true),
                _ if name.starts_with('-') => {
                    return Err(usage(&format!(
                        "There is no flag \"{}\" here.",
                        one_line(word)
                    )));
                }
                _ if is_merge && args.merge.name.is_none() => args.merge.name = Some(word.clone()),
                _ => {
                    return Err(usage(&format!(
                        "\"{}\" is one word too many.",
                        one_line(word)
                    )));
                }
            }
        }
        Ok(args)
    }
}

fn list(worktrees: &[WorktreeStatus], clock: &Clock) -> String {
    if worktrees.is_empty() {
        return "No run and no review has a worktree of this repository.\n".to_owned();
    }
    let rows = worktrees.iter().map(|status| row(status, clock));
    rows.collect()
}

fn row(status: &WorktreeStatus, clock: &Clock) -> String {
    let record = &status.record;
    let mut facts = vec![format!("branch {}", one_line(&record.branch))];
    if status.unmerged > 0 {
        facts.push(format!("{} not merged", counted(status.unmerged, "commit")));
    }
    if !status.uncommitted.is_empty() {
        let files = plural(status.uncommitted.len(), "file");
        facts.push(format!("{files} not committed"));
    }
    let started: Option<jiff::Timestamp> = record.started.parse().ok();
    let age = started.map(|at| clock.now().timestamp().as_second() - at.as_second());
    if let Some(seconds) = age.and_then(|seconds| u64::try_from(seconds).ok()) {
        facts.push(format!("{} old", time(Duration::from_secs(seconds))));
    }
    format!(
        "{}: {}\n  {}\n  {}\n",
        one_line(&record.name),
        status.state.word(),
        facts.join(", "),
        one_line(&record.root().to_string_lossy())
    )
}
