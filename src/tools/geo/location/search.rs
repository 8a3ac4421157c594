//! Searches for places: with Google if available, else OpenStreetMap; the answer says which.

use std::time::{Duration, Instant};

use serde_json::json;

use super::entry::{PlaceEntry, list};
use super::google::{self, GoogleResult};
use super::{PlacesNearbySearch, PlacesTextSearch, RankBy};
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, plural};
use crate::formats::distance::DistanceUnit;
use crate::net::services::NOMINATIM;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::geocode;
use crate::tools::geo::osm::{credit, kinds, nominatim, overpass, wanted};
use crate::tools::geo::point::Coordinates;
use crate::tools::output::distance::preferred_unit;
use crate::tools::output::found::short_line;

/// The widest circle, in metres.
const WIDEST: f64 = 50_000.0;
/// When a search around a point has ended, a little before the call's limit.
const END: Duration = Duration::from_secs(24);
/// Longest and shortest time for Overpass: gcloud and Google may have used up time before it.
const OVERPASS: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(5)];
/// Kinds in one search at most.
const KINDS: usize = 50;

/// Search for places described in plain language.
pub(super) fn by_text(ctx: &ToolContext, args: PlacesTextSearch) -> Outcome<String> {
    let query = wanted("text_query", &args.text_query)?;
    // The catalogue: both zero is unset.
    let centre = match (args.latitude, args.longitude) {
        (0.0, 0.0) => None,
        (lat, lon) => Some(Coordinates::new(lat, lon)?),
    };
    // Without a centre there is no circle, and models set its radius to 0.
    let radius = match centre {
        None if args.radius == 0.0 => WIDEST,
        _ => radius(args.radius)?,
    };
    let mut body = json!({"textQuery": query, "pageSize": args.max_results});
    let mut add = |key: &str, value| {
        if let Some(map) = body.as_object_mut() {
            map.insert(key.to_owned(), value);
        }
    };
    if args.open_now {
        add("openNow", true.into());
    }
    if let Some(centre) = centre {
        add("locationBias", circle(centre, radius));
    }
    let unit = preferred_unit(&ctx.session);
    let title = format!("for \"{}\"", short_line(&query));
    let max = usize::try_from(args.max_results).unwrap_or(usize::MAX);
    let first = match google::ask(ctx, "/v1/places:searchText", &body)? {
        GoogleResult::Found(mut entries) => {
            entries.truncate(max);
            return Ok(from_google(&entries, &title, centre, unit));
        }
        other => GoogleAnswer::of(other),
    };
    let found = in_openstreetmap(
        ctx,
        &query,
        args.max_results,
        centre.map(|centre| (centre, radius)),
    );
    let found = match found {
        Ok(found) => found,
        Err(problem) => return first.alone(problem, &title),
    };
    let entries: Vec<PlaceEntry> = found.places.iter().map(PlaceEntry::spot).collect();
    let mut remarks: Vec<String> = first.remark.into_iter().collect();
    remarks.extend(found.remark);
    if args.open_now {
        remarks.push("OpenStreetMap cannot filter by what is open now; hours are shown where they are tagged.".to_owned());
    }
    Ok(from_openstreetmap(
        &remarks,
        &entries,
        &title,
        centre,
        unit,
        &found.credit,
    ))
}

/// Nominatim within the circle, then anywhere; without a contact towns alone, and `None` where it is about a neighbourhood.
fn in_openstreetmap(
    ctx: &ToolContext,
    query: &str,
    max: u64,
    circle: Option<(Coordinates, f64)>,
) -> Outcome<geocode::GeocodeMatches> {
    let Some((centre, radius)) = circle else {
        return geocode::look_up(ctx, query, max);
    };
    ctx.service(&NOMINATIM).allowed()?;
    let inside = nominatim::around(centre, radius);
    let spots = nominatim::search(ctx, query, max, Some(&inside))?;
    if spots.is_empty() {
        return geocode::look_up(ctx, query, max);
    }
    Ok(geocode::GeocodeMatches {
        places: spots,
        credit: credit("Nominatim"),
        remark: None,
    })
}

