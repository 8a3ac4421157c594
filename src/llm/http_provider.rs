//! A provider over HTTP: sends the body of its wire, feeds the response to the decoder, classifies errors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::choose::RemoteTarget;
use super::embeddings;
use super::failure::{Failure, FailureKind};
use super::models::endings::successor_hint;
use super::models::{ModelInfo, WireRule};
use super::provider::{CallOptions, Delta, Embeddings, Provider, Reply, Request};
use super::wire::read::Progress;
use super::wire::{Dialect, ErrorContext, Wire, errors};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    MARVIN_CONNECT_TIMEOUT, MARVIN_FIRST_BYTE_TIMEOUT, MARVIN_IDLE_TIMEOUT, Whole,
};
use crate::chat::wait::Wait;
use crate::net::error::{NetError, Peer, RequestPhase};
use crate::net::http::{Client, ClientOptions, Response, Timeouts};
use crate::net::proxies::ProxyRoute;

/// How much of an error body is read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// Bytes read at a time: a burst of small pieces is decoded and shown together.
const READ_BYTES: usize = 16 * 1024;

/// The options that models have refused, so that they are not sent twice.
#[derive(Debug, Default)]
struct RefusedOptions(Mutex<Vec<RefusedOption>>);

#[derive(Debug, Default)]
struct RefusedOption {
    model: String,
    think: bool,
    temperature: bool,
}

impl RefusedOptions {
    /// `options` as far as `model` is not known to refuse them.
    fn without(&self, model: &str, options: CallOptions) -> CallOptions {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.iter().filter(|known| known.model == model);
        known.fold(options, |options, known| CallOptions {
            think: options.think.filter(|_| !known.think),
            temperature: options.temperature.filter(|_| !known.temperature),
            ..options
        })
    }

