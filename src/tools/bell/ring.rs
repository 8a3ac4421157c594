//! Ringing: a desktop notice and the telephone, once for each record however many Marvins see it.

use std::time::Duration;

use super::record::{self, Record};
use super::schedule;
use crate::base::cancel::Cancel;
use crate::base::error::Outcome;
use crate::base::text::clip;
use crate::disk::atomic::{self, STATE_CAP};
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
/// No place for Marvin's files, or they cannot be written.
pub fn fire_scheduled(world: &World, id: &str, stop: &Cancel) -> Outcome<()> {
    let Some(record) = record::find(&world.paths, id)? else {
        return Ok(());
    };
    let now = world.clock.now().timestamp();
    let late = record
        .at()
        .map_or(0, |at| now.as_second() - at.timestamp().as_second());
    if late < -60 {
        return Ok(());
    }
    if let Ok(late) = u64::try_from(late.max(0))
        && late < HEAD_START.as_secs()
    {
        stop.sleep(HEAD_START - Duration::from_secs(late));
        stop.check()?;
    }
    fire(world, id, stop)
}

/// Rings the record `id` outside this program, once, and removes it.
///
/// # Errors
/// As [`fire_scheduled`].
pub fn fire(world: &World, id: &str, stop: &Cancel) -> Outcome<()> {
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
        aloud(world, title, &words(world, &record), stop);
    }
    schedule::remove(world, &[record], stop).map(|_| ())
}

/// False for a reminder whose event is gone, also when another program removed it.
pub fn is_wanted(world: &World, record: &Record) -> bool {
    let Some(of) = &record.of else { return true };
    let Ok(profile) = world.paths.profile(&of.profile) else {
        return true;
    };
    match atomic::read(&profile.calendar(), STATE_CAP) {
        Ok(Some(bytes)) => calendar::holds(&bytes, &of.uid),
        Ok(None) => false,
        // What cannot be read now proves nothing.
        Err(_) => true,
    }
}

/// A desktop notice and a message to the telephone; neither failing stops the other, and the session has its own notice.
pub fn aloud(world: &World, title: &str, text: &str, stop: &Cancel) {
    let _ = desktop::notify(&world.env, title, text, stop);
    let _ = reminders::publish(world, title, text, stop);
}
