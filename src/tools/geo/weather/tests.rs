//! The page of a forecast, and pages for broken responses.

use crate::formats::distance::DistanceUnit;
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::base::testing::assert_has;
use crate::tools::test_mutate::spoiled;

/// A made-up answer in the service's format.
fn answer() -> Value {
    json!({
        "latitude": 10.25, "longitude": 20.5, "utc_offset_seconds": 3600, "timezone": "Africa/Ndjamena", "elevation": 301.0,
        "current_units": {"time": "iso8601", "temperature_2m": "°C", "relative_humidity_2m": "%", "apparent_temperature": "°C",
            "precipitation": "mm", "weather_code": "wmo code", "wind_speed_10m": "km/h", "wind_direction_10m": "°"},
        "current": {"time": "2027-02-03T18:45", "interval": 900, "temperature_2m": 31.04, "relative_humidity_2m": 12,
            "apparent_temperature": -0.0, "precipitation": -0.0, "weather_code": 95, "wind_speed_10m": 7.0, "wind_direction_10m": 350},
        "daily_units": {"temperature_2m_max": "°C", "temperature_2m_min": "°C", "precipitation_sum": "mm",
            "precipitation_probability_max": "%", "wind_speed_10m_max": "km/h"},
        "daily": {"time": ["2027-02-03", "2027-02-04", "2027-02-05"], "weather_code": [99, null, 4],
            "temperature_2m_max": [33.5, 8.0, null], "temperature_2m_min": [-0.04, -8.0, null],
            "sunrise": ["2027-02-03T06:31", "1970-01-01T00:00", null], "sunset": ["2027-02-03T18:09", "1970-01-01T00:00", "2027-02-05T18:10"],
            "precipitation_sum": [12.5, -0.0, 0.1], "precipitation_probability_max": [100, 0], "wind_speed_10m_max": [120.0, null, 9.94]},
    })
}

fn shown(value: &Value, days: usize, units: DistanceUnit) -> String {
    let days = table::days(value, days);
    let point = Coordinates {
        lat: 10.2,
        lon: 20.5,
    };
    [
        now::now(value, point, units),
        table::table(value, &days, units),
        chart::chart(value, &days, units),
        now::source(value, point, units),
    ]
    .join("\n\n")
}

#[test]
fn the_whole_is_a_page_that_a_person_reads() {
    let wanted = "\
Weather at 10.2, 20.5 (Africa/Ndjamena, Wed 3 Feb 2027, 18:45)
Now  Thunderstorm, 31 °C, feels like 0 °C
     Wind 7 km/h from the north, humidity 12 %, precipitation 0 mm

Day         Weather                High   Low  Precip  Risk   Wind  Sun    Sun
                                     °C    °C      mm     %   km/h  up     down
Wed  3 Feb  thunderstorm, heavy …  33.5   0.0    12.5   100  120.0  06:31  18:09
Thu  4 Feb  -                       8.0  -8.0       0     0      -  -      -
Fri  5 Feb  code 4                    -     -     0.1     -    9.9  -      18:10

            -8.0 °C                        33.5 °C  Precip up to 12.5 mm
Wed  3 Feb  │       █████████████████████████████│  ████████████████████████
Thu  4 Feb  │██████████████                      │
Fri  5 Feb  │                                    │  ▎

Values of the grid cell at 10.25, 20.5 (301 m high), 5.6 km away.
Weather data by Open-Meteo.com (CC BY 4.0)";
    let text = shown(&answer(), 3, DistanceUnit::Km);
    assert_eq!(text, wanted, "\n{text}");
}

#[test]
fn units_are_those_of_the_answer_and_else_those_that_were_asked_for() {
    let mut value = answer();
    value["current_units"]["wind_speed_10m"] = json!("mp/h");
    value["daily_units"]["precipitation_sum"] = json!("inch");
    value["daily"]["precipitation_sum"] = json!([0.131, 0, 0]);
    value["current_units"]["temperature_2m"] = Value::Null;
    let text = shown(&value, 2, DistanceUnit::Mi);
    for part in [
        "Wind 7 mph",
        " in  ",
        "0.13",
        "31 °F",
        "up to 0.13 in",
        "(988 ft high), 3.5 mi away",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}

#[test]
fn one_day_has_no_chart_and_none_is_told() {
    let text = shown(&answer(), 1, DistanceUnit::Km);
    assert!(!text.contains('█') && text.contains("Wed  3 Feb"), "{text}");
    let text = shown(
        &json!({"current": {"weather_code": 45}}),
        3,
        DistanceUnit::Km,
    );
    assert_has(&text, &["Now  Fog\n", "No days were given."]);
    let text = shown(
        &json!({"daily": {"time": ["2027-02-03"], "weather_code": [45]}}),
        3,
        DistanceUnit::Km,
    );
    assert_has(&text, &["Nothing is known about the weather now."]);
    assert!(text.contains("Wed  3 Feb  fog"), "{text}");
}

#[test]
fn a_week_of_one_temperature_and_no_rain_is_a_chart_too() {
    let value = json!({"daily": {"time": ["2027-02-03", "2027-02-04"], "temperature_2m_max": [0, 0], "temperature_2m_min": [0, 0],
        "precipitation_sum": [0, 0]}});
    let text = shown(&value, 7, DistanceUnit::Km);
    assert_has(&text, &["0.0 °C", "No precip"]);
    assert!(text.contains(&format!("│{}│", "█".repeat(36))), "{text}");
}

proptest! {
    #[test]
    fn odd_answers_are_shown_within_eighty_columns(value in spoiled(answer()), days in 0usize..9, miles: bool) {
        let units = if miles { DistanceUnit::Mi } else { DistanceUnit::Km };
        let text = shown(&value, days, units);
        for line in text.lines().filter(|line| !line.starts_with("Weather at")) {
            prop_assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        for odd in ["NaN", "inf ", "null"] {
            prop_assert!(!text.contains(odd), "{odd}: {text}");
        }
    }
}
