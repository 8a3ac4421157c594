//! A cache of pages, so that continued reading does not fetch again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a page is cached.
const CACHE_TIME: Duration = Duration::from_secs(300);
/// Maximum number of cached pages, and the total size of their texts.
const MAX_PAGES: usize = 16;
const BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct CachedPage {
    /// Notes to show before its text.
    pub(super) head: String,
    /// The final address.
    pub(super) source: String,
    pub(super) text: String,
}

/// The pages of a session; the newest last.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<VecDeque<(String, Instant, Arc<CachedPage>)>>);

impl Pages {
    pub(super) fn get(&self, address: &str) -> Option<Arc<CachedPage>> {
        let now = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, until, _)| *until > now);
        let found = kept.iter().find(|(own, ..)| own == address);
        found.map(|(.., page)| Arc::clone(page))
    }

    pub(super) fn put(&self, address: String, page: &Arc<CachedPage>) {
        self.keep(address, page, CACHE_TIME);
    }

    fn keep(&self, address: String, page: &Arc<CachedPage>, time: Duration) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(own, ..)| *own != address);
        kept.push_back((address, Instant::now() + time, Arc::clone(page)));
        let mut bytes: usize = kept.iter().map(|(.., page)| page.text.len()).sum();
        while kept.len() > MAX_PAGES || bytes > BYTES {
            let Some((.., oldest)) = kept.pop_front() else {
                break;
            };
            bytes -= oldest.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_expire_and_the_cache_is_bounded() {
        let page = |size: usize| {
            Arc::new(CachedPage {
                head: String::new(),
                source: String::new(),
                text: "x".repeat(size),
            })
        };
        let pages = Pages::default();
        pages.put("a".to_owned(), &page(1));
        pages.keep("b".to_owned(), &page(1), Duration::ZERO);
        assert!(pages.get("a").is_some() && pages.get("b").is_none());
        pages.put("a".to_owned(), &page(2));
        assert_eq!(pages.get("a").unwrap().text, "xx");
        pages.put("big".to_owned(), &page(BYTES));
        assert!(pages.get("a").is_none() && pages.get("big").is_some());
        for n in 0..=MAX_PAGES {
            pages.put(n.to_string(), &page(1));
        }
        assert!(pages.get("0").is_none() && pages.get("1").is_some());
    }
}
