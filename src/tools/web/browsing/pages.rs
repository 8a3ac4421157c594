//! A cache of pages: reading on does not fetch again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a page is kept.
const TIME: Duration = Duration::from_secs(300);
/// Pages that are kept, and the total size of their texts.
const PAGES: usize = 16;
const BYTES: usize = 16 << 20;

/// One page as text.
#[derive(Debug)]
pub(super) struct CachedPage {
    /// Lines to say before its text.
    pub(super) head: String,
    /// Where it came from at last.
    pub(super) source: String,
    /// Its text.
    pub(super) text: String,
}

/// The pages of a session; the newest last.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<VecDeque<(String, Instant, Arc<CachedPage>)>>);

impl Pages {
    /// The page that `address` gave a while ago.
    pub(super) fn get(&self, address: &str) -> Option<Arc<CachedPage>> {
        let now = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, until, _)| *until > now);
        let found = kept.iter().find(|(own, ..)| own == address);
        found.map(|(.., leaf)| Arc::clone(leaf))
    }

    /// Keeps a page.
    pub(super) fn put(&self, address: String, leaf: &Arc<CachedPage>) {
        self.keep(address, leaf, TIME);
    }

    fn keep(&self, address: String, leaf: &Arc<CachedPage>, time: Duration) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(own, ..)| *own != address);
        kept.push_back((address, Instant::now() + time, Arc::clone(leaf)));
        let mut bytes: usize = kept.iter().map(|(.., leaf)| leaf.text.len()).sum();
        while kept.len() > PAGES || bytes > BYTES {
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
    fn pages_hold_for_a_while_and_not_without_end() {
        let leaf = |size: usize| {
            Arc::new(CachedPage {
                head: String::new(),
                source: String::new(),
                text: "x".repeat(size),
            })
        };
        let pages = Pages::default();
        pages.put("a".to_owned(), &leaf(1));
        pages.keep("b".to_owned(), &leaf(1), Duration::ZERO);
        assert!(pages.get("a").is_some() && pages.get("b").is_none());
        pages.put("a".to_owned(), &leaf(2));
        assert_eq!(pages.get("a").unwrap().text, "xx");
        pages.put("big".to_owned(), &leaf(BYTES));
        assert!(pages.get("a").is_none() && pages.get("big").is_some());
        for n in 0..=PAGES {
            pages.put(n.to_string(), &leaf(1));
        }
        assert!(pages.get("0").is_none() && pages.get("1").is_some());
    }
}
