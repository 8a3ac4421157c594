//! Module `maps`: OpenStreetMap itself.

use std::fmt::Write as _;
use std::time::Duration;

use super::geocode;
use super::osm::overpass::{self, Element};
use super::osm::{query, wanted};
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, plural, thousands};
use crate::net::services::{NOMINATIM, OPEN_METEO_GEOCODING, OVERPASS};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::found::joined;
use crate::tools::output::found::short_line;
use crate::tools::output::untrusted::fenced;

tools! { "maps";
    /// Look up an address or place in OpenStreetMap.
    osm_search(OsmSearch; READ.seconds(15).service("nominatim").asks(const { &[&NOMINATIM, &OPEN_METEO_GEOCODING] })) {
        /// address or name
        query: String, example: "Cologne Cathedral";
        /// how many
        max_results: u64 = 5, min: 1, max: 20;
    } => search, says ["find {query} on the map", "where is {query}", "locate {query}"];

    /// Run an Overpass QL query.
    overpass_query(OverpassQuery; READ.seconds(30).service("overpass").asks(const { &[&OVERPASS] })) {
        /// Overpass QL
        query: String, example: "node[amenity=cafe](around:500,50.94,6.96);out center;";
    } => run, says ["overpass {query}"];
}

/// Timeout of a query including a retry.
const QUERY_TIMEOUT: Duration = Duration::from_secs(28);
/// Longest query in bytes.
const MAX_QUERY_BYTES: usize = 100_000;
/// How many elements are shown, and tags of each.
const ELEMENTS: usize = 20;
const TAGS: usize = 8;

fn search(ctx: &ToolContext, args: OsmSearch) -> Outcome<String> {
    let what = wanted("query", &args.query)?;
    let found = geocode::look_up(ctx, &what, args.max_results)?;
    let mut out = match &found.remark {
        Some(remark) => format!("{remark}\n\n"),
        None => String::new(),
    };
    if found.places.is_empty() {
        let _ = write!(out, "No results for \"{}\".", short_line(&what));
        return Ok(out);
    }
    for (spot, n) in found.places.iter().zip(1..) {
        let facts = [
            Some(spot.kind.clone()).filter(|kind| !kind.is_empty()),
            Some(spot.point.to_string()),
            spot.object.clone().filter(|object| !object.is_empty()),
        ];
        let facts = joined(facts, " · ");
        let _ = writeln!(out, "{n}. {}\n   {facts}", spot.label);
    }
    let _ = write!(out, "\n{}", found.credit);
    Ok(out)
}

fn run(ctx: &ToolContext, args: OverpassQuery) -> Outcome<String> {
    if args.query.len() > MAX_QUERY_BYTES {
        return Err(Problem::input(format!(
            "The query is {} bytes long; the limit is {}.",
            thousands(args.query.len() as u64),
            thousands(MAX_QUERY_BYTES as u64)
        ))
        .next("Ask for one area and a few kinds."));
    }
    let example = "For example node[amenity=cafe](around:500,50.94,6.96);out center;";
    not_empty("query", &args.query, example)?;
    let reply = overpass::run(ctx, &query::with_settings(&args.query)?, QUERY_TIMEOUT)?;
    let total = reply.elements.len();
    let mut out = match total {
        0 => "No results.\n".to_owned(),
        _ if total > ELEMENTS => {
            format!(
                "The first {ELEMENTS} of {} elements:\n",
                thousands(total as u64)
            )
        }
        _ => format!("{}:\n", plural(total, "element")),
    };
    let mut entries = String::new();
    for (i, element) in reply.elements.iter().take(ELEMENTS).enumerate() {
        entry(i + 1, element, &mut entries);
    }
    if !entries.is_empty() {
        // Tags contain free text that anyone may have written.
        out.push_str(&fenced("OpenStreetMap", &entries));
        out.push('\n');
    }
    if let Some(remark) = &reply.remark {
        let _ = writeln!(out, "\nThe server remarks: {remark}");
    }
    let _ = write!(out, "\n{}", reply.credit());
    Ok(out)
}

fn entry(number: usize, element: &Element, out: &mut String) {
    let name = element.tag("name").map(str::to_owned);
    let point = element.point.map(|point| point.to_string());
    let head = joined([name, Some(element.object()), point], " · ");
    let _ = writeln!(out, "{number}. {head}");
    let tags: Vec<String> = element
        .tags
        .iter()
        .filter(|(key, _)| key != "name")
        .map(|(key, value)| format!("{key}={}", clip(value, 80)))
        .collect();
    if !tags.is_empty() {
        let more = tags.len().saturating_sub(TAGS);
        let more = match more {
            0 => String::new(),
            _ => format!(" and {more} more"),
        };
        let shown: Vec<&str> = tags.iter().take(TAGS).map(String::as_str).collect();
        let _ = writeln!(out, "   {}{more}", shown.join("; "));
    }
}
