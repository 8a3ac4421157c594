//! Request bodies of every dialect.

mod effort;
mod responses;

use std::time::Duration;

use serde_json::value::RawValue;
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
    let foreign = r#"{"$schema":"x","properties":{"q":{"type":"string"}}}"#.to_owned();
    let foreign = object_schema(&RawValue::from_string(foreign).unwrap());
    let ask = Offered {
        name: "ask".into(),
        ..tool("Ask.", &foreign)
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
    })
}

fn text(provider: &str, model: &str, messages: &[Message], offer: &Offer) -> String {
    asked((provider, model), messages, offer, |dialect, request| {
        String::from_utf8(dialect.body(&request)).unwrap()
    })
}

/// The body of a request without tools and with the effort that the user chose.
fn with_effort(provider: &str, model: &str, effort: Effort) -> Value {
    let talk = [Message::user("hi")];
    asked(
        (provider, model),
        &talk,
        &Offer::none(),
        |dialect, request| {
            let request = Request {
                effort,
                effort_chosen: true,
                ..request
            };
            json_of(dialect, &request)
        },
    )
}

fn body(provider: &str, model: &str, messages: &[Message], offer: &Offer) -> Value {
    serde_json::from_str(&text(provider, model, messages, offer)).unwrap()
}

#[test]
fn a_chat_completion_request() {
    assert_eq!(
        body("openai-compat", "m", &talk("openai-compat"), &offer()),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": null,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "tree", "arguments": "{\"path\":1.0}"},
                         "extra_content": {"google": {"thought_signature": "S"}}},
                        {"id": "b", "type": "function", "function": {"name": "tree", "arguments": "{}"}},
                    ],
                    "reasoning_content": "hm",
                    "thinking_blocks": [{"type": "thinking", "thinking": "t", "signature": "s"}],
                },
                {"role": "tool", "tool_call_id": "a", "content": "ok"},
                {"role": "tool", "tool_call_id": "b", "content": "ok"},
                {"role": "user", "content": "go on"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [
                {"type": "function", "function": {"name": "tree", "description": "Show the tree.", "parameters":
                    {"type": "object", "properties": {"path": {"type": "string", "description": "where"}}, "required": ["path"]}}},
                {"type": "function", "function": {"name": "ask", "description": "Ask.", "parameters":
                    {"properties": {"q": {"type": "string"}}, "type": "object"}}},
            ],
        })
    );
}

#[test]
fn q36_what_must_go_back_goes_nowhere_else() {
    let sent = text("openai-compat", "m", &talk("gemini"), &offer());
    assert_lacks(&sent, &["extra_content", "reasoning_content"]);
    assert!(!text("mistral", "m", &talk("gemini"), &offer()).contains("stream_options"));
}

#[test]
fn no_tools_means_no_tools_member() {
    for provider in ["openai", "ollama", "anthropic"] {
        let sent = body(provider, "m", &[Message::user("hi")], &Offer::none());
        assert_eq!(sent.get("tools"), None, "{provider}");
    }
}

#[test]
fn a_chosen_effort_goes_to_each_wire_that_has_one() {
    let sent = |provider, model, path: &str| {
        Effort::ALL.map(|effort| {
            let body = with_effort(provider, model, effort);
            body.pointer(path).cloned().unwrap_or_default()
        })
    };
    let words = ["low", "medium", "high"].map(Value::from);
    assert_eq!(sent("openai", "gpt-5.1", "/reasoning/effort"), words);
    let level = "/extra_body/google/thinking_config/thinking_level";
    assert_eq!(sent("gemini", "gemini-3-flash", level), words);
    let budget = "/extra_body/google/thinking_config/thinking_budget";
    let budgets = [2048, 8192, 24_576].map(Value::from);
    assert_eq!(sent("gemini", "gemini-2.5-flash", budget), budgets);
    for (provider, model) in [
        ("openai", "gpt-4o"),
        ("moonshot", "kimi-k2.7-code"),
        ("mistral", "magistral-medium-latest"),
        ("anthropic", "claude-3-5-haiku-20241022"),
    ] {
        let body = with_effort(provider, model, Effort::High).to_string();
        let told = ["effort", "thinking", "reasoning"];
        assert!(
            !told.iter().any(|word| body.contains(word)),
            "{provider}: {body}"
        );
    }
}

#[test]
fn effort_and_thinking_options_go_only_where_they_are_taken() {
    let sent =
        |provider, model, offer: &Offer| body(provider, model, &[Message::user("hi")], offer);
    assert_eq!(
        sent("openai", "gpt-5.1", &offer())["reasoning"],
        json!({"effort": "high", "summary": "auto"})
    );
    for member in ["reasoning", "include", "reasoning_effort"] {
        assert_eq!(sent("openai", "gpt-4o", &offer()).get(member), None);
    }
    assert_eq!(
        sent("groq", "gpt-5.1", &offer()).get("reasoning_effort"),
        None
    );
    let thinking = |model, offer: &Offer| {
        sent("gemini", model, offer)
            .pointer("/extra_body/google/thinking_config")
            .cloned()
    };
    assert_eq!(
        thinking("gemini-3-pro-preview", &Offer::none()),
        Some(json!({"thinking_level": "low"}))
    );
    assert_eq!(
        thinking("gemini-2.5-flash", &Offer::none()),
        Some(json!({"thinking_budget": 2048}))
    );
    assert_eq!(thinking("gemini-3-pro-preview", &offer()), None);
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
fn an_ollama_request() {
    let mut sent = body("ollama", "qwen3", &talk("ollama"), &offer());
    assert_eq!(sent["tools"].as_array().map(Vec::len), Some(2));
    sent.as_object_mut().unwrap().remove("tools");
    assert_eq!(
        sent,
        json!({
            "model": "qwen3",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "a", "function": {"name": "tree", "arguments": {"path": 1.0}}},
                    {"id": "b", "function": {"name": "tree", "arguments": {}}},
                ]},
                {"role": "tool", "content": "ok", "tool_name": "tree", "tool_call_id": "a"},
                {"role": "tool", "content": "ok", "tool_name": "tree", "tool_call_id": "b"},
                {"role": "user", "content": "go on"},
            ],
            "stream": true,
            "options": {"num_ctx": 32768},
        })
    );
}

#[test]
fn an_anthropic_request() {
    let mark = json!({"type": "ephemeral"});
    let mut talk = talk("anthropic");
    talk.push(Message::user(" "));
    let sent = body("anthropic", "claude-sonnet-4-5", &talk, &offer());
    assert_eq!(
        sent,
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 64000,
            "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "tree", "input": {"path": 1.0}},
                    {"type": "tool_use", "id": "b", "name": "tree", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "ok"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "ok", "is_error": true},
                    {"type": "text", "text": "go on", "cache_control": mark},
                ]},
            ],
            "stream": true,
            "tools": [
                {"name": "tree", "description": "Show the tree.", "input_schema":
                    {"type": "object", "properties": {"path": {"type": "string", "description": "where"}}, "required": ["path"]}},
                {"name": "ask", "description": "Ask.", "input_schema":
                    {"properties": {"q": {"type": "string"}}, "type": "object"}, "cache_control": mark},
            ],
        })
    );
}

#[test]
fn an_anthropic_conversation_begins_with_the_user() {
    let sent = body(
        "anthropic",
        "claude-sonnet-4-5",
        &[Message::assistant("a"), Message::user("b")],
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
        }),
        Message::assistant("Seen."),
        Message::User(User {
            text: "what is it?".into(),
            images: vec![image("new.png", Some(b"\x89PNG"))],
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
