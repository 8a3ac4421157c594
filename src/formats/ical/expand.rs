//! Expands a recurrence rule into occurrences, in the wall time of the event.
//!
//! Each period (a year, a month, …) gives the dates that pass every BY part, then the times of day; BYSETPOS picks among them. Without COUNT the walk begins at
//! the first period that matters, so an old birthday costs as little as a new one.

use jiff::Span;
use jiff::civil::{Date, DateTime, Time, Weekday};

use super::rule::{Freq, RecurrenceRule};

/// Limits the work for recurrences: a rule that repeats every second since 1970 must not hang a listing.
pub struct ExpansionBudget {
    left: u64,
    /// True when it ran out; later occurrences are missing.
    pub exhausted: bool,
}

impl ExpansionBudget {
    /// A budget of this many steps.
    pub fn new(steps: u64) -> Self {
        Self {
            left: steps,
            exhausted: false,
        }
    }

    /// Spends this many steps; false when too few are left.
    fn take(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.exhausted |= self.left == 0;
        self.left > 0
    }
}

/// Steps charged for an occurrence: it is sorted, moved to the user's zone and stored, whereas other steps only count.
const OCCURRENCE_STEPS: u64 = 16;

/// Calls `each` with every occurrence from `from` to `until`, both included, in order. Occurrences before `start` are skipped; `start` itself is
/// one only if the rule gives it.
pub fn occurrences(
    rule: &RecurrenceRule,
    start: DateTime,
    from: DateTime,
    until: DateTime,
    budget: &mut ExpansionBudget,
    each: &mut dyn FnMut(DateTime),
) {
    let rule = with_defaults(rule, start);
    let mut left = rule.count.unwrap_or(u64::MAX);
    let mut period = if rule.count.is_some() {
        0
    } else {
        first_period(&rule, start, from)
    };
    while left > 0 && budget.take(1) {
        let Some(begin) = period_start(&rule, start, period) else {
            return;
        };
        if begin > until {
            return;
        }
        let mut all = times(&rule, begin, start, budget);
        if !rule.positions.is_empty() {
            all = by_set_pos(&rule.positions, &all);
        }
        for at in all.into_iter().filter(|at| *at >= start) {
            if at > until {
                return;
            }
            if at >= from {
                if !budget.take(OCCURRENCE_STEPS) {
                    return;
                }
                each(at);
            }
            left -= 1;
            if left == 0 {
                return;
            }
        }
        period += 1;
    }
}

/// The rule with the defaults that RFC 5545 derives from DTSTART.
fn with_defaults(rule: &RecurrenceRule, start: DateTime) -> RecurrenceRule {
    let mut rule = rule.clone();
    let free = rule.weeks.is_empty()
        && rule.year_days.is_empty()
        && rule.month_days.is_empty()
        && rule.weekdays.is_empty();
    if free {
        match rule.freq {
            Freq::Yearly => {
                if rule.months.is_empty() {
                    rule.months.push(start.month().into());
                }
                rule.month_days.push(start.day().into());
            }
            Freq::Monthly => rule.month_days.push(start.day().into()),
            Freq::Weekly => rule.weekdays.push((0, start.weekday())),
            Freq::Daily | Freq::Hourly | Freq::Minutely | Freq::Secondly => {}
        }
    }
    let or_default = |list: &mut Vec<i32>, below: Freq, value: i8| {
        if list.is_empty() && rule.freq < below {
            list.push(value.into());
        }
    };
    let (mut hours, mut minutes, mut seconds) = (
        rule.hours.clone(),
        rule.minutes.clone(),
        rule.seconds.clone(),
    );
    or_default(&mut hours, Freq::Hourly, start.hour());
    or_default(&mut minutes, Freq::Minutely, start.minute());
    or_default(&mut seconds, Freq::Secondly, start.second());
    RecurrenceRule {
        hours,
        minutes,
        seconds,
        ..rule
    }
}

fn seconds_of(freq: Freq) -> i64 {
    match freq {
        Freq::Hourly => 3_600,
        Freq::Minutely => 60,
        _ => 1,
    }
}

