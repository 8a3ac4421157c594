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
    who: OfferedTo,
}

/// The sessions to which a mode is offered; every one where the command line has chosen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfferedTo {
    All,
    /// Those whose commands run in a sandbox, or without one because the user has said so.
    Fenced,
    Nobody,
}

/// What the modes of a session depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModeChoice {
    /// The mode that the command line chose.
    pub(super) chosen: PermissionMode,
    /// What becomes of commands is decided, so that nobody need read them.
    pub(super) is_fenced: bool,
}

static MODES: &[AcpMode] = &[
    AcpMode {
        id: "ask",
        name: "Ask",
        about: "Reads run, on the web too; changes of files, programs and what acts outside are asked about.",
        mode: PermissionMode::Default,
        who: OfferedTo::All,
    },
    AcpMode {
        id: "edit",
        name: "Edit",
        about: "Changes of files run too; programs and what acts outside are asked about.",
        mode: PermissionMode::AcceptEdits,
        who: OfferedTo::All,
    },
    AcpMode {
        id: "plan",
        name: "Plan",
        about: "Marvin looks and plans, and changes nothing.",
        mode: PermissionMode::Plan,
        who: OfferedTo::All,
    },
    AcpMode {
        id: "auto",
        name: "Auto",
        about: "Everything runs without a question.",
        mode: PermissionMode::Bypass,
        who: OfferedTo::Fenced,
    },
    AcpMode {
        id: "deny",
        name: "Deny",
        about: "Reads run; everything else is refused unless a rule allows it.",
        mode: PermissionMode::DontAsk,
        who: OfferedTo::Nobody,
    },
];

/// The modes that are offered.
fn offered(choice: ModeChoice) -> impl Iterator<Item = &'static AcpMode> {
    MODES.iter().filter(move |row| match row.who {
        OfferedTo::All => true,
        OfferedTo::Fenced => choice.is_fenced || row.mode == choice.chosen,
        OfferedTo::Nobody => row.mode == choice.chosen,
    })
}

/// Whether a mode is offered.
pub(super) fn has(mode: PermissionMode, choice: ModeChoice) -> bool {
    offered(choice).any(|row| row.mode == mode)
}

/// The id of a mode.
pub(super) fn id(mode: PermissionMode) -> &'static str {
    let row = MODES.iter().find(|row| row.mode == mode);
    row.map_or("ask", |row| row.id)
}

/// The mode that an id means.
pub(super) fn named(id: &str, choice: ModeChoice) -> Result<PermissionMode, RpcError> {
    let row = offered(choice).find(|row| row.id == id);
    row.map(|row| row.mode).ok_or_else(|| not_found("mode", id))
}

/// The modes, for a client.
pub(super) fn state(now: PermissionMode, choice: ModeChoice) -> Value {
    let modes: Vec<Value> = offered(choice)
        .map(|row| json!({"id": row.id, "name": row.name, "description": row.about}))
        .collect();
    json!({"currentModeId": id(now), "availableModes": modes})
}

/// The same as the values of an option.
pub(super) fn values(choice: ModeChoice) -> Vec<Value> {
    offered(choice)
        .map(|row| json!({"value": row.id, "name": row.name, "description": row.about}))
        .collect()
}
