//! `web_search` and `search_news` through the built binary, against answers in the services' shapes.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use marvin::testing::tools::{SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Request, Server};
use crate::support::wait::side_by_side;
use crate::support::words::{TextAssertions, unfenced};

pub(crate) const HTML: &str = "duckduckgo";
const LITE: &str = "duckduckgo-lite";
pub(crate) const NEWS: &str = "duckduckgo-news";
pub(crate) const GNEWS: &str = "gnews";
pub(crate) const NEWSAPI: &str = "newsapi";

/// One direct tool call; services that are not named point to closed ports, each on a host of its own.
pub(crate) fn tool(home: &Home, name: &str, args: &Value, services: &[(&str, &Server)]) -> Marvin {
    let marvin = home
        .tool(name, args)
        .env("MARVIN_CONTACT", "tests@example.org");
    let ids = [HTML, LITE, NEWS, GNEWS, NEWSAPI];
    ids.iter().zip(1..).fold(marvin, |marvin, (id, port)| {
        let server = services.iter().find(|(own, _)| own == id);
        let url = server.map_or(format!("http://127.0.0.1:{port}"), |(_, server)| {
            server.url("")
        });
        marvin.env(
            &format!("MARVIN_URL_{}", id.to_uppercase().replace('-', "_")),
            url,
        )
    })
}

pub(crate) fn search(home: &Home, services: &[(&str, &Server)]) -> Marvin {
    tool(
        home,
        "web_search",
        &json!({"query": "tidal power"}),
        services,
    )
}

pub(crate) fn news(home: &Home, services: &[(&str, &Server)]) -> Marvin {
    tool(
        home,
        "search_news",
        &json!({"query": "tidal power"}),
        services,
    )
    .env("GNEWS_API_KEY", "gnews-secret")
    .env("NEWSAPI_KEY", "newsapi-secret")
}

pub(crate) fn page(body: &str) -> Answer {
    Answer::text("text/html; charset=UTF-8", body)
}

/// Fails for missing words, and for a leaked key.
pub(crate) fn says(output: &Done, text: &[&str]) {
    let all = format!("{}{}", unfenced(output.text()), output.errors());
    for text in text {
        assert!(all.contains(text), "no {text:?} in {all}");
    }
    all.assert_lacks(&["secret"]);
}

pub(crate) const TWO: &str = "<div class=\"result web-result\"><a class=\"result__a\" href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2F1&amp;rut=0\">
    Tides</a></div><div class=\"result web-result\"><a class=\"result__a\" href=\"https://b.test/\">Power</a>
    <a class=\"result__snippet\" href=\"https://b.test/\">Of the <b>sea</b></a></div>";

