//! `MARVIN_MODELS`: a file of models in the form of models.dev, so that what is known of models does not age with the binary.
//!
//! Fields that are not named here are passed over: the form grows with every release. What is read must be right, and the model at fault is named.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::effort::{EffortControl, Efforts, ReasoningEffort};
use super::price::{PartialRates, TokenPrice};
use super::{ModelInfo, WireRule};
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::llm::catalog;

/// The tier that `context_over_200k` describes when no list of tiers does.
const UNNAMED_TIER: u64 = 200_000;
const WANTED: &str = "Take the file from https://models.dev/api.json, or write {\"PROVIDER\": {\"models\": {\"MODEL\": {\"limit\": {\"context\": 128000, \"output\": 8192}, \"cost\": {\"input\": 1, \"output\": 5}}}}}.";

/// The models of the file by provider, as Marvin calls it, and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelsFile(BTreeMap<(&'static str, String), FileModel>);

/// What the file says of a model.
#[derive(Debug, Clone, PartialEq)]
struct FileModel {
    window: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    price: Option<TokenPrice>,
    thinks: Option<bool>,
    efforts: Option<Efforts>,
    images: Option<bool>,
    wire: Option<WireRule>,
    deprecated: bool,
}

#[derive(Deserialize)]
struct ProviderEntry<'a> {
    #[serde(borrow, default)]
    models: BTreeMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct ModelEntry {
    #[serde(default)]
    limit: Limit,
    cost: Option<Cost>,
    reasoning: Option<bool>,
    #[serde(default)]
    reasoning_options: Vec<ReasoningOption>,
    modalities: Option<Modalities>,
    #[serde(default)]
    status: Option<String>,
    provider: Option<Served>,
}

#[derive(Deserialize, Default)]
struct Limit {
    context: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(flatten)]
    rates: Rates,
    #[serde(default)]
    tiers: Vec<CostTier>,
    context_over_200k: Option<Rates>,
}

#[derive(Deserialize)]
struct CostTier {
    #[serde(flatten)]
    rates: Rates,
    tier: TierLimit,
}

#[derive(Deserialize)]
struct TierLimit {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    size: u64,
}

#[derive(Deserialize)]
struct Rates {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

#[derive(Deserialize)]
struct ReasoningOption {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    values: Vec<Option<String>>,
}

#[derive(Deserialize)]
struct Modalities {
    #[serde(default)]
    input: Vec<String>,
}

#[derive(Deserialize)]
struct Served {
    shape: Option<String>,
}

impl From<Rates> for PartialRates {
    fn from(rates: Rates) -> Self {
        Self {
            input: rates.input,
            output: rates.output,
            cache_read: rates.cache_read,
            cache_write: rates.cache_write,
            cache_write_1h: None,
        }
    }
}

impl Cost {
    /// The price; `None` when it lacks that of input or output.
    fn price(self) -> Result<Option<TokenPrice>, &'static str> {
        if self.rates.input.is_none() || self.rates.output.is_none() {
            return Ok(None);
        }
        let mut tiers: Vec<(u64, PartialRates)> = self
            .tiers
            .into_iter()
            .filter(|tier| tier.tier.kind == "context")
            .map(|tier| (tier.tier.size, tier.rates.into()))
            .collect();
        if let Some(rates) = self.context_over_200k.filter(|_| tiers.is_empty()) {
            tiers.push((UNNAMED_TIER, rates.into()));
        }
        TokenPrice::new(self.rates.into(), tiers).map(Some)
    }
}

