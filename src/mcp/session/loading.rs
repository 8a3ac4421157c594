//! Reads which servers a session has, and makes a way to each.

use std::sync::{Arc, PoisonError};

use super::cache::KnownServers;
use super::events::Events;
use super::server::SessionServer;
use super::{ServerSetup, SessionServers, trust};
use crate::base::text::{clip, one_line};
use crate::mcp::auth::policy::SignInPolicy;
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::dial::{ClientHost, dial, log_level};
use crate::mcp::client::questions::Questions;
use crate::mcp::config::configured::{ConfiguredServer, Source};
use crate::mcp::config::entry::ServerEntry;
use crate::mcp::config::expand::Variables;
use crate::mcp::config::files;
use crate::tools::engine::context::SessionContext;

impl SessionServers {
    pub(super) fn load(
        self: &Arc<Self>,
        setup: &ServerSetup,
        session: &SessionContext,
    ) -> Vec<Arc<SessionServer>> {
        let (configured, faults) = match setup.has_only_brought {
            true => (Vec::new(), Vec::new()),
            false => {
                let folder = setup.folder.as_deref().filter(|_| !setup.without_project);
                files::read_all(&session.env, folder)
            }
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
        if let Some(problem) = log_level(&session.env)
            .err()
            .filter(|_| !configured.is_empty())
        {
            self.note(problem.one_line());
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
    pub(super) fn open(
        self: &Arc<Self>,
        server: &Arc<SessionServer>,
        setup: &ServerSetup,
        session: &SessionContext,
        known: &mut Option<KnownServers>,
    ) {
        let Some(entry) = self.resolved(server, setup, session) else {
            return;
        };
        let known = known.get_or_insert_with(|| KnownServers::read(&session.paths));
        let questions = self
            .questions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let sign_in = self.credentials(&entry, questions.clone(), session);
        let host = ClientHost {
            env: session.env.clone(),
            working_dir: session
                .working_dir
                .root()
                .map(|root| root.path().to_owned()),
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
}
