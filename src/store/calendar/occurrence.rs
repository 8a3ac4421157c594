//! The occurrences of a calendar within a period, in the user's zone.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::versions::Versions;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls, plural};
use crate::base::zones::ZoneFiles;
use crate::formats::ical::event::CalendarEvent;
use crate::formats::ical::expand::{ExpansionBudget, occurrences};
use crate::formats::ical::moment::{Length, Moment};
use crate::formats::ical::rule::RecurrenceRule;
use crate::formats::ical::scan::{CalendarScan, EventSpan, scan};
use crate::formats::ical::text::one_line;
use crate::formats::ical::zones::Zones;
use crate::store::calendar::short_uid::ShortUid;
use crate::store::calendar::this_and_future::Overrides;

/// Expansion steps that one view may take.
const STEPS: u64 = 3_000_000;
/// Expansion steps for finding the ends of recurring events that have overrides.
const END_STEPS: u64 = 300_000;

/// One occurrence of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// In the user's zone.
    pub start: Zoned,
    /// The first moment after it.
    pub end: Zoned,
    /// Takes whole days.
    pub all_day: bool,
    /// On one line.
    pub title: String,
    /// On one line.
    pub place: String,
    /// UID of the event.
    pub uid: String,
}

impl Occurrence {
    /// The days it touches.
    pub fn days(&self) -> (Date, Date) {
        let first = self.start.date();
        let last = if self.end > self.start {
            self.end
                .checked_sub(1.second())
                .map_or(first, |end| end.date())
        } else {
            first
        };
        (first, last.max(first))
    }
}

/// Occurrences of a period, and notices about the file.
#[derive(Debug, Default)]
pub struct OccurrenceList {
    /// Sorted by time.
    pub list: Vec<Occurrence>,
    /// Sentences for the user.
    pub notes: Vec<String>,
    /// Short forms of UIDs.
    pub short: ShortUid,
}

/// The occurrences in `bytes` that overlap `from..until`, on a machine with the zones `known`.
pub fn between(bytes: &[u8], from: &Zoned, until: &Zoned, known: &ZoneFiles) -> OccurrenceList {
    let file = scan(bytes);
    let zones = Zones::of(&file, known);
    let mut search = OccurrenceSearch {
        file: &file,
        zones: &zones,
        from,
        until,
        days: (day_number(from, -3), day_number(until, 2)),
        view: from.time_zone(),
        budget: ExpansionBudget::new(STEPS),
        list: Vec::new(),
        odd: 0,
        faults: BTreeSet::new(),
    };
    let versions = Versions::of(&file);
    let replaced = search.replaced(&versions);
    for place in &file.events {
        if search.may_matter(place) && !versions.is_old(place) {
            search.event(place, &replaced);
        }
    }
    search.finish()
}

/// The date `days` later, as YYYYMMDD.
fn day_number(zoned: &Zoned, days: i64) -> u32 {
    let date = zoned.date();
    let date = date.checked_add(days.days()).unwrap_or(date);
    let number =
        i32::from(date.year()) * 10_000 + i32::from(date.month()) * 100 + i32::from(date.day());
    u32::try_from(number).unwrap_or_default()
}

/// The overrides of events that have some, by UID.
type Replaced = HashMap<String, Overrides>;

/// Start as the event gives it, in the user's zone, and the occurrence's own length if it has one.
type OccurrenceStart = (Moment, Zoned, Option<Length>);

struct OccurrenceSearch<'a> {
    file: &'a CalendarScan<'a>,
    zones: &'a Zones<'a>,
    from: &'a Zoned,
    until: &'a Zoned,
    /// First and last day as YYYYMMDD, with two days to spare for time zones.
    days: (u32, u32),
    view: &'a TimeZone,
    budget: ExpansionBudget,
    list: Vec<Occurrence>,
    /// Events whose start cannot be read.
    odd: usize,
    faults: BTreeSet<String>,
}

