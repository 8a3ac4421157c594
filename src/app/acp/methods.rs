//! What a client may call: one row for each method, with what it does.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::agent::{Agent, Opening};
use super::client::ClientAbilities;
use super::models;
use super::params::{Answer, internal, text, wrong};
use super::{list, options};
use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls};
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::llm::images::{TakesImages, takes};

/// The version of the protocol.
const PROTOCOL: u64 = 1;
/// How long a session that is to be deleted may take to end.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// A method.
struct Method {
    name: &'static str,
    handler: Handler,
}

/// The answer to a request, if there is one already.
type Handled = Result<Option<Value>, RpcError>;

/// What it does.
#[derive(Clone, Copy)]
enum Handler {
    /// Answers a request at once, or sees to it that it is answered: then there is no answer yet.
    Request(fn(&Arc<Agent>, &RpcId, &Value) -> Handled),
    Notification(fn(&Agent, &Value)),
}

static METHODS: &[Method] = &[
    Method {
        name: "initialize",
        handler: Handler::Request(|agent, _, params| initialize(agent, params).map(Some)),
    },
    Method {
        name: "authenticate",
        handler: Handler::Request(|agent, _, params| authenticate(agent, params).map(Some)),
    },
    Method {
        name: "session/new",
        handler: Handler::Request(|agent, id, params| {
            agent.open(id, Opening::New, params).map(|()| None)
        }),
    },
    Method {
        name: "session/load",
        handler: Handler::Request(|agent, id, params| {
            agent.open(id, Opening::Load, params).map(|()| None)
        }),
    },
    Method {
        name: "session/resume",
        handler: Handler::Request(|agent, id, params| {
            agent.open(id, Opening::Resume, params).map(|()| None)
        }),
    },
    Method {
        name: "session/list",
        handler: Handler::Request(|agent, _, params| list::page(&agent.shared, params).map(Some)),
    },
    Method {
        name: "session/close",
        handler: Handler::Request(|agent, id, params| {
            agent.session(params)?.end(Some(id.clone()));
            Ok(None)
        }),
    },
    Method {
        name: "session/delete",
        handler: Handler::Request(delete),
    },
    Method {
        name: "session/prompt",
        handler: Handler::Request(|agent, id, params| {
            agent.session(params)?.prompt(id, params).map(|()| None)
        }),
    },
    Method {
        name: "session/set_mode",
        handler: Handler::Request(|agent, _, params| {
            let session = agent.session(params)?;
            session.set_mode(text(params, "modeId")?)?;
            session.tell(&options::options_update(&session));
            Ok(Some(json!({})))
        }),
    },
    Method {
        name: "session/set_config_option",
        handler: Handler::Request(|agent, _, params| {
            let session = agent.session(params)?;
            options::change(&session, text(params, "configId")?, text(params, "value")?)?;
            Ok(Some(json!({"configOptions": options::all(&session)})))
        }),
    },
    Method {
        name: "session/cancel",
        handler: Handler::Notification(|agent, params| {
            if let Ok(session) = agent.session(params) {
                session.cancel();
            }
        }),
    },
    Method {
        name: "$/cancel_request",
        handler: Handler::Notification(|agent, params| {
            let id = params.get("requestId").cloned().and_then(RpcId::read);
            if let Some(id) = id {
                let sessions = agent.sessions();
                sessions
                    .iter()
                    .for_each(|session| session.cancel_request(&id));
            }
        }),
    },
];

