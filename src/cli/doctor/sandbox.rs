//! Whether commands can be held here, and by what; and what searches text.

use std::time::Duration;

use super::finding::{Finding, finding};
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::variables::{MARVIN_SANDBOX_ACTIVE, MARVIN_SANDBOX_NETWORK_ACTIVE};
use crate::proc::child::ProgramSpec;
use crate::proc::child_env::command_env;
use crate::proc::ripgrep::Ripgrep;
use crate::proc::sandbox::policy::Policy;
use crate::proc::sandbox::{cannot_fence, landlock_abi, words};

pub(super) fn holds(settings: &Settings) -> Finding {
    match tried(settings) {
        Ok(state) => finding("sandbox", "Landlock", true, state, ""),
        Err(problem) => {
            let advice = problem.next.join(" ");
            finding("sandbox", "Landlock", false, problem.what, &advice)
        }
    }
}

/// What searches text for tools: ripgrep, where it is installed and can be held.
pub(super) fn searches(settings: &Settings) -> Finding {
    let state = match (Ripgrep::find(&settings.env), landlock_abi()) {
        (Some(ripgrep), _) => format!("ripgrep, held to the folder: {}", ripgrep.path().display()),
        (None, Ok(_)) => "built in; the program rg was not found".to_owned(),
        (None, Err(_)) => "built in; ripgrep could not be held here".to_owned(),
    };
    finding("search", "code_grep", true, state, "")
}

/// The layer is entered once, with a program that does nothing.
fn tried(settings: &Settings) -> Outcome<String> {
    let abi = landlock_abi().map_err(cannot_fence)?;
    let mut run = ProgramSpec::new("true", [""; 0], command_env(&settings.env));
    run.sandbox = Some(Policy::default());
    run.limit = Duration::from_secs(5);
    run.run(&Cancel::new())?;
    let (holds, open) = words::held(abi);
    let around = MARVIN_SANDBOX_ACTIVE.read(&settings.env).map(|mode| {
        let network = match MARVIN_SANDBOX_NETWORK_ACTIVE.read(&settings.env) {
            Some("off") => "no network",
            _ => "network",
        };
        format!("this Marvin runs in a sandbox itself ({mode}, {network}), which nothing here can widen; ")
    });
    let around = around.unwrap_or_default();
    Ok(format!(
        "{around}ABI {abi}; holds: {holds}; does not hold: {open}"
    ))
}
