//! What a provider serves: its own list, or without it Marvin's table, with what is known of each model.

use std::borrow::Cow;
use std::time::Duration;

use jiff::civil::Date;
use serde::Serialize;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::trim_decimals;
use crate::llm::choose::{self, RemoteTarget};
use crate::llm::copilot::{self, availability};
use crate::llm::models::endings::{self, ModelEnd};
use crate::llm::models::list::ListedModel;
use crate::llm::models::live::listed_models;
use crate::llm::models::names::is_for_chat;
use crate::llm::models::table::{self, TABLE_DATE};
use crate::llm::models::{ModelRegistry, ReasoningEffort, TokenPrice};
use crate::net::services::shown_address;

/// Where a report comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListSource {
    /// The provider's own list.
    Provider,
    /// Marvin's table, because the provider did not answer.
    Table,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelReport {
    pub provider: &'static str,
    pub base: String,
    /// Where the models come from.
    pub source: ListSource,
    /// The day of Marvin's table.
    pub table_date: &'static str,
    /// Why the provider's own list is not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The models in the order of their names, those for chat first.
    pub models: Vec<ReportedModel>,
    /// Models that it served once.
    pub retired: Vec<RetiredModel>,
}

/// A model with what is known of it.
#[derive(Debug, Serialize)]
pub(crate) struct ReportedModel {
    /// Name to ask it by.
    pub id: String,
    /// False for a chosen or default model that the provider's list does not have.
    pub listed: bool,
    /// Marvin's own choice at this provider.
    pub default: bool,
    /// The one that would answer now.
    pub chosen: bool,
    /// False when its name says that it does not chat.
    pub chat: bool,
    /// Marvin's table or the file of models knows it.
    pub known: bool,
    #[serde(flatten)]
    pub limits: TokenLimits,
    /// US dollars per million tokens.
    pub price: Option<TokenPrice>,
    /// Reasoning efforts that it takes.
    pub efforts: Vec<&'static str>,
    /// How much of a yearly plan's requests one request takes, at Copilot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<f64>,
    pub images: bool,
    #[serde(flatten)]
    pub ending: ReportedEnd,
}

#[derive(Debug, Serialize)]
pub(crate) struct TokenLimits {
    /// Tokens of request and reply together.
    pub window: Option<u64>,
    /// Tokens of a reply.
    pub output: Option<u64>,
}

/// When a model goes, if that is known.
#[derive(Debug, Serialize)]
pub(crate) struct ReportedEnd {
    /// `2026-12-11`, `gone` or `deprecated`.
    pub ends: Option<String>,
    pub ended: bool,
    /// What to take instead.
    pub successor: Option<String>,
    #[serde(skip)]
    end: Option<ModelEnd>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RetiredModel {
    pub id: &'static str,
    /// What to take instead.
    pub successor: Option<&'static str>,
}

impl ReportedModel {
    /// What there is to say beyond the numbers.
    pub(crate) fn remarks(&self, today: Date) -> String {
        let mut remarks = Vec::new();
        if self.default {
            remarks.push("default".to_owned());
        }
        if self.chosen {
            remarks.push("chosen".to_owned());
        }
        if !self.listed {
            remarks.push("not in the list".to_owned());
        }
        if let Some(multiplier) = self.multiplier {
            remarks.push(format!("× {}", trim_decimals(multiplier, 2)));
        }
        if let Some(end) = self.ending.end {
            remarks.push(end.words(today));
        }
        if let Some(successor) = &self.ending.successor {
            remarks.push(format!("use {successor}"));
        }
        if !self.chat {
            remarks.push("not for chat".to_owned());
        }
        remarks.join(", ")
    }
}

/// Asks `remote` for its models. Where it does not answer within `limit`, Marvin's table speaks for it, if it knows any of the provider's models.
///
/// # Errors
/// The key was refused, somebody stopped it, or there is neither a list nor a table.
pub(crate) fn report(
    remote: &RemoteTarget,
    env: &Env,
    registry: &ModelRegistry,
    limit: Duration,
    today: Date,
    stop: &Cancel,
) -> Outcome<ModelReport> {
    let row = remote.row;
    let chosen = choose::model(env, row);
    let names = table::names(row.name);
    let asked = match (remote.lacks_key(), row.key) {
        (true, Some(key)) => {
            let what = format!(
                "{} was not asked for its models, because {key} is not set.",
                row.name
            );
            Err(Problem::config(what).next(format!("Set {key} for its own list.")))
        }
        _ => listed_models(remote, env, limit, stop),
    };
    let (source, listed, problem) = match asked {
        Ok(listed) => (ListSource::Provider, listed, None),
        Err(problem)
            if problem.is_cancelled() || problem.kind == ProblemKind::Auth || names.is_empty() =>
        {
            return Err(problem);
        }
        Err(problem) => {
            // These come with their whole names below.
            let whole = [row.model, chosen].map(|model| table::name_of(row.name, model));
            let served = names.iter().filter(|name| {
                let end = endings::retirement(row.name, name).map(|found| found.end);
                !whole.contains(&Some(**name)) && end.is_none_or(|end| !end.is_over(today))
            });
            let listed = served.map(|name| ListedModel::named(name)).collect();
            (ListSource::Table, listed, Some(problem))
        }
    };
    let about = About {
        provider: row.name,
        default: row.model,
        chosen,
        registry,
        today,
        bills_dollars: true,
        lists_all: source == ListSource::Provider,
    };
    let models = about.models(listed.iter().map(|model| (Cow::Borrowed(model), None)));
    let retired = endings::ended(row.name, today)
        .filter(|(id, _)| !models.iter().any(|model| model.id == *id))
        .map(|(id, retirement)| RetiredModel {
            id,
            successor: retirement.successor,
        })
        .collect();
    Ok(ModelReport {
        provider: row.name,
        base: shown_address(&remote.base),
        source,
        table_date: TABLE_DATE,
        problem,
        models,
        retired,
    })
}

/// Asks the Copilot CLI for the models of the user's plan.
///
/// # Errors
/// There is no CLI, nobody is signed in, it does not answer, or somebody stopped it.
pub(crate) fn copilot_report(
    env: &Env,
    registry: &ModelRegistry,
    limit: Duration,
    today: Date,
    stop: &Cancel,
) -> Outcome<ModelReport> {
    let listed = availability::models(env, limit, stop)?;
    let about = About {
        provider: copilot::NAME,
        default: copilot::DEFAULT_MODEL,
        chosen: copilot::model(env),
        registry,
        today,
        // Its use is counted in AI credits.
        bills_dollars: false,
        lists_all: true,
    };
    let models = about.models(listed.iter().map(|model| {
        let named = ListedModel {
            window: model.window,
            output: model.output,
            ..ListedModel::named(&model.id)
        };
        (Cow::Owned(named), model.multiplier)
    }));
    Ok(ModelReport {
        provider: copilot::NAME,
        base: "GitHub".to_owned(),
        source: ListSource::Provider,
        table_date: TABLE_DATE,
        problem: None,
        models,
        retired: Vec::new(),
    })
}

/// What the report of a model needs besides its line of the list.
struct About<'a> {
    provider: &'static str,
    default: &'static str,
    chosen: &'a str,
    registry: &'a ModelRegistry,
    today: Date,
    bills_dollars: bool,
    /// Whether a model that the list does not have is not served.
    lists_all: bool,
}

