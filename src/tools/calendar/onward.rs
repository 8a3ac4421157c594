//! Overrides of a recurring event: which of its occurrences stand elsewhere, and what changes from one of them on
//! (RFC 5545, 3.2.13 and 3.8.4.4).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::ical::event::Event;
use super::ical::moment::{Length, Moment};
use super::ical::text::one_line;

/// The overrides of one event.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    /// Occurrences that stand elsewhere.
    gone: BTreeSet<Timestamp>,
    /// Those of them that are said as a day.
    days: BTreeSet<Date>,
    /// The days of all of them, for whole days that are said as moments.
    all_days: BTreeSet<Date>,
    /// Occurrences that the event itself leaves out, and which version of it does.
    out: (u64, BTreeSet<Timestamp>),
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
        let day = replaced.wall().date();
        self.all_days.insert(day);
        if matches!(replaced, Moment::Day(_)) {
            self.days.insert(day);
        }
        if event.onward {
            let length = event.end.as_ref();
            let length = length.and_then(|end| end.length(&event.start, view));
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

    /// What the event itself leaves out, in the version that counts.
    pub(super) fn leave_out(&mut self, event: &Event, version: u64, view: &TimeZone) {
        let moments = event.except.iter().filter_map(|out| out.here(view));
        self.out = (version, moments.map(|at| at.timestamp()).collect());
    }

    /// True for an override, of this version, of an occurrence that a later version of the event leaves out: changed, then deleted.
    pub(super) fn is_deleted(&self, event: &Event, version: u64, view: &TimeZone) -> bool {
        let (newest, out) = &self.out;
        let replaced = event.replaces.as_ref().and_then(|at| at.here(view));
        version < *newest && replaced.is_some_and(|at| out.contains(&at.timestamp()))
    }

    /// True when the occurrence, which the event itself puts at `moment`, stands elsewhere.
    pub(super) fn replace(&self, moment: &Moment, start: &Zoned) -> bool {
        let days = match moment {
            Moment::Day(_) => &self.all_days,
            Moment::At(..) => &self.days,
        };
        self.gone.contains(&start.timestamp()) || days.contains(&moment.wall().date())
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
