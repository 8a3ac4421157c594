//! Fires alerts: a desktop notification and a push message, once for each record however many Marvin processes see it.

use std::time::Duration;

use jiff::SignedDuration;

use super::record::{self, AlertRecord};
use super::schedule;
use crate::alerts::Alerts;
use crate::alerts::ntfy::reminder_topic;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;
use crate::proc::desktop;
use crate::store::calendar::files::CalendarFiles;

/// Maximum wait for another Marvin process that is firing an alert.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// The head start of an open session, which can show the message, over the scheduler.
const HEAD_START: SignedDuration = SignedDuration::from_secs(2);
/// Lateness that is mentioned.
const LATE_SECONDS: i64 = 120;
/// How early a scheduler may call: it only knows whole minutes, and when clocks go back it takes the first of two equal hours.
const MAX_EARLY: SignedDuration = SignedDuration::from_secs(3_660);

/// The message for the user.
pub(crate) fn words(alerts: &Alerts, record: &AlertRecord) -> String {
    let kind = match record.of {
        Some(_) => "Reminder",
        None => "Alarm",
    };
    let late = record.at(alerts.clock.zones()).filter(|at| {
        alerts.clock.now().timestamp().as_second() - at.timestamp().as_second() > LATE_SECONDS
    });
    let late = late.map_or_else(String::new, |at| {
        format!(" (was due {})", at.strftime("%a %-d %b %H:%M"))
    });
    format!("{kind}: {}{late}", clip(&record.message, 2_000))
}

/// Entry point of the scheduler: fires the record `id` if it is due and still exists.
///
/// # Errors
/// `HOME` is not set, a file cannot be written, or the user cannot be reached.
pub(crate) fn fire_scheduled(alerts: &Alerts, id: &str, stop: &Cancel) -> Outcome<()> {
    let Some(record) = record::find(&alerts.paths, alerts.clock.zones(), id)? else {
        return Ok(());
    };
    if let Some(at) = record.at(alerts.clock.zones()) {
        let early = at
            .timestamp()
            .duration_since(alerts.clock.now().timestamp());
        let Some(wait) = wait(early, at.second()) else {
            return Ok(());
        };
        stop.sleep(wait);
    }
    stop.check()?;
    once(alerts, id, keep, stop)
}

/// How long to wait before ringing a record that is due in `early`, at this second of its minute; `None` if it is not due yet. The head start of a
/// session ends within the announced minute.
fn wait(early: SignedDuration, second: i8) -> Option<Duration> {
    let left = i64::from(60 - second) * 1_000 - 500;
    let head = HEAD_START.min(SignedDuration::from_millis(left));
    let wait = (early + head).max(SignedDuration::ZERO);
    (early <= MAX_EARLY).then(|| wait.unsigned_abs())
}

/// Fires the record `id` outside this program, whose session has shown it, once, and removes it.
///
/// # Errors
/// `HOME` is not set, or a file cannot be written.
pub(crate) fn fire(alerts: &Alerts, id: &str, stop: &Cancel) -> Outcome<()> {
    once(alerts, id, remove, stop)
}

fn remove(alerts: &Alerts, record: &AlertRecord, stop: &Cancel) -> Outcome<()> {
    schedule::remove(alerts, std::slice::from_ref(record), stop).map(|_| ())
}

/// Keeps a record that could not be shown, so that the next session shows it; the scheduler is done with it.
fn keep(alerts: &Alerts, record: &AlertRecord, stop: &Cancel) -> Outcome<()> {
    let _ = schedule::take_back(alerts, std::slice::from_ref(record), stop);
    Err(Problem::missing(words(alerts, record)).next(
        "Neither a desktop notice nor an ntfy message could be sent; Marvin shows it when it is opened next.",
    ))
}

/// Handles a record that could not be shown.
type AfterRing = fn(&Alerts, &AlertRecord, &Cancel) -> Outcome<()>;

/// Fires the record `id` outside this program, once, and removes it; `unheard` handles one that could not be shown there.
fn once(alerts: &Alerts, id: &str, unheard: AfterRing, stop: &Cancel) -> Outcome<()> {
    let folder = alerts.paths.alarms()?;
    atomic::make_folder(&folder, Access::Private)?;
    let _lock = Lock::take(&folder.join("fire"), LOCK_TIMEOUT, stop)?;
    let Some(record) = record::find(&alerts.paths, alerts.clock.zones(), id)? else {
        return Ok(());
    };
    if is_wanted(alerts, &record) {
        let title = if record.of.is_some() {
            "Reminder"
        } else {
            "Alarm"
        };
        // The scheduler knows nothing of profiles: an event's reminder goes to the topic of its own profile.
        let profile = record.of.as_ref().map(|of| of.profile.clone());
        let profile = profile.unwrap_or_else(|| alerts.profile());
        if !notify_out_of_band(alerts, &profile, title, &words(alerts, &record), stop) {
            return unheard(alerts, &record, stop);
        }
    }
    remove(alerts, &record, stop)
}

/// False for a reminder whose event is gone, even if another program removed it.
pub(crate) fn is_wanted(alerts: &Alerts, record: &AlertRecord) -> bool {
    let Some(of) = &record.of else { return true };
    let Ok(profile) = alerts.paths.profile(&of.profile) else {
        return true;
    };
    CalendarFiles::of(&profile).hold(&of.uid)
}

/// A desktop notification, and a push message that names only the kind; one may fail without the other, and the session has its own notice. True when one of
/// them went out.
pub(crate) fn notify_out_of_band(
    alerts: &Alerts,
    profile: &str,
    title: &str,
    text: &str,
    stop: &Cancel,
) -> bool {
    let shown = desktop::notify(&alerts.env, title, text, stop).is_ok();
    let sent = reminder_topic::publish(alerts, profile, title, stop).unwrap_or_default();
    shown || sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_call_waits_at_most_for_a_repeated_hour() {
        let seconds = |early| {
            let wait = wait(SignedDuration::from_secs(early), 0);
            wait.map(|wait| wait.as_secs())
        };
        assert_eq!(seconds(0), Some(2));
        assert_eq!(seconds(-5), Some(0));
        assert_eq!(seconds(3_600), Some(3_602));
        assert_eq!(seconds(7_200), None);
    }

    #[test]
    fn an_alarm_waits_for_its_second_within_its_minute() {
        for second in 0..60 {
            let wait = wait(SignedDuration::from_secs(second.into()), second).unwrap();
            assert!(wait >= Duration::from_secs(second.try_into().unwrap()));
            assert!(wait < Duration::from_secs(60), "{second}: {wait:?}");
        }
    }
}
