//! Ringing: a desktop notice and the telephone, once for each record however many Marvins see it.

use std::time::Duration;

use super::record::{self, Record};
use super::schedule;
use crate::base::cancel::Cancel;
use crate::base::error::{Outcome, Problem};
use crate::base::text::clip;
use crate::disk::lock::Lock;
use crate::proc::desktop;
use crate::tools::calendar;
use crate::tools::context::World;
use crate::tools::ntfy::reminders;

/// Longest wait for another Marvin that is ringing.
const PATIENCE: Duration = Duration::from_secs(30);
/// An open session, which can tell the person, comes before the scheduler.
const HEAD_START: Duration = Duration::from_secs(2);
/// Lateness that is worth a word.
const LATE: i64 = 120;
/// Seconds by which a scheduler may call too early: where the clocks go back it takes the first of two equal hours.
const EARLY: i64 = 3_660;

/// The words for the person.
pub fn words(world: &World, record: &Record) -> String {
    let kind = match record.of {
        Some(_) => "Reminder",
        None => "Alarm",
    };
    let late = record
        .at()
        .filter(|at| world.clock.now().timestamp().as_second() - at.timestamp().as_second() > LATE);
    let late = late.map_or_else(String::new, |at| {
        format!(" (was due {})", at.strftime("%a %-d %b %H:%M"))
    });
    format!("{kind}: {}{late}", clip(&record.message, 2_000))
}

/// What the scheduler runs: rings the record `id` if it is due and nobody has.
///
/// # Errors
/// No place for Marvin's files, or they cannot be written; nobody could be told.
pub fn fire_scheduled(world: &World, id: &str, stop: &Cancel) -> Outcome<()> {
    let Some(record) = record::find(&world.paths, id)? else {
        return Ok(());
    };
    let now = world.clock.now().timestamp();
    let late = record
        .at()
        .map_or(0, |at| now.as_second() - at.timestamp().as_second());
    let Some(wait) = wait(late) else {
        return Ok(());
    };
    stop.sleep(wait);
    stop.check()?;
    once(world, id, keep, stop)
}

/// How long to wait before a record rings that is `late` by so many seconds; nothing for one whose time is far off.
fn wait(late: i64) -> Option<Duration> {
    let head = i64::try_from(HEAD_START.as_secs()).unwrap_or_default();
    let wait = u64::try_from((head - late).max(0)).ok()?;
    (late >= -EARLY).then_some(Duration::from_secs(wait))
}

/// Rings the record `id` outside this program, whose session has told it, once, and removes it.
///
/// # Errors
/// No place for Marvin's files, or they cannot be written.
pub fn fire(world: &World, id: &str, stop: &Cancel) -> Outcome<()> {
    once(world, id, remove, stop)
}

fn remove(world: &World, record: &Record, stop: &Cancel) -> Outcome<()> {
    schedule::remove(world, std::slice::from_ref(record), stop).map(|_| ())
}

/// Keeps a record that reached nobody, so that the next session tells it; the scheduler is done with it.
fn keep(world: &World, record: &Record, stop: &Cancel) -> Outcome<()> {
    let _ = schedule::take_back(world, std::slice::from_ref(record), stop);
    Err(Problem::missing(words(world, record)).next(
        "Neither a desktop notice nor an ntfy message could be sent; Marvin shows it when it is opened next.",
    ))
}

/// What becomes of a record.
type End = fn(&World, &Record, &Cancel) -> Outcome<()>;

/// Rings the record `id` outside this program, once, and removes it; one that reached nobody there ends as `unheard` says.
fn once(world: &World, id: &str, unheard: End, stop: &Cancel) -> Outcome<()> {
    let _lock = Lock::take(&world.paths.alarms()?.join("fire"), PATIENCE, stop)?;
    let Some(record) = record::find(&world.paths, id)? else {
        return Ok(());
    };
    if is_wanted(world, &record) {
        let title = if record.of.is_some() {
            "Reminder"
        } else {
            "Alarm"
        };
        if !aloud(world, title, &words(world, &record), stop) {
            return unheard(world, &record, stop);
        }
    }
    remove(world, &record, stop)
}

/// False for a reminder whose event is gone, also when another program removed it.
pub fn is_wanted(world: &World, record: &Record) -> bool {
    let Some(of) = &record.of else { return true };
    let Ok(profile) = world.paths.profile(&of.profile) else {
        return true;
    };
    calendar::holds(&profile, &of.uid)
}

/// A desktop notice and a message to the telephone; neither failing stops the other, and the session has its own notice. True
/// when one of them went out.
pub fn aloud(world: &World, title: &str, text: &str, stop: &Cancel) -> bool {
    let shown = desktop::notify(&world.env, title, text, stop).is_ok();
    let sent = reminders::publish(world, title, text, stop).unwrap_or_default();
    shown || sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_call_waits_for_the_second_of_two_equal_hours_and_no_longer() {
        let seconds = |late| wait(late).map(|wait| wait.as_secs());
        assert_eq!(seconds(0), Some(2));
        assert_eq!(seconds(5), Some(0));
        assert_eq!(seconds(-3_600), Some(3_602));
        assert_eq!(seconds(-7_200), None);
    }
}
