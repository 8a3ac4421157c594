//! A run as it looks from outside, also while it runs: from the record of its events, its lock and its state file.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::event_log;
use super::progress::{PhaseState, RunProgress};
use super::report::NOT_HERE;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::own_command;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::disk::beneath::Root;
use crate::disk::lock::LockState;
use crate::formats::duration::rounded;
use crate::pipeline::phase::{PHASES, Phase};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{RunRecord, lock_state};
use crate::pipeline::state;
use crate::pipeline::worktree::record as worktree_record;
use crate::pipeline::{approval, epic, first_line};

/// Newest warnings that are shown.
const MAX_WARNINGS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// A process holds the lock.
    Running,
    /// It ended, and every phase is done.
    Done,
    /// It stopped where the user wanted it to.
    Paused,
    /// It ended before every phase was done.
    Failed,
    /// Its process is gone, and it did not say how it ended.
    Dead,
    /// Only the last finished phase is known.
    Recorded,
}

/// What is known about a run.
#[derive(Debug, Serialize)]
pub(crate) struct RunStatus {
    pub state: RunState,
    /// The process that runs it.
    pub pid: Option<u32>,
    pub task: String,
    pub ticket: String,
    #[serde(flatten)]
    pub times: RunTimesStatus,
    #[serde(flatten)]
    pub steps: StepStatus,
    #[serde(flatten)]
    pub spent: RunSpending,
    pub commits: usize,
    /// How the tests ended when they were last run.
    pub tests: Option<TestStatus>,
    #[serde(flatten)]
    pub warnings: NewestWarnings,
    #[serde(flatten)]
    pub place: RunPlace,
    /// Further runs of the project, each in its worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<RunStatus>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunTimesStatus {
    /// It continues an earlier run.
    pub resumed: bool,
    /// RFC 3339, UTC.
    pub started: Option<String>,
    /// When the last event came.
    pub last_event: Option<String>,
    /// How long it has been running, or ran.
    pub seconds: u64,
    /// How it ended, as a sentence.
    pub end: Option<String>,
    /// The point of which it waits for approval.
    pub waiting: Option<String>,
    /// The command that approves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<String>,
}

