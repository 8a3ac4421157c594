//! Responses of OSRM: routes, errors, and broken ones.

use crate::formats::distance::DistanceUnit;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::testing::assert_has;
use crate::net::services::{OSRM_CAR, OSRM_FOOT};
use crate::tools::test_mutate::spoiled;

fn trip(mode: Mode) -> RouteRequest {
    let point = |lat, lon| Coordinates { lat, lon };
    RouteRequest {
        mode,
        points: vec![point(1.0, 2.0), point(1.1, 2.1), point(1.2, 2.2)],
    }
}

/// A made-up answer in the service's format.
fn found() -> Value {
    let step = |kind: &str| {
        json!({"name": "Elm Row", "ref": "B 9", "mode": "driving", "distance": 60.5, "duration": 9.0,
        "maneuver": {"type": kind, "modifier": "left", "bearing_after": 90, "exit": 2, "location": [2.0, 1.0]}})
    };
    let stop =
        |distance: f64| json!({"name": "Elm Row", "distance": distance, "location": [2.0, 1.0]});
    json!({
        "code": "Ok",
        "routes": [{"distance": 121.0, "duration": 18.0, "legs": [{"distance": 60.5, "steps": [step("depart"), step("roundabout")]}, {"steps": [step("arrive")]}]}],
        "waypoints": [stop(0.0), stop(1_500.0), stop(3.0)],
    })
}

fn judged(status: u16, body: &str) -> Outcome<Route> {
    trip(Mode::Driving).parse_response(
        &ServiceResponse::new(&OSRM_CAR, status, body.as_bytes().to_vec()),
        false,
    )
}

fn refused(code: &str, message: &str) -> String {
    let body = json!({"code": code, "message": message}).to_string();
    judged(400, &body).unwrap_err().one_line()
}

#[test]
fn every_code_has_words_and_a_next_step() {
    for (code, message, wanted) in [
        (
            "NoRoute",
            "none",
            "There is no way by car between these points: no road connects them (NoRoute). A sea,",
        ),
        (
            "NoSegment",
            "near coordinate 1",
            "near waypoint 1 (1.1, 2.1) (NoSegment). Give a point",
        ),
        (
            "NoSegment",
            "near coordinate 2",
            "near the destination (1.2, 2.2)",
        ),
        ("NoSegment", "near coordinate 7", "near one of the points"),
        (
            "InvalidValue",
            "odd number.",
            "(InvalidValue: odd number). Latitude and longitude may have been swapped",
        ),
        (
            "InvalidOptions",
            "few",
            "(InvalidOptions: few). A route needs two points",
        ),
        (
            "TooBig",
            "",
            "more points than the server takes (TooBig). Use fewer waypoints",
        ),
        (
            "InvalidQuery",
            "at 7",
            "does not understand the request (InvalidQuery: at 7). Try again later",
        ),
        ("InvalidUrl", "at 7", "(InvalidUrl: at 7)"),
        ("InvalidService", "x", "(InvalidService: x)"),
        ("InvalidVersion", "x", "(InvalidVersion: x)"),
        ("NotImplemented", "x", "cannot do this (NotImplemented: x)"),
        (
            "Novel\u{1b}",
            "x\ny",
            "OSRM found no route (Novel\\x1b: x y). Try again",
        ),
    ] {
        let said = refused(code, message);
        assert!(said.contains(wanted), "{code}: {said}");
    }
}

#[test]
fn a_wrong_address_is_named_by_its_variable() {
    let answer = ServiceResponse::new(&OSRM_FOOT, 400, br#"{"code": "InvalidUrl"}"#.to_vec());
    let message = trip(Mode::Foot)
        .parse_response(&answer, true)
        .unwrap_err()
        .one_line();
    assert_has(&message, &["MARVIN_URL_OSRM_FOOT must be the address"]);
}

#[test]
fn what_is_no_answer_of_osrm_is_told_for_what_it_is() {
    for (status, body, wanted) in [
        (429, "<html>slow down</html>", "is busy (429)"),
        (502, "<html>", "is busy (502)"),
        (503, r#"{"message": "later"}"#, "is busy (503)"),
        (400, "Bad Request", "cannot use the request (400)."),
        (
            400,
            r#"{"message": "odd"}"#,
            "cannot use the request (400): odd.",
        ),
        (404, "", "does not have this (404)"),
        (200, "<!doctype html>", "a web page where data was promised"),
        (200, "", "with nothing"),
        (200, "[]", "cannot be read"),
        (200, r#"{"code": "Ok", "routes": []}"#, "cannot be read"),
        (
            200,
            r#"{"code": "Ok", "routes": [{"distance": null, "duration": 5}]}"#,
            "cannot be read",
        ),
        (
            200,
            r#"{"code": "Ok", "routes": [{"distance": -1, "duration": 5}]}"#,
            "cannot be read",
        ),
        (200, r#"{"code": "NoRoute"}"#, "no road connects them"),
    ] {
        let message = judged(status, body).unwrap_err().one_line();
        assert!(message.contains(wanted), "{status} {body}: {message}");
    }
}

#[test]
fn points_far_from_roads_are_told_of_and_absurd_ones_refused() {
    let route = judged(200, &found().to_string()).unwrap();
    let trip = trip(Mode::Driving);
    trip.check_near_roads(&route).unwrap();
    assert_eq!(
        trip.notes(&route, DistanceUnit::Mi),
        ["Waypoint 1 is 0.9 mi from the nearest road; the way to it is not counted."]
    );
    assert_eq!(trip.place(&route, 0), "1, 2 (Elm Row)");
    let mut far = found();
    far["waypoints"][2]["distance"] = json!(50_001);
    let route = judged(200, &far.to_string()).unwrap();
    let message = trip.check_near_roads(&route).unwrap_err().one_line();
    assert_has(
        &message,
        &["The destination (1.2, 2.2) is 50 km from the nearest road"],
    );
    assert!(message.contains("swapped"), "{message}");
    // Without a distance, it is calculated from the location.
    far["waypoints"][2] = json!({"location": [60.0, 2.2]});
    let route = judged(200, &far.to_string()).unwrap();
    assert!(trip.check_near_roads(&route).is_err());
}

proptest! {
    #[test]
    fn odd_answers_are_routes_or_problems(value in spoiled(found()), status in prop::sample::select(vec![200u16, 400, 429, 503])) {
        let trip = trip(Mode::Driving);
        let answer = ServiceResponse::new(&OSRM_CAR, status, value.to_string().into_bytes());
        if let Ok(route) = trip.parse_response(&answer, false) {
            let _ = trip.check_near_roads(&route);
            let mut text = trip.notes(&route, DistanceUnit::Km).join("\n");
            for step in route.legs.iter().flatten() {
                text.push_str(&crate::tools::geo::travel::step::instruction(step, crate::tools::geo::travel::step::LegEnd::Destination));
                text.push('\n');
            }
            for odd in ["NaN", "null", "  "] {
                prop_assert!(!text.contains(odd), "{odd}: {text}");
            }
        }
    }
}