/// Takes a line of the client.
pub(super) fn take(agent: &Arc<Agent>, line: &[u8]) {
    match Incoming::read(line) {
        Ok(Incoming::Request { id, method, params }) => {
            match request(agent, &id, &method, &params) {
                Ok(None) => {}
                Ok(Some(answer)) => agent.answer(&id, &Ok(answer)),
                Err(error) => agent.answer(&id, &Err(error)),
            }
        }
        Ok(Incoming::Notification { method, params }) => {
            if let Some(Handler::Notification(handle)) = handler(&method) {
                handle(agent, &params);
            }
        }
        Ok(Incoming::Answer { id, result }) => {
            agent.shared.client.answered(&id, result);
        }
        Err(misread) => {
            // What a client sends whose handler returns nothing ends the request, which would wait for ever.
            let words = "the answer has neither a result nor an error";
            let failed = RpcError::new(RpcError::INTERNAL, words);
            let client = &agent.shared.client;
            if !misread.is_answer || !client.answered(&misread.id, Err(failed)) {
                agent.answer(&misread.id, &Err(misread.error));
            }
        }
    }
}

fn handler(method: &str) -> Option<Handler> {
    let row = METHODS.iter().find(|row| row.name == method);
    row.map(|row| row.handler)
}

fn request(agent: &Arc<Agent>, id: &RpcId, method: &str, params: &Value) -> Handled {
    let shown = || clip(&escape_controls(method), 80);
    if method != "initialize" && !agent.shared.client.is_introduced() {
        let words = format!("{} cannot come before initialize.", shown());
        return Err(RpcError::new(RpcError::INVALID_REQUEST, words));
    }
    let Some(Handler::Request(handle)) = handler(method) else {
        let words = format!("There is no method \"{}\".", shown());
        return Err(RpcError::new(RpcError::NO_METHOD, words));
    };
    if !params.is_object() && !params.is_null() {
        return Err(wrong("params", "params is no object."));
    }
    handle(agent, id, params)
}

fn initialize(agent: &Agent, params: &Value) -> Answer {
    // Whatever version is asked for, this one is offered, and the client decides.
    match params.get("protocolVersion") {
        None | Some(Value::Null | Value::Number(_)) => {}
        Some(_) => return Err(wrong("protocolVersion", "protocolVersion is no number.")),
    }
    let capabilities = params.get("clientCapabilities").unwrap_or(&Value::Null);
    let abilities = ClientAbilities::read(capabilities);
    if !agent.shared.client.introduce(abilities) {
        let words = "initialize comes once.";
        return Err(RpcError::new(RpcError::INVALID_REQUEST, words));
    }
    let first = agent.shared.models.first().ok();
    let takes_images = first.as_ref().is_some_and(|first| {
        let info = first.info(&first.model);
        takes(first.provider, &first.model, &info) != TakesImages::No
    });
    let methods = agent.shared.models.ways_in(abilities.has_terminal_sign_in);
    Ok(json!({
        "protocolVersion": PROTOCOL,
        "agentInfo": {
            "name": "marvin",
            "title": "Marvin",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {
                "image": takes_images,
                "audio": false,
                "embeddedContext": true,
            },
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
            "auth": {},
        },
        "authMethods": methods,
    }))
}

/// A client runs `marvin acp --setup` in a terminal by itself, and says so here.
fn authenticate(agent: &Agent, params: &Value) -> Answer {
    let method = text(params, "methodId")?;
    if !models::WAYS_IN.contains(&method) {
        let shown = clip(&escape_controls(method), 60);
        let words = format!("There is no way to sign in that is called \"{shown}\".");
        return Err(wrong("methodId", words));
    }
    agent.shared.models.way_taken(method).map(|()| json!({}))
}

/// Deletes a session; one that is open here is closed first.
fn delete(agent: &Arc<Agent>, id: &RpcId, params: &Value) -> Handled {
    let Some(open) = agent.open_session(text(params, "sessionId")?) else {
        return list::delete(&agent.shared, params).map(Some);
    };
    let (agent, request, params) = (Arc::clone(agent), id.clone(), params.clone());
    let wait = move || {
        open.end(None);
        open.wait_until_over(CLOSE_LIMIT);
        agent.answer(&request, &list::delete(&agent.shared, &params));
    };
    let started = thread::Builder::new().name("delete".to_owned()).spawn(wait);
    started
        .map(|_| None)
        .map_err(|error| internal(&Problem::system("Cannot start a thread", error)))
}
