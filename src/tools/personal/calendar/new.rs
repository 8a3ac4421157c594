//! A new event: parses a caller's texts and writes the iCalendar lines.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::zones::ZoneFiles;
use crate::formats::ical::text::{escape, push_line};

/// When other programs and Marvin remind, in minutes before the start.
pub(crate) const BEFORE: [i64; 2] = [60, 30];

/// The start or end of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventTime {
    /// A whole day.
    Day(Date),
    /// A wall time in whatever zone the user is.
    Wall(DateTime),
    /// A moment given with a zone.
    Moment(Timestamp),
}

impl EventTime {
    /// The moment in the user's zone.
    pub fn here(&self, zone: &TimeZone) -> Option<Zoned> {
        match self {
            Self::Day(date) => date.to_zoned(zone.clone()).ok(),
            Self::Wall(wall) => wall.to_zoned(zone.clone()).ok(),
            Self::Moment(at) => Some(at.to_zoned(zone.clone())),
        }
    }

    fn line(&self, name: &str) -> String {
        match self {
            Self::Day(date) => format!("{name};VALUE=DATE:{}", date.strftime("%Y%m%d")),
            Self::Wall(wall) => format!("{name}:{}", wall.strftime("%Y%m%dT%H%M%S")),
            Self::Moment(at) => format!("{name}:{}", utc(*at)),
        }
    }
}

