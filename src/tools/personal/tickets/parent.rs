//! The parent of a new ticket: those of a sub-agent go below its own ticket.

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::variables::MARVIN_TICKET;
use crate::store::tickets::change::descends;
use crate::store::tickets::location::TicketLocation;

/// The parent of a new ticket: `given`, and below `MARVIN_TICKET` if that is set.
///
/// # Errors
/// The parent that was given lies elsewhere, or `MARVIN_TICKET` does not exist.
pub(super) fn of_new(place: &TicketLocation, env: &Env, given: &str) -> Outcome<String> {
    let Some(top) = MARVIN_TICKET.read(env) else {
        return Ok(given.to_owned());
    };
    let folder = place.open()?;
    let top = folder.resolve(top).map_err(|problem| {
        problem.next("MARVIN_TICKET names the ticket of this process's task.")
    })?;
    if given.trim().is_empty() {
        return Ok(top);
    }
    let id = folder.resolve(given)?;
    if descends(&folder, &id, &top)? {
        return Ok(id);
    }
    Err(Problem::refused(format!(
        "The parent {} is not {top} or below it.",
        clip(&escape_controls(&id), 80)
    ))
    .next(format!(
        "Use --parent {top}, the ticket of this process's task."
    )))
}
