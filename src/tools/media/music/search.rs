//! `music_search`: search results of MusicBrainz, one a line.

use serde_json::Value;

use super::ask::{deadline, escaped, reply};
use super::words::{credit, life, titled};
use super::{Entity, MusicSearch};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, escape_controls, plural};
use crate::net::service::encoded;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, joined, name, numbered, objects, shown_of, track_length};

/// Searches MusicBrainz.
///
/// # Errors
/// An empty query; errors of MusicBrainz.
pub(super) fn search(ctx: &ToolContext, args: MusicSearch) -> Outcome<String> {
    let query = escaped(&args.query);
    not_empty("query", &query, "Give an artist, album or song.")?;
    let kind = args.entity;
    let path = format!(
        "{}/?query={}&limit={}&fmt=json",
        kind.word(),
        encoded(&query),
        args.max_results
    );
    let found = reply(ctx, &path, deadline(), || {
        Problem::missing("MusicBrainz does not have this search.")
    })?;
    let list = found.list(kind.list());
    if list.is_empty() && found.at(kind.list()).is_none() && found.whole("count") != Some(0) {
        return Err(Problem::network(format!(
            "MusicBrainz answered without a list of {}.",
            kind.list()
        ))
        .next("Try again later."));
    }
    let max = usize::try_from(args.max_results).unwrap_or(25);
    let mut hits = objects(&found, kind.list());
    hits.truncate(max);
    let requested = clip(&escape_controls(args.query.trim()), 100);
    if hits.is_empty() {
        return Ok(format!(
            "No {} found for \"{requested}\" at MusicBrainz.",
            kind.list()
        ));
    }
    Ok(format!(
        "{} at MusicBrainz for \"{requested}\" (details: music_lookup with the MBID and entity {}):\n{}",
        shown_of(hits.len(), count(&found, "count"), kind.word()),
        kind.word(),
        numbered(hits.into_iter().map(|hit| describe(kind, hit)))
    ))
}

fn describe(kind: Entity, hit: &Value) -> String {
    let id = name(hit, "id").map(|id| format!("MBID {id}"));
    let by = |title: String| match credit(hit) {
        Some(credit) => format!("{title} by {credit}"),
        None => title,
    };
    match kind {
        Entity::Artist => joined(
            [
                Some(titled(hit, "name")),
                name(hit, "type"),
                name(hit, "country").or_else(|| name(hit, "area/name")),
                life(hit),
                id,
            ],
            ", ",
        ),
        Entity::Release => joined(
            [
                Some(by(titled(hit, "title"))),
                name(hit, "release-group/primary-type"),
                name(hit, "date"),
                name(hit, "country"),
                name(hit, "status"),
                tracks(hit),
                id,
            ],
            ", ",
        ),
        Entity::Recording => {
            let album = hit.list("releases").first().and_then(|release| {
                let title = name(release, "title")?;
                Some(match name(release, "date") {
                    Some(date) => format!("on {title} ({date})"),
                    None => format!("on {title}"),
                })
            });
            joined(
                [
                    Some(by(titled(hit, "title"))),
                    hit.flag("video").then(|| "video".to_owned()),
                    track_length(hit, "length"),
                    album.or_else(|| name(hit, "first-release-date")),
                    id,
                ],
                ", ",
            )
        }
    }
}

pub(super) fn tracks(release: &Value) -> Option<String> {
    let whole = release.whole("track-count");
    let media = || {
        let counts = release.list("media").iter();
        counts.map(|medium| medium.whole("track-count")).sum()
    };
    let count: Option<i64> = whole.or_else(media);
    let count = usize::try_from(count?).ok().filter(|count| *count > 0)?;
    Some(plural(count, "track"))
}
