//! Module `weather`: current weather and daily forecast.

mod chart;
pub(crate) mod codes;
mod now;
pub(crate) mod service;
mod table;

use super::point::Coordinates;
use crate::base::problem::{Outcome, Problem};
use crate::net::services::{OPEN_METEO, Service};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::distance::preferred_unit;
use service::ForecastQuery;

/// Variables of the current weather.
const CURRENT: &str = "temperature_2m,relative_humidity_2m,apparent_temperature,precipitation,weather_code,wind_speed_10m,wind_direction_10m";
/// Variables of each day.
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,sunrise,sunset,precipitation_sum,precipitation_probability_max,wind_speed_10m_max";

const SKY: &[&Service] = &[&OPEN_METEO];

tools! { "weather";
    /// Current conditions and a daily forecast.
    weather_forecast(WeatherForecast; READ.direct().seconds(15).service("open-meteo").asks(SKY).compact()) {
        /// latitude
        latitude: f64, example: "52.52", alias: &["lat"];
        /// longitude
        longitude: f64, example: "13.405", alias: &["lng", "lon", "long"];
        /// forecast days
        days: u32 = 3, min: 1, max: 7;
    } => forecast, says [
        "weather at {latitude} {longitude}", "weather at {latitude}, {longitude}",
        "{days} days of weather at {latitude} {longitude}", "{days} days of weather at {latitude}, {longitude}",
    ];
}

fn forecast(ctx: &ToolContext, args: WeatherForecast) -> Outcome<String> {
    let point = Coordinates::new(args.latitude, args.longitude)?;
    let units = preferred_unit(&ctx.session);
    let value = service::ask(
        ctx,
        ForecastQuery {
            point,
            units,
            current: CURRENT,
            daily: Some((DAILY, args.days)),
        },
    )?;
    let days = table::days(&value, usize::try_from(args.days).unwrap_or(1));
    let now = now::now(&value, point, units);
    if days.is_empty() && now.ends_with(now::NOTHING) {
        return Err(
            Problem::network(format!("Open-Meteo gave no weather for {point}."))
                .next("Try again later, or with a place nearby."),
        );
    }
    let parts = [
        now,
        table::table(&value, &days, units),
        chart::chart(&value, &days, units),
        now::source(&value, point, units),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(parts.join("\n\n"))
}

#[cfg(test)]
mod tests;
