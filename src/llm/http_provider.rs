//! A provider over HTTP: sends the body of its wire, feeds the response to the decoder, classifies errors.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::choose::RemoteTarget;
use super::embeddings;
use super::failure::{Failure, FailureKind};
use super::images;
use super::models::endings::successor_hint;
use super::models::live::{listed_models, within};
use super::models::{ModelInfo, ServedFacts, WireRule, near, served};
use super::provider::{Delta, Embeddings, Offer, Provider, Reply, Request};
use super::remarks::{self, Remarks};
use super::wire::optional::{OptionalMember, OptionalMembers};
use super::wire::read::DecodeProgress;
use super::wire::write::{effort, sent_tools};
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
/// Tools that are taken out of a request before its refusal is given up on.
const MAX_TAKEN_OUT: usize = 8;

/// The members of requests that models have refused, so that they are not sent twice.
#[derive(Debug, Default)]
struct RefusedMembers(Mutex<Vec<(String, OptionalMembers)>>);

impl RefusedMembers {
    /// Those that `model` is known to refuse.
    fn of(&self, model: &str) -> OptionalMembers {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.iter().filter(|(known, _)| known == model);
        known.fold(OptionalMembers::default(), |all, (_, members)| {
            all.and(*members)
        })
    }

    /// A request without `members` succeeded.
    fn learn(&self, model: &str, members: OptionalMembers) {
        if !members.minus(self.of(model)).is_empty() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.push((model.to_owned(), members));
        }
    }
}

/// The tools whose schemas models have refused, likewise.
#[derive(Debug, Default)]
struct RefusedTools(Mutex<Vec<(String, String)>>);

impl RefusedTools {
    /// What `model` is offered: all but those that it is known to refuse.
    fn without<'a>(&self, model: &str, offer: &'a Offer) -> Cow<'a, Offer> {
        let mut offer = Cow::Borrowed(offer);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, tool) in known.iter().filter(|(known, _)| known == model) {
            offer.to_mut().remove(tool);
        }
        offer
    }

    /// A request without `tools` succeeded.
    fn learn(&self, model: &str, tools: Vec<String>) {
        let tools = tools.into_iter().map(|tool| (model.to_owned(), tool));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(tools);
    }
}

pub(crate) struct HttpProvider {
    remote: RemoteTarget,
    client: Client,
    env: Env,
    clock: Clock,
    /// The wire that the server needs, once it is known.
    proven_wire: OnceLock<Wire>,
    /// The server has refused reasoning summaries.
    no_summaries: AtomicBool,
    refused: RefusedMembers,
    refused_tools: RefusedTools,
    remarks: Remarks,
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
            env: env.clone(),
            clock: Clock::new(env),
            proven_wire: OnceLock::new(),
            no_summaries: AtomicBool::new(false),
            refused: RefusedMembers::default(),
            refused_tools: RefusedTools::default(),
            remarks: Remarks::default(),
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

