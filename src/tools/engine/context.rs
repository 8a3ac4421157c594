//! What a tool can use: what its session shares, and the call it is part of.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::alerts::Alerts;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::pauses::Pauses;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_CONTACT;
use crate::chat::event::{CallState, Event, EventSink};
use crate::chat::ledger::Ledger;
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;
use crate::llm::patience::ChildPatience;
use crate::net::guarded_client::GuardedClient;
use crate::net::service::{AnsweredBy, RequestBuilder, ServiceClient};
use crate::net::services::Service;
use crate::net::user_agent::contact;
use crate::proc::last_lines::LastLines;
use crate::proc::sandbox::policy::SandboxMode;
use crate::proc::sandbox::session_sandbox::SessionSandbox;
use crate::store::preferences;
use crate::store::profiles::ActiveProfile;
use crate::store::usage;
use crate::tools::engine::agent_host::{AgentHost, QuestionAnswerer};
use crate::tools::engine::agent_task::{AgentModel, AgentTask, CheckedTask, ReviewOrder};
use crate::tools::engine::approval::Approval;
use crate::tools::engine::context_gauge::ContextGauge;
use crate::tools::engine::editor_files::EditorFiles;
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::hook_set::HookSet;
use crate::tools::engine::module_state::ModuleState;
use crate::tools::engine::permission::permissions::Permissions;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::project_trust::SessionTrust;
use crate::tools::engine::read_budget::ReadBudget;
use crate::tools::engine::session_skills::SessionSkills;
use crate::tools::engine::working_dir::WorkingDir;

/// What the tools of one session share.
pub struct SessionContext {
    /// Environment variables, with `config.yaml` as defaults.
    pub env: Env,
    /// The folders and files of Marvin.
    pub paths: Paths,
    /// The source of the time.
    pub clock: Clock,
    /// Which tools are allowed.
    pub policy: ToolPolicy,
    /// The working directory and its fence.
    pub working_dir: WorkingDir,
    /// Coding mode: with a working directory, notes are the project's. True unless a session says otherwise.
    pub coding: AtomicBool,
    /// How much text `read_file` has returned.
    pub reading: ReadBudget,
    /// How full the model's context is.
    pub gauge: ContextGauge,
    /// What this run has used.
    pub ledger: Ledger,
    /// Name of the active profile.
    pub profile: Arc<ActiveProfile>,
    /// Values of key variables, which are masked in everything that is written; collected when first needed.
    pub secrets: Secrets,
    /// Timers, alarms and reminders.
    pub alerts: Arc<Alerts>,
    /// Who approves actions of the model's calls that the user may not want.
    pub approval: Approval,
    /// Which calls run, which are asked about and which are refused.
    pub(crate) permissions: Permissions,
    /// What is asked or told before and after events of the session.
    pub(crate) hooks: HookSet,
    /// What the session uses of what its project brings along.
    pub(crate) trust: SessionTrust,
    /// The skills that were found.
    pub(crate) skills: SessionSkills,
    /// Shortens conversations with the session's model, if there is one.
    pub summarizer: RwLock<Option<Arc<dyn Summarizer>>>,
    /// Runs child Marvins, if there is a model.
    pub agents: RwLock<Option<Arc<dyn Agents>>>,
    /// The editor that drives the session, where it knows files.
    pub(crate) editor: Option<Arc<dyn EditorFiles>>,
    /// Runs agents beside the conversation, where there is one.
    pub agent_host: Option<Arc<dyn AgentHost>>,
    /// The client for outside services.
    pub services: ServiceClient,
    /// This executable, in a process whose commands must not outlive it: a child of another Marvin, or one that runs the pipeline. See
    /// [`crate::proc::child::ProgramSpec::supervisor`].
    pub supervisor: Option<PathBuf>,
    /// How long this process waits for a provider that cannot answer, if it is the child of another one.
    pub(crate) patience: Option<ChildPatience>,
    /// What commands of the model may change.
    pub(crate) sandbox: SessionSandbox,
    /// What single tool modules keep for the session.
    pub modules: ModuleState,
}

