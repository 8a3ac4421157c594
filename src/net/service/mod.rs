//! The one client for the services of the table: a request waits for its host's rate limit, names Marvin and the contact, is limited in time and
//! size, and is retried at most once, when the service says when.

mod answer;
mod cache;
mod rate_limit;
mod request;
mod send;
pub(crate) mod time_limit;

use std::path::PathBuf;
use std::time::Duration;

use crate::net::service::cache::{Answers, Clients};
use crate::net::service::rate_limit::RateLimiter;
pub(crate) use crate::net::service::request::{AnsweredBy, RequestBuilder, encoded};
pub use answer::ServiceResponse;
pub(crate) use answer::{Unread, again, body, body_so_far};
use send::host;

use super::services::Service;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;

/// The longest pause that a service can ask for.
const REST: Duration = Duration::from_secs(3_600);

/// The service client: shared by all requests of a session.
#[derive(Debug)]
pub struct ServiceClient {
    env: Env,
    gates: RateLimiter,
    answers: Answers,
    clients: Clients,
}

impl ServiceClient {
    /// A client for `env`; `gates` is the folder with the rate limit files shared by processes. Nothing is opened or read.
    pub fn new(env: &Env, gates: Option<PathBuf>) -> Self {
        Self {
            env: env.clone(),
            gates: RateLimiter::new(gates),
            answers: Answers::default(),
            clients: Clients::default(),
        }
    }

    /// Begins a request to `service`; `contact` is named in the User-Agent.
    pub fn request<'a>(
        &'a self,
        service: &'static Service,
        contact: Option<String>,
        stop: &Cancel,
    ) -> RequestBuilder<'a> {
        RequestBuilder::new(self, service, contact, stop)
    }

    /// Waits until `who` may send a request to `host`: one per `gap`, across all processes. Hosts on this machine have no limit.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn wait_turn(&self, who: &str, host: &str, gap: Duration, stop: &Cancel) -> Outcome<()> {
        if rate_limit::is_here(host) {
            return stop.check();
        }
        self.gates.pass(who, who, gap, stop)
    }

    /// Sends nothing to a service for `time`: it refused, or asked for a pause in its own message.
    pub fn hold_back(&self, service: &'static Service, time: Duration) {
        let host = host(service.base_in(&self.env));
        self.gates.shut(&host, service.name, time.min(REST));
    }
}

#[cfg(test)]
mod tests;
