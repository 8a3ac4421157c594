//! Module `maps`: OpenStreetMap by name and by tags.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples::{Sample, each, samples, tool};
use crate::support::server::{Answer, Server};
use crate::support::words::unfenced;

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

/// The result of a server that always answers like this: the output, and whether it was a success.
fn of(
    run: fn(&str, &str) -> Done,
    answer: impl Fn() -> Answer + Send + Sync + 'static,
) -> (bool, String) {
    let server = Server::answering(move |_, _| answer());
    let done = run(&server.url(""), "x");
    (
        done.code() == Some(0),
        done.text().to_owned() + &done.errors(),
    )
}

/// A page as Overpass reports mistakes.
fn page(words: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<html><head><title>OSM3S</title></head><body>\n<p>Data under a licence.</p>\n<p><strong style=\"x\">Error</strong>: {words} </p>\n</body></html>"
    )
}

#[test]
fn a_name_is_looked_up_with_what_the_policy_asks_for() {
    let server = Server::answering(|_, _| {
        Answer::json(&json!([
            {"lat": "0", "lon": "-0.5", "display_name": "Dom, 4, Platz", "category": "amenity", "type": "place_of_worship",
             "osm_type": "way", "osm_id": 7, "importance": null},
            {"lat": 1.25, "lon": "2", "display_name": "Dom", "class": "place", "type": "house"},
        ]))
    });
    let done = osm(&server.url(""), " Kölner\n Dom ").expect(0);
    assert_eq!(
        done.text(),
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
        home.marvin()
            .args([
                "tool",
                "osm_search",
                "--json",
                &json!({"query": query}).to_string(),
            ])
            .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""))
            .run()
    };
    let done = run("Brest, France").expect(0);
    assert!(
        done.text().starts_with(
            "Only towns were looked up, at Open-Meteo: The public server of Nominatim"
        ),
        "{}",
        done.text()
    );
    assert!(done.text().contains("MARVIN_CONTACT"), "{}", done.text());
    assert!(done.text().ends_with("\n\n1. Brest, Brittany, France\n   place · 48.39, -4.49\n\nData from Open-Meteo and GeoNames, CC BY 4.0.\n"), "{}", done.text());
    let elsewhere = run("Brest, Spain").expect(0);
    assert!(
        elsewhere
            .text()
            .contains("None of them is known to lie in \"Spain\".\n\n1. Brest, Belarus\n"),
        "{}",
        elsewhere.text()
    );
    // There is no fallback for Overpass.
    let done = home
        .marvin()
        .args([
            "tool",
            "overpass_query",
            "--json",
            r#"{"query": "node(1);out;"}"#,
        ])
        .run()
        .expect(1);
    assert!(
        done.errors().contains("MARVIN_CONTACT"),
        "{}",
        done.errors()
    );
}

#[test]
fn the_geocoding_samples_of_open_meteo_give_what_they_should() {
    let name = "the_geocoding_samples_of_open_meteo_give_what_they_should";
    let home = Home::new();
    let run = |sample: &Sample| {
        let server = sample.server();
        let marvin = home.marvin().args(["tool", "osm_search", "query=London"]);
        let done = marvin
            .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""))
            .run()
            .expect(0);
        done.text().to_owned()
    };
    for sample in samples(name, "open-meteo").unwrap_or_default() {
        match sample.name.as_str() {
            "geocoding-two-londons.json" => {
                let said = run(&sample);
                assert!(said.contains("\n1. London, England, United Kingdom\n   capital · 51.50853, -0.12574\n2. London, Ontario, Canada\n   place · 42.98339, -81.23304\n"), "{said}");
            }
            "geocoding-none.json" => assert!(run(&sample).contains("\nNo results for \"London\".")),
            _ => {}
        }
    }
    for fault in [
        Answer::json(&json!({"error": true, "reason": "Hourly API request limit exceeded."})),
        Answer::json(&json!({"reason": "Daily API request limit exceeded.", "error": true}))
            .with_status(429),
    ] {
        let server = Server::answering(move |_, _| fault.clone().header("Retry-After", "0"));
        let marvin = home.marvin().args(["tool", "osm_search", "query=London"]);
        let done = marvin
            .env("MARVIN_URL_OPEN_METEO_GEOCODING", server.url(""))
            .run()
            .expect(1);
        assert!(
            done.errors().contains("API request limit exceeded."),
            "{}",
            done.errors()
        );
    }
}

