//! `weather_forecast` through the real binary: made-up answers, refusals, retries and invalid bodies.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples;
use crate::support::server::{Answer, Server};

fn forecast(server: &Server, args: &Value) -> Done {
    let home = Home::new();
    samples::tool(
        &home,
        &["open-meteo"],
        &server.url(""),
        "weather_forecast",
        args,
    )
    .run()
}

fn at_home(server: &Server) -> Done {
    forecast(server, &json!({"latitude": 0, "longitude": 0}))
}

fn own() -> Value {
    json!({
        "latitude": 0.0, "longitude": 0.0, "timezone": "Etc/GMT",
        "current_units": {"temperature_2m": "°C", "wind_speed_10m": "km/h"},
        "current": {"time": "2027-05-06T07:00", "temperature_2m": 26.5, "weather_code": 80, "wind_speed_10m": 11.0, "wind_direction_10m": 90},
        "daily_units": {"temperature_2m_max": "°C", "temperature_2m_min": "°C", "precipitation_sum": "mm"},
        "daily": {"time": ["2027-05-06", "2027-05-07"], "weather_code": [80, 2], "temperature_2m_max": [28.0, 29.0],
            "temperature_2m_min": [24.0, 25.0], "precipitation_sum": [4.0, 1.0]},
    })
}

#[test]
fn refusals_are_told_under_any_status() {
    let refusal = |status: u16, reason: &str| {
        let body = json!({"reason": reason, "error": true});
        let server = Server::always(Answer::json(&body).with_status(status));
        let result = at_home(&server).expect(1);
        assert_eq!(server.requests().len(), 1, "{reason}");
        result.errors()
    };
    for (status, reason, expected) in [
        (
            429,
            "Minutely API request limit exceeded. Wait.",
            "minutely limit of requests is spent.\nTry again in a minute.",
        ),
        (
            429,
            "Hourly API request limit exceeded.",
            "hourly limit of requests is spent.\nTry again in the next hour.",
        ),
        (
            200,
            "Daily API request limit exceeded.",
            "daily limit of requests is spent.\nTry again tomorrow",
        ),
        (
            200,
            "no data there",
            "Open-Meteo refused the request: no data there.",
        ),
        (200, "", "Open-Meteo refused the request.\n"),
        (
            400,
            "out of range",
            "cannot use the request (400): out of range.",
        ),
        (429, "other", "(429): other."),
    ] {
        let output = refusal(status, reason);
        assert!(output.contains(expected), "{reason}: {output}");
    }
}

#[test]
fn a_sentence_asks_without_a_model() {
    for text in ["weather at 0 0", "Weather at 0, 0"] {
        let server = Server::always(Answer::json(&own()));
        let home = Home::new();
        home.marvin()
            .env("MARVIN_URL_OPEN_METEO", server.url(""))
            .args([
                "--non-interactive",
                "--provider",
                "offline",
                "--prompt",
                text,
            ])
            .prints(&["Light rain showers, 26.5 °C"]);
    }
}
