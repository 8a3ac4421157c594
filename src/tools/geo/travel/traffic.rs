//! A rule of thumb for traffic: factors for the time of day at the destination and the weather on the way.

use crate::formats::distance::DistanceUnit;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::civil::DateTime;
use serde_json::Value;

use super::{Mode, RoutedTrip, SOURCE};
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, trim_decimals};
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;
use crate::tools::geo::weather::codes;
use crate::tools::geo::weather::service::{self, ForecastQuery};
use crate::tools::output::measures::duration;

/// Weather variables for the midpoint, and the local time at the destination.
const CURRENT: &str = "temperature_2m,precipitation,weather_code,wind_speed_10m,visibility";
/// Timeout of each of the two weather requests; the estimate does without them if necessary.
const WEATHER_TIMEOUT: Duration = Duration::from_millis(4_500);
/// Stronger wind slows down traffic, in km/h.
const STORM: f64 = 60.0;
/// Visibility below this is poor, in metres.
const POOR_SIGHT: f64 = 1_000.0;

/// A multiplier and the reason for it.
#[derive(Debug, Clone, PartialEq)]
struct Factor {
    value: f64,
    reason: String,
}

/// The free-flow time, every factor with its reason, and the result.
pub(super) fn text(ctx: &ToolContext, found: &RoutedTrip) -> Outcome<String> {
    let free = found.route.duration;
    let mut lines = found.head();
    lines.push(format!("Free      {}, without traffic", duration(free)));
    lines.extend(found.ends());
    if found.mode != Mode::Driving {
        lines.extend(found.notes.iter().cloned());
        lines.push(format!(
            "Estimate  {}: the factors for traffic and weather are for driving only.",
            duration(free)
        ));
        lines.push(SOURCE.to_owned());
        return Ok(lines.join("\n"));
    }
    let [start, end] = ends(found)?;
    let weather = now_at(ctx, start.halfway(end))?;
    let there = now_at(ctx, end)?;
    let (moment, hour) = moment(ctx, &there);
    let (conditions, sky) = match &weather {
        Ok(value) => (conditions(value), weather_factor(value)),
        Err(cause) => (
            format!("not available ({})", cause.what.trim_end_matches('.')),
            Factor {
                value: 1.0,
                reason: "weather unknown".to_owned(),
            },
        ),
    };
    let total = hour.value * sky.value;
    lines.push(format!("Clock     {moment}"));
    lines.push(format!(
        "          × {} for the hour: {}",
        times(hour.value),
        hour.reason
    ));
    lines.push(format!("Weather   {conditions}"));
    lines.push(format!(
        "          × {} for the weather: {}",
        times(sky.value),
        sky.reason
    ));
    lines.push(format!(
        "Estimate  {} ({} × {} = × {})",
        duration(free * total),
        times(hour.value),
        times(sky.value),
        times(total)
    ));
    lines.extend(found.notes.iter().cloned());
    lines.push(
        "This is a rule of thumb, not measured traffic: it knows no weekends, road works or jams. Check it against what you know of the way."
            .to_owned(),
    );
    lines.push(match weather.is_ok() || there.is_ok() {
        true => format!("{SOURCE}; weather data by Open-Meteo.com (CC BY 4.0)"),
        false => SOURCE.to_owned(),
    });
    Ok(lines.join("\n"))
}

fn ends(found: &RoutedTrip) -> Outcome<[Coordinates; 2]> {
    match found.trip.points.as_slice() {
        [start, .., end] => Ok([*start, *end]),
        _ => Err(Problem::internal("A trip without two ends.")),
    }
}

/// Weather and local time at a place. The inner error is not fatal.
fn now_at(ctx: &ToolContext, point: Coordinates) -> Outcome<Outcome<Value>> {
    let question = ForecastQuery {
        point,
        units: DistanceUnit::Km,
        current: CURRENT,
        daily: None,
    };
    let answer = with_timeout(ctx, WEATHER_TIMEOUT, |ctx| service::ask(ctx, question));
    ctx.stop.check()?;
    Ok(answer.map_err(|error| match error.is_cancelled() {
        true => Problem::network("Open-Meteo did not answer in time."),
        false => error,
    }))
}

/// Runs `work` and cancels it after `time`.
fn with_timeout<T>(
    ctx: &ToolContext,
    time: Duration,
    work: impl FnOnce(&ToolContext) -> Outcome<T>,
) -> Outcome<T> {
    let (stop, _fires_with_the_call) = ctx.stop.child();
    let inner = ToolContext {
        stop: stop.clone(),
        ..ctx.clone()
    };
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if over.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.fire();
            }
        });
        let outcome = work(&inner);
        drop(done);
        outcome
    })
}