impl OccurrenceSearch<'_> {
    fn replaced(&self, versions: &Versions<'_>) -> Replaced {
        let mut out = Replaced::new();
        let places = || self.file.events.iter().filter(|one| !versions.is_old(one));
        for place in places().filter(|place| place.replaces.is_some()) {
            if let Some(event) = CalendarEvent::read(self.file, place, self.zones) {
                let overrides = out.entry(event.uid.clone()).or_default();
                overrides.add(&event, self.view);
            }
        }
        if out.is_empty() {
            return out;
        }
        let mut budget = ExpansionBudget::new(END_STEPS);
        // The event's own exclusions count only if it is the newer version.
        let says = |one: &&EventSpan| one.replaces.is_none() && (one.repeats || one.sequence > 0);
        for place in places().filter(says) {
            let uid = self.file.uid(place).unwrap_or_default();
            if let Some(overrides) = out.get_mut(&uid)
                && let Some(event) = CalendarEvent::read(self.file, place, self.zones)
            {
                overrides.exclude(&event, place.sequence, self.view);
                overrides.add_series(&event, self.view, &mut budget);
            }
        }
        out
    }

    /// False if the event's dates alone put it outside the period.
    fn may_matter(&self, place: &EventSpan) -> bool {
        if place.repeats || place.is_long {
            return true;
        }
        let Some(start) = place.start.as_ref().and_then(|line| self.file.day(line)) else {
            return true;
        };
        let end = place.end.as_ref().and_then(|line| self.file.day(line));
        let (from, until) = self.days;
        start <= until && end.unwrap_or(start).max(start) >= from
    }

    fn event(&mut self, place: &EventSpan, replaced: &Replaced) {
        let Some(event) = CalendarEvent::read(self.file, place, self.zones) else {
            self.odd += 1;
            return;
        };
        if let Some(fault) = &event.fault {
            self.faults.insert(clip(&escape_controls(fault), 60));
        }
        if event.cancelled {
            return;
        }
        let length = event.end.as_ref();
        let length = length.and_then(|end| end.length(&event.start, self.view));
        let whole = matches!(event.start, Moment::Day(_));
        let mut length = length.unwrap_or_default();
        if whole && length == Length::default() {
            length.days = 1;
        }
        let overrides = replaced.get(&event.uid);
        let view = self.view;
        let is_gone = |all: &Overrides| {
            all.is_deleted(&event, place.sequence, view) || all.is_beyond(&event, view)
        };
        if overrides.is_some_and(is_gone) {
            return;
        }
        let overrides = overrides.filter(|_| event.replaces.is_none());
        let reach = overrides.map_or(0, |overrides| overrides.reach);
        let [title, place] = [&event.title, &event.place].map(|text| one_line(text));
        for (moment, start, own) in self.starts(&event, length, reach) {
            let kept = overrides.is_none_or(|overrides| !overrides.replace(&moment, &start));
            let onward = overrides.and_then(|overrides| overrides.override_for(&start));
            if onward.is_some_and(|onward| onward.cancelled) {
                continue;
            }
            let moved = onward.and_then(|onward| onward.moved(&moment, view));
            let all_day = matches!(moved.as_ref().unwrap_or(&moment), Moment::Day(_));
            let Some(start) = moved.map_or(Some(start), |moved| moved.here(view)) else {
                continue;
            };
            let [title, place] = onward.map_or([&title, &place], |onward| {
                [
                    onward.title.as_ref().unwrap_or(&title),
                    onward.place.as_ref().unwrap_or(&place),
                ]
            });
            let length = onward
                .and_then(|onward| onward.length(&moment))
                .or(own)
                .unwrap_or(length);
            let Some(end) = length.after(&start) else {
                continue;
            };
            let under_way = end > *self.from || (end == start && start >= *self.from);
            if kept && start < *self.until && under_way {
                self.list.push(Occurrence {
                    start,
                    end,
                    all_day,
                    title: title.clone(),
                    place: place.clone(),
                    uid: event.uid.clone(),
                });
            }
        }
    }

    /// The starts of the event that may matter, each with a length of its own if the file gives one.
    ///
    /// `reach` is the number of days by which overrides may move them.
    fn starts(
        &mut self,
        event: &CalendarEvent,
        length: Length,
        reach: i64,
    ) -> Vec<OccurrenceStart> {
        let mut walls: BTreeSet<DateTime> = BTreeSet::new();
        let more = event.more.iter();
        let mut moments: Vec<(Moment, Option<Length>)> = more
            .map(|(start, end)| {
                let length = end.as_ref().and_then(|end| end.length(start, self.view));
                (start.clone(), length)
            })
            .collect();
        if event.replaces.is_some() {
            // A single occurrence, even if it repeats the rule of its event.
            moments.clear();
        }
        let rules: &[RecurrenceRule] = match event.replaces {
            Some(_) => &[],
            None => &event.rules,
        };
        if rules.is_empty() || event.fault.is_some() {
            moments.push((event.start.clone(), None));
        }
        let start = event.start.wall();
        // One more day on either side for time zones, and back by the length of what may still be going on.
        let back = 1 + reach + length.days + length.seconds / 86_400;
        let from = self.from.datetime().checked_sub(back.min(40_000).days());
        let until = self.until.datetime().checked_add((2 + reach).days());
        for rule in rules {
            let last = rule.last_wall(&event.start, self.view);
            let last = last.unwrap_or(DateTime::MAX);
            let until = until.clone().unwrap_or(DateTime::MAX).min(last);
            let from = from.clone().unwrap_or(DateTime::MIN);
            occurrences(rule, start, from, until, &mut self.budget, &mut |at| {
                walls.insert(at);
            });
        }
        moments.extend(
            walls
                .into_iter()
                .map(|wall| (event.start.moved(wall), None)),
        );
        let except = ExceptionDates::of(&event.except, self.view);
        let mut starts: Vec<OccurrenceStart> = moments
            .into_iter()
            .filter_map(|(moment, length)| {
                let here = moment.here(self.view)?;
                Some((moment, here, length))
            })
            .filter(|(moment, here, _)| !except.has(moment, here))
            .collect();
        starts.shared_sort_by(|(_, one, _), (_, two, _)| one.cmp(two));
        starts.dedup_by(|(_, one, _), (_, two, _)| one == two);
        starts
    }

    fn finish(mut self) -> OccurrenceList {
        self.list.shared_sort_by(|one, two| {
            (&one.start, !one.all_day, &one.title, &one.uid).cmp(&(
                &two.start,
                !two.all_day,
                &two.title,
                &two.uid,
            ))
        });
        // An event that was imported twice.
        self.list
            .dedup_by(|one, two| one == two && !one.uid.is_empty());
        let mut notes = Vec::new();
        if let Some(fault) = self.file.trouble() {
            notes.push(format!("The calendar file is damaged: {fault}. What could be read is shown; nothing will be written to it."));
        }
        if self.odd > 0 {
            notes.push(format!(
                "{} without a readable start left out.",
                plural(self.odd, "event")
            ));
        }
        for zone in self.zones.unknown() {
            notes.push(format!(
                "Nobody knows the time zone \"{zone}\"; its times are shown as they stand."
            ));
        }
        for fault in &self.faults {
            notes.push(format!(
                "A recurrence that cannot be understood ({fault}) was left out."
            ));
        }
        if self.budget.exhausted {
            notes.push("Some events recur so often that not all occurrences are shown.".to_owned());
        }
        let short = if self.list.is_empty() {
            ShortUid::default()
        } else {
            ShortUid::of(self.file, self.list.iter().map(|one| one.uid.as_str()))
        };
        OccurrenceList {
            list: self.list,
            notes,
            short,
        }
    }
}

/// Excluded dates (EXDATE).
#[derive(Debug, Default)]
struct ExceptionDates {
    /// Given without a time.
    days: HashSet<Date>,
    /// The days of entries with a time; an all-day event is excluded on such a day.
    days_of_times: HashSet<Date>,
    times: HashSet<Timestamp>,
}

impl ExceptionDates {
    fn of(list: &[Moment], view: &TimeZone) -> Self {
        let mut except = Self::default();
        for moment in list {
            match moment {
                Moment::Day(day) => {
                    except.days.insert(*day);
                }
                Moment::At(wall, _) => {
                    except.days_of_times.insert(wall.date());
                    let here = moment.here(view);
                    except.times.extend(here.map(|here| here.timestamp()));
                }
            }
        }
        except
    }

    fn has(&self, moment: &Moment, here: &Zoned) -> bool {
        self.days.contains(&moment.wall().date())
            || match moment {
                Moment::Day(day) => self.days_of_times.contains(day),
                Moment::At(..) => self.times.contains(&here.timestamp()),
            }
    }
}

#[cfg(test)]
mod tests;
