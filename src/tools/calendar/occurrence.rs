//! What of a calendar falls into a stretch of time, in the person's zone.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::ical::event::Event;
use super::ical::expand::{Budget, occurrences};
use super::ical::moment::{Length, Moment};
use super::ical::rule::Rule;
use super::ical::scan::{Place, Scan, scan};
use super::ical::text::one_line;
use super::ical::zone::Zones;
use super::onward::Overrides;
use super::short::Short;
use super::versions::Versions;
use crate::base::text::{clip, plural, visible};

/// Steps of recurrence that one view may cost.
const STEPS: u64 = 3_000_000;

/// One occurrence of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// When it begins, here.
    pub start: Zoned,
    /// When it is over; the first moment after it.
    pub end: Zoned,
    /// Whole days.
    pub all_day: bool,
    /// Its title, on one line.
    pub title: String,
    /// Where, on one line.
    pub place: String,
    /// The event's UID.
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

/// Occurrences and what has to be said about the file.
#[derive(Debug, Default)]
pub struct Found {
    /// In order of time.
    pub list: Vec<Occurrence>,
    /// Sentences for the person.
    pub notes: Vec<String>,
    /// How to show UIDs.
    pub short: Short,
}

/// The occurrences of the calendar file `bytes` that lie in or reach into `from..until`.
pub fn between(bytes: &[u8], from: &Zoned, until: &Zoned) -> Found {
    let file = scan(bytes);
    let zones = Zones::of(&file);
    let mut search = Search {
        file: &file,
        zones: &zones,
        from,
        until,
        days: (day_number(from, -3), day_number(until, 2)),
        view: from.time_zone(),
        budget: Budget::new(STEPS),
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

/// The date `days` from then as YYYYMMDD.
fn day_number(zoned: &Zoned, days: i64) -> u32 {
    let date = zoned.date();
    let date = date.checked_add(days.days()).unwrap_or(date);
    let number =
        i32::from(date.year()) * 10_000 + i32::from(date.month()) * 100 + i32::from(date.day());
    u32::try_from(number).unwrap_or_default()
}

/// The overrides of the events that have some, by UID.
type Replaced = HashMap<String, Overrides>;

/// An occurrence as its event says it, here, and its own length if it has one.
type Start = (Moment, Zoned, Option<Length>);

struct Search<'a> {
    file: &'a Scan<'a>,
    zones: &'a Zones<'a>,
    from: &'a Zoned,
    until: &'a Zoned,
    /// Both as YYYYMMDD, with two days to spare for time zones and one for what lasts that long.
    days: (u32, u32),
    view: &'a TimeZone,
    budget: Budget,
    list: Vec<Occurrence>,
    /// Events without a readable start.
    odd: usize,
    faults: BTreeSet<String>,
}

impl Search<'_> {
    fn replaced(&self, versions: &Versions<'_>) -> Replaced {
        let mut out = Replaced::new();
        let places = || self.file.events.iter().filter(|one| !versions.is_old(one));
        for place in places().filter(|place| place.replaces.is_some()) {
            if let Some(event) = Event::read(self.file, place, self.zones) {
                let overrides = out.entry(event.uid.clone()).or_default();
                overrides.add(&event, self.view);
            }
        }
        if out.is_empty() {
            return out;
        }
        // What the event itself says of them matters only where it is the later word.
        for place in places().filter(|one| one.replaces.is_none() && one.sequence > 0) {
            let uid = self.file.uid(place).unwrap_or_default();
            if let Some(overrides) = out.get_mut(&uid)
                && let Some(event) = Event::read(self.file, place, self.zones)
            {
                overrides.leave_out(&event, place.sequence, self.view);
            }
        }
        out
    }

    /// False for an event that by its dates alone lies outside.
    fn may_matter(&self, place: &Place) -> bool {
        if place.repeats || place.lasts {
            return true;
        }
        let Some(start) = place.start.as_ref().and_then(|line| self.file.day(line)) else {
            return true;
        };
        let end = place.end.as_ref().and_then(|line| self.file.day(line));
        let (from, until) = self.days;
        start <= until && end.unwrap_or(start).max(start) >= from
    }

    fn event(&mut self, place: &Place, replaced: &Replaced) {
        let Some(event) = Event::read(self.file, place, self.zones) else {
            self.odd += 1;
            return;
        };
        if let Some(fault) = &event.fault {
            self.faults.insert(clip(&visible(fault), 60));
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
        if overrides.is_some_and(|all| all.is_deleted(&event, place.sequence, self.view)) {
            return;
        }
        let overrides = overrides.filter(|_| event.replaces.is_none());
        let reach = overrides.map_or(0, |overrides| overrides.reach);
        let [title, place] = [&event.title, &event.place].map(|text| one_line(text));
        for (moment, start, own) in self.starts(&event, length, reach) {
            let kept = overrides.is_none_or(|overrides| !overrides.replace(&moment, &start));
            let onward = overrides.and_then(|overrides| overrides.holds(&start));
            if onward.is_some_and(|onward| onward.cancelled) {
                continue;
            }
            let Some(start) = onward.map_or(Some(start.clone()), |onward| onward.moved(&start))
            else {
                continue;
            };
            let [title, place] = onward.map_or([&title, &place], |onward| {
                [
                    onward.title.as_ref().unwrap_or(&title),
                    onward.place.as_ref().unwrap_or(&place),
                ]
            });
            let length = onward
                .and_then(|onward| onward.length)
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
                    all_day: whole,
                    title: title.clone(),
                    place: place.clone(),
                    uid: event.uid.clone(),
                });
            }
        }
    }

    /// When it begins, as often as that matters here, and how long that occurrence lasts where the file says so.
    ///
    /// `reach` is by how many days they may be moved afterwards.
    fn starts(&mut self, event: &Event, length: Length, reach: i64) -> Vec<Start> {
        let mut walls: BTreeSet<DateTime> = BTreeSet::new();
        let more = event.more.iter();
        let mut moments: Vec<(Moment, Option<Length>)> = more
            .map(|(start, end)| {
                let length = end.as_ref().and_then(|end| end.length(start, self.view));
                (start.clone(), length)
            })
            .collect();
        if event.replaces.is_some() {
            // One occurrence, also where it brings the rule of its event along.
            moments.clear();
        }
        let rules: &[Rule] = match event.replaces {
            Some(_) => &[],
            None => &event.rules,
        };
        if rules.is_empty() || event.fault.is_some() {
            moments.push((event.start.clone(), None));
        }
        let start = event.start.wall();
        // A day more on both sides for time zones, and back by the length of what may still be going on.
        let back = 1 + reach + length.days + length.seconds / 86_400;
        let from = self.from.datetime().checked_sub(back.min(40_000).days());
        let until = self.until.datetime().checked_add((2 + reach).days());
        for rule in rules {
            let last = match (&rule.until, &event.start) {
                (None, _) => DateTime::MAX,
                (Some(Moment::Day(day)), _) => day.at(23, 59, 59, 0),
                (Some(until), Moment::At(_, zone)) => {
                    let here = until.here(self.view);
                    let utc = matches!(until, Moment::At(_, super::ical::zone::Zone::Known(_)));
                    here.filter(|_| utc)
                        .map_or(until.wall(), |here| zone.wall(&here))
                }
                (Some(until), Moment::Day(_)) => until.wall(),
            };
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
        let except = Except::of(&event.except, self.view);
        let mut starts: Vec<Start> = moments
            .into_iter()
            .filter_map(|(moment, length)| {
                let here = moment.here(self.view)?;
                Some((moment, here, length))
            })
            .filter(|(moment, here, _)| !except.has(moment, here))
            .collect();
        starts.sort_by(|(_, one, _), (_, two, _)| one.cmp(two));
        starts.dedup_by(|(_, one, _), (_, two, _)| one == two);
        starts
    }

    fn finish(mut self) -> Found {
        self.list.sort_by(|one, two| {
            (&one.start, !one.all_day, &one.title, &one.uid).cmp(&(
                &two.start,
                !two.all_day,
                &two.title,
                &two.uid,
            ))
        });
        // One event that was taken in twice.
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
        if self.budget.spent {
            notes.push("Some events recur so often that not all occurrences are shown.".to_owned());
        }
        let short = if self.list.is_empty() {
            Short::default()
        } else {
            Short::of(self.file, &self.list)
        };
        Found {
            list: self.list,
            notes,
            short,
        }
    }
}

