//! Reads what a report is made of: the record of events, the findings of reviews, the commits since the run began, documents and tests.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::matching::{self, Matcher, Requirement, TestCase};
use super::work::{RecordedWork, ReportCommit};
use crate::app::pipeline::event_log;
use crate::app::pipeline::progress::{ChildProgress, MAX_COST, RunProgress, Usage};
use crate::app::pipeline::status::no_run;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::chat::pipeline_event::{PipelineEvent, seconds};
use crate::disk::beneath::Root;
use crate::pipeline::phase::PHASES;
use crate::pipeline::places::{DocumentKind, RunPlaces};
use crate::pipeline::review::history::History;
use crate::pipeline::{epic, files, first_line, state};

/// Largest file of a document, of findings or of tests that is read.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Tests beyond this number are left out.
const MAX_TESTS: usize = 5_000;
/// Points of the plot.
const MAX_POINTS: usize = 400;
/// Entries of one kind that a requirement lists.
const MAX_LISTED: usize = 20;

/// What a report says.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RunReport {
    #[serde(flatten)]
    pub run: ReportedRun,
    pub requirements: Vec<TracedRequirement>,
    pub phases: Vec<Spending>,
    pub models: Vec<Spending>,
    pub commits: Vec<ReportCommit>,
    pub findings: Vec<ReportFinding>,
    #[serde(flatten)]
    pub spent: ReportedSpending,
    pub warnings: Vec<String>,
    /// What is not known here, each a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the tests ended when they were last run.
    pub tests: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct ReportedRun {
    /// First line of the task.
    pub task: String,
    pub ticket: String,
    /// RFC 3339, UTC.
    pub started: Option<String>,
    /// How it ended, as a sentence; nothing while it runs or when it was killed.
    pub end: Option<String>,
    pub done: bool,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct ReportedSpending {
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    pub cost_estimated: bool,
    /// Of all children together.
    #[serde(rename = "child_seconds", with = "seconds")]
    pub child_time: Duration,
    /// Seconds since the start, and the tokens until then.
    pub plot: Vec<(u64, u64)>,
}

/// A requirement and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct TracedRequirement {
    #[serde(flatten)]
    pub requirement: Requirement,
    /// Headings of the design.
    pub sections: Vec<String>,
    /// As `FILE: NAME`.
    pub tests: Vec<String>,
    /// Ids of the tickets that children made for it, with their titles and how they ended.
    pub tickets: Vec<String>,
    /// Short ids with their subjects; why one belongs here that does not say so itself.
    pub commits: Vec<String>,
    /// Places in the list of findings.
    pub findings: Vec<usize>,
}

/// What a phase or a model took.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Spending {
    pub name: String,
    pub children: u64,
    pub tokens: u64,
    pub cost: f64,
    /// How long it took: the phase, or all the model's children together.
    #[serde(rename = "seconds", with = "seconds")]
    pub time: Duration,
    /// How the phase ended; empty for a model.
    pub state: String,
}

/// A finding of a review, read leniently: fields may be missing.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReportFinding {
    pub id: String,
    pub ticket: String,
    pub phase: String,
    pub subject: String,
    pub round: u64,
    pub reviewer: String,
    pub severity: String,
    /// Its first line.
    pub text: String,
    /// What became of it: `open`, `corrected`, `resolved`, `repeated`.
    pub state: String,
    /// The commit with the correction.
    pub commit: String,
}

/// The report of the last run that keeps its records in `places`, all starts of it together.
///
/// # Errors
/// No run is recorded; the record cannot be read.
pub(crate) fn report(places: &RunPlaces, env: &Env, stop: &Cancel) -> Outcome<RunReport> {
    let events = event_log::read(places)?.events;
    let mut collector = Collector::default();
    for (at, event) in &events {
        collector.apply(event, *at);
    }
    let (mut report, checkpoints) = match collector.began {
        Some(_) => collector.end(),
        None => (committed(places, env, stop)?, BTreeSet::new()),
    };
    let work = RecordedWork::read(places, &report.run.ticket, checkpoints, env, stop);
    report.findings = findings(places, &report.run.ticket);
    report.requirements = traced(places, &report, &work, stop);
    report.commits = work.commits;
    Ok(report)
}

