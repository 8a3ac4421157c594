//! The context of a tool call: the session's state, and the call itself.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::alerts::Alerts;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::visible;
use crate::chat::event::{CallState, Event, Listener};
use crate::chat::usage::Ledger;
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;
use crate::net::guarded_client::Visitor;
use crate::net::service::{AnsweredBy, Ask, Outside};
use crate::net::services::Service;
use crate::net::user_agent::contact;
use crate::store::preferences;
use crate::store::profiles::ActiveProfile;
use crate::store::usage;
use crate::tools::engine::policy::Bounds;
use crate::tools::web::browsing::pages::Pages;

/// Everything that the tools of one session share.
pub struct World {
    /// The environment.
    pub env: Env,
    /// Paths of Marvin's files.
    pub paths: Paths,
    /// The clock.
    pub clock: Clock,
    /// The allowed tools.
    pub bounds: Bounds,
    /// The working directory and its fence.
    pub place: Place,
    /// Coding mode: with a working directory, notes are the project's. True unless the session sets it otherwise.
    pub coding: AtomicBool,
    /// Ticket operations of this process.
    pub ticket_gate: crate::tools::personal::tickets::gate::TicketGate,
    /// How much text `read_file` has returned.
    pub reading: ReadBudget,
    /// The fill level of the model's context.
    pub context: ContextGauge,
    /// Usage of this run.
    pub ledger: Ledger,
    /// Name of the active profile.
    pub profile: Arc<ActiveProfile>,
    /// Values of key variables, hidden in everything that is written down; gathered when first needed.
    pub secrets: Secrets,
    /// Timers, alarms and reminders.
    pub alerts: Arc<Alerts>,
    /// Asks the user for approval; `None` approves everything (non-interactive mode).
    pub approve: Option<Box<dyn Approve>>,
    /// Shortens conversations with the session's model, where there is one.
    pub summarizer: RwLock<Option<Arc<dyn Summarizer>>>,
    /// The way to outside services.
    pub outside: Outside,
    /// The user's location and gcloud's answers, looked up once.
    pub remembered: crate::tools::geo::location::remembered::Remembered,
    /// Pages that were read a while ago.
    pub pages: Pages,
}

/// Secrets that are looked up once, by the floor that knows their names.
pub(crate) type Secrets = LazyLock<Vec<String>, Box<dyn FnOnce() -> Vec<String> + Send>>;

/// An action that needs the user's approval.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Matter {
    /// Running a command.
    Command {
        /// The shell text, as the model wrote it.
        command: String,
        /// The working directory of the command.
        dir: PathBuf,
    },
    /// Sending a file from outside the working directory to the model.
    Attach {
        /// The file, free of links.
        file: PathBuf,
    },
    /// Adding packages to the project, whose installers run code of strangers.
    Packages {
        /// The commands, one a line.
        commands: String,
        /// The working directory.
        dir: PathBuf,
    },
    /// Leaving the working directory for another.
    WorkingDir {
        /// The other one.
        dir: PathBuf,
    },
    /// Listening to a topic, to which messages may then be published.
    Topic {
        /// Its name.
        name: String,
    },
    /// Signing in to Google and enabling a service in the user's project there.
    GoogleSetup,
}

impl Matter {
    /// The question for the user.
    pub fn question(&self) -> &'static str {
        match self {
            Self::Command { .. } => "Run this command?",
            Self::Attach { .. } => "Send this file, outside the working directory, to the model?",
            Self::Packages { .. } => "Install these packages?",
            Self::WorkingDir { .. } => "Work in this directory?",
            Self::Topic { .. } => "Subscribe to this ntfy topic?",
            Self::GoogleSetup => "Set up Google's places with gcloud?",
        }
    }

    /// The action to approve, as the end of a sentence.
    pub fn act(&self) -> &'static str {
        match self {
            Self::Command { .. } => "run this command",
            Self::Attach { .. } => "attach this file",
            Self::Packages { .. } => "install these packages",
            Self::WorkingDir { .. } => "change the working directory",
            Self::Topic { .. } => "subscribe to this topic",
            Self::GoogleSetup => "set up Google's places with gcloud",
        }
    }

    /// The thing itself, with control characters made visible.
    pub fn text(&self) -> String {
        match self {
            Self::Command { command, .. } => visible(command),
            Self::Attach { file: path } | Self::WorkingDir { dir: path } => {
                visible(&path.display().to_string())
            }
            Self::Packages { commands, .. } => visible(commands),
            Self::Topic { name } => visible(name),
            Self::GoogleSetup => {
                "sign in to Google in the browser if need be, and enable the Places API in the project that gcloud has set".to_owned()
            }
        }
    }

    /// The directory of the action, if it has one.
    pub fn place(&self) -> Option<&Path> {
        match self {
            Self::Command { dir, .. } | Self::Packages { dir, .. } => Some(dir),
            Self::Attach { .. }
            | Self::WorkingDir { .. }
            | Self::Topic { .. }
            | Self::GoogleSetup => None,
        }
    }
}

