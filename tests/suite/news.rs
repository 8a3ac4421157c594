//! `search_news`: one list of all sources, which are asked at once and fail alone.

use serde_json::{Value, json};

use crate::search_web::{GNEWS, HTML, NEWS, NEWSAPI, TWO, news, page, says, tool};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::{Answer, Request, Server};
use crate::support::words::unfenced;

fn article(title: &str, url: &str, time: &str) -> Value {
    json!({"title": title, "url": url, "publishedAt": time, "source": {"name": "Coast"}, "description": "Words."})
}

#[test]
fn news_of_all_sources_are_one_list() {
    // The first source answers after the second was called: they run in parallel.
    let latch = Latch::new();
    let held = latch.clone();
    let gnews = Server::always(Answer::json(&json!({"totalArticles": 2, "articles": [
        article("Barrage is built at last", "https://a.test/1?utm_source=g", "2026-11-19T10:00:00Z"),
        article("Older", "https://a.test/2", "2026-11-18T10:00:00Z")]}))
        .head_after(&held));
    let newsapi = Server::answering(move |_, _| {
        latch.open();
        Answer::json(&json!({"status": "ok", "totalResults": 4, "articles": [
        article("Another title", "https://www.a.test/1", "2026-11-19T10:00:00Z"),
        article("[Removed]", "https://removed.test", "2026-11-19T10:00:00Z"),
        article("Older, much older", "https://b.test/2", "2026-11-19T11:00:00Z"),
        article("Barrage built at last: live", "https://b.test/3", "2026-11-19T12:00:00Z")]}))
    });
    let output = news(&Home::new(), &[(GNEWS, &gnews), (NEWSAPI, &newsapi)])
        .env("MARVIN_NOW", "2026-11-21T01:30:00+02:00[Europe/Athens]")
        .run()
        .expect(0);
    assert_eq!(
        unfenced(output.text()),
        "3 articles about \"tidal power\" of the past two days (from GNews, NewsAPI):\n\n\
        1. Older, much older\n   Coast · 2026-11-19 11:00 UTC · NewsAPI\n   https://b.test/2\n   Words.\n\n\
        2. Barrage is built at last\n   Coast · 2026-11-19 10:00 UTC · GNews\n   https://a.test/1?utm_source=g\n   Words.\n\n\
        3. Older\n   Coast · 2026-11-18 10:00 UTC · GNews\n   https://a.test/2\n   Words.\n\n\
        Not included:\nDuckDuckGo News cannot be reached: connection refused. Check the address and the network connection, or try again later.\n"
    );
    assert_eq!(
        gnews.request(0).path,
        "/api/v4/search?q=tidal%20power&lang=en&max=20&from=2026-11-18T23%3A30%3A00Z&sortby=publishedAt"
    );
    assert_eq!(
        newsapi.request(0).path,
        "/v2/everything?q=tidal%20power&pageSize=20&language=en&sortBy=publishedAt&from=2026-11-18T23%3A30%3A00"
    );
    assert!(
        newsapi
            .request(0)
            .header("user-agent")
            .unwrap()
            .starts_with("Marvin/")
    );
    for (filter, from) in [
        ("d", "2026-11-19T23"),
        ("w", "2026-11-13T23"),
        ("m", "2026-10-21T23"),
    ] {
        let args = json!({"query": "tidal power", "time_filter": filter, "max_results": 1});
        let output = tool(&Home::new(), "search_news", &args, &[(GNEWS, &gnews)])
            .env("GNEWS_API_KEY", "gnews-secret")
            .env("MARVIN_NOW", "2026-11-20T23:30:00+00:00[UTC]")
            .run()
            .expect(0);
        says(&output, &["1 article about"]);
        let last = gnews.requests().pop().unwrap();
        assert!(
            last.query("from").unwrap().starts_with(from) && last.query("max") == Some("1"),
            "{}",
            last.path
        );
    }
}

#[test]
fn sources_are_asked_at_once_and_fail_alone() {
    let slow = |_: &Request, _| Answer::status(500);
    let newsapi = Server::always(Answer::json(&json!({"status": "error", "code": "apiKeyInvalid", "message": "newsapi-secret is wrong"})).with_status(401));
    let gnews = Server::answering(slow);
    let web = Server::answering(|request, _| {
        assert_eq!(
            request.text(),
            "q=tidal%20power%20news%20latest&b=&kl=wt-wt&df=w"
        );
        page(TWO)
    });
    let output = news(
        &Home::new(),
        &[(GNEWS, &gnews), (NEWSAPI, &newsapi), (HTML, &web)],
    )
    .run()
    .expect(0);
    assert_eq!(
        unfenced(output.text()),
        "No source of news could be used; this is what a web search for \"tidal power news latest\" finds:\n\n\
        1. Tides\n   https://a.test/1\n\n2. Power\n   https://b.test/\n   Of the sea\n\n\
        GNews failed (500). Try again later.\nNewsAPI does not accept the key (401): [hidden] is wrong. Check NEWSAPI_KEY.\n\
        DuckDuckGo News cannot be reached: connection refused. Check the address and the network connection, or try again later.\n"
    );
    let none = Server::always(page("<p class=no-results>"));
    let output = tool(
        &Home::new(),
        "search_news",
        &json!({"query": "tides"}),
        &[(HTML, &none)],
    )
    .run()
    .expect(0);
    says(
        &output,
        &[
            "No source of news could be used, and the web has no results for \"tides news latest\".",
            "DuckDuckGo News cannot be reached",
            "Set GNEWS_API_KEY or NEWSAPI_KEY",
        ],
    );
}

#[test]
fn news_that_are_refused_leave_the_web_search_alone() {
    // All of DuckDuckGo on one host: the refusal of the news must not block the search.
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/html/" => page(TWO),
        _ => page("If this persists, <a href='mailto:error-lite+1@duckduckgo.com'>email us</a>")
            .with_status(403),
    });
    let args = json!({"query": "tides", "time_filter": "m"});
    let output = tool(
        &Home::new(),
        "search_news",
        &args,
        &[(NEWS, &server), (HTML, &server)],
    )
    .run()
    .expect(0);
    says(
        &output,
        &[
            "\"tides news latest\" finds:\n\n1. Tides",
            "DuckDuckGo News: It refuses programs other than browsers (403).",
            "Set GNEWS_API_KEY",
        ],
    );
    assert!(server.request(1).text().ends_with("&df=m"));
}

#[test]
fn a_bot_check_of_the_news_is_one_of_the_search_too() {
    let check = Server::always(page("<form id='challenge-form'>").with_status(202));
    let web = Server::start();
    let args = json!({"query": "tides"});
    let output = tool(
        &Home::new(),
        "search_news",
        &args,
        &[(NEWS, &check), (HTML, &web)],
    )
    .run()
    .expect(1);
    says(
        &output,
        &[
            "No source of news could be used, and the web search failed too.",
            "DuckDuckGo News: DuckDuckGo refused this search (bot check).",
            "Web search: DuckDuckGo asked for a pause",
        ],
    );
}
