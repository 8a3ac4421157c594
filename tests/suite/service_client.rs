//! The service client: rate limits, retries, cached answers, size limits, redirects, and independent cancellation.

use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use marvin::testing::services::{ServiceClient, ServiceResponse as Got, service};
use marvin::testing::{Cancel, Env};
use serde_json::json;

use crate::support::latch::Latch;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::words::TextAssertions;

fn out(server: &Server) -> ServiceClient {
    let url = server.url("");
    ServiceClient::new(
        &Env::from([
            ("MARVIN_URL_OMDB", url.as_str()),
            ("MARVIN_URL_NOMINATIM", url.as_str()),
            ("MARVIN_URL_STACKEXCHANGE", url.as_str()),
        ]),
        None,
    )
}

fn get(out: &ServiceClient, path: &str) -> Got {
    out.request(service("omdb").unwrap(), None, &Cancel::new())
        .path(path)
        .get()
        .unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn requests_name_marvin_and_its_contact_and_share_a_connection() {
    let server = Server::always(Answer::json(&json!({"ok": true})));
    let out = out(&server);
    for _ in 0..3 {
        let stop = Cancel::new();
        let ask = out.request(
            service("omdb").unwrap(),
            Some("me@x.test".to_owned()),
            &stop,
        );
        ask.path("/").query("s", "a b").get().unwrap();
    }
    assert_eq!(server.connections(), 1);
    let request = server.request(0);
    let agent = request.header("user-agent").unwrap();
    assert!(
        agent.starts_with("Marvin/") && agent.ends_with("(+me@x.test)"),
        "{agent}"
    );
    assert_eq!(request.path, "/?s=a%20b");
}

#[test]
fn a_retry_happens_once_and_only_after_a_short_known_wait() {
    for (wait, tries) in [(Some("0"), 2), (Some("600"), 1), (None, 1)] {
        let server = Server::answering(move |_, _| {
            let answer = Answer::status(503);
            wait.map_or(Answer::status(503), |wait| {
                answer.header("Retry-After", wait)
            })
        });
        let out = out(&server);
        assert_eq!(get(&out, "/").status, 503);
        assert_eq!(server.requests().len(), tries, "{wait:?}");
        if wait == Some("600") {
            let problem = out
                .request(service("omdb").unwrap(), None, &Cancel::new())
                .get()
                .unwrap_err();
            problem.what.assert_has(&["asked for a pause"]);
            assert_eq!(server.requests().len(), tries);
        }
    }
}

#[test]
fn bodies_are_decompressed_and_bounded() {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(b"{\"a\": 1}").unwrap();
    let zlib = zlib.finish().unwrap();
    let server = Server::answering(move |request, _| match request.path.as_str() {
        "/gzip" => {
            Answer::text("application/json", gzip(b"{\"a\": 1}")).header("Content-Encoding", "gzip")
        }
        "/lost" => Answer::text("application/json", gzip(b"{\"a\": 1}")),
        "/deflate" => {
            Answer::text("application/json", zlib.clone()).header("Content-Encoding", "deflate")
        }
        "/bomb" => Answer::text("application/json", gzip(&vec![b' '; 50 << 20]))
            .header("Content-Encoding", "gzip"),
        "/hidden-bomb" => Answer::text("application/json", gzip(&vec![b' '; 50 << 20])),
        "/cut" => Answer::text("application/json", &gzip(b"{\"a\": 1}")[..12]),
        _ => Answer::text("application/json", vec![b' '; 9 << 20]),
    });
    let out = out(&server);
    for path in ["/gzip", "/lost", "/deflate"] {
        assert_eq!(get(&out, path).value(), Some(json!({"a": 1})), "{path}");
    }
    for (path, expected) in [
        ("/bomb", "more than 8 MB"),
        ("/hidden-bomb", "more than 8 MB"),
        ("/large", "more than 8 MB"),
        ("/cut", "cannot be decompressed"),
    ] {
        let stop = Cancel::new();
        let problem = out
            .request(service("stackexchange").unwrap(), None, &stop)
            .path(path)
            .get()
            .unwrap_err();
        assert!(problem.what.contains(expected), "{path}: {}", problem.what);
    }
}

#[test]
fn redirects_stay_with_the_service_or_are_judged_like_any_address() {
    let elsewhere = Server::start().lenient();
    let away = elsewhere.url("/secret");
    let server = Server::answering(move |request, _| match request.path.as_str() {
        "/v1/moved?apikey=hunter2hunter2" => Answer::status(301).header("Location", "/v2/here"),
        "/v2/here" => Answer::json(&json!({"here": true})),
        "/loop" => Answer::status(302).header("Location", "/loop"),
        _ => Answer::status(302).header("Location", &away),
    });
    let out = out(&server);
    let stop = Cancel::new();
    let ask = || out.request(service("omdb").unwrap(), None, &stop);
    let moved = ask()
        .path("/v1/moved")
        .secret_query("apikey", "hunter2hunter2")
        .get()
        .unwrap();
    assert_eq!(moved.value(), Some(json!({"here": true})));
    ask()
        .path("/loop")
        .get()
        .unwrap_err()
        .what
        .assert_has(&["redirects more than"]);
    let problem = ask().path("/away").get().unwrap_err();
    problem.what.assert_has(&["OMDb redirects"]);
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_cancelled_request_ends_alone() {
    let latch = Latch::new();
    let held = latch.clone();
    let server = Server::with([
        Exchange::get("/held").by(move |_, _| {
            Answer::text("text/plain", "a")
                .chunked()
                .pause(&held)
                .send("b")
        }),
        Exchange::get("/stalled").by(|_, _| Answer::silence()),
    ]);
    let out = Arc::new(out(&server));
    let other = Arc::clone(&out);
    let held = thread::spawn(move || get(&other, "/held").text());
    server.wait_requests(1, Duration::from_secs(5));
    let stop = Cancel::new();
    let (mine, own) = (Arc::clone(&out), stop.clone());
    let stalled = thread::spawn(move || {
        mine.request(service("omdb").unwrap(), None, &own)
            .path("/stalled")
            .get()
    });
    server.wait_requests(2, Duration::from_secs(5));
    stop.fire();
    assert!(stalled.join().unwrap().unwrap_err().is_cancelled());
    latch.open();
    assert_eq!(held.join().unwrap(), "ab");
}

#[test]
fn successful_responses_are_cached_and_refusals_of_any_status_are_not() {
    let server = Server::answering(|request, n| match (request.path.as_str(), n) {
        ("/page", 4) => Answer::text("text/html", "<html>Blocked</html>"),
        ("/error", _) => Answer::json(&json!({"error": "overloaded"})),
        ("/message", _) => Answer::json(&json!({"message": "Too many requests"})),
        ("/empty", _) => Answer::status(200),
        ("/bad", _) => Answer::status(500).send("{}"),
        _ => Answer::json(&json!({"ok": 1, "error": null, "message": ""})),
    });
    let out = out(&server);
    let stop = Cancel::new();
    for (path, asked) in [
        ("/good", 1),
        ("/bad", 3),
        ("/page", 2),
        ("/error", 3),
        ("/message", 3),
        ("/empty", 3),
    ] {
        let before = server.requests().len();
        for _ in 0..3 {
            let ask = out
                .request(service("omdb").unwrap(), None, &stop)
                .path(path);
            ask.cache_for(Duration::from_secs(60)).get().unwrap();
        }
        assert_eq!(server.requests().len() - before, asked, "{path}");
    }
}

#[test]
fn an_invalid_redirect_is_a_service_error() {
    for to in [
        "ftp://x.test/?apikey=hunter2hunter2",
        "http://[::bad/?apikey=hunter2hunter2",
    ] {
        let server = Server::always(Answer::status(302).header("Location", to));
        let out = out(&server);
        let stop = Cancel::new();
        let ask = out.request(service("omdb").unwrap(), None, &stop);
        let problem = ask
            .secret_query("apikey", "hunter2hunter2")
            .get()
            .unwrap_err();
        let line = problem.one_line();
        assert!(
            line.starts_with("OMDb redirects to an invalid web address"),
            "{line}"
        );
        line.assert_lacks(&["hunter2"]);
        assert_eq!(problem.kind, marvin::testing::ProblemKind::Network);
    }
}

#[test]
fn json_in_another_charset_is_read() {
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/said" => Answer::text(
            "application/json; charset=iso-8859-1",
            b"{\"a\": \"caf\xe9\"}",
        ),
        _ => Answer::text("application/json", b"{\"a\": \"caf\xe9\"}"),
    });
    let out = out(&server);
    assert_eq!(get(&out, "/said").value(), Some(json!({"a": "café"})));
    assert!(get(&out, "/silent").value().is_some());
}

#[test]
fn waits_are_written_in_plain_words() {
    for (header, expected) in [
        ("30", "Try again in 30 s."),
        ("67194", "Try again in 19 hours."),
        ("999999999999999", "Try again another day."),
    ] {
        let server = Server::always(Answer::status(429).header("Retry-After", header));
        let out = out(&server);
        let problem = get(&out, "/").refused(None);
        assert_eq!(problem.next, [expected], "{header}");
    }
}
