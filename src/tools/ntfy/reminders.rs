//! The topic on which alarms and reminders reach the user's telephone.

use std::fs;
use std::io::ErrorKind;

use super::file::{self, Subscription};
use super::{WORD_LIST, poll, send, topic};
use crate::base::cancel::Cancel;
use crate::base::error::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::ProfilePaths;
use crate::tools::context::World;

/// What the topic is called among the subscriptions.
const LABEL: &str = "Reminders";

/// Makes sure that there is such a topic, with a name that nobody guesses; words for the user when it is new.
///
/// # Errors
/// The subscriptions cannot be written.
pub(crate) fn ensure(world: &World) -> Outcome<Option<String>> {
    let profile = profile(world)?;
    if profile.no_ntfy_reminders().exists() || subscribed(world, &profile).is_some() {
        return Ok(None);
    }
    let name = topic::invent(WORD_LIST)?;
    file::add(&profile.ntfy_subscriptions(), &name, LABEL, &world.clock)?;
    Ok(Some(format!(
        "Reminders go to the ntfy topic {name} too: open {}/{name} on your telephone. Whoever knows that name can read there, so they \
         say only that one is due. ntfy_unsubscribe ends that.",
        poll::base(&world.env)
    )))
}

/// Notes that the user wants no such topic, when `one` is the one that is going; words for them.
///
/// # Errors
/// The note cannot be written.
pub(super) fn end(world: &World, one: &Subscription) -> Outcome<Option<String>> {
    if !is_ours(&one.label) {
        return Ok(None);
    }
    atomic::write(&profile(world)?.no_ntfy_reminders(), b"", Access::Private)?;
    Ok(Some(format!(
        "Reminders go to no telephone now, and new events make no new topic. generate_ntfy_topic with the label {LABEL} begins again."
    )))
}

/// Takes that note back when a topic of this label is made.
///
/// # Errors
/// It cannot be removed.
pub(super) fn allow(world: &World, label: &str) -> Outcome<()> {
    if !is_ours(label) {
        return Ok(());
    }
    let note = profile(world)?.no_ntfy_reminders();
    match fs::remove_file(&note) {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(Problem::system(
            format!("Cannot remove {}", note.display()),
            why,
        )),
        _ => Ok(()),
    }
}

/// Says on the topic of a profile that a reminder, an alarm or a timer is due, and not what it is about: whoever knows a topic's name can read it, the
/// server too. False when there is no such topic.
///
/// # Errors
/// The service cannot be reached, or does not take it.
pub(crate) fn publish(world: &World, profile: &str, kind: &str, stop: &Cancel) -> Outcome<bool> {
    let Some(one) = subscribed(world, &world.paths.profile(profile)?) else {
        return Ok(false);
    };
    let text = format!(
        "{kind}, {}. Marvin on your computer says what it is about.",
        world.clock.hour_minute()
    );
    send::send(&world.env, &one.topic, "Marvin", &text, stop).map(|()| true)
}

fn profile(world: &World) -> Outcome<ProfilePaths> {
    world.paths.profile(&world.profile())
}

fn is_ours(label: &str) -> bool {
    label.eq_ignore_ascii_case(LABEL)
}

fn subscribed(world: &World, profile: &ProfilePaths) -> Option<Subscription> {
    let all = file::read(&profile.ntfy_subscriptions(), &world.clock, &mut |_| {});
    all.into_iter().find(|one| is_ours(&one.label))
}