/// Secrets, looked up once by the floor that knows their names.
pub struct Secrets {
    found: LazyLock<Vec<String>, Box<dyn FnOnce() -> Vec<String> + Send>>,
    /// What the user entered since.
    entered: RwLock<Vec<String>>,
}

impl Secrets {
    pub(crate) fn new(find: Box<dyn FnOnce() -> Vec<String> + Send>) -> Self {
        Self {
            found: LazyLock::new(find),
            entered: RwLock::default(),
        }
    }

    /// A secret that the user has entered.
    pub(crate) fn add(&self, secret: &str) {
        let mut entered = self.entered.write().unwrap_or_else(PoisonError::into_inner);
        entered.push(secret.to_owned());
    }

    /// All that are known now.
    pub(crate) fn all(&self) -> Vec<String> {
        let entered = self.entered.read().unwrap_or_else(PoisonError::into_inner);
        self.found.iter().chain(entered.iter()).cloned().collect()
    }
}

/// Summarizes a conversation with a model.
pub trait Summarizer: Send + Sync {
    /// The longest text it accepts.
    fn max_chars(&self) -> usize;

    /// A summary of `text`.
    ///
    /// # Errors
    /// The model failed, or took too long.
    fn summarize(&self, ctx: &ToolContext, text: &str) -> Outcome<String>;
}

/// Runs child Marvins.
pub trait Agents: Send + Sync {
    /// Whether `task` can be begun beside the conversation.
    ///
    /// # Errors
    /// There is no such ticket or it cannot be worked on, the repository is in no state for it, or the limit of depth is reached.
    fn check(&self, ctx: &ToolContext, task: &AgentTask) -> Outcome<CheckedTask>;

    /// Has `task` done and returns what came of it: in a place of its own, where there can be one, if `ctx` says that others write beside it.
    ///
    /// # Errors
    /// There is no such ticket or it cannot be worked on, the limit of depth or cost is reached, or every attempt failed.
    fn launch(&self, ctx: &ToolContext, task: &AgentTask) -> Outcome<String>;

    /// Whether each of several agents can work in a place of its own here, and what it does be brought together afterwards.
    fn have_places(&self, _ctx: &ToolContext) -> bool {
        false
    }

    /// Has a question answered by a child that changes nothing.
    ///
    /// # Errors
    /// The limit of depth or cost is reached, or every attempt failed.
    fn research(&self, ctx: &ToolContext, query: &str, model: AgentModel) -> Outcome<String>;

    /// Starts a review in the background and returns what to tell about it.
    ///
    /// # Errors
    /// The repository is in no state for it, or another review is running.
    fn start_review(&self, ctx: &ToolContext, order: &ReviewOrder) -> Outcome<String>;
}

