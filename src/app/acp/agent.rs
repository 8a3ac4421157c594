//! What the sessions of a process share, and the ways to open one.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::client_files::ClientFiles;
use super::given_paths::GivenPaths;
use super::models::Models;
use super::out::Out;
use super::params::{self, internal, not_found, text, wrong};
use super::permission::ClientApprover;
use super::server_forms::ServerForms;
use super::session::{AcpSession, SessionChoice};
use super::session_thread::SessionThread;
use super::shared::Shared;
use super::tool_call::set;
use super::updates::Updates;
use super::{client_servers, commands, list, options, replay};
use crate::app::extensions;
use crate::app::session::one_shot::OneShot;
use crate::app::sessions::{self, BegunSession};
use crate::app::settings::Settings;
use crate::app::setup;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::chat::ledger::Ledger;
use crate::formats::json_rpc::{Incoming, RpcError, RpcId};
use crate::mcp::config::configured::ConfiguredServer;
use crate::mcp::session::SessionServers;
use crate::store::sessions::record::Spent;
use crate::store::sessions::{Replay, SessionId, SessionStore};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::permission::mode::PermissionMode;

/// Sessions that may be open: each has a thread.
const MAX_SESSIONS: usize = 200;
/// How long a session that is opened again may take to end before.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// The agent of a client.
pub(super) struct Agent {
    pub(super) shared: Arc<Shared>,
    state: Mutex<AgentState>,
    changed: Condvar,
}

#[derive(Default)]
struct AgentState {
    sessions: HashMap<Arc<str>, Arc<AcpSession>>,
    /// Threads of sessions, those that are being opened too.
    threads: usize,
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    New,
    /// What was said is shown again.
    Load,
    Resume,
}

/// What a client wants opened.
struct OpenOrder {
    opening: Opening,
    cwd: PathBuf,
    /// Folders that file tools may use too.
    further: Vec<PathBuf>,
    /// The session that there is already.
    session: Option<String>,
    /// The servers that it wants.
    servers: Vec<ConfiguredServer>,
}

