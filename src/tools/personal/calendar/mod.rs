//! Module `calendar`: one iCalendar file per profile, views of it, and reminders of events.

pub(crate) mod new;
pub(crate) mod reminders;
pub(crate) mod view;

use std::collections::BTreeMap;

use jiff::civil::{Date, Time};
use jiff::{Span, Zoned};

use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, plural};
use crate::base::zones::ZoneFiles;
use crate::formats::ical::event::CalendarEvent;
use crate::formats::ical::scan::scan;
use crate::formats::ical::text::one_line;
use crate::formats::ical::zones::Zones;
use crate::store::calendar::files::CalendarFiles;
use crate::store::calendar::occurrence::{Occurrence, OccurrenceList, between};
use crate::store::calendar::versions::Versions;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::personal::alarms;
use crate::tools::{OUTSIDE, READ};
use new::{EventTime, NewEvent};

tools! { "calendar";
    /// Add an event and its reminders.
    calendar_add_event(AddEvent; OUTSIDE.seconds(15).saves_files().service("local .ics, cron, ntfy.sh").additive().planned_as_written().compact()) {
        /// summary
        title: String, example: "Dinner with Ann", alias: &["summary"];
        /// ISO date-time, e.g. 2026-02-14T18:00, or a date
        start: String, example: "2026-02-14T18:00";
        /// ISO end; default one hour later
        end: String = "";
        /// place
        location: String = "";
        /// notes
        description: String = "";
    } => add, says ["add event {title} at {start}", "add {title} to the calendar on {start}"];

    /// Delete by UID or title.
    calendar_delete_event(DeleteEvent; OUTSIDE.seconds(10).saves_files().open_world(false).compact()) {
        /// event UID
        uid: String = "";
        /// case-insensitive part of the title
        title: String = "";
    } => delete, says ["delete event {title}"];

    /// Month grid with marked days.
    calendar_view(ViewMonth; READ.direct().seconds(5).compact()) {
        /// 1-12, 0 = now
        month: i64 = 0, min: 0, max: 12;
        /// 0 = now
        year: i64 = 0, min: 0;
    } => month, says ["show the calendar", "calendar"];

    /// Events in the next days.
    calendar_list_upcoming(ListUpcoming; READ.seconds(5).compact()) {
        /// look-ahead
        days: i64 = 7, min: 1;
    } => upcoming, says ["upcoming events", "what is on in the next {days} days"];
}

/// Most lines of events in a view.
const MAX_EVENT_LINES: usize = 300;
/// How many events with the same title are listed.
const CHOICE: usize = 20;

fn files(ctx: &ToolContext) -> Outcome<CalendarFiles> {
    Ok(CalendarFiles::of(
        &ctx.session.paths.profile(&ctx.session.profile())?,
    ))
}

/// The occurrences of the calendar within a period.
fn found(ctx: &ToolContext, from: &Zoned, until: &Zoned) -> Outcome<OccurrenceList> {
    let (bytes, note) = files(ctx)?.read()?;
    let mut found = between(&bytes, from, until, ctx.session.clock.zones());
    found.notes.extend(note);
    Ok(found)
}

fn add(ctx: &ToolContext, args: AddEvent) -> Outcome<String> {
    let title = args.title.trim();
    if title.chars().all(|c| c.is_whitespace() || c.is_control()) {
        return Err(Problem::input("An event needs a title.").next("Say what it is."));
    }
    let now = ctx.session.clock.now();
    let zone = now.time_zone().clone();
    let (start, end) = NewEvent::times(&args.start, &args.end, &zone, ctx.session.clock.zones())?;
    let event = NewEvent {
        title: title.to_owned(),
        place: args.location.trim().to_owned(),
        description: args.description.trim().to_owned(),
        start,
        end,
    };
    let uid = ids::uuid();
    let text = event.text(&uid, now.timestamp());
    files(ctx)?.add(&text, &uid)?;
    let (Some(from), Some(to)) = (event.start.here(&zone), event.end.here(&zone)) else {
        return Err(Problem::internal(
            "The event was saved, but its time cannot be shown.",
        ));
    };
    let shown = Occurrence {
        all_day: matches!(event.start, EventTime::Day(_)),
        title: String::new(),
        place: String::new(),
        uid: String::new(),
        start: from.clone(),
        end: to,
    };
    let when = view::when(&shown, None);
    let mut out = format!("Added: {}\nWhen: {when}", one_line(title));
    if !event.place.is_empty() {
        out.push_str(&format!("\nWhere: {}", one_line(&event.place)));
    }
    out.push_str(&format!("\nUID: {uid}"));
    if let EventTime::Wall(wall) = &event.start
        && let Some((_, Some(said))) = alarms::here(*wall, &now)
    {
        out.push_str(&format!("\n{said}"));
    }
    if from < now {
        out.push_str("\nThat is in the past.");
    }
    let reminded = reminders::add(ctx, &uid, title, &from, &when);
    let topic = crate::alerts::ntfy::reminder_topic::ensure(&ctx.session.alerts);
    out.push('\n');
    match reminded {
        Ok(words) => out.push_str(&words),
        // The event was saved, so the failure is only reported.
        Err(problem) => out.push_str(&format!(
            "Reminders were not scheduled: {}",
            problem.one_line()
        )),
    }
    if let Ok(Some(words)) = topic {
        out.push('\n');
        out.push_str(&words);
    }
    Ok(out)
}

