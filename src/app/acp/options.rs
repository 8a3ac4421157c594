//! The options of a session that a client shows as menus: mode, model, how hard the model thinks, and what commands may do.

use serde_json::{Value, json};

use super::modes;
use super::params::not_found;
use super::session::AcpSession;
use super::tool_call::set;
use crate::formats::json_rpc::RpcError;
use crate::llm::models::{Efforts, ReasoningEffort};
use crate::llm::provider::Effort;
use crate::proc::sandbox::policy::SandboxMode;
use crate::proc::sandbox::session_sandbox::SessionSandbox;
use crate::tools::engine::permission::mode::PermissionMode;

const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
const THOUGHT_LEVEL: &str = "thought_level";
const SANDBOX: &str = "sandbox";

/// Modes and options, as the answer to the request that opened a session has them.
pub(super) fn set_up(session: &AcpSession) -> Value {
    json!({
        "modes": modes::state(session.mode(), session.modes_now()),
        "configOptions": all(session),
    })
}

/// All options of a session.
pub(super) fn all(session: &AcpSession) -> Value {
    let choice = session.choice();
    let models = session.shared.models.names(&choice.model);
    let models: Vec<Value> = models
        .iter()
        .map(|name| json!({"value": name, "name": name}))
        .collect();
    let mut options = vec![
        select(
            MODE,
            "Mode",
            modes::id(session.mode()),
            &modes::values(session.modes_now()),
        ),
        select(MODEL, "Model", &choice.model, &models),
    ];
    let efforts = session.first.efforts(&choice.model);
    let of_mode = Effort::of_mode(true);
    let now = choice.effort.unwrap_or(of_mode);
    // What the model does not take is sent as the nearest that it does.
    let words: Vec<ReasoningEffort> = efforts.iter().map(|effort| (*effort).into()).collect();
    let told = Efforts::of(&words).nearest(now.into());
    let now = efforts
        .iter()
        .find(|effort| Some((**effort).into()) == told);
    if let Some(now) = now {
        let values: Vec<Value> = efforts
            .iter()
            .map(|effort| json!({"value": effort.word(), "name": name(*effort)}))
            .collect();
        options.push(select(THOUGHT_LEVEL, "Thinking", now.word(), &values));
    }
    options.push(sandbox(&session.context.sandbox));
    Value::Array(options)
}

/// The option for what commands may do: never more than the command line lets them.
fn sandbox(sandbox: &SessionSandbox) -> Value {
    let modes = sandbox.modes().into_iter();
    let values = modes.map(|mode| {
        let (name, about) = match mode {
            SandboxMode::ReadOnly => (
                "Read-only sandbox",
                "Commands and file tools change nothing.",
            ),
            SandboxMode::WorkspaceWrite => (
                "Workspace sandbox",
                "Commands can change the session's folders and temporary files.",
            ),
            SandboxMode::DangerFullAccess => ("No sandbox", "Commands can do what you can."),
        };
        json!({"value": mode.word(), "name": name, "description": about})
    });
    let values: Vec<Value> = values.collect();
    let mut option = select(SANDBOX, "Sandbox", sandbox.mode().word(), &values);
    // None of the protocol's own categories fits, and others begin with an underscore.
    set(&mut option, "category", json!("_sandbox"));
    option
}

/// Some clients show it without the name of the option.
fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "No thinking",
        Effort::Low => "Low effort",
        Effort::Medium => "Medium effort",
        Effort::High => "High effort",
        Effort::XHigh => "Very high effort",
        Effort::Max => "Highest effort",
    }
}

fn select(id: &str, name: &str, now: &str, values: &[Value]) -> Value {
    json!({
        "id": id,
        "name": name,
        "category": id,
        "type": "select",
        "currentValue": now,
        "options": values,
    })
}

/// Changes an option, from the next request to the model on.
pub(super) fn change(session: &AcpSession, id: &str, value: &str) -> Result<(), RpcError> {
    match id {
        MODE => {
            session.set_mode(value)?;
            session.tell(&modes_update(session));
        }
        MODEL => {
            let choice = session.choice();
            if !session
                .shared
                .models
                .names(&choice.model)
                .iter()
                .any(|name| name == value)
            {
                return Err(not_found("model", value));
            }
            session.set_model(value);
        }
        THOUGHT_LEVEL => {
            let efforts = session.first.efforts(&session.choice().model);
            let effort = efforts.iter().find(|effort| effort.word() == value);
            session.set_effort(*effort.ok_or_else(|| not_found("level", value))?);
        }
        SANDBOX => {
            let mode = SandboxMode::parse(value).ok();
            let mode = mode.filter(|mode| session.context.sandbox.modes().contains(mode));
            let mode = mode.ok_or_else(|| not_found("sandbox", value))?;
            // Where nothing will hold commands any more, they are asked about again.
            if !modes::has(session.mode(), session.mode_choice(mode)) {
                session.set_mode(modes::id(PermissionMode::Default))?;
                session.tell(&modes_update(session));
            }
            session.context.change_sandbox(mode);
        }
        _ => return Err(not_found("option", id)),
    }
    Ok(())
}

/// The update that tells of the mode.
pub(super) fn modes_update(session: &AcpSession) -> Value {
    json!({
        "sessionUpdate": "current_mode_update",
        "currentModeId": modes::id(session.mode()),
    })
}

/// The update that tells of all options.
pub(super) fn options_update(session: &AcpSession) -> Value {
    json!({"sessionUpdate": "config_option_update", "configOptions": all(session)})
}