#[test]
fn a_search_is_the_form_of_a_browser() {
    let server = Server::always(page(TWO));
    let args = json!({"query": " !tides  \"of the sea\" ", "max_results": 1, "time_filter": "w"});
    let output = tool(&Home::new(), "web_search", &args, &[(HTML, &server)])
        .run()
        .expect(0);
    assert_eq!(unfenced(output.text()), "1. Tides\n   https://a.test/1\n");
    let request = server.request(0);
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/html/")
    );
    assert_eq!(
        request.text(),
        "q=%22%21tides%22%20%22of%20the%20sea%22&b=&kl=wt-wt&df=w"
    );
    for (name, value) in [
        ("referer", "https://html.duckduckgo.com/"),
        ("sec-fetch-dest", "document"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-user", "?1"),
        ("content-type", "application/x-www-form-urlencoded"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert!(request.header("accept-language").is_some() && request.header("cookie").is_none());
    let agent = request.header("user-agent").unwrap();
    assert!(
        agent.starts_with("Marvin/") && agent.ends_with("(+tests@example.org)"),
        "{agent}"
    );
    let output = search(&Home::new(), &[(HTML, &server)]).run().expect(0);
    assert_eq!(
        unfenced(output.text()),
        "1. Tides\n   https://a.test/1\n\n2. Power\n   https://b.test/\n   Of the sea\n"
    );
    assert_eq!(server.request(1).text(), "q=tidal%20power&b=&kl=wt-wt");
}

#[test]
fn the_lite_edition_stands_in_unless_a_human_is_wanted() {
    let lite = || {
        Server::answering(|request, _| {
            assert_eq!(
                (request.path.as_str(), request.text()),
                ("/lite/", "q=tidal%20power&kl=wt-wt".to_owned())
            );
            page("<tr><td><a href='https://a.test/' class='result-link'>Tides</a>")
        })
        .lenient()
    };
    side_by_side(
        [
            Answer::status(500),
            Answer::status(303).header("Location", "https://elsewhere.test/"),
            page("<p>A new layout"),
            page(""),
            Answer::json(&json!({"results": []})),
            page("x").claim_length(100),
        ],
        |answer| {
            let (html, lite) = (Server::always(answer), lite());
            let output = search(&Home::new(), &[(HTML, &html), (LITE, &lite)])
                .run()
                .expect(0);
            assert_eq!(unfenced(output.text()), "1. Tides\n   https://a.test/\n");
            assert_eq!(html.requests().len(), 1);
        },
    );
    for answer in [
        page("<form id=challenge-form>").with_status(202),
        page("<form id=challenge-form>"),
        page("If this persists").with_status(403),
        Answer::status(429).header("Retry-After", "1"),
    ] {
        let (html, lite) = (Server::always(answer), lite());
        let output = search(&Home::new(), &[(HTML, &html), (LITE, &lite)])
            .run()
            .expect(1);
        says(&output, &["DuckDuckGo refused this search (bot check)."]);
        assert_eq!((html.requests().len(), lite.requests().len()), (1, 0));
    }
    let (down, odd) = (
        Server::always(Answer::status(503)),
        Server::always(page("odd")),
    );
    says(
        &search(&Home::new(), &[(HTML, &down), (LITE, &odd)])
            .run()
            .expect(1),
        &[
            "DuckDuckGo failed (503). Its lite edition:",
            "cannot be understood",
        ],
    );
    says(
        &search(&Home::new(), &[(HTML, &down)]).run().expect(1),
        &["DuckDuckGo failed (503). Its lite edition: DuckDuckGo cannot be reached"],
    );
    let away = Server::always(Answer::status(303).header("Location", "/elsewhere"));
    says(
        &search(&Home::new(), &[(HTML, &away), (LITE, &away)])
            .run()
            .expect(1),
        &[
            "leads this search to another page.",
            "or use another source.",
        ],
    );
}

#[test]
fn after_a_bot_check_nobody_is_asked_again() {
    let (html, lite) = (Server::always(page("").with_status(202)), Server::start());
    let env = Env::from([
        ("HOME", "/nowhere"),
        ("MARVIN_URL_DUCKDUCKGO", html.url("").as_str()),
        ("MARVIN_URL_DUCKDUCKGO_LITE", lite.url("").as_str()),
        ("MARVIN_URL_DUCKDUCKGO_NEWS", lite.url("").as_str()),
    ]);
    let bounds = ToolPolicy::new(&env, &mut |_| {});
    let ctx = ToolContext::new(
        Arc::new(SessionContext::new(env, bounds)),
        Cancel::new(),
        Arc::new(NullSink),
    );
    let call = |name: &str| {
        let tool = marvin::testing::tools::all()
            .find(|tool| tool.name == name)
            .unwrap();
        let args = json!({"query": "tides"});
        (tool.run)(&ctx, args.as_object().unwrap())
            .unwrap_err()
            .one_line()
    };
    call("web_search").assert_has(&["bot check"]);
    for name in ["web_search", "search_news"] {
        call(name).assert_has(&["DuckDuckGo asked for a pause", "600 s"]);
    }
    assert_eq!(html.requests().len(), 1);
}

#[test]
fn queries_that_cannot_be_searched_for_are_refused_at_once() {
    let home = Home::new();
    for name in ["web_search", "search_news"] {
        for (query, expected) in [
            (" \n".to_owned(), "The query is empty."),
            (
                "ö".repeat(500),
                "The query has 500 characters; a search takes 499 at most.",
            ),
        ] {
            says(
                &tool(&home, name, &json!({"query": query}), &[])
                    .run()
                    .expect(1),
                &[expected],
            );
        }
        let output = tool(
            &home,
            name,
            &json!({"query": "x", "time_filter": "decade"}),
            &[],
        )
        .run()
        .expect(1);
        says(&output, &["time_filter: wanted one of \"\", d, w, m"]);
    }
    let server = Server::always(page("<p class=no-results>"));
    for query in ["سلام", "潮汐 発電", "приливы & отливы", "é\u{301}", "हिन्दी"]
    {
        let output = tool(
            &home,
            "web_search",
            &json!({"query": query, "time_filter": "d"}),
            &[(HTML, &server)],
        )
        .run()
        .expect(0);
        says(
            &output,
            &[
                &format!("No results for \"{query}\" of the past day."),
                " Try other words, or no time_filter.",
            ],
        );
    }
}

#[test]
fn what_is_too_much_or_odd_ends_soon_and_is_never_nothing() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&vec![b' '; 40 << 20]).unwrap();
    let bomb = packer.finish().unwrap();
    let deep = "[".repeat(10_000);
    let server = Server::answering(move |request: &Request, _| match request.path.as_str() {
        "/html/" => page("").send(vec![b'x'; 3 << 20]).claim_length(500 << 20),
        "/lite/" => page("")
            .send(bomb.clone())
            .header("Content-Encoding", "gzip"),
        path if path.starts_with("/api/v4/search") => {
            Answer::text("application/json", deep.clone())
        }
        path if path.starts_with("/v2/") => page("<!DOCTYPE html><html>Sign in"),
        _ => page("no token here"),
    })
    .lenient();
    let all = [HTML, LITE, NEWS, GNEWS, NEWSAPI].map(|id| (id, &server));
    let started = Instant::now();
    let output = search(&Home::new(), &[(HTML, &server), (LITE, &server)])
        .run()
        .expect(1);
    says(&output, &["DuckDuckGo sent more than 2 MB"]);
    let output = news(&Home::new(), &all[2..]).run().expect(1);
    says(
        &output,
        &[
            "No source of news could be used",
            "GNews answered with something that cannot be read",
            "NewsAPI answered with a web page",
            "DuckDuckGo News answered with something that cannot be read",
            "Web search: DuckDuckGo cannot be reached",
        ],
    );
    output.stderr_lacks(&["No results", "No articles"]);
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    // The header knows the charset, and the page is read with it.
    let latin = Server::always(Answer::text(
        "text/html; charset=iso-8859-1",
        b"<a class=result__a href=https://a.test>Caf\xe9</a>".to_vec(),
    ));
    let output = search(&Home::new(), &[(HTML, &latin)]).run().expect(0);
    assert_eq!(unfenced(output.text()), "1. Café\n   https://a.test\n");
}
