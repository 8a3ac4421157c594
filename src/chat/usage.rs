//! Counting tokens, turns and money of one run, and the `MARVIN_COST:` line.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

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
    /// True when the provider reported none and the numbers are Marvin's estimate.
    pub estimated: bool,
}

impl Tokens {
    /// Adds the tokens of another call.
    pub fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.written += other.written;
        self.written_1h += other.written_1h;
        self.reasoning += other.reasoning;
        self.estimated |= other.estimated;
    }
}

/// Usage and cost of one model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnUsage {
    /// Provider's name.
    pub provider: String,
    /// Model's name.
    pub model: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// US dollars.
    pub cost: f64,
}

/// Totals of one run. Children's are added to their parent's.
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
    /// Tokens per provider.
    pub provider_tokens: BTreeMap<String, Tokens>,
    /// Calls per tool.
    pub tool_calls: BTreeMap<String, u64>,
}

/// The keys of the cost line. Calling programs parse it: names and order stay.
#[derive(Serialize)]
struct CostLine<'a> {
    session_cost: f64,
    llm_turns: u64,
    model_turns: &'a BTreeMap<String, u64>,
    model_cost: &'a BTreeMap<String, f64>,
}

impl Totals {
    /// Adds one model call.
    pub fn add_turn(&mut self, turn: &TurnUsage, local: bool) {
        self.cost += turn.cost;
        self.turns += 1;
        self.local_turns += u64::from(local);
        *self.model_turns.entry(turn.model.clone()).or_default() += 1;
        *self.model_cost.entry(turn.model.clone()).or_default() += turn.cost;
        self.provider_tokens
            .entry(turn.provider.clone())
            .or_default()
            .add(turn.tokens);
    }

    /// Tokens in and out, of all providers.
    pub fn tokens(&self) -> u64 {
        let used = self.provider_tokens.values();
        used.map(|used| used.input + used.output).sum()
    }

    /// The line that ends standard error, without its newline.
    pub fn cost_line(&self) -> String {
        let line = CostLine {
            session_cost: rounded(self.cost),
            llm_turns: self.turns,
            model_turns: &self.model_turns,
            model_cost: &self
                .model_cost
                .iter()
                .map(|(model, cost)| (model.clone(), rounded(*cost)))
                .collect(),
        };
        format!(
            "MARVIN_COST:{}",
            serde_json::to_string(&line).unwrap_or_else(|_| "{}".to_owned())
        )
    }
}

/// To a ten-millionth of a dollar, so that sums of floats print without rounding noise.
fn rounded(cost: f64) -> f64 {
    (cost * 1e7).round() / 1e7
}

/// A model call and when it ended (RFC 3339, UTC).
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedTurn {
    /// When it ended.
    pub ts: String,
    /// Its usage.
    pub turn: TurnUsage,
}

/// Usage of a run: totals, and the model calls behind them.
#[derive(Debug, Clone, Default)]
pub struct UsageRecord {
    /// Sums.
    pub totals: Totals,
    /// The model calls in order.
    pub turns: Vec<LoggedTurn>,
}

/// Usage of this run, shared by the loop, the tools, and the code that saves or shows it.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<UsageState>);

#[derive(Debug, Default)]
struct UsageState {
    all: Totals,
    /// Not saved yet.
    unsaved: UsageRecord,
}

impl Ledger {
    /// Adds one model call, which ended at `ts`.
    pub fn add_turn(&self, turn: TurnUsage, local: bool, ts: String) {
        let logged = LoggedTurn { ts, turn };
        let mut state = self.lock();
        for totals in state.both() {
            totals.add_turn(&logged.turn, local);
        }
        state.unsaved.turns.push(logged);
    }

    /// Counts one call of a tool.
    pub fn add_tool_call(&self, name: &str) {
        for totals in self.lock().both() {
            *totals.tool_calls.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// A copy of the totals so far.
    pub fn totals(&self) -> Totals {
        self.lock().all.clone()
    }

    /// A copy of what is not saved yet.
    pub fn unsaved(&self) -> UsageRecord {
        self.lock().unsaved.clone()
    }

    /// Usage since the last call, for saving; the caller is responsible for it from now on.
    pub fn take_unsaved(&self) -> UsageRecord {
        std::mem::take(&mut self.lock().unsaved)
    }

    fn lock(&self) -> MutexGuard<'_, UsageState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageState {
    fn both(&mut self) -> [&mut Totals; 2] {
        [&mut self.all, &mut self.unsaved.totals]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_line_has_exactly_four_keys_and_no_null() {
        assert_eq!(
            Totals::default().cost_line(),
            r#"MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}"#
        );
        let mut totals = Totals::default();
        let turn = TurnUsage {
            provider: "p".into(),
            model: "m".into(),
            tokens: Tokens {
                input: 1,
                output: 2,
                ..Tokens::default()
            },
            cost: 0.1,
        };
        totals.add_turn(&turn, true);
        totals.add_turn(&turn, true);
        totals.add_turn(&turn, true);
        assert_eq!(
            totals.cost_line(),
            r#"MARVIN_COST:{"session_cost":0.3,"llm_turns":3,"model_turns":{"m":3},"model_cost":{"m":0.3}}"#
        );
        assert_eq!(
            (totals.local_turns, totals.provider_tokens["p"].output),
            (3, 6)
        );
    }

    #[test]
    fn unsaved_usage_is_taken_once_and_the_totals_stay() {
        let ledger = Ledger::default();
        ledger.add_tool_call("tree");
        assert_eq!(ledger.take_unsaved().totals.tool_calls["tree"], 1);
        ledger.add_tool_call("tree");
        assert_eq!(ledger.take_unsaved().totals.tool_calls["tree"], 1);
        assert_eq!(ledger.take_unsaved().totals, Totals::default());
        assert_eq!(ledger.totals().tool_calls["tree"], 2);
    }
}
