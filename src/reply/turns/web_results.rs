//! What a search on the web found, with a page of it: a model that sees only a list of links answers from memory.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::chat::message::{ToolCall, ToolOutput};
use crate::tools::engine::context::ToolContext;
use crate::tools::web::browsing::top_page;

/// The tool whose results get a page.
const WEB_SEARCH: &str = "web_search";
const PAGES_LIMIT: Duration = Duration::from_secs(8);
/// Search and pages together.
const WHOLE_LIMIT: Duration = Duration::from_secs(20);
const NO_PAGE: &str = "None of these pages could be read. State no facts from memory instead: say what the list shows, or that it was not found.";

/// Adds an extract of a top page to the results of a search that took `took`, or says that none could be read.
pub(crate) fn add_page(
    ctx: &ToolContext,
    call: &ToolCall,
    output: &mut ToolOutput,
    query: &str,
    took: Duration,
) {
    if call.name != WEB_SEARCH || output.failed || ctx.stop.is_fired() {
        return;
    }
    let limit = PAGES_LIMIT.min(WHOLE_LIMIT.saturating_sub(took));
    let args: Map<String, Value> = serde_json::from_str(&call.args).unwrap_or_default();
    let searched = args.get("query").and_then(Value::as_str).unwrap_or(query);
    let page = top_page::extract(ctx, searched, &output.text, limit);
    output.text.push_str("\n\n");
    output.text.push_str(page.as_deref().unwrap_or(NO_PAGE));
}
