//! Factors for times of day and weather, and the midpoint of a route.

use serde_json::json;

use super::*;

fn sky(value: Value) -> (f64, String) {
    let factor = weather_factor(&value);
    ((factor.value * 100.0).round() / 100.0, factor.reason)
}

#[test]
fn every_hour_has_its_factor() {
    let all: Vec<f64> = (0..24).map(|hour| hour_factor(hour).value).collect();
    assert_eq!(
        all,
        [
            0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 1.0, 1.5, 1.5, 1.5, 1.0, 1.2, 1.2, 1.2, 1.0, 1.0, 1.6,
            1.6, 1.6, 1.15, 1.15, 1.15, 0.9, 0.9
        ]
    );
}

#[test]
fn the_sky_sight_and_wind_make_one_factor() {
    for (code, wanted) in [
        (0, 1.0),
        (3, 1.0),
        (45, 1.3),
        (48, 1.3),
        (51, 1.1),
        (57, 1.1),
        (61, 1.2),
        (65, 1.35),
        (66, 1.2),
        (67, 1.35),
        (71, 1.5),
        (77, 1.5),
        (81, 1.2),
        (82, 1.35),
        (86, 1.5),
        (95, 1.35),
        (99, 1.35),
        (4, 1.0),
    ] {
        assert_eq!(
            sky(json!({"current": {"weather_code": code}})).0,
            wanted,
            "{code}"
        );
    }
    let with = |code: u8, sight: f64, wind: f64| {
        sky(json!({"current": {"weather_code": code, "visibility": sight, "wind_speed_10m": wind}}))
    };
    assert_eq!(with(61, 999.0, 60.0), (1.3, "rain, poor sight".into()));
    assert_eq!(
        with(75, 500.0, 60.1),
        (1.6, "snow, poor sight, wind over 60 km/h (+0.1)".into())
    );
    assert_eq!(
        with(0, 1_000.0, 0.0),
        (1.0, "nothing that slows down".into())
    );
    let other = json!({"current_units": {"wind_speed_10m": "m/s", "visibility": "ft"}, "current": {"weather_code": 0, "wind_speed_10m": 17, "visibility": 3_000}});
    assert_eq!(sky(other).0, 1.4);
    assert_eq!(sky(json!({"current": {}})), (1.0, "weather unknown".into()));
}

#[test]
fn the_middle_is_on_the_shorter_side_of_the_earth() {
    let point = |lat, lon| Coordinates { lat, lon };
    assert_eq!(point(0.0, 10.0).halfway(point(0.0, 20.0)), point(0.0, 15.0));
    assert_eq!(
        point(0.0, 179.0).halfway(point(0.0, -179.0)).lon.abs(),
        180.0
    );
    assert_eq!(point(0.0, 0.0).halfway(point(0.0, 180.0)), point(0.0, 0.0));
    assert_eq!(
        point(52.0, 13.0).halfway(point(52.0, 13.0)),
        point(52.0, 13.0)
    );
}
