//! `/blender`: whether Blender answers.

use std::sync::Arc;

use super::Session;
use super::inbox::WorkerEvent;
use crate::tools::blender;

impl Session {
    /// Asks Blender on a thread of its own; Esc stops it.
    pub(super) fn check_blender(&mut self) {
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        self.run_job("blender".to_owned(), false, move |id, stop| {
            let outcome = blender::check(&context.env, &stop);
            inbox.send(WorkerEvent::Report { id, outcome });
        });
    }
}
