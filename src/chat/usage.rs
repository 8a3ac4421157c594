//! Tokens and money of model calls, their totals, and the `MARVIN_COST:` line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::base::text::{counted, thousands, trim_decimals};

/// Tokens of one model call, as reported by the provider or estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Tokens of the whole prompt, those read from and written to the provider's cache included.
    pub input: u64,
    /// Tokens of the reply, reasoning included.
    pub output: u64,
    /// The part of `input` that was read from the cache, at a lower price.
    pub cached: u64,
    /// The part of `input` that was written to the cache, at a higher price with some providers.
    pub written: u64,
    /// The part of `written` that is kept for an hour, which Anthropic charges more for.
    pub written_1h: u64,
    /// The part of `output` that is reasoning.
    pub reasoning: u64,
    /// True when the provider did not report them all: then Marvin's estimate is among the numbers.
    pub estimated: bool,
}

impl Tokens {
    /// Adds the tokens of another call.
    pub fn add(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cached, other.cached),
            (&mut self.written, other.written),
            (&mut self.written_1h, other.written_1h),
            (&mut self.reasoning, other.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.estimated |= other.estimated;
    }

    /// The sum of several calls.
    pub fn sum(calls: impl IntoIterator<Item = Self>) -> Self {
        calls.into_iter().fold(Self::default(), |mut sum, more| {
            sum.add(more);
            sum
        })
    }

    /// Tokens in and out.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// `2,000 tokens in (1,500 cached, 300 written), 20 out (5 reasoning)`; an estimate begins with `~`.
    pub fn words(&self) -> String {
        let parts = |parts: &[(u64, &str)]| {
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let words: Vec<String> = parts
                .map(|(count, name)| format!("{} {name}", thousands(*count)))
                .collect();
            match words.is_empty() {
                true => String::new(),
                false => format!(" ({})", words.join(", ")),
            }
        };
        format!(
            "{}{} in{}, {} out{}",
            estimate_mark(self.estimated),
            counted(self.input, "token"),
            parts(&[(self.cached, "cached"), (self.written, "written")]),
            thousands(self.output),
            parts(&[(self.reasoning, "reasoning")]),
        )
    }
}

/// Below it an amount says nothing but that it is small.
const ONE_CENT: f64 = 0.01;

/// What stands before a number that is an estimate.
pub(crate) fn estimate_mark(estimated: bool) -> &'static str {
    if estimated { "~" } else { "" }
}

/// `$0.7500`, `~$0.7500` when a part of it is an estimate, `<$0.01` for what nobody counts, exact or not.
pub(crate) fn dollars(cost: f64, estimated: bool) -> String {
    if cost > 0.0 && cost < ONE_CENT {
        return "<$0.01".to_owned();
    }
    exact_dollars(cost, estimated)
}

/// As [`dollars`], but `$0.0004` and `$0.000025` too: where somebody looks at single calls, or at a limit of their own.
pub(crate) fn exact_dollars(cost: f64, estimated: bool) -> String {
    let mut words = estimate_mark(estimated).to_owned();
    let _ = if cost > 0.0 && cost < 0.000_05 {
        write!(words, "${cost:.6}")
    } else {
        write!(words, "${cost:.4}")
    };
    words
}

/// The dollars of `turns` model calls with a separator before them; nothing when the calls were free, as those of local models are.
pub(crate) fn charge(separator: &str, turns: u64, cost: f64, estimated: bool) -> String {
    if turns > 0 && cost == 0.0 {
        String::new()
    } else {
        format!("{separator}{}", dollars(cost, estimated))
    }
}

/// What a call took of a plan that is not counted in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PlanUse {
    /// AI credits.
    pub credits: f64,
    /// The part of the plan's allowance that is left, in percent, if it was said.
    pub quota_left: Option<f64>,
}

/// `1.25 AI credits` with a separator before them; nothing without any.
pub(crate) fn credits(separator: &str, credits: f64) -> String {
    if credits <= 0.0 {
        return String::new();
    }
    let amount = trim_decimals(credits, if credits < 0.01 { 6 } else { 2 });
    let unit = if amount == "1" {
        "AI credit"
    } else {
        "AI credits"
    };
    format!("{separator}{amount} {unit}")
}