/// Of a run whose events are not here, what is committed: as much as a run that is started here goes by.
fn committed(places: &RunPlaces, env: &Env, stop: &Cancel) -> Outcome<RunReport> {
    let Some(recorded) = state::recorded(places)? else {
        return Err(no_run(
            &places.root,
            "No run of the pipeline is recorded in",
        ));
    };
    let mut report = RunReport::default();
    if let Some(record) = epic::known(places, env, stop)? {
        report.run.task = first_line(&record.task);
        report.run.ticket = record.ticket;
        report.run.done = record.finished;
    }
    report.run.end = Some(match report.run.done {
        true => "Every phase is done.".to_owned(),
        false => format!("The last that is recorded as done is {recorded}."),
    });
    for phase in PHASES {
        let word = match state::is_done(places, phase.name)? {
            true => "done",
            false => "to come",
        };
        word.clone_into(&mut row(&mut report.phases, phase.name).state);
    }
    report.notes.push(super::NOT_HERE.to_owned());
    Ok(report)
}

/// Follows a run through all its starts.
#[derive(Default)]
struct Collector {
    report: RunReport,
    began: Option<Duration>,
    progress: RunProgress,
    /// Of the starts before the last one.
    earlier: Vec<ChildProgress>,
    points: Vec<(u64, u64)>,
    /// First lines of the messages of the run's own commits.
    checkpoints: BTreeSet<String>,
}

impl Collector {
    fn apply(&mut self, event: &PipelineEvent, at: Duration) {
        match event {
            PipelineEvent::RunStarted {
                task,
                ticket,
                phases,
                ..
            } => {
                self.earlier.extend_from_slice(&self.progress.children);
                if self.began.is_none() || self.report.run.ticket != *ticket {
                    *self = Self {
                        began: Some(at),
                        ..Self::default()
                    };
                    self.report.run.task.clone_from(task);
                    self.report.run.ticket.clone_from(ticket);
                    self.report.run.started = i64::try_from(at.as_secs())
                        .ok()
                        .and_then(|at| Timestamp::from_second(at).ok())
                        .map(|at| at.to_string());
                }
                self.report.run.end = None;
                self.report.run.done = false;
                for phase in phases.iter().filter(|phase| !phase.omitted) {
                    let known = self.phase_row(&phase.name);
                    if known.state.is_empty() {
                        let state = if phase.done { "done" } else { "to come" };
                        state.clone_into(&mut known.state);
                    }
                }
            }
            PipelineEvent::PhaseStarted { phase } => {
                "begun".clone_into(&mut self.phase_row(phase).state);
            }
            PipelineEvent::PhaseDone { phase, took } => {
                let row = self.phase_row(phase);
                row.time = row.time.saturating_add(*took);
                "done".clone_into(&mut row.state);
            }
            PipelineEvent::PhaseSkipped { phase, reason } => {
                self.phase_row(phase).state = format!("skipped: {reason}");
            }
            PipelineEvent::TestsRun { passed, words } => {
                let mark = if *passed { "passed" } else { "failed" };
                self.report.tests = Some(format!("{mark}. {words}"));
            }
            PipelineEvent::Warning { words } => self.report.warnings.push(words.clone()),
            PipelineEvent::RunPaused { words, .. } => self.report.run.end = Some(words.clone()),
            PipelineEvent::RunEnded { done, words } => {
                self.report.run.done = *done;
                self.report.run.end = Some(words.clone());
            }
            PipelineEvent::Checkpoint { message } => {
                self.checkpoints.insert(first_line(message));
            }
            PipelineEvent::RoundStarted { .. }
            | PipelineEvent::ChildStarted { .. }
            | PipelineEvent::ChildTools { .. }
            | PipelineEvent::ChildUsage { .. }
            | PipelineEvent::ChildEnded { .. }
            | PipelineEvent::ProviderWait { .. }
            | PipelineEvent::Steered { .. }
            | PipelineEvent::InWorktree { .. }
            | PipelineEvent::ApprovalAwaited { .. } => {}
        }
        self.progress.apply(event, at);
        if matches!(event, PipelineEvent::ChildUsage { .. }) {
            // A clock that was set back must not draw backwards.
            let last = self.points.last().map_or(0, |(at, _)| *at);
            let since = at.saturating_sub(self.began.unwrap_or(at)).as_secs();
            let tokens = self.progress.all_usage().tokens;
            self.points.push((since.max(last), tokens));
        }
    }

