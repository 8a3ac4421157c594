//! The configured servers of one session: started when they are needed, side by side and behind the user's back; what they offer joins the session with a message.
//!
//! [`SessionServers`] is kept with what the tools of a session share. [`server`] is one of them and what is known of it, [`tools`] makes its tools those of the
//! session, [`prompts`] has its prompts and resources, which [`completion`] completes, [`trust`] opens and closes those of a project, [`cache`] remembers between sessions what servers offer, [`report`] says how they are. The app calls it: at the start of a session, before each message,
//! at its end. It does not know who is asked, and no screen.

pub(crate) mod cache;
mod completion;
pub(crate) mod content;
mod prompts;
pub(crate) mod report;
mod server;
mod tools;
mod trust;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::mcp::auth::policy::SignInPolicy;
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::client::connection::{Connection, List, ServerEvent, ServerEvents};
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::dial::{ClientHost, close_all, dial};
use crate::mcp::client::questions::Questions;
use crate::mcp::config::configured::{ConfiguredServer, Source};
use crate::mcp::config::entry::ServerEntry;
use crate::mcp::config::expand::Variables;
use crate::mcp::config::files;
use crate::tools::engine::context::SessionContext;
use server::SessionServer;

/// Servers that are started at the same time.
const MAX_STARTING: usize = 4;
/// How often it is looked whether a server whose lists change is due.
const LOOK: Duration = Duration::from_millis(50);
/// Lines that servers may show between two messages.
const MAX_TOLD: usize = 10;
/// Characters of such a line.
const MAX_LINE: usize = 300;
/// Notices that wait for the next message.
const MAX_NOTICES: usize = 20;

/// What a session's servers have of the program around them.
#[derive(Default)]
pub(crate) struct ServerSetup {
    /// Where the session begins: the project is looked for there, and servers run there.
    pub folder: Option<PathBuf>,
    /// This executable, which ends a server's process with Marvin.
    pub executable: Option<PathBuf>,
    /// No file is read: there are only the servers that are brought along.
    pub has_only_brought: bool,
}

/// The configured servers of a session. Without a setup there are none.
pub(crate) struct SessionServers {
    setup: Option<ServerSetup>,
    questions: RwLock<Option<Arc<dyn Questions>>>,
    /// Those of the command line, and of the program that drives the session.
    brought: RwLock<Vec<ConfiguredServer>>,
    /// Who shows at once what servers say of their own accord.
    teller: RwLock<Option<Teller>>,
    servers: OnceLock<Vec<Arc<SessionServer>>>,
    work: Mutex<Work>,
    changed: Condvar,
    stop: Cancel,
    has_begun: AtomicBool,
    has_joined: AtomicBool,
    has_read_tool: AtomicBool,
}

/// Shows a line.
pub(crate) type Teller = Arc<dyn Fn(String) + Send + Sync>;

/// What is to be asked of servers, and by how many threads.
#[derive(Default)]
struct Work {
    queue: VecDeque<Arc<SessionServer>>,
    running: usize,
    threads: Vec<JoinHandle<()>>,
    /// What the user is told with the next message.
    notices: Vec<String>,
    /// Lines that servers have shown since the last message.
    told: usize,
    is_over: bool,
}

impl Default for SessionServers {
    fn default() -> Self {
        Self {
            setup: None,
            questions: RwLock::default(),
            brought: RwLock::default(),
            teller: RwLock::default(),
            servers: OnceLock::new(),
            work: Mutex::default(),
            changed: Condvar::new(),
            stop: Cancel::new(),
            has_begun: AtomicBool::new(false),
            has_joined: AtomicBool::new(false),
            has_read_tool: AtomicBool::new(false),
        }
    }
}

/// Sessions of this process that have servers.
static SESSIONS: Mutex<Vec<Weak<SessionServers>>> = Mutex::new(Vec::new());

/// Ends all servers of this process, for its own end.
pub(crate) fn end_all() {
    let sessions = std::mem::take(&mut *SESSIONS.lock().unwrap_or_else(PoisonError::into_inner));
    let sessions: Vec<_> = sessions.iter().filter_map(Weak::upgrade).collect();
    let connections: Vec<_> = sessions
        .iter()
        .flat_map(|session| session.stop_work())
        .collect();
    close_all(&connections);
}