/// Usage and cost of one model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnUsage {
    /// Provider's name.
    pub provider: String,
    /// Model's name.
    pub model: String,
    pub tokens: Tokens,
    /// US dollars.
    pub cost: f64,
    /// True when the model's price is not known, or the tokens are estimated and the provider does not say what it charges.
    pub cost_estimated: bool,
    /// What it took of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanUse>,
}

/// Totals of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// US dollars.
    pub cost: f64,
    /// Model round trips.
    pub turns: u64,
    /// Round trips of models that run on this machine.
    pub local_turns: u64,
    /// Round trips per model.
    pub model_turns: BTreeMap<String, u64>,
    /// US dollars per model.
    pub model_cost: BTreeMap<String, f64>,
    /// The part of `model_cost` that is an estimate; only models that have one.
    pub model_estimated_cost: BTreeMap<String, f64>,
    /// Tokens per model.
    pub model_tokens: BTreeMap<String, Tokens>,
    /// Tokens per provider.
    pub provider_tokens: BTreeMap<String, Tokens>,
    /// Calls per tool.
    pub tool_calls: BTreeMap<String, u64>,
    /// AI credits, of calls that are not counted in dollars.
    pub credits: f64,
    /// The part of the plan's allowance that is left, in percent, as it was said last.
    pub quota_left: Option<f64>,
}

/// What the cost line begins with.
const COST_PREFIX: &str = "MARVIN_COST:";

/// The keys of the cost line. Calling programs parse it: names and order stay, and new ones follow at the end.
#[derive(Serialize)]
struct CostLine<'a> {
    session_cost: f64,
    llm_turns: u64,
    model_turns: &'a BTreeMap<String, u64>,
    model_cost: &'a BTreeMap<String, f64>,
    input_tokens: u64,
    cached_tokens: u64,
    written_tokens: u64,
    reasoning_tokens: u64,
    output_tokens: u64,
    /// Any number of the line is an estimate, of tokens or of dollars.
    estimated: bool,
    #[serde(skip_serializing_if = "is_zero")]
    ai_credits: f64,
    /// Whose the tokens are, where there are several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_tokens: Option<&'a BTreeMap<String, Tokens>>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Totals {
    /// Adds one model call.
    pub fn add_turn(&mut self, turn: &TurnUsage, local: bool) {
        self.cost += turn.cost;
        self.turns += 1;
        self.local_turns += u64::from(local);
        *self.model_turns.entry(turn.model.clone()).or_default() += 1;
        *self.model_cost.entry(turn.model.clone()).or_default() += turn.cost;
        if turn.cost_estimated {
            let estimated = self.model_estimated_cost.entry(turn.model.clone());
            *estimated.or_default() += turn.cost;
        }
        let tokens = self.model_tokens.entry(turn.model.clone());
        tokens.or_default().add(turn.tokens);
        self.provider_tokens
            .entry(turn.provider.clone())
            .or_default()
            .add(turn.tokens);
        if let Some(plan) = turn.plan {
            self.credits += plan.credits;
            self.quota_left = plan.quota_left.or(self.quota_left);
        }
    }

    /// Adds what a child reported, whose model is of `provider`.
    pub(super) fn add_reported(&mut self, provider: &str, cost: &ReportedCost) {
        self.cost += cost.session_cost;
        self.turns = self.turns.saturating_add(cost.llm_turns);
        for (model, turns) in &cost.model_turns {
            let sum = self.model_turns.entry(model.clone()).or_default();
            *sum = sum.saturating_add(*turns);
        }
        for (model, dollars) in &cost.model_cost {
            *self.model_cost.entry(model.clone()).or_default() += dollars;
            if cost.estimated && *dollars > 0.0 {
                *self.model_estimated_cost.entry(model.clone()).or_default() += dollars;
            }
        }
        for (model, tokens) in cost.model_tokens() {
            let sum = self.model_tokens.entry(model.to_owned());
            sum.or_default().add(tokens);
        }
        self.provider_tokens
            .entry(provider.to_owned())
            .or_default()
            .add(cost.tokens());
        self.credits += cost.ai_credits;
    }

    /// Tokens of all providers.
    pub fn tokens(&self) -> Tokens {
        Tokens::sum(self.provider_tokens.values().copied())
    }

    /// A part of the dollars is an estimate.
    pub fn cost_estimated(&self) -> bool {
        !self.model_estimated_cost.is_empty()
    }

    /// The line that ends standard error, without its newline.
    pub fn cost_line(&self) -> String {
        let tokens = self.tokens();
        let line = CostLine {
            session_cost: rounded(self.cost),
            llm_turns: self.turns,
            model_turns: &self.model_turns,
            model_cost: &self
                .model_cost
                .iter()
                .map(|(model, cost)| (model.clone(), rounded(*cost)))
                .collect(),
            input_tokens: tokens.input,
            cached_tokens: tokens.cached,
            written_tokens: tokens.written,
            reasoning_tokens: tokens.reasoning,
            output_tokens: tokens.output,
            estimated: tokens.estimated || self.cost_estimated(),
            ai_credits: rounded(self.credits),
            model_tokens: (self.model_turns.len() > 1).then_some(&self.model_tokens),
        };
        format!(
            "{COST_PREFIX}{}",
            serde_json::to_string(&line).unwrap_or_else(|_| "{}".to_owned())
        )
    }
}