impl SessionContext {
    /// A context for `env` with everything else at its default.
    pub fn new(env: Env, policy: ToolPolicy) -> Self {
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
            services: ServiceClient::new(&env, paths.gates().ok()),
            paths,
            clock,
            policy,
            working_dir: WorkingDir::default(),
            coding: AtomicBool::new(true),
            reading: ReadBudget::default(),
            gauge: ContextGauge::default(),
            ledger: Ledger::default(),
            profile,
            secrets: Secrets::new(Box::new(Vec::new)),
            alerts,
            approval: Approval::Approve,
            permissions: Permissions::default(),
            hooks: HookSet::default(),
            trust: SessionTrust::default(),
            skills: SessionSkills::default(),
            summarizer: RwLock::default(),
            agents: RwLock::default(),
            editor: None,
            agent_host: None,
            supervisor: None,
            patience: None,
            sandbox: SessionSandbox::default(),
            modules: ModuleState::default(),
            env,
        }
    }

    /// Switches coding mode on or off.
    pub fn set_coding(&self, on: bool) {
        self.coding.store(on, Ordering::Relaxed);
    }

    /// Whether the session is in coding mode.
    pub fn coding(&self) -> bool {
        self.coding.load(Ordering::Relaxed)
    }

    /// The project: the working directory, in coding mode.
    pub fn project(&self) -> Option<Arc<Root>> {
        self.working_dir.root().filter(|_| self.coding())
    }

    /// Replaces the summarizer.
    pub fn set_summarizer(&self, summarizer: Option<Arc<dyn Summarizer>>) {
        *self
            .summarizer
            .write()
            .unwrap_or_else(PoisonError::into_inner) = summarizer;
    }

    /// The summarizer, if there is a model.
    pub fn summarizer(&self) -> Option<Arc<dyn Summarizer>> {
        self.summarizer
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces what runs child Marvins.
    pub fn set_agents(&self, agents: Option<Arc<dyn Agents>>) {
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
    }

    /// What runs child Marvins.
    ///
    /// # Errors
    /// There is no model.
    pub fn agents(&self) -> Outcome<Arc<dyn Agents>> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents.clone().ok_or_else(|| {
            Problem::config("Agents need a language model, and this session has none.").next(
                "Use a provider with a model (marvin help providers), and let the conversation call this tool.",
            )
        })
    }

    /// Makes `name` the active profile of this session.
    pub fn set_profile(&self, name: &str) {
        self.profile.set(name);
    }

    /// The contact for requests: `MARVIN_CONTACT`, else `contact:` in the preferences of the active profile.
    pub fn contact(&self) -> Option<String> {
        let set = MARVIN_CONTACT.read(&self.env).and_then(contact);
        set.or_else(|| contact(self.preference("contact")?.as_str()?))
    }

    /// A preference of the active profile, as the file has it.
    pub fn preference(&self, key: &str) -> Option<serde_json::Value> {
        let profile = self.paths.profile(&self.profile()).ok()?;
        preferences::value(&profile, key)
    }

    /// The variables by which a Marvin that this process starts, directly or from a command, is bounded at least as this one is.
    pub(crate) fn child_variables(&self) -> Vec<(String, String)> {
        let mut variables = self.policy.child_variables();
        variables.extend(self.permissions.child_variables());
        variables.extend(self.sandbox.child_variables());
        variables
    }

    /// Changes the sandbox of commands to one of its modes, from the next command on.
    pub(crate) fn change_sandbox(&self, mode: SandboxMode) {
        self.sandbox.change(mode);
        self.keep_to_sandbox();
    }

    /// Whether a model is told how to ask that a command runs outside the sandbox: a person can be asked, and commands run in one. Where nobody has chosen it,
    /// those do that a rule, the mode or a hook lets run unread.
    pub(crate) fn can_leave_sandbox(&self) -> bool {
        let are_held = match self.sandbox.choice() {
            Some(_) => self.sandbox.fence().is_some(),
            None => {
                self.permissions.let_run_unread("run_command")
                    || self.hooks.has(HookEvent::PreToolUse)
            }
        };
        self.policy.can_ask_to_leave_sandbox && are_held
    }

    /// Has tools that change files refused where commands may change none.
    pub(crate) fn keep_to_sandbox(&self) {
        let is_read_only = self.sandbox.mode() == SandboxMode::ReadOnly;
        let known = &self.policy.is_sandbox_read_only;
        known.store(is_read_only, Ordering::Relaxed);
    }

    /// Saves usage that is not on disk yet; returns a notice for the user if there is one.
    pub fn save_usage(&self) -> Option<String> {
        usage::save(&self.ledger, &self.paths, &self.clock, &self.profile())
    }

    /// Name of the active profile.
    pub fn profile(&self) -> String {
        self.profile.get()
    }
}

/// What one call uses: the session, a token to stop it, an event sink. Cheap to clone; a call's thread owns one.
#[derive(Clone)]
pub struct ToolContext {
    /// What the tools of the session share.
    pub session: Arc<SessionContext>,
    /// Fires when the call has to end: cancelled or timed out.
    pub stop: Cancel,
    /// Ends everything that the call is part of.
    pub turn: Cancel,
    /// Receives progress events.
    pub listener: Arc<dyn EventSink>,
    /// Services that answered the call.
    pub answered_by: Arc<AnsweredBy>,
    /// Time the call has waited for the user, which its timeout does not count.
    pub pauses: Arc<Pauses>,
    /// Who approves the actions of this call: as in the session, unless the user made the call.
    pub approval: Approval,
    /// The call was agreed to as a whole, so that its actions need no approval.
    pub is_agreed: bool,
    /// A rule, a mode or a hook has agreed to it, and nobody has read it.
    pub is_unread: bool,
    /// Nothing is written: only what the call would change is wanted.
    pub is_preview: bool,
    /// When every call has to be over, whatever its own limit, if there is such a time.
    pub deadline: Option<Instant>,
    /// Id of the call; empty outside calls.
    pub call: String,
    /// Who answers the questions of an agent, before its parent does.
    pub answerer: Option<Arc<dyn QuestionAnswerer>>,
    /// Others write beside this call, other calls or the user, so it writes in a place of its own.
    pub is_beside_others: bool,
}

