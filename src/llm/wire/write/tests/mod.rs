//! Request bodies of every dialect.

mod effort;
mod responses;

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::testing::assert_lacks;
use crate::chat::image::Image;
use crate::chat::message::{Assistant, Message, ProviderState, ToolCall, ToolOutput, User};
use crate::formats::image::ImageKind;
use crate::llm::catalog::row;
use crate::llm::models::ModelRegistry;
use crate::llm::provider::{CallOptions, Effort, Offer, Offered, Phrases, Request, object_schema};
use crate::llm::wire::{Dialect, Wire};

const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"where"}},"required":["path"]}"#;

/// A tool called "tree" with this description and schema.
fn tool(about: &str, schema: &str) -> Offered {
    Offered {
        name: "tree".into(),
        about_json: Value::from(about).to_string().into(),
        params_json: schema.to_owned().into(),
        phrases: Phrases::BuiltIn(&[]),
    }
}

fn offer() -> Offer {
    let foreign = json!({"$schema": "x", "properties": {"q": {"type": "string"}}});
    let foreign = object_schema(foreign);
    let ask = Offered {
        name: "ask".into(),
        ..tool("Ask.", foreign.get())
    };
    Offer::new(vec![tool("Show the tree.", SCHEMA), ask])
}

/// Calls `with` with the dialect of a provider and a request to one of its models.
fn asked<T>(
    (provider, model): (&str, &str),
    messages: &[Message],
    offer: &Offer,
    with: impl FnOnce(Dialect, Request<'_>) -> T,
) -> T {
    let info = ModelRegistry::default().facts(provider, model);
    let request = Request {
        system: "be brief",
        effort: Effort::High,
        cache_key: "marvin-1",
        ..Request::new(model, &info, messages, offer)
    };
    with(Dialect::of(row(provider).unwrap(), ""), request)
}

fn json_of(dialect: Dialect, request: &Request<'_>) -> Value {
    serde_json::from_slice(&dialect.body(request)).unwrap()
}

fn keep(provider: &str, json: &str) -> Option<ProviderState> {
    Some(ProviderState {
        provider: provider.into(),
        json: json.into(),
    })
}

fn talk(provider: &str) -> Vec<Message> {
    vec![
        Message::user("hi"),
        Message::Assistant(Assistant {
            text: String::new(),
            calls: vec![
                ToolCall {
                    id: "a".into(),
                    name: "tree".into(),
                    args: r#"{"path":1.0}"#.into(),
                    provider_state: keep(
                        provider,
                        r#"{"extra_content":{"google":{"thought_signature":"S"}}}"#,
                    ),
                },
                ToolCall::new("b", "tree", ""),
            ],
            provider_state: keep(
                provider,
                r#"{"reasoning_content":"hm","role":"no","thinking_blocks":[{"type":"thinking","thinking":"t","signature":"s"}]}"#,
            ),
        }),
        answer("a", false),
        answer("b", true),
        Message::user("go on"),
    ]
}

fn answer(id: &str, failed: bool) -> Message {
    Message::Tool(ToolOutput {
        id: id.into(),
        name: "tree".into(),
        text: "ok".into(),
        failed,
        images: Vec::new(),
    })
}

fn text(provider: &str, model: &str, messages: &[Message], offer: &Offer) -> String {
    asked((provider, model), messages, offer, |dialect, request| {
        String::from_utf8(dialect.body(&request)).unwrap()
    })
}

fn body(provider: &str, model: &str, messages: &[Message], offer: &Offer) -> Value {
    serde_json::from_str(&text(provider, model, messages, offer)).unwrap()
}

#[test]
fn q36_what_must_go_back_goes_nowhere_else() {
    let sent = text("openai-compat", "m", &talk("gemini"), &offer());
    assert_lacks(&sent, &["extra_content", "reasoning_content"]);
    assert!(!text("mistral", "m", &talk("gemini"), &offer()).contains("stream_options"));
}

#[test]
fn without_tools_gemini_is_told_to_think_little() {
    let talk = [Message::user("hi")];
    let sent = body("gemini", "gemini-2.5-flash", &talk, &Offer::none());
    let config = sent.pointer("/extra_body/google/thinking_config");
    assert_eq!(config, Some(&json!({"thinking_budget": 2048})));
}

#[test]
fn q33_signatures_go_back_and_calls_of_others_are_excused() {
    let calls = |provider| {
        let sent = body("gemini", "gemini-3-pro-preview", &talk(provider), &offer());
        sent["messages"][2]["tool_calls"].clone()
    };
    let signature = "/0/extra_content/google/thought_signature";
    assert_eq!(calls("gemini").pointer(signature), Some(&json!("S")));
    assert_eq!(
        calls("groq").pointer(signature),
        Some(&json!("skip_thought_signature_validator"))
    );
    assert_eq!(calls("groq")[1].get("extra_content"), None);
}

#[test]
fn an_anthropic_conversation_begins_with_the_user_and_has_no_empty_message() {
    let sent = body(
        "anthropic",
        "claude-sonnet-4-5",
        &[
            Message::assistant("a"),
            Message::user("b"),
            Message::user(" "),
        ],
        &Offer::none(),
    );
    let roles: Vec<&str> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn arguments_that_are_text_of_an_object_become_the_object() {
    let with = |args: &str| {
        let talk = vec![
            Message::user("hi"),
            Message::Assistant(Assistant::new("", vec![ToolCall::new("a", "tree", args)])),
            answer("a", false),
        ];
        body("ollama", "m", &talk, &Offer::none())["messages"][2]["tool_calls"][0]["function"]["arguments"].clone()
    };
    assert_eq!(with(r#""{\"x\":1}""#), json!({"x": 1}));
    assert_eq!(with("[1]"), json!({}));
    assert_eq!(with("{\"x\":"), json!({}));
    assert_eq!(with(" {\"x\":1} "), json!({"x": 1}));
}

#[test]
fn a_body_fits_into_the_room_made_for_it() {
    let tool = |n: usize| Offered {
        name: format!("tool_{n}").into(),
        ..offer().tools.swap_remove(0)
    };
    let offer = Offer::new((0..200).map(tool).collect());
    let messages: Vec<Message> = (0..200)
        .map(|_| Message::user("What does \"turn.rs\" do?\nAnswer in one sentence, please."))
        .collect();
    for provider in ["openai", "openai-compat", "anthropic", "ollama"] {
        let (len, room) = asked((provider, "m"), &messages, &offer, |dialect, request| {
            (
                dialect.body(&request).len(),
                super::expected_bytes(&request),
            )
        });
        assert!(len <= room, "{provider}: {len} of {room}");
        assert!(len > room * 2 / 3, "{provider}: {len} of {room}");
    }
}

/// One body per provider and model: with tools, and without.
fn bodies() -> String {
    let targets = [
        ("ollama", "qwen3:8b"),
        ("openai-compat", "some/model"),
        ("mistral", "mistral-medium-latest"),
        ("gemini", "gemini-3-pro-preview"),
        ("openai", "gpt-5.1"),
        ("openai", "gpt-4o"),
        ("xai", "grok-4.7"),
        ("anthropic", "claude-sonnet-4-5"),
    ];
    let mut out = String::new();
    for (provider, model) in targets {
        for offer in [offer(), Offer::none()] {
            out.push_str(&text(provider, model, &talk(provider), &offer));
            out.push('\n');
        }
    }
    out
}

#[test]
fn requests_with_default_options_have_the_same_bytes_as_ever() {
    assert_eq!(bodies(), include_str!("default_bodies.jsonl"));
}

/// The body of a request that is answered in one piece, without the messages.
fn auxiliary(provider: &str, model: &str) -> Value {
    let options = CallOptions {
        turn_limit: CallOptions::default().turn_limit,
        stream: false,
        temperature: Some(0.0),
        think: Some(false),
        window: Some(4_096),
        limit: None,
        waited: Duration::ZERO,
    };
    let talk = [Message::user("hi")];
    let mut body = asked(
        (provider, model),
        &talk,
        &Offer::none(),
        |dialect, request| json_of(dialect, &Request { options, ..request }),
    );
    for member in ["messages", "input", "instructions", "system"] {
        body.as_object_mut().unwrap().remove(member);
    }
    body
}

#[test]
fn the_options_of_a_call_reach_only_the_wires_that_have_them() {
    assert_eq!(
        auxiliary("ollama", "qwen3:8b"),
        json!({
            "model": "qwen3:8b",
            "stream": false,
            "think": false,
            "options": {"num_ctx": 4096, "temperature": 0.0},
        })
    );
    assert_eq!(
        auxiliary("openai-compat", "some/model"),
        json!({"model": "some/model", "stream": false, "temperature": 0.0})
    );
    assert_eq!(
        auxiliary("openai", "gpt-4o"),
        json!({
            "model": "gpt-4o",
            "stream": false,
            "temperature": 0.0,
            "store": false,
            "prompt_cache_key": "marvin-1",
        })
    );
    assert_eq!(
        auxiliary("anthropic", "claude-sonnet-4-5"),
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 64000,
            "stream": false,
            "temperature": 0.0,
        })
    );
}

#[test]
fn models_that_take_efforts_get_no_temperature() {
    for provider in ["openai", "openai-compat"] {
        let sent = auxiliary(provider, "gpt-5.1");
        assert_eq!(sent.get("temperature"), None, "{sent}");
        assert_eq!(sent["stream"], json!(false));
    }
}

/// A message with an image, and one whose image is no longer there.
fn with_images() -> Vec<Message> {
    let image = |name: &str, data: Option<&[u8]>| Image {
        name: name.into(),
        kind: ImageKind::Png,
        width: 640,
        height: 480,
        bytes: 4,
        tokens: 410,
        data: data.map(Into::into),
    };
    vec![
        Message::User(User {
            text: "before".into(),
            images: vec![image("old.png", None)],
            ..User::default()
        }),
        Message::assistant("Seen."),
        Message::User(User {
            text: "what is it?".into(),
            images: vec![image("new.png", Some(b"\x89PNG"))],
            ..User::default()
        }),
    ]
}

#[test]
fn every_wire_writes_images_its_own_way() {
    const DATA: &str = "iVBORw==";
    let url = format!("data:image/png;base64,{DATA}");
    let old = "before\n[image old.png, 640x480, 4 bytes]";
    let body = |provider: &str, model: &str, wire: Option<Wire>| -> Value {
        asked(
            (provider, model),
            &with_images(),
            &Offer::none(),
            |dialect, request| {
                let request = Request {
                    system: "",
                    ..request
                };
                json_of(wire.map_or(dialect, |wire| dialect.over(wire)), &request)
            },
        )
    };
    for (provider, model) in [("gemini", "gemini-2.5-flash"), ("groq", "llama-4-scout")] {
        assert_eq!(
            body(provider, model, None)["messages"],
            json!([
                {"role": "user", "content": old},
                {"role": "assistant", "content": "Seen."},
                {"role": "user", "content": [
                    {"type": "text", "text": "what is it?"},
                    {"type": "image_url", "image_url": {"url": url}},
                ]},
            ])
        );
    }
    assert_eq!(
        body("openai", "gpt-5.5", Some(Wire::Responses))["input"],
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": old}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Seen."}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "what is it?"},
                {"type": "input_image", "image_url": url, "detail": "auto"},
            ]},
        ])
    );
    let anthropic = body("anthropic", "claude-opus-4-5", None);
    assert_eq!(anthropic["messages"][0]["content"][0]["text"], old);
    assert_eq!(
        anthropic["messages"][2]["content"],
        json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
            {"type": "text", "text": "what is it?", "cache_control": {"type": "ephemeral"}},
        ])
    );
    assert_eq!(
        body("ollama", "llava", None)["messages"],
        json!([
            {"role": "user", "content": old},
            {"role": "assistant", "content": "Seen."},
            {"role": "user", "content": "what is it?", "images": [DATA]},
        ])
    );
}

