//! The one way out to the services of the table (contract/services/README-a.md): a request waits its turn at its host's gate,
//! names Marvin and the contact, is limited in time and size, and is tried again once at most, when the service says when.

mod answer;
mod gate;
mod kept;
mod within;

use std::fmt::{Display, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

pub use answer::{Answer, Unread, body, body_so_far};
use gate::Gates;
use kept::{Answers, Clients};

use super::address::Address;
use super::agent::agent;
use super::http::{Client, Limits, NetError, Response, Setup};
use super::route::Route;
use super::services::Service;
use super::visit::Visitor;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::{Kind, Outcome, Problem};
use crate::base::text::thousands;

/// Limits of a request by phase; the call that makes it has its own for the whole.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    silence: Duration::from_secs(15),
};
/// Bytes of a body at most, after decompression, unless a request says otherwise.
const MOST: usize = 8 << 20;
/// Bytes of an address at most; servers take no longer ones.
const LONGEST: usize = 8_000;
/// The longest wait for a second try, unless a request says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest that a service is left alone because it said so.
const REST: Duration = Duration::from_secs(3_600);
/// Redirects that are followed.
const HOPS: usize = 3;

/// The way out: what all requests of a session share.
#[derive(Debug)]
pub struct Outside {
    env: Env,
    gates: Gates,
    answers: Answers,
    clients: Clients,
}

/// A request that is being put together.
#[derive(Debug)]
pub struct Ask<'a> {
    out: &'a Outside,
    service: &'static Service,
    contact: Option<String>,
    stop: Cancel,
    base: String,
    path: String,
    query: String,
    headers: Vec<(&'static str, String)>,
    hidden: Vec<String>,
    most: usize,
    keep: Option<Duration>,
    patience: Duration,
    again: Option<Duration>,
    once: bool,
    within: Option<Duration>,
}

/// What is sent besides the head.
enum Sent<'a> {
    Nothing,
    Body(&'static str, &'a [u8]),
}

impl Outside {
    /// The way out for `env`; `gates` is the folder where processes wait for each other. Nothing is opened or read.
    pub fn new(env: &Env, gates: Option<PathBuf>) -> Self {
        Self {
            env: env.clone(),
            gates: Gates::new(gates),
            answers: Answers::default(),
            clients: Clients::default(),
        }
    }

    /// Begins a request to `service`; `contact` is named in the User-Agent.
    pub fn ask<'a>(
        &'a self,
        service: &'static Service,
        contact: Option<String>,
        stop: &Cancel,
    ) -> Ask<'a> {
        Ask {
            out: self,
            service,
            contact,
            stop: stop.clone(),
            base: service.base_in(&self.env).to_owned(),
            path: String::new(),
            query: String::new(),
            headers: Vec::new(),
            hidden: Vec::new(),
            most: MOST,
            keep: None,
            patience: PATIENCE,
            again: None,
            once: false,
            within: None,
        }
    }

    /// Waits for the turn of a request to `host` by `who`, which makes one each `gap`, in whatever process. Hosts of this machine are
    /// asked as often as one likes.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn turn(&self, who: &str, host: &str, gap: Duration, stop: &Cancel) -> Outcome<()> {
        if gate::is_here(host) {
            return stop.check();
        }
        self.gates.pass(who, who, gap, stop)
    }

    /// Leaves a service alone for `time`: it refused, or asked for it in its own words.
    pub fn rest(&self, service: &'static Service, time: Duration) {
        let host = host(service.base_in(&self.env));
        self.gates.shut(&host, service.name, time.min(REST));
    }
}

impl<'a> Ask<'a> {
    /// Another base than the table's, derived from it (a Wikipedia in another language); an override of the person's stands.
    #[must_use]
    pub fn base(mut self, base: &str) -> Self {
        if !self.service.is_own(&self.out.env) {
            base.clone_into(&mut self.base);
        }
        self
    }

