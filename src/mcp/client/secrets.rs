//! What a server was given to let it or Marvin in somewhere: nothing that it says may carry that on to a model, a log or a screen.

use crate::base::shared_sort::SharedSort as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::Value;

use crate::base::problem::{Outcome, Problem};
use crate::mcp::config::entry::EntrySecrets;

/// What stands in the place of one.
const HIDDEN: &str = "[hidden]";
/// Characters of the beginning of one that are hidden where a text was cut.
const MIN_PIECE: usize = 8;
/// Tokens of a sign-in that are kept; a server may still answer with the one before.
const MAX_TOKENS: usize = 8;

/// The secrets of one server.
pub(super) struct Secrets {
    of_entry: LazyLock<EntrySecrets, Box<dyn FnOnce() -> EntrySecrets + Send>>,
    tokens: Mutex<Vec<String>>,
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(EntrySecrets::default())
    }
}

impl Secrets {
    pub(super) fn new(of_entry: EntrySecrets) -> Self {
        Self {
            of_entry: LazyLock::new(Box::new(|| of_entry.settled())),
            tokens: Mutex::default(),
        }
    }

    /// From now on this value of `Authorization` is one.
    pub(super) fn add_authorization(&self, value: &str) {
        let token = value.split_once(' ').map_or(value, |(_, token)| token);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.iter().any(|own| own == token) || token.len() < MIN_PIECE {
            return;
        }
        if tokens.len() == MAX_TOKENS {
            tokens.remove(0);
        }
        tokens.push(token.to_owned());
    }

    /// The keys; `all` are also the values that may be none, but came from a variable.
    fn list(&self, all: bool) -> Vec<String> {
        let mut list = (self.tokens.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        list.extend(self.of_entry.keys.iter().cloned());
        if all {
            list.extend(self.of_entry.values.iter().cloned());
        }
        // One may be a part of another.
        list.shared_sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        list
    }

    /// What a server wrote for people, without any of them.
    pub(super) fn hide(&self, text: String) -> String {
        without(text, &self.list(true))
    }

    /// An error about what a server said, without any of them; a result without the keys.
    pub(super) fn hide_in(&self, outcome: Outcome<Value>) -> Outcome<Value> {
        match outcome {
            Ok(mut value) => {
                let keys = self.list(false);
                if !keys.is_empty() {
                    hide_in_value(&mut value, &keys);
                }
                Ok(value)
            }
            Err(problem) => Err(self.hide_in_problem(problem)),
        }
    }

    pub(super) fn hide_in_problem(&self, problem: Problem) -> Problem {
        let all = self.list(true);
        if all.is_empty() {
            return problem;
        }
        let next = problem.next.into_iter();
        Problem {
            what: without(problem.what, &all),
            next: next.map(|hint| without(hint, &all)).collect(),
            facts: problem.facts.map(|facts| without(facts, &all)),
            ..problem
        }
    }
}

fn hide_in_value(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = without(std::mem::take(text), secrets),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| hide_in_value(item, secrets)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| hide_in_value(member, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        // A text that was cut may end within one.
        if text.contains('…') {
            let ends = secret.char_indices().map(|(at, _)| at);
            let pieces = ends
                .filter(|at| *at >= MIN_PIECE)
                .filter_map(|at| secret.get(..at));
            for piece in pieces {
                let cut = format!("{piece}…");
                if text.contains(&cut) {
                    text = text.replace(&cut, &format!("{HIDDEN}…"));
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_was_given_is_hidden_in_what_it_says() {
        let secrets = Secrets::new(EntrySecrets {
            keys: vec!["keysecret999".to_owned()],
            values: vec!["project-12345".to_owned()],
            ..EntrySecrets::default()
        });
        secrets.add_authorization("Bearer ATsecretAccessToken1");
        let said = "ATsecretAccessToken1 keysecret999 project-12345 ATsecretAcc…";
        let hidden = "[hidden] [hidden] [hidden] [hidden]…";
        assert_eq!(secrets.hide(said.to_owned()), hidden);
        let problem = Problem::network(said).next(said).facts(said);
        let problem = secrets.hide_in(Err(problem)).unwrap_err();
        assert_eq!(
            (problem.what.as_str(), problem.next[0].as_str()),
            (hidden, hidden)
        );
        assert_eq!(problem.facts.as_deref(), Some(hidden));
        // In a result the name of a project is no secret.
        let result = secrets.hide_in(Ok(json!({"content": [{"text": said}]})));
        assert_eq!(
            result.unwrap()["content"][0]["text"],
            "[hidden] [hidden] project-12345 [hidden]…"
        );
    }
}