    fn post(
        &self,
        dialect: Dialect,
        body: &[u8],
        request: &Request<'_>,
        stop: &Cancel,
    ) -> Result<Response, Failure> {
        let url = dialect.url(&self.remote.base);
        let headers = self.remote.headers(dialect);
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
        let mut context = self.error_context(request.model, request.offer.tokens());
        let mut response = self.post(dialect, &body, request, stop)?;
        if response.status >= 300 {
            let answer = response.read_some(MAX_ERROR_BODY_BYTES);
            if stop.is_fired() {
                return Err(Failure::cancelled());
            }
            let header = |name: &str| response.header(name).map(str::to_owned);
            context.successor = self.successor(request.model, response.status, &answer, stop);
            let mut failure = errors::from_response(&context, response.status, &header, &answer);
            if let Some(answer) = &mut failure.answer {
                answer.refused = sent(answer.refused, dialect, request, &body);
            }
            let refused_tool = refused_tool(dialect, request, &failure, &answer);
            return Err(failure.about_tool(refused_tool));
        }
        drop(body);
        context.request_id = errors::REQUEST_IDS
            .iter()
            .find_map(|name| response.header(name).map(str::to_owned));
        let mut decoder = dialect.decoder(context);
        let mut buffer = vec![0u8; READ_BYTES];
        loop {
            match response.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let progress = decoder.feed(buffer.get(..count).unwrap_or_default());
                    decoder.deltas().for_each(&mut *emit);
                    match progress {
                        DecodeProgress::More => {}
                        DecodeProgress::Failed => break,
                        DecodeProgress::Done => {
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

    /// Tells the user what is left out from now on, where it is something that they may miss.
    fn tell_refused(
        &self,
        request: &Request<'_>,
        refused: OptionalMembers,
        emit: &mut dyn FnMut(Delta<'_>),
    ) {
        let (model, name) = (request.model, self.remote.row.name);
        if refused.has(OptionalMember::Effort) && request.effort_chosen {
            let words = remarks::no_effort(name, request);
            self.remarks.tell(&words, &words, emit);
        }
        let names = refused
            .without(OptionalMember::Effort)
            .without(OptionalMember::Temperature)
            .names();
        if !names.is_empty() {
            let words = format!(
                "{name} does not take {} for {model}; it is asked without.",
                names.join(", ")
            );
            self.remarks.tell("refused members", &words, emit);
        }
    }

    fn error_context(&self, model: &str, schema_tokens: usize) -> ErrorContext {
        ErrorContext {
            model: model.to_owned(),
            secrets: self.remote.secrets(),
            schema_tokens,
            url_variable: self.remote.url_variable.to_string(),
            ..ErrorContext::new(self.remote.row)
        }
    }

    /// What to take instead of a model that the provider does not serve: its successor, or the one that was meant.
    fn successor(&self, model: &str, status: u16, answer: &[u8], stop: &Cancel) -> Option<String> {
        let (row, base) = (self.remote.row, &self.remote.base);
        let today = self.clock.now().date();
        // What runs on this machine says at once which models it has, and no table knows them.
        let is_about_model = || String::from_utf8_lossy(answer).contains("model");
        if row.local && status == 404 && is_about_model() {
            let _ = listed_models(&self.remote, &self.env, served::TIMEOUT, stop);
        }
        successor_hint(row.name, model, today)
            .or_else(|| near::did_you_mean(row.name, base, model, today))
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
            )
            .passing(),
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
                self.remote.url_variable
            ),
            NetError::Unreachable(_) | NetError::NotHttp(_) => {
                let own = Some(self.remote.url_variable.as_ref());
                let address = own.filter(|_| self.remote.has_own_base);
                let address = address.unwrap_or("the address");
                format!("Check the network, {address} and the proxy settings (marvin doctor).")
            }
            other => other.advice().to_owned(),
        };
        let kind = match &error {
            NetError::TimedOut(..) => FailureKind::Stalled,
            NetError::Garbled(_) | NetError::NotHttp(_) => FailureKind::Protocol,
            _ => FailureKind::Network,
        };
        let passes = match &error {
            NetError::Unreachable(_) | NetError::Broken { .. } => true,
            NetError::ProxyRefused(status) => status.is_none_or(|status| status >= 500),
            _ => false,
        };
        let peer = Peer::from(row.name)
            .at(&self.remote.base)
            .through(self.client.proxy());
        let failure = Failure::new(kind, error.problem_with(peer, advice));
        match passes {
            true => failure.passing(),
            false => failure,
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &'static str {
        self.remote.row.name
    }

    fn served_facts(&self, model: &str, stop: &Cancel) -> Option<ServedFacts> {
        let row = self.remote.row;
        let question = served::question(row, &self.remote.base, model)?;
        let dialect = self.dialect(WireRule::Any);
        let headers = self.remote.headers(dialect);
        // The connection is kept: the first request finds it open.
        let answer = within(served::TIMEOUT, stop, |stop| {
            let asked = match &question.body {
                Some(body) => {
                    let body = body.to_string();
                    self.client
                        .post(&question.url, &headers, body.as_bytes(), stop)
                }
                None => self.client.get(&question.url, &headers, stop),
            };
            let mut response = asked.ok()?;
            let answer = response.read_some(served::MAX_ANSWER_BYTES);
            let is_good = response.status == 200;
            response.finish();
            is_good.then_some(answer)
        });
        served::read(row, model, &answer?)
    }

    fn before_sending(&self) -> Option<Wait> {
        let provider = self.remote.row.name;
        (!self.client.is_connected()).then_some(Wait::Connection { provider })
    }

    fn tells_effort_of_mode(&self, info: &ModelInfo) -> bool {
        effort::is_told_unchosen(self.dialect(info.wire), info)
    }

    fn can_forbid_calls(&self, info: &ModelInfo) -> bool {
        self.dialect(info.wire).can_forbid_calls()
    }

    fn embed(&self, model: &str, texts: &[String], stop: &Cancel) -> Outcome<Embeddings> {
        let name = self.remote.row.name;
        let dialect = self.dialect(WireRule::Any);
        let url = embeddings::url(dialect.wire, &dialect.url(&self.remote.base));
        let url = url.ok_or_else(|| Problem::refused(format!("{name} gives no embeddings.")))?;
        let headers = self.remote.headers(dialect);
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
        let (model, row) = (request.model, self.remote.row);
        let messages = images::fitted(request.messages, row.name, model, request.info);
        let request = &Request {
            messages: &messages,
            ..*request
        };
        let mut without = self.refused.of(model);
        let mut offer = self.refused_tools.without(model, request.offer);
        let mut taken_out = Vec::new();
        let dialect = self.dialect(request.info.wire).without(without);
        if let Some(words) = effort::remark(dialect, request) {
            self.remarks.tell(&words, &words, emit);
        }
        loop {
            let dialect = self.dialect(request.info.wire).without(without);
            let request = &Request {
                offer: &offer,
                ..*request
            };
            let failure = match self.send(dialect, request, emit, stop) {
                Ok(reply) => {
                    self.refused.learn(model, without);
                    self.refused_tools.learn(model, taken_out);
                    return Ok(reply);
                }
                Err(failure) if failure.nothing_shown() => failure,
                failed => return failed,
            };
            if self.adapt(dialect, &failure) {
                continue;
            }
            // Each time there is at least one fewer of them.
            let refused = failure.answer.map(|answer| answer.refused);
            match refused.map(|refused| refused.minus(without)) {
                Some(refused) if !refused.is_empty() => {
                    self.tell_refused(request, refused, emit);
                    without = without.and(refused);
                    continue;
                }
                _ => {}
            }
            match &failure.refused_tool {
                Some(tool) if taken_out.len() < MAX_TAKEN_OUT => {
                    let words = format!(
                        "{} refuses the schema of the tool {tool}; it is asked without it.",
                        row.name
                    );
                    self.remarks.tell(&words, &words, emit);
                    taken_out.push(tool.clone());
                    offer.to_mut().remove(tool);
                }
                _ => {
                    // The next message gets further, however many of them there are.
                    self.refused_tools.learn(model, taken_out);
                    return Err(failure);
                }
            }
        }
    }
}

/// The tool whose schema is the reason for a refusal.
fn refused_tool(
    dialect: Dialect,
    request: &Request<'_>,
    failure: &Failure,
    answer: &[u8],
) -> Option<String> {
    let is_complaint = failure.kind == FailureKind::Refused
        && (failure.answer).is_some_and(|answer| matches!(answer.status, 400 | 422));
    let tools = sent_tools(dialect, request.offer);
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let at = errors::refused_tool(answer, &names).filter(|_| is_complaint)?;
    names.get(at).map(|name| (*name).to_owned())
}

/// Those of `members` that are in the request with `body`.
fn sent(
    members: OptionalMembers,
    dialect: Dialect,
    request: &Request<'_>,
    body: &[u8],
) -> OptionalMembers {
    members
        .each()
        .filter(|member| dialect.without(*member).body(request) != body)
        .fold(OptionalMembers::default(), OptionalMembers::and)
}
