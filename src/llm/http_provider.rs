//! A provider over HTTP: sends the body of its wire, feeds the response to its decoder, sorts what goes wrong.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::choose::RemoteTarget;
use super::failure::{Failure, FailureKind};
use super::provider::{Delta, Provider, Reply, Request};
use super::wire::read::Progress;
use super::wire::{Dialect, ErrorContext, Wire, errors};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::variables::{
    MARVIN_CONNECT_TIMEOUT, MARVIN_FIRST_BYTE_TIMEOUT, MARVIN_IDLE_TIMEOUT, Whole,
};
use crate::net::http::{Client, ClientOptions, NetError, RequestPhase, Response, Timeouts};
use crate::net::proxies::ProxyRoute;

/// Most bytes of an error body that are read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// Bytes read at once: a burst of small pieces is decoded and shown together.
const READ_BYTES: usize = 16 * 1024;

/// A provider of the table, with its connections.
#[derive(Debug)]
pub(crate) struct HttpProvider {
    remote: RemoteTarget,
    client: Client,
    /// A request was answered before, so a reused connection may have died meanwhile.
    answered_before: AtomicBool,
    /// The wire that the server turned out to need, once it is known.
    proven_wire: OnceLock<Wire>,
    /// The server refused summaries of the reasoning.
    no_summaries: AtomicBool,
}

