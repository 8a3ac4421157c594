//! The model that would answer now: whether it is served, for how long, and what it can do.

use super::finding::{Finding, finding};
use super::provider::ProviderLists;
use crate::app::settings::Settings;
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::text::thousands;
use crate::base::variables::OLLAMA_CONTEXT;
use crate::llm::catalog::{self, Wire};
use crate::llm::choose::{self, RemoteTarget};
use crate::llm::http_provider::HttpProvider;
use crate::llm::models::endings;
use crate::llm::provider::Provider;
use crate::net::user_agent::agent;

/// Why this model was chosen; `variable` is the provider's own.
pub(super) fn reason(settings: &Settings, variable: &str) -> String {
    let why = if settings.model.choice.model.is_some() {
        "as --model or MARVIN_MODEL says"
    } else if settings.env.get(variable).is_some() {
        return format!(", as {variable} says");
    } else {
        "the default"
    };
    format!(", {why}")
}

/// What there is to say of the model that `remote` would answer with.
pub(super) fn chosen(remote: &RemoteTarget, settings: &Settings, lists: &ProviderLists) -> Finding {
    let row = remote.row;
    let model = settings.model.choice.model.as_deref();
    let model = model.unwrap_or_else(|| choose::model(&settings.env, row));
    let about = |ok, state: String, advice: &str| finding("choice", "model", ok, state, advice);
    let variable = catalog::variable(row.name, "MODEL");
    let clock = Clock::new(&settings.env);
    let today = clock.now().date();
    if let Some((state, advice)) = lists.wrong_model(remote, model, today) {
        return about(false, state, &advice);
    }
    // What is wrong with the files has a line of its own.
    let registry = setup::model_registry(settings, &clock, &mut |_| {});
    if registry.file().is_deprecated(row.name, model) {
        let advice = format!(
            "Set {variable} to another; marvin models {} lists what it serves.",
            row.name
        );
        return about(false, format!("{model} is deprecated"), &advice);
    }
    if let Some(retirement) = endings::retirement(row.name, model) {
        return about(true, format!("{model} {}", retirement.end.words(today)), "");
    }
    let mut state = format!("{model}{}", reason(settings, &variable));
    let mut advice = String::new();
    if row.local {
        let (words, lacks) = served(remote, settings, model);
        state.push_str(&words);
        advice = lacks;
    }
    about(advice.is_empty(), state, &advice)
}

/// What the server of a local model says of it, and what to do when it cannot be used.
fn served(remote: &RemoteTarget, settings: &Settings, model: &str) -> (String, String) {
    let clock = Clock::new(&settings.env);
    let registry = setup::model_registry(settings, &clock, &mut |_| {});
    let provider = HttpProvider::new(
        remote.clone(),
        &settings.env,
        agent(&settings.env, None),
        &mut |_| {},
    );
    let served = provider
        .ok()
        .and_then(|provider| provider.served_facts(model, &Cancel::new()));
    let Some(served) = served else {
        return (String::new(), String::new());
    };
    let info = registry.facts_told(remote.row.name, model, &served);
    let mut words = format!(", window {} tokens", thousands(info.window));
    if let Some(max) = served.max_window.filter(|max| *max > info.window) {
        words.push_str(&format!(" of {}", thousands(max)));
        if remote.row.wire == Wire::Ollama {
            words.push_str(&format!(" ({} sets it)", OLLAMA_CONTEXT.name));
        }
    }
    let can = [
        ("tools", served.tools),
        ("images", served.images),
        ("thinking", served.thinks),
    ];
    for (what, can) in can {
        match can {
            Some(true) => words.push_str(&format!(", {what}")),
            Some(false) => words.push_str(&format!(", no {what}")),
            None => {}
        }
    }
    let advice = match (served.chats, served.tools) {
        (Some(false), _) => "It answers no chats: choose another model.",
        (_, Some(false)) => "It can only talk: for work, choose a model with tools.",
        _ => "",
    };
    (words, advice.to_owned())
}
