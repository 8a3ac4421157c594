//! Copies a text for the user with a program.

use std::sync::Arc;

use super::orders::Orders;
use super::run::Run;
use super::ui_update::CopiedText;
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::Outcome;
use crate::proc::clipboard::Copier;

/// Copies on a thread; the text comes back as [`super::ui_update::UiUpdate::Copied`].
pub(super) fn copy_with(copier: Copier, copied: CopiedText, run: &Run, orders: &mut Orders) {
    let context = Arc::clone(&run.context);
    let (stop, with_session) = run.child_stop();
    let text = copied.text.clone();
    let copy = move || {
        let _with_session = with_session;
        copier.copy(&text, &context.env, &stop)
    };
    let report = move |done: Outcome<()>| {
        let is_done = done.is_ok();
        WorkerEvent::Copied(CopiedText { is_done, ..copied })
    };
    orders.work("copy", AwaitedBy::Nobody, copy, report);
}