impl ToolContext {
    /// A context for tests: nobody listens to it, and nothing stops it.
    #[cfg(test)]
    pub(crate) fn for_tests(env: Env) -> Self {
        let session = SessionContext::new(env, ToolPolicy::default());
        let listener = Arc::new(crate::chat::event::NullSink);
        Self::new(Arc::new(session), Cancel::new(), listener)
    }

    /// A context for work outside a call.
    pub fn new(session: Arc<SessionContext>, stop: Cancel, listener: Arc<dyn EventSink>) -> Self {
        Self {
            approval: session.approval.clone(),
            session,
            is_agreed: false,
            is_unread: false,
            is_preview: false,
            turn: stop.clone(),
            stop,
            listener,
            answered_by: Arc::default(),
            pauses: Arc::default(),
            deadline: None,
            call: String::new(),
            answerer: None,
            is_beside_others: false,
        }
    }

    /// Starts a request to a service, with the user's contact.
    pub fn service(&self, service: &'static Service) -> RequestBuilder<'_> {
        self.session
            .services
            .request(service, self.session.contact(), &self.stop)
            .note_answer(&self.answered_by)
    }

    /// A client for addresses from a model or a page.
    ///
    /// # Errors
    /// `MARVIN_ALLOW_PRIVATE` cannot be read.
    pub fn guarded_client(&self) -> Outcome<GuardedClient> {
        Ok(GuardedClient::new(&self.session.env)?.with_contact(self.session.contact().as_deref()))
    }

    /// Waits for `time`, for example before a request is sent again.
    ///
    /// # Errors
    /// The call was stopped meanwhile.
    pub(crate) fn wait(&self, time: Duration) -> Outcome<()> {
        match self.stop.sleep(time) {
            true => Ok(()),
            false => Err(Problem::cancelled()),
        }
    }

    pub(crate) fn say_state(&self, state: CallState) {
        self.listener.emit(Event::CallState {
            id: self.call.clone(),
            state,
        });
    }

    /// The call runs with other arguments.
    pub(crate) fn say_changed(&self, args: String) {
        let id = self.call.clone();
        self.listener.emit(Event::CallChanged { id, args });
    }

    /// Reports progress ("12 of 40 MB") to whoever displays the call.
    pub fn progress(&self, words: impl Into<String>) {
        self.listener.emit(Event::Progress {
            id: self.call.clone(),
            words: words.into(),
        });
    }

    /// Shows the last lines of a program that the call runs.
    pub(crate) fn output(&self, lines: &LastLines) {
        self.listener.emit(Event::Output {
            id: self.call.clone(),
            lines: lines.text(),
            recent: lines.recent(),
        });
    }

    /// The folder whose fence is around `path`, and the path there: the working directory, or for an absolute path one that was added to it.
    ///
    /// # Errors
    /// It lies in no added folder, and no working directory is set.
    pub(crate) fn folder_of<'a>(&self, path: &'a str) -> Outcome<(Arc<Root>, Cow<'a, str>)> {
        let is_absolute = path.starts_with('/');
        if let Some((root, rest)) = (is_absolute)
            .then(|| self.session.working_dir.added_with(path))
            .flatten()
        {
            return Ok((root, Cow::Owned(rest)));
        }
        Ok((self.root()?, Cow::Borrowed(path)))
    }

    /// The fence of the working directory, or an error that says how to set one.
    pub fn root(&self) -> Outcome<Arc<Root>> {
        self.session.working_dir.root().ok_or_else(|| {
            Problem::config(format!("No working directory is set{}.", self.session.working_dir.unset_because()))
                .next("Start Marvin in a project's folder or with --working-dir DIR, or call set_working_dir with an absolute path.")
        })
    }
}
