//! The whole list of a server's tools, page by page, as far as that goes.

use std::time::Instant;

use serde_json::Value;

use super::connection::{Connection, Wait};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 5_000;
const MAX_BYTES: usize = 16 << 20;

/// The tools of a server in its order, as far as they come `until` then, and why they are not all, if so.
///
/// # Errors
/// A page cannot be had.
pub(super) fn tools(
    connection: &dyn Connection,
    until: Instant,
    stop: &Cancel,
) -> Outcome<(Vec<Value>, Option<&'static str>)> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let limit = until.saturating_duration_since(Instant::now());
        if limit.is_zero() {
            return Ok((all, Some("its list takes too long")));
        }
        let wait = Wait { limit, stop };
        let mut page = connection.tools_page(cursor.as_deref(), wait)?;
        let tools = page.get_mut("tools").map(Value::take);
        let Some(Value::Array(tools)) = tools else {
            return Ok((all, Some("a page of its list has no tools")));
        };
        for tool in tools {
            bytes += tool.to_string().len();
            if all.len() == MAX_TOOLS || bytes > MAX_BYTES {
                return Ok((all, Some("its list is too long")));
            }
            all.push(tool);
        }
        match page.get("nextCursor") {
            Some(Value::String(next)) if cursor.as_ref() == Some(next) => {
                return Ok((all, Some("its list begins again and again")));
            }
            Some(Value::String(next)) => cursor = Some(next.clone()),
            _ => return Ok((all, None)),
        }
    }
    Ok((all, Some("its list has too many pages")))
}