/// What EXDATE takes out.
#[derive(Debug, Default)]
struct Except {
    /// Days that were said without a time.
    days: HashSet<Date>,
    /// Days on which a time was said: of whole days they take out the day.
    days_of_times: HashSet<Date>,
    times: HashSet<Timestamp>,
}

impl Except {
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
mod tests {
    use super::*;

    fn zoned(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    fn shown(events: &str, from: &str, until: &str) -> (Vec<String>, Vec<String>) {
        let file = format!(
            "BEGIN:VCALENDAR\r\n{}END:VCALENDAR\r\n",
            events.replace('\n', "\r\n")
        );
        let found = between(file.as_bytes(), &zoned(from), &zoned(until));
        let list = found
            .list
            .iter()
            .map(|o| format!("{} {}", o.start.strftime("%m-%dT%H:%M"), o.title));
        (list.collect(), found.notes)
    }

    const FROM: &str = "2026-11-01T00:00:00+01:00[Europe/Berlin]";
    const UNTIL: &str = "2026-12-01T00:00:00+01:00[Europe/Berlin]";

    #[test]
    fn exceptions_overrides_and_cancellations_are_kept_out() {
        let (list, notes) = shown(
            "BEGIN:VEVENT\nUID:w\nDTSTART:20261102T090000Z\nDTEND:20261102T093000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=10\nEXDATE:20261116T090000Z\nSUMMARY:Standup\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:w\nRECURRENCE-ID:20261109T090000Z\nDTSTART:20261110T100000Z\nSUMMARY:Moved\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:w\nRECURRENCE-ID:20261123T090000Z\nDTSTART:20261123T090000Z\nSTATUS:CANCELLED\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:c\nDTSTART:20261111T100000Z\nSTATUS:cancelled\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "11-02T10:00 Standup",
                "11-10T11:00 Moved",
                "11-30T10:00 Standup"
            ]
        );
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn long_files_take_time_by_their_length_alone() {
        let minutes = "DTSTART:20261101T000000Z\nRRULE:FREQ=MINUTELY\n";
        let except = "EXDATE:20261102T000000Z\n".repeat(20_000);
        let title = "a ".repeat(100_000);
        let change = |minute: u32| {
            let at = format!("20261102T{:02}{:02}00Z", minute / 60, minute % 60);
            format!(
                "BEGIN:VEVENT\nUID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:{at}\nDTSTART:{at}\nEND:VEVENT\n"
            )
        };
        let changes: String = (0..1_440).map(change).collect();
        let events = [
            format!("BEGIN:VEVENT\nUID:b\n{minutes}{except}END:VEVENT\n"),
            format!("BEGIN:VEVENT\nUID:c\n{minutes}SUMMARY:{title}\nEND:VEVENT\n"),
            format!("{changes}BEGIN:VEVENT\nUID:a\n{minutes}END:VEVENT\n"),
        ];
        for (events, count) in events.iter().zip([1_439, 1_440, 1_440]) {
            let begun = std::time::Instant::now();
            let (list, notes) = shown(
                events,
                "2026-11-02T00:00:00Z[UTC]",
                "2026-11-03T00:00:00Z[UTC]",
            );
            assert_eq!((list.len(), notes.len()), (count, 0));
            assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
        }
        // A title of many words is shown in part, and a listing of seconds in part too.
        let seconds = format!(
            "BEGIN:VEVENT\nUID:s\nDTSTART:20261101T000000Z\nRRULE:FREQ=SECONDLY\nSUMMARY:{title}\nEND:VEVENT\n"
        );
        let (list, notes) = shown(
            &seconds,
            "2026-11-02T00:00:00Z[UTC]",
            "2026-12-03T00:00:00Z[UTC]",
        );
        assert!(list.len() < 200_000 && list.iter().all(|line| line.len() < 240));
        assert!(notes.iter().any(|note| note.contains("recur so often")));
    }

    #[test]
    fn a_change_from_one_occurrence_on_holds_for_the_later_ones() {
        let (list, notes) = shown(
            "BEGIN:VEVENT\nUID:w\nDTSTART:20261102T090000Z\nDURATION:PT30M\nRRULE:FREQ=WEEKLY;COUNT=9\nSUMMARY:Standup\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:w\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261109T090000Z\nDTSTART:20261110T103000Z\nDURATION:PT2H\nSUMMARY:Later\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:w\nRECURRENCE-ID;RANGE=ThisAndFuture:20261123T090000Z\nDTSTART:20261123T090000Z\nSTATUS:CANCELLED\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "11-02T10:00 Standup",
                "11-10T11:30 Later",
                "11-17T11:30 Later"
            ]
        );
        assert!(notes.is_empty(), "{notes:?}");
        let (list, _) = shown(
            "BEGIN:VEVENT\nUID:d\nDTSTART;VALUE=DATE:20261001\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:Early\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:d\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261002\nDTSTART;VALUE=DATE:20261105\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(list, ["11-05T00:00 ", "11-06T00:00 Early"]);
    }

    #[test]
    fn events_under_way_whole_days_and_odd_ones() {
        let (list, notes) = shown(
            "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261024\nDTEND;VALUE=DATE:20261102\nSUMMARY:Holiday\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:2\nDTSTART;VALUE=DATE:20261030\nDURATION:P2D\nSUMMARY:Over\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:3\nDTSTART;TZID=Mars/Olympus:20261130T235900\nSUMMARY:Zone\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:4\nDTSTART:20261131\nSUMMARY:Never\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:5\nDTSTART:20261105T120000\nRRULE:FREQ=DAILY;INTERVAL=0\nSUMMARY:Odd\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:6\nDTSTART;TZID=Asia/Tokyo:20261201T070000\nSUMMARY:Tokyo\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:8\nDTSTART:20261031T150000Z\nDURATION:PT20H\nSUMMARY:Night\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:9\nDTSTART:20261015T150000Z\nDURATION:P20D\nSUMMARY:Long\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:7\nDTSTART:20261106T120000\nRDATE:20261107T120000,20261108T120000\nSUMMARY:Thrice\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "10-15T17:00 Long",
                "10-24T00:00 Holiday",
                "10-31T16:00 Night",
                "11-05T12:00 Odd",
                "11-06T12:00 Thrice",
                "11-07T12:00 Thrice",
                "11-08T12:00 Thrice",
                "11-30T23:00 Tokyo",
                "11-30T23:59 Zone"
            ]
        );
        assert_eq!(notes.len(), 3, "{notes:?}");
    }

