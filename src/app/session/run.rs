//! What is the same for every part of a session: its settings, what its tools share, the queue that workers report to, and what stops them.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::inbox::Inbox;
use super::log_writer::LogWriter;
use crate::app::sessions;
use crate::app::settings::Settings;
use crate::base::cancel::{Cancel, OnFire};
use crate::store::sessions::record::Spent;
use crate::tools::engine::context::SessionContext;

pub(super) struct Run {
    pub(super) settings: Arc<Settings>,
    pub(super) context: Arc<SessionContext>,
    /// Messages are answered one at a time on the caller's thread, without an interface.
    pub(super) is_one_shot: bool,
    /// A person talks, and neither a program nor another Marvin: the reply flow may answer.
    pub(super) has_person: bool,
    pub(super) inbox: Arc<Inbox>,
    /// The entries of the chat log that are not on disk.
    pub(super) log_writer: LogWriter,
    /// Fires when the session is closed or dropped, so that nothing it started outlives it.
    pub(super) stop: Cancel,
    pub(super) started: Instant,
    /// The number that was given last.
    last_number: Cell<u64>,
}

impl Run {
    pub(super) fn new(
        settings: Arc<Settings>,
        context: Arc<SessionContext>,
        inbox: Arc<Inbox>,
    ) -> Self {
        Self {
            has_person: context.policy.depth == 0,
            settings,
            context,
            is_one_shot: false,
            inbox,
            log_writer: LogWriter::default(),
            stop: Cancel::new(),
            started: Instant::now(),
            last_number: Cell::new(0),
        }
    }

    /// A run that answers messages of a program, and ends with `stop`.
    pub(super) fn one_shot(
        settings: Arc<Settings>,
        context: Arc<SessionContext>,
        stop: Cancel,
    ) -> Self {
        Self {
            is_one_shot: true,
            has_person: false,
            stop,
            ..Self::new(settings, context, Inbox::new().0)
        }
    }

    /// A number for a turn or a job that none had before.
    pub(super) fn number(&self) -> u64 {
        self.last_number.set(self.last_number.get() + 1);
        self.last_number.get()
    }

    /// A token that also fires with the session, as long as the guard lives.
    pub(super) fn child_stop(&self) -> (Cancel, OnFire) {
        self.stop.child()
    }

    /// What this process has spent so far.
    pub(super) fn spent(&self) -> Spent {
        sessions::spent(&self.context.ledger.totals())
    }

    /// The home folder of the user.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.context.env.get("HOME").map(PathBuf::from)
    }

    /// The directory for the user's commands: the working directory, else where Marvin was started, else home.
    pub(super) fn command_dir(&self) -> PathBuf {
        let root = self.context.working_dir.root();
        root.map(|root| root.path().to_owned())
            .or_else(|| self.settings.process.current.clone())
            .or_else(|| self.home())
            .unwrap_or_else(|| PathBuf::from("/"))
    }

    /// This executable, which ends recorders and speakers when this process is killed. After an update that has moved it, they end by themselves.
    pub(super) fn supervisor(&self) -> Option<PathBuf> {
        let executable = self.settings.process.executable.clone();
        executable.filter(|path| path.exists())
    }

    /// A run without a home folder, for tests of parts.
    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        use crate::app::settings::{CliArgs, ProcessFacts};
        use crate::base::env::Env;
        use crate::tools::engine::policy::ToolPolicy;
        let settings = Settings::new(CliArgs::default(), Env::default(), ProcessFacts::default());
        let context = SessionContext::new(Env::default(), ToolPolicy::default());
        Self::new(Arc::new(settings), Arc::new(context), Inbox::new().0)
    }
}
