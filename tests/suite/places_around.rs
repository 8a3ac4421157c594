//! Searches for places: Google with a key or a token, otherwise OpenStreetMap, and which of them answered.

use serde_json::{Value, json};

use super::location::{gcloud, script};
use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::samples::tool;
use crate::support::server::{Answer, Request, Server};
use crate::support::wait::side_by_side;
use crate::support::words::TextAssertions;

const KEY: &str = "places-key-0123456789";
const CREDIT: &str = "Data © OpenStreetMap contributors, ODbL 1.0 (";
const SERVICES: [&str; 4] = [
    "google-places",
    "nominatim",
    "overpass",
    "open-meteo-geocoding",
];

/// A search with an empty search path, so that no program of this machine is run.
fn search(home: &Home, url: &str, name: &str, args: &Value) -> Marvin {
    tool(home, &SERVICES, url, name, args).env("PATH", home.path().join("bin"))
}

fn with_key(url: &str, name: &str, args: &Value) -> Done {
    let home = Home::new();
    search(&home, url, name, args)
        .env("GOOGLE_PLACES_API_KEY", KEY)
        .run()
}

fn text(query: &str) -> Value {
    json!({"text_query": query, "latitude": 48.39, "longitude": -4.49})
}

fn around() -> Value {
    json!({"latitude": 0, "longitude": 10.5, "included_types": ["restaurant", "cafe"], "rank_by": "distance"})
}

/// The services, by their paths; Google as given, the others with one place each.
fn answer(request: &Request, google: &Answer) -> Answer {
    match request.path.as_str() {
        path if path.starts_with("/v1/places:") => google.clone(),
        "/api/interpreter" => Answer::json(&json!({"elements": [
            {"type": "node", "id": 1, "lat": 0.02, "lon": 10.5, "tags": {"amenity": "cafe"}},
            {"type": "way", "id": 2, "center": {"lat": 0, "lon": 10.501}, "tags": {"amenity": "restaurant", "name": "Far",
                "cuisine": "thai;fish_and_chips", "addr:street": "Kai", "addr:housenumber": "3", "phone": "+1", "website": "https://far.test",
                "opening_hours": "24/7"}},
            {"type": "node", "id": 3, "lat": 0, "lon": 10.5001, "tags": {"amenity": "cafe", "name": "Near"}},
            {"type": "node", "id": 1, "lat": 0.02, "lon": 10.5, "tags": {"amenity": "cafe"}},
        ]})),
        path if path.starts_with("/search?") => Answer::json(&json!([
            {"lat": "48.39", "lon": "-4.48", "name": "Rade", "display_name": "Rade, 12, Rue X, Brest", "category": "amenity", "type": "cafe",
             "osm_type": "node", "osm_id": 9, "extratags": {"cuisine": "coffee_shop", "phone": "+33", "opening_hours": "Mo-Su 08:00-20:00"}},
        ])),
        path => panic!("{path}"),
    }
}

fn served(google: Answer) -> Server {
    Server::answering(move |request, _| answer(request, &google))
}

