//! Servers between Marvin and a model that do not take every member of a request, and OpenRouter, through the real binary.

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Request, Server};
use crate::support::wire::{anthropic, ollama, openai, responses};
use crate::support::words::TextAssertions;

fn marvin(home: &Home, server: &Server, provider: &str, model: &str) -> Marvin {
    home.marvin()
        .with_provider(provider, server.url("/v1"), model)
}

/// The 400 of LiteLLM's proxy before a server that forbids unknown members.
fn forbids(member: &str) -> Answer {
    let inner = json!({"message": format!("The model returned the following errors: {member}: Extra inputs are not permitted")});
    let message = format!(
        "litellm.BadRequestError: BedrockException - {inner}. Received Model Group=claude\nAvailable Model Group Fallbacks=None"
    );
    let error = json!({"message": message, "type": "None", "param": "None", "code": "400"});
    Answer::status(400).and_json(&json!({"error": error}))
}

/// Whether a request has a member of this name, at its top or in the parts of its messages.
fn has(request: &Request, member: &str) -> bool {
    request.text().contains(&format!("\"{member}\":"))
}

/// A server that forbids `members`, one after the other.
fn strict(members: &'static [&'static str], answer: fn() -> Answer) -> Server {
    Server::answering(move |request, _| {
        let forbidden = members.iter().find(|member| has(request, member));
        forbidden.map_or_else(answer, |member| forbids(member))
    })
}

#[test]
fn a_member_that_a_gateway_refuses_is_left_out_and_stays_out() {
    type Case = (
        &'static str,
        &'static str,
        &'static [&'static str],
        fn() -> Answer,
    );
    let cases: [Case; 5] = [
        (
            "openai",
            "gpt-5.1",
            &["prompt_cache_key", "stream_options", "include", "store"],
            || Answer::sse(responses::text(&["Yes."])),
        ),
        (
            "mistral",
            "mistral-large-latest",
            &["prompt_cache_key"],
            || says("Yes."),
        ),
        ("openai-compat", "m", &["stream_options"], || says("Yes.")),
        (
            "openrouter",
            "anthropic/claude-sonnet-5.5",
            &["cache_control", "stream_options"],
            || says("Yes."),
        ),
        ("anthropic", "claude-sonnet-5-5", &["cache_control"], || {
            Answer::sse(anthropic::text(&["Yes."]))
        }),
    ];
    for (provider, model, members, answer) in cases {
        let home = Home::new();
        let server = strict(members, answer);
        let output = marvin(&home, &server, provider, model)
            .args(["--plain"])
            .stdin("hi\nand again\n")
            .run()
            .expect(0);
        let told = output.output();
        assert_eq!(told.matches("Yes.").count(), 2, "{provider}: {told}");
        let requests = server.requests();
        assert_eq!(requests.len(), members.len() + 2, "{provider}: {told}");
        for request in &requests[members.len()..] {
            assert!(!members.iter().any(|member| has(request, member)));
        }
        let line = format!("{provider} does not take {} for {model}", members[0]);
        assert_eq!(told.matches("does not take").count(), 1, "{told}");
        assert!(told.contains(&line), "{told}");
    }
}

