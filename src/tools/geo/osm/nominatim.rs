//! Places by name or address from Nominatim (<https://nominatim.org/release-docs/latest/api/Search/>).

use std::time::Duration;

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::html;
use crate::net::service::{ServiceResponse, retry_time};
use crate::net::services::NOMINATIM;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::found::short_line;

/// How long answers are cached: the server's policy forbids repeated queries.
const KEEP: Duration = Duration::from_secs(3_600);
/// Pause after a block for overuse.
const BLOCKED: Duration = Duration::from_secs(600);
/// Timeout of a request: a retry after a pause must still fit into the tool's timeout.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(9);
/// Pause before the one retry of an overloaded server.
const OVERLOADED: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OsmPlace {
    pub(crate) name: Option<String>,
    /// Name and address.
    pub(crate) label: String,
    pub(crate) point: Coordinates,
    /// Such as `amenity=cafe`.
    pub(crate) kind: String,
    /// Such as `way 4532022`.
    pub(crate) object: Option<String>,
    /// Further tags: cuisine, phone and so on.
    pub(crate) tags: Value,
}

/// A box around a point, `lon1,lat1,lon2,lat2`.
pub(crate) fn around(centre: Coordinates, radius: f64) -> String {
    let tall = radius / 111_320.0;
    let wide = centre.wide(tall);
    let (west, east) = (
        (centre.lon - wide).max(-180.0),
        (centre.lon + wide).min(180.0),
    );
    let (south, north) = (
        (centre.lat - tall).max(-90.0),
        (centre.lat + tall).min(90.0),
    );
    format!("{west:.6},{north:.6},{east:.6},{south:.6}")
}

/// Places that match `query`, at most `max`, and only those inside `inside` (see [`around`]) if given.
///
/// # Errors
/// `Config` without the contact that the public server requires; errors of the server or the network.
pub(crate) fn search(
    ctx: &ToolContext,
    query: &str,
    max: u64,
    inside: Option<&str>,
) -> Outcome<Vec<OsmPlace>> {
    let ask = || {
        ctx.service(&NOMINATIM)
            .path("/search")
            .query("q", query)
            .query("format", "jsonv2")
            .query("limit", max)
            .query("addressdetails", 1)
            .query("extratags", 1)
            .query("accept-language", "en")
            .query_if("viewbox", inside)
            .query_if("bounded", inside.map(|_| 1))
            .cache_for_if(KEEP, Value::is_array)
            .without_retry()
            .timeout(REQUEST_TIMEOUT)
    };
    let mut answer = ask().get()?;
    if answer.status == 503 {
        let wait = answer.retry_after().unwrap_or(OVERLOADED);
        if wait <= OVERLOADED {
            ctx.wait(wait)?;
            answer = ask().get()?;
        }
    }
    let rows = parse_rows(&answer).inspect_err(|problem| {
        if problem.kind == ProblemKind::Limit {
            let wait = answer.retry_after().unwrap_or(BLOCKED);
            ctx.session.services.hold_back(&NOMINATIM, wait);
        }
    })?;
    let mut spots: Vec<OsmPlace> = rows.iter().filter_map(spot).collect();
    if spots.is_empty() && !rows.is_empty() {
        return Err(answer.unreadable());
    }
    spots.truncate(usize::try_from(max).unwrap_or(usize::MAX));
    Ok(spots)
}

/// The rows of a response, or why there are none.
fn parse_rows(answer: &ServiceResponse) -> Outcome<Vec<Value>> {
    let value = answer.value();
    let fault = value.as_ref().and_then(|value| {
        let keys = ["error/message", "error", "message"];
        keys.iter().find_map(|key| value.text(key))
    });
    let words = match &value {
        Some(_) => fault.unwrap_or_default().to_owned(),
        None => html::line(&answer.text()),
    };
    let message = (!words.is_empty()).then_some(words.as_str());
    if matches!(answer.status, 429 | 509) || words.to_lowercase().contains("bandwidth limit") {
        let message = answer.quoted(message.unwrap_or_default());
        let colon = if message.is_empty() { "." } else { ": " };
        return Err(Problem::limit(format!(
            "Nominatim (OpenStreetMap) has blocked this address for a while ({}){colon}{message}",
            answer.status
        ))
        .next(match answer.retry_after() {
            Some(wait) => retry_time(wait),
            None => "Wait some minutes and ask for less.".to_owned(),
        })
        .next("A server of your own (MARVIN_URL_NOMINATIM) has no such limit."));
    }
    if answer.status == 403 {
        let mut problem = answer.refused(message);
        problem.kind = ProblemKind::Refused;
        return Err(problem.next(
            "Waiting does not help: the server does not take the contact for one. Set MARVIN_CONTACT to an e-mail or web address of yours.",
        ));
    }
    let Some(value) = value else {
        return Err(match answer.is_ok() {
            true => answer.unreadable(),
            false => refused(answer, message),
        });
    };
    match value.as_array() {
        Some(rows) if answer.is_ok() => Ok(rows.clone()),
        _ if answer.is_ok() && message.is_none() => Err(answer.unreadable()),
        _ => Err(refused(answer, message)),
    }
}

