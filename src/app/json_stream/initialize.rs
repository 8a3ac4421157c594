//! The request by which a caller sets its conversation up before the first message.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::Caller;
use super::user_line::COMPACT;
use super::{caller_servers, hook_callbacks};
use crate::app::settings::caller_servers::CallerServers;
use crate::app::stream::say;
use crate::formats::json_schema::schema::Schema;
use crate::mcp::session::SessionServers;
use crate::tools::engine::hooks::hook_set::Hook;
use crate::tools::session::skills;

/// Members of the request that want what this version cannot do, with what comes of it. Others that are not known change nothing.
const NOT_BUILT: [(&str, &str); 4] = [
    ("agents", "launch_agent does not know them"),
    (
        "planModeInstructions",
        "the plan mode has its own instructions",
    ),
    ("toolAliases", "tools have their own names"),
    (
        "appendSubagentSystemPrompt",
        "sub-agents are not told of it",
    ),
];

/// What a caller wants its conversation to be.
struct Beginning {
    servers: CallerServers,
    schema: Option<Value>,
    hooks: Vec<Hook>,
    /// The skills that are offered; none: all.
    skills: Option<Vec<String>>,
    /// Instead of the usual instructions.
    instead: Option<String>,
    /// Behind them.
    appended: Option<String>,
}

impl Beginning {
    /// Reads the request. Nothing is changed yet.
    ///
    /// # Errors
    /// A member has another form: the words for the caller.
    fn read(caller: &Arc<Caller>, request: &Map<String, Value>) -> Result<Self, String> {
        if is_given(request.get("plugins")) {
            return Err(
                "The plugins of initialize are not supported. Give their servers in mcpServers; their skills and hooks belong in the project's .marvin folder or in your own."
                    .to_owned(),
            );
        }
        let servers = caller_servers::read(request).map_err(|problem| problem.one_line())?;
        let schema = filled_object(request, "jsonSchema")?;
        if let Some(schema) = schema {
            Schema::parse(&schema.to_string()).map_err(|problem| problem.one_line())?;
        }
        let hooks = filled_object(request, "hooks")?;
        let hooks = hooks.map(|hooks| hook_callbacks::read(caller, hooks));
        let hooks = hooks.transpose().map_err(|problem| problem.one_line())?;
        let instead = match given(request, "systemPrompt") {
            Some(Value::String(text)) => Some(text.clone()),
            _ => texts(request, "systemPrompt")?.map(|texts| texts.join("\n")),
        };
        let appended = match given(request, "appendSystemPrompt") {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err(no_form("appendSystemPrompt", "no text")),
        };
        Ok(Self {
            servers,
            schema: schema.cloned(),
            hooks: hooks.unwrap_or_default(),
            skills: texts(request, "skills")?,
            instead: instead.filter(|text| !text.trim().is_empty()),
            appended: appended.filter(|text| !text.is_empty()),
        })
    }
}

/// Sets the conversation up.
///
/// # Errors
/// It wants something in a form that is not known, or the conversation has begun: the words for the caller.
pub(super) fn initialize(
    caller: &Arc<Caller>,
    request: &Map<String, Value>,
) -> Result<Value, String> {
    let beginning = Beginning::read(caller, request)?;
    if !caller.begin() {
        return Err(
            "initialize comes once, and before the first message: the conversation has begun."
                .to_owned(),
        );
    }
    let session = &caller.session;
    match session.hooks.is_off() && !beginning.hooks.is_empty() {
        true => {
            say("Hooks are switched off (--no-hooks, MARVIN_NO_HOOKS), those of initialize too.");
        }
        false => session.hooks.add(beginning.hooks),
    }
    if let Some(names) = beginning.skills {
        session.skills.choose(names);
    }
    caller_servers::add(caller, &beginning.servers.own);
    (session.modules.get::<SessionServers>()).bring(beginning.servers.elsewhere);
    caller.wish(|wishes| {
        wishes.schema = beginning.schema;
        if beginning.instead.is_some() {
            wishes.prompt.instead = beginning.instead;
        }
        if beginning.appended.is_some() {
            wishes.prompt.appended = beginning.appended;
        }
    });
    for (name, what) in NOT_BUILT {
        if is_given(request.get(name)) {
            say(&format!(
                "The {name} of initialize are not supported, so {what}."
            ));
        }
    }
    Ok(answer(caller, request))
}

/// What the caller is told of this Marvin.
fn answer(caller: &Caller, request: &Map<String, Value>) -> Value {
    let model = caller.model();
    let own = COMPACT.trim_start_matches('/');
    let mut commands = vec![(
        own.to_owned(),
        "Summarize the conversation so far.".to_owned(),
    )];
    commands.extend(skills::for_user(&caller.session, &[own]));
    let command = |(name, about): (String, String)| json!({"name": name, "description": about, "argumentHint": ""});
    json!({
        "commands": commands.into_iter().map(command).collect::<Value>(),
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{"value": model, "displayName": model, "description": ""}],
        "account": {},
        "hooks_applied": true,
        "hook_on_failure_supported": true,
        "mcp_servers_applied": is_given(request.get("mcpServers")),
    })
}

fn no_form(name: &str, what: &str) -> String {
    format!("{name} of initialize is {what}.")
}

fn given<'a>(request: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    request.get(name).filter(|value| !value.is_null())
}

/// An object with something in it.
fn filled_object<'a>(
    request: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Value>, String> {
    match given(request, name) {
        Some(Value::Object(map)) if map.is_empty() => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(value)),
        Some(_) => Err(no_form(name, "no object")),
        None => Ok(None),
    }
}

fn texts(request: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, String> {
    let no_texts = || no_form(name, "no list of texts");
    let Some(list) = given(request, name) else {
        return Ok(None);
    };
    let list = list.as_array().ok_or_else(no_texts)?.iter();
    let texts = list.map(|text| text.as_str().map(str::to_owned).ok_or_else(no_texts));
    texts.collect::<Result<_, _>>().map(Some)
}

fn is_given(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}
