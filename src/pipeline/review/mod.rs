//! The review loop: read-only reviewers in parallel, then one fixer who gets the findings of those who are not satisfied, until nobody has any.
//!
//! A reviewer without a blocker is satisfied and not asked again. What was found is kept in a history that both sides read, and finding by finding in a
//! record ([`findings`]); commits before each round and after each fixer let a reviewer see what the fixer really changed.

pub(crate) mod code;
pub(crate) mod document;
pub(crate) mod findings;
pub(crate) mod history;
pub(crate) mod judged;
pub(crate) mod reviewers;
pub(crate) mod severity;
pub(crate) mod verdict;

use std::collections::BTreeMap;

use self::history::{History, RoundEntry};
use self::judged::{Reviewed, RoundFindings, judge};
use self::reviewers::Reviewer;
use super::{Run, places, repository};
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::text::{clip, plural};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::paths::TICKETS;

/// Characters of a difference that reviewers are shown.
const MAX_CHANGES_CHARS: usize = 8_000;

/// What is reviewed, by whom, and who corrects it.
pub(crate) trait Subject {
    /// The phase, for events.
    fn phase(&self) -> &str;
    /// Its name in events, commits and the history: a document's, or `code`.
    fn name(&self) -> &str;
    /// The most rounds.
    fn rounds(&self) -> u64;
    /// The first round looks for faults alone and passes nobody.
    fn first_is_adversarial(&self) -> bool;
    /// Everybody who reviews it.
    fn reviewers(&self) -> Vec<Reviewer>;
    /// What all reviewers of a round are shown of the subject before its first round; may be empty.
    fn overview(&self, _run: &Run) -> String {
        String::new()
    }
    /// A reviewer's whole prompt.
    fn prompt(&self, run: &Run, reviewer: &Reviewer, round: &Round) -> String;
    /// The path whose difference reviewers see; everything when `None`.
    fn path(&self) -> Option<&str>;
    /// Lets a fixer correct it; false when it changed nothing.
    ///
    /// # Errors
    /// The run was stopped, or has nothing left to spend.
    fn fix(&self, run: &Run, round: &Round, findings: &str) -> Outcome<FixEnd>;
    /// Records that a round is over.
    ///
    /// # Errors
    /// It cannot be recorded.
    fn round_done(&self, run: &Run, result: &RoundResult) -> Outcome<()>;
}

/// What came of a fixer's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixEnd {
    /// Something is changed.
    Changed,
    /// Nothing is, and it said why.
    Explained,
    /// Nothing is.
    Unchanged,
}

impl FixEnd {
    pub(crate) fn of(changed: bool, reasons: Option<&str>) -> Self {
        match (changed, reasons) {
            (true, _) => Self::Changed,
            (false, Some(_)) => Self::Explained,
            (false, None) => Self::Unchanged,
        }
    }
}

/// What a round is given.
pub(crate) struct Round {
    /// Counted from 1.
    pub number: u64,
    /// The most there can be.
    pub most: u64,
    /// Nobody passes, and nobody may learn how to.
    pub adversarial: bool,
    /// What each reviewer found in earlier rounds, by its name.
    pub earlier: BTreeMap<String, String>,
    /// Path of the history.
    pub history_path: String,
    /// What the subject shows of itself.
    pub overview: String,
    /// What the last fixer changed.
    pub changes: Option<String>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoundResult {
    /// Counted from 1.
    pub number: u64,
    /// Names of the reviewers who had findings, or did not review.
    pub unsatisfied: Vec<String>,
    /// Names of those who were satisfied in this round.
    pub satisfied: Vec<String>,
    /// The fixer changed something.
    pub changed: bool,
}

/// How a review ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewEnd {
    /// Everybody is satisfied.
    Clean,
    /// The rounds are used up.
    RoundsUsedUp,
}

/// Reviews `subject`, whose first `done` rounds are over already.
///
/// # Errors
/// In a round nobody reviewed; a checkpoint cannot be made; the run was stopped, or has nothing left to spend.
pub(crate) fn run(run: &Run, subject: &dyn Subject, done: u64) -> Outcome<ReviewEnd> {
    let history = History::of(subject.name());
    let mut active = subject.reviewers();
    if done > 0 {
        let satisfied = history.satisfied(run);
        active.retain(|reviewer| !satisfied.contains(&reviewer.name));
    }
    for number in done + 1..=subject.rounds() {
        if active.is_empty() {
            break;
        }
        let result = round(run, subject, &history, &mut active, number)?;
        subject.round_done(run, &result)?;
    }
    if active.is_empty() {
        return Ok(ReviewEnd::Clean);
    }
    run.warn(format!(
        "After {} of review of {} there are still findings; the run goes on. They are in {}.",
        plural(subject.rounds().try_into().unwrap_or(usize::MAX), "round"),
        subject.name(),
        history.path(&run.places)
    ));
    Ok(ReviewEnd::RoundsUsedUp)
}

