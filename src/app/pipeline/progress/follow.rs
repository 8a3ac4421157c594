//! What each event changes in what is known about a run.

use std::time::Duration;

use super::{
    ChildEnd, ChildProgress, MAX_COST, PhaseProgress, PhaseState, ProviderWait, Round, RunEnd,
    RunProduct, RunProgress, RunTimes, Usage,
};
use crate::chat::pipeline_event::{PhaseOutline, PipelineEvent};

impl RunProgress {
    /// Takes an event that came at `at`.
    pub(crate) fn apply(&mut self, event: &PipelineEvent, at: Duration) {
        let is_start = matches!(event, PipelineEvent::RunStarted { .. });
        let mut at = at;
        if !is_start {
            let RunTimes {
                latest, set_back, ..
            } = &mut self.times;
            *set_back = latest.saturating_sub(at).max(*set_back);
            at = at.saturating_add(*set_back);
        }
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
                // One that finds nothing left to do runs no tests: what they said of the work holds.
                let is_done = phases.iter().all(|phase| phase.done || phase.omitted);
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
                    product: RunProduct {
                        tests: earlier.product.tests.filter(|_| same && is_done),
                        ..RunProduct::default()
                    },
                    times: RunTimes {
                        started: Some(at),
                        ..RunTimes::default()
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
            PipelineEvent::PhaseDone { phase, took } => {
                self.round = None;
                self.set_phase(phase, PhaseState::Done(Some(*took)));
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
                took,
            } => {
                if let Some(child) = self.running_child(id) {
                    child.end = Some(ChildEnd {
                        done: *done,
                        words: words.clone(),
                        took: *took,
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
                self.product.tests = Some((*passed, words.clone()));
            }
            PipelineEvent::Checkpoint { message } => self.product.checkpoints.push(message.clone()),
            PipelineEvent::Warning { words } => {
                self.warnings.add(words.clone());
            }
            PipelineEvent::Steered { .. }
            | PipelineEvent::InWorktree { .. }
            | PipelineEvent::ApprovalAwaited { .. } => {}
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
                phase.state = PhaseState::Stopped(at.saturating_sub(since));
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
}

impl ChildProgress {
    fn stop(&mut self, at: Duration, why: &str) {
        self.end = Some(ChildEnd {
            done: false,
            words: why.to_owned(),
            took: at.saturating_sub(self.started),
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