/// Hears of changes at one server.
struct Events {
    servers: Weak<SessionServers>,
    server: Weak<SessionServer>,
}

impl ServerEvents for Events {
    fn happened(&self, event: ServerEvent) {
        let (Some(servers), Some(server)) = (self.servers.upgrade(), self.server.upgrade()) else {
            return;
        };
        match event {
            ServerEvent::Changed(List::Tools | List::Prompts) => servers.look_again(&server),
            ServerEvent::Changed(List::Resources | List::Templates) => server.forget_resources(),
            ServerEvent::Notice(words) => servers.note(format!("{}: {words}", server.shown)),
            ServerEvent::Log { level, text } if is_worth_showing(&level) => {
                servers.tell(
                    &server,
                    &format!("{level}: {}", clip(&one_line(&text), MAX_LINE)),
                );
            }
            ServerEvent::Log { .. } => {}
            ServerEvent::ResourceUpdated(uri) if server.is_outdated(&uri) => {
                let shown = clip(&one_line(&uri), MAX_LINE);
                servers.tell(
                    &server,
                    &format!("{shown} has changed since it was attached."),
                );
            }
            ServerEvent::ResourceUpdated(_) => {}
        }
    }
}

/// Whether a line of a server's log is of a level that users see (RFC 5424 section 6.2.1).
fn is_worth_showing(level: &str) -> bool {
    matches!(
        level,
        "warning" | "error" | "critical" | "alert" | "emergency"
    )
}

impl SessionServers {
    pub(crate) fn new(setup: ServerSetup) -> Self {
        let mut servers = Self::default();
        servers.setup = Some(setup);
        servers
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, words: String) {
        let mut work = self.work();
        if work.notices.len() < MAX_NOTICES {
            work.notices.push(words);
        }
    }

    /// Shows what a server says at once where somebody looks, else with the next message.
    fn tell(&self, server: &SessionServer, words: &str) {
        let mut work = self.work();
        work.told += 1;
        let told = work.told;
        drop(work);
        let words = match told {
            ..=MAX_TOLD => format!("{}: {words}", server.shown),
            _ if told == MAX_TOLD + 1 => {
                format!("{}: more is in /mcp {}.", server.shown, server.name)
            }
            _ => return,
        };
        let teller = self.teller.read().unwrap_or_else(PoisonError::into_inner);
        match teller.as_ref() {
            Some(teller) => teller(words),
            None => self.note(words),
        }
    }

    /// Who shows at once what servers say, from now on.
    pub(crate) fn set_teller(&self, teller: Teller) {
        *self.teller.write().unwrap_or_else(PoisonError::into_inner) = Some(teller);
    }

    /// Does something that nobody waits for.
    fn aside(&self, work: impl FnOnce() + Send + 'static) {
        let mut own = self.work();
        if own.is_over {
            return;
        }
        own.threads.retain(|thread| !thread.is_finished());
        let begun = thread::Builder::new().name("mcp".to_owned()).spawn(work);
        own.threads.extend(begun);
    }

    /// Who answers their questions, from now on.
    pub(crate) fn set_questions(&self, questions: Arc<dyn Questions>) {
        *self
            .questions
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(questions);
    }

    /// Adds servers of the command line or of the program that drives this session; they win over those of the files. To be told before any is used.
    pub(crate) fn bring(&self, servers: Vec<ConfiguredServer>) {
        let mut brought = self.brought.write().unwrap_or_else(PoisonError::into_inner);
        brought.retain(|own| servers.iter().all(|server| server.name != own.name));
        brought.extend(servers);
    }

    fn brought(&self) -> Vec<ConfiguredServer> {
        let brought = self.brought.read().unwrap_or_else(PoisonError::into_inner);
        brought.clone()
    }

