//! The whole of a server's list, page by page, as far as that goes.

use std::time::Instant;

use serde_json::Value;

use super::connection::{Connection, List, Wait};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

pub(super) const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 5_000;
const MAX_BYTES: usize = 16 << 20;

/// A list of a server in its order, as far as it comes `until` then, and why it is not all, if so.
///
/// # Errors
/// A page cannot be had.
pub(crate) fn all(
    connection: &dyn Connection,
    list: List,
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
        let mut page = connection.page(list, cursor.as_deref(), Wait::new(limit, stop))?;
        let items = page.get_mut(list.field()).map(Value::take);
        let Some(Value::Array(items)) = items else {
            return Ok((all, Some("a page of its list has no items")));
        };
        for item in items {
            bytes += item.to_string().len();
            if all.len() == MAX_ITEMS || bytes > MAX_BYTES {
                return Ok((all, Some("its list is too long")));
            }
            all.push(item);
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
