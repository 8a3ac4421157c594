//! The hooks of a session, and the trait behind which each of them runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

use super::event::HookEvent;
use super::matcher::Matcher;
use super::programs::programs;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// The time that a hook has where nothing is said.
pub(crate) const DEFAULT_LIMIT: Duration = Duration::from_secs(60);
/// What a hook has at the end of a session, where somebody waits for Marvin to leave.
const LIMIT_AT_END: Duration = Duration::from_secs(5);
/// The longest and the shortest time that may be set.
const LONGEST: Duration = Duration::from_secs(600);
const SHORTEST: Duration = Duration::from_secs(1);

/// What runs a hook: a command, or a question to a calling program.
pub(crate) trait HookRunner: Send + Sync {
    /// Runs it with the event as one JSON object and returns its answer, which [`super::output`] reads. Waits for `limit` at most.
    ///
    /// # Errors
    /// There is no answer, its time is over, or `stop` fired.
    fn run(&self, input: &Value, limit: Duration, stop: &Cancel) -> Outcome<Value>;

    /// What it is, for a message: "the hook ./check.sh".
    fn name(&self) -> String;

    /// The command that it runs, as shell text.
    fn command(&self) -> Option<&str> {
        None
    }

    /// Children read it themselves, so that it is asked about their calls too.
    fn runs_in_children(&self) -> bool {
        false
    }
}

/// Whose a hook is. A model is told, so that it does not take the words of a project for the user's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HookOrigin {
    /// The user's, or of the program that runs Marvin for them.
    #[default]
    User,
    /// A file of the project, which the user trusts.
    Project,
}

impl HookOrigin {
    /// As messages name one of its hooks.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::User => "hook of the user",
            Self::Project => "hook of the project",
        }
    }
}

/// One hook.
pub(crate) struct Hook {
    pub origin: HookOrigin,
    pub event: HookEvent,
    pub matcher: Matcher,
    pub runner: Box<dyn HookRunner>,
    limit: Duration,
    /// No answer is an objection.
    pub blocks_on_failure: bool,
}

impl Hook {
    pub(crate) fn new(event: HookEvent, matcher: Matcher, runner: Box<dyn HookRunner>) -> Self {
        Self {
            origin: HookOrigin::User,
            event,
            matcher,
            runner,
            limit: DEFAULT_LIMIT,
            blocks_on_failure: false,
        }
    }

    /// Sets its time, as far as that may be.
    #[must_use]
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit.clamp(SHORTEST, LONGEST);
        self
    }

    /// Says whose it is.
    #[must_use]
    pub(crate) fn of(mut self, origin: HookOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Makes no answer an objection.
    #[must_use]
    pub(crate) fn blocking_on_failure(mut self, blocks: bool) -> Self {
        self.blocks_on_failure = blocks;
        self
    }

    pub(super) fn run(&self, input: &Value, stop: &Cancel) -> Outcome<Value> {
        let limit = match self.event {
            HookEvent::SessionEnd => self.limit.min(LIMIT_AT_END),
            _ => self.limit,
        };
        self.runner.run(input, limit, stop)
    }
}

/// What hooks are told of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookedSession {
    pub id: String,
    /// The session's file, if there is one.
    pub transcript: String,
    /// How it began: startup, resume, clear or fork.
    pub source: &'static str,
}

/// The hooks of a session, in the order in which they count.
#[derive(Default)]
pub(crate) struct HookSet {
    any: AtomicBool,
    hooks: RwLock<Vec<Arc<Hook>>>,
    session: Mutex<HookedSession>,
    turn: Mutex<HookedTurn>,
    /// Why calls that change something are refused, where a file that cannot be used wants that, and whose file it is.
    refusals: RwLock<BTreeMap<HookOrigin, String>>,
    /// Hooks are switched off.
    is_off: AtomicBool,
    /// The session whose beginning hooks were told.
    begun: Mutex<Option<String>>,
}

/// What hooks have said about the turn that runs.
#[derive(Debug, Default)]
struct HookedTurn {
    /// It ends with this round, for this reason.
    end: Option<String>,
    /// What goes to the model with the next message.
    context: Vec<String>,
    /// The next message is Marvin's own.
    is_own: bool,
}