fn utc(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Parses an ISO date or date-time, with or without seconds and zone.
///
/// # Errors
/// It is neither, or no such day or hour exists.
pub(crate) fn when(what: &str, text: &str, zones: &ZoneFiles) -> Outcome<EventTime> {
    let text = text.trim();
    let invalid = || {
        Problem::input(format!(
            "The {what} \"{}\" is not a valid date or time.",
            clip(&escape_controls(text), 60)
        ))
        .next("Give an ISO date-time such as 2026-02-14T18:00, or a date such as 2026-02-14.")
    };
    let plain = text.is_ascii() && text.len() < 80 && text.get(4..5) == Some("-");
    if !plain {
        return Err(invalid());
    }
    if text.len() == 10 {
        return text.parse().map(EventTime::Day).map_err(|_| invalid());
    }
    let text = text.replacen(' ', "T", 1);
    if let Some((_, zone)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        if let Some(at) = zones.zoned(&text) {
            return Ok(EventTime::Moment(at.timestamp()));
        }
        return Err(match zones.find(zone) {
            Some(_) => invalid(),
            None => Problem::input(format!("There is no time zone \"{zone}\"."))
                .next("Give one such as Europe/Berlin."),
        });
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(EventTime::Moment(at));
    }
    let wall: DateTime = text.parse().map_err(|_| invalid())?;
    wall.with()
        .subsec_nanosecond(0)
        .build()
        .map(EventTime::Wall)
        .map_err(|_| invalid())
}

/// The wall time an hour later. A time in an hour that the clocks skip is first moved past the gap.
fn hour_after(wall: DateTime, zone: &TimeZone) -> Option<DateTime> {
    let later = wall.checked_add(1.hour()).ok()?;
    let start = wall.to_zoned(zone.clone()).ok()?;
    let end = later.to_zoned(zone.clone()).ok()?;
    if end > start {
        return Some(later);
    }
    start.checked_add(1.hour()).ok().map(|end| end.datetime())
}

/// An event to be added.
pub struct NewEvent {
    /// SUMMARY.
    pub title: String,
    /// LOCATION; may be empty.
    pub place: String,
    /// DESCRIPTION; may be empty.
    pub description: String,
    /// DTSTART.
    pub start: EventTime,
    /// DTEND; for whole days the day after the last.
    pub end: EventTime,
}

impl NewEvent {
    /// Parses start and end. Without an end it is one hour or one day long; for whole days the given end is the last day.
    ///
    /// # Errors
    /// One of them is not a time, or the end is not after the start.
    pub fn times(
        start: &str,
        end: &str,
        zone: &TimeZone,
        zones: &ZoneFiles,
    ) -> Outcome<(EventTime, EventTime)> {
        let from = when("start", start, zones)?;
        let to = match (&from, end.trim()) {
            (EventTime::Day(day), "") => Some(EventTime::Day(*day)),
            (EventTime::Wall(wall), "") => hour_after(*wall, zone).map(EventTime::Wall),
            (EventTime::Moment(at), "") => at.checked_add(1.hour()).ok().map(EventTime::Moment),
            _ => Some(when("end", end, zones)?),
        };
        let late = || Problem::input("The event would end after the calendar's last day.");
        let to = to.ok_or_else(late)?;
        let to = match (&from, to) {
            (EventTime::Day(first), EventTime::Day(last)) if last >= *first => {
                EventTime::Day(last.checked_add(1.day()).map_err(|_| late())?)
            }
            (EventTime::Day(_), EventTime::Wall(_) | EventTime::Moment(_))
            | (EventTime::Wall(_) | EventTime::Moment(_), EventTime::Day(_)) => {
                return Err(Problem::input(
                    "Start and end must both be dates, or both have a time.",
                )
                .next("Give the end in the same form as the start."));
            }
            (_, to) => to,
        };
        match (from.here(zone), to.here(zone)) {
            (Some(a), Some(b)) if b > a => Ok((from, to)),
            (Some(_), Some(_)) => Err(Problem::input("The end is not after the start.")
                .next("Give a later end, or none.")),
            _ => Err(late()),
        }
    }

    /// The iCalendar lines of the event.
    pub fn text(&self, uid: &str, now: Timestamp) -> String {
        let mut out = String::new();
        let mut push = |line: &str| push_line(&mut out, line);
        push("BEGIN:VEVENT");
        push(&format!("UID:{uid}"));
        push(&format!("DTSTAMP:{}", utc(now)));
        push(&format!("CREATED:{}", utc(now)));
        push(&self.start.line("DTSTART"));
        push(&self.end.line("DTEND"));
        push(&format!("SUMMARY:{}", escape(&self.title)));
        for (name, text) in [
            ("LOCATION", &self.place),
            ("DESCRIPTION", &self.description),
        ] {
            if !text.is_empty() {
                push(&format!("{name}:{}", escape(text)));
            }
        }
        for minutes in BEFORE {
            push("BEGIN:VALARM");
            push("ACTION:DISPLAY");
            push(&if minutes % 60 == 0 {
                format!("TRIGGER:-PT{}H", minutes / 60)
            } else {
                format!("TRIGGER:-PT{minutes}M")
            });
            push(&format!("DESCRIPTION:{}", escape(&self.title)));
            push("END:VALARM");
        }
        push("END:VEVENT");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids;

    fn times(start: &str, end: &str) -> Result<String, String> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        match NewEvent::times(start, end, &zone, &ZoneFiles::default()) {
            Ok((from, to)) => Ok(format!("{} {}", from.line("A"), to.line("B"))),
            Err(problem) => Err(problem.what),
        }
    }

    #[test]
    fn starts_and_ends_are_read_or_refused() {
        for (start, end, want) in [
            (
                "2026-02-14T18:00",
                "",
                "A:20260214T180000 B:20260214T190000",
            ),
            (
                "2026-02-14 18:00:30",
                "2026-02-15T01:00",
                "A:20260214T180030 B:20260215T010000",
            ),
            (
                "2026-02-14",
                "",
                "A;VALUE=DATE:20260214 B;VALUE=DATE:20260215",
            ),
            (
                "2026-12-24",
                "2026-12-26",
                "A;VALUE=DATE:20261224 B;VALUE=DATE:20261227",
            ),
            (
                "2026-02-14T18:00Z",
                "",
                "A:20260214T180000Z B:20260214T190000Z",
            ),
            (
                "2026-02-14T18:00+02:00",
                "",
                "A:20260214T160000Z B:20260214T170000Z",
            ),
            (
                "2026-02-14T18:00[America/New_York]",
                "",
                "A:20260214T230000Z B:20260215T000000Z",
            ),
            (
                "2027-03-28T02:30",
                "",
                "A:20270328T023000 B:20270328T043000",
            ),
        ] {
            assert_eq!(times(start, end).as_deref(), Ok(want), "{start} {end}");
        }
        for (start, end) in [
            ("", ""),
            ("tomorrow", ""),
            ("2026-02-30", ""),
            ("2026-02-14T25:00", ""),
            ("2026-02-14T18:00[Mars/X]", ""),
            ("2026-02-14T18:00", "2026-02-14T18:00"),
            ("2026-02-14", "2026-02-13"),
            ("2026-02-14", "2026-02-14T10:00"),
            ("18:00", ""),
            ("2026-02-14T18:00", "later"),
            ("9999-12-31", ""),
            ("２０２６-02-14", ""),
        ] {
            assert!(times(start, end).is_err(), "{start} {end}");
        }
    }

    #[test]
    fn ids_are_uuids() {
        let id = ids::uuid();
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'));
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
    }
}
