//! Odd answers of the reference services through the real binary: refusals with status 200, wrong rates, half-empty bodies, retries.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::words::TextAssertions;

const ALL: [&str; 7] = [
    "wikipedia",
    "semantic-scholar",
    "arxiv",
    "stackexchange",
    "mymemory",
    "dictionaryapi",
    "frankfurter",
];

/// A tool's output, and its number of requests, when the server gives these answers in turn, repeating the last one.
fn printed(name: &str, args: &Value, answers: Vec<Answer>) -> (String, usize) {
    let server = Server::answering(move |_, n| answers[n.min(answers.len() - 1)].clone());
    let output = tool(&Home::new(), &ALL, &server.url(""), name, args).run();
    let text = output.output();
    (text.trim_end().to_owned(), server.requests().len())
}

fn one(name: &str, args: Value, body: &Value) -> String {
    printed(name, &args, vec![Answer::json(body)]).0
}

#[test]
fn a_lagging_wikipedia_is_asked_twice_at_most_whatever_the_first_answer_was() {
    let lag = || {
        Answer::json(&json!({"error": {"code": "maxlag", "info": "Waiting"}}))
            .header("Retry-After", "0")
    };
    let busy = || Answer::status(503).header("Retry-After", "0");
    for answers in [vec![busy(), lag()], vec![lag(), busy()], vec![lag()]] {
        let (text, count) = printed("wiki_search", &json!({"query": "tide"}), answers);
        assert_eq!(count, 2, "{text}");
        text.assert_has(&["Error: Wikipedia"]);
    }
}

#[test]
fn a_failed_wikipedia_response_blames_nobody() {
    let found = |body: Value| one("wiki_search", json!({"query": "tide"}), &body);
    for body in [
        json!({"query": {"searchinfo": {"totalhits": 5}, "search": [null, {"title": null}]}}),
        json!({"query": {"searchinfo": {"totalhits": 5}, "search": []}}),
    ] {
        found(body).assert_has(&["Error: Wikipedia sent an invalid answer to a search"]);
    }
    let none = json!({"query": {"searchinfo": {"totalhits": 0}, "search": []}});
    found(none).assert_has(&["Wikipedia has no articles for \"tide\"."]);
    for body in [
        json!({"error": {}}),
        json!({"error": "oops"}),
        json!({"errors": [{"code": "x"}]}),
    ] {
        let text = found(body);
        text.assert_lacks(&["unknown"]);
        text.assert_has(&["Error: Wikipedia", "Try again later"]);
    }
    let failed = Answer::json(&json!({"error": {"code": 5, "message": "x"}})).with_status(504);
    let failed = failed.header("Retry-After", "600");
    let (text, _) = printed("wiki_search", &json!({"query": "tide"}), vec![failed]);
    text.assert_has(&["Wikipedia failed (504)", "10 minutes"]);
    for pages in [json!([null]), json!("x"), Value::Null] {
        one(
            "wiki_full",
            json!({"title": "Tide"}),
            &json!({"query": {"pages": pages}}),
        )
        .assert_has(&["cannot be read"]);
    }
}

#[test]
fn a_failed_paper_search_is_not_an_empty_result() {
    let papers = |body: Value| one("search_papers", json!({"query": "x"}), &body);
    for body in [
        json!({"total": 5, "offset": 0}),
        json!({"total": 1, "data": {"a": 1}}),
        json!({"total": 2, "data": [null, null]}),
    ] {
        papers(body).assert_has(&["Error: Semantic Scholar"]);
    }
    papers(json!({"total": 0, "offset": 0})).assert_has(&["has no papers"]);
    papers(json!({"message": "Too Many Requests"}))
        .assert_has(&["Error: Semantic Scholar refused the request: Too Many Requests."]);
}

#[test]
fn arxiv_is_asked_twice_at_most_and_its_failures_are_its_own() {
    let ask = |answers| printed("search_arxiv", &json!({"query": "x"}), answers);
    let at_once = Answer::status(503).header("Retry-After", "0");
    let (text, count) = ask(vec![at_once]);
    assert_eq!(count, 2, "{text}");
    let atom = |entry: &str| {
        Answer::text(
            "application/atom+xml",
            format!("<feed><totalResults>1</totalResults><entry>{entry}</entry></feed>"),
        )
    };
    let error =
        "<id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>broken</summary>";
    let (text, _) = ask(vec![
        atom(error).with_status(500).header("Retry-After", "600"),
    ]);
    text.assert_has(&["arXiv failed (500): broken."]);
    let (text, _) = ask(vec![atom(
        "<id>http://arxiv.org/abs/1</id><title>Troops</title><summary>Troops were withdrawn in 1990.</summary>",
    )]);
    text.assert_has(&["1. Troops\n"]);
    let (text, _) = ask(vec![atom(
        "<id>http://arxiv.org/abs/1</id><title>Gone</title><summary>This paper has been withdrawn.</summary>",
    )]);
    text.assert_has(&["1. Gone (withdrawn)\n"]);
}

