//! A session of the CLI: one conversation, with Marvin's system prompt and tools and nothing of the CLI's own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::cli::OwnServer;
use super::connection::{CallError, Connection};
use super::history::SeenMessages;
use super::messages::SessionEvent;
use super::open_turn::OpenTurn;
use super::start::{call_failure, sentence};
use crate::base::cancel::Cancel;
use crate::base::ids;
use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::models::near;
use crate::llm::models::{EffortControl, ReasoningEffort};
use crate::llm::provider::Request;

/// How long a call may take that only the CLI itself has to answer.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the CLI may take to come to rest after a turn that failed or was stopped.
pub(super) const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct CopilotSession {
    pub connection: Arc<Connection>,
    pub id: String,
    pub events: Receiver<SessionEvent>,
    /// Wakes the reader of `events`.
    pub wake: Sender<SessionEvent>,
    /// Of what it was made with.
    fingerprint: u64,
    pub seen: SeenMessages,
    /// The turn that waits for results of tools.
    pub turn: Option<OpenTurn>,
    /// When the last turn was ended early, until the CLI has come to rest.
    pub unsettled_since: Option<Instant>,
    /// AI credits that are counted already, in billionths.
    pub counted_credits: f64,
    /// It was told how hard to think.
    pub takes_effort: bool,
}

/// The fields of `session.create`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreateParams<'a> {
    session_id: &'a str,
    model: &'a str,
    /// Only for models that take one; the CLI refuses it for others (<https://github.com/github/copilot-sdk>).
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    client_name: &'static str,
    streaming: bool,
    system_message: SystemMessage<'a>,
    tools: Vec<ToolParams<'a>>,
    /// Only ours: none of its own tools.
    available_tools: [&'static str; 1],
    tool_filter_precedence: &'static str,
    /// Without this a signed-in session contacts them, though their tools are filtered out.
    #[serde(rename = "disabledMcpServers")]
    disabled_servers: [&'static str; 2],
    /// Otherwise long results of tools are replaced by a file name that the model cannot read.
    large_output: Enabled,
    request_permission: bool,
    enable_skills: bool,
    enable_session_telemetry: bool,
    memory: Enabled,
    env_value_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_directory: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ServerParams<'a>>,
}

/// Replaces the CLI's own prompt, and with it the instruction files that it would read.
#[derive(Serialize)]
struct SystemMessage<'a> {
    mode: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolParams<'a> {
    name: &'a str,
    description: &'a RawValue,
    parameters: &'a RawValue,
    /// Approvals are Marvin's own.
    skip_permission: bool,
    /// A tool of ours may be called like one of the CLI's.
    overrides_built_in_tool: bool,
}

#[derive(Serialize)]
struct Enabled {
    enabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerParams<'a> {
    r#type: &'static str,
    wire_api: &'static str,
    base_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'a str>,
}

impl CopilotSession {
    /// Opens a session for `request`.
    ///
    /// # Errors
    /// The CLI refuses the model or the tools, or does not answer.
    pub(super) fn open(
        connection: &Arc<Connection>,
        request: &Request<'_>,
        server: Option<&OwnServer>,
        dir: Option<&Path>,
        stop: &Cancel,
    ) -> Result<Self, Failure> {
        let id = session_id();
        let (wake, events) = connection.listen(&id);
        // From here on it is forgotten when something fails.
        let mut session = Self {
            connection: Arc::clone(connection),
            events,
            wake,
            fingerprint: fingerprint(request),
            seen: SeenMessages::default(),
            turn: None,
            unsettled_since: None,
            counted_credits: 0.0,
            takes_effort: false,
            id,
        };
        let mut takes_effort = effort(request).is_some();
        let id = session.id.clone();
        let create = |effort| {
            let params = create_params(&id, request, effort, server, dir);
            connection.call("session.create", params, CALL_TIMEOUT, stop)
        };
        let refuses_effort = |error: &str| {
            error
                .to_lowercase()
                .replace(' ', "")
                .contains("reasoningeffort")
        };
        let mut created = create(effort(request));
        if let Err(CallError::Refused(error)) = &created
            && takes_effort
            && refuses_effort(&error.message)
        {
            takes_effort = false;
            created = create(None);
        }
        session.takes_effort = takes_effort;
        match created {
            Ok(_) => Ok(session),
            Err(CallError::Refused(error)) if error.message.contains("is not available") => {
                let what = format!("copilot: {}", sentence(&error.message));
                Err(unknown_model(connection, request.model, what, stop))
            }
            Err(error) => Err(call_failure(connection, "beginning a session", error)),
        }
    }

    /// Whether it was made with what `request` has.
    pub(super) fn fits(&self, request: &Request<'_>) -> bool {
        self.fingerprint == fingerprint(request) && !self.connection.is_gone()
    }

    /// Stops the running turn, without waiting until it has stopped.
    pub(super) fn abort(&mut self) {
        self.turn = None;
        self.unsettled_since = Some(Instant::now());
        self.connection
            .post("session.abort", json!({"sessionId": self.id}));
    }

