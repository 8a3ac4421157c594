//! Words, translations, feeds and money through the built binary, over real sockets, with feeds compared to what feedparser reads.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::tool;
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
fn rates_that_cannot_be_had_say_why() {
    let home = Home::new();
    for (answer, expected) in [
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
