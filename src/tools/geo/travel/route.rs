//! A route from OSRM (<https://project-osrm.org/docs/v5.24.0/api/>): request, response and error codes.

use crate::formats::distance::DistanceUnit;
use std::time::Duration;

use serde_json::Value;

use super::mode::Mode;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{capitalize, clip, escape_controls, one_line, trim_decimals};
use crate::net::service::{ServiceResponse, retry_time};
use crate::net::services::{self, Service};
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;

/// How long routes are cached.
const KEEP: Duration = Duration::from_secs(300);
/// Timeout of a request, shorter than that of any tool.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(9);
/// A point farther from a road than this gets a notice, in metres.
const FAR: f64 = 1_000.0;
/// A point farther from a road than this cannot be what the caller meant, in metres.
const ABSURD: f64 = 50_000.0;

pub(super) struct RouteRequest {
    pub(super) mode: Mode,
    /// Start, waypoints, destination: at least two.
    pub(super) points: Vec<Coordinates>,
}

#[derive(Debug)]
pub(super) struct Route {
    /// In metres.
    pub(super) distance: f64,
    /// In seconds, without traffic.
    pub(super) duration: f64,
    pub(super) legs: Vec<Vec<Value>>,
    /// For each point the metres to the nearest road, and that road's name.
    pub(super) snaps: Vec<(f64, String)>,
}

impl RouteRequest {
    /// Requests the route from the server for the mode.
    ///
    /// # Errors
    /// Errors of the service; a point that is not near a road.
    pub(super) fn route(&self, ctx: &ToolContext) -> Outcome<Route> {
        self.has_base(ctx)?;
        let place = |point: &Coordinates| {
            format!(
                "{},{}",
                trim_decimals(point.lon, 6),
                trim_decimals(point.lat, 6)
            )
        };
        let places: Vec<String> = self.points.iter().map(place).collect();
        let answer = ctx
            .service(self.mode.service())
            .path("/route/v1/")
            .path(Mode::profile())
            .path("/")
            .path(&places.join(";"))
            .query("overview", false)
            .query("steps", true)
            .query("alternatives", false)
            .query("annotations", false)
            .query("generate_hints", false)
            .cache_for_if(KEEP, |value| value.text("code") == Some("Ok"))
            .timeout(REQUEST_TIMEOUT)
            .get()?;
        let own = self.mode.service().is_own(&ctx.session.env);
        let route = self.parse_response(&answer, own)?;
        self.check_near_roads(&route)?;
        Ok(route)
    }

    /// A mode whose server is disabled ("none") is refused rather than replaced by another mode.
    fn has_base(&self, ctx: &ToolContext) -> Outcome<()> {
        let service = self.mode.service();
        let base = service.base_in(&ctx.session.env);
        if base.starts_with("http://") || base.starts_with("https://") {
            return Ok(());
        }
        let variable = services::variable(service.id);
        Err(Problem::config(format!(
            "There is no routing server for the mode {}: {variable} is \"{}\", which is not a valid address.",
            self.mode.name(),
            clip(&escape_controls(base), 60)
        ))
        .next(format!("Set {variable} to an OSRM server with such data, or take another mode.")))
    }

    /// The body comes first: OSRM sends errors as 400 with the code in the body.
    fn parse_response(&self, answer: &ServiceResponse, own: bool) -> Outcome<Route> {
        let value = answer.value();
        let code = value.as_ref().and_then(|value| value.text("code"));
        match (code, &value) {
            (Some("Ok") | None, Some(value)) if answer.is_ok() => {
                self.read(value).ok_or_else(|| answer.unreadable())
            }
            // OSRM's own errors come with status 400; a code from a busy server is a proxy's.
            _ if is_busy(answer) => Err(busy(answer, value.as_ref())),
            (Some(code), Some(value)) if code != "Ok" => {
                let message = answer.quoted(value.text("message").unwrap_or_default());
                Err(self.refusal(&answer.quoted(code), &message, own))
            }
            _ if answer.is_ok() => Err(answer.unreadable()),
            _ => {
                let message = value.as_ref().and_then(|value| value.text("message"));
                Err(hint(answer.refused(message), self.mode.service(), own))
            }
        }
    }

    /// Parses the answer; `None` when it has no route.
    fn read(&self, value: &Value) -> Option<Route> {
        let route = value.at("routes/0")?;
        let sound = |number: &f64| (0.0..1e12).contains(number);
        let snaps = self.points.iter().zip(value.list("waypoints"));
        let snap = |(point, road): (&Coordinates, &Value)| {
            let moved = || {
                let to =
                    Coordinates::found(road.number("location/1")?, road.number("location/0")?)?;
                Some(point.metres_to(to))
            };
            let metres = road.number("distance").filter(sound).or_else(moved);
            let called = road.text("name").map(name);
            (metres.unwrap_or(0.0), called.unwrap_or_default())
        };
        Some(Route {
            distance: route.number("distance").filter(sound)?,
            duration: route.number("duration").filter(sound)?,
            legs: route
                .list("legs")
                .iter()
                .map(|leg| leg.list("steps").to_vec())
                .collect(),
            snaps: snaps.map(snap).collect(),
        })
    }

