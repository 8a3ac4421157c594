//! The HTTP client for addresses from a page or a model: each hop of a redirect is checked, and connected to the checked addresses.

use std::time::Duration;

use super::error::{NetError, Peer};
use super::guard::Guard;
use super::http::{Client, ClientOptions, Response, Timeouts};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::address::Address;
use crate::net::proxies::ProxyRoute;
use crate::net::user_agent::agent;

/// Redirects followed by default.
const HOPS: usize = 10;
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    silence: Duration::from_secs(30),
};

/// Fetches from untrusted addresses.
#[derive(Debug, Clone)]
#[must_use]
pub struct GuardedClient {
    env: Env,
    guard: Guard,
    limits: Timeouts,
    contact: Option<String>,
    hops: usize,
    /// An origin that the user chose.
    own: Option<String>,
}

/// A response, and the address it came from.
pub struct GuardedResponse {
    /// Its body has not been read yet.
    pub response: Response,
    /// The final address, after redirects.
    pub address: Address,
}

impl GuardedClient {
    /// A client with the proxies and exceptions of the environment.
    pub fn new(env: &Env) -> Outcome<Self> {
        Ok(Self {
            guard: Guard::new(env)?,
            env: env.clone(),
            limits: LIMITS,
            contact: None,
            hops: HOPS,
            own: None,
        })
    }

    #[cfg(test)]
    pub(crate) fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Adds a contact to the User-Agent.
    pub fn with_contact(mut self, contact: Option<&str>) -> Self {
        self.contact = contact.map(str::to_owned);
        self
    }

    pub fn with_limits(mut self, limits: Timeouts) -> Self {
        self.limits = limits;
        self
    }

    /// Follows at most this many redirects.
    pub fn with_hops(mut self, hops: usize) -> Self {
        self.hops = hops;
        self
    }

    /// Lets addresses of this origin through unchecked: the user chose it, as with the base address of a service.
    pub(crate) fn with_own(mut self, origin: String) -> Self {
        self.own = Some(origin);
        self
    }

    /// Requests `address` and follows its redirects; a status of 400 or more is not an error. The headers go to every hop, so they must not contain
    /// keys.
    ///
    /// # Errors
    /// `Refused` when a hop is private or no web address; `Network`, also for a part in place of the whole; `Cancelled`.
    pub fn open(
        &self,
        address: &Address,
        headers: &[(&str, String)],
        stop: &Cancel,
    ) -> Outcome<GuardedResponse> {
        let mut address = address.clone();
        for hop in 0..=self.hops {
            let judged = self.get(&address, headers, stop);
            let response = match judged {
                Ok(response) => response,
                Err(problem) if hop == 0 => return Err(problem),
                Err(mut problem) => {
                    if !problem.is_cancelled() {
                        problem.what = format!("The address redirects: {}", problem.what);
                    }
                    return Err(problem);
                }
            };
            let next = match response.status {
                301 | 302 | 303 | 307 | 308 => response.header_text("location"),
                _ => None,
            };
            let Some(next) = next else {
                if response.status == PARTIAL_CONTENT {
                    return Err(partial(&address));
                }
                return Ok(GuardedResponse { response, address });
            };
            address = address.join(&next).map_err(|mut problem| {
                problem.what = format!("{} redirects: {}", address.host, problem.what);
                problem
            })?;
        }
        Err(Problem::network(format!(
            "The address redirects more than {} times.",
            self.hops
        ))
        .next("Use the address that it should lead to."))
    }

    /// Requests `address` once; a redirect is a response.
    ///
    /// # Errors
    /// `Refused` when the address is private; `Network`; `Cancelled`.
    pub(crate) fn get(
        &self,
        address: &Address,
        headers: &[(&str, String)],
        stop: &Cancel,
    ) -> Outcome<Response> {
        self.ask(address, stop, |client, url| client.get(url, headers, stop))
    }

    /// Posts a body to `address` once; a redirect is a response.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn post(
        &self,
        address: &Address,
        headers: &[(&str, String)],
        body: &[u8],
        stop: &Cancel,
    ) -> Outcome<Response> {
        self.ask(address, stop, |client, url| {
            client.post(url, headers, body, stop)
        })
    }

    /// Checks an address without opening it.
    ///
    /// # Errors
    /// `Refused` when it is private; `Network` when its host is not known; `Cancelled`.
    pub(crate) fn check(&self, address: &Address, stop: &Cancel) -> Outcome<()> {
        self.route(address, stop).map(|_| ())
    }

    /// The way to an address, which ends where it was checked.
    fn route(&self, address: &Address, stop: &Cancel) -> Outcome<ProxyRoute> {
        let mut route = ProxyRoute::for_url(&self.env, &address.to_string())?;
        if self.own.as_ref() != Some(&address.origin()) {
            let proxied = route.proxy.is_some();
            let limit = self.limits.connect;
            route.pinned = Some(self.guard.resolve_allowed(address, proxied, limit, stop)?);
        }
        Ok(route)
    }

    fn ask(
        &self,
        address: &Address,
        stop: &Cancel,
        send: impl FnOnce(&Client, &str) -> Result<Response, NetError>,
    ) -> Outcome<Response> {
        let client = Client::new(ClientOptions {
            limits: self.limits,
            agent: agent(&self.env, self.contact.as_deref()),
            route: self.route(address, stop)?,
        });
        send(&client, &address.to_string()).map_err(|error| {
            let host = address.host.to_string();
            error.problem(Peer::from(&host).through(client.proxy()))
        })
    }
}

/// Status 206: no request here asks for a range (RFC 9110 section 15.3.7).
pub(super) const PARTIAL_CONTENT: u16 = 206;

fn partial(address: &Address) -> Problem {
    Problem::network(format!(
        "{} sent only a part of {} (206), which was not requested.",
        address.host,
        clip(&escape_controls(&address.target), 200)
    ))
    .next("Try again later: a cache on the way may be broken.")
}
