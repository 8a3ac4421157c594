//! One place of a list, whatever its source.

use std::fmt::Write as _;

use crate::base::text::{thousands, trim_decimals};
use crate::formats::distance::DistanceUnit;
use crate::tools::geo::osm::nominatim::OsmPlace;
use crate::tools::geo::osm::overpass::Element;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::found::short_line;
use crate::tools::output::web_links::{GOOGLE_MAPS, OPENSTREETMAP};
use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::word_list::WordList;

/// OpenStreetMap keys that say what a place is, the most specific first.
const MAIN: WordList = WordList(
    "amenity shop tourism leisure healthcare office craft historic natural aeroway railway \
     highway landuse place building",
);
/// Types of Google that carry no information.
const EMPTY: [&str; 2] = ["point_of_interest", "establishment"];
/// How many kinds of a place are shown.
const KINDS: usize = 4;

/// What is known about a place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlaceEntry {
    pub(super) name: Option<String>,
    pub(super) rating: Option<String>,
    pub(super) kinds: String,
    pub(super) cuisine: Option<String>,
    pub(super) price: Option<String>,
    pub(super) open: Option<bool>,
    pub(super) address: Option<String>,
    pub(super) phone: Option<String>,
    pub(super) web: Option<String>,
    pub(super) hours: Option<String>,
    pub(super) point: Option<Coordinates>,
    pub(super) link: Option<String>,
}

impl PlaceEntry {
    /// A place from Google; `None` for an empty row.
    pub(super) fn google(row: &Value) -> Option<Self> {
        let text = |key: &str| row.text(key).map(short_line);
        let point = row
            .number("location/latitude")
            .zip(row.number("location/longitude"));
        let point = point.and_then(|(lat, lon)| Coordinates::found(lat, lon));
        let kinds = row
            .texts("types")
            .into_iter()
            .filter(|kind| !EMPTY.contains(kind));
        let kinds: Vec<String> = kinds.take(KINDS).map(short_line).collect();
        let reviews = row
            .whole("userRatingCount")
            .and_then(|count| u64::try_from(count).ok());
        let rating = row
            .number("rating")
            // Ratings range from 1 to 5: 0 means that there is no rating.
            .filter(|rating| (1.0..=5.0).contains(rating));
        let price = match row.text("priceLevel") {
            Some("PRICE_LEVEL_FREE") => Some("free"),
            Some("PRICE_LEVEL_INEXPENSIVE") => Some("inexpensive"),
            Some("PRICE_LEVEL_MODERATE") => Some("moderate"),
            Some("PRICE_LEVEL_EXPENSIVE") => Some("expensive"),
            Some("PRICE_LEVEL_VERY_EXPENSIVE") => Some("very expensive"),
            _ => None,
        };
        let entry = Self {
            name: text("displayName/text").or_else(|| text("displayName")),
            rating: rating.map(|rating| {
                let rating = trim_decimals(rating, 1);
                match reviews {
                    Some(1) => format!("{rating} of 5 (1 review)"),
                    Some(count) => format!("{rating} of 5 ({} reviews)", thousands(count)),
                    None => format!("{rating} of 5"),
                }
            }),
            kinds: kinds.join(", "),
            cuisine: None,
            price: price.map(str::to_owned),
            open: row
                .at("currentOpeningHours/openNow")
                .or_else(|| row.at("regularOpeningHours/openNow"))
                .and_then(Value::as_bool),
            address: text("formattedAddress").or_else(|| text("shortFormattedAddress")),
            phone: text("internationalPhoneNumber").or_else(|| text("nationalPhoneNumber")),
            web: text("websiteUri"),
            hours: None,
            point,
            link: text("googleMapsUri").or_else(|| {
                point.map(|at| {
                    format!(
                        "{GOOGLE_MAPS}{},{}",
                        trim_decimals(at.lat, 6),
                        trim_decimals(at.lon, 6)
                    )
                })
            }),
        };
        (entry.name.is_some() || entry.address.is_some() || entry.point.is_some()).then_some(entry)
    }

    pub(super) fn spot(spot: &OsmPlace) -> Self {
        let tag = |key: &str| spot.tags.text(key).map(short_line);
        // The label starts with the name.
        let address = match &spot.name {
            Some(name) => spot
                .label
                .strip_prefix(name.as_str())
                .map(|rest| rest.trim_start_matches([',', ' ']).to_owned()),
            None => None,
        };
        Self {
            name: spot.name.clone().or_else(|| Some(spot.label.clone())),
            kinds: spot.kind.clone(),
            address: address.filter(|address| !address.is_empty()),
            point: Some(spot.point),
            link: spot.object.as_deref().map(link),
            ..Self::tagged(tag)
        }
    }

    pub(super) fn element(element: &Element) -> Self {
        let tag = |key: &str| element.tag(key).map(str::to_owned);
        let main = MAIN
            .iter()
            .find_map(|key| Some(format!("{key}={}", element.tag(key)?)));
        let two = |first: Option<String>, second: Option<String>| {
            let parts: Vec<String> = [first, second].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        };
        let place = tag("addr:street").or_else(|| tag("addr:place"));
        let street = place.and_then(|place| two(Some(place), tag("addr:housenumber")));
        let town = two(tag("addr:postcode"), tag("addr:city"));
        let address: Vec<String> = [street, town].into_iter().flatten().collect();
        let name = ["name", "name:en", "brand", "operator"]
            .iter()
            .find_map(|key| tag(key));
        Self {
            name,
            kinds: main.unwrap_or_default(),
            address: (!address.is_empty()).then(|| address.join(", ")),
            point: element.point,
            link: element.id.map(|_| link(&element.object())),
            ..Self::tagged(tag)
        }
    }