    #[test]
    fn of_several_versions_the_newest_counts_and_an_override_is_one_occurrence() {
        let (list, notes) = shown(
            "BEGIN:VEVENT\nUID:v\nSEQUENCE:2\nDTSTART:20261103T090000Z\nRRULE:FREQ=WEEKLY;COUNT=-1;UNTIL=20261117T090000Z\nSUMMARY:New\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nDTSTART:20261104T090000Z\nSUMMARY:Old\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261111T090000Z\nRRULE:FREQ=WEEKLY;COUNT=9\nSUMMARY:Moved\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:v\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261112T090000Z\nSUMMARY:Moved before\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:t\nDTSTART:20261120T090000Z\nSUMMARY:Twice\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:t\nDTSTART:20261120T090000Z\nSUMMARY:Twice\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "11-03T10:00 New",
                "11-11T10:00 Moved",
                "11-17T10:00 New",
                "11-20T10:00 Twice"
            ]
        );
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn an_occurrence_that_was_changed_and_then_deleted_is_gone() {
        let both = |version: u8| {
            shown(
                &format!("BEGIN:VEVENT\nUID:v\nSEQUENCE:{version}\nDTSTART:20261103T090000Z\nRRULE:FREQ=WEEKLY;COUNT=3\nEXDATE:20261110T090000Z\nSUMMARY:Week\nEND:VEVENT\n\
                 BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261111T090000Z\nSUMMARY:Moved\nEND:VEVENT\n"),
                FROM,
                UNTIL,
            )
            .0
        };
        assert_eq!(both(2), ["11-03T10:00 Week", "11-17T10:00 Week"]);
        // Of one version, it is only where it was moved to.
        assert_eq!(both(1).len(), 3);
    }

