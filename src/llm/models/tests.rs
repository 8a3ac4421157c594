//! What is known of models, from the files and the table together.

use super::*;
use crate::llm::catalog::ROWS;

fn tokens(input: u64, output: u64) -> Tokens {
    Tokens {
        input,
        output,
        ..Tokens::default()
    }
}

fn cost_of(
    models: &ModelRegistry,
    provider: &str,
    model: &str,
    tokens: Tokens,
    billed: Option<f64>,
) -> (f64, bool) {
    models.call_cost(model, &models.facts(provider, model), tokens, billed)
}

fn registry(prices: &str, models: &str) -> ModelRegistry {
    ModelRegistry::new(
        UserPrices::parse(prices).unwrap(),
        ModelsFile::parse(models).unwrap(),
        Clock::default(),
    )
}

#[test]
fn the_longest_beginning_wins_and_vendors_do_not_matter() {
    for (model, input) in [
        ("gpt-5.1", 1.25),
        ("gpt-5.1-codex", 1.25),
        ("gpt-5-mini-2025-08-07", 0.25),
        ("gpt-5.6-sol", 4.0),
        ("gpt-5.9", 1.25),
        ("openai/gpt-4o-mini:free", 0.15),
        ("qwen/qwen3-32b", 0.2),
        ("claude-sonnet-4-5", 3.0),
        ("anthropic/claude-opus-4.6", 5.0),
        ("haiku-4.5", 1.0),
        ("claude-opus-4.8", 5.0),
        ("claude-opus-4-20250514", 15.0),
        ("claude-opus-4-1-20250805", 15.0),
        ("claude-3.7-sonnet", 3.0),
        ("grok-4-1-fast-reasoning", 0.2),
        ("grok-4-0709", 3.0),
        ("moonshotai/kimi-k2.6", 0.95),
    ] {
        let price = ModelRegistry::default().facts("", model).price.unwrap();
        assert_eq!(price.rates.input, input, "{model}");
    }
    assert!(
        !ModelRegistry::default()
            .facts("", "gpt-4-1106-preview")
            .known
    );
}

#[test]
fn what_is_not_known_is_guessed_with_care() {
    let models = ModelRegistry::default();
    let unknown = models.facts("openai-compat", "mystery-1");
    assert!(!unknown.known && !unknown.thinks && unknown.price.is_none());
    assert_eq!((unknown.window, unknown.tools), (128_000, 128));
    assert_eq!(models.facts("ollama", "mystery-1").window, 32_768);
    let million = tokens(1_000_000, 1_000_000);
    assert_eq!(
        cost_of(&models, "groq", "mystery-1", million, None),
        (2.0, true)
    );
    assert_eq!(
        cost_of(&models, "ollama", "mystery-1", million, None),
        (0.0, false)
    );
    assert_eq!(
        cost_of(&models, "offline", "offline", million, None),
        (0.0, false)
    );
    let new = models.facts("openai", "gpt-7-sol");
    assert!(!new.known && new.thinks && !new.efforts.takes(ReasoningEffort::None));
}

#[test]
fn every_default_model_of_a_keyed_provider_is_known() {
    let models = ModelRegistry::default();
    for row in ROWS.iter().filter(|row| !row.local) {
        let info = models.facts(row.name, row.model);
        assert!(
            info.known && info.price.is_some(),
            "{}: {}",
            row.name,
            row.model
        );
        assert!(info.window >= 128_000, "{}: every tool must fit", row.name);
    }
}

#[test]
fn wires_and_efforts_are_those_that_the_model_takes() {
    let models = ModelRegistry::default();
    for (model, wire) in [
        ("gpt-6.1-terra", WireRule::Any),
        ("gpt-5-pro", WireRule::ResponsesOnly),
        ("gpt-5.1-codex-max", WireRule::ResponsesOnly),
        ("gpt-5.5-pro-2026-04-23", WireRule::ResponsesOnly),
        ("o3-deep-research", WireRule::ResponsesOnly),
        ("o3", WireRule::Any),
        (
            "gpt-4o-search-preview-2025-03-11",
            WireRule::CompletionsOnly,
        ),
        ("gpt-audio-mini", WireRule::CompletionsOnly),
        ("gpt-3.5-turbo-16k", WireRule::CompletionsOnly),
        ("gpt-3.5-turbo", WireRule::Any),
    ] {
        assert_eq!(models.facts("openai", model).wire, wire, "{model}");
    }
    for (provider, model, efforts) in [
        ("openai", "gpt-6.1-terra", "none,low,medium,high,xhigh,max"),
        ("openai", "gpt-6.1-sol", "low,medium,high,xhigh,max"),
        ("openai", "gpt-5.4-pro", "medium,high,xhigh"),
        ("openai", "gpt-5-pro", "high"),
        ("openai", "gpt-5", "minimal,low,medium,high"),
        ("openai", "gpt-5.1", "none,low,medium,high"),
        ("openai", "gpt-4.1", "-"),
        ("xai", "grok-4.3", "none,low,medium,high,xhigh"),
        ("xai", "grok-4.7", "low,medium,high,xhigh"),
    ] {
        let info = models.facts(provider, model);
        assert_eq!(info.efforts, Efforts::parse(efforts).unwrap(), "{model}");
        assert_eq!(info.thinks, efforts != "-", "{model}");
    }
}

