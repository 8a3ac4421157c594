//! Rules for tickets created by a model: the first one is sent back once for revision, and those of a sub-agent go below its own ticket.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::variables::MARVIN_TICKET;
use crate::store::tickets::change::descends;
use crate::store::tickets::location::TicketLocation;

/// Ticket operations of this process. Kept in memory, so a restart resets them.
#[derive(Debug, Default)]
pub(crate) struct TicketGate {
    refused: AtomicBool,
    open: AtomicBool,
}

impl TicketGate {
    /// Refuses the first ticket of the process and explains what makes a good one.
    ///
    /// # Errors
    /// It is the first.
    pub(crate) fn first(&self) -> Outcome<()> {
        if self.refused.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        Err(Problem::refused(
            "The first ticket of a run is sent back once, so that it is thought through. Nothing was created.",
        )
        .next("Check it, then create it again; it will be accepted:")
        .next("- one clear deliverable in the title")
        .next("- a detailed description (-d): what, why, how")
        .next("- acceptance criteria that can be checked (--acceptance)")
        .next("- the files it touches")
        .next("- the parent ticket (--parent ID)")
        .next("- the fitting type (-t bug, feature, task, epic or chore)"))
    }

    /// A ticket was created, so write tools are unlocked.
    pub(crate) fn pass(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

/// The parent of a new ticket: below `MARVIN_TICKET` if that is set.
///
/// # Errors
/// The parent that was given lies elsewhere, or `MARVIN_TICKET` does not exist.
pub(crate) fn parent(place: &TicketLocation, env: &Env, given: &str) -> Outcome<String> {
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
