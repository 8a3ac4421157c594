//! `copilot`: GitHub Copilot through the user's own Copilot CLI, which Marvin starts as a server and talks to over its pipes
//! (<https://github.com/github/copilot-sdk> is how others do). The CLI signs in, keeps the conversation and asks the model; tools, limits and approvals are
//! Marvin's.
//!
//! The CLI drives its own loop of tool calls. A turn in which the model calls tools stays open between two requests of the agent: the reply has the calls, and
//! the next request has their results.

pub(crate) mod availability;
mod cli;
mod connection;
pub(crate) mod framing;
mod history;
pub(crate) mod messages;
mod open_turn;
mod session;
mod start;
pub(crate) mod testing;
mod turn;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::cli::OwnServer;
use self::connection::Connection;
use self::history::NewMessages;
use self::session::CopilotSession;
use self::turn::TurnFailure;
use super::failure::{Failure, FailureKind};
use super::models::ModelInfo;
use super::provider::{Delta, Provider, Reply, Request};
use super::remarks::{self, Remarks};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::variables::MARVIN_CHAT_MODEL;
use crate::chat::wait::Wait;

pub(crate) use self::connection::close_all;

pub(crate) use super::catalog::COPILOT as NAME;

/// The model when the user names none.
pub(crate) const DEFAULT_MODEL: &str = "claude-haiku-4.5";
/// How long the CLI may take to clean up and end.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The same when a signal ends Marvin.
pub(crate) const HURRIED_CLOSE_TIMEOUT: Duration = Duration::from_millis(400);

/// The model: `MARVIN_CHAT_MODEL`, else the default.
pub(crate) fn model(env: &Env) -> &str {
    let chosen = MARVIN_CHAT_MODEL.read(env).map(str::trim);
    chosen
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_MODEL)
}

/// The provider. Nothing is started before the first request.
pub(crate) struct CopilotProvider {
    env: Env,
    server: Option<OwnServer>,
    dir: Option<PathBuf>,
    handshake_timeout: Duration,
    connection: Mutex<Option<Arc<Connection>>>,
    /// That of the conversation, between two requests.
    session: Mutex<Option<CopilotSession>>,
    remarks: Remarks,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CopilotProvider {
    /// A provider that looks for the CLI, and for a server to ask instead of GitHub, in `env`.
    pub(crate) fn new(env: &Env) -> Self {
        Self {
            server: OwnServer::read(env),
            dir: env.get("PWD").map(PathBuf::from).filter(|dir| dir.is_dir()),
            env: env.clone(),
            handshake_timeout: start::HANDSHAKE_TIMEOUT,
            connection: Mutex::new(None),
            session: Mutex::new(None),
            remarks: Remarks::default(),
        }
    }

    /// The provider as it takes over from another one: nothing but GitHub, and only when somebody is signed in there.
    ///
    /// # Errors
    /// There is no CLI, it does not start, or nobody is signed in.
    pub(crate) fn signed_in(env: &Env, stop: &Cancel) -> Result<Self, Failure> {
        let mut provider = Self::new(env);
        provider.server = None;
        provider.connection(stop)?;
        Ok(provider)
    }

    /// The CLI, started and signed in if it is not yet.
    fn connection(&self, stop: &Cancel) -> Result<Arc<Connection>, Failure> {
        let mut running = lock(&self.connection);
        if let Some(connection) = running.take_if(|connection| !connection.is_gone()) {
            return Ok(Arc::clone(running.insert(connection)));
        }
        let limit = self.handshake_timeout;
        let until = Instant::now() + limit;
        let connection = start::start(&self.env, limit, stop)?.connection;
        // With a server of the user's own nobody has to be signed in.
        if self.server.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            let signed_in = start::login(&connection, left, stop).and_then(|status| {
                match status.is_authenticated {
                    true => Ok(()),
                    false => Err(start::not_signed_in(&status.status_message)),
                }
            });
            if let Err(failure) = signed_in {
                availability::forget(&self.env);
                connection.close(Duration::ZERO);
                return Err(failure);
            }
        }
        *running = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// The session of the conversation with what `request` has for it, or a new one with the whole conversation.
    fn follow<'a>(
        &self,
        request: &Request<'a>,
        stop: &Cancel,
    ) -> Result<(CopilotSession, NewMessages<'a>), Failure> {
        // Taken out, so that a request beside this one waits for nobody.
        let kept = lock(&self.session).take();
        if let Some(mut session) = kept.filter(|session| session.fits(request))
            && let Some(news) = session.seen.news(request.messages)
        {
            let fits = match &news {
                NewMessages::Results(_) => session.turn.is_some(),
                NewMessages::Prompt(_) if session.turn.is_some() => false,
                NewMessages::Prompt(_) => session.settle(stop),
            };
            if fits {
                return Ok((session, news));
            }
        }
        stop.check().map_err(|_| Failure::cancelled())?;
        Ok((self.open(request, stop)?, self.whole(request)))
    }

