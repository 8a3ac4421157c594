//! What stages found in this conversation and may find again: a small cache in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries kept; the one that was not used for the longest time goes first.
const MAX_ENTRIES: usize = 128;

/// The key of the rendered warm profile.
pub(crate) const WARM_PROFILE: &str = "warm_profile_block";

/// The results of stages in the present conversation, without an age limit.
#[derive(Debug, Default)]
pub(crate) struct ScratchCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    /// From the one that was not used for the longest time.
    list: VecDeque<(String, String)>,
    /// Counts removals.
    epoch: u64,
}

/// A moment in the life of the cache: a value found since then is stale when something was removed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheEpoch(u64);

impl ScratchCache {
    /// The present moment, to be taken before a value is computed.
    pub(crate) fn epoch(&self) -> CacheEpoch {
        CacheEpoch(self.entries().epoch)
    }

    /// The value of `key`, which counts as used now.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let list = &mut self.entries().list;
        let at = list.iter().position(|(own, _)| own == key)?;
        let entry = list.remove(at)?;
        let value = entry.1.clone();
        list.push_back(entry);
        Some(value)
    }

    /// Keeps a value that was computed since `epoch`, unless something was removed meanwhile.
    pub(crate) fn put(&self, epoch: CacheEpoch, key: &str, value: String) {
        let mut entries = self.entries();
        if entries.epoch != epoch.0 {
            return;
        }
        let list = &mut entries.list;
        list.retain(|(own, _)| own != key);
        list.push_back((key.to_owned(), value));
        if list.len() > MAX_ENTRIES {
            list.pop_front();
        }
    }

    /// Drops one value.
    pub(crate) fn remove(&self, key: &str) {
        let mut entries = self.entries();
        entries.epoch += 1;
        entries.list.retain(|(own, _)| own != key);
    }

    /// Drops everything: the conversation has ended, or the profile is another one.
    pub(crate) fn clear(&self) {
        let mut entries = self.entries();
        entries.epoch += 1;
        entries.list.clear();
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &ScratchCache, key: &str, value: &str) {
        cache.put(cache.epoch(), key, value.to_owned());
    }

    #[test]
    fn the_least_recently_used_value_goes_first() {
        let cache = ScratchCache::default();
        for n in 0..MAX_ENTRIES {
            put(&cache, &format!("router:{n}"), "x");
        }
        assert!(cache.get("router:0").is_some());
        put(&cache, WARM_PROFILE, "");
        assert_eq!(cache.get("router:1"), None);
        assert!(cache.get("router:0").is_some());
        assert_eq!(cache.get(WARM_PROFILE).as_deref(), Some(""));
        put(&cache, WARM_PROFILE, "lives in Oban");
        assert_eq!(cache.get(WARM_PROFILE).as_deref(), Some("lives in Oban"));
        cache.clear();
        assert_eq!(cache.get("router:0"), None);
    }

    #[test]
    fn a_value_that_became_stale_while_it_was_computed_is_not_kept() {
        let cache = ScratchCache::default();
        let before = cache.epoch();
        cache.remove(WARM_PROFILE);
        cache.put(before, WARM_PROFILE, "old".to_owned());
        assert_eq!(cache.get(WARM_PROFILE), None);
        put(&cache, WARM_PROFILE, "new");
        assert_eq!(cache.get(WARM_PROFILE).as_deref(), Some("new"));
    }
}
