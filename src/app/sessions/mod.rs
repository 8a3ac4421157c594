//! The session of a run: which one it begins or goes on with, and what people see of sessions.
//!
//! [`earlier`] is what a new conversation begins with, [`transcript`] what the screen shows of an old one, [`list`] and [`export`] are for choosing and keeping
//! one, [`model_notes`] is what the model is told beside what is said. The files are those of [`crate::store::sessions`]; a conversation that goes on is
//! [`crate::app::session`].

pub(crate) mod earlier;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod model_notes;
pub(crate) mod transcript;

use super::settings::Settings;
use super::settings::session::{SessionChoice, SessionFlags};
use crate::base::problem::{Outcome, Problem};
use crate::base::redact;
use crate::base::text::clip;
use crate::chat::usage::Totals;
use crate::llm::failure::Failure;
use crate::store::sessions::log::SessionLog;
use crate::store::sessions::record::{SessionPlace, Spent, TurnEnding, TurnResult};
use crate::store::sessions::{OpenedSession, Replay, SessionId, SessionStore};
use crate::tools::engine::context::{SessionContext, ToolContext};

/// Characters of the error of a turn that are kept.
const ERROR_CHARS: usize = 500;

pub(crate) struct BegunSession {
    pub log: SessionLog,
    /// What was said before, when it goes on with one.
    pub replay: Option<Replay>,
}

/// The folder that a session belongs to: the working directory, else where Marvin was started.
pub(crate) fn folder(context: &SessionContext, settings: &Settings) -> String {
    let root = context.working_dir.root();
    let root = root.map(|root| root.path().to_owned());
    let folder = root.or_else(|| settings.process.current.clone());
    folder.map_or_else(String::new, |folder| folder.display().to_string())
}

/// Where a session is held.
pub(crate) fn place(context: &SessionContext, settings: &Settings) -> SessionPlace {
    SessionPlace {
        cwd: folder(context, settings),
        workspace: context.workspace(),
    }
}

/// A new session, with this id or a random one.
pub(crate) fn new(
    store: &SessionStore,
    id: Option<SessionId>,
    context: &SessionContext,
    settings: &Settings,
) -> SessionLog {
    let id = id.unwrap_or_else(SessionId::random);
    SessionLog::new(store, id, place(context, settings), context.profile())
}

/// Opens a session, or with `fork` a copy of it.
///
/// # Errors
/// There is none, another Marvin has it, or it cannot be read.
pub(crate) fn open(
    store: &SessionStore,
    id: &SessionId,
    fork: Option<SessionId>,
    place: SessionPlace,
) -> Outcome<BegunSession> {
    let opened = match fork {
        Some(new) => OpenedSession::fork(store, id, new, place),
        None => OpenedSession::open(store, id),
    }?;
    Ok(BegunSession {
        log: opened.log,
        replay: Some(opened.replay),
    })
}

/// The session that the flags mean; a list to choose from begins with a new one.
///
/// # Errors
/// It does not exist, another Marvin has it, or it cannot be read.
pub(crate) fn begin(
    flags: &SessionFlags,
    context: &SessionContext,
    settings: &Settings,
) -> Outcome<BegunSession> {
    let store = context.sessions()?;
    let place = place(context, settings);
    let found = match flags.choice() {
        SessionChoice::Named(word) => Some(store.find(&word)?),
        SessionChoice::Latest => Some(store.latest(&place.cwd).map(|found| found.id).ok_or_else(
            || {
                let shown = crate::base::text::one_line(&place.cwd);
                Problem::missing(format!("There is no session of {shown} yet."))
                    .next("marvin begins one; marvin --resume lists those of other folders.")
            },
        )?),
        SessionChoice::New | SessionChoice::Pick => flags.id.clone().filter(|id| store.has(id)),
    };
    match found {
        Some(id) => {
            let fork = flags
                .fork
                .then(|| flags.id.clone().unwrap_or_else(SessionId::random));
            if let Some(new) = fork.as_ref().filter(|new| store.has(new)) {
                return Err(Problem::input(format!("There is a session {new} already."))
                    .next("Give another --session-id, or none."));
            }
            open(&store, &id, fork, place)
        }
        None => Ok(BegunSession {
            log: new(&store, flags.id.clone(), context, settings),
            replay: None,
        }),
    }
}

/// How a turn ended that failed with `failure`, or did not.
pub(crate) fn turn_ending(ctx: &ToolContext, failure: Option<&Failure>) -> TurnEnding {
    match failure {
        _ if ctx.stop.is_fired() => TurnResult::Stopped.into(),
        Some(failure) => {
            let line = failure.problem.one_line();
            let safe = redact::secrets(&line, &ctx.session.secrets.all());
            TurnEnding {
                result: TurnResult::Failed,
                error: Some(clip(&safe, ERROR_CHARS)),
            }
        }
        None => TurnResult::Complete.into(),
    }
}

/// What a run has spent.
pub(crate) fn spent(totals: &Totals) -> Spent {
    Spent {
        cost: totals.cost,
        estimated: totals.cost_estimated(),
        credits: totals.credits,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::chat::event::NullSink;
    use crate::llm::failure::FailureKind;
    use crate::tools::engine::policy::ToolPolicy;

    #[test]
    fn the_error_of_a_turn_is_one_short_line_without_keys() {
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        let stop = Cancel::new();
        let ctx = ToolContext::new(Arc::new(session), stop.clone(), Arc::new(NullSink));
        let text = format!(
            "Refused:\napi_key=abcdefgh12345678 {}",
            "and so on ".repeat(100)
        );
        let failure = Failure::new(FailureKind::Protocol, Problem::input(text));
        let ending = turn_ending(&ctx, Some(&failure));
        let error = ending.error.unwrap();
        assert_eq!(ending.result, TurnResult::Failed);
        assert!(
            error.starts_with("Refused: api_key=[hidden] and"),
            "{error}"
        );
        assert_eq!(error.chars().count(), ERROR_CHARS + 1);
        assert_eq!(turn_ending(&ctx, None), TurnResult::Complete.into());
        stop.fire();
        assert_eq!(
            turn_ending(&ctx, Some(&failure)),
            TurnResult::Stopped.into()
        );
    }
}
