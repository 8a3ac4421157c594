//! Dates, times and durations of calendar files.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

use super::line::Property;
use super::zone::{Zone, ZoneSource};

/// A point in time as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    Day(Date),
    /// A wall time in a zone.
    At(DateTime, Zone),
}

impl Moment {
    /// The values of a property (EXDATE holds several); invalid ones are skipped.
    pub fn list(property: &Property, zones: &dyn ZoneSource) -> Vec<Self> {
        let zone = property.param("TZID");
        property
            .value
            .split(',')
            .filter_map(|text| Self::read(text, zone, zones))
            .collect()
    }

    /// `20261203`, `20261203T180000`, `20261203T170000Z`, with a TZID.
    pub fn read(text: &str, zone: Option<&str>, zones: &dyn ZoneSource) -> Option<Self> {
        let text = text.trim();
        let (date, time) = match text.split_once(['T', 't']) {
            None => return day(text).map(Self::Day),
            Some((date, time)) => (day(date)?, time),
        };
        let (time, utc) = match time.strip_suffix(['Z', 'z']) {
            Some(time) => (time, true),
            None => (time, false),
        };
        let time = clock(time)?;
        let zone = match zone {
            _ if utc => Zone::Known(TimeZone::UTC),
            None => Zone::Floating,
            Some(id) => zones.find(id),
        };
        Some(Self::At(date.to_datetime(time), zone))
    }

    /// The moment in the user's zone; a whole day begins at its midnight there.
    pub fn here(&self, view: &TimeZone) -> Option<Zoned> {
        match self {
            Self::Day(date) => date.to_zoned(view.clone()).ok(),
            Self::At(time, zone) => zone.here(*time, view),
        }
    }

    /// The wall time that recurrence counts in.
    pub fn wall(&self) -> DateTime {
        match self {
            Self::Day(date) => date.to_datetime(Time::midnight()),
            Self::At(time, _) => *time,
        }
    }

    /// The same kind of moment at another wall time.
    #[must_use]
    pub fn moved(&self, wall: DateTime) -> Self {
        match self {
            Self::Day(_) => Self::Day(wall.date()),
            Self::At(_, zone) => Self::At(wall, zone.clone()),
        }
    }
}

/// YYYYMMDD of a date that exists.
pub(crate) fn day(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let small = |from, to| part(from, to).and_then(|number| i8::try_from(number).ok());
    Date::new(part(0, 4)?, small(4, 6)?, small(6, 8)?).ok()
}

fn clock(text: &str) -> Option<Time> {
    if !matches!(text.len(), 4 | 6) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| text.get(from..from + 2)?.parse::<i8>().ok();
    // A leap second is shown as the second before it.
    let second = if text.len() == 6 { part(4)?.min(59) } else { 0 };
    Time::new(part(0)?, part(2)?, second, 0).ok()
}

/// The length of an event: calendar days, then exact seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Length {
    /// Days on the calendar.
    pub days: i64,
    /// Exact seconds.
    pub seconds: i64,
}

impl Length {
    /// True up to 24 hours.
    pub fn is_within_a_day(self) -> bool {
        match self.days {
            0 => (0..=86_400).contains(&self.seconds),
            1 => self.seconds == 0,
            _ => false,
        }
    }

    /// `PT1H30M`, `P1D`, `P2W`; `None` for negative durations and anything else.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.trim();
        let rest = rest.strip_prefix('+').unwrap_or(rest);
        let rest = rest.strip_prefix(['P', 'p'])?;
        let mut out = Self::default();
        let mut number: Option<i64> = None;
        for c in rest.chars() {
            if let Some(digit) = c.to_digit(10) {
                let longer = number.unwrap_or(0) * 10 + i64::from(digit);
                number = Some(Some(longer).filter(|count| *count < 1_000_000_000)?);
                continue;
            }
            let c = c.to_ascii_uppercase();
            if c == 'T' {
                continue;
            }
            let count = number.take()?;
            match c {
                'W' => out.days += count * 7,
                'D' => out.days += count,
                'H' => out.seconds += count * 3_600,
                'M' => out.seconds += count * 60,
                'S' => out.seconds += count,
                _ => return None,
            }
        }
        number.is_none().then_some(out)
    }

    /// The length from `start` to `end`; zero when `end` is not later.
    pub fn between(start: &Moment, end: &Moment, view: &TimeZone) -> Option<Self> {
        if let (Moment::Day(start), Moment::Day(end)) = (start, end) {
            let days = start.until(*end).ok()?.get_days();
            return Some(Self {
                days: i64::from(days.max(0)),
                seconds: 0,
            });
        }
        let seconds =
            end.here(view)?.timestamp().as_second() - start.here(view)?.timestamp().as_second();
        Some(Self {
            days: 0,
            seconds: seconds.max(0),
        })
    }

    /// The end of something that begins at `start`.
    pub fn after(self, start: &Zoned) -> Option<Zoned> {
        let days = Span::new().try_days(self.days).ok()?;
        let seconds = Span::new().try_seconds(self.seconds).ok()?;
        start.checked_add(days).ok()?.checked_add(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ical::zone::NoZones;

    #[test]
    fn only_valid_times_are_parsed() {
        let zones = NoZones;
        let read = |text| Moment::read(text, None, &zones);
        assert!(read("20260229").is_none() && read("20261301").is_none());
        assert!(read("20260101T250000").is_none() && read("2026-01-01").is_none());
        assert!(read("２０２６0101").is_none() && read("").is_none());
        assert!(matches!(read("20240229"), Some(Moment::Day(_))));
        assert!(matches!(
            read("20261231T235960Z"),
            Some(Moment::At(_, Zone::Known(_)))
        ));
    }

    #[test]
    fn durations_are_parsed_or_refused() {
        let length = |days, seconds| Some(Length { days, seconds });
        assert_eq!(Length::read("PT1H30M"), length(0, 5_400));
        assert_eq!(Length::read("P1DT1S"), length(1, 1));
        assert_eq!(Length::read("P2W"), length(14, 0));
        assert!(Length::read("-PT1H").is_none() && Length::read("P1").is_none());
        assert!(Length::read("P99999999999999999999D").is_none());
    }
}
