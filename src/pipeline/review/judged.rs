//! What the reviewers of a round say: their verdicts and findings, what the fixer gets of them, and their record.

use super::findings::{self, Finding, FindingState};
use super::reviewers::Reviewer;
use super::severity::{self, ReportedFinding, Severity};
use super::verdict::{Verdict, verdict};
use crate::base::marks::enclosed;
use crate::base::text::clip;
use crate::pipeline::Run;
use crate::pipeline::child::ChildReport;

/// Characters of one reviewer's findings that the fixer gets.
const MAX_FINDINGS_CHARS: usize = 20_000;

/// What is reviewed, as its findings are recorded.
#[derive(Clone, Copy)]
pub(crate) struct Reviewed<'a> {
    pub phase: &'a str,
    pub name: &'a str,
}

/// A reviewer's name, its verdict, its report if it gave one, and the findings that it marks there.
pub(crate) struct Judged<'a> {
    pub name: &'a str,
    pub verdict: Verdict,
    pub report: Option<&'a str>,
    pub findings: Vec<ReportedFinding>,
}

impl<'a> Judged<'a> {
    /// A report and what is to be read in it.
    pub(crate) fn of(name: &'a str, report: &'a str, verdict: Verdict) -> Self {
        Self {
            name,
            verdict,
            report: Some(report.trim()),
            findings: severity::findings(report),
        }
    }

    /// The report, if there is something to correct in it.
    pub(super) fn open_report(&self) -> Option<&'a str> {
        self.report
            .filter(|_| self.verdict == Verdict::Findings || !self.findings.is_empty())
    }
}

pub(super) fn judge<'a>(
    active: &'a [Reviewer],
    reports: &'a [Option<ChildReport>],
    adversarial: bool,
) -> Vec<Judged<'a>> {
    let judged = active.iter().zip(reports).map(|(reviewer, report)| Judged {
        name: &reviewer.name,
        verdict: match report {
            Some(report) => verdict(report, adversarial),
            // Who did not review has not passed anything.
            None => Verdict::Findings,
        },
        report: report.as_ref().map(|report| report.text.trim()),
        findings: report
            .as_ref()
            .map(|report| severity::findings(&report.text))
            .unwrap_or_default(),
    });
    judged.collect()
}

