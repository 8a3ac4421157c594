//! The client for the services of the table. A request waits for its host's rate limit, identifies Marvin and the contact, is limited in time and
//! size, and is retried at most once, when the service says when.
//!
//! `request` builds one, `send` does it, `answer` is what came back; `rate_limit`, `time_limit` and `cache` are asked on the way. Called by the tools of the
//! services. It knows the table of services and not what their answers mean.

mod answer;
mod cache;
mod rate_limit;
mod request;
mod send;
pub(crate) mod time_limit;

use std::path::PathBuf;
use std::time::Duration;

use ureq::http::Uri;

use crate::net::service::cache::{Answers, Clients};
use crate::net::service::rate_limit::RateLimiter;
pub(crate) use crate::net::service::request::{AnsweredBy, RequestBuilder, encoded};
pub use answer::ServiceResponse;
pub(crate) use answer::{Unread, body, body_so_far, retry_time};
use send::host;

use super::services::Service;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;

/// The longest pause that a service can impose.
const REST: Duration = Duration::from_secs(3_600);

/// Whether an address is one of this machine.
pub(crate) fn is_on_this_machine(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    uri.is_some_and(|uri| uri.host().is_some_and(rate_limit::is_local_name))
}

/// The client for services, shared by all requests of a session.
pub struct ServiceClient {
    env: Env,
    gates: RateLimiter,
    answers: Answers,
    clients: Clients,
}

impl ServiceClient {
    /// Creates a client; `gates` is the folder for the rate limits shared between processes. Opens and reads nothing.
    pub fn new(env: &Env, gates: Option<PathBuf>) -> Self {
        Self {
            env: env.clone(),
            gates: RateLimiter::new(gates),
            answers: Answers::default(),
            clients: Clients::default(),
        }
    }

    /// Starts a request to `service`; `contact` goes into the User-Agent.
    pub fn request<'a>(
        &'a self,
        service: &'static Service,
        contact: Option<String>,
        stop: &Cancel,
    ) -> RequestBuilder<'a> {
        RequestBuilder::new(self, service, contact, stop)
    }

    /// Waits until a request to `host` may be sent: one per `gap` across all processes, except for hosts on this machine.
    pub fn wait_turn(&self, who: &str, host: &str, gap: Duration, stop: &Cancel) -> Outcome<()> {
        if rate_limit::is_local_host(host) {
            return stop.check();
        }
        self.gates.pass(who, who, gap, stop)
    }

    /// Stops requests to a service for `time`, because it refused one or asked for a pause.
    pub fn hold_back(&self, service: &'static Service, time: Duration) {
        let host = host(service.base_in(&self.env));
        self.gates.pause(&host, service.name, time.min(REST));
    }
}

#[cfg(test)]
mod tests;
