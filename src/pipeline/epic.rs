//! The epic ticket of a run: what its children's tickets descend from.

use super::places::RunPlaces;
use super::record::{self, RunRecord};
use super::{Run, first_line};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::formats::front_matter::NewTicket;
use crate::store::tickets::change;
use crate::store::tickets::folder::{Folder, Ticket};
use crate::store::tickets::location::TicketLocation;
use crate::tools::engine::context::ToolContext;

fn location(run: &Run) -> Outcome<TicketLocation> {
    match &run.tickets {
        Some(dir) => Ok(TicketLocation::at(dir, run.root().path())),
        None => TicketLocation::from(&run.ctx.session.env, run.root().path()).check_inside(),
    }
}

/// The id of the run's ticket: `given`, else that of the earlier run, else a new epic with the whole task as its description. It is in progress then.
///
/// # Errors
/// There is no ticket `given`, or none can be made.
pub(crate) fn find_or_create(
    run: &Run,
    given: Option<&str>,
    earlier: Option<&RunRecord>,
) -> Outcome<String> {
    let place = location(run)?;
    let known = |id: &str| place.open().and_then(|folder| folder.resolve(id));
    let kept = earlier
        .map(|earlier| earlier.ticket.as_str())
        .filter(|id| !id.is_empty())
        .and_then(|id| known(id).ok())
        .or_else(|| unrecorded(run, &place));
    let id = match (given, kept) {
        (Some(given), _) => known(given)?,
        (None, Some(kept)) => kept,
        (None, None) => change::create(
            &place,
            NewTicket {
                title: first_line(&run.task),
                description: run.task.trim().to_owned(),
                priority: 0,
                kind: "epic".to_owned(),
                ..NewTicket::default()
            },
            &run.ctx.session.clock,
        )?,
    };
    set_status(run, &place.open()?, &id, "in_progress")?;
    Ok(id)
}

/// The epic of a run that was killed after it was created and before it was recorded.
fn unrecorded(run: &Run, place: &TicketLocation) -> Option<String> {
    let title = first_line(&run.task);
    let tickets = place.open().ok()?.load(&run.ctx.stop).ok()?;
    let found = tickets
        .into_iter()
        .find(|ticket| ticket.title == title && ticket.parent.is_empty() && !ticket.is_closed());
    found.map(|ticket| ticket.id)
}

/// `record` with the ticket of its task, where the record is not the run's own and does not name it. One that is not closed is of a run that is not done.
pub(crate) fn complete(run: &Run, record: RunRecord) -> RunRecord {
    completed(record, || epics(location(run), &run.ctx.stop))
}

/// What is known of the run in `places`: its record; in a clone, where there is none, what the committed files and the tickets say.
///
/// # Errors
/// It cannot be read.
pub(crate) fn known(places: &RunPlaces, env: &Env, stop: &Cancel) -> Outcome<Option<RunRecord>> {
    let place = || TicketLocation::from(env, places.root.path()).check_inside();
    let found = record::known(places)?;
    Ok(found.map(|record| completed(record, || epics(place(), stop))))
}

fn completed(record: RunRecord, epics: impl FnOnce() -> Vec<Ticket>) -> RunRecord {
    if !record.ticket.is_empty() {
        return record;
    }
    let title = first_line(&record.task);
    let mut known = epics().into_iter();
    match known.rfind(|epic| epic.title == title) {
        Some(epic) => RunRecord {
            finished: record.finished && epic.is_closed(),
            ticket: epic.id,
            ..record
        },
        None => record,
    }
}

/// Whether a state without the record of its run is another task's, as far as the tickets know: there are epics, and none of them is of this one.
pub(crate) fn is_anothers(ctx: &ToolContext, root: &Root, task: &str) -> bool {
    let place = TicketLocation::from(&ctx.session.env, root.path()).check_inside();
    let (title, known) = (first_line(task), epics(place, &ctx.stop));
    !known.is_empty() && known.iter().all(|epic| epic.title != title)
}

/// The tickets that are as those of runs are made; none where they cannot be read.
fn epics(place: Outcome<TicketLocation>, stop: &Cancel) -> Vec<Ticket> {
    let tickets = place.and_then(|place| place.open()?.load(stop));
    let mut tickets = tickets.unwrap_or_default();
    tickets.retain(|ticket| ticket.parent.is_empty() && ticket.priority == "0");
    tickets
}

/// Closes the run's ticket.
///
/// # Errors
/// It is gone, or cannot be written.
pub(crate) fn close(run: &Run) -> Outcome<()> {
    let folder = location(run)?.open()?;
    set_status(run, &folder, &run.ticket, "closed")
}

fn set_status(run: &Run, folder: &Folder, id: &str, status: &str) -> Outcome<()> {
    change::set_status(folder, id, status, &run.ctx.stop)
        .map(drop)
        .map_err(|problem: Problem| problem.next("Look at the folder .tickets."))
}
