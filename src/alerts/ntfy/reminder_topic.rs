//! The topic on which alarms and reminders reach the user's phone.

use std::fs;
use std::io::ErrorKind;

use super::{poll, send, topic};
use crate::alerts::Alerts;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::ProfilePaths;
use crate::store::subscriptions::{self, Subscription};

/// The topic's label among the subscriptions.
const LABEL: &str = "Reminders";

/// Makes sure that there is such a topic, with a name that cannot be guessed; returns a message for the user when it is new.
///
/// # Errors
/// The subscriptions cannot be written.
pub(crate) fn ensure(alerts: &Alerts) -> Outcome<Option<String>> {
    let profile = profile(alerts)?;
    if profile.no_ntfy_reminders().exists() || subscribed(alerts, &profile).is_some() {
        return Ok(None);
    }
    let name = topic::invent()?;
    subscriptions::add(&profile.ntfy_subscriptions(), &name, LABEL, &alerts.clock)?;
    Ok(Some(format!(
        "Reminders go to the ntfy topic {name} too: open {}/{name} on your telephone. Anyone who knows that name can read there, so they \
         say only that one is due. ntfy_unsubscribe ends that.",
        poll::base(&alerts.env)
    )))
}

/// Records that the user wants no such topic, if `one` is the one being removed; returns a message for the user.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn end(alerts: &Alerts, one: &Subscription) -> Outcome<Option<String>> {
    if !is_ours(&one.label) {
        return Ok(None);
    }
    atomic::write(&profile(alerts)?.no_ntfy_reminders(), b"", Access::Private)?;
    Ok(Some(format!(
        "Reminders go to no telephone now, and new events make no new topic. generate_ntfy_topic with the label {LABEL} begins again."
    )))
}

/// Deletes that record when a topic with this label is created.
///
/// # Errors
/// It cannot be removed.
pub(crate) fn allow(alerts: &Alerts, label: &str) -> Outcome<()> {
    if !is_ours(label) {
        return Ok(());
    }
    let note = profile(alerts)?.no_ntfy_reminders();
    match fs::remove_file(&note) {
        Err(reason) if reason.kind() != ErrorKind::NotFound => Err(Problem::system(
            format!("Cannot remove {}", note.display()),
            reason,
        )),
        _ => Ok(()),
    }
}

/// Publishes on the topic of a profile that a reminder, an alarm or a timer is due, but not what it is about: the server, and anyone who knows a topic's name,
/// can read it. False when there is no such topic.
///
/// # Errors
/// The service cannot be reached, or refuses it.
pub(crate) fn publish(alerts: &Alerts, profile: &str, kind: &str, stop: &Cancel) -> Outcome<bool> {
    let Some(one) = subscribed(alerts, &alerts.paths.profile(profile)?) else {
        return Ok(false);
    };
    let text = format!(
        "{kind}, {}. Marvin on your computer says what it is about.",
        alerts.clock.hour_minute()
    );
    send::send(&alerts.env, &one.topic, "Marvin", &text, stop).map(|()| true)
}

fn profile(alerts: &Alerts) -> Outcome<ProfilePaths> {
    alerts.paths.profile(&alerts.profile())
}

fn is_ours(label: &str) -> bool {
    label.eq_ignore_ascii_case(LABEL)
}

fn subscribed(alerts: &Alerts, profile: &ProfilePaths) -> Option<Subscription> {
    let all = subscriptions::read(&profile.ntfy_subscriptions(), &alerts.clock, &mut |_| {});
    all.into_iter().find(|one| is_ours(&one.label))
}
