//! Odd answers of Stack Exchange and MyMemory through the real binary: refusals without words, limits, and advice that would not help.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::words::TextAssertions;

const ALL: [&str; 2] = ["stackexchange", "mymemory"];

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
