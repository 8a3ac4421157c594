//! Whether commands can be held here, and by what.

use std::time::Duration;

use super::finding::{Finding, finding};
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env::command_env;
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

/// The layer is entered once, with a program that does nothing.
fn tried(settings: &Settings) -> Outcome<String> {
    let abi = landlock_abi().map_err(cannot_fence)?;
    let mut run = ProgramSpec::new("true", [""; 0], command_env(&settings.env));
    run.sandbox = Some(words::trial());
    run.limit = Duration::from_secs(5);
    run.run(&Cancel::new())?;
    let (holds, open) = words::held(abi);
    Ok(format!("ABI {abi}; holds: {holds}; does not hold: {open}"))
}
