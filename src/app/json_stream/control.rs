//! What the caller may order beside messages: one row for each request, with what it does.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::{AnswerRequest, Caller};
use super::user_line::COMPACT;
use super::{caller_servers, hook_callbacks, permission_questions};
use crate::app::stream::say;
use crate::base::text::{clip, escape_controls};
use crate::formats::json_schema::schema::Schema;
use crate::mcp::session::SessionServers;
use crate::tools::session::skills;

/// A request that is understood.
struct ControlRequest {
    subtype: &'static str,
    answer: AnswerRequest,
}

const fn row(subtype: &'static str, answer: AnswerRequest) -> ControlRequest {
    ControlRequest { subtype, answer }
}

static REQUESTS: &[ControlRequest] = &[
    row("initialize", |caller, request| {
        initialize(caller, request).inspect_err(|why| caller.refuse_beginning(why))
    }),
    row("interrupt", |caller, request| {
        let queue = request.get("cancel_queued") == Some(&Value::Bool(true));
        Ok(json!({"still_queued": caller.interrupt(queue)}))
    }),
    row("set_model", |caller, request| {
        let model = match request.get("model") {
            None | Some(Value::Null | Value::String(_)) => text(request, "model"),
            Some(_) => return Err("model is no text.".to_owned()),
        };
        let model = model.filter(|model| *model != "default");
        caller.wish(|wishes| wishes.model = model.map(str::to_owned));
        Ok(json!({}))
    }),
    row("set_permission_mode", permission_questions::set_mode),
    row("set_max_thinking_tokens", |caller, request| {
        let most = request.get("max_thinking_tokens");
        let most = most.filter(|most| !most.is_null());
        let no_number = || "max_thinking_tokens is no number of tokens.".to_owned();
        let most = most.map(|most| most.as_u64().ok_or_else(no_number));
        let most = most.transpose()?;
        caller.wish(|wishes| wishes.thinking_tokens = most);
        Ok(json!({}))
    }),
    row("mcp_status", |caller, _| {
        let mut all = caller.servers.status();
        let session = &caller.session.modules;
        all.extend(session.get::<SessionServers>().status());
        Ok(json!({ "mcpServers": all }))
    }),
    row("get_context_usage", |caller, _| {
        let gauge = &caller.session.gauge;
        Ok(json!({
            "totalTokens": gauge.used(),
            "maxTokens": gauge.most().unwrap_or_default(),
            "percentage": gauge.percent().unwrap_or_default(),
            "model": caller.model(),
            "categories": [],
        }))
    }),
];

/// Answers a request at once.
///
/// # Errors
/// It is not known, or not possible now: the words for the caller.
pub(super) fn answer(caller: &Arc<Caller>, request: &Map<String, Value>) -> Result<Value, String> {
    let subtype = text(request, "subtype").unwrap_or_default();
    match REQUESTS.iter().find(|row| row.subtype == subtype) {
        Some(row) => (row.answer)(caller, request),
        None => Err(format!(
            "Unsupported control request: {}",
            escape_controls(&clip(subtype, 60))
        )),
    }
}

fn text<'a>(request: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    let text = request.get(key).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

fn is_given(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

fn initialize(caller: &Arc<Caller>, request: &Map<String, Value>) -> Result<Value, String> {
    let servers = caller_servers::read(request).map_err(|problem| problem.one_line())?;
    let schema = request
        .get("jsonSchema")
        .filter(|schema| is_given(Some(schema)));
    if let Some(schema) = schema {
        Schema::parse(&schema.to_string()).map_err(|problem| problem.one_line())?;
    }
    let hooks = request.get("hooks").filter(|hooks| is_given(Some(hooks)));
    let hooks = hooks.map(|hooks| hook_callbacks::read(caller, hooks));
    let hooks = hooks.transpose().map_err(|problem| problem.one_line())?;
    if !caller.begin() {
        return Err(
            "initialize comes once, and before the first message: the conversation has begun."
                .to_owned(),
        );
    }
    match (caller.session.hooks.is_off(), hooks) {
        (true, Some(_)) => {
            say("Hooks are switched off (--no-hooks, MARVIN_NO_HOOKS), those of initialize too.");
        }
        (_, hooks) => caller.session.hooks.add(hooks.unwrap_or_default()),
    }
    if let Some(Value::Array(names)) = request.get("skills") {
        let names = names.iter().filter_map(Value::as_str);
        caller
            .session
            .skills
            .choose(names.map(str::to_owned).collect());
    }
    caller_servers::add(caller, &servers.own);
    (caller.session.modules.get::<SessionServers>()).bring(servers.elsewhere);
    let instead = match request.get("systemPrompt") {
        Some(Value::Array(parts)) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            parts.join("\n")
        }
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    let appended = text(request, "appendSystemPrompt").map(str::to_owned);
    caller.wish(|wishes| {
        wishes.schema = schema.cloned();
        if !instead.trim().is_empty() {
            wishes.prompt.instead = Some(instead);
        }
        if appended.is_some() {
            wishes.prompt.appended = appended;
        }
    });
    if is_given(request.get("agents")) {
        say("The agents of initialize are not supported, so launch_agent does not know them.");
    }
    let model = caller.model();
    let own = COMPACT.trim_start_matches('/');
    let mut commands = vec![(
        own.to_owned(),
        "Summarize the conversation so far.".to_owned(),
    )];
    commands.extend(skills::for_user(&caller.session, &[own]));
    let command = |(name, about): (String, String)| json!({"name": name, "description": about, "argumentHint": ""});
    Ok(json!({
        "commands": commands.into_iter().map(command).collect::<Value>(),
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{"value": model, "displayName": model, "description": ""}],
        "account": {},
        "hooks_applied": true,
        "hook_on_failure_supported": true,
        "mcp_servers_applied": is_given(request.get("mcpServers")),
    }))
}
