//! The wire formats through the real binary: requests, stored state and messages.

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

fn ask(home: &Home, provider: &str, vars: &[(&str, &str)]) -> Marvin {
    let run = home.marvin().args([
        "--non-interactive",
        "--provider",
        provider,
        "--prompt",
        "hi",
    ]);
    vars.iter()
        .fold(run, |run, (name, value)| run.env(name, *value))
}

fn sse(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    };
    events.iter().map(frame).collect()
}

#[test]
fn anthropic_is_spoken_with_marks_for_its_cache_and_its_signature_sent_back() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}});
        let end = |reason: &str| {
            [
                json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
                json!({"type": "message_stop"}),
            ]
        };
        let mut events = vec![start];
        if n == 0 {
            events.extend([
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "get_working_dir", "input": {}}}),
                json!({"type": "content_block_stop", "index": 1}),
            ]);
            events.extend(end("tool_use"));
        } else {
            events.extend([
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "There."}}),
                json!({"type": "content_block_stop", "index": 0}),
            ]);
            events.extend(end("end_turn"));
        }
        Answer::sse(sse(&events))
    });
    let output = ask(
        &home,
        "anthropic",
        &[
            ("ANTHROPIC_API_KEY", "k"),
            ("ANTHROPIC_URL", &server.url("")),
        ],
    )
    .run()
    .expect(0);
    assert_eq!(output.text(), "  \u{1f527} get_working_dir\nThere.\n");
    let first = server.request(0);
    assert!(first.path.ends_with("/v1/messages"));
    assert!(
        first
            .json()
            .to_string()
            .matches("\"cache_control\":{\"type\":\"ephemeral\"}")
            .count()
            >= 2
    );
    server.request(1).json()["messages"]
        .to_string()
        .assert_has(&["\"signature\":\"c2ln\"", "\"tool_use_id\":\"toolu_1\""]);
}

#[test]
fn ollama_gets_its_window_and_a_server_without_its_path_is_asked_in_openais_way() {
    let home = Home::new();
    let server = Server::always(Answer::ndjson([
        "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":2}\n",
    ]));
    let output = ask(&home, "ollama", &[("OLLAMA_URL", &server.url(""))])
        .run()
        .expect(0);
    assert_eq!(output.text(), "Hi\n");
    let request = server.request(0);
    assert!(request.path.ends_with("/api/chat") && request.json()["options"]["num_ctx"] == 32768);
    let other = Server::answering(|request, _| {
        if request.path.ends_with("/api/chat") {
            Answer::text("text/plain", "404 page not found").with_status(404)
        } else {
            says("Hello")
        }
    });
    let output = ask(&home, "ollama", &[("OLLAMA_URL", &other.url(""))])
        .run()
        .expect(0);
    assert_eq!(output.text(), "Hello\n");
    assert!(other.request(1).path.ends_with("/v1/chat/completions"));
}

#[test]
fn geminis_signature_goes_back_with_its_call() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        if n > 0 {
            return says("ok");
        }
        let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "tree", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "c2ln"}}});
        Answer::sse(vec![
            openai::data(&openai::chunk(
                json!({"tool_calls": [call]}),
                Some("tool_calls"),
            )),
            "data: [DONE]\n\n".to_owned(),
        ])
    });
    ask(
        &home,
        "gemini",
        &[
            ("GEMINI_API_KEY", "k"),
            ("GEMINI_URL", &server.url("/v1beta/openai")),
        ],
    )
    .run()
    .expect(0);
    let body = server.request(1).json();
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "c2ln"
    );
}

#[test]
fn a_rate_limit_is_announced_and_waited_for() {
    let home = Home::new();
    let limited = Answer::json(&openai::error("slow down", "rate_limit_error", None))
        .with_status(429)
        .header("retry-after", "1");
    let server = Server::with([
        Exchange::any().answer(limited),
        Exchange::any().answer(says("ok")),
    ]);
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert_eq!(output.text(), "ok\n");
    output.stderr_has(&["⚠️ Rate limited by openai-compat. Waiting 1s..."]);
}

#[test]
fn silence_has_a_limit_before_and_inside_a_reply() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        if n == 0 {
            Answer::silence()
        } else {
            Answer::sse(openai::text(&["half"])[..2].to_vec()).stall()
        }
    });
    let run = || {
        home.ask(&server.url("/v1"), "hi")
            .env("MARVIN_FIRST_BYTE_TIMEOUT", "1")
            .env("MARVIN_IDLE_TIMEOUT", "1")
            .run()
            .expect(1)
    };
    run().stderr_has(&["sent nothing for 1 s"]);
    let output = run();
    assert!(
        output.text() == "half\n" && output.errors().contains("fell silent in mid-reply for 1 s"),
        "{}",
        output.errors()
    );
}

#[test]
fn usage_is_kept_for_sessions_periods_and_life() {
    let home = Home::new();
    let server = Server::always(Answer::sse(
        openai::Stream::new()
            .text(&["ok"])
            .finish("stop")
            .usage(1_000, 100)
            .done(),
    ));
    for _ in 0..2 {
        home.ask(&server.url("/v1"), "hi").run().expect(0);
    }
    let usage: Value = serde_json::from_str(&home.read("config/usage.json")).unwrap();
    assert_eq!(
        (
            &usage["total_llm_turns"],
            &usage["total_provider_tokens"]["openai-compat"]["input"]
        ),
        (&json!(2), &json!(2_000))
    );
    let tool = |period: &str| {
        home.marvin()
            .args(["tool", "get_usage", &format!("period={period}")])
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    assert!(
        tool("today").contains("2 model calls")
            && tool("all").contains("Lifetime: <$0.01")
            && tool("session").contains("0 model calls")
    );
}
