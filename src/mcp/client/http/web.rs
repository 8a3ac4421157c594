//! One request over HTTP: its headers, redirects within its origin, and signing in where the server asks for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::inbound::Inbound;
use crate::mcp::client::text::clipped;
use crate::mcp::client::transport::{Failure, Loss};
use crate::mcp::config::entry::HttpReach;
use crate::net::error::{NetError, Peer};
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Whoever waits for an answer has a limit of their own.
const NO_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);
const MAX_REDIRECTS: usize = 3;
/// Times that one request may lead to signing in.
const MAX_SIGN_INS: usize = 3;
/// Clients that are kept with their open connections.
const MAX_IDLE: usize = 8;

/// What is sent.
#[derive(Clone, Copy)]
pub(super) enum Verb<'a> {
    Get,
    Post(&'a [u8]),
    /// A POST that must not be sent twice.
    PostOnce(&'a [u8]),
    Delete,
}

impl<'a> Verb<'a> {
    /// A POST; `is_call`: the server may change something on it.
    pub(super) fn post(body: &'a str, is_call: bool) -> Self {
        match is_call {
            true => Self::PostOnce(body.as_bytes()),
            false => Self::Post(body.as_bytes()),
        }
    }
}

/// The way to a server's address.
pub(crate) struct Web {
    pub(super) address: Address,
    headers: Vec<(String, String)>,
    env: Env,
    credentials: Option<Arc<dyn Credentials>>,
    pub(super) inbound: Arc<Inbound>,
    /// Each has one request at a time: its connections are closed with a request that is cancelled.
    idle: Mutex<Vec<Client>>,
    /// What the last request had for `Authorization`: the one that ends a session waits for no other.
    authorized: Mutex<Option<String>>,
}

/// A response, and the client that it came by.
pub(super) struct WebResponse {
    pub response: Response,
    client: Client,
}

impl Web {
    /// The way that an entry says.
    ///
    /// # Errors
    /// Its address is none.
    pub(crate) fn new(
        reach: &HttpReach,
        inbound: &Arc<Inbound>,
        env: &Env,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Outcome<Arc<Self>> {
        let address = Address::parse(&reach.url).map_err(|problem| {
            problem.next(format!("Fix \"url\" of {} in mcp.json.", inbound.server))
        })?;
        Ok(Arc::new(Self {
            address,
            headers: reach.headers.clone(),
            env: env.clone(),
            credentials,
            inbound: Arc::clone(inbound),
            idle: Mutex::default(),
            authorized: Mutex::default(),
        }))
    }

    pub(super) fn server(&self) -> &str {
        &self.inbound.server
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn authorized(&self) -> MutexGuard<'_, Option<String>> {
        (self.authorized.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, limit: Option<Duration>, verb: Verb<'_>) -> Outcome<Client> {
        // A request on a connection that was kept is sent again when the connection turns out to be dead.
        let kept = if limit.is_none() && !matches!(verb, Verb::PostOnce(_)) {
            self.idle().pop()
        } else {
            None
        };
        if let Some(client) = kept {
            return Ok(client);
        }
        Ok(Client::new(ClientOptions {
            limits: Timeouts {
                connect: CONNECT_TIMEOUT.min(limit.unwrap_or(CONNECT_TIMEOUT)),
                first_byte: limit.unwrap_or(NO_TIMEOUT),
                silence: limit.unwrap_or(NO_TIMEOUT),
            },
            agent: concat!("marvin/", env!("CARGO_PKG_VERSION")).to_owned(),
            route: ProxyRoute::for_url(&self.env, &self.address.to_string())?,
        }))
    }

    /// Keeps the client of a response that was read to its end.
    pub(super) fn finish(&self, web: WebResponse) {
        web.response.finish();
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(web.client);
        }
    }

    /// The entry's own value, which nothing replaces.
    fn own_authorization(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    /// Sends a request. What the user has to be asked for meanwhile does not count as waiting.
    pub(super) fn send(
        &self,
        address: &Address,
        verb: Verb<'_>,
        headers: &[(&str, String)],
        limit: Option<Duration>,
        stop: &Cancel,
    ) -> Result<WebResponse, Failure> {
        let credentials = (self.credentials.as_ref()).filter(|_| !self.own_authorization());
        let mut address = address.clone();
        let (mut redirects, mut sign_ins) = (0, 0);
        loop {
            let mut all: Vec<(&str, String)> = headers.to_vec();
            for (name, value) in &self.headers {
                if !headers
                    .iter()
                    .any(|(own, _)| own.eq_ignore_ascii_case(name))
                {
                    all.push((name, value.clone()));
                }
            }
            if let Some(credentials) = credentials {
                let value = match verb {
                    // Marvin may be about to end: nothing is refreshed for it.
                    Verb::Delete => self.authorized().clone(),
                    Verb::Get | Verb::Post(_) | Verb::PostOnce(_) => {
                        let _asking = self.inbound.clock.paused();
                        let value = credentials.authorization(stop)?;
                        self.authorized().clone_from(&value);
                        value
                    }
                };
                if let Some(value) = value {
                    self.inbound.secrets.add_authorization(&value);
                    all.push(("authorization", value));
                }
            }
            let client = self.client(limit, verb)?;
            let url = address.to_string();
            let response = match verb {
                Verb::Get => client.get(&url, &all, stop),
                Verb::Post(body) | Verb::PostOnce(body) => client.post(&url, &all, body, stop),
                Verb::Delete => client.delete(&url, &all, stop),
            };
            let response = response.map_err(|error| self.failed(&error, &client))?;
            match response.status {
                // Nobody signs in to end something.
                401 | 403 if matches!(verb, Verb::Delete) => {
                    return Ok(WebResponse { response, client });
                }
                401 | 403 => {
                    let challenges = response.header_values("www-authenticate");
                    // Without a challenge a 403 is the server's last word.
                    if response.status == 403 && challenges.is_empty() {
                        return Ok(WebResponse { response, client });
                    }
                    let asking = self.inbound.clock.paused();
                    let again = match credentials {
                        Some(credentials) if sign_ins < MAX_SIGN_INS => {
                            credentials.refused(response.status, &challenges, stop)?
                        }
                        _ => false,
                    };
                    drop(asking);
                    if !again {
                        return Err(self.unauthorized(response.status).into());
                    }
                    sign_ins += 1;
                }
                301 | 302 | 303 | 307 | 308 => {
                    let to = response.header_text("location").unwrap_or_default();
                    address = self.redirected(&address, &to, response.status, verb)?;
                    redirects += 1;
                    if redirects > MAX_REDIRECTS {
                        return Err(Problem::network(format!(
                            "{} redirects more than {MAX_REDIRECTS} times.",
                            self.server()
                        ))
                        .next("Put the address that it should lead to in \"url\" of its entry.")
                        .into());
                    }
                }
                _ => return Ok(WebResponse { response, client }),
            }
        }
    }

    fn failed(&self, error: &NetError, client: &Client) -> Failure {
        // Not the whole address: its query may hold a key.
        let url = self.address.origin();
        let peer = Peer::from(self.server()).at(&url).through(client.proxy());
        let problem = error.problem(peer);
        match error {
            NetError::Broken { .. } => Failure::Lost(Loss::Broken, problem),
            _ => Failure::Other(problem),
        }
    }

    fn unauthorized(&self, status: u16) -> Problem {
        let server = self.server();
        if self.own_authorization() {
            return Problem::new(
                ProblemKind::Auth,
                format!("{server} refused the Authorization header of its entry ({status})."),
            )
            .next("Correct \"headers\" of its entry in mcp.json.");
        }
        Problem::new(
            ProblemKind::Auth,
            format!("{server} wants you to sign in ({status})."),
        )
        .next(format!("Run: marvin mcp login {server}"))
    }

    /// Where a redirect leads; only within the origin, so that nothing of the user's goes elsewhere.
    fn redirected(
        &self,
        from: &Address,
        to: &str,
        status: u16,
        verb: Verb<'_>,
    ) -> Result<Address, Failure> {
        let server = self.server();
        let to = from.join(to).map_err(|problem| {
            Problem {
                what: format!(
                    "{server} redirects to what is no address of it. {}",
                    problem.what
                ),
                ..problem
            }
            .next("Check \"url\" of its entry in mcp.json.")
        })?;
        let keeps_body =
            matches!(status, 307 | 308) || !matches!(verb, Verb::Post(_) | Verb::PostOnce(_));
        if to.origin() == self.address.origin() && keeps_body {
            return Ok(to);
        }
        // Without its query, which may hold a key.
        let path = to.target.split('?').next().unwrap_or_default();
        Err(Problem::refused(format!(
            "{} redirects to {}, which is not followed.",
            self.server(),
            clipped(&format!("{}{path}", to.origin()), 200)
        ))
        .next("If you trust that address, put it in \"url\" of its entry in mcp.json.")
        .into())
    }
}
