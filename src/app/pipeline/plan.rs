//! `marvin pipeline plan`: what a run would do here, by whom, and what it may cost. Nothing is started, asked or written.

use std::time::Duration;

use serde::Serialize;

use super::run::tiers_at;
use crate::app::settings::{PipelineFlags, Settings};
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    MARVIN_DEBUG_ROUNDS, MARVIN_E2E_ROUNDS, MARVIN_FE_ROUNDS, MARVIN_QA_ROUNDS,
};
use crate::chat::tokens::estimate;
use crate::chat::usage::Tokens;
use crate::llm::models::{ModelInfo, ModelRegistry};
use crate::pipeline::phase::{PHASES, Phase};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::plan::{self, PlannedChild, Range, RoundLimits};
use crate::pipeline::record::{self, RunRecord};
use crate::pipeline::tier::TierModels;
use crate::pipeline::worktree::record as worktree_record;
use crate::pipeline::{epic, files, first_line, next_task, phase, state, steering};

/// Rules, tools and the system prompt of a child's request, in tokens.
const RULES: Range = (6_000, 10_000);
/// What a child reads with each round of tools.
const READ_PER_CALL: Range = (400, 1_500);
/// Documents of a usual size, for those that do not exist yet.
const DOCUMENTS: Range = (6_000, 24_000);
/// Code that a run writes; children read a part of it.
const NEW_CODE: Range = (3_000, 20_000);
/// No child reads more of the code that is here.
const MAX_CODE: u64 = 30_000;
/// Tokens of a line of the listing, of which a prompt has at most [`MAX_LISTED`].
const LISTED_TOKENS: u64 = 8;
const MAX_LISTED: u64 = 120;
/// Seconds until a call begins to be answered, with the tools that ran before it.
const CALL_SECONDS: Range = (2, 8);
/// Tokens that a model writes in a second, at worst and at best.
const TOKENS_PER_SECOND: Range = (40, 150);

/// What a run would do.
#[derive(Debug, Serialize)]
pub(crate) struct RunPlan {
    /// First line of the task.
    pub task: String,
    pub folder: String,
    pub sizes: PlanSizes,
    pub phases: Vec<PlannedPhase>,
    /// Of all phases that are to do.
    pub total: Forecast,
    /// US dollars that earlier starts of the run have spent.
    pub spent: f64,
    pub max_cost: Option<f64>,
    /// What the numbers rest on, each a sentence.
    pub assumptions: Vec<String>,
    /// What stands in the way of the run, or has to be known before it.
    pub notes: Vec<String>,
}

/// What is here, in estimated tokens.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct PlanSizes {
    pub task_tokens: u64,
    /// Of the documents that exist.
    pub document_tokens: u64,
    pub documents: usize,
    pub files: usize,
    pub code_tokens: u64,
}

/// A phase of the plan.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedPhase {
    pub name: &'static str,
    pub about: &'static str,
    /// `done`, `to_do`, or `skipped` by the flags.
    pub state: &'static str,
    /// Nobody when nothing is left to do.
    pub children: Vec<PlannedGroup>,
    pub forecast: Forecast,
}

/// Children of one label.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedGroup {
    pub label: &'static str,
    pub least: u64,
    pub most: u64,
    pub tier: String,
    pub provider: String,
    pub model: String,
    /// The price of the model is known.
    pub price_known: bool,
    pub forecast: Forecast,
}

/// At least and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Forecast {
    /// US dollars.
    pub cost: (f64, f64),
    pub seconds: (f64, f64),
    /// In and out.
    pub tokens: Range,
}

impl Forecast {
    fn add(&mut self, other: Self) {
        self.cost.0 += other.cost.0;
        self.cost.1 += other.cost.1;
        self.seconds.0 += other.seconds.0;
        self.seconds.1 += other.seconds.1;
        self.tokens.0 = self.tokens.0.saturating_add(other.tokens.0);
        self.tokens.1 = self.tokens.1.saturating_add(other.tokens.1);
    }
}

