//! Places by tags from Overpass (<https://wiki.openstreetmap.org/wiki/Overpass_API>).

use std::time::{Duration, Instant};

use serde_json::Value;

use super::credit;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::plural;
use crate::formats::html;
use crate::net::service::{ServiceResponse, retry_time};
use crate::net::services::OVERPASS;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::found::short_line;

/// Pause before the one retry of a busy server.
const BUSY: Duration = Duration::from_secs(5);
/// The longest wait before a retry, when the server says how long.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(10);
/// Pause after a second refusal for overuse.
const QUOTA: Duration = Duration::from_secs(60);

/// The result of a query.
#[derive(Debug)]
pub(crate) struct OverpassReply {
    /// In the server's order.
    pub(crate) elements: Vec<Element>,
    /// A note of the server that is not an error.
    pub(crate) remark: Option<String>,
    /// The date of the data.
    as_of: Option<String>,
}

/// One element of the map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Element {
    /// `node`, `way`, `relation`, `area`, `count`.
    pub(crate) kind: String,
    pub(crate) id: Option<i64>,
    /// Its position, or its centre.
    pub(crate) point: Option<Coordinates>,
    /// In the server's order.
    pub(crate) tags: Vec<(String, String)>,
}

impl OverpassReply {
    /// The attribution that the licence requires.
    pub(crate) fn credit(&self) -> String {
        match &self.as_of {
            Some(time) => credit(&format!("Overpass, as of {time}")),
            None => credit("Overpass"),
        }
    }
}