#[test]
fn the_samples_of_nominatim_give_what_they_should() {
    let run = |sample: &Sample| {
        let server = sample.server();
        let done = osm(&server.url(""), "somewhere");
        (
            done.code(),
            done.text().to_owned() + &done.errors(),
            server.requests().len(),
        )
    };
    each(
        "the_samples_of_nominatim_give_what_they_should",
        "nominatim",
        &[
            ("search-json-cologne.json", &|sample| {
                let (code, said, _) = run(sample);
                assert_eq!(code, Some(0));
                assert!(
                    said.starts_with("1. Cologne Cathedral, 4, Domkloster, Kunibertsviertel"),
                    "{said}"
                );
                assert!(
                    said.contains(
                        "\n   amenity=place_of_worship · 50.941344, 6.958121 · way 4532022\n"
                    ) && said.contains(CREDIT),
                    "{said}"
                );
            }),
            ("search-jsonv2-house.json", &|sample| {
                let (code, said, _) = run(sample);
                assert_eq!(code, Some(0));
                assert!(
                    said.contains("1. 150, Government Street")
                        && said
                            .contains("\n   place=house · 30.690117, -88.04119 · way 860818842\n"),
                    "{said}"
                );
            }),
            ("empty.json", &|sample| {
                assert_eq!(
                    run(sample),
                    (Some(0), "No results for \"somewhere\".\n".to_owned(), 1)
                );
            }),
            ("error-400.json", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(
                    code == Some(1)
                        && tries == 1
                        && said
                            .contains("cannot use the request (400): Structured query parameters"),
                    "{said}"
                );
            }),
            ("blocked-403.html", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(
                    code == Some(1)
                        && tries == 1
                        && said.contains("refused the request (403)")
                        && said.contains("Waiting does not help"),
                    "{said}"
                );
            }),
            ("blocked-bandwidth.html", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(
                    code == Some(1)
                        && tries == 1
                        && said.contains(
                            "has blocked this address for a while (509): Bandwidth limit exceeded"
                        )
                        && said.contains("Wait some minutes"),
                    "{said}"
                );
            }),
        ],
    );
}