/// The cost line of another Marvin, read back.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReportedCost {
    /// US dollars.
    pub session_cost: f64,
    /// Model round trips.
    pub llm_turns: u64,
    model_turns: BTreeMap<String, u64>,
    model_cost: BTreeMap<String, f64>,
    input_tokens: u64,
    cached_tokens: u64,
    written_tokens: u64,
    reasoning_tokens: u64,
    output_tokens: u64,
    /// Any of the numbers is an estimate.
    pub estimated: bool,
    ai_credits: f64,
    model_tokens: BTreeMap<String, Tokens>,
}

impl ReportedCost {
    /// Reads a line of standard error; `None` when it is no cost line.
    pub fn parse(line: &str) -> Option<Self> {
        let json = line.trim_end().strip_prefix(COST_PREFIX)?;
        let cost: Self = serde_json::from_str(json).ok()?;
        let is_amount = |dollars: &f64| (0.0..f64::MAX).contains(dollars);
        let are_amounts = is_amount(&cost.session_cost)
            && is_amount(&cost.ai_credits)
            && cost.model_cost.values().all(is_amount);
        are_amounts.then_some(cost)
    }

    /// The tokens of each model: where there was one, all are its.
    fn model_tokens(&self) -> impl Iterator<Item = (&str, Tokens)> {
        let mut models = self.model_turns.keys();
        let only = models.next().filter(|_| models.next().is_none());
        let only = only.filter(|_| self.model_tokens.is_empty());
        let told = self.model_tokens.iter();
        told.map(|(model, tokens)| (model.as_str(), *tokens))
            .chain(only.map(|model| (model.as_str(), self.tokens())))
    }

    pub fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cached: self.cached_tokens,
            written: self.written_tokens,
            written_1h: 0,
            reasoning: self.reasoning_tokens,
            estimated: self.estimated,
        }
    }
}

