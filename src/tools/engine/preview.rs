//! What a call would change, told before it is made: its tool runs and writes nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use super::context::ToolContext;
use super::registry::run_tool;
use crate::base::problem::Outcome;
use crate::chat::display::Display;
use crate::tools::engine::arguments::ParsedArguments;

/// What a call with these arguments would change, if its tool can tell without changing anything.
///
/// # Errors
/// The call would fail so.
pub(crate) fn preview(
    ctx: &ToolContext,
    name: &str,
    input: &Map<String, Value>,
) -> Outcome<Option<Display>> {
    let tool = ctx.session.registry().find(name);
    let Some(tool) = tool.filter(|tool| tool.rules().previewed) else {
        return Ok(None);
    };
    // One text comes under this name where a call is asked about.
    let whole = input.get("input").and_then(Value::as_str);
    let args = match whole.filter(|_| tool.is_freeform() && input.len() == 1) {
        Some(text) => ParsedArguments::Whole(text.to_owned()),
        None => ParsedArguments::Named(input.clone()),
    };
    let ctx = ToolContext {
        is_preview: true,
        // Whether it may be done is what is asked with it.
        is_agreed: true,
        ..ctx.clone()
    };
    let run = || Ok(run_tool(&ctx, &tool, &args)?.display);
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Ok(None))
}