#[test]
fn an_overloaded_nominatim_is_asked_once_more() {
    let server = Server::answering(|_, n| match n {
        0 => Answer::status(503).header("Retry-After", "0"),
        _ => Answer::json(&json!([])),
    });
    assert!(
        osm(&server.url(""), "x")
            .expect(0)
            .text()
            .contains("No results")
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_is_no_search_is_refused_before_anybody_is_asked() {
    let nobody = Server::start();
    for query in [String::new(), " \n\t ".to_owned(), "x".repeat(110_000)] {
        for run in [osm, overpass] {
            let done = run(&nobody.url(""), &query);
            assert_eq!(done.code(), Some(1), "{}", done.text());
        }
    }
    for query in ["[out:csv(name)];node(1);out;", "node({{bbox}});out;"] {
        assert!(
            overpass(&nobody.url(""), query)
                .expect(1)
                .errors()
                .contains("The ")
        );
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
        let server = Server::answering(move |_, _| {
            Answer::json(
                &json!([{"lat": "1", "lon": "2", "display_name": own, "type": "city", "category": "place"}]),
            )
        });
        let done = osm(&server.url(""), name).expect(0);
        let shown = name.replace('\u{202e}', "\\u{202e}");
        assert!(
            done.text()
                .starts_with(&format!("1. {shown}\n   place=city · 1, 2\n")),
            "{}",
            done.text()
        );
    }
}

#[test]
fn answers_that_are_none_are_never_no_results() {
    type Bad = (&'static str, fn() -> Answer);
    let bad: [Bad; 8] = [
        ("a web page", || {
            Answer::text("text/html", "<!DOCTYPE html><html><p>Welcome</p></html>")
        }),
        ("cannot be read", || {
            Answer::text("application/json", "[".repeat(10_000))
        }),
        ("cannot be read", || Answer::json(&json!({"odd": true}))),
        ("with nothing", || Answer::text("application/json", "")),
        ("more than 8 MB", || {
            Answer::text("application/json", vec![b' '; 9 << 20])
        }),
        ("500", || Answer::status(500).send("<html>oops</html>")),
        ("429", || Answer::status(429)),
        ("broke off", || {
            Answer::status(200).claim_length(100).send("[").close()
        }),
    ];
    for (words, answer) in bad {
        let (ok, said) = of(osm, answer);
        assert!(
            !ok && said.contains(words) && !said.contains("No results"),
            "{words}: {said}"
        );
    }
    let (ok, said) = of(osm, || Answer::json(&json!([{"display_name": "x"}, null])));
    assert!(!ok && said.contains("cannot be read"), "{said}");
    let (ok, said) = of(osm, || {
        Answer::text(
            "application/json; charset=iso-8859-1",
            br#"[{"lat":1,"lon":2,"display_name":"K"}]"#.to_vec(),
        )
    });
    assert!(ok && said.starts_with("1. K\n   1, 2\n"), "{said}");
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
    let done = overpass(&server.url(""), "nwr[building](1,2,3,4);out center;").expect(0);
    let text = done.text();
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

#[test]
fn the_samples_of_overpass_give_what_they_should() {
    // A busy server is tried a second time after some seconds, unless it says sooner.
    let run = |sample: &Sample| {
        let own = sample.clone();
        let server = Server::answering(move |_, _| own.answer().header("Retry-After", "0"));
        let done = overpass(&server.url(""), "node(1);out;");
        (
            done.code(),
            unfenced(done.text()) + &done.errors(),
            server.requests().len(),
        )
    };
    each(
        "the_samples_of_overpass_give_what_they_should",
        "overpass",
        &[
            ("nodes.json", &|sample| {
                let (_, said, _) = run(sample);
                assert_eq!(
                    said,
                    format!(
                        "3 elements:\n\n1. node 50878400 · 50.746179, 7.174226\n2. node 100793192 · 50.746847, 7.170938\n   highway=turning_circle\n\
                    3. node 3233854234 · 50.749424, 7.175766\n\n{CREDIT} (Overpass, as of 2014-12-14T12:58:02Z).\n"
                    )
                );
            }),
            ("way-center.json", &|sample| {
                let (_, said, _) = run(sample);
                assert!(said.starts_with("5 elements:\n") && said.contains("\n5. way 225576797 · 41.8955, 12.503227\n   building=kiosk; shop=florist\n"), "{said}");
            }),
            ("empty.json", &|sample| {
                let (code, said, _) = run(sample);
                assert!(
                    code == Some(0) && said.starts_with("No results.\n\nData ©"),
                    "{said}"
                );
            }),
            ("timeout-remark.json", &|sample| {
                let (code, said, _) = run(sample);
                assert!(code == Some(1) && said.contains("did not finish the query: Query timed out in \"query\" at line 4 after 2 seconds.") && !said.contains("No results"), "{said}");
            }),
            ("bad-request.html", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(code == Some(1) && tries == 1 && said.contains("Overpass cannot run the query: line 2: parse error: ';' expected - 'out' found."), "{said}");
            }),
            ("busy-504.html", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(
                    code == Some(1)
                        && tries == 2
                        && said.contains("Overpass is too busy (504)")
                        && said.contains("smaller area"),
                    "{said}"
                );
            }),
            ("ratelimited-429.html", &|sample| {
                let (code, said, tries) = run(sample);
                assert!(
                    code == Some(1)
                        && tries == 2
                        && said.contains("Too many requests to")
                        && said.contains("Wait a minute"),
                    "{said}"
                );
            }),
        ],
    );
}

#[test]
fn failures_of_overpass_are_told_in_its_own_words() {
    let (ok, said) = of(overpass, || {
        Answer::text(
            "text/html",
            page("line 1: static error: &quot;x&quot; &lt;y&gt;"),
        )
        .with_status(400)
    });
    assert!(
        !ok && said.contains("Overpass cannot run the query: line 1: static error: \"x\" <y>"),
        "{said}"
    );
    let (ok, said) = of(overpass, || {
        Answer::text("text/html", page("line 1: parse error: z"))
    });
    assert!(!ok && said.contains("line 1: parse error: z"), "{said}");
    let (ok, said) = of(overpass, || {
        Answer::text(
            "application/osm3s+xml",
            "<?xml version=\"1.0\"?><osm version=\"0.6\"></osm>",
        )
    });
    assert!(!ok && said.contains("answered in XML"), "{said}");
    for (words, answer) in [
        ("cannot be read", "[".repeat(10_000)),
        ("with nothing", String::new()),
        ("a web page", "<html><p>Hello</p></html>".to_owned()),
        ("Query ran out of memory", json!({"elements": [{"type": "node", "id": 1}], "remark": "runtime error: Query ran out of memory"}).to_string()),
    ] {
        let (ok, said) = of(overpass, move || Answer::text("application/json", answer.clone()));
        assert!(!ok && said.contains(words) && !said.contains("No results"), "{words}: {said}");
    }
}

#[test]
fn a_body_that_stalls_ends_with_the_call() {
    let server =
        Server::answering(|_, _| Answer::text("application/json", "[").chunked().stall()).lenient();
    let home = Home::new();
    let running = tool(
        &home,
        &["nominatim"],
        &server.url(""),
        "osm_search",
        &json!({"query": "x"}),
    )
    .spawn();
    server.wait_requests(1, Duration::from_secs(5));
    running.signal(rustix::process::Signal::INT);
    let done = running.wait();
    assert!(done.took() < Duration::from_secs(5), "{:?}", done.took());
    assert_ne!(done.code(), Some(0));
}
