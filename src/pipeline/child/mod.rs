//! A child Marvin: what it is for, what it may do, how often it is tried.
//!
//! A child gets a prompt in a file and an environment in which every restriction is set or removed explicitly ([`environment`]). It works in files; what it
//! prints is its report. The parent holds its standard input open as a leash, reads its tools and cost as they come ([`process`]), and keeps all of it in a
//! log. [`attempts`] tries it again when its work is not done, and [`questions`] answers what it asks. [`idle`] is about
//! one that changes nothing.

mod attempts;
mod budget;
pub(crate) mod environment;
pub(crate) mod idle;
mod log;
mod process;
mod prompts;
mod questions;
mod report;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use super::Run;
use super::tier::Tier;
use crate::base::problem::{Outcome, Problem};
use crate::store::project_texts::ProjectTexts;
use budget::Budget;
pub(crate) use log::log_of;

/// What a child may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything a sub-agent may, once it has created a ticket below this one.
    Write {
        /// Id of the parent ticket.
        ticket: String,
    },
    /// Reads only.
    Read,
    /// Reads only, and looks things up on the web and in works of reference.
    Research,
    /// Writes only these files of the project.
    WriteFiles(Vec<String>),
}

impl Access {
    /// Nothing that the child does changes the project.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Read | Self::Research)
    }
}

/// A piece of work for a child.
pub(crate) struct ChildTask<'a> {
    /// Its name in events and logs: lower-case letters, digits and `-`.
    pub label: String,
    pub tier: Tier,
    pub access: Access,
    /// What it is told.
    pub prompt: String,
    /// What its system prompt holds of the project's own texts.
    pub texts: ProjectTexts,
    /// Words that a further attempt must not see in the output of the one before, such as the passing words of a review that cannot pass.
    pub withhold: &'a [&'a str],
    /// How long its first attempt may take; the second twice as long, and so on.
    pub limit: Duration,
    /// Clears away what an attempt left that failed in whatever way, where the next one must not take it for finished. What it did is told to the next
    /// attempt; `None` when nothing was to be done. Without it everything stays.
    pub after_failure: Option<&'a (dyn Fn() -> Option<String> + Sync)>,
    /// Checks that the work is done: a sentence that says what is missing otherwise, which the next attempt is told. Asked only when the child ended with
    /// status 0.
    pub check: &'a (dyn Fn(&ChildReport) -> Result<(), String> + Sync),
}

/// What a child left behind, besides files.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildReport {
    /// What it printed, without the lines that name its tools. The middle of a very long report is left out.
    pub text: String,
    /// Its log.
    pub log: PathBuf,
    /// The record of its tool calls.
    pub tool_log: PathBuf,
}

impl ChildReport {
    /// The last line that is not blank, trimmed: where a marker or a verdict counts.
    pub(crate) fn last_line(&self) -> &str {
        let mut lines = self.text.lines().map(str::trim);
        lines.rfind(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Runs a child until its work is done: up to three attempts, then one with the fallback tier. Questions it asks are answered in between, and outages of its
/// provider waited out.
///
/// # Errors
/// Every attempt failed; the ceiling on cost is reached; the run was stopped; the child cannot be started, or this process may start none.
pub(crate) fn run(run: &Run, task: &ChildTask<'_>) -> Outcome<ChildReport> {
    attempts::run(run, task, &Budget::of_run(run))
}

/// Runs read-only children in parallel, each with an equal share of what may still be spent; one outcome per task, in order.
pub(crate) fn run_parallel(run: &Run, tasks: &[ChildTask<'_>]) -> Vec<Outcome<ChildReport>> {
    if tasks.iter().any(|task| !task.access.is_read_only()) {
        let refuse = |task: &ChildTask<'_>| {
            let label = &task.label;
            Err(Problem::internal(format!(
                "{label} was not started: only read-only children may run side by side."
            )))
        };
        return tasks.iter().map(refuse).collect();
    }
    let budgets = match Budget::shares(run, tasks.len()) {
        Ok(budgets) => budgets,
        Err(problem) => {
            return tasks
                .iter()
                .map(|_| Err(Problem::limit(&problem.what)))
                .collect();
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = tasks
            .iter()
            .zip(&budgets)
            .map(|(task, budget)| scope.spawn(move || attempts::run(run, task, budget)))
            .collect();
        let crashed = |_| Err(Problem::internal("A thread that ran a child crashed."));
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(crashed))
            .collect()
    })
}