#[test]
fn stack_exchange_without_words_and_without_items_that_can_be_read() {
    let search = |answer| printed("stack_search", &json!({"query": "x"}), vec![answer]);
    for (error, status) in [
        (
            json!({"error_id": 502, "error_name": "throttle_violation"}),
            400,
        ),
        (json!({"error_id": 400, "error_name": "bad_parameter"}), 400),
        (json!({"error_id": 403, "error_name": "access_denied"}), 403),
        (
            json!({"error_id": 500, "error_name": "internal_error"}),
            200,
        ),
    ] {
        let (text, _) = search(Answer::json(&error).with_status(status));
        text.assert_lacks(&[": ."]);
        text.assert_has(&["Stack Exchange", "_"]);
    }
    let (text, count) = search(Answer::status(429).header("Retry-After", "0"));
    assert_eq!(count, 1, "{text}");
    for name in ["stack_search", "stack_answers"] {
        let args = json!({"query": "x", "question_id": 5});
        let keep = if name == "stack_search" {
            "query"
        } else {
            "question_id"
        };
        let args = json!({keep: args[keep]});
        one(
            name,
            args,
            &json!({"items": [null, "x"], "quota_remaining": 9}),
        )
        .assert_has(&["cannot be read"]);
    }
}

#[test]
fn a_warning_of_few_requests_does_not_ask_for_a_key_that_is_set() {
    let server = Server::always(Answer::json(&json!({"items": [], "quota_remaining": 9})));
    let args = json!({"query": "x"});
    let home = Home::new();
    let run = tool(&home, &ALL, &server.url(""), "stack_search", &args);
    let text = run
        .env("STACKEXCHANGE_KEY", "a-key-of-mine")
        .run()
        .expect(0);
    assert_eq!(
        text.text().lines().last().unwrap(),
        "Only 9 requests are left today."
    );
}

#[test]
fn a_configured_mail_address_is_not_requested() {
    let body = json!({"responseData": {"translatedText": "MYMEMORY WARNING: ALL USED"}, "responseStatus": 200});
    let args = json!({"text": "good", "target_language": "it"});
    let text = one("translate_text", args.clone(), &body);
    text.assert_has(&["used up for now"]);
    text.assert_lacks(&["MARVIN_CONTACT"]);
    let server = Server::always(Answer::json(&body));
    let home = Home::new();
    let run = tool(&home, &ALL, &server.url(""), "translate_text", &args);
    let output = run.env("MARVIN_CONTACT", "https://x.test/me").run();
    output.stderr_has(&["MARVIN_CONTACT set to an e-mail address"]);
}

#[test]
fn an_unreadable_dictionary_response_is_not_a_missing_word() {
    let define = |body: Value| one("dictionary_lookup", json!({"word": "tide"}), &body);
    for body in [
        json!([null]),
        json!([{"title": "error"}]),
        json!([{"word": "tide", "meanings": "x"}]),
    ] {
        define(body).assert_has(&["cannot be read"]);
    }
    for body in [json!([]), json!([{"word": "tide", "meanings": []}])] {
        define(body).assert_has(&["No definition found for 'tide'."]);
    }
    define(json!({"title": "API Rate Limit Exceeded"}))
        .assert_has(&["refused the request: API Rate Limit Exceeded."]);
    let gone = Answer::json(&json!({"message": "Not found"})).with_status(404);
    let (text, _) = printed("dictionary_lookup", &json!({"word": "tide"}), vec![gone]);
    text.assert_has(&["No definition found for 'tide'."]);
}

#[test]
fn a_rate_of_another_pair_is_rejected() {
    let args = json!({"value": 5, "from_unit": "usd", "to_unit": "eur"});
    let rate = |first: Value, second: Value| {
        let answers = vec![Answer::json(&first), Answer::json(&second)];
        printed("convert_units", &args, answers).0
    };
    let none = json!({"amount": 1, "base": "USD", "rates": {}});
    for (first, second) in [
        (
            json!({"amount": 1, "base": "GBP", "rates": {"EUR": 0.8}}),
            none.clone(),
        ),
        (
            none.clone(),
            json!({"base": "EUR", "quote": "USD", "rate": 0.5}),
        ),
        (
            none.clone(),
            json!({"base": "USD", "quote": "GBP", "rate": 0.5}),
        ),
    ] {
        rate(first, second).assert_has(&["cannot be read"]);
    }
    rate(none, json!({"base": "usd", "quote": "EUR", "rate": 0.5}))
        .assert_has(&["5 USD = 2.50 EUR"]);
    rate(json!({"message": "suspended"}), Value::Null)
        .assert_has(&["Frankfurter refused the request: suspended."]);
}
