//! Module `location`: where the user is, and which places are around.

mod by_ip;
mod device;
mod entry;
mod gcloud;
mod google;
mod remembered;
mod search;
mod setup;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::remembered::LocationCache;
use crate::base::params::choice;
use crate::base::problem::Outcome;
use crate::formats::distance::DistanceUnit;
use crate::net::services::{
    GOOGLE_PLACES, IP_API, IPAPI_CO, IPINFO, NOMINATIM, OPEN_METEO_GEOCODING, OVERPASS,
};
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::tool::tools;
use crate::tools::output::distance::preferred_unit;
use crate::tools::{OUTSIDE, READ};

choice! {
    /// What comes first.
    pub(crate) enum RankBy { Popularity = "POPULARITY", Distance = "DISTANCE" }
}

tools! { "location";
    /// Find where the user is and say how that was determined.
    get_my_location(GetMyLocation; READ.seconds(15).service("os-location, ip-geolocation").asks(const { &[&IP_API, &IPAPI_CO, &IPINFO] })) {
    } => here, says ["where am i", "my location", "what is my location"];

    /// Search for places described in plain language.
    places_text_search(PlacesTextSearch; READ.seconds(20).service("google-places, nominatim").asks(const { &[&GOOGLE_PLACES, &NOMINATIM, &OPEN_METEO_GEOCODING] })) {
        /// what to look for
        text_query: String, example: "vegetarian restaurant in Porto", alias: &["query"];
        /// bias centre latitude (0 = unset)
        latitude: f64 = 0.0, alias: &["lat"];
        /// bias centre longitude (0 = unset)
        longitude: f64 = 0.0, alias: &["lng", "lon", "long"];
        /// bias radius in metres
        radius: f64 = 5000.0;
        /// how many
        max_results: u64 = 5, min: 1, max: 20;
        /// only places open now (Google only)
        open_now: bool = false;
    } => search::by_text, says ["find places: {text_query}", "search places for {text_query}", "find a place: {text_query}"];

    /// List places of given types around a coordinate.
    places_nearby_search(PlacesNearbySearch; READ.seconds(25).service("google-places, overpass").asks(const { &[&GOOGLE_PLACES, &OVERPASS] })) {
        /// centre latitude
        latitude: f64, example: "48.39", alias: &["lat"];
        /// centre longitude
        longitude: f64, example: "-4.49", alias: &["lng", "lon", "long"];
        /// Google place type names, e.g. restaurant, gym
        included_types: Vec<String>, example: "[\"restaurant\"]", alias: &["types", "type"];
        /// metres
        radius: f64 = 5000.0, max: 50000;
        /// how many
        max_results: u64 = 5, min: 1, max: 20;
        /// ordering
        rank_by: RankBy = "POPULARITY";
    } => search::nearby, says ["find {included_types} near {latitude}, {longitude}", "{included_types} near {latitude}, {longitude}"];

    /// Walk through gcloud login and enable the Places API.
    setup_google_auth(SetupGoogleAuth; OUTSIDE.seconds(120).slow().service("gcloud cli").additive().idempotent()) {
    } => setup::run, says ["set up google places", "setup google auth"];
}

/// The longest that anything is waited for, a little less than the call's limit.
const LOCATION_TIMEOUT: Duration = Duration::from_secs(14);

/// What this session found out about where it is.
fn remembered(ctx: &ToolContext) -> Arc<LocationCache> {
    ctx.session.modules.get()
}

/// Where the user is as far as this session has found out already; nobody is asked.
pub(crate) fn known_place(session: &SessionContext) -> Option<String> {
    let report = session.modules.get::<LocationCache>().place.known()?;
    let field = |label: &str| report.lines().find_map(|line| line.strip_prefix(label));
    let place = field("Place: ").map(str::to_owned);
    place.or_else(|| {
        Some(format!(
            "{}, {}",
            field("Latitude: ")?,
            field("Longitude: ")?
        ))
    })
}

fn here(ctx: &ToolContext, _: GetMyLocation) -> Outcome<String> {
    let until = Instant::now() + LOCATION_TIMEOUT;
    remembered(ctx).place.get(|| {
        Ok(match device::fix(ctx)? {
            Some(fix) => from_device(&fix, preferred_unit(&ctx.session)),
            None => from_address(&by_ip::locate(ctx, until)?),
        })
    })
}

const VPN: &str = "behind a VPN or proxy it is where that ends";

fn from_device(fix: &device::DeviceLocation, unit: DistanceUnit) -> String {
    let mut out = format!(
        "Latitude: {}\nLongitude: {}\n",
        fix.point.lat, fix.point.lon
    );
    if let Some(metres) = fix.accuracy {
        let _ = writeln!(out, "Accuracy: about {}", unit.say(metres));
    }
    let how = fix
        .method
        .as_ref()
        .map_or_else(String::new, |how| format!(", {how}"));
    let _ = write!(out, "Source: device (GeoClue{how})");
    if fix.is_coarse() {
        let _ = write!(
            out,
            ". So coarse a fix is from the IP address: approximate, and {VPN}."
        );
    }
    out
}

fn from_address(place: &by_ip::IpLocation) -> String {
    let mut out = format!(
        "Latitude: {}\nLongitude: {}\n",
        place.point.lat, place.point.lon
    );
    for (label, value) in [
        ("Place", Some(&place.name)),
        ("Time zone", place.zone.as_ref()),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = writeln!(out, "{label}: {value}");
        }
    }
    let _ = write!(
        out,
        "Source: ip ({}). Approximate, from the IP address: {VPN}.",
        place.service_name
    );
    out
}
