//! Builds a request to a service: what to fetch, what to cache, how long it may take.

use std::fmt::{Display, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::ServiceClient;
use super::answer::ServiceResponse;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::net::services::Service;

/// Default size limit of a body, after decompression.
const MAX_BODY_BYTES: usize = 8 << 20;
/// Default limit for the wait before a retry.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);

pub(super) enum RequestBody<'a> {
    Nothing,
    /// Its content type and its bytes.
    Body(&'a str, &'a [u8]),
}

/// Ids of the services that answered, without duplicates, in the order of their first answers; shared by the requests of a call.
#[derive(Debug, Default)]
pub struct AnsweredBy(Mutex<Vec<&'static str>>);

impl AnsweredBy {
    pub fn ids(&self) -> Vec<&'static str> {
        self.lock().clone()
    }

    pub(crate) fn add(&self, id: &'static str) {
        let mut ids = self.lock();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under construction.
#[must_use]
pub struct RequestBuilder<'a> {
    pub(crate) out: &'a ServiceClient,
    pub(crate) service: &'static Service,
    pub(crate) contact: Option<String>,
    pub(crate) stop: Cancel,
    pub(crate) base: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) hidden: Vec<String>,
    pub(crate) max_bytes: usize,
    pub(crate) keep: Option<Duration>,
    pub(crate) is_cacheable: fn(&Value) -> bool,
    pub(crate) max_retry_wait: Duration,
    pub(crate) again: Option<Duration>,
    pub(crate) again_failed: Option<Duration>,
    pub(crate) once: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) patience: Option<Duration>,
    pub(crate) answered_by: Option<Arc<AnsweredBy>>,
}

impl<'a> RequestBuilder<'a> {
    /// A request to `service` without parameters.
    pub(crate) fn new(
        out: &'a ServiceClient,
        service: &'static Service,
        contact: Option<String>,
        stop: &Cancel,
    ) -> Self {
        Self {
            out,
            service,
            contact,
            stop: stop.clone(),
            base: service.base_in(&out.env).to_owned(),
            path: String::new(),
            query: String::new(),
            headers: Vec::new(),
            hidden: Vec::new(),
            max_bytes: MAX_BODY_BYTES,
            keep: None,
            is_cacheable: |_| true,
            max_retry_wait: MAX_RETRY_WAIT,
            again: None,
            again_failed: None,
            once: false,
            timeout: None,
            patience: None,
            answered_by: None,
        }
    }

    /// Replaces the base of the table by one derived from it (a Wikipedia in another language). A base set by the user takes precedence.
    pub fn base(mut self, base: &str) -> Self {
        if !self.service.is_own(&self.out.env) {
            base.clone_into(&mut self.base);
        }
        self
    }

    /// Appends to the path, without encoding.
    pub fn path(mut self, path: &str) -> Self {
        self.path.push_str(path);
        self
    }

    /// Appends one encoded segment to the path.
    pub fn segment(mut self, segment: &str) -> Self {
        self.path.push('/');
        self.path.push_str(&encoded(segment));
        self
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        self.query
            .push(if self.query.is_empty() { '?' } else { '&' });
        let _ = write!(
            self.query,
            "{}={}",
            encoded(name),
            encoded(&value.to_string())
        );
        self
    }

    /// Adds a parameter without a value, for services that require it.
    pub fn flag_if(mut self, name: &str, wanted: bool) -> Self {
        if wanted {
            self.query
                .push(if self.query.is_empty() { '?' } else { '&' });
            self.query.push_str(&encoded(name));
        }
        self
    }

    /// Adds a parameter if it has a value.
    pub fn query_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a header that contains a secret, which is masked in every error.
    pub fn secret_header(mut self, name: &'static str, secret: &str, value: String) -> Self {
        self.hidden.push(secret.to_owned());
        self.header(name, value)
    }

    /// Adds a secret to the query, for services that accept it nowhere else; it is masked in every error.
    pub fn secret_query(mut self, name: &str, secret: &str) -> Self {
        self.hidden.push(secret.to_owned());
        self.query(name, secret)
    }

    /// Sets the size limit of the body.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Caches a successful JSON response for `time` and answers from the cache. For requests without a body.
    pub fn cache_for(mut self, time: Duration) -> Self {
        self.keep = Some(time);
        self
    }

    /// As [`Self::keep`], but only for valid responses: a proxy's error page with status 200 is not cached.
    pub fn cache_for_if(mut self, time: Duration, worth: fn(&Value) -> bool) -> Self {
        self.is_cacheable = worth;
        self.cache_for(time)
    }

    /// Limits the wait for a retry when the service says how long.
    pub fn max_retry_wait(mut self, time: Duration) -> Self {
        self.max_retry_wait = time;
        self
    }

    /// Retries after `time` when the service is overloaded (429, 5xx) and does not say how long to wait.
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.again = Some(time);
        self
    }

    /// As above, but only for server errors (5xx), not for rate limits.
    pub fn retry_server_errors_after(mut self, time: Duration) -> Self {
        self.again_failed = Some(time);
        self
    }

    /// Never retries.
    pub fn without_retry(mut self) -> Self {
        self.once = true;
        self
    }

    /// Limits the whole request: waiting for the rate limit, the response and a retry.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// For a service that computes for a long time: how long it may stay silent, before its answer and within it.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = Some(time);
        self
    }

    pub fn note_answer(mut self, by: &Arc<AnsweredBy>) -> Self {
        self.answered_by = Some(Arc::clone(by));
        self
    }

    /// Sends the request.
    ///
    /// # Errors
    /// `Config` without the contact that the service requires; `Limit` during a pause, or for a body that is too large; `Network`; `Cancelled`.
    /// Every status is an answer.
    pub fn get(self) -> Outcome<ServiceResponse> {
        self.send(&RequestBody::Nothing)
    }

    pub fn form(self, pairs: &[(&str, &str)]) -> Outcome<ServiceResponse> {
        let body: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let body = body.join("&");
        self.send(&RequestBody::Body(
            "application/x-www-form-urlencoded",
            body.as_bytes(),
        ))
    }

    pub fn json(self, value: &Value) -> Outcome<ServiceResponse> {
        self.send(&RequestBody::Body(
            "application/json",
            value.to_string().as_bytes(),
        ))
    }

    /// Posts a body of the type `kind`.
    pub fn body(self, kind: &str, body: &[u8]) -> Outcome<ServiceResponse> {
        self.send(&RequestBody::Body(kind, body))
    }
}

/// Percent-encodes `text` for a path or query: everything but unreserved characters (RFC 3986 section 2.3).
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
