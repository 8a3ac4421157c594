//! The way to the person's telephone: where the module ntfy joins in.
//!
//! Until it does, nothing is published and nothing is said about it.

use crate::base::cancel::Cancel;
use crate::base::error::Outcome;
use crate::tools::context::World;

/// Makes sure that there is a topic for reminders, creating one whose name nobody can guess; gives what the person should be told
/// about it.
///
/// # Errors
/// The subscriptions cannot be written.
pub fn ensure_topic(_world: &World) -> Outcome<Option<String>> {
    Ok(None)
}

/// Publishes to the subscribed topic for reminders, if there is one.
///
/// # Errors
/// The service cannot be reached.
pub fn publish(_world: &World, _title: &str, _text: &str, _stop: &Cancel) -> Outcome<()> {
    Ok(())
}
