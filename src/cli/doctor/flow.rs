//! Whether the reply flow would answer in a conversation now.

use super::finding::{Finding, finding};
use crate::app::flow_report;
use crate::app::profile;
use crate::app::settings::Settings;
use crate::disk::paths::Paths;
use crate::llm::choose::{self, RemoteTarget};
use crate::reply::applies::{FlowQuestion, applies};
use crate::reply::models::model_size::{self, ModelSize};
use crate::reply::settings;

/// What there is to say about the flow with the model that `remote` would answer with.
pub(super) fn answers(remote: &RemoteTarget, settings: &Settings) -> Finding {
    let (env, paths) = (&settings.env, Paths::new(&settings.env));
    let own = settings.model.choice.model.as_deref();
    let model = own.unwrap_or_else(|| choose::model(env, remote.row));
    let profile = paths.profile(&profile::active(&paths)).ok();
    let mut wrong = Vec::new();
    let flow = settings::sources::load(env, &paths, profile.as_ref(), &mut |text| wrong.push(text));
    let question = FlowQuestion {
        mode: flow.flow,
        provider: remote.row.name,
        is_small: model_size::of(model, flow.model_size) == ModelSize::Small,
        is_interactive: true,
        is_coding: false,
        is_shell: false,
    };
    if let Some(wrong) = wrong.into_iter().next() {
        return finding("choice", "reply flow", false, wrong, "Correct the setting.");
    }
    let on = if applies(&question) { "on" } else { "off" };
    let state = format!("{on}: {}", flow_report::reason(&question, model));
    finding("choice", "reply flow", true, state, "")
}
