//! Changes to tickets: creating, status, dependencies, links, notes.

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::front_matter::{FrontMatter, NewTicket, list_text, with_note};
use crate::store::tickets::folder::{Folder, not_found, pick};
use crate::store::tickets::location::TicketLocation;

pub(crate) const STATUSES: [&str; 3] = ["open", "in_progress", "closed"];
pub(crate) const KINDS: [&str; 5] = ["bug", "feature", "task", "epic", "chore"];

/// The current time in the format of tickets: UTC, seconds, `Z`.
pub(crate) fn stamp(clock: &Clock) -> String {
    clock
        .now()
        .timestamp()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// Creates a ticket and returns its id. The parent is resolved to its full id.
///
/// # Errors
/// The parent does not exist; the folder or file cannot be made.
pub(crate) fn create(place: &TicketLocation, mut new: NewTicket, clock: &Clock) -> Outcome<String> {
    if !new.parent.trim().is_empty() {
        new.parent = place.open()?.resolve(&new.parent)?;
    }
    let folder = place.make()?;
    for _ in 0..100 {
        let id = place.new_id();
        if folder.add(&id, &new.text(&id, &stamp(clock)))? {
            return Ok(id);
        }
    }
    Err(Problem::limit("No free ticket id was found.")
        .next("Archive closed tickets, or rename the project's folder."))
}

/// Sets the status and returns the full id.
///
/// # Errors
/// No such status or ticket.
pub(crate) fn set_status(
    folder: &Folder,
    given: &str,
    status: &str,
    stop: &Cancel,
) -> Outcome<String> {
    check_status(status)?;
    let _lock = folder.lock(stop)?;
    let id = folder.resolve(given)?;
    folder.change(&id, |old| set(&id, old, "status", status))?;
    Ok(id)
}

/// Fails for an invalid status, with the script's message.
///
/// # Errors
/// It is not one of [`STATUSES`].
pub(crate) fn check_status(status: &str) -> Outcome<()> {
    if STATUSES.contains(&status) {
        return Ok(());
    }
    Err(Problem::input(format!(
        "invalid status '{}'. Must be one of: {}",
        clip(&escape_controls(status), 80),
        STATUSES.join(" ")
    )))
}

fn set(id: &str, old: &[u8], key: &str, value: &str) -> Outcome<Option<Vec<u8>>> {
    let new = FrontMatter::parse(old)
        .set(key, value)
        .ok_or_else(|| no_front(id))?;
    Ok((new != old).then_some(new))
}

fn no_front(id: &str) -> Problem {
    Problem::input(format!(
        "{id}.md has no front matter, so nothing was changed."
    ))
    .next(format!(
        "Put the lines '---', 'id: {id}', 'status: open', '---' at its top, or move the file away."
    ))
}

/// Adds `value` to the list `key`; false when it is already there.
fn add(folder: &Folder, id: &str, key: &str, value: &str) -> Outcome<bool> {
    folder.change(id, |old| {
        let mut items = FrontMatter::parse(old).list(key);
        if items.iter().any(|item| item == value) {
            return Ok(None);
        }
        items.push(value.to_owned());
        set(id, old, key, &list_text(&items))
    })
}

/// Removes `value` from the list `key`; false when it is not there.
fn take(folder: &Folder, id: &str, key: &str, value: &str) -> Outcome<bool> {
    folder.change(id, |old| {
        let items = FrontMatter::parse(old).list(key);
        let rest: Vec<String> = items.iter().filter(|i| *i != value).cloned().collect();
        if rest.len() == items.len() {
            return Ok(None);
        }
        set(id, old, key, &list_text(&rest))
    })
}

/// A ticket, and another one that one of its lists contains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TicketPair {
    pub id: String,
    pub other: String,
    /// Whether the file changed.
    pub changed: bool,
}

