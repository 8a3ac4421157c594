//! Overrides of a recurring event: which of its occurrences stand elsewhere, and what changes from one of them on
//! (RFC 5545, 3.2.13 and 3.8.4.4).

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::ical::event::{End, Event};
use super::ical::moment::Length;
use super::ical::text::one_line;

/// The overrides of one event.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    /// Occurrences that stand elsewhere.
    gone: BTreeSet<Timestamp>,
    /// Changes that hold from an occurrence on, by when that was; of several for one the last.
    onward: BTreeMap<Timestamp, Onward>,
    /// Days by which changes move occurrences at most.
    pub(super) reach: i64,
}

/// What holds from an occurrence on.
#[derive(Debug)]
pub(super) struct Onward {
    /// How much later the occurrences begin by the clock on the wall.
    shift: SignedDuration,
    /// They do not take place.
    pub(super) cancelled: bool,
    /// Their title on one line, when it is another.
    pub(super) title: Option<String>,
    /// Where they are, on one line, when that is elsewhere.
    pub(super) place: Option<String>,
    /// How long they last, when it says so.
    pub(super) length: Option<Length>,
}

impl Overrides {
    /// Adds an override; one that does not say which occurrence it is for changes nothing.
    pub(super) fn add(&mut self, event: &Event, view: &TimeZone) {
        let Some(replaced) = &event.replaces else {
            return;
        };
        let Some(from) = replaced.here(view).map(|at| at.timestamp()) else {
            return;
        };
        self.gone.insert(from);
        if event.onward {
            let length = match &event.end {
                Some(End::After(length)) => Some(*length),
                Some(End::At(end)) => Length::between(&event.start, end, view),
                None => None,
            };
            let shift = event.start.wall().duration_since(replaced.wall());
            let days = shift.as_hours().unsigned_abs() / 24 + 1;
            let days = i64::try_from(days.min(40_000)).unwrap_or_default();
            self.reach = self.reach.max(days);
            let said = |text: &str| (!text.is_empty()).then(|| one_line(text));
            let onward = Onward {
                shift,
                cancelled: event.cancelled,
                title: said(&event.title),
                place: said(&event.place),
                length,
            };
            self.onward.insert(from, onward);
        }
    }

    /// True when the occurrence stands elsewhere.
    pub(super) fn replace(&self, start: &Zoned) -> bool {
        self.gone.contains(&start.timestamp())
    }

    /// What holds for an occurrence by a change at or before it.
    pub(super) fn holds(&self, start: &Zoned) -> Option<&Onward> {
        let held = self.onward.range(..=start.timestamp()).next_back();
        held.map(|(_, onward)| onward)
    }
}

impl Onward {
    /// When the occurrence begins now.
    pub(super) fn moved(&self, start: &Zoned) -> Option<Zoned> {
        let wall = start.datetime().checked_add(self.shift).ok()?;
        wall.to_zoned(start.time_zone().clone()).ok()
    }
}
