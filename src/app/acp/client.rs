//! The client: what it can do, and the requests to it.

use std::sync::{Arc, OnceLock};

use crossbeam_channel::{bounded, select};
use serde_json::Value;

use super::out::Out;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::json_rpc::open_requests::{CannotAsk, OpenRequests};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};

/// Requests to the client that may have no answer yet.
const MAX_OPEN: usize = 256;

/// The client.
pub(super) struct Client {
    pub(super) out: Arc<Out>,
    requests: OpenRequests,
    /// Set by `initialize`.
    abilities: OnceLock<ClientAbilities>,
}

/// What the client offers. What it does not is never called.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientAbilities {
    pub(super) reads_files: bool,
    pub(super) writes_files: bool,
    /// It shows forms, which the user fills in.
    pub(super) fills_forms: bool,
    /// It can run the agent in a terminal, to set it up.
    pub(super) has_terminal_sign_in: bool,
}

impl ClientAbilities {
    /// Reads `clientCapabilities`.
    pub(super) fn read(capabilities: &Value) -> Self {
        let is = |path: &str| capabilities.pointer(path) == Some(&Value::Bool(true));
        Self {
            reads_files: is("/fs/readTextFile"),
            writes_files: is("/fs/writeTextFile"),
            fills_forms: (capabilities.pointer("/elicitation/form")).is_some_and(Value::is_object),
            has_terminal_sign_in: is("/auth/terminal"),
        }
    }
}

impl Client {
    pub(super) fn new(out: Arc<Out>) -> Self {
        Self {
            out,
            requests: OpenRequests::default(),
            abilities: OnceLock::new(),
        }
    }

    /// The client has introduced itself. False when it had already.
    pub(super) fn introduce(&self, abilities: ClientAbilities) -> bool {
        self.abilities.set(abilities).is_ok()
    }

    pub(super) fn is_introduced(&self) -> bool {
        self.abilities.get().is_some()
    }

    pub(super) fn abilities(&self) -> ClientAbilities {
        self.abilities.get().copied().unwrap_or_default()
    }

    /// Asks the client about something in a session and waits for the answer, as long as that takes.
    ///
    /// # Errors
    /// It is gone, too much is asked already, or `stop` has fired. What the client answers is the value, its error too.
    pub(super) fn ask(
        &self,
        session: &str,
        method: &str,
        params: &Value,
        stop: &Cancel,
    ) -> Outcome<Result<Value, RpcError>> {
        stop.check()?;
        let (id, answer) = self.requests.open(MAX_OPEN).map_err(|why| match why {
            CannotAsk::Closed => gone(),
            CannotAsk::TooMany => Problem::limit(format!(
                "The editor has {MAX_OPEN} requests to answer already."
            )),
        })?;
        self.out
            .line_of(session, Incoming::request(id, method, params));
        let (fired, on_fire) = bounded(1);
        let _guard = stop.on_fire(move || {
            let _ = fired.send(());
        });
        select! {
            recv(answer) -> answer => answer.map_err(|_| gone()),
            recv(on_fire) -> _ => {
                self.requests.withdraw(id);
                Err(Problem::cancelled())
            }
        }
    }

    /// An answer of the client. False when nobody waits for it.
    pub(super) fn answered(&self, id: &RpcId, result: Result<Value, RpcError>) -> bool {
        self.requests.answer(id, result)
    }

    /// The client is gone.
    pub(super) fn close(&self) {
        self.requests.close();
    }
}

fn gone() -> Problem {
    Problem::refused("The editor is gone and answers nothing any more.")
}

/// The words of an error of the client.
pub(super) fn error_words(error: &RpcError) -> String {
    let words = clip(&escape_controls(error.message.trim()), 300);
    match words.is_empty() {
        true => format!("error {}", error.code),
        false => words,
    }
}
