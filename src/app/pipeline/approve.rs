//! `marvin pipeline approve`: lets a run go on that waits for the user, also from another terminal and after a day.

use super::event_log;
use crate::app::settings::Settings;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::disk::lock::LockState;
use crate::pipeline::approval::{self, Approvals};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::{first_line, record};

/// Approves the work of the phase that `point` means, or of the one that waits. Returns what came of it, as a sentence.
///
/// # Errors
/// Nothing waits here, or something else does.
pub(crate) fn approve(
    places: &RunPlaces,
    settings: &Settings,
    point: Option<&str>,
) -> Outcome<String> {
    let known = approval::read(places)?;
    let phase = match point {
        Some(point) => approval::point(point)?.to_owned(),
        None if known.waiting.is_empty() => return Err(nothing(places, &known)),
        None => known.waiting.clone(),
    };
    let name = approval::name_of(&phase).to_owned();
    if let Some(approved) = known.of(&phase) {
        return Ok(format!(
            "{name} (phase {phase}) was approved already, {} ({}).",
            approved.how, approved.at
        ));
    }
    if known.waiting != phase {
        return Err(nothing(places, &known));
    }
    let at = Clock::new(&settings.env).utc();
    let own = approval::approve(places, &phase, at, "with marvin pipeline approve")?;
    let next = match record::lock_state(places)? {
        LockState::Held(_) => "The run goes on.",
        LockState::Free => "Run the pipeline's command again to go on.",
    };
    let task = record::known(places)?.map(|run| first_line(&run.task));
    Ok(format!(
        "{name} (phase {phase}) is approved, {} ({}), for: {}. {next}",
        own.how,
        own.at,
        task.unwrap_or_default().trim_end_matches('.')
    ))
}

fn nothing(places: &RunPlaces, known: &Approvals) -> Problem {
    if !known.waiting.is_empty() {
        let waiting = approval::name_of(&known.waiting).to_owned();
        return Problem::refused(format!(
            "The run waits for the approval of {waiting}, and of nothing else."
        ))
        .next(places.command(&["approve", &waiting]));
    }
    match event_log::read(places) {
        Ok(record) if record.events.is_empty() => {
            super::status::no_run(&places.root, "No run of the pipeline is recorded in")
        }
        _ => Problem::refused("No run waits for an approval here.").next(format!(
            "See how it is going with: {}",
            places.command(&["status"])
        )),
    }
}
