//! The configured servers of one session: started when they are needed, side by side and behind the user's back; what they offer joins the session with a
//! message.
//!
//! [`SessionServers`] is kept with what the tools of a session share. [`loading`] reads which there are, [`work`] has threads ask them, [`events`] hears what
//! they say of their own accord. [`server`] is one of them and what is known of it, [`tools`] makes its tools those of the session, [`prompts`] has its prompts
//! and resources, which [`completion`] completes, [`trust`] opens and closes those of a project, [`cache`] remembers between sessions what servers offer,
//! [`report`] says how they are. The app calls it: at the start of a session, before each message, at its end. It does not know who is asked, and no screen.

pub(crate) mod cache;
mod completion;
pub(crate) mod content;
mod events;
mod loading;
mod prompts;
pub(crate) mod report;
mod server;
pub(crate) mod tools;
mod trust;
mod work;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::mcp::client::dial::close_all;
use crate::mcp::client::questions::Questions;
use crate::mcp::config::configured::ConfiguredServer;
use crate::tools::engine::context::SessionContext;
use server::{LONG_AGO, SessionServer};

/// How long it may take to read which servers there are.
const READING: Duration = Duration::from_millis(100);

/// What a session's servers have of the program around them.
#[derive(Default)]
pub(crate) struct ServerSetup {
    /// Where the session begins: the project is looked for there, and servers run there.
    pub folder: Option<PathBuf>,
    /// This executable, which ends a server's process with Marvin.
    pub executable: Option<PathBuf>,
    /// The project's file is not read.
    pub without_project: bool,
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
    work: Mutex<work::Work>,
    changed: Condvar,
    stop: Cancel,
    has_begun: AtomicBool,
    /// A thread reads which servers there are.
    is_reading: AtomicBool,
    has_joined: AtomicBool,
    has_read_tool: AtomicBool,
}

/// Shows a line.
pub(crate) type Teller = Arc<dyn Fn(String) + Send + Sync>;

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
            is_reading: AtomicBool::new(false),
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

impl SessionServers {
    pub(crate) fn new(setup: ServerSetup) -> Self {
        let mut servers = Self::default();
        servers.setup = Some(setup);
        servers
    }

    /// Who shows at once what servers say, from now on.
    pub(crate) fn set_teller(&self, teller: Teller) {
        *self.teller.write().unwrap_or_else(PoisonError::into_inner) = Some(teller);
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

    /// Whether one of them may say or ask something by itself. Waits a little for the thread that reads the files; it reads none while the user has yet
    /// to be asked about those of the project.
    pub(crate) fn may_speak(&self) -> bool {
        let begun = Instant::now();
        while self.is_reading.load(Ordering::Acquire) && begun.elapsed() < READING {
            thread::sleep(Duration::from_millis(1));
        }
        self.known().iter().any(|own| own.is_opened())
    }

    /// Those that are known by now, without reading anything.
    pub(crate) fn known(&self) -> &[Arc<SessionServer>] {
        self.servers.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Reads which servers there are, and starts those of which nothing is remembered, or only what was long ago. Waits for none.
    pub(crate) fn begin(self: &Arc<Self>, session: &SessionContext) {
        for server in self.all(session) {
            match server.wants_start() {
                true => self.enqueue(server),
                false => self.refresh(server, LONG_AGO),
            }
        }
    }

    /// The same on a thread of its own.
    pub(crate) fn begin_aside(self: &Arc<Self>, session: &Arc<SessionContext>) {
        if self.setup.is_none() || self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let (servers, session) = (Arc::clone(self), Arc::clone(session));
        self.is_reading.store(true, Ordering::Release);
        let begin = thread::Builder::new()
            .name("mcp".to_owned())
            .spawn(move || {
                // The user is about to be asked about those of the project.
                if !servers.waits_for_trust(&session) {
                    servers.begin(&session);
                }
                servers.is_reading.store(false, Ordering::Release);
            });
        // Without a thread they begin with the first message.
        if begin.is_err() {
            self.is_reading.store(false, Ordering::Release);
        }
        self.work().threads.extend(begin);
    }

    /// Has what servers offer join the session before a message is sent; the first message waits at most `patience` for those of which nothing is remembered.
    /// Returns what the user is to be told.
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
        for server in self.known() {
            if server.was_let_in() {
                server.forget();
                self.enqueue(server);
            }
        }
        let is_first = !self.has_joined.load(Ordering::Relaxed);
        if is_first {
            self.wait(patience, stop);
            // Where the wait was broken off the next message goes on with it.
            self.has_joined.store(!stop.is_fired(), Ordering::Relaxed);
            self.note_late(patience, stop);
        }
        // In a conversation, which sends more than one message: what has changed is offered with the next one.
        if !is_first || patience.is_zero() {
            for server in self.known() {
                self.refresh(server, 0);
            }
        }
        let registry = session.registry();
        for server in self.known() {
            server.follow(session, stop);
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

    /// Ends the servers of this session.
    pub(crate) fn end(&self) {
        self.finish_looking(&self.stop);
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