/// The names of those who are satisfied, and of the others.
pub(super) fn names(judged: &[Judged<'_>]) -> (Vec<String>, Vec<String>) {
    let (satisfied, unsatisfied): (Vec<_>, Vec<_>) = judged
        .iter()
        .partition(|judged| judged.verdict == Verdict::Satisfied);
    let names = |some: Vec<&Judged<'_>>| some.iter().map(|one| one.name.to_owned()).collect();
    (names(satisfied), names(unsatisfied))
}

/// What the fixer gets: every report with something to correct, once somebody is not satisfied; without that nothing. They are data: a report quotes files.
pub(super) fn for_fixer(judged: &[Judged<'_>]) -> String {
    let is_open =
        |judged: &Judged<'_>| judged.verdict == Verdict::Findings && judged.report.is_some();
    if !judged.iter().any(is_open) {
        return String::new();
    }
    let open = judged.iter().filter_map(|judged| {
        Some(enclosed(
            "findings",
            &format!("reviewer=\"{}\"", judged.name),
            &clip(judged.open_report()?, MAX_FINDINGS_CHARS),
        ))
    });
    open.collect::<Vec<_>>().join("\n\n")
}

/// The findings of a round, as they were recorded.
pub(crate) struct RoundFindings(Vec<Finding>);

impl RoundFindings {
    /// Records what a round found, and what became of earlier findings of the same reviewers. A record that cannot be written is no reason to end the run.
    pub(crate) fn record(
        run: &Run,
        about: Reviewed<'_>,
        number: u64,
        reviewed: &str,
        judged: &[Judged<'_>],
    ) -> Self {
        let found: Vec<Finding> = judged
            .iter()
            .flat_map(|judged| new(run, about, number, reviewed, judged))
            .collect();
        let mut earlier = findings::read(&run.places).unwrap_or_default();
        let now = run.ctx.session.clock.utc();
        earlier.retain_mut(|earlier| settle(earlier, run, about, judged, &found, &now));
        let all = [earlier, found.clone()].concat();
        write(run, &all);
        Self(found)
    }

    /// Records that a fixer has changed files for them, with `commit`.
    pub(crate) fn corrected(mut self, run: &Run, commit: String) {
        let now = run.ctx.session.clock.utc();
        for finding in &mut self.0 {
            finding.state = FindingState::Corrected;
            finding.commit.clone_from(&commit);
            finding.time.clone_from(&now);
        }
        write(run, &self.0);
    }
}

fn write(run: &Run, all: &[Finding]) {
    if let Err(problem) = findings::append(&run.places, all) {
        run.warn(format!(
            "The findings of a review are not recorded: {}",
            problem.one_line()
        ));
    }
}

/// What the findings of a run have in common: its epic, else the branch of the review.
fn key(run: &Run) -> &str {
    match run.ticket.as_str() {
        "" => &run.branch,
        ticket => ticket,
    }
}

/// The findings of one report. One that fails the subject and marks nothing is a blocker as a whole.
fn new(
    run: &Run,
    about: Reviewed<'_>,
    number: u64,
    reviewed: &str,
    judged: &Judged<'_>,
) -> Vec<Finding> {
    let whole = ReportedFinding {
        severity: Severity::Blocker,
        text: severity::recorded(
            judged
                .report
                .unwrap_or_default()
                .lines()
                .next()
                .unwrap_or_default(),
        ),
    };
    let marked = !judged.findings.is_empty();
    let reported = match (marked, judged.report, judged.verdict) {
        (true, ..) => judged.findings.as_slice(),
        (false, Some(_), Verdict::Findings) => std::slice::from_ref(&whole),
        (false, ..) => &[],
    };
    let found = reported.iter().zip(1..).map(|(reported, at)| Finding {
        id: format!(
            "{}/{}/{}/{number}/{}/{at}",
            key(run),
            about.phase,
            about.name,
            judged.name
        ),
        time: run.ctx.session.clock.utc(),
        ticket: key(run).to_owned(),
        phase: about.phase.to_owned(),
        subject: about.name.to_owned(),
        round: number,
        reviewer: judged.name.to_owned(),
        severity: reported.severity,
        marked,
        text: reported.text.clone(),
        reviewed: reviewed.to_owned(),
        state: FindingState::Open,
        commit: String::new(),
    });
    found.collect()
}

/// Whether an earlier finding has another state now that its reviewer has looked again, and gives it that state.
fn settle(
    earlier: &mut Finding,
    run: &Run,
    about: Reviewed<'_>,
    judged: &[Judged<'_>],
    found: &[Finding],
    now: &str,
) -> bool {
    let is_pending = matches!(earlier.state, FindingState::Open | FindingState::Corrected);
    let is_of_review =
        earlier.ticket == key(run) && earlier.phase == about.phase && earlier.subject == about.name;
    let has_looked = judged
        .iter()
        .any(|judged| judged.name == earlier.reviewer && judged.report.is_some());
    let is_replaced = found.iter().any(|new| new.id == earlier.id);
    if !is_pending || !is_of_review || !has_looked || is_replaced {
        return false;
    }
    let is_repeated = found
        .iter()
        .any(|new| new.reviewer == earlier.reviewer && words(&new.text) == words(&earlier.text));
    earlier.state = match is_repeated {
        true => FindingState::Repeated,
        false => FindingState::Resolved,
    };
    now.clone_into(&mut earlier.time);
    true
}

/// A text by its letters and digits: what a model writes again differs in signs.
fn words(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}
