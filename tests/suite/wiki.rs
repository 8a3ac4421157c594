//! Wikipedia through the real binary: made-up answers, bad input, and a real MediaWiki server if one is running.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::{TextAssertions, unfenced};

fn run(home: &Home, url: &str, name: &str, args: Value) -> Done {
    tool(home, &["wikipedia"], url, name, &args).run()
}

fn said(home: &Home, url: &str, name: &str, args: Value) -> String {
    let output = run(home, url, name, args).expect(0);
    match name {
        "wiki_search" => unfenced(output.text()),
        _ => output.text().to_owned(),
    }
}

fn refused(home: &Home, url: &str, name: &str, args: Value) -> String {
    run(home, url, name, args).expect(1).errors()
}

#[test]
fn requests_follow_the_services_rules() {
    let home = Home::new();
    let server = Server::always(Answer::json(
        &json!({"query": {"search": [], "searchinfo": {"totalhits": 0, "suggestion": "a mill"}}}),
    ));
    let text = said(
        &home,
        &server.url(""),
        "wiki_search",
        json!({"query": " a\u{20}mil | ü ", "max_results": 2}),
    );
    assert_eq!(
        text,
        "Wikipedia has no articles for \"a mil | ü\". It suggests \"a mill\".\n"
    );
    let request = server.request(0);
    assert!(request.path.starts_with("/w/api.php?"), "{}", request.path);
    for (name, value) in [
        ("action", "query"),
        ("list", "search"),
        ("srsearch", "a%20mil%20%7C%20%C3%BC"),
        ("srlimit", "2"),
        ("maxlag", "5"),
        ("format", "json"),
    ] {
        assert_eq!(request.query(name), Some(value), "{name}");
    }
    request
        .header("user-agent")
        .unwrap()
        .assert_has(&["tests@example.org"]);
}

#[test]
fn invalid_titles_are_refused_without_a_request() {
    let (home, server) = (Home::new(), Server::start());
    for title in ["", "a|b", "[[x]]", "a/../b", "#only"] {
        for name in ["wiki_summary", "wiki_full"] {
            refused(&home, &server.url(""), name, json!({"title": title}))
                .assert_has(&["wiki_search"]);
        }
    }
    refused(&home, &server.url(""), "wiki_search", json!({"query": " "}));
    refused(
        &home,
        &server.url(""),
        "wiki_search",
        json!({"query": "x".repeat(100_000)}),
    )
    .assert_has(&["bytes long"]);
    refused(
        &home,
        &server.url(""),
        "wiki_grep",
        json!({"title": "Nothing", "pattern": "x"}),
    )
    .assert_has(&["not saved yet", "wiki_full"]);
}

#[test]
fn a_title_of_several_articles_lists_them() {
    let server = Server::answering(|request, _| {
        Answer::json(&if request
            .path
            .starts_with("/api/rest_v1/page/summary/Mill_wheel")
        {
            json!({"type": "disambiguation", "title": "Mill wheel", "extract": "Mill wheel may refer to:"})
        } else {
            json!({"query": {"search": [{"title": "Mill wheel", "snippet": ""}, {"title": "Water wheel", "snippet": "A <b>wheel</b>"}]}})
        })
    });
    let text = said(
        &Home::new(),
        &server.url(""),
        "wiki_summary",
        json!({"title": "Mill wheel#Use"}),
    );
    assert_eq!(
        text,
        "\"Mill wheel\" could mean several articles. Call wiki_summary with one of these titles:\n- Water wheel: A wheel\nWikipedia, CC BY-SA 4.0\n"
    );
}

