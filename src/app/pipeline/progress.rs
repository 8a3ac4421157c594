//! The state of a run, built from its events: live, or from the record of them.
//!
//! Every sequence of events gives a state: a child that nobody announced, a second end, a phase that is in no outline. Times are durations since any fixed
//! moment; going back does no harm.

use std::time::Duration;

use crate::chat::pipeline_event::{PhaseOutline, PipelineEvent};

/// No run costs more US dollars; above is a fault in a number.
pub(crate) const MAX_COST: f64 = 1e9;
/// Newest warnings that are kept.
const MAX_WARNINGS: usize = 200;

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
    /// First lines of the messages of commits.
    pub checkpoints: Vec<String>,
    pub warnings: Warnings,
    /// How the tests ended when they were last run: whether they passed, and a sentence.
    pub tests: Option<(bool, String)>,
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
    /// How many there were in all.
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
    /// How long it took in seconds, if this is known.
    Done(Option<u64>),
    /// Why.
    Skipped(String),
    /// It neither ended nor runs; after so many seconds.
    Stopped(u64),
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

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChildEnd {
    pub done: bool,
    pub words: String,
    pub seconds: u64,
}

/// How a run ended.
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
    /// Takes an event that came at `at`.
    pub(crate) fn apply(&mut self, event: &PipelineEvent, at: Duration) {
        match event {
            PipelineEvent::RunStarted {
                task,
                ticket,
                phases,
                resumed,
                ..
            } => {
                let earlier = std::mem::take(self);
                let same = earlier.ticket == *ticket;
                *self = Self {
                    task: task.clone(),
                    ticket: ticket.clone(),
                    resumed: *resumed,
                    phases: phases
                        .iter()
                        .map(|outline| phase(outline, same.then_some(&earlier)))
                        .collect(),
                    earlier: if same {
                        earlier.all_usage()
                    } else {
                        Usage::default()
                    },
                    times: RunTimes {
                        started: Some(at),
                        latest: Duration::ZERO,
                    },
                    ..Self::default()
                };
            }
            PipelineEvent::PhaseStarted { phase } => {
                self.stop_phases(at);
                self.round = None;
                self.set_phase(phase, PhaseState::Running(at));
            }
            PipelineEvent::PhaseSkipped { phase, reason } => {
                self.round = None;
                self.set_phase(phase, PhaseState::Skipped(reason.clone()));
            }
            PipelineEvent::PhaseDone { phase, seconds } => {
                self.round = None;
                self.set_phase(phase, PhaseState::Done(Some(*seconds)));
            }
            PipelineEvent::RoundStarted {
                subject,
                round,
                most,
                ..
            } => {
                self.round = Some(Round {
                    subject: subject.clone(),
                    number: *round,
                    most: *most,
                });
            }
            PipelineEvent::ChildStarted {
                id,
                label,
                model,
                attempt,
            } => {
                if let Some(child) = self.running_child(id) {
                    child.stop(at, "Started again.");
                }
                self.waits.retain(|wait| wait.label != *label);
                self.children.push(ChildProgress {
                    id: id.clone(),
                    label: label.clone(),
                    model: model.clone(),
                    attempt: *attempt,
                    phase: self
                        .current()
                        .map_or_else(String::new, |phase| phase.name.clone()),
                    started: at,
                    tools: Vec::new(),
                    usage: Usage::default(),
                    end: None,
                });
            }
            PipelineEvent::ChildTools { id, tools } => {
                if let Some(child) = self.running_child(id) {
                    child.tools.clone_from(tools);
                }
            }
            PipelineEvent::ChildUsage {
                id,
                tokens,
                cost,
                estimated,
            } => {
                // A child's last usage may come after its end.
                if let Some(child) = self.children.iter_mut().rfind(|child| child.id == *id) {
                    let cost = if cost.is_finite() { *cost } else { 0.0 };
                    child.usage = Usage {
                        tokens: *tokens,
                        cost: cost.clamp(0.0, MAX_COST),
                        estimated: *estimated,
                    };
                }
            }
            PipelineEvent::ChildEnded {
                id,
                done,
                words,
                seconds,
            } => {
                if let Some(child) = self.running_child(id) {
                    child.end = Some(ChildEnd {
                        done: *done,
                        words: words.clone(),
                        seconds: *seconds,
                    });
                }
            }
            PipelineEvent::ProviderWait {
                label,
                provider,
                milliseconds,
            } => {
                self.waits.retain(|wait| wait.label != *label);
                self.waits.push(ProviderWait {
                    label: label.clone(),
                    provider: provider.clone(),
                    until: at.saturating_add(Duration::from_millis(*milliseconds)),
                });
            }
            PipelineEvent::TestsRun { passed, words } => {
                self.tests = Some((*passed, words.clone()));
            }
            PipelineEvent::Checkpoint { message } => self.checkpoints.push(message.clone()),
            PipelineEvent::Warning { words } => {
                self.warnings.add(words.clone());
            }
            PipelineEvent::Steered { .. } | PipelineEvent::ApprovalAwaited { .. } => {}
            PipelineEvent::RunPaused { words, .. } => {
                self.stop(at, "The run paused.");
                self.end = Some(RunEnd {
                    done: false,
                    paused: true,
                    words: words.clone(),
                    at,
                });
            }
            PipelineEvent::RunEnded { done, words } => {
                self.stop(at, "The run ended.");
                self.end = Some(RunEnd {
                    done: *done,
                    paused: false,
                    words: words.clone(),
                    at,
                });
            }
        }
        self.times.latest = self.times.latest.max(at);
    }

    /// Nothing runs any more, since `at`: the run ended, or its process is gone.
    pub(crate) fn stop(&mut self, at: Duration, why: &str) {
        self.stop_phases(at);
        self.round = None;
        self.waits.clear();
        for child in self.children.iter_mut().filter(|child| child.end.is_none()) {
            child.stop(at, why);
        }
    }

    fn stop_phases(&mut self, at: Duration) {
        for phase in &mut self.phases {
            if let PhaseState::Running(since) = phase.state {
                phase.state = PhaseState::Stopped(at.saturating_sub(since).as_secs());
            }
        }
    }

    fn set_phase(&mut self, name: &str, state: PhaseState) {
        if let Some(phase) = self.phases.iter_mut().find(|phase| phase.name == name) {
            phase.state = state;
        } else {
            self.phases.push(PhaseProgress {
                name: name.to_owned(),
                about: String::new(),
                state,
            });
        }
    }

    fn running_child(&mut self, id: &str) -> Option<&mut ChildProgress> {
        let mut children = self.children.iter_mut();
        children.rfind(|child| child.end.is_none() && child.id == id)
    }

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

