//! `/blender`: whether Blender answers.

use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::inbox::WorkerEvent;
use super::shell::ShellJob;
use crate::tools::blender;

impl Session {
    /// Asks Blender on a thread of its own; Esc stops it.
    pub(super) fn check_blender(&mut self) {
        let id = self.number();
        let (stop, with_session) = self.stop_all.child();
        let job = ShellJob {
            id,
            command: "blender".to_owned(),
            background: false,
            since: Instant::now(),
            output: String::new(),
            stop: stop.clone(),
            _with_session: with_session,
        };
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let started = self.work("blender", move || {
            let outcome = blender::check(&context.env, &stop);
            inbox.send(WorkerEvent::Report { id, outcome });
        });
        if started {
            self.jobs.push(job);
        }
    }
}
