//! The commands that a prompt may begin with: those of the conversation that need no screen, those of a session of an editor, and skills.

use serde_json::{Value, json};

use super::options;
use super::session::AcpSession;
use crate::app::session::commands::{self, CommandSpec};
use crate::base::text::{clip, escape_controls};
use crate::tools::session::skills;

/// What a skill may be given.
const SKILL_ARGS: &str = "[WHAT TO DO]";

/// A command of these sessions alone.
struct OwnCommand {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    /// Says what it did, or what is wrong with the text after its name.
    run: fn(&AcpSession, &str) -> String,
}

static OWN: [OwnCommand; 1] = [OwnCommand {
    name: "model",
    args: "[MODEL]",
    about: "show or change the model",
    run: model,
}];

/// The names of [`OWN`].
pub(super) fn own_names() -> Vec<&'static str> {
    OWN.iter().map(|own| own.name).collect()
}

/// The update that tells of all commands of a session, its skills included.
pub(super) fn update(session: &AcpSession) -> Value {
    let about = |name, row: &'static CommandSpec| match name {
        // For the editor the session stays.
        "clear" => "go on with an empty conversation",
        _ => row.about,
    };
    let shared = commands::for_programs();
    let shared = shared.map(|(name, row)| (name, row.args, about(name, row)));
    let own = OWN.iter().map(|own| (own.name, own.args, own.about));
    let rows: Vec<_> = shared.chain(own).collect();
    let names: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
    let skills = skills::for_user(&session.context, &names);
    let skills = (skills.iter()).map(|(name, about)| (name.as_str(), SKILL_ARGS, about.as_str()));
    let command = |(name, args, about)| {
        let input = match args {
            "" => Value::Null,
            args => json!({"hint": args}),
        };
        json!({"name": name, "description": about, "input": input})
    };
    let commands: Vec<Value> = rows.iter().copied().chain(skills).map(command).collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": commands})
}

/// Runs a line that begins with a command of [`OWN`], and returns what it says.
pub(super) fn run(session: &AcpSession, line: &str) -> Option<String> {
    let line = line.strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let own = OWN.iter().find(|own| own.name == name)?;
    Some((own.run)(session, rest.trim()))
}

/// Shows the model and those that there are, or changes it.
fn model(session: &AcpSession, name: &str) -> String {
    let now = session.choice().model;
    let names = session.shared.models.names(&now);
    if name.is_empty() {
        return match names.len() {
            1 => format!("Model: {now}."),
            _ => format!("Model: {now}. There are: {}.", names.join(", ")),
        };
    }
    match options::change(session, options::MODEL, name) {
        Ok(()) => {
            session.tell(&options::options_update(session));
            format!("Model: {name}, from the next message on.")
        }
        Err(_) => format!(
            "There is no model \"{}\" here. There are: {}.",
            clip(&escape_controls(name), 60),
            names.join(", ")
        ),
    }
}
