//! `spotify_search`: searches the catalogue, in pages of ten (the maximum for applications registered in 2026).

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use super::api::{Api, artists, uri, web};
use super::link::isrc;
use super::{CatalogType, SpotifySearch};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, escape_controls, plural, single_spaced};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{joined, name, numbered, shown_of, track_length};

/// Maximum hits of a page.
pub(super) const PAGE_HITS: usize = 10;
/// Maximum pages: null entries may empty some.
const MAX_PAGES: usize = 4;
/// Time limit for Spotify, below the call's ten seconds, so that a timeout names the service.
pub(super) const SERVICE_TIMEOUT: Duration = Duration::from_secs(8);

/// Searches the catalogue.
///
/// # Errors
/// An empty query; errors of Spotify.
pub(super) fn search(ctx: &ToolContext, args: SpotifySearch) -> Outcome<String> {
    let requested = single_spaced(&args.query);
    not_empty("query", &requested, "Give a title, an artist or both.")?;
    let kind = args.search_type;
    let query = match isrc(&requested) {
        Some(code) if kind == CatalogType::Track => format!("isrc:{code}"),
        _ => requested.clone(),
    };
    let max = usize::try_from(args.max_results).unwrap_or(PAGE_HITS);
    // A call of ten seconds cannot wait for ten.
    let mut api = Api::open(ctx, SERVICE_TIMEOUT)?.max_wait(Duration::from_secs(6));
    let (mut found, mut all, mut offset) = (Vec::new(), 0, 0);
    let mut seen = HashSet::new();
    let mut missed = None;
    for _ in 0..MAX_PAGES {
        let limit = max.saturating_sub(found.len()).clamp(1, PAGE_HITS);
        let page = match page(&mut api, kind.word(), &query, limit, offset) {
            Ok(page) => page,
            Err(problem) if found.is_empty() || problem.is_cancelled() => return Err(problem),
            Err(problem) => {
                missed = Some(problem);
                break;
            }
        };
        all = page.whole("total").unwrap_or(0).max(all);
        let items = page.list("items");
        offset += items.len();
        for item in items.iter().filter(|item| item.is_object()) {
            if uri(item, kind.word()).is_none_or(|uri| seen.insert(uri)) {
                found.push(item.clone());
            }
        }
        if found.len() >= max || items.is_empty() || page.text("next").is_none() {
            break;
        }
    }
    found.truncate(max);
    let shown = clip(&escape_controls(&requested), 100);
    if found.is_empty() {
        return Ok(format!(
            "No {}s found for \"{shown}\" at Spotify.",
            kind.word()
        ));
    }
    let missed = missed.map(|reason| format!("\nThe others could not be read: {}", reason.what));
    Ok(format!(
        "{} at Spotify for \"{shown}\":\n{}{}",
        shown_of(found.len(), u64::try_from(all).ok(), kind.word()),
        numbered(found.iter().map(|item| describe(kind, item))),
        missed.unwrap_or_default()
    ))
}

/// One page of hits.
///
/// # Errors
/// Errors of Spotify; a response without a list of the kind.
pub(super) fn page(
    api: &mut Api<'_>,
    kind: &'static str,
    query: &str,
    limit: usize,
    offset: usize,
) -> Outcome<Value> {
    let answer = api.send(&|ask| {
        let ask = ask
            .path("/search")
            .query("q", query)
            .query("type", kind)
            .query("limit", limit);
        ask.query_if("offset", (offset > 0).then_some(offset)).get()
    })?;
    answer
        .at(&format!("{kind}s"))
        .filter(|page| page.is_object())
        .cloned()
        .ok_or_else(|| {
            Problem::network(format!("Spotify answered without a list of {kind}s."))
                .next("Try again later.")
        })
}

/// A catalogue object on one line.
fn describe(kind: CatalogType, item: &Value) -> String {
    let title = name(item, "name").unwrap_or_else(|| "(without a name)".to_owned());
    let by = match artists(item) {
        Some(artists) => format!("{title} by {artists}"),
        None => title.clone(),
    };
    let count = |value: Option<i64>| {
        let count = usize::try_from(value?).ok()?;
        Some(plural(count, "track"))
    };
    let mut parts: Vec<Option<String>> = match kind {
        CatalogType::Track => vec![
            Some(by),
            name(item, "album/name").map(|album| format!("on {album}")),
            track_length(item, "duration_ms"),
            item.flag("explicit").then(|| "explicit".to_owned()),
        ],
        CatalogType::Artist => vec![Some(title), genres(item)],
        CatalogType::Album => vec![
            Some(by),
            name(item, "album_type"),
            name(item, "release_date"),
            count(item.whole("total_tracks")),
        ],
        CatalogType::Playlist => vec![
            Some(
                match name(item, "owner/display_name").or_else(|| name(item, "owner/id")) {
                    Some(owner) => format!("{title} by {owner}"),
                    None => title,
                },
            ),
            count(
                item.whole("items/total")
                    .or_else(|| item.whole("tracks/total")),
            ),
        ],
    };
    parts.extend([uri(item, kind.word()), web(item)]);
    joined(parts, ", ")
}

fn genres(artist: &Value) -> Option<String> {
    let genres = artist.texts("genres");
    (!genres.is_empty()).then(|| clip(&escape_controls(&genres.join("/")), 100))
}