/// Monday is 0 when weeks begin on Monday.
fn weekday_from(day: Weekday, week_start: Weekday) -> i64 {
    i64::from(week_start.until(day))
}

/// Where the period with this number begins; `None` beyond the end of the calendar.
fn period_start(rule: &RecurrenceRule, start: DateTime, period: i64) -> Option<DateTime> {
    let steps = period.checked_mul(rule.interval)?;
    let midnight = |date: Date| date.to_datetime(Time::midnight());
    match rule.freq {
        Freq::Yearly => {
            let year = i64::from(start.year()).checked_add(steps)?;
            Date::new(i16::try_from(year).ok()?, 1, 1)
                .ok()
                .map(midnight)
        }
        Freq::Monthly => {
            let months =
                (i64::from(start.year()) * 12 + i64::from(start.month()) - 1).checked_add(steps)?;
            let month = i8::try_from(months.rem_euclid(12) + 1).ok()?;
            let year = i16::try_from(months.div_euclid(12)).ok()?;
            Date::new(year, month, 1).ok().map(midnight)
        }
        Freq::Weekly => {
            let back = weekday_from(start.weekday(), rule.week_start);
            let days = steps.checked_mul(7)?.checked_sub(back)?;
            plus_days(start.date(), days).map(midnight)
        }
        Freq::Daily => plus_days(start.date(), steps).map(midnight),
        Freq::Hourly | Freq::Minutely | Freq::Secondly => {
            let seconds = steps.checked_mul(seconds_of(rule.freq))?;
            start
                .checked_add(Span::new().try_seconds(seconds).ok()?)
                .ok()
        }
    }
}

fn plus_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(Span::new().try_days(days).ok()?).ok()
}

/// A period that begins well before `from`, or the first one.
fn first_period(rule: &RecurrenceRule, start: DateTime, from: DateTime) -> i64 {
    if from <= start {
        return 0;
    }
    let days = start
        .date()
        .until(from.date())
        .map_or(0, |span| i64::from(span.get_days()));
    let passed = match rule.freq {
        Freq::Yearly => i64::from(from.year()) - i64::from(start.year()),
        Freq::Monthly => {
            (i64::from(from.year()) - i64::from(start.year())) * 12 + i64::from(from.month())
                - i64::from(start.month())
        }
        Freq::Weekly => days / 7,
        Freq::Daily => days,
        Freq::Hourly | Freq::Minutely | Freq::Secondly => {
            (days - 1).max(0) * 86_400 / seconds_of(rule.freq)
        }
    };
    (passed / rule.interval - 1).max(0)
}

/// Every occurrence of one period, in order.
fn times(
    rule: &RecurrenceRule,
    begin: DateTime,
    start: DateTime,
    budget: &mut ExpansionBudget,
) -> Vec<DateTime> {
    let mut out = Vec::new();
    let one = |value: i8| vec![i32::from(value)];
    let allows = |list: &[i32], value: i8| list.is_empty() || list.contains(&i32::from(value));
    let (dates, hours, minutes, seconds) = match rule.freq {
        Freq::Yearly | Freq::Monthly | Freq::Weekly | Freq::Daily => (
            dates(rule, begin.date(), budget),
            rule.hours.clone(),
            rule.minutes.clone(),
            rule.seconds.clone(),
        ),
        freq => {
            let hour = allows(&rule.hours, begin.hour());
            let minute = freq == Freq::Hourly || allows(&rule.minutes, begin.minute());
            let second = freq != Freq::Secondly || allows(&rule.seconds, begin.second());
            if !(hour && minute && second && passes(rule, begin.date())) {
                return out;
            }
            let minutes = if freq == Freq::Hourly {
                rule.minutes.clone()
            } else {
                one(begin.minute())
            };
            let seconds = if freq == Freq::Secondly {
                one(begin.second())
            } else {
                rule.seconds.clone()
            };
            (vec![begin.date()], one(begin.hour()), minutes, seconds)
        }
    };
    let (minutes, seconds) = (or(minutes, start.minute()), or(seconds, start.second()));
    // A year of seconds must not be built only to be discarded.
    let count = dates.len() * hours.len() * minutes.len() * seconds.len();
    if !budget.take(count as u64) {
        return out;
    }
    for date in dates {
        for hour in &hours {
            for minute in &minutes {
                for second in &seconds {
                    if let Some(time) = time(*hour, *minute, *second) {
                        out.push(date.to_datetime(time));
                    }
                }
            }
        }
    }
    out
}

