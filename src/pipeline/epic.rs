//! The epic ticket of a run: what its children's tickets descend from.

use super::places::RunPlaces;
use super::record::{self, RunRecord};
use super::{Run, first_line};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::formats::front_matter::{NewTicket, without_rules};
use crate::proc::git::repository::{self, Repository};
use crate::store::tickets::change;
use crate::store::tickets::folder::{Folder, Ticket};
use crate::store::tickets::location::TicketLocation;
use crate::tools::engine::context::ToolContext;

fn location(run: &Run) -> Outcome<TicketLocation> {
    match &run.tickets {
        Some(dir) => Ok(TicketLocation::at(dir, run.root().path())),
        None => of_project(&run.ctx.session.env, run.root()),
    }
}

/// Those of the project's repository: a folder above is no part of what the run commits.
fn of_project(env: &Env, root: &Root) -> Outcome<TicketLocation> {
    let repository = repository::find(root.path()).ok().flatten();
    let top = repository.as_ref().and_then(Repository::top);
    let top = top.unwrap_or(root.path());
    TicketLocation::within(env, root.path(), top).check_inside()
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
                title: title(&run.task),
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
    let epics = Epics::load(place.open(), &run.ctx.stop);
    let found = epics
        .of(&run.task)
        .into_iter()
        .find(|epic| !epic.is_closed());
    found.map(|epic| epic.id.clone())
}

/// What the epic of a task is called: its first line, without the marks of a heading.
fn title(task: &str) -> String {
    let line = first_line(task);
    let plain = line.trim_start_matches('#').trim_start();
    match plain.is_empty() {
        true => line,
        false => plain.to_owned(),
    }
}

/// `record` with the ticket of its task, where the record is not the run's own and does not name it. One that is not closed is of a run that is not done.
pub(crate) fn complete(run: &Run, record: RunRecord) -> RunRecord {
    completed(record, || {
        let folder = location(run).and_then(|place| place.open());
        Epics::load(folder, &run.ctx.stop)
    })
}

/// What is known of the run in `places`: its record; in a clone, where there is none, what the committed files and the tickets say.
///
/// # Errors
/// It cannot be read.
pub(crate) fn known(places: &RunPlaces, env: &Env, stop: &Cancel) -> Outcome<Option<RunRecord>> {
    let folder = || of_project(env, &places.root).and_then(|place| place.open());
    let found = record::known(places)?;
    Ok(found.map(|record| completed(record, || Epics::load(folder(), stop))))
}

fn completed(record: RunRecord, epics: impl FnOnce() -> Epics) -> RunRecord {
    if !record.ticket.is_empty() {
        return record;
    }
    let epics = epics();
    match epics.of(&record.task).pop() {
        Some(epic) => RunRecord {
            finished: record.finished && epic.is_closed(),
            ticket: epic.id.clone(),
            ..record
        },
        None => record,
    }
}

/// Whether a state without the record of its run is another task's, as far as the tickets know: there are epics, and none of them is of this one.
pub(crate) fn is_anothers(ctx: &ToolContext, root: &Root, task: &str) -> bool {
    let folder = of_project(&ctx.session.env, root).and_then(|place| place.open());
    let epics = Epics::load(folder, &ctx.stop);
    !epics.tickets.is_empty() && epics.of(task).is_empty()
}

/// The tickets that are as those of runs are made.
#[derive(Default)]
struct Epics {
    folder: Option<Folder>,
    tickets: Vec<Ticket>,
}

impl Epics {
    /// None where they cannot be read.
    fn load(folder: Outcome<Folder>, stop: &Cancel) -> Self {
        let Ok(folder) = folder else {
            return Self::default();
        };
        let mut tickets = folder.load(stop).unwrap_or_default();
        tickets.retain(|ticket| ticket.parent.is_empty() && ticket.priority == "0");
        Self {
            folder: Some(folder),
            tickets,
        }
    }

    /// Those of a task: its description is the task. The first line of many a task says little.
    fn of(&self, task: &str) -> Vec<&Ticket> {
        let task = without_rules(task.trim());
        let is_of = |ticket: &&Ticket| {
            let text = self.folder.as_ref().map(|folder| folder.read(&ticket.id));
            let text = text.and_then(Outcome::ok).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let body = text.split_once("\n---\n# ").map_or("", |(_, body)| body);
            let description = body.split_once('\n').map_or("", |(_, text)| text);
            let rest = description.trim_start().strip_prefix(task.trim());
            rest.map(str::trim)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("## Notes"))
        };
        self.tickets.iter().filter(is_of).collect()
    }
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
