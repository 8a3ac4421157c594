//! What a run has used so far: counted by the loop, the tools and children, saved and shown by others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::usage::{ReportedCost, Totals, TurnUsage};

/// A model call and when it ended (RFC 3339, UTC).
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedTurn {
    /// When it ended.
    pub ts: String,
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
pub struct Ledger {
    state: Mutex<UsageState>,
    /// What all sessions of the process have used, where there are several.
    of_process: Option<Arc<Self>>,
}

#[derive(Debug, Default)]
struct UsageState {
    /// Of this process.
    all: Totals,
    /// The last report of each child, and its provider.
    children: BTreeMap<String, (String, ReportedCost)>,
    /// Not saved yet.
    unsaved: UsageRecord,
}

impl Ledger {
    /// The ledger of one of several sessions of a process, whose usage is part of `of_process` too.
    pub fn part_of(of_process: Arc<Self>) -> Self {
        Self {
            of_process: Some(of_process),
            ..Self::default()
        }
    }

    /// The totals of the whole process: what a limit of the run is compared with.
    pub fn process_totals(&self) -> Totals {
        self.of_process
            .as_ref()
            .map_or_else(|| self.totals(), |all| all.totals())
    }

    /// Adds one model call, which ended at `ts`.
    pub fn add_turn(&self, turn: TurnUsage, local: bool, ts: String) {
        if let Some(all) = &self.of_process {
            all.lock().all.add_turn(&turn, local);
        }
        let logged = LoggedTurn { ts, turn };
        let mut state = self.lock();
        for totals in state.both() {
            totals.add_turn(&logged.turn, local);
        }
        state.unsaved.turns.push(logged);
    }

    /// Counts one call of a tool.
    pub fn add_tool_call(&self, name: &str) {
        if let Some(all) = &self.of_process {
            *all.lock()
                .all
                .tool_calls
                .entry(name.to_owned())
                .or_default() += 1;
        }
        for totals in self.lock().both() {
            *totals.tool_calls.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Records what the child `id` has cost so far: its last report counts. It is part of the totals, but never saved: a child saves its own usage.
    pub fn set_child(&self, id: &str, provider: &str, cost: ReportedCost) {
        if let Some(all) = &self.of_process {
            all.set_child(id, provider, cost.clone());
        }
        let mut state = self.lock();
        state
            .children
            .insert(id.to_owned(), (provider.to_owned(), cost));
    }

    /// A copy of the totals so far, children included.
    pub fn totals(&self) -> Totals {
        let state = self.lock();
        let mut totals = state.all.clone();
        for (provider, cost) in state.children.values() {
            totals.add_reported(provider, cost);
        }
        totals
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    use crate::chat::usage::Tokens;
    use crate::chat::usage::tests::turn;

    #[test]
    fn what_sessions_use_is_in_the_totals_of_their_process_too() {
        let process = Arc::new(Ledger::default());
        let sessions = [0.5, 0.25].map(|cost| {
            let session = Ledger::part_of(Arc::clone(&process));
            session.add_turn(turn(Tokens::default(), cost, false), false, String::new());
            session.add_tool_call("tree");
            session
        });
        assert_eq!(sessions[0].totals().cost, 0.5);
        assert_eq!(sessions[0].process_totals().cost, 0.75);
        assert_eq!(process.totals().tool_calls["tree"], 2);
        let line = turns_line(3);
        let child = ReportedCost::parse(&line).unwrap();
        sessions[1].set_child("a-1", "p", child);
        assert_eq!(process.totals().turns, 5);
        // Each session saves its own.
        assert!(process.unsaved().turns.is_empty());
        assert_eq!(sessions[1].take_unsaved().turns.len(), 1);
    }

    /// The cost line of a child with so many model calls.
    fn turns_line(turns: u64) -> String {
        let totals = Totals {
            turns,
            ..Totals::default()
        };
        totals.cost_line()
    }

    #[test]
    fn the_last_report_of_a_child_is_in_the_totals_and_never_in_what_is_saved() {
        let ledger = Ledger::default();
        ledger.add_turn(turn(Tokens::default(), 0.5, false), false, String::new());
        let mut of_child = Totals::default();
        let tokens = Tokens {
            input: 10,
            output: 4,
            ..Tokens::default()
        };
        for _ in 0..2 {
            of_child.add_turn(&turn(tokens, 0.25, false), false);
            let line = format!("{}\n", of_child.cost_line());
            ledger.set_child("a-1", "p", ReportedCost::parse(&line).unwrap());
        }
        let totals = ledger.totals();
        assert_eq!((totals.cost, totals.turns), (1.0, 3));
        assert_eq!((totals.model_turns["m"], totals.tokens().total()), (3, 28));
        assert_eq!(ledger.unsaved().totals.cost, 0.5);
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
