//! The text above and below the table: place and time, current weather, source.

use serde_json::Value;

use super::codes;
use super::table::{WIDE, amount, fitted, sound, unit};
use crate::base::json::JsonExt;
use crate::base::text::{capitalize, clip, escape_controls, trim_decimals};
use crate::formats::distance::DistanceUnit;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::measures::compass;

/// The distance to the grid cell is shown from here on, in metres.
const NEAR: f64 = 100.0;

/// Shown if the response has no current weather.
pub(super) const NOTHING: &str = "Nothing is known about the weather now.";

/// Place and time, and the current weather.
pub(super) fn now(value: &Value, point: Coordinates, units: DistanceUnit) -> String {
    let mut place = Vec::new();
    place.extend(
        value
            .text("timezone")
            .map(|zone| clip(&escape_controls(zone), 40)),
    );
    place.extend(value.text("current/time").and_then(moment));
    let place = match place.is_empty() {
        true => String::new(),
        false => format!(" ({})", place.join(", ")),
    };
    let mut text = format!("Weather at {point}{place}");
    let shown = |key: &str| {
        let number = sound(value, &format!("current/{key}"))?;
        Some(amount(number, &unit(value, "current", key, units)))
    };
    let code = value.whole("current/weather_code");
    let mut air: Vec<String> = Vec::new();
    air.extend(code.map(codes::words));
    air.extend(shown("temperature_2m"));
    air.extend(shown("apparent_temperature").map(|felt| format!("feels like {felt}")));
    let mut more: Vec<String> = Vec::new();
    more.extend(shown("wind_speed_10m").map(|speed| {
        let from = sound(value, "current/wind_direction_10m");
        let from = from.map(|degrees| format!(" from the {}", compass(degrees)));
        format!("wind {speed}{}", from.unwrap_or_default())
    }));
    more.extend(shown("relative_humidity_2m").map(|share| format!("humidity {share}")));
    more.extend(shown("precipitation").map(|fell| format!("precipitation {fell}")));
    let lines: Vec<String> = [air, more]
        .into_iter()
        .filter(|words| !words.is_empty())
        .map(|words| fitted(&capitalize(&words.join(", ")), WIDE - 5))
        .collect();
    match lines.is_empty() {
        true => {
            text.push('\n');
            text.push_str(NOTHING);
        }
        false => {
            for (index, line) in lines.iter().enumerate() {
                text.push_str(if index == 0 { "\nNow  " } else { "\n     " });
                text.push_str(line);
            }
        }
    }
    text
}

/// Formats `2026-05-04T12:15` as `Mon 4 May 2026, 12:15`.
fn moment(text: &str) -> Option<String> {
    let time: jiff::civil::DateTime = text.parse().ok()?;
    Some(time.strftime("%a %-d %b %Y, %H:%M").to_string())
}

/// The source of the values, and the position they are for.
pub(super) fn source(value: &Value, point: Coordinates, units: DistanceUnit) -> String {
    let cell = value
        .number("latitude")
        .zip(value.number("longitude"))
        .and_then(|(lat, lon)| Coordinates::found(lat, lon))
        .filter(|cell| cell.metres_to(point) >= NEAR);
    let mut words = String::new();
    if let Some(cell) = cell {
        let height = sound(value, "elevation")
            .map(|metres| match units {
                DistanceUnit::Km => format!(" ({} m high)", trim_decimals(metres, 0)),
                DistanceUnit::Mi => format!(" ({} ft high)", trim_decimals(metres / 0.3048, 0)),
            })
            .unwrap_or_default();
        let away = units.say(cell.metres_to(point));
        words = format!(
            "Values of the grid cell at {}, {}{height}, {away} away.\n",
            trim_decimals(cell.lat, 4),
            trim_decimals(cell.lon, 4)
        );
    }
    words.push_str("Weather data by Open-Meteo.com (CC BY 4.0)");
    words
}
