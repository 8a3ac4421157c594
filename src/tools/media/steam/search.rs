//! The store's search: prices in hundredths or missing, scores as text and often empty.

use serde_json::Value;

use super::price::GamePrice;
use super::{COUNTRY, LANGUAGE, SERVICE_TIMEOUT, SteamSearch, pause_if_limited, platforms, reply};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, not_empty};
use crate::net::services::STEAM_STORE;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, numbered, shown_of, text_at};
use crate::tools::output::labeled::quoted;
use crate::tools::output::web_links;

pub(super) fn run(ctx: &ToolContext, args: SteamSearch) -> Outcome<String> {
    let query = not_empty("query", &args.query, "Give a title, for example Portal.")?;
    let answer = ctx
        .service(&STEAM_STORE)
        .path("/api/storesearch/")
        .query("term", query)
        .query("l", LANGUAGE)
        .query("cc", COUNTRY.to_uppercase())
        .timeout(SERVICE_TIMEOUT)
        .get()?;
    let found = reply(&answer, false).inspect_err(|error| pause_if_limited(ctx, error))?;
    let Some(items) = found.at("items").and_then(Value::as_array) else {
        // A missing list is an empty one only if the count agrees.
        return match count(&found, "total") {
            Some(0) => Ok(nothing(query)),
            _ => Err(answer.unreadable()),
        };
    };
    let items: Vec<&Value> = items.iter().filter(|item| item.is_object()).collect();
    if items.is_empty() {
        return Ok(nothing(query));
    }
    let shown = items.len().min(args.max_results);
    let total = count(&found, "total").max(Some(items.len() as u64));
    Ok(format!(
        "{} for {} in the Steam store (prices in the US):\n{}",
        shown_of(shown, total, "hit"),
        quoted(query),
        numbered(items.into_iter().take(shown).map(entry))
    ))
}

fn nothing(query: &str) -> String {
    format!("No results for {} in the Steam store.", quoted(query))
}

/// The type of an item in store addresses, and for display.
fn item_type(item: &Value) -> (&'static str, &'static str) {
    match item.text("type") {
        Some("sub" | "package") => ("sub", "package"),
        Some("bundle") => ("bundle", "bundle"),
        _ => ("app", "app"),
    }
}

/// A hit in one line, and below it the address of its page.
fn entry(item: &Value) -> String {
    let mut parts = vec![text_at(item, "name").unwrap_or_else(|| "Untitled".to_owned())];
    parts.push(price(item).unwrap_or_else(|| "no price listed".to_owned()));
    parts.extend(
        text_at(item, "metascore")
            .or_else(|| Some(count(item, "metascore")?.to_string()))
            .filter(|score| score != "0")
            .map(|score| format!("Metascore {score}")),
    );
    parts.push(platforms(item.at("platforms").unwrap_or(&Value::Null)).join("/"));
    let (folder, noun) = item_type(item);
    let id = count(item, "id");
    parts.extend(id.map(|id| format!("{noun} {id}")));
    parts.retain(|part| !part.is_empty());
    let link = id.map(|id| format!("\n    {}{folder}/{id}/", web_links::STEAM_STORE));
    parts.join(", ") + &link.unwrap_or_default()
}

/// An item's price; `None` for free items without a price and for unreleased ones.
fn price(item: &Value) -> Option<String> {
    let price = item.at("price")?;
    GamePrice {
        currency: text_at(price, "currency"),
        now: price.whole("final")?,
        before: price.whole("initial"),
        discount: None,
    }
    .text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_fields_are_omitted() {
        let free = json!({"name": "A", "id": 5, "price": {"final": 0, "currency": "USD"}, "metascore": "", "platforms": null});
        let half = json!({"name": "B", "id": "6", "type": "bundle", "price": {"final": 500, "initial": 1000}, "metascore": 88,
            "platforms": {"mac": true, "linux": true}});
        for (item, shown, page) in [
            (json!({}), "Untitled, no price listed", ""),
            (free, "A, free, app 5", "app/5/"),
            (
                half,
                "B, 5.00 (-50%, was 10.00), Metascore 88, macOS/Linux, bundle 6",
                "bundle/6/",
            ),
            (
                json!({"id": 6, "type": "sub"}),
                "Untitled, no price listed, package 6",
                "sub/6/",
            ),
        ] {
            let link = match page {
                "" => String::new(),
                page => format!("\n    https://store.steampowered.com/{page}"),
            };
            assert_eq!(entry(&item), format!("{shown}{link}"));
        }
    }
}
