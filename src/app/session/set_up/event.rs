//! What the threads of setting up report.

use super::check::Checked;
use crate::app::session::choice::ChoiceList;

/// From the threads that look and check.
pub(in crate::app::session) enum SetUpEvent {
    /// What can be chosen; `None` at a start after the user chose to work without a model.
    Menu {
        list: Option<ChoiceList>,
        is_first: bool,
    },
    /// A check has ended.
    Checked { id: u64, checked: Checked },
}