#[test]
fn a_server_that_refuses_everything_is_asked_a_bounded_number_of_times() {
    let home = Home::new();
    let server = Server::answering(|request, n| {
        let names = [
            "prompt_cache_key",
            "stream_options",
            "include",
            "store",
            "strict",
            "reasoning",
        ];
        let left = names.iter().find(|name| has(request, name));
        assert!(n < 12, "asked again and again");
        let name = left.copied().unwrap_or("temperature");
        let error = json!({"message": format!("Unknown parameter: '{name}'."), "param": name});
        Answer::status(400).and_json(&json!({"error": error}))
    });
    marvin(&home, &server, "openai", "gpt-5.1")
        .args(["--non-interactive", "--prompt", "hi"])
        .run()
        .expect(1);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn an_effort_that_a_server_refuses_is_told_once_and_left_out() {
    let home = Home::new();
    let server = strict(&["reasoning_effort"], || says("Yes."));
    let output = marvin(&home, &server, "openai-compat", "llama-of-ours")
        .args(["--plain", "--effort", "high"])
        .stdin("hi\nand again\n")
        .run()
        .expect(0);
    let told = output.output();
    assert_eq!(server.requests().len(), 3, "{told}");
    let words =
        "llama-of-ours at openai-compat takes no reasoning effort: \"high\" changes nothing.";
    assert_eq!(told.matches(words).count(), 1, "{told}");
    assert_eq!(told.matches("reasoning").count(), 1, "{told}");
}

#[test]
fn a_model_of_ollama_that_cannot_think_is_asked_without() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.json().get("think") {
        Some(_) => {
            Answer::status(400).and_json(&json!({"error": "\"llama3\" does not support thinking"}))
        }
        None => Answer::ndjson(ollama::text(&["Yes."])),
    });
    home.marvin()
        .env("OLLAMA_URL", server.url(""))
        .line("--provider ollama --model llama3 --effort high")
        .args(["--non-interactive", "--prompt", "hi"])
        .run()
        .expect(0)
        .stderr_has(&["takes no reasoning effort"]);
}

#[test]
fn thoughts_of_a_budget_go_back_with_their_calls() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        Answer::sse(match n {
            0 => anthropic::Stream::new()
                .thinking(&["Let me ", "see."], "c2lnbmF0dXJl")
                .call("toolu_1", "get_working_dir", "{}", 8)
                .end(),
            _ => anthropic::text(&["There."]),
        })
    });
    marvin(&home, &server, "anthropic", "claude-sonnet-4-5")
        .line("--non-interactive --effort medium --prompt 'where am I?'")
        .run()
        .expect(0);
    let requests: Vec<Value> = server.requests().iter().map(Request::json).collect();
    assert_eq!(requests.len(), 2);
    let thinking = json!({"type": "enabled", "budget_tokens": 8192});
    assert!(
        requests
            .iter()
            .all(|request| request["thinking"] == thinking)
    );
    assert!(requests[0]["max_tokens"].as_u64().unwrap() > 8192);
    assert_eq!(
        requests[1]["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl"})
    );
}

#[test]
fn openrouter_marks_what_claude_caches_and_the_use_of_its_cache_is_counted() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        let usage = json!({"choices": [], "usage": {
            "prompt_tokens": 10_000, "completion_tokens": 20, "total_tokens": 10_020, "cost": 0.0125,
            "prompt_tokens_details": {"cached_tokens": 8000, "cache_write_tokens": 1500},
        }});
        let stream = match n {
            0..3 => openai::Stream::new().call(0, &format!("call_{n}"), "get_working_dir", "{}"),
            _ => openai::Stream::new().text(&["There."]),
        };
        let finish = if n < 3 { "tool_calls" } else { "stop" };
        Answer::sse(stream.finish(finish).raw(openai::data(&usage)).done())
    });
    let output = marvin(&home, &server, "openrouter", "anthropic/claude-sonnet-5.5")
        .args(["--non-interactive", "--prompt", "where am I?"])
        .run()
        .expect(0);
    let mark = json!({"type": "ephemeral"});
    for (n, request) in server.requests().iter().enumerate() {
        let json = request.json();
        assert!(request.text().matches("\"cache_control\":").count() <= 4);
        let messages = json["messages"].as_array().unwrap();
        assert_eq!(messages[0]["content"][0]["cache_control"], mark, "{n}");
        assert_eq!(
            messages.last().unwrap()["content"][0]["cache_control"],
            mark,
            "{n}"
        );
        let tools = json["tools"].as_array().unwrap();
        assert_eq!(tools.last().unwrap()["cache_control"], mark);
        if n > 0 {
            // The end of the request before.
            let before = &messages[messages.len() - 3];
            assert_eq!(before["content"][0]["cache_control"], mark, "{n}");
        }
    }
    let errors = output.errors();
    let cost = errors
        .lines()
        .find(|line| line.contains("MARVIN_COST"))
        .unwrap();
    cost.assert_has(&["0.05", "32000", "6000"]);
}

