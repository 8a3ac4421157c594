//! The model that would answer now: whether it is served, and for how long. Only a server of this machine is asked; of others the table speaks.

use std::time::Duration;

use super::finding::{Finding, finding};
use crate::app::settings::Settings;
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::text::plural;
use crate::llm::catalog;
use crate::llm::choose::{self, RemoteTarget};
use crate::llm::models::endings;
use crate::llm::models::live::listed_models;

/// How long a server of this machine may take to list its models.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The name that servers with one model do not look at.
const ANY_MODEL: &str = "default";

/// Why this model was chosen; `variable` is the provider's own.
pub(super) fn reason(settings: &Settings, variable: &str) -> String {
    let why = if settings.model.model.is_some() {
        "as --model or MARVIN_MODEL says"
    } else if settings.env.get(variable).is_some() {
        return format!(", as {variable} says");
    } else {
        "the default"
    };
    format!(", {why}")
}

/// What there is to say of the model that `remote` would answer with.
pub(super) fn chosen(remote: &RemoteTarget, settings: &Settings) -> Finding {
    let row = remote.row;
    let model = settings.model.model.as_deref();
    let model = model.unwrap_or_else(|| choose::model(&settings.env, row));
    let about = |ok, state: String, advice: &str| finding("choice", "model", ok, state, advice);
    let variable = catalog::variable(row.name, "MODEL");
    let list = format!("marvin models {} lists what it serves.", row.name);
    let clock = Clock::new(&settings.env);
    let registry = match setup::model_registry(settings, &clock) {
        Ok(registry) => registry,
        Err(problem) => return about(false, problem.what.clone(), &problem.next.join(" ")),
    };
    let today = clock.now().date();
    if let Some(retirement) = endings::retirement(row.name, model) {
        let advice = match retirement.successor {
            Some(successor) => format!("Set {variable}={successor}; {list}"),
            None => format!("Set {variable} to another; {list}"),
        };
        let state = format!("{model} {}", retirement.end.words(today));
        return about(!retirement.end.is_near(today), state, &advice);
    }
    if registry.file().is_deprecated(row.name, model) {
        let advice = format!("Set {variable} to another; {list}");
        return about(false, format!("{model} is deprecated"), &advice);
    }
    if row.local && model != ANY_MODEL && choose::answers(remote) {
        let listed = listed_models(remote, &settings.env, TIMEOUT, &Cancel::new());
        let latest = format!("{model}:latest");
        let has = |listed: &str| listed == model || listed == latest;
        if let Ok(listed) = listed
            && !listed.iter().any(|one| has(&one.id))
        {
            let count = plural(listed.len(), "model");
            let state = format!("{model} is not among the {count} of {}", row.name);
            let advice = if row.name == "ollama" {
                format!("ollama pull {model}, or set {variable}.")
            } else {
                format!("Load it there, or set {variable}; {list}")
            };
            return about(false, state, &advice);
        }
    }
    about(true, format!("{model}{}", reason(settings, &variable)), "")
}
