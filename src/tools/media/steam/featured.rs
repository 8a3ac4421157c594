//! Featured titles of the store, and its specials, which come from a second address unless the first response contains them.

use std::fmt::Write as _;

use serde_json::Value;

use super::price::GamePrice;
use super::{COUNTRY, HALF_TIMEOUT, LANGUAGE, SteamFeatured, day, pause_if_limited, reply};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::net::services::STEAM_STORE;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, numbered, text_at};

/// The lists of the response, the most prominent first.
const FEATURED_LISTS: [&str; 4] = [
    "large_capsules",
    "featured_win",
    "featured_mac",
    "featured_linux",
];
/// Maximum featured items.
const MAX_FEATURED: usize = 8;
const MAX_SPECIALS: usize = 10;

pub(super) fn run(ctx: &ToolContext, _: SteamFeatured) -> Outcome<String> {
    let window = fetch(ctx, "/api/featured/")?;
    let mut featured = Vec::new();
    for item in FEATURED_LISTS.iter().flat_map(|list| window.list(list)) {
        add(&mut featured, item, MAX_FEATURED);
    }
    // If the first response contains the specials, the second request is not needed.
    let (more, missed) = match window.at("specials") {
        Some(_) => (None, None),
        None => match fetch(ctx, "/api/featuredcategories/") {
            Ok(more) => (Some(more), None),
            Err(error) if error.is_cancelled() || featured.is_empty() => return Err(error),
            Err(error) => (None, Some(error)),
        },
    };
    let specials = specials(more.as_ref().unwrap_or(&window));
    let known = FEATURED_LISTS.iter().any(|list| window.at(list).is_some());
    if featured.is_empty() && specials.is_empty() {
        return match known {
            true => Ok("The Steam store features nothing now.".to_owned()),
            false => Err(Problem::network(
                "The Steam store sent a response with neither featured games nor specials.",
            )
            .next("Try again later.")),
        };
    }
    let mut out = String::new();
    section(
        ctx,
        &mut out,
        "Featured in the Steam store (prices in the US):",
        &featured,
    );
    section(ctx, &mut out, "Specials:", &specials);
    if let Some(error) = missed {
        let _ = writeln!(out, "The specials could not be read: {}", error.what);
    }
    Ok(out.trim_end().to_owned())
}

fn fetch(ctx: &ToolContext, path: &str) -> Outcome<Value> {
    let answer = ctx
        .service(&STEAM_STORE)
        .path(path)
        .query("l", LANGUAGE)
        .query("cc", COUNTRY)
        .timeout(HALF_TIMEOUT)
        .get()?;
    reply(&answer, false).inspect_err(|error| pause_if_limited(ctx, error))
}

/// The specials in a response: the items themselves, or an object around them.
fn specials(value: &Value) -> Vec<&Value> {
    let specials = value.at("specials").unwrap_or(&Value::Null);
    let items = specials
        .as_array()
        .or_else(|| specials.at("items")?.as_array());
    let mut out = Vec::new();
    for item in items.into_iter().flatten() {
        add(&mut out, item, MAX_SPECIALS);
    }
    out
}

/// Adds an item if it has a name and is not in the list.
fn add<'a>(items: &mut Vec<&'a Value>, item: &'a Value, max: usize) {
    let id = |item: &Value| (item.word("id"), item.whole("type"));
    let new = !items.iter().any(|other| id(other) == id(item));
    if items.len() < max && new && item.text("name").is_some() {
        items.push(item);
    }
}

fn section(ctx: &ToolContext, out: &mut String, title: &str, items: &[&Value]) {
    if items.is_empty() {
        return;
    }
    let lines = items.iter().map(|item| {
        let until = item.whole("discount_expiration");
        let until = until.filter(|_| item.flag("discounted"));
        match until.and_then(|until| day(ctx, until)) {
            Some(day) => format!("{}, until {day}", line(item)),
            None => line(item),
        }
    });
    let _ = writeln!(out, "{title}\n{}", numbered(lines));
}

fn line(item: &Value) -> String {
    let discount = item
        .whole("discount_percent")
        .filter(|_| item.at("discounted") != Some(&Value::Bool(false)));
    let price = item.whole("final_price").and_then(|now| {
        GamePrice {
            currency: text_at(item, "currency"),
            now,
            before: item.whole("original_price"),
            discount,
        }
        .text()
    });
    let mut parts = vec![text_at(item, "name").unwrap_or_default()];
    parts.push(price.unwrap_or_else(|| "no price listed".to_owned()));
    let noun = match item.whole("type") {
        Some(1) => "package",
        Some(2) => "bundle",
        _ => "app",
    };
    parts.extend(count(item, "id").map(|id| format!("{noun} {id}")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_show_their_own_currency_and_type() {
        let item = json!({"id": 3, "type": 1, "name": "A", "discounted": true, "discount_percent": 25, "original_price": 2000,
            "final_price": 1500, "currency": "GBP"});
        assert_eq!(line(&item), "A, 15.00 GBP (-25%, was 20.00 GBP), package 3");
        let item = json!({"id": 4, "name": "B", "discounted": false, "discount_percent": 0, "original_price": null, "final_price": 100});
        assert_eq!(line(&item), "B, 1.00, app 4");
        assert_eq!(line(&json!({"name": "C"})), "C, no price listed");
    }

    #[test]
    fn specials_are_found_in_both_shapes_and_only_once() {
        let a = json!({"id": 1, "name": "A"});
        for value in [
            json!({"specials": [a, a]}),
            json!({"specials": {"items": [a, {"id": 2}, 5, a]}}),
        ] {
            assert_eq!(specials(&value), [&a]);
        }
        assert_eq!(
            specials(&json!({"specials": {"id": "x"}})),
            [] as [&Value; 0]
        );
        assert!(specials(&json!({"0": {"items": [a]}, "status": 1})).is_empty());
    }
}
