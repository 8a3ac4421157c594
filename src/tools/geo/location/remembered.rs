//! Facts that a session looks up once: its location, and Google credentials.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::problem::Outcome;

/// The module's state of the session.
#[derive(Default)]
pub(super) struct LocationCache {
    /// The user's location, as reported.
    pub(super) place: CachedOnce<String>,
    /// The access token for Google, if there is one.
    pub(super) token: CachedOnce<Option<GcloudToken>>,
}

/// An access token for Google on behalf of the user.
#[derive(Clone)]
pub(super) struct GcloudToken {
    /// The token itself.
    pub(super) secret: String,
    /// The project that is billed; a user's token is refused without one.
    pub(super) project: Option<String>,
}

/// Something that is found out when it is first needed.
pub(super) struct CachedOnce<T>(Mutex<Option<T>>);

impl<T> Default for CachedOnce<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> CachedOnce<T> {
    /// The cached value, or the result of `find`. Of two concurrent calls only one runs it.
    ///
    /// # Errors
    /// Those of `find`; the next call tries again.
    pub(super) fn get(&self, find: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let mut kept = self.lock();
        if let Some(known) = &*kept {
            return Ok(known.clone());
        }
        Ok(kept.insert(find()?).clone())
    }

    /// The value, when it has been found out; also `None` while somebody is finding it out.
    pub(super) fn known(&self) -> Option<T> {
        self.0.try_lock().ok()?.clone()
    }

    /// Forgets it: it was refused, or there is a new one.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Problem;

    #[test]
    fn found_once_until_it_is_forgotten_and_failures_are_not_kept() {
        let once = CachedOnce::default();
        assert!(once.get(|| Err(Problem::cancelled())).is_err());
        assert_eq!(once.get(|| Ok(1)).unwrap(), 1);
        assert_eq!(once.get(|| Ok(2)).unwrap(), 1);
        once.forget();
        assert_eq!(once.get(|| Ok(3)).unwrap(), 3);
    }
}
