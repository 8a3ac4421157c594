//! Words, translations, feeds and money through the built binary, over real sockets, with feeds compared to what feedparser reads.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::{self, Sample, tool};
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, unfenced};

/// A tool's answer, whole.
pub(crate) fn says(run: Marvin) -> String {
    run.run().expect(0).text().trim_end().to_owned()
}

/// A tool's error on one line, after the seconds that it may take.
pub(crate) fn fails(run: Marvin) -> String {
    let output = run.limit(Duration::from_secs(10)).run().expect(1);
    output
        .errors()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn define(home: &Home, server: &Server, word: &str) -> Marvin {
    let args = json!({"word": word});
    tool(
        home,
        &["dictionaryapi"],
        &server.url(""),
        "dictionary_lookup",
        &args,
    )
}

fn translate(home: &Home, server: &Server, args: &Value) -> Marvin {
    tool(home, &["mymemory"], &server.url(""), "translate_text", args)
}

fn money(home: &Home, server: &Server, value: &str, from: &str, to: &str) -> Marvin {
    let args = json!({"value": value, "from_unit": from, "to_unit": to});
    tool(
        home,
        &["frankfurter"],
        &server.url(""),
        "convert_units",
        &args,
    )
}

#[test]
fn every_sample_of_the_dictionary() {
    let home = Home::new();
    let good = |sample: &Sample| unfenced(&says(define(&home, &sample.server(), "x")));
    let bad = |sample: &Sample| fails(define(&home, &sample.server(), "zzzqq"));
    samples::each(
        "dictionary",
        "dictionaryapi",
        &[
            ("hello.json", &|sample| {
                good(sample).assert_has(&[
                    "hello  həˈləʊ\nAudio: https://ssl.gstatic.com/",
                    "\nexclamation\n  1. used as a greeting",
                    "Example: hello there, Katie!",
                    "\nnoun\n",
                    "\nverb\n",
                ]);
            }),
            ("success.json", &|sample| {
                good(sample).assert_has(&[
                    "success  /səkˈsɛs/",
                    "  3. Something which",
                    "Antonyms: failure",
                    "Source: https://en.wiktionary.org/wiki/success (CC BY-SA 3.0)",
                ]);
            }),
            ("not-found.json", &|sample| {
                bad(sample).assert_has(&["No definition found for 'zzzqq'."]);
            }),
            ("rate-limited.txt", &|sample| {
                bad(sample).assert_has(&["Too many requests to", "again in 120 s"]);
            }),
            ("upstream-error.json", &|sample| {
                bad(sample).assert_has(&["failed (500): Upstream Server Failed."]);
            }),
        ],
    );
}

#[test]
fn a_word_goes_encoded_and_odd_answers_are_told() {
    let home = Home::new();
    let server = Server::always(Answer::json(
        &json!([{"word": "naïve/x", "meanings": [{"partOfSpeech": "noun", "definitions": [{"definition": "d"}]}]}]),
    ));
    let text = unfenced(&says(define(&home, &server, " naïve/x? ")));
    assert_eq!(text, "naïve/x\n\nnoun\n  1. d");
    assert_eq!(
        server.request(0).path,
        "/api/v2/entries/en/na%C3%AFve%2Fx%3F"
    );
    for (answer, expected) in [
        (Answer::json(&json!([])), "No definition found for 'x'."),
        (
            Answer::json(&json!({"title": "No Definitions Found"})),
            "No definition found for 'x'.",
        ),
        (Answer::json(&json!({"message": "x"})), "cannot be read"),
        (
            Answer::text("text/html", "<html>wrong place").with_status(404),
            "does not have this (404)",
        ),
        (
            Answer::text("text/html", "<html>down").with_status(502),
            "failed (502)",
        ),
        (
            Answer::text("text/html", "<html>portal"),
            "a web page where data was promised",
        ),
        (
            Answer::json(&json!({"message": "limit"})).with_status(429),
            "Too many requests to",
        ),
        (
            Answer::text("application/json", "[".repeat(10_000)),
            "cannot be read",
        ),
    ] {
        let server = Server::always(answer);
        fails(define(&home, &server, "x")).assert_has(&[expected]);
    }
    let server = Server::start();
    for word in [String::new(), " ".to_owned(), "x".repeat(100_000)] {
        fails(define(&home, &server, &word));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn every_sample_of_the_translations() {
    let home = Home::new();
    let args = json!({"text": "hello world", "target_language": "pt-BR", "source_language": "en"});
    let auto = json!({"text": "hello world", "target_language": "chinese"});
    let bad = |sample: &Sample| {
        let output = fails(translate(&home, &sample.server(), &args));
        output.assert_lacks(&["PLEASE SELECT", "MYMEMORY WARNING"]);
        output
    };
    samples::each(
        "translations",
        "mymemory",
        &[
            ("hello-pt-br.json", &|sample| {
                let text = says(translate(&home, &sample.server(), &args));
                assert_eq!(
                    text,
                    "English → Brazilian Portuguese, confidence 100 % (MyMemory)\nolá mundo"
                );
            }),
            ("autodetect-zh.json", &|sample| {
                let server = sample.server();
                let text = says(translate(&home, &server, &auto));
                assert_eq!(
                    text,
                    "English (detected) → Chinese, confidence 100 % (MyMemory)\n你好，世界"
                );
                server.request(0).path.assert_has(&[
                    "q=hello%20world",
                    "langpair=autodetect%7Czh",
                    "de=tests%40example.org",
                ]);
            }),
            ("same-language.json", &|sample| {
                bad(sample).assert_has(&["already", "Name the source language"]);
            }),
            ("invalid-email.json", &|sample| {
                bad(sample).assert_has(&["contact", "MARVIN_CONTACT"]);
            }),
            ("quota.json", &|sample| {
                bad(sample).assert_has(&["used up", "18 h 10 min 39 s"]);
            }),
            ("too-long.json", &|sample| {
                bad(sample).assert_has(&["too long"]);
            }),
            ("http-redirect.txt", &|sample| {
                let page = sample.bytes.clone();
                let server = Server::answering(move |request, _| {
                    match request.path.starts_with("/get") {
                        true => Answer::text("text/html", page.clone())
                            .with_status(301)
                            .header("Location", "/moved"),
                        false => Answer::json(
                            &json!({"responseData": {"translatedText": "ola", "match": 0.5}, "responseStatus": 200}),
                        ),
                    }
                });
                says(translate(&home, &server, &args)).assert_has(&["confidence 50 %", "\nola"]);
            }),
        ],
    );
}

#[test]
fn long_text_is_translated_in_chunks_and_joined_in_order() {
    let home = Home::new();
    let echo = |request: &crate::support::server::Request| {
        let query = request
            .path
            .split(['?', '&'])
            .find_map(|pair| pair.strip_prefix("q="))
            .unwrap_or_default();
        let text = marvin::testing::address::decoded(query);
        assert!(text.len() <= 500, "{} bytes", text.len());
        text
    };
    let server = Server::answering(move |request, n| {
        let text = echo(request).to_uppercase();
        Answer::json(
            &json!({"responseData": {"translatedText": text, "match": 1.0 - n as f64 / 10.0}, "responseStatus": 200}),
        )
    });
    let text: String = (0..30)
        .map(|n| format!("Sätze gibt es viele, dies ist der {n}te.\n"))
        .collect();
    let out = says(translate(
        &home,
        &server,
        &json!({"text": text, "target_language": "en", "source_language": "de"}),
    ));
    assert_eq!(server.requests().len(), 3);
    out.assert_has(&[
        "German → English, confidence at least 80 % (MyMemory)\nText of MyMemory, between",
        text.to_uppercase().trim_end(),
    ]);
    let failing = Server::answering(|_, n| match n {
        0 => Answer::json(
            &json!({"responseData": {"translatedText": "FIRST"}, "responseStatus": 200}),
        ),
        _ => Answer::json(
            &json!({"responseData": {"translatedText": "x"}, "responseStatus": 200, "quotaFinished": true}),
        ),
    });
    fails(translate(
        &home,
        &failing,
        &json!({"text": text, "target_language": "en", "source_language": "de"}),
    ))
    .assert_has(&["used up", "The first 1 of 3 parts were translated", "FIRST"]);
    let nobody = Server::start();
    for args in [
        json!({"text": "x".repeat(100_000), "target_language": "en"}),
        json!({"text": " ", "target_language": "en"}),
        json!({"text": "x", "target_language": "klingon"}),
        json!({"text": "x", "target_language": "en", "source_language": "English"}),
        json!({"text": "x", "target_language": "en|de"}),
    ] {
        fails(translate(&home, &nobody, &args));
    }
    assert!(nobody.requests().is_empty());
}

#[test]
fn every_sample_of_the_rates() {
    let home = Home::new();
    let first = |sample: &Sample| says(money(&home, &sample.server(), "100", "usd", "eur"));
    samples::each(
        "rates",
        "frankfurter",
        &[
            ("v1-usd-eur.json", &|sample| {
                let server = sample.server();
                let text = says(money(&home, &server, "100", "usd", "€"));
                assert_eq!(
                    text,
                    "100 USD = 85.46 EUR\nRate of 2026-04-30: 1 USD = 0.85455 EUR (Frankfurter)"
                );
                assert_eq!(server.request(0).path, "/v1/latest?base=USD&symbols=EUR");
            }),
            ("v1-usd-eur-gbp.json", &|sample| {
                first(sample).assert_has(&["100 USD = 85.46 EUR", "2026-04-30"]);
            }),
            ("old-host-redirect.txt", &|_| {
                let server = Server::answering(|request, _| {
                    match request.path.starts_with("/v1/latest?base") {
                        true => Answer::status(301).header("Location", "/v1/moved?from=USD"),
                        false => Answer::json(
                            &json!({"amount": 1, "base": "USD", "date": "2026-04-30", "rates": {"EUR": 2}}),
                        ),
                    }
                });
                let text = says(money(&home, &server, "1.5", "dollars", "euro"));
                assert_eq!(
                    text,
                    "1.5 USD = 3.00 EUR\nRate of 2026-04-30: 1 USD = 2 EUR (Frankfurter)"
                );
            }),
            ("not-found.json", &|sample| {
                let server = sample.server();
                fails(money(&home, &server, "5", "XYZ", "EUR")).assert_has(&[
                    "unknown conversion: there is no rate for XYZ",
                    "km, mi",
                    "EUR, USD",
                ]);
                assert!(server.requests().is_empty());
                fails(money(&home, &server, "5", "BTN", "EUR"))
                    .assert_has(&["unknown conversion: there is no rate for BTN to EUR"]);
                assert_eq!(server.request(1).path, "/v2/rate/BTN/EUR");
            }),
            ("same-currency.json", &|sample| {
                let server = sample.server();
                assert_eq!(
                    says(money(&home, &server, "5", "eur", "€")),
                    "5 EUR = 5 EUR (the same currency)"
                );
                assert!(server.requests().is_empty());
            }),
            ("currencies.json", &|sample| {
                fails(money(&home, &sample.server(), "5", "usd", "eur"))
                    .assert_has(&["cannot be read"]);
            }),
            ("v2-rate.json", &|sample| {
                let body = sample.bytes.clone();
                let server = Server::answering(move |request, _| match request.path.as_str() {
                    "/v2/rate/EUR/USD" => Answer::text("application/json", body.clone()),
                    _ => Answer::json(
                        &json!({"amount": 1.0, "base": "EUR", "date": "2026-03-25", "rates": {}}),
                    ),
                });
                let text = says(money(&home, &server, "€10", "EUR", "USD"));
                assert_eq!(
                    text,
                    "10 EUR = 11.57 USD\nRate of 2026-03-25: 1 EUR = 1.1568 USD (Frankfurter)"
                );
            }),
        ],
    );
}

#[test]
fn rates_that_cannot_be_had_say_why() {
    let home = Home::new();
    for (answer, expected) in [
        (
            Answer::json(&json!({"message": "x"})).with_status(503),
            "failed (503): x.",
        ),
        (
            Answer::text("text/html", "<html>"),
            "a web page where data was promised",
        ),
        (
            Answer::text("text/html", "<html>").with_status(404),
            "does not have this (404)",
        ),
        (
            Answer::json(&json!({"rates": {"EUR": 0}})),
            "cannot be read",
        ),
        (
            Answer::json(&json!({"rates": {"EUR": "x"}})),
            "cannot be read",
        ),
        (Answer::json(&json!([])), "cannot be read"),
    ] {
        let server = Server::always(answer);
        fails(money(&home, &server, "5", "USD", "EUR")).assert_has(&[expected]);
    }
    let yen = Server::always(Answer::json(&json!({"rates": {"JPY": 156.789}})));
    assert_eq!(
        says(money(&home, &yen, "100", "USD", "yen")),
        "100 USD = 15679 JPY\nRate: 1 USD = 156.789 JPY (Frankfurter)"
    );
}

#[test]
fn phrases_call_the_tools_without_a_model() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.path.starts_with("/get") {
        true => Answer::json(
            &json!({"responseData": {"translatedText": "ciao"}, "responseStatus": 200}),
        ),
        false => Answer::json(
            &json!([{"word": "tide", "meanings": [{"definitions": [{"definition": "d"}]}]}]),
        ),
    });
    for (prompt, expected) in [
        ("define tide", "1. d"),
        ("translate hello to Italian", "ciao"),
    ] {
        let run = home
            .marvin()
            .args([
                "--non-interactive",
                "--provider",
                "offline",
                "--prompt",
                prompt,
            ])
            .env("MARVIN_URL_DICTIONARYAPI", server.url(""))
            .env("MARVIN_URL_MYMEMORY", server.url(""));
        run.prints(&[expected]);
    }
}