fn delete(ctx: &ToolContext, args: DeleteEvent) -> Outcome<String> {
    let (uid, title) = (args.uid.trim(), args.title.trim());
    if uid.is_empty() && title.is_empty() {
        return Err(Problem::input("Neither a UID nor a title was given.")
            .next("Give one of them; calendar_list_upcoming shows both."));
    }
    let files = files(ctx)?;
    let (bytes, _) = files.read()?;
    let (uid, title) = chosen(
        &bytes,
        uid,
        title,
        &ctx.session.clock.now(),
        ctx.session.clock.zones(),
    )?;
    let count = files.remove(&uid)?;
    if count == 0 {
        return Err(Problem::missing("The event was removed meanwhile."));
    }
    let mut out = format!(
        "Removed 1 event: {} ({}).",
        one_line(&title),
        escape_controls(&uid)
    );
    if count > 1 {
        out.push_str(&format!(
            " It had {}.",
            plural(count - 1, "changed occurrence")
        ));
    }
    match reminders::remove(ctx, &uid) {
        Ok((0, _)) => {}
        Ok((count, trouble)) => {
            out.push_str(&format!(" {} removed with it.", plural(count, "reminder")));
            if let Some(trouble) = trouble {
                out.push_str(&format!("\n{trouble}"));
            }
        }
        Err(problem) => out.push_str(&format!(
            "\nIts reminders could not be removed: {}",
            problem.one_line()
        )),
    }
    Ok(out)
}

/// An event that matches a request to delete one.
struct EventMatch {
    name: String,
    when: String,
    /// All that the file has of the event matches, not just a changed occurrence.
    whole: bool,
}

/// The one event selected by UID (or its start) and title.
fn chosen(
    bytes: &[u8],
    uid: &str,
    title: &str,
    now: &Zoned,
    known: &ZoneFiles,
) -> Outcome<(String, String)> {
    let file = scan(bytes);
    let zones = Zones::of(&file, known);
    let versions = Versions::of(&file);
    let wanted = title.to_lowercase();
    let fits_title = |name: &str| name.to_lowercase().contains(&wanted);
    let mut fits: BTreeMap<String, EventMatch> = BTreeMap::new();
    let mut series: BTreeMap<String, String> = BTreeMap::new();
    let mut nameless = false;
    for place in file.events.iter().filter(|one| !versions.is_old(one)) {
        let Some(own) = file.uid(place).filter(|own| !own.is_empty()) else {
            let event = CalendarEvent::read(&file, place, &zones);
            nameless |= event.is_some_and(|event| fits_title(&event.title));
            continue;
        };
        if !own.starts_with(uid) {
            continue;
        }
        let event = CalendarEvent::read(&file, place, &zones);
        let (name, when) = event.map_or_else(Default::default, |event| {
            let when = event.start.here(now.time_zone());
            let when = when.map(|when| when.strftime("%a %-d %b %Y").to_string());
            (event.title, when.unwrap_or_default())
        });
        let whole = place.replaces.is_none();
        if whole {
            series.insert(own.clone(), name.clone());
        }
        if !fits_title(&name) {
            continue;
        }
        let fit = EventMatch { name, when, whole };
        match fits.get_mut(&own) {
            Some(other) if whole && !other.whole => *other = fit,
            Some(_) => {}
            None => {
                fits.insert(own, fit);
            }
        }
    }
    for (own, fit) in &mut fits {
        // Without a title it was selected by UID; and a single occurrence may be all there is.
        fit.whole |= wanted.is_empty() || !series.contains_key(own);
    }
    if let Some(fit) = fits.remove(uid) {
        fits = BTreeMap::from([(uid.to_owned(), fit)]);
    }
    let line = |(uid, fit): (&String, &EventMatch)| {
        let name = clip(&one_line(&fit.name), 100);
        let of = match series.get(uid) {
            Some(series) if !fit.whole => format!(
                "  (a changed occurrence of \"{}\")",
                clip(&one_line(series), 100)
            ),
            _ => String::new(),
        };
        format!("{}  {name}{of}  UID {}", fit.when, escape_controls(uid))
    };
    let lines: Vec<String> = fits.iter().take(CHOICE).map(line).collect();
    if fits.len() > 1 {
        return Err(Problem::input(format!(
            "{} fit; none was removed.",
            plural(fits.len(), "event")
        ))
        .next("Give the UID of the one that is meant.")
        .facts(lines.join("\n")));
    }
    if fits.values().any(|fit| !fit.whole) {
        return Err(Problem::input(
            "Only one changed occurrence of a recurring event fits; nothing was removed, as the event goes with all its occurrences.",
        )
        .next("Ask whether all of it is meant; then give its UID alone.")
        .facts(lines.join("\n")));
    }
    fits.into_iter()
        .next()
        .map(|(uid, fit)| (uid, fit.name))
        .ok_or_else(|| {
            let what = if uid.is_empty() {
                format!("title with \"{}\"", clip(&escape_controls(title), 80))
            } else {
                format!("UID {}", clip(&escape_controls(uid), 80))
            };
            if nameless && uid.is_empty() {
                return Problem::refused(format!(
                    "The event has no UID, by which events are removed ({what})."
                ))
                .next("Remove it from the file manually, or add a UID line to it.");
            }
            Problem::missing(format!("There is no event of that kind ({what})."))
                .next("calendar_list_upcoming and calendar_view show the events with their UIDs.")
        })
}

