//! Module `alarms`: rings once at a given time, through cron or at, and in every open session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::{DateTime, Time};
use jiff::tz::AmbiguousOffset;
use jiff::{Span, ToSpan, Unit, Zoned};

use crate::alerts::record::{self, AlertRecord};
use crate::alerts::{Alerts, schedule};
use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;
use crate::formats::duration;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{OUTSIDE, READ};

tools! { "alarms";
    /// Schedule an alarm through cron.
    set_alarm(SetAlarm; OUTSIDE.direct().seconds(10).saves_files().service("cron, notify-send, ntfy.sh").additive().planned_as_written()) {
        /// HH:MM (today or tomorrow), YYYY-MM-DD HH:MM, or relative such as 30m, 2h, 1h30m
        time: String, example: "18:30";
        /// what to show
        message: String, example: "Tea is ready";
        /// name; spaces become underscores
        label: String = "local-finder-alarm", alias: &["name"];
    } => set, says ["wake me at {time} for {message}", "set an alarm at {time} for {message}"];

    /// Show scheduled alarms.
    list_alarms(ListAlarms; READ.seconds(5).service("cron").compact()) {
    } => list, says ["list alarms", "show alarms"];

    /// Remove an alarm.
    cancel_alarm(CancelAlarm; OUTSIDE.seconds(5).saves_files().service("cron").idempotent().open_world(false)) {
        /// label from list_alarms
        label: String, example: "tea", alias: &["name"];
    } => cancel, says ["cancel alarm {label}"];
}

/// Longest message.
const MAX_MESSAGE_CHARS: usize = 4_000;
/// How long to wait for another Marvin that is setting an alarm.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

fn set(ctx: &ToolContext, args: SetAlarm) -> Outcome<String> {
    let session = &ctx.session;
    let message = clip(args.message.trim(), MAX_MESSAGE_CHARS);
    if message.is_empty() {
        return Err(Problem::input("An alarm needs a message.").next("Say what to show."));
    }
    let now = session.clock.now();
    let (at, moved) = moment(&args.time, &now)?;
    let wanted = label(&args.label)?;
    let (mut alarm, lock) = {
        let folder = session.paths.alarms()?;
        atomic::make_folder(&folder, Access::Private)?;
        let lock = Lock::take(&folder.join("set"), LOCK_TIMEOUT, &ctx.stop)?;
        let label = free(&folder, &wanted)?;
        let alarm = AlertRecord {
            id: ids::hex(8),
            label,
            time: at.to_string(),
            message: message.clone(),
            scheduler: None,
            job: None,
            late: None,
            of: None,
        };
        alarm.save(&session.paths)?;
        (alarm, lock)
    };
    drop(lock);
    let note = schedule::add(&session.alerts, std::slice::from_mut(&mut alarm), &ctx.stop);
    let note = match note {
        Ok(note) => note,
        Err(problem) => {
            let _ = alarm.remove(&session.paths);
            return Err(problem);
        }
    };
    Alerts::wake(&session.alerts);
    let rings = alarm.due(&session.alerts).unwrap_or_else(|| at.clone());
    let mut out = format!(
        "Alarm \"{}\" is set for {}.\nMessage: {}",
        alarm.label,
        rings.strftime("%A %-d %B %Y, %H:%M (%Z)"),
        escape_controls(&message)
    );
    let next = (rings > at).then(|| {
        let exact = at.strftime("%H:%M:%S");
        format!("That is the next minute the scheduler can begin with; an open session rings it at {exact}.")
    });
    for line in [moved, next, note].into_iter().flatten() {
        out.push('\n');
        out.push_str(&line);
    }
    if alarm.scheduler.is_none() && !session.alerts.has_session() {
        out.push_str("\nNo session is open here; one that is opened later rings it, or says that it was missed. A timer (timer_start) is the other way in a session.");
    }
    Ok(out)
}

/// The label as a file name: underscores for spaces; anything else that a file name should not contain is refused.
fn label(given: &str) -> Outcome<String> {
    let label = given.trim().replace(' ', "_");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if label.is_empty() {
        return Ok("local-finder-alarm".to_owned());
    }
    if label.len() > 56 || label.starts_with('-') || !label.chars().all(plain) {
        let better: String = label.chars().filter(|c| plain(*c)).take(56).collect();
        let better = better.trim_matches('-');
        let problem = Problem::input(format!(
            "\"{}\" cannot be an alarm's label.",
            clip(&escape_controls(&label), 60)
        ))
        .next("Use letters, digits, \"-\" and \"_\", at most 56 of them.");
        return Err(if better.is_empty() {
            problem
        } else {
            problem.next(format!("For example \"{better}\"."))
        });
    }
    Ok(label)
}