    fn open(&self, request: &Request<'_>, stop: &Cancel) -> Result<CopilotSession, Failure> {
        let connection = self.connection(stop)?;
        if let Some(hook) = request.on_connect {
            hook.call();
        }
        let (server, dir) = (self.server.as_ref(), self.dir.as_deref());
        CopilotSession::open(&connection, request, server, dir, stop)
    }

    fn whole<'a>(&self, request: &Request<'_>) -> NewMessages<'a> {
        NewMessages::Prompt(history::first_prompt(request.messages))
    }

    /// Ends the CLI after a failure that it does not get over.
    fn drop_connection(&self) {
        if let Some(connection) = lock(&self.connection).take() {
            connection.close(Duration::ZERO);
        }
    }
}

impl Provider for CopilotProvider {
    fn name(&self) -> &'static str {
        NAME
    }

    fn before_sending(&self) -> Option<Wait> {
        // Whoever holds the lock is starting the CLI.
        let running = self.connection.try_lock().ok();
        let is_running = running.is_some_and(|running| {
            running
                .as_ref()
                .is_some_and(|connection| !connection.is_gone())
        });
        (!is_running).then_some(Wait::Start { program: "Copilot" })
    }

    fn keeps_conversation(&self) -> bool {
        true
    }

    fn bills_dollars(&self) -> bool {
        false
    }

    /// A session keeps its tools, and calls are refused while the turn runs.
    fn can_forbid_calls(&self, _: &ModelInfo) -> bool {
        true
    }

    fn stream(
        &self,
        request: &Request<'_>,
        emit: &mut dyn FnMut(Delta<'_>),
        stop: &Cancel,
    ) -> Result<Reply, Failure> {
        // A request that is no part of the conversation gets a session of its own.
        let is_conversation = !request.cache_key.is_empty();
        let (mut session, mut news) = match is_conversation {
            true => self.follow(request, stop)?,
            false => (self.open(request, stop)?, self.whole(request)),
        };
        if request.effort_chosen && !session.takes_effort {
            let words = remarks::no_effort(NAME, request);
            self.remarks.tell(&words, &words, emit);
        }
        let mut outcome = take_turn(&mut session, &news, request, emit, stop);
        // The CLI ended since the last turn, which is noticed only now.
        if let Err(TurnFailure { unsent: true, .. }) = &outcome {
            session = self.open(request, stop)?;
            news = self.whole(request);
            outcome = take_turn(&mut session, &news, request, emit, stop);
        }
        match outcome {
            Ok(reply) => {
                let calls = reply.calls.iter().map(|call| call.id.as_str());
                session.seen.answered(&reply.text, calls);
                if is_conversation {
                    *lock(&self.session) = Some(session);
                }
                Ok(reply)
            }
            Err(TurnFailure { failure, keep, .. }) => {
                if keep && is_conversation {
                    let none = std::iter::empty();
                    session.seen.answered(&failure.partial.text, none);
                    *lock(&self.session) = Some(session);
                } else if failure.kind == FailureKind::Auth {
                    drop(session);
                    availability::forget(&self.env);
                    self.drop_connection();
                }
                Err(failure)
            }
        }
    }
}

/// Sends what is new and reads the reply.
fn take_turn(
    session: &mut CopilotSession,
    news: &NewMessages<'_>,
    request: &Request<'_>,
    emit: &mut dyn FnMut(Delta<'_>),
    stop: &Cancel,
) -> Result<Reply, TurnFailure> {
    session.seen.set(request.messages);
    let limit = request.options.limit.unwrap_or(request.options.turn_limit);
    let may_call = request.may_call;
    match news {
        NewMessages::Prompt(text) => {
            let new = (text.as_str(), request.messages);
            turn::send(session, new, limit, may_call, emit, stop)
        }
        NewMessages::Results(results) => {
            let results = (results.as_slice(), request.options.waited);
            turn::resume(session, results, may_call, emit, stop)
        }
    }
}

impl Drop for CopilotProvider {
    fn drop(&mut self) {
        // The connection removes its sessions when it closes, so this one waits for that.
        let session = lock(&self.session).take();
        if let Some(connection) = lock(&self.connection).take() {
            let closing = Arc::clone(&connection);
            // Nobody waits for it: a model is switched while the user types. At the end of the process it is waited for.
            let started = thread::Builder::new()
                .name("copilot-close".to_owned())
                .spawn(move || {
                    closing.close(CLOSE_TIMEOUT);
                    drop(session);
                });
            if started.is_err() {
                connection.close(Duration::ZERO);
            }
        }
    }
}
