//! Jobs: what the user started and waits for, a shell command, a tool, a question to Blender. Each runs on a thread of its own, and Esc stops it.

use std::time::Instant;

use super::Session;
use crate::base::cancel::{Cancel, OnFire};

/// A running job.
pub(super) struct Job {
    pub(super) id: u64,
    /// The conversation in which it was started, and its profile.
    pub(super) conversation: u64,
    pub(super) profile: String,
    /// As the status line shows it.
    pub(super) command: String,
    pub(super) background: bool,
    pub(super) since: Instant,
    /// The last lines that it has written.
    pub(super) output: String,
    pub(super) stop: Cancel,
    _with_session: OnFire,
}

impl Session {
    /// Runs `work` as a job; it gets the number that its last message has to carry, and what stops it.
    pub(super) fn run_job(
        &mut self,
        command: String,
        background: bool,
        work: impl FnOnce(u64, Cancel) + Send + 'static,
    ) {
        let id = self.number();
        let (stop, with_session) = self.stop_all.child();
        let job = Job {
            id,
            conversation: self.conversation,
            profile: self.context.profile(),
            command,
            background,
            since: Instant::now(),
            output: String::new(),
            stop: stop.clone(),
            _with_session: with_session,
        };
        if self.work("job", move || work(id, stop)) {
            self.jobs.push(job);
        }
    }
}
