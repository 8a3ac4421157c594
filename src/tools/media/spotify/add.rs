//! `spotify_add_tracks`: finds one track for each query and adds the tracks to the playlist, a hundred a request.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::SpotifyAddTracks;
use super::api::{Api, artists, uri};
use super::link::{SpotifyLink, is_id, isrc};
use super::rank::{TrackName, best};
use super::search::{PAGE_HITS, page};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls, plural, single_spaced};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::name;

const MAX_BATCH_TRACKS: usize = 100;
/// Maximum queries of one call.
const MAX_QUERIES: usize = 500;
/// After this time no further search starts: the tracks found must still be added within the call.
const SEARCH_START_LIMIT: Duration = Duration::from_secs(42);
/// When searching is given up, and how long adding may take after that.
const SEARCH_DEADLINE: Duration = Duration::from_secs(47);
const ADDING: Duration = Duration::from_secs(11);
/// The longest requested wait that is granted within that time.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(8);

struct QueryMatch {
    requested: String,
    uri: String,
    /// The track's title; `None` if it was given by URI.
    called: Option<String>,
}

/// Adds tracks.
///
/// # Errors
/// No playlist; nothing could be added.
pub(super) fn add(ctx: &ToolContext, args: SpotifyAddTracks) -> Outcome<String> {
    let playlist = playlist(&args.playlist_id)?;
    let queries: Vec<String> = args
        .track_queries
        .iter()
        .map(|query| single_spaced(query))
        .filter(|query| !query.is_empty())
        .collect();
    if queries.is_empty() {
        return Err(Problem::input("No track was named.")
            .next("Give one query a track, for example \"Nina Simone Feeling Good\"."));
    }
    if queries.len() > MAX_QUERIES {
        return Err(Problem::input(format!(
            "These are {} tracks; a call takes at most {MAX_QUERIES}.",
            queries.len()
        ))
        .next("Add them in several calls."));
    }
    let mut api = Api::open(ctx, SEARCH_DEADLINE)?.max_wait(MAX_RETRY_WAIT);
    let start = Instant::now();
    let (mut found, mut failed): (Vec<QueryMatch>, Vec<(String, String)>) =
        (Vec::new(), Vec::new());
    let count = queries.len();
    let mut refused: Option<Problem> = None;
    for (index, requested) in queries.into_iter().enumerate() {
        ctx.stop.check()?;
        if count > 3 {
            ctx.progress(format!("{index} of {count} tracks searched"));
        }
        let track =
            if start.elapsed() > SEARCH_START_LIMIT && SpotifyLink::read(&requested).is_none() {
                Err("not searched, the time was up".to_owned())
            } else if refused.as_ref().is_some_and(is_for_all)
                && SpotifyLink::read(&requested).is_none()
            {
                Err("not searched after Spotify's refusal".to_owned())
            } else {
                match track(&mut api, &requested) {
                    Ok(track) => track,
                    Err(problem)
                        if matches!(
                            problem.kind,
                            ProblemKind::Auth | ProblemKind::Config | ProblemKind::Cancelled
                        ) =>
                    {
                        return Err(problem);
                    }
                    Err(problem) => {
                        let error = problem.what.trim_end_matches('.').to_owned();
                        refused = Some(problem);
                        Err(error)
                    }
                }
            };
        match track {
            Ok((uri, _)) if found.iter().any(|other| other.uri == uri) => {
                failed.push((requested, "the same track as one before".to_owned()));
            }
            Ok((uri, called)) => found.push(QueryMatch {
                requested,
                uri,
                called,
            }),
            Err(error) => failed.push((requested, error)),
        }
    }
    // A failed request does not mean that there is no such track.
    if let Some(problem) = refused.filter(|_| found.is_empty()) {
        return Err(problem);
    }
    api.extend(ADDING);
    let mut added = 0;
    let mut trouble = None;
    for batch in found.chunks(MAX_BATCH_TRACKS) {
        let uris: Vec<&str> = batch.iter().map(|track| track.uri.as_str()).collect();
        let body = json!({"uris": uris});
        let path = format!("/playlists/{playlist}/items");
        match api.send(&|ask| ask.path(&path).without_retry().json(&body)) {
            Ok(_) => added += batch.len(),
            Err(problem) => {
                trouble = Some(problem);
                break;
            }
        }
    }
    if added == 0
        && let Some(problem) = trouble
    {
        return Err(match problem.kind {
            ProblemKind::Missing => Problem::missing(format!("Spotify has no playlist with the id {playlist}."))
                .next("spotify_search with search_type playlist finds ids; only playlists of your own can be added to."),
            _ => problem,
        });
    }
    let left = found.split_off(added);
    if let Some(problem) = trouble {
        let error = problem.what.trim_end_matches('.').to_owned();
        failed.extend(
            left.into_iter()
                .map(|track| (track.requested, error.clone())),
        );
    }
    report(&playlist, count, &found, &failed)
}

