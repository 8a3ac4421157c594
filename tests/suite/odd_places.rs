//! Unusual answers of the services for places, routing and weather through the real binary: retries, refusals without a next step, empty rows, and
//! results in the wrong place.

use std::sync::Arc;

use marvin::testing::tools::{self, SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink, ToolCall};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
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

fn page(expected: &str) -> Answer {
    Answer::text(
        "text/html",
        format!("<html><body><p><strong>Error</strong>: {expected} </p></body></html>"),
    )
}

fn here() -> Value {
    json!({"latitude": 1.5, "longitude": 2.5})
}

fn trip() -> Value {
    json!({"origin_lat": 1.0, "origin_lng": 2.0, "dest_lat": 1.1, "dest_lng": 2.1})
}

#[test]
fn a_failing_weather_service_is_asked_twice_at_most_and_a_limit_once() {
    let ask = |answers| printed("weather_forecast", &here(), answers);
    let at_once = || Answer::status(503).header("Retry-After", "0");
    for answers in [
        vec![at_once(), Answer::status(503)],
        vec![Answer::status(502), at_once()],
        vec![at_once()],
    ] {
        let (text, count) = ask(answers);
        assert_eq!(count, 2, "{text}");
        text.assert_has(&["Error: Open-Meteo failed (50"]);
    }
    let (text, count) = ask(vec![Answer::status(429)]);
    assert_eq!(count, 1, "{text}");
}

#[test]
fn failed_weather_requests_name_the_next_step() {
    let ask = |answer| one("weather_forecast", &here(), answer);
    for empty in [
        json!({"current": {}, "daily": {"time": []}}),
        json!({"current": [], "daily": {"time": ["2027-02-03"], "weather_code": [null], "temperature_2m_max": [null]}}),
    ] {
        ask(Answer::json(&empty)).assert_has(&["Error: Open-Meteo gave no weather for 1.5, 2.5."]);
    }
    let text = ask(Answer::json(
        &json!({"current": {"weather_code": 3}, "daily": {"time": ["2027-02-03", "2027-02-04"], "sunrise": [null, null]}}),
    ));
    text.assert_has(&["Now  Overcast", "No days were given."]);
    text.assert_lacks(&["Wed"]);
    for refusal in [
        Answer::json(&json!({"error": true})).with_status(400),
        Answer::text("text/html", "<html>no").with_status(400),
        Answer::json(&json!({"error": true, "reason": "Nothing for this place"})).with_status(404),
    ] {
        ask(refusal).assert_has(&["Check the coordinates"]);
    }
    ask(Answer::json(
        &json!({"daily": {"time": ["2027-02-03"], "weather_code": [45]}}),
    ))
    .assert_has(&["\nDay         Weather\nWed  3 Feb  fog\n"]);
    ask(Answer::status(302)).assert_has(&["points to another address (302).\nTry again"]);
}

#[test]
fn a_place_without_its_usual_words_is_shown_by_those_it_has() {
    let ask = |row: Value| {
        one(
            "osm_search",
            &json!({"query": "hind"}),
            Answer::json(&json!([row])),
        )
    };
    let named =
        json!({"lat": "1", "lon": "2", "name": "The Hind", "category": "amenity", "type": "pub"});
    ask(named).assert_has(&["1. The Hind\n   amenity=pub · 1, 2\n"]);
    let bare =
        json!({"lat": "1", "lon": "2", "osm_type": "way", "osm_id": 7, "display_name": null});
    ask(bare).assert_has(&["1. Unnamed place (way 7)\n"]);
}

#[test]
fn refusals_of_nominatim_keep_its_words_and_say_what_to_do() {
    let ask = |answer| one("osm_search", &json!({"query": "hind"}), answer);
    let fault = |status, text: &str| {
        Answer::json(&json!({"error": {"code": status, "message": text}})).with_status(status)
    };
    ask(fault(403, "who are you")).assert_has(&["(403): who are you.", "MARVIN_CONTACT"]);
    let later = fault(429, "slow down").header("Retry-After", "900");
    ask(later).assert_has(&["(429): slow down", "Try again in 15 minutes"]);
    for answer in [
        fault(400, "odd limit"),
        Answer::status(418),
        Answer::json(&json!({"error": "cannot"})),
    ] {
        ask(answer).assert_has(&["Say it in other words, or try again later."]);
    }
}

/// `osm_search` without a contact, so that only towns are looked up.
fn town(query: &str, answer: Answer) -> (String, usize) {
    let server = Server::answering(move |_, _| answer.clone());
    let home = Home::new();
    let marvin = home
        .marvin()
        .args(["tool", "osm_search", &format!("query={query}")])
        .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""));
    ended(marvin, &server)
}

