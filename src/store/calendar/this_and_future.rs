//! Overrides of a recurring event: occurrences that were moved, and changes from one occurrence on (RFC 5545 sections 3.2.13 and 3.8.4.4).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::formats::ical::event::CalendarEvent;
use crate::formats::ical::expand::{ExpansionBudget, occurrences};
use crate::formats::ical::moment::{Length, Moment};
use crate::formats::ical::text::one_line;
use crate::formats::ical::zone::Zone;

#[derive(Debug, Default)]
pub(crate) struct Overrides {
    /// Occurrences that were moved away.
    gone: BTreeSet<Timestamp>,
    /// Those given as a date.
    days: BTreeSet<Date>,
    /// The days of all of them, for all-day occurrences that are given as date-times.
    all_days: BTreeSet<Date>,
    /// Occurrences that the event itself excludes, and the version that does.
    out: (u64, BTreeSet<Timestamp>),
    /// Overrides that apply from an occurrence on, by its time; the last one if there are several.
    onward: BTreeMap<Timestamp, FollowingOverride>,
    /// The most days by which overrides move an occurrence.
    pub(crate) reach: i64,
    /// The events with this UID, of which a file may have several: the start of each, and the last wall time at which it can recur.
    series: Vec<(Moment, Option<DateTime>)>,
}

/// An override that applies from one occurrence on.
#[derive(Debug)]
pub(crate) struct FollowingOverride {
    /// The first occurrence it applies to, and that occurrence's new start: later ones move by the same wall-clock difference.
    from: Moment,
    to: Moment,
    /// The occurrences are cancelled.
    pub(crate) cancelled: bool,
    /// The new title on one line, if changed.
    pub(crate) title: Option<String>,
    /// The new location on one line, if changed.
    pub(crate) place: Option<String>,
    /// The new duration, if changed.
    length: Option<Length>,
}

impl Overrides {
    /// Adds an override; an event without RECURRENCE-ID has no effect.
    pub(crate) fn add(&mut self, event: &CalendarEvent, view: &TimeZone) {
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
        if event.this_and_future {
            let length = event.end.as_ref();
            let length = length.and_then(|end| end.length(&event.start, view));
            let Some(to) = event.start.here(view) else {
                return;
            };
            let shift = to.timestamp().duration_since(from);
            // One more day for the zones of both, and one for dates given as date-times.
            let days = shift.as_hours().unsigned_abs() / 24 + 2;
            let days = i64::try_from(days.min(40_000)).unwrap_or_default();
            self.reach = self.reach.max(days);
            let given = |text: &str| (!text.is_empty()).then(|| one_line(text));
            let onward = FollowingOverride {
                from: replaced.clone(),
                to: event.start.clone(),
                cancelled: event.cancelled,
                title: given(&event.title),
                place: given(&event.place),
                length,
            };
            self.onward.insert(from, onward);
        }
    }

    /// Records the event's own exclusions, unless a newer version has some.
    pub(crate) fn exclude(&mut self, event: &CalendarEvent, version: u64, view: &TimeZone) {
        let moments = event.except.iter().filter_map(|out| out.here(view));
        self.out = (version, moments.map(|at| at.timestamp()).collect());
    }

    /// Records the last time at which the event itself recurs.
    pub(crate) fn add_series(
        &mut self,
        event: &CalendarEvent,
        view: &TimeZone,
        budget: &mut ExpansionBudget,
    ) {
        self.series
            .push((event.start.clone(), last(event, view, budget)));
    }

    /// True for the override of an occurrence after the end of the event, which was shortened later.
    pub(crate) fn is_beyond(&self, event: &CalendarEvent, view: &TimeZone) -> bool {
        let Some(replaced) = &event.replaces else {
            return false;
        };
        let behind = |(start, last): &(Moment, Option<DateTime>)| {
            last.is_some_and(|last| is_after(replaced, start, last, view))
        };
        !self.series.is_empty() && self.series.iter().all(behind)
    }

    /// True if this version overrides an occurrence that a later version of the event excludes: it was changed, then deleted.
    pub(crate) fn is_deleted(&self, event: &CalendarEvent, version: u64, view: &TimeZone) -> bool {
        let (newest, out) = &self.out;
        let replaced = event.replaces.as_ref().and_then(|at| at.here(view));
        version < *newest && replaced.is_some_and(|at| out.contains(&at.timestamp()))
    }

