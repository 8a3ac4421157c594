//! What the caller may order beside messages: one row for each request, with what it does.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::{AnswerRequest, Caller};
use super::initialize::initialize;
use super::permission_questions;
use crate::base::text::{clip, escape_controls};
use crate::mcp::session::SessionServers;

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
        let queue = match request.get("cancel_queued") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(queue)) => *queue,
            Some(_) => return Err("cancel_queued is neither true nor false.".to_owned()),
        };
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
