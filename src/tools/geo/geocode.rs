//! Looks up place names: with Nominatim where its policy allows, else among the towns of Open-Meteo.

use std::time::Duration;

use serde_json::Value;

use super::osm::credit;
use super::osm::nominatim::{self, OsmPlace};
use super::point::Coordinates;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::net::services::{NOMINATIM, OPEN_METEO_GEOCODING};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::short_line;

/// Pause before the one retry of an overloaded server.
const OVERLOADED: Duration = Duration::from_secs(2);
const GEOCODE_TIMEOUT: Duration = Duration::from_secs(11);
/// Towns do not move.
const KEEP: Duration = Duration::from_secs(3_600);

/// Matches, best first.
pub(crate) struct GeocodeMatches {
    /// May be empty.
    pub(crate) places: Vec<OsmPlace>,
    /// Source and licence, as a sentence.
    pub(crate) credit: String,
    /// A sentence for the reader if only towns were searched.
    pub(crate) remark: Option<String>,
}

/// Places called `name`, at most `max`. Requests are rate-limited, so two lookups run one after the other.
pub(crate) fn look_up(ctx: &ToolContext, name: &str, max: u64) -> Outcome<GeocodeMatches> {
    let Err(problem) = ctx.service(&NOMINATIM).allowed() else {
        return Ok(GeocodeMatches {
            places: nominatim::search(ctx, name, max, None)?,
            credit: credit("Nominatim"),
            remark: None,
        });
    };
    let towns = towns(ctx, name, max)?;
    let mut remark = format!(
        "Only towns were looked up, at Open-Meteo: {}",
        crate::base::text::head(&problem.one_line(), 400)
    );
    if let Some(elsewhere) = towns.elsewhere {
        remark.push('\n');
        remark.push_str(&elsewhere);
    }
    Ok(GeocodeMatches {
        places: towns.spots,
        credit: "Data from Open-Meteo and GeoNames, CC BY 4.0.".to_owned(),
        remark: Some(remark),
    })
}

struct Towns {
    spots: Vec<OsmPlace>,
    /// A sentence for the reader if none of them is where it was expected.
    elsewhere: Option<String>,
}

/// Towns called `name` at Open-Meteo; text after a comma names their country or region. If there are none there, those elsewhere are returned.
fn towns(ctx: &ToolContext, name: &str, max: u64) -> Outcome<Towns> {
    let mut parts = name
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let Some(town) = parts.next() else {
        return Err(Problem::input("The name to look up is empty.")
            .next("Give a town, with its country behind a comma: \"Brest, France\"."));
    };
    let regions: Vec<String> = parts.map(str::to_lowercase).collect();
    let count = if regions.is_empty() { max } else { 50 };
    let answer = ctx
        .service(&OPEN_METEO_GEOCODING)
        .path("/v1/search")
        .query("name", town)
        .query("count", count)
        .query("language", "en")
        .query("format", "json")
        .cache_for_if(KEEP, |value| {
            value.at("results").is_none_or(Value::is_array)
        })
        .retry_server_errors_after(OVERLOADED)
        .timeout(GEOCODE_TIMEOUT)
        .get()?;
    let reason = |value: &Value| value.text("reason").map(str::to_owned);
    let value = answer.json(reason)?;
    if value.flag("error") {
        return Err(answer.refused(value.text("reason")));
    }
    let rows = value.list("results");
    let odd = value.at("results").is_some_and(|rows| !rows.is_array());
    let all = || rows.iter().filter_map(|row| Some((row, town_of(row)?)));
    if !value.is_object() || odd || (!rows.is_empty() && all().next().is_none()) {
        return Err(answer.unreadable());
    }
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let there = all().filter(|(row, _)| regions.iter().all(|region| lies_in(row, region)));
    let spots: Vec<OsmPlace> = there.map(|(_, spot)| spot).take(max).collect();
    if !spots.is_empty() || rows.is_empty() {
        return Ok(Towns {
            spots,
            elsewhere: None,
        });
    }
    let region = name.split_once(',').map_or("", |(_, region)| region);
    let right = |row: &Value| regions.iter().filter(|region| lies_in(row, region)).count();
    let mut nearly: Vec<(usize, OsmPlace)> = all().map(|(row, spot)| (right(row), spot)).collect();
    nearly.shared_sort_by_key(|(right, _)| std::cmp::Reverse(*right));
    Ok(Towns {
        spots: nearly.into_iter().map(|(_, spot)| spot).take(max).collect(),
        elsewhere: Some(format!(
            "None of them is known to lie in \"{}\".",
            short_line(region)
        )),
    })
}

/// Whether one of the row's regions starts with `region`.
fn lies_in(row: &Value, region: &str) -> bool {
    let region = match region {
        "usa" | "u.s." | "u.s.a." => "united states",
        "uk" | "u.k." => "united kingdom",
        region => region,
    };
    let keys = [
        "country",
        "country_code",
        "admin1",
        "admin2",
        "admin3",
        "admin4",
    ];
    let mut own = keys.iter().filter_map(|key| row.text(key));
    own.any(|own| own.to_lowercase().starts_with(region))
}

fn town_of(row: &Value) -> Option<OsmPlace> {
    let point = Coordinates::found(row.number("latitude")?, row.number("longitude")?)?;
    let name = row.text("name").map(short_line)?;
    let regions = ["admin1", "country"].iter().filter_map(|key| row.text(key));
    let mut label = name.clone();
    for region in regions.map(short_line).filter(|region| *region != name) {
        label.push_str(", ");
        label.push_str(&region);
    }
    // GeoNames: PPL… is a populated place.
    let kind = match row.text("feature_code") {
        Some(code) if code.starts_with("PPLC") => "capital",
        Some(code) if code.starts_with("PPL") => "town",
        _ => "place",
    };
    Some(OsmPlace {
        name: Some(name),
        label,
        point,
        kind: kind.to_owned(),
        object: None,
        tags: Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn towns_are_told_apart_by_their_regions() {
        let row = json!({"name": "Brest", "latitude": 48.39, "longitude": -4.49, "country": "France",
            "country_code": "FR", "admin1": "Brittany", "admin2": "Finistère", "feature_code": "PPLA3"});
        for (region, fits) in [
            ("france", true),
            ("fr", true),
            ("finistère", true),
            ("belarus", false),
            ("usa", false),
        ] {
            assert_eq!(lies_in(&row, region), fits, "{region}");
        }
        let texan = json!({"country": "United States", "country_code": "US", "admin1": "Texas"});
        assert!(lies_in(&texan, "usa") && !lies_in(&texan, "uk"));
        let town = town_of(&row).unwrap();
        assert_eq!(
            (town.label.as_str(), town.kind.as_str()),
            ("Brest, Brittany, France", "town")
        );
        let unlabelled =
            json!({"name": "Monaco", "latitude": "43.7", "longitude": 7, "country": "Monaco"});
        assert_eq!(town_of(&unlabelled).unwrap().label, "Monaco");
        assert_eq!(town_of(&json!({"name": "X"})), None);
    }
}