/// The label, with a number appended if there is such an alarm already.
fn free(folder: &Path, label: &str) -> Outcome<String> {
    let taken = |name: &str| folder.join(format!("{name}.json")).exists();
    let numbered = (2..=1_000).map(|number| format!("{label}-{number}"));
    std::iter::once(label.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .ok_or_else(|| {
            Problem::limit(format!("There are 1,000 alarms called {label}.")).next("Cancel some.")
        })
}

/// The time that `text` means, and a notice about it if needed.
fn moment(text: &str, now: &Zoned) -> Outcome<(Zoned, Option<String>)> {
    let text = text.trim();
    let invalid = || {
        Problem::input(format!(
            "\"{}\" is not a valid time.",
            clip(&escape_controls(text), 60)
        ))
        .next("Give HH:MM, YYYY-MM-DD HH:MM, or a span such as 30m, 2h or 1h30m.")
    };
    if let Some(time) = duration::read(text) {
        if time.is_zero() {
            return Err(
                Problem::input("A span of zero has passed already.").next("Give at least 1s.")
            );
        }
        let seconds = i64::try_from(time.as_secs()).map_err(|_| invalid())?;
        let span = Span::new().try_seconds(seconds).map_err(|_| invalid())?;
        let at = now.checked_add(span).and_then(|at| at.round(Unit::Second));
        return at.map(|at| (at, None)).map_err(|_| invalid());
    }
    if let Some(time) = clock(text) {
        let today = now.date().to_datetime(time);
        let (at, moved) = here(today, now).ok_or_else(invalid)?;
        if at > *now {
            return Ok((at, moved));
        }
        let tomorrow = today.checked_add(1.day()).map_err(|_| invalid())?;
        return here(tomorrow, now).ok_or_else(invalid);
    }
    let (date, time) = text
        .split_once([' ', 'T', 't'])
        .filter(|(date, _)| date.starts_with(|c: char| c.is_ascii_digit()))
        .ok_or_else(invalid)?;
    let date: jiff::civil::Date = date.trim().parse().map_err(|_| {
        Problem::input(format!(
            "There is no date {}.",
            clip(&escape_controls(date), 40)
        ))
        .next("Give a date that exists as YYYY-MM-DD.")
    })?;
    let time = clock(time.trim()).ok_or_else(invalid)?;
    let (at, moved) = here(date.to_datetime(time), now).ok_or_else(invalid)?;
    if at <= *now {
        return Err(Problem::input(format!(
            "{} is past; it is {} now.",
            at.strftime("%Y-%m-%d %H:%M"),
            now.strftime("%Y-%m-%d %H:%M")
        ))
        .next("Give a time to come."));
    }
    Ok((at, moved))
}

/// `7:05`, `18:30`, `18:30:15`.
fn clock(text: &str) -> Option<Time> {
    let mut parts = text.split(':').map(|part| {
        let sound = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        sound.then(|| part.parse::<i8>().ok()).flatten()
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        None => 0,
        Some(second) => second?,
    };
    parts.next().is_none().then_some(())?;
    Time::new(hour, minute, second, 0).ok()
}

/// A local time; a notice comes with one that is skipped or repeated when the clocks change.
pub(crate) fn here(wall: DateTime, now: &Zoned) -> Option<(Zoned, Option<String>)> {
    let zone = now.time_zone();
    let at = wall.to_zoned(zone.clone()).ok()?;
    let notice = match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(format!(
            "{} does not exist that day, as the clocks go forward: it is {}.",
            wall.strftime("%H:%M"),
            at.strftime("%H:%M")
        )),
        AmbiguousOffset::Fold { .. } => Some(format!(
            "{} happens twice that day, as the clocks go back: the first is meant.",
            wall.strftime("%H:%M")
        )),
    };
    Some((at, notice))
}

/// The alarms that are set; `odd` gets the files that cannot be read.
fn alarms(ctx: &ToolContext, odd: &mut Vec<PathBuf>) -> Outcome<Vec<AlertRecord>> {
    let session = &ctx.session;
    let mut all = record::all(&session.paths, session.clock.zones(), odd)?;
    all.retain(|record| record.of.is_none());
    Ok(all)
}

fn list(ctx: &ToolContext, _: ListAlarms) -> Outcome<String> {
    let session = &ctx.session;
    let mut odd = Vec::new();
    let alarms = alarms(ctx, &mut odd)?;
    let now = session.clock.now();
    let mut lines: Vec<String> = Vec::new();
    for alarm in &alarms {
        let Some(at) = alarm.at(session.clock.zones()) else {
            continue;
        };
        let state = match (&alarm.scheduler, at <= now) {
            (_, true) => " (overdue)",
            (None, false) => " (rings only while Marvin is open)",
            (Some(_), false) => "",
        };
        lines.push(format!(
            "{}  {}  {}{state}",
            alarm.label,
            at.with_time_zone(now.time_zone().clone())
                .strftime("%a %-d %b %Y %H:%M"),
            escape_controls(&alarm.message)
        ));
    }
    if lines.is_empty() {
        lines.push("No alarms.".to_owned());
    }
    for path in odd {
        lines.push(format!("{} cannot be read as an alarm.", path.display()));
    }
    Ok(lines.join("\n"))
}

fn cancel(ctx: &ToolContext, args: CancelAlarm) -> Outcome<String> {
    let session = &ctx.session;
    let alarms = alarms(ctx, &mut Vec::new())?;
    let wanted = args.label.trim().replace(' ', "_");
    let Some(alarm) = alarms.iter().find(|alarm| alarm.label == wanted) else {
        let labels: BTreeSet<&str> = alarms.iter().map(|alarm| alarm.label.as_str()).collect();
        let problem = Problem::missing(format!(
            "There is no alarm \"{}\".",
            clip(&escape_controls(&wanted), 60)
        ));
        let others = match labels.is_empty() {
            true => "No alarm is set.".to_owned(),
            false => format!("Alarms: {}.", Vec::from_iter(labels.clone()).join(", ")),
        };
        return Err(problem.near_or(&wanted, labels, others));
    };
    let trouble = schedule::remove(&session.alerts, std::slice::from_ref(alarm), &ctx.stop)?;
    Alerts::wake(&session.alerts);
    let mut out = format!("Alarm \"{}\" is cancelled.", alarm.label);
    if let Some(trouble) = trouble {
        out.push('\n');
        out.push_str(&trouble);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, now: &str) -> Result<String, String> {
        let now: Zoned = now.parse().unwrap();
        match moment(text, &now) {
            Ok((at, notice)) => Ok(format!(
                "{}{}",
                at.strftime("%Y-%m-%dT%H:%M:%S"),
                notice.map_or("", |_| " !")
            )),
            Err(problem) => Err(problem.what),
        }
    }

    #[test]
    fn times_are_read_as_people_mean_them() {
        let now = "2026-11-21T14:30:05+01:00[Europe/Berlin]";
        for (text, want) in [
            ("18:00", "2026-11-21T18:00:00"),
            ("7:05", "2026-11-22T07:05:00"),
            ("14:30", "2026-11-22T14:30:00"),
            ("2027-01-02 03:04", "2027-01-02T03:04:00"),
            ("2027-01-02T03:04", "2027-01-02T03:04:00"),
            ("1h30m", "2026-11-21T16:00:05"),
            ("36525d", "2126-11-22T14:30:05"),
            ("2027-03-28 02:30", "2027-03-28T03:30:00 !"),
            ("2027-10-31 02:30", "2027-10-31T02:30:00 !"),
        ] {
            assert_eq!(at(text, now).as_deref(), Ok(want), "{text}");
        }
        for text in [
            "",
            "0m",
            "25:00",
            "12:60",
            "2027-02-29 10:00",
            "2026-11-21 14:30",
            "1999-01-01 00:00",
            "tea",
            "9999999d",
            "12",
            "１２:00",
        ] {
            assert!(at(text, now).is_err(), "{text}");
        }
    }

    #[test]
    fn words_are_refused_as_words() {
        let now = "2026-11-21T14:30:05+01:00[Europe/Berlin]";
        for text in ["tomorrow 10:00", "in 5 minutes"] {
            let notice = at(text, now).unwrap_err();
            assert_eq!(notice, format!("\"{text}\" is not a valid time."));
        }
    }

    #[test]
    fn labels_are_file_names_or_refused() {
        assert_eq!(label(" tea time ").unwrap(), "tea_time");
        for bad in [
            "../../x",
            "a/b",
            "-rf",
            "a\0b",
            "tea\u{1f375}",
            ".",
            &"x".repeat(300),
        ] {
            assert!(label(bad).is_err(), "{bad:?}");
        }
    }
}
