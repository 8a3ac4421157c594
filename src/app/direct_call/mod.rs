//! Tools called directly, without a model, through the same registry, fence and policy: `marvin tool` and `/tool`.
//!
//! [`words`] reads the name and `key=value`, [`values`] makes arguments of them by the types of the parameters, [`catalogue`] lists tools and describes one.
//! [`crate::cli`] and [`crate::app::session`] call it; it knows neither a terminal nor a conversation.

pub(crate) mod catalogue;
pub(crate) mod values;
pub(crate) mod words;

use std::sync::Arc;

use super::settings::Settings;
use super::setup;
use super::stream::say;
use crate::base::cancel::Cancel;
use crate::base::ids;
use crate::base::problem::Outcome;
use crate::chat::event::{Event, EventSink};
use crate::chat::message::{ToolCall, ToolOutput};
use crate::disk::beneath::Root;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::batch;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// Prints a tool's progress messages.
struct StderrSink;

impl EventSink for StderrSink {
    fn emit(&self, event: Event) {
        if let Event::Notice(_, words) = event {
            say(&words);
        }
    }
}

/// A session for one call, in the working directory of `settings` or else in the current directory, whatever it is.
///
/// # Errors
/// The directory does not exist, or a tool group does not.
pub(crate) fn session(settings: &Settings) -> Outcome<SessionContext> {
    let mut session = session_for_others(settings)?;
    if !settings.access.sandbox.holds_for_the_user() {
        // They typed the call themselves.
        session.sandbox = Default::default();
        session.policy.is_sandbox_read_only = Default::default();
    }
    Ok(session)
}

/// [`session`] for calls that the user does not type: the sandbox holds them.
///
/// # Errors
/// As [`session`].
pub(crate) fn session_for_others(settings: &Settings) -> Outcome<SessionContext> {
    let mut session = setup::session(settings, &mut |words| say(&format!("Warning: {words}")))?;
    let is_given = settings.working_dir.is_some();
    if let (None, false, Some(current)) = (
        session.working_dir.root(),
        is_given,
        &settings.process.current,
    ) {
        session.working_dir = Default::default();
        session.working_dir.set(Root::open(current)?, false);
    }
    // Notes and tickets belong to the project only when its directory was given on the command line; otherwise to the user.
    session.set_coding(is_given);
    Ok(session)
}

/// Runs the tool `name` with `args` (a JSON object). A failure of the tool is part of the output.
pub(crate) fn run(session: SessionContext, name: &str, args: String, stop: &Cancel) -> ToolOutput {
    let mut ctx = ToolContext::new(Arc::new(session), stop.clone(), Arc::new(StderrSink));
    ctx.approval = Approval::UserInvoked;
    batch::run_one(&ctx, &call(name, args)).output
}

pub(crate) fn call(name: &str, args: String) -> ToolCall {
    ToolCall::new(ids::call(), name, args)
}
