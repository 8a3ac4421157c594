//! The lists of models that providers give: one reader for all of them, since compatible servers mix the forms.
//!
//! OpenAI and most others `{"data": [{"id"}]}`, Together a bare list, Ollama `{"models": [{"name"}]}`; Anthropic's comes in pages.
//! Fields beyond the name are read wherever they stand; what is missing or odd is left out, never guessed.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::endings::ModelEnd;
use super::names::is_snapshot;
use super::price::{PartialRates, TokenPrice};
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::base::word_list::WordList;

/// Longer names are none.
const MAX_NAME_CHARS: usize = 200;
/// Kinds of models that answer no chat, in the words of Together and LM Studio.
const OTHER_KINDS: WordList =
    WordList("audio embedding embeddings image moderation rerank transcribe video");

/// A model in a provider's own list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// Name to ask it by.
    pub id: String,
    /// Tokens of request and reply together.
    pub window: Option<u64>,
    /// Tokens of a reply.
    pub output: Option<u64>,
    pub(crate) price: Option<TokenPrice>,
    pub(crate) end: Option<ModelEnd>,
    /// What takes its place.
    pub successor: Option<String>,
}

impl ListedModel {
    /// A model of which only the name is known.
    pub(crate) fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            window: None,
            output: None,
            price: None,
            end: None,
            successor: None,
        }
    }
}

/// A list, or a page of one.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPage {
    /// The models that answer a chat, in the list's order.
    pub models: Vec<ListedModel>,
    /// The name after which the next page begins.
    pub next: Option<String>,
}

/// Reads the list that `provider` sent.
///
/// # Errors
/// When it is no list of models.
pub fn parse_list(provider: &str, body: &[u8]) -> Outcome<ListPage> {
    let unreadable = |what: &str| {
        Problem::network(format!(
            "The list of models of {provider} cannot be read: {what}."
        ))
        .next("Check the provider's address (marvin doctor shows it).")
    };
    let json: Value = serde_json::from_slice(body).map_err(|why| {
        if body.trim_ascii_start().starts_with(b"<") {
            unreadable("a web page came instead")
        } else {
            unreadable(&format!("it is not JSON ({why})")).because(why)
        }
    })?;
    let entries = match &json {
        Value::Array(entries) => Some(entries),
        json => ["data", "models"]
            .iter()
            .find_map(|key| json.get(key)?.as_array()),
    };
    let Some(entries) = entries else {
        let error = json.pointer("/error/message").or_else(|| json.get("error"));
        return Err(match error.and_then(Value::as_str) {
            Some(error) => unreadable(&format!(
                "an error came instead: {}",
                text::clip(&text::escape_controls(error), 200)
            )),
            None => unreadable("it has no list \"data\" or \"models\""),
        });
    };
    let models: Vec<ListedModel> = entries
        .iter()
        .filter(|entry| chats(entry))
        .filter_map(listed)
        .collect();
    if models.is_empty() && entries.iter().any(|entry| name(entry).is_none()) {
        return Err(unreadable("its entries have no names"));
    }
    let more = json.get("has_more").and_then(Value::as_bool) == Some(true);
    let last = json.get("last_id").and_then(Value::as_str);
    Ok(ListPage {
        models,
        next: last
            .filter(|last| more && !last.is_empty())
            .map(str::to_owned),
    })
}

/// Whether a provider that lists `listed` serves `model`. Its lists may leave out short names, and variants behind a colon.
pub(crate) fn serves(listed: &[ListedModel], model: &str) -> bool {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let family = model.strip_suffix("-latest");
    let is = |id: &str| {
        id == model
            || id.contains('*')
            || id
                .strip_prefix(model)
                .is_some_and(|rest| rest == ":latest" || is_snapshot(rest))
            || family.is_some_and(|family| id.starts_with(family))
            || model.contains('/') && model.split_once(':').is_some_and(|(name, _)| id == name)
    };
    listed.is_empty() || listed.iter().any(|listed| is(&listed.id))
}