/// The plan of a run of `task`; the recorded task when none is given.
///
/// # Errors
/// There is no task, no model can be used, or the state of the run cannot be read.
pub(crate) fn plan(
    places: &RunPlaces,
    settings: &Settings,
    flags: &PipelineFlags,
    task: Option<String>,
    warn: &mut dyn FnMut(String),
) -> Outcome<RunPlan> {
    let earlier = epic::known(places, &settings.env, &Cancel::new())?;
    let recorded = earlier.as_ref().map(|record| record.task.clone());
    let Some(task) = task.clone().or_else(|| recorded.clone()) else {
        return Err(
            Problem::input("There is no prompt to plan for.").next(format!(
                "Give the one of the run: {}",
                places.command(&["plan", "--prompt", "TEXT"])
            )),
        );
    };
    let clock = Clock::new(&settings.env);
    let planner = Planner {
        models: setup::model_registry(settings, &clock, warn),
        tiers: tiers_at(&clock, settings)?,
        sizes: sizes(places, &task),
    };
    let state_word = state::recorded(places)?;
    // Another task after one that is over begins anew.
    let is_next = places.feature().is_none()
        && next_task::begins(&task, earlier.as_ref(), state_word.as_deref());
    let again = flags.from.and_then(phase::position);
    if let Some(from) = flags.from {
        steering::check_from(from, state_word.as_deref().filter(|_| !is_next))?;
    }
    let is_done = |phase: &Phase| {
        let is_again = again.is_some_and(|from| phase::position(phase.name) >= Some(from));
        Ok(!is_next && !is_again && state::is_done(places, phase.name)?)
    };
    let limits = limits(settings, warn);
    let mut phases = Vec::new();
    let mut total = Forecast::default();
    let mut is_beyond = false;
    for phase in PHASES {
        let state = match (is_done(phase)?, is_beyond) {
            (true, _) => "done",
            (false, true) => "skipped",
            (false, false) => "to_do",
        };
        let children = match state {
            "to_do" => plan::children(phase.work, planner.sizes.files, limits),
            _ => Vec::new(),
        };
        let (children, forecast) = planner.phase(&children);
        total.add(forecast);
        phases.push(PlannedPhase {
            name: phase.name,
            about: phase.about,
            state,
            children,
            forecast,
        });
        is_beyond |= flags.until == Some(phase.name);
    }
    let mut notes = Vec::new();
    if is_next {
        notes.push(
            "The run that is recorded here is over; this is another task, so it begins anew."
                .to_owned(),
        );
    } else if recorded
        .as_ref()
        .is_some_and(|known| known.trim() != task.trim())
        && state_word.is_some()
    {
        notes.push(
            "A run for another task is recorded in this folder, so this one would be refused."
                .to_owned(),
        );
    }
    let is_continued = !is_next && earlier.as_ref().is_none_or(|record| !record.finished);
    if state_word.is_some() && is_continued && RunRecord::read(places)?.is_none() {
        notes.push(match recorded {
            Some(_) => "What earlier starts of the run have spent is not known here: its own records stay where it ran.".to_owned(),
            None => "For which task the recorded phases were done is not known here: the run's own records stay where it ran.".to_owned(),
        });
    }
    let gone = worktree_record::removed(&places.root);
    if let Some(record) = gone.iter().find(|record| record.is_run_of(&task)) {
        notes.push(format!(
            "The folder of this run was removed: it goes on from its branch {}, and what is done there is not done again.",
            record.branch
        ));
    }
    let spent = match !is_next && earlier.is_some_and(|record| !record.finished) {
        true => record::spent(places),
        false => 0.0,
    };
    let max_cost = settings.model.max_cost;
    if let Some(max) = max_cost.filter(|max| total.cost.1 + spent > *max) {
        notes.push(if spent >= max {
            format!("--max-cost ${max:.2} is spent already: the run would be refused.")
        } else if total.cost.0 + spent > max {
            format!("--max-cost ${max:.2} is less than the forecast: the run would stop at it.")
        } else {
            format!("The run may reach --max-cost ${max:.2}, and would stop there.")
        });
    }
    let is_known = |phase: &PlannedPhase| phase.children.iter().all(|group| group.price_known);
    if !phases.iter().all(is_known) {
        notes.push("The price of a model is not known, so a guess stands for it; MARVIN_PRICES names a file with prices.".to_owned());
    }
    Ok(RunPlan {
        task: first_line(&task),
        folder: places.root.path().display().to_string(),
        sizes: planner.sizes,
        phases,
        total,
        spent,
        max_cost,
        assumptions: assumptions(),
        notes,
    })
}

/// Whether the run in `places` is of this task, as far as is known.
pub(crate) fn is_of(places: &RunPlaces, task: &str) -> bool {
    let known = record::known(places);
    known.is_ok_and(|known| known.is_some_and(|known| known.task.trim() == task.trim()))
}

fn limits(settings: &Settings, warn: &mut dyn FnMut(String)) -> RoundLimits {
    let env = &settings.env;
    RoundLimits {
        debugging: MARVIN_DEBUG_ROUNDS.read(env, warn),
        smoke_test: MARVIN_E2E_ROUNDS.read(env, warn),
        front_end: MARVIN_FE_ROUNDS.read(env, warn),
        quality: MARVIN_QA_ROUNDS.read(env, warn),
    }
}

fn sizes(places: &RunPlaces, task: &str) -> PlanSizes {
    let root = &places.root;
    let length = |path: &str| Some(root.metadata(&root.check(path).ok()?).ok()?.len);
    let documents: Vec<u64> = places
        .documents()
        .iter()
        .filter_map(|path| length(path))
        .collect();
    let paths = files::paths(root, &Cancel::new());
    let code: u64 = paths.iter().filter_map(|path| length(path)).sum();
    let tokens = |bytes: u64| estimate(usize::try_from(bytes).unwrap_or(usize::MAX));
    PlanSizes {
        task_tokens: tokens(task.len() as u64),
        document_tokens: tokens(documents.iter().sum()),
        documents: documents.len(),
        files: paths.len(),
        code_tokens: tokens(code),
    }
}