    fn phase_row(&mut self, name: &str) -> &mut Spending {
        row(&mut self.report.phases, name)
    }

    fn end(self) -> (RunReport, BTreeSet<String>) {
        let mut report = self.report;
        let used = self.progress.all_usage();
        report.spent.tokens = used.tokens;
        report.spent.cost = used.cost;
        report.spent.cost_estimated = used.estimated;
        for child in self.earlier.iter().chain(&self.progress.children) {
            if !child.phase.is_empty() {
                row(&mut report.phases, &child.phase).add(child.usage);
            }
            let took = child.end.as_ref().map_or(Duration::ZERO, |end| end.took);
            let model = row(&mut report.models, &child.model);
            model.add(child.usage);
            model.time = model.time.saturating_add(took);
            report.spent.child_time = report.spent.child_time.saturating_add(took);
        }
        report.spent.plot = thinned(&self.points);
        (report, self.checkpoints)
    }
}

impl Spending {
    /// Whether it took nothing, as far as is known.
    pub(super) fn is_nothing(&self) -> bool {
        self.children == 0 && self.tokens == 0 && self.time.is_zero()
    }

    fn add(&mut self, usage: Usage) {
        self.children += 1;
        self.tokens = self.tokens.saturating_add(usage.tokens);
        self.cost = (self.cost + usage.cost).min(MAX_COST);
    }
}

/// The row of this name, at the end if it is new.
fn row<'a>(rows: &'a mut Vec<Spending>, name: &str) -> &'a mut Spending {
    let at = match rows.iter().position(|row| row.name == name) {
        Some(at) => at,
        None => {
            rows.push(Spending {
                name: name.to_owned(),
                ..Spending::default()
            });
            rows.len() - 1
        }
    };
    #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
    &mut rows[at]
}

/// Points that a plot can show, the last one among them.
fn thinned(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let mut kept: Vec<(u64, u64)> = points.iter().copied().step_by(step).collect();
    if let Some(last) = points.last().filter(|last| kept.last() != Some(*last)) {
        kept.push(*last);
    }
    kept
}

/// The findings of the run: from their record, else as far as the histories of reviews tell them.
fn findings(places: &RunPlaces, ticket: &str) -> Vec<ReportFinding> {
    let text = read(&places.root, &places.log("findings.jsonl")).unwrap_or_default();
    let mut found: Vec<ReportFinding> = Vec::new();
    for line in text.lines() {
        let Ok(finding) = serde_json::from_str::<ReportFinding>(line) else {
            continue;
        };
        if !finding.ticket.is_empty() && finding.ticket != ticket {
            continue;
        }
        // A later line takes the place of an earlier one.
        let same = found
            .iter_mut()
            .find(|own| !own.id.is_empty() && own.id == finding.id);
        match same {
            Some(own) => *own = finding,
            None => found.push(finding),
        }
    }
    if found.is_empty() {
        for (subject, phase) in [
            ("spec.md", "1a_review"),
            ("ux.md", "1a_review"),
            ("design.md", "1b_review"),
            ("tests", ""),
            ("code", ""),
        ] {
            let text = read(&places.root, &History::of(subject).path(places)).unwrap_or_default();
            found.extend(of_history(subject, phase, &text));
        }
    }
    found
}