fn month(ctx: &ToolContext, args: ViewMonth) -> Outcome<String> {
    let now = ctx.session.clock.now();
    let year = if args.year == 0 {
        now.year().into()
    } else {
        args.year
    };
    let month = if args.month == 0 {
        now.month().into()
    } else {
        args.month
    };
    let first = i16::try_from(year)
        .ok()
        .zip(i8::try_from(month).ok())
        .and_then(|(year, month)| Date::new(year, month, 1).ok())
        .ok_or_else(|| {
            Problem::input(format!(
                "There is no month {month} of the year {year} here."
            ))
            .next("Years go from 1 to 9999.")
        })?;
    let zone = now.time_zone().clone();
    let edge = |date: Date| date.to_zoned(zone.clone());
    let (Ok(from), Ok(until)) = (
        edge(first),
        first
            .last_of_month()
            .to_datetime(Time::MAX)
            .to_zoned(zone.clone()),
    ) else {
        return Err(Problem::input("That month lies beyond the calendar's end."));
    };
    let found = found(ctx, &from, &until)?;
    let mut out = view::grid(first, now.date(), &view::marked(first, &found.list));
    out.push_str("[n] has events, n* is today\n\n");
    if found.list.is_empty() {
        out.push_str("No events in this month.");
    }
    out.push_str(&lines(&found, &now));
    Ok(out)
}

fn upcoming(ctx: &ToolContext, args: ListUpcoming) -> Outcome<String> {
    let now = ctx.session.clock.now();
    let end = Span::new()
        .try_days(args.days)
        .ok()
        .and_then(|span| now.date().checked_add(span).ok());
    let last = end.unwrap_or(Date::constant(9999, 12, 29));
    let until = last
        .to_datetime(Time::MAX)
        .to_zoned(now.time_zone().clone())
        .unwrap_or_else(|_| now.clone());
    let found = found(ctx, &now, &until)?;
    let days = plural(usize::try_from(args.days).unwrap_or(usize::MAX), "day");
    if found.list.is_empty() {
        let notes = lines(&found, &now);
        return Ok(format!("No events in the next {days}.{notes}"));
    }
    Ok(format!(
        "Events in the next {days} (* is today):\n{}",
        lines(&found, &now)
    ))
}

fn lines(found: &OccurrenceList, now: &Zoned) -> String {
    let shown = found
        .list
        .iter()
        .take(MAX_EVENT_LINES)
        .map(|event| view::line(event, &found.short, now));
    let mut lines: Vec<String> = shown.collect();
    if found.list.len() > MAX_EVENT_LINES {
        lines.push(format!(
            "… and {} more; ask for fewer days.",
            found.list.len() - MAX_EVENT_LINES
        ));
    }
    if !found.notes.is_empty() {
        lines.push(format!("\nNote: {}", found.notes.join("\nNote: ")));
    }
    lines.join("\n")
}