fn assumptions() -> Vec<String> {
    let thousand = |number: u64| number / 1000;
    vec![
        format!(
            "A child's request begins with {} to {} thousand tokens of rules and tools, the task, the listing and the documents; each call adds what was read and written.",
            thousand(RULES.0),
            thousand(RULES.1)
        ),
        "At least: each child succeeds at once, reviewers are satisfied as soon as they may be, tests pass at once, and what was sent before costs what the provider's cache does.".to_owned(),
        "At most: every round of a review is used, the writers are asked twice, debugging takes eight rounds, and nothing is cached. A run that goes astray can cost more; --max-cost ends it.".to_owned(),
        format!(
            "A call begins to be answered after {} to {} seconds, at {} to {} tokens a second. The project's own tests are not counted.",
            CALL_SECONDS.0, CALL_SECONDS.1, TOKENS_PER_SECOND.0, TOKENS_PER_SECOND.1
        ),
    ]
}

struct Planner {
    models: ModelRegistry,
    tiers: TierModels,
    sizes: PlanSizes,
}

impl Planner {
    fn phase(&self, children: &[PlannedChild]) -> (Vec<PlannedGroup>, Forecast) {
        let mut forecast = Forecast::default();
        let mut slowest = (0.0, 0.0);
        let mut groups = Vec::new();
        for child in children {
            let group = self.group(child);
            let own = group.forecast;
            if !child.beside {
                forecast.seconds.0 += slowest.0;
                forecast.seconds.1 += slowest.1;
                slowest = (0.0, 0.0);
            }
            slowest = (own.seconds.0.max(slowest.0), own.seconds.1.max(slowest.1));
            forecast.add(Forecast {
                seconds: (0.0, 0.0),
                ..own
            });
            groups.push(group);
        }
        forecast.seconds.0 += slowest.0;
        forecast.seconds.1 += slowest.1;
        (groups, forecast)
    }

    fn group(&self, child: &PlannedChild) -> PlannedGroup {
        let choice = self.tiers.of(child.tier);
        let info = self.models.facts(&choice.provider, &choice.model);
        let (least, most) = child.starts;
        let (low, low_tokens) = self.child(&choice.model, &info, child, false);
        let (high, high_tokens) = self.child(&choice.model, &info, child, true);
        let seconds = |calls: u64, latency: u64, written: u64, speed: u64| {
            Duration::from_secs(calls.saturating_mul(latency)).as_secs_f64()
                + written as f64 / speed.max(1) as f64
        };
        let quick = seconds(
            child.calls.0,
            CALL_SECONDS.0,
            child.written.0,
            TOKENS_PER_SECOND.1,
        );
        let slow = seconds(
            child.calls.1,
            CALL_SECONDS.1,
            child.written.1,
            TOKENS_PER_SECOND.0,
        );
        let is_priced = info.price.is_some() || self.models.user_price(&choice.model).is_some();
        PlannedGroup {
            label: child.label,
            least,
            most,
            tier: choice.tier.clone(),
            provider: choice.provider.clone(),
            model: choice.model.clone(),
            price_known: is_priced,
            forecast: Forecast {
                cost: (low * least as f64, high * most as f64),
                seconds: (quick * least as f64, slow * most as f64),
                tokens: (
                    low_tokens.saturating_mul(least),
                    high_tokens.saturating_mul(most),
                ),
            },
        }
    }

    /// US dollars and tokens of one child, at least or `at_most`.
    fn child(
        &self,
        model: &str,
        info: &ModelInfo,
        child: &PlannedChild,
        at_most: bool,
    ) -> (f64, u64) {
        let pick = |range: Range| if at_most { range.1 } else { range.0 };
        let sizes = &self.sizes;
        let listing = (sizes.files as u64).min(MAX_LISTED) * LISTED_TOKENS;
        let documents = match sizes.documents {
            0 => pick(DOCUMENTS),
            _ => sizes.document_tokens,
        };
        let code = match child.reads_code {
            true => sizes.code_tokens.min(MAX_CODE) / if at_most { 1 } else { 4 } + pick(NEW_CODE),
            false => 0,
        };
        let calls = pick(child.calls).max(1);
        let written = pick(child.written) / calls;
        let mut input = pick(RULES) + sizes.task_tokens + listing + documents;
        let growth = pick(READ_PER_CALL) + written + code / calls;
        let (mut cost, mut tokens, mut known) = (0.0, 0_u64, 0);
        for _ in 0..calls {
            input = input.min(info.prompt_limit());
            let call = Tokens {
                input,
                output: written,
                cached: if at_most { 0 } else { known },
                ..Tokens::default()
            };
            cost += self.models.call_cost(model, info, call, None).0;
            tokens = tokens.saturating_add(input + written);
            known = input;
            input += growth;
        }
        (cost, tokens)
    }
}