#[test]
fn towns_that_were_found_elsewhere_are_not_none() {
    let rows = json!({"results": [
        {"name": "Salem", "latitude": 44.9, "longitude": -123.0, "country": "United States", "country_code": "US", "admin1": "Oregon"},
        {"name": "Salem", "latitude": 11.7, "longitude": 78.1, "country": "India", "country_code": "IN", "admin1": "Tamil Nadu"},
    ]});
    let (text, _) = town("Salem, USA", Answer::json(&rows));
    text.assert_has(&["\n\n1. Salem, Oregon, United States\n"]);
    text.assert_lacks(&["India", "None of"]);
    let (text, _) = town("Salem, TN, India", Answer::json(&rows));
    text.assert_has(&[
        "None of them is known to lie in \"TN, India\".\n\n1. Salem, Tamil Nadu, India\n",
        "2. Salem, Oregon",
    ]);
}

#[test]
fn towns_that_cannot_be_read_are_not_none_and_limits_are_obeyed() {
    for odd in [
        json!({"results": {"a": 1}}),
        json!({"results": [{"name": null}, {"latitude": 1}]}),
    ] {
        let (text, _) = town("Salem", Answer::json(&odd));
        text.assert_has(&["cannot be read"]);
    }
    let spent = json!({"error": true, "reason": "Minutely API request limit exceeded."});
    let (text, count) = town("Salem", Answer::json(&spent).with_status(429));
    assert_eq!(count, 1, "{text}");
    text.assert_has(&["Minutely API request limit exceeded."]);
    let (text, count) = town(", ,", Answer::json(&json!({})));
    assert_eq!(count, 0, "{text}");
    text.assert_has(&["The name to look up is empty."]);
}

#[test]
fn overpass_is_neither_empty_nor_the_askers_fault_when_it_fails() {
    let ask = |answer| one("overpass_query", &json!({"query": "node(1);out;"}), answer);
    ask(Answer::json(&json!({"elements": [null, 5, {"id": 3}]}))).assert_has(&["cannot be read"]);
    ask(page("runtime error: The dispatcher is turned off."))
        .assert_has(&["Overpass is too busy: runtime", "Ask again later"]);
    let full = json!({"elements": [], "remark": "runtime error: Query run out of memory."});
    let full = ask(Answer::json(&full));
    full.assert_has(&["smaller area or fewer kinds."]);
    full.assert_lacks(&["timeout"]);
    let quota = ask(Answer::status(429).header("Retry-After", "120"));
    quota.assert_has(&["Too many requests to Overpass (429).", "again in 120 s"]);
    quota.assert_lacks(&["a minute"]);
    for status in [403, 406] {
        ask(Answer::status(status)).assert_has(&["MARVIN_URL_OVERPASS"]);
    }
    let moved = Answer::status(301).header("Location", "https://example.org/");
    ask(moved).assert_has(&["points to another address (301)."]);
    let count = json!({"elements": [{"type": "count", "id": 0, "tags": {"total": "4"}}]});
    ask(Answer::json(&count)).assert_has(&["1. count\n   total=4\n---"]);
}

#[test]
fn a_busy_router_is_busy_whatever_code_it_gives() {
    for (status, code) in [(429, "TooManyRequests"), (500, "InternalError")] {
        let body = json!({"code": code, "message": "Slow down."});
        let answer = Answer::json(&body).with_status(status);
        one("estimate_travel_time", &trip(), answer)
            .assert_has(&["is busy (", "): Slow down.\nTry again in a minute"]);
    }
    let later = Answer::status(429).header("Retry-After", "7200");
    one("estimate_travel_time", &trip(), later).assert_has(&["again in 2 hours."]);
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
fn what_helps_against_googles_refusal_is_what_would_help() {
    let refused = |status: u16, code: &str, reason: &str| {
        let body = json!({"error": {"code": status, "message": "No.", "status": code, "details": [{"reason": reason}]}});
        let answer = Answer::json(&body).with_status(status);
        places(&json!({"text_query": "pub"}), answer)
    };
    let text = refused(403, "PERMISSION_DENIED", "API_KEY_IP_ADDRESS_BLOCKED");
    text.assert_has(&["The key's restrictions forbid it", "The Hind"]);
    text.assert_lacks(&["setup_google_auth"]);
    refused(403, "PERMISSION_DENIED", "API_KEY_SERVICE_BLOCKED")
        .assert_has(&["setup_google_auth enables"]);
    refused(401, "UNAUTHENTICATED", "CREDENTIALS_MISSING")
        .assert_has(&["Check GOOGLE_PLACES_API_KEY when it is set"]);
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
    for (name, args) in [
        ("osm_search", json!({"query": "hind"})),
        ("estimate_travel_time", trip()),
        ("weather_forecast", here()),
    ] {
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
    }
}
