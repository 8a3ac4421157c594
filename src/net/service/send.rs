//! Sends a request: rate limit, retries, redirects.

use std::time::Duration;

use super::answer::ServiceResponse;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::thousands;
use crate::formats::address::Address;
use crate::net::error::{NetError, Peer};
use crate::net::guarded_client::GuardedClient;
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;
use crate::net::service::request::{RequestBody, RequestBuilder};
use crate::net::service::{REST, time_limit};
use crate::net::services::variable;
use crate::net::user_agent::agent;

/// Timeouts by phase; the calling tool has a total.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    silence: Duration::from_secs(15),
};
/// Longest address in bytes; servers accept no longer ones.
const MAX_URL_BYTES: usize = 8_000;
const HOPS: usize = 3;

impl RequestBuilder<'_> {
    /// Fails when the public server requires a contact and none is set.
    pub fn allowed(&self) -> Outcome<()> {
        let service = self.service;
        if service.contact && self.contact.is_none() && !service.is_own(&self.out.env) {
            return Err(Problem::config(format!(
                "The public server of {} requires a contact in the User-Agent.",
                service.name
            ))
            .next(format!(
                "Set MARVIN_CONTACT (or contact: in the preferences) to an e-mail or web address of yours, or {} to a server of your own.",
                variable(service.id)
            )));
        }
        Ok(())
    }

    pub(super) fn send(mut self, sent: &RequestBody<'_>) -> Outcome<ServiceResponse> {
        self.allowed()?;
        let (id, answered_by) = (self.service.id, self.answered_by.take());
        let answer = match self.timeout {
            None => self.tried(sent),
            Some(time) => {
                let name = self.service.name;
                time_limit::limited(&self.stop.clone(), time, name, |stop| {
                    self.stop = stop.clone();
                    self.tried(sent)
                })
            }
        }?;
        if let Some(by) = answered_by.filter(|_| (200..300).contains(&answer.status)) {
            by.add(id);
        }
        Ok(answer)
    }

    fn tried(mut self, sent: &RequestBody<'_>) -> Outcome<ServiceResponse> {
        let url = format!("{}{}{}", self.base, self.path, self.query);
        if url.len() > MAX_URL_BYTES {
            return Err(Problem::input(format!(
                "The request to {} is {} bytes long; the limit is {}.",
                self.service.name,
                thousands(url.len() as u64),
                thousands(MAX_URL_BYTES as u64)
            ))
            .next("Ask for less at once."));
        }
        let keep = self.keep.filter(|_| matches!(sent, RequestBody::Nothing));
        if keep.is_some()
            && let Some(answer) = self.out.answers.get(&url)
        {
            return Ok(answer);
        }
        let named = |name: &str| self.headers.iter().any(|(own, _)| *own == name);
        let (accept, encoding) = (named("accept"), named("accept-encoding"));
        if !accept {
            self.headers.push(("accept", "*/*".to_owned()));
        }
        if !encoding {
            self.headers.push(("accept-encoding", "gzip".to_owned()));
        }
        if let RequestBody::Body(kind, _) = sent {
            self.headers.push(("content-type", (*kind).to_owned()));
        }
        let mut answer = self.attempt(&url, sent)?;
        if let Some(wait) = self.wait(&answer) {
            if !self.stop.sleep(wait) {
                return Err(Problem::cancelled());
            }
            answer = self.attempt(&url, sent)?;
        }
        if let Some(wait) = answer.retry_after().filter(|_| is_busy(&answer)) {
            // The host of the request, not of the table: a Wikipedia in another language has limits of its own.
            let gates = &self.out.gates;
            gates.pause(&host(&url), self.service.name, wait.min(REST));
        }
        let worth = || {
            answer
                .sound()
                .is_some_and(|value| (self.is_cacheable)(&value))
        };
        if let Some(time) = keep.filter(|_| worth()) {
            self.out.answers.put(url, time, &answer);
        }
        Ok(answer)
    }

    /// How long to wait before the retry; `None` when there is none.
    fn wait(&self, answer: &ServiceResponse) -> Option<Duration> {
        let wait = match answer.retry_after() {
            Some(wait) => wait,
            None => self.again.or_else(|| {
                let failed = answer.status >= 500;
                self.again_failed.filter(|_| failed)
            })?,
        };
        (!self.once && is_busy(answer) && wait <= self.max_retry_wait).then_some(wait)
    }

    /// One attempt, including redirects.
    fn attempt(&self, url: &str, sent: &RequestBody<'_>) -> Outcome<ServiceResponse> {
        let mut url = url.to_owned();
        for _ in 0..=HOPS {
            let (answer, next) = self.hop(&url, sent)?;
            let Some(next) = next.filter(|_| matches!(sent, RequestBody::Nothing)) else {
                return Ok(answer);
            };
            if origin(&next) != origin(&url) {
                return self.follow_to_other_host(&next);
            }
            url = next;
        }
        Err(Problem::network(format!(
            "{} redirects more than {HOPS} times.",
            self.service.name
        ))
        .next("Try again later."))
    }

    /// Sends one request. Also returns the target of a redirect.
    fn hop(&self, url: &str, sent: &RequestBody<'_>) -> Outcome<(ServiceResponse, Option<String>)> {
        let (name, out) = (self.service.name, self.out);
        out.gates
            .pass(&host(url), name, self.service.gap, &self.stop)?;
        let origin = origin(url);
        let client = match out.clients.take(&origin) {
            Some(client) => client,
            None => self.client(url)?,
        };
        let response = self
            .request(&client, url, sent)
            .map_err(|error| error.problem(Peer::from(name).through(client.proxy())))?;
        let next = match response.status {
            301 | 302 | 303 | 307 | 308 => response.header_text("location"),
            _ => None,
        };
        let next = match next {
            Some(next) => Some(self.joined(url, &next)?),
            None => None,
        };
        let answer =
            ServiceResponse::read(self.service, response, self.max_bytes, self.hidden.clone())
                .map_err(|error| error.problem(name))?;
        out.clients.give(origin, client);
        Ok((answer, next))
    }

    fn request(
        &self,
        client: &Client,
        url: &str,
        sent: &RequestBody<'_>,
    ) -> Result<Response, NetError> {
        match sent {
            RequestBody::Nothing => client.get(url, &self.headers, &self.stop),
            RequestBody::Body(_, body) => {
                client.post_within(url, &self.headers, body, self.patience, &self.stop)
            }
        }
    }

    fn client(&self, url: &str) -> Outcome<Client> {
        Ok(Client::new(ClientOptions {
            limits: LIMITS,
            agent: agent(&self.out.env, self.contact.as_deref()),
            route: ProxyRoute::for_url(&self.out.env, url)?,
        }))
    }

    /// Resolves the redirect target `next` relative to `url`. An invalid one is the service's fault and is not shown, because it may contain a key.
    fn joined(&self, url: &str, next: &str) -> Outcome<String> {
        match Address::parse(url)?.join(next) {
            Ok(address) => Ok(address.to_string()),
            Err(_) => Err(Problem::network(format!(
                "{} redirects to an invalid web address.",
                self.service.name
            ))
            .next("Try again later, or use another source.")),
        }
    }

    /// Follows a redirect to another host like an address on a page: checked, and without keys.
    fn follow_to_other_host(&self, url: &str) -> Outcome<ServiceResponse> {
        let open = |pair: &&(&'static str, String)| pair.0.starts_with("accept");
        let headers: Vec<_> = self.headers.iter().filter(open).cloned().collect();
        let fetched = GuardedClient::new(&self.out.env)?
            .with_contact(self.contact.as_deref())
            .with_limits(LIMITS)
            .open(&Address::parse(url)?, &headers, &self.stop)
            .map_err(|mut problem| {
                if problem.kind == ProblemKind::Refused {
                    problem.what = format!("{} redirects: {}", self.service.name, problem.what);
                }
                problem
            })?;
        ServiceResponse::read(
            self.service,
            fetched.response,
            self.max_bytes,
            self.hidden.clone(),
        )
        .map_err(|error| error.problem(self.service.name))
    }
}

/// True for statuses that mean "try again later".
fn is_busy(answer: &ServiceResponse) -> bool {
    answer.status == 429 || answer.status >= 500
}

/// Scheme, host and port of an address.
pub(super) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    format!("{scheme}://{}", rest.get(..end).unwrap_or_default())
}

/// Host and port of an address.
pub(super) fn host(url: &str) -> String {
    let origin = origin(url);
    let (_, host) = origin.split_once("://").unwrap_or_default();
    host.to_owned()
}