impl ChildProgress {
    fn stop(&mut self, at: Duration, why: &str) {
        self.end = Some(ChildEnd {
            done: false,
            words: why.to_owned(),
            seconds: at.saturating_sub(self.started).as_secs(),
        });
    }
}

/// A phase of an outline; an earlier run may know how long it took, or why it was skipped.
fn phase(outline: &PhaseOutline, earlier: Option<&RunProgress>) -> PhaseProgress {
    let known = || {
        let mut phases = earlier?.phases.iter();
        phases.find(|phase| phase.name == outline.name && phase.is_done())
    };
    let state = match (outline.done, outline.omitted) {
        (true, _) => known().map_or(PhaseState::Done(None), |phase| phase.state.clone()),
        (false, true) => PhaseState::Omitted,
        (false, false) => PhaseState::ToCome,
    };
    PhaseProgress {
        name: outline.name.clone(),
        about: outline.about.clone(),
        state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn started(ticket: &str, done: bool) -> PipelineEvent {
        let outline = |name: &str, done, omitted| PhaseOutline {
            name: name.to_owned(),
            about: String::new(),
            done,
            omitted,
        };
        PipelineEvent::RunStarted {
            task: "A to-do list".to_owned(),
            ticket: ticket.to_owned(),
            tiers: Vec::new(),
            phases: vec![
                outline("1a", done, false),
                outline("2a", false, true),
                outline("3", false, false),
            ],
            resumed: done,
        }
    }

    fn child(id: &str) -> PipelineEvent {
        PipelineEvent::ChildStarted {
            id: id.to_owned(),
            label: "writer".to_owned(),
            model: "m".to_owned(),
            attempt: 1,
        }
    }

    fn used(id: &str, tokens: u64, cost: f64) -> PipelineEvent {
        PipelineEvent::ChildUsage {
            id: id.to_owned(),
            tokens,
            cost,
            estimated: false,
        }
    }

    fn phase_started(phase: &str) -> PipelineEvent {
        let phase = phase.to_owned();
        PipelineEvent::PhaseStarted { phase }
    }

    #[test]
    fn a_resumed_run_keeps_times_and_cost_of_the_same_ticket_only() {
        let mut progress = RunProgress::default();
        let done = PipelineEvent::PhaseDone {
            phase: "1a".to_owned(),
            seconds: 40,
        };
        for event in [
            started("t", false),
            phase_started("1a"),
            child("w"),
            used("w", 10, 0.5),
            done,
        ] {
            progress.apply(&event, at(100));
        }
        let mut other = progress.clone();
        progress.apply(&started("t", true), at(200));
        assert_eq!(progress.phases[0].state, PhaseState::Done(Some(40)));
        assert_eq!(
            (progress.own_usage().tokens, progress.all_usage().tokens),
            (0, 10)
        );
        assert_eq!(progress.count(), (1, 2));
        assert_eq!(
            (progress.number("3"), progress.number("2a")),
            (Some(2), None)
        );
        other.apply(&started("u", true), at(200));
        assert_eq!(other.phases[0].state, PhaseState::Done(None));
        assert_eq!(other.all_usage(), Usage::default());
    }

    #[test]
    fn usage_counts_once_a_child_and_also_after_its_end() {
        let mut progress = RunProgress::default();
        let end = PipelineEvent::ChildEnded {
            id: "w".to_owned(),
            done: true,
            words: String::new(),
            seconds: 3,
        };
        let events = [
            child("w"),
            used("w", 10, 0.25),
            used("w", 30, 0.5),
            end.clone(),
            used("w", 40, 0.75),
            end,
            // The same id again is another child.
            child("w"),
            used("w", 2, f64::NAN),
            used("nobody", 7, 7.0),
        ];
        for event in &events {
            progress.apply(event, at(5));
        }
        assert_eq!(
            (progress.own_usage().tokens, progress.own_usage().cost),
            (42, 0.75)
        );
        assert_eq!(progress.running().count(), 1);
        progress.apply(&used("w", u64::MAX, f64::INFINITY), at(6));
        progress.apply(&child("x"), at(6));
        progress.apply(&used("x", u64::MAX, f64::MAX), at(6));
        assert_eq!(
            (progress.own_usage().tokens, progress.own_usage().cost),
            (u64::MAX, MAX_COST)
        );
    }

    #[test]
    fn what_runs_when_the_run_ends_is_stopped() {
        let mut progress = RunProgress::default();
        for event in [started("t", false), phase_started("1a"), child("w")] {
            progress.apply(&event, at(10));
        }
        assert_eq!(progress.current().unwrap().name, "1a");
        assert_eq!(progress.child("w").unwrap().phase, "1a");
        let end = PipelineEvent::RunEnded {
            done: false,
            words: "Stopped.".to_owned(),
        };
        progress.apply(&end, at(25));
        assert_eq!(
            progress.stopped_in().unwrap().state,
            PhaseState::Stopped(15)
        );
        assert_eq!((progress.running().count(), progress.current()), (0, None));
        assert_eq!(progress.elapsed(at(1000)), at(15));
    }
}
