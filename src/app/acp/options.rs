//! The options of a session that a client shows as menus: mode, model, and how hard the model thinks.

use serde_json::{Value, json};

use super::modes;
use super::params::not_found;
use super::session::AcpSession;
use crate::formats::json_rpc::RpcError;
use crate::llm::provider::Effort;

const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
const THOUGHT_LEVEL: &str = "thought_level";

/// Modes and options, as the answer to the request that opened a session has them.
pub(super) fn set_up(session: &AcpSession) -> Value {
    json!({
        "modes": modes::state(session.mode(), session.shared.chosen_mode),
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
            &modes::values(session.shared.chosen_mode),
        ),
        select(MODEL, "Model", &choice.model, &models),
    ];
    let efforts = session.first.efforts(&choice.model);
    let of_mode = Effort::of_mode(true);
    let now = choice.effort.unwrap_or(of_mode);
    // What the model does not take is sent as the nearest that it does.
    let now = match efforts.contains(&now) {
        true => Some(&now),
        false => efforts.last(),
    };
    if let Some(now) = now {
        let values: Vec<Value> = efforts
            .iter()
            .map(|effort| json!({"value": effort.word(), "name": name(*effort)}))
            .collect();
        options.push(select(THOUGHT_LEVEL, "Thinking", now.word(), &values));
    }
    Value::Array(options)
}

fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "Low",
        Effort::Medium => "Medium",
        Effort::High => "High",
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
