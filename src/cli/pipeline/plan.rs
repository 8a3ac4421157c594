//! `marvin pipeline plan`: what a run would do and may cost.

use std::fmt::Write as _;
use std::time::Duration;

use crate::app::pipeline::plan::{Forecast, PlannedGroup, PlannedPhase, RunPlan};
use crate::app::pipeline::summary::{foreign, time};
use crate::base::text::{counted, plural};
use crate::chat::usage::exact_dollars;

/// The plan for a reader.
pub(super) fn text(plan: &RunPlan) -> String {
    let mut out = format!("Task: {}\n", foreign(&plan.task));
    let _ = writeln!(out, "Folder: {}", foreign(&plan.folder));
    let sizes = &plan.sizes;
    let _ = writeln!(
        out,
        "Sizes: task {}; {} of {}; {} of {}",
        counted(sizes.task_tokens, "token"),
        plural(sizes.documents, "document"),
        counted(sizes.document_tokens, "token"),
        plural(sizes.files, "file"),
        counted(sizes.code_tokens, "token"),
    );
    out.push_str("\nPhases:\n");
    let widest = plan.phases.iter().map(|phase| phase.name.len()).max();
    for phase in &plan.phases {
        phase_rows(&mut out, phase, widest.unwrap_or_default());
    }
    let _ = writeln!(out, "\nForecast: {}", range(&plan.total));
    if plan.spent > 0.0 {
        let _ = writeln!(out, "Spent already: {}", exact_dollars(plan.spent, false));
    }
    if let Some(max) = plan.max_cost {
        let _ = writeln!(out, "Ceiling: ${max:.2}");
    }
    for note in &plan.notes {
        let _ = writeln!(out, "Note: {}", foreign(note));
    }
    out.push_str("\nAssumed:\n");
    for assumption in &plan.assumptions {
        let _ = writeln!(out, "  - {assumption}");
    }
    out.push_str("\nNothing was started, paid or written.\n");
    out
}

fn phase_rows(out: &mut String, phase: &PlannedPhase, widest: usize) {
    let state = match phase.state {
        "to_do" => format!("to do, {}", range(&phase.forecast)),
        other => other.to_owned(),
    };
    let _ = writeln!(out, "  {:<widest$}  {}: {state}", phase.name, phase.about);
    let labels = phase.children.iter().map(|group| group.label.len());
    let widest = labels.max().unwrap_or_default();
    for group in &phase.children {
        let _ = writeln!(out, "    {}", child_row(group, widest));
    }
}

fn child_row(group: &PlannedGroup, widest: usize) -> String {
    let count = match group.least == group.most {
        true => group.most.to_string(),
        false => format!("{} to {}", group.least, group.most),
    };
    format!(
        "{count:>6} {:<widest$}  {}, {}:{}, {}",
        group.label,
        group.tier,
        foreign(&group.provider),
        foreign(&group.model),
        costs(&group.forecast, !group.price_known)
    )
}

fn costs(forecast: &Forecast, is_guess: bool) -> String {
    let mark = if is_guess { "~" } else { "" };
    format!(
        "{mark}${:.2} to {mark}${:.2}",
        forecast.cost.0, forecast.cost.1
    )
}

/// Cost and time, rounded to what such a forecast can say.
fn range(forecast: &Forecast) -> String {
    let minutes = |seconds: f64| time(Duration::from_secs((seconds / 60.0).ceil() as u64 * 60));
    format!(
        "{}, {} to {}",
        costs(forecast, false),
        minutes(forecast.seconds.0),
        minutes(forecast.seconds.1)
    )
}
