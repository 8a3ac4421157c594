//! The first line of a turn: where it works, with which model and tools.

use serde::Serialize;
use serde_json::{Value, json};

use super::line_writer::LineWriter;
use crate::proc::sandbox::landlock_abi;
use crate::proc::sandbox::session_sandbox::SessionSandbox;

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
    /// The provider's key was found, or it needs none.
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

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
struct InitLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    subtype: &'static str,
    cwd: &'a str,
    tools: &'a [String],
    mcp_servers: &'a Value,
    model: &'a str,
    #[serde(rename = "permissionMode")]
    permission_mode: &'a str,
    slash_commands: &'a [String],
    #[serde(rename = "apiKeySource")]
    api_key_source: &'static str,
    output_style: &'static str,
    skills: &'a [String],
    plugins: [Value; 0],
    agents: [Value; 0],
    claude_code_version: &'static str,
    marvin_version: &'static str,
    sandbox: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    marvin_left_out: Option<&'a str>,
}

pub(super) fn write(writer: &LineWriter, facts: &InitFacts<'_>) {
    writer.write(&InitLine {
        kind: "system",
        subtype: "init",
        cwd: facts.cwd,
        tools: facts.tools,
        mcp_servers: facts.servers,
        model: facts.model,
        permission_mode: facts.permission_mode,
        slash_commands: facts.slash_commands,
        api_key_source: match facts.has_key {
            true => "user",
            false => "none",
        },
        output_style: "default",
        skills: facts.skills,
        plugins: [],
        agents: [],
        claude_code_version: FORM_VERSION,
        marvin_version: env!("CARGO_PKG_VERSION"),
        sandbox: sandbox(facts.sandbox),
        marvin_left_out: facts.left_out,
    });
}

/// What is held, and with which version of Landlock; null where there is none, and commands are refused then.
fn sandbox(sandbox: &SessionSandbox) -> Value {
    let Some(choice) = sandbox.fence() else {
        // Programs run with the rights of the user.
        return json!({"mode": "danger-full-access", "network": true, "abi": null, "writable": []});
    };
    let writable = choice
        .writable
        .iter()
        .map(|path| path.display().to_string());
    json!({
        "mode": choice.mode.word(),
        "network": choice.network,
        "abi": landlock_abi().ok(),
        "writable": writable.collect::<Vec<_>>(),
    })
}
