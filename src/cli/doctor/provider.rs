//! The providers: each with a key is asked for its list of models, which tells whether the key and the model are good. All at once, and not for long.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use jiff::civil::Date;

use super::finding::{Finding, finding};
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::plural;
use crate::llm::catalog::{self, ProviderSpec, ROWS};
use crate::llm::choose::{self, RemoteTarget};
use crate::llm::models::endings;
use crate::llm::models::list::{ListedModel, serves};
use crate::llm::models::live::listed_models;
use crate::llm::models::near;
use crate::net::services::shown_address;

/// How long a provider may take.
const TIMEOUT: Duration = Duration::from_secs(4);
/// The name that servers with one model do not look at.
const ANY_MODEL: &str = "default";

/// What the providers answered that could be asked.
pub(super) struct ProviderLists(BTreeMap<&'static str, Outcome<Vec<ListedModel>>>);

impl ProviderLists {
    /// Asks those that have what they need: a key, an address of the user's own, a server that runs.
    pub(super) fn ask(env: &Env) -> Self {
        let stop = Cancel::new();
        let asked = thread::scope(|scope| {
            let asking: Vec<_> = ROWS
                .iter()
                .map(|row| choose::remote(env, row))
                .filter(|remote| !remote.lacks_key())
                .map(|remote| {
                    let stop = &stop;
                    scope.spawn(move || {
                        let runs = !remote.row.local || choose::answers(&remote);
                        runs.then(|| (remote.row.name, listed_models(&remote, env, TIMEOUT, stop)))
                    })
                })
                .collect();
            let answers = asking
                .into_iter()
                .filter_map(|one| one.join().ok().flatten());
            answers.collect()
        });
        Self(asked)
    }

    fn of(&self, provider: &str) -> Option<&Outcome<Vec<ListedModel>>> {
        self.0.get(provider)
    }

    /// Whether the model that `remote` would answer with is served, as far as it says.
    pub(super) fn works(&self, remote: &RemoteTarget, settings: &Settings) -> bool {
        let row = remote.row;
        let model = settings.model.choice.model.as_deref();
        let model = model.unwrap_or_else(|| choose::model(&settings.env, row));
        match self.of(row.name) {
            Some(Ok(listed)) => row.local && model == ANY_MODEL || serves(listed, model),
            Some(Err(problem)) => unlisted(remote, problem).1.is_none(),
            None => false,
        }
    }

    /// What is wrong with `model`, which `remote` would answer with, and what to do about it: it has ended, ends soon, or is not served.
    pub(super) fn wrong_model(
        &self,
        remote: &RemoteTarget,
        model: &str,
        today: Date,
    ) -> Option<(String, String)> {
        let row = remote.row;
        let variable = catalog::variable(row.name, "MODEL");
        let list = format!("marvin models {} lists what it serves.", row.name);
        if let Some(retirement) = endings::retirement(row.name, model)
            && retirement.end.is_near(today)
        {
            let advice = match retirement.successor {
                Some(successor) => format!("Set {variable}={successor}; {list}"),
                None => format!("Set {variable} to another; {list}"),
            };
            return Some((format!("{model} {}", retirement.end.words(today)), advice));
        }
        let Some(Ok(listed)) = self.of(row.name) else {
            return None;
        };
        if row.local && model == ANY_MODEL || serves(listed, model) {
            return None;
        }
        let count = plural(listed.len(), "model");
        let state = format!("{model} is not among the {count} of {}", row.name);
        let names: Vec<String> = listed.iter().map(|one| one.id.clone()).collect();
        let near = near::did_you_mean_of(row.name, model, &names, today);
        let near = near.map_or_else(String::new, |near| format!("{near} "));
        let advice = match row.name {
            "ollama" => format!("{near}ollama pull {model}, or set {variable}."),
            _ if row.local => format!("{near}Load it there, or set {variable}; {list}"),
            _ => format!("{near}Set {variable} to one that it serves; {list}"),
        };
        Some((state, advice))
    }

    /// What there is to say of `row`.
    pub(super) fn provider(&self, row: &'static ProviderSpec, env: &Env, today: Date) -> Finding {
        let remote = choose::remote(env, row);
        let model = choose::model(env, row);
        let about =
            |ok, state: String, advice: &str| finding("provider", row.name, ok, state, advice);
        let mut over = String::new();
        match choose::wire(env, row) {
            Ok(Some(wire)) => {
                let word = choose::wire_word(wire).unwrap_or_default();
                over = format!(" over {word} ({})", catalog::variable(row.name, "WIRE"));
            }
            Ok(None) => {}
            Err(problem) => return about(false, problem.what, &problem.next.join(" ")),
        }
        let mut state = Vec::new();
        if let Some(key) = remote.key_variable() {
            let set = if remote.key.is_some() {
                "set"
            } else {
                "not set"
            };
            state.push(format!("{key} {set}"));
        }
        let at = shown_address(&remote.base);
        if remote.has_own_base {
            state.push(format!("at {at} ({})", remote.url_variable));
        } else if row.local {
            state.push(format!("at {at}"));
        }
        let model_words = format!("model {model}{over}");
        let (ok, advice) = match self.of(row.name) {
            Some(Ok(listed)) => {
                state.push(match listed.len() {
                    0 => "answers".to_owned(),
                    count => format!("answers with {}", plural(count, "model")),
                });
                (true, String::new())
            }
            Some(Err(problem)) => {
                let (words, advice) = unlisted(&remote, problem);
                state.push(words);
                (advice.is_none(), advice.unwrap_or_default())
            }
            None if row.local => {
                state.push("does not answer".to_owned());
                (false, "Start the server, or leave it.".to_owned())
            }
            None => {
                let unused = row.token.filter(|token| env.get(token).is_some());
                let mut advice = String::new();
                if let (Some(token), Some(url)) = (unused, row.other_urls.first()) {
                    state.push(format!("{token} set, but no address of a gateway"));
                    advice = format!("Set {} to the gateway's address, or: ", url.variable);
                }
                let key = row.key.unwrap_or_default();
                (false, format!("{advice}export {key}=…"))
            }
        };
        match self.wrong_model(&remote, model, today) {
            Some((wrong, change)) => {
                state.push(format!("model {wrong}{over}"));
                let advice = [advice, change];
                let advice: Vec<String> =
                    advice.into_iter().filter(|one| !one.is_empty()).collect();
                about(false, state.join(", "), &advice.join(" "))
            }
            None => {
                state.push(model_words);
                about(ok, state.join(", "), &advice)
            }
        }
    }
}

/// What to say of a provider that did not give its list, and what to do about it; nothing where that does not mean that it would not answer.
fn unlisted(remote: &RemoteTarget, problem: &Problem) -> (String, Option<String>) {
    let what = problem.what.trim_end_matches('.');
    match problem.kind {
        ProblemKind::Auth => {
            let key = remote.key_variable().unwrap_or("the key");
            (what.to_owned(), Some(format!("Check {key}.")))
        }
        // Some gateways serve the chat alone.
        ProblemKind::Missing => (
            "gives no list of models, so neither key nor model was checked".to_owned(),
            None,
        ),
        _ => {
            let url = &remote.url_variable;
            let check = format!("Check the network, the proxy settings and {url}.");
            (format!("not reached: {what}"), Some(check))
        }
    }
}
