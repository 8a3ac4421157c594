//! Copilot: whether its CLI is there, which one, and who is signed in.

use std::fmt::Write as _;
use std::time::Duration;

use super::finding::{Finding, finding};
use super::model::reason;
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::text::trim_decimals;
use crate::base::variables::{MARVIN_CHAT_MODEL, MARVIN_COPILOT_BASE_URL};
use crate::llm::copilot::availability::{self, CopilotState};
use crate::llm::copilot::{self, NAME};

/// How long the CLI may take; it unpacks itself at its first start.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What there is to say of the provider.
pub(super) fn provider(env: &Env) -> Finding {
    let about = |ok, state: String, advice: &str| finding("provider", NAME, ok, state, advice);
    match availability::ask(env, TIMEOUT, &Cancel::new()) {
        CopilotState::NotInstalled => about(
            false,
            "the Copilot CLI is not installed".to_owned(),
            "npm install -g @github/copilot, then gh auth login",
        ),
        CopilotState::Broken(problem) => {
            about(false, problem.what.clone(), &problem.next.join(" "))
        }
        CopilotState::Installed {
            program,
            version,
            is_usable,
            has_own_server,
            login: who,
            quota_left,
        } => {
            let mut state = format!("{} {version}", program.display());
            let model = copilot::model(env);
            let words = match (is_usable, has_own_server) {
                (false, _) => ", not signed in".to_owned(),
                (true, false) => format!(", signed in as {who}, model {model}"),
                (true, true) => {
                    let variable = MARVIN_COPILOT_BASE_URL.name;
                    format!(", asks the server that {variable} names, model {model}")
                }
            };
            state.push_str(&words);
            if let Some(left) = quota_left {
                let left = trim_decimals(left, 1);
                let _ = write!(state, ", {left} % of the plan's allowance left");
            }
            about(is_usable, state, availability::SIGN_IN)
        }
    }
}

/// The model that would answer.
pub(super) fn model(settings: &Settings) -> Finding {
    let own = settings.model.choice.model.as_deref();
    let model = own.unwrap_or_else(|| copilot::model(&settings.env));
    let why = reason(settings, MARVIN_CHAT_MODEL.name);
    finding("choice", "model", true, format!("{model}{why}"), "")
}
