//! Model tiers: the kinds of work, and the provider and model that do each.

use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::base::variables::{
    MARVIN_CODE_MODEL_AUX_REVIEWER, MARVIN_CODE_MODEL_FALLBACK, MARVIN_CODE_MODEL_HIGH,
    MARVIN_CODE_MODEL_LOW, MARVIN_CODE_MODEL_PLAN, MARVIN_CODE_MODEL_PLAN_GEN,
    MARVIN_CODE_MODEL_TEST_WRITER, Text,
};
use crate::chat::pipeline_event::TierChoice;
use crate::llm::models::{endings, table};
use crate::llm::{catalog, choose};

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Implementation and fixes.
    Codex,
    /// Reviews and attempts to break the program.
    Opus,
    /// Debugging and fixes of what was found.
    Plan,
    /// Documents.
    PlanGen,
    /// Tests.
    TestWriter,
    /// Further reviews.
    AuxReviewer,
    /// Fixers, and the last attempt at anything.
    Fallback,
}

struct TierRow {
    tier: Tier,
    name: &'static str,
    alias: Option<&'static str>,
    variable: Text,
    /// Its model when nothing is set, and the provider whose model that is; none for the codex tier's.
    default: Option<(&'static str, &'static str)>,
}

/// All tiers, in the order in which they are listed.
static ROWS: &[TierRow] = &[
    row(
        Tier::Codex,
        "codex",
        Some("low"),
        MARVIN_CODE_MODEL_LOW,
        Some(("openai", "gpt-5.3-codex")),
    ),
    row(
        Tier::Opus,
        "opus",
        Some("high"),
        MARVIN_CODE_MODEL_HIGH,
        Some(("anthropic", "claude-opus-4.6")),
    ),
    row(
        Tier::Plan,
        "plan",
        None,
        MARVIN_CODE_MODEL_PLAN,
        Some(("openai", "gpt-5.2")),
    ),
    row(
        Tier::PlanGen,
        "plan_gen",
        None,
        MARVIN_CODE_MODEL_PLAN_GEN,
        Some(("gemini", "gemini-3-pro-preview")),
    ),
    row(
        Tier::TestWriter,
        "test_writer",
        None,
        MARVIN_CODE_MODEL_TEST_WRITER,
        Some(("gemini", "gemini-3-pro-preview")),
    ),
    row(
        Tier::AuxReviewer,
        "aux_reviewer",
        None,
        MARVIN_CODE_MODEL_AUX_REVIEWER,
        Some(("openai", "gpt-5.2")),
    ),
    row(
        Tier::Fallback,
        "fallback",
        None,
        MARVIN_CODE_MODEL_FALLBACK,
        None,
    ),
];

const fn row(
    tier: Tier,
    name: &'static str,
    alias: Option<&'static str>,
    variable: Text,
    default: Option<(&'static str, &'static str)>,
) -> TierRow {
    TierRow {
        tier,
        name,
        alias,
        variable,
        default,
    }
}

/// Names that `--model TIER=MODEL` takes; `all` stands for every tier.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter()
        .flat_map(|row| [Some(row.name), row.alias])
        .flatten()
        .chain([ALL])
}

const ALL: &str = "all";

/// Models that the user gave to tiers, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TierOverrides(Vec<(&'static str, String)>);

impl TierOverrides {
    /// Adds `TIER=MODEL`.
    ///
    /// # Errors
    /// There is no such tier, or the model is missing.
    pub(crate) fn add(&mut self, tier: &str, model: &str) -> Outcome<()> {
        let Some(known) = names().find(|name| *name == tier.trim()) else {
            let problem = Problem::input(format!(
                "There is no tier \"{}\".",
                text::clip(&text::escape_controls(tier), 40)
            ))
            .near(tier, names());
            let all: Vec<&str> = names().collect();
            return Err(problem.next(format!(
                "Give --model MODEL, or --model TIER=MODEL with one of {}.",
                all.join(", ")
            )));
        };
        let of_provider = model.trim().strip_suffix(':');
        let is_provider = of_provider.is_some_and(|name| catalog::provider_named(name).is_some());
        if model.trim().is_empty() || is_provider {
            return Err(Problem::input(format!(
                "--model {known}={} names no model.",
                model.trim()
            ))
            .next(format!("For example: --model {known}=openai:gpt-5.2")));
        }
        self.0.push((known, model.trim().to_owned()));
        Ok(())
    }

    /// Each as `--model` takes it.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(tier, model)| format!("{tier}={model}"))
    }

    /// The model given to a tier, and the name by which it was given. The last word counts, and a tier's own word more than `all`.
    fn model(&self, row: &TierRow) -> Option<(&str, &'static str)> {
        let named = |wanted: &dyn Fn(&str) -> bool| {
            let found = self.0.iter().rev().find(|(name, _)| wanted(name));
            found.map(|(name, model)| (model.as_str(), *name))
        };
        named(&|name| name == row.name || row.alias == Some(name))
            .or_else(|| named(&|name| name == ALL))
    }
}

