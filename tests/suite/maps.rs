//! Module `maps`: OpenStreetMap by name and by tags.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, unfenced};

const CREDIT: &str = "Data © OpenStreetMap contributors, ODbL 1.0";

fn osm(url: &str, query: &str) -> Done {
    let args = json!({"query": query});
    tool(
        &Home::new(),
        &["nominatim", "open-meteo-geocoding"],
        url,
        "osm_search",
        &args,
    )
    .run()
}

fn overpass(url: &str, query: &str) -> Done {
    let args = json!({"query": query});
    tool(&Home::new(), &["overpass"], url, "overpass_query", &args).run()
}

#[test]
fn a_name_lookup_follows_the_usage_policy() {
    let server = Server::always(Answer::json(&json!([
        {"lat": "0", "lon": "-0.5", "display_name": "Dom, 4, Platz", "category": "amenity", "type": "place_of_worship",
         "osm_type": "way", "osm_id": 7, "importance": null},
        {"lat": 1.25, "lon": "2", "display_name": "Dom", "class": "place", "type": "house"},
    ])));
    let output = osm(&server.url(""), " Kölner\n Dom ").expect(0);
    assert_eq!(
        output.text(),
        format!(
            "1. Dom, 4, Platz\n   amenity=place_of_worship · 0, -0.5 · way 7\n2. Dom\n   place=house · 1.25, 2\n\n{CREDIT} (Nominatim).\n"
        )
    );
    let request = server.request(0);
    assert!(
        request
            .path
            .starts_with("/search?q=K%C3%B6lner%20Dom&format=jsonv2&limit=5&addressdetails=1"),
        "{}",
        request.path
    );
    assert!(
        request
            .header("user-agent")
            .unwrap()
            .ends_with("(+tests@example.org)")
    );
}

#[test]
fn without_a_contact_only_towns_are_looked_up() {
    let server = Server::answering(|request, _| {
        assert_eq!(
            request.path,
            "/v1/search?name=Brest&count=50&language=en&format=json"
        );
        Answer::json(&json!({"results": [
            {"name": "Brest", "latitude": 52.1, "longitude": 23.7, "country": "Belarus", "feature_code": "PPLA"},
            {"name": "Brest", "latitude": 48.39, "longitude": -4.49, "country": "France", "admin1": "Brittany", "country_code": "FR"},
        ]}))
    });
    let home = Home::new();
    let run = |query: &str| {
        home.tool("osm_search", &json!({"query": query}))
            .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""))
            .run()
    };
    let output = run("Brest, France").expect(0);
    output
        .stdout_starts_with(
            "Only towns were looked up, at Open-Meteo: The public server of Nominatim",
        )
        .stdout_has(&["MARVIN_CONTACT"]);
    assert!(output.text().ends_with("\n\n1. Brest, Brittany, France\n   place · 48.39, -4.49\n\nData from Open-Meteo and GeoNames, CC BY 4.0.\n"), "{}", output.text());
    run("Brest, Spain")
        .expect(0)
        .stdout_has(&["None of them is known to lie in \"Spain\".\n\n1. Brest, Belarus\n"]);
    // There is no fallback for Overpass.
    home.tool("overpass_query", &json!({"query": "node(1);out;"}))
        .fails(&["MARVIN_CONTACT"]);
}

#[test]
fn an_invalid_search_is_refused_without_a_request() {
    let nobody = Server::start();
    for query in [String::new(), " \n\t ".to_owned(), "x".repeat(110_000)] {
        for run in [osm, overpass] {
            let output = run(&nobody.url(""), &query);
            assert_eq!(output.code(), Some(1), "{}", output.text());
        }
    }
    for query in ["[out:csv(name)];node(1);out;", "node({{bbox}});out;"] {
        overpass(&nobody.url(""), query)
            .expect(1)
            .errors()
            .assert_has(&["The "]);
    }
}

#[test]
fn names_in_every_script_go_there_and_back() {
    for name in [
        "北京",
        "Москва",
        "القاهرة",
        "ไทย",
        "São Tomé",
        "🦀",
        "a\u{202e}b",
    ] {
        let own = name.to_owned();
        let server = Server::always(Answer::json(
            &json!([{"lat": "1", "lon": "2", "display_name": own, "type": "city", "category": "place"}]),
        ));
        let output = osm(&server.url(""), name).expect(0);
        let shown = name.replace('\u{202e}', "\\u{202e}");
        output.stdout_starts_with(&format!("1. {shown}\n   place=city · 1, 2\n"));
    }
}

#[test]
fn a_query_gets_its_settings_and_its_elements_are_shown() {
    let server = Server::answering(|_, _| {
        let many: Vec<Value> = (0..30)
            .map(|n| json!({"type": "node", "id": n, "lat": 0, "lon": n}))
            .collect();
        let mut elements = vec![
            json!({"type": "way", "id": 5, "center": {"lat": 1.5, "lon": 2}, "tags": {"name": "Mill", "building": "yes", "height": "7"}}),
            json!({"type": "relation", "id": 6, "tags": {}}),
        ];
        elements.extend(many);
        Answer::json(
            &json!({"elements": elements, "remark": "runtime remark: a little slow",
            "osm3s": {"timestamp_osm_base": "2026-05-04T00:00:00Z"}}),
        )
    });
    let output = overpass(&server.url(""), "nwr[building](1,2,3,4);out center;").expect(0);
    let text = output.text();
    let text = unfenced(text);
    assert!(text.starts_with("The first 20 of 32 elements:\n\n1. Mill · way 5 · 1.5, 2\n   building=yes; height=7\n2. relation 6\n3. node 0 · 0, 0\n"), "{text}");
    assert!(text.ends_with(&format!("20. node 17 · 0, 17\n\nThe server remarks: runtime remark: a little slow\n\n{CREDIT} (Overpass, as of 2026-05-04T00:00:00Z).\n")), "{text}");
    let request = server.request(0);
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/api/interpreter")
    );
    assert_eq!(
        request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert_eq!(
        request.text(),
        "data=%5Bout%3Ajson%5D%5Btimeout%3A25%5D%3Bnwr%5Bbuilding%5D%281%2C2%2C3%2C4%29%3Bout%20center%3B"
    );
}
