//! A provider over HTTP: sends the body of its wire, feeds the response to its decoder, sorts what goes wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::choose::RemoteTarget;
use super::failure::{Failure, FailureKind};
use super::provider::{Delta, Provider, Reply, Request};
use super::wire::read::Progress;
use super::wire::{Dialect, ErrorContext, errors};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::net::error::{NetError, Peer, RequestPhase};
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;

/// Most bytes of an error body that are read.
const ERROR_BODY: usize = 64 * 1024;
/// Bytes read at once: a burst of small pieces is decoded and shown together.
const READ: usize = 16 * 1024;

/// A provider of the table, with its connections.
#[derive(Debug)]
pub(crate) struct HttpProvider {
    remote: RemoteTarget,
    client: Client,
    /// The server has no native Ollama path, so its OpenAI path is used.
    compat: AtomicBool,
}

impl HttpProvider {
    /// A provider at `remote`, with limits, proxy and certificates from the environment.
    pub(crate) fn new(
        remote: RemoteTarget,
        env: &Env,
        agent: String,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Self> {
        let mut seconds =
            |name, default| Duration::from_secs(env.number(name, default, warn).max(1));
        let limits = Timeouts {
            connect: seconds("MARVIN_CONNECT_TIMEOUT", 10),
            first_byte: seconds(
                "MARVIN_FIRST_BYTE_TIMEOUT",
                if remote.row.local { 300 } else { 60 },
            ),
            silence: seconds("MARVIN_IDLE_TIMEOUT", 120),
        };
        let client = Client::new(ClientOptions {
            limits,
            agent,
            route: ProxyRoute::to(env, &remote.base)?,
        });
        Ok(Self {
            remote,
            client,
            compat: AtomicBool::new(false),
        })
    }

    fn dialect(&self) -> Dialect {
        let own = Dialect::of(self.remote.row, &self.remote.base);
        if self.compat.load(Ordering::Relaxed) {
            own.instead().unwrap_or(own)
        } else {
            own
        }
    }

    /// Posts the request.
    fn post(&self, dialect: Dialect, body: &[u8], stop: &Cancel) -> Result<Response, Failure> {
        let url = dialect.url(&self.remote.base);
        let headers = dialect.headers(self.remote.key.as_deref());
        let result = self.client.post(&url, &headers, body, stop);
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
        let asked = ErrorContext {
            row: self.remote.row,
            model: request.model.to_owned(),
            secrets: self.remote.key.iter().cloned().collect(),
            schema_tokens: request.offer.tokens(),
        };
        let mut response = self.post(dialect, &body, stop)?;
        drop(body);
        if response.status >= 300 {
            let body = response.read_some(ERROR_BODY);
            if stop.is_fired() {
                return Err(Failure::cancelled());
            }
            let header = |name: &str| response.header(name).map(str::to_owned);
            return Err(errors::from_response(
                &asked,
                response.status,
                &header,
                &body,
            ));
        }
        let mut decoder = dialect.decoder(asked);
        let mut buffer = vec![0u8; READ];
        loop {
            match response.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    if decoder.feed(buffer.get(..count).unwrap_or_default(), on)? == Progress::Done
                    {
                        response.finish();
                        break;
                    }
                }
                // Everything had arrived: the missing end marker loses nothing.
                Err(NetError::Broken { .. } | NetError::TimedOut(..)) if decoder.is_complete() => {
                    break;
                }
                Err(error) => return Err(self.cut_off(error).after(decoder.so_far())),
            }
        }
        decoder.finish(on)
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
        let row = self.remote.row;
        let advice = match &error {
            NetError::Cancelled => return Failure::cancelled(),
            NetError::TimedOut(phase, _) => {
                let variable = match phase {
                    RequestPhase::Connect => "MARVIN_CONNECT_TIMEOUT",
                    RequestPhase::FirstByte => "MARVIN_FIRST_BYTE_TIMEOUT",
                    RequestPhase::Silence => "MARVIN_IDLE_TIMEOUT",
                };
                format!("Ask again, or raise {variable} (seconds).")
            }
            NetError::Broken { .. } => "Ask again.".to_owned(),
            NetError::Unreachable(_) | NetError::NotHttp(_) if row.local => format!(
                "Start the server, or set {} to where it runs.",
                super::catalog::variable(row.name, "URL")
            ),
            NetError::Unreachable(_) | NetError::NotHttp(_) => {
                "Check the network, the address and the proxy settings (marvin doctor).".to_owned()
            }
            other => other.advice().to_owned(),
        };
        let kind = match &error {
            NetError::TimedOut(..) => FailureKind::Stalled,
            NetError::Garbled(_) | NetError::NotHttp(_) => FailureKind::Protocol,
            _ => FailureKind::Network,
        };
        let peer = Peer::from(row.name)
            .at(&self.remote.base)
            .through(self.client.proxy());
        Failure::new(kind, error.problem_with(peer, advice))
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &'static str {
        self.remote.row.name
    }

    fn stream(
        &self,
        request: &Request<'_>,
        on: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        let dialect = self.dialect();
        match self.send(dialect, request, on, stop) {
            Err(failure)
                if failure.why == FailureKind::NoSuchPath && dialect.instead().is_some() =>
            {
                self.compat.store(true, Ordering::Relaxed);
                self.send(self.dialect(), request, on, stop)
            }
            result => result,
        }
    }
}
