//! A child Marvin: what it is for, what it may do, how often it is tried.
//!
//! A child gets a prompt in a file and an environment in which every restriction is set or removed explicitly. It works in files; what it prints is
//! its report. The parent holds its standard input open as a leash, reads its tools and cost as they come, and keeps all of it in a log.

use std::path::PathBuf;
use std::time::Duration;

use super::run::Run;
use super::tier::Tier;
use crate::base::problem::{Outcome, Problem};

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
    /// Writes only these files of the project.
    WriteFiles(Vec<String>),
}

/// A piece of work for a child.
pub(crate) struct ChildTask<'a> {
    /// Its name in events and logs: lower-case letters, digits and `-`.
    pub label: String,
    pub tier: Tier,
    pub access: Access,
    /// What it is told.
    pub prompt: String,
    /// How long its first attempt may take; the second twice as long, and so on.
    pub limit: Duration,
    /// Checks that the work is done: a sentence that says what is missing otherwise, which the next attempt is told.
    pub check: &'a (dyn Fn(&ChildReport) -> Result<(), String> + Sync),
}

/// What a child left behind, besides files.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildReport {
    /// What it printed, without the lines that name its tools.
    pub text: String,
    /// Its log.
    pub log: PathBuf,
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
}

impl ChildReport {
    /// The last line that is not blank, trimmed: where a marker or a verdict counts.
    pub(crate) fn last_line(&self) -> &str {
        let lines = self.text.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty())
            .next_back()
            .unwrap_or_default()
    }
}

/// Runs a child until its work is done: up to three attempts, then one with the fallback tier.
///
/// # Errors
/// Every attempt failed; the ceiling on cost is reached; the run was stopped; the child cannot be started.
pub(crate) fn run(_run: &Run, task: &ChildTask<'_>) -> Outcome<ChildReport> {
    let _ = (&task.access, task.limit, &task.prompt, task.tier);
    Err(Problem::internal(format!("{} cannot run yet.", task.label)))
}

/// Runs read-only children in parallel; one outcome per task, in order.
pub(crate) fn run_parallel(run: &Run, tasks: &[ChildTask<'_>]) -> Vec<Outcome<ChildReport>> {
    tasks.iter().map(|task| self::run(run, task)).collect()
}