/// To a ten-millionth of a dollar, so that sums of floats print without rounding noise.
fn rounded(cost: f64) -> f64 {
    // JSON has no infinity.
    let cost = cost.clamp(-f64::MAX / 1e8, f64::MAX / 1e8);
    (cost * 1e7).round() / 1e7
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::chat) fn turn(tokens: Tokens, cost: f64, cost_estimated: bool) -> TurnUsage {
        TurnUsage {
            provider: "p".into(),
            model: "m".into(),
            tokens,
            cost,
            cost_estimated,
            plan: None,
        }
    }

    #[test]
    fn credits_are_counted_beside_the_dollars() {
        let mut totals = Totals::default();
        for (credits, quota_left) in [(0.5, Some(80.0)), (0.25, None)] {
            totals.add_turn(
                &TurnUsage {
                    plan: Some(PlanUse {
                        credits,
                        quota_left,
                    }),
                    ..turn(Tokens::default(), 0.0, false)
                },
                false,
            );
        }
        assert_eq!((totals.credits, totals.quota_left), (0.75, Some(80.0)));
        let line = totals.cost_line();
        assert!(
            line.ends_with(r#","estimated":false,"ai_credits":0.75}"#),
            "{line}"
        );
        assert_eq!(ReportedCost::parse(&line).unwrap().ai_credits, 0.75);
        assert_eq!(credits(", ", 0.75), ", 0.75 AI credits");
        assert_eq!(credits(", ", 1.0), ", 1 AI credit");
        assert_eq!(credits("", 0.000_12), "0.00012 AI credits");
        assert_eq!(credits(", ", 0.0), "");
    }

    #[test]
    fn the_cost_line_begins_with_its_four_keys_and_has_no_null() {
        assert_eq!(
            Totals::default().cost_line(),
            r#"MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{},"input_tokens":0,"cached_tokens":0,"written_tokens":0,"reasoning_tokens":0,"output_tokens":0,"estimated":false}"#
        );
        let mut totals = Totals::default();
        let tokens = Tokens {
            input: 10,
            cached: 6,
            written: 3,
            output: 4,
            reasoning: 2,
            ..Tokens::default()
        };
        (0..3).for_each(|_| totals.add_turn(&turn(tokens, 0.1, false), true));
        assert_eq!(
            totals.cost_line(),
            r#"MARVIN_COST:{"session_cost":0.3,"llm_turns":3,"model_turns":{"m":3},"model_cost":{"m":0.3},"input_tokens":30,"cached_tokens":18,"written_tokens":9,"reasoning_tokens":6,"output_tokens":12,"estimated":false}"#
        );
        assert_eq!(totals.local_turns, 3);
        totals.add_turn(&turn(tokens, 0.1, true), false);
        assert!(totals.cost_line().ends_with(",\"estimated\":true}"));
    }

    #[test]
    fn the_tokens_of_a_child_are_told_by_model() {
        let tokens = |input| Tokens {
            input,
            output: 1,
            ..Tokens::default()
        };
        let mut child = Totals::default();
        let mut parent = Totals::default();
        for (model, input) in [("m", 10), ("n", 200), ("m", 30)] {
            let mut turn = turn(tokens(input), 0.1, false);
            model.clone_into(&mut turn.model);
            child.add_turn(&turn, false);
            let line = child.cost_line();
            parent = Totals::default();
            parent.add_reported("p", &ReportedCost::parse(&line).unwrap());
            assert_eq!(parent.model_tokens, child.model_tokens, "{line}");
        }
        assert_eq!(parent.model_tokens["m"].input, 40);
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let most = Tokens {
            input: u64::MAX,
            output: u64::MAX,
            cached: u64::MAX,
            ..Tokens::default()
        };
        let mut totals = Totals::default();
        (0..3).for_each(|_| totals.add_turn(&turn(most, 1e300, false), false));
        assert_eq!(totals.tokens().total(), u64::MAX);
        assert!(!totals.cost_line().contains("null"));
    }

    #[test]
    fn tokens_and_dollars_read_as_a_sentence_does_and_estimates_are_marked() {
        let mut tokens = Tokens {
            input: 2_000,
            cached: 1_500,
            written: 300,
            output: 20,
            reasoning: 5,
            ..Tokens::default()
        };
        let words = "2,000 tokens in (1,500 cached, 300 written), 20 out (5 reasoning)";
        assert_eq!(tokens.words(), words);
        tokens.estimated = true;
        assert_eq!(tokens.words(), format!("~{words}"));
        assert_eq!(Tokens::default().words(), "0 tokens in, 0 out");
        assert_eq!(dollars(0.75, false), "$0.7500");
        assert_eq!(dollars(0.01, true), "~$0.0100");
        for estimated in [false, true] {
            assert_eq!(dollars(0.000_025, estimated), "<$0.01");
            assert_eq!(dollars(0.009_999, estimated), "<$0.01");
        }
        assert_eq!(exact_dollars(0.000_025, true), "~$0.000025");
        assert_eq!(charge(", ", 0, 0.0, false), ", $0.0000");
        assert_eq!(charge(", ", 2, 0.0, false), "");
    }

    #[test]
    fn a_line_that_is_no_cost_line_is_none() {
        for line in [
            "",
            "MARVIN_COST:",
            "MARVIN_COST:{\"session_cost\":-1}",
            "MARVIN_COST:{\"session_cost\":1e999}",
            "MARVIN_COST:{\"session_cost\":1,\"model_cost\":{\"m\":-1}}",
            " MARVIN_COST:{}",
        ] {
            assert_eq!(ReportedCost::parse(line), None, "{line}");
        }
        assert_eq!(
            ReportedCost::parse("MARVIN_COST:{}\r\n"),
            Some(ReportedCost::default())
        );
    }
}