impl Element {
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(own, _)| own == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Such as `node 123`.
    pub(crate) fn object(&self) -> String {
        match self.id {
            Some(id) => format!("{} {id}", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// Runs a complete query with this timeout.
///
/// # Errors
/// `Config` without the contact that the public server requires; `Input` for a query with a syntax error; `Limit` for one that took too long or too
/// many of them; errors of the network.
pub(crate) fn run(ctx: &ToolContext, query: &str, limit: Duration) -> Outcome<OverpassReply> {
    let start = Instant::now();
    let requests = ctx
        .service(&OVERPASS)
        .path("/api/interpreter")
        .timeout(limit)
        .retry_after(BUSY)
        .max_retry_wait(MAX_RETRY_WAIT)
        .form(&[("data", query)]);
    let answer =
        requests.map_err(
            |problem| match start.elapsed() < limit || problem.is_cancelled() {
                true => problem,
                false => problem.next("A smaller area or fewer kinds take less time."),
            },
        )?;
    judged(&answer).inspect_err(|_| {
        if answer.status == 429 {
            let wait = answer.retry_after().unwrap_or(QUOTA);
            ctx.session.services.hold_back(&OVERPASS, wait);
        }
    })
}

fn judged(answer: &ServiceResponse) -> Outcome<OverpassReply> {
    let Some(value) = answer.value().filter(|_| answer.is_ok()) else {
        return Err(refused(answer));
    };
    let remark = value.text("remark").map(|words| answer.quoted(words));
    if let Some(reason) = remark
        .as_deref()
        .filter(|remark| remark.contains("runtime error"))
    {
        let count = value.list("elements").len();
        let part = match count {
            0 => String::new(),
            _ => format!(" Until then {} had been found.", plural(count, "element")),
        };
        return Err(Problem::limit(format!(
            "Overpass did not finish the query: {}.{part}",
            reason.trim_start_matches("runtime error:")
                .trim()
                .trim_end_matches('.')
        ))
        .next(match reason.contains("memory") {
            true => "Ask for a smaller area or fewer kinds.",
            false => "Ask for a smaller area or fewer kinds; a query of your own can set a longer [timeout:…].",
        }));
    }
    let rows = value.list("elements");
    let elements: Vec<Element> = rows.iter().filter_map(element).collect();
    let none = value.at("elements").and_then(Value::as_array).is_none();
    if none || (elements.is_empty() && !rows.is_empty()) {
        return Err(answer.unreadable());
    }
    Ok(OverpassReply {
        elements,
        remark,
        as_of: value.text("osm3s/timestamp_osm_base").map(short_line),
    })
}

/// Why there is no list of elements.
fn refused(answer: &ServiceResponse) -> Problem {
    let page = answer.text();
    let fault = page_error(&page);
    let message = fault.clone().or_else(|| page_words(&page));
    let words = message.as_deref().unwrap_or_default();
    let is = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    // Even a page with status 200 may be an error.
    let status = match answer.is_ok() {
        true => String::new(),
        false => format!(" ({})", answer.status),
    };
    let said_so = match answer.quoted(words) {
        message if message.is_empty() => ".".to_owned(),
        message => format!(": {message}"),
    };
    if answer.status == 429 || is(&["rate_limited"]) {
        let problem = Problem::limit(format!("Too many requests to Overpass{status}{said_so}"));
        // A shorter wait than this has been tried already.
        let wait = answer.retry_after().filter(|wait| *wait > MAX_RETRY_WAIT);
        return problem.next(match wait {
            Some(wait) => retry_time(wait),
            None => {
                "Wait a minute before the next query; each address has two at a time.".to_owned()
            }
        });
    }
    if answer.status == 504 || is(&["::timeout", "ispatcher"]) {
        return Problem::network(format!("Overpass is too busy{status}{said_so}"))
            .next("Ask again later, or for a smaller area.");
    }
    if answer.status == 400 || (answer.is_ok() && fault.is_some()) {
        return Problem::input(format!(
            "Overpass cannot run the query: {}",
            match words {
                "" => "it gives no reason.".to_owned(),
                words => answer.quoted(words),
            }
        ))
        .next("Correct the query; each statement ends with a semicolon, the last is out center;");
    }
    match answer.is_ok() {
        true if page.trim_start().starts_with("<?xml") => {
            Problem::network("Overpass answered in XML, where JSON was asked for.")
                .next("Begin the query with [out:json].")
        }
        true => answer.unreadable(),
        false if !(400..500).contains(&answer.status) => answer.refused(message.as_deref()),
        false => answer
            .refused(message.as_deref())
            .next("Try again later; MARVIN_URL_OVERPASS can name another server."),
    }
}

/// The error message on a page of Overpass: the text after each "Error".
fn page_error(page: &str) -> Option<String> {
    const MARK: &str = "Error</strong>";
    let faults = page.split(MARK).skip(1).map(|rest| {
        let end = rest.find("</p>").unwrap_or(rest.len());
        let line = html::line(rest.get(..end).unwrap_or_default());
        line.trim_start_matches(':').trim().to_owned()
    });
    let faults: Vec<String> = faults.filter(|line| !line.is_empty()).take(5).collect();
    (!faults.is_empty()).then(|| faults.join(" "))
}

/// The text of any other page; `None` for data in XML.
fn page_words(page: &str) -> Option<String> {
    let start = page
        .get(..page.floor_char_boundary(2_000))
        .unwrap_or_default();
    let is_page = ["<html", "<HTML", "<body"]
        .iter()
        .any(|tag| start.contains(tag));
    Some(html::line(page)).filter(|words| is_page && !words.is_empty())
}

fn element(value: &Value) -> Option<Element> {
    let kind = short_line(value.text("type")?);
    let at = |lat: &str, lon: &str| Coordinates::found(value.number(lat)?, value.number(lon)?);
    let middle = || {
        let half = |a: &str, b: &str| Some((value.number(a)? + value.number(b)?) / 2.0);
        Coordinates::found(
            half("bounds/minlat", "bounds/maxlat")?,
            half("bounds/minlon", "bounds/maxlon")?,
        )
    };
    let tags = value.at("tags").and_then(Value::as_object);
    let tags = tags.into_iter().flatten().filter_map(|(key, value)| {
        let value = match value {
            Value::String(text) => short_line(text),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!value.is_empty()).then(|| (short_line(key), value))
    });
    Some(Element {
        // A count has a number in place of an id.
        id: value.whole("id").filter(|_| kind != "count"),
        point: at("lat", "lon")
            .or_else(|| at("center/lat", "center/lon"))
            .or_else(middle),
        tags: tags.collect(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::ProblemKind;
    use crate::base::testing::assert_has;
    use proptest::prelude::*;
    use serde_json::json;

    fn answer(status: u16, body: &str) -> ServiceResponse {
        ServiceResponse::new(&OVERPASS, status, body.as_bytes().to_vec())
    }

    fn page(words: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><html><body><p>Licence.</p><p><strong>Error</strong>: {words} </p></body></html>"
        )
    }

    #[test]
    fn failures_are_told_by_their_words() {
        let problem = |status, body: &str| judged(&answer(status, body)).unwrap_err();
        let wrong = problem(400, &page("line 1: parse error: &quot;;&quot; missing"));
        assert_eq!(wrong.kind, ProblemKind::Input);
        assert_eq!(
            wrong.what,
            "Overpass cannot run the query: line 1: parse error: \";\" missing"
        );
        assert_eq!(
            problem(200, &page("static error: x")).kind,
            ProblemKind::Input
        );
        assert_eq!(
            problem(429, &page("x::rate_limited.")).kind,
            ProblemKind::Limit
        );
        assert_eq!(problem(429, "").kind, ProblemKind::Limit);
        assert_eq!(
            problem(504, &page("x::timeout.")).kind,
            ProblemKind::Network
        );
        let late = problem(
            200,
            &json!({"elements": [{"type": "node", "id": 1}],
            "remark": "runtime error: Query ran out of memory."})
            .to_string(),
        );
        assert_eq!(late.kind, ProblemKind::Limit);
        assert_eq!(
            late.what,
            "Overpass did not finish the query: Query ran out of memory. Until then 1 element had been found."
        );
        assert_has(
            &problem(200, "<?xml version=\"1.0\"?><osm/>").what,
            &["in XML"],
        );
        for odd in ["{}", "[]", "", "{\"elements\": 5}"] {
            assert_eq!(problem(200, odd).kind, ProblemKind::Network, "{odd}");
        }
    }

    #[test]
    fn elements_have_a_place_when_the_server_gives_one() {
        let body = json!({"elements": [
            {"type": "node", "id": 1, "lat": 0, "lon": 0.5},
            {"type": "way", "id": 2, "center": {"lat": 1, "lon": 2}, "tags": {"name": "A", "level": 2, "x": null}},
            {"type": "relation", "id": 3, "bounds": {"minlat": 1, "maxlat": 3, "minlon": 2, "maxlon": 4}},
            {"type": "area", "id": 4}, {"type": "count", "tags": {"total": "9"}}, 7, {},
        ], "remark": "runtime remark: slow", "osm3s": {"timestamp_osm_base": "2026-01-01T00:00:00Z"}});
        let reply = judged(&answer(200, &body.to_string())).unwrap();
        let points: Vec<_> = reply
            .elements
            .iter()
            .map(|e| e.point.map(|p| p.to_string()))
            .collect();
        assert_eq!(points.len(), 5);
        assert_eq!(points[0].as_deref(), Some("0, 0.5"));
        assert_eq!(points[2].as_deref(), Some("2, 3"));
        assert_eq!(
            (
                reply.elements[1].tag("name"),
                reply.elements[1].tag("level")
            ),
            (Some("A"), Some("2"))
        );
        assert_eq!(reply.elements[4].object(), "count");
        assert_eq!(reply.remark.as_deref(), Some("runtime remark: slow"));
        assert!(reply.credit().contains("as of 2026-01-01"));
    }

    proptest! {
        #[test]
        fn what_an_error_page_says_is_found(words in "[a-z][a-z0-9:;']{0,12}( [a-z0-9:;']{1,12}){0,6}") {
            let found = page_error(&page(&words));
            prop_assert_eq!(found, Some(words));
        }

        #[test]
        fn any_page_is_read_without_harm(text in "(<[a-z/]{0,6}>?|Error</strong>|</p>|<html|.){0,30}", status in 200u16..600) {
            let _ = judged(&answer(status, &text));
        }
    }
}
