//! Whether Blender answers.

use super::finding::{Finding, finding};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::tools::blender;

/// What there is to say about Blender; waits two seconds at most.
pub(super) fn answers(env: &Env) -> Finding {
    match blender::check(env, &Cancel::new()) {
        Ok(state) => finding("program", "blender", true, state, ""),
        Err(problem) => {
            let advice = problem.next.join(" ");
            finding("program", "blender", false, problem.what, &advice)
        }
    }
}
