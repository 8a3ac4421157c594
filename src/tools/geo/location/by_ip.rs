//! Location by public IP address, from three services that are tried in turn.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::net::service::ServiceResponse;
use crate::net::services::{IP_API, IPAPI_CO, IPINFO, Service};
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::found::short_line;

const EACH: Duration = Duration::from_secs(5);
/// Time reserved for each service that comes later.
const SPARE: Duration = Duration::from_secs(2);
/// Pause for ip-api.com when it does not name one: clients that insist are blocked for an hour.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct IpLocation {
    pub(super) point: Coordinates,
    /// Town, region, country.
    pub(super) name: String,
    /// Such as `Europe/Paris`.
    pub(super) zone: Option<String>,
    pub(super) service_name: &'static str,
}

type IpParser = fn(&ToolContext, &ServiceResponse) -> Outcome<IpLocation>;

/// The services with their paths and parsers.
const SERVICES: [(&Service, &str, IpParser); 3] = [
    // Without status and message in the response, a failure would look like an empty result.
    (
        &IP_API,
        "/json/?fields=status,message,query,lat,lon,city,regionName,country,timezone",
        ip_api,
    ),
    (&IPAPI_CO, "/json/", ipapi_co),
    (&IPINFO, "/json", ipinfo),
];

/// Tries the services in turn until `until`.
///
/// # Errors
/// `Cancelled`; `Network` with the message of each.
pub(super) fn locate(ctx: &ToolContext, until: Instant) -> Outcome<IpLocation> {
    let mut message = Vec::new();
    for (i, (service, path, read)) in SERVICES.iter().enumerate() {
        let behind = u32::try_from(SERVICES.len() - 1 - i).unwrap_or_default();
        let left = until.saturating_duration_since(Instant::now());
        let time = left.saturating_sub(SPARE * behind).clamp(SPARE, EACH);
        ctx.progress(format!("asking {}", service.name));
        let answer = ctx
            .service(service)
            .path(path)
            .without_retry()
            .timeout(time)
            .get();
        match answer.and_then(|answer| read(ctx, &answer)) {
            Ok(place) => return Ok(place),
            Err(problem) if problem.is_cancelled() => return Err(problem),
            Err(problem) => message.push(problem.what),
        }
    }
    Err(Problem::network("Where you are could not be found out.")
        .next("Ask the user for a city or coordinates.")
        .facts(message.join("\n")))
}

fn ip_api(ctx: &ToolContext, answer: &ServiceResponse) -> Outcome<IpLocation> {
    // X-Rl: requests left; X-Ttl: seconds until there are new ones.
    let none_left = answer.header("x-rl").is_some_and(|left| left.trim() == "0");
    if none_left || answer.status == 429 {
        let wait = answer
            .header("x-ttl")
            .and_then(|wait| wait.trim().parse().ok());
        let wait = wait.map_or(MINUTE, Duration::from_secs);
        ctx.session.services.hold_back(&IP_API, wait);
    }
    let value = answer.json(message)?;
    match value.text("status") {
        None | Some("success") => {}
        Some(status) => return Err(failed(answer, value.text("message").unwrap_or(status))),
    }
    let at = (value.number("lat"), value.number("lon"));
    location_in(answer, &value, at, ["city", "regionName", "country"])
}

fn ipapi_co(_: &ToolContext, answer: &ServiceResponse) -> Outcome<IpLocation> {
    // An error is identified by its key, under any status.
    if let Some(value) = answer.value().filter(|value| value.flag("error")) {
        let reason = value.text("reason").unwrap_or("an error");
        return Err(failed(answer, reason));
    }
    let value = answer.json(message)?;
    let at = (value.number("latitude"), value.number("longitude"));
    location_in(answer, &value, at, ["city", "region", "country_name"])
}

fn ipinfo(_: &ToolContext, answer: &ServiceResponse) -> Outcome<IpLocation> {
    let value = answer.json(message)?;
    if value.flag("bogon") {
        return Err(failed(answer, "the address is a private one"));
    }
    let pair = value.text("loc").and_then(|loc| loc.split_once(','));
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let at = pair.map_or((None, None), |(lat, lon)| (number(lat), number(lon)));
    location_in(answer, &value, at, ["city", "region", "country"])
}

