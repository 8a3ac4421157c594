//! The cache of responses and the pool of idle connections.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::answer::ServiceResponse;
use crate::net::http::Client;

/// Cached responses, and their total size in bytes.
const ANSWERS: usize = 64;
const BYTES: usize = 16 << 20;
const IDLE: usize = 8;

/// Responses with their address and expiry, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<VecDeque<(String, Instant, ServiceResponse)>>);

impl Answers {
    pub(crate) fn get(&self, url: &str) -> Option<ServiceResponse> {
        let now = Instant::now();
        let mut kept = lock(&self.0);
        kept.retain(|(_, until, _)| *until > now);
        let found = kept.iter().find(|(own, ..)| own == url);
        found.map(|(.., answer)| answer.clone())
    }

    pub(crate) fn put(&self, url: String, time: Duration, answer: &ServiceResponse) {
        let mut kept = lock(&self.0);
        kept.retain(|(own, ..)| *own != url);
        kept.push_back((url, Instant::now() + time, answer.clone()));
        let mut bytes: usize = kept.iter().map(|(.., answer)| answer.bytes.len()).sum();
        while kept.len() > ANSWERS || bytes > BYTES {
            let Some((.., oldest)) = kept.pop_front() else {
                break;
            };
            bytes -= oldest.bytes.len();
        }
    }
}

/// Idle clients. Each serves one request at a time, so that cancelling one request does not end another.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<VecDeque<(String, Client)>>);

impl Clients {
    /// An idle client that is connected to `origin`.
    pub(crate) fn take(&self, origin: &str) -> Option<Client> {
        let mut idle = lock(&self.0);
        let index = idle.iter().rposition(|(own, _)| own == origin)?;
        idle.remove(index).map(|(_, client)| client)
    }

    /// Returns a client whose last response was read completely.
    pub(crate) fn give(&self, origin: String, client: Client) {
        let mut idle = lock(&self.0);
        idle.push_back((origin, client));
        if idle.len() > IDLE {
            idle.pop_front();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::services::OMDB;

    fn answer(size: usize) -> ServiceResponse {
        ServiceResponse::new(&OMDB, 200, vec![b'x'; size])
    }

    #[test]
    fn answers_hold_for_a_while_and_not_without_end() {
        let kept = Answers::default();
        kept.put("a".to_owned(), Duration::from_secs(60), &answer(1));
        kept.put("b".to_owned(), Duration::ZERO, &answer(1));
        assert_eq!(kept.get("a").unwrap().bytes, b"x");
        assert!(kept.get("b").is_none() && kept.get("c").is_none());
        kept.put("big".to_owned(), Duration::from_secs(60), &answer(BYTES));
        assert!(kept.get("a").is_none() && kept.get("big").is_some());
        for n in 0..ANSWERS + 1 {
            kept.put(n.to_string(), Duration::from_secs(60), &answer(1));
        }
        assert!(kept.get("0").is_none() && kept.get("1").is_some());
    }
}