#[test]
fn the_users_price_comes_first_then_the_bill_then_the_file_then_the_table() {
    let prices = r#"{"gpt-5.1": {"input": 7, "output": 0}}"#;
    let file = r#"{"openai": {"models": {"gpt-5.1": {"cost": {"input": 3, "output": 0}}, "new": {"cost": {"input": 4, "output": 0}}}}}"#;
    let million = tokens(1_000_000, 0);
    let cost = |prices, file, billed| {
        cost_of(
            &registry(prices, file),
            "openai",
            "gpt-5.1",
            million,
            billed,
        )
    };
    assert_eq!(cost(prices, file, Some(0.5)), (7.0, false));
    assert_eq!(cost("{}", file, Some(0.5)), (0.5, false));
    assert_eq!(cost("{}", file, None), (3.0, false));
    assert_eq!(cost("{}", "{}", None), (1.25, false));
    for odd in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(cost("{}", "{}", Some(odd)), (1.25, false));
    }
    let models = registry("{}", file);
    assert_eq!(
        cost_of(&models, "openai", "new", million, None),
        (4.0, false)
    );
    assert_eq!(cost_of(&models, "xai", "new", million, None), (0.5, true));
    let guessed = Tokens {
        estimated: true,
        ..million
    };
    assert!(cost_of(&models, "openai", "new", guessed, None).1);
    assert!(!cost_of(&models, "openai", "new", guessed, Some(0.1)).1);
}

const FILE: &str = r#"{
  "google": {"id": "google", "env": ["X"], "models": {
    "gemini-9": {"id": "gemini-9", "name": "Gemini 9", "reasoning": true, "reasoning_options": [{"type": "toggle"}, {"type": "effort", "values": ["low", "default", null, "max"]}],
      "modalities": {"input": ["text", "image"], "output": ["text"]}, "limit": {"context": 2000000, "input": 1900000, "output": 100000}, "unheard": {"of": 1},
      "cost": {"input": 2, "output": 12, "cache_read": 0.2, "input_audio": 5, "tiers": [{"input": 4, "output": 18, "tier": {"type": "context", "size": 300000}}, {"input": 1, "tier": {"type": "batch"}}], "context_over_200k": {"input": 4, "output": 18}}},
    "gemini-8": {"limit": {"context": 0, "output": 0}, "cost": {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}},
    "gemini-2.5-pro": {"limit": {"context": 500}, "status": "deprecated"}}},
  "moonshotai": {"models": {"Kimi-X": {"reasoning": false, "cost": {"input": 9, "output": 9}}}},
  "openrouter": {"models": {"a/b": {"limit": {"context": 4096, "output": 99999}, "provider": {"shape": "completions"}}}},
  "ollama": {"models": {"big": {"limit": {"context": 65536}}}},
  "nobody-here": {"models": "anything"}
}"#;

#[test]
fn the_file_of_models_comes_before_the_table() {
    let models = registry("{}", FILE);
    let new = models.facts("gemini", "gemini-9");
    assert_eq!(
        (new.window, new.input, new.output),
        (2_000_000, 1_900_000, 100_000)
    );
    assert!(new.known && new.thinks && new.images);
    assert_eq!(new.efforts, Efforts::parse("low,max").unwrap());
    let price = new.price.unwrap();
    assert_eq!(price.rates_for(300_000).input, 2.0);
    assert_eq!(price.rates_for(300_001).output, 18.0);
    assert_eq!(
        price.rates_for(300_001).cache_read,
        0.2,
        "from the price below the tier"
    );
    let older = models.facts("gemini", "models/gemini-8");
    assert_eq!(
        (older.window, older.output),
        (128_000, 8192),
        "a limit of 0 is none"
    );
    let price = older.price.unwrap();
    assert_eq!(
        (
            price.rates_for(200_000).input,
            price.rates_for(200_001).input
        ),
        (1.0, 3.0)
    );
    let partly = models.facts("gemini", "gemini-2.5-pro");
    assert_eq!(
        (
            partly.window,
            partly.output,
            partly.price.unwrap().rates.input
        ),
        (500, 500, 1.25)
    );
    assert!(models.file().is_deprecated("gemini", "gemini-2.5-pro"));
    assert_eq!(
        models
            .facts("moonshot", "kimi-x")
            .price
            .unwrap()
            .rates
            .input,
        9.0
    );
    let compatible = models.facts("openai-compat", "a/b");
    assert_eq!(
        (compatible.wire, compatible.output),
        (WireRule::CompletionsOnly, 4096)
    );
    assert_eq!(models.facts("ollama", "big").window, 65_536);
    assert!(
        !models.facts("xai", "gemini-9").known,
        "of another provider"
    );
}