/// The provider and model of each tier of a run, resolved once by the parent: children get concrete names.
#[derive(Debug, Clone)]
pub(crate) struct TierModels(Vec<(Tier, TierChoice)>);

/// The provider and model that answer where a tier's own model is not served.
#[derive(Debug, Clone)]
pub(crate) struct OwnModel<'a> {
    pub provider: &'a str,
    pub model: &'a str,
}

impl TierModels {
    /// Resolves every tier: `overrides`, else its variable, else its default, else `own`.
    pub(crate) fn resolve(
        overrides: &TierOverrides,
        env: &Env,
        own: &OwnModel<'_>,
        clock: &Clock,
    ) -> Self {
        let mut found: Vec<(Tier, TierChoice)> = Vec::new();
        for row in ROWS {
            let given = overrides
                .model(row)
                .map(|(model, name)| (model, format!("--model {name}")))
                .or_else(|| {
                    let set = row.variable.read(env)?;
                    Some((set.trim(), row.variable.name.to_owned()))
                });
            let choice = match (given, row.default) {
                (Some((value, source)), _) => {
                    let (provider, model) = parse(value, own, env);
                    (provider, model, source)
                }
                (None, Some((home, model))) => default_of(home, model, own, env, clock),
                (None, None) => {
                    let codex = found.iter().find(|(tier, _)| *tier == Tier::Codex);
                    codex.map_or_else(
                        || {
                            (
                                own.provider.to_owned(),
                                own.model.to_owned(),
                                "own model".to_owned(),
                            )
                        },
                        |(_, codex)| {
                            (
                                codex.provider.clone(),
                                codex.model.clone(),
                                "the codex tier".to_owned(),
                            )
                        },
                    )
                }
            };
            let (provider, model, source) = choice;
            let choice = TierChoice {
                tier: row.name.to_owned(),
                provider,
                model,
                source,
            };
            found.push((row.tier, choice));
        }
        Self(found)
    }

    /// The choice for a tier.
    pub(crate) fn of(&self, tier: Tier) -> &TierChoice {
        static NONE: TierChoice = TierChoice {
            tier: String::new(),
            provider: String::new(),
            model: String::new(),
            source: String::new(),
        };
        // Every tier has a row, so this is always found.
        let found = self.0.iter().find(|(own, _)| *own == tier);
        found.map_or(&NONE, |(_, choice)| choice)
    }

    /// All choices in order, for the table at the start of a run.
    pub(crate) fn all(&self) -> Vec<TierChoice> {
        self.0.iter().map(|(_, choice)| choice.clone()).collect()
    }
}

/// `PROVIDER:MODEL`, when the part before the first colon is a provider's name (`qwen3-coder:30b` is a model), else a model whose provider is looked up.
fn parse(value: &str, own: &OwnModel<'_>, env: &Env) -> (String, String) {
    if let Some((provider, model)) = value.split_once(':')
        && let Some(provider) = catalog::provider_named(provider)
        && !model.is_empty()
    {
        return (provider.to_owned(), written(provider, model));
    }
    let provider = server(value, own, env).unwrap_or(own.provider);
    (provider.to_owned(), written(provider, value))
}

/// A model as its provider writes it, where the table knows it to serve that: claude-opus-4-6 for claude-opus-4.6.
fn written(provider: &str, model: &str) -> String {
    let name = table::name_of(provider, model).filter(|name| name.len() == model.len());
    let name = name.filter(|_| table::serves(provider, model));
    name.unwrap_or(model).to_owned()
}

/// The provider that serves `model`: the chosen one if the table says so, else the first one with a key of which it says so.
fn server<'a>(model: &str, own: &OwnModel<'a>, env: &Env) -> Option<&'a str> {
    if table::serves(own.provider, model) {
        return Some(own.provider);
    }
    catalog::ROWS
        .iter()
        .filter(|row| row.key.is_some() && choose::remote(env, row).key.is_some())
        .find(|row| table::serves(row.name, model))
        .map(|row| row.name)
}

