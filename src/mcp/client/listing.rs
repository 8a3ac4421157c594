//! The whole of a server's list, page by page, as far as that goes.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::Value;

use super::connection::{Connection, Freshness, List, Wait};
use super::text::clipped;
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

/// The tools of a list that a session can have, and for each of the others its name, if it has one, and the reason.
pub(crate) fn usable(tools: Vec<Value>) -> (Vec<Value>, Vec<(String, String)>) {
    let (mut usable, mut refused): (Vec<Value>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    let mut names: HashSet<String> = HashSet::new();
    for tool in tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let why = match name.trim().is_empty() {
            true => "it has no name",
            false if names.contains(name) => "another tool of this name came first",
            false => {
                names.insert(name.to_owned());
                usable.push(tool);
                continue;
            }
        };
        let shown = match name {
            "" => "?".to_owned(),
            name => clipped(name, 64),
        };
        refused.push((shown, why.to_owned()));
    }
    (usable, refused)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_tools_with_one_name_the_first_counts_and_those_without_one_do_not() {
        let tools = json!([{"name": "ok", "n": 1}, {"name": "ok"}, {"name": "n1"}, {"inputSchema": {}}, 5, {"name": 7}, {"name": ""}]);
        let (usable, refused) = usable(tools.as_array().unwrap().clone());
        assert_eq!(
            usable,
            [json!({"name": "ok", "n": 1}), json!({"name": "n1"})]
        );
        let names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ok", "?", "?", "?", "?"]);
    }
}