/// List places of given types around a coordinate.
pub(super) fn nearby(ctx: &ToolContext, args: PlacesNearbySearch) -> Outcome<String> {
    let start = Instant::now();
    let centre = Coordinates::new(args.latitude, args.longitude)?;
    let radius = radius(args.radius)?;
    let mut types: Vec<String> = Vec::new();
    for kind in args
        .included_types
        .iter()
        .flat_map(|kinds| kinds.split(','))
    {
        let kind = kinds::plain(kind);
        if !kind.is_empty() && !types.contains(&kind) {
            types.push(kind);
        }
    }
    if types.is_empty() || types.len() > KINDS || types.iter().any(|kind| kind.len() > 100) {
        return Err(Problem::input(format!(
            "included_types takes 1 to {KINDS} short names of kinds of places."
        ))
        .next("For example [\"restaurant\", \"cafe\"]."));
    }
    let body = json!({
        "includedTypes": types,
        "maxResultCount": args.max_results,
        "rankPreference": args.rank_by.word(),
        "locationRestriction": circle(centre, radius),
    });
    let unit = preferred_unit(&ctx.session);
    let title = format!(
        "({}) within {} of {centre}",
        types.join(", "),
        unit.say(radius)
    );
    let title = clip(&crate::base::text::escape_controls(&title), 300);
    let max = usize::try_from(args.max_results).unwrap_or(usize::MAX);
    let first = match google::ask(ctx, "/v1/places:searchNearby", &body)? {
        GoogleResult::Found(mut entries) => {
            entries.truncate(max);
            return Ok(from_google(&entries, &title, Some(centre), unit));
        }
        other => GoogleAnswer::of(other),
    };
    let [longest, least] = OVERPASS;
    let left = END.saturating_sub(start.elapsed()).clamp(least, longest);
    let reply = match overpass::run(ctx, &kinds::query(&types, centre, radius), left) {
        Ok(reply) => reply,
        Err(problem) => return first.alone(problem, &title),
    };
    let mut seen = Vec::new();
    let mut entries: Vec<PlaceEntry> = Vec::new();
    for element in &reply.elements {
        let key = (element.kind.as_str(), element.id);
        // Both circles may contain it.
        if !seen.contains(&key) {
            seen.push(key);
            entries.push(PlaceEntry::element(element));
        }
    }
    let metres = |entry: &PlaceEntry| entry.metres(Some(centre)).unwrap_or(f64::MAX);
    entries.shared_sort_by(|a, b| metres(a).total_cmp(&metres(b)));
    let mut remarks: Vec<String> = first.remark.into_iter().collect();
    if args.rank_by == RankBy::Popularity && entries.len() > 1 {
        // Popularity is unknown, so places with a name and more details come first.
        entries.shared_sort_by_key(|entry| entry.name.is_none());
        remarks.push("OpenStreetMap knows no popularity: places with a name come first, the nearest of them before the others.".to_owned());
    }
    entries.truncate(max);
    remarks.extend(
        reply
            .remark
            .as_ref()
            .map(|remark| format!("The server remarks: {remark}")),
    );
    Ok(from_openstreetmap(
        &remarks,
        &entries,
        &title,
        Some(centre),
        unit,
        &reply.credit(),
    ))
}

/// Limits the radius to what services accept.
fn radius(metres: f64) -> Outcome<f64> {
    if metres > 0.0 {
        return Ok(metres.min(WIDEST));
    }
    Err(Problem::input(format!("radius cannot be {metres}."))
        .next("Give metres, more than 0 and up to 50000."))
}

fn circle(centre: Coordinates, radius: f64) -> serde_json::Value {
    json!({"circle": {"center": {"latitude": centre.lat, "longitude": centre.lon}, "radius": radius}})
}

/// What Google answered before OpenStreetMap was used.
#[derive(Default)]
struct GoogleAnswer {
    /// A sentence about it; `None` when Google was not used.
    remark: Option<String>,
    /// It found nothing, which is a valid answer.
    is_answer: bool,
}

impl GoogleAnswer {
    fn of(google: GoogleResult) -> Self {
        match google {
            GoogleResult::Nothing => Self {
                remark: Some("No results at Google Places.".to_owned()),
                is_answer: true,
            },
            GoogleResult::Refused(reason) => Self {
                remark: Some(reason),
                is_answer: false,
            },
            GoogleResult::NotUsed | GoogleResult::Found(_) => Self::default(),
        }
    }

    /// The answer when OpenStreetMap failed as well.
    fn alone(self, mut problem: Problem, title: &str) -> Outcome<String> {
        let Some(said) = self.remark.filter(|_| !problem.is_cancelled()) else {
            return Err(problem);
        };
        if self.is_answer {
            return Ok(format!(
                "No results {title} at Google Places, and OpenStreetMap could not be reached: {}",
                problem.one_line()
            ));
        }
        problem.what = format!("{said} {}", problem.what);
        Err(problem)
    }
}

fn from_google(
    entries: &[PlaceEntry],
    title: &str,
    centre: Option<Coordinates>,
    unit: DistanceUnit,
) -> String {
    let head = format!(
        "{} {title}, from Google Places:",
        plural(entries.len(), "place")
    );
    format!("{head}\n{}", list(entries, centre, unit))
        .trim_end()
        .to_owned()
}

fn from_openstreetmap(
    remarks: &[String],
    entries: &[PlaceEntry],
    title: &str,
    centre: Option<Coordinates>,
    unit: DistanceUnit,
    credit: &str,
) -> String {
    let mut lines: Vec<String> = remarks.to_vec();
    let source = match credit.contains("OpenStreetMap") {
        true => "OpenStreetMap",
        false => "Open-Meteo",
    };
    if entries.is_empty() {
        lines.push(format!("No results {title} in {source}."));
    } else {
        lines.push(format!(
            "{} {title}, from {source}:",
            plural(entries.len(), "place")
        ));
        lines.push(list(entries, centre, unit));
    }
    lines.push(credit.to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radius_is_one() {
        assert_eq!(radius(0.5).unwrap(), 0.5);
        assert_eq!(radius(1e9).unwrap(), WIDEST);
        for wrong in [0.0, -1.0, f64::NAN] {
            assert!(radius(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_second_failure_keeps_what_was_said_first() {
        let down = || Problem::network("Down.");
        let refused = || GoogleAnswer::of(GoogleResult::Refused("Refused.".to_owned()));
        assert_eq!(
            refused().alone(down(), "x").unwrap_err().what,
            "Refused. Down."
        );
        let cancelled = refused().alone(Problem::cancelled(), "x");
        assert!(cancelled.unwrap_err().is_cancelled());
        assert_eq!(
            GoogleAnswer::of(GoogleResult::NotUsed)
                .alone(down(), "x")
                .unwrap_err()
                .what,
            "Down."
        );
        assert_eq!(
            GoogleAnswer::of(GoogleResult::Nothing)
                .alone(down(), "for \"x\"")
                .unwrap(),
            "No results for \"x\" at Google Places, and OpenStreetMap could not be reached: Down."
        );
    }
}