fn or(list: Vec<i32>, value: i8) -> Vec<i32> {
    if list.is_empty() {
        vec![value.into()]
    } else {
        list
    }
}

fn time(hour: i32, minute: i32, second: i32) -> Option<Time> {
    let small = |number: i32| i8::try_from(number).ok();
    Time::new(small(hour)?, small(minute)?, small(second)?, 0).ok()
}

/// The dates of a period of a day or more.
fn dates(rule: &RecurrenceRule, begin: Date, budget: &mut ExpansionBudget) -> Vec<Date> {
    let count = match rule.freq {
        Freq::Daily => 1,
        Freq::Weekly => 7,
        Freq::Monthly => return month(rule, begin, budget),
        _ if rule.weeks.is_empty() && rule.year_days.is_empty() => {
            let months = (1..=12i8)
                .filter(|m| rule.months.is_empty() || rule.months.contains(&i32::from(*m)));
            return months
                .filter_map(|month| Date::new(begin.year(), month, 1).ok())
                .flat_map(|first| month(rule, first, budget))
                .collect();
        }
        _ => i64::from(begin.days_in_year()),
    };
    budget.take(count.unsigned_abs());
    let days = (0..count).filter_map(|day| plus_days(begin, day));
    days.filter(|date| passes(rule, *date)).collect()
}

/// The dates of the month that begins at `first`: those BYMONTHDAY names, or all.
fn month(rule: &RecurrenceRule, first: Date, budget: &mut ExpansionBudget) -> Vec<Date> {
    let length = first.days_in_month();
    let mut days: Vec<i8> = if rule.month_days.is_empty() {
        (1..=length).collect()
    } else {
        let named = rule.month_days.iter().map(|day| {
            if *day < 0 {
                i32::from(length) + day + 1
            } else {
                *day
            }
        });
        named
            .filter_map(|day| i8::try_from(day).ok())
            .filter(|day| (1..=length).contains(day))
            .collect()
    };
    days.sort_unstable();
    days.dedup();
    budget.take(days.len() as u64);
    let dates = days
        .into_iter()
        .filter_map(|day| Date::new(first.year(), first.month(), day).ok());
    dates.filter(|date| passes(rule, *date)).collect()
}

/// Whether a date passes every BY part.
fn passes(rule: &RecurrenceRule, date: Date) -> bool {
    let named = |list: &[i32], value: i32, length: i32| {
        list.is_empty() || list.contains(&value) || list.contains(&(value - length - 1))
    };
    (rule.months.is_empty() || rule.months.contains(&i32::from(date.month())))
        && named(
            &rule.month_days,
            date.day().into(),
            date.days_in_month().into(),
        )
        && named(
            &rule.year_days,
            date.day_of_year().into(),
            date.days_in_year().into(),
        )
        && (rule.weekdays.is_empty() || rule.weekdays.iter().any(|day| falls_on(rule, date, *day)))
        && (rule.weeks.is_empty() || {
            let (week, weeks) = week_of(date, rule.week_start);
            named(&rule.weeks, week, weeks)
        })
}

