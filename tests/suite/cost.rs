//! What a run costs: tokens of every wire, what the provider charges, estimates, and the files that keep it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::cost::Cost;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::{anthropic, ollama, openai, responses};
use crate::support::words::TextAssertions;

/// Asks `provider` at `base` for `model`.
fn ask(home: &Home, provider: &str, base: String, model: &str) -> Marvin {
    home.marvin()
        .with_provider(provider, base, model)
        .args(["--non-interactive", "--prompt", "hi"])
}

/// A chat completion that ends with `usage`.
fn completion(usage: &Value) -> Answer {
    let last = openai::data(&json!({"choices": [], "usage": usage}));
    let stream = openai::Stream::new().text(&["ok"]).finish("stop");
    Answer::sse(stream.raw(last).done())
}

/// A round that calls a tool, then `usage`.
fn round(usage: &Value) -> Answer {
    let last = openai::data(&json!({"choices": [], "usage": usage}));
    let stream = openai::Stream::new().call(0, "a", "get_working_dir", "{}");
    Answer::sse(stream.finish("tool_calls").raw(last).done())
}

fn json_of(home: &Home, path: &str) -> Value {
    serde_json::from_str(home.read(path).lines().last().unwrap())
        .unwrap_or_else(|_| serde_json::from_str(&home.read(path)).unwrap())
}

fn get_usage(home: &Home, period: &str) -> String {
    let tool = home.marvin().args(["tool", "get_usage"]);
    let output = tool.arg(format!("period={period}")).run().expect(0);
    output.text().to_owned()
}

fn parts(cost: &Cost) -> [u64; 5] {
    [
        cost.input,
        cost.cached,
        cost.written,
        cost.reasoning,
        cost.output,
    ]
}

#[test]
fn every_wire_tells_cached_written_and_reasoning_tokens_apart() {
    let completions = json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
        "completion_tokens_details": {"reasoning_tokens": 20},
    });
    let of_responses = json!({
        "input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
        "output_tokens_details": {"reasoning_tokens": 20},
    });
    // Anthropic does not count cached tokens as input, repeats the numbers, and does not report reasoning separately.
    let of_anthropic = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 600,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100}, "output_tokens": 50,
    });
    let claude = anthropic::Stream::new().text(&["ok"]).event(json!({
        "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": of_anthropic,
    }));
    let cases = [
        ("groq", completion(&completions), [1000, 600, 300, 20, 50]),
        (
            "openai",
            Answer::sse(
                responses::Stream::new()
                    .usage(of_responses)
                    .text(&["ok"])
                    .end(),
            ),
            [1000, 600, 300, 20, 50],
        ),
        (
            "anthropic",
            Answer::sse(claude.done()),
            [1000, 600, 300, 0, 50],
        ),
        (
            "ollama",
            Answer::ndjson(ollama::text(&["ok"])),
            [10, 0, 0, 0, 5],
        ),
    ];
    for (provider, answer, expected) in cases {
        let home = Home::new();
        let server = Server::answering(move |_, _| answer.clone()).lenient();
        let path = match provider {
            "groq" | "openai" => "/v1",
            _ => "",
        };
        let verbose = ask(&home, provider, server.url(path), "test-model").arg("--verbose");
        let output = verbose.run().expect(0);
        assert_eq!(parts(&output.cost()), expected, "{provider}");
        let [input, cached, written, reasoning, out] = expected;
        let file = json_of(&home, "config/usage.json");
        let kept = &file["total_provider_tokens"][provider];
        let want = json!({"input": input, "output": out, "cached": cached, "written": written, "reasoning": reasoning});
        assert_eq!(kept, &want, "{provider}");
        let line = json_of(&home, "config/profiles/main/cost-log.jsonl");
        for (key, value) in want.as_object().unwrap() {
            assert_eq!(&line[key], value, "{provider}: {key} of {line}");
        }
        let local = provider == "ollama";
        // The price of this model is not known anywhere but on this machine.
        assert_eq!(output.cost().estimated, !local, "{provider}");
        let words = match provider {
            "ollama" => "10 tokens in, 5 out",
            "anthropic" => "1,000 tokens in (600 cached, 300 written), 50 out",
            _ => "1,000 tokens in (600 cached, 300 written), 50 out (20 reasoning)",
        };
        for told in [
            output.errors(),
            get_usage(&home, "today"),
            get_usage(&home, "all"),
        ] {
            assert!(told.contains(words), "{provider}: {told}");
            let without_line = told.split("MARVIN_COST:").next().unwrap();
            assert_eq!(without_line.contains('$'), !local, "{provider}: {told}");
            let is_marked = without_line.contains("~$") || without_line.contains("<$0.01");
            assert_eq!(is_marked, !local, "{provider}: {told}");
        }
    }
}

