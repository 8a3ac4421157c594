//! Sequences of events, and what is known after them.

use super::*;
use crate::chat::pipeline_event::{PhaseOutline, PipelineEvent};

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
        took: at(40),
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
    assert_eq!(progress.phases[0].state, PhaseState::Done(Some(at(40))));
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
fn a_start_that_finds_nothing_left_to_do_keeps_how_the_tests_ended() {
    let mut over = started("t", true);
    if let PipelineEvent::RunStarted { phases, .. } = &mut over {
        phases.retain(|phase| phase.name != "3");
    }
    let tests = PipelineEvent::TestsRun {
        passed: true,
        words: "12 tests.".to_owned(),
    };
    // In one that goes on they are run again.
    for (last, is_kept) in [
        (over.clone(), true),
        (started("t", true), false),
        (started("u", true), false),
    ] {
        let mut progress = RunProgress::default();
        for event in [&over, &tests, &last] {
            progress.apply(event, at(100));
        }
        assert_eq!(progress.product.tests.is_some(), is_kept, "{last:?}");
    }
}

#[test]
fn usage_counts_once_a_child_and_also_after_its_end() {
    let mut progress = RunProgress::default();
    let end = PipelineEvent::ChildEnded {
        id: "w".to_owned(),
        done: true,
        words: String::new(),
        took: at(3),
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
fn a_clock_that_is_set_back_loses_only_the_time_between_two_events() {
    let mut progress = RunProgress::default();
    progress.apply(&started("t", false), at(1_000));
    progress.apply(&phase_started("1a"), at(1_010));
    progress.apply(&child("w"), at(500));
    let end = PipelineEvent::RunEnded {
        done: false,
        words: "Stopped.".to_owned(),
    };
    progress.apply(&end, at(525));
    let stopped = &progress.stopped_in().unwrap().state;
    assert_eq!(*stopped, PhaseState::Stopped(at(25)));
    assert_eq!(progress.elapsed(at(0)), at(35));
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
        PhaseState::Stopped(at(15))
    );
    assert_eq!((progress.running().count(), progress.current()), (0, None));
    assert_eq!(progress.elapsed(at(1000)), at(15));
}
