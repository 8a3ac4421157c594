//! The whole of a server's list, page by page, as far as that goes.

use std::time::Instant;

use serde_json::Value;

use super::connection::{Connection, Freshness, List, Wait};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

pub(super) const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 5_000;
const MAX_BYTES: usize = 16 << 20;

/// A list of a server, in its order.
pub(crate) struct Listed {
    pub items: Vec<Value>,
    /// Why it is not all, if so.
    pub missing: Option<&'static str>,
    /// That of the page which holds for the shortest time.
    pub freshness: Freshness,
}

/// A list of a server as far as it comes `until` then.
///
/// # Errors
/// A page cannot be had.
pub(crate) fn all(
    connection: &dyn Connection,
    list: List,
    until: Instant,
    stop: &Cancel,
) -> Outcome<Listed> {
    let mut all = Vec::new();
    let mut freshness: Option<Freshness> = None;
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let limit = until.saturating_duration_since(Instant::now());
        if limit.is_zero() {
            return Ok(listed(all, Some("its list takes too long"), freshness));
        }
        let mut page = connection.page(list, cursor.as_deref(), Wait::new(limit, stop))?;
        let own = Freshness::read(&page);
        freshness = Some(freshness.map_or(own, |before| before.strictest(own)));
        let items = page.get_mut(list.field()).map(Value::take);
        let Some(Value::Array(items)) = items else {
            return Ok(listed(
                all,
                Some("a page of its list has no items"),
                freshness,
            ));
        };
        for item in items {
            bytes += item.to_string().len();
            if all.len() == MAX_ITEMS || bytes > MAX_BYTES {
                return Ok(listed(all, Some("its list is too long"), freshness));
            }
            all.push(item);
        }
        match page.get("nextCursor") {
            Some(Value::String(next)) if cursor.as_ref() == Some(next) => {
                return Ok(listed(
                    all,
                    Some("its list begins again and again"),
                    freshness,
                ));
            }
            Some(Value::String(next)) => cursor = Some(next.clone()),
            _ => return Ok(listed(all, None, freshness)),
        }
    }
    Ok(listed(all, Some("its list has too many pages"), freshness))
}

fn listed(
    items: Vec<Value>,
    missing: Option<&'static str>,
    freshness: Option<Freshness>,
) -> Listed {
    Listed {
        items,
        missing,
        freshness: freshness.unwrap_or_default(),
    }
}