    #[test]
    fn an_override_may_name_its_occurrence_as_a_day_or_a_moment() {
        let (list, _) = shown(
            "BEGIN:VEVENT\nUID:d\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Days\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:d\nRECURRENCE-ID:20261103T000000Z\nDTSTART;VALUE=DATE:20261103\nSUMMARY:Changed\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:h\nDTSTART;TZID=America/New_York:20261104T200000\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Evening\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:h\nRECURRENCE-ID;VALUE=DATE:20261105\nDTSTART;TZID=America/New_York:20261105T210000\nSUMMARY:Late\nEND:VEVENT\n",
            FROM,
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "11-02T00:00 Days",
                "11-03T00:00 Changed",
                "11-05T02:00 Evening",
                "11-06T03:00 Late"
            ]
        );
    }

    #[test]
    fn periods_have_lengths_of_their_own_and_what_is_no_calendar_is_told() {
        let file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:p\nDTSTART:20261102T090000Z\nDURATION:PT1H\n\
             RDATE;VALUE=PERIOD:20261103T090000Z/PT3H,20261104T090000Z/20261104T110000Z\nSUMMARY:P\nEND:VEVENT\nEND:VCALENDAR\n";
        let found = between(file.as_bytes(), &zoned(FROM), &zoned(UNTIL));
        let ends: Vec<String> = found
            .list
            .iter()
            .map(|one| one.end.strftime("%d %H:%M").to_string())
            .collect();
        assert_eq!(ends, ["02 11:00", "03 13:00", "04 12:00"]);
        let none = between(b"<html>Sign in</html>", &zoned(FROM), &zoned(UNTIL));
        assert!(none.notes[0].contains("no VCALENDAR"), "{:?}", none.notes);
        let empty = between(b"\r\n", &zoned(FROM), &zoned(UNTIL));
        assert!(empty.notes.is_empty());
    }

    #[test]
    fn until_and_daylight_saving_follow_the_events_own_clock() {
        let (list, _) = shown(
            "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=America/New_York:20261030T090000\nRRULE:FREQ=DAILY;UNTIL=20261102T140000Z\nSUMMARY:Call\nEND:VEVENT\n",
            "2026-10-30T00:00:00+01:00[Europe/Berlin]",
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "10-30T14:00 Call",
                "10-31T14:00 Call",
                "11-01T15:00 Call",
                "11-02T15:00 Call"
            ]
        );
    }
}
