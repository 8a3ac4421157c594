//! Turn-by-turn directions.

use super::step::{LegEnd, counts, instruction};
use super::{RoutedTrip, SOURCE};
use crate::base::json::JsonExt as _;
use crate::base::problem::Outcome;
use crate::tools::output::measures::duration;

/// How many steps are shown; those in the middle of a longer route are left out.
const MAX_STEPS: usize = 200;
/// How many of these are at the end.
const TAIL: usize = 50;

/// The summary of the route and its numbered steps.
pub(super) fn text(found: &RoutedTrip) -> Outcome<String> {
    let mut lines = found.head();
    lines.push(format!(
        "Duration  {}, without traffic",
        duration(found.route.duration)
    ));
    lines.extend(found.ends());
    let last = found.trip.points.len().saturating_sub(1);
    for index in 1..last {
        lines.push(format!(
            "Via {index:<5} {}",
            found.trip.place(&found.route, index)
        ));
    }
    lines.extend(found.notes.iter().cloned());
    lines.push(String::new());
    let steps = steps(found);
    let width = steps.len().to_string().len();
    let left_out = steps.len().saturating_sub(MAX_STEPS);
    for (index, step) in steps.iter().enumerate() {
        let gone = left_out > 0 && (MAX_STEPS - TAIL..steps.len() - TAIL).contains(&index);
        if gone {
            if index == MAX_STEPS - TAIL {
                lines.push(format!(
                    "{:>width$}  … {left_out} steps are left out; ask for a part of the way to see them.",
                    ""
                ));
            }
            continue;
        }
        lines.push(format!("{:>width$}. {step}", index + 1));
    }
    if steps.is_empty() {
        lines.push("The server gave no steps for this way.".to_owned());
    }
    lines.push(String::new());
    lines.push(SOURCE.to_owned());
    Ok(lines.join("\n"))
}

/// Every meaningful step with its length and time.
fn steps(found: &RoutedTrip) -> Vec<String> {
    let legs = &found.route.legs;
    let mut lines = Vec::new();
    for (number, leg) in legs.iter().enumerate() {
        let end = match number + 1 == legs.len() {
            true => LegEnd::Destination,
            false => LegEnd::Waypoint(number + 1),
        };
        for step in leg.iter().filter(|step| counts(step)) {
            let mut line = instruction(step, end);
            let metres = step.number("distance").filter(|metres| *metres > 0.0);
            let seconds = step.number("duration").filter(|seconds| *seconds > 0.0);
            if let Some(metres) = metres {
                let time = seconds.map(|seconds| format!(", {}", duration(seconds)));
                line.push_str(&format!(
                    " ({}{})",
                    found.units.say(metres),
                    time.unwrap_or_default()
                ));
            }
            lines.push(line);
        }
    }
    lines
}