/// The local time at the destination, and the factor for its hour; UTC if the zone is unknown.
fn moment(ctx: &ToolContext, there: &Outcome<Value>) -> (String, Factor) {
    let local_time = there.as_ref().ok().and_then(|value| {
        let zone = value
            .text("timezone")
            .map(|zone| clip(&escape_controls(zone), 40));
        let zone = zone.map_or_else(String::new, |zone| format!(" ({zone})"));
        let local = value
            .text("current/time")
            .and_then(|time| time.parse::<DateTime>().ok());
        let shifted = || {
            let seconds = value
                .whole("utc_offset_seconds")
                .filter(|seconds| seconds.abs() <= 86_400)?;
            let now = ctx.session.clock.now().timestamp();
            let there = now
                .checked_add(jiff::SignedDuration::from_secs(seconds))
                .ok()?;
            Some(there.to_zoned(jiff::tz::TimeZone::UTC).datetime())
        };
        Some((local.or_else(shifted)?, zone))
    });
    match local_time {
        Some((time, zone)) => (
            format!("{} at the destination{zone}", time.strftime("%a %H:%M")),
            hour_factor(time.hour()),
        ),
        None => {
            let now = ctx
                .session
                .clock
                .now()
                .with_time_zone(jiff::tz::TimeZone::UTC);
            (
                format!(
                    "{} UTC: the local time at the destination is not available",
                    now.strftime("%a %H:%M")
                ),
                hour_factor(now.hour()),
            )
        }
    }
}

fn hour_factor(hour: i8) -> Factor {
    let (value, cause) = match hour {
        7..=9 => (1.5, "morning rush hour (07-09)"),
        11..=13 => (1.2, "midday (11-13)"),
        16..=18 => (1.6, "evening rush hour (16-18)"),
        19..=21 => (1.15, "evening (19-21)"),
        22.. | ..=5 => (0.9, "night (22-05)"),
        _ => (1.0, "between the busy hours"),
    };
    Factor {
        value,
        reason: cause.to_owned(),
    }
}

/// The factor for precipitation, poor visibility and wind.
fn weather_factor(value: &Value) -> Factor {
    let code = value.whole("current/weather_code");
    let (mut factor, cause) = match code {
        Some(71 | 73 | 75 | 77 | 85 | 86) => (1.5, "snow"),
        Some(65 | 67 | 82 | 95 | 96 | 99) => (1.35, "heavy rain"),
        Some(61 | 63 | 66 | 80 | 81) => (1.2, "rain"),
        Some(51 | 53 | 55 | 56 | 57) => (1.1, "drizzle"),
        Some(_) => (1.0, ""),
        None => (1.0, "weather unknown"),
    };
    let mut reasons: Vec<&str> = Some(cause)
        .filter(|cause| !cause.is_empty())
        .into_iter()
        .collect();
    let fog = matches!(code, Some(45 | 48));
    if fog || sight(value).is_some_and(|metres| metres < POOR_SIGHT) {
        factor = f64::max(factor, 1.3);
        reasons.push(if fog { "fog" } else { "poor sight" });
    }
    if wind(value).is_some_and(|speed| speed > STORM) {
        factor += 0.1;
        reasons.push("wind over 60 km/h (+0.1)");
    }
    Factor {
        value: factor,
        reason: match reasons.is_empty() {
            true => "nothing that slows down".to_owned(),
            false => reasons.join(", "),
        },
    }
}

/// Wind in km/h, whatever unit the response uses.
fn wind(value: &Value) -> Option<f64> {
    let speed = value.number("current/wind_speed_10m")?;
    let factor = match value.text("current_units/wind_speed_10m") {
        Some("m/s" | "ms") => 3.6,
        Some("mp/h" | "mph") => 1.609_344,
        Some("kn" | "knots") => 1.852,
        _ => 1.0,
    };
    Some(speed * factor)
}

/// Visibility in metres.
fn sight(value: &Value) -> Option<f64> {
    let sight = value.number("current/visibility")?;
    let feet = value.text("current_units/visibility") == Some("ft");
    Some(if feet { sight * 0.3048 } else { sight })
}

/// The weather that the factor is based on.
fn conditions(value: &Value) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(value.whole("current/weather_code").map(codes::words));
    let shown = |key: &str, usual: &str| {
        let number = value
            .number(&format!("current/{key}"))
            .filter(|number| number.abs() < 1e5)?;
        let unit = value.text(&format!("current_units/{key}")).unwrap_or(usual);
        Some(format!(
            "{} {}",
            trim_decimals(number, 1),
            clip(&escape_controls(unit), 8)
        ))
    };
    words.extend(shown("temperature_2m", "°C"));
    words.extend(shown("precipitation", "mm").map(|fell| format!("precipitation {fell}")));
    words.extend(shown("wind_speed_10m", "km/h").map(|speed| format!("wind {speed}")));
    words.extend(
        sight(value)
            .filter(|metres| *metres < POOR_SIGHT * 5.0)
            .map(|metres| format!("sight {} m", trim_decimals(metres, 0))),
    );
    match words.is_empty() {
        true => "nothing is known about it in the middle of the way".to_owned(),
        false => format!("{}, in the middle of the way", words.join(", ")),
    }
}

fn times(factor: f64) -> String {
    trim_decimals(factor, 2)
}

#[cfg(test)]
mod tests;