    /// Signs in to a server, and asks it anew; false when it asks for no sign-in.
    ///
    /// # Errors
    /// It is a program, the user declines, or a step failed.
    pub(crate) fn sign_in(self: &Arc<Self>, server: &Arc<SessionServer>) -> Outcome<bool> {
        let connection = server.reachable()?;
        let sign_in = server.sign_in().ok_or_else(|| {
            Problem::input(format!(
                "The server {} is a program, and there is no sign-in to it here.",
                server.shown
            ))
            .next("If it needs a key, give it with \"env\" in mcp.json.")
        })?;
        let questions = self
            .questions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if !questions.is_some_and(|questions| questions.opens_addresses()) {
            let name = shlex::try_quote(&server.name).unwrap_or_default();
            return Err(Problem::input("Nobody can be asked to sign in here.")
                .next(format!("Run: marvin mcp login {name}")));
        }
        let is_signed_in = sign_in.sign_in_now(&self.stop)?;
        if is_signed_in {
            connection.close();
            server.forget();
            self.enqueue(server);
        }
        Ok(is_signed_in)
    }

    /// Ends a server and starts it again.
    ///
    /// # Errors
    /// It is not used in this session.
    pub(crate) fn restart(self: &Arc<Self>, server: &Arc<SessionServer>) -> Outcome<()> {
        server.reachable()?.close();
        server.forget();
        self.enqueue(server);
        Ok(())
    }

    /// The servers; the files are read on the first call.
    fn all(self: &Arc<Self>, session: &SessionContext) -> &[Arc<SessionServer>] {
        let Some(setup) = &self.setup else {
            return &[];
        };
        self.servers.get_or_init(|| {
            let servers = self.load(setup, session);
            if !servers.is_empty() {
                let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
                sessions.retain(|session| session.strong_count() > 0);
                sessions.push(Arc::downgrade(self));
            }
            servers
        })
    }

    /// Those that are known by now, without reading anything.
    pub(crate) fn known(&self) -> &[Arc<SessionServer>] {
        self.servers.get().map(Vec::as_slice).unwrap_or_default()
    }

    fn load(
        self: &Arc<Self>,
        setup: &ServerSetup,
        session: &SessionContext,
    ) -> Vec<Arc<SessionServer>> {
        let (configured, faults) = match setup.has_only_brought {
            true => (Vec::new(), Vec::new()),
            false => files::read_all(&session.env, setup.folder.as_deref()),
        };
        for fault in faults {
            self.note(fault.one_line());
        }
        let brought = self.brought();
        let is_new = |server: &ConfiguredServer| brought.iter().all(|own| own.name != server.name);
        let configured: Vec<_> = configured.into_iter().filter(is_new).collect();
        let configured: Vec<_> = brought.into_iter().chain(configured).collect();
        if let Some(key) = configured
            .iter()
            .find_map(ConfiguredServer::ignored_consent)
        {
            self.note(format!(
                "{key} of MCP servers is ignored: Marvin asks about calls itself (/help permissions)."
            ));
        }
        let mut known = None;
        let mut servers: Vec<Arc<SessionServer>> = Vec::new();
        for configured in configured {
            let is_taken = |name: &str| servers.iter().any(|server| server.is_called(name));
            let server = Arc::new(SessionServer::new(configured, is_taken));
            match server.configured.is_disabled() {
                true => server.disable(),
                false if !trust::is_agreed(session, &server.configured) => server.close_off(),
                false => self.open(&server, setup, session, &mut known),
            }
            servers.push(server);
        }
        servers
    }

    /// Makes a way to a server, and takes what is remembered of it. `known` is what is remembered of all, if that was read.
    fn open(
        self: &Arc<Self>,
        server: &Arc<SessionServer>,
        setup: &ServerSetup,
        session: &SessionContext,
        known: &mut Option<Map<String, Value>>,
    ) {
        let Some(entry) = self.resolved(server, setup, session) else {
            return;
        };
        let known = known.get_or_insert_with(|| cache::read(&session.paths));
        let questions = self
            .questions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let sign_in = self.credentials(&entry, questions.clone(), session);
        let host = ClientHost {
            env: session.env.clone(),
            working_dir: setup.folder.clone(),
            supervisor: setup.executable.clone(),
            questions,
            credentials: sign_in.clone().map(|own| own as Arc<dyn Credentials>),
            events: Some(Arc::new(Events {
                servers: Arc::downgrade(self),
                server: Arc::downgrade(server),
            })),
            spoken: None,
        };
        server.open(entry, sign_in, (known, &session.paths), |entry, spoken| {
            dial(entry, ClientHost { spoken, ..host })
        });
    }

