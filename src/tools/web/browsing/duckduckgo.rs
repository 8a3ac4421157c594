//! DuckDuckGo without JavaScript: the HTML edition, then the lite one when the first fails. A bot check blocks the address for both, and for longer if requests
//! continue: no further request follows one.

use std::time::Duration;

use super::limit::with_time_limit;
use super::query;
use super::results::{self, Hit};
use crate::base::problem::{Outcome, Problem};
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::{DUCKDUCKGO, DUCKDUCKGO_LITE, DUCKDUCKGO_NEWS, Service};
use crate::tools::engine::context::ToolContext;

pub(super) const BOT_CHECK_PAUSE: Duration = Duration::from_secs(600);
/// Maximum size of a page; a usual one has forty thousand bytes.
pub(super) const MAX_PAGE_BYTES: usize = 2 << 20;

/// An edition: its address, the form fields only it has, and its time limit. Both fit into a call.
struct Edition {
    service: &'static Service,
    path: &'static str,
    fields: &'static [(&'static str, &'static str)],
    limit: Duration,
}

const HTML: Edition = Edition {
    service: &DUCKDUCKGO,
    path: "/html/",
    fields: &[("b", "")],
    limit: Duration::from_secs(7),
};
const LITE: Edition = Edition {
    service: &DUCKDUCKGO_LITE,
    path: "/lite/",
    fields: &[],
    limit: Duration::from_secs(4),
};

/// The results for `query`, empty when DuckDuckGo reports none; `recency` is empty or d, w, m, y.
///
/// # Errors
/// `Input` for a query that is empty or too long; `Limit` for a bot check and during the pause after it; `Network`; `Cancelled`.
pub(crate) fn search(ctx: &ToolContext, query: &str, recency: &str) -> Outcome<Vec<Hit>> {
    let query = query::for_duckduckgo(query)?;
    let first = match HTML.send_request(ctx, &query, recency) {
        Ok(classify_response) => return classify_response.judge(ctx),
        Err(problem) if problem.is_cancelled() => return Err(problem),
        Err(problem) => problem,
    };
    match LITE.send_request(ctx, &query, recency) {
        Ok(classify_response) => classify_response.judge(ctx),
        Err(second) if second.is_cancelled() => Err(second),
        Err(second) => {
            let what = match second.what == first.what {
                true => first.what,
                false => format!("{} Its lite edition: {}", first.what, second.what),
            };
            Err(Problem::new(first.kind, what)
                .next("Try again in a moment, or use another source."))
        }
    }
}

/// Sends no requests to any edition for a while.
pub(super) fn pause(ctx: &ToolContext) {
    for service in [&DUCKDUCKGO, &DUCKDUCKGO_LITE, &DUCKDUCKGO_NEWS] {
        ctx.session.services.hold_back(service, BOT_CHECK_PAUSE);
    }
}

/// The problem with a page that asks for a human.
pub(super) fn bot_check() -> Problem {
    Problem::limit("DuckDuckGo refused this search (bot check).")
        .next("Wait some minutes before the next search, or use another source.")
}

/// A request as a browser's form sends it.
pub(super) fn browser_headers<'a>(
    send_request: RequestBuilder<'a>,
    service: &Service,
) -> RequestBuilder<'a> {
    send_request
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        .header("accept-language", "en-US,en;q=0.7")
        .header("referer", format!("{}/", service.base))
        .header("sec-fetch-dest", "document")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-site", "same-origin")
        .header("sec-fetch-user", "?1")
        .max_bytes(MAX_PAGE_BYTES)
        // An overloaded DuckDuckGo is not retried.
        .max_retry_wait(Duration::ZERO)
}

/// The outcome of a parsed page.
enum SearchPage {
    Found(Vec<Hit>),
    BotCheck,
}

impl SearchPage {
    fn judge(self, ctx: &ToolContext) -> Outcome<Vec<Hit>> {
        match self {
            Self::Found(hits) => Ok(hits),
            Self::BotCheck => {
                pause(ctx);
                Err(bot_check())
            }
        }
    }
}

impl Edition {
    fn send_request(&self, ctx: &ToolContext, query: &str, recency: &str) -> Outcome<SearchPage> {
        let mut form = vec![("q", query)];
        form.extend(self.fields);
        form.push(("kl", "wt-wt"));
        if !recency.is_empty() {
            form.push(("df", recency));
        }
        with_time_limit(ctx, self.limit, self.service.name, |ctx| {
            let send_request = browser_headers(ctx.service(self.service), self.service);
            classify_response(&send_request.path(self.path).form(&form)?)
        })
    }
}

/// Classifies a response by its page first, then by its status.
fn classify_response(answer: &ServiceResponse) -> Outcome<SearchPage> {
    let page = results::read(&answer.text());
    if !page.hits.is_empty() {
        return Ok(SearchPage::Found(page.hits));
    }
    if page.robot || matches!(answer.status, 202 | 403 | 429) {
        return Ok(SearchPage::BotCheck);
    }
    if page.none && answer.is_ok() {
        return Ok(SearchPage::Found(Vec::new()));
    }
    let name = answer.service.name;
    Err(match answer.status {
        300..=399 => Problem::network(format!("{name} leads this search to another page.")),
        200..=299 if answer.bytes.trim_ascii().is_empty() => answer.unreadable(),
        200..=299 => Problem::network(format!(
            "{name} answered with a page that cannot be understood as results."
        ))
        .next("Try again in a moment, or use another source."),
        _ => answer.refused(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_both(status: u16, body: &str) -> Result<usize, String> {
        match classify_response(&ServiceResponse::new(
            &DUCKDUCKGO,
            status,
            body.as_bytes().to_vec(),
        )) {
            Ok(SearchPage::Found(hits)) => Ok(hits.len()),
            Ok(SearchPage::BotCheck) => Err("bot check".to_owned()),
            Err(problem) => Err(problem.what),
        }
    }

    #[test]
    fn the_page_takes_precedence_over_the_status() {
        let hit = "<a class=result__a href=https://a.test>A</a>";
        let robot = "<form id=challenge-form></form>";
        let none = "<p class=no-results>";
        for status in [200, 202, 403, 500] {
            assert_eq!(judge_both(status, hit), Ok(1));
            assert_eq!(judge_both(status, &format!("{robot}{hit}")), Ok(1));
            assert_eq!(
                judge_both(status, &format!("{robot}{none}")),
                Err("bot check".to_owned())
            );
        }
        for status in [202, 403, 429] {
            assert_eq!(judge_both(status, none), Err("bot check".to_owned()));
            assert_eq!(judge_both(status, ""), Err("bot check".to_owned()));
        }
        assert_eq!(judge_both(200, none), Ok(0));
        for (status, body, wanted) in [
            (200, "<p>new layout", "cannot be understood"),
            (200, "{\"results\": []}", "cannot be understood"),
            (200, " ", "answered with nothing"),
            (303, "", "leads this search to another page"),
            (500, none, "DuckDuckGo failed (500)"),
            (404, "", "does not have this (404)"),
        ] {
            let problem = judge_both(status, body).unwrap_err();
            assert!(problem.contains(wanted), "{status} {body}: {problem}");
        }
    }
}
