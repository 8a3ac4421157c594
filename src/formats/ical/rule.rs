//! Recurrence rules (RFC 5545 3.3.10) read into numbers.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;

use super::moment::Moment;
use super::zone::{NoZones, Zone};
use crate::base::shared_sort::SharedSort as _;

/// The frequency (FREQ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freq {
    Yearly,
    Monthly,
    Weekly,
    Daily,
    Hourly,
    Minutely,
    Secondly,
}

/// A recurrence rule. Empty lists do not limit.
#[derive(Debug, Clone, PartialEq)]
pub struct RecurrenceRule {
    /// FREQ.
    pub freq: Freq,
    /// INTERVAL, at least 1.
    pub interval: i64,
    /// COUNT.
    pub count: Option<u64>,
    /// UNTIL, inclusive.
    pub until: Option<Moment>,
    /// BYMONTH.
    pub months: Vec<i32>,
    /// BYWEEKNO.
    pub weeks: Vec<i32>,
    /// BYYEARDAY.
    pub year_days: Vec<i32>,
    /// BYMONTHDAY.
    pub month_days: Vec<i32>,
    /// BYDAY; the ordinal is 0 when absent.
    pub weekdays: Vec<(i32, Weekday)>,
    /// BYHOUR.
    pub hours: Vec<i32>,
    /// BYMINUTE.
    pub minutes: Vec<i32>,
    /// BYSECOND.
    pub seconds: Vec<i32>,
    /// BYSETPOS.
    pub positions: Vec<i32>,
    /// WKST.
    pub week_start: Weekday,
}

impl RecurrenceRule {
    /// Parses the value of an RRULE.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut rule = Self {
            freq: Freq::Secondly,
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            weeks: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
            week_start: Weekday::Monday,
        };
        let mut freq = None;
        for part in text
            .trim()
            .to_ascii_uppercase()
            .split(';')
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let invalid = || format!("{name}={value}");
            let within = |low: i32, max: i32| numbers(value, low, max).ok_or_else(invalid);
            match name.trim() {
                "FREQ" => freq = Some(frequency(value).ok_or_else(invalid)?),
                "INTERVAL" => {
                    let number: i64 = value.parse().map_err(|_| invalid())?;
                    rule.interval = Some(number)
                        .filter(|n| (1..=1_000_000).contains(n))
                        .ok_or_else(invalid)?;
                }
                "COUNT" => {
                    // Some programs write -1 for "without end".
                    let number: i64 = value.parse().map_err(|_| invalid())?;
                    rule.count = u64::try_from(number).ok();
                }
                "UNTIL" => {
                    rule.until = Some(Moment::read(value, None, &NoZones).ok_or_else(invalid)?);
                }
                "BYMONTH" => rule.months = within(1, 12)?,
                "BYWEEKNO" => rule.weeks = within(-53, 53)?,
                "BYYEARDAY" => rule.year_days = within(-366, 366)?,
                "BYMONTHDAY" => rule.month_days = within(-31, 31)?,
                "BYHOUR" => rule.hours = within(0, 23)?,
                "BYMINUTE" => rule.minutes = within(0, 59)?,
                "BYSECOND" => rule.seconds = within(0, 60)?.iter().map(|n| (*n).min(59)).collect(),
                "BYSETPOS" => rule.positions = within(-366, 366)?,
                "WKST" => rule.week_start = weekday(value).ok_or_else(invalid)?,
                "BYDAY" => {
                    for day in value.split(',') {
                        let day = day.trim();
                        let letters = day.len().saturating_sub(2);
                        let (number, name) = day.split_at_checked(letters).ok_or_else(invalid)?;
                        let number = if number.is_empty() {
                            Some(0)
                        } else {
                            number.parse().ok()
                        };
                        let number = number.filter(|n: &i32| (-53..=53).contains(n));
                        rule.weekdays.push((
                            number.ok_or_else(invalid)?,
                            weekday(name).ok_or_else(invalid)?,
                        ));
                    }
                }
                // Unknown parts are ignored: they change nothing that is shown.
                _ => {}
            }
        }
        rule.weekdays
            .shared_sort_by_key(|(nth, day)| (*nth, day.to_monday_zero_offset()));
        rule.weekdays.dedup();
        rule.freq = freq.ok_or("no FREQ")?;
        Ok(rule)
    }

    /// UNTIL as the wall time of an event that begins at `start`, inclusive; `None` without one.
    pub fn last_wall(&self, start: &Moment, view: &TimeZone) -> Option<DateTime> {
        Some(match (self.until.as_ref()?, start) {
            (Moment::Day(day), _) => day.at(23, 59, 59, 0),
            (until @ Moment::At(wall, zone), Moment::At(_, own)) => {
                let utc = matches!(zone, Zone::Known(_));
                let here = until.here(view).filter(|_| utc);
                here.map_or(*wall, |here| own.wall(&here))
            }
            (Moment::At(wall, _), Moment::Day(_)) => *wall,
        })
    }
}

fn frequency(word: &str) -> Option<Freq> {
    Some(match word {
        "YEARLY" => Freq::Yearly,
        "MONTHLY" => Freq::Monthly,
        "WEEKLY" => Freq::Weekly,
        "DAILY" => Freq::Daily,
        "HOURLY" => Freq::Hourly,
        "MINUTELY" => Freq::Minutely,
        "SECONDLY" => Freq::Secondly,
        _ => return None,
    })
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

/// A list of numbers, sorted and without duplicates; 0 is accepted only where it is the smallest allowed.
fn numbers(text: &str, low: i32, max: i32) -> Option<Vec<i32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let number: i32 = part.trim().parse().ok()?;
        if !(low..=max).contains(&number) || (number == 0 && low < 0) {
            return None;
        }
        numbers.push(number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_rules_are_refused() {
        for text in [
            "",
            "FREQ=NEVER",
            "FREQ=DAILY;INTERVAL=0",
            "FREQ=DAILY;INTERVAL=-1",
            "FREQ=YEARLY;BYMONTH=13",
            "FREQ=MONTHLY;BYMONTHDAY=0",
            "FREQ=WEEKLY;BYDAY=XX",
            "FREQ=WEEKLY;BYDAY=ü",
            "FREQ=DAILY;UNTIL=20260230",
        ] {
            assert!(RecurrenceRule::read(text).is_err(), "{text}");
        }
        let rule =
            RecurrenceRule::read("freq=monthly;byday=-1su,2mo,FR,2MO;WKST=SU;X-NEW=1;").unwrap();
        assert_eq!(
            rule.weekdays,
            [
                (-1, Weekday::Sunday),
                (0, Weekday::Friday),
                (2, Weekday::Monday)
            ]
        );
    }
}