#[test]
fn google_is_asked_with_its_key_in_a_header_and_a_mask() {
    let server = served(Answer::json(
        &json!({"places": [{"displayName": {"text": "A"}, "rating": 4, "userRatingCount": 12000,
        "formattedAddress": "1 Rue X", "types": ["cafe", "point_of_interest"], "location": {"latitude": 48.39, "longitude": -4.4901}}]}),
    ));
    let mut args = text("coffee");
    args["open_now"] = true.into();
    let output = with_key(&server.url(""), "places_text_search", &args).expect(0);
    assert_eq!(
        output.text(),
        "1 place for \"coffee\", from Google Places:\n1. A\n   4 of 5 (12,000 reviews)\n   cafe\n   1 Rue X\n   48.39, -4.4901 · 7 m away\n   \
         https://www.google.com/maps/search/?api=1&query=48.39,-4.4901\n"
    );
    let request = server.request(0);
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/v1/places:searchText")
    );
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("x-goog-fieldmask"),
        Some(
            "places.displayName,places.formattedAddress,places.rating,places.userRatingCount,places.location,places.types"
        )
    );
    assert_eq!(
        request.json(),
        json!({"textQuery": "coffee", "pageSize": 5, "openNow": true,
            "locationBias": {"circle": {"center": {"latitude": 48.39, "longitude": -4.49}, "radius": 5000.0}}})
    );
    // Zero and zero is unset; one zero alone is a place.
    let bare = json!({"text_query": "coffee", "latitude": 0, "longitude": 0});
    with_key(&server.url(""), "places_text_search", &bare).expect(0);
    assert_eq!(
        server.request(1).json(),
        json!({"textQuery": "coffee", "pageSize": 5})
    );
    let equator = json!({"text_query": "coffee", "latitude": 0, "longitude": 9});
    with_key(&server.url(""), "places_text_search", &equator).expect(0);
    assert_eq!(
        server.request(2).json()["locationBias"]["circle"]["center"],
        json!({"latitude": 0.0, "longitude": 9.0})
    );

    with_key(&server.url(""), "places_nearby_search", &around()).expect(0);
    assert_eq!(server.request(3).path, "/v1/places:searchNearby");
    assert_eq!(
        server.request(3).json(),
        json!({"includedTypes": ["restaurant", "cafe"], "maxResultCount": 5, "rankPreference": "DISTANCE",
            "locationRestriction": {"circle": {"center": {"latitude": 0.0, "longitude": 10.5}, "radius": 5000.0}}})
    );
}