/// The error for any status, with a next step.
fn refused(answer: &ServiceResponse, message: Option<&str>) -> Problem {
    let problem = answer.refused(message);
    match problem.next.is_empty() {
        true => problem.next("Say it in other words, or try again later."),
        false => problem,
    }
}

fn spot(row: &Value) -> Option<OsmPlace> {
    let point = Coordinates::found(row.number("lat")?, row.number("lon")?)?;
    let kind = row.text("type").unwrap_or_default();
    // jsonv2 says `category` where json says `class`.
    let class = row.text("category").or_else(|| row.text("class"));
    let own = row
        .text("name")
        .or_else(|| row.text(&format!("address/{kind}")));
    let object = row
        .text("osm_type")
        .zip(row.word("osm_id"))
        .map(|(kind, id)| short_line(&format!("{kind} {id}")));
    let label = row.text("display_name").or(own).map(short_line);
    // A place without a label is still useful if its page can be opened.
    let label = label.or_else(|| Some(format!("Unnamed place ({})", object.as_deref()?)))?;
    Some(OsmPlace {
        name: own.map(short_line).filter(|_| kind != "house"),
        label,
        point,
        kind: short_line(&match class {
            Some(class) if !kind.is_empty() => format!("{class}={kind}"),
            Some(class) => class.to_owned(),
            None => kind.to_owned(),
        }),
        object,
        tags: row.at("extratags").cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, body: &str) -> ServiceResponse {
        ServiceResponse::new(&NOMINATIM, status, body.as_bytes().to_vec())
    }

    #[test]
    fn refusals_are_told_apart() {
        let kind = |status, body: &str| parse_rows(&answer(status, body)).unwrap_err().kind;
        assert_eq!(kind(429, ""), ProblemKind::Limit);
        assert_eq!(kind(509, "<html>x"), ProblemKind::Limit);
        assert_eq!(
            kind(200, "<h1>Bandwidth limit exceeded</h1>"),
            ProblemKind::Limit
        );
        assert_eq!(
            kind(403, "<html><h1>Access denied</h1>"),
            ProblemKind::Refused
        );
        assert_eq!(kind(500, "<html>oops"), ProblemKind::Network);
        assert_eq!(kind(200, "<html>hello"), ProblemKind::Network);
        assert_eq!(kind(200, "{}"), ProblemKind::Network);
        let fault = r#"{"error": {"code": 400, "message": "Bad viewbox."}}"#;
        let problem = parse_rows(&answer(400, fault)).unwrap_err();
        assert_eq!(
            problem.what,
            "Nominatim (OpenStreetMap) cannot use the request (400): Bad viewbox."
        );
        assert!(parse_rows(&answer(200, fault)).is_err());
        assert!(parse_rows(&answer(200, "[]")).unwrap().is_empty());
    }

    #[test]
    fn rows_of_old_and_new_servers_are_read() {
        let old = json!({"lat": "1.5", "lon": "-2", "osm_type": "way", "osm_id": "7", "class": "amenity",
            "type": "pub", "display_name": "The Hind, 5, High Street", "address": {"pub": "The Hind"}});
        let spot = spot(&old).unwrap();
        assert_eq!(spot.name.as_deref(), Some("The Hind"));
        assert_eq!(
            (spot.kind.as_str(), spot.object.as_deref()),
            ("amenity=pub", Some("way 7"))
        );
        let new = json!({"lat": 0, "lon": "0.0", "osm_id": 7, "category": "place", "type": "house",
            "display_name": "5, High Street"});
        let spot = super::spot(&new).unwrap();
        assert_eq!((spot.name, spot.object), (None, None));
        assert_eq!(spot.point.to_string(), "0, 0");
        let short =
            json!({"lat": "1", "lon": "2", "name": "The Hind", "osm_type": "node", "osm_id": 9});
        assert_eq!(super::spot(&short).unwrap().label, "The Hind");
        let bare =
            json!({"lat": "1", "lon": "2", "display_name": null, "osm_type": "node", "osm_id": 9});
        assert_eq!(super::spot(&bare).unwrap().label, "Unnamed place (node 9)");
        for bad in [
            json!({}),
            json!({"lat": "91", "lon": "0", "display_name": "x"}),
            json!(null),
        ] {
            assert_eq!(super::spot(&bad), None);
        }
    }

    #[test]
    fn boxes_stay_on_the_globe() {
        let at = |lat, lon| around(Coordinates::new(lat, lon).unwrap(), 11_132.0);
        assert_eq!(at(0.0, 0.0), "-0.100000,0.100000,0.100000,-0.100000");
        assert_eq!(
            at(90.0, 179.95),
            "169.950000,90.000000,180.000000,89.900000"
        );
    }
}
