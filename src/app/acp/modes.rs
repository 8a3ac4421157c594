//! The modes of a session: permission modes under the names that people choose in an editor.

use serde_json::{Value, json};

use super::params::not_found;
use crate::formats::json_rpc::RpcError;
use crate::tools::engine::permission::mode::PermissionMode;

/// A mode.
struct AcpMode {
    id: &'static str,
    name: &'static str,
    about: &'static str,
    mode: PermissionMode,
    /// Offered to every session. The others only where the command line has chosen them.
    is_for_all: bool,
}

static MODES: &[AcpMode] = &[
    AcpMode {
        id: "ask",
        name: "Ask",
        about: "Reads run; changes of files, programs and what reaches outside are asked about.",
        mode: PermissionMode::Default,
        is_for_all: true,
    },
    AcpMode {
        id: "edit",
        name: "Edit",
        about: "Changes of files run too; programs and what reaches outside are asked about.",
        mode: PermissionMode::AcceptEdits,
        is_for_all: true,
    },
    AcpMode {
        id: "plan",
        name: "Plan",
        about: "Marvin looks and plans, and changes nothing.",
        mode: PermissionMode::Plan,
        is_for_all: true,
    },
    AcpMode {
        id: "auto",
        name: "Auto",
        about: "Everything runs without a question.",
        mode: PermissionMode::Bypass,
        is_for_all: false,
    },
    AcpMode {
        id: "deny",
        name: "Deny",
        about: "Reads run; everything else is refused unless a rule allows it.",
        mode: PermissionMode::DontAsk,
        is_for_all: false,
    },
];

/// The modes that are offered where the command line says `chosen`.
fn offered(chosen: PermissionMode) -> impl Iterator<Item = &'static AcpMode> {
    MODES
        .iter()
        .filter(move |row| row.is_for_all || row.mode == chosen)
}

/// The id of a mode.
pub(super) fn id(mode: PermissionMode) -> &'static str {
    let row = MODES.iter().find(|row| row.mode == mode);
    row.map_or("ask", |row| row.id)
}

/// The mode that an id means.
pub(super) fn named(id: &str, chosen: PermissionMode) -> Result<PermissionMode, RpcError> {
    let row = offered(chosen).find(|row| row.id == id);
    row.map(|row| row.mode).ok_or_else(|| not_found("mode", id))
}

/// The modes, for a client.
pub(super) fn state(now: PermissionMode, chosen: PermissionMode) -> Value {
    let modes: Vec<Value> = offered(chosen)
        .map(|row| json!({"id": row.id, "name": row.name, "description": row.about}))
        .collect();
    json!({"currentModeId": id(now), "availableModes": modes})
}

/// The same as the values of an option.
pub(super) fn values(chosen: PermissionMode) -> Vec<Value> {
    offered(chosen)
        .map(|row| json!({"value": row.id, "name": row.name, "description": row.about}))
        .collect()
}
