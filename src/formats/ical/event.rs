//! Parses one event from its lines.

use jiff::tz::TimeZone;

use super::line::{ContentLines, Property, unfold};
use super::moment::{Length, Moment};
use super::rule::RecurrenceRule;
use super::scan::{CalendarScan, EventSpan};
use super::text::unescape;
use super::zones::Zones;

/// How the end of an event is given.
#[derive(Debug, Clone, PartialEq)]
pub enum EventEnd {
    /// DTEND.
    At(Moment),
    /// DURATION.
    After(Length),
}

impl EventEnd {
    pub fn length(&self, start: &Moment, view: &TimeZone) -> Option<Length> {
        match self {
            Self::After(length) => Some(*length),
            Self::At(end) => Length::between(start, end, view),
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct CalendarEvent {
    /// UID; empty when missing.
    pub uid: String,
    /// SUMMARY.
    pub title: String,
    /// LOCATION.
    pub place: String,
    /// DTSTART.
    pub start: Moment,
    /// DTEND or DURATION.
    pub end: Option<EventEnd>,
    /// RRULE.
    pub rules: Vec<RecurrenceRule>,
    /// RDATE, with the ends of its periods.
    pub more: Vec<(Moment, Option<EventEnd>)>,
    /// EXDATE.
    pub except: Vec<Moment>,
    /// RECURRENCE-ID.
    pub replaces: Option<Moment>,
    /// RANGE=THISANDFUTURE: it applies from that occurrence on.
    pub this_and_future: bool,
    /// STATUS:CANCELLED.
    pub cancelled: bool,
    /// Why a rule could not be parsed.
    pub fault: Option<String>,
}

impl CalendarEvent {
    /// Reads the event at `place`; `None` without a valid start.
    pub fn read(file: &CalendarScan<'_>, place: &EventSpan, zones: &Zones<'_>) -> Option<Self> {
        let mut event = Self {
            uid: String::new(),
            title: String::new(),
            place: String::new(),
            start: Moment::Day(jiff::civil::Date::ZERO),
            end: None,
            rules: Vec::new(),
            more: Vec::new(),
            except: Vec::new(),
            replaces: None,
            this_and_future: false,
            cancelled: false,
            fault: None,
        };
        let mut started = false;
        let mut depth = 0;
        for line in ContentLines::new(file.bytes, place.range.clone()) {
            let Some(property) = Property::read(&unfold(file.bytes, &line)) else {
                continue;
            };
            match property.name.as_str() {
                "BEGIN" => depth += 1,
                "END" => depth -= 1,
                _ if depth != 1 => {}
                "DTSTART" if !started => {
                    event.start = Moment::list(&property, zones).into_iter().next()?;
                    started = true;
                }
                _ => event.take(&property, zones),
            }
        }
        started.then_some(event)
    }

    fn take(&mut self, property: &Property, zones: &Zones<'_>) {
        let text = || unescape(&property.value);
        let first = || Moment::list(property, zones).into_iter().next();
        match property.name.as_str() {
            "UID" if self.uid.is_empty() => property.value.trim().clone_into(&mut self.uid),
            "SUMMARY" if self.title.is_empty() => self.title = text(),
            "LOCATION" if self.place.is_empty() => self.place = text(),
            "DTEND" if self.end.is_none() => self.end = first().map(EventEnd::At),
            "DURATION" if self.end.is_none() => {
                self.end = Length::read(&property.value).map(EventEnd::After);
            }
            "RRULE" => match RecurrenceRule::read(&property.value) {
                Ok(rule) => self.rules.push(rule),
                Err(error) => self.fault = Some(error),
            },
            "RDATE" => self.more.extend(periods(property, zones)),
            "EXDATE" => self.except.extend(Moment::list(property, zones)),
            "RECURRENCE-ID" => {
                self.replaces = first();
                let range = property.param("RANGE").unwrap_or_default();
                self.this_and_future = range.eq_ignore_ascii_case("THISANDFUTURE");
            }
            "STATUS" => {
                self.cancelled = property.value.trim().eq_ignore_ascii_case("CANCELLED");
            }
            _ => {}
        }
    }
}

/// The values of RDATE: moments, or periods `start/end` and `start/duration`.
fn periods(property: &Property, zones: &Zones<'_>) -> Vec<(Moment, Option<EventEnd>)> {
    let zone = property.param("TZID");
    let values = property.value.split(',').filter_map(|text| {
        let (start, end) = text.split_once('/').unwrap_or((text, ""));
        let end = Length::read(end)
            .map(EventEnd::After)
            .or_else(|| Moment::read(end, zone, zones).map(EventEnd::At));
        Some((Moment::read(start, zone, zones)?, end))
    });
    values.collect()
}