    /// Waits until a turn that was ended early is over, so that its end is not taken for that of the next; false when it does not end.
    pub(super) fn settle(&mut self, stop: &Cancel) -> bool {
        let Some(since) = self.unsettled_since else {
            return true;
        };
        let wake = self.wake.clone();
        let _wake = stop.on_fire(move || drop(wake.try_send(SessionEvent::Cancelled)));
        let until = since + SETTLE_TIMEOUT;
        loop {
            match self.events.recv_deadline(until) {
                Ok(SessionEvent::Idle) => {
                    self.unsettled_since = None;
                    return true;
                }
                Ok(SessionEvent::Gone) | Err(_) => return false,
                Ok(SessionEvent::Cancelled) if stop.is_fired() => return false,
                Ok(_) => {}
            }
        }
    }
}

impl Drop for CopilotSession {
    fn drop(&mut self) {
        self.connection.forget(&self.id);
    }
}

fn create_params<'a>(
    id: &'a str,
    request: &Request<'a>,
    reasoning_effort: Option<&'static str>,
    server: Option<&'a OwnServer>,
    dir: Option<&'a Path>,
) -> CreateParams<'a> {
    let tools = request.offer.tools.iter().filter_map(|tool| {
        Some(ToolParams {
            name: &tool.name,
            description: serde_json::from_str(&tool.about_json).ok()?,
            parameters: serde_json::from_str(&tool.params_json).ok()?,
            skip_permission: true,
            overrides_built_in_tool: true,
        })
    });
    CreateParams {
        session_id: id,
        model: request.model,
        reasoning_effort,
        client_name: "marvin",
        streaming: true,
        system_message: SystemMessage {
            mode: "replace",
            content: request.system,
        },
        tools: tools.collect(),
        available_tools: ["custom:*"],
        tool_filter_precedence: "excluded",
        disabled_servers: ["github-mcp-server", "githubiq"],
        large_output: Enabled { enabled: false },
        request_permission: true,
        enable_skills: false,
        enable_session_telemetry: false,
        memory: Enabled { enabled: false },
        env_value_mode: "direct",
        working_directory: dir,
        provider: server.map(|server| ServerParams {
            r#type: "openai",
            wire_api: "completions",
            base_url: &server.base,
            api_key: server.key.as_deref(),
        }),
    }
}

/// Everything that is fixed when a session begins.
fn fingerprint(request: &Request<'_>) -> u64 {
    let tools = request.offer.tools.iter();
    let parts = tools.flat_map(|tool| [&*tool.name, &*tool.about_json, &*tool.params_json]);
    [request.model, request.system]
        .into_iter()
        .chain(effort(request))
        .chain(parts)
        .fold(0, |hash: u64, part| {
            hash.rotate_left(5) ^ ids::stable_hash(part)
        })
}

/// The effort that the user chose, where the model takes one: the CLI has words for it from low to high.
fn effort(request: &Request<'_>) -> Option<&'static str> {
    let efforts = request.info.efforts;
    let takes = request.effort_chosen && efforts.control() == EffortControl::Word;
    let word = efforts.nearest(request.effort.into()).filter(|_| takes)?;
    (word >= ReasoningEffort::Low).then(|| word.word())
}

/// A random UUID (RFC 9562, version 4).
fn session_id() -> String {
    let hex = ids::hex(16);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

/// The CLI's words about a model that it does not have, and those that it has.
fn unknown_model(connection: &Connection, model: &str, what: String, stop: &Cancel) -> Failure {
    let mut problem = Problem::config(what);
    if let Ok(models) = list_models(connection, stop)
        && !models.is_empty()
    {
        let ids: Vec<String> = models.into_iter().map(|model| model.id).collect();
        let near = near::did_you_mean_listed(model, &ids);
        problem = near.into_iter().fold(problem, Problem::next);
        problem = problem.next(format!("It has: {}.", clip(&ids.join(", "), 1_000)));
    }
    Failure::new(
        FailureKind::Refused,
        problem.next("Choose another: --model NAME."),
    )
}

/// A model as the CLI lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CopilotModel {
    pub id: String,
    /// Tokens of request and reply together.
    pub window: Option<u64>,
    /// Tokens of a reply.
    pub output: Option<u64>,
    /// How much faster it uses up a yearly plan's requests than others.
    pub multiplier: Option<f64>,
}

/// The models that the plan has.
///
/// # Errors
/// Nobody is signed in, or the CLI does not answer.
pub(crate) fn list_models(
    connection: &Connection,
    stop: &Cancel,
) -> Result<Vec<CopilotModel>, Failure> {
    let answer = connection.call("models.list", json!({}), CALL_TIMEOUT, stop);
    let answer = answer.map_err(|error| call_failure(connection, "listing its models", error))?;
    let answer: serde_json::Value = serde_json::from_str(answer.get()).unwrap_or_default();
    let models = answer.get("models").and_then(serde_json::Value::as_array);
    let models = models.into_iter().flatten().filter_map(|model| {
        let limit = |name: &str| {
            let limits = model.get("capabilities")?.get("limits")?;
            limits.get(name)?.as_u64()
        };
        let id = model.get("id")?.as_str()?;
        Some(CopilotModel {
            id: clip(&escape_controls(id), 100),
            window: limit("max_context_window_tokens"),
            output: limit("max_output_tokens"),
            multiplier: model
                .get("billing")
                .and_then(|it| it.get("multiplier")?.as_f64()),
        })
    });
    Ok(models.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_uuid() {
        let id = session_id();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(id.as_bytes().get(14) == Some(&b'4') && id != session_id());
    }
}