/// Summarises a conversation with a model.
pub trait Summarizer: Send + Sync {
    /// Longest text that it takes.
    fn max_chars(&self) -> usize;

    /// A summary of `text`.
    ///
    /// # Errors
    /// The model failed, or took too long.
    fn summarize(&self, ctx: &Ctx, text: &str) -> Outcome<String>;
}

/// Asks for approval.
pub trait Approve: Send + Sync {
    /// `Ok` when the user agrees; the problem says what they answered. Waits until they do or `stop` fires.
    fn ask(&self, matter: Matter, stop: &Cancel) -> Outcome<()>;
}

impl World {
    /// A world for `env` without a working directory or profile.
    pub fn new(env: Env, bounds: Bounds) -> Self {
        let (paths, clock) = (Paths::new(&env), Clock::new(&env));
        let profile = Arc::<ActiveProfile>::default();
        let alerts = Alerts::new(
            env.clone(),
            paths.clone(),
            clock.clone(),
            Arc::clone(&profile),
        );
        let alerts = Arc::new(alerts);
        Self {
            outside: Outside::new(&env, paths.gates().ok()),
            paths,
            clock,
            bounds,
            place: Place::default(),
            coding: AtomicBool::new(true),
            ticket_gate: crate::tools::personal::tickets::gate::TicketGate::default(),
            reading: ReadBudget::default(),
            context: ContextGauge::default(),
            ledger: Ledger::default(),
            profile,
            secrets: Secrets::new(Box::new(Vec::new)),
            alerts,
            approve: None,
            summarizer: RwLock::default(),
            remembered: Default::default(),
            pages: Pages::default(),
            env,
        }
    }

    /// Switches coding mode.
    pub fn set_coding(&self, on: bool) {
        self.coding.store(on, Ordering::Relaxed);
    }

    /// True in coding mode.
    pub fn coding(&self) -> bool {
        self.coding.load(Ordering::Relaxed)
    }

    /// The project that Marvin works in: the working directory, in coding mode.
    pub fn project(&self) -> Option<Arc<Root>> {
        self.place.root().filter(|_| self.coding())
    }

    /// Sets the summarizer of conversations.
    pub fn set_summarizer(&self, summarizer: Option<Arc<dyn Summarizer>>) {
        *self
            .summarizer
            .write()
            .unwrap_or_else(PoisonError::into_inner) = summarizer;
    }

