//! Module `travel`: distances, travel times and routes.

mod directions;
mod mode;
mod route;
mod step;
mod traffic;

use super::point::Coordinates;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::distance::DistanceUnit;
use crate::net::services::{self, OPEN_METEO, OSRM_BIKE, OSRM_CAR, OSRM_FOOT, Service};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::distance::preferred_unit;
use crate::tools::output::measures::duration;
use mode::{Mode, RequestedMode};
use route::{Route, RouteRequest};

/// The services with road data.
const ROADS: &[&Service] = &[&OSRM_CAR, &OSRM_FOOT, &OSRM_BIKE];
/// The services with road data and weather.
const ROADS_AND_SKY: &[&Service] = &[&OSRM_CAR, &OSRM_FOOT, &OSRM_BIKE, &OPEN_METEO];

tools! { "travel";
    /// Free-flow distance and duration between two points.
    estimate_travel_time(EstimateTravelTime; READ.seconds(10).service("osrm").asks(ROADS)) {
        /// start latitude
        origin_lat: f64, example: "52.517";
        /// start longitude
        origin_lng: f64, example: "13.389", alias: &["origin_lon"];
        /// end latitude
        dest_lat: f64, example: "52.529", alias: &["destination_lat"];
        /// end longitude
        dest_lng: f64, example: "13.398", alias: &["dest_lon", "destination_lng", "destination_lon"];
        /// travel profile; any other value falls back to driving
        mode: RequestedMode = "driving";
    } => estimate, says [
        "how long from {origin_lat} {origin_lng} to {dest_lat} {dest_lng}",
        "how long from {origin_lat}, {origin_lng} to {dest_lat}, {dest_lng}",
        "walk from {origin_lat} {origin_lng} to {dest_lat} {dest_lng}{mode=foot}",
        "walk from {origin_lat}, {origin_lng} to {dest_lat}, {dest_lng}{mode=foot}",
    ];

    /// Turn-by-turn route, optionally through waypoints.
    get_directions(GetDirections; READ.seconds(15).service("osrm").asks(ROADS)) {
        /// start latitude
        origin_lat: f64, example: "52.517";
        /// start longitude
        origin_lng: f64, example: "13.389", alias: &["origin_lon"];
        /// end latitude
        dest_lat: f64, example: "52.529", alias: &["destination_lat"];
        /// end longitude
        dest_lng: f64, example: "13.398", alias: &["dest_lon", "destination_lng", "destination_lon"];
        /// travel profile; any other value falls back to driving
        mode: RequestedMode = "driving";
        /// intermediate stops as "lat,lng;lat,lng"
        waypoints: String = "", alias: &["via"];
    } => directions, says [
        "directions from {origin_lat} {origin_lng} to {dest_lat} {dest_lng}",
        "directions from {origin_lat}, {origin_lng} to {dest_lat}, {dest_lng}",
    ];

    /// Scale the free-flow duration by time of day and weather.
    estimate_traffic_adjusted_time(EstimateTrafficAdjustedTime; READ.seconds(20).service("osrm, open-meteo").asks(ROADS_AND_SKY)) {
        /// start latitude
        origin_lat: f64, example: "52.517";
        /// start longitude
        origin_lng: f64, example: "13.389", alias: &["origin_lon"];
        /// end latitude
        dest_lat: f64, example: "52.529", alias: &["destination_lat"];
        /// end longitude
        dest_lng: f64, example: "13.398", alias: &["dest_lon", "destination_lng", "destination_lon"];
        /// travel profile; any other value falls back to driving
        mode: RequestedMode = "driving";
    } => with_traffic, says [
        "how long with traffic from {origin_lat} {origin_lng} to {dest_lat} {dest_lng}",
        "how long with traffic from {origin_lat}, {origin_lng} to {dest_lat}, {dest_lng}",
    ];
}

/// The attribution of a route.
const SOURCE: &str = "Route by OSRM; map data by OpenStreetMap contributors (ODbL)";