impl HttpProvider {
    /// A provider at `remote`, with limits, proxy and certificates from the environment.
    pub(crate) fn new(
        remote: RemoteTarget,
        env: &Env,
        agent: String,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Self> {
        let first_byte = Whole {
            default: remote.row.first_byte_secs,
            ..MARVIN_FIRST_BYTE_TIMEOUT
        };
        let mut seconds = |variable: Whole| Duration::from_secs(variable.read(env, warn).max(1));
        let limits = Timeouts {
            connect: seconds(MARVIN_CONNECT_TIMEOUT),
            first_byte: seconds(first_byte),
            silence: seconds(MARVIN_IDLE_TIMEOUT),
        };
        let client = Client::new(ClientOptions {
            limits,
            agent,
            route: ProxyRoute::to(env, &remote.base)?,
        });
        Ok(Self {
            remote,
            client,
            answered_before: AtomicBool::new(false),
            proven_wire: OnceLock::new(),
            no_summaries: AtomicBool::new(false),
        })
    }

    /// The dialect for a model: the wire that the server turned out to need, else the one that the user named, else the provider's own for it.
    fn dialect(&self, model: &str) -> Dialect {
        let base = &self.remote.base;
        let own = Dialect::of(self.remote.row, base);
        let wire = self.proven_wire.get().copied().or(self.remote.wire);
        let dialect = wire.map_or_else(|| own.for_model(base, model), |wire| own.over(wire));
        Dialect {
            summaries: dialect.summaries && !self.no_summaries.load(Ordering::Relaxed),
            ..dialect
        }
    }

    /// Learns from a refusal how the server wants to be asked; true when the same request may now succeed.
    fn adapt(&self, dialect: Dialect, failure: &Failure) -> bool {
        let may_switch = self.remote.wire.is_none();
        match failure.kind {
            FailureKind::NoSummaries if dialect.summaries => {
                self.no_summaries.store(true, Ordering::Relaxed);
                true
            }
            FailureKind::NoSuchPath if may_switch => dialect
                .fallback()
                .is_some_and(|wire| self.proven_wire.set(wire).is_ok()),
            FailureKind::OtherWire if may_switch && dialect.wire == Wire::Completions => {
                self.proven_wire.set(Wire::Responses).is_ok()
            }
            _ => false,
        }
    }

    /// Posts the request; a reused connection that has died is replaced once.
    fn post(&self, dialect: Dialect, body: &[u8], stop: &Cancel) -> Result<Response, Failure> {
        let url = dialect.url(&self.remote.base);
        let headers = dialect.headers(self.remote.key.as_deref());
        let mut result = self.client.post(&url, &headers, body, stop);
        if self.answered_before.load(Ordering::Relaxed)
            && matches!(result, Err(NetError::Broken { early: true, .. }))
        {
            self.client.forget();
            result = self.client.post(&url, &headers, body, stop);
        }
        self.answered_before.store(true, Ordering::Relaxed);
        result.map_err(|error| self.failure(error))
    }

    /// Sends one request in a dialect.
    fn send(
        &self,
        dialect: Dialect,
        request: &Request<'_>,
        on: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        // First the body: with it the schemas are rendered, whose size a refusal may have to name.
        let body = dialect.body(request);
        let context = ErrorContext {
            row: self.remote.row,
            model: request.model.to_owned(),
            secrets: self.remote.key.iter().cloned().collect(),
            schema_tokens: request.offer.tokens(),
        };
        let mut response = self.post(dialect, &body, stop)?;
        drop(body);
        if response.status >= 300 {
            let body = response.read_some(MAX_ERROR_BODY_BYTES);
            if stop.is_fired() {
                return Err(Failure::cancelled());
            }
            let header = |name: &str| response.header(name).map(str::to_owned);
            return Err(errors::from_response(
                &context,
                response.status,
                &header,
                &body,
            ));
        }
        let mut decoder = dialect.decoder(context);
        let mut buffer = vec![0u8; READ_BYTES];
        loop {
            match response.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let progress = decoder.feed(buffer.get(..count).unwrap_or_default());
                    decoder.deltas().for_each(&mut *on);
                    match progress {
                        Progress::More => {}
                        Progress::Failed => break,
                        Progress::Done => {
                            response.finish();
                            break;
                        }
                    }
                }
                // Everything had arrived: the missing end marker loses nothing.
                Err(NetError::Broken { .. } | NetError::TimedOut(..)) if decoder.is_complete() => {
                    break;
                }
                Err(error) => return Err(self.cut_off(error).with_partial(decoder.into_partial())),
            }
        }
        decoder.end();
        decoder.deltas().for_each(on);
        decoder.into_result()
    }

    /// The failure of a stream that broke after its headers had come.
    fn cut_off(&self, error: NetError) -> Failure {
        match error {
            NetError::Broken { why, .. } => Failure::new(
                FailureKind::Cut,
                Problem::network(format!(
                    "The reply of {} broke off: {why}.",
                    self.remote.row.name
                ))
                .next("What arrived is kept. Ask again to continue."),
            ),
            other => self.failure(other),
        }
    }

    fn failure(&self, error: NetError) -> Failure {
        let name = self.remote.row.name;
        let at = &self.remote.base;
        let through = self.client.proxy().map_or_else(String::new, |proxy| {
            format!(" through the proxy {} ({})", proxy.place, proxy.variable)
        });
        let unreachable = |what: String| {
            let next = if self.remote.row.local {
                format!(
                    "Start the server, or set {} to where it runs.",
                    super::catalog::variable(name, "URL")
                )
            } else {
                "Check the network, the address and the proxy settings (marvin doctor).".to_owned()
            };
            Problem::network(what).next(next)
        };
        match error {
            NetError::Cancelled => Failure::cancelled(),
            NetError::TimedOut(phase, limit) => {
                let (what, variable) = match phase {
                    RequestPhase::Connect => ("could not be reached", MARVIN_CONNECT_TIMEOUT.name),
                    RequestPhase::FirstByte => ("sent nothing", MARVIN_FIRST_BYTE_TIMEOUT.name),
                    RequestPhase::Silence => ("fell silent in mid-reply", MARVIN_IDLE_TIMEOUT.name),
                };
                let words = format!("{name} {what} for {} s.", limit.as_secs());
                Failure::new(
                    FailureKind::Stalled,
                    Problem::new(ProblemKind::Network, words)
                        .next(format!("Ask again, or raise {variable} (seconds).")),
                )
            }
            NetError::Broken { why, .. } => Failure::new(
                FailureKind::Network,
                Problem::network(format!("{name} closed the connection: {why}."))
                    .next("Ask again."),
            ),
            NetError::Unreachable(why) => Failure::new(
                FailureKind::Network,
                unreachable(format!("{name} cannot be reached at {at}{through}: {why}.")),
            ),
            NetError::Barred(status) => Failure::new(
                FailureKind::Network,
                barred(&format!("{name} cannot be reached at {at}{through}"), status),
            ),
            NetError::Untrusted(why) => Failure::new(
                FailureKind::Network,
                Problem::network(format!(
                    "The certificate of {name} at {at}{through} is not trusted: {why}."
                ))
                .next("If a proxy or server of your own signs with its own authority, put that authority's certificate (PEM) in a file and set SSL_CERT_FILE to its path."),
            ),
            NetError::Garbled(why) => Failure::new(
                FailureKind::Protocol,
                Problem::network(format!("The reply of {name} cannot be decompressed: {why}."))
                    .next("Ask again; if it stays so, the server or a proxy on the way is broken."),
            ),
            NetError::NotHttp(why) => Failure::new(
                FailureKind::Protocol,
                unreachable(format!(
                    "What answers at {at} does not speak HTTP as {name} should: {why}."
                )),
            ),
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &'static str {
        self.remote.row.name
    }

    fn stream(
        &self,
        request: &Request<'_>,
        emit: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        loop {
            let dialect = self.dialect(request.model);
            match self.send(dialect, request, emit, stop) {
                Err(failure) if failure.nothing_shown() && self.adapt(dialect, &failure) => {}
                result => return result,
            }
        }
    }
}

/// The problem for a proxy's refusal.
fn barred(what: &str, status: Option<u16>) -> Problem {
    match status {
        Some(407) => Problem::new(
            ProblemKind::Auth,
            format!("{what}: the proxy asks for a name and a password, or refuses those it got (407)."),
        )
        .next("Put them in the variable, as http://USER:PASSWORD@HOST:PORT; other than letters and digits as %XX."),
        status => {
            let answer = status.map_or_else(
                || "the proxy did not answer".to_owned(),
                |status| format!("the proxy answered {status}"),
            );
            Problem::network(format!("{what}: {answer}."))
                .next("Check the proxy's variable and its rules; NO_PROXY names hosts that are reached without it.")
        }
    }
}
