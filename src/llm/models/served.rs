//! What a server of local models says of one of them: how much it takes, whether it sees, calls tools and thinks.
//!
//! Ollama tells by `POST /api/show` (<https://github.com/ollama/ollama/blob/main/docs/api.md>), LM Studio by `GET /api/v0/models`, llama-server by
//! `GET /props`. Fields are read wherever they stand; what is missing or odd is left out.

use std::time::Duration;

use serde_json::Value;

use super::ModelInfo;
use crate::llm::catalog::ProviderSpec;

/// How long a server may take to say it; whoever asks goes on without.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
/// An answer of Ollama has the licence and the template of the model in it.
pub(crate) const MAX_ANSWER_BYTES: usize = 4 << 20;
/// More tokens than any window has.
const MAX_WINDOW: u64 = 1 << 30;

/// What a server says of a model. `None` for what it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServedFacts {
    /// Tokens that the model can take at most.
    pub max_window: Option<u64>,
    /// Tokens that it takes as it is set up there.
    pub window: Option<u64>,
    /// It takes images.
    pub images: Option<bool>,
    /// It takes tools.
    pub tools: Option<bool>,
    /// It can think before it answers.
    pub thinks: Option<bool>,
    /// It answers chats, and is not for embeddings alone.
    pub chats: Option<bool>,
}

impl ServedFacts {
    /// `info` with what the server says in place of what was assumed.
    pub(super) fn over(&self, info: ModelInfo) -> ModelInfo {
        let info = ModelInfo {
            takes_tools: self.tools.unwrap_or(info.takes_tools),
            thinks: self.thinks.unwrap_or(info.thinks),
            thinks_told: self.thinks.is_some(),
            window_told: self.window.is_some(),
            images: self.images.unwrap_or(info.images),
            images_told: self.images.is_some(),
            ..info
        };
        match self.window {
            Some(window) => info.with_window(window),
            None => info,
        }
    }
}

/// A question about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedQuestion {
    /// Where to ask.
    pub url: String,
    /// What to post; `None` to get.
    pub body: Option<Value>,
}

/// How to ask the server of `row` at `base` about `model`; `None` for a provider that is not one of local models.
pub(crate) fn question(row: &ProviderSpec, base: &str, model: &str) -> Option<ServedQuestion> {
    let mut origin = base.trim_end_matches('/');
    for path in ["/chat/completions", "/responses", "/api/chat", "/v1"] {
        origin = origin.strip_suffix(path).unwrap_or(origin);
    }
    let get = |path: &str| {
        Some(ServedQuestion {
            url: format!("{origin}{path}"),
            body: None,
        })
    };
    match row.name {
        "ollama" => Some(ServedQuestion {
            url: format!("{origin}/api/show"),
            body: Some(serde_json::json!({ "model": model })),
        }),
        "lmstudio" => get("/api/v0/models"),
        "llama-server" => get("/props"),
        _ => None,
    }
}

/// Reads the answer of the server of `row` about `model`; `None` when it says nothing.
pub(crate) fn read(row: &ProviderSpec, model: &str, answer: &[u8]) -> Option<ServedFacts> {
    let json: Value = serde_json::from_slice(answer).ok()?;
    let facts = match row.name {
        "ollama" => of_ollama(&json),
        "lmstudio" => of_lm_studio(&json, model)?,
        "llama-server" => of_llama_server(&json),
        _ => return None,
    };
    (facts != ServedFacts::default()).then_some(facts)
}

fn tokens(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .filter(|tokens| (1..MAX_WINDOW).contains(tokens))
}

fn of_ollama(json: &Value) -> ServedFacts {
    // `llama.context_length`: the name of the architecture comes first.
    let lengths = json.get("model_info").and_then(Value::as_object);
    let mut lengths = lengths.into_iter().flatten();
    let max_window = lengths.find_map(|(name, value)| {
        let is_length = name.ends_with(".context_length");
        tokens(value).filter(|_| is_length)
    });
    // Lines of a Modelfile: a name and its value.
    let parameters = json.get("parameters").and_then(Value::as_str);
    let mut lines = parameters.unwrap_or_default().lines();
    let window = lines.find_map(|line| {
        let value: u64 = line.trim().strip_prefix("num_ctx")?.trim().parse().ok()?;
        (1..MAX_WINDOW).contains(&value).then_some(value)
    });
    // Versions before 0.6.4 say nothing of what models can do.
    let can = json.get("capabilities").and_then(Value::as_array);
    let has = |name: &str| can.map(|can| can.iter().any(|one| one == name));
    ServedFacts {
        max_window,
        window,
        images: has("vision"),
        tools: has("tools"),
        thinks: has("thinking"),
        chats: has("completion"),
    }
}