    /// Details from tags other than name, kind and address.
    fn tagged(tag: impl Fn(&str) -> Option<String>) -> Self {
        let any = |keys: &[&str]| keys.iter().find_map(|key| tag(key));
        let words = |text: String| {
            let parts = text.split(';').map(|part| part.trim().replace('_', " "));
            parts
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        };
        Self {
            cuisine: tag("cuisine").map(words),
            phone: any(&["phone", "contact:phone", "contact:mobile"]),
            web: any(&["website", "contact:website", "url"]),
            hours: tag("opening_hours"),
            ..Self::default()
        }
    }

    /// Metres to `from`, if both positions are known.
    pub(super) fn metres(&self, from: Option<Coordinates>) -> Option<f64> {
        Some(self.point?.metres_to(from?))
    }

    fn show(&self, number: usize, from: Option<Coordinates>, unit: DistanceUnit, out: &mut String) {
        let kind = self
            .kinds
            .split_once('=')
            .map_or("place", |(_, kind)| kind)
            .replace('_', " ");
        let unnamed = || format!("Unnamed {kind}");
        let name = self.name.clone().unwrap_or_else(unnamed);
        let _ = writeln!(out, "{number}. {name}");
        let mut line = |parts: &[Option<&str>]| {
            let parts: Vec<&str> = parts.iter().flatten().copied().collect();
            if !parts.is_empty() {
                let _ = writeln!(out, "   {}", parts.join(" · "));
            }
        };
        let kinds = Some(self.kinds.as_str()).filter(|kinds| !kinds.is_empty());
        let open = self
            .open
            .map(|open| if open { "open now" } else { "closed now" });
        let hours = self.hours.as_ref().map(|hours| format!("Hours: {hours}"));
        let point = self.point.map(|point| point.to_string());
        let away = self
            .metres(from)
            .map(|metres| format!("{} away", unit.say(metres)));
        line(&[self.rating.as_deref(), self.price.as_deref(), open]);
        line(&[kinds, self.cuisine.as_deref()]);
        line(&[self.address.as_deref()]);
        line(&[self.phone.as_deref(), self.web.as_deref()]);
        line(&[hours.as_deref()]);
        line(&[point.as_deref(), away.as_deref()]);
        line(&[self.link.as_deref()]);
    }
}

/// The OpenStreetMap page of an object such as `way 123`.
fn link(object: &str) -> String {
    format!("{OPENSTREETMAP}/{}", object.replace(' ', "/"))
}

/// A numbered list; distances are from `from`.
pub(super) fn list(
    entries: &[PlaceEntry],
    from: Option<Coordinates>,
    unit: DistanceUnit,
) -> String {
    let mut out = String::new();
    for (i, entry) in entries.iter().enumerate() {
        entry.show(i + 1, from, unit, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_of_googles_shows_what_it_has() {
        let full = json!({"displayName": {"text": "Le Bon\nCoin"}, "formattedAddress": "1 Rue X", "rating": 4, "userRatingCount": 1,
            "types": ["cafe", "establishment"], "location": {"latitude": 0, "longitude": -4.5}, "priceLevel": "PRICE_LEVEL_MODERATE",
            "currentOpeningHours": {"openNow": false}, "nationalPhoneNumber": "01", "websiteUri": "https://x.test"});
        let entries: Vec<PlaceEntry> =
            [full, json!({"displayName": {"text": "B"}, "rating": null})]
                .iter()
                .filter_map(PlaceEntry::google)
                .collect();
        let from = Coordinates::new(0.0, -4.5).unwrap();
        assert_eq!(
            list(&entries, Some(from), DistanceUnit::Km),
            "1. Le Bon Coin\n   4 of 5 (1 review) · moderate · closed now\n   cafe\n   1 Rue X\n   01 · https://x.test\n   0, -4.5 · 0 m away\n   \
             https://www.google.com/maps/search/?api=1&query=0,-4.5\n2. B\n"
        );
        for nothing in [json!({}), json!(null), json!({"rating": 4})] {
            assert_eq!(PlaceEntry::google(&nothing), None);
        }
    }

    #[test]
    fn a_place_of_openstreetmap_shows_its_tags() {
        let tags = [
            ("amenity", "restaurant"),
            ("cuisine", "thai;fine_dining"),
            ("addr:street", "Main Street"),
            ("addr:housenumber", "5"),
            ("addr:city", "Brest"),
            ("contact:phone", "+33"),
            ("opening_hours", "Mo-Fr 09:00-18:00"),
        ];
        let element = Element {
            kind: "way".to_owned(),
            id: Some(7),
            point: None,
            tags: tags
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        };
        assert_eq!(
            list(
                &[PlaceEntry::element(&element)],
                Some(Coordinates::new(1.0, 1.0).unwrap()),
                DistanceUnit::Km
            ),
            "1. Unnamed restaurant\n   amenity=restaurant · thai, fine dining\n   Main Street 5, Brest\n   +33\n   Hours: Mo-Fr 09:00-18:00\n   \
             https://www.openstreetmap.org/way/7\n"
        );
        let bare = Element {
            kind: "node".to_owned(),
            id: None,
            point: None,
            tags: Vec::new(),
        };
        assert_eq!(
            list(&[PlaceEntry::element(&bare)], None, DistanceUnit::Km),
            "1. Unnamed place\n"
        );
    }
}
