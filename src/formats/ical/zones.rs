//! Time zones of calendar files: by name from the zone database, else by the file's own rules, else the user's own.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::expand::{ExpansionBudget, occurrences};
use super::line::{ContentLines, Property, unfold};
use super::moment::Moment;
use super::rule::RecurrenceRule;
use super::scan::CalendarScan;
use super::text::unescape;
use super::zone::{NoZones, Zone, ZoneSource};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls};
use crate::base::zones::ZoneFiles;

/// Maximum recurrence steps for the zones of one file.
const MAX_STEPS: u64 = 3_000_000;

/// The zones of one file, looked up once each.
pub struct Zones<'a> {
    file: &'a CalendarScan<'a>,
    /// The zone database of this machine.
    known: &'a ZoneFiles,
    /// Where the file defines its own zones, by id.
    places: OnceCell<HashMap<String, Vec<Range<usize>>>>,
    budget: RefCell<ExpansionBudget>,
    found: RefCell<HashMap<String, Zone>>,
    unknown: RefCell<BTreeSet<String>>,
}

impl<'a> Zones<'a> {
    /// The zones of `file`, backed by the database `known`.
    pub fn of(file: &'a CalendarScan<'a>, known: &'a ZoneFiles) -> Self {
        Self {
            file,
            known,
            places: OnceCell::new(),
            budget: RefCell::new(ExpansionBudget::new(MAX_STEPS)),
            found: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// The ids that could not be resolved; their times were read in the user's zone.
    pub fn unknown(&self) -> Vec<String> {
        self.unknown.borrow().iter().cloned().collect()
    }

    fn rules(&self, id: &str) -> Option<Vec<(DateTime, Offset)>> {
        let places = self.places.get_or_init(|| places(self.file));
        places.get(&unescape(id.trim()))?.iter().find_map(|range| {
            let properties: Vec<Property> = properties(self.file, range).collect();
            observances(&properties, &mut self.budget.borrow_mut())
        })
    }
}

impl ZoneSource for Zones<'_> {
    /// From this machine's database, else by the file's own rules, else the user's own.
    fn find(&self, id: &str) -> Zone {
        if let Some(zone) = self.found.borrow().get(id) {
            return zone.clone();
        }
        let known = known(self.known, id);
        let zone = known
            .map(Zone::Known)
            .or_else(|| self.rules(id).map(|rules| Zone::Rules(Arc::new(rules))))
            .unwrap_or_else(|| {
                self.unknown
                    .borrow_mut()
                    .insert(clip(&escape_controls(id), 60));
                Zone::Floating
            });
        self.found.borrow_mut().insert(id.to_owned(), zone.clone());
        zone
    }
}

/// Where the zones of a file are, by id. An id is a TEXT value here, with its commas escaped, but not where it is a parameter.
fn places(file: &CalendarScan<'_>) -> HashMap<String, Vec<Range<usize>>> {
    let mut places: HashMap<String, Vec<Range<usize>>> = HashMap::new();
    for range in &file.zones {
        if let Some(id) = properties(file, range).find(|property| property.name == "TZID") {
            let of_id = places.entry(unescape(id.value.trim())).or_default();
            of_id.push(range.clone());
        }
    }
    places
}

fn properties(file: &CalendarScan<'_>, range: &Range<usize>) -> impl Iterator<Item = Property> {
    ContentLines::new(file.bytes, range.clone())
        .filter_map(|line| Property::read(&unfold(file.bytes, &line)))
}

/// A zone of the database by its name, also at the end of a path such as `/example.org/2026/Europe/Berlin`.
fn known(zones: &ZoneFiles, id: &str) -> Option<TimeZone> {
    let id = id.trim();
    let parts: Vec<&str> = id.split('/').filter(|part| !part.is_empty()).collect();
    let from = parts.len().saturating_sub(3);
    let tails = (from..parts.len()).filter_map(|from| parts.get(from..).map(|tail| tail.join("/")));
    std::iter::once(id.to_owned())
        .chain(tails)
        .find_map(|name| zones.find(&name))
}

/// The offsets of the STANDARD and DAYLIGHT parts, and the times from which they apply.
fn observances(
    properties: &[Property],
    budget: &mut ExpansionBudget,
) -> Option<Vec<(DateTime, Offset)>> {
    let last = DateTime::constant(2200, 1, 1, 0, 0, 0, 0);
    let mut since = Vec::new();
    let mut first: Option<(DateTime, Offset)> = None;
    let part = |p: &Property| {
        matches!(
            p.value.trim().to_ascii_uppercase().as_str(),
            "STANDARD" | "DAYLIGHT"
        )
    };
    for chunk in properties.split(|p| p.name == "BEGIN" && part(p)).skip(1) {
        let ends = chunk.iter().position(|p| p.name == "END");
        let chunk = chunk.get(..ends.unwrap_or(chunk.len())).unwrap_or_default();
        let value = |name: &str| {
            chunk
                .iter()
                .find(|p| p.name == name)
                .map(|p| p.value.as_str())
        };
        let Some(offset) = value("TZOFFSETTO").and_then(offset) else {
            continue;
        };
        let Some(start) = value("DTSTART").and_then(|text| Moment::read(text, None, &NoZones))
        else {
            continue;
        };
        let start = start.wall();
        let from = value("TZOFFSETFROM")
            .and_then(self::offset)
            .unwrap_or(offset);
        if first.is_none_or(|(before, _)| start < before) {
            first = Some((start, from));
        }
        since.push((start, offset));
        for rdate in chunk.iter().filter(|p| p.name == "RDATE") {
            since.extend(
                Moment::list(rdate, &NoZones)
                    .iter()
                    .map(|at| (at.wall(), offset)),
            );
        }
        if let Some(Ok(rule)) = value("RRULE").map(RecurrenceRule::read) {
            // UNTIL is in UTC, whereas onsets are in the offset that applied before.
            let until = match &rule.until {
                None => last,
                Some(Moment::Day(day)) => day.at(23, 59, 59, 0),
                Some(until) => {
                    let before = until.here(&TimeZone::fixed(from));
                    before.map_or(last, |at| at.datetime()).min(last)
                }
            };
            occurrences(&rule, start, start, until, budget, &mut |at| {
                since.push((at, offset));
            });
        }
    }
    let (_, before) = first?;
    since.push((DateTime::MIN, before));
    since.shared_sort_by_key(|(at, _)| *at);
    Some(since)
}

/// `+0100`, `-023015`.
fn offset(text: &str) -> Option<Offset> {
    let text = text.trim();
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.trim_start_matches(['+', '-']);
    let part = |from: usize| digits.get(from..from + 2)?.parse::<i32>().ok();
    let seconds = part(0)? * 3_600 + part(2)? * 60 + part(4).unwrap_or(0);
    Offset::from_seconds(sign * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::super::scan::scan;
    use super::*;

    const FILE: &str = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Somewhere: else\nBEGIN:DAYLIGHT\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nDTSTART:19700329T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nEND:DAYLIGHT\nBEGIN:STANDARD\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nDTSTART:19701025T030000\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\nEND:VTIMEZONE\nEND:VCALENDAR\n";

    #[test]
    fn each_zone_is_looked_up_once_and_endless_rules_stop() {
        let zone = |id: &str, rule: &str| {
            format!(
                "BEGIN:VTIMEZONE\nTZID:{id}\nBEGIN:STANDARD\nTZOFFSETTO:+0200\nDTSTART:20200101T000000\n{rule}END:STANDARD\nEND:VTIMEZONE\n"
            )
        };
        let own: String = (0..2_000).map(|n| zone(&format!("own {n}"), "")).collect();
        let endless: String = (0..50)
            .map(|n| zone(&format!("endless {n}"), "RRULE:FREQ=SECONDLY\n"))
            .collect();
        let file = format!("BEGIN:VCALENDAR\n{own}{endless}END:VCALENDAR\n");
        let file = scan(file.as_bytes());
        let machine = ZoneFiles::default();
        let zones = Zones::of(&file, &machine);
        let begun = crate::base::cpu_time::CpuTime::now();
        for number in 0..2_000 {
            assert!(matches!(
                zones.find(&format!("own {number}")),
                Zone::Rules(_)
            ));
            assert_eq!(zones.find(&format!("none {number}")), Zone::Floating);
        }
        let count: usize = (0..50)
            .map(|n| match zones.find(&format!("endless {n}")) {
                Zone::Rules(rules) => rules.len(),
                _ => 0,
            })
            .sum();
        assert!((50..300_000).contains(&count), "{count}");
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn the_last_onset_of_a_rule_that_ends_in_utc_counts() {
        let text = FILE.replace("BYMONTH=10;", "BYMONTH=10;UNTIL=20251026T010000Z;");
        let file = scan(text.as_bytes());
        let machine = ZoneFiles::default();
        let own = Zones::of(&file, &machine).find("Somewhere: else");
        let wall = Moment::read("20251201T120000", None, &NoZones).unwrap();
        let here = own.here(wall.wall(), &TimeZone::UTC).unwrap();
        assert_eq!(here.hour(), 11);
    }

    #[test]
    fn the_rules_of_a_file_agree_with_the_database() {
        let file = scan(FILE.as_bytes());
        let machine = ZoneFiles::default();
        let zones = Zones::of(&file, &machine);
        let own = zones.find("Somewhere: else");
        assert!(matches!(own, Zone::Rules(_)));
        let berlin = zones.find("/mozilla.org/20070129_1/Europe/Berlin");
        assert!(matches!(berlin, Zone::Known(_)));
        for text in [
            "20260101T120000",
            "20260701T120000",
            "20260329T030000",
            "20261025T040000",
            "19600101T000000",
        ] {
            let wall = Moment::read(text, None, &zones).unwrap().wall();
            let [one, two] = [&own, &berlin].map(|zone| zone.here(wall, &TimeZone::UTC).unwrap());
            assert_eq!(one, two, "{text}");
            assert_eq!(own.wall(&one), wall);
        }
        let comma = FILE.replace("Somewhere: else", "(UTC+01:00) Berlin\\, Bern");
        let file = scan(comma.as_bytes());
        let comma = Zones::of(&file, &machine).find("(UTC+01:00) Berlin, Bern");
        assert_eq!(comma, own);
        assert!(zones.unknown().is_empty());
        assert_eq!(zones.find("Nowhere/None"), Zone::Floating);
        assert_eq!(zones.unknown(), ["Nowhere/None"]);
    }
}
