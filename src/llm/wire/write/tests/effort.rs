//! How each wire tells its models how hard to think.

use super::{Value, json, json_of, offer};
use crate::chat::message::{Assistant, Message, ProviderState, ToolCall, ToolOutput};
use crate::llm::models::ModelRegistry;
use crate::llm::provider::{CallOptions, Effort, Request};
use crate::llm::wire::optional::{OptionalMember, OptionalMembers};
use crate::llm::wire::write::effort::remark;
use crate::llm::wire::{Dialect, Wire};

/// Calls `with` with the dialect and a request with tools.
fn asked<T>(
    model: (&str, &str),
    chosen: Option<Effort>,
    messages: &[Message],
    with: impl FnOnce(Dialect, &Request<'_>) -> T,
) -> T {
    super::asked(model, messages, &offer(), |dialect, request| {
        let request = Request {
            effort: chosen.unwrap_or(request.effort),
            effort_chosen: chosen.is_some(),
            ..request
        };
        with(dialect, &request)
    })
}

fn body(model: (&str, &str), chosen: Option<Effort>) -> Value {
    asked(model, chosen, &[Message::user("hi")], json_of)
}

/// The members that are in a body only because of the effort.
fn told(model: (&str, &str), chosen: Effort) -> Value {
    let plain = body(model, None);
    let mut chosen = body(model, Some(chosen));
    let members = chosen.as_object_mut().unwrap();
    members.retain(|name, value| plain.get(name) != Some(value));
    chosen
}

#[test]
fn every_provider_is_told_a_chosen_effort_in_its_own_way() {
    let word = |word: &str| json!({"reasoning_effort": word});
    let adaptive =
        |word: &str| json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": word}});
    let budget = |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let gemini = |config: Value| json!({"extra_body": {"google": {"thinking_config": config}}});
    for (model, [low, medium, high]) in [
        (
            ("anthropic", "claude-sonnet-5-5"),
            ["low", "medium", "high"].map(adaptive),
        ),
        (
            ("anthropic", "claude-haiku-5-5"),
            ["low", "medium", "high"].map(adaptive),
        ),
        (
            ("anthropic", "claude-sonnet-9"),
            ["low", "medium", "high"].map(adaptive),
        ),
        (
            ("anthropic", "claude-sonnet-4-5"),
            [2048, 8192, 24_576].map(budget),
        ),
        (
            ("anthropic", "claude-opus-4-5"),
            [2048, 8192, 24_576].map(budget),
        ),
        (
            ("openrouter", "anthropic/claude-sonnet-5.5"),
            ["low", "medium", "high"].map(|word| json!({"reasoning": {"effort": word}})),
        ),
        (
            ("openrouter", "anthropic/claude-sonnet-4.5"),
            ["low", "medium", "high"].map(|word| json!({"reasoning": {"effort": word}})),
        ),
        (
            ("openrouter", "qwen/qwen3-32b"),
            [false, true, true].map(|on| json!({"reasoning": {"enabled": on}})),
        ),
        (
            ("groq", "openai/gpt-oss-120b"),
            ["low", "medium", "high"].map(word),
        ),
        (
            ("groq", "qwen/qwen3-32b"),
            ["none", "default", "default"].map(word),
        ),
        (
            ("cerebras", "gpt-oss-120b"),
            ["low", "medium", "high"].map(word),
        ),
        (
            ("gemini", "gemini-3.8-flash"),
            ["low", "medium", "high"].map(|word| gemini(json!({"thinking_level": word}))),
        ),
        (
            ("gemini", "gemini-3-pro-preview"),
            ["low", "low", "high"].map(|word| gemini(json!({"thinking_level": word}))),
        ),
        (
            ("gemini", "gemini-2.5-pro"),
            [2048, 8192, 24_576].map(|tokens| gemini(json!({"thinking_budget": tokens}))),
        ),
        (
            ("deepseek", "deepseek-flash"),
            ["low", "low", "high"].map(word),
        ),
        (
            ("mistral", "mistral-medium-latest"),
            ["none", "high", "high"].map(word),
        ),
        (
            ("together", "openai/gpt-oss-120b"),
            ["low", "medium", "high"].map(word),
        ),
        (
            ("together", "moonshotai/Kimi-K2.6"),
            [false, true, true].map(|on| json!({"reasoning": {"enabled": on}})),
        ),
        (("moonshot", "kimi-k3"), ["low", "low", "high"].map(word)),
        (
            ("moonshot", "kimi-k2.6"),
            ["disabled", "enabled", "enabled"].map(|kind| json!({"thinking": {"type": kind}})),
        ),
        (
            ("ollama", "gpt-oss:20b"),
            ["low", "medium", "high"].map(|word| json!({"think": word})),
        ),
        (
            ("ollama", "qwen3:8b"),
            [false, true, true].map(|on| json!({"think": on})),
        ),
        (
            ("lmstudio", "openai/gpt-oss-20b"),
            ["low", "medium", "high"].map(word),
        ),
        (
            ("openai-compat", "a-model-of-ours"),
            ["low", "medium", "high"].map(word),
        ),
        (
            ("xai", "grok-4.7"),
            [
                json!({"reasoning": {"effort": "low"}}),
                json!({"reasoning": {"effort": "medium"}}),
                json!({}),
            ],
        ),
    ] {
        let sent = [Effort::Low, Effort::Medium, Effort::High].map(|effort| told(model, effort));
        assert_eq!(sent, [low, medium, high], "{model:?}");
    }
    for model in [
        ("openai", "gpt-4o"),
        ("moonshot", "kimi-k2.7-code"),
        ("mistral", "magistral-medium-latest"),
        ("anthropic", "claude-3-5-haiku-20241022"),
    ] {
        assert_eq!(told(model, Effort::High), json!({}), "{model:?}");
    }
}

#[test]
fn an_effort_that_nobody_chose_is_told_to_models_of_openai_and_xai_alone() {
    for provider in crate::llm::catalog::ROWS {
        let sent = body((provider.name, provider.model), None);
        let members = [
            "reasoning_effort",
            "reasoning",
            "thinking",
            "output_config",
            "think",
            "extra_body",
        ];
        let told = members.iter().any(|member| sent.get(member).is_some());
        let needs = matches!(provider.name, "openai" | "xai");
        assert_eq!(told, needs, "{}: {sent}", provider.name);
    }
    assert_eq!(
        body(("openai", "gpt-5.1"), None)["reasoning"]["effort"],
        "high"
    );
}

#[test]
fn a_budget_is_smaller_than_the_limit_of_the_reply() {
    let model = ("anthropic", "claude-opus-4-1");
    let sent = body(model, Some(Effort::High));
    let budget = sent["thinking"]["budget_tokens"].as_u64().unwrap();
    assert!(budget < sent["max_tokens"].as_u64().unwrap(), "{sent}");
    let mut info = ModelRegistry::default().facts(model.0, model.1);
    for (output, want) in [(4000, Some(2000)), (1500, None)] {
        info.output = output;
        let sent = asked(
            model,
            Some(Effort::High),
            &[Message::user("hi")],
            |dialect, request| {
                json_of(
                    dialect,
                    &Request {
                        info: &info,
                        ..*request
                    },
                )
            },
        );
        let budget = sent
            .pointer("/thinking/budget_tokens")
            .and_then(Value::as_u64);
        assert_eq!(budget, want, "{output}");
    }
}

#[test]
fn no_effort_is_no_thoughts_where_the_model_can_do_without() {
    let gemini = |tokens: u64| json!({"extra_body": {"google": {"thinking_config": {"thinking_budget": tokens}}}});
    for (model, wanted) in [
        (
            ("openai", "gpt-5.1"),
            json!({"reasoning": {"effort": "none", "summary": "auto"}}),
        ),
        // It always thinks.
        (
            ("openai", "gpt-5"),
            json!({"reasoning": {"effort": "minimal", "summary": "auto"}}),
        ),
        (
            ("anthropic", "claude-sonnet-4-5"),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            ("anthropic", "claude-sonnet-5-5"),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            ("openrouter", "anthropic/claude-sonnet-4.5"),
            json!({"reasoning": {"effort": "none"}}),
        ),
        (
            ("groq", "qwen/qwen3-32b"),
            json!({"reasoning_effort": "none"}),
        ),
        (
            ("mistral", "mistral-medium-latest"),
            json!({"reasoning_effort": "none"}),
        ),
        (
            ("moonshot", "kimi-k2.6"),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (("gemini", "gemini-2.5-flash"), gemini(0)),
        (("gemini", "gemini-2.5-pro"), gemini(128)),
        (("ollama", "gpt-oss:20b"), json!({"think": "low"})),
        (("ollama", "qwen3:8b"), json!({"think": false})),
        (("openai", "gpt-4o"), json!({})),
    ] {
        assert_eq!(told(model, Effort::None), wanted, "{model:?}");
    }
}

#[test]
fn a_temperature_is_not_sent_beside_thinking() {
    let with = |provider, model, chosen| {
        asked(
            (provider, model),
            chosen,
            &[Message::user("hi")],
            |dialect, request| {
                let options = CallOptions {
                    temperature: Some(0.2),
                    ..CallOptions::default()
                };
                let sent = json_of(
                    dialect,
                    &Request {
                        options,
                        ..*request
                    },
                );
                sent.pointer("/temperature")
                    .or(sent.pointer("/options/temperature"))
                    .is_some()
            },
        )
    };
    assert!(with("anthropic", "claude-sonnet-4-5", None));
    assert!(!with("anthropic", "claude-sonnet-4-5", Some(Effort::High)));
    assert!(with("ollama", "gpt-oss:20b", Some(Effort::High)));
    assert!(with("lmstudio", "gpt-oss-20b", Some(Effort::High)));
    assert!(with("moonshot", "kimi-k2.6", None));
    assert!(!with("groq", "openai/gpt-oss-120b", None));
}

fn called(state: Option<&str>) -> Vec<Message> {
    vec![
        Message::user("hi"),
        Message::Assistant(Assistant {
            text: String::new(),
            calls: vec![ToolCall::new("a", "tree", "{}")],
            provider_state: state.map(|json| ProviderState {
                provider: "anthropic".into(),
                json: json.into(),
            }),
        }),
        Message::Tool(ToolOutput::ok("a", "tree", "ok")),
    ]
}

#[test]
fn thoughts_go_back_with_their_calls_and_a_turn_without_them_ends_without() {
    let thoughts = r#"{"thinking_blocks":[{"type":"thinking","thinking":"t","signature":"s"}]}"#;
    let old = ("anthropic", "claude-sonnet-4-5");
    let sent = asked(old, Some(Effort::High), &called(Some(thoughts)), json_of);
    assert_eq!(sent["thinking"]["type"], "enabled");
    assert_eq!(sent["messages"][1]["content"][0]["signature"], "s");
    let sent = asked(old, Some(Effort::High), &called(None), json_of);
    assert_eq!(sent.get("thinking"), None);
    // A new message begins a new turn.
    let next = [called(None), vec![Message::user("go on")]].concat();
    let sent = asked(old, Some(Effort::High), &next[..], json_of);
    assert_eq!(sent.get("thinking"), None, "results and words are one turn");
    let mut later = called(None);
    later.push(Message::Assistant(Assistant {
        text: "Done.".into(),
        ..Assistant::default()
    }));
    later.push(Message::user("go on"));
    let sent = asked(old, Some(Effort::High), &later, json_of);
    assert_eq!(sent["thinking"]["type"], "enabled");
    let new = ("anthropic", "claude-sonnet-5-5");
    let sent = asked(new, Some(Effort::High), &called(None), json_of);
    assert_eq!(sent["thinking"]["type"], "adaptive");
}

#[test]
fn what_was_refused_is_left_out() {
    use OptionalMember::{CacheKey, CacheMarks, Include, Store, StreamOptions, Strict, ToolChoice};
    let without = |model, member| {
        asked(
            model,
            Some(Effort::High),
            &[Message::user("hi")],
            |dialect, request| {
                let set = OptionalMembers::default().with(member);
                let request = Request {
                    cache_key: "k",
                    may_call: false,
                    ..*request
                };
                let all = dialect.over(dialect.wire).body(&request);
                let fewer = dialect.without(set).body(&request);
                (
                    String::from_utf8(all).unwrap(),
                    String::from_utf8(fewer).unwrap(),
                )
            },
        )
    };
    let terra = ("openai", "gpt-6.1-terra");
    let claude = ("anthropic", "claude-sonnet-5-5");
    for (model, member, name) in [
        (terra, CacheKey, "prompt_cache_key"),
        (terra, StreamOptions, "stream_options"),
        (terra, Include, "include"),
        (terra, Store, "store"),
        (terra, Strict, "strict"),
        (terra, OptionalMember::Effort, "reasoning"),
        (terra, ToolChoice, "tool_choice"),
        (claude, CacheMarks, "cache_control"),
        (claude, OptionalMember::Effort, "thinking"),
        (claude, OptionalMember::Effort, "output_config"),
        (
            ("openrouter", "anthropic/claude-sonnet-5.5"),
            CacheMarks,
            "cache_control",
        ),
        (
            ("openrouter", "openai/gpt-6-sol"),
            OptionalMember::Effort,
            "reasoning",
        ),
        (
            ("groq", "openai/gpt-oss-20b"),
            OptionalMember::Effort,
            "reasoning_effort",
        ),
        (
            ("groq", "openai/gpt-oss-20b"),
            StreamOptions,
            "stream_options",
        ),
        (
            ("gemini", "gemini-3.8-flash"),
            OptionalMember::Effort,
            "extra_body",
        ),
        (("ollama", "gpt-oss"), OptionalMember::Effort, "think"),
    ] {
        let (all, fewer) = without(model, member);
        let key = format!("\"{name}\":");
        assert!(all.contains(&key), "{name}: {all}");
        assert!(!fewer.contains(&key), "{name}: {fewer}");
        serde_json::from_str::<Value>(&fewer).unwrap();
    }
}

#[test]
fn the_user_is_told_what_a_chosen_effort_does_not_do() {
    let said = |provider, model, effort| {
        asked((provider, model), Some(effort), &[], remark).unwrap_or_default()
    };
    for (provider, model, effort, words) in [
        (
            "openai",
            "gpt-4o",
            Effort::High,
            "takes no reasoning effort",
        ),
        (
            "moonshot",
            "kimi-k2.7-code",
            Effort::High,
            "thinks as its maker set it up",
        ),
        (
            "deepseek",
            "deepseek-flash",
            Effort::Medium,
            "is told \"low\"",
        ),
        (
            "moonshot",
            "kimi-k2.6",
            Effort::Low,
            "at effort \"low\" it does not",
        ),
        (
            "anthropic",
            "claude-3-5-haiku-latest",
            Effort::Low,
            "takes no reasoning effort",
        ),
    ] {
        let told = said(provider, model, effort);
        assert!(told.contains(words), "{told}");
    }
    for (provider, model) in [
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-sonnet-4-5"),
        ("ollama", "qwen3:8b"),
        ("openai-compat", "ours"),
    ] {
        assert_eq!(said(provider, model, Effort::High), "", "{model}");
    }
    let silent = asked(("openai", "gpt-4o"), None, &[], remark);
    assert_eq!(silent, None);
}

#[test]
fn over_responses_only_words_are_sent() {
    let sent = asked(
        ("openai-compat", "gpt-oss-120b"),
        Some(Effort::Low),
        &[Message::user("hi")],
        |dialect, request| json_of(dialect.over(Wire::Responses), request),
    );
    assert_eq!(sent["reasoning"]["effort"], "low");
}