    /// The summarizer of conversations; `None` without a model.
    pub fn summarizer(&self) -> Option<Arc<dyn Summarizer>> {
        self.summarizer
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes `name` the active profile of this session.
    pub fn set_profile(&self, name: &str) {
        self.profile.set(name);
    }

    /// The contact in the User-Agent: `MARVIN_CONTACT`, else `contact:` of the active profile's preferences.
    pub fn contact(&self) -> Option<String> {
        let set = self.env.get("MARVIN_CONTACT").and_then(contact);
        set.or_else(|| contact(self.preference("contact")?.as_str()?))
    }

    /// One of the active profile's preferences, as the file has it.
    pub fn preference(&self, key: &str) -> Option<serde_json::Value> {
        let profile = self.paths.profile(&self.profile()).ok()?;
        preferences::read(&profile, key)
    }

    /// Saves the ledger's unsaved usage; a notice for the user if there is one.
    pub fn save_usage(&self) -> Option<String> {
        usage::save(&self.ledger, &self.paths, &self.clock, &self.profile())
    }

    /// Name of the active profile.
    pub fn profile(&self) -> String {
        self.profile.get()
    }
}

/// One call's view: the world, its cancel token, and the listener. Cheap to clone; a call's thread owns one.
#[derive(Clone)]
pub struct Ctx {
    /// The session's world.
    pub world: Arc<World>,
    /// Fires when the call must end: cancelled, or out of time.
    pub stop: Cancel,
    /// Receives progress.
    pub listener: Arc<dyn Listener>,
    /// Services that answered the call.
    pub answered_by: Arc<AnsweredBy>,
    /// Time that the call spent waiting for the user, which its limit does not count.
    pub pauses: Arc<Pauses>,
    /// The user called the tool directly, so no approval is needed.
    pub by_hand: bool,
    /// Id of the call; empty outside calls.
    pub call: String,
}

/// How long a call waited for the user's answer.
#[derive(Debug, Default)]
pub struct Pauses(Mutex<Paused>);

#[derive(Debug, Default)]
struct Paused {
    total: Duration,
    since: Option<Instant>,
}

impl Pauses {
    /// Runs `wait` with the call's time standing still.
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.lock().since = Some(Instant::now());
        let answer = wait();
        let mut paused = self.lock();
        if let Some(since) = paused.since.take() {
            paused.total += since.elapsed();
        }
        answer
    }