#[test]
fn an_image_alone_has_no_empty_text_beside_it() {
    let [.., Message::User(image)] = &with_images()[..] else {
        panic!("no image");
    };
    let image = [Message::User(User {
        text: String::new(),
        ..image.clone()
    })];
    for (provider, model, wire, place) in [
        (
            "groq",
            "llama-4-scout",
            Wire::Completions,
            "/messages/1/content",
        ),
        (
            "openrouter",
            "openai/gpt-5.5",
            Wire::Completions,
            "/messages/1/content",
        ),
        ("openai", "gpt-5.5", Wire::Responses, "/input/0/content"),
        (
            "anthropic",
            "claude-opus-4-5",
            Wire::Anthropic,
            "/messages/0/content",
        ),
    ] {
        let body: Value = asked(
            (provider, model),
            &image,
            &Offer::none(),
            |dialect, request| json_of(dialect.over(wire), &request),
        );
        let parts = body.pointer(place).and_then(Value::as_array);
        let parts = parts.unwrap_or_else(|| panic!("{provider}: {body}"));
        assert_eq!(parts.len(), 1, "{provider}: {parts:?}");
    }
}

#[test]
fn every_wire_has_a_place_for_the_images_of_a_result() {
    const DATA: &str = "iVBORw==";
    let url = format!("data:image/png;base64,{DATA}");
    let image = Image {
        name: "of a result".into(),
        kind: ImageKind::Png,
        width: 640,
        height: 480,
        bytes: 4,
        tokens: 410,
        data: Some(b"\x89PNG".as_slice().into()),
    };
    let call = |id: &str| ToolCall::new(id, "tree", "{}");
    let result = |id: &str, images: &[Image]| {
        Message::Tool(ToolOutput {
            images: images.to_vec(),
            ..ToolOutput::ok(id, "tree", "[image, 4 bytes png]")
        })
    };
    let talk = [
        Message::user("look"),
        Message::Assistant(Assistant::new("", vec![call("a"), call("b")])),
        result("a", std::slice::from_ref(&image)),
        result("b", &[]),
    ];
    let last = |provider: &str, model: &str, list: &str, count: usize| -> Value {
        let sent = body(provider, model, &talk, &Offer::none());
        let all = sent[list].as_array().unwrap();
        all[all.len() - count..].to_vec().into()
    };
    let words = "[image, 4 bytes png]";
    assert_eq!(
        last("anthropic", "claude-opus-4-5", "messages", 1)[0]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": words},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
            ]},
            {"type": "tool_result", "tool_use_id": "b", "content": words, "cache_control": {"type": "ephemeral"}},
        ])
    );
    assert_eq!(
        asked(
            ("openai", "gpt-5.5"),
            &talk,
            &Offer::none(),
            |dialect, request| {
                json_of(dialect.over(Wire::Responses), &request)["input"][3].clone()
            }
        ),
        json!({"type": "function_call_output", "call_id": "a", "output": [
            {"type": "input_text", "text": words},
            {"type": "input_image", "image_url": url, "detail": "auto"},
        ]})
    );
    // The results stand together; what has no place among them follows.
    let sent = last("gemini", "gemini-2.5-flash", "messages", 3);
    assert_eq!(sent[0]["content"], words);
    assert_eq!(sent[1]["tool_call_id"], "b");
    assert_eq!(
        sent[2],
        json!({"role": "user", "content": [
            {"type": "text", "text": "Images of the result of tree:"},
            {"type": "image_url", "image_url": {"url": url}},
        ]})
    );
    let sent = last("ollama", "llava", "messages", 2);
    assert_eq!(sent[0]["images"], json!([DATA]));
    assert_eq!(sent[1].get("images"), None);
}
