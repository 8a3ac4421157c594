//! What a conversation begins with, and what the chat log has of it: read and changed on disk, and reported.

use std::sync::Arc;

use super::Conversation;
use crate::app::profile;
use crate::app::session::log_writer;
use crate::app::session::orders::Orders;
use crate::app::session::queued::Queued;
use crate::app::session::run::Run;
use crate::app::session::worker_event::{AwaitedBy, ProfileSwitch, WorkerEvent};
use crate::app::sessions;
use crate::app::sessions::earlier;

/// Reads what the conversation begins with; messages wait for it, and so does the choice of the model, whose greeting depends on it.
pub(in crate::app::session) fn load(run: &Run, orders: &mut Orders) {
    let cwd = sessions::folder(&run.context, &run.settings);
    let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
    orders.write(AwaitedBy::NextMessage, move || {
        let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
        let profile = context.paths.profile(&context.profile()).ok();
        let start = profile.map(|profile| earlier::start(&context, &profile, &cwd, &mut warn));
        inbox.send(WorkerEvent::Start(start.unwrap_or_default()));
    });
}

/// Continues with another profile, which is created if necessary; `resend` is then sent again there.
pub(in crate::app::session) fn switch_profile(
    name: String,
    resend: Option<Queued>,
    run: &Run,
    orders: &mut Orders,
) {
    let cwd = sessions::folder(&run.context, &run.settings);
    let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
    orders.write(AwaitedBy::NextMessage, move || {
        let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
        let outcome = profile::switch(&context.paths, &name).and_then(|created| {
            let profile = context.paths.profile(&name)?;
            Ok(ProfileSwitch {
                start: earlier::start(&context, &profile, &cwd, &mut warn),
                name,
                created,
                resend,
            })
        });
        inbox.send(WorkerEvent::Switched(outcome));
    });
}

impl Conversation {
    /// Loads the conversation from the log again after a tool has changed it there, where the conversation began with it.
    pub(in crate::app::session) fn reload(&self, run: &Run, orders: &mut Orders) {
        let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
        let conversation = self.number;
        orders.write(AwaitedBy::NextMessage, move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let profile = context.paths.profile(&context.profile()).ok();
            let entries =
                profile.and_then(|profile| earlier::of_changed_log(&context, &profile, &mut warn));
            inbox.send(WorkerEvent::Loaded(conversation, entries));
        });
    }

    /// The message of the last turn leaves no trace in the log of `profile`.
    pub(in crate::app::session) fn forget_exchange(
        &mut self,
        profile: &str,
        run: &Run,
        orders: &mut Orders,
    ) {
        let Some(message) = self.sent.pop() else {
            return;
        };
        let Ok(log) = log_writer::open(&run.context, profile) else {
            return;
        };
        let writer = run.log_writer.clone();
        let (profile, inbox) = (profile.to_owned(), Arc::clone(&run.inbox));
        orders.write(AwaitedBy::Nobody, move || {
            if !writer.take_back(&profile, &message) {
                let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
                // Another Marvin has written since: then it stays.
                let _ = log.undo_last_exchange(Some(&message), &mut warn);
            }
        });
    }
}