impl fmt::Debug for HookSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookSet").field(&self.any).finish()
    }
}

impl HookSet {
    /// Adds hooks behind those that are there.
    pub(crate) fn add(&self, hooks: impl IntoIterator<Item = Hook>) {
        let mut all = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        all.extend(hooks.into_iter().map(Arc::new));
        self.any.store(!all.is_empty(), Ordering::Release);
    }

    /// Whether there is a hook for the event at all.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.any.load(Ordering::Acquire) && {
            let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
            hooks.iter().any(|hook| hook.event == event)
        }
    }

    /// Whether there is one for the event that children know nothing of.
    pub(crate) fn has_here_alone(&self, event: HookEvent) -> bool {
        self.any.load(Ordering::Acquire) && {
            let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
            let mut hooks = hooks.iter().filter(|hook| hook.event == event);
            hooks.any(|hook| !hook.runner.runs_in_children())
        }
    }

    /// Takes out the hooks of an origin, and what a file of it that cannot be used wanted.
    pub(crate) fn remove(&self, origin: HookOrigin) {
        let mut all = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|hook| hook.origin != origin);
        self.any.store(!all.is_empty(), Ordering::Release);
        let refusals = self.refusals.write();
        refusals
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&origin);
    }

    /// Has calls that change something refused, and says why.
    pub(crate) fn refuse_changes(&self, origin: HookOrigin, why: String) {
        let refusals = self.refusals.write();
        refusals
            .unwrap_or_else(PoisonError::into_inner)
            .insert(origin, why);
    }

    /// Why calls that change something are refused, if they are, and whose file wants that.
    pub(crate) fn refusal(&self) -> Option<(HookOrigin, String)> {
        let refusals = self.refusals.read().unwrap_or_else(PoisonError::into_inner);
        let first = refusals.iter().next();
        first.map(|(origin, why)| (*origin, why.clone()))
    }

    /// Hooks are switched off, here and in children: whoever has some is not to add them.
    pub(crate) fn switch_off(&self) {
        self.is_off.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    /// The hooks that are about the event and one of these names.
    pub(super) fn about(&self, event: HookEvent, names: &[&str]) -> Vec<Arc<Hook>> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        let hooks = hooks.iter();
        let hooks = hooks.filter(|hook| hook.event == event && hook.matcher.matches(names));
        hooks.cloned().collect()
    }

    /// The files that the commands of hooks run.
    pub(crate) fn programs(&self) -> Vec<String> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        let commands = hooks.iter().filter_map(|hook| hook.runner.command());
        commands.flat_map(programs).collect()
    }

    /// Whether there is any hook.
    pub(super) fn has_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Notes the session whose beginning hooks are told; returns the one before.
    pub(super) fn note_begun(&self, begun: Option<String>) -> Option<String> {
        let mut known = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *known, begun)
    }

    pub(super) fn begun(&self) -> Option<String> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.clone()
    }

    /// Sets what hooks are told of the session.
    pub(crate) fn set_session(&self, session: HookedSession) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    pub(crate) fn session(&self) -> HookedSession {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.clone()
    }

    fn turn(&self) -> MutexGuard<'_, HookedTurn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn begins: what was said about the last one no longer counts.
    pub(crate) fn begin_turn(&self) {
        self.turn().end = None;
    }

    /// Says whether the next message is Marvin's own: no hook is asked about one.
    pub(crate) fn expect_own_words(&self, is_own: bool) {
        self.turn().is_own = is_own;
    }

    pub(super) fn expects_own_words(&self) -> bool {
        self.turn().is_own
    }

    /// Ends the turn with the round that runs.
    pub(super) fn end_turn(&self, reason: String) {
        self.turn().end.get_or_insert(reason);
    }

    /// Why a hook has ended the turn, if one has.
    pub(crate) fn end(&self) -> Option<String> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        self.turn().end.clone()
    }

    /// Keeps a text for the next message.
    pub(super) fn tell_later(&self, context: String) {
        self.turn().context.push(context);
    }

    /// The texts that were kept for this message.
    pub(super) fn told_later(&self) -> Vec<String> {
        std::mem::take(&mut self.turn().context)
    }
}
