//! Requests to Open-Meteo (<https://open-meteo.com/en/docs>), and messages for its errors.

use crate::formats::distance::DistanceUnit;
use std::time::Duration;

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::net::service::ServiceResponse;
use crate::net::services::OPEN_METEO;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;

/// How long answers are cached: the service updates its values every fifteen minutes.
const KEEP: Duration = Duration::from_secs(300);
/// Pause before the one retry.
const PAUSE: Duration = Duration::from_secs(2);

/// Timeout of a request, shorter than that of every tool that uses it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(13);

#[derive(Debug, Clone, Copy)]
pub(crate) struct ForecastQuery {
    pub(crate) point: Coordinates,
    pub(crate) units: DistanceUnit,
    /// Variables of the current weather.
    pub(crate) current: &'static str,
    /// Daily variables, and the number of days.
    pub(crate) daily: Option<(&'static str, u32)>,
}

/// Sends the request.
///
/// # Errors
/// Errors of the service; an invalid answer.
pub(crate) fn ask(ctx: &ToolContext, question: ForecastQuery) -> Outcome<Value> {
    let Coordinates { lat, lon } = question.point;
    let miles = question.units == DistanceUnit::Mi;
    let in_miles = |unit: &'static str| miles.then_some(unit);
    let days = question.daily.map(|(_, days)| days);
    let answer = ctx
        .service(&OPEN_METEO)
        .path("/v1/forecast")
        .query("latitude", lat + 0.0)
        .query("longitude", lon + 0.0)
        .query("current", question.current)
        .query_if("daily", question.daily.map(|(variables, _)| variables))
        .query_if("forecast_days", days)
        .query("timezone", "auto")
        .query_if("temperature_unit", in_miles("fahrenheit"))
        .query_if("wind_speed_unit", in_miles("mph"))
        .query_if("precipitation_unit", in_miles("inch"))
        .cache_for_if(KEEP, has_weather)
        .retry_server_errors_after(PAUSE)
        .timeout(REQUEST_TIMEOUT)
        .get()?;
    judged(ctx, &answer)
}

fn judged(ctx: &ToolContext, answer: &ServiceResponse) -> Outcome<Value> {
    let value = answer.value();
    // An error may have status 200, so look for one first.
    if let Some(value) = value.as_ref().filter(|value| value.flag("error")) {
        let reason = value.text("reason").unwrap_or_default();
        return Err(refusal(ctx, answer, reason));
    }
    if matches!(answer.status, 400..=499) && answer.status != 429 {
        let reason = value.as_ref().and_then(|value| value.text("reason"));
        return Err(refusal(ctx, answer, reason.unwrap_or_default()));
    }
    let value = answer.json(|value| value.text("reason").map(str::to_owned))?;
    match has_weather(&value) {
        true => Ok(value),
        false => Err(answer.unreadable()),
    }
}

fn has_weather(value: &Value) -> bool {
    value.at("current").is_some() || value.at("daily").is_some()
}

/// An error with its reason: which limit was exceeded, or what is wrong with the request.
fn refusal(ctx: &ToolContext, answer: &ServiceResponse, reason: &str) -> Problem {
    let period = reason.split_whitespace().next().unwrap_or_default();
    let spent =
        |period: &str| Problem::limit(format!("Open-Meteo's {period} limit of requests is spent."));
    match period.to_ascii_lowercase().as_str() {
        "minutely" => {
            ctx.session
                .services
                .hold_back(&OPEN_METEO, Duration::from_secs(60));
            spent("minutely").next("Try again in a minute.")
        }
        "hourly" => spent("hourly").next("Try again in the next hour."),
        "daily" => spent("daily").next("Try again tomorrow (the day begins at midnight UTC)."),
        _ if answer.is_ok() => {
            let message = answer.quoted(reason);
            let words = match message.trim_end_matches('.') {
                "" => String::new(),
                message => format!(": {message}"),
            };
            Problem::new(
                ProblemKind::Network,
                format!("Open-Meteo refused the request{words}."),
            )
            .next("Check the coordinates, or try again later.")
        }
        _ if answer.status == 429 || answer.status >= 500 => answer.refused(Some(reason)),
        _ => answer
            .refused(Some(reason))
            .next("Check the coordinates, or try again later."),
    }
}
