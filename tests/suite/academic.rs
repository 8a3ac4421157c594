//! Papers through the real binary: Semantic Scholar and arXiv by made-up answers, and with bad input.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::samples::{samples, tool};
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::{TextAssertions, unfenced};

const BOTH: [&str; 2] = ["semantic-scholar", "arxiv"];

fn said(url: &str, name: &str, args: Value) -> String {
    let output = tool(&Home::new(), &BOTH, url, name, &args).run().expect(0);
    unfenced(output.text())
}

fn refused(url: &str, name: &str, args: Value) -> String {
    tool(&Home::new(), &BOTH, url, name, &args)
        .run()
        .expect(1)
        .errors()
}

fn atom(total: u32, entries: &str) -> Answer {
    Answer::text(
        "application/atom+xml",
        format!(
            "<feed xmlns:o='x'><title>own</title><o:totalResults>{total}</o:totalResults>{entries}</feed>"
        ),
    )
}

#[test]
fn a_busy_pool_is_retried_with_valid_requests() {
    let server = Server::answering(|_, n| match n {
        0 => Answer::json(&json!({"message": "Too Many", "code": "429"})).with_status(429),
        _ => Answer::json(&json!({"total": 1, "data": [{"title": "T", "abstract": "a\nb"}, null]})),
    });
    let args = json!({"query": "graph-neural  nets", "year_max": 2015, "open_access_only": true});
    let text = tool(&Home::new(), &BOTH, &server.url(""), "search_papers", &args)
        .env("SEMANTIC_SCHOLAR_API_KEY", "secret-key-1")
        .run()
        .expect(0);
    assert_eq!(
        unfenced(text.text()),
        "Semantic Scholar: 1 paper for \"graph neural nets\" until 2015 with a free PDF:\n\n1. T\n   a b\n"
    );
    let request = server.request(1);
    assert!(
        request.path.starts_with(
            "/graph/v1/paper/search?query=graph%20neural%20nets&limit=5&fields=title%2C"
        ),
        "{}",
        request.path
    );
    assert!(
        request.path.ends_with("&year=-2015&openAccessPdf"),
        "{}",
        request.path
    );
    assert_eq!(request.header("x-api-key"), Some("secret-key-1"));
}

#[test]
fn refusals_of_semantic_scholar_are_reported() {
    for (status, body, expected) in [
        (403, json!({"message": "Forbidden"}), "(403): Forbidden."),
        (404, json!({"error": "gone"}), "(404): gone."),
        (200, json!({"message": "odd"}), "odd"),
        (200, json!([]), "cannot be read"),
    ] {
        let server = Server::always(Answer::json(&body).with_status(status));
        refused(&server.url(""), "search_papers", json!({"query": "x"})).assert_has(&[expected]);
    }
    let server = Server::start();
    for args in [
        json!({"query": " - "}),
        json!({"query": "x", "year_min": 2020, "year_max": 2010}),
        json!({"query": "x", "year_min": -1}),
    ] {
        refused(&server.url(""), "search_papers", args);
    }
}

/// Takes the three seconds between two requests to arXiv.
fn an_empty_page_is_requested_again() {
    let server = Server::answering(|_, n| match n {
        0 => atom(5, ""),
        _ => atom(
            5,
            "<entry><id>http://a.test/abs/1</id><title>0</title><summary>This paper has been withdrawn.</summary></entry>",
        ),
    });
    let text = said(
        &server.url(""),
        "search_arxiv",
        json!({"query": "deep learning", "sort_by": "lastUpdatedDate"}),
    );
    assert_eq!(
        text,
        "arXiv: 1 of 5 papers for \"deep learning\", last updated first:\n\n1. 0 (withdrawn)\n   http://a.test/abs/1\n   No PDF\n   This paper has been withdrawn.\n"
    );
    assert_eq!(
        server.request(0).path,
        "/api/query?search_query=all%3Adeep%20AND%20all%3Alearning&start=0&max_results=5&sortBy=lastUpdatedDate&sortOrder=descending"
    );
}

#[test]
fn a_bad_or_empty_arxiv_response_is_asked_for_again_and_not_an_empty_result() {
    // Side by side, because each asks again after three seconds.
    std::thread::scope(|scope| {
        scope.spawn(an_empty_page_is_requested_again);
        for (status, body, expected) in [
            (200, "Rate exceeded.", "Rate exceeded"),
            (503, "<html><body>busy</body></html>", "failed (503)"),
            (200, "{}", "cannot be read"),
        ] {
            scope.spawn(move || {
                let server = Server::always(Answer::text("text/plain", body).with_status(status));
                refused(&server.url(""), "search_arxiv", json!({"query": "x"}))
                    .assert_has(&[expected]);
                assert_eq!(server.requests().len(), 2, "{body}");
            });
        }
    });
    let server = Server::start();
    for query in ["", "()", &"x ".repeat(50_000)] {
        refused(&server.url(""), "search_arxiv", json!({"query": query}));
    }
}

/// feedparser reads the same samples: titles, links and authors must agree.
#[test]
fn another_feed_parser_agrees_on_arxiv() {
    let test = "another_reader_of_feeds_agrees_on_arxiv";
    let python = std::env::var("MARVIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import feedparser"])
        .output();
    if !found.is_ok_and(|output| output.status.success()) {
        skip(
            test,
            "no Python with feedparser (MARVIN_TEST_PYTHON names one)",
        );
        return;
    }
    let Some(samples) = samples(test, "arxiv") else {
        return;
    };
    let script = "import feedparser,json,sys\nfor e in feedparser.parse(sys.stdin.buffer.read()).entries:\n  print(json.dumps([' '.join(e.title.split()), next((l.href for l in e.links if l.get('title')=='pdf'), ''), [a.name for a in e.authors][:4], e.published[:10]]))";
    for sample in samples.iter().filter(|sample| sample.status == 200) {
        let home = Home::new();
        let file = home.write("feed.xml", &sample.bytes);
        let output = Command::new(&python)
            .args(["-c", script])
            .stdin(std::fs::File::open(file).unwrap())
            .output()
            .unwrap();
        let text = said(
            &sample.server().url(""),
            "search_arxiv",
            json!({"query": "x", "max_results": 20}),
        );
        let rows: Vec<Value> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect();
        assert_eq!(text.matches("\n   PDF: ").count(), rows.len(), "{text}");
        for row in &rows {
            let names: Vec<&str> = row[2]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let word = |n: usize| row[n].as_str().unwrap();
            text.assert_has(&[
                &format!(". {}\n", word(0)),
                &format!("PDF: {}\n", word(1)),
                &names.join(", "),
                &format!(" · {}", word(3)),
            ]);
        }
    }
}