#[test]
fn a_file_of_models_that_is_none_is_explained() {
    for (junk, why) in [
        ("", "cannot be read"),
        ("[]", "expected a map"),
        ("<html>", "cannot be read"),
        (r#"{"google": {"models": []}}"#, "expected a map"),
        (
            r#"{"google": {"models": {"g": 3}}}"#,
            "\"g\" of \"google\" cannot be read",
        ),
        (
            r#"{"google": {"models": {"g": {"limit": {"context": "many"}}}}}"#,
            "\"g\" of \"google\" cannot be read",
        ),
        (
            r#"{"google": {"models": {"g": {"cost": {"input": -1, "output": 1}}}}}"#,
            "\"g\" of \"google\" has a negative price",
        ),
    ] {
        let line = ModelsFile::parse(junk).unwrap_err().one_line();
        assert!(
            line.starts_with("MARVIN_MODELS") && line.contains(why) && line.contains("models.dev"),
            "{junk}: {line}"
        );
    }
    let nothing_here = ModelsFile::parse(r#"{"nobody": 3, "google": {}}"#).unwrap();
    assert_eq!(nothing_here, ModelsFile::default());
}

/// The real catalogue's form, where a piece of it lies beside the project.
#[test]
fn the_public_catalogue_is_read_and_agrees_with_the_table() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared/contract", "../../shared/contract"]
        .iter()
        .find_map(|place| std::fs::read_to_string(here.join(place).join("models-dev.json")).ok());
    let Some(json) = found else {
        eprintln!("skipped: there is no models-dev.json beside the project");
        return;
    };
    let file = registry("{}", &json);
    let table = ModelRegistry::default();
    for (provider, model) in [
        ("openai", "gpt-5.5"),
        ("openai", "gpt-6-luna"),
        ("openai", "gpt-5.4-pro"),
        ("anthropic", "claude-opus-4-6"),
        ("anthropic", "claude-fable-5-1"),
        ("gemini", "gemini-3.1-pro-preview"),
        ("gemini", "gemini-2.5-flash-lite"),
        ("xai", "grok-4.6"),
        ("groq", "openai/gpt-oss-120b"),
        ("together", "openai/gpt-oss-120b"),
        ("moonshot", "kimi-k2.6"),
        ("openrouter", "qwen/qwen3-coder"),
    ] {
        let (read, known) = (file.facts(provider, model), table.facts(provider, model));
        let (read_price, known_price) = (read.price.unwrap(), known.price.unwrap());
        for prompt in [1000, 200_001, 272_001] {
            let (one, other) = (read_price.rates_for(prompt), known_price.rates_for(prompt));
            assert_eq!(
                (one.input, one.output, one.cache_read, one.cache_write),
                (
                    other.input,
                    other.output,
                    other.cache_read,
                    other.cache_write
                ),
                "{model} of {provider} at {prompt}"
            );
        }
        assert_eq!(
            (read.images, read.thinks),
            (known.images, known.thinks),
            "{model}"
        );
        assert_eq!(read.window / 10_000, known.window / 10_000, "{model}");
    }
}

mod any_file {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Values right and wrong, where a file has its numbers.
    fn odd() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (0.0..1e7).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
        ]
    }

    proptest! {
        #[test]
        fn is_read_or_explained(a in odd(), b in odd(), c in odd(), d in odd(), input in 0..u64::MAX) {
            let prices = json!({"m": {"input": a, "output": b, "cache_read": c, "tiers": [{"above": d, "input": a}]}}).to_string();
            let file = json!({"openai": {"models": {"m": {
                "limit": {"context": a, "input": b, "output": c},
                "cost": {"input": b, "output": c, "tiers": [{"input": a, "tier": {"type": "context", "size": d}}], "context_over_200k": null},
                "reasoning_options": [{"type": "effort", "values": [null, "low"]}],
            }}}}).to_string();
            for (prices, file) in [(prices.as_str(), "{}"), ("{}", file.as_str())] {
                let read = UserPrices::parse(prices).and_then(|prices| Ok((prices, ModelsFile::parse(file)?)));
                if let Ok((prices, file)) = read {
                    let models = ModelRegistry::new(prices, file, Clock::default());
                    let info = models.facts("openai", "m");
                    prop_assert!(info.input <= info.window && info.output <= info.window && info.window > 0);
                    let (cost, _) = cost_of(&models, "openai", "m", tokens(input, input), None);
                    prop_assert!(cost.is_finite() && cost >= 0.0);
                }
            }
        }
    }
}