/// One round: checkpoint, reviewers, history, fixer, checkpoint.
fn round(
    run: &Run,
    subject: &dyn Subject,
    history: &History,
    active: &mut Vec<Reviewer>,
    number: u64,
) -> Outcome<RoundResult> {
    let name = subject.name();
    run.emit(PipelineEvent::RoundStarted {
        phase: subject.phase().to_owned(),
        subject: name.to_owned(),
        round: number,
        most: subject.rounds(),
    });
    repository::checkpoint(run, &format!("{name}: before review round {number}"))?;
    let base = repository::head(run)?;
    let round = Round {
        number,
        most: subject.rounds(),
        adversarial: number == 1 && subject.first_is_adversarial(),
        earlier: match number {
            // The first has to look for itself.
            1 => BTreeMap::new(),
            _ => history.by_reviewer(run),
        },
        history_path: history.path(&run.places),
        overview: subject.overview(run),
        changes: changes(run, subject, history, number),
    };
    let reports = reviewers::ask(run, subject, active, &round)?;
    let judged = judge(active, &reports, round.adversarial);
    history.append(
        run,
        &RoundEntry {
            number,
            base: &base,
            judged: &judged,
        },
    )?;
    let about = Reviewed {
        phase: subject.phase(),
        name: subject.name(),
    };
    let recorded = RoundFindings::record(run, about, number, &base, &judged);
    let findings = judged::for_fixer(&judged);
    let (satisfied, unsatisfied) = judged::names(&judged);
    active.retain(|reviewer| !satisfied.contains(&reviewer.name));
    let mut changed = false;
    if !findings.is_empty() {
        let end = subject.fix(run, &round, &findings)?;
        changed = end == FixEnd::Changed;
        if end == FixEnd::Unchanged {
            run.warn(format!(
                "The fixer of {name} changed nothing in round {number}."
            ));
        }
        repository::checkpoint(run, &format!("{name}: after the fixer of round {number}"))?;
        if changed {
            recorded.corrected(run, repository::head(run)?);
        }
    }
    Ok(RoundResult {
        number,
        unsatisfied,
        satisfied,
        changed,
    })
}

/// A text as a paragraph of a prompt, or nothing.
pub(crate) fn as_part(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

impl Round {
    /// What a reviewer found in earlier rounds, and where it finds what the others found; nothing in the first round.
    pub(crate) fn history_for(&self, reviewer: &Reviewer) -> String {
        if self.number < 2 {
            return String::new();
        }
        let own = self.earlier.get(&reviewer.name).map(|own| {
            format!(
                "What you found in earlier rounds:\n{}\n",
                enclosed("history", "", own)
            )
        });
        let others = match reviewer.sees_only_subject {
            true => String::new(),
            false => format!(
                "What every reviewer found in earlier rounds is in `{}`.",
                self.history_path
            ),
        };
        own.unwrap_or_default() + &others
    }
}

/// What the last fixer changed, from the second round on.
fn changes(run: &Run, subject: &dyn Subject, history: &History, number: u64) -> Option<String> {
    if number < 2 {
        return None;
    }
    let base = history.last_base(run)?;
    let diff = repository::changes_since(run, &base, subject.path());
    match diff.map(|diff| without_own_files(&diff)) {
        Ok(diff) if diff.trim().is_empty() => Some("The last fixer changed nothing.".to_owned()),
        Ok(diff) => Some(format!(
            "What the last fixer changed:\n{}",
            enclosed("difference", "", &clip(&diff, MAX_CHANGES_CHARS))
        )),
        Err(problem) => {
            run.warn(format!(
                "The difference of the last fixer cannot be shown: {}",
                problem.one_line()
            ));
            None
        }
    }
}

/// A difference without the files that Marvin and the tickets keep beside the code; documents stay.
fn without_own_files(diff: &str) -> String {
    let is_own = |header: &str| {
        let path = header.trim_start_matches('"');
        let path = path.strip_prefix("a/").unwrap_or(path);
        // The path stands twice, and has no blank where it is one of ours.
        let path = path.split(' ').next().unwrap_or_default();
        (places::is_own(path) || path.split('/').next() == Some(TICKETS))
            && !places::is_document_path(path)
    };
    let mut kept = String::new();
    let mut skips = false;
    for line in diff.split_inclusive('\n') {
        // Lines of content begin with a space, a sign or a backslash.
        if let Some(path) = line.strip_prefix("diff --git ") {
            skips = is_own(path);
        }
        if !skips {
            kept.push_str(line);
        }
    }
    kept
}