impl Agent {
    /// # Errors
    /// What the command line says about permissions cannot be used.
    pub(super) fn new(mut settings: Settings, out: Arc<Out>, stop: Cancel) -> Outcome<Self> {
        let is_unattended = settings.access.permissions.is_bypassing();
        settings.access.sandbox.let_change(is_unattended);
        let settings = Arc::new(settings);
        // Which tools there are does not depend on a folder: a wrong flag is told before a client waits.
        let context = setup::session(&settings, &mut |_| {})?;
        context.permissions.choose_mode(PermissionMode::Default);
        let shared = Shared {
            client: Arc::new(Client::new(Arc::clone(&out))),
            models: Arc::new(Models::new(Arc::clone(&settings))),
            chosen_mode: context.permissions.mode(),
            ledger: Arc::default(),
            listed: Mutex::default(),
            settings,
            out,
            stop,
        };
        Ok(Self {
            shared: Arc::new(shared),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open session that `params` name.
    pub(super) fn session(&self, params: &Value) -> Result<Arc<AcpSession>, RpcError> {
        let id = text(params, "sessionId")?;
        self.open_session(id)
            .ok_or_else(|| not_found("session", id))
    }

    pub(super) fn open_session(&self, id: &str) -> Option<Arc<AcpSession>> {
        self.lock().sessions.get(id).cloned()
    }

    pub(super) fn sessions(&self) -> Vec<Arc<AcpSession>> {
        self.lock().sessions.values().cloned().collect()
    }

    /// A session has ended.
    pub(super) fn forget(&self, id: &str) {
        self.lock().sessions.remove(id);
    }

    pub(super) fn answer(&self, id: &RpcId, answer: &params::Answer) {
        self.shared.out.line(Incoming::answer(id, answer));
    }

    /// Ends all sessions and waits until they have, or the time is over.
    pub(super) fn shut_down(&self, limit: Duration) {
        let until = Instant::now() + limit;
        self.shared.client.close();
        self.shared.stop.fire();
        self.sessions().iter().for_each(|session| session.end(None));
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.threads == 0 || left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Opens a session on a thread of its own, which answers the request.
    pub(super) fn open(
        self: &Arc<Self>,
        id: &RpcId,
        opening: Opening,
        params: &Value,
    ) -> Result<(), RpcError> {
        let session = match opening {
            Opening::New => None,
            Opening::Load | Opening::Resume => Some(text(params, "sessionId")?.to_owned()),
        };
        let order = OpenOrder {
            opening,
            cwd: params::cwd(params)?,
            further: params::further_folders(params)?,
            session,
            servers: client_servers::read(params)?,
        };
        let mut state = self.lock();
        if state.threads >= MAX_SESSIONS {
            return Err(internal(
                &Problem::limit(format!("{MAX_SESSIONS} sessions are open already."))
                    .next("Close some of them."),
            ));
        }
        state.threads += 1;
        drop(state);
        let (agent, request) = (Arc::clone(self), id.clone());
        let started = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || {
                let _counted = CountedThread(Arc::clone(&agent));
                let opened = catch_unwind(AssertUnwindSafe(|| agent.opened(&order)));
                let opened = opened.unwrap_or_else(|_| {
                    let words =
                        "Marvin crashed while opening the session. This is a bug in Marvin.";
                    Err(internal(&Problem::internal(words)))
                });
                match opened {
                    Ok((thread, answer)) => {
                        agent
                            .shared
                            .out
                            .line_of(&thread.session.id, Incoming::answer(&request, &Ok(answer)));
                        thread.session.tell(&commands::update(&thread.session));
                        agent.ask_for_models(&thread.session);
                        let id = Arc::clone(&thread.session.id);
                        thread.run(|| agent.forget(&id));
                    }
                    Err(error) => agent.answer(&request, &Err(error)),
                }
            });
        started.map(drop).map_err(|error| {
            self.thread_ended();
            internal(&Problem::system(
                "Cannot start a thread for the session",
                error,
            ))
        })
    }

    fn thread_ended(&self) {
        self.lock().threads -= 1;
        self.changed.notify_all();
    }

    fn ask_for_models(self: &Arc<Self>, session: &AcpSession) {
        let agent = Arc::clone(self);
        self.shared
            .models
            .ask_for_names(&session.first, &self.shared.stop, move || {
                for session in agent.sessions() {
                    session.tell(&options::options_update(&session));
                }
            });
    }

    /// Opens a session: its thread, and the answer.
    fn opened(self: &Arc<Self>, order: &OpenOrder) -> Result<(SessionThread, Value), RpcError> {
        let of_problem = |problem: Problem| internal(&problem);
        let first = self.shared.models.first()?;
        let mut settings = (*self.shared.settings).clone();
        settings.working_dir = Some(order.cwd.clone());
        settings.process.current = Some(order.cwd.clone());
        settings.json.added_dirs.extend(order.further.clone());
        let settings = Arc::new(settings);
        let mut context = setup::session(&settings, &mut warn).map_err(of_problem)?;
        context.policy.can_ask_to_leave_sandbox = true;
        context.working_dir.bind_to_first();
        (context.modules.get::<SessionServers>()).bring(order.servers.clone());
        context.permissions.choose_mode(PermissionMode::Default);
        context.ledger = Ledger::part_of(Arc::clone(&self.shared.ledger));
        let store = context.sessions().map_err(of_problem)?;
        let begun = match &order.session {
            None => BegunSession {
                log: sessions::new(&store, None, &context, &settings),
                replay: None,
            },
            Some(id) => self.begun(id, order, &store, &context, &settings)?,
        };
        let id: Arc<str> = begun.log.id().as_str().into();
        let folders = [&order.cwd].into_iter().chain(&order.further);
        let paths = Arc::new(GivenPaths::new(folders.map(PathBuf::as_path)));
        let abilities = self.shared.client.abilities();
        if abilities.reads_files || abilities.writes_files {
            context.editor = Some(Arc::new(ClientFiles {
                client: Arc::clone(&self.shared.client),
                session: Arc::clone(&id),
                paths: Arc::clone(&paths),
            }));
        }
        if abilities.fills_forms {
            let servers = context.modules.get::<SessionServers>();
            servers.set_questions(Arc::new(ServerForms {
                client: Arc::clone(&self.shared.client),
                session: Arc::clone(&id),
            }));
        }
        match abilities.fills_forms {
            true => extensions::open(&context, &settings, &mut warn),
            false => extensions::open_unasked(&context, &settings, &mut warn),
        }
        let context = Arc::new(context);
        let spent = (begun.replay.as_ref()).map_or_else(Spent::default, |replay| replay.spent);
        let updates = Arc::new(Updates::new(
            Arc::clone(&self.shared.out),
            Arc::clone(&id),
            Arc::clone(&context),
            paths,
            spent,
        ));
        let approver = ClientApprover {
            client: Arc::clone(&self.shared.client),
            session: Arc::clone(&id),
            context: Arc::clone(&context),
            updates: Arc::clone(&updates),
            always: Mutex::default(),
        };
        context.permissions.set_approver(Some(Arc::new(approver)));
        let effort = setup::effort(&settings).map_err(of_problem)?;
        let mut one_shot = OneShot::new(
            Arc::clone(&settings),
            Arc::clone(&context),
            self.shared.stop.clone(),
            Some(&begun),
            (first.spending.clone(), effort),
        )
        .with_person(begun.replay.as_ref());
        let choice = SessionChoice {
            model: first.model.clone(),
            effort,
        };
        let begun_before = begun.replay.is_some();
        let damage = begun.replay.as_ref().and_then(Replay::damage);
        let left_out = context.trust.left_out();
        let left_out = left_out.map(|words| format!("{words} Here /trust shows it and answers."));
        let notices = damage.into_iter().chain(left_out).collect();
        let session = Arc::new(AcpSession::new(
            Arc::clone(&id),
            Arc::clone(&self.shared),
            first,
            (context, updates),
            (choice, notices, begun_before),
        ));
        if let Some(replay) = begun
            .replay
            .as_ref()
            .filter(|_| order.opening == Opening::Load)
        {
            // Whoever does not read what is shown holds it up, but not the end of the process.
            session.updates.begin(&self.shared.stop, 0);
            replay::show(replay, &session);
            let tokens = one_shot.tokens();
            replay::show_facts(replay, tokens, &session);
        }
        // Names of models that come while the answer is made are told to every session that is found here.
        let found = Arc::clone(&session);
        self.lock().sessions.insert(Arc::clone(&id), found);
        let mut answer = options::set_up(&session);
        if order.opening == Opening::New {
            set(&mut answer, "sessionId", json!(&*id));
        }
        if self.shared.stop.is_fired() {
            // Whoever ends all sessions may have looked before this one was among them.
            session.end(None);
        }
        let thread = SessionThread {
            session,
            settings,
            one_shot,
            log: begun.log,
            asks_about_project: abilities.fills_forms,
        };
        Ok((thread, answer))
    }

    /// Opens a session that there is. One that is open here and answers nothing is closed first.
    fn begun(
        &self,
        given: &str,
        order: &OpenOrder,
        store: &SessionStore,
        context: &SessionContext,
        settings: &Settings,
    ) -> Result<BegunSession, RpcError> {
        let of_problem = |problem: Problem| internal(&problem);
        let id = SessionId::parse(given).ok_or_else(|| not_found("session", given))?;
        let open = self.open_session(id.as_str());
        // Nothing is written of a session before its first message.
        let folder = match (store.has(&id), &open) {
            (true, _) => store.read(&id).map_err(of_problem)?.header.cwd,
            (false, Some(open)) => sessions::folder(&open.context, settings),
            (false, None) => return Err(not_found("session", given)),
        };
        if folder.is_empty() {
            let words = "The file of the session cannot be read: its beginning is damaged.";
            let problem = Problem::input(words).next("Delete the session, or open another one.");
            return Err(internal(&problem));
        }
        if !is_same_folder(Path::new(&folder), &order.cwd) {
            let words = format!(
                "The session belongs to another folder: {}.",
                clip(&one_line(&folder), 200)
            );
            return Err(wrong("cwd", words));
        }
        if let Some(open) = open {
            if open.is_busy() {
                return Err(internal(
                    &Problem::refused("The session is open here, and answers a prompt.")
                        .next("Wait for its end, or cancel it."),
                ));
            }
            open.end(None);
            open.wait_until_over(CLOSE_LIMIT);
        }
        if !store.has(&id) {
            return Ok(BegunSession {
                log: sessions::new(store, Some(id), context, settings),
                replay: None,
            });
        }
        let place = sessions::place(context, settings);
        let opened = sessions::open(store, &id, None, place);
        opened.map_err(|problem| internal(&list::for_editor(problem)))
    }
}

/// Counts the thread of a session as long as it runs.
struct CountedThread(Arc<Agent>);

impl Drop for CountedThread {
    fn drop(&mut self) {
        self.0.thread_ended();
    }
}

fn warn(text: String) {
    say(&format!("Warning: {text}"));
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}
