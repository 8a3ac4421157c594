//! A month as a grid, and events as lines.

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use crate::store::calendar::occurrence::Occurrence;
use crate::store::calendar::short_uid::ShortUid;

/// The month that starts with `first` as a grid: Sunday first, days with events in brackets, today with a star.
pub(crate) fn grid(first: Date, today: Date, marked: &[Date]) -> String {
    let mut out = format!("{:^35}\n", first.strftime("%B %Y").to_string());
    out = out.trim_end().to_owned();
    out.push_str("\n Su   Mo   Tu   We   Th   Fr   Sa\n");
    let offset = usize::try_from(first.weekday().to_sunday_zero_offset()).unwrap_or_default();
    let mut line = "     ".repeat(offset);
    for day in 1..=first.days_in_month() {
        let Ok(date) = first.with().day(day).build() else {
            continue;
        };
        let star = if date == today { '*' } else { ' ' };
        if marked.binary_search(&date).is_ok() {
            line.push_str(&format!("[{day:>2}]{star}"));
        } else {
            line.push_str(&format!(" {day:>2}{star} "));
        }
        if date.weekday() == jiff::civil::Weekday::Saturday || day == first.days_in_month() {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clear();
        }
    }
    out
}

/// Weekday, date and time of an event; the year only if it is not `this_year`.
pub(crate) fn when(event: &Occurrence, this_year: Option<i16>) -> String {
    let (first, last) = event.days();
    let day = |date: Date| {
        let year = if Some(date.year()) == this_year {
            ""
        } else {
            " %Y"
        };
        date.strftime(&format!("%a %-d %b{year}")).to_string()
    };
    let clock = |at: &Zoned| at.strftime("%H:%M").to_string();
    match (event.all_day, first == last) {
        (true, true) => format!("{}, all day", day(first)),
        (true, false) => format!("{} to {}, all day", day(first), day(last)),
        (false, _) if event.start == event.end => {
            format!("{}, {}", day(first), clock(&event.start))
        }
        (false, _) if event.start.date() == event.end.date() => {
            let (start, end) = (clock(&event.start), clock(&event.end));
            format!("{}, {start}-{end}", day(first))
        }
        (false, _) => format!(
            "{}, {} to {}, {}",
            day(first),
            clock(&event.start),
            day(event.end.date()),
            clock(&event.end)
        ),
    }
}

/// Time, title, place and short UID; a star in front of what overlaps today.
pub(crate) fn line(event: &Occurrence, short: &ShortUid, now: &Zoned) -> String {
    let (first, last) = event.days();
    let today = now.date();
    let mark = if first <= today && today <= last {
        "* "
    } else {
        ""
    };
    let when = when(event, Some(today.year()));
    let title = if event.title.is_empty() {
        "(no title)"
    } else {
        &event.title
    };
    let place = if event.place.is_empty() {
        String::new()
    } else {
        format!(", {}", event.place)
    };
    let uid = if event.uid.is_empty() {
        String::new()
    } else {
        format!("  ({})", short.show(&event.uid))
    };
    format!("{mark}{when}  {title}{place}{uid}")
}

/// The days of `first`'s month with events, sorted.
pub(crate) fn marked(first: Date, events: &[Occurrence]) -> Vec<Date> {
    let last = first.last_of_month();
    let mut days = Vec::new();
    for event in events {
        let (from, to) = event.days();
        let mut day = from.max(first);
        while day <= to.min(last) {
            days.push(day);
            let Ok(next) = day.checked_add(1.day()) else {
                break;
            };
            day = next;
        }
    }
    days.sort_unstable();
    days.dedup();
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_marks_events_and_today() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let grid = grid(
            day("2026-11-01"),
            day("2026-11-21"),
            &[day("2026-11-01"), day("2026-11-21")],
        );
        let lines: Vec<&str> = grid.lines().collect();
        assert_eq!(lines[0].trim(), "November 2026");
        assert_eq!(lines[2], "[ 1]   2    3    4    5    6    7");
        assert_eq!(lines[4].trim_end(), " 15   16   17   18   19   20  [21]*");
        assert_eq!(lines.last().unwrap().trim(), "29   30");
    }
}