impl About<'_> {
    /// All models of a list with what a request takes of a plan, and the default and the chosen one, which it may not have.
    fn models<'m>(
        &self,
        listed: impl Iterator<Item = (Cow<'m, ListedModel>, Option<f64>)>,
    ) -> Vec<ReportedModel> {
        let mut models: Vec<ReportedModel> = listed
            .map(|(model, multiplier)| ReportedModel {
                multiplier,
                ..self.model(&model, true)
            })
            .collect();
        for name in [self.default, self.chosen] {
            if !models.iter().any(|model| model.id == name) {
                models.push(self.model(&ListedModel::named(name), !self.lists_all));
            }
        }
        models.shared_sort_by(|one, other| (!one.chat, &one.id).cmp(&(!other.chat, &other.id)));
        models
    }

    fn model(&self, listed: &ListedModel, is_listed: bool) -> ReportedModel {
        let id = listed.id.as_str();
        let info = self.registry.facts(self.provider, id);
        let known = |number: u64| Some(number).filter(|_| info.known);
        let retirement = endings::retirement(self.provider, id);
        let deprecated = self.registry.file().is_deprecated(self.provider, id);
        let end = listed
            .end
            .or(retirement.map(|found| found.end))
            .or(deprecated.then_some(ModelEnd::Deprecated));
        let successor = retirement
            .and_then(|found| found.successor)
            .map(str::to_owned);
        let efforts = ReasoningEffort::ALL.into_iter();
        let price = || {
            let own = self.registry.user_price(id);
            own.or(listed.price.clone()).or(info.price)
        };
        ReportedModel {
            id: id.to_owned(),
            listed: is_listed,
            default: id == self.default,
            chosen: id == self.chosen,
            chat: is_for_chat(id),
            known: info.known,
            limits: TokenLimits {
                window: listed.window.or(known(info.window)),
                output: listed.output.or(known(info.output)),
            },
            price: self.bills_dollars.then(price).flatten(),
            efforts: efforts
                .filter(|effort| info.efforts.takes(*effort))
                .map(ReasoningEffort::word)
                .collect(),
            multiplier: None,
            images: info.images,
            ending: ReportedEnd {
                ends: end.map(|end| end.to_string()),
                ended: end.is_some_and(|end| end.is_over(self.today)),
                successor: listed.successor.clone().or(successor),
                end,
            },
        }
    }
}