    /// The entry with its variables, unless it is wrong, which the server then says.
    fn resolved(
        &self,
        server: &SessionServer,
        setup: &ServerSetup,
        session: &SessionContext,
    ) -> Option<ServerEntry> {
        let variables = Variables {
            env: &session.env,
            folder: setup.folder.as_deref(),
            is_literal: server.configured.source == Source::Client,
        };
        match server.configured.resolve(variables) {
            Ok((entry, notices)) => {
                for notice in notices {
                    self.note(format!("{}: {notice}", server.shown));
                }
                Some(entry)
            }
            Err(problem) => {
                let words = problem.one_line();
                self.note(format!(
                    "The MCP server {} is not used: {words}",
                    server.shown
                ));
                server.fail(words);
                None
            }
        }
    }

    /// What lets the session in: a stored sign-in, or one that the user agrees to.
    fn credentials(
        &self,
        entry: &ServerEntry,
        questions: Option<Arc<dyn Questions>>,
        session: &SessionContext,
    ) -> Option<Arc<SignedIn>> {
        let policy = questions.map_or(SignInPolicy::Never, SignInPolicy::Ask);
        match SignedIn::of(entry, &session.env, &session.clock, policy) {
            Ok(credentials) => Some(Arc::new(credentials?)),
            Err(problem) => {
                self.note(format!(
                    "{}: {}",
                    clip(&one_line(&entry.name), 64),
                    problem.one_line()
                ));
                None
            }
        }
    }

    /// Reads which servers there are, and starts those of which nothing is remembered. Waits for none.
    pub(crate) fn begin(self: &Arc<Self>, session: &SessionContext) {
        for server in self.all(session) {
            if server.wants_start() {
                self.enqueue(server);
            }
        }
    }

    /// The same on a thread of its own.
    pub(crate) fn begin_aside(self: &Arc<Self>, session: &Arc<SessionContext>) {
        if self.setup.is_none() || self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let (servers, session) = (Arc::clone(self), Arc::clone(session));
        let begin = thread::Builder::new()
            .name("mcp".to_owned())
            .spawn(move || {
                // The user is about to be asked about those of the project.
                if !servers.waits_for_trust(&session) {
                    servers.begin(&session);
                }
            });
        // Without a thread they begin with the first message.
        self.work().threads.extend(begin);
    }

    /// Has what servers offer join the session before a message is sent; the first message waits at most `patience` for those of which nothing is remembered. Returns
    /// what the user is to be told.
    pub(crate) fn join(
        self: &Arc<Self>,
        session: &SessionContext,
        patience: Duration,
        stop: &Cancel,
    ) -> Vec<String> {
        if self.setup.is_none() {
            return Vec::new();
        }
        self.begin(session);
        if !self.has_joined.swap(true, Ordering::Relaxed) {
            self.wait(patience, stop);
        }
        let registry = session.registry();
        for server in self.known() {
            for fault in tools::register(self, server, &registry) {
                self.note(fault);
            }
        }
        let has_resources = |server: &Arc<SessionServer>| {
            server
                .snapshot()
                .is_some_and(|snapshot| snapshot.has_resources)
        };
        if self.known().iter().any(has_resources)
            && !self.has_read_tool.swap(true, Ordering::Relaxed)
        {
            let registered = self.read_tool().and_then(|tool| registry.register(tool));
            if let Err(problem) = registered {
                self.note(problem.one_line());
            }
        }
        let mut work = self.work();
        work.told = 0;
        std::mem::take(&mut work.notices)
    }