    /// Adds to the path, as it is.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path.push_str(path);
        self
    }

    /// Adds one segment to the path, encoded.
    #[must_use]
    pub fn segment(mut self, segment: &str) -> Self {
        self.path.push('/');
        self.path.push_str(&encoded(segment));
        self
    }

    /// Adds a pair to the query.
    #[must_use]
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

    /// Adds a name without a value to the query, for services that ask for exactly that.
    #[must_use]
    pub fn flag_if(mut self, name: &str, wanted: bool) -> Self {
        if wanted {
            self.query
                .push(if self.query.is_empty() { '?' } else { '&' });
            self.query.push_str(&encoded(name));
        }
        self
    }

    /// Adds a pair to the query when there is a value.
    #[must_use]
    pub fn query_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a secret in a header; it is hidden in every error.
    #[must_use]
    pub fn secret_header(mut self, name: &'static str, secret: &str, value: String) -> Self {
        self.hidden.push(secret.to_owned());
        self.header(name, value)
    }

    /// Adds a secret to the query, for services that take it nowhere else; it is hidden in every error.
    #[must_use]
    pub fn secret_query(mut self, name: &str, secret: &str) -> Self {
        self.hidden.push(secret.to_owned());
        self.query(name, secret)
    }

    /// Reads at most this many bytes of the body.
    #[must_use]
    pub fn most(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// Keeps a good answer in JSON for `time` and takes it instead of asking again. For requests without a body.
    #[must_use]
    pub fn keep(mut self, time: Duration) -> Self {
        self.keep = Some(time);
        self
    }

    /// Waits at most this long for a second try when the service says how long.
    #[must_use]
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Tries a second time after `time` when the service is overloaded (429, 5xx) and does not say how long that lasts.
    #[must_use]
    pub fn again_after(mut self, time: Duration) -> Self {
        self.again = Some(time);
        self
    }

    /// Never tries a second time, whatever the service says.
    #[must_use]
    pub fn only_once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Gives up after `time` in all: the turn at the gate, the answer and a second try.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// `Config` without the contact that the service wants; `Limit` while it wants to be left alone, or for too much; `Network`;
    /// `Cancelled`. Every status is an answer.
    pub fn get(self) -> Outcome<Answer> {
        self.send(&Sent::Nothing)
    }

    /// Posts a form.
    ///
    /// # Errors
    /// As [`Ask::get`].
    pub fn form(self, pairs: &[(&str, &str)]) -> Outcome<Answer> {
        let body: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let body = body.join("&");
        self.send(&Sent::Body(
            "application/x-www-form-urlencoded",
            body.as_bytes(),
        ))
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// As [`Ask::get`].
    pub fn json(self, value: &Value) -> Outcome<Answer> {
        self.send(&Sent::Body(
            "application/json",
            value.to_string().as_bytes(),
        ))
    }

    /// True when the service may be asked: its contact is set where its public server wants one.
    ///
    /// # Errors
    /// `Config` with what to set.
    pub fn allowed(&self) -> Outcome<()> {
        let service = self.service;
        if service.contact && self.contact.is_none() && !service.is_own(&self.out.env) {
            return Err(Problem::config(format!(
                "The public server of {} is asked only by programs that name a contact.",
                service.name
            ))
            .next(format!(
                "Set MARVIN_CONTACT (or contact: in the preferences) to an e-mail or web address of yours, or {} to a server of your own.",
                super::services::variable(service.id)
            )));
        }
        Ok(())
    }

    fn send(mut self, sent: &Sent<'_>) -> Outcome<Answer> {
        self.allowed()?;
        let Some(time) = self.within else {
            return self.tried(sent);
        };
        let name = self.service.name;
        within::limited(&self.stop.clone(), time, name, |stop| {
            self.stop = stop.clone();
            self.tried(sent)
        })
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
        if let Some(time) = keep.filter(|_| answer.is_sound()) {
            self.out.answers.put(url, time, &answer);
        }
        Ok(answer)
    }

    /// How long to wait before the second try; none for an answer that stands.
    fn wait(&self, answer: &Answer) -> Option<Duration> {
        let wait = match answer.retry_after() {
            Some(wait) => wait,
            None => self.again?,
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
        // A connection that was kept may have been closed meanwhile; nothing was answered on it.
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
            Sent::Body(_, body) => client.post(url, &self.headers, &[body], &self.stop),
        }
    }

    fn client(&self, url: &str) -> Outcome<Client> {
        Ok(Client::new(Setup {
            limits: LIMITS,
            agent: agent(&self.out.env, self.contact.as_deref()),
            route: Route::to(&self.out.env, url)?,
        }))
    }

    /// The address that `next` means at `url`. What is none is the service's fault, and not shown: it may repeat a key.
    fn joined(&self, url: &str, next: &str) -> Outcome<String> {
        match Address::parse(url)?.join(next) {
            Ok(address) => Ok(address.to_string()),
            Err(_) => Err(Problem::network(format!(
                "{} redirects to what is no web address.",
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
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    format!("{scheme}://{}", rest.get(..end).unwrap_or_default())
}

/// Host and port of an address.
fn host(url: &str) -> String {
    let origin = origin(url);
    let (_, host) = origin.split_once("://").unwrap_or_default();
    host.to_owned()
}

/// `text` for one place of a path or query: everything but unreserved characters as `%XX` (RFC 3986, 2.3).
pub fn encoded(text: &str) -> String {
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

#[cfg(test)]
mod tests;
