//! Requests over the Responses wire, and replies that are sent back.

use std::path::{Path, PathBuf};

use super::{Value, asked, json, json_of, tool};
use crate::base::testing::assert_lacks;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};
use crate::llm::catalog::row;
use crate::llm::failure::Failure;
use crate::llm::provider::{Effort, Offer, Reply, Request};
use crate::llm::wire::{Dialect, ErrorContext, Wire};

fn sent(provider: &str, model: &str, messages: &[Message]) -> Value {
    let offer = Offer::new(vec![tool(
        "Shows a folder.",
        r#"{"type":"object","properties":{}}"#,
    )]);
    asked((provider, model), messages, &offer, |dialect, request| {
        let request = Request {
            effort: Effort::Low,
            ..request
        };
        json_of(dialect.over(Wire::Responses), &request)
    })
}

fn result(id: &str, text: &str) -> Message {
    Message::Tool(ToolOutput::ok(id, "tree", text))
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall::new(id, "tree", args)
}

/// Our own bodies.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires/responses")
}

fn decoded(body: &[u8], model: &str) -> Result<Reply, Failure> {
    let mut context = ErrorContext::new(row("openai").unwrap());
    model.clone_into(&mut context.model);
    let mut decoder = Dialect::of(context.row, "").decoder(context);
    decoder.feed(body);
    decoder.end();
    decoder.into_result()
}

/// The reply in our own fixture called `name`, as `model` gave it.
fn reply(name: &str, model: &str) -> Reply {
    let body = std::fs::read(folder().join(name).join("body.sse")).unwrap();
    decoded(&body, model).unwrap()
}

#[test]
fn a_request() {
    let talk = [
        Message::user("hi"),
        Message::Assistant(Assistant::new(
            "I look.",
            vec![call("a", ""), call(&"b".repeat(70), "{\"path\":1}")],
        )),
        result("a", "src"),
        result(&"b".repeat(70), ""),
        Message::System {
            text: "A notice.".into(),
        },
        Message::user("go on"),
    ];
    let body = sent("openai", "gpt-5.1", &talk);
    let other = body["input"][3]["call_id"].as_str().unwrap().to_owned();
    assert!(other.len() <= 64);
    assert_eq!(
        body,
        json!({
            "model": "gpt-5.1",
            "instructions": "be brief",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
                {"type": "function_call", "call_id": "a", "name": "tree", "arguments": "{}"},
                {"type": "function_call", "call_id": other, "name": "tree", "arguments": "{\"path\":1}"},
                {"type": "function_call_output", "call_id": "a", "output": "src"},
                {"type": "function_call_output", "call_id": other, "output": "(no output)"},
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "A notice."},
                    {"type": "input_text", "text": "go on"},
                ]},
            ],
            "stream": true,
            "store": false,
            "reasoning": {"effort": "low", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "marvin-1",
            "stream_options": {"include_obfuscation": false},
            "tools": [{
                "type": "function",
                "name": "tree",
                "description": "Shows a folder.",
                "parameters": {"type": "object", "properties": {}},
                "strict": false,
            }],
        })
    );
}

#[test]
fn what_only_openai_takes_is_sent_to_nobody_else() {
    let body = sent("openai-compat", "gpt-5.1", &[Message::user("hi")]);
    for member in ["prompt_cache_key", "stream_options"] {
        assert_eq!(body.get(member), None, "{member}");
    }
    assert_eq!(body["tools"][0].get("strict"), None);
    let body = sent("xai", "grok-4.7", &[Message::user("hi")]);
    assert_eq!(body["prompt_cache_key"], "marvin-1");
    assert_eq!(body.get("stream_options"), None);
    // From GPT-5.4 on, later instructions are the developer's.
    let note = [Message::System { text: "x".into() }];
    assert_eq!(
        sent("openai", "gpt-5.4", &note)["input"][0]["role"],
        "developer"
    );
    assert_eq!(sent("openai", "gpt-5.2", &note)["input"][0]["role"], "user");
}

