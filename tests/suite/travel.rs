//! The travel tools through the real binary: made-up routes, refusals, and the rule of thumb for traffic.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::words::TextAssertions;

const ROADS: [&str; 3] = ["osrm-car", "osrm-foot", "osrm-bike"];

fn ask(server: &Server, name: &str, args: &Value) -> Done {
    ask_at(&server.url(""), name, args)
}

fn ask_at(url: &str, name: &str, args: &Value) -> Done {
    let home = Home::new();
    let services = [ROADS.as_slice(), &["open-meteo"]].concat();
    samples::tool(&home, &services, url, name, args).run()
}

fn trip(more: &Value) -> Value {
    let mut args = json!({"origin_lat": 0, "origin_lng": 0, "dest_lat": 0.5, "dest_lng": 1});
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

fn step(kind: &str, more: &Value) -> Value {
    let mut step = json!({"name": "", "mode": "driving", "distance": 1_200.0, "duration": 60.0, "maneuver": {"type": kind, "modifier": "left"}});
    for (key, value) in more.as_object().unwrap() {
        step[key] = value.clone();
    }
    step
}

/// A way with one stop, an hour less 24 seconds long.
fn way() -> Value {
    json!({
        "code": "Ok",
        "routes": [{"distance": 80_460.0, "duration": 3_576.0, "legs": [
            {"steps": [
                step("depart", &json!({"name": "Palm Road", "maneuver": {"type": "depart", "bearing_after": 44}})),
                step("turn", &json!({"ref": "N 1"})),
                step("turn", &json!({"distance": 0, "name": "Nowhere"})),
                step("fork", &json!({"destinations": "Port"})),
                step("arrive", &json!({"distance": 0, "duration": 0})),
            ]},
            {"steps": [
                step("depart", &json!({"name": "Reef Lane", "distance": 0, "duration": 0})),
                step("end of road", &json!({"distance": 90.4, "duration": 8.1})),
                step("arrive", &json!({"distance": 0, "duration": 0})),
            ]},
        ]}],
        "waypoints": [
            {"name": "Palm Road", "distance": 3.0, "location": [0, 0]},
            {"name": "", "distance": 1_001.0, "location": [0.5, 0.2]},
            {"name": "Reef Lane", "distance": 0, "location": [1, 0.5]},
        ],
    })
}

#[test]
fn directions_are_numbered_and_end_once() {
    let server = Server::always(Answer::json(&way()));
    let output = ask(
        &server,
        "get_directions",
        &trip(&json!({"waypoints": " 0.2,0.5 ;"})),
    )
    .expect(0);
    assert_eq!(
        output.text(),
        "\
Mode      driving
Distance  80.5 km (50 mi)
Duration  1 h 0 min, without traffic
From      0, 0 (Palm Road)
To        0.5, 1 (Reef Lane)
Via 1     0.2, 0.5
Note: Waypoint 1 is 1 km from the nearest road; the way to it is not counted.

1. Head northeast on Palm Road (1.2 km, 1 min)
2. Turn left onto N 1 (1.2 km, 1 min)
3. Keep left at the fork towards Port (1.2 km, 1 min)
4. Reach waypoint 1, on the left
5. Start on Reef Lane
6. At the end of the road turn left onto an unnamed road (90 m, 8 s)
7. Arrive at the destination, on the left

Route by OSRM; map data by OpenStreetMap contributors (ODbL)
"
    );
    assert_eq!(
        server.request(0).path,
        "/route/v1/driving/0,0;0.5,0.2;1,0.5?overview=false&steps=true&alternatives=false&annotations=false&generate_hints=false"
    );
}

#[test]
fn each_mode_has_a_server_of_its_own() {
    for (mode, own) in [("driving", 0), ("foot", 1), ("walking", 1), ("cycling", 2)] {
        let servers = ROADS.map(|_| {
            Server::always(Answer::json(
                &json!({"code": "Ok", "routes": [{"distance": 1, "duration": 1}]}),
            ))
            .lenient()
        });
        let home = Home::new();
        let args = trip(&json!({"mode": mode}));
        let mut marvin = samples::tool(&home, &[], "", "estimate_travel_time", &args);
        for (id, server) in ROADS.iter().zip(&servers) {
            // A base keeps its path.
            let name = format!("MARVIN_URL_{}", id.to_uppercase().replace('-', "_"));
            marvin = marvin.env(&name, server.url("/routed-x/"));
        }
        let output = marvin.run().expect(0);
        let shown = if mode == "walking" { "foot" } else { mode };
        output.stdout_starts_with(&format!("Mode      {shown}\n"));
        for (index, server) in servers.iter().enumerate() {
            assert_eq!(
                server.requests().len(),
                usize::from(index == own),
                "{mode} {index}"
            );
        }
        assert!(
            servers[own]
                .request(0)
                .path
                .starts_with("/routed-x/route/v1/driving/0,0;1,0.5?")
        );
    }
}

#[test]
fn times_are_labelled_with_their_actual_mode() {
    let server = Server::always(Answer::json(&way()));
    for name in [
        "estimate_travel_time",
        "get_directions",
        "estimate_traffic_adjusted_time",
    ] {
        ask(&server, name, &trip(&json!({"mode": "foot"}))).expect(0).stdout_starts_with("Mode      driving\n").stdout_has(&["Note: This is the way by car, not on foot: that is what the server has data for. MARVIN_URL_OSRM_FOOT can name another."]);
    }
    ask(
        &server,
        "estimate_travel_time",
        &trip(&json!({"mode": "balloon"})),
    )
    .expect(0)
    .stdout_has(&["Note: There is no mode \"balloon\""]);
}

#[test]
fn a_mode_without_a_base_is_refused() {
    ask_at(
        "none",
        "estimate_travel_time",
        &trip(&json!({"mode": "cycling"})),
    )
    .expect(1).stderr_has(&["There is no routing server for the mode cycling: MARVIN_URL_OSRM_BIKE is \"none\", which is not a valid address.\nSet MARVIN_URL_OSRM_BIKE to"]);
}

#[test]
fn miles_come_first_for_who_prefers_them() {
    let server = Server::always(Answer::json(&way()));
    let home = Home::new();
    home.write(
        "config/profiles/main/preferences.yaml",
        "distance_unit: mi\n",
    );
    samples::tool(
        &home,
        &ROADS,
        &server.url(""),
        "get_directions",
        &trip(&json!({})),
    )
    .prints(&["Distance  50 mi (80.5 km)", "(300 ft, 8 s)"]);
}

/// A car's way of ten minutes, and weather that depends on the place.
fn town(middle: Answer, end: Answer) -> Server {
    let once = |answer: Answer| {
        let answer = std::sync::Mutex::new(Some(answer));
        move |_: &crate::support::server::Request, _: usize| answer.lock().unwrap().take().unwrap()
    };
    let route = json!({"code": "Ok", "routes": [{"distance": 10_000, "duration": 600, "legs": []}], "waypoints": []});
    Server::with([
        Exchange::any()
            .below("/route/v1/driving/")
            .by(move |_, _| Answer::json(&route)),
        Exchange::any()
            .below("/v1/forecast?latitude=0.25&longitude=0.5&")
            .by(once(middle)),
        Exchange::any()
            .below("/v1/forecast?latitude=0.5&longitude=1&")
            .by(once(end)),
    ])
    .lenient()
}

fn sky(time: &str) -> Value {
    json!({"timezone": "Africa/Lagos", "utc_offset_seconds": 3600,
        "current": {"time": time, "temperature_2m": 21.5, "precipitation": 1.25, "weather_code": 63, "wind_speed_10m": 61}})
}

#[test]
fn the_rule_of_thumb_shows_all_it_is_made_of() {
    let server = town(
        Answer::json(&sky("2027-05-06T03:00")),
        Answer::json(&sky("2027-05-06T08:45")),
    );
    let output = ask(&server, "estimate_traffic_adjusted_time", &trip(&json!({}))).expect(0);
    assert_eq!(
        output.text(),
        "\
Mode      driving
Distance  10 km (6.2 mi)
Free      10 min, without traffic
From      0, 0
To        0.5, 1
Clock     Thu 08:45 at the destination (Africa/Lagos)
          × 1.5 for the hour: morning rush hour (07-09)
Weather   rain, 21.5 °C, precipitation 1.2 mm, wind 61 km/h, in the middle of the way
          × 1.3 for the weather: rain, wind over 60 km/h (+0.1)
Estimate  20 min (1.5 × 1.3 = × 1.95)
This is a rule of thumb, not measured traffic: it knows no weekends, road works or jams. Check it against what you know of the way.
Route by OSRM; map data by OpenStreetMap contributors (ODbL); weather data by Open-Meteo.com (CC BY 4.0)
"
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn without_weather_or_clock_the_estimate_says_so() {
    let home = Home::new();
    let limit = json!({"error": true, "reason": "Daily API request limit exceeded."});
    let server = town(
        Answer::json(&limit).with_status(429),
        Answer::json(&limit).with_status(429),
    );
    let services = [ROADS.as_slice(), &["open-meteo"]].concat();
    let output = samples::tool(
        &home,
        &services,
        &server.url(""),
        "estimate_traffic_adjusted_time",
        &trip(&json!({})),
    )
    .env("MARVIN_NOW", "2027-05-06T18:30:00+02:00[Europe/Paris]")
    .run()
    .expect(0);
    output.text().assert_has(&[
        "Clock     Thu 16:30 UTC: the local time at the destination is not available\n          × 1.6 for the hour",
        "Weather   not available (Open-Meteo's daily limit of requests is spent)\n          × 1 for the weather: weather unknown\n",
        "Estimate  16 min (1.6 × 1 = × 1.6)",
    ]);
    output.stdout_lacks(&["weather data by"]);

    // The clock may still be known by the offset from UTC.
    let mut offset = sky("never");
    offset["timezone"] = Value::Null;
    let server = town(Answer::json(&limit), Answer::json(&offset));
    samples::tool(
        &home,
        &services,
        &server.url(""),
        "estimate_traffic_adjusted_time",
        &trip(&json!({})),
    )
    .env("MARVIN_NOW", "2027-05-06T18:30:00+02:00[Europe/Paris]")
    .prints(&["Clock     Thu 17:30 at the destination\n"]);
}

#[test]
fn a_stalled_weather_service_is_not_awaited() {
    let server = town(Answer::silence(), Answer::json(&sky("2027-05-06T14:00")));
    let started = Instant::now();
    let output = ask(&server, "estimate_traffic_adjusted_time", &trip(&json!({}))).expect(0);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    output.stdout_has(&[
        "Weather   not available (Open-Meteo did not answer in time)",
        "Estimate  10 min (1 × 1 = × 1)",
    ]);
}

#[test]
fn feet_and_bicycles_know_no_traffic() {
    let mut walk = way();
    for step in walk["routes"][0]["legs"][0]["steps"]
        .as_array_mut()
        .unwrap()
    {
        step["mode"] = json!("walking");
    }
    walk["routes"][0]["legs"][1] = json!({});
    let server = Server::always(Answer::json(&walk));
    ask(
        &server,
        "estimate_traffic_adjusted_time",
        &trip(&json!({"mode": "walking"})),
    )
    .expect(0)
    .stdout_has(&[
        "Estimate  1 h 0 min: the factors for traffic and weather are for driving only.",
    ]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn refusals_and_wrong_input_say_what_to_do() {
    let busy = Server::always(Answer::text("text/html", "<html>").with_status(503));
    ask(&busy, "estimate_travel_time", &trip(&json!({})))
        .expect(1)
        .stderr_has(&["OSRM, the routing server, is busy (503).\nTry again in a minute"]);
    let none = Server::start();
    for (more, expected) in [
        (json!({"origin_lat": 139.7, "origin_lng": 35.7}), "swapped"),
        (
            json!({"waypoints": "Köln; Bonn"}),
            "Waypoint 1, \"Köln\", is not a pair of coordinates",
        ),
        (json!({"waypoints": "1,2;95,200"}), "is not a place"),
        (
            json!({"waypoints": "1,2;".repeat(30_000)}),
            "Ask for less at once",
        ),
        (
            json!({"origin_lat": "north"}),
            "origin_lat: wanted a number",
        ),
    ] {
        let output = ask(&none, "get_directions", &trip(&more)).expect(1);
        output.errors().assert_has(&[expected]);
    }
}

#[test]
fn a_way_across_a_continent_is_shown_at_both_ends() {
    let steps: Vec<Value> = (0..500)
        .map(|at| step("turn", &json!({"name": format!("Road {at}")})))
        .collect();
    let long = json!({"code": "Ok", "routes": [{"distance": 1e6, "duration": 1e5, "legs": [{"steps": steps}]}]});
    let server = Server::always(Answer::json(&long));
    ask(&server, "get_directions", &trip(&json!({}))).expect(0).stdout_has(&["150. Turn left onto Road 149 (1.2 km, 1 min)\n     … 300 steps are left out; ask for a part of the way to see them.\n451. ", "Duration  27 h 47 min"]);
}
