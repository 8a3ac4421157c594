//! News of the profile's ntfy subscriptions, asked for with every message that is sent (contract/interfaces.md 14).

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::disk::paths::ProfilePaths;

/// Asks for news, one poll at a time, and remembers what was seen.
#[derive(Debug, Default)]
pub struct News {}

impl News {
    /// Starts a poll on a thread of its own that ends within about two seconds and hands its notices, if any, to `deliver`.
    /// False when nothing was started: there are no subscriptions, or a poll is under way. Failures are silent.
    pub fn poll(
        &self,
        env: &Env,
        profile: &ProfilePaths,
        clock: &Clock,
        stop: &Cancel,
        deliver: impl FnOnce(Vec<String>) + Send + 'static,
    ) -> bool {
        let _ = (env, profile, clock, stop, deliver);
        false
    }
}