/// What a history of reviews says: the first line of each report, resolved once its reviewer is satisfied.
fn of_history(subject: &str, phase: &str, text: &str) -> Vec<ReportFinding> {
    let mut found: Vec<ReportFinding> = Vec::new();
    let (mut round, mut reviewer) = (0, String::new());
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("## Round ") {
            round = words
                .split(' ')
                .next()
                .and_then(|word| word.parse().ok())
                .unwrap_or_default();
        } else if let Some(name) = line.strip_prefix("### ") {
            name.clone_into(&mut reviewer);
        } else if let Some(name) = line
            .strip_prefix("- ")
            .and_then(|line| line.strip_suffix(": satisfied"))
        {
            for own in found.iter_mut().filter(|own| own.reviewer == name) {
                "resolved".clone_into(&mut own.state);
            }
        } else if let Some(words) = line.strip_prefix("> ")
            && !reviewer.is_empty()
        {
            found.push(ReportFinding {
                phase: phase.to_owned(),
                subject: subject.to_owned(),
                round,
                reviewer: std::mem::take(&mut reviewer),
                text: words.to_owned(),
                state: "open".to_owned(),
                ..ReportFinding::default()
            });
        }
    }
    found
}

/// An ordinary file as text.
fn read(root: &Root, path: &str) -> Option<String> {
    let bytes = root.read(&root.check(path).ok()?, MAX_FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Every requirement with what is about it.
fn traced(
    places: &RunPlaces,
    report: &RunReport,
    work: &RecordedWork,
    stop: &Cancel,
) -> Vec<TracedRequirement> {
    let spec = read(&places.root, &places.document(DocumentKind::Spec)).unwrap_or_default();
    let design = read(&places.root, &places.document(DocumentKind::Design)).unwrap_or_default();
    let requirements = matching::requirements(&spec);
    let sections = matching::sections(&design);
    let tests = match requirements.is_empty() {
        true => Vec::new(),
        false => tests(&places.root, stop),
    };
    let trace = |requirement: Requirement| {
        let matcher = Matcher::new(&requirement);
        let about = |title: &str, text: &str| matcher.names(text) || matcher.shares(title);
        // A plan of tests says in which file a requirement is tested.
        let planned = sections.iter().flat_map(|section| section.text.lines());
        let planned: Vec<&str> = planned.filter(|line| matcher.names(line)).collect();
        let sections = sections
            .iter()
            .filter(|section| about(&section.heading, &section.text))
            .map(|section| section.heading.clone());
        let own_tests: Vec<&TestCase> = tests
            .iter()
            .filter(|test| {
                let file = test.file.rsplit('/').next().unwrap_or_default();
                about(&test.name, &format!("{} {}", test.name, test.text))
                    || planned.iter().any(|line| line.contains(file))
            })
            .collect();
        let tests = own_tests.iter().map(|test| match test.name.as_str() {
            "" => test.file.clone(),
            name => format!("{}: {name}", test.file),
        });
        let files: BTreeSet<&str> = own_tests.iter().map(|test| test.file.as_str()).collect();
        let tickets = work.tickets_about(&about);
        let commits = work.commits_about(&about, &tickets, &files);
        let findings = (0..).zip(&report.findings);
        let findings = findings
            .filter(|(_, finding)| about(&finding.text, &finding.text))
            .map(|(at, _)| at);
        TracedRequirement {
            sections: sections.take(MAX_LISTED).collect(),
            tests: tests.take(MAX_LISTED).collect(),
            tickets: tickets
                .iter()
                .map(|ticket| ticket.shown())
                .take(MAX_LISTED)
                .collect(),
            commits: commits.into_iter().take(MAX_LISTED).collect(),
            findings: findings.take(MAX_LISTED).collect(),
            requirement,
        }
    };
    requirements.into_iter().map(trace).collect()
}

fn tests(root: &Root, stop: &Cancel) -> Vec<TestCase> {
    let mut found = Vec::new();
    for path in files::paths(root, stop) {
        if found.len() >= MAX_TESTS {
            break;
        }
        if files::is_test(&path)
            && let Some(text) = read(root, &path)
        {
            found.extend(matching::tests(&path, &text));
        }
    }
    found
}