#[test]
fn a_refusal_says_why_and_of_what_category() {
    let home = Home::new();
    let server = Server::answering(|_, _| {
        let delta = json!({"type": "message_delta", "usage": {"output_tokens": 0}, "delta": {"stop_reason": "refusal",
            "stop_details": {"type": "refusal", "category": "cyber", "explanation": "This asks for an exploit."}}});
        let stop = json!({"type": "message_stop"});
        Answer::sse(anthropic::Stream::new().event(delta).event(stop).frames())
    });
    let output = marvin(&home, &server, "anthropic", "claude-sonnet-5-5")
        .args(["--non-interactive", "--prompt", "hi"])
        .run()
        .expect(1);
    let words =
        "claude-sonnet-5-5 declined to answer: \"This asks for an exploit. (category cyber)\"";
    assert!(output.errors().contains(words), "{}", output.errors());
}

#[test]
fn the_filter_that_ended_a_reply_is_named() {
    for (choice, words) in [
        (
            json!({"delta": {}, "finish_reason": "content_filter", "content_filter_results":
                {"violence": {"filtered": true, "severity": "high"}, "hate": {"filtered": false, "severity": "safe"}}}),
            "(violence, severity high)",
        ),
        (json!({"delta": {}, "finish_reason": "SAFETY"}), "(safety)"),
        (
            json!({"delta": {}, "finish_reason": "content_filter: PROHIBITED_CONTENT"}),
            "(prohibited content)",
        ),
    ] {
        let home = Home::new();
        let server = Server::answering(move |_, _| {
            let chunk = json!({"choices": [choice.clone()]});
            Answer::sse(openai::Stream::new().raw(openai::data(&chunk)).done())
        });
        let output = marvin(&home, &server, "openai-compat", "m")
            .args(["--non-interactive", "--prompt", "hi"])
            .run()
            .expect(1);
        let line = format!("A content filter of openai-compat ended the reply {words}.");
        assert!(output.errors().contains(&line), "{}", output.errors());
    }
}

#[test]
fn a_failure_without_words_says_what_is_known_of_it() {
    let failed = json!({"error": null});
    let cases: [(Answer, &str); 4] = [
        (
            Answer::sse(responses::Stream::new().end_as("failed", failed)),
            "openai failed and gave no reason (request resp_",
        ),
        (
            Answer::sse(responses::Stream::new().text(&["It"]).end_as("incomplete", json!({}))),
            "openai stopped the reply before its end and gave no reason.",
        ),
        (
            Answer::sse(["event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"The words.\",\"error\":{\"code\":\"x\",\"message\":null}}\n\n"]),
            "openai failed (x): The words.",
        ),
        (
            Answer::status(400).header("Content-Type", "text/event-stream").send(
                "event: error\ndata: {\"error\":{\"message\":\"Too many legs.\",\"code\":\"legs\"}}\n\n",
            ),
            "openai refused the request (400 legs): Too many legs.",
        ),
    ];
    for (answer, words) in cases {
        let home = Home::new();
        let server = Server::answering(move |_, _| answer.clone()).lenient();
        let output = marvin(&home, &server, "openai", "gpt-5.1")
            .args(["--non-interactive", "--prompt", "hi"])
            .run()
            .expect(1);
        output.errors().assert_has(&[words]);
    }
}

#[test]
fn the_variable_that_gave_a_wrong_address_is_named() {
    for variable in ["MARVIN_URL_MISTRAL", "MISTRAL_URL"] {
        let home = Home::new();
        let server = Server::always(Answer::status(404));
        let output = home
            .marvin()
            .env(variable, server.url("/wrong"))
            .env("MISTRAL_API_KEY", "test-key")
            .line("--provider mistral --non-interactive --prompt hi")
            .run()
            .expect(1);
        let words = format!("Check {variable}.");
        assert!(output.errors().contains(&words), "{}", output.errors());
    }
}