#[test]
fn a_lagging_server_is_retried_once() {
    let server = Server::answering(|_, n| match n {
        0 => Answer::json(&json!({"error": {"code": "maxlag", "info": "busy"}}))
            .header("Retry-After", "0"),
        _ => Answer::json(&json!({"query": {"search": [{"title": "0", "snippet": null}]}})),
    });
    said(
        &Home::new(),
        &server.url(""),
        "wiki_search",
        json!({"query": "x"}),
    )
    .assert_has(&["Wikipedia: 1 article for \"x\":\n\n1. 0\n"]);
    let server = Server::always(
        Answer::json(&json!({"error": {"code": "maxlag", "info": "busy"}}))
            .header("Retry-After", "600"),
    );
    refused(
        &Home::new(),
        &server.url(""),
        "wiki_search",
        json!({"query": "x"}),
    )
    .assert_has(&["Try again in 600 s"]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_invalid_wiki_response_is_not_an_empty_result() {
    for (body, expected) in [
        ("[]", "cannot be read"),
        ("{\"query\": {}}", "sent an invalid answer"),
        (
            "{\"error\": {\"code\": \"internal_api_error_X\"}}",
            "internal_api_error_X",
        ),
    ] {
        let server = Server::always(Answer::text("application/json", body));
        let args = json!({"query": "x"});
        refused(&Home::new(), &server.url(""), "wiki_search", args).assert_has(&[expected]);
    }
}

#[test]
fn invalid_expressions_are_plain_text() {
    let home = Home::new();
    let server = Server::always(Answer::json(
        &json!({"query": {"pages": [{"title": "AC/DC", "extract": "One (two.\n\n\n\nThree\u{1b}[31m"}]}}),
    ));
    said(
        &home,
        &server.url(""),
        "wiki_full",
        json!({"title": "AC/DC"}),
    )
    .assert_has(&["/.cache/marvin/wiki/AC_DC ", "(3 words)"]);
    let text = said(
        &home,
        "http://127.0.0.1:1",
        "wiki_grep",
        json!({"title": "ac/dc", "pattern": "(two"}),
    );
    text.assert_has(&[
        "\"(two\" in \"AC/DC\": 1 line.",
        "not a valid regular expression",
        "> 1  One (two.",
    ]);
    let text = said(
        &home,
        "http://127.0.0.1:1",
        "wiki_grep",
        json!({"title": "AC/DC", "pattern": "four"}),
    );
    assert_eq!(text, "No line of \"AC/DC\" contains \"four\".\n");
}

#[test]
fn a_real_mediawiki_is_searched_read_and_saved() {
    let test = "a_real_mediawiki_is_searched_read_and_saved";
    let Ok(url) = std::env::var("MARVIN_TEST_MEDIAWIKI") else {
        skip(
            test,
            "MARVIN_TEST_MEDIAWIKI names no MediaWiki (scripts/mediawiki.sh starts one)",
        );
        return;
    };
    let home = Home::new();
    let text = said(&home, &url, "wiki_search", json!({"query": "mill"}));
    text.assert_has(&["for \"mill\":", "Tide mill", "dam", "CC BY-SA"]);
    text.assert_lacks(&["searchmatch", "&#039;"]);
    said(&home, &url, "wiki_search", json!({"query": "zzqxwv"})).assert_has(&["has no articles"]);
    said(&home, &url, "wiki_summary", json!({"title": "tidemill"})).assert_has(&[
        "Tide mill (asked for as \"tidemill\")",
        "/wiki/Tide_mill",
        "at a dam & a pond.",
    ]);
    said(&home, &url, "wiki_summary", json!({"title": "Mill"}))
        .assert_has(&["\"Mill\" could mean several articles", "- Tide mill: "]);
    said(
        &home,
        &url,
        "wiki_summary",
        json!({"title": "Köln/Mühle 水車"}),
    )
    .assert_has(&["Die Mühle heißt auch 水車"]);
    for title in ["Nope", "Special:Search"] {
        refused(&home, &url, "wiki_summary", json!({"title": title})).assert_has(&["no article"]);
    }
    refused(&home, &url, "wiki_full", json!({"title": "a%41b"}))
        .assert_has(&["cannot be an article's title", "invalid characters"]);
    said(&home, &url, "wiki_full", json!({"title": "Tidemill"}))
        .assert_has(&["Tide mill.txt", "It begins: A tide mill is a mill"]);
    said(
        &home,
        &url,
        "wiki_grep",
        json!({"title": "Tidemill", "pattern": "<falls>|\\b619\\b"}),
    )
    .assert_has(&[
        "2 lines",
        "== History ==",
        "in the year 619.",
        "the water <falls>.",
    ]);
    said(
        &home,
        &url,
        "wiki_full",
        json!({"title": "Köln/Mühle 水車"}),
    );
    said(
        &home,
        &url,
        "wiki_grep",
        json!({"title": "Köln/Mühle_水車", "pattern": "МЕЛЬНИЦА"}),
    )
    .assert_has(&["мельница"]);
}
