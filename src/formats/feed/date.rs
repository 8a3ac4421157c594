//! Dates of feeds: RFC 822 with all its zones and two-digit years, RFC 3339 and near misses of it.

use jiff::civil::{Date, Time};

use crate::base::text::{clip, single_spaced};

/// Maximum length in characters of a date that is shown as written.
const MAX_DATE_CHARS: usize = 60;

const MONTHS: &str =
    "january february march april may june july august september october november december";
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Offsets from UTC in hours: the zones that RFC 822 names, and European ones.
const ZONES: [(&str, i32); 16] = [
    ("UT", 0),
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("WET", 0),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("CET", 1),
    ("CEST", 2),
    ("EEST", 3),
];

/// A time of day, and its offset from UTC in minutes if given.
type TimeOfDay = (Time, Option<i32>);

/// `2026-05-01 12:30 UTC`, `2026-05-01 12:30 +02:00`, `2026-05-01`; an unknown form is shown as written, on one line.
pub(super) fn shown(text: &str) -> String {
    let line = single_spaced(text);
    let Some((date, clock)) = iso(&line).or_else(|| mail(&line)) else {
        return clip(&line, MAX_DATE_CHARS);
    };
    let Some((time, zone)) = clock else {
        return date.to_string();
    };
    let zone = match zone {
        None => String::new(),
        Some(0) => " UTC".to_owned(),
        Some(minutes) => {
            let sign = if minutes < 0 { '-' } else { '+' };
            let size = minutes.abs();
            format!(" {sign}{:02}:{:02}", size / 60, size % 60)
        }
    };
    format!("{date} {:02}:{:02}{zone}", time.hour(), time.minute())
}

/// `2026-05-01T12:30:00Z` and its shorter forms.
fn iso(line: &str) -> Option<(Date, Option<TimeOfDay>)> {
    let (day, rest) = match line.find(['T', 't', ' ']) {
        Some(at) => (line.get(..at)?, line.get(at + 1..)?.trim()),
        None => (line, ""),
    };
    let mut parts = day.split('-');
    let year = number(parts.next()?, 4, 4)?;
    let month = number(parts.next()?, 1, 2)?;
    let date = number(parts.next()?, 1, 2)?;
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(date).ok()?).ok()?;
    if parts.next().is_some() {
        return None;
    }
    let clock = if rest.is_empty() {
        None
    } else {
        Some(clock(rest)?)
    };
    Some((date, clock))
}

/// `Fri, 01 May 2026 12:30:00 +0200`, its parts in any order.
fn mail(line: &str) -> Option<(Date, Option<TimeOfDay>)> {
    let (mut day, mut month, mut year) = (None, None, None);
    let mut time: Option<TimeOfDay> = None;
    // 01-May-2026
    let split_at_hyphens = |word: &str| match word.starts_with(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_alphabetic())
        && !word.contains(':')
    {
        true => word.replace('-', " "),
        false => word.to_owned(),
    };
    let line: Vec<String> = line.split([' ', ',']).map(split_at_hyphens).collect();
    let line = line.join(" ");
    for word in line.split_whitespace() {
        let lower = word.trim_end_matches('.').to_lowercase();
        let found = MONTHS
            .split(' ')
            .position(|name| lower.len() >= 3 && name.starts_with(&lower));
        if word.contains(':') && time.is_none() {
            time = Some(clock(word)?);
        } else if let Some(at) = found.filter(|_| month.is_none()) {
            month = i8::try_from(at + 1).ok();
        } else if let Some(value) = number(word, 1, 2).filter(|_| day.is_none()) {
            day = i8::try_from(value).ok();
        } else if let Some(value) = number(word, 4, 4).filter(|_| year.is_none()) {
            year = Some(value);
        } else if let Some(value) = number(word, 2, 2).filter(|_| year.is_none()) {
            year = Some(value + if value < 50 { 2000 } else { 1900 });
        } else if let Some((_, zone @ None)) = &mut time {
            *zone = Some(offset(word)?);
        } else if !(DAYS.iter().any(|name| lower.starts_with(name)) || word.starts_with('(')) {
            return None;
        }
    }
    Some((Date::new(year?, month?, day?).ok()?, time))
}