impl ModelEntry {
    fn model(self) -> Result<FileModel, &'static str> {
        let has = |kind: &str| {
            self.reasoning_options
                .iter()
                .find(|option| option.kind == kind)
        };
        let efforts = match has("effort") {
            Some(option) => {
                let words = option.values.iter().flatten();
                let known: Vec<_> = words.filter_map(|word| ReasoningEffort::of(word)).collect();
                // Groq's word for thinking as the model does by itself, beside which there is only "none".
                let is_switch = known == [ReasoningEffort::None];
                Some(if is_switch {
                    Efforts::switch()
                } else {
                    Efforts::of(&known)
                })
            }
            None if has("budget_tokens").is_some() => Some(Efforts::budget()),
            None => has("toggle").map(|_| Efforts::switch()),
        };
        Ok(FileModel {
            window: self.limit.context.filter(|tokens| *tokens > 0),
            input: self.limit.input.filter(|tokens| *tokens > 0),
            output: self.limit.output.filter(|tokens| *tokens > 0),
            price: self.cost.map_or(Ok(None), Cost::price)?,
            thinks: self.reasoning,
            efforts: efforts.or_else(|| self.reasoning.map(|_| Efforts::default())),
            images: self
                .modalities
                .map(|modalities| modalities.input.iter().any(|kind| kind == "image")),
            wire: self
                .provider
                .and_then(|served| match served.shape?.as_str() {
                    "completions" => Some(WireRule::CompletionsOnly),
                    "responses" => Some(WireRule::ResponsesOnly),
                    _ => None,
                }),
            deprecated: self.status.as_deref() == Some("deprecated"),
        })
    }
}

impl ModelsFile {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// When it is not of that form, or what it says of a model cannot be.
    pub(crate) fn parse(json: &str) -> Outcome<Self> {
        let unreadable = |why: serde_json::Error| {
            Problem::config(format!("MARVIN_MODELS cannot be read: {why}."))
                .next(WANTED)
                .because(why)
        };
        let providers: BTreeMap<String, &RawValue> =
            serde_json::from_str(json).map_err(unreadable)?;
        let mut all = BTreeMap::new();
        for (name, entry) in &providers {
            let Some(provider) = provider_here(name) else {
                continue;
            };
            let entry: ProviderEntry<'_> = serde_json::from_str(entry.get()).map_err(unreadable)?;
            for (model, text) in entry.models {
                let parsed = serde_json::from_str::<ModelEntry>(text.get())
                    .map_err(|why| format!("cannot be read: {why}"))
                    .and_then(|entry| entry.model().map_err(str::to_owned))
                    .map_err(|why| wrong(name, &model, &why))?;
                all.insert((provider, model.to_lowercase()), parsed);
            }
        }
        Ok(Self(all))
    }

    fn get(&self, provider: &str, model: &str) -> Option<&FileModel> {
        let row = catalog::row(provider)?;
        let model = model
            .strip_prefix("models/")
            .unwrap_or(model)
            .to_lowercase();
        // OpenRouter is what openai-compat is unless told otherwise.
        let own = |name| self.0.get(&(name, model.clone()));
        own(row.name).or_else(|| own("openrouter").filter(|_| row.name == "openai-compat"))
    }

    /// `info` with what the file says of `model` at `provider` in place of what was known.
    pub(super) fn over(&self, info: ModelInfo, provider: &str, model: &str) -> ModelInfo {
        let Some(file) = self.get(provider, model) else {
            return info;
        };
        let window = file.window.unwrap_or(info.window);
        let input = file.input.or(file.window).unwrap_or(info.input);
        ModelInfo {
            window,
            window_told: info.window_told || file.window.is_some(),
            input: input.min(window),
            output: file.output.unwrap_or(info.output).min(window),
            price: file.price.clone().or(info.price),
            tools: info.tools,
            takes_tools: info.takes_tools,
            efforts: file
                .efforts
                // The file also calls words what a model takes beside the budget without which it does not think.
                .filter(|_| info.efforts.control() != EffortControl::Budget)
                .unwrap_or(info.efforts),
            thinks: file.thinks.unwrap_or(info.thinks),
            thinks_told: info.thinks_told || file.thinks.is_some(),
            images: file.images.unwrap_or(info.images),
            images_told: info.images_told || file.images.is_some(),
            wire: file.wire.unwrap_or(info.wire),
            known: true,
        }
    }

    /// True when the file calls the model deprecated.
    pub(crate) fn is_deprecated(&self, provider: &str, model: &str) -> bool {
        self.get(provider, model)
            .is_some_and(|file| file.deprecated)
    }
}

fn provider_here(name: &str) -> Option<&'static str> {
    catalog::row(catalog::provider_named(name)?).map(|row| row.name)
}

fn wrong(provider: &str, model: &str, why: &str) -> Problem {
    let shown = |name: &str| text::clip(&text::escape_controls(name), 80);
    Problem::config(format!(
        "MARVIN_MODELS: \"{}\" of \"{}\" {why}.",
        shown(model),
        shown(provider)
    ))
    .next(WANTED)
}