    /// Whether the occurrence at `moment` of the original rule was moved.
    pub(crate) fn replace(&self, moment: &Moment, start: &Zoned) -> bool {
        let days = match moment {
            Moment::Day(_) => &self.all_days,
            Moment::At(..) => &self.days,
        };
        self.gone.contains(&start.timestamp()) || days.contains(&moment.wall().date())
    }

    /// The override that applies to an occurrence: the last one at or before it.
    pub(crate) fn override_for(&self, start: &Zoned) -> Option<&FollowingOverride> {
        let held = self.onward.range(..=start.timestamp()).next_back();
        held.map(|(_, onward)| onward)
    }
}

impl FollowingOverride {
    /// The new start of the occurrence at `moment`, calculated by wall time in the event's zone rather than the user's. All-day or timed like the
    /// changed one.
    pub(crate) fn moved(&self, moment: &Moment, view: &TimeZone) -> Option<Moment> {
        let (wall, time) = (moment.wall(), moment.wall().time());
        let own = |given: &Moment| match (given, moment) {
            (Moment::At(..), Moment::At(_, zone)) => given.here(view).map(|at| zone.wall(&at)),
            // A date given for a date-time means the same time on that day, and vice versa.
            _ => Some(given.wall().date().to_datetime(time)),
        };
        let shift = own(&self.to)?.duration_since(own(&self.from)?);
        let wall = wall.checked_add(shift).ok()?;
        Some(match (&self.to, moment) {
            (Moment::Day(_), Moment::At(..)) => Moment::Day(wall.date()),
            (Moment::At(to, zone), Moment::Day(_)) => {
                Moment::At(wall.date().to_datetime(to.time()), zone.clone())
            }
            _ => moment.moved(wall),
        })
    }

    /// The length of the occurrence, if it was overridden or the event became all-day or timed.
    pub(crate) fn length(&self, moment: &Moment) -> Option<Length> {
        let whole = |moment: &Moment| matches!(moment, Moment::Day(_));
        let changed = whole(&self.to) != whole(moment);
        let usual = Length {
            days: whole(&self.to).into(),
            seconds: 0,
        };
        self.length.or(changed.then_some(usual))
    }
}

/// The last wall time at which an event can recur; `None` if it recurs forever or too often to expand.
fn last(event: &CalendarEvent, view: &TimeZone, budget: &mut ExpansionBudget) -> Option<DateTime> {
    if event.fault.is_some() {
        return None;
    }
    if event.cancelled {
        return Some(DateTime::MIN);
    }
    let begin = event.start.wall();
    let mut last = begin;
    for rule in &event.rules {
        let until = rule.last_wall(&event.start, view);
        match (rule.count, until) {
            (None, until) => last = last.max(until?),
            (Some(_), until) => {
                let until = until.unwrap_or(DateTime::MAX);
                occurrences(rule, begin, begin, until, budget, &mut |at| {
                    last = last.max(at);
                });
                if budget.exhausted {
                    return None;
                }
            }
        }
    }
    for (more, _) in &event.more {
        let wall = match (more, &event.start) {
            (Moment::At(..), Moment::At(_, zone)) => zone.wall(&more.here(view)?),
            _ => more.wall(),
        };
        last = last.max(wall);
    }
    Some(last)
}

/// Whether an occurrence is after the last one of the event that starts at `start`.
fn is_after(replaced: &Moment, start: &Moment, last: DateTime, view: &TimeZone) -> bool {
    match (replaced, start) {
        (Moment::At(_, given), Moment::At(_, own)) => {
            let floats = |zone: &Zone| matches!(zone, Zone::Floating);
            let Some(wall) = replaced.here(view).map(|at| own.wall(&at)) else {
                return false;
            };
            // An offset in hours has no meaning between a floating time and a fixed one.
            if floats(given) == floats(own) {
                wall > last
            } else {
                wall.date() > last.date()
            }
        }
        _ => replaced.wall().date() > last.date(),
    }
}