#[test]
fn whatever_google_refuses_openstreetmap_answers_and_the_reason_is_kept() {
    let error = |code: u16, status: &str, reason: &str| {
        Answer::json(&json!({"error": {"code": code, "message": "Not now.", "status": status, "details": [{"reason": reason}]}})).with_status(code)
    };
    side_by_side(
        [
            (
                error(400, "INVALID_ARGUMENT", "API_KEY_INVALID"),
                "Google Places refused: Not now (API_KEY_INVALID). Check GOOGLE_PLACES_API_KEY; without a key, setup_google_auth",
            ),
            (
                error(403, "PERMISSION_DENIED", "SERVICE_DISABLED"),
                "Google Places refused: Not now (SERVICE_DISABLED). setup_google_auth",
            ),
            (
                error(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED").header("Retry-After", "0"),
                "Google Places refused: Not now (RATE_LIMIT_EXCEEDED). The quota",
            ),
            (
                error(401, "UNAUTHENTICATED", "X"),
                "Google Places refused: Not now (X).",
            ),
            (error(500, "INTERNAL", ""), "Google Places refused: Not now"),
            (
                Answer::text("text/html", "<html>Sorry</html>").with_status(502),
                "Google Places failed (502)",
            ),
            (
                Answer::text("text/html", "<!doctype html><html>Hello</html>"),
                "Google Places answered with a web page",
            ),
            (
                Answer::text("application/json", "[".repeat(10_000)),
                "cannot be read",
            ),
            (Answer::status(200).reset(), "Google Places"),
            (Answer::json(&json!({})), "No results at Google Places."),
        ],
        |(google, reason)| {
            let server = served(google);
            for (name, args, place) in [
                ("places_text_search", text("x"), "1. Rade\n"),
                ("places_nearby_search", around(), "1. Near\n"),
            ] {
                let result = with_key(&server.url(""), name, &args).expect(0);
                let output = result.text();
                output.assert_has(&[reason, place, "from OpenStreetMap:", CREDIT]);
                assert!(!(output.to_owned() + &result.errors()).contains(KEY));
                assert_eq!(
                    output.lines().next().map(|line| line.contains("Google")),
                    Some(true),
                    "{output}"
                );
            }
            assert_eq!(server.requests().len(), 4, "no second try");
        },
    );
}

#[test]
fn without_a_key_openstreetmap_is_asked_and_nothing_is_said_about_it() {
    let server = served(Answer::status(500));
    let home = Home::new();
    let output = search(
        &home,
        &server.url(""),
        "places_text_search",
        &text("coffee"),
    )
    .run()
    .expect(0);
    assert_eq!(
        output.text(),
        format!(
            "1 place for \"coffee\", from OpenStreetMap:\n1. Rade\n   amenity=cafe · coffee shop\n   12, Rue X, Brest\n   +33\n   Hours: Mo-Su 08:00-20:00\n   \
            48.39, -4.48 · 738 m away\n   https://www.openstreetmap.org/node/9\n\n{CREDIT}Nominatim).\n"
        )
    );
    server
        .request(0)
        .path
        .assert_has(&["&viewbox=-4.557", "&bounded=1"]);

    home.write(
        "config/profiles/main/preferences.yaml",
        "distance_unit: mi\n",
    );
    let output = search(&home, &server.url(""), "places_nearby_search", &around())
        .run()
        .expect(0);
    assert_eq!(
        output.text(),
        format!(
            "3 places (restaurant, cafe) within 3.1 mi of 0, 10.5, from OpenStreetMap:\n1. Near\n   amenity=cafe\n   0, 10.5001 · 36 ft away\n   \
            https://www.openstreetmap.org/node/3\n2. Far\n   amenity=restaurant · thai, fish and chips\n   Kai 3\n   +1 · https://far.test\n   Hours: 24/7\n   \
            0, 10.501 · 360 ft away\n   https://www.openstreetmap.org/way/2\n3. Unnamed cafe\n   amenity=cafe\n   0.02, 10.5 · 1.4 mi away\n   \
            https://www.openstreetmap.org/node/1\n\n{CREDIT}Overpass).\n"
        )
    );
    server.request(1).text().assert_has(&[
        "nwr%5B%22amenity%22~%22%5E%28restaurant%7Ccafe%29%24%22%5D%28around%3A5000%2C0%2C10.5%29",
        "out%20center",
    ]);
    // Popularity: what has a name comes first.
    let mut args = around();
    args["rank_by"] = "POPULARITY".into();
    args["max_results"] = 2.into();
    search(&home, &server.url(""), "places_nearby_search", &args)
        .run()
        .expect(0).stdout_starts_with("OpenStreetMap knows no popularity: places with a name come first, the nearest of them before the others.\n2 places");
}

#[test]
fn a_search_that_finds_nothing_nearby_looks_everywhere() {
    let server = Server::answering(|request, _| match request.path.contains("bounded") {
        true => Answer::json(&json!([])),
        false => Answer::json(&json!([{"lat": "1", "lon": "2", "display_name": "Elsewhere"}])),
    });
    let home = Home::new();
    search(&home, &server.url(""), "places_text_search", &text("x")).prints(&["1. Elsewhere\n"]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_token_of_gcloud_stands_in_for_the_key() {
    let home = Home::new();
    let old = home.path().join("old");
    // The first token has expired; the second call returns a new one.
    gcloud(
        &home,
        &format!(
            "\"auth application-default print-access-token\") exit 1;;\n\
            \"auth print-access-token\") if [ -e '{0}' ]; then echo tok-new-2222222222; else : > '{0}'; echo tok-old-1111111111; fi;;\n\
            \"config get-value project\") echo my-project;;",
            old.display()
        ),
    );
    let server = Server::answering(|request, _| {
        match request.header("authorization") {
        Some("Bearer tok-new-2222222222") => Answer::json(&json!({"places": [{"displayName": {"text": "A"}}]})),
        Some(_) => Answer::json(&json!({"error": {"code": 401, "message": "tok-old-1111111111 is old", "status": "UNAUTHENTICATED"}})).with_status(401),
        None => Answer::json(&json!([])),
    }
    });
    let output = search(&home, &server.url(""), "places_text_search", &text("x"))
        .run()
        .expect(0);
    assert_eq!(
        output.text(),
        "1 place for \"x\", from Google Places:\n1. A\n"
    );
    let last = server.request(1);
    assert_eq!(last.header("x-goog-user-project"), Some("my-project"));
    assert_eq!(last.header("x-goog-api-key"), None);

    // A token that is refused again is fetched only once more, and is not shown.
    let home = Home::new();
    gcloud(
        &home,
        "\"auth application-default print-access-token\") echo tok-old-1111111111;;\n\"config get-value project\") echo '(unset)' >&2; exit 1;;",
    );
    search(&home, &server.url(""), "places_text_search", &text("x"))
        .prints(&["Google Places refused", "setup_google_auth"])
        .stdout_lacks(&["tok-old"]);
    assert_eq!(
        home.read("gcloud.log")
            .matches("print-access-token")
            .count(),
        2
    );
    assert_eq!(server.request(2).header("x-goog-user-project"), None);

    // A gcloud that prints nothing or nonsense is skipped silently.
    side_by_side(
        [
            "",
            "*print-access-token\\ *) ;;",
            "*print-access-token) printf 'a b\\nc\\n';;",
        ],
        |cases| {
            let home = Home::new();
            gcloud(&home, cases);
            search(&home, &server.url(""), "places_text_search", &text("x"))
                .run()
                .expect(0)
                .stdout_starts_with("No results for \"x\" in OpenStreetMap.\n");
        },
    );
}

#[test]
fn when_both_fail_both_are_told() {
    let server = Server::answering(|request, _| match request.path.starts_with("/v1/") {
        true => Answer::json(
            &json!({"error": {"code": 403, "message": "Off.", "status": "PERMISSION_DENIED"}}),
        )
        .with_status(403),
        false => Answer::status(500),
    });
    with_key(&server.url(""), "places_text_search", &text("x"))
        .expect(1)
        .stderr_has(&[
            "Google Places refused: Off (PERMISSION_DENIED).",
            "failed (500)",
        ]);
    // Without a contact only towns are looked up when Google is unavailable.
    let home = Home::new();
    script(&home, "nothing", "");
    let run = |name: &str, args: &Value| {
        home.marvin()
            .env("PATH", home.path().join("bin"))
            .env("MARVIN_URL_GOOGLE_PLACES", server.url(""))
            .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""))
            .env("GOOGLE_PLACES_API_KEY", KEY)
            .args(["tool", name, "--json", &args.to_string()])
            .run()
            .expect(1)
            .errors()
    };
    run("places_nearby_search", &around())
        .assert_has(&["Google Places refused: Off", "MARVIN_CONTACT"]);
}

#[test]
fn an_invalid_search_is_refused_without_a_request() {
    let nobody = Server::start();
    for (name, args) in [
        ("places_text_search", json!({"text_query": "  "})),
        (
            "places_text_search",
            json!({"text_query": "x".repeat(110_000)}),
        ),
        (
            "places_text_search",
            json!({"text_query": "x", "latitude": 91, "longitude": 1}),
        ),
        (
            "places_text_search",
            json!({"text_query": "x", "radius": -1}),
        ),
        (
            "places_nearby_search",
            json!({"latitude": 0, "longitude": 181, "included_types": ["bar"]}),
        ),
        (
            "places_nearby_search",
            json!({"latitude": 0, "longitude": 0, "included_types": []}),
        ),
        (
            "places_nearby_search",
            json!({"latitude": 0, "longitude": 0, "included_types": [" "]}),
        ),
        (
            "places_nearby_search",
            json!({"latitude": 0, "longitude": 0, "included_types": ["bar"], "radius": 0}),
        ),
        (
            "places_nearby_search",
            json!({"latitude": 0, "longitude": 0, "included_types": ["x".repeat(200)]}),
        ),
        (
            "places_nearby_search",
            json!({"longitude": 0, "included_types": ["bar"]}),
        ),
    ] {
        let output = with_key(&nobody.url(""), name, &args);
        assert_eq!(output.code(), Some(1), "{args}: {}", output.text());
    }
    assert!(nobody.requests().is_empty());
}