    /// A request with `options` succeeded after one with those `before`.
    fn learn(&self, model: &str, before: CallOptions, options: CallOptions) {
        if before == options {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(RefusedOption {
            model: model.to_owned(),
            think: before.think != options.think,
            temperature: before.temperature != options.temperature,
        });
    }
}

/// The options without the one that a server refused with 400; `None` when it refused something else.
fn fewer_options(options: CallOptions, failure: &Failure) -> Option<CallOptions> {
    let answer = failure.answer.filter(|answer| answer.status == 400)?;
    if options.think.is_some() && answer.mentions_thinking {
        return Some(CallOptions {
            think: None,
            ..options
        });
    }
    (options.temperature.is_some() && answer.mentions_temperature).then_some(CallOptions {
        temperature: None,
        ..options
    })
}

/// An HTTP provider and its connections.
#[derive(Debug)]
pub(crate) struct HttpProvider {
    remote: RemoteTarget,
    client: Client,
    clock: Clock,
    /// The wire that the server needs, once it is known.
    proven_wire: OnceLock<Wire>,
    /// The server has refused reasoning summaries.
    no_summaries: AtomicBool,
    refused: RefusedOptions,
}

impl HttpProvider {
    /// A provider at `remote`, with timeouts, proxy and certificates from the environment.
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
            route: ProxyRoute::for_url(env, &remote.base)?,
        });
        Ok(Self {
            remote,
            client,
            clock: Clock::new(env),
            proven_wire: OnceLock::new(),
            no_summaries: AtomicBool::new(false),
            refused: RefusedOptions::default(),
        })
    }

    /// The dialect for a model: the wire that the server needs, else the one that the user selected, else the provider's default for the model.
    fn dialect(&self, rule: WireRule) -> Dialect {
        let base = &self.remote.base;
        let own = Dialect::of(self.remote.row, base);
        let wire = self.proven_wire.get().copied().or(self.remote.wire);
        let dialect = wire.map_or_else(|| own.for_model(base, rule), |wire| own.over(wire));
        Dialect {
            summaries: dialect.summaries && !self.no_summaries.load(Ordering::Relaxed),
            ..dialect
        }
    }

    /// Learns from an error what the server needs; true when the same request may now succeed.
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

    /// Posts the request.
    fn post(
        &self,
        dialect: Dialect,
        body: &[u8],
        request: &Request<'_>,
        stop: &Cancel,
    ) -> Result<Response, Failure> {
        let url = dialect.url(&self.remote.base);
        let headers = dialect.headers(self.remote.key.as_deref());
        let (limit, hook) = (request.options.limit, request.on_connect);
        let result = self
            .client
            .post_hooked(&url, &headers, body, limit, hook, stop);
        result.map_err(|error| self.failure(error))
    }

    /// Sends one request in a dialect.
    fn send(
        &self,
        dialect: Dialect,
        request: &Request<'_>,
        emit: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        let body = dialect.body(request);
        let context = self.error_context(request.model, request.offer.tokens());
        let mut response = self.post(dialect, &body, request, stop)?;
        drop(body);
        if response.status >= 300 {
            let body = response.read_some(MAX_ERROR_BODY_BYTES);
            if stop.is_fired() {
                return Err(Failure::cancelled());
            }
            let header = |name: &str| response.header(name).map(str::to_owned);
            let context = ErrorContext {
                successor: self.successor(request.model),
                ..context
            };
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
                    decoder.deltas().for_each(&mut *emit);
                    match progress {
                        Progress::More => {}
                        Progress::Failed => break,
                        Progress::Done => {
                            response.finish();
                            break;
                        }
                    }
                }
                // Everything has arrived: only the end marker is missing.
                Err(NetError::Broken { .. } | NetError::TimedOut(..)) if decoder.is_complete() => {
                    break;
                }
                Err(error) => return Err(self.cut_off(error).with_partial(decoder.into_partial())),
            }
        }
        decoder.end();
        decoder.deltas().for_each(emit);
        decoder.into_result()
    }

    fn error_context(&self, model: &str, schema_tokens: usize) -> ErrorContext {
        ErrorContext {
            row: self.remote.row,
            model: model.to_owned(),
            successor: None,
            secrets: self.remote.key.iter().cloned().collect(),
            schema_tokens,
        }
    }

    /// What to take instead of a model that the provider may not serve any more.
    fn successor(&self, model: &str) -> Option<String> {
        successor_hint(self.remote.row.name, model, self.clock.now().date())
    }

    /// The failure of a stream that broke after the headers.
    fn cut_off(&self, error: NetError) -> Failure {
        match error {
            NetError::Broken { reason: why, .. } => Failure::new(
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
                    RequestPhase::Connect => MARVIN_CONNECT_TIMEOUT.name,
                    RequestPhase::FirstByte => MARVIN_FIRST_BYTE_TIMEOUT.name,
                    RequestPhase::Silence => MARVIN_IDLE_TIMEOUT.name,
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

    fn before_sending(&self) -> Option<Wait> {
        let provider = self.remote.row.name;
        (!self.client.is_connected()).then_some(Wait::Connection { provider })
    }

    fn can_forbid_calls(&self, info: &ModelInfo) -> bool {
        self.dialect(info.wire).can_forbid_calls()
    }

    fn embed(&self, model: &str, texts: &[String], stop: &Cancel) -> Outcome<Embeddings> {
        let name = self.remote.row.name;
        let dialect = self.dialect(WireRule::Any);
        let url = embeddings::url(dialect.wire, &dialect.url(&self.remote.base));
        let url = url.ok_or_else(|| Problem::refused(format!("{name} gives no embeddings.")))?;
        let headers = dialect.headers(self.remote.key.as_deref());
        let body = embeddings::body(model, texts);
        let mut response = self
            .client
            .post_within(&url, &headers, &body, None, stop)
            .map_err(|error| *self.failure(error).problem)?;
        let answer = response.read_some(embeddings::MAX_ANSWER_BYTES);
        stop.check()?;
        if response.status >= 300 {
            let header = |name: &str| response.header(name).map(str::to_owned);
            let context = self.error_context(model, 0);
            let failure = errors::from_response(&context, response.status, &header, &answer);
            return Err(*failure.problem);
        }
        embeddings::read(&answer, texts.len()).map_err(|problem| {
            Problem::network(format!(
                "The embeddings of {name} cannot be used: {problem}."
            ))
        })
    }

    fn stream(
        &self,
        request: &Request<'_>,
        emit: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        let mut options = self.refused.without(request.model, request.options);
        let before = options;
        loop {
            let dialect = self.dialect(request.info.wire);
            let request = Request {
                options,
                ..*request
            };
            match self.send(dialect, &request, emit, stop) {
                Err(failure) if failure.nothing_shown() && self.adapt(dialect, &failure) => {}
                Err(failure) if failure.nothing_shown() => match fewer_options(options, &failure) {
                    Some(fewer) => options = fewer,
                    None => return Err(failure),
                },
                Ok(reply) => {
                    self.refused.learn(request.model, before, options);
                    return Ok(reply);
                }
                failed => return failed,
            }
        }
    }
}