/// Whether a date is a weekday of BYDAY; an ordinal counts in its month or year.
fn falls_on(rule: &RecurrenceRule, date: Date, (nth, weekday): (i32, Weekday)) -> bool {
    if date.weekday() != weekday {
        return false;
    }
    let (day, length) = match rule.freq {
        _ if nth == 0 => return true,
        Freq::Yearly if rule.months.is_empty() => {
            (date.day_of_year().into(), date.days_in_year().into())
        }
        Freq::Yearly | Freq::Monthly => (i32::from(date.day()), i32::from(date.days_in_month())),
        Freq::Weekly | Freq::Daily | Freq::Hourly | Freq::Minutely | Freq::Secondly => return true,
    };
    nth == (day - 1) / 7 + 1 || nth == -((length - day) / 7 + 1)
}

/// The number of a date's week and how many weeks that year has: week 1 is the first with four days in the year.
fn week_of(date: Date, week_start: Weekday) -> (i32, i32) {
    let first = |year: i16| {
        let new_year = Date::new(year, 1, 1).ok()?;
        let back = weekday_from(new_year.weekday(), week_start);
        plus_days(new_year, if back <= 3 { -back } else { 7 - back })
    };
    let days = |from: Date, to: Date| from.until(to).map_or(0, |span| span.get_days());
    let year = date.year();
    let around = [year.saturating_sub(1), year, year.saturating_add(1)].map(first);
    let [Some(before), Some(this), next] = around else {
        return (0, 0);
    };
    let next = next.unwrap_or(Date::MAX);
    let (from, to) = if date < this {
        (before, this)
    } else if date < next {
        (this, next)
    } else {
        return (1, 53);
    };
    (days(from, date) / 7 + 1, days(from, to) / 7)
}