/// The id in the input: itself, a URI or a link.
fn playlist(given: &str) -> Outcome<String> {
    let given = given.trim();
    match SpotifyLink::read(given) {
        Some(link) if link.kind == "playlist" => Ok(link.id),
        Some(link) => Err(Problem::input(format!("This is a link of the kind {}, not to a playlist.", link.kind))
            .next("Give a playlist's id, URI or link.")),
        None if is_id(given) => Ok(given.to_owned()),
        None => Err(Problem::input(format!("\"{}\" is not a playlist.", clip(&escape_controls(given), 80)))
            .next("Give its id, its URI (spotify:playlist:...) or its link; spotify_create_playlist makes one.")),
    }
}

/// True for a refusal that the next search would get too.
fn is_for_all(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Refused | ProblemKind::Limit)
}

/// The URI of the requested track and its title, or why there is none.
fn track(api: &mut Api<'_>, requested: &str) -> Outcome<Result<(String, Option<String>), String>> {
    if let Some(link) = SpotifyLink::read(requested) {
        return Ok(match link.kind.as_str() {
            "track" | "episode" => Ok((link.uri(), None)),
            kind => Err(format!("a link of the kind {kind}, not to a track")),
        });
    }
    let code = isrc(requested);
    let query = code
        .as_ref()
        .map_or_else(|| requested.to_owned(), |code| format!("isrc:{code}"));
    let page = page(api, "track", &query, PAGE_HITS, 0)?;
    let hits: Vec<&Value> = page
        .list("items")
        .iter()
        .filter(|hit| uri(hit, "track").is_some())
        .collect();
    let Some(first) = hits.first() else {
        return Ok(Err("nothing found".to_owned()));
    };
    let named: Vec<TrackName<'_>> = hits
        .iter()
        .map(|hit| TrackName {
            title: hit.text("name").unwrap_or_default(),
            artists: hit
                .list("artists")
                .iter()
                .filter_map(|artist| artist.text("name"))
                .collect(),
        })
        .collect();
    let meant = if code.is_some() {
        Some(0)
    } else {
        best(requested, &named)
    };
    let Some(hit) = meant.and_then(|at| hits.get(at)) else {
        let uri = uri(first, "track").unwrap_or_default();
        return Ok(Err(format!(
            "nothing like it found; the first hit is {} ({uri})",
            called(first)
        )));
    };
    Ok(uri(hit, "track")
        .map(|uri| (uri, Some(called(hit))))
        .ok_or_else(|| "nothing found".to_owned()))
}

fn called(track: &Value) -> String {
    let title = name(track, "name").unwrap_or_else(|| "(without a name)".to_owned());
    match artists(track) {
        Some(artists) => format!("{title} by {artists}"),
        None => title,
    }
}

fn report(
    playlist: &str,
    count: usize,
    found: &[QueryMatch],
    failed: &[(String, String)],
) -> Outcome<String> {
    let short = |requested: &str| clip(&escape_controls(requested), 100);
    let failures: Vec<String> = failed
        .iter()
        .map(|(requested, reason)| format!("  \"{}\": {reason}", short(requested)))
        .collect();
    if found.is_empty() {
        return Err(Problem::missing("No track was added.")
            .facts(format!("Failed:\n{}", failures.join("\n")))
            .next("Try other words, or give URIs, links or ISRCs; spotify_search finds them."));
    }
    let mut lines = vec![format!(
        "Added {} of {} to the playlist {playlist}:",
        found.len(),
        plural(count, "track")
    )];
    lines.extend(found.iter().map(|track| match &track.called {
        Some(called) => format!("  \"{}\": {called}, {}", short(&track.requested), track.uri),
        None => format!("  {}", track.uri),
    }));
    if !failures.is_empty() {
        lines.push(format!("Failed ({}):", failures.len()));
        lines.extend(failures);
    }
    Ok(lines.join("\n"))
}