/// Makes `given` depend on `dep`.
///
/// # Errors
/// One of them does not exist, or `refuse` rejects it.
pub(crate) fn add_dep(
    folder: &Folder,
    given: &str,
    dep: &str,
    refuse: impl FnOnce(&str, &str) -> Outcome<()>,
    stop: &Cancel,
) -> Outcome<TicketPair> {
    let _lock = folder.lock(stop)?;
    let (id, other) = (folder.resolve(given)?, folder.resolve(dep)?);
    refuse(&id, &other)?;
    let changed = add(folder, &id, "deps", &other)?;
    Ok(TicketPair { id, other, changed })
}

/// The ticket in a list that `given` means; its file may no longer exist.
fn listed(folder: &Folder, id: &str, key: &str, given: &str) -> Outcome<String> {
    let items = FrontMatter::parse(&folder.read(id)?).list(key);
    folder.resolve(given).or_else(|problem| {
        match pick(given.trim(), items.iter().map(String::as_str)) {
            Ok(item) => Ok(item.to_owned()),
            Err(_) => Err(problem),
        }
    })
}

/// Removes a dependency.
///
/// # Errors
/// One of them does not exist.
pub(crate) fn remove_dep(
    folder: &Folder,
    given: &str,
    dep: &str,
    stop: &Cancel,
) -> Outcome<TicketPair> {
    let _lock = folder.lock(stop)?;
    let id = folder.resolve(given)?;
    let other = listed(folder, &id, "deps", dep)?;
    let changed = take(folder, &id, "deps", &other)?;
    Ok(TicketPair { id, other, changed })
}

/// Links each ticket with each other. Returns how many links are new, counting both directions, and the number of tickets.
///
/// # Errors
/// One of them does not exist.
pub(crate) fn link(folder: &Folder, given: &[String], stop: &Cancel) -> Outcome<(usize, usize)> {
    let _lock = folder.lock(stop)?;
    let ids: Vec<String> = given
        .iter()
        .map(|one| folder.resolve(one))
        .collect::<Outcome<_>>()?;
    let mut count = 0;
    for id in &ids {
        for other in ids.iter().filter(|other| *other != id) {
            count += usize::from(add(folder, id, "links", other)?);
        }
    }
    Ok((count, ids.len()))
}

/// Removes a link from both tickets.
///
/// # Errors
/// One of them does not exist.
pub(crate) fn unlink(
    folder: &Folder,
    given: &str,
    other: &str,
    stop: &Cancel,
) -> Outcome<TicketPair> {
    let _lock = folder.lock(stop)?;
    let id = folder.resolve(given)?;
    let other = listed(folder, &id, "links", other)?;
    let mut changed = take(folder, &id, "links", &other)?;
    if folder.file(&other).is_file() {
        changed |= take(folder, &other, "links", &id)?;
    }
    Ok(TicketPair { id, other, changed })
}

/// Appends a note and returns the full id.
///
/// # Errors
/// No such ticket.
pub(crate) fn add_note(
    folder: &Folder,
    given: &str,
    text: &str,
    clock: &Clock,
    stop: &Cancel,
) -> Outcome<String> {
    let _lock = folder.lock(stop)?;
    let id = folder.resolve(given)?;
    let stamp = stamp(clock);
    folder.change(&id, |old| Ok(Some(with_note(old, &stamp, text))))?;
    Ok(id)
}

/// Whether `id` is `top` or a descendant of it.
pub(crate) fn descends(folder: &Folder, id: &str, top: &str) -> Outcome<bool> {
    let mut at = id.to_owned();
    let mut seen = std::collections::HashSet::new();
    while seen.insert(at.clone()) {
        if at == top {
            return Ok(true);
        }
        let bytes = folder.read(&at).map_err(|_| not_found(&at))?;
        let parent = FrontMatter::parse(&bytes)
            .get("parent")
            .map(|text| text.split([' ', '#']).next().unwrap_or_default().to_owned())
            .unwrap_or_default();
        if parent.is_empty() {
            return Ok(false);
        }
        match folder.resolve(&parent) {
            Ok(parent) => at = parent,
            Err(_) => return Ok(false),
        }
    }
    Ok(false)
}