#[test]
fn what_the_provider_charges_counts_for_the_cost_and_its_limit() {
    // Most of each prompt came from the cache. At the full input price this run would cost eight times what is charged.
    let usage = |cost: Value| {
        json!({
            "prompt_tokens": 40_000, "completion_tokens": 100, "cost": cost,
            "prompt_tokens_details": {"cached_tokens": 38_000},
        })
    };
    let play = move |_: &_, n: usize| match n {
        0..2 => round(&usage(json!(0.015))),
        _ => completion(&usage(json!(0.015))),
    };
    let model = "anthropic/claude-sonnet-4.5";
    let (home, server) = (Home::new(), Server::answering(play));
    let asks = |limit: &str| {
        ask(&home, "openrouter", server.url("/v1"), model).args(["--max-cost", limit])
    };
    let cost = asks("0.04").run().expect(0).cost();
    assert!((cost.session_cost - 0.045).abs() < 1e-9, "{cost:?}");
    assert_eq!((cost.llm_turns, cost.estimated), (3, false));
    assert_eq!(cost.model_cost[model], 0.045);
    // The user's own price beats the bill.
    home.write(
        "prices.json",
        json!({model: {"input": 1, "output": 0}}).to_string(),
    );
    let (home, server) = (home, Server::answering(play));
    let own = ask(&home, "openrouter", server.url("/v1"), model)
        .env("MARVIN_PRICES", home.path().join("prices.json"));
    let cost = own.run().expect(0).cost();
    assert!((cost.session_cost - 0.12).abs() < 1e-9, "{cost:?}");
    assert!(!cost.estimated);
    // And the limit holds where it is really reached.
    let server = Server::answering(play);
    let stopped = ask(&home, "openrouter", server.url("/v1"), model).args(["--max-cost", "0.03"]);
    let output = stopped.run().expect(1);
    output.stderr_has(&["$0.03 is reached ($0.0300 spent)"]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn with_a_key_of_the_users_own_the_upstream_is_paid_too() {
    let model = "anthropic/claude-sonnet-4.5";
    for (own_key, upstream, expected) in [
        (json!(true), json!(0.04), 0.042),
        (json!(false), json!(0.04), 0.002),
        (Value::Null, Value::Null, 0.002),
        // Without the upstream's part the fee is not the cost: the table's price is.
        (json!(true), Value::Null, 0.0189),
        (json!(true), json!("free"), 0.0189),
    ] {
        let charged = |usage: Value| {
            let mut usage = usage;
            usage["cost"] = json!(0.002);
            usage["is_byok"] = own_key.clone();
            usage["cost_details"] = json!({"upstream_inference_cost": upstream});
            usage
        };
        let completions = charged(json!({
            "prompt_tokens": 40_000, "completion_tokens": 100,
            "prompt_tokens_details": {"cached_tokens": 38_000},
        }));
        let of_responses = charged(json!({
            "input_tokens": 40_000, "output_tokens": 100,
            "input_tokens_details": {"cached_tokens": 38_000},
        }));
        let stream = responses::Stream::new().usage(of_responses);
        let answers = [
            ("completions", completion(&completions)),
            ("responses", Answer::sse(stream.text(&["ok"]).end())),
        ];
        for (wire, answer) in answers {
            let (home, server) = (Home::new(), Server::answering(move |_, _| answer.clone()));
            let asked = ask(&home, "openrouter", server.url("/v1"), model)
                .env("OPENROUTER_WIRE", wire)
                .run();
            let cost = asked.expect(0).cost();
            assert!(
                (cost.session_cost - expected).abs() < 1e-9,
                "{wire} {own_key} {upstream}: {cost:?}"
            );
        }
    }
}

#[test]
fn tokens_of_the_cache_are_charged_at_their_own_price() {
    // Each of the two calls: 2,000 tokens at $1, 38,000 at $0.05 and 100 at $5 for a million. At the full price for all input it would be nine times as much.
    let usage = json!({
        "input_tokens": 40_000, "output_tokens": 100, "total_tokens": 40_100,
        "input_tokens_details": {"cached_tokens": 38_000}, "output_tokens_details": {"reasoning_tokens": 0},
    });
    let server = Server::answering(move |_, n| {
        let stream = responses::Stream::new().usage(usage.clone());
        Answer::sse(match n {
            0 => stream.call("call_1", "get_working_dir", "{}", 8).end(),
            _ => stream.text(&["ok"]).end(),
        })
    });
    let home = Home::new();
    let asked = ask(&home, "openai", server.url("/v1"), "gpt-6.1-terra");
    let cost = asked.args(["--max-cost", "0.02"]).run().expect(0).cost();
    assert!((cost.session_cost - 0.0088).abs() < 1e-9, "{cost:?}");
    assert_eq!(
        (cost.llm_turns, cost.cached, cost.estimated),
        (2, 76_000, false)
    );
    get_usage(&home, "today").assert_has(&[": <$0.01, 2 model calls"]);
}

#[test]
fn a_bill_that_cannot_be_one_is_not_believed() {
    for bill in [
        json!(-1),
        json!(1e300),
        json!("0.1"),
        json!({"total": 1}),
        Value::Null,
    ] {
        let home = Home::new();
        let usage = json!({"prompt_tokens": 1000, "completion_tokens": 10, "cost": bill});
        let server = Server::always(completion(&usage));
        let asked = ask(&home, "openrouter", server.url("/v1"), "test-model");
        let cost = asked.run().expect(0).cost();
        assert!(
            cost.estimated && cost.session_cost > 0.0,
            "{bill}: {cost:?}"
        );
        assert!(cost.session_cost < 0.01, "{bill}: {cost:?}");
    }
}

#[test]
fn counts_that_no_model_has_are_estimated_and_marked() {
    let whole = |n: &Value| json!({"prompt_tokens": n, "completion_tokens": n, "total_tokens": n});
    for (usage, told) in [
        (whole(&json!(1_000_000_000_000_000_000_u64)), false),
        (whole(&json!(1e18)), false),
        (whole(&json!(u64::MAX)), false),
        (whole(&json!(-5)), false),
        (whole(&json!("many")), false),
        (whole(&json!([7])), false),
        (whole(&json!(0)), false),
        (whole(&Value::Null), false),
        (Value::Null, false),
        (json!("none"), false),
        (
            json!({"prompt_tokens": "1000", "completion_tokens": 10.0}),
            true,
        ),
    ] {
        let home = Home::new();
        home.write(
            "prices.json",
            r#"{"test-model": {"input": 1, "output": 1}}"#,
        );
        let last = usage.clone();
        let server = Server::answering(move |_, n| match n {
            0 => round(&last),
            _ => completion(&last),
        });
        let asked = ask(&home, "groq", server.url("/v1"), "test-model")
            .env("MARVIN_TOOL_SEARCH", "off")
            .env("MARVIN_PRICES", home.path().join("prices.json"));
        let cost = asked.run().expect(0).cost();
        assert_eq!(cost.estimated, !told, "{usage}: {cost:?}");
        assert!(
            cost.input > 500 && cost.input < 200_000,
            "{usage}: {cost:?}"
        );
        assert!((1..100).contains(&cost.output), "{usage}: {cost:?}");
        assert!(cost.session_cost < 0.2, "{usage}: {cost:?}");
        let file = json_of(&home, "config/usage.json");
        let kept = &file["total_provider_tokens"]["groq"];
        assert_eq!(kept["input"], cost.input, "{usage}");
        assert_eq!(kept["estimated"] == json!(true), !told, "{usage}: {kept}");
        let today = get_usage(&home, "today");
        assert_eq!(today.contains("~$"), !told, "{usage}: {today}");
        assert_eq!(today.contains("  ~"), !told, "{usage}: {today}");
    }
}

#[test]
fn two_processes_at_once_add_to_the_files_of_an_older_version() {
    let usage = json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "cost": 0.25,
        "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 20},
    });
    let gate = Latch::new();
    let held = gate.clone();
    let server = Server::answering(move |_, _| {
        let last = openai::data(&json!({"choices": [], "usage": usage}));
        let stream = openai::Stream::new().text(&["ok"]).finish("stop");
        let answer = Answer::sse(stream.raw(last).frames());
        answer.pause(&held).send("data: [DONE]\n\n")
    });
    let home = Home::new();
    let before = json!({
        "total_cost": 1.5, "total_llm_turns": 12, "total_ollama_turns": 2, "total_calls": {"tree": 3}, "theirs": [1],
        "total_model_turns": {"m": 10, "l": 2}, "total_model_cost": {"m": 1.5},
        "total_provider_tokens": {"openrouter": {"input": 100, "output": "10"}, "ollama": {"input": 7, "output": 3}},
    });
    home.write("config/usage.json", before.to_string());
    let old = r#"{"ts":"2026-01-02T00:00:00Z","provider":"p","model":"m","input":100,"output":10,"estimated":true,"cost":0.5}"#;
    let log = home.write("config/profiles/main/cost-log.jsonl", format!("{old}\n"));
    let running: Vec<_> = (0..2)
        .map(|_| ask(&home, "openrouter", server.url("/v1"), "m").spawn())
        .collect();
    for one in &running {
        one.wait_stdout("ok", Duration::from_secs(20));
    }
    gate.open();
    for one in running {
        assert_eq!(parts(&one.wait().expect(0).cost()), [1000, 600, 0, 20, 50]);
    }
    let after: Value = serde_json::from_str(&home.read("config/usage.json")).unwrap();
    let mut expected = before;
    expected["total_cost"] = json!(2.0);
    expected["total_llm_turns"] = json!(14);
    expected["total_model_turns"]["m"] = json!(12);
    expected["total_model_cost"]["m"] = json!(2.0);
    expected["total_provider_tokens"]["openrouter"] =
        json!({"input": 2100, "output": 110, "cached": 1200, "written": 0, "reasoning": 40});
    assert_eq!(after, expected);
    let lines = std::fs::read_to_string(log).unwrap();
    assert!(
        lines.starts_with(old) && lines.lines().count() == 3,
        "{lines}"
    );
    let all = get_usage(&home, "all");
    all.assert_has(&[
        "Lifetime: $2.0000, 14 model calls",
        "\n  l: 2 calls\n",
        "\n  m: 12 calls, $2.0000",
        "2,107 tokens in (1,200 cached), 113 out (40 reasoning)",
    ]);
    // What an older version marked as an estimate stays one; the new part alone is not.
    let since = |day: &str| get_usage(&home, day);
    since("2026-01-01").assert_has(&["~$1.0000, 3 model calls"]);
    since("today").assert_has(&[": $0.5000, 2 model calls"]);
}