/// The default model of a tier, its successor when it has ended, or `own` when nobody here serves it.
fn default_of(
    home: &str,
    model: &str,
    own: &OwnModel<'_>,
    env: &Env,
    clock: &Clock,
) -> (String, String, String) {
    let today = clock.now().date();
    let ended = endings::retirement(home, model).filter(|found| found.end.is_over(today));
    let model = ended.and_then(|found| found.successor).unwrap_or(model);
    match server(model, own, env) {
        Some(provider) => (
            provider.to_owned(),
            written(provider, model),
            "default".to_owned(),
        ),
        None => (
            own.provider.to_owned(),
            own.model.to_owned(),
            format!("nobody here serves {model}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: OwnModel<'_> = OwnModel {
        provider: "ollama",
        model: "qwen3-coder:30b",
    };

    fn models(given: &[(&str, &str)], env: &Env) -> TierModels {
        let mut overrides = TierOverrides::default();
        for (tier, model) in given {
            overrides.add(tier, model).unwrap();
        }
        TierModels::resolve(&overrides, env, &OWN, &Clock::new(env))
    }

    fn pair(models: &TierModels, tier: Tier) -> (String, String) {
        let choice = models.of(tier);
        (choice.provider.clone(), choice.model.clone())
    }

    #[test]
    fn one_provider_and_one_model_serve_every_tier_when_nothing_else_is_there() {
        let models = models(&[], &Env::from([("MARVIN_NOW", "2026-11-22T12:00:00Z")]));
        for choice in models.all() {
            assert_eq!(
                (choice.provider.as_str(), choice.model.as_str()),
                ("ollama", "qwen3-coder:30b")
            );
        }
        assert_eq!(models.of(Tier::Plan).source, "nobody here serves gpt-5.2");
    }

    #[test]
    fn the_provider_with_a_key_serves_the_tiers_whose_models_it_has() {
        let env = Env::from([
            ("MARVIN_NOW", "2026-11-22T12:00:00Z"),
            ("OPENAI_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("GEMINI_API_KEY", "k"),
        ]);
        let models = models(&[], &env);
        assert_eq!(
            pair(&models, Tier::Codex),
            ("openai".into(), "gpt-5.3-codex".into())
        );
        assert_eq!(
            pair(&models, Tier::Opus),
            ("anthropic".into(), "claude-opus-4-6".into())
        );
        assert_eq!(pair(&models, Tier::Fallback), pair(&models, Tier::Codex));
        // gemini-3-pro-preview has ended; its successor takes its place.
        assert_eq!(
            pair(&models, Tier::PlanGen),
            ("gemini".into(), "gemini-3.1-pro-preview".into())
        );
        let earlier = Env::from([
            ("MARVIN_NOW", "2026-01-10T12:00:00Z"),
            ("GEMINI_API_KEY", "k"),
        ]);
        assert_eq!(
            pair(&self::models(&[], &earlier), Tier::PlanGen),
            ("gemini".into(), "gemini-3-pro-preview".into())
        );
    }

    #[test]
    fn a_flag_beats_a_variable_and_a_tiers_own_word_beats_all() {
        let env = Env::from([
            ("MARVIN_CODE_MODEL_PLAN", "from-variable"),
            ("MARVIN_CODE_MODEL_HIGH", "groq:set"),
        ]);
        let models = models(
            &[("plan", "first"), ("all", "every"), ("low", "gemini:fast")],
            &env,
        );
        assert_eq!(pair(&models, Tier::Plan).1, "first");
        assert_eq!(pair(&models, Tier::Opus), ("ollama".into(), "every".into()));
        assert_eq!(pair(&models, Tier::Codex), ("gemini".into(), "fast".into()));
        let models = TierModels::resolve(&TierOverrides::default(), &env, &OWN, &Clock::new(&env));
        assert_eq!(
            pair(&models, Tier::Plan),
            ("ollama".into(), "from-variable".into())
        );
        assert_eq!(pair(&models, Tier::Opus), ("groq".into(), "set".into()));
    }

    #[test]
    fn a_model_is_written_as_its_provider_writes_it_whoever_names_it() {
        let key = ("ANTHROPIC_API_KEY", "k");
        let env = |name| Env::from([key, ("MARVIN_CODE_MODEL_HIGH", name)]);
        for name in ["claude-opus-4.6", "anthropic:claude-opus-4.6"] {
            for models in [
                models(&[("opus", name)], &Env::from([key])),
                models(&[], &env(name)),
            ] {
                assert_eq!(
                    pair(&models, Tier::Opus),
                    ("anthropic".into(), "claude-opus-4-6".into()),
                    "{name}"
                );
            }
        }
        // Whoever serves it under another name is asked for what was said.
        let others = models(&[("opus", "groq:claude-opus-4.6")], &Env::default());
        assert_eq!(pair(&others, Tier::Opus).1, "claude-opus-4.6");
        let problem = TierOverrides::default()
            .add("opus", "anthropic:")
            .unwrap_err();
        assert!(problem.what.contains("names no model"), "{problem}");
    }

    #[test]
    fn a_colon_after_no_providers_name_belongs_to_the_model() {
        let models = models(&[("all", "qwen3-coder:30b")], &Env::default());
        assert_eq!(
            pair(&models, Tier::Plan),
            ("ollama".into(), "qwen3-coder:30b".into())
        );
    }

    #[test]
    fn an_unknown_tier_is_refused_with_the_nearest() {
        let mut overrides = TierOverrides::default();
        let problem = overrides.add("plan_gem", "x").unwrap_err().one_line();
        assert!(problem.contains("plan_gen"), "{problem}");
        assert!(overrides.add("plan", " ").is_err());
        assert_eq!(overrides, TierOverrides::default());
    }
}