    /// Waits until nothing is to be asked of a server any more.
    fn wait(&self, limit: Duration, stop: &Cancel) {
        let until = Instant::now() + limit;
        let mut work = self.work();
        while work.running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.is_fired() {
                return;
            }
            // A token that fires is no change here, so it is looked at now and then.
            let step = left.min(Duration::from_millis(50));
            work = self
                .changed
                .wait_timeout(work, step)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// A list of a server has changed, or what is remembered of it may be out of date.
    pub(super) fn look_again(self: &Arc<Self>, server: &Arc<SessionServer>) {
        self.enqueue(server);
    }

    fn enqueue(self: &Arc<Self>, server: &Arc<SessionServer>) {
        let mut work = self.work();
        if work.is_over || work.queue.iter().any(|own| Arc::ptr_eq(own, server)) {
            return;
        }
        server.plan();
        work.queue.push_back(Arc::clone(server));
        if work.running == MAX_STARTING {
            return;
        }
        work.threads.retain(|thread| !thread.is_finished());
        let servers = Arc::clone(self);
        let begun = thread::Builder::new()
            .name("mcp".to_owned())
            .spawn(move || servers.carry_out());
        match begun {
            Ok(thread) => {
                work.threads.push(thread);
                work.running += 1;
            }
            Err(error) => {
                work.queue.pop_back();
                let problem = Problem::system("Cannot start a thread for it", error);
                server.fail(problem.one_line());
            }
        }
    }

    /// Asks servers until none waits.
    fn carry_out(self: Arc<Self>) {
        loop {
            let mut work = self.work();
            if work.is_over || work.queue.is_empty() {
                work.running -= 1;
                drop(work);
                self.changed.notify_all();
                return;
            }
            // One whose lists keep changing holds up no other.
            let due = work.queue.iter().position(|server| server.is_due());
            let due = due.and_then(|at| work.queue.remove(at));
            drop(work);
            let Some(server) = due else {
                let _is_over = self.stop.sleep(LOOK);
                continue;
            };
            let asked = server.ask(&self.stop);
            match asked {
                Ok(faults) => faults.into_iter().for_each(|fault| self.note(fault)),
                Err(problem) if problem.is_cancelled() => {}
                Err(problem) => self.note(format!(
                    "The MCP server {} is not connected: {}",
                    server.shown,
                    problem.one_line()
                )),
            }
            self.changed.notify_all();
        }
    }

    /// Stops what is asked of servers; returns the connections that are to be closed.
    fn stop_work(&self) -> Vec<Arc<dyn Connection>> {
        let mut work = self.work();
        work.is_over = true;
        work.queue.clear();
        let threads = std::mem::take(&mut work.threads);
        drop(work);
        self.stop.fire();
        let connections: Vec<_> = (self.known().iter())
            .filter_map(|server| server.connection())
            .collect();
        // What such a thread waits for may have no other end, such as a question to the user.
        connections.iter().for_each(|connection| connection.stop());
        for thread in threads {
            // The last one that is to know this session may be such a thread.
            if thread.thread().id() != thread::current().id() {
                let _crashed = thread.join();
            }
        }
        connections
    }

    /// Ends the servers of this session.
    pub(crate) fn end(&self) {
        close_all(&self.stop_work());
    }

    /// The server of this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn find(
        self: &Arc<Self>,
        session: &SessionContext,
        name: &str,
    ) -> Outcome<Arc<SessionServer>> {
        let all = self.all(session);
        let found = all.iter().find(|server| server.name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|server| server.name.as_str()).collect();
            let problem = Problem::missing(format!(
                "There is no MCP server \"{}\".",
                one_line(&clip(name, 60))
            ));
            let all = match names.is_empty() {
                true => "marvin mcp add NAME … adds one.".to_owned(),
                false => format!("There are: {}.", names.join(", ")),
            };
            problem.near_or(name, names, all)
        })
    }

    /// What servers say of how their tools are to be used, each under its name.
    pub(crate) fn instructions(&self) -> Vec<(String, String)> {
        let said = self
            .known()
            .iter()
            .filter_map(|server| Some((server.shown.clone(), server.instructions()?)));
        said.collect()
    }
}

impl Drop for SessionServers {
    fn drop(&mut self) {
        self.end();
    }
}