/// How far it is.
#[derive(Debug, Serialize)]
pub(crate) struct StepStatus {
    /// The phase that runs, or in which it stopped.
    pub phase: Option<String>,
    pub round: Option<RoundStatus>,
    pub phases: Vec<PhaseStatus>,
    /// Those that run.
    pub children: Vec<ChildStatus>,
    /// The word in the state file: the last phase or step that is done.
    pub recorded: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunSpending {
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    pub cost_estimated: bool,
    /// The same with the earlier runs of the ticket.
    pub total_tokens: u64,
    pub total_cost: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct NewestWarnings {
    #[serde(rename = "warnings")]
    pub newest: Vec<String>,
    #[serde(rename = "warning_count")]
    pub count: usize,
}

/// What it builds, and where.
#[derive(Debug, Serialize)]
pub(crate) struct RunPlace {
    /// `NNN-name` of the feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The folder and the branch of a run that has a worktree of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What is not known in this folder, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RoundStatus {
    pub subject: String,
    pub round: u64,
    pub most: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct PhaseStatus {
    pub name: String,
    pub about: String,
    /// `omitted`, `to_come`, `running`, `done`, `skipped` or `stopped`.
    pub state: &'static str,
    /// How long it took, or has been running.
    pub seconds: Option<u64>,
    /// Why it was skipped.
    pub reason: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChildStatus {
    pub label: String,
    pub model: String,
    pub attempt: u64,
    /// The tools of its last round.
    pub tools: Vec<String>,
    pub seconds: u64,
    pub tokens: u64,
    pub cost: f64,
    /// Its log, from the project's directory.
    pub log: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct TestStatus {
    pub passed: bool,
    pub words: String,
}

/// The last run that keeps its records in `places`.
///
/// # Errors
/// No run is recorded; the record cannot be read.
pub(crate) fn status(places: &RunPlaces, env: &Env, clock: &Clock) -> Outcome<RunStatus> {
    // In this order: an end that is written after the lock was asked for does not make a run look dead.
    let lock = lock_state(places)?;
    let recorded_events = event_log::read(places)?;
    let recorded = state::recorded(places);
    let mut progress = RunProgress::default();
    for (at, event) in &recorded_events.events {
        progress.apply(event, *at);
    }
    let known = progress.times.started.is_some();
    let record = match (known, &recorded) {
        (true, _) => None,
        // What the state file holds is told as the problem.
        (false, Err(_)) => RunRecord::read(places)?,
        (false, Ok(_)) => epic::known(places, env, &Cancel::new())?,
    };
    let nothing = record.is_none() && matches!(recorded, Ok(None));
    if !known && lock == LockState::Free && nothing {
        return Err(no_run(
            &places.root,
            "No run of the pipeline is recorded in",
        ));
    }
    let recorded = match (recorded, known) {
        (Ok(recorded), _) => recorded,
        (Err(problem), false) => return Err(problem),
        (Err(problem), true) => {
            progress.warnings.add(problem.one_line());
            None
        }
    };
    let state = match (lock, &progress.end) {
        (LockState::Held(_), _) => RunState::Running,
        (LockState::Free, Some(end)) if end.done => RunState::Done,
        (LockState::Free, Some(end)) if end.paused => RunState::Paused,
        (LockState::Free, Some(_)) => RunState::Failed,
        (LockState::Free, None) if known => RunState::Dead,
        (LockState::Free, None) => RunState::Recorded,
    };
    // What did not end itself ended with the last that was heard of it.
    let now = match state {
        RunState::Running => {
            let since = clock.steady().zip(recorded_events.steady);
            match since.and_then(|(now, last)| now.checked_sub(last)) {
                Some(since) => progress.times.latest.saturating_add(since),
                None => {
                    let now = clock.since_1970();
                    let now = now.saturating_add(progress.times.set_back);
                    now.max(progress.times.latest)
                }
            }
        }
        RunState::Done
        | RunState::Paused
        | RunState::Failed
        | RunState::Dead
        | RunState::Recorded => {
            let latest = progress.times.latest;
            progress.stop(latest, "The run is gone.");
            latest
        }
    };
    let mut status = shown(places, &progress, state, now);
    if let LockState::Held(pid) = lock {
        status.pid = pid;
    }
    if !known {
        status.steps.phases = recorded_phases(places)?;
        status.place.unknown = Some(NOT_HERE);
        if let Some(record) = record {
            status.task = record.task.lines().next().unwrap_or_default().to_owned();
            status.ticket = record.ticket;
            status.steps.phase = Some(record.working).filter(|phase| !phase.is_empty());
        }
    }
    status.steps.recorded = recorded;
    if matches!(state, RunState::Running | RunState::Paused) {
        let waiting = approval::read(places).unwrap_or_default().waiting;
        let point = approval::name_of(&waiting).to_owned();
        if !point.is_empty() {
            status.times.approve = Some(places.command(&["approve", &point]));
            status.times.waiting = Some(point);
        }
    }
    Ok(status)
}

/// Whether the run has recorded what happened.
pub(super) fn is_known(places: &RunPlaces) -> bool {
    event_log::is_there(places)
}

/// The error where nothing is known.
pub(super) fn no_run(root: &Root, what: &str) -> Problem {
    let problem = Problem::missing(format!("{what} {}.", root.path().display()));
    let gone = worktree_record::removed(root);
    if let [record, ..] = gone.as_slice() {
        let task = one_line(&first_line(&record.task));
        return problem
            .next(format!(
                "The run of \"{task}\" worked in {}, which was removed. Start it again with the same prompt: the worktree is made again from the branch {}.",
                record.path.display(),
                record.branch
            ))
            .next(format!(
                "See all of them with: {}",
                own_command::about(root.path(), &["pipeline", "worktrees"])
            ));
    }
    problem
        .next("Start a run with: marvin --non-interactive --design-first --working-dir DIR --prompt TEXT")
        .next("Name another directory with --working-dir.")
}

/// The phases by the state file alone.
fn recorded_phases(places: &RunPlaces) -> Outcome<Vec<PhaseStatus>> {
    let phase = |phase: &Phase| {
        Ok(PhaseStatus {
            name: phase.name.to_owned(),
            about: phase.about.to_owned(),
            state: match state::is_done(places, phase.name)? {
                true => "done",
                false => "to_come",
            },
            seconds: None,
            reason: None,
        })
    };
    PHASES.iter().map(phase).collect()
}

fn shown(places: &RunPlaces, progress: &RunProgress, state: RunState, now: Duration) -> RunStatus {
    let (usage, total) = (progress.own_usage(), progress.all_usage());
    let phase = progress.current().or_else(|| progress.stopped_in());
    let latest = progress
        .times
        .latest
        .saturating_sub(progress.times.set_back);
    let newest = progress.warnings.newest.len().saturating_sub(MAX_WARNINGS);
    RunStatus {
        state,
        pid: None,
        task: progress.task.clone(),
        ticket: progress.ticket.clone(),
        times: RunTimesStatus {
            resumed: progress.resumed,
            started: progress.times.started.and_then(utc),
            last_event: progress.times.started.and_then(|_| utc(latest)),
            seconds: progress.elapsed(now).as_secs(),
            end: progress.end.as_ref().map(|end| end.words.clone()),
            waiting: None,
            approve: None,
        },
        steps: StepStatus {
            phase: phase.map(|phase| phase.name.clone()),
            round: progress.round.as_ref().map(|round| RoundStatus {
                subject: round.subject.clone(),
                round: round.number,
                most: round.most,
            }),
            phases: progress
                .phases
                .iter()
                .map(|phase| {
                    let (state, seconds, reason) = phase_state(&phase.state, now);
                    PhaseStatus {
                        name: phase.name.clone(),
                        about: phase.about.clone(),
                        state,
                        seconds,
                        reason,
                    }
                })
                .collect(),
            children: progress
                .running()
                .map(|child| ChildStatus {
                    label: child.label.clone(),
                    model: child.model.clone(),
                    attempt: child.attempt,
                    tools: child.tools.clone(),
                    seconds: now.saturating_sub(child.started).as_secs(),
                    tokens: child.usage.tokens,
                    cost: child.usage.cost,
                    log: places.log(&format!("{}.log", child.id)),
                })
                .collect(),
            recorded: None,
        },
        spent: RunSpending {
            tokens: usage.tokens,
            cost: usage.cost,
            cost_estimated: total.estimated,
            total_tokens: total.tokens,
            total_cost: total.cost,
        },
        commits: progress.product.checkpoints.len(),
        tests: progress
            .product
            .tests
            .as_ref()
            .map(|(passed, words)| TestStatus {
                passed: *passed,
                words: words.clone(),
            }),
        warnings: NewestWarnings {
            newest: progress
                .warnings
                .newest
                .iter()
                .skip(newest)
                .cloned()
                .collect(),
            count: progress.warnings.count,
        },
        place: RunPlace {
            feature: places.feature().map(str::to_owned),
            folder: None,
            branch: None,
            unknown: None,
        },
        others: Vec::new(),
    }
}

fn phase_state(state: &PhaseState, now: Duration) -> (&'static str, Option<u64>, Option<String>) {
    let seconds = |took| rounded(took).as_secs();
    match state {
        PhaseState::Omitted => ("omitted", None, None),
        PhaseState::ToCome => ("to_come", None, None),
        PhaseState::Running(since) => ("running", Some(now.saturating_sub(*since).as_secs()), None),
        PhaseState::Done(took) => ("done", took.map(seconds), None),
        PhaseState::Skipped(reason) => ("skipped", None, Some(reason.clone())),
        PhaseState::Stopped(took) => ("stopped", Some(seconds(*took)), None),
    }
}

/// A time since 1970 as RFC 3339, to the second.
fn utc(at: Duration) -> Option<String> {
    let seconds = i64::try_from(at.as_secs()).ok()?;
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
