//! `marvin pipeline status`: how a run is going.

use std::fmt::Write as _;
use std::time::Duration;

use crate::app::pipeline::status::{ChildStatus, PhaseStatus, RunState, RunStatus};
use crate::app::pipeline::summary::{foreign, time};
use crate::base::text::{counted, one_line};
use crate::chat::usage::dollars;

/// The status for a reader.
pub(super) fn text(status: &RunStatus) -> String {
    let mut out = headline(status);
    out.push('\n');
    if let (Some(point), Some(approve)) = (&status.times.waiting, &status.times.approve) {
        // A command is to be copied: nothing of it is cut.
        let _ = writeln!(
            out,
            "Waits for your approval of {point}: {}",
            one_line(approve)
        );
    }
    if let Some(end) = &status.times.end {
        let _ = writeln!(out, "End: {}", foreign(end));
    }
    if !status.task.is_empty() {
        let _ = writeln!(out, "Task: {}", foreign(&status.task));
    }
    if !status.ticket.is_empty() {
        let _ = writeln!(out, "Ticket: {}", foreign(&status.ticket));
    }
    if status.task.is_empty() && status.place.unknown.is_some() {
        out.push_str("Task: it is not recorded here\n");
    }
    if let Some(feature) = &status.place.feature {
        let _ = writeln!(out, "Feature: {}", foreign(feature));
    }
    if let (Some(folder), Some(branch)) = (&status.place.folder, &status.place.branch) {
        let _ = writeln!(out, "Folder: {}", foreign(folder));
        let _ = writeln!(out, "Branch: {}", foreign(branch));
    }
    if let Some(started) = &status.times.started {
        let verb = if status.times.resumed {
            "Resumed"
        } else {
            "Started"
        };
        let _ = writeln!(out, "{verb}: {started}");
        let _ = writeln!(out, "Time: {}", words(status.times.seconds));
        let _ = writeln!(out, "Cost: {}", cost(status));
    }
    if let Some(recorded) = &status.steps.recorded {
        let _ = writeln!(out, "Recorded as done: {recorded}");
    }
    if let Some(unknown) = status.place.unknown {
        let _ = writeln!(out, "Note: {unknown}");
    }
    out.push_str("\nPhases:\n");
    let widest = status
        .steps
        .phases
        .iter()
        .map(|phase| phase.name.len())
        .max();
    for phase in &status.steps.phases {
        let _ = writeln!(out, "{}", phase_row(phase, widest.unwrap_or_default()));
    }
    if let Some(round) = &status.steps.round {
        let _ = writeln!(
            out,
            "\nRound {} of {}: {}",
            round.round,
            round.most,
            foreign(&round.subject)
        );
    }
    if !status.steps.children.is_empty() {
        out.push_str("\nChildren:\n");
        for child in &status.steps.children {
            let _ = writeln!(out, "{}", child_row(child));
        }
    }
    if let Some(tests) = &status.tests {
        let mark = if tests.passed { "passed" } else { "failed" };
        let _ = writeln!(out, "\nTests: {mark}. {}", foreign(&tests.words));
    }
    if !status.warnings.newest.is_empty() {
        let _ = writeln!(out, "\nWarnings ({}):", status.warnings.count);
        for warning in &status.warnings.newest {
            let _ = writeln!(out, "  - {}", foreign(warning));
        }
    }
    out
}

fn headline(status: &RunStatus) -> String {
    let phase = status
        .steps
        .phase
        .as_deref()
        .map_or_else(String::new, |phase| format!(" in phase {}", foreign(phase)));
    match (status.state, status.pid) {
        (RunState::Running, Some(pid)) => format!("Running{phase}, process {pid}."),
        (RunState::Running, None) => format!("Running{phase}."),
        (RunState::Done, _) => "Done.".to_owned(),
        (RunState::Paused, _) => "Paused. The same command again continues it.".to_owned(),
        (RunState::Failed, _) => {
            format!("Stopped{phase}. The same command again continues it.")
        }
        (RunState::Dead, _) => format!(
            "Dead: its process is gone{phase}, killed or crashed. The same command again continues it."
        ),
        (RunState::Recorded, _) => {
            "Not running. No events are recorded, only the last phase that is done.".to_owned()
        }
    }
}

fn cost(status: &RunStatus) -> String {
    let used = |tokens, cost| {
        let dollars = dollars(cost, status.spent.cost_estimated);
        format!("{}, {dollars}", counted(tokens, "token"))
    };
    let mut out = used(status.spent.tokens, status.spent.cost);
    if status.spent.total_tokens > status.spent.tokens {
        let total = used(status.spent.total_tokens, status.spent.total_cost);
        let _ = write!(out, "; with the runs before it {total}");
    }
    out
}

fn phase_row(phase: &PhaseStatus, widest: usize) -> String {
    let mut result = phase.state.replace('_', " ");
    if phase.state == "omitted" {
        "not asked for".clone_into(&mut result);
    }
    match (phase.state, phase.seconds) {
        ("done", Some(seconds)) => {
            let _ = write!(result, " in {}", words(seconds));
        }
        ("stopped", Some(seconds)) => {
            let _ = write!(result, " after {}", words(seconds));
        }
        (_, Some(seconds)) => {
            let _ = write!(result, " for {}", words(seconds));
        }
        (_, None) => {}
    }
    if let Some(reason) = &phase.reason {
        let _ = write!(result, ". {}", foreign(reason));
    }
    let name = foreign(&phase.name);
    match foreign(&phase.about).as_str() {
        "" => format!("  {name:<widest$}  {result}"),
        about => format!("  {name:<widest$}  {about}: {result}"),
    }
}

fn words(seconds: u64) -> String {
    time(Duration::from_secs(seconds))
}

fn child_row(child: &ChildStatus) -> String {
    let mut out = format!("  {} ({}", foreign(&child.label), foreign(&child.model));
    if child.attempt > 1 {
        let _ = write!(out, ", attempt {}", child.attempt);
    }
    let _ = write!(out, ") for {}", words(child.seconds));
    if child.tokens > 0 {
        let _ = write!(
            out,
            ", {}, {}",
            counted(child.tokens, "token"),
            dollars(child.cost, false)
        );
    }
    if !child.tools.is_empty() {
        let _ = write!(out, ", last tool: {}", foreign(&child.tools.join(", ")));
    }
    let _ = write!(out, "\n    {}", foreign(&child.log));
    out
}