fn of_lm_studio(json: &Value, model: &str) -> Option<ServedFacts> {
    let models = json.get("data")?.as_array()?;
    let is_loaded = |entry: &&Value| entry.get("state").is_some_and(|state| state == "loaded");
    let kind = |entry: &Value| entry.get("type").and_then(Value::as_str).map(str::to_owned);
    let named = models
        .iter()
        .find(|entry| entry.get("id").is_some_and(|id| id == model));
    // Whatever it is called there, the model that is loaded answers.
    let answers =
        |entry: &&Value| is_loaded(entry) && kind(entry).is_some_and(|kind| kind != "embeddings");
    let entry = named.or_else(|| models.iter().find(answers))?;
    let kind = kind(entry);
    let number = |name: &str| entry.get(name).and_then(tokens);
    Some(ServedFacts {
        max_window: number("max_context_length"),
        window: number("loaded_context_length").filter(|_| is_loaded(&entry)),
        images: kind.as_deref().map(|kind| kind == "vlm"),
        chats: kind.as_deref().map(|kind| kind != "embeddings"),
        ..ServedFacts::default()
    })
}

fn of_llama_server(json: &Value) -> ServedFacts {
    let window = json
        .pointer("/default_generation_settings/n_ctx")
        .and_then(tokens);
    ServedFacts {
        max_window: window,
        window,
        images: json.pointer("/modalities/vision").and_then(Value::as_bool),
        ..ServedFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::llm::catalog::row;

    fn facts(provider: &str, model: &str, answer: &Value) -> Option<ServedFacts> {
        read(row(provider).unwrap(), model, answer.to_string().as_bytes())
    }

    #[test]
    fn ollama_tells_windows_and_what_a_model_can_do() {
        let shown = json!({
            "parameters": "stop                           \"<|im_end|>\"\nnum_ctx                        65536",
            "model_info": {"general.architecture": "qwen3moe", "qwen3moe.rope.context_length": "x", "qwen3moe.context_length": 262_144},
            "capabilities": ["completion", "tools"],
        });
        let wanted = ServedFacts {
            max_window: Some(262_144),
            window: Some(65_536),
            images: Some(false),
            tools: Some(true),
            thinks: Some(false),
            chats: Some(true),
        };
        assert_eq!(facts("ollama", "m", &shown), Some(wanted));
        let old = json!({"model_info": {"llama.context_length": 8192}});
        let old = facts("ollama", "m", &old).unwrap();
        assert_eq!((old.max_window, old.window), (Some(8192), None));
        assert_eq!((old.images, old.tools), (None, None));
    }

    #[test]
    fn lm_studio_tells_the_named_model_or_the_loaded_one() {
        let list = json!({"data": [
            {"id": "e", "type": "embeddings", "state": "loaded", "max_context_length": 2048},
            {"id": "a", "type": "llm", "state": "not-loaded", "max_context_length": 131_072},
            {"id": "b", "type": "vlm", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 4096},
        ]});
        let of = |model| {
            let facts = facts("lmstudio", model, &list).unwrap();
            (facts.window, facts.max_window, facts.images)
        };
        assert_eq!(of("a"), (None, Some(131_072), Some(false)));
        assert_eq!(of("default"), (Some(4096), Some(131_072), Some(true)));
    }

    #[test]
    fn llama_server_tells_what_it_was_started_with() {
        let props = json!({"default_generation_settings": {"n_ctx": 16_384}, "modalities": {"vision": true, "audio": false}});
        let facts = facts("llama-server", "default", &props).unwrap();
        assert_eq!((facts.window, facts.images), (Some(16_384), Some(true)));
    }

    #[test]
    fn the_question_is_asked_beside_the_chat() {
        for (provider, base, url) in [
            ("ollama", "http://a:1", Some("http://a:1/api/show")),
            ("ollama", "http://a:1/v1/", Some("http://a:1/api/show")),
            ("ollama", "http://a:1/api/chat", Some("http://a:1/api/show")),
            (
                "lmstudio",
                "http://a:1/v1",
                Some("http://a:1/api/v0/models"),
            ),
            (
                "llama-server",
                "http://a:1/v1/chat/completions",
                Some("http://a:1/props"),
            ),
            ("openai", "http://a:1/v1", None),
        ] {
            let asked = question(row(provider).unwrap(), base, "m");
            assert_eq!(asked.map(|asked| asked.url).as_deref(), url, "{base}");
        }
    }

    #[test]
    fn an_error_or_junk_says_nothing() {
        for answer in [
            json!({"error": "model 'm' not found"}),
            json!([]),
            json!({"data": []}),
            json!(3),
        ] {
            for provider in ["ollama", "lmstudio", "llama-server"] {
                assert_eq!(facts(provider, "m", &answer), None, "{provider} {answer}");
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_never_break_the_reader(bytes: Vec<u8>) {
            for provider in ["ollama", "lmstudio", "llama-server"] {
                prop_assert_eq!(read(row(provider).unwrap(), "m", &bytes).map(|_| ()), None);
            }
        }
    }
}
