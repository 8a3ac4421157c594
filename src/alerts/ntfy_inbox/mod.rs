//! New messages of the profile's ntfy subscriptions, polled with every message that the user sends.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::disk::paths::ProfilePaths;

use crate::alerts::ntfy::poll;
use crate::store::subscriptions::{self, LastSeen, MessageReader, Subscription};

/// Time limit of a poll, all topics together.
const POLL_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum messages of one topic that are shown at once, and their characters.
const MAX_MESSAGES: usize = 5;
const CHARACTERS: usize = 4_000;
const MAX_TOPICS: usize = 64;
/// A shorter file contains no subscription: `[]`, `{}` and white space.
const MIN_FILE_BYTES: u64 = 8;

/// Polls for new messages, one poll at a time, and remembers the last ones even if the file cannot be written.
#[derive(Debug, Default)]
pub struct NtfyInbox {
    busy: Arc<AtomicBool>,
    seen: Arc<Mutex<Memory>>,
}

type Memory = BTreeMap<(PathBuf, String), LastSeen>;

impl NtfyInbox {
    /// Starts a poll on its own thread that ends within about two seconds and passes its notices, if any, to `deliver`. False when nothing was started: there
    /// are no subscriptions, or a poll is running. Failures are silent.
    pub fn poll(
        &self,
        env: &Env,
        profile: &ProfilePaths,
        clock: &Clock,
        stop: &Cancel,
        deliver: impl FnOnce(Vec<String>) + Send + 'static,
    ) -> bool {
        let path = profile.ntfy_subscriptions();
        let worth =
            fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() >= MIN_FILE_BYTES);
        if !worth || self.busy.swap(true, Ordering::SeqCst) {
            return false;
        }
        let work = PollJob {
            path,
            env: env.clone(),
            clock: clock.clone(),
            stop: stop.clone(),
            seen: Arc::clone(&self.seen),
            _busy: BusyGuard(Arc::clone(&self.busy)),
        };
        let start = thread::Builder::new().name("news".to_owned());
        start
            .spawn(move || {
                let notices = work.run();
                drop(work);
                if !notices.is_empty() {
                    deliver(notices);
                }
            })
            .is_ok()
    }
}

/// Clears the flag on every exit path.
struct BusyGuard(Arc<AtomicBool>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

struct PollJob {
    path: PathBuf,
    env: Env,
    clock: Clock,
    stop: Cancel,
    seen: Arc<Mutex<Memory>>,
    _busy: BusyGuard,
}

impl PollJob {
    fn run(&self) -> Vec<String> {
        let mut notices = Vec::new();
        let subscriptions = subscriptions::read(&self.path, &self.clock, &mut |w| notices.push(w));
        let asked: Vec<Subscription> = subscriptions
            .into_iter()
            .take(MAX_TOPICS)
            .map(|subscription| self.remembered(subscription))
            .collect();
        let answers = poll::ask(&self.env, &asked, POLL_TIMEOUT, &self.stop);
        let mut seen = BTreeMap::new();
        for subscription in &asked {
            let Some(Ok(answer)) = answers.get(&subscription.topic) else {
                continue;
            };
            let shown = answer.shown(&subscription.label, MAX_MESSAGES, CHARACTERS);
            notices.extend(shown.notices);
            if shown.left > 0 {
                let label = &subscription.label;
                notices.push(format!(
                    "🔔 {label}: … {} more, shown with your next message, or by ntfy_list",
                    shown.left
                ));
            }
            let last = shown.last.unwrap_or_else(|| subscription.seen.clone());
            self.remember(&subscription.topic, &last);
            seen.insert(subscription.topic.clone(), last);
        }
        if !seen.is_empty() {
            // A file that cannot be written does not concern the conversation; this process remembers in memory.
            let _ = subscriptions::remember(
                &self.path,
                &seen,
                MessageReader::Session,
                &self.clock.utc(),
            );
        }
        notices
    }

    /// The subscription with this process's last seen message, if newer than the file's.
    fn remembered(&self, mut subscription: Subscription) -> Subscription {
        let key = (self.path.clone(), subscription.topic.clone());
        let memory = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = memory.get(&key)
            && seen.time >= subscription.seen.time
        {
            subscription.seen = seen.clone();
        }
        subscription
    }

    fn remember(&self, topic: &str, seen: &LastSeen) {
        if seen.id.is_some() {
            let key = (self.path.clone(), topic.to_owned());
            let mut memory = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            memory.insert(key, seen.clone());
        }
    }
}

#[cfg(test)]
mod tests;
