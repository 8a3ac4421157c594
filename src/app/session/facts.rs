//! What a part is told of the others when something is asked of it.

use std::sync::Arc;

use crate::app::setup::Spending;
use crate::model_call::model_target::ModelTarget;

/// The other parts, as far as one of them has to know.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// The model that answers, if one was chosen.
    pub(super) target: Option<Arc<ModelTarget>>,
    /// What calls of a model may cost.
    pub(super) spending: Option<Spending>,
    /// Lines are commands for the shell.
    pub(super) is_shell: bool,
    pub(super) is_answering: bool,
    /// Messages wait to be sent.
    pub(super) has_waiting: bool,
    /// Nothing has been said in the conversation yet.
    pub(super) is_new: bool,
    pub(super) conversation: u64,
}