/// `12:30`, `12:30:00.5Z`, `12:30:00+02:00`, `12:30 GMT`.
fn clock(text: &str) -> Option<TimeOfDay> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')))
        .unwrap_or(text.len());
    let (digits, zone) = text.split_at_checked(end)?;
    let mut parts = digits.split(':');
    let hour = number(parts.next()?, 1, 2)?;
    let minute = number(parts.next()?, 2, 2)?;
    let second = parts.next().unwrap_or("0");
    let second = number(second.split(['.', ',']).next()?, 1, 2)?;
    // A leap second (60) is read as 59.
    let narrow = |value: i16| i8::try_from(value).ok();
    let time = Time::new(narrow(hour)?, narrow(minute)?, narrow(second.min(59))?, 0).ok()?;
    if parts.next().is_some() || second > 60 {
        return None;
    }
    match zone.trim() {
        "" => Some((time, None)),
        zone => Some((time, Some(offset(zone)?))),
    }
}

/// Minutes from UTC: `+0200`, `+02:00`, `+02`, `GMT`, `EST`.
fn offset(zone: &str) -> Option<i32> {
    let upper = zone.to_uppercase();
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == upper) {
        return Some(hours * 60);
    }
    let upper = upper
        .strip_prefix("GMT")
        .or(upper.strip_prefix("UTC"))
        .unwrap_or(&upper);
    let (sign, digits) = match upper.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(digits.len().min(2))?;
    let hours = i32::from(number(hours, 1, 2)?);
    let minutes = match minutes {
        "" => 0,
        minutes => i32::from(number(minutes, 2, 2)?),
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn number(text: &str, min_digits: usize, max_digits: usize) -> Option<i16> {
    let fits =
        (min_digits..=max_digits).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::shown;
    use proptest::prelude::*;

    #[test]
    fn dates_of_all_forms_are_normalized() {
        for (written, wanted) in [
            ("Thu, 14 Oct 2021 12:59:53 GMT", "2021-10-14 12:59 UTC"),
            ("14 Oct 21 12:59 EST", "2021-10-14 12:59 -05:00"),
            ("Sat, 1 Jan 94 00:00:00 PDT", "1994-01-01 00:00 -07:00"),
            (
                "Thursday, 14 October 2021 12:59:53 +0530",
                "2021-10-14 12:59 +05:30",
            ),
            ("Fri, 14 Oct 2021 12:59:53 -0000", "2021-10-14 12:59 UTC"),
            ("Thu,14 Oct 2021 12:59:60 Z", "2021-10-14 12:59 UTC"),
            ("14-Oct-2021 12:59", "2021-10-14 12:59"),
            ("Thu Oct 14 12:59:53 2021", "2021-10-14 12:59"),
            ("Oct. 14, 2021", "2021-10-14"),
            (
                "Thu, 14 Oct 2021 12:59:53 +0000 (UTC)",
                "2021-10-14 12:59 UTC",
            ),
            ("Thu, 14 Oct 2021 12:59:53 GMT+1", "2021-10-14 12:59 +01:00"),
            ("Thu, 14 Sept 2021 2:59:53 cest", "2021-09-14 02:59 +02:00"),
            ("2020-12-22T19:15:01+00:00", "2020-12-22 19:15 UTC"),
            ("2023-01-25t19:03:02.25-03:30", "2023-01-25 19:03 -03:30"),
            ("2023-01-25 19:03:02 +0100", "2023-01-25 19:03 +01:00"),
            ("2023-01-25T19:03Z", "2023-01-25 19:03 UTC"),
            ("2023-01-25T19:03", "2023-01-25 19:03"),
            ("2022-12-17", "2022-12-17"),
            ("2022-12", "2022-12"),
            ("2022", "2022"),
            ("yesterday", "yesterday"),
            (" next\n week ", "next week"),
            ("30 Feb 2021 12:00 GMT", "30 Feb 2021 12:00 GMT"),
            ("2021-02-30T25:00:00Z", "2021-02-30T25:00:00Z"),
            ("14 Oct 2021 25:59 GMT", "14 Oct 2021 25:59 GMT"),
            ("1443 رمضان 5", "1443 رمضان 5"),
            ("令和3年10月14日", "令和3年10月14日"),
            ("", ""),
        ] {
            assert_eq!(shown(written), wanted, "{written}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}|([0-9]{1,5}|[A-Za-z]{1,4}|[-+:,. TZ]){0,16}") {
            let _ = shown(&text);
        }
    }
}