fn message(value: &Value) -> Option<String> {
    let keys = ["message", "reason", "error/message", "error/title", "error"];
    keys.iter()
        .find_map(|key| value.text(key))
        .map(str::to_owned)
}

fn failed(answer: &ServiceResponse, reason: &str) -> Problem {
    Problem::network(format!(
        "{} does not know: {}.",
        answer.service.name,
        answer.quoted(reason).trim_end_matches('.')
    ))
}

/// The location in a response, with the names under these keys.
fn location_in(
    answer: &ServiceResponse,
    value: &Value,
    at: (Option<f64>, Option<f64>),
    names: [&str; 3],
) -> Outcome<IpLocation> {
    let point =
        at.0.zip(at.1)
            .and_then(|(lat, lon)| Coordinates::found(lat, lon));
    // Services report zero and zero when they do not know; that is a point in the ocean.
    let point = point.filter(|point| point.lat != 0.0 || point.lon != 0.0);
    let Some(point) = point else {
        return Err(failed(answer, "it gave no coordinates"));
    };
    let mut parts: Vec<String> = Vec::new();
    for name in names
        .iter()
        .filter_map(|key| value.text(key))
        .map(short_line)
    {
        if !parts.contains(&name) {
            parts.push(name);
        }
    }
    Ok(IpLocation {
        point,
        name: parts.join(", "),
        zone: value.text("timezone").map(short_line),
        service_name: answer.service.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use proptest::prelude::*;

    fn read(body: &str, status: u16) -> Outcome<IpLocation> {
        ipapi_or_info(body, status, &IPAPI_CO)
    }

    fn ipapi_or_info(body: &str, status: u16, service: &'static Service) -> Outcome<IpLocation> {
        let ctx = ToolContext::for_tests(Env::from([("HOME", "/nowhere")]));
        let answer = ServiceResponse::new(service, status, body.as_bytes().to_vec());
        let (.., read) = SERVICES
            .iter()
            .find(|(own, ..)| own.id == service.id)
            .unwrap();
        read(&ctx, &answer)
    }

    #[test]
    fn what_is_no_place_is_none() {
        for body in [
            r#"{"error": true, "reason": "RateLimited"}"#,
            r#"{"latitude": null, "longitude": null, "city": null}"#,
            r#"{"latitude": 0, "longitude": 0}"#,
            r#"{"latitude": 91, "longitude": 0}"#,
            r#"{"latitude": 5}"#,
            "{}",
            "[]",
            "<html>",
            "",
        ] {
            assert!(read(body, 200).is_err(), "{body}");
        }
        let message = read(r#"{"error": true, "reason": "RateLimited"}"#, 200)
            .unwrap_err()
            .what;
        assert_eq!(message, "ipapi.co does not know: RateLimited.");
        for body in [
            r#"{"status": "fail", "message": "private range", "lat": 1, "lon": 1}"#,
            r#"{"status": "success"}"#,
            "{}",
        ] {
            assert!(ipapi_or_info(body, 200, &IP_API).is_err(), "{body}");
        }
        for body in [
            r#"{"bogon": true, "loc": "1,2"}"#,
            r#"{"loc": "1"}"#,
            r#"{"loc": "1;2"}"#,
            r#"{"loc": "x,y"}"#,
            r#"{"country": "US"}"#,
        ] {
            assert!(ipapi_or_info(body, 200, &IPINFO).is_err(), "{body}");
        }
        let odd = r#"{"latitude": "0", "longitude": -4.5, "city": "X", "region": "X", "country_name": ""}"#;
        let place = read(odd, 200).unwrap();
        assert_eq!(
            (place.name.as_str(), place.point.to_string()),
            ("X", "0, -4.5".to_owned())
        );
    }

    proptest! {
        #[test]
        fn any_body_is_a_place_or_a_reason(body in "\\{(\"(loc|latitude|longitude|lat|lon|error|status|bogon)\":(true|-?[0-9]{1,3}|\"[-0-9.,]{0,9}\"),?){0,5}\\}", which in 0usize..3) {
            if let Ok(place) = ipapi_or_info(&body, 200, SERVICES[which].0) {
                prop_assert!(Coordinates::found(place.point.lat, place.point.lon).is_some());
            }
        }
    }
}
