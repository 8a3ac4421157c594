//! Unusual answers of the services for places, routing and weather through the real binary: empty rows, zeros, more than was asked for, and what is not kept.

use std::sync::Arc;

use marvin::testing::tools::{self, SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink, ToolCall};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::wait::side_by_side;
use crate::support::words::TextAssertions;

const ALL: [&str; 8] = [
    "ip-api",
    "google-places",
    "nominatim",
    "overpass",
    "osrm-car",
    "osrm-foot",
    "open-meteo",
    "open-meteo-geocoding",
];

fn ended(marvin: Marvin, server: &Server) -> (String, usize) {
    let output = marvin.run();
    let text = output.output();
    (text.trim_end().to_owned(), server.requests().len())
}

/// A tool's output, and its number of requests, when the server gives these answers in turn, repeating the last one.
fn printed(name: &str, args: &Value, answers: Vec<Answer>) -> (String, usize) {
    let server = Server::answering(move |_, n| answers[n.min(answers.len() - 1)].clone());
    let home = Home::new();
    let marvin = tool(&home, &ALL, &server.url(""), name, args);
    ended(marvin, &server)
}

fn one(name: &str, args: &Value, answer: Answer) -> String {
    printed(name, args, vec![answer]).0
}

fn here() -> Value {
    json!({"latitude": 1.5, "longitude": 2.5})
}

fn trip() -> Value {
    json!({"origin_lat": 1.0, "origin_lng": 2.0, "dest_lat": 1.1, "dest_lng": 2.1})
}

#[test]
fn steps_that_say_nothing_are_not_turns() {
    let step = |kind: &str| json!({"maneuver": {"type": kind}, "name": "Elm Row", "distance": 5, "duration": 1});
    let steps = json!([step("depart"), {}, null, 5, {"name": "x"}, step("arrive")]);
    let body = json!({"code": "Ok", "routes": [{"distance": 10, "duration": 2, "legs": [{"steps": steps}]}]});
    let text = one("get_directions", &trip(), Answer::json(&body));
    text.assert_has(&["1. Start on Elm Row", "\n2. Arrive"]);
    text.assert_lacks(&["Turn"]);
}

fn places(args: &Value, google: Answer) -> String {
    let found = json!([{"lat": "1", "lon": "2", "display_name": "The Hind, Town"}]);
    let server = Server::answering(move |request, _| match request.path.as_str() {
        path if path.starts_with("/v1/places") => google.clone(),
        _ => Answer::json(&found),
    });
    let (home, url) = (Home::new(), server.url(""));
    let marvin = tool(&home, &ALL, &url, "places_text_search", args);
    ended(marvin.env("GOOGLE_PLACES_API_KEY", "a-key"), &server).0
}

#[test]
fn a_search_without_a_centre_needs_no_radius_and_nobody_rates_with_nothing() {
    let zeros = json!({"text_query": "pub", "latitude": 0, "longitude": 0, "radius": 0});
    let row = json!({"displayName": {"text": "The Hind"}, "rating": 0, "userRatingCount": 0});
    let text = places(&zeros, Answer::json(&json!({"places": [row]})));
    text.assert_has(&["1. The Hind"]);
    text.assert_lacks(&["of 5"]);
    let centre = json!({"text_query": "pub", "latitude": 1, "longitude": 0, "radius": 0});
    places(&centre, Answer::json(&json!({}))).assert_has(&["radius cannot be 0"]);
}

#[test]
fn the_device_is_believed_where_it_is_most_exact_and_nowhere_at_nothing() {
    let server = Server::always(Answer::json(
        &json!({"status": "success", "lat": 1, "lon": 2, "country": "Land"}),
    ));
    let fix = |lat: &str, metres: &str| {
        format!(
            "echo 'New location:'; echo 'Latitude: {lat}°'; echo 'Longitude: 0.0°'; echo 'Accuracy: {metres} meters'; "
        )
    };
    let ask = |expected: &str| {
        let home = Home::new();
        crate::location::script(&home, "where-am-i", expected);
        let marvin = tool(
            &home,
            &["ip-api"],
            &server.url(""),
            "get_my_location",
            &json!({}),
        );
        let output = marvin.env("PATH", home.path().join("bin")).run().expect(0);
        output.text().to_owned()
    };
    ask(&(fix("48.3", "30.0") + &fix("48.9", "50000.0")))
        .assert_has(&["Latitude: 48.3\n", "about 30 m"]);
    ask(&fix("0.0", "0.0")).assert_has(&["Latitude: 1\n", "Source: ip"]);
}

#[test]
fn no_more_is_shown_than_was_asked_for() {
    let row = |at: u8| json!({"lat": "1", "lon": at, "display_name": format!("The Hind {at}")});
    let found = Answer::json(&json!([row(1), row(2)]));
    let text = one(
        "osm_search",
        &json!({"query": "hind", "max_results": 1}),
        found,
    );
    text.assert_has(&["Hind 1"]);
    text.assert_lacks(&["Hind 2"]);
    let row = |name: &str| json!({"displayName": {"text": name}});
    let found = Answer::json(&json!({"places": [row("A pub"), row("B pub")]}));
    let text = places(&json!({"text_query": "pub", "max_results": 1}), found);
    text.assert_has(&["1 place for", "1. A pub"]);
    text.assert_lacks(&["B pub"]);
}

#[test]
fn what_cannot_be_read_is_asked_for_again() {
    let right = |path: &str| match path {
        path if path.starts_with("/route") => {
            json!({"code": "Ok", "routes": [{"distance": 5, "duration": 5}]})
        }
        path if path.starts_with("/search") => {
            json!([{"lat": 1, "lon": 2, "display_name": "The Hind"}])
        }
        _ => json!({"current": {"weather_code": 3}}),
    };
    side_by_side(
        [
            ("osm_search", json!({"query": "hind"})),
            ("estimate_travel_time", trip()),
            ("weather_forecast", here()),
        ],
        |(name, args)| {
            let server = Server::answering(move |request, n| match n {
                0 => Answer::json(&json!({"status": "starting"})),
                _ => Answer::json(&right(&request.path)),
            });
            let (home, url) = (Home::new(), server.url(""));
            let env = Env::from([
                ("HOME", home.path().to_str().unwrap()),
                ("MARVIN_CONFIG_DIR", home.config().to_str().unwrap()),
                ("MARVIN_URL_NOMINATIM", &url),
                ("MARVIN_URL_OSRM_CAR", &url),
                ("MARVIN_URL_OPEN_METEO", &url),
            ]);
            let session = Arc::new(SessionContext::new(env, ToolPolicy::default()));
            let ctx = ToolContext::new(session, Cancel::new(), Arc::new(NullSink));
            let call = ToolCall::new("1", name, args.to_string());
            let ask = || tools::run_one(&ctx, &call).output;
            assert!(ask().failed, "{name}");
            for _ in 0..2 {
                let output = ask();
                assert!(!output.failed, "{name}: {}", output.text);
            }
            assert_eq!(server.requests().len(), 2, "{name}");
        },
    );
}
