//! The state of a run, built from its events: live, or from the record of them.
//!
//! Every sequence of events gives a state: a child that nobody announced, a second end, a phase that is in no outline. Times are durations since any fixed
//! moment; going back does no harm.

mod follow;

use std::time::Duration;

/// No run costs more US dollars; above is a fault in a number.
pub(crate) const MAX_COST: f64 = 1e9;
/// Newest warnings that are kept.
const MAX_WARNINGS: usize = 200;

/// What it has made so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunProduct {
    /// First lines of the messages of commits.
    pub checkpoints: Vec<String>,
    /// How the tests ended when they were last run: whether they passed, and a sentence.
    pub tests: Option<(bool, String)>,
}

/// A run as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunProgress {
    /// First line of the task.
    pub task: String,
    /// Id of the epic ticket.
    pub ticket: String,
    /// It continues an earlier run.
    pub resumed: bool,
    pub phases: Vec<PhaseProgress>,
    /// The round that is under way.
    pub round: Option<Round>,
    /// In the order in which they were started.
    pub children: Vec<ChildProgress>,
    /// Children whose provider cannot answer now.
    pub waits: Vec<ProviderWait>,
    pub product: RunProduct,
    pub warnings: Warnings,
    /// What earlier runs of the same ticket used.
    pub earlier: Usage,
    pub times: RunTimes,
    pub end: Option<RunEnd>,
}

/// What went wrong without ending the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Warnings {
    /// The newest ones.
    pub newest: Vec<String>,
    pub count: usize,
}

impl Warnings {
    /// The oldest is dropped.
    pub(crate) fn add(&mut self, words: String) {
        self.count = self.count.saturating_add(1);
        if self.newest.len() == MAX_WARNINGS {
            self.newest.remove(0);
        }
        self.newest.push(words);
    }
}

/// When a run began, and when it last told something.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RunTimes {
    /// When it started.
    pub started: Option<Duration>,
    /// When the last event came.
    pub latest: Duration,
    /// How far the clock was set back meanwhile; the times of everything since then are later by it.
    pub set_back: Duration,
}

/// A phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PhaseProgress {
    pub name: String,
    pub about: String,
    pub state: PhaseState,
}

/// What is known about a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhaseState {
    /// It was not asked for.
    Omitted,
    ToCome,
    /// Since when.
    Running(Duration),
    /// How long it took, if this is known.
    Done(Option<Duration>),
    /// Why.
    Skipped(String),
    /// It neither ended nor runs; after this time.
    Stopped(Duration),
}

/// A round of reviews or of another loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    /// What it is about.
    pub subject: String,
    pub number: u64,
    pub most: u64,
}

/// A child process.
#[derive(Debug, Clone)]
pub(crate) struct ChildProgress {
    pub id: String,
    pub label: String,
    pub model: String,
    pub attempt: u64,
    /// The phase that it was started in; empty before the first.
    pub phase: String,
    pub started: Duration,
    /// The tools of its last round.
    pub tools: Vec<String>,
    pub usage: Usage,
    pub end: Option<ChildEnd>,
}

/// A child that is started again once its provider may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderWait {
    /// The label of the child.
    pub label: String,
    pub provider: String,
    /// When it is started again.
    pub until: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChildEnd {
    pub done: bool,
    pub words: String,
    pub took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunEnd {
    pub done: bool,
    /// The user wanted it to stop there.
    pub paused: bool,
    pub words: String,
    pub at: Duration,
}

/// Tokens and dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// In and out.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// A part of the numbers is an estimate.
    pub estimated: bool,
}

impl Usage {
    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: (self.cost + other.cost).min(MAX_COST),
            estimated: self.estimated || other.estimated,
        }
    }
}

impl RunProgress {
    /// The phase that runs.
    pub(crate) fn current(&self) -> Option<&PhaseProgress> {
        let mut phases = self.phases.iter();
        phases.find(|phase| matches!(phase.state, PhaseState::Running(_)))
    }

    /// The phase in which the run stopped.
    pub(crate) fn stopped_in(&self) -> Option<&PhaseProgress> {
        let mut phases = self.phases.iter();
        phases.rfind(|phase| matches!(phase.state, PhaseState::Stopped(_)))
    }

    /// The children that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &ChildProgress> {
        self.children.iter().filter(|child| child.end.is_none())
    }

    /// The child with this id that was started last.
    pub(crate) fn child(&self, id: &str) -> Option<&ChildProgress> {
        self.children.iter().rfind(|child| child.id == id)
    }

    /// How many phases are done or skipped, and how many there are without the omitted ones.
    pub(crate) fn count(&self) -> (usize, usize) {
        let asked_for = self
            .phases
            .iter()
            .filter(|phase| phase.state != PhaseState::Omitted);
        let done = asked_for.clone().filter(|phase| phase.is_done());
        (done.count(), asked_for.count())
    }

    /// The number of a phase among those that were asked for, counted from 1.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        let mut asked_for = self
            .phases
            .iter()
            .filter(|phase| phase.state != PhaseState::Omitted);
        asked_for
            .position(|phase| phase.name == name)
            .map(|index| index + 1)
    }

    /// What this run used.
    pub(crate) fn own_usage(&self) -> Usage {
        let children = self.children.iter().map(|child| child.usage);
        children.fold(Usage::default(), Usage::add)
    }

    /// What this run and the earlier ones of the same ticket used.
    pub(crate) fn all_usage(&self) -> Usage {
        self.earlier.add(self.own_usage())
    }

    /// How long it has been running at `now`, or ran.
    pub(crate) fn elapsed(&self, now: Duration) -> Duration {
        let until = self.end.as_ref().map_or(now, |end| end.at);
        until.saturating_sub(self.times.started.unwrap_or(until))
    }
}

impl PhaseProgress {
    /// It needs no more work.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, PhaseState::Done(_) | PhaseState::Skipped(_))
    }
}

#[cfg(test)]
mod tests;
