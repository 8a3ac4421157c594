//! The first line of a turn: where it works, with which model and tools.

use std::path::Path;

use serde_json::{Value, json};

use super::line_writer::LineWriter;
use crate::proc::sandbox::landlock_abi;
use crate::proc::sandbox::session_sandbox::SessionSandbox;
use crate::proc::sandbox::words;

/// The version of the form that the lines have.
const FORM_VERSION: &str = "2.1.0";

/// What the line tells.
pub(super) struct InitFacts<'a> {
    pub(super) cwd: &'a str,
    pub(super) tools: &'a [String],
    /// Name and state of each server.
    pub(super) servers: &'a Value,
    pub(super) model: &'a str,
    pub(super) permission_mode: &'a str,
    /// The provider's key was found.
    pub(super) has_key: bool,
    /// What holds the commands.
    pub(super) sandbox: &'a SessionSandbox,
    /// What the project has and the session does not use.
    pub(super) left_out: Option<&'a str>,
    /// The skills that the model is told of.
    pub(super) skills: &'a [String],
    /// Those that a message may call.
    pub(super) slash_commands: &'a [String],
}

pub(super) fn write(writer: &LineWriter, facts: &InitFacts<'_>) {
    let mut line = json!({
        "type": "system",
        "subtype": "init",
        "cwd": facts.cwd,
        "tools": facts.tools,
        "mcp_servers": facts.servers,
        "model": facts.model,
        "permissionMode": facts.permission_mode,
        "slash_commands": facts.slash_commands,
        "apiKeySource": match facts.has_key {
            true => "user",
            false => "none",
        },
        "output_style": "default",
        "skills": facts.skills,
        "plugins": [],
        "agents": [],
        "claude_code_version": FORM_VERSION,
        "marvin_version": env!("CARGO_PKG_VERSION"),
        "sandbox": sandbox(facts.sandbox, Path::new(facts.cwd)),
    });
    if let (Some(left_out), Some(line)) = (facts.left_out, line.as_object_mut()) {
        line.insert("marvin_left_out".to_owned(), left_out.into());
    }
    writer.write(&line);
}

/// What is held, and with which version of Landlock; null where there is none, and commands are refused then.
fn sandbox(sandbox: &SessionSandbox, dir: &Path) -> Value {
    let Some(choice) = sandbox.fence() else {
        // Programs run with the rights of the user.
        return json!({"mode": "danger-full-access", "network": true, "abi": null, "writable": []});
    };
    let writable = sandbox.writable_in(dir);
    let writable = writable.iter().map(|path| path.display().to_string());
    let abi = landlock_abi().ok();
    let held = abi.map(words::held);
    json!({
        "mode": choice.mode.word(),
        "network": choice.network,
        "abi": abi,
        "writable": writable.collect::<Vec<_>>(),
        "holds": held.as_ref().map(|(holds, _)| holds),
        "does_not_hold": held.as_ref().map(|(_, open)| open),
    })
}
