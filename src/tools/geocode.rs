//! Where a name is: looked up at Nominatim where that may be asked, else as a town at Open-Meteo (decisions.md 10).

use std::time::Duration;

use serde_json::Value;

use super::context::Ctx;
use super::osm::nominatim::{self, Spot};
use super::osm::{credit, shown};
use super::point::Point;
use crate::base::error::Outcome;
use crate::base::pick::Pick;
use crate::net::services::{NOMINATIM, OPEN_METEO_GEOCODING};

/// Before the one second try of an overloaded server (contract/services/open-meteo.md).
const OVERLOADED: Duration = Duration::from_secs(2);
/// Towns do not move.
const KEEP: Duration = Duration::from_secs(3_600);

/// What was found, best first.
#[derive(Debug)]
pub(super) struct Found {
    /// The places; none is an answer too.
    pub(super) spots: Vec<Spot>,
    /// Who answered and under which licence, a sentence.
    pub(super) credit: String,
    /// A sentence for the reader when only towns were looked up.
    pub(super) remark: Option<String>,
}

/// Places called `name`, at most `most`; the second request waits for its turn, so two names go one after the other.
///
/// # Errors
/// What the services or the network say.
pub(super) fn look_up(ctx: &Ctx, name: &str, most: u64) -> Outcome<Found> {
    let Err(problem) = ctx.ask(&NOMINATIM).allowed() else {
        return Ok(Found {
            spots: nominatim::search(ctx, name, most, None)?,
            credit: credit("Nominatim"),
            remark: None,
        });
    };
    Ok(Found {
        spots: towns(ctx, name, most)?,
        credit: "Data from Open-Meteo and GeoNames, CC BY 4.0.".to_owned(),
        remark: Some(format!(
            "Only towns were looked up, at Open-Meteo: {}",
            crate::base::text::head(&problem.one_line(), 400)
        )),
    })
}

/// Towns called `name` at Open-Meteo; words behind a comma must name their country or region.
///
/// # Errors
/// What the service or the network says.
pub(super) fn towns(ctx: &Ctx, name: &str, most: u64) -> Outcome<Vec<Spot>> {
    let mut parts = name
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let town = parts.next().unwrap_or_default();
    let regions: Vec<String> = parts.map(str::to_lowercase).collect();
    let count = if regions.is_empty() { most } else { 50 };
    let answer = ctx
        .ask(&OPEN_METEO_GEOCODING)
        .path("/v1/search")
        .query("name", town)
        .query("count", count)
        .query("language", "en")
        .query("format", "json")
        .keep(KEEP)
        .again_after(OVERLOADED)
        .get()?;
    let said = |value: &Value| value.text("reason").map(str::to_owned);
    let value = answer.json(said)?;
    if value.flag("error") {
        return Err(answer.refused(value.text("reason")));
    }
    if !value.is_object() {
        return Err(answer.unreadable());
    }
    let rows = value.list("results").iter();
    let fits = |row: &&Value| regions.iter().all(|region| lies_in(row, region));
    Ok(rows
        .filter(fits)
        .filter_map(town_of)
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .collect())
}

/// True when one of the row's regions begins with `region`.
fn lies_in(row: &Value, region: &str) -> bool {
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

fn town_of(row: &Value) -> Option<Spot> {
    let point = Point::found(row.number("latitude")?, row.number("longitude")?)?;
    let name = row.text("name").map(shown)?;
    let regions = ["admin1", "country"].iter().filter_map(|key| row.text(key));
    let mut label = name.clone();
    for region in regions.map(shown).filter(|region| *region != name) {
        label.push_str(", ");
        label.push_str(&region);
    }
    // GeoNames: PPL… is a populated place.
    let kind = match row.text("feature_code") {
        Some(code) if code.starts_with("PPLC") => "capital",
        Some(code) if code.starts_with("PPL") => "town",
        _ => "place",
    };
    Some(Spot {
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
        ] {
            assert_eq!(lies_in(&row, region), fits, "{region}");
        }
        let town = town_of(&row).unwrap();
        assert_eq!(
            (town.label.as_str(), town.kind.as_str()),
            ("Brest, Brittany, France", "town")
        );
        let bare =
            json!({"name": "Monaco", "latitude": "43.7", "longitude": 7, "country": "Monaco"});
        assert_eq!(town_of(&bare).unwrap().label, "Monaco");
        assert_eq!(town_of(&json!({"name": "X"})), None);
    }
}