fn estimate(ctx: &ToolContext, args: EstimateTravelTime) -> Outcome<String> {
    let found = RoutedTrip::new(
        ctx,
        &args.mode,
        &[
            (args.origin_lat, args.origin_lng),
            (args.dest_lat, args.dest_lng),
        ],
    )?;
    let mut lines = found.head();
    lines.push(format!(
        "Duration  {}, without traffic",
        duration(found.route.duration)
    ));
    lines.extend(found.ends());
    lines.extend(found.notes);
    lines.push(SOURCE.to_owned());
    Ok(lines.join("\n"))
}

fn directions(ctx: &ToolContext, args: GetDirections) -> Outcome<String> {
    let mut points = vec![(args.origin_lat, args.origin_lng)];
    points.extend(waypoints(&args.waypoints)?);
    points.push((args.dest_lat, args.dest_lng));
    let found = RoutedTrip::new(ctx, &args.mode, &points)?;
    directions::text(&found)
}

fn with_traffic(ctx: &ToolContext, args: EstimateTrafficAdjustedTime) -> Outcome<String> {
    let found = RoutedTrip::new(
        ctx,
        &args.mode,
        &[
            (args.origin_lat, args.origin_lng),
            (args.dest_lat, args.dest_lng),
        ],
    )?;
    traffic::text(ctx, &found)
}

/// A trip with its route and notices.
struct RoutedTrip {
    trip: RouteRequest,
    route: Route,
    /// The mode that the route is actually for.
    mode: Mode,
    units: DistanceUnit,
    notes: Vec<String>,
}

impl RoutedTrip {
    fn new(ctx: &ToolContext, requests: &RequestedMode, points: &[(f64, f64)]) -> Outcome<Self> {
        let points: Outcome<Vec<Coordinates>> = points
            .iter()
            .map(|(lat, lon)| Coordinates::new(*lat, *lon))
            .collect();
        let trip = RouteRequest {
            mode: requests.mode,
            points: points?,
        };
        let units = preferred_unit(&ctx.session);
        let route = trip.route(ctx)?;
        let mode = route.mode().unwrap_or(trip.mode);
        let mut notes: Vec<String> = requests.notice().into_iter().collect();
        if mode != trip.mode {
            notes.push(format!(
                "This is the way {}, not {}: that is what the server has data for. {} can name another.",
                mode.by(),
                trip.mode.by(),
                services::variable(trip.mode.service().id)
            ));
        }
        notes.extend(trip.notes(&route, units));
        let notes = notes.iter().map(|note| format!("Note: {note}")).collect();
        Ok(Self {
            trip,
            route,
            mode,
            units,
            notes,
        })
    }

    fn head(&self) -> Vec<String> {
        vec![
            format!("Mode      {}", self.mode.name()),
            format!("Distance  {}", self.units.both(self.route.distance)),
        ]
    }

    fn ends(&self) -> Vec<String> {
        let last = self.trip.points.len().saturating_sub(1);
        vec![
            format!("From      {}", self.trip.place(&self.route, 0)),
            format!("To        {}", self.trip.place(&self.route, last)),
        ]
    }
}

/// The stops of `lat,lng;lat,lng`.
fn waypoints(text: &str) -> Outcome<Vec<(f64, f64)>> {
    let stops = text.split([';', '|', '\n']).map(str::trim);
    let stops = stops.filter(|stop| !stop.is_empty());
    stops
        .enumerate()
        .map(|(index, stop)| {
            let bare = stop.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']') || c.is_whitespace());
            let mut parts = bare.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
            let mut number = || parts.next()?.parse::<f64>().ok().filter(|number| number.is_finite());
            match (number(), number(), parts.next()) {
                (Some(lat), Some(lng), None) => Ok((lat, lng)),
                _ => Err(Problem::input(format!(
                    "Waypoint {}, \"{}\", is not a pair of coordinates.",
                    index + 1,
                    clip(&escape_controls(stop), 60)
                ))
                .next("Give latitude and longitude of each stop, with semicolons between stops: \"52.52,13.405;52.5,13.42\".")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