    /// All such time until now.
    pub fn total(&self) -> Duration {
        let paused = self.lock();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ctx {
    /// Asks the user to approve `matter`, if there is a user; the call's time limit is suspended meanwhile.
    ///
    /// # Errors
    /// The user declines, or the call was cancelled.
    pub fn approve(&self, matter: Matter) -> Outcome<()> {
        match &self.world.approve {
            Some(approve) if !self.by_hand => {
                self.say_state(CallState::Waiting);
                let answer = self.pauses.during(|| approve.ask(matter, &self.stop));
                self.say_state(CallState::Running);
                answer
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A view of `world` for work outside any call.
    pub fn new(world: Arc<World>, stop: Cancel, listener: Arc<dyn Listener>) -> Self {
        Self {
            world,
            stop,
            listener,
            answered_by: Arc::default(),
            pauses: Arc::default(),
            by_hand: false,
            call: String::new(),
        }
    }

    /// Begins a request to a service of the table, in the user's name.
    pub fn ask(&self, service: &'static Service) -> Ask<'_> {
        self.world
            .outside
            .ask(service, self.world.contact(), &self.stop)
            .note_answer(&self.answered_by)
    }

    /// A visitor for addresses that a model or a page gave.
    ///
    /// # Errors
    /// `MARVIN_ALLOW_PRIVATE` cannot be read.
    pub fn visitor(&self) -> Outcome<Visitor> {
        Ok(Visitor::new(&self.world.env)?.with_contact(self.world.contact().as_deref()))
    }

    /// Says what the call does from now on.
    pub(crate) fn say_state(&self, state: CallState) {
        self.listener.hear(Event::CallState {
            id: self.call.clone(),
            state,
        });
    }

    /// Reports the call's progress ("12 of 40 MB") for display.
    pub fn progress(&self, words: impl Into<String>) {
        self.listener.hear(Event::Progress {
            id: self.call.clone(),
            words: words.into(),
        });
    }

    /// The working directory's fence, or an error that says how to set one.
    pub fn root(&self) -> Outcome<Arc<Root>> {
        self.world.place.root().ok_or_else(|| {
            Problem::config(format!("No working directory is set{}.", self.world.place.unset_because()))
                .next("Start Marvin in a project's folder or with --working-dir DIR, or call set_working_dir with an absolute path.")
        })
    }
}

/// The working directory.
#[derive(Default)]
pub struct Place {
    state: RwLock<PlaceState>,
}

#[derive(Default, Clone)]
struct PlaceState {
    root: Option<Arc<Root>>,
    /// The first one of the process.
    first: Option<Arc<Root>>,
    /// The directory given at start: a target outside is refused later.
    bound: Option<Arc<Root>>,
    /// The current directory, if it was not accepted (home or `/`).
    untaken: Option<PathBuf>,
}

impl Place {
    /// Takes `root`; `given` when it came from `--working-dir` or a parent, so that it cannot be left.
    pub fn set(&self, root: Root, given: bool) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let root = Arc::new(root);
        if given {
            state.bound = Some(Arc::clone(&root));
        }
        state.first.get_or_insert_with(|| Arc::clone(&root));
        state.root = Some(root);
    }

    /// Remembers the current directory that is not a project (home or `/`).
    pub fn leave_unset(&self, current: PathBuf) {
        self.state
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .untaken = Some(current);
    }

    /// The fence of the working directory.
    pub fn root(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .root
            .clone()
    }

    /// The directory that cannot be left, when one was given.
    pub fn bound(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .bound
            .clone()
    }

    /// The directory that the process began in, whichever it works in now.
    pub fn first(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .first
            .clone()
    }

    fn unset_because(&self) -> String {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.untaken.as_ref().map_or_else(String::new, |dir| {
            format!(
                " (the current directory, {}, is not taken for one)",
                dir.display()
            )
        })
    }
}

/// Characters of files that were read into the conversation since the user's last message or the last compaction: a guard for long
/// runs, which forget more than they keep when they read everything.
#[derive(Debug, Default)]
pub struct ReadBudget(Mutex<usize>);

/// From here a result is cut and a warning added.
pub(crate) const READ_WARN: usize = 200_000;
/// From here whole files are refused and their text goes to a file; ranges are still read.
pub(crate) const READ_STOP: usize = 300_000;
/// Longest range that is read beyond [`READ_STOP`].
pub(crate) const MAX_RANGE_CHARS: usize = 20_000;

impl ReadBudget {
    /// The count, locked so that parallel reads share the budget exactly.
    pub fn lock(&self) -> MutexGuard<'_, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts again: what was read before is answered, or no longer in the conversation.
    pub fn reset(&self) {
        *self.lock() = 0;
    }
}

/// Tokens in the model's context and the thresholds of its window; the loop writes, tools read.
#[derive(Debug, Default)]
pub struct ContextGauge {
    used: AtomicU64,
    /// The part of it that goes with every request besides the messages.
    beside: AtomicU64,
    warn: AtomicU64,
    hard: AtomicU64,
}

impl ContextGauge {
    /// Records the state before a round; `beside` of the tokens are the system prompt and the tools.
    pub fn set(&self, used: u64, beside: u64, warn: u64, hard: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.beside.store(beside, Ordering::Relaxed);
        self.warn.store(warn, Ordering::Relaxed);
        self.hard.store(hard, Ordering::Relaxed);
    }

    /// Records the current size of the messages in tokens; the rest is unchanged.
    pub fn set_messages(&self, tokens: u64) {
        let beside = self.beside.load(Ordering::Relaxed);
        self.used.store(tokens + beside, Ordering::Relaxed);
    }

    /// Records the size of what goes with every request besides the messages; used from the next [`ContextGauge::set_messages`] on.
    pub fn set_beside(&self, tokens: u64) {
        self.beside.store(tokens, Ordering::Relaxed);
    }

    /// Characters that fit below the warning threshold, at a conservative three bytes a token; `None` when tokens are not counted.
    pub fn room(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        let left = warn
            .saturating_sub(self.used.load(Ordering::Relaxed))
            .saturating_mul(3);
        (warn > 0).then(|| usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Largest result in bytes that an empty context could hold; `None` when tokens are not counted.
    pub fn largest_result(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        (warn > 0).then(|| usize::try_from(warn.saturating_mul(3)).unwrap_or(usize::MAX))
    }

    /// Tokens in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Percent of the hard limit in use; `None` when tokens are not counted.
    pub fn percent(&self) -> Option<u64> {
        let hard = self.hard.load(Ordering::Relaxed);
        (hard > 0).then(|| self.used().saturating_mul(100) / hard)
    }

    /// True when the hard limit is reached.
    pub fn is_full(&self) -> bool {
        let hard = self.hard.load(Ordering::Relaxed);
        hard > 0 && self.used.load(Ordering::Relaxed) >= hard
    }

    /// Adds the tokens of a result that was just handed out, so that calls of one round see each other.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64 / 3, Ordering::Relaxed);
    }
}
