//! The environment that a model is chosen in, with what was set up since the start.

use std::sync::{Mutex, PoisonError};

use crate::base::env::Env;
use crate::tools::engine::context::SessionContext;

/// What was set up in this session, as the next one finds it in `config.yaml` and in the files of keys.
#[derive(Default)]
struct NewSettings(Mutex<Vec<(String, String)>>);

/// The environment with what was set up since the start.
pub(crate) fn model_env(context: &SessionContext) -> Env {
    let mut env = context.env.clone();
    let settings = context.modules.get::<NewSettings>();
    let settings = settings.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, value) in settings.iter() {
        env.set_below(name, value.clone());
    }
    env
}

pub(super) fn add_settings(
    context: &SessionContext,
    new: impl IntoIterator<Item = (String, String)>,
) {
    let settings = context.modules.get::<NewSettings>();
    let mut settings = settings.0.lock().unwrap_or_else(PoisonError::into_inner);
    settings.extend(new);
}