fn listed(entry: &Value) -> Option<ListedModel> {
    Some(ListedModel {
        id: name(entry)?.to_owned(),
        window: tokens(
            entry,
            &[
                "/context_length",
                "/max_context_length",
                "/context_window",
                "/max_input_tokens",
                "/max_model_len",
                "/inputTokenLimit",
                "/meta/n_ctx",
                "/meta/n_ctx_train",
            ],
        ),
        output: tokens(
            entry,
            &[
                "/top_provider/max_completion_tokens",
                "/max_completion_tokens",
                "/max_tokens",
                "/outputTokenLimit",
            ],
        ),
        price: entry.get("pricing").and_then(price),
        end: end(entry),
        successor: entry
            .get("deprecation_replacement_model")
            .and_then(Value::as_str)
            .filter(|name| is_name(name))
            .map(str::to_owned),
    })
}

/// The name of an entry; Gemini's stand behind `models/`.
fn name(entry: &Value) -> Option<&str> {
    let name = ["id", "model", "name"]
        .iter()
        .find_map(|key| entry.get(key)?.as_str())?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.chars().any(|c| c.is_control() || c.is_whitespace())
        && text::escape_controls(name) == name
}

/// False for a model that its entry says answers no chat.
fn chats(entry: &Value) -> bool {
    let kind = entry.get("type").and_then(Value::as_str);
    let completes = entry
        .pointer("/capabilities/completion_chat")
        .and_then(Value::as_bool);
    let writes = entry
        .pointer("/architecture/output_modalities")
        .and_then(Value::as_array)
        .is_none_or(|kinds| kinds.iter().any(|kind| kind == "text"));
    kind.is_none_or(|kind| !OTHER_KINDS.has(kind)) && completes != Some(false) && writes
}

fn tokens(entry: &Value, places: &[&str]) -> Option<u64> {
    places
        .iter()
        .find_map(|place| entry.pointer(place)?.as_u64().filter(|tokens| *tokens > 0))
}

/// OpenRouter's texts of dollars per token, or Together's numbers of dollars per million.
fn price(pricing: &Value) -> Option<TokenPrice> {
    let per_token = |key: &str| {
        let dollars: f64 = pricing.get(key)?.as_str()?.parse().ok()?;
        // A billionth of a dollar per million tokens is finer than any price.
        Some((dollars * 1e15).round() / 1e9)
    };
    let per_million = |key: &str| pricing.get(key)?.as_f64();
    let rates = PartialRates {
        input: per_token("prompt").or_else(|| per_million("input")),
        output: per_token("completion").or_else(|| per_million("output")),
        cache_read: per_token("input_cache_read"),
        cache_write: per_token("input_cache_write"),
        cache_write_1h: None,
    };
    TokenPrice::new(rates, Vec::new()).ok()
}

/// The end of a model: a day in one of the fields that tell it, or Anthropic's word.
fn end(entry: &Value) -> Option<ModelEnd> {
    let day = [
        "shutdown_date",
        "retires_at",
        "deprecation",
        "expiration_date",
    ]
    .iter()
    .find_map(|key| day(entry.get(key)?));
    let word = match entry.get("lifecycle").and_then(Value::as_str) {
        Some("retired") => Some(ModelEnd::Gone),
        Some("deprecated") => Some(ModelEnd::Deprecated),
        _ => None,
    };
    day.map(ModelEnd::On).or(word)
}

