//! Files and values of the user about models: whether they can be read.

use super::finding::{Finding, finding};
use crate::app::settings::Settings;
use crate::app::setup;
use crate::base::problem::Outcome;
use crate::base::variables::{MARVIN_MODELS, MARVIN_PRICES, OLLAMA_CONTEXT};

/// One finding for each that is set.
pub(super) fn findings(settings: &Settings) -> Vec<Finding> {
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let window = setup::ollama_window(&settings.env);
    let tokens = OLLAMA_CONTEXT.read(&settings.env);
    let rows = [
        about(MARVIN_PRICES.name, path(&settings.model.prices), || {
            setup::user_prices(settings).map(drop)
        }),
        about(MARVIN_MODELS.name, path(&settings.model.models), || {
            setup::models_file(settings).map(drop)
        }),
        about(
            OLLAMA_CONTEXT.name,
            tokens.map(|tokens| format!("{} tokens", tokens.trim())),
            || window.map(drop),
        ),
    ];
    rows.into_iter().flatten().collect()
}

fn about(name: &str, set: Option<String>, read: impl FnOnce() -> Outcome<()>) -> Option<Finding> {
    let set = set?;
    Some(match read() {
        Ok(()) => finding("models", name, true, set, ""),
        Err(problem) => {
            let advice = match problem.next.is_empty() {
                true => format!("Correct it, or unset {name}."),
                false => problem.next.join(" "),
            };
            finding("models", name, false, problem.what, &advice)
        }
    })
}
