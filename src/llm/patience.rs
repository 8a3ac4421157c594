//! Patience with a provider that cannot answer now: how long a task of the pipeline waits for it, and how long at a time.
//!
//! An outage is nobody's failure. It takes no attempt of a child and does not hand its task to another model. A child that was answered before waits
//! itself and goes on with its conversation; one that was not is started again. Each pause is longer than the one before.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::failure::Failure;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::variables::{MARVIN_PROVIDER_PATIENCE, MARVIN_PROVIDER_PAUSE};
use crate::chat::failure_report::ProviderOutage;

/// The longest pause, unless the provider names a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The shortest one, whatever the provider says.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// What is left of it for a task.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    next: Duration,
}

impl Patience {
    /// As the environment says.
    pub(crate) fn of(env: &Env, warn: &mut dyn FnMut(String)) -> Self {
        let left = MARVIN_PROVIDER_PATIENCE.read(env, warn);
        // Without a pause it would never be used up.
        let first = MARVIN_PROVIDER_PAUSE.read(env, warn).max(1);
        Self::new(Duration::from_secs(left), Duration::from_secs(first))
    }

    fn new(left: Duration, first: Duration) -> Self {
        Self {
            left,
            next: first.min(MAX_PAUSE),
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.left
    }

    /// A child has waited so long itself.
    pub(crate) fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }

    /// A child got no answer for so long. Beyond the longest pause it was a silence, and waiting as well; before, it tried again by itself.
    pub(crate) fn waited(&mut self, silent: Duration) {
        if silent > MAX_PAUSE {
            self.left = self.left.saturating_sub(silent);
        }
    }

    /// How long to wait now; `None` when the provider asks for more than is left, or nothing is.
    pub(crate) fn pause(&mut self, outage: &ProviderOutage) -> Option<Duration> {
        let own = self.next.min(self.left);
        let pause = match outage.retry_after() {
            // One that says "now" every time must not be asked without end.
            Some(wait) => wait.max(MIN_PAUSE),
            None => own,
        };
        if self.left.is_zero() || pause > self.left {
            return None;
        }
        self.left -= pause;
        self.next = (self.next * 2).min(MAX_PAUSE);
        Some(pause)
    }
}

/// The patience of a process that is a child itself, with a parent that is told of every pause.
pub(crate) struct ChildPatience {
    patience: Mutex<Patience>,
    tell: fn(&ProviderOutage),
}

impl ChildPatience {
    pub(crate) fn new(patience: Patience, tell: fn(&ProviderOutage)) -> Self {
        Self {
            patience: Mutex::new(patience),
            tell,
        }
    }

    /// Waits after `failure` of `provider`, whose answer took so long to fail; `None` when it is no outage, or the patience is used up. Otherwise whether the
    /// wait was not ended by `stop`.
    pub(crate) fn wait(
        &self,
        provider: &str,
        failure: &Failure,
        silent: Duration,
        stop: &Cancel,
    ) -> Option<bool> {
        let outage = ProviderOutage::new(provider, failure.long_outage()?);
        let pause = {
            let mut patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner);
            patience.waited(silent);
            patience.pause(&outage)?
        };
        (self.tell)(&ProviderOutage::new(provider, Some(pause)));
        Some(stop.sleep(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_uses_it_up_and_a_quick_refusal_does_not() {
        let mut patience = Patience::new(Duration::from_secs(200), Duration::from_secs(5));
        patience.waited(Duration::from_secs(12));
        patience.waited(Duration::from_secs(190));
        assert_eq!(seconds(&mut patience, &outage(None)), [5, 5]);
    }

    fn outage(seconds: Option<u64>) -> ProviderOutage {
        ProviderOutage::new("openai", seconds.map(Duration::from_secs))
    }

    fn seconds(patience: &mut Patience, of: &ProviderOutage) -> Vec<u64> {
        std::iter::from_fn(|| patience.pause(of))
            .map(|pause| pause.as_secs())
            .collect()
    }

    #[test]
    fn pauses_grow_to_a_minute_until_the_patience_is_used_up() {
        let of = |left, first| Patience::new(Duration::from_secs(left), Duration::from_secs(first));
        assert_eq!(
            seconds(&mut of(200, 5), &outage(None)),
            [5, 10, 20, 40, 60, 60, 5]
        );
        assert!(seconds(&mut of(0, 5), &outage(None)).is_empty());
        assert_eq!(seconds(&mut of(3, 5), &outage(None)), [3]);
        assert_eq!(seconds(&mut of(100, 90), &outage(None)), [60, 40]);
    }

    #[test]
    fn what_the_provider_asks_for_counts_before_our_own_pauses() {
        let mut patience = Patience::new(Duration::from_secs(100), Duration::from_secs(5));
        assert_eq!(seconds(&mut patience, &outage(Some(45))), [45, 45]);
        // Ten are left, and the provider asks for more.
        assert_eq!(patience.pause(&outage(Some(11))), None);
        assert_eq!(
            patience.pause(&outage(Some(0))),
            Some(Duration::from_millis(100))
        );
    }
}
