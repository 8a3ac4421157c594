//! What a conversation begins with, and what the chat log has of it: read and changed on disk, and reported.

use std::sync::Arc;

use super::Conversation;
use crate::app::profile;
use crate::app::session::orders::Orders;
use crate::app::session::queued::Queued;
use crate::app::session::run::Run;
use crate::app::session::worker_event::AwaitedBy;
use crate::app::session::worker_event::{ProfileSwitch, WorkerEvent};
use crate::app::sessions;
use crate::app::sessions::earlier;

/// Reads what the conversation begins with; messages wait for it, and so does the choice of the model, whose greeting depends on it.
pub(in crate::app::session) fn load(run: &Run, orders: &mut Orders) {
    let cwd = sessions::folder(&run.context, &run.settings);
    let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
    let profile = run.context.profile();
    let read = move || {
        let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
        let profile = context.paths.profile(&profile).ok();
        let start = profile.map(|profile| earlier::start(&context, &profile, &cwd, &mut warn));
        Ok(start.unwrap_or_default())
    };
    let awaited_by = AwaitedBy::NextMessage;
    orders.write_and_report("start", awaited_by, read, WorkerEvent::Start);
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
    let switch = move || {
        let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
        let created = profile::switch(&context.paths, &name)?;
        let profile = context.paths.profile(&name)?;
        Ok(ProfileSwitch {
            start: earlier::start(&context, &profile, &cwd, &mut warn),
            name,
            created,
            resend,
        })
    };
    let awaited_by = AwaitedBy::NextMessage;
    orders.write_and_report("profile", awaited_by, switch, WorkerEvent::Switched);
}

impl Conversation {
    /// Loads the conversation from the log again after a tool has changed it there, where the conversation began with it.
    pub(in crate::app::session) fn reload(&self, run: &Run, orders: &mut Orders) {
        let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
        let conversation = self.number;
        let profile = run.context.profile();
        let read = move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let profile = context.paths.profile(&profile).ok();
            let of_log = |profile| earlier::of_changed_log(&context, &profile, &mut warn);
            Ok(profile.and_then(of_log))
        };
        let report = move |entries| WorkerEvent::Loaded(conversation, entries);
        orders.write_and_report("reload", AwaitedBy::NextMessage, read, report);
    }
}