    /// The message for an error code, with the next step.
    fn refusal(&self, code: &str, message: &str, own: bool) -> Problem {
        let by = self.mode.by();
        let words = match message.trim_end_matches('.') {
            "" => String::new(),
            message => format!(": {message}"),
        };
        match code {
            "NoRoute" => Problem::missing(format!(
                "There is no way {by} between these points: no road connects them (NoRoute)."
            ))
            .next("A sea, a border or a closed road may lie between. Check the points, or go part of the way by other means."),
            "NoSegment" => Problem::missing(format!(
                "No road that one can use {by} is near {} (NoSegment).",
                self.named_in(message)
            ))
            .next("Give a point on or near a road; latitude comes first, longitude second."),
            "InvalidValue" => Problem::input(format!(
                "OSRM cannot use the coordinates (InvalidValue{words})."
            ))
            .next("Latitude and longitude may have been swapped: latitude comes first."),
            "InvalidOptions" => Problem::input(format!(
                "OSRM cannot use the request (InvalidOptions{words})."
            ))
            .next("A route needs two points at least, a start and a destination."),
            "TooBig" => Problem::limit(format!(
                "The route has more points than the server takes (TooBig{words})."
            ))
            .next("Use fewer waypoints, or ask for the way in parts."),
            "InvalidQuery" | "InvalidUrl" | "InvalidService" | "InvalidVersion" => hint(
                Problem::new(
                    ProblemKind::Config,
                    format!("OSRM does not understand the request ({code}{words})."),
                ),
                self.mode.service(),
                own,
            ),
            "NotImplemented" => hint(
                Problem::new(
                    ProblemKind::Config,
                    format!("The routing server cannot do this (NotImplemented{words})."),
                ),
                self.mode.service(),
                own,
            ),
            _ => Problem::network(format!("OSRM found no route ({code}{words})."))
                .next("Try again later, or with other points."),
        }
    }

    /// The point whose number is in the server's message, or all of them.
    fn named_in(&self, message: &str) -> String {
        let number = message
            .rsplit(|c: char| !c.is_ascii_digit())
            .find(|digits| !digits.is_empty())
            .and_then(|digits| digits.parse::<usize>().ok());
        match number.and_then(|at| Some((at, self.points.get(at)?))) {
            Some((at, point)) => format!("{} ({point})", self.point_name(at)),
            None => "one of the points".to_owned(),
        }
    }

    /// How messages call a point of the trip.
    fn point_name(&self, index: usize) -> String {
        match index {
            0 => "the start".to_owned(),
            _ if index + 1 == self.points.len() => "the destination".to_owned(),
            _ => format!("waypoint {index}"),
        }
    }

    /// Refuses a route with points far from any road.
    fn check_near_roads(&self, route: &Route) -> Outcome<()> {
        for (index, (point, (metres, _))) in self.points.iter().zip(&route.snaps).enumerate() {
            if *metres > ABSURD {
                return Err(Problem::input(format!(
                    "{} ({point}) is {} from the nearest road that the server knows.",
                    capitalize(&self.point_name(index)),
                    DistanceUnit::Km.say(*metres)
                ))
                .next("Latitude and longitude may have been swapped: latitude comes first.")
                .next("Or the place is outside the map of this server."));
            }
        }
        Ok(())
    }

    /// Notices about the route: points far from roads, start and destination at the same place.
    pub(super) fn notes(&self, route: &Route, units: DistanceUnit) -> Vec<String> {
        let mut notes = Vec::new();
        for (index, (metres, _)) in route.snaps.iter().enumerate().take(self.points.len()) {
            if *metres > FAR {
                notes.push(format!(
                    "{} is {} from the nearest road; the way to it is not counted.",
                    capitalize(&self.point_name(index)),
                    units.say(*metres)
                ));
            }
        }
        if let (Some(first), Some(last)) = (self.points.first(), self.points.last())
            && self.points.len() == 2
            && route.distance < 1.0
            && first.metres_to(*last) > 100.0
        {
            notes.push(format!(
                "Both points were put on the same spot of the road network, though {} lie between them.",
                units.say(first.metres_to(*last))
            ));
        }
        notes
    }

    /// A point with the name of its road: `52.52, 13.405 (Torstraße)`.
    pub(super) fn place(&self, route: &Route, index: usize) -> String {
        let Some(point) = self.points.get(index) else {
            return String::new();
        };
        match route.snaps.get(index).map(|(_, name)| name.as_str()) {
            Some(name) if !name.is_empty() => format!("{point} ({name})"),
            _ => point.to_string(),
        }
    }
}

impl Route {
    /// The mode that the data is for, if the steps show it.
    pub(super) fn mode(&self) -> Option<Mode> {
        Mode::of_steps(
            self.legs
                .iter()
                .flatten()
                .filter_map(|step| step.text("mode")),
        )
    }
}

/// A name from the map on one line, sanitized.
pub(super) fn name(text: &str) -> String {
    clip(&one_line(text), 80)
}

/// True for statuses that mean "try again later", which 501 does not.
fn is_busy(answer: &ServiceResponse) -> bool {
    answer.status == 429 || (answer.status >= 500 && answer.status != 501)
}

fn busy(answer: &ServiceResponse, value: Option<&Value>) -> Problem {
    let message = value.and_then(|value| value.text("message")).unwrap_or("");
    let message = answer.quoted(message);
    let words = match message.trim_end_matches('.') {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let problem = Problem::network(format!(
        "OSRM, the routing server, is busy ({}){words}.",
        answer.status
    ));
    match answer.retry_after() {
        Some(wait) => problem.next(retry_time(wait)),
        None => problem.next("Try again in a minute; many share it."),
    }
}

/// Advice for an error that a correctly configured server never sends.
fn hint(problem: Problem, service: &Service, own: bool) -> Problem {
    if !own {
        return problem.next("Try again later; the server may have changed.");
    }
    problem.next(format!(
        "{} must be the address of an OSRM server, without /route/v1.",
        services::variable(service.id)
    ))
}

#[cfg(test)]
mod tests;
