//! Sends a request: rate limit, retries, redirects.

use std::time::Duration;

use super::answer::Answer;
use crate::base::problem::{Kind, Outcome, Problem};
use crate::base::text::thousands;
use crate::formats::address::Address;
use crate::net::guarded_client::Visitor;
use crate::net::http::{Client, Limits, NetError, Response, Setup};
use crate::net::proxies::Route;
use crate::net::service::request::{Ask, Sent};
use crate::net::service::{REST, time_limit};
use crate::net::services::variable;
use crate::net::user_agent::agent;

/// Time limits of a request by phase; the calling tool has its own total.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    silence: Duration::from_secs(15),
};
/// Bytes of an address at most; servers take no longer ones.
const LONGEST: usize = 8_000;
/// Redirects that are followed.
const HOPS: usize = 3;

impl Ask<'_> {
    /// Succeeds when requests are allowed: the contact is set if the public server requires one.
    ///
    /// # Errors
    /// `Config` with what to set.
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

    pub(super) fn send(mut self, sent: &Sent<'_>) -> Outcome<Answer> {
        self.allowed()?;
        let (id, answered_by) = (self.service.id, self.answered_by.take());
        let answer = match self.within {
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

    fn tried(mut self, sent: &Sent<'_>) -> Outcome<Answer> {
        let url = format!("{}{}{}", self.base, self.path, self.query);
        if url.len() > LONGEST {
            return Err(Problem::input(format!(
                "The request to {} is {} bytes long; {} are the most.",
                self.service.name,
                thousands(url.len() as u64),
                thousands(LONGEST as u64)
            ))
            .next("Ask for less at once."));
        }
        let keep = self.keep.filter(|_| matches!(sent, Sent::Nothing));
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
        if let Sent::Body(kind, _) = sent {
            self.headers.push(("content-type", (*kind).to_owned()));
        }
        let mut answer = self.once(&url, sent)?;
        if let Some(wait) = self.wait(&answer) {
            if !self.stop.sleep(wait) {
                return Err(Problem::cancelled());
            }
            answer = self.once(&url, sent)?;
        }
        if let Some(wait) = answer.retry_after().filter(|_| is_busy(&answer)) {
            // Not the table's host: a Wikipedia in another language refuses for itself.
            let gates = &self.out.gates;
            gates.shut(&host(&url), self.service.name, wait.min(REST));
        }
        let worth = || answer.sound().is_some_and(|value| (self.worth)(&value));
        if let Some(time) = keep.filter(|_| worth()) {
            self.out.answers.put(url, time, &answer);
        }
        Ok(answer)
    }

    /// How long to wait before the retry; `None` for a final answer.
    fn wait(&self, answer: &Answer) -> Option<Duration> {
        let wait = match answer.retry_after() {
            Some(wait) => wait,
            None => self.again.or_else(|| {
                let failed = answer.status >= 500;
                self.again_failed.filter(|_| failed)
            })?,
        };
        (!self.once && is_busy(answer) && wait <= self.patience).then_some(wait)
    }

    /// One try, redirects followed.
    fn once(&self, url: &str, sent: &Sent<'_>) -> Outcome<Answer> {
        let mut url = url.to_owned();
        for _ in 0..=HOPS {
            let (answer, next) = self.hop(&url, sent)?;
            let Some(next) = next.filter(|_| matches!(sent, Sent::Nothing)) else {
                return Ok(answer);
            };
            if origin(&next) != origin(&url) {
                return self.elsewhere(&next);
            }
            url = next;
        }
        Err(Problem::network(format!(
            "{} redirects more than {HOPS} times.",
            self.service.name
        ))
        .next("Try again later."))
    }

    /// One request, and where its answer redirects to.
    fn hop(&self, url: &str, sent: &Sent<'_>) -> Outcome<(Answer, Option<String>)> {
        let (name, out) = (self.service.name, self.out);
        out.gates
            .pass(&host(url), name, self.service.gap, &self.stop)?;
        let origin = origin(url);
        let (client, used) = match out.clients.take(&origin) {
            Some(client) => (client, true),
            None => (self.client(url)?, false),
        };
        let mut response = self.request(&client, url, sent);
        // A reused connection may have been closed by the server meanwhile; nothing was answered on it.
        if used && matches!(response, Err(NetError::Broken { early: true, .. })) {
            client.forget();
            response = self.request(&client, url, sent);
        }
        let response = response.map_err(|why| why.problem(name))?;
        let next = match response.status {
            301 | 302 | 303 | 307 | 308 => response.header_text("location"),
            _ => None,
        };
        let next = match next {
            Some(next) => Some(self.joined(url, &next)?),
            None => None,
        };
        let answer = Answer::read(self.service, response, self.most, self.hidden.clone())
            .map_err(|why| why.problem(name))?;
        out.clients.give(origin, client);
        Ok((answer, next))
    }

    fn request(&self, client: &Client, url: &str, sent: &Sent<'_>) -> Result<Response, NetError> {
        match sent {
            Sent::Nothing => client.get(url, &self.headers, &self.stop),
            Sent::Body(_, body) => client.post(url, &self.headers, body, &self.stop),
        }
    }

    fn client(&self, url: &str) -> Outcome<Client> {
        Ok(Client::new(Setup {
            limits: LIMITS,
            agent: agent(&self.out.env, self.contact.as_deref()),
            route: Route::to(&self.out.env, url)?,
        }))
    }

    /// Resolves the redirect target `next` at `url`. An invalid one is the service's fault, and not shown: it may contain a key.
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

    /// A redirect to another host goes there as any address of a page does: judged, and without keys.
    fn elsewhere(&self, url: &str) -> Outcome<Answer> {
        let open = |pair: &&(&'static str, String)| pair.0.starts_with("accept");
        let headers: Vec<_> = self.headers.iter().filter(open).cloned().collect();
        let visit = Visitor::new(&self.out.env)?
            .with_contact(self.contact.as_deref())
            .with_limits(LIMITS)
            .open(&Address::parse(url)?, &headers, &self.stop)
            .map_err(|mut problem| {
                if problem.kind == Kind::Refused {
                    problem.what = format!("{} redirects: {}", self.service.name, problem.what);
                }
                problem
            })?;
        Answer::read(self.service, visit.response, self.most, self.hidden.clone())
            .map_err(|why| why.problem(self.service.name))
    }
}

/// True for answers that say: not now.
fn is_busy(answer: &Answer) -> bool {
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