/// The members of a period's set at these positions, in order.
fn by_set_pos(positions: &[i32], all: &[DateTime]) -> Vec<DateTime> {
    let length = i32::try_from(all.len()).unwrap_or(i32::MAX);
    let mut out: Vec<DateTime> = positions
        .iter()
        .map(|position| {
            if *position < 0 {
                length + position
            } else {
                position - 1
            }
        })
        .filter_map(|at| all.get(usize::try_from(at).ok()?).copied())
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;

    fn first(rule: &str, start: &str, count: usize) -> Vec<String> {
        let rule = RecurrenceRule::read(rule).unwrap();
        let start: DateTime = start.parse().unwrap();
        let mut out = Vec::new();
        let mut budget = ExpansionBudget::new(1_000_000);
        let until = DateTime::constant(2050, 1, 1, 0, 0, 0, 0);
        occurrences(&rule, start, start, until, &mut budget, &mut |at| {
            out.push(at.to_string());
        });
        out.truncate(count);
        out.into_iter()
            .map(|text| text.replace(":00:00", ""))
            .collect()
    }

    #[test]
    fn everyday_rules_expand_correctly() {
        for (rule, start, want) in [
            (
                "FREQ=WEEKLY;BYDAY=MO;COUNT=3",
                "2026-11-02T09:00:00",
                "2026-11-02T09 2026-11-09T09 2026-11-16T09",
            ),
            (
                "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,SU",
                "1997-08-05T09:00:00",
                "1997-08-05T09 1997-08-17T09 1997-08-19T09",
            ),
            (
                "FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=TU,SU",
                "1997-08-05T09:00:00",
                "1997-08-05T09 1997-08-10T09 1997-08-19T09",
            ),
            (
                "FREQ=MONTHLY;BYDAY=-1FR",
                "2026-01-30T18:00:00",
                "2026-01-30T18 2026-02-27T18 2026-03-27T18",
            ),
            (
                "FREQ=MONTHLY;BYMONTHDAY=31",
                "2026-01-31T08:00:00",
                "2026-01-31T08 2026-03-31T08 2026-05-31T08",
            ),
            (
                "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
                "2026-01-30T08:00:00",
                "2026-01-30T08 2026-02-27T08 2026-03-31T08",
            ),
            (
                "FREQ=YEARLY",
                "2024-02-29T08:00:00",
                "2024-02-29T08 2028-02-29T08 2032-02-29T08",
            ),
            (
                "FREQ=YEARLY;BYMONTH=11;BYDAY=TH;BYMONTHDAY=22,23,24,25,26,27,28",
                "2026-01-01T10:00:00",
                "2026-11-26T10 2027-11-25T10 2028-11-23T10",
            ),
            (
                "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
                "1997-05-12T09:00:00",
                "1997-05-12T09 1998-05-11T09 1999-05-17T09",
            ),
            (
                "FREQ=YEARLY;BYYEARDAY=-1",
                "2026-12-31T09:00:00",
                "2026-12-31T09 2027-12-31T09 2028-12-31T09",
            ),
            (
                "FREQ=DAILY;INTERVAL=10",
                "2026-12-25T09:00:00",
                "2026-12-25T09 2027-01-04T09 2027-01-14T09",
            ),
            (
                "FREQ=HOURLY;INTERVAL=6;COUNT=3",
                "2026-12-31T18:00:00",
                "2026-12-31T18 2027-01-01T00 2027-01-01T06",
            ),
            (
                "FREQ=DAILY;BYHOUR=9,11;COUNT=3",
                "2026-12-31T11:00:00",
                "2026-12-31T11 2027-01-01T09 2027-01-01T11",
            ),
        ] {
            let want: Vec<&str> = want.split(' ').collect();
            assert_eq!(first(rule, start, 3), want, "{rule}");
        }
    }

    #[test]
    fn a_late_window_is_cheap_and_equals_a_walk_from_the_start() {
        for rule in [
            "FREQ=YEARLY",
            "FREQ=MONTHLY;BYDAY=2TU",
            "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,FR",
            "FREQ=DAILY;INTERVAL=7",
            "FREQ=HOURLY;INTERVAL=5",
            "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1",
        ] {
            let start: DateTime = "2001-03-14T07:30:00".parse().unwrap();
            let from: DateTime = "2026-11-01T00:00:00".parse().unwrap();
            let until = from.checked_add(400.days()).unwrap();
            let rule = RecurrenceRule::read(rule).unwrap();
            let run = |from, steps| {
                let mut out = Vec::new();
                let mut budget = ExpansionBudget::new(steps);
                occurrences(&rule, start, from, until, &mut budget, &mut |at| {
                    out.push(at);
                });
                assert!(!budget.exhausted);
                out
            };
            let whole: Vec<DateTime> = run(start, 10_000_000)
                .into_iter()
                .filter(|at| *at >= from)
                .collect();
            assert!(!whole.is_empty());
            assert_eq!(run(from, 60_000), whole);
        }
    }

    #[test]
    fn a_year_of_seconds_is_not_built() {
        let all = |max: u8| {
            (0..max)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        let (hours, all) = (all(24), all(60));
        let rule = format!(
            "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={hours};BYMINUTE={all};BYSECOND={all}"
        );
        let rule = RecurrenceRule::read(&rule).unwrap();
        let start: DateTime = "2026-01-01T00:00:00".parse().unwrap();
        let mut budget = ExpansionBudget::new(3_000_000);
        let mut count = 0;
        let begun = crate::base::cpu_time::CpuTime::now();
        occurrences(&rule, start, start, DateTime::MAX, &mut budget, &mut |_| {
            count += 1;
        });
        assert!(budget.exhausted && count == 0);
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
    }

    #[test]
    fn endless_work_stops_at_the_budget() {
        let mut budget = ExpansionBudget::new(1_000);
        let rule =
            RecurrenceRule::read("FREQ=SECONDLY;COUNT=1000000;BYMONTH=2;BYMONTHDAY=30").unwrap();
        let start: DateTime = "1970-01-01T00:00:00".parse().unwrap();
        occurrences(&rule, start, start, DateTime::MAX, &mut budget, &mut |_| {});
        assert!(budget.exhausted);
        let mut budget = ExpansionBudget::new(1_000_000);
        let rule = RecurrenceRule::read("FREQ=YEARLY;INTERVAL=100").unwrap();
        let mut count = 0;
        occurrences(&rule, start, start, DateTime::MAX, &mut budget, &mut |_| {
            count += 1;
        });
        assert_eq!((count, budget.exhausted), (81, false));
    }
}
