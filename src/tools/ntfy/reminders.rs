//! The topic on which alarms and reminders reach the person's telephone.

use super::file::{self, Subscription};
use super::{WORD_LIST, poll, send, topic};
use crate::base::cancel::Cancel;
use crate::base::error::Outcome;
use crate::tools::context::World;

/// What the topic is called among the subscriptions.
const LABEL: &str = "Reminders";

/// Makes sure that there is such a topic, with a name that nobody guesses; words for the person when it is new.
///
/// # Errors
/// The subscriptions cannot be written.
pub(crate) fn ensure(world: &World) -> Outcome<Option<String>> {
    if subscribed(world)?.is_some() {
        return Ok(None);
    }
    let name = topic::invent(WORD_LIST)?;
    let path = world.paths.profile(&world.profile())?.ntfy_subscriptions();
    file::add(&path, &name, LABEL, &world.clock)?;
    Ok(Some(format!(
        "Reminders go to the ntfy topic {name} too: open {}/{name} on your telephone. ntfy_unsubscribe ends that.",
        poll::base(&world.env)
    )))
}

/// Sends a reminder there; false when there is no such topic.
///
/// # Errors
/// The service cannot be reached, or does not take it.
pub(crate) fn publish(world: &World, title: &str, text: &str, stop: &Cancel) -> Outcome<bool> {
    match subscribed(world)? {
        Some(one) => send::send(&world.env, &one.topic, title, text, stop).map(|()| true),
        None => Ok(false),
    }
}

fn subscribed(world: &World) -> Outcome<Option<Subscription>> {
    let path = world.paths.profile(&world.profile())?.ntfy_subscriptions();
    let all = file::read(&path, &world.clock, &mut |_| {});
    let is_ours = |one: &Subscription| one.label.eq_ignore_ascii_case(LABEL);
    Ok(all.into_iter().find(is_ours))
}