/// A date, a moment, or seconds since 1970.
fn day(value: &Value) -> Option<Date> {
    match value {
        Value::String(text) => text.get(..10)?.parse().ok(),
        Value::Number(seconds) => {
            let moment = Timestamp::from_second(seconds.as_i64().filter(|s| *s > 0)?).ok()?;
            Some(moment.to_zoned(TimeZone::UTC).date())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn list(json: Value) -> Vec<ListedModel> {
        parse_list("test", json.to_string().as_bytes())
            .unwrap()
            .models
    }

    fn one(json: Value) -> ListedModel {
        let mut models = list(json!([json]));
        assert_eq!(models.len(), 1);
        models.remove(0)
    }

    #[test]
    fn every_form_of_list_is_read() {
        for json in [
            json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}),
            json!([{"id": "a", "object": "model"}, {"id": "b"}]),
            json!({"models": [{"name": "a", "model": "a", "size": 5}, {"name": "b"}]}),
            json!({"data": [{"id": "models/a"}, {"id": "models/b"}]}),
            json!({"models": [{"name": "a.gguf"}], "data": [{"id": "a", "meta": {"n_ctx_train": 4096}}, {"id": "b"}]}),
        ] {
            let names: Vec<String> = list(json.clone())
                .into_iter()
                .map(|model| model.id)
                .collect();
            assert_eq!(names, ["a", "b"], "{json}");
        }
        assert_eq!(list(json!({"data": []})), []);
    }

    #[test]
    fn limits_prices_and_ends_are_read_in_every_providers_words() {
        let anthropic = one(
            json!({"id": "c", "max_input_tokens": 200_000, "max_tokens": 64_000, "lifecycle": "deprecated", "retires_at": "2026-11-30T00:00:00Z"}),
        );
        assert_eq!(
            (anthropic.window, anthropic.output),
            (Some(200_000), Some(64_000))
        );
        assert_eq!(
            anthropic.end,
            Some(ModelEnd::On("2026-11-30".parse().unwrap()))
        );
        let openrouter = one(
            json!({"id": "q/w", "context_length": 131_072, "pricing": {"prompt": "0.00000015", "completion": "0.0000006", "input_cache_read": "0.000000075", "request": "0"}, "expiration_date": null, "top_provider": {"max_completion_tokens": 16_384}}),
        );
        let rates = openrouter.price.unwrap().rates;
        assert_eq!(
            (rates.input, rates.output, rates.cache_read),
            (0.15, 0.6, 0.075)
        );
        assert_eq!((openrouter.output, openrouter.end), (Some(16_384), None));
        let mistral = one(
            json!({"id": "m", "max_context_length": 131_072, "deprecation": "2026-12-01T12:00:00Z", "deprecation_replacement_model": "n", "capabilities": {"completion_chat": true}}),
        );
        assert_eq!(mistral.successor.as_deref(), Some("n"));
        assert!(mistral.end.is_some());
        let together = one(
            json!({"id": "t", "type": "chat", "pricing": {"input": 0.88, "output": 1.1, "hourly": 0}}),
        );
        assert_eq!(together.price.unwrap().rates.output, 1.1);
        for shutdown in [json!("2026-12-11"), json!(1_796_947_200)] {
            let openai = one(json!({"id": "o", "shutdown_date": shutdown}));
            assert_eq!(
                openai.end,
                Some(ModelEnd::On("2026-12-11".parse().unwrap()))
            );
        }
        assert_eq!(
            one(json!({"id": "x", "lifecycle": "retired"})).end,
            Some(ModelEnd::Gone)
        );
    }

    #[test]
    fn a_short_name_is_served_where_its_snapshot_is_listed() {
        let listed = list(json!({"data": [
            {"id": "claude-sonnet-5-5-20260915"}, {"id": "our-own:latest"}, {"id": "a/b"}, {"id": "mistral-medium-2508"},
        ]}));
        for model in [
            "claude-sonnet-5-5",
            "our-own",
            "a/b:free",
            "models/a/b",
            "mistral-medium-latest",
        ] {
            assert!(serves(&listed, model), "{model}");
        }
        for model in ["claude-sonnet-5", "own", "b", "our-own:7b", "gpt-latest"] {
            assert!(!serves(&listed, model), "{model}");
        }
        assert!(serves(&[], "x"), "who lists nothing says nothing");
        assert!(serves(&[ListedModel::named("openai/*")], "openai/x"));
    }

    #[test]
    fn what_answers_no_chat_or_has_no_name_is_left_out() {
        let names: Vec<String> = list(json!({"data": [
            {"id": "chat"},
            {"id": "embed", "capabilities": {"completion_chat": false}},
            {"id": "picture", "type": "image"},
            {"id": "speech", "architecture": {"output_modalities": ["audio"]}},
            {"id": "words", "architecture": {"output_modalities": ["text"]}},
            {"id": "two words"}, {"id": "\u{1b}[31mred"}, {"id": "\u{202e}x"}, {"id": 3}, {"id": ""}, {"id": "x".repeat(300)}, null, 7,
        ]}))
        .into_iter()
        .map(|model| model.id)
        .collect();
        assert_eq!(names, ["chat", "words"]);
    }

    #[test]
    fn odd_fields_are_left_out() {
        let odd = one(
            json!({"id": "o", "context_length": "many", "max_tokens": -5, "pricing": {"prompt": "-1", "completion": "-1"}, "shutdown_date": "soon", "lifecycle": 3, "deprecation_replacement_model": "a\nb"}),
        );
        assert_eq!(
            odd,
            ListedModel {
                id: "o".into(),
                window: None,
                output: None,
                price: None,
                end: None,
                successor: None
            }
        );
    }

    #[test]
    fn pages_name_the_next_one_only_when_there_is_more() {
        let next = |json: Value| {
            parse_list("test", json.to_string().as_bytes())
                .unwrap()
                .next
        };
        assert_eq!(
            next(json!({"data": [{"id": "a"}], "has_more": true, "last_id": "a"})).as_deref(),
            Some("a")
        );
        assert_eq!(
            next(json!({"data": [{"id": "a"}], "has_more": false, "last_id": "a"})),
            None
        );
        assert_eq!(next(json!({"data": [{"id": "a"}], "has_more": true})), None);
    }

    #[test]
    fn junk_is_a_clear_problem() {
        for (body, why) in [
            ("", "not JSON"),
            ("\n<!DOCTYPE html><html>", "a web page came instead"),
            ("{\"data\": [{\"id\": \"a\"}", "not JSON"),
            ("{}", "no list \"data\" or \"models\""),
            ("3", "no list"),
            (
                "{\"error\": {\"message\": \"No such\\u001b page\"}}",
                "an error came instead: No such",
            ),
            ("{\"data\": [{\"nam\": \"a\"}]}", "no names"),
            ("\u{0}", "not JSON"),
        ] {
            let line = parse_list("groq", body.as_bytes()).unwrap_err().one_line();
            assert!(
                line.starts_with("The list of models of groq cannot be read: ")
                    && line.contains(why),
                "{line}"
            );
            assert!(!line.contains('\u{1b}'));
        }
    }

    #[test]
    fn a_list_of_five_thousand_models_is_read_whole() {
        let entries: Vec<Value> = (0..5000)
            .map(|i| json!({"id": format!("m-{i}"), "context_length": i + 1}))
            .collect();
        assert_eq!(list(json!({"data": entries})).len(), 5000);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "20[0-9]{2}-[01][0-9]-[0-3][0-9]é?".prop_map(Value::from),
        ];
        let keys = "data models id name model pricing prompt completion input context_length max_tokens \
            shutdown_date deprecation lifecycle has_more last_id type capabilities error message";
        let keys = prop::sample::select(keys.split_ascii_whitespace().collect::<Vec<_>>());
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((keys.clone(), inner), 0..6)
                    .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_list_of_sound_entries_or_a_problem(json in any_json()) {
            if let Ok(page) = parse_list("test", json.to_string().as_bytes()) {
                for model in page.models {
                    prop_assert!(is_name(&model.id));
                    prop_assert!(model.window != Some(0) && model.output != Some(0));
                    let rates = model.price.map(|price| price.rates);
                    prop_assert!(rates.is_none_or(|rates| rates.input >= 0.0 && rates.output.is_finite()));
                }
            }
        }

        #[test]
        fn bytes_never_break_the_reader(bytes: Vec<u8>) {
            drop(parse_list("test", &bytes));
        }
    }
}