#[test]
fn a_reply_goes_back_in_its_order_to_the_model_that_made_it() {
    let made = reply("commentary-call-answer", "gpt-5.5").into_message();
    let talk = [Message::user("hi"), made, result("call_1", "src")];
    let item = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or_default();
        let phase = item["phase"].as_str().unwrap_or_default();
        format!("{kind} {phase}").trim().to_owned()
    };
    let kinds = |model: &str| -> Vec<String> {
        let body = sent("openai", model, &talk);
        body["input"].as_array().unwrap().iter().map(item).collect()
    };
    assert_eq!(
        kinds("gpt-5.5"),
        [
            "message",
            "message commentary",
            "function_call",
            "message final_answer",
            "function_call_output"
        ]
    );
    // Another model gets only the text and the calls.
    assert_eq!(
        kinds("gpt-6-sol"),
        [
            "message",
            "message",
            "function_call",
            "function_call_output"
        ]
    );
    let body = sent("openai", "gpt-5.5", &talk);
    assert_eq!(body["input"][1]["content"][0]["text"], "I look first.");
    assert_eq!(body["input"][3]["content"][0]["text"], "It is a tree.");
    let body = sent("openai", "gpt-6-sol", &talk);
    assert_eq!(
        body["input"][1]["content"][0]["text"],
        "I look first.\n\nIt is a tree."
    );
}

#[test]
fn encrypted_reasoning_goes_back_before_its_item_and_to_nobody_else() {
    let made = reply("thinking", "gpt-5.5").into_message();
    let talk = [Message::user("hi"), made];
    let body = sent("openai", "gpt-5.5", &talk);
    assert_eq!(
        body["input"][1],
        json!({
            "type": "reasoning",
            "summary": [
                {"type": "summary_text", "text": "**Planning**"},
                {"type": "summary_text", "text": "Then answer."},
            ],
            "encrypted_content": "ZW5jcnlwdGVk",
        })
    );
    assert_eq!(body["input"][2]["content"][0]["text"], "Done.");
    for (provider, model) in [("openai", "gpt-5.1"), ("xai", "gpt-5.5")] {
        let body = sent(provider, model, &talk).to_string();
        assert!(!body.contains("ZW5jcnlwdGVk"), "{provider} {model}");
    }
    let chat = Wire::Completions;
    let body = asked(
        ("openai", "gpt-5.5"),
        &talk,
        &Offer::none(),
        |dialect, request| json_of(dialect.over(chat), &request).to_string(),
    );
    assert_lacks(&body, &["ZW5jcnlwdGVk", "responses"]);
}

#[test]
fn reasoning_whose_item_is_gone_does_not_go_back() {
    let mut made = reply("raw-reasoning", "gpt-oss-20b");
    made.text.clear();
    made.calls = vec![call("other", "{}")];
    let talk = [
        Message::user("hi"),
        made.into_message(),
        result("other", "x"),
    ];
    let body = sent("openai", "gpt-oss-20b", &talk);
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["type"].as_str())
        .collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output"]);
}

#[test]
fn every_own_body_that_is_a_reply_goes_back_with_its_text_and_calls() {
    let mut tried = 0;
    for case in std::fs::read_dir(folder()).unwrap() {
        let case = case.unwrap().path();
        let Ok(body) = std::fs::read(case.join("body.sse")) else {
            continue;
        };
        let model = ErrorContext::new(row("openai").unwrap()).model;
        let Ok(reply) = decoded(&body, &model) else {
            continue;
        };
        let (text, calls) = (reply.text.clone(), reply.calls.clone());
        let body = sent(
            "openai",
            &model,
            &[Message::user("hi"), reply.into_message()],
        );
        let items = body["input"].as_array().unwrap();
        let texts: Vec<&str> = items
            .iter()
            .skip(1)
            .filter(|item| item["type"] == "message")
            .filter_map(|item| item["content"][0]["text"].as_str())
            .collect();
        assert_eq!(texts.join("\n\n"), text, "{}", case.display());
        let ids: Vec<&str> = items
            .iter()
            .filter_map(|item| item["call_id"].as_str())
            .collect();
        let want: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, want, "{}", case.display());
        let last = items.last().map(|item| &item["type"]);
        assert_ne!(last, Some(&Value::from("reasoning")), "{}", case.display());
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}
